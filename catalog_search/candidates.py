"""Candidate pairs for a vocabulary, measured on a catalogue; what fails its measurement is refused.

    asked     documents that hold the asked word or phrase
    source    documents that hold the source's
    gain      documents that hold the source's and not the asked one
    purity    of the documents that the source's pattern finds, the share that holds that word or an inflection of it:
              `lit` finds literacy, `disc` discrimination

Refused: a pair whose verdict in `catalog_search.measure` is not ok, whose source is found by the asked word anyway,
that the vocabulary has, or of a purity below 25 %; below 80 % it is said with a warning.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, NamedTuple

from catalog_search.expansion import OWN, Pattern, key_of
from catalog_search.measure import Counter, verdict_of
from catalog_search.spelling import load_spellings
from catalog_search.text import fold, full_folding

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from catalog_search.language import Language
    from catalog_search.trial import Trial

REFUSED_BELOW, WARNED_BELOW = 0.25, 0.80
BROAD = 0.10
"""Of the documents: a source that brings more is said with a warning."""
EXAMPLES = 3
OTHER_ENDING = 2
"""In a language without inflections of its own here, so many letters may follow a word."""


class Candidate(NamedTuple):
    """A pair that may be worth having, with what it rests on."""

    asked: str
    source: str
    origin: str
    """Which way it was found: "spelling", "stem", "edit", "form", "compound", "alias", "thesaurus", "log"."""
    asked_documents: int
    source_documents: int
    gain: int
    purity: float
    warnings: tuple[str, ...]
    examples: tuple[str, ...]
    """Titles that it adds, EXAMPLES at most."""
    times: int = 0
    """How often the asked word was asked, where that is known."""

    def as_json(self) -> dict[str, object]:
        """Return it as `vocab suggest --json` prints it."""
        return {
            "asked": self.asked,
            "source": [self.source],
            "from": self.origin,
            "asked_documents": self.asked_documents,
            "source_documents": self.source_documents,
            "gain": self.gain,
            "purity": round(self.purity, 3),
            "warnings": list(self.warnings),
            "examples": list(self.examples),
            "times": self.times,
        }


class Lexicon:
    """The words of a catalogue, and measures on them.

    Args:
        catalog: an open catalogue.
    """

    def __init__(self, catalog: Trial) -> None:
        self.catalog = catalog
        self.language: Language = catalog.language
        self.spellings = load_spellings(self.language.tag)
        self._connection = catalog.connection()
        self._counter = Counter(self._connection)
        self.words: dict[str, int] = dict(self._connection.execute("SELECT word, documents FROM words"))
        """Word → documents that hold it."""
        self.sorted = sorted(self.words)
        (self.documents,) = self._connection.execute("SELECT count(*) FROM documents").fetchone()
        self._known = set(self._connection.execute("SELECT key, pattern FROM vocabulary"))
        self._purities: dict[str, float] = {}

    def starting(self, start: str) -> Iterator[str]:
        """Yield the words that begin so, sorted."""
        for place in range(bisect_left(self.sorted, start), len(self.sorted)):
            if not self.sorted[place].startswith(start):
                return
            yield self.sorted[place]

    def occurs(self, word: str) -> bool:
        """Tell whether a word of the catalogue begins so."""
        return next(self.starting(word), None) is not None

    def fold(self, text: str) -> str:
        """Return the normal form of text."""
        return fold(text, full_folding())

    def key(self, text: str) -> str:
        """Return what a vocabulary looks an asked word up by."""
        return key_of(text, self.language, full_folding())

    def stem(self, word: str) -> str:
        """Return a word's singular if the word begins so, as a pattern must, else the word."""
        singular = self.language.singular(word)
        return singular if word.startswith(singular) else word

    def titles(self) -> Iterator[tuple[str, str]]:
        """Yield id and title, in normal form, of every document."""
        yield from self._connection.execute("SELECT id, title_lc FROM documents ORDER BY rowid")

    def purity(self, pattern: str) -> float:
        """Return the share of the documents found by a pattern that hold it as words, the last one inflected or not."""
        if pattern not in self._purities:
            before, blank, last = pattern.rpartition(" ")
            found = self._counter.holding([pattern])
            forms = [f'"{before}{blank}{word}"' for word in self.starting(last) if self._is_form(word, last)]
            held = self._counter.matching(" OR ".join(forms)) if forms else 0
            self._purities[pattern] = held / found if found else 0.0
        return self._purities[pattern]

    def _is_form(self, word: str, start: str) -> bool:
        if word == start or self.language.singular(word) in (start, self.language.singular(start)):
            return True
        rest = word[len(start) :]
        endings = self.spellings.inflections
        return rest in endings if endings else len(rest) <= OTHER_ENDING

    def measured(self, asked: str, source: str, origin: str, times: int = 0) -> Candidate | None:
        """Measure a pair; None if it is refused."""
        asked, source = self.fold(asked), self.fold(source)
        key = self.key(asked)
        if not key or not source or (key, source) in self._known or self._is_found_anyway(asked, source):
            return None
        asked_documents = self._counter.holding([asked])
        source_documents = self._counter.holding([source])
        gain = self._counter.gained([source], asked)
        if verdict_of(asked_documents, source_documents, gain) != "ok":
            return None
        purity = self.purity(source)
        if purity < REFUSED_BELOW:
            return None
        warnings = []
        if purity < WARNED_BELOW:
            others = sorted(self._impure(source), key=lambda word: (-self.words[word], word))
            warnings.append(f"“{source}” also finds {', '.join(others[:3])}")
        if source_documents > BROAD * self.documents and self.documents > 20:
            warnings.append(f"it brings {source_documents / self.documents:.0%} of all documents")
        return Candidate(
            asked, source, origin, asked_documents, source_documents, gain, purity, tuple(warnings),
            tuple(self._examples(asked, source)), times,
        )  # fmt: skip

    def _is_found_anyway(self, asked: str, source: str) -> bool:
        before, blank, last = asked.rpartition(" ")
        own = (asked, before + blank + self.language.singular(last))
        return any(Pattern(one, OWN).starts(source) and source.startswith(one) for one in own)

    def _impure(self, pattern: str) -> list[str]:
        last = pattern.rpartition(" ")[2]
        return [word for word in self.starting(last) if not self._is_form(word, last)]

    def _examples(self, asked: str, source: str) -> Iterable[str]:
        match = self._counter.gaining([source], asked)
        sql = (
            "SELECT title FROM documents WHERE rowid IN (SELECT rowid FROM documents_fts WHERE documents_fts MATCH ? "
            "ORDER BY rowid LIMIT ?) ORDER BY rowid"
        )
        return (title for (title,) in self._connection.execute(sql, (match, EXAMPLES)))


def ordered(candidates: Iterable[Candidate | None], lexicon: Lexicon) -> list[Candidate]:
    """Return candidates by gain, the largest first, inflections of one pair as one."""
    best: dict[tuple[str, str], Candidate] = {}
    for one in candidates:
        if one is None:
            continue
        same = (lexicon.key(one.asked), lexicon.key(one.source))
        if same not in best or (-one.gain, one.asked) < (-best[same].gain, best[same].asked):
            best[same] = one
    return sorted(best.values(), key=lambda one: (-one.gain, one.asked, one.source))
