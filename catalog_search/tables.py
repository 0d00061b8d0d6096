"""Drafts → the tables of a catalogue's database: documents and index, words, and what folds, splits and translates."""

from __future__ import annotations

import json
import math
import re
from array import array
from collections import defaultdict
from functools import partial
from hashlib import blake2b
from itertools import chain
from string import ascii_lowercase
from typing import TYPE_CHECKING
from urllib.parse import quote as percent_encode

import sqlite_utils

from catalog_search.database import COUNTED, FORMAT_VERSION
from catalog_search.documents import Draft, rare_characters
from catalog_search.measure import Measured, measure
from catalog_search.ranking import BROAD, LETTERS_OF_IDS
from catalog_search.relaxing import TRIGRAM_BUDGET, trigrams
from catalog_search.statements import query_time, statement
from catalog_search.text import SPELLINGS, full_folding

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator

    from catalog_search.language import Language
    from catalog_search.settings import Settings
    from catalog_search.vocabulary import Vocabulary

LICENCE_NOTES = (
    "The table folding is made from Unidecode (GPL-2.0-or-later). Documents are under the licence of their source."
)

WHOLE = 2**32
"""What a word's weight is measured against. Weights are only compared with each other, so that any number does that no
catalogue's documents exceed; with a number of its own, a document more would change the weight of every word."""

HASHED_AT_ONCE = 500
"""Documents in a block of what the content hash is of."""


MOST_SIGNS = 8
"""Signs that the url of an id may have to encode, for urls that are not stored."""

_ENCODED = re.compile(r"[ -,/:-@[-^`{-}]")


class Tables:
    """The tables of one database, written in the order of these methods.

    Args:
        connection: to an empty database, except for the temporary table `drafts`.
        settings, language, vocabulary: what goes in besides the documents.
    """

    def __init__(
        self, connection: sqlite3.Connection, settings: Settings, language: Language, vocabulary: Vocabulary
    ) -> None:
        self._db = sqlite_utils.Database(connection, execute_plugins=False)
        self._connection = connection
        self._execute = connection.execute
        self._settings = settings
        self._language = language
        self._vocabulary = vocabulary
        self._url = self._url_of_id()

    def _url_of_id(self) -> str:
        """Return the SQL that makes every document's url of its id, "" if there is none."""
        documents = self._settings.documents
        parts = documents.url.parts if documents.url else ()
        if not documents.id.is_one_column or documents.id.parts[0] not in parts or len(parts) == 1:
            return ""
        texts = [part for part in parts if isinstance(part, str)]
        if len(parts) != len(texts) + 1:
            return ""

        def sql(signs: Iterable[str]) -> str:
            id = "id"
            for sign in signs:
                id = f"replace({id}, {self._db.quote(sign)}, {self._db.quote(percent_encode(sign, safe=''))})"
            return " || ".join(self._db.quote(part) if isinstance(part, str) else id for part in parts)

        def others(url: str, number: int) -> list[str]:
            return [id for (id,) in self._execute(f"SELECT id FROM drafts WHERE url <> {url} LIMIT {number}")]

        # Signs that a url must encode; an id with others, or with blanks around it, breaks the rule.
        signs = {sign for id in others(sql(()), 1_000) for sign in id if _ENCODED.match(sign)}
        url = sql(sorted(signs, key=lambda sign: (sign != "%", sign)))  # what the others become begins with a %
        return "" if len(signs) > MOST_SIGNS or others(url, 1) else url

    def create(self) -> None:
        """Create the tables, empty; a url that is made of the id alone is a column that takes no room."""
        schema = statement("schema")
        if self._url:
            stored = "url TEXT NOT NULL,"
            assert stored in schema
            schema = schema.replace(stored, f"url TEXT NOT NULL GENERATED ALWAYS AS ({self._url}) VIRTUAL,")
        self._db.executescript(schema)

    def write_documents(self) -> None:
        """Write documents, in the order of their rank, the next free number on collision; and their index."""
        self._resolve_collisions()
        columns = ", ".join(column for column in Draft._fields[2:] if not (column == "url" and self._url))
        self._execute(f"INSERT INTO documents (rowid, {columns}) SELECT rank, {columns} FROM drafts ORDER BY rank")
        documents = self._db.table("documents")
        documents.rebuild_fts()
        documents.optimize()  # before the other tables, which take the pages that it frees

    def _resolve_collisions(self) -> None:
        """Give each draft whose rank is taken the next free one, in the order of rank and id."""
        moved = []
        last = -1
        for draft, rank in self._execute("SELECT rowid, rank FROM drafts ORDER BY rank, id"):
            last = max(last + 1, rank)
            if last != rank:
                moved.append((last, draft))
        self._connection.executemany("UPDATE drafts SET rank = ? WHERE rowid = ?", moved)

    def write_words(self) -> None:
        """Write the words of the index, their trigrams, and the broad prefixes."""
        self._execute("CREATE VIRTUAL TABLE temp.by_column USING fts5vocab(main, documents_fts, col)")
        self._execute("CREATE VIRTUAL TABLE temp.by_word USING fts5vocab(main, documents_fts, row)")
        self._execute(
            "CREATE TEMP TABLE in_titles AS SELECT DISTINCT term FROM by_column WHERE col <> 'id_lc' ORDER BY term"
        )
        self._execute(
            "INSERT INTO id_starts SELECT DISTINCT substr(term, 1, min(length(term) - length(ltrim(term, ?1)), ?2)) "
            "FROM by_column WHERE col = 'id_lc'",
            (ascii_lowercase, LETTERS_OF_IDS),
        )
        self._connection.executemany(
            "INSERT INTO words (rowid, word, documents, weight, singular) VALUES (?, ?, ?, ?, ?)", self._words()
        )
        self._connection.executemany("INSERT INTO prefixes VALUES (?, ?)", sorted(self._broad_prefixes()))
        self._write_trigrams()
        for name in ("in_titles", "by_word", "by_column"):
            self._execute(f"DROP TABLE temp.{name}")

    def _words(self) -> Iterator[tuple[int, str, int, int, str]]:
        """Yield the rows of the table words, in order."""
        singular = self._language.singular
        found = self._execute("SELECT term, doc FROM by_word WHERE term IN (SELECT term FROM in_titles) ORDER BY term")
        for number, (word, count) in enumerate(found, 1):
            yield number, word, count, round(1000 * math.log(WHOLE / count)), singular(word)

    def _broad_prefixes(self) -> Iterator[tuple[str, int]]:
        """Yield each start of a word of the index that is broad, with the sum of its words' documents."""
        # Words come sorted: those with one start follow each other. sums[n] is of the first n letters of `before`.
        sums: list[int] = [0]
        before = ""
        for word, count in chain(self._execute("SELECT term, doc FROM by_word"), [("", 0)]):
            while not word.startswith(before[: len(sums) - 1]):
                if (total := sums.pop()) > BROAD:
                    yield before[: len(sums)], total
            for length in range(1, len(sums)):
                sums[length] += count
            sums += [count] * (len(word) + 1 - len(sums))
            before = word

    def _write_trigrams(self) -> None:
        """Write the trigrams of the words; those of very many words tell nothing, and are left out."""
        words_of: defaultdict[str, array[int]] = defaultdict(partial(array, "L"))
        for number, word in self._execute("SELECT rowid, word FROM words ORDER BY rowid"):
            for trigram in trigrams(word):
                if len(words := words_of[trigram]) <= TRIGRAM_BUDGET:
                    words.append(number)
        kept = sorted((trigram, words) for trigram, words in words_of.items() if len(words) <= TRIGRAM_BUDGET)
        many = self._connection.executemany
        lists = ((trigram, json.dumps(words.tolist())) for trigram, words in kept)
        many("INSERT INTO trigrams SELECT ?1, value FROM json_each(?2)", lists)
        many("INSERT INTO trigram_counts VALUES (?, ?)", ((trigram, len(words)) for trigram, words in kept))

    def write_vocabulary(self) -> list[Measured]:
        """Measure the vocabulary on the index, write it with its counts, and return them."""
        measured = measure(self._connection, self._vocabulary)
        by_pair = {id(pair): one for pair, one in zip(self._vocabulary.pairs, measured, strict=True)}
        self._connection.executemany(
            "INSERT INTO vocabulary (key, asked, pattern, source, asked_documents, source_documents, gain, "
            "verdict, detail, line, reverse) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                (
                    entry.key, entry.asked, entry.source.pattern, entry.source.written,
                    one.asked_documents, one.source_documents, one.gain, one.verdict, one.detail,
                    one.line, entry.reverse,
                )
                for entry in self._vocabulary.entries
                for one in [by_pair[id(entry.pair)]]
            ),
        )  # fmt: skip
        return measured

    def write_language(self, rare: set[str]) -> None:
        """Write what folds and splits a question; `rare` are the code points from U+3400 on that were met."""
        many = self._connection.executemany
        asked = (rare_characters(entry.asked) for entry in self._vocabulary.entries)
        rare = rare.union(*asked)
        many("INSERT INTO folding VALUES (?, ?)", full_folding().rows(rare))
        many("INSERT INTO stopwords VALUES (?)", ((word,) for word in sorted(self._language.stop_words)))
        many(
            "INSERT INTO rules (kind, form, replacement, least) VALUES (?, ?, ?, ?)",
            self._language.rules,
        )
        many("INSERT INTO messages VALUES (?, ?)", sorted(self._language.messages.items()))
        many("INSERT INTO spellings VALUES (?, ?)", sorted(SPELLINGS.items()))
        many("INSERT INTO statements VALUES (?, ?)", sorted(query_time().items()))

    def write_catalog(self) -> str:
        """Write what the catalogue is; return the digest of its content."""
        documents = self.count()
        title_words, body_words = self._execute(
            "SELECT total(length(title_lc) - length(replace(title_lc, ' ', '')) + 1), "
            "total(CASE WHEN keywords_lc||text_lc = '' THEN 0 ELSE length(keywords_lc||text_lc) "
            "- length(replace(keywords_lc||text_lc, ' ', '')) + 1 END) FROM documents"
        ).fetchone()
        settings, provenance = self._settings, self._settings.provenance
        digest = self._content_hash()
        values = {
            "name": settings.name,
            "title": settings.title,
            "language": self._language.tag,
            "publisher": provenance.publisher,
            "licence": provenance.licence,
            "source_url": provenance.source_url,
            "revision": provenance.revision,
            "retrieved_at": provenance.retrieved_at,
            "format_version": str(FORMAT_VERSION),
            "content_hash": digest,
            "licence_notes": LICENCE_NOTES,
            "source_name": self._vocabulary.source_name or settings.title,
            "documents": str(documents),
            "facets": json.dumps(list(settings.documents.facets), ensure_ascii=False),
            "rows": json.dumps({name: self._rows_of(name) for name in COUNTED}),
            "longest_asked": str(self._vocabulary.longest),
            "title_words": f"{title_words / documents:.6f}",
            "body_words": f"{body_words / documents:.6f}",
        }
        self._connection.executemany("INSERT INTO catalog VALUES (?, ?)", sorted(values.items()))
        return digest

    def _content_hash(self) -> str:
        """Return a digest of what the source says, its vocabulary and its language; the same on every SQLite."""
        digest = blake2b(digest_size=16)
        settings = self._settings
        for part in (
            (
                settings.name,
                settings.title,
                self._language.tag,
                FORMAT_VERSION,
                settings.provenance,
                settings.documents.facets,
            ),
            self._vocabulary.entries,
            sorted(self._language.stop_words),
            self._language.rules,
            sorted(self._language.messages.items()),
        ):
            digest.update(repr(part).encode())
        rows = self._execute(
            "SELECT rowid, id, title, url, keywords, metadata, path, heading, first_line, last_line, text "
            "FROM documents ORDER BY rowid"
        )
        while some := rows.fetchmany(HASHED_AT_ONCE):
            digest.update(repr(some).encode())
        return digest.hexdigest()

    def write_indexes(self) -> None:
        """Write the indexes, those of the facets too."""
        self._db.executescript(statement("indexes"))
        for facet in self._settings.documents.facets:
            name = self._db.quote(f'$."{facet}"')
            self._execute(f"CREATE INDEX {_identifier(f'documents_facet_{facet}')} ON documents(facets_lc ->> {name})")

    def count(self, condition: str = "1") -> int:
        """Return the number of documents, or of those that a condition holds for."""
        return self._rows_of(f"documents WHERE {condition}")

    def _rows_of(self, table: str) -> int:
        (number,) = self._execute(f"SELECT count(*) FROM {table}").fetchone()
        return int(number)


def _identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
