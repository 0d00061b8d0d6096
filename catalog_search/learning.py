"""Judged questions → word and phrase pairs: what is asked, and what the right titles say in its place.

For each question, its units are stretches of at most three words that hold a word which the right title lacks; those
of the title, of at most two, hold only words that the question lacks. How often a unit of questions goes with one of
titles is counted in different right documents:

    support    documents with both, at least two
    ratio      Dunning's log-likelihood ratio of the four counts, at least 3.84 (p < 0.05)

What passes is measured on the catalogue (`catalog_search.candidates`), then tried on the judged questions that hold
the unit. A pair stays if the ranks it gains outweigh those it harms and no judged answer is lost; and once more all
together, the weakest taken out until none is. An answer is lost where `vocab accept` would say so: a right document
leaves the first ten and none takes its place, or a strict answer without a right document replaces a relaxed one.

A gain does not prove sense: with few questions, words go together by chance. So the estimate is made of folds in which
no right document is shared, by a sign test, and a person reads the pairs.

Source: Dunning 1993, Accurate Methods for the Statistics of Surprise and Coincidence.
"""

from __future__ import annotations

import math
from collections import defaultdict
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple

from catalog_search.candidates import Candidate, Lexicon, Proposal
from catalog_search.errors import SourceError
from catalog_search.relevance import DEPTH
from catalog_search.vocabulary import Pair

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from catalog_search.relevance import Judged
    from catalog_search.trial import Trial

ASKED_WORDS, SOURCE_WORDS = 3, 2
"""Words of a unit, at most."""
SHORTEST = 3
"""Letters of a word that a unit may begin or end with, at least."""
SUPPORT, RATIO = 2, 3.84
COMMON, COMMON_SHARE = 2, 0.25
"""An asked unit is in so many documents at most, or in that share of the source's: what is common needs no pair."""
SOURCES = 4
"""So many sources of an asked unit are tried, those of the largest ratio."""
HARM = 0.34
"""Questions whose rank a pair worsens, for each that it improves, at most."""
FOLDS, FIRST = 5, 10
EXAMPLES = 3


class Learned(NamedTuple):
    """A pair that was learned, with what it rests on."""

    candidate: Candidate
    support: int
    """Different right documents."""
    ratio: float
    gained: int
    """Judged questions that it brings a right document among the first ten for."""
    improved: int
    """Judged questions whose right document it moves up, those that gained included."""
    harmed: int
    """Judged questions whose right document it moves down."""
    places: frozenset[int]
    """Places of the questions that it improves."""
    examples: tuple[tuple[str, str], ...]
    """Judged questions with the right title."""

    def as_json(self) -> dict[str, object]:
        """Return it as `vocab learn --json` prints it."""
        return {
            **self.candidate.as_json(),
            "support": self.support,
            "ratio": round(self.ratio, 1),
            "gained": self.gained,
            "improved": self.improved,
            "harmed": self.harmed,
            "lost": 0,
            "examples": [{"question": question, "title": title} for question, title in self.examples],
        }


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
    return min(1.0, 2 * tail / 2.0**number)


class Found(NamedTuple):
    """How a judged question was answered."""

    rank: int
    """Of the first right document, from 1, among the first ten; else 0."""
    right: float
    """The grades of the right documents among the first ten, together."""
    misled: bool
    """Whether the answer is strict, and has no right document among its first hundred."""

    def loses(self, after: Found) -> bool:
        """Tell whether the answer is lost if it becomes another."""
        return after.right < self.right or (after.misled and not self.misled)


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
            self._known[key] = Found(rank, sum(one.grades.get(id, 0) for id in ids), misled)
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


class Units(NamedTuple):
    """A judged question taken apart."""

    document: str
    """The right document whose title is nearest."""
    title: str
    key: str
    """The singulars of the question's words: a pair is looked up by those of its asked unit."""
    asked: frozenset[str]
    source: frozenset[str]


def learn(
    lexicon: Lexicon,
    judged: Sequence[Judged],
    progress: Callable[[float | None, int], None] | None = None,
    *,
    ranks: Ranks | None = None,
    places: Sequence[int] | None = None,
) -> list[Learned]:
    """Learn pairs from judged questions.

    Args:
        lexicon: of the catalogue.
        judged: the questions.
        progress: called after each asked unit with the share that is done and the number.
        ranks: of these questions, if they are known already.
        places: of the questions to learn from; all by default.

    Returns:
        The pairs that stay, the largest gain on the judged questions first.
    """
    ranks = ranks or Ranks(lexicon.catalog, judged)
    places = range(len(judged)) if places is None else places
    units = {place: one for place in places if (one := taken_apart(lexicon, judged[place])) is not None}
    tried = _tried(lexicon, units)
    holding = {asked: _holding(units, lexicon.key(asked)) for asked, _ in tried}
    by_asked: dict[str, list[tuple[Candidate, int, float]]] = defaultdict(list)
    for (asked, _), measured in tried.items():
        by_asked[asked].append(measured)
    kept: list[Learned] = []
    for number, (asked, found) in enumerate(sorted(by_asked.items()), 1):
        found.sort(key=lambda one: (-one[2], one[0].source))
        stay: list[Candidate] = []
        for candidate, support, ratio in found[:SOURCES]:
            learned = _judged(ranks, units, holding[asked], stay, candidate, support, ratio)
            if learned is not None:
                kept.append(learned)
                stay.append(candidate)
        if progress:
            progress(number / len(by_asked), number)
    return _without_losses(lexicon, ranks, units, _without_echoes(kept))


def taken_apart(lexicon: Lexicon, judged: Judged) -> Units | None:
    """Return what a question and its nearest right title have for themselves; None if no right document is there."""
    words = lexicon.fold(judged.query).split()
    forms = _forms(lexicon, words)
    best: tuple[int, str, str, list[str]] | None = None
    for document, title, title_lc in lexicon.titles_of(judged.grades):
        common = len(forms & _forms(lexicon, title_lc.split()))
        if best is None or common > best[0]:
            best = (common, document, title, title_lc.split())
    if best is None or not words:
        return None
    title_words = best[3]
    theirs = _forms(lexicon, title_words)
    asked = {
        " ".join(unit) for unit in _stretches(lexicon, words, ASKED_WORDS)
        if any(not _forms(lexicon, [word]) & theirs for word in unit)
    }  # fmt: skip
    source = {
        lexicon.pattern(" ".join(unit)) for unit in _stretches(lexicon, title_words, SOURCE_WORDS)
        if all(not _forms(lexicon, [word]) & forms for word in unit)
    }  # fmt: skip
    return Units(best[1], best[2], lexicon.key(judged.query), frozenset(asked), frozenset(source))


def _forms(lexicon: Lexicon, words: Iterable[str]) -> set[str]:
    return {lexicon.language.singular(word) for word in words}


def _stretches(lexicon: Lexicon, words: Sequence[str], longest: int) -> Iterable[Sequence[str]]:
    """Yield stretches of words that neither begin nor end with a stop word, a number or a word of a few letters."""
    fit = [len(word) >= SHORTEST and not word.isdigit() and not lexicon.language.is_stop(word) for word in words]
    for start in range(len(words)):
        for end in range(start, min(start + longest, len(words))):
            if fit[start] and fit[end]:
                yield words[start : end + 1]


def _tried(lexicon: Lexicon, units: Mapping[int, Units]) -> dict[tuple[str, str], tuple[Candidate, int, float]]:
    """Return the pairs of enough support and ratio that are measured."""
    asked_in: dict[str, set[str]] = defaultdict(set)
    source_in: dict[str, set[str]] = defaultdict(set)
    both_in: dict[tuple[str, str], set[str]] = defaultdict(set)
    for one in units.values():
        for asked in one.asked:
            asked_in[asked].add(one.document)
        for source in one.source:
            source_in[source].add(one.document)
    often = {asked for asked, documents in asked_in.items() if len(documents) >= SUPPORT}
    for one in units.values():
        for asked in one.asked & often:
            for source in one.source:
                both_in[asked, source].add(one.document)
    documents = len({one.document for one in units.values()})
    found = {}
    for (asked, source), both in both_in.items():
        ratio = likelihood_ratio(len(both), len(asked_in[asked]), len(source_in[source]), documents)
        if len(both) >= SUPPORT and ratio >= RATIO:
            found[asked, source] = (len(both), ratio)
    measured = lexicon.measured([Proposal(asked, source, "judged") for asked, source in found], inflected=False)
    return {
        (one.asked, one.source): (one, *found[one.asked, one.source])
        for one in measured
        if one.asked_documents <= max(COMMON, COMMON_SHARE * one.source_documents)
    }


def likelihood_ratio(both: int, one: int, other: int, total: int) -> float:
    """Return Dunning's log-likelihood ratio of two events in `total` trials; 0 if they go together less than by chance.

    >>> round(likelihood_ratio(5, 5, 5, 100), 1), likelihood_ratio(1, 50, 50, 100)
    (39.7, 0.0)
    """
    if both * total <= one * other:
        return 0.0
    cells = (both, one - both, other - both, total - one - other + both)
    rows, columns = (one, total - one), (other, total - other)
    expected = (rows[0] * columns[0], rows[0] * columns[1], rows[1] * columns[0], rows[1] * columns[1])
    return 2 * sum(
        cell * math.log(cell * total / product) for cell, product in zip(cells, expected, strict=True) if cell
    )


def _holding(units: Mapping[int, Units], key: str) -> list[int]:
    """Return the questions in which a pair is looked up."""
    return [place for place, one in units.items() if f" {key} " in f" {one.key} "]


def _judged(
    ranks: Ranks, units: Mapping[int, Units], places: Sequence[int], stay: Sequence[Candidate],
    candidate: Candidate, support: int, ratio: float,
) -> Learned | None:  # fmt: skip
    """Try a pair, beside those of the same unit that stay already; None if its harm is too large."""
    before, after = ranks.under(stay, places), ranks.under([*stay, candidate], places)
    worth = {place: _worth(after[place]) - _worth(before[place]) for place in places}
    better = [place for place in places if worth[place] > 0]
    worse = [place for place in places if worth[place] < 0]
    lost = any(before[place].loses(after[place]) for place in places)
    if sum(worth.values()) <= 0 or lost or len(worse) > HARM * len(better):
        return None
    gained = sum(not before[place].rank for place in better)
    examples = [(ranks.judged[place].query, units[place].title) for place in better[:EXAMPLES]]
    return Learned(candidate, support, ratio, gained, len(better), len(worse), frozenset(better), tuple(examples))


def _worth(found: Found) -> float:
    return 1 / found.rank if found.rank else 0.0


def _without_echoes(learned: Sequence[Learned]) -> list[Learned]:
    """Keep one of the pairs that lead to one source and say the same.

    These are a phrase that holds the asked word of another pair, and words that improve the same questions: of them the
    one that is rarest in the catalogue and shortest.
    """
    kept: list[Learned] = []
    for one in sorted(
        learned, key=lambda one: (one.candidate.asked_documents, one.candidate.asked.count(" "), -one.ratio, one[0])
    ):
        asked, source = f" {one.candidate.asked} ", one.candidate.source
        same = [other for other in kept if other.candidate.source == source]
        if not any(f" {other.candidate.asked} " in asked or other.places >= one.places for other in same):
            kept.append(one)
    return kept


def _without_losses(
    lexicon: Lexicon, ranks: Ranks, units: Mapping[int, Units], learned: list[Learned]
) -> list[Learned]:
    """Take out the weakest pair involved while all together lose a judged answer."""
    kept = sorted(learned, key=lambda one: (-one.gained, -one.improved, -one.support, one.candidate.asked))
    before = ranks.under((), units)
    while kept:
        after = ranks.under([one.candidate for one in kept], units)
        lost = [place for place in units if before[place].loses(after[place])]
        if not lost:
            break
        asked = f" {units[lost[0]].key} "
        involved = [one for one in kept if f" {lexicon.key(one.candidate.asked)} " in asked] or kept
        kept.remove(involved[-1])
    return kept


def estimate(
    lexicon: Lexicon,
    judged: Sequence[Judged],
    progress: Callable[[float | None, int], None] | None = None,
    path: str | None = None,
) -> Change:
    """Return what pairs learned from part of the questions do to questions about other documents, over FOLDS folds.

    Args:
        lexicon: of the catalogue.
        judged: the questions.
        progress: called after each fold with the share that is done and the number.
        path: the judged set, for messages.

    Raises:
        SourceError: the questions name fewer than FOLDS documents.
    """
    fold_of = [fold(one, FOLDS) for one in judged]
    if len({next(iter(one.grades)) for one in judged}) < FOLDS:
        raise SourceError(f"the questions name fewer than {FOLDS} documents: too few to learn from", path=path)
    ranks = Ranks(lexicon.catalog, judged)
    changes = []
    for number in range(FOLDS):
        held = {id for place, one in enumerate(judged) if fold_of[place] == number for id in one.grades}
        rest = [place for place, one in enumerate(judged) if not held & one.grades.keys()]
        learned = learn(lexicon, judged, ranks=ranks, places=rest)
        out = [place for place in range(len(judged)) if fold_of[place] == number]
        changes.append(ranks.change([one.candidate for one in learned], out))
        if progress:
            progress((number + 1) / FOLDS, number + 1)
    return Change(*(sum(values) for values in zip(*changes, strict=True)))


def fold(judged: Judged, number: int) -> int:
    """Return the fold of a question, made of its first right id alone."""
    first = next(iter(judged.grades))
    return int.from_bytes(blake2b(first.encode("utf-8", "replace"), digest_size=8).digest(), "big") % number
