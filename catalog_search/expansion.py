"""Question → terms → the patterns that stand for each.

    question     "How many women's jobs in labor, covid-19?"
    words        how · many · women-s · jobs · in · labor · covid-19
    terms        women                       (how, many, in: stop words; -s: a possessive)
                 jobs       → jobs, job      (itself, its singular)
                 labor      → labor, labour  (itself, and what the vocabulary says the source calls it)
                 covid-19   → "covid 19", covid19

A document answers the question if each term has a pattern that starts a word of one of its fields.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from catalog_search.text import MAX_CHARACTERS, MAX_WORDS, Folding, cut, joined, mark, plain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import TypeAlias

    from catalog_search.language import Language

    # Keys → for each that the vocabulary holds, what the source says; see `key_of`.
    Find: TypeAlias = Callable[[Iterable[str]], Mapping[str, Sequence["Source"]]]

OWN, SINGULAR, SPELLING, VOCABULARY = "own", "singular", "spelling", "vocabulary"

CLASS = {OWN: 0, SINGULAR: 1, SPELLING: 1, VOCABULARY: 2}
"""The second key of the strict order: how far a pattern is from the word that was asked."""


class Pattern(NamedTuple):
    """A normal-form word or phrase that stands for a term; it must start a word."""

    text: str
    kind: str
    """"own", "singular", "spelling" (a joined form) or "vocabulary"."""

    @property
    def whole(self) -> bool:
        """Whether the last word must match whole: a single letter or digit would start too many words."""
        return len(self.text) == 1 or self.text[-2] == " "

    @property
    def number(self) -> bool:
        """Whether the last word is all digits: it matches whole words, and in an id the start of one."""
        return self.text.rpartition(" ")[2].isdigit()

    def starts(self, field: str, *, is_id: bool = False) -> bool:
        """Tell whether the pattern occurs in a field's normal form, by the rule for its kind of word.

        >>> Pattern("labour", "own").starts("the labours of man")
        True
        >>> Pattern("male", "own").starts("female"), Pattern("3361", "own").starts("336111")
        (False, False)
        """
        if self.whole or (self.number and not is_id):
            return self.stands_in(field)
        return f" {self.text}" in f" {field}"

    def stands_in(self, field: str) -> bool:
        """Tell whether the pattern occurs in a field's normal form as whole words."""
        return f" {self.text} " in f" {field} "


class Source(NamedTuple):
    """What a vocabulary says an asked word is in the source: the pattern, and as it was written."""

    pattern: str
    written: str


class Expansion(NamedTuple):
    """A term with the patterns that stand for it.

    For a word or a compound, `words` is empty and one of `patterns` must match. For a phrase of the
    vocabulary, every one of `words` must have a match, or one of `patterns` must.
    """

    term: str
    """The normal form of what was asked."""
    asked: str
    """The same as it was typed."""
    patterns: tuple[Pattern, ...]
    """In order: itself, its singular, its joined form, the source's words. Of a phrase: the source's words."""
    words: tuple[tuple[Pattern, ...], ...] = ()
    """Of a phrase: for each of its words that is not a stop word, the patterns that stand for it."""
    sources: tuple[str, ...] = ()
    """The source's words as the vocabulary writes them."""

    @property
    def translated(self) -> bool:
        """Whether the vocabulary changed the term."""
        return bool(self.sources)

    @property
    def all_patterns(self) -> tuple[Pattern, ...]:
        """Every pattern that may match, those of a phrase's words included."""
        return (*(pattern for word in self.words for pattern in word), *self.patterns)

    def listed(self) -> list[str]:
        """Return the patterns as text, the term itself first."""
        own = [self.term] if self.words else []
        return list(dict.fromkeys([*own, *(pattern.text for pattern in self.patterns)]))


class Asked(NamedTuple):
    """A question after expansion."""

    raw: str
    """The question as given, cut."""
    text: str
    """Its normal form, cut."""
    expansions: tuple[Expansion, ...]
    ignored: tuple[str, ...]
    """Stop words that were left out of the AND, in normal form."""
    cuts: tuple[str, ...]
    """Keys of the messages that say what was cut."""


class Word(NamedTuple):
    """One word of a question in its three forms."""

    asked: str
    full: str
    """Its marked form."""
    marked: str
    """The same without possessive and elision."""
    stop: bool

    @property
    def parts(self) -> list[str]:
        """The words of its normal form; a compound has several."""
        return plain(self.marked).split(" ")


def key_of(text: str, language: Language, folding: Folding) -> str:
    """Return the key under which a vocabulary holds an asked word: the singulars of its normal form.

    Possessive and elision are taken off first, as in a question.
    """
    parts = [part for word in _words(text, language, folding) for part in word.parts]
    return " ".join(map(language.singular, parts))


def expand(
    question: str,
    language: Language,
    folding: Folding,
    find: Find,
    longest: int,
    *,
    source_words: bool = True,
) -> Asked:
    """Expand a question into terms with their patterns.

    Args:
        question: any text; see `catalog_search.text.cut` for what is left of it.
        language: stop words and the rules for possessives, elisions and singulars.
        folding: the table that folds it.
        find: looks keys up in the vocabulary.
        longest: the number of words of the vocabulary's longest key.
        source_words: False for the null expansion, as with an empty vocabulary.

    Returns:
        The expansions, none if the question holds no word. Deterministic; more pairs in the vocabulary
        only add patterns.
    """
    raw, cuts = cut(question)
    words = list(_words(raw, language, folding))
    if len(words) > MAX_WORDS:
        words = words[:MAX_WORDS]
        cuts.append("cut_words")
    text = " ".join(plain(word.full) for word in words)
    spans = _spans(words, language, longest) if longest and source_words else {}
    found = find({key for keys in spans.values() for key in keys}) if spans else {}

    def sources(start: int, length: int) -> tuple[Source, ...]:
        keys = spans.get((start, length), ())
        return tuple(dict.fromkeys(source for key in keys for source in found.get(key, ())))

    phrases = _choose([span for span in spans if span[1] > 1 and sources(*span)], words)
    expansions: list[Expansion] = []
    ignored: list[str] = []
    all_stop = all(word.stop for word in words)
    position = 0
    while position < len(words):
        word = words[position]
        length = phrases.get(position, 1)
        own = sources(position, length)
        if length > 1:
            expansions.append(
                _phrase(
                    words[position : position + length],
                    [sources(inner, 1) for inner in range(position, position + length)],
                    own,
                    language,
                )
            )
        elif word.stop and not own and not all_stop:
            ignored.append(plain(word.marked))
        else:
            term = plain(word.marked)
            said = [source for source in own if source.pattern != term]
            expansions.append(Expansion(term, word.asked, _patterns(word, own, language), sources=_written(said)))
        position += length
    unique = {(one.patterns, one.words): one for one in reversed(expansions)}
    kept = tuple(one for one in expansions if unique[one.patterns, one.words] is one)
    return Asked(raw, text, kept, tuple(dict.fromkeys(ignored)), tuple(cuts))


def _words(text: str, language: Language, folding: Folding) -> Iterable[Word]:
    """Split text into words; a chunk between blanks is several in scripts without spaces."""
    for chunk in text.split():
        marked = mark(chunk, folding).split()
        for word in marked:
            bare = language.strip(word)
            asked = chunk.strip("\"'“”‘’«»()[]{}.,;:!?¿¡…") if len(marked) == 1 else plain(word)
            yield Word(asked or plain(word), word, bare, language.is_stop(word))


def _spans(words: Sequence[Word], language: Language, longest: int) -> dict[tuple[int, int], tuple[str, ...]]:
    """Return (start, number of words) → the keys under which the vocabulary may hold that stretch."""
    singulars = [" ".join(map(language.singular, word.parts)) for word in words]
    spans: dict[tuple[int, int], tuple[str, ...]] = {}
    for start, word in enumerate(words):
        key = singulars[start]
        compound = joined(word.marked)
        spans[start, 1] = (key, language.singular(compound)) if compound else (key,)
        for end in range(start + 1, len(words)):
            key = f"{key} {singulars[end]}"
            if key.count(" ") >= longest:
                break
            spans[start, end - start + 1] = (key,)
    return spans


def _choose(spans: Iterable[tuple[int, int]], words: Sequence[Word]) -> dict[int, int]:
    """Choose phrases, longest first and then leftmost, that do not overlap: start → number of words."""
    taken: set[int] = set()
    chosen = {}

    def size(span: tuple[int, int]) -> int:
        return sum(len(word.parts) for word in words[span[0] : span[0] + span[1]])

    for start, length in sorted(spans, key=lambda span: (-size(span), span)):
        places = range(start, start + length)
        if taken.isdisjoint(places):
            taken.update(places)
            chosen[start] = length
    return chosen


def _patterns(word: Word, sources: Iterable[Source], language: Language) -> tuple[Pattern, ...]:
    """Return the patterns of one word: itself, its singular, its joined form, the source's words."""
    own = " ".join(word.parts)
    candidates = [Pattern(own, OWN), Pattern(_last_singular(own, language), SINGULAR)]
    compound = joined(word.marked)
    if compound:
        candidates += [Pattern(compound, SPELLING), Pattern(_last_singular(compound, language), SPELLING)]
    candidates += [Pattern(source.pattern, VOCABULARY) for source in sources]
    unique: dict[str, Pattern] = {}
    for pattern in candidates:
        if pattern.text:
            unique.setdefault(pattern.text, pattern)
    return tuple(unique.values())


def _last_singular(text: str, language: Language) -> str:
    before, blank, last = text.rpartition(" ")
    return before + blank + language.singular(last)


def _phrase(
    words: Sequence[Word], inner: Sequence[Sequence[Source]], sources: Sequence[Source], language: Language
) -> Expansion:
    """Expand a phrase of the vocabulary: all its words by themselves, or the source's words for the whole."""
    pairs = [(word, own) for word, own in zip(words, inner, strict=True) if own or not word.stop]
    pairs = pairs or list(zip(words, inner, strict=True))
    each = dict.fromkeys(_patterns(word, own, language) for word, own in pairs)
    return Expansion(
        term=" ".join(plain(word.marked) for word in words),
        asked=" ".join(word.asked for word in words),
        patterns=tuple(Pattern(text, VOCABULARY) for text in dict.fromkeys(source.pattern for source in sources)),
        words=tuple(each),
        sources=_written(sources),
    )


def _written(sources: Iterable[Source]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(source.written for source in sources))


def matches(fields: Mapping[str, str], expansions: Iterable[Expansion]) -> bool:
    """Tell whether every term has a match in fields of normal form; a phrase's words may be in several.

    Args:
        fields: name → normal form; the field named `id` takes numbers by their start.
        expansions: the question's.
    """
    return all(holds(fields, expansion) for expansion in expansions)


def holds(fields: Mapping[str, str], expansion: Expansion) -> bool:
    """Tell whether one term has a match in fields of normal form."""

    def any_of(patterns: Iterable[Pattern]) -> bool:
        return any(pattern.starts(text, is_id=name == "id") for pattern in patterns for name, text in fields.items())

    return (bool(expansion.words) and all(map(any_of, expansion.words))) or any_of(expansion.patterns)


def translations(expansions: Iterable[Expansion], language: Language, source_name: str) -> list[str]:
    """Return a sentence for each term that the vocabulary changed, in the catalogue's language."""
    return [
        language.say(
            "translated",
            asked=expansion.asked,
            source=listing(expansion.sources, language.say("list_or")),
            source_name=source_name,
        )
        for expansion in expansions
        if expansion.translated
    ]


def cut_notes(asked: Asked, language: Language) -> list[str]:
    """Return a sentence for each way in which the question was cut."""
    limits = {"cut_characters": MAX_CHARACTERS, "cut_words": MAX_WORDS}
    return [language.say(key, limit=str(limits.get(key, ""))) for key in asked.cuts]


def listing(words: Sequence[str], conjunction: str) -> str:
    """Join words as a sentence does.

    >>> listing(["a", "b", "c"], "or")
    'a, b or c'
    """
    return f"{', '.join(words[:-1])} {conjunction} {words[-1]}" if len(words) > 1 else "".join(words)
