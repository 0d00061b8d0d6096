"""A catalogue's database → a script that Cloudflare D1 runs: the same database there.

D1 takes no file of SQLite's, and of a dump neither transactions nor the tables inside a full-text index. So the
script makes tables and rows, then indexes, then each full-text index anew from its table.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from catalog_search.d1 import (
    INSERT_CELLS,
    STATEMENT_BYTES,
    Table,
    Value,
    identifier,
    literal,
    made_of,
    pieces,
    too_long,
)
from catalog_search.database import Database
from catalog_search.errors import DatabaseError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

NAMED = 10
"""Rows that are named when they are too long."""


class Written(NamedTuple):
    """A file that was written."""

    path: str
    statements: int
    bytes: int


def export_d1(path: str | os.PathLike[str], output: str | os.PathLike[str], *, parts: bool = False) -> list[Written]:
    """Write the script that makes a catalogue's database in Cloudflare D1; equal databases give equal bytes.

    `wrangler d1 execute NAME --remote --file seed.sql` runs it on an empty database.

    Args:
        path: the catalogue's database.
        output: the file to write.
        parts: write two files, to be run one after the other: for seed.sql, seed.data.sql with tables, rows and
            indexes, and seed.index.sql with the full-text index.

    Returns:
        The files that were written.

    Raises:
        DatabaseError: the database cannot be read, has rows that are too long for D1, or a file cannot be written.
    """
    database = Database(path)
    try:
        with database.errors():
            refuse_long_rows(database)
            target = Path(output)
            if not parts:
                return [write(target, (*data_statements(database), *index_statements(database)))]
            return [
                write(target.with_suffix(f".data{target.suffix}"), data_statements(database)),
                write(target.with_suffix(f".index{target.suffix}"), index_statements(database)),
            ]
    finally:
        database.close()


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


def rebuilt(name: str) -> Iterator[str]:
    """Yield the statements that make a full-text index anew from its table."""
    for command in ("rebuild", "optimize"):
        yield f"INSERT INTO {identifier(name)}({identifier(name)}) VALUES ('{command}')"


def inserts(table: Table, rows: Iterable[Sequence[Value]]) -> Iterator[str]:
    """Yield INSERT statements of rows, each within the limits; a row that is too long for one is put together."""
    head = f"INSERT INTO {identifier(table.name)} ({', '.join(map(identifier, table.columns))}) VALUES\n"
    most_rows = INSERT_CELLS // (len(table.columns) + 2)
    room = STATEMENT_BYTES - len(head.encode())
    batch: list[str] = []
    size = 0
    for row in rows:
        values, later = _in_parts(table, row, room)
        written = f"({','.join(values)})"
        length = len(written.encode()) + 2
        if batch and (size + length > room or len(batch) == most_rows):
            yield head + ",\n".join(batch)
            batch, size = [], 0
        batch.append(written)
        size += length
        if later:
            yield head + ",\n".join(batch)
            batch, size = [], 0
            yield from later
    if batch:
        yield head + ",\n".join(batch)


def _in_parts(table: Table, row: Sequence[Value], room: int) -> tuple[list[str], list[str]]:
    """Return the values of a row as literals that fit, and the UPDATEs that add what does not.

    The longest values go last, so that short ones, of which a key is made, stay whole.
    """
    values = [literal(value) for value in row]
    sizes = [len(value.encode()) for value in values]
    later: list[str] = []
    where = " AND ".join(f"{identifier(column)} = {values[table.columns.index(column)]}" for column in table.key)
    while sum(sizes) + 2 * len(sizes) > room:
        longest = sizes.index(max(sizes))
        whole = row[longest]
        if not isinstance(whole, (str, bytes)) or not where or table.columns[longest] in table.key:
            raise DatabaseError(f"a row of the table {table.name} cannot be written in parts: it has no short key")
        column = identifier(table.columns[longest])
        later += [updated(table.name, column, one, where, text=isinstance(whole, str))
                  for one in pieces(whole, STATEMENT_BYTES - 2_000)]  # fmt: skip
        values[longest] = literal(type(whole)())
        sizes[longest] = len(values[longest])
    return values, later


def updated(table: str, column: str, piece: str, where: str, *, text: bool) -> str:
    """Return the statement that adds a piece to a value."""
    longer = f"{column} || {piece}"
    return f"UPDATE {identifier(table)} SET {column} = {longer if text else f'CAST({longer} AS BLOB)'} WHERE {where}"


def write(target: Path, statements: Iterable[str]) -> Written:
    """Write statements to a file, each ended by a semicolon; all or nothing.

    Raises:
        DatabaseError: it cannot be written.
    """
    number = 0
    try:
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent or ".")
        try:
            with open(handle, "w", encoding="utf-8", newline="\n") as file:
                for sql in statements:
                    file.write(f"{sql};\n")
                    number += 1
            os.chmod(name, 0o666 & ~_umask())
            size = os.path.getsize(name)
            os.replace(name, target)
        except BaseException:
            os.unlink(name)
            raise
    except OSError as problem:
        raise DatabaseError(f"cannot be written: {problem.strerror}", path=target) from None
    return Written(str(target), number, size)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
