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

BINDING = """\
-- The whole search. Its only parameter, ?1, is the question, as text:
--   JavaScript   await env.DB.prepare(sql).bind(question).all()     (Cloudflare D1)
--   Go           rows, err := db.Query(sql, question)
--   sqlite3      .parameter set ?1 "'labor force'"     then .read this file
--   Datasette    the form with :question, which --named prints
"""
"""How `ask` is bound, in comments to stand before it."""

BINDING_NAMED = """\
-- The whole search. Its only parameter, :question, is the question, as text:
--   Datasette    as the SQL of a query; question is a field of its form, and of its address: &question=labor+force
--   Go           rows, err := db.Query(sql, sql.Named("question", question))
--   sqlite3      .parameter set :question "'labor force'"     then .read this file
--   JavaScript   the form with ?1 (Cloudflare D1 takes no names)
"""

BEGINNINGS = {
    "ask_terms": ("conditioned", "SELECT plain, terms FROM termed"),
    "ask_words": ("marked", "SELECT 1 + length(marked) - length(replace(marked, ' ', '')) AS words FROM squeezed"),
}
"""Statements that begin as `ask` does, up to one of its stages, and show what it makes of the question: its normal form
and terms; how many words it has before it is cut."""


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
    ask = _bare(statement(ASK))
    begun = {name: beginning(ask, stage, select) for name, (stage, select) in BEGINNINGS.items()}
    return {ASK: ask} | begun | {name: _bare(statement(f"{QUERY_TIME}/{name}")) for name in names}


def beginning(ask: str, stage: str, select: str) -> str:
    """Return `ask` up to a stage, with another SELECT.

    >>> beginning("WITH a AS (SELECT 1),\\nb(x) AS (SELECT 2)\\nSELECT 3", "b", "SELECT 4")
    'WITH a AS (SELECT 1)\\nSELECT 4'
    """
    before, _, _ = re.split(rf",\s*(\n{stage}\()", ask, maxsplit=1)
    return f"{before}\n{select}"


def _bare(sql: str) -> str:
    return re.sub(r"^\s*--[^\n]*\n", "", sql, flags=re.MULTILINE).strip().rstrip(";")
