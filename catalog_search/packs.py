"""A language's pack, vocab/languages/<tag>.yaml → Language.

A pack is read at build; each of its faults is named with file, line and key.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from catalog_search import text, yamlfile
from catalog_search.errors import VocabularyError, nearest
from catalog_search.language import Language, Rule

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

_MARKED = re.compile(r"[a-z0-9^]+(?:-[a-z0-9^]+)*")
_WORD = re.compile(r"[a-z]+")
_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")


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
