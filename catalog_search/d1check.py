"""What of a catalogue Cloudflare D1 would not take, and what a question reads there: said before anything is sent."""

from __future__ import annotations

import os
import sqlite3
import statistics
from typing import TYPE_CHECKING, NamedTuple

from catalog_search.catalog import Catalog
from catalog_search.checking import Checked, sample_questions
from catalog_search.d1 import (
    DATABASE_BYTES,
    FREE_DATABASE_BYTES,
    FREE_ROWS_READ,
    LIMITS,
    STATEMENT_BYTES,
    too_long,
)
from catalog_search.database import Database
from catalog_search.errors import DatabaseError
from catalog_search.export import data_statements, index_statements
from catalog_search.text import MAX_WORDS

if TYPE_CHECKING:
    from collections.abc import Sequence

NAMED = 10
"""Rows that are named when they are too long."""

LONG = [
    "x" * 60,
    " ".join(f"w{n}" for n in range(MAX_WORDS)),
    " ".join(f"{'x' * 12}{n}" for n in range(MAX_WORDS)),
]
"""Questions that come near the limits: one long word; as many words as a question may have, short and long."""

# Of each document that a compiled statement finds, D1 counts the index, the row, and the order; measured there.
_READ_A_DOCUMENT = 4
_READ_A_QUESTION = 2
# Nine of ten judged questions of the catalogues in data/ read fewer by the statement `ask`, whatever the catalogue's
# size; see the table in the README, made by tests/test_d1.py.
_READ_BY_ASK = 300


class Fitting(NamedTuple):
    """What was looked at, what does not fit, and what questions read."""

    checked: list[str]
    faults: list[str]
    rows_read: dict[str, int]
    """Rows that a question reads: `compiled`, by a compiled statement, at least, in the median over the samples, which
    find few documents; `ask`, by the statement of the Worker and of searches over D1; `scan`, by a scan with GLOB."""
    questions_per_day_free_tier: dict[str, int]


def check_d1(path: str | os.PathLike[str]) -> Fitting:
    """Say whether a catalogue fits into Cloudflare D1, and what its questions read there.

    The rows that are read are an estimate, from the number of documents found; D1 tells them as `meta.rows_read`.

    Raises:
        DatabaseError: the database cannot be read.
    """
    found = Checked([], [])
    database = Database(path)
    try:
        with database.errors():
            _rows(database, found)
            _size(database, found)
            _script(database, found)
            questions = sample_questions(database.connection())
            scanned = int(database.catalog["documents"])
    finally:
        database.close()
    with Catalog.open(path) as catalog:
        _limits(path, catalog, [*questions, *LONG], found)
        counts = [len(catalog.ids_by_statement(question, "d1", scanned)) for question in questions] or [0]
    read = {
        "compiled": round(_READ_A_QUESTION + _READ_A_DOCUMENT * statistics.median(counts)),
        "ask": _READ_BY_ASK,
        "scan": scanned,
    }
    a_day = {way: FREE_ROWS_READ // max(rows, 1) for way, rows in read.items()}
    found.checked.append(
        f"rows read a question: {read['compiled']:,} or more by a compiled statement, which reads "
        f"{_READ_A_DOCUMENT} for each document that it finds (in the median of {len(questions)} samples); some "
        f"{_READ_BY_ASK:,} by ask.sql, which the Worker runs; {scanned:,} by a scan. The free plan's "
        f"{FREE_ROWS_READ:,} a day are {a_day['compiled']:,} questions at most, some {a_day['ask']:,}, or "
        f"{a_day['scan']:,}"
    )
    return Fitting(found.checked, found.faults, read, a_day)


def _rows(database: Database, found: Checked) -> None:
    lines = list(map(str, too_long(database)))
    found.faults.extend(lines[:NAMED])
    if len(lines) > NAMED:
        found.faults.append(f"and {len(lines) - NAMED:,} more rows that are too long")
    if not lines:
        found.checked.append(f"no row is longer than {LIMITS['LENGTH']:,} bytes")


def _size(database: Database, found: Checked) -> None:
    (size,) = (
        database.connection()
        .execute("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size")
        .fetchone()
    )
    if size > DATABASE_BYTES:
        found.faults.append(f"the database has {size:,} bytes; D1 takes {DATABASE_BYTES:,}")
    elif size > FREE_DATABASE_BYTES:
        found.checked.append(f"{size:,} bytes, which needs the paid plan: the free one takes {FREE_DATABASE_BYTES:,}")
    else:
        found.checked.append(f"{size:,} bytes of the free plan's {FREE_DATABASE_BYTES:,}")


def _script(database: Database, found: Checked) -> None:
    """Write the script to nowhere."""
    number = longest = 0
    try:
        for statements in (data_statements(database), index_statements(database)):
            for sql in statements:
                number += 1
                longest = max(longest, len(sql.encode()))
    except DatabaseError as problem:
        found.faults.append(problem.message)
        return
    if longest > STATEMENT_BYTES:
        found.faults.append(f"a statement of its script has {longest:,} bytes; D1 takes {LIMITS['SQL_LENGTH']:,}")
    else:
        found.checked.append(f"{number:,} statements of its script, the longest of {longest:,} bytes")


def _limits(path: str | os.PathLike[str], catalog: Catalog, questions: Sequence[str], found: Checked) -> None:
    """Run questions under D1's limits, by both statements."""
    database = Database(path)
    try:
        with database.errors():
            connection = database.connection()
            # FTS5 prepares statements of its own on the first use of its table, which D1 does not hold to its limits.
            connection.execute("SELECT 1 FROM documents_fts WHERE documents_fts MATCH '\"\"'").fetchall()
            for name, value in LIMITS.items():
                connection.setlimit(getattr(sqlite3, f"SQLITE_LIMIT_{name}"), value)
            for question in questions:
                connection.execute(catalog.ask_statement(), (question,)).fetchall()
                connection.execute(*catalog.statement(question, "d1")).fetchall()
    except DatabaseError as problem:
        found.faults.append(f"a question exceeds a limit of D1: {problem.message}")
    else:
        limits = ", ".join(f"{name} {value:,}" for name, value in LIMITS.items())
        found.checked.append(f"{len(questions)} questions, long ones too, within {limits}")
    finally:
        database.close()
