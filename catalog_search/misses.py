"""Questions without a strict answer, from a log: folded, grouped, counted, with their words that occur nowhere.

    2  joblesness    joblesness: jobless, joblessness
    1  zebra

Whether a question had a strict answer is asked of a catalogue as it is now; without one, it is what the log says.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from catalog_search.errors import SourceError
from catalog_search.questionlog import BadLine, read_log, without_question
from catalog_search.text import cut, normalize

if TYPE_CHECKING:
    from collections.abc import Callable

    from catalog_search.trial import Trial

NAMED = 1_000
"""So many bad lines are named; the others are counted."""
TOLD_EVERY = 100


@dataclass(frozen=True, slots=True)
class Miss:
    """A question, or a word, that found nothing as it is."""

    query: str
    """Its normal form; as it was typed if it holds no word."""
    count: int
    unknown: dict[str, list[str]]
    """Its words that occur nowhere, with the nearest that do; empty without a catalogue."""


@dataclass(slots=True)
class Misses:
    """What a log says was asked in vain."""

    by_catalogue: bool
    """Whether a catalogue was asked."""
    questions: int = 0
    """Lines with a question."""
    distinct: int = 0
    untold: int = 0
    """Questions of which the log does not say whether they had an answer, when no catalogue is asked."""
    bad: int = 0
    """Lines without a question that can be used."""
    bad_lines: list[BadLine] = field(default_factory=list)
    """The first of them."""
    misses: list[Miss] = field(default_factory=list)
    """The most frequent first."""

    @property
    def missed(self) -> int:
        """Questions without a strict answer, each as often as it was asked."""
        return sum(one.count for one in self.misses)

    def words(self) -> list[Miss]:
        """Return single words instead of questions, and none that holds a digit.

        Of each question the words that occur nowhere; without a catalogue, all of its words.
        """
        counts: dict[str, int] = {}
        near: dict[str, list[str]] = {}
        for one in self.misses:
            for word in one.unknown or ({} if self.by_catalogue else dict.fromkeys(normalize(one.query).split())):
                if word.isalpha():
                    counts[word] = counts.get(word, 0) + one.count
                    near[word] = one.unknown.get(word, [])
        found = (Miss(word, count, {word: near[word]} if self.by_catalogue else {}) for word, count in counts.items())
        return sorted(found, key=_order)


def find_misses(
    log: str,
    catalog: Trial | None = None,
    column: str | None = None,
    progress: Callable[[float | None, int], None] | None = None,
) -> Misses:
    """Read a log and find what was asked in vain.

    Args:
        log: the file; see `catalog_search.questionlog`.
        catalog: asked every question once; without it the log must say which had results.
        column: the member or column that holds the question.
        progress: called now and then with the share of the log that is read and the number of lines.

    Raises:
        SourceError: the log cannot be read, no line of it holds a question, or nothing says which had an answer.
    """
    found = Misses(by_catalogue=catalog is not None)
    groups: dict[str, list[int]] = {}  # normal form → how often, and how often without an answer as the log says
    typed: dict[str, str] = {}
    share = 1.0 if catalog is None else 0.5  # of the work that reading is
    reading = partial(_part, progress, share) if progress else None
    for one in read_log(log, column, reading):
        if isinstance(one, BadLine):
            found.bad += 1
            if len(found.bad_lines) < NAMED:
                found.bad_lines.append(one)
            continue
        found.questions += 1
        query = cut(one.query)[0].strip()
        key = normalize(query) or query
        typed.setdefault(key, query)
        counts = groups.setdefault(key, [0, 0])
        counts[0] += 1
        counts[1] += one.missed is True
        found.untold += one.missed is None and catalog is None
    if found.bad_lines and not found.questions:
        raise without_question(log, found.bad, found.bad_lines[0])
    found.distinct = len(groups)
    if catalog is None and found.untold and found.untold == found.questions:
        raise SourceError(
            "the log does not say which questions had results; name the catalogue that they were asked of", path=log
        )
    for number, (key, (count, missed)) in enumerate(groups.items(), 1):
        if catalog is None:
            if missed:
                found.misses.append(Miss(key, missed, {}))
        elif (unknown := catalog.missed(typed[key])) is not None:
            found.misses.append(Miss(key, count, unknown))
        if progress and (number % TOLD_EVERY == 0 or number == len(groups)):
            progress(share + (1 - share) * number / len(groups), found.questions + found.bad)
    found.misses.sort(key=_order)
    return found


def _part(progress: Callable[[float | None, int], None], of: float, share: float | None, lines: int) -> None:
    progress(of * (share or 0), lines)


def _order(one: Miss) -> tuple[int, str]:
    return -one.count, one.query
