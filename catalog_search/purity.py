"""How much of what a word-start pattern matches is about its word: `disc` also starts discrimination.

    matched   documents that hold a word which begins so
    own       those of them that hold the word itself or an inflection of it
    purity    own / matched

An inflection is a word with the same singular, or the pattern with an ending of its language; English may double the
last letter before it (plan, planned), and a long English word is also at home in its adjective (alcohol, alcoholic).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from catalog_search.expansion import OWN, Pattern

if TYPE_CHECKING:
    import sqlite3

    from catalog_search.language import Language

REFUSED, DOUBTFUL = 0.25, 0.8
"""Below the first a pattern is of another word; below the second a person should look. Read off five catalogues."""
TITLES = 3

_ENDINGS = {
    "en": "s es d ed ing ings er ers",
    "pt": "s es a as o os",
    "es": "s es a as o os",
    "fr": "s x e es",
    "de": "e en er es n s em ern ens",
}
_DOUBLING = ("ed", "ing", "ings", "er", "ers")
_ADJECTIVES = ("al", "ally", "ic", "ics", "ically", "ly")
_LONG = 5
"""Letters from which on an adjective's ending is one: metal is not of met."""


class Purity(NamedTuple):
    """The purity of a pattern on a catalogue."""

    matched: int
    own: int
    others: tuple[str, ...]
    """The words that it also starts, those of most documents first."""
    titles: tuple[str, ...] = ()
    """Some of the documents that hold only such a word."""

    @property
    def share(self) -> float:
        """The purity; 1.0 when nothing is matched."""
        return self.own / self.matched if self.matched else 1.0


def purity(connection: sqlite3.Connection, language: Language, pattern: str) -> Purity:
    """Measure the purity of a pattern.

    Args:
        connection: to a catalogue's database.
        language: the database's.
        pattern: in normal form; of a phrase the last word counts, for only that may be longer.
    """
    if not pattern or Pattern(pattern, OWN).whole or Pattern(pattern, OWN).number:
        return Purity(0, 0, ())
    before, blank, last = pattern.rpartition(" ")
    rows = connection.execute(
        "SELECT word, documents FROM words WHERE word >= ? AND word < ? ORDER BY documents DESC, word",
        (last, last + "{"),
    ).fetchall()
    own = [word for word, _ in rows if is_inflection(word, last, language)]
    others = [word for word, _ in rows if word not in own]

    def holding(match: str) -> int:
        found = connection.execute("SELECT count(*) FROM documents_fts WHERE documents_fts MATCH ?", (match,))
        return int(found.fetchone()[0])

    matched = holding(f'"{pattern}"*')
    if blank:  # not every word that the last one starts follows the others
        others = [word for word in others if holding(f'"{before} {word}"')]
    if not others:
        return Purity(matched, matched, ())
    own_match, other_match = (" OR ".join(f'"{before}{blank}{word}"' for word in words) for words in (own, others))
    pure = holding(own_match) if own else 0
    if pure == matched:  # a compound's joined form stands beside its words: labourintensive
        return Purity(matched, pure, ())
    titles = connection.execute(
        "SELECT d.title FROM documents_fts JOIN documents AS d ON d.rowid = documents_fts.rowid "
        "WHERE documents_fts MATCH ? ORDER BY d.rowid LIMIT ?",
        (f"({other_match}) NOT ({own_match})" if own else other_match, TITLES),
    )
    return Purity(matched, pure, tuple(others), tuple(title for (title,) in titles))


def is_inflection(word: str, of: str, language: Language) -> bool:
    """Tell whether a word that begins with another is that word inflected.

    >>> from catalog_search import load_language
    >>> [is_inflection(word, "plan", load_language("en")) for word in ("plans", "planned", "plant")]
    [True, True, False]
    """
    if word == of or language.singular(word) in (of, language.singular(of)):
        return True
    tail = word[len(of) :]
    tag = language.tag.split("-")[0]
    if tail in _ENDINGS.get(tag, "s").split():
        return True
    if tag != "en":
        return False
    return (tail[:1] == of[-1:] and tail[1:] in _DOUBLING) or (len(of) >= _LONG and tail in _ADJECTIVES)
