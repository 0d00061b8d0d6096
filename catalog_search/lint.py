"""What is wrong with a vocabulary's file, each fault with its line.

Errors, which cannot be meant:

    malformed    not YAML, or no pair
    unknown_key  a key that has no meaning
    empty        an asked or a source word without letter or digit
    self         the source's word is the asked one
    duplicate    an earlier pair says the same; a warning where only the spelling of the asked word differs
    cycle        the source's word for a is b, and for b, over one pair or several, a

Warnings, which may be:

    ambiguous    another pair leads the same asked word elsewhere; both are searched
    shadowed     a longer phrase holds an asked phrase, and where it is asked the shorter one is not translated
    needless     the asked word starts the source's, or the pair adds next to nothing (on a catalogue)
    dead         a source pattern occurs nowhere (on a catalogue)
    stem         a source pattern starts other words than its own (on a catalogue; see `catalog_search.purity`);
                 an error where these are more than three in four
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from catalog_search.errors import VocabularyError
from catalog_search.expansion import OWN, Pattern, key_of
from catalog_search.measure import Counter, least_gain, measure
from catalog_search.purity import DOUBTFUL, REFUSED, purity
from catalog_search.text import fold
from catalog_search.vocabulary import Vocabulary

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator
    from pathlib import Path

    from catalog_search.trial import Trial
    from catalog_search.vocabulary import Entry, Pair

ERROR, WARNING = "error", "warning"
SHOWN = 5


class Fault(NamedTuple):
    """One thing that is wrong with a vocabulary's file."""

    line: int
    kind: str
    severity: str
    message: str
    titles: tuple[str, ...] = ()
    """Documents that show it."""

    def as_json(self, path: object) -> dict[str, object]:
        """Return it as `vocab lint --json` prints it."""
        return {**self._asdict(), "file": str(path), "titles": list(self.titles)}


def lint(path: str | Path, catalog: Trial | None = None) -> tuple[int, list[Fault]]:
    """Find what is wrong with a vocabulary's file.

    Args:
        path: the file.
        catalog: a catalogue, to find what only a catalogue shows; a file that names no language is read in its.

    Returns:
        The number of pairs that can be used, and the faults in the order of their lines.

    Raises:
        VocabularyError: the file cannot be read.
    """
    try:
        vocabulary, wrong = Vocabulary.load_with_faults(path, catalog.language.tag if catalog else None)
    except VocabularyError as problem:
        if not os.path.isfile(path):
            raise
        return 0, [_malformed(problem)]
    if catalog:
        vocabulary = Vocabulary(vocabulary.pairs, catalog.language, vocabulary.source_name, path)
    found = [_malformed(problem) for problem in wrong]
    found += [*_of_each(vocabulary), *_repeated(vocabulary), *_cycles(vocabulary), *_shadowed(vocabulary)]
    if catalog:
        with catalog.errors():
            found += [*_measured(catalog.connection(), vocabulary, found), *_stems(catalog.connection(), vocabulary)]
    return len(vocabulary.pairs), sorted(found, key=lambda one: (one.line, one.severity, one.kind, one.message))


def _malformed(problem: VocabularyError) -> Fault:
    kinds = {"unknown key": "unknown_key", "holds no letter": "empty", "no asked word": "empty"}
    kind = next((kind for part, kind in kinds.items() if part in problem.message), "malformed")
    return Fault(problem.line or 1, kind, ERROR, problem.message)


def _of_each(vocabulary: Vocabulary) -> Iterator[Fault]:
    for pair in vocabulary.pairs:
        asked = fold(pair.asked, vocabulary.folding)
        for source in pair.source:
            pattern = fold(source, vocabulary.folding)
            if pattern == asked:
                yield Fault(pair.line, "self", ERROR, f"“{pair.asked}” is searched anyway")
            elif not pair.both and Pattern(asked, OWN).starts(pattern):
                message = f"“{source}” is found by “{pair.asked}” anyway, which stands in it"
                yield Fault(pair.line, "needless", WARNING, message)


def _repeated(vocabulary: Vocabulary) -> Iterator[Fault]:
    """Find duplicates, and words that several pairs lead to different places."""
    said: dict[tuple[str, str], Entry] = {}
    first: dict[str, Entry] = {}
    told: set[str] = set()
    for entry in vocabulary.entries:
        if fold(entry.asked, vocabulary.folding) == entry.source.pattern:
            continue  # self
        pair, earlier = entry.pair, said.setdefault((entry.key, entry.source.pattern), entry)
        if earlier is not entry:
            where = "in this pair" if earlier.pair is pair else f"in line {earlier.pair.line}"
            same = fold(entry.asked, vocabulary.folding) == fold(earlier.asked, vocabulary.folding)
            message = f"“{entry.asked}” leads to “{entry.source.written}” already {where}"
            if not same:
                message += f", as “{earlier.asked}”, which is looked up alike"
            yield Fault(pair.line, "duplicate", ERROR if same else WARNING, message)
            continue
        other = first.setdefault(entry.key, entry)
        if other.pair is not pair and entry.key not in told:
            told.add(entry.key)
            message = f"line {pair.line} leads “{other.asked}” to “{entry.source.written}” as well; both are searched"
            yield Fault(other.pair.line, "ambiguous", WARNING, message)


def _cycles(vocabulary: Vocabulary) -> Iterator[Fault]:
    """Find each pair that closes a cycle of pairs which hold one way only."""
    leads: dict[str, dict[str, Entry]] = {}
    for entry in vocabulary.entries:
        if entry.pair.both:
            continue
        target = key_of(entry.source.written, vocabulary.language, vocabulary.folding)
        if target == entry.key:
            continue  # city → cities: one word for a look-up, two for a search
        way = _way(leads, target, entry.key)
        if way:
            steps = ", ".join(f"line {one.pair.line} from “{one.asked}” to “{one.source.written}”" for one in way)
            remedy = "; write one pair with both: true" if len(way) == 1 else ""
            message = f"“{entry.asked}” leads to “{entry.source.written}”, and {steps}{remedy}"
            yield Fault(entry.pair.line, "cycle", ERROR, message)
        leads.setdefault(entry.key, {}).setdefault(target, entry)


def _way(leads: dict[str, dict[str, Entry]], start: str, end: str) -> list[Entry]:
    """Return the entries that lead from one key to another, [] if none do."""
    ways: dict[str, list[Entry]] = {start: []}
    waiting = [start]
    for key in waiting:
        for target, entry in leads.get(key, {}).items():
            if target == end:
                return [*ways[key], entry]
            if target not in ways:
                ways[target] = [*ways[key], entry]
                waiting.append(target)
    return []


def _shadowed(vocabulary: Vocabulary) -> Iterator[Fault]:
    patterns: dict[str, set[str]] = {}
    first: dict[str, Entry] = {}
    for entry in vocabulary.entries:
        patterns.setdefault(entry.key, set()).add(entry.source.pattern)
        first.setdefault(entry.key, entry)
    for longer, entry in first.items():
        words = longer.split(" ")
        inside = {
            " ".join(words[start:end]) for start in range(len(words)) for end in range(start + 2, len(words) + 1)
        } - {longer}
        for shorter in sorted(inside & first.keys()):
            lost = [one for one in patterns[shorter] if not any(Pattern(one, OWN).starts(p) for p in patterns[longer])]
            if lost and first[shorter].pair is not entry.pair:
                message = (
                    f"in “{entry.asked}” (line {entry.pair.line}) “{first[shorter].asked}” is not translated; "
                    f"give that pair the source's words of this one too, if they fit: {', '.join(sorted(lost))}"
                )
                yield Fault(first[shorter].pair.line, "shadowed", WARNING, message)


def _measured(connection: sqlite3.Connection, vocabulary: Vocabulary, found: list[Fault]) -> Iterator[Fault]:
    counts = Counter(connection)
    known = {(one.line, one.kind) for one in found}
    for pair, one in zip(vocabulary.pairs, measure(connection, vocabulary), strict=True):
        if (pair.line, "self") in known or (pair.line, "duplicate") in known:
            continue
        absent = [one for one in pair.source if not counts.holding([fold(one, vocabulary.folding)])]
        if absent:
            yield Fault(pair.line, "dead", WARNING, f"{', '.join(f'“{one}”' for one in absent)} occurs nowhere")
        gained_back = pair.both and _gains_back(pair, counts, vocabulary)
        if one.verdict == "needless" and not gained_back and (pair.line, "needless") not in known:
            yield Fault(pair.line, "needless", WARNING, one.detail)


def _gains_back(pair: Pair, counts: Counter, vocabulary: Vocabulary) -> bool:
    asked = fold(pair.asked, vocabulary.folding)
    for source in pair.source:
        pattern = fold(source, vocabulary.folding)
        if counts.gained([asked], pattern) >= least_gain(counts.holding([pattern]), counts.holding([asked])):
            return True
    return False


def _stems(connection: sqlite3.Connection, vocabulary: Vocabulary) -> Iterator[Fault]:
    seen: set[str] = set()
    for entry in vocabulary.entries:
        pattern = entry.source.pattern
        if pattern in seen:
            continue
        seen.add(pattern)
        found = purity(connection, vocabulary.language, pattern)
        if found.share < DOUBTFUL:
            words = ", ".join([*found.others[:SHOWN], *(["…"] if len(found.others) > SHOWN else [])])
            message = (
                f"“{entry.source.written}” also starts {words}; "
                f"{found.own:,} of the {found.matched:,} documents it brings hold the word itself"
            )
            yield Fault(entry.pair.line, "stem", ERROR if found.share < REFUSED else WARNING, message, found.titles)
