"""The SQL of the package, sql/*.sql by name.

A build copies the statements that a search runs into the database; a search takes them from there.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

QUERY_TIME = "query"
"""The folder of sql/ whose statements a database keeps."""

ASK = "ask"
"""The whole search as one statement, which a database keeps too, for those who read it without this package."""


@cache
def statement(name: str) -> str:
    """Return the text of sql/`name`.sql.

    Raises:
        FileNotFoundError: there is no such statement.

    >>> statement("schema").startswith("-- The format of a catalogue's database")
    True
    """
    return files("catalog_search.sql").joinpath(f"{name}.sql").read_text("utf-8")


def query_time() -> dict[str, str]:
    """Return the statements that a database keeps, by name, without their header comments."""
    folder = files("catalog_search.sql").joinpath(QUERY_TIME)
    names = sorted(entry.name.removesuffix(".sql") for entry in folder.iterdir() if entry.name.endswith(".sql"))
    return {ASK: _bare(statement(ASK))} | {name: _bare(statement(f"{QUERY_TIME}/{name}")) for name in names}


def _bare(sql: str) -> str:
    return re.sub(r"^\s*--[^\n]*\n", "", sql, flags=re.MULTILINE).strip().rstrip(";")
