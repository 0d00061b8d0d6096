"""Judged questions → word and phrase pairs: what is asked, and what the right titles say in its place.

For each question, its units are stretches of at most three words that hold a word which the right title lacks; those
of the title, of at most two, hold only words that the question lacks. How often a unit of questions goes with one of
titles is counted in different right documents:

    support    documents with both, at least two
    ratio      Dunning's log-likelihood ratio of the four counts, at least 10.83 (p < 0.001)

What passes is measured on the catalogue (`catalog_search.candidates`), then tried on the judged questions that hold
the unit. A pair stays if the ranks it gains outweigh those it harms and no judged answer is lost; and once more all
together, the weakest taken out until that holds of all.

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
from catalog_search.judging import HARM, Change, Ranks
from catalog_search.vocabulary import Pair

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from catalog_search.judging import Found
    from catalog_search.relevance import Judged

ASKED_WORDS, SOURCE_WORDS = 3, 2
"""Words of a unit, at most."""
SHORTEST = 3
"""Letters of a word that a unit may begin or end with, at least."""
SUPPORT, RATIO = 2, 10.83
SOURCES = 4
"""So many sources of an asked unit are tried, those of the largest ratio."""
ASKED_AT_ONCE = 25
"""Questions on which a pair is tried before more are: of a common word most pairs lose an answer soon."""
FOLDS = 5
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
    """Judged questions whose right documents it moves up (nDCG@10), those that gained included."""
    harmed: int
    """Judged questions whose right documents it moves down, or that it misleads."""
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


class Units(NamedTuple):
    """A judged question taken apart."""

    document: str
    """The right document whose title is nearest."""
    title: str
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
    holding = _holding(lexicon, judged, units, [candidate for candidate, *_ in tried.values()])
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
    kept = _without_circles(lexicon, _without_echoes(kept))
    return _without_losses(ranks, units, holding, kept)


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
    return Units(best[1], best[2], frozenset(asked), frozenset(source))


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
    return {(one.asked, one.source): (one, *found[one.asked, one.source]) for one in measured}


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


def _holding(
    lexicon: Lexicon, judged: Sequence[Judged], places: Iterable[int], candidates: Sequence[Candidate]
) -> dict[str, list[int]]:
    """Return asked unit → places of the questions that look it up."""
    keys = {one.asked: lexicon.key(one.asked) for one in candidates}
    found: dict[str, list[int]] = {key: [] for key in keys.values()}
    catalog = lexicon.catalog
    # How long a phrase may be that is looked up, a vocabulary decides.
    catalog.use(catalog.vocabulary([Pair(one.asked, (one.source,), False, 0) for one in candidates]))
    try:
        for place in places:
            for key in catalog.keys(judged[place].query) & found.keys():
                found[key].append(place)
    finally:
        catalog.use(None)
    return {asked: found[key] for asked, key in keys.items()}


def _judged(
    ranks: Ranks, units: Mapping[int, Units], places: Sequence[int], stay: Sequence[Candidate],
    candidate: Candidate, support: int, ratio: float,
) -> Learned | None:  # fmt: skip
    """Try a pair, beside those of the same unit that stay already; None if its harm is too large."""
    before: dict[int, Found] = {}
    after: dict[int, Found] = {}
    for start in range(0, len(places), ASKED_AT_ONCE):
        some = places[start : start + ASKED_AT_ONCE]
        before |= ranks.under(stay, some)
        after |= ranks.under([*stay, candidate], some)
        if any(before[place].loses(after[place]) for place in some):
            return None
    gains = {place: after[place].gain - before[place].gain for place in places}
    better = [place for place in places if gains[place] > 0]
    worse = [place for place in places if before[place].is_harmed(after[place])]
    if sum(gains.values()) <= 0 or len(worse) > HARM * len(better):
        return None
    gained = sum(after[place].rank > 0 and not before[place].rank for place in places)
    examples = [(ranks.judged[place].query, units[place].title) for place in better[:EXAMPLES]]
    return Learned(candidate, support, ratio, gained, len(better), len(worse), frozenset(better), tuple(examples))


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


def _without_circles(lexicon: Lexicon, learned: Sequence[Learned]) -> list[Learned]:
    """Leave out what leads back to a word that leads there, by pairs of the database or by stronger ones."""
    leads: dict[str, set[str]] = defaultdict(set)
    for key, pattern in lexicon.known:
        leads[key].add(lexicon.key(pattern))
    kept = []
    for one in sorted(learned, key=_strength):
        asked, source = lexicon.key(one.candidate.asked), lexicon.key(one.candidate.source)
        met, waiting = {source}, [source]
        for key in waiting:
            waiting += leads[key] - met
            met |= leads[key]
        if asked == source or asked not in met:
            leads[asked].add(source)
            kept.append(one)
    return kept


def _strength(one: Learned) -> tuple[int, int, int, Candidate]:
    """Return what the strongest pair comes first by."""
    return (-one.gained, -one.improved, -one.support, one.candidate)


def _without_losses(
    ranks: Ranks, units: Mapping[int, Units], holding: Mapping[str, Sequence[int]], learned: list[Learned]
) -> list[Learned]:
    """Take out the weakest pair involved while all together lose a judged answer, or mislead more than they may."""
    kept = sorted(learned, key=_strength)
    before, after = ranks.under((), units), ranks.under([one.candidate for one in kept], units)
    while kept:
        lost = next((place for place in units if before[place].loses(after[place])), None)
        if lost is not None:
            involved = [one for one in kept if lost in holding[one.candidate.asked]] or kept
        else:
            misled = {place for place in units if before[place].is_misled(after[place])}
            involved = [one for one in kept if _misleads(ranks, holding, kept, one, after, misled)]
        if not involved:
            break
        weakest = involved[-1]
        kept.remove(weakest)
        after |= ranks.under([one.candidate for one in kept], holding[weakest.candidate.asked])
    return kept


def _misleads(
    ranks: Ranks, holding: Mapping[str, Sequence[int]], kept: Sequence[Learned], one: Learned,
    after: Mapping[int, Found], misled: set[int],
) -> bool:  # fmt: skip
    """Tell whether more questions are misled with a pair than those that it makes better, beside the others, allow."""
    places = holding[one.candidate.asked]
    number = len(misled.intersection(places))
    if not number:
        return False
    without = ranks.under([other.candidate for other in kept if other is not one], places)
    return number > HARM * sum(after[place].gain > without[place].gain for place in places)


def estimate(
    lexicon: Lexicon,
    judged: Sequence[Judged],
    progress: Callable[[float | None, int], None] | None = None,
    path: str | None = None,
    *,
    ranks: Ranks | None = None,
) -> Change:
    """Return what pairs learned from part of the questions do to questions about other documents, over FOLDS folds.

    Args:
        lexicon: of the catalogue.
        judged: the questions.
        progress: called after each fold with the share that is done and the number.
        path: the judged set, for messages.
        ranks: of these questions, if they are known already.

    Raises:
        SourceError: the questions name fewer than FOLDS documents.
    """
    fold_of = [fold(one, FOLDS) for one in judged]
    if len({next(iter(one.grades)) for one in judged}) < FOLDS:
        raise SourceError(f"the questions name fewer than {FOLDS} documents: too few to learn from", path=path)
    ranks = ranks or Ranks(lexicon.catalog, judged)
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
