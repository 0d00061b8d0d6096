"""What Cloudflare D1 takes: its limits, how a value is written for it, and what of a database would not fit.

Source: https://developers.cloudflare.com/d1/platform/limits/ and, for what is not said there, setupSecurity of
workerd's src/workerd/util/sqlite.c++.
"""

from __future__ import annotations

import math
import re
import sqlite3
from typing import TYPE_CHECKING, NamedTuple

from catalog_search.errors import DatabaseError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from catalog_search.database import Database

LIMITS = {
    "LENGTH": 2_000_000,  # of a string, and of a row with all its columns
    "SQL_LENGTH": 100_000,
    "VARIABLE_NUMBER": 100,
    "LIKE_PATTERN_LENGTH": 50,
    "EXPR_DEPTH": 100,
    "COMPOUND_SELECT": 5,
    "FUNCTION_ARG": 32,
    "COLUMN": 100,
    "VDBE_OP": 25_000,
}
"""Names of SQLite's limits → what D1 sets them to."""

STATEMENT_BYTES = 90_000
"""How long a statement is made here at most."""

INSERT_CELLS = 24_000
"""Rows × (columns + 2) of an INSERT: a statement compiles to 25,000 operations at most."""

DATABASE_BYTES = 10_000_000_000
FREE_DATABASE_BYTES = 500_000_000
FREE_ROWS_READ = 5_000_000
"""Rows that the free plan lets all questions of a day read."""

_COLUMN_OVERHEAD = 9
"""Bytes of a row's header for a column, at most."""

# A literal ends at its first NUL; and Wrangler takes this phrase, wherever it stands, for a transaction.
_NOT_PLAIN = re.compile("\0|BEGIN TRANSACTION")

Value = str | bytes | int | float | None


class Table(NamedTuple):
    """A table that holds rows of its own."""

    name: str
    sql: str
    columns: tuple[str, ...]
    key: tuple[str, ...]
    """The columns of its primary key."""


class Made(NamedTuple):
    """What a database is made of, in the order in which it was made."""

    tables: list[Table]
    full_text: dict[str, str]
    """Name → CREATE VIRTUAL TABLE."""
    others: list[str]
    """Indexes, then views, then triggers."""


def identifier(name: str) -> str:
    """Write a name in SQL."""
    return '"' + name.replace('"', '""') + '"'


def literal(value: Value) -> str:
    r"""Write a value in SQL, so that D1's and Wrangler's readers of a file see the same.

    >>> print(literal("it's"), literal(None), literal(b"\0"), literal("a\0"))
    'it''s' NULL X'00' CAST(X'6100' AS TEXT)
    """
    if value is None:
        return "NULL"
    if isinstance(value, str):
        if _NOT_PLAIN.search(value):
            return f"CAST(X'{value.encode().hex()}' AS TEXT)"
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, bytes):
        return f"X'{value.hex()}'"
    if isinstance(value, float) and math.isinf(value):
        return "9e999" if value > 0 else "-9e999"
    return repr(value)


def pieces(value: str | bytes, room: int) -> list[str]:
    """Write a long value as literals of at most so many bytes, to be joined by `||`."""
    found = []
    start = 0
    while start < len(value):
        size = room
        while len((written := literal(value[start : start + size])).encode()) > room:
            size = size * 2 // 3
        found.append(written)
        start += size
    return found


def made_of(connection: sqlite3.Connection, path: str) -> Made:
    """Read what a database is made of.

    Raises:
        DatabaseError: it has a full-text index that cannot be made anew from a table.
    """
    kinds = {
        name: (kind, without_rowid)
        for schema, name, kind, _, without_rowid, _ in connection.execute("PRAGMA table_list")
        if schema == "main"
    }
    objects = connection.execute(
        "SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' "
        "ORDER BY rowid"
    ).fetchall()
    found = Made([], {}, [])
    for type_, name, sql in objects:
        kind, _ = kinds.get(name, ("", 0))
        if type_ == "table" and kind == "table":
            described = connection.execute(f"PRAGMA table_xinfo({identifier(name)})").fetchall()
            # A generated column is made anew.
            columns = tuple(column for _, column, _, _, _, _, hidden in described if not hidden)
            keyed = sorted((place, column) for _, column, _, _, _, place, _ in described if place)
            key = tuple(column for _, column in keyed)
            found.tables.append(Table(name, sql, columns, key))
        elif type_ == "table" and kind == "virtual":
            if "fts5vocab" not in sql.lower() and not re.search(r"\bcontent\s*=\s*[\"'\[`]?\w", sql):
                raise DatabaseError(f"D1 cannot make its index {name} anew: it has no table as content", path=path)
            found.full_text[name] = sql
    for wanted in ("index", "view", "trigger"):
        found.others.extend(sql for type_, _, sql in objects if type_ == wanted)
    return found


class TooLong(NamedTuple):
    """A row that D1 does not take."""

    table: str
    id: str
    column: str
    """The longest column."""
    column_bytes: int
    row_bytes: int

    def __str__(self) -> str:
        return (
            f"{self.table}, id '{self.id}': {self.row_bytes:,} bytes, of which {self.column} has "
            f"{self.column_bytes:,}; D1 takes rows of {LIMITS['LENGTH']:,} bytes"
        )


def too_long(database: Database) -> Iterator[TooLong]:
    """Yield the rows of a database that are longer than D1 takes."""
    connection = database.connection()
    for table in made_of(connection, database.name).tables:
        sizes = [f"coalesce(length(CAST({identifier(column)} AS BLOB)), 0)" for column in table.columns]
        total = f"{' + '.join(sizes)} + {_COLUMN_OVERHEAD * len(sizes)}"
        id = "id" if "id" in table.columns else identifier(table.key[0]) if table.key else "''"
        for row in connection.execute(
            f"SELECT {id}, {total}, {', '.join(sizes)} FROM {identifier(table.name)} WHERE {total} > {LIMITS['LENGTH']}"
        ):
            most = max(row[2:])
            yield TooLong(table.name, str(row[0]), table.columns[row[2:].index(most)], most, row[1])
