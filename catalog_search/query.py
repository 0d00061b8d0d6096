"""Expansions → SQL and its parameters.

    question       labor r&d
    expansions     (labor | labour) and ("r d" | rd)
    glob           ((title_lc GLOB ?1 OR title_lc GLOB ?2) OR …)     ?1 = 'labor*', ?2 = '*[^a-z0-9]labor*'
               AND (' '||title_lc||' ' GLOB ?5 OR …)                 ?5 = '* r d *'
    fts            documents_fts MATCH ?1                            ?1 = '("labor"* OR …) AND ("r d" OR "rd"*)'
    d1             as glob, or, if that exceeds what Cloudflare D1 takes, all patterns in one parameter:
                   NOT EXISTS (… json_each(?1) AS term WHERE NOT EXISTS (… json_each(term.value) AS pattern …))
                                                      ?1 = '[[" labor", " labour"], [" r d ", " rd"]]'

Text reaches SQL only as bound parameters. The forms say the same of columns in normal form: over words of
`[a-z0-9]+` joined by single spaces, "a token begins with p", "p stands at the start or after a character that is no
letter or digit" and "the column behind a space holds p behind a space" are one statement.

Source: GLOB, https://sqlite.org/lang_expr.html#glob; MATCH, https://sqlite.org/fts5.html#full_text_query_syntax
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from catalog_search.conditions import Parameters, by_glob, by_json, loosely_by_glob, loosely_by_json
from catalog_search.conditions import is_id as is_id
from catalog_search.d1 import LIMITS, STATEMENT_BYTES
from catalog_search.errors import QueryError, nearest
from catalog_search.expansion import CLASS, Asked, Expansion, Pattern

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from catalog_search.conditions import Compile

FIELDS = ("id", "title", "keywords", "text")
"""The searched fields; the normal form of each is in the column `<field>_lc`."""

COLUMNS = tuple(f"{field}_lc" for field in FIELDS)
DIALECTS = ("glob", "fts", "d1")
TIERS = 7
NO_WORDS: Mapping[str, Sequence[str]] = {}


_COLUMN = re.compile(r'(?:(?:\w+|"(?:[^"]|"")+")\.)?(?:\w+|"(?:[^"]|"")+")')


class Query(NamedTuple):
    """SQL with its parameters, bound by number."""

    sql: str
    parameters: tuple[str, ...]


def compile_query(
    expansions: Sequence[Expansion],
    columns: Sequence[str] = COLUMNS,
    dialect: str = "glob",
    normal_form: bool = True,
) -> Query:
    """Compile expansions to one SQL condition: patterns joined by OR within a term, terms by AND.

    Args:
        expansions: the question's terms; without any, the condition is false.
        columns: the columns to search. The one named `id_lc` takes numbers by their start.
        dialect: "glob", for any table; "fts", for the index `documents_fts` of a catalogue; or "d1", for any table in
            Cloudflare D1, within its limits however long the question is.
        normal_form: False for columns that are only lower case and without accents: the words of a phrase
            may then stand anywhere in the column, and GLOB and FTS need not agree.

    Raises:
        QueryError: there is no such dialect, or no column.

    >>> from catalog_search import Vocabulary, load_language
    >>> expansions = Vocabulary.empty(load_language("en")).expand("labor")
    >>> compile_query(expansions, ["title_lc"])
    Query(sql='(title_lc GLOB ?1 OR title_lc GLOB ?2)', parameters=('labor*', '*[^a-z0-9]labor*'))
    >>> compile_query(expansions, dialect="fts")
    Query(sql='documents_fts MATCH ?1', parameters=('"labor"*',))
    """
    if dialect not in DIALECTS:
        raise QueryError(f'there is no dialect "{dialect}".{nearest(dialect, DIALECTS)}')
    columns = [columns] if isinstance(columns, str) else columns
    if not columns:
        raise QueryError("name at least one column to search")
    for column in columns:
        if not _COLUMN.fullmatch(column):
            raise QueryError(f"“{column}” is no column's name; put one with other signs between double quotes")
    parameters = Parameters()
    if dialect == "fts":
        number = parameters.add(match_string(expansions, columns))
        return Query(f"documents_fts MATCH {number}", parameters.values())
    compiled = (by_glob if normal_form else loosely_by_glob)(parameters)
    query = Query(compiled(expansions, columns), parameters.values())
    if dialect != "d1" or _fits_d1(query):
        return query
    parameters = Parameters()
    compiled = (by_json if normal_form else loosely_by_json)(parameters)
    return Query(compiled(expansions, columns), parameters.values())


def _fits_d1(query: Query) -> bool:
    return len(query.parameters) <= LIMITS["VARIABLE_NUMBER"] and len(query.sql.encode()) <= STATEMENT_BYTES


def compile_statement(asked: Asked, dialect: str = "glob") -> Query:
    """Compile a question to the statement that gives its whole strict answer in order.

    Returns:
        A SELECT of rowid, id, title, url. `Catalog.search` finds the same rows in the same order by other
        means; see `catalog_search.ranking`.

    Raises:
        QueryError: there is no such dialect.
    """
    if dialect not in DIALECTS:
        raise QueryError(f'there is no dialect "{dialect}".{nearest(dialect, DIALECTS)}')
    parameters = Parameters()
    query = _statement(asked, dialect, parameters, by_glob(parameters), by_glob(parameters, whole=True))
    if dialect != "d1" or _fits_d1(query):
        return query
    parameters = Parameters()
    return _statement(asked, dialect, parameters, by_json(parameters), by_json(parameters, whole=True))


def _statement(asked: Asked, dialect: str, parameters: Parameters, starts: Compile, whole: Compile) -> Query:
    """Compile a question; `starts` tests columns for starts of words, `whole` for whole words."""
    if dialect == "glob":
        found = starts(asked.expansions, COLUMNS)
    else:
        match = parameters.add(match_string(asked.expansions))
        found = f"rowid IN (SELECT rowid FROM documents_fts WHERE documents_fts MATCH {match})"
    raw = parameters.add(asked.raw.strip())
    sql = (
        f"SELECT rowid, id, title, url\nFROM documents\nWHERE {found}\n   OR id = {raw}\n"
        f"ORDER BY {_order(asked, raw, parameters, starts, whole)}, rowid"
    )
    return Query(sql, parameters.values())


def _order(asked: Asked, raw: str, parameters: Parameters, starts: Compile, whole: Compile) -> str:
    """Return the strict order's tier and class as one integer, 3 · tier + class; see `ranking.rank`."""
    question = parameters.add(asked.text)
    phrase = parameters.add(f" {asked.text} ")
    cases = [
        f"WHEN id = {raw} OR id_lc = {question} THEN 0",
        f"WHEN title_lc = {question} THEN 3",
        f"WHEN instr(' '||title_lc||' ', {phrase}) THEN 6",
    ]
    levels = [
        (3, ("title_lc",), whole),
        (4, ("title_lc",), starts),
        (5, ("title_lc", "keywords_lc"), starts),
        (6, COLUMNS, starts),
    ]
    for tier, columns, condition in levels:
        for limit in classes(asked.expansions):
            met = condition(within(asked.expansions, limit), columns)
            cases.append(f"WHEN {met} THEN {3 * tier + limit}")
    return "CASE\n  " + "\n  ".join(cases) + f"\n  ELSE {3 * TIERS} END"


def classes(expansions: Iterable[Expansion]) -> list[int]:
    """Return the classes that make a difference to a question: 0, and those that some pattern has."""
    return sorted({0} | {CLASS[pattern.kind] for one in expansions for pattern in one.all_patterns})


def within(expansions: Iterable[Expansion], limit: int) -> list[Expansion]:
    """Return the expansions with their patterns up to a class; a term may be left with none."""
    return [
        one._replace(
            patterns=tuple(pattern for pattern in one.patterns if CLASS[pattern.kind] <= limit),
            words=tuple(tuple(pattern for pattern in word if CLASS[pattern.kind] <= limit) for word in one.words),
        )
        for one in expansions
    ]


def match_string(
    expansions: Sequence[Expansion],
    columns: Sequence[str] = COLUMNS,
    *,
    whole: bool = False,
    begun: Mapping[str, Sequence[str]] = NO_WORDS,
) -> str:
    """Return the FTS5 query string of a condition; one without rows if there is no expansion.

    Args:
        expansions: the question's terms.
        columns: which columns of `documents_fts` to search.
        whole: whether every pattern must match whole words.
        begun: pattern → all the words of the catalogue that it begins, for those where they are known and few.
    """
    if not expansions:
        return '""'
    named = "" if len(columns) == len(COLUMNS) else f"{{{' '.join(columns)}}} : "
    others = [column for column in columns if not is_id(column)]

    def one(pattern: Pattern) -> str:
        phrase = f'"{pattern.text}"'
        if whole or pattern.whole:
            return phrase
        if not pattern.number:
            words = begun.get(pattern.text)
            return f"{phrase}*" if words is None else _joined([f'"{word}"' for word in words], "OR")
        if len(others) == len(columns):
            return phrase
        return f"({{{' '.join(others)}}} : {phrase} OR id_lc : {phrase}*)" if others else f"{phrase}*"

    def any_of(patterns: Sequence[Pattern]) -> str:
        kept = patterns if whole else needed(patterns)
        return _joined([one(pattern) for pattern in kept if pattern.text], "OR")

    terms = []
    for expansion in expansions:
        ways = [any_of(expansion.patterns)] if expansion.patterns else []
        if expansion.words:
            ways.insert(0, _joined([any_of(word) for word in expansion.words], "AND"))
        terms.append(_joined(ways, "OR"))
    condition = _joined(terms, "AND")
    return f"{named}({condition})" if named else condition


def needed(patterns: Sequence[Pattern]) -> Sequence[Pattern]:
    """Return the patterns that the others do not cover: what begins with labours begins with labour.

    >>> [pattern.text for pattern in needed([Pattern("labours", "own"), Pattern("labour", "singular")])]
    ['labour']
    """
    if len(patterns) < 2:
        return patterns
    starts = [pattern.text for pattern in patterns if pattern.text and not pattern.whole and not pattern.number]
    return [
        pattern
        for pattern in patterns
        if not any(pattern.text != start and pattern.text.startswith(start) for start in starts)
    ]


def _joined(parts: list[str], operator: str) -> str:
    if not parts:
        return '""'
    return parts[0] if len(parts) == 1 else f"({f' {operator} '.join(parts)})"
