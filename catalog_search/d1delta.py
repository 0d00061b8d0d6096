"""Two databases of one catalogue → the statements that make one of the other: only what differs, for D1 bills it.

documents   found again by their ids; one whose rank changed moves, and the rows of its indexes with it
words       found again, and keep the numbers that they have: those are in the order of the alphabet in a database
            that was built, and trigrams name words by them
the rest    by primary key; the full-text index is made anew, which D1 counts as one row
"""

from __future__ import annotations

from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

from catalog_search.d1 import Made, Table, identifier, literal, made_of
from catalog_search.d1rows import deletes, inserts, rebuilt, update
from catalog_search.errors import DatabaseError

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any, TypeAlias

    from catalog_search.d1 import Value
    from catalog_search.database import Database

    Row: TypeAlias = tuple[Any, ...]

WORDS, TRIGRAMS = "words", "trigrams"


def delta(new: Database, old: Database) -> Iterator[str]:
    """Yield the statements, without semicolons, that make the new database of the old one.

    The first of them fails if the database is not the old one.

    Raises:
        DatabaseError: the two are of two catalogues, or have other tables or indexes.
    """
    if new.catalog["name"] != old.catalog["name"]:
        raise DatabaseError(
            f"it is the catalogue “{old.catalog['name']}”, and the new database is “{new.catalog['name']}”; "
            "export the new one whole, without since",
            path=old.name,
        )
    made = made_of(new.connection(), new.name)
    _refuse_other_tables(made, made_of(old.connection(), old.name), old)
    before = literal(old.catalog["content_hash"])
    yield (
        f"-- It fails at once where the catalogue's content hash is not {old.catalog['content_hash']}.\n"
        "INSERT INTO catalog SELECT 'content_hash', NULL "
        f"WHERE (SELECT value FROM catalog WHERE key = 'content_hash') IS NOT {before}"
    )
    number = _numbers(new.connection(), old.connection())
    changed = False
    for table in made.tables:
        if table.name == "documents":
            for sql in _documents(table, new.connection(), old.connection()):
                changed = True
                yield sql
        elif table.name == WORDS:
            yield from _words(table, new.connection(), old.connection(), number)
        else:
            if not table.key:
                raise DatabaseError(f"its table {table.name} has no primary key; export it whole", path=new.name)
            by = tuple(map(table.columns.index, table.key))
            yield from _differing(table, _rows(table, new.connection(), number), _rows(table, old.connection()), by)
    if changed:
        for name in made.full_text:
            yield from rebuilt(name)


def _refuse_other_tables(new: Made, old: Made, database: Database) -> None:
    if new != old:
        raise DatabaseError(
            "it has other tables or indexes than the new database; export the new one whole, without since",
            path=database.name,
        )


def _documents(table: Table, new: sqlite3.Connection, old: sqlite3.Connection) -> Iterator[str]:
    """Yield what changes documents: some go, some change or move, some come."""
    gone: list[tuple[Value]] = []
    moving: dict[Value, dict[str, Value]] = {}
    come: list[Any] = []
    place, by_id = table.columns.index("rowid"), (table.columns.index("id"),)
    sql = f"SELECT {', '.join(map(identifier, table.columns))} FROM documents"
    for now, then in _merged(new.execute(f"{sql} ORDER BY id"), old.execute(f"{sql} ORDER BY id"), by_id):
        if now is None and then is not None:
            gone.append((then[place],))
        elif then is None and now is not None:
            come.append(now)
        elif now is not None and then is not None and now != then:
            values = _changed(table, now, then)
            if "rowid" in values:
                moving[then[place]] = values
            else:
                yield from update(table, {"rowid": then[place]}, values)
    yield from deletes(table, gone)
    # A place must be empty when a document moves there; where they move in a circle, one is taken out and comes anew.
    by_target = {values["rowid"]: rowid for rowid, values in moving.items()}
    while moving:
        free = [target for target in by_target if target not in moving]
        if not free:
            rowid, values = moving.popitem()
            del by_target[values["rowid"]]
            yield from deletes(table, [(rowid,)])
            come += new.execute(f"{sql} WHERE rowid = ?", (values["rowid"],))
        for target in free:
            following: Value = target
            while following in by_target:
                rowid = by_target.pop(following)
                yield from update(table, {"rowid": rowid}, moving.pop(rowid))
                following = rowid
    yield from inserts(table, sorted(come, key=itemgetter(place)))


def _numbers(new: sqlite3.Connection, old: sqlite3.Connection) -> dict[int, int]:
    """Return the number of each word in the new database → the one it has, or gets, in the old one."""
    known = dict(old.execute(f"SELECT word, rowid FROM {WORDS}"))
    highest = max(known.values(), default=0)
    found: dict[int, int] = {}
    for word, rowid in new.execute(f"SELECT word, rowid FROM {WORDS} ORDER BY word"):
        if word not in known:
            highest += 1
        found[rowid] = known.get(word, highest)
    return found


def _words(table: Table, new: sqlite3.Connection, old: sqlite3.Connection, number: Mapping[int, int]) -> Iterator[str]:
    """Yield what changes words."""
    columns = tuple(column for column in table.columns if column != "rowid")
    table = table._replace(columns=("rowid", *columns))
    sql = f"SELECT rowid, {', '.join(map(identifier, columns))} FROM {WORDS} ORDER BY word"
    numbered = ((number[row[0]], *row[1:]) for row in new.execute(sql))
    yield from _differing(table, numbered, old.execute(sql), (table.columns.index("word"),))


def _rows(table: Table, connection: sqlite3.Connection, number: Mapping[int, int] | None = None) -> Iterator[Row]:
    """Yield the rows of a table in the order of their keys; words named by their numbers in the old database."""
    columns, key = (", ".join(map(identifier, names)) for names in (table.columns, table.key))
    rows = connection.execute(f"SELECT {columns} FROM {identifier(table.name)} ORDER BY {key}")
    if table.name != TRIGRAMS or number is None:
        return rows
    return (
        (trigram, word)
        for trigram, together in groupby(rows, key=itemgetter(0))
        for word in sorted(number[word] for _, word in together)
    )


def _differing(table: Table, new: Iterable[Row], old: Iterable[Row], by: tuple[int, ...]) -> Iterator[str]:
    """Yield what makes the new rows of the old ones, which are found again by some columns and keep their keys."""
    places = tuple(map(table.columns.index, table.key))
    gone: list[Row] = []
    come: list[Row] = []
    for now, then in _merged(new, old, by):
        if now is None and then is not None:
            gone.append(tuple(then[place] for place in places))
        elif then is None and now is not None:
            come.append(now)
        elif now is not None and then is not None and now != then:
            kept = {column: then[place] for column, place in zip(table.key, places, strict=True)}
            yield from update(table, kept, _changed(table, now, then))
    yield from deletes(table, gone)
    yield from inserts(table, come)


def _changed(table: Table, now: Row, then: Row) -> dict[str, Value]:
    return {
        column: value
        for column, value, before in zip(table.columns, now, then, strict=True)
        if (value, type(value)) != (before, type(before))
    }


def _merged(new: Iterable[Row], old: Iterable[Row], by: tuple[int, ...]) -> Iterator[tuple[Row | None, Row | None]]:
    """Pair rows that have the same values in some columns, by which both are ordered; None where one has no other."""
    new, old = iter(new), iter(old)
    key = itemgetter(*by)
    now, then = next(new, None), next(old, None)
    while now is not None or then is not None:
        if then is None or (now is not None and key(now) < key(then)):
            yield now, None
            now = next(new, None)
        elif now is None or key(then) < key(now):
            yield None, then
            then = next(old, None)
        else:
            yield now, then
            now, then = next(new, None), next(old, None)
