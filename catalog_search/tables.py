"""Drafts → the tables of a catalogue's database: documents and index, words, and what folds, splits and translates."""

from __future__ import annotations

import json
import math
from hashlib import blake2b
from typing import TYPE_CHECKING

import sqlite_utils

from catalog_search.database import FORMAT_VERSION
from catalog_search.documents import Draft, rare_characters
from catalog_search.measure import Measured, measure
from catalog_search.ranking import BROAD
from catalog_search.statements import query_time, statement
from catalog_search.text import SPELLINGS, full_folding

if TYPE_CHECKING:
    import sqlite3

    from catalog_search.language import Language
    from catalog_search.settings import Settings
    from catalog_search.vocabulary import Vocabulary

LICENCE_NOTES = (
    "The table folding is made from Unidecode (GPL-2.0-or-later). Documents are under the licence of their source."
)

WHOLE = 2**32
"""What a word's weight is measured against. Weights are only compared with each other, so that any number does that no
catalogue's documents exceed; with a number of its own, a document more would change the weight of every word."""


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

    def create(self) -> None:
        """Create the tables, empty."""
        self._db.executescript(statement("schema"))

    def write_documents(self) -> None:
        """Write documents, in the order of their rank, the next free number on collision; and their index."""
        columns = ", ".join(Draft._fields[2:])
        self._execute(
            f"INSERT INTO documents (rowid, {columns}) "
            "SELECT place + max(rank - place) OVER (ORDER BY place), "
            f"{columns} FROM (SELECT *, row_number() OVER (ORDER BY rank, id) AS place FROM drafts) ORDER BY place"
        )
        documents = self._db.table("documents")
        documents.rebuild_fts()
        documents.optimize()  # before the other tables, which take the pages that it frees

    def write_words(self) -> None:
        """Write the words of the index, their trigrams, and the broad prefixes."""
        self._execute("CREATE VIRTUAL TABLE temp.by_word USING fts5vocab(main, documents_fts, row)")
        self._execute("CREATE VIRTUAL TABLE temp.by_column USING fts5vocab(main, documents_fts, col)")
        self._execute("CREATE TEMP TABLE counted AS SELECT term, doc FROM by_word")
        words = self._execute(
            "SELECT term, doc FROM counted "
            "WHERE term IN (SELECT term FROM by_column WHERE col <> 'id_lc') ORDER BY term"
        )
        singular = self._language.singular
        self._connection.executemany(
            "INSERT INTO words (word, documents, weight, singular) VALUES (?, ?, ?, ?)",
            ((word, count, round(1000 * math.log(WHOLE / count)), singular(word)) for word, count in words),
        )
        self._execute(
            "WITH RECURSIVE place(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM place "
            "WHERE n < (SELECT max(length(word)) FROM words)) "
            "INSERT INTO trigrams SELECT DISTINCT substr('_'||w.word||'_', n, 3), w.rowid "
            "FROM words AS w JOIN place ON n <= length(w.word) ORDER BY 1, 2"
        )
        self._execute("INSERT INTO trigram_counts SELECT trigram, count(*) FROM trigrams GROUP BY trigram")
        self._execute("INSERT INTO id_starts SELECT DISTINCT substr(term, 1, 3) FROM by_column WHERE col = 'id_lc'")
        self._write_prefixes()
        for name in ("counted", "by_word", "by_column"):
            self._execute(f"DROP TABLE temp.{name}")

    def _write_prefixes(self) -> None:
        """Write the broad prefixes, letter by letter: a broad one begins with broad ones."""
        length = 1
        while True:
            found = self._execute(
                "INSERT INTO prefixes SELECT substr(term, 1, ?1), sum(doc) FROM counted "
                "WHERE length(term) >= ?1 AND (?1 = 1 OR substr(term, 1, ?1 - 1) IN "
                "(SELECT prefix FROM prefixes WHERE length(prefix) = ?1 - 1)) "
                "GROUP BY 1 HAVING sum(doc) > ?2",
                (length, BROAD),
            )
            if not found.rowcount:
                return
            length += 1

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
        for row in self._execute(
            "SELECT rowid, id, title, url, keywords, metadata, path, heading, first_line, last_line, text "
            "FROM documents ORDER BY rowid"
        ):
            digest.update(repr(row).encode())
        return digest.hexdigest()

    def write_indexes(self) -> None:
        """Write the indexes, those of the facets too."""
        self._db.executescript(statement("indexes"))
        for facet in self._settings.documents.facets:
            name = self._db.quote(f'$."{facet}"')
            self._execute(f"CREATE INDEX {_identifier(f'documents_facet_{facet}')} ON documents(facets_lc ->> {name})")

    def count(self, condition: str = "1") -> int:
        """Return the number of documents, or of those that a condition holds for."""
        (number,) = self._execute(f"SELECT count(*) FROM documents WHERE {condition}").fetchone()
        return int(number)


def _identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
