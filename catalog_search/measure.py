"""Counts of a vocabulary's pairs on a catalogue, and the verdict on each.

For a pair, counted in documents by the index, with the rule of every search (a pattern starts a word):

    asked    documents that hold the asked word or phrase
    source   documents that hold one of the source's patterns
    gain     documents that hold a source pattern and not the asked one: what the pair adds

    self        a source pattern is the asked word itself
    duplicate   an earlier pair says the same
    dead        no source pattern occurs
    needless    the gain is below 2 (or below what there is, if that is one), or below 2% of the asked count
    ambiguous   another pair leads the same asked word elsewhere; said once, both are searched
    ok          none of these
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from catalog_search.database import Database
from catalog_search.expansion import OWN, Pattern
from catalog_search.query import FIELDS
from catalog_search.text import fold
from catalog_search.vocabulary import Vocabulary

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable

    from catalog_search.vocabulary import Pair

LEAST_GAIN = 2
LEAST_SHARE = 0.02


class Measured(NamedTuple):
    """A pair with its counts and the verdict."""

    asked: str
    source: tuple[str, ...]
    asked_documents: int
    source_documents: int
    gain: int
    verdict: str
    detail: str
    """What the verdict rests on, "" if it is ok."""
    line: int

    def as_json(self, path: object) -> dict[str, object]:
        """Return it as `vocab measure --json` prints it."""
        return {
            "asked": self.asked,
            "source": list(self.source),
            "asked_documents": self.asked_documents,
            "source_documents": self.source_documents,
            "gain": self.gain,
            "verdict": self.verdict,
            "detail": self.detail,
            "file": None if path is None else str(path),
            "line": self.line,
        }


def measure(connection: sqlite3.Connection, vocabulary: Vocabulary) -> list[Measured]:
    """Count every pair of a vocabulary on a catalogue, in the vocabulary's order.

    Args:
        connection: to a catalogue's database; only its index is read.
        vocabulary: the pairs.
    """
    counts = Counter(connection)
    leads: dict[str, dict[str, int]] = {}
    measured = [_measure(pair, vocabulary, counts, leads) for pair in vocabulary.pairs]
    return _with_ambiguous(measured, vocabulary)


class Counter:
    """Counts documents by patterns, each question once."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._known: dict[str, int] = {}

    def holding(self, patterns: Iterable[str]) -> int:
        """Count the documents that hold one of the patterns."""
        return self._count(_any_of(patterns))

    def gained(self, patterns: Iterable[str], asked: str) -> int:
        """Count the documents that hold one of the patterns and not the asked one."""
        return self._count(f"({_any_of(patterns)}) NOT {_any_of([asked])}")

    def _count(self, match: str) -> int:
        if match not in self._known:
            (self._known[match],) = self._connection.execute(
                "SELECT count(*) FROM documents_fts WHERE documents_fts MATCH ?", (match,)
            ).fetchone()
        return self._known[match]


def measure_database(path: str, vocabulary: str | None = None) -> list[Measured]:
    """Measure a vocabulary file on a catalogue's database; without one, what the build measured.

    Raises:
        DatabaseError, VocabularyError: the database or the vocabulary cannot be read.
    """
    database = Database(path)
    try:
        with database.errors():
            if vocabulary is None:
                return measured_at_build(database.connection())
            return measure(database.connection(), Vocabulary.load(vocabulary, database.catalog["language"]))
    finally:
        database.close()


def measured_at_build(connection: sqlite3.Connection) -> list[Measured]:
    """Return the pairs that a database was built with, with the counts and verdicts made then."""
    rows = connection.execute(
        "SELECT asked, source, asked_documents, source_documents, gain, verdict, detail, line FROM vocabulary "
        "WHERE NOT reverse ORDER BY rowid"
    )
    found: dict[tuple[str, int], Measured] = {}
    for row in rows:
        one = Measured(row[0], (row[1],), *row[2:])
        known = found.get((one.asked, one.line))
        found[one.asked, one.line] = one._replace(source=known.source + one.source) if known else one
    return list(found.values())


def least_gain(asked_documents: int, source_documents: int) -> float:
    """Return the gain below which a pair is needless."""
    return max(min(LEAST_GAIN, source_documents), LEAST_SHARE * asked_documents)


def _any_of(patterns: Iterable[str]) -> str:
    return " OR ".join(_one(Pattern(text, OWN)) for text in patterns)


def _one(pattern: Pattern) -> str:
    if pattern.whole:
        return f'"{pattern.text}"'
    if pattern.number:
        others = " ".join(f"{field}_lc" for field in FIELDS[1:])
        return f'({{{others}}} : "{pattern.text}" OR id_lc : "{pattern.text}"*)'
    return f'"{pattern.text}"*'


def _measure(pair: Pair, vocabulary: Vocabulary, counts: Counter, leads: dict[str, dict[str, int]]) -> Measured:
    asked = fold(pair.asked, vocabulary.folding)
    sources = list(dict.fromkeys(fold(source, vocabulary.folding) for source in pair.source))
    asked_documents = counts.holding([asked])
    source_documents = counts.holding(sources)
    gain = counts.gained(sources, asked)
    earlier = leads.setdefault(asked, {})
    known = [earlier[source] for source in sources if source in earlier]
    if asked in sources:
        verdict, detail = "self", f"“{pair.asked}” is searched anyway"
    elif len(known) == len(sources):
        verdict, detail = "duplicate", f"duplicate of line {known[0]}"
    elif not source_documents:
        verdict, detail = "dead", f"{_quoted(pair.source)} occurs nowhere"
    elif gain < least_gain(asked_documents, source_documents):
        verdict, detail = "needless", f"it adds {gain} to the {asked_documents} that “{pair.asked}” finds"
    else:
        absent = [written for written in pair.source if not counts.holding([fold(written, vocabulary.folding)])]
        verdict, detail = "ok", f"{_quoted(absent)} occurs nowhere" if absent else ""
    if verdict != "self":
        for source in sources:
            earlier.setdefault(source, pair.line)
    return Measured(pair.asked, pair.source, asked_documents, source_documents, gain, verdict, detail, pair.line)


def _with_ambiguous(measured: list[Measured], vocabulary: Vocabulary) -> list[Measured]:
    """Say once for each asked word, at its first pair, that other pairs lead elsewhere."""
    first: dict[str, int] = {}
    for place, one in enumerate(measured):
        if one.verdict not in ("ok", "needless"):
            continue
        asked = fold(one.asked, vocabulary.folding)
        if asked not in first:
            first[asked] = place
            continue
        earlier = measured[first[asked]]
        if earlier.verdict != "ambiguous":
            detail = f"line {one.line} leads it to {_quoted(one.source)} as well; both are searched"
            measured[first[asked]] = earlier._replace(verdict="ambiguous", detail=detail)
    return measured


def _quoted(words: Iterable[str]) -> str:
    return ", ".join(f"“{word}”" for word in words)
