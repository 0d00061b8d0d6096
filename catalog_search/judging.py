"""What pairs do to judged questions: gained, lost, and whether that is distinguishable from nothing.

A question has its answer if a right document is among the first ten. The answer is lost if a right document leaves the
first ten and none as right takes its place. A question is misled if a strict answer without a right document replaces
a relaxed one. `vocab accept` and `vocab learn` go by the same rules: a pair that loses an answer is refused, and so is
one that harms more questions than HARM for each that it makes better.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from catalog_search.relevance import DEPTH, Outcome
from catalog_search.vocabulary import Pair

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from catalog_search.candidates import Candidate
    from catalog_search.relevance import Judged
    from catalog_search.trial import Trial

FIRST = 10
HARM = 0.2
"""Questions that a pair may make worse without losing their answer, for each that it makes better."""


class Change(NamedTuple):
    """What other pairs do to judged questions."""

    questions: int
    before: int
    """Questions with a right document among the first ten."""
    gained: int
    lost: int

    @property
    def p(self) -> float:
        """Two-sided sign test: how likely so uneven a change is by chance."""
        return sign_test(self.gained, self.lost)

    def said(self) -> str:
        """Say it in a sentence.

        >>> Change(9, 5, 2, 1).said().split("; ")[1]
        '2 gained, 1 lost (+20.0%'
        >>> Change(9, 5, 2, 1).said().split("; ")[2]
        'not distinguishable from nothing, p = 1)'
        """
        share = (self.gained - self.lost) / self.before if self.before else 0.0
        verdict = "" if self.p <= 0.05 else "not distinguishable from nothing, "
        return (
            f"{self.before} of {self.questions} questions had a right document among the first ten; "
            f"{self.gained} gained, {self.lost} lost ({share:+.1%}; {verdict}p = {self.p:.2g})"
        )

    def as_json(self) -> dict[str, object]:
        """Return it as `vocab learn --json` prints it."""
        return {**self._asdict(), "p": self.p, "distinguishable": self.p <= 0.05}


def sign_test(gained: int, lost: int) -> float:
    """Return the two-sided probability of a change at least so uneven, if either way were equally likely.

    >>> sign_test(0, 0), sign_test(6, 0)
    (1.0, 0.03125)
    """
    number = gained + lost
    tail = sum(math.comb(number, k) for k in range(min(gained, lost) + 1))
    return min(1.0, 2 * tail / (1 << number))  # whole numbers: a float holds no more than 2**1023


def is_kept(before: Iterable[float], after: Iterable[float]) -> bool:
    """Tell from the grades of the right documents on a page before and after whether for each there is one as right.

    >>> is_kept([1, 3], [3, 2, 1]), is_kept([3], [1, 1, 1])
    (True, False)
    """
    old, new = sorted(before, reverse=True), sorted(after, reverse=True)
    return len(new) >= len(old) and all(one >= other for one, other in zip(new, old, strict=False))


class Found(NamedTuple):
    """How a judged question was answered."""

    rank: int
    """Of the first right document, from 1, among the first ten; else 0."""
    gain: float
    """Normalized discounted cumulative gain of the first ten."""
    right: tuple[float, ...]
    """The grades of the right documents among the first ten."""
    misled: bool
    """Whether the answer is strict, and has no right document among its first hundred."""

    def loses(self, after: Found) -> bool:
        """Tell whether the answer is lost if it becomes another."""
        return not is_kept(self.right, after.right)

    def is_harmed(self, after: Found) -> bool:
        """Tell whether the answer is worse, or misleads, if it becomes another."""
        return after.gain < self.gain or self.is_misled(after)

    def is_misled(self, after: Found) -> bool:
        """Tell whether the answer misleads, and did not, if it becomes another."""
        return after.misled and not self.misled


class Ranks:
    """The ranks of the right documents of judged questions, under one vocabulary or another.

    Args:
        catalog: what is asked.
        judged: the questions.
    """

    def __init__(self, catalog: Trial, judged: Sequence[Judged]) -> None:
        self._catalog = catalog
        self.judged = judged
        self._known: dict[tuple[int, object], Found] = {}
        vocabulary = catalog.connection().execute("SELECT asked, source FROM vocabulary ORDER BY rowid")
        self._own = [Pair(asked, (source,), False, 0) for asked, source in vocabulary]

    def under(self, pairs: Iterable[Candidate], places: Iterable[int] | None = None) -> dict[int, Found]:
        """Return place → how the question is answered.

        Args:
            pairs: added to those of the database.
            places: of the questions to ask; all by default.
        """
        added = [Pair(one.asked, (one.source,), False, 0) for one in pairs]
        self._catalog.use(self._catalog.vocabulary([*self._own, *added]) if added else None)
        try:
            return {place: self._found(place) for place in (range(len(self.judged)) if places is None else places)}
        finally:
            self._catalog.use(None)

    def _found(self, place: int) -> Found:
        one = self.judged[place]
        # Equal expansions have equal answers.
        key = (place, self._catalog.expand(one.query))
        if key not in self._known:
            answer = self._catalog.search(one.query, limit=FIRST)
            ids = [result.id for result in answer.results]
            rank = next((n for n, id in enumerate(ids, 1) if id in one.grades), 0)
            misled = bool(ids) and not answer.relaxed and not rank
            if misled and len(ids) == FIRST:
                more = self._catalog.search(one.query, limit=DEPTH).results
                misled = not any(result.id in one.grades for result in more)
            gain = Outcome(one, ids, [], answer.relaxed).gain(FIRST)
            right = tuple(one.grades[id] for id in ids if id in one.grades)
            self._known[key] = Found(rank, gain, right, misled)
        return self._known[key]

    def change(self, pairs: Sequence[Candidate], places: Iterable[int] | None = None) -> Change:
        """Return what pairs do to questions."""
        places = range(len(self.judged)) if places is None else list(places)
        before = self.under((), places)
        after = self.under(pairs, places)
        return Change(
            len(before),
            sum(found.rank > 0 for found in before.values()),
            sum(after[place].rank > 0 and not before[place].rank for place in before),
            sum(before[place].rank > 0 and not after[place].rank for place in before),
        )
