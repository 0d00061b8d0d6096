"""A SQLite file as a source: opened so that nothing is written, one SELECT, its rows as text."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from catalog_search.errors import SourceError, nearest
from catalog_search.formats import Row, as_row
from catalog_search.settings import SourceSettings


@contextmanager
def connect(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a SQLite file for reading; no lock and no file beside it, if nothing is pending in one."""
    # immutable; but a write-ahead log or a journal has to be honoured
    pending = any(_size(f"{path}{suffix}") for suffix in ("-wal", "-journal"))
    mode = "mode=ro" if pending else "mode=ro&immutable=1"
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?{mode}", uri=True)
    try:
        yield connection
    finally:
        connection.close()


def _size(path: str) -> int:
    return os.path.getsize(path) if os.path.exists(path) else 0


def query_of(connection: sqlite3.Connection, settings: SourceSettings, name: str) -> str:
    """Return the SELECT that reads the source: the settings' own, or that of a table."""
    if settings.query is not None:
        return settings.query
    import sqlite_utils  # costs 100 ms, which only a build from SQLite pays

    database = sqlite_utils.Database(connection, recursive_triggers=False, execute_plugins=False)
    tables = [table for table in database.table_names() if not table.startswith("sqlite_")]
    table = settings.table
    if table is None:
        if len(tables) != 1:
            what = f"several tables: {', '.join(tables)}" if tables else "no table"
            raise SourceError(f"holds {what}; say which with source: {{table: …}}", path=name)
        table = tables[0]
    known = tables + database.view_names()
    if table not in known:
        raise SourceError(f'no table "{table}" (source.table).{nearest(table, known)}', path=name)
    quoted = table.replace('"', '""')
    return f'SELECT * FROM "{quoted}"'


def columns_of(connection: sqlite3.Connection, query: str, name: str) -> tuple[str, ...]:
    """Return the columns of a SELECT; SourceError says why it is none."""
    _only_reading(connection)
    try:
        cursor = connection.execute(query)
    except (sqlite3.Error, sqlite3.Warning) as problem:
        raise SourceError(f"source.query must be one SELECT that SQLite can run: {problem}", path=name) from None
    if cursor.description is None:
        raise SourceError("source.query must be one SELECT; it returns no columns", path=name)
    return tuple(str(column[0]).strip() for column in cursor.description)


def _only_reading(connection: sqlite3.Connection) -> None:
    allowed = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}

    def authorize(action: int, *_: object) -> int:
        return sqlite3.SQLITE_OK if action in allowed else sqlite3.SQLITE_DENY

    connection.set_authorizer(authorize)


def read_sqlite(
    connection: sqlite3.Connection, query: str, columns: tuple[str, ...], needed: set[str]
) -> Iterator[Row]:
    """Yield the rows of a SELECT: all its columns, or those that are needed."""
    _only_reading(connection)
    # text that is not UTF-8 becomes lone surrogates, which `as_row` reports with their column
    connection.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
    wanted = [(index, column) for index, column in enumerate(columns) if not needed or column in needed]
    for number, cells in enumerate(connection.execute(query), 1):
        values = {column: cells[index] for index, column in wanted}
        for column, value in values.items():
            if type(value) is float:
                # SQLite's own text of a real
                values[column] = connection.execute("SELECT CAST(? AS TEXT)", (value,)).fetchone()[0]
        yield as_row(number, values)
