"""Rows → statements that write them, each within what Cloudflare D1 takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from catalog_search.d1 import INSERT_CELLS, STATEMENT_BYTES, identifier, literal, pieces
from catalog_search.errors import DatabaseError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from catalog_search.d1 import Table, Value

DELETED = 500
"""Rows that a DELETE takes away at most."""


def rebuilt(name: str) -> Iterator[str]:
    """Yield the statements that make a full-text index anew from its table."""
    for command in ("rebuild", "optimize"):
        yield f"INSERT INTO {identifier(name)}({identifier(name)}) VALUES ('{command}')"


def inserts(table: Table, rows: Iterable[Sequence[Value]]) -> Iterator[str]:
    """Yield INSERT statements of rows; a row that is too long for one statement is put together."""
    head = f"INSERT INTO {identifier(table.name)} ({', '.join(map(identifier, table.columns))}) VALUES\n"
    most_rows = INSERT_CELLS // (len(table.columns) + 2)
    room = STATEMENT_BYTES - len(head.encode())
    batch: list[str] = []
    size = 0
    for row in rows:
        held = dict(zip(table.columns, row, strict=True))
        values, later = _in_parts(table, held, held, room)
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


def update(table: Table, key: Mapping[str, Value], values: Mapping[str, Value]) -> Iterator[str]:
    """Yield the UPDATE statements of a row.

    Args:
        table: its table.
        key: the column of its primary key → its value before.
        values: column → new value, of those that change.
    """
    head = f"UPDATE {identifier(table.name)} SET "
    where = f" WHERE {_where(key)}"
    room = STATEMENT_BYTES - len(f"{head}{where}{' = '.join(map(identifier, values))}".encode())
    written, later = _in_parts(table, {**key, **values}, values, room)
    pairs = zip(values, written, strict=True)
    yield head + ", ".join(f"{identifier(column)} = {value}" for column, value in pairs) + where
    yield from later


def deletes(table: Table, keys: Iterable[Sequence[Value]]) -> Iterator[str]:
    """Yield the DELETE statements of rows, by their primary keys."""
    columns = ", ".join(map(identifier, table.key))
    head = f"DELETE FROM {identifier(table.name)} WHERE ({columns}) IN (VALUES "
    batch: list[str] = []
    for key in keys:
        batch.append(f"({','.join(map(literal, key))})")
        if len(batch) == DELETED or sum(map(len, batch)) > STATEMENT_BYTES // 8:
            yield f"{head}{','.join(batch)})"
            batch = []
    if batch:
        yield f"{head}{','.join(batch)})"


def _where(key: Mapping[str, Value]) -> str:
    return " AND ".join(f"{identifier(column)} = {literal(value)}" for column, value in key.items())


def _in_parts(
    table: Table, row: Mapping[str, Value], values: Mapping[str, Value], room: int
) -> tuple[list[str], list[str]]:
    """Return values as literals that fit into a statement together, and the UPDATEs that add what does not."""
    written = {column: literal(value) for column, value in values.items()}
    later: list[str] = []
    while sum(len(one.encode()) + 2 for one in written.values()) > room:
        column = max(written, key=lambda name: len(written[name].encode()))
        whole = values[column]
        where = _where({name: row[name] for name in table.key})
        name = identifier(column)
        left = STATEMENT_BYTES - len(f"UPDATE {table.name} SET {name} = CAST({name} || ) WHERE {where}".encode()) - 50
        if not table.key or column in table.key or not isinstance(whole, (str, bytes)) or left < STATEMENT_BYTES // 2:
            raise DatabaseError(f"a row of the table {table.name} is too long for D1, and has no short primary key")
        for piece in pieces(whole, left):
            longer = f"{name} || {piece}" if isinstance(whole, str) else f"CAST({name} || {piece} AS BLOB)"
            later.append(f"UPDATE {identifier(table.name)} SET {name} = {longer} WHERE {where}")
        written[column] = literal(type(whole)())
    return list(written.values()), later
