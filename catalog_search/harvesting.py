"""Where candidate pairs come from when there is more than words: other names, logs, judged questions.

alias       a field of a document against its title: what differs
thesaurus   another name of a concept → its preferred one, or the names of it that the catalogue uses
next        after a question with an unknown word, the same person asked the same with another one
clicked     after a question with an unknown word, a document was chosen: what its title says more
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from itertools import chain, pairwise
from typing import TYPE_CHECKING

from catalog_search import proposing
from catalog_search.candidates import Proposal
from catalog_search.errors import QueryError, nearest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from catalog_search.candidates import Lexicon
    from catalog_search.questionlog import Logged
    from catalog_search.thesaurus import Concept

NAMES = 2
"""Names of a concept that stand for the others where the preferred one is in no document."""
LONGEST = 3
"""Words of either side of a pair, at most."""
CLICKS = 2
"""Different documents whose titles must hold a word for the asked one; one if it is all that the title adds."""


def aliases(lexicon: Lexicon, field: str) -> Iterator[Proposal]:
    """Propose what a field of other names says in the place of what the title says.

    Args:
        lexicon: of the catalogue.
        field: `keywords`, or a name of the documents' metadata; a text is split at `|`, `;` and line breaks.

    Raises:
        QueryError: no document has such a field.
    """
    times: Counter[tuple[str, str]] = Counter()
    names: set[str] = {"keywords"}
    met = field == "keywords"
    for title_lc, keywords, metadata in lexicon.catalog.connection().execute(
        "SELECT title_lc, keywords, metadata FROM documents ORDER BY rowid"
    ):
        values = {**json.loads(metadata), "keywords": json.loads(keywords)}
        names |= values.keys()
        met = met or field in values
        value = values.get(field) or ()
        texts = value if isinstance(value, list) else re.split(r"[|;\n]", str(value))
        for text in texts:
            pair = difference(lexicon, lexicon.fold(str(text)).split(), title_lc.split())
            if pair:
                times[pair] += 1
    if not met:
        raise QueryError(f'no document has the field "{field}".{nearest(field, sorted(names))}')
    for (asked, source), number in times.items():
        yield Proposal(asked, source, "alias", number)


def from_thesaurus(lexicon: Lexicon, concepts: Iterable[Concept]) -> Iterator[Proposal]:
    """Propose the preferred name of a concept for its other names, where the catalogue has it.

    Where it does not, those names that the catalogue does not have lead to the ones that it has, NAMES at most.
    """
    for concept in concepts:
        held = [one for one in concept.preferred if lexicon.holds(one)]
        if held:
            asked = [*concept.others, *(one for one in concept.preferred if one not in held)]
        else:
            counts = {one: lexicon.holds(one) for one in concept.others}
            held = sorted((one for one in counts if counts[one]), key=lambda one: (-counts[one], one))[:NAMES]
            asked = [*concept.preferred, *(one for one in counts if not counts[one])]
        for other in asked if held else ():
            for source in held:
                yield Proposal(other, lexicon.pattern(lexicon.fold(source)), "thesaurus")


def difference(lexicon: Lexicon, one: Sequence[str], other: Sequence[str]) -> tuple[str, str] | None:
    """Return what differs between two texts, between the words that they begin and end with alike; None if too much."""
    same = lexicon.language.singular
    start = 0
    while start < min(len(one), len(other)) and same(one[start]) == same(other[start]):
        start += 1
    end = 0
    while end < min(len(one), len(other)) - start and same(one[-1 - end]) == same(other[-1 - end]):
        end += 1
    sides = (one[start : len(one) - end], other[start : len(other) - end])
    if not all(side and len(side) <= LONGEST and _is_worth(lexicon, side) for side in sides):
        return None
    return " ".join(sides[0]), lexicon.pattern(" ".join(sides[1]))


def _is_worth(lexicon: Lexicon, words: Sequence[str]) -> bool:
    is_stop = lexicon.language.is_stop
    return not is_stop(words[0]) and not is_stop(words[-1]) and any(len(word) > 1 for word in words)


def asked_words(lexicon: Lexicon, questions: Iterable[str]) -> Counter[str]:
    """Count the words of questions, and every two that follow each other, stop words left out."""
    counts: Counter[str] = Counter()
    for question in questions:
        words = lexicon.fold(question).split()
        single = (word for word in words if not lexicon.language.is_stop(word))
        double = (f"{one} {other}" for one, other in pairwise(words))
        counts.update(list(dict.fromkeys(chain(single, double))))  # once a question
    return counts


def from_words(lexicon: Lexicon, asked: Mapping[str, int]) -> dict[str, list[Proposal]]:
    """Return what every way proposes for asked words: name of the way → proposals."""
    made = chain(
        proposing.asked_spelling(lexicon, asked),
        proposing.asked_forms(lexicon, asked),
        proposing.asked_edits(lexicon, asked),
        proposing.asked_stems(lexicon, asked),
    )
    ways: dict[str, list[Proposal]] = defaultdict(list)
    for one in made:
        ways[one.origin].append(one)
    return ways


def from_log(lexicon: Lexicon, logged: Iterable[Logged]) -> list[Proposal]:
    """Return what the log of questions proposes; without sessions, the next line is what was asked next."""
    last: dict[str | None, Logged] = {}
    after: Counter[tuple[str, str]] = Counter()
    clicked: dict[tuple[str, str], set[str]] = defaultdict(set)
    alone: set[tuple[str, str]] = set()
    asked: Counter[str] = Counter()
    for one in logged:
        asked.update(asked_words(lexicon, [one.query]))
        before = last.get(one.session)
        last[one.session] = one
        if before is not None:
            pair = _reworded(lexicon, before, one)
            if pair:
                after[pair] += 1
        unknown = _unknown(lexicon, one.query)
        for document, _, title in lexicon.titles_of(one.clicked) if len(unknown) == 1 else ():
            held = {lexicon.language.singular(word) for word in lexicon.fold(one.query).split()}
            more = [word for word in title.split() if lexicon.language.singular(word) not in held]
            more = [word for word in more if len(word) > 2 and not lexicon.language.is_stop(word)]
            for word in more:
                pair = (unknown[0], lexicon.pattern(word))
                clicked[pair].add(document)
                if len(more) == 1:
                    alone.add(pair)
    ways = from_words(lexicon, asked)
    sure = [*ways.pop("spelling", ()), *ways.pop("form", ()), *ways.pop("compound", ())]
    nexts = [Proposal(*pair, "next", times) for pair, times in after.items()]
    clicks = [
        Proposal(*pair, "clicked", len(documents))
        for pair, documents in clicked.items()
        if len(documents) >= CLICKS or pair in alone
    ]
    return [*sure, *nexts, *clicks, *chain.from_iterable(ways.values())]


def _reworded(lexicon: Lexicon, one: Logged, other: Logged) -> tuple[str, str] | None:
    """Return the unknown word of a question and what the next has in its place; None if it is another question."""
    first, second = lexicon.fold(one.query).split(), lexicon.fold(other.query).split()
    pair = difference(lexicon, first, second)
    if pair is None or not any(word in pair[0].split() for word in _unknown(lexicon, one.query)):
        return None
    if _unknown(lexicon, other.query):
        return None
    # Without a word in common it is the same question only if the same person is known to have asked it.
    return pair if one.session is not None or len(first) > len(pair[0].split()) else None


def _unknown(lexicon: Lexicon, question: str) -> list[str]:
    words = dict.fromkeys(lexicon.fold(question).split())
    return [word for word in words if not lexicon.language.is_stop(word) and not lexicon.occurs(word)]
