"""Words that are written in two ways: rules and a list of a language, vocab/spellings/<tag>.yaml.

    labour    labor       a rule: -our and -or are one ending
    grey      gray        the list, <tag>-scowl.yaml
    petrol    gasoline    words of other countries, <tag>-words.yaml
    women     woman       a form: a plural that does not begin with its singular

Rules are tried in both directions. Their results are guesses, which a catalogue confirms or not.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, NamedTuple

from catalog_search import yamlfile
from catalog_search.errors import VocabularyError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


class Ending(NamedTuple):
    """Two ways to write an ending, or with `within` some letters anywhere after the first."""

    one: str
    other: str
    least: int
    """Letters before it, at least."""
    within: bool
    made: bool
    """Whether it is sure enough to make an asked word of a word of the catalogue."""


class Spellings:
    """How a language's words are written in two ways; all empty for a language without a file.

    >>> english = load_spellings("en")
    >>> "labor" in english.variants("labour"), "organization" in english.variants("organisation")
    (True, True)
    """

    def __init__(
        self,
        rules: tuple[Ending, ...] = (),
        tails: tuple[str, ...] = (),
        never: tuple[str, ...] = (),
        listed: dict[str, list[str]] | None = None,
        words: dict[str, list[str]] | None = None,
        forms: dict[str, list[str]] | None = None,
        prefixes: frozenset[str] = frozenset(),
    ) -> None:
        self.rules, self._tails, self._never = rules, tails, never
        self.listed = listed or {}
        """Word → its other spellings."""
        self.words = words or {}
        """Word or phrase → what another country says for it."""
        self.forms = forms or {}
        self.prefixes = prefixes

    def variants(self, word: str) -> list[str]:
        """Return other spellings of an asked word, the list's first, then those of rules."""
        return list(dict.fromkeys([*self.listed.get(word, ()), *self.by_rules(word)]))

    def by_rules(self, word: str) -> list[str]:
        """Return what one rule makes of a word, and then what two make."""
        once = self._by_rules(word, self.rules)
        twice = [other for one in once for other in self._by_rules(one, self.rules)]
        return [other for other in dict.fromkeys([*once, *twice]) if other != word]

    def asked_for(self, word: str) -> list[tuple[str, str]]:
        """Return how a word of a catalogue may be asked for by its sure rules: (asked, source), without endings too.

        >>> load_spellings("en").asked_for("organised"), load_spellings("en").asked_for("exercises")
        ([('organized', 'organised'), ('organize', 'organise')], [])
        """
        if word.startswith(self._never):
            return []
        found = []
        for rule in self.rules:
            if rule.made:
                for stem, old, new, tail in self._applied(rule, word):
                    found += [(stem + new + tail, word), (stem + new, stem + old)]
        return list(dict.fromkeys(found))

    def _by_rules(self, word: str, rules: Iterable[Ending]) -> list[str]:
        return [stem + new + tail for rule in rules for stem, _, new, tail in self._applied(rule, word)]

    def _applied(self, rule: Ending, word: str) -> Iterator[tuple[str, str, str, str]]:
        """Yield what stands before, the old letters, the new ones, and what stands after."""
        for old, new in ((rule.one, rule.other), (rule.other, rule.one)):
            if rule.within:
                place = word.find(old, 1)
                if 0 < place < len(word) - len(old):  # at the end -ae is a plural
                    yield word[:place], old, new, word[place + len(old) :]
                continue
            for tail in self._tails:
                stem = word[: len(word) - len(old) - len(tail)]
                if word == stem + old + tail and len(stem) >= rule.least:
                    yield stem, old, new, tail


@cache
def load_spellings(tag: str) -> Spellings:
    """Load what ships for a language; empty `Spellings` if there is nothing.

    Args:
        tag: the tag of a language pack, such as `en`.

    >>> load_spellings("de").variants("gross")
    []
    """
    folder = files("catalog_search.vocab") / "spellings"
    name = f"{tag}.yaml"
    if not (folder / name).is_file():
        return Spellings()
    top = _read(name)
    rules = tuple(
        Ending(
            rule["one"],
            rule["other"],
            int(rule.get("least", "2")),
            bool(yamlfile.as_bool(rule.get("within"))),
            bool(yamlfile.as_bool(rule.get("made"))),
        )
        for rule in top["rules"]
    )
    lists = sorted(one.name for one in folder.iterdir() if one.name.startswith(f"{tag}-"))
    words = f"{tag}-words.yaml"
    return Spellings(
        rules,
        tuple(top["tails"]),
        tuple(top["never"]),
        _both_ways(line.split(" / ") for one in lists if one != words for line in _read(one)["pairs"]),
        _both_ways(line.split(" / ") for one in lists if one == words for line in _read(one)["pairs"]),
        _both_ways(next(iter(form.items())) for form in top["forms"]),
        frozenset(top["prefixes"]),
    )


def _read(name: str) -> yamlfile.Mapping:
    text = (files("catalog_search.vocab") / "spellings" / name).read_text("utf-8")
    return yamlfile.parse(text, VocabularyError, path=f"vocab/spellings/{name}")


def _both_ways(pairs: Iterable[Sequence[str]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for one, other in pairs:
        found.setdefault(one, []).append(other)
        found.setdefault(other, []).append(one)
    return found
