"""A database's health: its file, its index, and that every way to ask gives the same answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from catalog_search.catalog import Catalog
from catalog_search.database import Database

if TYPE_CHECKING:
    import os
    import sqlite3

SAMPLES = 12
"""Questions asked in every way: titles, their beginnings, common and rare words."""

PAGE = 200


class Checked(NamedTuple):
    """What was looked at, and what is wrong: sentences."""

    checked: list[str]
    faults: list[str]


def check(path: str | os.PathLike[str]) -> Checked:
    """Check a database.

    Raises:
        DatabaseError: it cannot be opened at all.
    """
    found = Checked([], [])
    database = Database(path)
    try:
        with database.errors():
            connection = database.connection()
            found.checked.append(f"format version {database.catalog['format_version']}")
            _integrity(connection, found)
            _counts(connection, int(database.catalog["documents"]), found)
            questions = _questions(connection)
    finally:
        database.close()
    with Catalog.open(path) as catalog:
        _same_answers(catalog, questions, found)
    return found


def _integrity(connection: sqlite3.Connection, found: Checked) -> None:
    said = [line for (line,) in connection.execute("PRAGMA integrity_check(20)")]
    if said == ["ok"]:
        found.checked.append("integrity of the file")
    else:
        found.faults.extend(f"integrity of the file: {line}" for line in said)


def _counts(connection: sqlite3.Connection, documents: int, found: Checked) -> None:
    """Compare the number of documents with what the file says, and its most common words with the index."""
    (held,) = connection.execute("SELECT count(*) FROM documents").fetchone()
    if held != documents:
        found.faults.append(f"the file says {documents:,} documents and holds {held:,}")
    else:
        found.checked.append(f"{documents:,} documents")
    words = connection.execute("SELECT word, documents FROM words ORDER BY documents DESC, word LIMIT 5").fetchall()
    for word, count in words:
        (indexed,) = connection.execute(
            "SELECT count(*) FROM documents_fts WHERE documents_fts MATCH ?", (f'"{word}"',)
        ).fetchone()
        if indexed != count:
            found.faults.append(f'the index has {indexed:,} documents with the word "{word}", the table {count:,}')
    if not found.faults:
        found.checked.append("counts of words in the index")


def _questions(connection: sqlite3.Connection) -> list[str]:
    """Return sample questions, always the same for the same file."""
    (last,) = connection.execute("SELECT count(*) FROM documents").fetchone()
    places = sorted({last * share // 4 for share in range(4)})
    titles = [
        connection.execute("SELECT title FROM documents ORDER BY rowid LIMIT 1 OFFSET ?", (place,)).fetchone()[0]
        for place in places
    ]
    ids = [id for (id,) in connection.execute("SELECT id FROM documents ORDER BY rowid LIMIT 1")]
    words = [
        word
        for order in ("DESC", "ASC")
        for (word,) in connection.execute(f"SELECT word FROM words ORDER BY documents {order}, word LIMIT 2")
    ]
    starts = [word[:3] for word in words if len(word) > 3]
    return list(dict.fromkeys([*titles, *ids, *words, *starts]))[:SAMPLES]


def _same_answers(catalog: Catalog, questions: list[str], found: Checked) -> None:
    faults = 0
    for question in questions:
        answer = catalog.search(question, limit=PAGE, relax=False)
        ids = [result.id for result in answer.results]
        for dialect in ("glob", "fts"):
            other = [id for (id,) in catalog.ids_by_statement(question, dialect, PAGE)]
            if other != ids:
                faults += 1
                found.faults.append(f"search and {dialect} answer “{question}” otherwise: {ids[:3]}… and {other[:3]}…")
    if not faults:
        found.checked.append(
            f"search, GLOB and FTS5 give the same answers in the same order ({len(questions)} questions)"
        )
