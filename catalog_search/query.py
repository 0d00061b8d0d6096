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

import json
import re
from typing import TYPE_CHECKING, NamedTuple

from catalog_search.d1 import LIMITS, STATEMENT_BYTES
from catalog_search.errors import QueryError, nearest
from catalog_search.expansion import CLASS, Asked, Expansion, Pattern

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import TypeAlias

    Test: TypeAlias = Callable[[str, Pattern], str]
    # Compiles expansions, over columns, whole words only or not, to a condition.
    Compile: TypeAlias = Callable[[Sequence[Expansion], Sequence[str], bool], str]

FIELDS = ("id", "title", "keywords", "text")
"""The searched fields; the normal form of each is in the column `<field>_lc`."""

COLUMNS = tuple(f"{field}_lc" for field in FIELDS)
DIALECTS = ("glob", "fts", "d1")
TIERS = 7
CLASSES = 3
LONGEST_GLOB = 39
"""Longest pattern, in bytes, for GLOB: `*[^a-z0-9]p*` stays within the 50 that Cloudflare D1 allows."""

LONGEST_WHOLE = 30
"""The same for `*[^a-z0-9]p[^a-z0-9]*`; a longer word is only tested at its start."""


NO_WORDS: Mapping[str, Sequence[str]] = {}


_COLUMN = re.compile(r'(?:(?:\w+|"(?:[^"]|"")+")\.)?(?:\w+|"(?:[^"]|"")+")')


class Query(NamedTuple):
    """SQL with its parameters, bound by number."""

    sql: str
    parameters: tuple[str, ...]


class Parameters:
    """Numbered parameters; an equal value is bound once."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def add(self, value: str) -> str:
        """Return the placeholder of a value."""
        return f"?{self._numbers.setdefault(value, len(self._numbers) + 1)}"

    def values(self) -> tuple[str, ...]:
        """Return the values in the order of their numbers."""
        return tuple(self._numbers)


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
        QueryError: there is no such dialect, or no column; or "d1" cannot take so many patterns over columns that
            are not in normal form.

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
    test = _glob_test(parameters) if normal_form else _loose_test(parameters)
    query = Query(_condition(expansions, columns, test), parameters.values())
    if dialect != "d1" or _fits_d1(query):
        return query
    if not normal_form:
        raise QueryError(
            f"the question has too many patterns for D1, which takes {LIMITS['VARIABLE_NUMBER']} parameters, over "
            "columns that are not in normal form; search columns in normal form, or fewer of them"
        )
    parameters = Parameters()
    return Query(_json_condition(parameters)(expansions, columns, False), parameters.values())


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
    query = _statement(asked, dialect, parameters, _glob_condition(parameters))
    if dialect != "d1" or _fits_d1(query):
        return query
    parameters = Parameters()
    return _statement(asked, dialect, parameters, _json_condition(parameters))


def _statement(asked: Asked, dialect: str, parameters: Parameters, condition: Compile) -> Query:
    if dialect == "glob":
        found = condition(asked.expansions, COLUMNS, False)
    else:
        match = parameters.add(match_string(asked.expansions))
        found = f"rowid IN (SELECT rowid FROM documents_fts WHERE documents_fts MATCH {match})"
    raw = parameters.add(asked.raw.strip())
    sql = (
        f"SELECT rowid, id, title, url\nFROM documents\nWHERE {found}\n   OR id = {raw}\n"
        f"ORDER BY {_order(asked, raw, parameters, condition)}, rowid"
    )
    return Query(sql, parameters.values())


def _order(asked: Asked, raw: str, parameters: Parameters, condition: Compile) -> str:
    """Return the strict order's tier and class as one integer, 3 · tier + class; see `ranking.rank`."""
    question = parameters.add(asked.text)
    phrase = parameters.add(f" {asked.text} ")
    cases = [
        f"WHEN id = {raw} OR id_lc = {question} THEN 0",
        f"WHEN title_lc = {question} THEN 3",
        f"WHEN instr(' '||title_lc||' ', {phrase}) THEN 6",
    ]
    levels = [
        (3, ("title_lc",), True),
        (4, ("title_lc",), False),
        (5, ("title_lc", "keywords_lc"), False),
        (6, COLUMNS, False),
    ]
    for tier, columns, whole in levels:
        for limit in classes(asked.expansions):
            met = condition(within(asked.expansions, limit), columns, whole)
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


def _condition(expansions: Sequence[Expansion], columns: Sequence[str], test: Test) -> str:
    if not expansions:
        return "0"

    def any_of(patterns: Iterable[Pattern]) -> str:
        return _balanced([test(column, pattern) for pattern in patterns for column in columns], "OR")

    terms = []
    for one in expansions:
        ways = [any_of(one.patterns)] if one.patterns else []
        if one.words:
            ways.insert(0, _balanced([any_of(word) for word in one.words], "AND"))
        terms.append(_balanced(ways, "OR"))
    return _balanced(terms, "AND")


def _glob_condition(parameters: Parameters) -> Compile:
    starts, whole_words = _glob_test(parameters), _glob_test(parameters, whole=True)

    def compiled(expansions: Sequence[Expansion], columns: Sequence[str], whole: bool) -> str:
        return _condition(expansions, columns, whole_words if whole else starts)

    return compiled


def _json_condition(parameters: Parameters) -> Compile:
    """Compile to one parameter: a list of terms, each a list of patterns one of which some column must hold."""

    def compiled(expansions: Sequence[Expansion], columns: Sequence[str], whole: bool) -> str:
        if not expansions:
            return "0"
        terms = []
        for one in expansions:
            # (w1 AND w2) OR p is (w1 OR p) AND (w2 OR p)
            for word in one.words or ((),):
                terms.append([text for pattern in (*word, *one.patterns) for text in _held(pattern, whole)])
        # The columns are named outside of the json_each, which have columns of their own: key, value, id, path, …
        names = [f"c{place}" for place in range(len(columns))]
        fields = ", ".join(f"' '||{column}||' ' AS {name}" for column, name in zip(columns, names, strict=True))
        tests = [
            f"instr(field.{name}, {f'ltrim(pattern.value, {chr(39)}#{chr(39)})' if is_id(column) else 'pattern.value'})"
            for column, name in zip(columns, names, strict=True)
        ]
        return (
            f"NOT EXISTS (SELECT 1 FROM (SELECT {fields}) AS field"
            f" CROSS JOIN json_each({parameters.add(json.dumps(terms))}) AS term"
            f" WHERE NOT EXISTS (SELECT 1 FROM json_each(term.value) AS pattern WHERE {_balanced(tests, 'OR')}))"
        )

    return compiled


def _held(pattern: Pattern, whole: bool) -> list[str]:
    """Return what a column between two spaces holds if the pattern matches; behind a # for columns of ids alone."""
    if not pattern.text:
        return []
    if whole or pattern.whole:
        return [f" {pattern.text} "]
    return [f" {pattern.text} ", f"# {pattern.text}"] if pattern.number else [f" {pattern.text}"]


def _balanced(parts: list[str], operator: str) -> str:
    """Join conditions as a balanced tree, so that its depth is the logarithm of their number."""
    if not parts:
        return "0"
    if len(parts) == 1:
        return parts[0]
    middle = len(parts) // 2
    return f"({_balanced(parts[:middle], operator)} {operator} {_balanced(parts[middle:], operator)})"


def _glob_test(parameters: Parameters, *, whole: bool = False) -> Test:
    """Return the test of a pattern on a column in normal form."""

    def test(column: str, pattern: Pattern) -> str:
        text = pattern.text
        if not text:
            return "0"
        if whole or pattern.whole or (pattern.number and not is_id(column)):
            if len(text) > LONGEST_GLOB:
                return f"instr(' '||{column}||' ', {parameters.add(f' {text} ')})"
            return f"' '||{column}||' ' GLOB {parameters.add(f'* {text} *')}"
        if len(text) > LONGEST_GLOB:
            return f"instr(' '||{column}, {parameters.add(f' {text}')})"
        first, later = parameters.add(f"{text}*"), parameters.add(f"*[^a-z0-9]{text}*")
        return f"({column} GLOB {first} OR {column} GLOB {later})"

    return test


def _loose_test(parameters: Parameters) -> Test:
    """Return the test of a pattern on a column that is only lower case and without accents."""

    def word(column: str, text: str, whole: bool) -> str:
        if whole and len(text) <= LONGEST_WHOLE:
            return f"' '||{column}||' ' GLOB {parameters.add(f'*[^a-z0-9]{text}[^a-z0-9]*')}"
        start = text[:LONGEST_GLOB]
        first, later = parameters.add(f"{start}*"), parameters.add(f"*[^a-z0-9]{start}*")
        begins = f"({column} GLOB {first} OR {column} GLOB {later})"
        return begins if start == text else f"({begins} AND instr({column}, {parameters.add(text)}))"

    def test(column: str, pattern: Pattern) -> str:
        if not pattern.text:
            return "0"
        *before, last = pattern.text.split(" ")
        whole = pattern.whole or (pattern.number and not is_id(column))
        return _balanced([*(word(column, text, True) for text in before), word(column, last, whole)], "AND")

    return test


def is_id(column: str) -> bool:
    """Tell whether a column holds ids, where a number matches by its start."""
    return column.rpartition(".")[2] in ("id_lc", "id")


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
