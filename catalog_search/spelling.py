"""Words that are written in two ways: rules and a list of a language, vocab/spellings/<tag>.yaml.

    labour    labor       a rule: -our and -or are one ending
    grey      gray        the list
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
    from collections.abc import Iterable, Sequence


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
    >>> english.asked_for("organised"), english.asked_for("doctor")
    (['organized'], [])
    """

    def __init__(
        self,
        rules: tuple[Ending, ...] = (),
        tails: tuple[str, ...] = (),
        never: tuple[str, ...] = (),
        listed: dict[str, list[str]] | None = None,
        inflections: frozenset[str] = frozenset(),
        forms: dict[str, list[str]] | None = None,
        prefixes: frozenset[str] = frozenset(),
    ) -> None:
        self.rules, self._tails, self._never = rules, tails, never
        self._listed = listed or {}
        self.inflections = inflections
        self.forms = forms or {}
        self.prefixes = prefixes

    def variants(self, word: str) -> list[str]:
        """Return other spellings of an asked word, the list's first, then those of rules."""
        return list(dict.fromkeys([*self._listed.get(word, ()), *self.by_rules(word)]))

    def by_rules(self, word: str) -> list[str]:
        """Return what one rule makes of a word, and then what two make."""
        once = self._by_rules(word, self.rules)
        twice = [other for one in once for other in self._by_rules(one, self.rules)]
        return [other for other in dict.fromkeys([*once, *twice]) if other != word]

    def asked_for(self, word: str) -> list[str]:
        """Return the spellings by which a word of a catalogue may be asked for: only sure ones."""
        made = self._by_rules(word, [rule for rule in self.rules if rule.made])
        sure = [] if word.startswith(self._never) else made
        return [other for other in dict.fromkeys([*self._listed.get(word, ()), *sure]) if other != word]

    def _by_rules(self, word: str, rules: tuple[Ending, ...] | list[Ending]) -> list[str]:
        found = []
        for rule in rules:
            for old, new in ((rule.one, rule.other), (rule.other, rule.one)):
                if rule.within:
                    place = word.find(old, 1)
                    if 0 < place < len(word) - len(old):  # at the end -ae is a plural
                        found.append(word[:place] + new + word[place + len(old) :])
                    continue
                for tail in self._tails:
                    ending = old + tail
                    if word.endswith(ending) and len(word) - len(ending) >= rule.least:
                        found.append(word[: len(word) - len(ending)] + new + tail)
        return found


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
    listed = [line.split() for one in lists for line in _read(one)["pairs"]]
    return Spellings(
        rules,
        tuple(top["tails"]),
        tuple(top["never"]),
        _both_ways(listed),
        frozenset(top["inflections"]),
        _both_ways(list(form.items())[0] for form in top["forms"]),
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
