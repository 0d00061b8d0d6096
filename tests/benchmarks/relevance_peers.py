"""Other embedded searches, for the judged sets: each in several settings, of which the best one counts.

All get title and text, ask for any word of the question, and rank by BM25. Accents are taken off for each of them, in
documents and questions: that is FTS5's own default, and the others are better for it. Where other scripts are left,
all are tried on transliterated text too, which none of them offers.
"""

from __future__ import annotations

import itertools
import re
import sqlite3
import tempfile
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

import bm25s
import sqlite_utils
import Stemmer
import tantivy

from catalog_search import normalize


class Document(NamedTuple):
    """A document of a judged set's catalogue."""

    id: str
    title: str
    text: str


Search: TypeAlias = Callable[[str, int], list[str]]
"""Question, number → the ids of so many documents, best first."""

Setting: TypeAlias = tuple[str, str, Search]
"""Peer, setting, search."""

STEMMERS = {"en": "english", "pt-BR": "portuguese"}


def all_settings(
    documents: Sequence[Document], questions: Iterable[str], language: str, *, abstracts: bool
) -> Iterator[Setting]:
    """Yield every peer in every setting that makes a difference for these documents and questions.

    Trigrams are not tried on abstracts: they take minutes, and are last of all (cranfield: nDCG@10 .329).
    """
    foldings = {"": without_accents, "transliterated, ": normalize}
    texts = itertools.chain(questions, *((one.title, one.text) for one in documents))
    if all(without_accents(text).isascii() for text in texts):
        del foldings["transliterated, "]
    for said, fold in foldings.items():
        folded = [Document(one.id, fold(one.title), fold(one.text)) for one in documents]
        for peer, setting, search in itertools.chain(
            fts5(folded, "unicode61 remove_diacritics 2", "FTS5 unicode61", words),
            fts5(folded, "porter unicode61 remove_diacritics 2", "FTS5 porter", words),
            () if abstracts else fts5(folded, "trigram", "FTS5 trigram", trigrams),
            sqlite_utils_search(folded),
            bm25s_search(folded, language, stemmed=False),
            bm25s_search(folded, language, stemmed=True),
            tantivy_search(folded, language, stemmed=False),
            tantivy_search(folded, language, stemmed=True),
        ):
            yield peer, said + setting, lambda question, k, search=search, fold=fold: search(fold(question), k)


def without_accents(text: str) -> str:
    """Return text without its combining marks."""
    if text.isascii():
        return text
    decomposed = unicodedata.normalize("NFKD", text)
    return "".join(character for character in decomposed if not unicodedata.combining(character))


def words(question: str) -> list[str]:
    """Return the words of a question, once each."""
    return list(dict.fromkeys(re.findall(r"\w+", question.lower())))


def trigrams(question: str) -> list[str]:
    """Return the trigrams of a question, once each, those across two words too."""
    text = " ".join(question.lower().split())
    return list(dict.fromkeys(text[place : place + 3] for place in range(len(text) - 2)))


def quoted(terms: Sequence[str]) -> str:
    """Return an FTS5 query for any of some terms."""
    return " OR ".join('"' + term.replace('"', '""') + '"' for term in terms)


def weights(documents: Sequence[Document]) -> list[tuple[float, float]]:
    """Return weights of title and text to try."""
    return [(1, 1), (2, 1), (1, 2)] if any(one.text for one in documents) else [(1, 1)]


def fts5(
    documents: Sequence[Document], tokenizer: str, name: str, terms: Callable[[str], list[str]]
) -> Iterator[Setting]:
    database = sqlite3.connect(":memory:")
    database.execute(f"CREATE VIRTUAL TABLE d USING fts5(id UNINDEXED, title, text, tokenize='{tokenizer}')")
    database.executemany("INSERT INTO d VALUES (?, ?, ?)", documents)
    for title, text in weights(documents):
        statement = f"SELECT id FROM d WHERE d MATCH ? ORDER BY bm25(d, 0, {title}, {text}) LIMIT ?"

        def search(question: str, k: int, statement: str = statement) -> list[str]:
            query = quoted(terms(question))
            return [id for (id,) in database.execute(statement, (query, k))] if query else []

        yield name, f"title ×{title}, text ×{text}", search


def sqlite_utils_search(documents: Sequence[Document]) -> Iterator[Setting]:
    for tokenizer in ("unicode61", "porter"):
        database = sqlite_utils.Database(memory=True)
        documents_table = database.table("d")
        documents_table.insert_all((one._asdict() for one in documents), pk="id")
        documents_table.enable_fts(["title", "text"], tokenize=tokenizer)
        for any_word in (False, True):

            def search(question: str, k: int, any_word: bool = any_word, rows=documents_table) -> list[str]:
                query = quoted(words(question)) if any_word else question
                if not words(question):
                    return []
                return [row["id"] for row in rows.search(query, limit=k, columns=["id"], quote=not any_word)]

            yield "sqlite-utils", f"{tokenizer}, {'any word' if any_word else 'its own quoting'}", search


def bm25s_search(documents: Sequence[Document], language: str, stemmed: bool) -> Iterator[Setting]:
    ids = [one.id for one in documents]
    texts = [f"{one.title} {one.text}" for one in documents]
    stemmer = Stemmer.Stemmer(STEMMERS[language]) if stemmed else None
    for stop in ([], language[:2]):
        options = {"stopwords": stop, "stemmer": stemmer, "show_progress": False}
        tokens = bm25s.tokenize(texts, **options)
        for k1, b in ((1.5, 0.75), (0.9, 0.5)):
            index = bm25s.BM25(k1=k1, b=b)
            index.index(tokens, show_progress=False)

            def search(question: str, k: int, index=index, options=options) -> list[str]:
                asked = bm25s.tokenize([question], **options, return_ids=False)
                if not asked[0]:
                    return []
                found, scores = index.retrieve(asked, k=min(k, len(ids)), show_progress=False)
                return [ids[place] for place, score in zip(found[0], scores[0], strict=True) if score > 0]

            name = "bm25s, stemmer" if stemmed else "bm25s"
            yield name, f"k1 {k1}, b {b}, {'stop words' if stop else 'every word'}", search


def tantivy_search(documents: Sequence[Document], language: str, stemmed: bool) -> Iterator[Setting]:
    analyzer = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple()).filter(tantivy.Filter.remove_long(40))
    analyzer = analyzer.filter(tantivy.Filter.lowercase())
    if stemmed:
        analyzer = analyzer.filter(tantivy.Filter.stemmer(STEMMERS[language]))
    schema = tantivy.SchemaBuilder()
    schema.add_text_field("id", stored=True, tokenizer_name="raw")
    for field in ("title", "text", "both"):
        schema.add_text_field(field, tokenizer_name="chosen")
    folder = tempfile.TemporaryDirectory(prefix="tantivy-")
    index = tantivy.Index(schema.build(), path=folder.name)
    index.register_tokenizer("chosen", analyzer.build())
    writer = index.writer(num_threads=1)
    for id, title, text in documents:
        writer.add_document(tantivy.Document(id=id, title=title, text=text, both=f"{title} {text}"))
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    searcher = index.searcher()
    fields = {f"title ×{title}, text ×{text}": {"title": title, "text": text} for title, text in weights(documents)}
    if len(fields) > 1:
        fields["title and text in one field"] = {"both": 1}
    for setting, boosts in fields.items():

        def search(question: str, k: int, boosts: dict[str, float] = boosts, folder=folder) -> list[str]:
            # Words in lower case are no operators of its query language.
            asked = " ".join(words(question))
            if not asked:
                return []
            query = index.parse_query(asked, list(boosts), field_boosts=boosts)
            return [searcher.doc(address)["id"][0] for _, address in searcher.search(query, k, count=False).hits]

        yield "tantivy, stemmer" if stemmed else "tantivy", setting, search
