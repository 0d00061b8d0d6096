"""The relaxed answer: the nearest documents when none satisfies every term.

BM25 in which a word's relatives count for less, an unknown word is replaced by its nearest words, and titles
that look like the question go up. For the words q of a question and a document d:

    score(d) = (1 + 0.6 · dice(question, title)) · Σ_q idf(q) · tf(q, d) · 1.9 / (tf(q, d) + 0.9)
    tf(q, d) = Σ_w weight(q, w) · (n(w, title) / (0.5 + 0.5 · words(title) / average)
                                 + 0.5 · n(w, body) / (0.25 + 0.75 · words(body) / average))

over every word w that stands for q: itself and the vocabulary's words (1), words of the same singular (0.8),
words with a common start of at least four letters and half of the longer one (0.7 · share²) and, only for
words that occur nowhere, words they start (0.8), the five nearest by trigrams (0.8 · dice), and titles
whose words have them as initials (1). A stop word counts half. The body is keywords and text; dice compares
sets of trigrams. Ties go by the deeper id of equal titles, then by rowid.

Only rows that the rarest words bring are looked at, FETCHED of them at most, and the best KEPT are scored.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from itertools import chain, islice
from typing import TYPE_CHECKING, NamedTuple

from catalog_search.expansion import VOCABULARY, Asked, Expansion, holds
from catalog_search.ranking import Row

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Mapping, Sequence

    from catalog_search.language import Language

K1, TITLE_B, BODY_B, BODY = 0.9, 0.5, 0.75, 0.5
SAME_SINGULAR, COMMON_START, COMMON_SHARE, STARTED, NEAREST, INITIALS, STOP = (
    0.8,
    0.7,
    0.5,
    0.8,
    0.8,
    1.0,
    0.5,
)
NEAREST_LEAST, NEAREST_WORDS = 0.25, 5
LIKENESS = 0.6
FETCHED, KEPT = 2_000, 200
MOST_SHARING = 60
"""So many words that share most trigrams are looked at."""
TRIGRAM_BUDGET = 2_000
"""Entries of the trigram index read for one unknown word; the index leaves out the trigrams of more words."""


class Near(NamedTuple):
    """A document of a relaxed answer."""

    score: float
    row: Row
    text_lc: str


class Nearest(NamedTuple):
    """The first of a relaxed answer."""

    documents: list[Near]
    total: int
    """How many documents were scored, KEPT at most."""
    units: list[Unit]
    """What stood for each word of the question."""


class Lack(NamedTuple):
    """What a document of a relaxed answer lacks of the question."""

    missing: tuple[Expansion, ...]
    """The terms that it does not hold, not even by a stand-in."""
    stand_ins: Mapping[str, tuple[str, ...]]
    """Asked word → the words of this document that stood in for it."""


class Base(NamedTuple):
    """What the words of a document are worth, before its title is likened to the question."""

    score: float
    depth: int
    """Characters of its id."""
    rowid: int
    title_lc: str


class Unit(NamedTuple):
    """A word of the question with what may stand for it."""

    word: str
    idf: float
    weights: dict[str, float]
    """Word of the index → weight."""
    phrases: tuple[str, ...]
    """Phrases of the source that stand for it in full."""
    starts: tuple[str, ...]
    """Words of the source that do; the words they begin are among the weights."""
    size: int
    """Documents that its words bring, at most."""
    initials: bool


def trigrams(text: str) -> set[str]:
    """Return the sets of three characters of a text between two underscores.

    >>> sorted(trigrams("wage"))
    ['_wa', 'age', 'ge_', 'wag']
    """
    padded = f"_{text}_"
    return {padded[place : place + 3] for place in range(len(padded) - 2)}


def dice(one: set[str], other: set[str]) -> float:
    """Return the share of common elements, 0 to 1."""
    return 2 * len(one & other) / (len(one) + len(other)) if one or other else 0.0


class Relaxed:
    """Finds and scores the documents nearest to a question.

    Args:
        connection: to the catalogue's database.
        statements: its statements by name.
        language: its stop words and singulars.
        figures: `documents`, `title_words` and `body_words`: their number and the average lengths.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        statements: Mapping[str, str],
        language: Language,
        figures: Mapping[str, float],
    ) -> None:
        self._execute = connection.execute
        self._statements = statements
        self._language = language
        self._documents = figures["documents"]
        self._title_words = figures["title_words"] or 1.0
        self._body_words = figures["body_words"]
        # A word is looked up once for a question, also where several of its terms or units want it.
        self._nearest: dict[str, list[tuple[str, int, float]]] = {}
        self._counted: dict[str, int] = {}

    def best(self, asked: Asked, allowed: set[int] | None = None, *, need: int = KEPT) -> Nearest:
        """Return the nearest documents, best first.

        Args:
            asked: the question, expanded.
            allowed: the rowids that a filter lets through.
            need: how many, at most KEPT.
        """
        units = self._units(asked)
        worth = [unit for unit in units if unit.size]
        telling = [unit for unit in worth if not self._language.is_stop(unit.word)]
        bases = self._bases(units, self._candidates(telling or worth, allowed))
        return Nearest(self._ordered(asked, bases, need), len(bases), units)

    # What stands for a word -------------------------------------------------------------------------------

    def _units(self, asked: Asked) -> list[Unit]:
        words = list(dict.fromkeys(asked.text.split(" ")))
        sources = _sources_by_word(asked)
        return [self._unit(word, sources.get(word, ()), len(words) > 1) for word in words]

    def _unit(self, word: str, sources: Sequence[str], several: bool) -> Unit:
        found = self._stands_for(word)
        known = word in found or bool(sources)
        phrases = []
        for source in sources:
            if " " in source:
                phrases.append(source)
                continue
            for other, documents in self._starting(source, 200):
                found[other] = (1.0, documents)
        largest = max((documents for _, documents in found.values()), default=0)
        for phrase in phrases:
            largest = max(largest, self._occurrences(phrase))
        idf = math.log(1 + (self._documents - largest + 0.5) / (largest + 0.5))
        if several and self._language.is_stop(word):
            idf *= STOP
        return Unit(
            word,
            idf,
            {other: weight for other, (weight, _) in found.items()},
            tuple(phrases),
            tuple(source for source in sources if " " not in source),
            sum(documents for _, documents in found.values()) + sum(map(self._occurrences, phrases)),
            not known and 2 <= len(word) <= 5,
        )

    def _stands_for(self, word: str) -> dict[str, tuple[float, int]]:
        """Return word of the index → (weight, documents), the word itself first if it is one."""
        own = self._execute(self._statements["word"], (word,)).fetchone()
        found = {word: (1.0, int(own[0]))} if own else {}
        if self._language.is_stop(word):
            return found

        def put(other: str, weight: float, documents: int) -> None:
            if weight > found.get(other, (0.0, 0))[0] and not self._language.is_stop(other):
                found[other] = (weight, documents)

        for other, documents in self._execute(self._statements["words_by_singular"], (self._language.singular(word),)):
            put(other, SAME_SINGULAR, documents)
        if len(word) < 2 or word.isdigit():
            return found
        if len(word) >= 4:
            for other, documents, share in self._common_starts(word):
                put(other, COMMON_START * share * share, documents)
        if not own:
            for other, documents in self._starting(word, 2_000):
                put(other, STARTED, documents)
            for other, documents, likeness in self.nearest(word):
                put(other, NEAREST * likeness, documents)
        return found

    def _starting(self, start: str, limit: int) -> Iterable[tuple[str, int]]:
        return self._execute(self._statements["words_by_start"], (start, start + "{", limit))

    def _occurrences(self, phrase: str) -> int:
        if phrase not in self._counted:
            found = self._execute(self._statements["count_by_match"], (f'"{phrase}"*', FETCHED)).fetchone()
            self._counted[phrase] = int(found[0])
        return self._counted[phrase]

    def _common_starts(self, word: str) -> Iterable[tuple[str, int, float]]:
        """Yield words with a common start of four letters at least and half of the longer word."""
        least = max(4, -(-len(word) // 2))
        start = word[:least]
        for other, documents in self._starting(start, -1):
            common = least
            while common < len(word) and common < len(other) and word[common] == other[common]:
                common += 1
            share = common / max(len(word), len(other))
            if share >= COMMON_SHARE:
                yield other, documents, share

    def nearest(self, word: str) -> list[tuple[str, int, float]]:
        """Return the nearest words of the catalogue, NEAREST_WORDS at most: word, documents, likeness, best first."""
        if word not in self._nearest:
            self._nearest[word] = self._look_for_nearest(word)
        return self._nearest[word]

    def _look_for_nearest(self, word: str) -> list[tuple[str, int, float]]:
        own = trigrams(word)
        left = TRIGRAM_BUDGET
        chosen: list[str] = []
        for words, trigram in self._execute(self._statements["trigram_counts"], (json.dumps(sorted(own)),)):
            if words > left:
                break
            chosen.append(trigram)
            left -= words
        shared: list[list[int]] = [[] for _ in range(len(chosen) + 1)]
        for other, count in Counter(self._list("words_by_trigrams", json.dumps(chosen))).items():
            shared[count].append(other)
        most = list(islice(chain.from_iterable(sorted(words) for words in reversed(shared)), MOST_SHARING))
        near = self._execute(self._statements["words_by_rowid"], (json.dumps(most),))
        found = [(other, documents, dice(own, trigrams(other))) for other, documents in near]
        # A word that holds the asked one inside, or at its end, is not near: uber is not in tuberculos.
        found = [one for one in found if one[2] >= NEAREST_LEAST and word not in one[0][1:] and one[0] != word]
        found.sort(key=lambda one: (-one[2], -one[1], one[0]))
        return found[:NEAREST_WORDS]

    def _list(self, name: str, *parameters: str | int) -> list[int]:
        """Return the numbers that a statement finds: as one JSON list, a third of the time of many rows."""
        (found,) = self._execute(self._statements[name], parameters).fetchone()
        numbers: list[int] = json.loads(found)
        return numbers

    # Candidates -------------------------------------------------------------------------------------------

    def _candidates(self, units: list[Unit], allowed: set[int] | None) -> list[int]:
        """Return the rowids worth scoring: those with the largest sums of idf, the rarest words' rows first."""
        units = sorted(units, key=lambda unit: (unit.size, unit.word))
        sums: dict[int, float] = {}
        left = FETCHED
        matches = [_match(unit) for unit in units]
        for place, unit in enumerate(units):
            if unit.size <= left or len(units) == 1:
                left -= unit.size
                exact, match = _match(unit, full=True), matches[place]
            elif left > 0 or len(sums) < KEPT:
                # A broad word: only the rows that hold another word too.
                others = [
                    one for n, one in enumerate(matches) if n != place and not self._language.is_stop(units[n].word)
                ]
                others = others or [one for n, one in enumerate(matches) if n != place]
                exact, match = "", f"({matches[place]}) AND ({' OR '.join(others)})"
                left -= FETCHED // 4
            else:
                break
            full = set(self._found(exact)) if exact else set()
            for rowid in full:
                sums[rowid] = sums.get(rowid, 0.0) + unit.idf
            if match != exact:
                for rowid in self._found(match):
                    if rowid not in full:
                        sums[rowid] = sums.get(rowid, 0.0) + 0.6 * unit.idf
        order = [(-total, rowid) for rowid, total in sums.items() if allowed is None or rowid in allowed]
        order.sort()
        return [rowid for _, rowid in order[:KEPT]]

    def _found(self, match: str) -> list[int]:
        return self._list("rowids_by_match", match, FETCHED)

    # Scores -----------------------------------------------------------------------------------------------

    def _bases(self, units: list[Unit], rowids: list[int]) -> list[Base]:
        """Return what the words of each document are worth, without those that are worth nothing."""
        by_word: dict[str, list[tuple[int, float]]] = {}
        for place, unit in enumerate(units):
            for word, weight in unit.weights.items():
                by_word.setdefault(word, []).append((place, weight))
        phrases = [(place, f" {phrase}") for place, unit in enumerate(units) for phrase in unit.phrases]
        initials = [(place, unit.word) for place, unit in enumerate(units) if unit.initials]
        idfs = [unit.idf * (K1 + 1) for unit in units]
        bases = []

        def count(frequencies: list[float], text: str, words: Iterable[str], norm: float) -> None:
            for word in words:
                if word in by_word:
                    for place, weight in by_word[word]:
                        frequencies[place] += weight * norm
            for place, phrase in phrases:
                frequencies[place] += f" {text}".count(phrase) * norm

        for rowid, id, title_lc, keywords_lc, text_lc in self._execute(
            self._statements["forms_by_rowid"], (json.dumps(rowids),)
        ):
            frequencies = [0.0] * len(units)
            title = title_lc.split(" ")
            norm = 1 / (1 - TITLE_B + TITLE_B * len(title) / self._title_words)
            count(frequencies, title_lc, title, norm)
            for place, word in initials:
                if self._has_initials(title, word):
                    frequencies[place] += INITIALS * norm
            if keywords_lc or text_lc:
                body = f"{keywords_lc} {text_lc}"
                words = body.split()
                norm = 1 - BODY_B + BODY_B * len(words) / self._body_words if self._body_words else 1.0
                count(frequencies, body, words, BODY / norm)
            score = 0.0
            for idf, frequency in zip(idfs, frequencies, strict=True):
                if frequency:
                    score += idf * frequency / (frequency + K1)
            if score:
                bases.append(Base(score, len(id), rowid, title_lc))
        return bases

    def _ordered(self, asked: Asked, bases: list[Base], need: int) -> list[Near]:
        """Return the best of them: titles that look like the question go up."""
        question = trigrams(asked.text)
        found: list[tuple[float, int, int]] = []
        for base in sorted(bases, reverse=True):
            if len(found) >= need:
                found.sort()
                if round(base.score * (1 + LIKENESS), 9) < -found[need - 1][0]:
                    break  # not even a title that is the question would bring it, or one after it, among them
            score = base.score * (1 + LIKENESS * dice(question, trigrams(base.title_lc)))
            found.append((-round(score, 9), -base.depth, base.rowid))
        found.sort()
        scores = {rowid: -score for score, _, rowid in found[:need]}
        rows = self._execute(self._statements["rows_by_rowid"], (json.dumps(list(scores)),))
        return [Near(scores[row[0]], Row(*row[:-1]), row[-1]) for row in rows]

    def _has_initials(self, title: Sequence[str], word: str) -> bool:
        """Tell whether a word is made of the first letters of words of a title that follow each other."""
        return word in "".join([one[0] for one in title if one]) or word in "".join(
            [one[0] for one in title if one and not self._language.is_stop(one)]
        )


def lack(asked: Asked, units: Sequence[Unit], near: Near) -> Lack:
    """Return what a document lacks of the question, and what stood in for it."""
    row = near.row
    fields = {"id": row.id_lc, "title": row.title_lc, "keywords": row.keywords_lc, "text": near.text_lc}
    lacking = [one for one in asked.expansions if not holds(fields, one)]
    words = set(f"{row.title_lc} {row.keywords_lc} {near.text_lc}".split())
    asked_words = {word for one in lacking for word in one.term.split(" ")}
    stand_ins = {}
    for unit in units:
        if unit.word in asked_words and unit.word not in words:
            others = tuple(sorted(words & unit.weights.keys()))
            if others:
                stand_ins[unit.word] = others
    missing = [one for one in lacking if not any(word in stand_ins for word in one.term.split(" "))]
    return Lack(tuple(missing), stand_ins)


def _match(unit: Unit, *, full: bool = False) -> str:
    """Return the FTS5 query string of what stands for a word; with `full`, of what stands for it in full."""
    words = [word for word, weight in unit.weights.items() if weight == 1.0 or not full]
    if unit.starts:
        words = [word for word in words if not word.startswith(unit.starts)]
    return " OR ".join([*(f'"{word}"' for word in words), *(f'"{start}"*' for start in (*unit.starts, *unit.phrases))])


def _sources_by_word(asked: Asked) -> dict[str, list[str]]:
    """Return word of the question → the vocabulary's patterns for the term it is part of."""
    found: dict[str, list[str]] = {}
    for one in asked.expansions:
        patterns = [pattern.text for pattern in one.all_patterns if pattern.kind == VOCABULARY]
        for word in one.term.split(" ") if patterns else ():
            found.setdefault(word, []).extend(patterns)
    return found
