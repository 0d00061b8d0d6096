"""A catalogue's database → a script that Cloudflare D1 runs: the same database there.

D1 takes no file of SQLite's, and of a dump neither transactions nor the tables inside a full-text index. So the
script makes tables and rows, then indexes, then each full-text index anew from its table.
"""

from __future__ import annotations

import os
from contextlib import closing
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from catalog_search import scratch
from catalog_search.d1 import identifier, made_of, too_long
from catalog_search.d1delta import delta
from catalog_search.d1rows import inserts, rebuilt
from catalog_search.database import Database
from catalog_search.errors import DatabaseError, QueryError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

NAMED = 10
"""Rows that are named when they are too long."""


class Written(NamedTuple):
    """A file that was written."""

    path: str
    statements: int
    bytes: int


def export_d1(
    path: str | os.PathLike[str],
    output: str | os.PathLike[str],
    *,
    parts: bool = False,
    since: str | os.PathLike[str] | None = None,
) -> list[Written]:
    """Write the script that makes a catalogue's database in Cloudflare D1; equal databases give equal bytes.

    `wrangler d1 execute NAME --remote --file seed.sql` runs it: on an empty database, or, with `since`, on the one
    that there is.

    Args:
        path: the catalogue's database.
        output: the file to write.
        parts: write two files, to be run one after the other: for seed.sql, seed.data.sql with tables, rows and
            indexes, and seed.index.sql with the full-text index.
        since: the database that was exported before: only what differs is written, since D1 bills written rows.

    Returns:
        The files that were written.

    Raises:
        DatabaseError: a database cannot be read, has rows that are too long for D1, is too different from the one
            before, or a file cannot be written.
        QueryError: both `parts` and `since` are given.
    """
    if parts and since is not None:
        raise QueryError("what changed since another database is one script; leave out parts")
    target = os.fspath(output)
    stem, extension = os.path.splitext(target)
    with closing(Database(path)) as database, database.errors():
        refuse_long_rows(database)
        if since is not None:
            with closing(Database(since)) as old, old.errors():
                return [write(target, delta(database, old))]
        if not parts:
            return [write(target, chain(data_statements(database), index_statements(database)))]
        return [
            write(f"{stem}.data{extension}", data_statements(database)),
            write(f"{stem}.index{extension}", index_statements(database)),
        ]


def refuse_long_rows(database: Database) -> None:
    """Refuse a database with rows that D1 does not take.

    Raises:
        DatabaseError: it names them.
    """
    found = list(too_long(database))
    if found:
        more = f"\nand {len(found) - NAMED:,} more" if len(found) > NAMED else ""
        listed = "\n".join(map(str, found[:NAMED]))
        raise DatabaseError(
            f"rows are too long for D1; shorten them in the source, or leave out a field:\n{listed}{more}",
            path=database.name,
        )


def data_statements(database: Database) -> Iterator[str]:
    """Yield the statements, without semicolons, that make tables, rows and indexes."""
    connection = database.connection()
    made = made_of(connection, database.name)
    for table in made.tables:
        yield table.sql
        columns = ", ".join(map(identifier, table.columns))
        order = ", ".join(map(identifier, table.key)) or "rowid"
        rows = connection.execute(f"SELECT {columns} FROM {identifier(table.name)} ORDER BY {order}")
        yield from inserts(table, rows)
    yield from made.others


def index_statements(database: Database) -> Iterator[str]:
    """Yield the statements, without semicolons, that make the full-text indexes from their tables."""
    for name, sql in made_of(database.connection(), database.name).full_text.items():
        yield sql
        if "fts5vocab" not in sql.lower():
            yield from rebuilt(name)


def write(target: str, statements: Iterable[str]) -> Written:
    """Write statements to a file, each ended by a semicolon; all or nothing.

    Raises:
        DatabaseError: it cannot be written, or a database is there.
    """
    number = 0

    def lines() -> Iterator[bytes]:
        nonlocal number
        for number, sql in enumerate(statements, 1):  # noqa: B007 (it is counted)
            yield f"{sql};\n".encode()

    try:
        refuse_database(target)
        size = scratch.write(target, lines())
    except OSError as problem:
        raise DatabaseError(f"cannot be written: {problem.strerror or problem}", path=target) from None
    return Written(target, number, size)


def refuse_database(target: str | os.PathLike[str]) -> None:
    """Refuse to write over a database.

    Raises:
        DatabaseError: one is there.
        OSError: what is there cannot be read.
    """
    if os.path.isfile(target):
        with open(target, "rb") as there:
            if there.read(16) == b"SQLite format 3\0":
                raise DatabaseError("is a database; name another file for the script", path=target)
