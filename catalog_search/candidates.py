"""Candidate pairs for a vocabulary, measured on a catalogue; what fails its measurement is refused.

Refused: a pair whose verdict in `catalog_search.measure` is not ok, whose source the asked word finds anyway, that the
vocabulary has, or whose source is of a purity (see `catalog_search.purity`) below a quarter. A lesser doubt is said.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, NamedTuple

from catalog_search.expansion import key_of
from catalog_search.measure import measure
from catalog_search.purity import DOUBTFUL, REFUSED, is_inflection, purity
from catalog_search.spelling import load_spellings
from catalog_search.text import fold, full_folding
from catalog_search.vocabulary import Pair

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from catalog_search.trial import Trial

BROAD = 0.10
"""Of the documents: a source that brings more is said with a warning."""
SMALL = 20
"""In a catalogue of fewer documents nothing is broad."""
EXAMPLES = 3
COUNTED = 1_000


class Proposal(NamedTuple):
    """A pair that some way proposes, not measured yet."""

    asked: str
    source: str
    origin: str
    """The way it was found: "spelling", "form", "compound", "stem", "edit", "alias", "thesaurus", "clicked", "next"."""
    times: int = 0
    """How often the asked word was asked, where that is known."""


class Candidate(NamedTuple):
    """A pair that may be worth having, with what it rests on."""

    asked: str
    source: str
    origin: str
    asked_documents: int
    source_documents: int
    gain: int
    """Documents that hold the source's word and not the asked one."""
    purity: float
    warnings: tuple[str, ...]
    examples: tuple[str, ...]
    """Titles that it adds, EXAMPLES at most."""
    times: int

    def as_json(self) -> dict[str, object]:
        """Return it as `vocab suggest --json` prints it."""
        return {
            "asked": self.asked,
            "source": [self.source],
            "from": self.origin,
            "times": self.times,
            "asked_documents": self.asked_documents,
            "source_documents": self.source_documents,
            "gain": self.gain,
            "purity": round(self.purity, 3),
            "warnings": list(self.warnings),
            "examples": list(self.examples),
        }


class Lexicon:
    """The words of a catalogue, and what pairs of them are worth.

    Args:
        catalog: an open catalogue.
    """

    def __init__(self, catalog: Trial) -> None:
        self.catalog = catalog
        self.language = catalog.language
        self.spellings = load_spellings(self.language.tag)
        self._connection = catalog.connection()
        self.words: dict[str, int] = dict(self._connection.execute("SELECT word, documents FROM words"))
        """Word → documents that hold it."""
        self.sorted = sorted(self.words)
        (self.documents,) = self._connection.execute("SELECT count(*) FROM documents").fetchone()
        self.known: set[tuple[str, str]] = set(self._connection.execute("SELECT key, pattern FROM vocabulary"))
        """Key and pattern of the pairs that the database has."""

    def starting(self, start: str) -> Iterator[str]:
        """Yield the words that begin so, sorted."""
        for place in range(bisect_left(self.sorted, start), len(self.sorted)):
            if not self.sorted[place].startswith(start):
                return
            yield self.sorted[place]

    def occurs(self, word: str) -> bool:
        """Tell whether a word of the catalogue begins so."""
        return next(self.starting(word), None) is not None

    def holds(self, text: str) -> int:
        """Return how many documents hold the pattern of a text, COUNTED at most."""
        pattern = self.pattern(self.fold(text))
        if not self._has_words(pattern):
            return 0
        sql = "SELECT count(*) FROM (SELECT 1 FROM documents_fts WHERE documents_fts MATCH ? LIMIT ?)"
        found: int = self._connection.execute(sql, (f'"{pattern}"*', COUNTED)).fetchone()[0]
        return found

    def _has_words(self, pattern: str) -> bool:
        """Tell whether the words of a pattern are words of the catalogue, of which the last may begin one."""
        *before, last = pattern.split() or [""]
        return bool(last) and all(word in self.words for word in before) and self.occurs(last)

    def fold(self, text: str) -> str:
        """Return the normal form of text."""
        return fold(text, full_folding())

    def key(self, text: str) -> str:
        """Return what a vocabulary looks an asked word up by."""
        return key_of(text, self.language, full_folding())

    def pattern(self, text: str) -> str:
        """Return a word or phrase with its last word in the singular, if the word begins so, as a pattern must."""
        before, blank, last = text.rpartition(" ")
        singular = self.language.singular(last)
        return before + blank + (singular if last.startswith(singular) else last)

    def titles(self) -> Iterator[tuple[str, str]]:
        """Yield id and title, in normal form, of every document."""
        yield from self._connection.execute("SELECT id, title_lc FROM documents ORDER BY rowid")

    def titles_of(self, ids: Iterable[str]) -> Iterator[tuple[str, str, str]]:
        """Yield id, title, and title in normal form of those documents that there are, in the order of the ids."""
        for id in ids:
            if id.encode("utf-8", "replace").decode() != id:
                continue  # a lone surrogate is in no id
            yield from self._connection.execute("SELECT id, title, title_lc FROM documents WHERE id = ?", (id,))

    def measured(self, proposals: Iterable[Proposal], *, inflected: bool = True) -> list[Candidate]:
        """Measure proposals; return what is not refused, the largest gain first, inflections of one pair as one.

        Args:
            proposals: each is measured once.
            inflected: where a word also starts others, try its inflections: liter is in literacy, liters is not.
        """
        kept, impure = self._measured(proposals)
        more = [
            one._replace(source=word)
            for one in (impure if inflected else ())
            for word in self.starting(one.source)
            if word != one.source and is_inflection(word, one.source, self.language)
        ]
        kept += self._measured(more)[0]
        best: dict[tuple[str, str], Candidate] = {}
        for one in kept:
            same = (self.key(one.asked), self.key(one.source))
            if same not in best or (-one.gain, one.asked) < (-best[same].gain, best[same].asked):
                best[same] = one
        order = sorted(best.values(), key=lambda one: (-one.gain, one.asked, one.source))
        return [one._replace(examples=self._examples(one)) for one in order]

    def _measured(self, proposals: Iterable[Proposal]) -> tuple[list[Candidate], list[Proposal]]:
        """Return what is not refused, and what is for the purity of its source alone."""
        unique: dict[tuple[str, str], Proposal] = {}
        for one in proposals:
            asked, source = self.fold(one.asked), self.fold(one.source)
            key = self.key(asked)
            if key and (key, source) not in self.known and self._may_gain(asked, source):
                unique.setdefault((asked, source), one._replace(asked=asked, source=source))
        vocabulary = self.catalog.vocabulary([Pair(one.asked, (one.source,), False, 0) for one in unique.values()])
        kept, impure = [], []
        for one, found in zip(unique.values(), measure(self._connection, vocabulary), strict=True):
            if found.verdict not in ("ok", "ambiguous"):
                continue
            pure = purity(self._connection, self.language, one.source)
            if pure.share < REFUSED:
                impure.append(one)
                continue
            counts = (found.asked_documents, found.source_documents, found.gain)
            made = Candidate(*one[:3], *counts, pure.share, (), (), one.times)
            kept.append(made._replace(warnings=self._warnings(made, pure.others)))
        return kept, impure

    def _may_gain(self, asked: str, source: str) -> bool:
        """Tell whether a source has words of the catalogue, and is neither found by the asked words nor among them."""
        if not self._has_words(source):
            return False
        start, blank, end = asked.rpartition(" ")
        singular = self.language.singular
        if " " in asked and {singular(word) for word in source.split()} <= {singular(word) for word in asked.split()}:
            return False
        return not source.startswith((asked, start + blank + self.language.singular(end)))

    def _warnings(self, one: Candidate, others: tuple[str, ...]) -> tuple[str, ...]:
        said = []
        if one.purity < DOUBTFUL:
            said.append(f"“{one.source}” also starts {', '.join(others[:EXAMPLES])}")
        if self.documents >= SMALL and one.source_documents > BROAD * self.documents:
            said.append(f"“{one.source}” is in {one.source_documents / self.documents:.0%} of the documents")
        return tuple(said)

    def _examples(self, one: Candidate) -> tuple[str, ...]:
        rows = self._connection.execute(
            "SELECT title FROM documents WHERE rowid IN (SELECT rowid FROM documents_fts WHERE documents_fts MATCH ? "
            "ORDER BY rowid LIMIT ?) ORDER BY rowid",
            (f'"{one.source}"* NOT "{one.asked}"*', EXAMPLES),
        )
        return tuple(title for (title,) in rows)
