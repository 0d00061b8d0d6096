"""A database's health: its file, its normal forms, its index, and that every way to ask gives the same answer."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import tempfile
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from catalog_search.catalog import Catalog
from catalog_search.database import COUNTED, Database
from catalog_search.documents import normal_forms
from catalog_search.text import Folding

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

SAMPLES = 12
"""Questions asked in every way: titles, their beginnings, common and rare words."""

PAGE = 200

NAMED = 10
"""Faults of one kind that are named."""


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
            counts = [f"SELECT count(*) FROM {table}" for table in ("documents", *COUNTED)]
            number, *numbers = (connection.execute(sql).fetchone()[0] for sql in counts)
            counts_of(number, numbers, database.catalog, found)
            _normal_forms(connection, found)
            _index(database.name, found)
            questions = sample_questions(connection)
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


def counts_of(documents: int, numbers: Iterable[int], catalog: Mapping[str, str], found: Checked) -> None:
    """Compare numbers of rows with what the table `catalog` says.

    Args:
        documents: how many rows there are.
        numbers: those of the tables COUNTED, in this order.
        catalog: what the table says.
        found: where to write.
    """
    stated = int(catalog["documents"])
    if documents != stated:
        found.faults.append(f"the catalogue says {stated:,} documents and holds {documents:,}")
    else:
        found.checked.append(f"{documents:,} documents")
    held = dict(zip(COUNTED, numbers, strict=True))
    try:
        said = {table: int(json.loads(catalog["rows"])[table]) for table in COUNTED}
    except (KeyError, ValueError, TypeError):
        found.faults.append('the entry "rows" of its table catalog is missing or damaged: rows cannot be counted')
        return
    wrong = {table: number for table, number in held.items() if number != said[table]}
    for table, number in wrong.items():
        found.faults.append(f"the table {table} should have {said[table]:,} rows and has {number:,}")
    if not wrong:
        found.checked.append(f"{sum(held.values()):,} rows of {len(held)} tables")


def _normal_forms(connection: sqlite3.Connection, found: Checked) -> None:
    folding = Folding(dict(connection.execute("SELECT key, signs FROM folding")))
    rows = connection.execute(
        "SELECT id, title, keywords, text, id_lc, title_lc, keywords_lc, text_lc FROM documents ORDER BY rowid"
    )
    normal_forms_of(rows, folding, found, "every normal form")


def normal_forms_of(rows: Iterable[Sequence[str]], folding: Folding, found: Checked, what: str) -> None:
    """Make normal forms anew, with the file's own folding table, and compare."""
    wrong = 0
    for id, title, keywords, text, *held in rows:
        made = normal_forms(id, title, json.loads(keywords), text, folding)
        for column, one, other in zip(made._fields, made, held, strict=True):
            if one != other:
                wrong += 1
                if wrong <= NAMED:
                    found.faults.append(f'{column} of document "{id}" is not the normal form of what it holds')
    if wrong > NAMED:
        found.faults.append(f"and {wrong - NAMED:,} more normal forms")
    if not wrong:
        found.checked.append(what)


def _index(path: str, found: Checked) -> None:
    """Compare the index with the documents and the words; on a copy, since FTS5 does that by a command that writes."""
    with _copied(path) as copy:
        try:
            copy.execute("INSERT INTO documents_fts(documents_fts, rank) VALUES ('integrity-check', 1)")
        except sqlite3.DatabaseError as problem:
            found.faults.append(f"the index does not hold what the documents say ({problem})")
        else:
            found.checked.append("the index holds what the documents say")
        copy.execute("CREATE VIRTUAL TABLE temp.indexed USING fts5vocab(main, documents_fts, row)")
        wrong = copy.execute(
            "SELECT w.word, w.documents, i.doc FROM words AS w LEFT JOIN indexed AS i ON i.term = w.word "
            "WHERE w.documents IS NOT i.doc ORDER BY w.word LIMIT ?",
            (NAMED,),
        ).fetchall()
    for word, counted, indexed in wrong:
        found.faults.append(f'the index has {indexed or 0:,} documents with the word "{word}", the table {counted:,}')
    if not wrong:
        found.checked.append("counts of words in the index")


@contextmanager
def _copied(path: str) -> Iterator[sqlite3.Connection]:
    with tempfile.TemporaryDirectory() as folder:
        copy = os.path.join(folder, "copy.db")
        shutil.copyfile(path, copy)
        connection = sqlite3.connect(copy, isolation_level=None)
        try:
            yield connection
        finally:
            connection.close()


def sample_questions(connection: sqlite3.Connection) -> list[str]:
    """Return sample questions, always the same for the same file."""
    (count,) = connection.execute("SELECT count(*) FROM documents").fetchone()
    places = sorted({count * share // 4 for share in range(4)}) if count else []
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
