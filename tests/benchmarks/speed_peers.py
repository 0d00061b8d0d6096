"""Engines for the benchmark of speed: the same documents, ten results with id, title and url.

Peers get the question's terms as our own expansion has them, made beforehand: what is timed of them begins at the
terms, what is timed of us begins at the text of the question. All of them search what we search, id, title and
keywords in normal form; those that rank by BM25 over one field have the three in one, which is faster for them.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias

import bm25s
import sqlite_utils
import tantivy
from corpus import Question, documents_of

from catalog_search import Catalog, Expansion, Pattern, Vocabulary, compile_query, normalize

LIMIT = 10
SEARCHED = ("id_lc", "title_lc", "keywords_lc")
Found: TypeAlias = list[tuple[str, str, str]]
"""Id, title and url of each result."""


class Asked(NamedTuple):
    """A question with what the peers are given of it."""

    kind: str
    text: str
    words: list[str]
    """Its words in normal form, once each, stop words too."""
    terms: tuple[Expansion, ...]
    match: str
    """The strict condition as an FTS5 query."""
    scan: str
    parameters: tuple[str, ...]
    """The strict condition by GLOB, with its parameters."""


Engine: TypeAlias = Callable[[Asked], Found]

OURS = "catalog-search"
SCAN = "GLOB scan"
FTS5_PREFIX = "FTS5 prefix AND, bm25"
FTS5_OR = "FTS5 OR, bm25"
SQLITE_UTILS = "sqlite-utils search"
TANTIVY_WHOLE = "tantivy AND, whole words"
TANTIVY_PREFIX = "tantivy AND, prefixes"
TANTIVY_OR = "tantivy OR, whole words"
BM25S = "bm25s OR"


def prepare(questions: Sequence[Question], vocabulary: Path) -> list[Asked]:
    """Return the questions with what the peers are given of them."""
    loaded = Vocabulary.load(vocabulary)
    asked = []
    for kind, text in questions:
        terms = loaded.expand(text)
        scan = compile_query(terms, SEARCHED)
        match = compile_query(terms, dialect="fts").parameters[0]
        words = list(dict.fromkeys(normalize(text).split()))
        asked.append(Asked(kind, text, words, terms, match, scan.sql, scan.parameters))
    return asked


def ours(catalog: Catalog) -> Engine:
    def ask(asked: Asked) -> Found:
        answer = catalog.search(asked.text, limit=LIMIT)
        return [(result.id, result.title, result.url) for result in answer.results]

    return ask


def scan(path: Path) -> Engine:
    """Return every match of a plain scan; the caller reads as many as it wants."""
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)

    def ask(asked: Asked) -> Found:
        return connection.execute(
            f"SELECT id, title, url FROM documents WHERE {asked.scan}", asked.parameters
        ).fetchall()

    return ask


def peers(path: Path, folder: Path) -> dict[str, Engine]:
    """Build every peer but the scan from the documents of a catalogue's database."""
    documents = documents_of(path)
    return {
        **fts5(documents, folder / "fts5.db"),
        SQLITE_UTILS: sqlite_utils_search(documents, folder / "sqlite-utils.db"),
        **tantivy_engines(documents, folder / "tantivy"),
        BM25S: bm25s_engine(documents),
    }


def fts5(documents: Sequence[tuple], path: Path) -> dict[str, Engine]:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.executescript("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -64000")
    connection.execute("CREATE TABLE documents (rowid INTEGER PRIMARY KEY, id TEXT, title TEXT, url TEXT)")
    connection.execute(
        "CREATE VIRTUAL TABLE f USING fts5(id_lc, title_lc, keywords_lc, text_lc, content='', "
        "tokenize='unicode61 remove_diacritics 2', prefix='2 3 4')"
    )
    connection.execute("BEGIN")
    connection.executemany("INSERT INTO documents VALUES (?, ?, ?, ?)", (row[:4] for row in documents))
    connection.executemany(
        "INSERT INTO f (rowid, id_lc, title_lc, keywords_lc, text_lc) VALUES (?, ?, ?, ?, ?)",
        ((row[0], *row[4:]) for row in documents),
    )
    connection.execute("COMMIT")
    connection.execute("INSERT INTO f(f) VALUES ('optimize')")
    # The best ten first, then their documents: the rank is not computed again.
    statement = (
        "SELECT d.id, d.title, d.url FROM (SELECT rowid AS n, rank FROM f WHERE f MATCH ? ORDER BY rank "
        f"LIMIT {LIMIT}) AS best JOIN documents AS d ON d.rowid = best.n ORDER BY best.rank"
    )

    def prefix_and(asked: Asked) -> Found:
        return connection.execute(statement, (asked.match,)).fetchall()

    def any_word(asked: Asked) -> Found:
        query = " OR ".join(f'"{word}"' for word in asked.words)
        return connection.execute(statement, (query or '""',)).fetchall()

    return {FTS5_PREFIX: prefix_and, FTS5_OR: any_word}


def sqlite_utils_search(documents: Sequence[tuple], path: Path) -> Engine:
    database = sqlite_utils.Database(path)
    database.execute("CREATE TABLE documents (id TEXT PRIMARY KEY, title TEXT, url TEXT)")
    with database.conn:
        database.conn.executemany("INSERT INTO documents VALUES (?, ?, ?)", (row[1:4] for row in documents))
    rows = database.table("documents")
    rows.enable_fts(["id", "title"])
    columns = ["id", "title", "url"]

    def ask(asked: Asked) -> Found:
        found = rows.search(asked.text, limit=LIMIT, columns=columns, quote=True)
        return [(row["id"], row["title"], row["url"]) for row in found]

    return ask


def tantivy_engines(documents: Sequence[tuple], folder: Path) -> dict[str, Engine]:
    schema_builder = tantivy.SchemaBuilder()
    for name in ("id", "title", "url"):
        schema_builder.add_text_field(name, stored=True, tokenizer_name="raw", index_option="basic")
    schema_builder.add_text_field("words")
    schema = schema_builder.build()
    folder.mkdir()
    index = tantivy.Index(schema, path=str(folder))
    # One thread and room enough: one segment, which is the fastest to search.
    writer = index.writer(heap_size=1_000_000_000, num_threads=1)
    for _, id, title, url, *searched in documents:
        writer.add_document(tantivy.Document(id=id, title=title, url=url, words=" ".join(searched)))
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    searcher = index.searcher()
    must, should = tantivy.Occur.Must, tantivy.Occur.Should

    def read(query: tantivy.Query) -> Found:
        found = []
        for _, address in searcher.search(query, LIMIT, count=False).hits:
            document = searcher.doc(address)
            found.append((document["id"][0], document["title"][0], document["url"][0]))
        return found

    def word(text: str) -> tantivy.Query:
        return tantivy.Query.term_query(schema, "words", text)

    def whole(pattern: Pattern) -> tantivy.Query:
        if " " in pattern.text:
            return tantivy.Query.phrase_query(schema, "words", pattern.text.split(" "))
        return word(pattern.text)

    def start(pattern: Pattern) -> tantivy.Query:
        if pattern.whole or pattern.number:
            return whole(pattern)
        if " " in pattern.text:
            return tantivy.Query.phrase_prefix_query(schema, "words", pattern.text.split(" "))
        return tantivy.Query.regex_query(schema, "words", re.escape(pattern.text) + ".*")

    def combined(occur: tantivy.Occur, queries: list[tantivy.Query]) -> tantivy.Query:
        if len(queries) == 1:
            return queries[0]
        return tantivy.Query.boolean_query([(occur, query) for query in queries])

    def condition(terms: Sequence[Expansion], one: Callable[[Pattern], tantivy.Query]) -> tantivy.Query:
        found = []
        for term in terms:
            ways = [one(pattern) for pattern in term.patterns]
            if term.words:
                ways.append(combined(must, [combined(should, [one(p) for p in word]) for word in term.words]))
            found.append(combined(should, ways))
        return combined(must, found)

    return {
        TANTIVY_WHOLE: lambda asked: read(condition(asked.terms, whole)),
        TANTIVY_PREFIX: lambda asked: read(condition(asked.terms, start)),
        TANTIVY_OR: lambda asked: read(combined(should, [word(text) for text in asked.words])),
    }


def bm25s_engine(documents: Sequence[tuple]) -> Engine:
    index = bm25s.BM25()
    texts = [" ".join(row[4:]) for row in documents]
    index.index(bm25s.tokenize(texts, stopwords=[], show_progress=False), show_progress=False)

    def ask(asked: Asked) -> Found:
        words = [word for word in asked.words if word in index.vocab_dict]
        if not words:
            return []
        found, scores = index.retrieve([words], k=LIMIT, show_progress=False)
        return [documents[place][1:4] for place, score in zip(found[0], scores[0], strict=True) if score > 0]

    return ask
