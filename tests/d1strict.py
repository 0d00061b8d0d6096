"""A connection that refuses what Cloudflare D1 refuses.

Source: setupSecurity and isAuthorized of workerd's src/workerd/util/sqlite.c++, and, where they are tighter, the
limits of https://developers.cloudflare.com/d1/platform/limits/
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

LIMITS = {
    "LENGTH": 2_000_000,
    "SQL_LENGTH": 100_000,
    "COLUMN": 100,
    "EXPR_DEPTH": 100,
    "COMPOUND_SELECT": 5,
    "VDBE_OP": 25_000,
    "FUNCTION_ARG": 32,
    "ATTACHED": 0,
    "LIKE_PATTERN_LENGTH": 50,
    "VARIABLE_NUMBER": 100,
    "TRIGGER_DEPTH": 10,
}
SUPPORTED = hasattr(sqlite3.Connection, "setlimit")
"""Whether limits can be set: pysqlite3 cannot."""
FUNCTIONS = frozenset(
    """
    abs changes char coalesce concat concat_ws format glob hex ifnull iif instr last_insert_rowid length like likelihood
    likely lower ltrim max min nullif octet_length printf quote random randomblob replace round rtrim sign substr
    substring total_changes trim typeof unhex unicode unlikely upper zeroblob date time datetime julianday unixepoch
    strftime timediff current_date current_time current_timestamp avg count group_concat string_agg sum total row_number
    rank dense_rank percent_rank cume_dist ntile lag lead first_value last_value nth_value acos acosh asin asinh atan
    atan2 atanh ceil cos cosh degrees exp floor ln log log2 mod pi pow radians sin sinh sqrt tan tanh trunc json
    json_array json_array_length json_extract -> ->> json_insert json_object json_patch json_remove json_replace
    json_set json_type json_valid json_quote json_group_array json_group_object json_each json_tree match
    highlight bm25 snippet
    """.split()
)
ALLOWED = frozenset(
    {
        sqlite3.SQLITE_SELECT, sqlite3.SQLITE_RECURSIVE, sqlite3.SQLITE_READ,
        sqlite3.SQLITE_INSERT, sqlite3.SQLITE_UPDATE, sqlite3.SQLITE_DELETE, sqlite3.SQLITE_CREATE_TABLE,
    }
)  # fmt: skip
"""What D1 allows of what a question may do. Virtual tables such as json_each need some of it to come into being."""


class D1Strict:
    """A database opened for reading under D1's rules; without BEGIN, ATTACH, PRAGMA and named parameters."""

    def __init__(self, path: str | Path) -> None:
        self._connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True, isolation_level=None)
        # FTS5 prepares statements of its own on the first use of its table, which D1 does not hold to the rules.
        self._connection.execute("SELECT 1 FROM documents_fts WHERE documents_fts MATCH 'a'").fetchall()
        for limit, value in LIMITS.items():
            self._connection.setlimit(getattr(sqlite3, f"SQLITE_LIMIT_{limit}"), value)
        self._connection.set_authorizer(self._authorize)
        self.denied: list[str] = []

    def close(self) -> None:
        self._connection.close()

    def execute(self, sql: str, parameters: Sequence[Any] = ()) -> list[dict[str, Any]]:
        """Run a statement: numbers are bound as REAL, and of columns of the same name the last is left."""
        self.denied.clear()
        values = [float(value) if isinstance(value, int) else value for value in parameters]
        try:
            cursor = self._connection.execute(sql, values)
            names = [column[0] for column in cursor.description]
            return [dict(zip(names, row, strict=True)) for row in cursor]
        except sqlite3.Error as problem:
            raise sqlite3.OperationalError(f"{problem} {' '.join(self.denied)}".strip()) from problem

    def _authorize(self, action: int, first: str | None, second: str | None, *_: str | None) -> int:
        if action in ALLOWED and not (first or "").startswith("_cf_"):
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_FUNCTION and second in FUNCTIONS:
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_PRAGMA and first == "data_version":  # FTS5 asks for it
            return sqlite3.SQLITE_OK
        self.denied.append(f"(not authorized: {action} {first} {second})")
        return sqlite3.SQLITE_DENY
