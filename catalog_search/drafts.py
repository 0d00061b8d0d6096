"""Rows → drafts, in a temporary table: bad rows and duplicates dealt with as the settings say."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from catalog_search.documents import BadRow, DocumentMaker, Draft, merged
from catalog_search.errors import SourceError

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Mapping

    from catalog_search.settings import Settings
    from catalog_search.source import Source

NAMED_BAD_ROWS = 20
"""So many bad rows, or repeated ids, are named in an error; the others are counted."""

_COLUMNS = ", ".join(Draft._fields)
_INSERT = f"INSERT INTO drafts VALUES ({', '.join('?' * len(Draft._fields))})"


class Drafts:
    """The drafts of a build, in the temporary table `drafts` of its connection.

    Args:
        connection: to the database that is built.
        settings: what is a bad row, and what to do with it and with duplicates.
        source: the rows.
    """

    def __init__(self, connection: sqlite3.Connection, settings: Settings, source: Source) -> None:
        self._execute = connection.execute
        self._connection = connection
        self._settings = settings
        self._source = source
        self.maker = DocumentMaker(settings)
        self.skipped: list[dict[str, object]] = []
        self.ragged: list[int] = []

    def read(self, progress: Callable[[float | None, int], None]) -> None:
        """Read every row.

        Raises:
            SourceError: rows are bad and the settings say stop, or there is no document.
        """
        self._execute(f"CREATE TEMP TABLE drafts ({_COLUMNS})")
        bad: list[dict[str, object]] = []
        found = count = 0
        batch: list[Draft] = []
        stop = self._settings.on_bad_row == "stop"
        for row in self._source:
            count += 1
            if not count % 1_000:
                progress(self._source.fraction(), count)
            if row.surplus or (self._source.kind == "delimited" and None in row.values.values()):
                self.ragged.append(row.line)
            try:
                if row.surplus and stop:
                    cells = "1 more cell" if row.surplus == 1 else f"{row.surplus} more cells"
                    raise BadRow(f"{cells} than the header has")
                batch.append(self.maker.make(row))
            except BadRow as problem:
                found += 1
                if not stop or found <= NAMED_BAD_ROWS:
                    bad.append({"path": row.place.path} if row.place else {})
                    bad[-1] |= {"line": row.line, "reason": str(problem)}
                continue
            if len(batch) == 1_000:
                self._connection.executemany(_INSERT, batch)
                batch.clear()
        self._connection.executemany(_INSERT, batch)
        if bad and stop:
            raise self._bad_rows(bad, found)
        self.skipped = bad
        if not self._execute("SELECT 1 FROM drafts LIMIT 1").fetchone():
            raise SourceError("it holds no document; nothing was built", path=self._source.name)
        progress(1.0, count)

    def _bad_rows(self, named_rows: list[dict[str, object]], count: int) -> SourceError:
        named = "\n".join(f"  {place_of(one)}: {one['reason']}" for one in named_rows)
        more = f"\n  and {count - len(named_rows):,} more" if count > len(named_rows) else ""
        rows = "1 bad row" if count == 1 else f"{count:,} bad rows"
        return SourceError(
            f"{rows}; nothing was built. Correct the file, or set “on_bad_row: skip”\n{named}{more}",
            path=self._source.name,
        )

    def resolve_duplicates(self) -> list[dict[str, object]]:
        """Leave one draft for each id, as the settings say; return the ids that had several."""
        self._execute("CREATE INDEX temp.drafts_id ON drafts(id)")
        repeated = self._execute(
            "SELECT id, json_group_array(CASE WHEN path IS NULL THEN line ELSE path||':'||line END) FROM "
            "(SELECT id, path, line FROM drafts WHERE id IN (SELECT id FROM drafts GROUP BY id HAVING count(*) > 1) "
            "ORDER BY id, path, line) GROUP BY id ORDER BY min(path), min(line)"
        ).fetchall()
        found: list[dict[str, object]] = [{"id": id, "lines": json.loads(lines)} for id, lines in repeated]
        if not found:
            return []
        if self._settings.duplicates == "error":
            named = "\n".join(f"  id “{one['id']}”: lines {_list(one['lines'])}" for one in found[:NAMED_BAD_ROWS])
            more = f"\n  and {len(found) - NAMED_BAD_ROWS} more" if len(found) > NAMED_BAD_ROWS else ""
            ids = "1 id is" if len(found) == 1 else f"{len(found):,} ids are"
            raise SourceError(
                f"{ids} given more than once (duplicate id); nothing was built. "
                f"Correct the file, or set “duplicates: first” or “duplicates: merge”\n{named}{more}",
                path=self._source.name,
            )
        for one in found:
            rows = self._execute(
                "SELECT * FROM drafts WHERE id = ? ORDER BY path, line, rowid", (one["id"],)
            ).fetchall()
            drafts = [Draft(*row) for row in rows]
            kept = drafts[0] if self._settings.duplicates == "first" else merged(drafts, self.maker)
            self._execute("DELETE FROM drafts WHERE id = ?", (one["id"],))
            self._execute(_INSERT, kept)
        return found


def place_of(row: Mapping[str, object]) -> str:
    """Return where a row that was left out is, as a message names it.

    >>> place_of({"path": "docs/a.md", "line": 3, "reason": "missing id"})
    'docs/a.md, line 3'
    """
    return f"{row['path']}, line {row['line']}" if "path" in row else f"line {row['line']}"


def _list(lines: object) -> str:
    shown = [str(line) for line in lines] if isinstance(lines, list) else []
    return ", ".join(shown[:10]) + (f" and {len(shown) - 10} more" if len(shown) > 10 else "")
