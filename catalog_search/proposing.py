"""Where candidate pairs come from when the words themselves are all there is: spelling, forms, stems, edits.

    spelling    labor → labour          a rule or the list of the language says that they are one word
    word        petrol → gasoline       the list of the language says that another country says so
    form        woman → women           a plural that does not begin with its singular
    compound    postsecondary → post secondary, well being → wellbeing
    stem        philosopher → philosophy     a common start; only for words that occur nowhere
    edit        moniter → monitor            one letter; only for words that occur nowhere

Without questions, only what is sure is proposed for every word of the catalogue; with them, every way is tried for
each word that was asked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from catalog_search.candidates import Proposal

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from catalog_search.candidates import Lexicon

STEM, STEM_SHARE, STEM_TAIL = 5, 0.55, 5
"""Letters of a common start at least, its share of the longer word, letters after it at most."""
PROPOSED = 2
"""Words that stems, or edits, propose for one that was asked."""
EDITED = 6
"""Letters of a word that may be misspelt, at least."""
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def spelling_of_words(lexicon: Lexicon) -> Iterator[Proposal]:
    """Propose other spellings of the catalogue's words, and of what they begin with."""
    for origin, listed in (("spelling", lexicon.spellings.listed), ("word", lexicon.spellings.words)):
        for source, others in listed.items():
            if lexicon.occurs(source.partition(" ")[0]):
                for asked in others:
                    yield Proposal(asked, lexicon.pattern(source), origin)
    for word in lexicon.sorted:
        for asked, source in lexicon.spellings.asked_for(word):
            yield Proposal(asked, lexicon.pattern(source), "spelling")


def forms_of_words(lexicon: Lexicon) -> Iterator[Proposal]:
    """Propose the plurals that their singular does not find, and compounds that the catalogue writes apart."""
    singular = lexicon.language.singular
    for word in lexicon.sorted:
        if len(word) < 3 or not word.isalpha():
            continue
        one = singular(word)
        if not word.startswith(one):
            yield Proposal(one, word, "form")
        for other in lexicon.spellings.forms.get(word, ()):
            yield Proposal(other, word, "form")
    for first, second in _neighbours(lexicon):
        if first in lexicon.spellings.prefixes and first != second and not lexicon.occurs(first + second):
            yield Proposal(first + second, f"{first} {second}", "compound")


def _neighbours(lexicon: Lexicon) -> Iterable[tuple[str, str]]:
    """Return words that follow each other in a title, each pair once, the second one of letters and no stop word."""
    found: dict[tuple[str, str], None] = {}
    for _, title in lexicon.titles():
        words = title.split(" ")
        for place in range(len(words) - 1):
            first, second = words[place], words[place + 1]
            if len(second) > 3 and second.isalpha() and not lexicon.language.is_stop(second):
                found.setdefault((first, second))
    return found


def asked_spelling(lexicon: Lexicon, asked: Mapping[str, int]) -> Iterator[Proposal]:
    """Propose the catalogue's spellings of asked words; by the rules, whichever of them it has."""
    for word, times in asked.items():
        for other in lexicon.spellings.variants(word):
            if other in lexicon.words:
                yield Proposal(word, lexicon.pattern(other), "spelling", times)
        for other in lexicon.spellings.words.get(word, ()):
            yield Proposal(word, lexicon.pattern(other), "word", times)


def asked_forms(lexicon: Lexicon, asked: Mapping[str, int]) -> Iterator[Proposal]:
    """Propose plurals of asked words, and what is written joined there and apart here, or the other way round."""
    plurals: dict[str, list[str]] = {}
    for word in lexicon.sorted:
        plurals.setdefault(lexicon.language.singular(word), []).append(word)
    for phrase, times in asked.items():
        first, blank, second = phrase.partition(" ")
        if blank:
            if (
                min(len(first), len(second)) > 1
                and phrase.replace(" ", "").isalpha()
                and first + second in lexicon.words
            ):
                yield Proposal(phrase, lexicon.pattern(first + second), "compound", times)
            continue
        for other in [*plurals.get(lexicon.language.singular(phrase), ()), *lexicon.spellings.forms.get(phrase, ())]:
            if other in lexicon.words:
                yield Proposal(phrase, lexicon.pattern(other), "form", times)
        if lexicon.occurs(phrase):
            continue
        for place in range(2, len(phrase) - 2):
            first, second = phrase[:place], phrase[place:]
            if first in lexicon.words and second in lexicon.words and _are_words(lexicon, first, second):
                yield Proposal(phrase, f"{first} {second}", "compound", times)


def _are_words(lexicon: Lexicon, *words: str) -> bool:
    """Tell whether these are words of letters, two at least, and no stop words."""
    return all(len(word) > 1 and word.isalpha() and not lexicon.language.is_stop(word) for word in words)


def asked_stems(lexicon: Lexicon, asked: Mapping[str, int]) -> Iterator[Proposal]:
    """Propose the words of the longest common start, for words that occur nowhere."""
    for word, times in _unknown(lexicon, asked):
        found = []
        for other in lexicon.starting(word[:STEM]):
            common = next((n for n, (x, y) in enumerate(zip(word, other, strict=False)) if x != y), len(word))
            longer = max(len(word), len(other))
            if common >= STEM_SHARE * longer and longer - common <= STEM_TAIL:
                found.append((-common, abs(len(other) - len(word)), -lexicon.words[other], other))
        patterns = dict.fromkeys(lexicon.pattern(other) for *_, other in sorted(found))
        for pattern in list(patterns)[:PROPOSED]:
            yield Proposal(word, pattern, "stem", times)


def asked_edits(lexicon: Lexicon, asked: Mapping[str, int]) -> Iterator[Proposal]:
    """Propose the words that differ by one letter, for words that occur nowhere."""
    for word, times in _unknown(lexicon, asked):
        if len(word) >= EDITED:
            found = sorted((-lexicon.words[other], other) for other in one_edit(word) if other in lexicon.words)
            for _, other in found[:PROPOSED]:
                yield Proposal(word, lexicon.pattern(other), "edit", times)


def one_edit(word: str) -> set[str]:
    """Return every text that differs from a word by a letter left out, added or changed, or by two exchanged.

    >>> len(one_edit("at")), "monitor" in one_edit("moniter")
    (129, True)
    """
    splits = [(word[:place], word[place:]) for place in range(len(word) + 1)]
    found = {one + two[1:] for one, two in splits if two}
    found |= {one + two[1] + two[0] + two[2:] for one, two in splits if len(two) > 1}
    for letter in _LETTERS:
        found |= {one + letter + two[1:] for one, two in splits if two}
        found |= {one + letter + two for one, two in splits}
    return found - {word}


def _unknown(lexicon: Lexicon, asked: Mapping[str, int]) -> Iterator[tuple[str, int]]:
    for word, times in asked.items():
        if len(word) >= STEM and word.isalpha() and not lexicon.language.is_stop(word) and not lexicon.occurs(word):
            yield word, times
