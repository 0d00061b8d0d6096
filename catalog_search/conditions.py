"""Expansions → a condition on columns: a pattern tested by GLOB, or all patterns at once, as JSON.

    by GLOB   (title_lc GLOB ?1 OR title_lc GLOB ?2)           ?1 = 'labor*', ?2 = '*[^a-z0-9]labor*'
    as JSON   no term of which no pattern is in a column       ?1 = '[[" labor", " labour"], [" r d ", " rd"]]'

Each in two forms: for columns in normal form, and for columns that are only lower case and without accents, in which
the words of a phrase may stand anywhere. The JSON form has one parameter, however long the question is.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import TypeAlias

    from catalog_search.expansion import Expansion, Pattern

    Test: TypeAlias = Callable[[str, Pattern], str]
    # Compiles expansions, over columns, to a condition.
    Compile: TypeAlias = Callable[[Sequence[Expansion], Sequence[str]], str]

LONGEST_GLOB = 39
"""Longest pattern, in bytes, for GLOB: `*[^a-z0-9]p*` stays within the 50 that Cloudflare D1 allows."""

LONGEST_WHOLE = 30
"""The same for `*[^a-z0-9]p[^a-z0-9]*`; a longer word is only tested at its start."""


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


def is_id(column: str) -> bool:
    """Tell whether a column holds ids, where a number matches by its start."""
    return column.rpartition(".")[2] in ("id_lc", "id")


# By GLOB ------------------------------------------------------------------------------------------------------


def by_glob(parameters: Parameters, *, whole: bool = False) -> Compile:
    """Return what compiles to tests on columns in normal form, of whole words only or not."""
    return _joining(_glob_test(parameters, whole=whole))


def loosely_by_glob(parameters: Parameters) -> Compile:
    """Return what compiles to tests on columns that are only lower case and without accents."""
    return _joining(_loose_test(parameters))


def _joining(test: Test) -> Compile:
    def compiled(expansions: Sequence[Expansion], columns: Sequence[str]) -> str:
        return _condition(expansions, columns, test)

    return compiled


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


# As JSON ------------------------------------------------------------------------------------------------------


def by_json(parameters: Parameters, *, whole: bool = False) -> Compile:
    """Return what compiles to one parameter: a list of terms, each a list of what one of the columns must hold."""

    def held(pattern: Pattern) -> list[str]:
        """Return what a column between two spaces holds if the pattern matches; behind a # for ids alone."""
        if whole or pattern.whole:
            return [f" {pattern.text} "]
        return [f" {pattern.text} ", f"# {pattern.text}"] if pattern.number else [f" {pattern.text}"]

    def compiled(expansions: Sequence[Expansion], columns: Sequence[str]) -> str:
        terms = [[text for pattern in patterns for text in held(pattern)] for patterns in _groups(expansions)]
        wanted = {False: "pattern.value", True: "ltrim(pattern.value, '#')"}
        tests = [f"instr(field.c{place}, {wanted[is_id(column)]})" for place, column in enumerate(columns)]
        return _none_unmet(parameters.add(json.dumps(terms)), columns, tests) if expansions else "0"

    return compiled


def loosely_by_json(parameters: Parameters) -> Compile:
    """Return the same for columns that are only lower case and without accents.

    A pattern is the list of its words, each as [GLOB pattern, the same for ids, the word, which may be longer].
    """

    def words(pattern: Pattern) -> list[tuple[str, str, str]]:
        *before, last = pattern.text.split(" ")
        whole = [(_whole(word), _whole(word), word) for word in before]
        start = f"*[^a-z0-9]{last[:LONGEST_GLOB]}*"
        first = _whole(last) if pattern.whole or pattern.number else start
        return [*whole, (first, _whole(last) if pattern.whole else start, last)]

    def compiled(expansions: Sequence[Expansion], columns: Sequence[str]) -> str:
        terms = [list(map(words, patterns)) for patterns in _groups(expansions)]
        tests = [
            "NOT EXISTS (SELECT 1 FROM json_each(pattern.value) AS word"
            f" WHERE NOT (field.c{place} GLOB (word.value ->> {int(is_id(column))})"
            f" AND instr(field.c{place}, word.value ->> 2)))"
            for place, column in enumerate(columns)
        ]
        return _none_unmet(parameters.add(json.dumps(terms)), columns, tests) if expansions else "0"

    return compiled


def _whole(word: str) -> str:
    return f"*[^a-z0-9]{word}[^a-z0-9]*" if len(word) <= LONGEST_WHOLE else f"*[^a-z0-9]{word[:LONGEST_GLOB]}*"


def _groups(expansions: Iterable[Expansion]) -> list[list[Pattern]]:
    """Return the patterns of each term, one of which must match; a phrase is as many terms as it has words."""
    # (w1 AND w2) OR p is (w1 OR p) AND (w2 OR p)
    return [
        [pattern for pattern in (*word, *one.patterns) if pattern.text]
        for one in expansions
        for word in one.words or ((),)
    ]


def _none_unmet(terms: str, columns: Sequence[str], tests: list[str]) -> str:
    """Return the condition that no term is without a pattern that passes a test."""
    # The columns are named outside of the json_each, which have columns of their own: key, value, id, path, …
    fields = ", ".join(f"' '||coalesce({column}, '')||' ' AS c{place}" for place, column in enumerate(columns))
    return (
        f"NOT EXISTS (SELECT 1 FROM (SELECT {fields}) AS field CROSS JOIN json_each({terms}) AS term"
        f" WHERE NOT EXISTS (SELECT 1 FROM json_each(term.value) AS pattern WHERE {_balanced(tests, 'OR')}))"
    )
