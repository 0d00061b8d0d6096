"""A vocabulary's YAML → pairs: asked word → the source's words.

language: en
source_name: ILOSTAT
pairs:
  - {asked: labor, source: [labour], measured: {asked: 0, source: 176}}
  - {asked: cpi, source: consumer price index, both: true}
left_out:
  - {asked: job, source: employment, reason: "drags in every employment table"}
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from catalog_search.errors import VocabularyError, nearest
from catalog_search.expansion import Asked, Expansion, Source, expand, key_of, matches, translations
from catalog_search.language import Language
from catalog_search.packs import load_language
from catalog_search.text import Folding, fold, full_folding
from catalog_search.yamlfile import Mapping as YamlMapping
from catalog_search.yamlfile import Sequence as YamlSequence
from catalog_search.yamlfile import as_bool, read

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

_KEYS = ("language", "source_name", "pairs", "left_out")
_PAIR_KEYS = ("asked", "source", "both", "measured", "note", "learned", "examples")
_LEFT_OUT_KEYS = ("asked", "source", "reason", "measured", "note", "learned", "examples")


class Pair(NamedTuple):
    """One entry of a vocabulary, as written."""

    asked: str
    source: tuple[str, ...]
    both: bool
    """Whether the source's words also lead to the asked one."""
    line: int


class Entry(NamedTuple):
    """One direction of one pair, compiled: what is looked up, and what is then searched."""

    key: str
    """See `catalog_search.expansion.key_of`."""
    asked: str
    source: Source
    pair: Pair
    reverse: bool
    """Whether it is the way back of a pair that holds both ways."""


class Vocabulary:
    """Pairs, the language they are in, and what to call their source.

    Args:
        pairs: in the order of the file.
        language: the language pack that folds and inflects both sides.
        source_name: what the sentences call the source; "" for the title of the catalogue it is built into.
        path: the file, for messages.

    >>> vocabulary = Vocabulary([Pair("labor", ("labour",), False, 1)], load_language("en"), "ILOSTAT")
    >>> [expansion.listed() for expansion in vocabulary.expand("labor force")]
    [['labor', 'labour'], ['force']]
    >>> vocabulary.notes(vocabulary.expand("labor force"))
    ['“labor” was also searched as labour, the wording ILOSTAT uses.']
    >>> vocabulary.matches("Labour force by sex", vocabulary.expand("labor force"))
    True
    >>> vocabulary.asked_words_for("Labour force by sex")
    ['labor']
    """

    def __init__(
        self, pairs: Sequence[Pair], language: Language, source_name: str, path: str | Path | None = None
    ) -> None:
        self.pairs = tuple(pairs)
        self.language = language
        self.source_name = source_name
        self.path = path
        self.folding: Folding = full_folding()
        self.entries = tuple(self._compile())
        self.longest = max((entry.key.count(" ") + 1 for entry in self.entries), default=0)
        self._found: dict[str, list[Source]] = {}
        for entry in self.entries:
            self._found.setdefault(entry.key, []).append(entry.source)

    @classmethod
    def load(cls, path: str | Path, language: str | None = None) -> Vocabulary:
        """Read a vocabulary file.

        Args:
            path: the YAML file.
            language: the language to use when the file names none.

        Raises:
            VocabularyError: with file, line and key, whatever is wrong.
        """
        return _load(cls, path, language)

    @classmethod
    def empty(cls, language: Language) -> Vocabulary:
        """Return the vocabulary without pairs: its expansion is the null expansion."""
        return cls((), language, "")

    def expand(self, question: str) -> tuple[Expansion, ...]:
        """Return the question's terms, each with the patterns that stand for it."""
        return self.ask(question).expansions

    def ask(self, question: str) -> Asked:
        """Return the question's terms with what was ignored and cut."""
        return expand(question, self.language, self.folding, self.find, self.longest)

    def find(self, keys: Iterable[str]) -> Mapping[str, Sequence[Source]]:
        """Return what the source says for those keys that the vocabulary holds."""
        return {key: self._found[key] for key in keys if key in self._found}

    def notes(self, expansions: Iterable[Expansion]) -> list[str]:
        """Return one sentence for each term that the vocabulary changed, in its language."""
        name = self.source_name or (Path(self.path).stem if self.path else self.language.say("label_source"))
        return translations(expansions, self.language, name)

    def matches(self, text: str, expansions: Iterable[Expansion]) -> bool:
        """Tell whether every term has a pattern that starts a word of the text."""
        return matches({"text": fold(text, self.folding)}, expansions)

    def asked_words_for(self, title: str) -> list[str]:
        """Return the asked words that lead to a title: what to list beside it for people to find it by."""
        return asked_words_for(fold(title, self.folding), self.entries)

    def _compile(self) -> Iterator[Entry]:
        for pair in self.pairs:
            directions = [(pair.asked, source, False) for source in pair.source]
            if pair.both:
                directions += [(source, pair.asked, True) for source in pair.source]
            for asked, source, reverse in directions:
                key = key_of(asked, self.language, self.folding)
                pattern = fold(source, self.folding)
                if not key or not pattern:
                    empty = asked if not key else source
                    raise VocabularyError(
                        f'"{empty}" holds no letter or digit; take the pair out',
                        path=self.path,
                        line=pair.line,
                    )
                yield Entry(key, asked, Source(pattern, source), pair, reverse)


def asked_words_for(title: str, entries: Iterable[Entry]) -> list[str]:
    """Return the asked words whose source starts a word of a title in normal form, each once."""
    padded = f" {title}"
    return list(dict.fromkeys(entry.asked for entry in entries if f" {entry.source.pattern}" in padded))


def _load(cls: type[Vocabulary], path: str | Path, language: str | None) -> Vocabulary:
    top = read(path, VocabularyError)
    _known_keys(top, _KEYS, path)
    tag = top.get("language") or language
    if not tag:
        raise VocabularyError("no language; add for example “language: en”", path=path, key="language")
    pairs = [_pair(item, line, path) for item, line in _items(top, "pairs", path, required=True)]
    for item, line in _items(top, "left_out", path):
        _left_out(item, line, path)
    name = _text(top, "source_name", path)
    return cls(pairs, load_language(str(tag)), name, path)


def _items(top: YamlMapping, key: str, path: object, *, required: bool = False) -> list[tuple[YamlMapping, int]]:
    if key not in top and not required:
        return []
    value = top.get(key)
    if value is None and key in top:
        return []
    if not isinstance(value, YamlSequence):
        raise VocabularyError(
            f"{key} must be a list of pairs such as - {{asked: labor, source: labour}}",
            path=path, line=top.lines.get(key), key=key,
        )  # fmt: skip
    for item, line in zip(value, value.lines, strict=True):
        if not isinstance(item, YamlMapping):
            raise VocabularyError("a pair is {asked: …, source: …}", path=path, line=line, key=key)
    return list(zip(value, value.lines, strict=True))


def _pair(item: YamlMapping, line: int, path: object) -> Pair:
    _known_keys(item, _PAIR_KEYS, path)
    asked = _text(item, "asked", path)
    if not asked:
        raise VocabularyError("the pair has no asked word", path=path, line=line, key="asked")
    both = as_bool(item.get("both", "false"))
    if both is None:
        raise VocabularyError("both is true or false", path=path, line=item.lines["both"], key="both")
    return Pair(asked, _sources(item, line, path), both, line)


def _sources(item: YamlMapping, line: int, path: object) -> tuple[str, ...]:
    value = item.get("source")
    sources = value if isinstance(value, YamlSequence) else [value]
    if not sources or not all(isinstance(source, str) and source.strip() for source in sources):
        raise VocabularyError(
            "source is a word or a list of words",
            path=path,
            line=item.lines.get("source", line),
            key="source",
        )
    return tuple(sources)


def _left_out(item: YamlMapping, line: int, path: object) -> None:
    _known_keys(item, _LEFT_OUT_KEYS, path)
    for key in ("asked", "reason"):
        if not _text(item, key, path):
            raise VocabularyError(f"what is left out needs its {key}", path=path, line=line, key=key)
    _sources(item, line, path)


def _text(item: YamlMapping, key: str, path: object) -> str:
    value = item.get(key)
    if value is not None and not isinstance(value, str):
        raise VocabularyError(f"{key} must be text", path=path, line=item.lines[key], key=key)
    return (value or "").strip()


def _known_keys(item: YamlMapping, known: Sequence[str], path: object) -> None:
    for key in item:
        if key not in known:
            raise VocabularyError(
                f'unknown key "{key}".{nearest(key, known)}', path=path, line=item.lines[key], key=key
            )
