"""A language: stop words, possessives and elisions, singulars, and the sentences of every note.

A build stores a language's pack in the database, row by row, and at query time a `Language` is made from those rows,
never from the installed file. So everything a pack does can be done by SQL over its rules too:

    possessive  -s     a marked word that ends so loses it         women-s   → women
    elision     l-     a marked word that begins so loses it       l-emploi  → emploi
    word        women  this word, whole, has that singular         women     → woman
    ending      ies    the first ending that fits decides          cities    → city

Two guards are the same for every language, because marked form writes every joining sign as `-`:
what stays beside the cut has at least two characters (`u-s`, from U.S., is no possessive), and an elision
stands before a vowel, y or h (`l-emploi`, but not `t-shirt`). Words with a digit are their own singular.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, NamedTuple

from catalog_search.errors import VocabularyError, nearest

if TYPE_CHECKING:
    from collections.abc import Mapping

Kind = Literal["possessive", "elision", "word", "ending"]

_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")
_WORD = re.compile(r"[a-z]+")
_VOWELS = frozenset("aeiouyh")
# A build meets every word of a catalogue once or twice; past this many, remembering costs more than it saves.
_REMEMBERED = 200_000


class Rule(NamedTuple):
    """One rule of a language, and one row of the database.

    `form` is what is looked for; `replacement` what takes its place (empty for possessive and elision);
    `least` the least length of the whole word for an ending to fit, 0 for the other kinds.
    """

    kind: Kind
    form: str
    replacement: str
    least: int


class Language:
    """A language, in the form the search uses; not to be changed.

    Args:
        tag: BCP 47 tag, such as `pt-BR`.
        name: the language's own name for itself.
        stop_words: in marked form, so that *thé* (`the^`) is not *the*.
        rules: possessives, elisions, words, endings; within a kind the order counts.
        messages: key → sentence with `{placeholders}`; the keys are those of `MESSAGES`.

    >>> rules = (Rule("possessive", "-s", "", 0), Rule("ending", "s", "", 4))
    >>> english = Language("en", "English", frozenset({"the"}), rules, {"hello": "Hello, {name}."})
    >>> english.singular("women"), english.singular("jobs"), english.strip("women-s"), english.is_stop("the")
    ('women', 'job', 'women', True)
    """

    __slots__ = (
        "_elisions", "_endings", "_longest", "_possessives", "_singulars",
        "messages", "name", "rules", "stop_words", "tag",
    )  # fmt: skip

    def __init__(
        self, tag: str, name: str, stop_words: frozenset[str], rules: tuple[Rule, ...], messages: Mapping[str, str]
    ) -> None:
        self.tag, self.name, self.stop_words, self.rules, self.messages = tag, name, stop_words, rules, messages
        self._possessives = tuple(rule.form for rule in rules if rule.kind == "possessive")
        self._elisions = tuple(rule.form for rule in rules if rule.kind == "elision")
        self._singulars = {rule.form: rule.replacement for rule in rules if rule.kind == "word"}
        self._endings: dict[str, list[tuple[int, str, int]]] = {}
        for order, rule in enumerate(rules):
            if rule.kind == "ending":
                self._endings.setdefault(rule.form, []).append((order, rule.replacement, rule.least))
        self._longest = max(map(len, self._endings), default=0)

    def singular(self, word: str) -> str:
        """Return the singular of one normal-form word; the word itself when no rule fits.

        >>> from catalog_search import load_language
        >>> english = load_language("en")
        >>> [english.singular(word) for word in ["women", "cities", "wages", "series", "mathematics"]]
        ['woman', 'city', 'wage', 'series', 'mathematics']
        """
        known = self._singulars.get(word)
        if known is not None:
            return known
        found = word
        if _WORD.fullmatch(word):
            first = len(self.rules)
            # One look-up for each length, and the earliest rule wins: the same as trying the rules in order.
            for length in range(1, min(self._longest, len(word)) + 1):
                for order, replacement, least in self._endings.get(word[-length:], ()):
                    if order < first and len(word) >= least:
                        first, found = order, word[:-length] + replacement
        if len(self._singulars) < _REMEMBERED:
            self._singulars[word] = found
        return found

    def strip(self, marked: str) -> str:
        """Take an elision and then a possessive off a marked word, once each; never leaves it empty.

        >>> from catalog_search import load_language
        >>> load_language("en").strip("women-s"), load_language("fr").strip("l-emploi")
        ('women', 'emploi')
        >>> load_language("en").strip("u-s"), load_language("fr").strip("t-shirt")
        ('u-s', 't-shirt')
        """
        if "-" not in marked:
            return marked
        for form in self._elisions:
            rest = marked[len(form) :]
            if marked.startswith(form) and len(rest) > 1 and rest[0] in _VOWELS and rest[1] != "-":
                marked = rest
                break
        for form in self._possessives:
            rest = marked[: -len(form)]
            if marked.endswith(form) and len(rest) > 1 and rest[-2] != "-":
                return rest
        return marked

    def is_stop(self, marked: str) -> bool:
        """Tell whether a marked word is a stop word, as it is or after `strip`.

        >>> from catalog_search import load_language
        >>> french = load_language("fr")
        >>> french.is_stop("d-un"), french.is_stop("emploi")
        (True, False)
        """
        return marked in self.stop_words or self.strip(marked) in self.stop_words

    def say(self, key: str, /, **values: object) -> str:
        """Return a sentence with its placeholders filled in; values are put in as they are, braces too.

        Raises:
            VocabularyError: the pack has no such message.

        >>> from catalog_search import load_language
        >>> load_language("en").say("list_or")
        'or'
        """
        try:
            sentence = self.messages[key]
        except KeyError:
            raise VocabularyError(
                f"the language {self.tag} has no such message.{nearest(key, self.messages)}", key=key
            ) from None
        return _PLACEHOLDER.sub(lambda found: str(values.get(found[1], found[0])), sentence)
