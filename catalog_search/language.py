"""Language packs: stop words, possessives and elisions, singulars, and the sentences of every note.

A pack is one file, `vocab/languages/<tag>.yaml`. It is read at build and stored in the database, row by
row; at query time a `Language` is made from those rows, never from the installed file. So everything a
pack does can be done by SQL over its rules too:

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
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, Literal, NamedTuple

from catalog_search import text, yamlfile
from catalog_search.errors import VocabularyError, nearest

Kind = Literal["possessive", "elision", "word", "ending"]

# Every sentence a pack must have, and the placeholders it must hold.
MESSAGES: Mapping[str, frozenset[str]] = {
    key: frozenset(placeholders.split())
    for key, placeholders in {
        "translated": "asked source source_name",
        "stand_in": "asked words",
        "relaxed": "dropped",
        "relaxed_all": "",
        "unknown_words": "words",
        "suggestions": "words",
        "no_match": "question",
        "empty_query": "",
        "no_words": "",
        "cut_characters": "limit",
        "cut_words": "limit",
        "cut_nul": "",
        "unknown_characters": "characters",
        "list_or": "",
        "list_and": "",
        "not_found": "id",
        "nearest_ids": "ids",
        "explain_position": "id position",
        "explain_held": "term pattern kind field",
        "explain_missing": "term patterns",
        "explain_filtered": "id field value",
        "explain_tier": "tier",
        "explain_not_listed": "id",
        "kind_own": "",
        "kind_singular": "",
        "kind_spelling": "",
        "kind_vocabulary": "",
        "field_id": "",
        "field_title": "",
        "field_keywords": "",
        "field_text": "",
        "tier_0": "",
        "tier_1": "",
        "tier_2": "",
        "tier_3": "",
        "tier_4": "",
        "tier_5": "",
        "tier_6": "",
        "label_id": "",
        "label_keywords": "",
        "label_file": "",
        "label_source": "",
        "label_publisher": "",
        "label_licence": "",
        "label_url": "",
        "label_revision": "",
        "label_retrieved": "",
    }.items()
}

_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")
_WORD = re.compile(r"[a-z]+")
_MARKED = re.compile(r"[a-z0-9^]+(?:-[a-z0-9^]+)*")
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


@dataclass(frozen=True, slots=True)
class Language:
    """A language pack, in the form the search uses.

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

    tag: str
    name: str
    stop_words: frozenset[str]
    rules: tuple[Rule, ...]
    messages: Mapping[str, str] = field(hash=False)
    _possessives: tuple[str, ...] = field(init=False, repr=False, compare=False)
    _elisions: tuple[str, ...] = field(init=False, repr=False, compare=False)
    _endings: dict[str, list[tuple[int, str, int]]] = field(init=False, repr=False, compare=False)
    _longest: int = field(init=False, repr=False, compare=False)
    _singulars: dict[str, str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        endings: dict[str, list[tuple[int, str, int]]] = {}
        for order, rule in enumerate(self.rules):
            if rule.kind == "ending":
                endings.setdefault(rule.form, []).append((order, rule.replacement, rule.least))
        for name, value in {
            "_possessives": tuple(rule.form for rule in self.rules if rule.kind == "possessive"),
            "_elisions": tuple(rule.form for rule in self.rules if rule.kind == "elision"),
            "_endings": endings,
            "_longest": max(map(len, endings), default=0),
            "_singulars": {rule.form: rule.replacement for rule in self.rules if rule.kind == "word"},
        }.items():
            object.__setattr__(self, name, value)

    def singular(self, word: str) -> str:
        """Return the singular of one normal-form word; the word itself when no rule fits.

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

        >>> french = load_language("fr")
        >>> french.is_stop("d-un"), french.is_stop("emploi")
        (True, False)
        """
        return marked in self.stop_words or self.strip(marked) in self.stop_words

    def say(self, key: str, /, **values: object) -> str:
        """Return a sentence with its placeholders filled in; values are put in as they are, braces too.

        Raises:
            VocabularyError: the pack has no such message.

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


def known_languages() -> tuple[str, ...]:
    """Return the tags of the packs that ship with the package, sorted.

    >>> known_languages()
    ('de', 'en', 'es', 'fr', 'pt-BR')
    """
    folder = files("catalog_search.vocab") / "languages"
    return tuple(sorted(entry.name[:-5] for entry in folder.iterdir() if entry.name.endswith(".yaml")))


@cache
def load_language(tag: str) -> Language:
    """Load the pack of a language: that very tag, else the tag in another case, else the same language.

    Raises:
        VocabularyError: no pack for the language, or the pack is malformed (file, line and key are named).

    >>> load_language("pt").tag, load_language("en_GB").tag
    ('pt-BR', 'en')
    """
    tags = known_languages()
    wanted = tag.strip().replace("_", "-").lower()
    found = [known for known in tags if known.lower() == wanted] or [
        known for known in tags if known.lower().split("-")[0] == wanted.split("-")[0]
    ]
    if not found:
        raise VocabularyError(f'no language pack for "{tag}". Known: {", ".join(tags)}.')
    name = f"{found[0]}.yaml"
    content = (files("catalog_search.vocab") / "languages" / name).read_text("utf-8")
    return parse_language(content, path=f"vocab/languages/{name}")


def parse_language(content: str, path: object = None) -> Language:
    """Make a language of the YAML text of a pack.

    Args:
        content: the file's text; `vocab/languages/en.yaml` is the model.
        path: the file's name, for messages.

    Raises:
        VocabularyError: a key is missing, unknown or of another kind, a word is given twice, a rule cannot
            be used, or a sentence has other placeholders than the program fills in.

    >>> parse_language("language: xx\\nstop_word: [a]")
    Traceback (most recent call last):
    catalog_search.errors.VocabularyError: line 2, key stop_word: unknown key. Did you mean "stop_words"?
    """
    pack = _Pack(path)
    top = yamlfile.parse(content, VocabularyError, path=path)
    pack.check_keys(top, required=("language", "name", "stop_words", "possessive", "elision", "singular", "messages"))
    rules = [
        *(Rule("possessive", form, "", 0) for form in pack.cuts(top, "possessive", r"-[a-z0-9^]+", '"-s"')),
        *(Rule("elision", form, "", 0) for form in pack.cuts(top, "elision", r"[a-z0-9^]+-", '"l-"')),
        *pack.singular_rules(top),
    ]
    return Language(
        tag=pack.string(top, "language"),
        name=pack.string(top, "name"),
        stop_words=pack.stop_words(top),
        rules=tuple(rules),
        messages=pack.messages(top),
    )


class _Pack:
    """The pieces of one file, each read with its line at hand."""

    def __init__(self, path: object) -> None:
        self.path = path

    def wrong(self, message: str, line: int, key: str) -> VocabularyError:
        return VocabularyError(message, path=self.path, line=line, key=key)

    def check_keys(self, mapping: yamlfile.Mapping, required: Iterable[str], optional: Iterable[str] = ()) -> None:
        required = list(required)
        known = [*required, *optional]
        for key in mapping:
            if key not in known:
                raise self.wrong(f"unknown key.{nearest(key, known)}", mapping.lines[key], key)
        for key in required:
            if key not in mapping:
                raise self.wrong("the key is missing", mapping.line, key)

    def string(self, mapping: yamlfile.Mapping, key: str) -> str:
        value = mapping[key]
        if not isinstance(value, str) or not value.strip():
            raise self.wrong("must be a text, and not empty", mapping.lines[key], key)
        return value

    def strings(self, mapping: yamlfile.Mapping, key: str) -> Iterable[tuple[str, int]]:
        """Yield each text of a list with its line."""
        values = mapping[key]
        if not isinstance(values, yamlfile.Sequence):
            raise self.wrong("must be a list: [a, b]", mapping.lines[key], key)
        for value, line in zip(values, values.lines, strict=True):
            if not isinstance(value, str):
                raise self.wrong("every item of the list must be a text", line, key)
            yield value, line

    def mapping(self, mapping: yamlfile.Mapping, key: str) -> yamlfile.Mapping:
        value: Any = mapping[key]
        if not isinstance(value, yamlfile.Mapping):
            raise self.wrong("must be a mapping (key: value)", mapping.lines[key], key)
        return value

    def cuts(self, top: yamlfile.Mapping, key: str, shape: str, example: str) -> Iterable[str]:
        seen: set[str] = set()
        for form, line in self.strings(top, key):
            if not re.fullmatch(shape, form):
                raise self.wrong(f'"{form}" is not in marked form, like {example}', line, key)
            if form in seen:
                raise self.wrong(f'"{form}" is given twice', line, key)
            seen.add(form)
            yield form

    def stop_words(self, top: yamlfile.Mapping) -> frozenset[str]:
        folding = text.full_folding()
        seen: dict[str, str] = {}
        for written, line in self.strings(top, "stop_words"):
            marked = text.mark(written, folding).strip()
            if not _MARKED.fullmatch(marked):
                raise self.wrong(f'"{written}" is not one word', line, "stop_words")
            if marked in seen:
                raise self.wrong(f'"{written}" is given twice, the first time as "{seen[marked]}"', line, "stop_words")
            seen[marked] = written
        return frozenset(seen)

    def folded(self, written: object, line: int, key: str) -> str:
        if isinstance(written, str):
            word = text.normalize(written)
            if _WORD.fullmatch(word):
                return word
        raise self.wrong("must be one word of letters", line, key)

    def singular_rules(self, top: yamlfile.Mapping) -> Iterable[Rule]:
        table = self.mapping(top, "singular")
        self.check_keys(table, required=("words", "endings"), optional=("unchanged",))
        words = self.mapping(table, "words")
        pairs = [(plural, singular, words.lines[plural]) for plural, singular in words.items()]
        if "unchanged" in table:
            pairs += [(word, word, line) for word, line in self.strings(table, "unchanged")]
        seen: set[str] = set()
        for plural, singular, line in pairs:
            form = self.folded(plural, line, plural)
            if form in seen:
                raise self.wrong("the word is given twice", line, plural)
            seen.add(form)
            yield Rule("word", form, self.folded(singular, line, plural), 0)
        yield from self.endings(table)

    def endings(self, table: yamlfile.Mapping) -> Iterable[Rule]:
        rows = table["endings"]
        if not isinstance(rows, yamlfile.Sequence):
            raise self.wrong("must be a list", table.lines["endings"], "endings")
        seen: list[tuple[str, int]] = []
        for row, line in zip(rows, rows.lines, strict=True):
            if not isinstance(row, yamlfile.Mapping):
                raise self.wrong("must be a mapping: {ending: ies, singular: y}", line, "endings")
            self.check_keys(row, required=("ending", "singular"), optional=("least",))
            ending = self.folded(row["ending"], line, "ending")
            singular = (
                ""
                if yamlfile.is_null(row["singular"]) or row["singular"] == ""
                else self.folded(row["singular"], line, "singular")
            )
            digits = row.get("least", str(len(ending) + 2))
            if not isinstance(digits, str) or not re.fullmatch(r"[0-9]{1,2}", digits):
                raise self.wrong("must be a number of letters", line, "least")
            least = int(digits)
            if least <= len(ending) - len(singular):
                raise self.wrong("is so short that nothing may be left of a word", line, "least")
            for earlier, earlier_least in seen:
                if ending.endswith(earlier) and least >= earlier_least:
                    raise self.wrong(f'"{ending}" is never reached: "{earlier}" stands above it', line, "ending")
            seen.append((ending, least))
            yield Rule("ending", ending, singular, least)

    def messages(self, top: yamlfile.Mapping) -> dict[str, str]:
        table = self.mapping(top, "messages")
        self.check_keys(table, required=MESSAGES)
        for key, placeholders in MESSAGES.items():
            held = frozenset(_PLACEHOLDER.findall(self.string(table, key)))
            if held != placeholders:
                wanted = ", ".join(f"{{{name}}}" for name in sorted(placeholders)) or "none"
                raise self.wrong(f"the placeholders must be: {wanted}", table.lines[key], key)
        return {key: str(table[key]) for key in MESSAGES}
