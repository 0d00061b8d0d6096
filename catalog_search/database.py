"""A .db, opened read-only: its format, its connections, its errors.

A connection belongs to a thread, so that threads read side by side without a lock.
"""

from __future__ import annotations

import json
import os
import sqlite3
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from catalog_search.errors import BoundReached, CatalogSearchError, DatabaseError

if TYPE_CHECKING:
    from collections.abc import Iterator

FORMAT_VERSION = 1
"""The version of sql/schema.sql. Raised when an older program would misread a newer file."""

LONGEST_ERROR = 120
"""Characters of SQLite's own message that are shown: some hold the whole statement."""

OLDEST_SQLITE = (3, 40, 0)

FIGURES = ("documents", "longest_asked", "title_words", "body_words")
NEEDED = (
    "name", "title", "language", "publisher", "licence", "source_url", "revision", "retrieved_at",
    "content_hash", "licence_notes", "source_name", "facets", *FIGURES,
)  # fmt: skip
"""What the table `catalog` must hold beside its format version; the figures are numbers."""


CATALOG = "SELECT key, value FROM catalog"
CARRIED = (
    "SELECT name, sql FROM statements",
    "SELECT word FROM stopwords",
    "SELECT kind, form, replacement, least FROM rules ORDER BY position",
    "SELECT key, sentence FROM messages",
)
"""What is read when a catalogue is opened; see Carried."""
COUNTED = (
    "words", "trigrams", "trigram_counts", "prefixes", "id_starts", "vocabulary", "folding", "stopwords", "rules",
    "messages", "spellings", "statements",
)  # fmt: skip
"""The tables beside `documents` whose numbers of rows the entry `rows` of the table `catalog` holds, for checks."""


INDEXED = """
SELECT EXISTS (
    SELECT 1 FROM documents_fts
    WHERE documents_fts MATCH coalesce((SELECT '"' || word || '"' FROM words ORDER BY rowid LIMIT 1), '""'))
  OR NOT EXISTS (SELECT 1 FROM words) AS indexed"""
"""Tells whether the full-text index holds a word of the table of words: one that was made and never filled finds
nothing, which looks like an answer. It fails where there is no index."""


class Carried(NamedTuple):
    """What a database carries to be asked with: rows of its tables."""

    statements: list[Any]
    stop_words: list[Any]
    rules: list[Any]
    messages: list[Any]


STEPS = 1_000
"""Instructions of SQLite's machine between two looks at the clock: some ten microseconds."""

# What a statement may do. It may not write, attach, load or ask for anything else: not even if a caller's text
# became SQL, which it never does.
_ALLOWED = frozenset({sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE})
_PRAGMAS = frozenset({"data_version", "integrity_check", "page_count", "page_size", "table_list", "table_xinfo"})


class Limits(NamedTuple):
    """The most that one question may ask for; 0 for no limit."""

    terms: int = 0
    """After stop words are left out."""
    patterns: int = 0
    """What is searched for the terms, all together."""
    seconds: float = 0.0
    """Inside the database."""


NO_LIMITS = Limits()


class Statements(dict[str, str]):
    """The statements that a database keeps, by name."""

    def __missing__(self, name: str) -> str:
        raise DatabaseError(f'it has no statement "{name}"; rebuild it with “catalog-search build”')


class Database:
    """A catalogue's database, open for reading.

    Args:
        path: the file, or the bytes of a database.
        limits: the most that one question may ask for.

    Raises:
        DatabaseError: there is no such file, it is no catalogue, or it has another format version.
    """

    def __init__(self, path: str | os.PathLike[str] | bytes, limits: Limits = NO_LIMITS) -> None:
        self.limits = limits
        self.name = ":memory:" if isinstance(path, bytes) else os.fspath(path)
        self._bytes = path if isinstance(path, bytes) else None
        self._local = threading.local()
        self._opened: dict[threading.Thread, sqlite3.Connection] = {}
        self._closed = False
        if self._bytes is None and not os.path.isfile(self.name):
            what = "it is a folder" if os.path.isdir(self.name) else "no such file"
            raise DatabaseError(f"{what}; name a database made by “catalog-search build”", path=self.name)
        with self.errors():
            self.catalog: dict[str, str] = self._read_catalog()
        self._check_catalog("rebuild it with “catalog-search build”")

    def _check_catalog(self, remedy: str) -> None:
        """Check the format version and what the table `catalog` must hold."""
        found = self.catalog.get("format_version", "")
        if found != str(FORMAT_VERSION):
            raise DatabaseError(
                f"its format version is {found or 'missing'}, this program reads {FORMAT_VERSION}; {remedy}",
                path=self.name,
            )
        lost = [key for key in NEEDED if key not in self.catalog] or [key for key in FIGURES if not self._figure(key)]
        if lost:
            raise DatabaseError(
                f'the entry "{lost[0]}" of its table catalog is missing or damaged; {remedy}', path=self.name
            )

    def _figure(self, key: str) -> bool:
        return self.catalog[key].replace(".", "", 1).isdecimal()

    def _read_catalog(self) -> dict[str, str]:
        try:
            return dict(self.connection().execute(CATALOG))
        except sqlite3.OperationalError as problem:
            if "no such table" in str(problem) or "no such column" in str(problem):
                raise DatabaseError(
                    "it is a SQLite file but no catalogue; name a database made by “catalog-search build”",
                    path=self.name,
                ) from None
            raise

    def carried(self) -> Carried:
        """Return what the database carries to be asked with."""
        with self.errors():
            return Carried(*(self.connection().execute(sql).fetchall() for sql in CARRIED))

    def connection(self) -> sqlite3.Connection:
        """Return this thread's connection.

        Raises:
            DatabaseError: the database was closed.
        """
        try:
            found: sqlite3.Connection = self._local.connection
        except AttributeError:
            found = self._connect()
        if self._closed:
            raise DatabaseError("the catalogue was closed", path=self.name)
        return found

    def _connect(self) -> sqlite3.Connection:
        if self._closed:
            raise DatabaseError("the catalogue was closed", path=self.name)
        if self._bytes is not None:
            opened = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
            opened.deserialize(self._bytes)
        else:
            # immutable: a published file is replaced, never written, so no locks are needed to read it.
            quoted = "".join(f"%{ord(sign):02x}" if sign in "%?#" else sign for sign in os.path.abspath(self.name))
            opened = sqlite3.connect(
                f"file:{quoted}?mode=ro&immutable=1", uri=True, isolation_level=None,
                check_same_thread=False, cached_statements=256,
            )  # fmt: skip
        opened.execute("PRAGMA query_only = 1")
        opened.execute("PRAGMA cache_size = -16000")
        opened.set_authorizer(_allow)
        if self.limits.seconds:
            opened.set_progress_handler(self._expired, STEPS)
        self._local.connection = opened
        self._let_go_of_ended_threads()
        self._opened[threading.current_thread()] = opened
        return opened

    def start_clock(self) -> None:
        """Give the calling thread the whole of its time again: `Limits.seconds` from now."""
        self._local.deadline = time.monotonic() + self.limits.seconds
        self._local.expired = False

    def _expired(self) -> bool:
        expired = time.monotonic() > getattr(self._local, "deadline", float("inf"))
        self._local.expired = expired
        return expired

    def _let_go_of_ended_threads(self) -> None:
        """Close the connections of threads that are no more: a server's workers come and go."""
        for thread in list(self._opened):
            if not thread.is_alive() and (ended := self._opened.pop(thread, None)) is not None:
                ended.close()

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Turn SQLite's errors, and damaged JSON, into DatabaseError: what failed, and what to do."""
        try:
            yield
        except (sqlite3.Error, UnicodeDecodeError) as problem:
            raise self.error(problem) from problem
        except json.JSONDecodeError as problem:
            raise DatabaseError(
                f"the database is damaged (no JSON: {problem}); rebuild it with “catalog-search build”", path=self.name
            ) from problem

    def error(self, problem: sqlite3.Error | UnicodeDecodeError) -> CatalogSearchError:
        """Return the DatabaseError for one of SQLite's; it may hold, or be about, text that is not UTF-8.

        BoundReached if it is that the time was over.
        """
        text = " ".join(str(problem).split())
        text = text if len(text) <= LONGEST_ERROR else f"{text[:LONGEST_ERROR]}…"
        if "interrupt" in text and getattr(self._local, "expired", False):
            self._local.expired = False
            return BoundReached(
                f"the question takes longer than {self.limits.seconds:g} s in the catalogue's database; "
                "ask with fewer or rarer words"
            ).also("too_slow", seconds=f"{self.limits.seconds:g}")
        if "decode" in text:
            return DatabaseError(
                "the database is damaged (text that is not UTF-8); rebuild it with “catalog-search build”",
                path=self.name,
            )
        if "documents_fts" in text or "fts5" in text or "vtable" in text:
            return DatabaseError(
                f"its search index cannot be read ({text}); rebuild it with “catalog-search build”",
                path=self.name,
            )
        if "not a database" in text or "malformed" in text or "disk I/O" in text:
            return DatabaseError(
                f"the database is damaged or is no SQLite file ({text}); rebuild it with “catalog-search build”",
                path=self.name,
            )
        return DatabaseError(f"the database cannot be read ({text})", path=self.name)

    def close(self) -> None:
        """Close every thread's connection; a search that runs in another thread ends with an error."""
        self._closed = True
        for opened in list(self._opened.values()):
            opened.close()
        self._opened.clear()


def _allow(action: int, what: str | None, *_: object) -> int:
    if action == sqlite3.SQLITE_PRAGMA:
        allowed = what in _PRAGMAS
    elif action == sqlite3.SQLITE_UPDATE:  # so a virtual table tells its columns; nothing is written for it
        allowed = what == "sqlite_master"
    else:
        allowed = action in _ALLOWED
    return sqlite3.SQLITE_OK if allowed else sqlite3.SQLITE_DENY
