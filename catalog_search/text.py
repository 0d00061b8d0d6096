"""Text → normal form: ASCII words `[a-z0-9]+` separated by single spaces.

One text in its three forms:

    as written     The R&D of “L'Été”, 2024年
    marked form    the r-d of l-e^te^ 2024 nian
    normal form    the r d of l e te 2024 nian

The marked form keeps what a search needs and the normal form loses: `-` where punctuation joined two
characters that are no spaces, and `^` after a letter that was not ASCII, so that *thé* (`the^`) is not *the*.

A *folding* maps one or two code points to their *signs*, text over `[a-z0-9]`, space and `- . + # ^`; two,
because some letters fold otherwise than their parts (が is `ga`, か is `ka`), and text may be composed (NFC)
or decomposed (NFD). Everything after the folding is ASCII and plain enough to be done by SQL as well.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

MAX_CHARACTERS = 1_000
"""A question is cut after so many characters."""

MAX_WORDS = 64
"""A question is cut after so many words (of the marked form)."""

SPELLINGS = {"c++": "cplusplus", "c#": "csharp", "f#": "fsharp", ".net": "dotnet"}
"""Words that would be nothing but a letter or another word without their signs, and what stands for them."""

_JOINERS = "-'_&"
_ASCII_SIGNS = {code: chr(code).lower() if chr(code).isalnum() else " " for code in range(128)}
_ASCII_SIGNS |= {ord(sign): "-" for sign in _JOINERS} | {ord(sign): sign for sign in ".+#"}
# For bytes.translate, three times as fast as str.translate.
_ASCII_SIGN_BYTES = bytes(ord(_ASCII_SIGNS.get(code, " ")) for code in range(256))
_ASCII_PLAIN_BYTES = bytes(code if chr(code).isalnum() else 32 for code in _ASCII_SIGN_BYTES)
_MARKS = re.compile(r"[-.+#^]")
_CARETS = re.compile(r"(?<![a-z0-9])\^+")
_HYPHENS = re.compile(r"-{2,}")

# Scripts written without spaces between words: every character is a word.
_UNSPACED = ("CJK", "HIRAGANA", "KATAKANA", "HANGUL", "HALFWIDTH", "BOPOMOFO", "YI ")
_APOSTROPHES = "`´‘’‛′ʼʹ·‧"
_VANISH = "\u0640ـʿʾ\u0621ー\u3099\u309aﾞﾟ"
_OWN = {
    "ё": "e^", "Ё": "e^", "ә": "a^", "Ә": "a^", "ə": "e^", "Ə": "e^", "ǝ": "e^", "Ǝ": "e^",
    # Arabic is typed with and without the hamza, the dots of final ya and of ta marbuta.
    "ا": "a^", "أ": "a^", "إ": "a^", "آ": "a^", "ٱ": "a^", "ى": "y^", "ة": "h^", "ؤ": "w^", "ئ": "y^",
    "ٲ": "a^", "ٳ": "a^", "ۃ": "h^",
    "™": " ", "®": " ", "©": " ", "℠": " ", "…": " ",
}  # fmt: skip


class Folding:
    """A table from one or two code points to signs, and the way to apply it.

    Args:
        table: code point, or two, → signs. A code point that is not in it folds to `default`.
        default: the signs of code points that the table does not have.

    >>> Folding({"A": "a", "á": "a^"}).signs("Aá!")
    'aa^ '
    """

    def __init__(self, table: Mapping[str, str], default: str = " ") -> None:
        self._default = default
        self._singles: dict[int, str] = {ord(key): signs for key, signs in table.items() if len(key) == 1}
        self._pairs = {key: signs for key, signs in table.items() if len(key) == 2}

    @cached_property
    def pairs(self) -> dict[str, str]:
        """The keys of two code points."""
        return self._pairs

    def single(self, character: str) -> str:
        """Return the signs of one code point."""
        return self._singles.get(ord(character), self._default)

    def signs(self, text: str) -> str:
        """Fold text to signs, code point by code point, pairs first."""
        if text.isascii():
            return text.encode().translate(_ASCII_SIGN_BYTES).decode()
        if not self._second.search(text):
            return text.translate(self._lookup)
        # Every second piece is a pair.
        pieces = self._pair.split(text)
        pieces[1::2] = [self.pairs[pair] for pair in pieces[1::2]]
        pieces[::2] = [piece.translate(self._lookup) for piece in pieces[::2]]
        return "".join(pieces)

    @cached_property
    def _lookup(self) -> _Lookup:
        return _Lookup(self)

    @cached_property
    def _second(self) -> re.Pattern[str]:
        seconds = "".join(sorted({key[1] for key in self.pairs}))
        return re.compile(f"[{re.escape(seconds)}]" if seconds else "(?!)")

    @cached_property
    def _pair(self) -> re.Pattern[str]:
        firsts: dict[str, list[str]] = {}
        for first, second in map(tuple, sorted(self.pairs)):
            firsts.setdefault(second, []).append(first)
        groups = [f"[{re.escape(''.join(ones))}]{re.escape(second)}" for second, ones in firsts.items()]
        return re.compile(f"({'|'.join(groups) or '(?!)'})")


class _Lookup(dict[int, str]):
    """What `str.translate` needs: the signs of each code point, kept once looked up."""

    def __init__(self, folding: Folding) -> None:
        self._folding = folding

    def __missing__(self, code: int) -> str:
        signs = self[code] = self._folding.single(chr(code))
        return signs


COMMON = (
    range(0x3400),
    range(0xA490, 0xA4D0),  # radicals of Yi
    range(0xA960, 0xA980),  # old jamo
    range(0xD7B0, 0xD800),
    range(0xFB00, 0x10000),  # ligatures, presentation forms, full and half width, variation selectors
    range(0x1D400, 0x1D800),  # mathematical letters
    range(0x1F100, 0x1F300),  # letters in circles and squares
    range(0xE0000, 0xE0200),  # tags, variation selectors
)
"""Code points that every database's folding table holds: other ways to write common letters are among them."""


def is_common(character: str) -> bool:
    """Tell whether every database's folding table holds a code point, unless it folds to a space."""
    return any(ord(character) in codes for codes in COMMON)


LETTERS = (
    range(0x3400, 0x4DC0), range(0x4E00, 0xA490), range(0xA4D0, 0xA960), range(0xA980, 0xD7B0), range(0xF900, 0xFB00),
    range(0x10000, 0x1BD00), range(0x1CCF0, 0x1CCFA), range(0x1D2C0, 0x1D300), range(0x1D360, 0x1D380),
    range(0x1DF00, 0x1F000), range(0x1FBF0, 0x1FC00), range(0x20000, 0x40000),
)  # fmt: skip
"""The other code points that may be letters or digits; sql/ask.sql has the same ranges. The rest, such as emoji, are
signs: one that a database's folding table does not have is a space."""


def is_letter(character: str) -> bool:
    """Tell whether a code point that a database's folding table does not have is a word of its own."""
    return any(ord(character) in codes for codes in LETTERS)


class FullFolding(Folding):
    """The folding of every code point: Unidecode after NFKC, and our own rows. Only a build needs it.

    Source: the transliterations are Unidecode's; the decompositions are the Unicode Character Database's,
    in the version that this Python has.
    """

    def __init__(self) -> None:
        super().__init__({})

    def single(self, character: str) -> str:
        if character.isascii():
            return _ASCII_SIGNS[ord(character)]
        decomposed = unicodedata.normalize("NFD", character)
        if decomposed == character:
            return _letter_signs(character)
        if len(decomposed) == 1:
            return self.single(decomposed)
        whole, parts = _letter_signs(character), self._parts(decomposed)
        # A letter whose parts fold otherwise is a pair of the table; with more parts, or none of its own
        # letters, it folds as its parts do.
        return parts if len(decomposed) > 2 or not whole.strip("^ ") else whole

    def _parts(self, decomposed: str) -> str:
        if "\u1100" <= decomposed[0] <= "\u1112":
            return _letter_signs(unicodedata.normalize("NFC", decomposed))
        signs = self.signs(decomposed) if len(decomposed) > 2 else "".join(map(self.single, decomposed))
        return _CARETS.sub("", signs) or signs[:1]  # nothing but marks is one mark

    @cached_property
    def pairs(self) -> dict[str, str]:
        found = {}
        for character in filter(unicodedata.decomposition, map(chr, range(0x80, 0x2_0000))):
            decomposed = unicodedata.normalize("NFD", character)
            if len(decomposed) == 2 and not "\uac00" <= character <= "\ud7a3":
                whole = self.single(character)
                if whole != self._parts(decomposed):
                    found[decomposed] = whole
        # Half-width kana carry their voicing marks as code points of their own.
        for code in range(0xFF66, 0xFF9E):
            for mark, combining in (("ﾞ", "\u3099"), ("ﾟ", "\u309a")):
                voiced = unicodedata.normalize("NFKC", chr(code) + combining)
                if len(voiced) == 1:
                    found[chr(code) + mark] = self.single(voiced)
        # Decomposed Hangul: the vowel and the final consonant end the syllable together.
        for vowel in map(chr, range(0x1161, 0x1176)):
            for final in map(chr, range(0x11A8, 0x11C3)):
                found[vowel + final] = _roman("\u110b" + vowel + final) + "^ "
        return found

    def rows(self, used: Iterable[str]) -> Iterator[tuple[str, str]]:
        """Yield the rows that a database keeps, sorted: code points of COMMON and those in `used`.

        Code points that fold to a space are left out, since it is what a missing one folds to; but not those among
        letters, where a missing one is a word of its own.
        """
        characters = {chr(code) for codes in COMMON for code in codes} | set(used)
        singles = ((character, self.single(character)) for character in characters)
        kept = ((key, signs) for key, signs in singles if signs != " " or is_letter(key))
        yield from sorted([*kept, *self.pairs.items()])


def _roman(jamo: str) -> str:
    """Return the Latin letters of one decomposed Hangul syllable."""
    return _unidecode(unicodedata.normalize("NFC", jamo))


def _unidecode(character: str) -> str:
    """Return Unidecode's letters and signs for a code point, lower case."""
    from unidecode import unidecode  # a build's need only: a search folds by the table of its database

    return str(unidecode(unicodedata.normalize("NFKC", character), errors="ignore")).lower()


def _letter_signs(character: str) -> str:
    """Return the signs of one code point that has no decomposition to follow."""
    if character in _OWN:
        return _OWN[character]
    if character in _VANISH:
        return ""
    if character in _APOSTROPHES:
        return "-"
    category = unicodedata.category(character)
    if category == "Cf":
        return ""
    if category[0] in "CZ":
        return " "
    if category == "Pd" or character == "\u2212":
        return "-"
    compatible = unicodedata.normalize("NFKC", character)
    if len(compatible) == 1 and compatible.isascii() and not compatible.isalnum():
        return _ASCII_SIGNS[ord(compatible)]
    if category[0] == "P":
        return " "
    name = unicodedata.name(character, "")
    # Capitals fold as small letters do; where Unidecode knows but one of them, as that.
    roman = _unidecode(character.lower()) or _unidecode(character.upper())
    letters = re.sub(r"[^a-z0-9]+", "", roman)
    if category[0] == "M":
        # Vowel marks of Arabic and Hebrew are written or not at will; other marks say that the letter
        # before them is not ASCII, and in some scripts are a vowel.
        return "" if name.startswith(("ARABIC", "HEBREW")) else letters + "^"
    if category[0] == "S" or (category == "No" and "/" in roman.replace("\u2044", "/")):
        return f" {' '.join(re.findall('[a-z0-9]+', roman))} " if letters else " "
    if name.startswith("HANGUL CHOSEONG"):
        return " " + _unidecode(unicodedata.normalize("NFC", character + "\u1161"))[:-1]
    if name.startswith("HANGUL JUNGSEONG"):
        return _roman("\u110b" + character) + "^ "
    if name.startswith(_UNSPACED):
        return f" {letters or _by_number(character)}^ "
    if not letters and roman:
        return ""  # a sign that stands for a letter (ь, ʿ) is not heard
    return (letters or _by_number(character)) + ("" if category == "Nd" else "^")


def _by_number(character: str) -> str:
    """Return letters for a letter that Unidecode does not know, so that no script is lost: 𞤀 is `u1e922`."""
    return f"u{ord(character.lower()[0]):x}"


@lru_cache(maxsize=1)
def full_folding() -> FullFolding:
    """Return the folding of every code point; made once, by Unidecode."""
    return FullFolding()


def mark(text: str, folding: Folding) -> str:
    """Return the marked form: words of `[a-z0-9^-]` joined by single spaces.

    >>> mark("Women's R&D: e-mail, C++ & thé", full_folding())
    'women-s r-d e-mail cplusplus the^'
    """
    signs = folding.signs(text)
    if not ("-" in signs or "." in signs or "^" in signs or "+" in signs or "#" in signs):
        return " ".join(signs.split())
    words = []
    for word in signs.split():
        if _MARKS.search(word):
            words += _cleaned(word)
        else:
            words.append(word)
    return " ".join(words)


def _cleaned(word: str) -> list[str]:
    """Turn one word of signs into words of the marked form, none if it holds no letter or digit."""
    if "^" in word:
        word = _CARETS.sub("", word)
    word = word.lstrip("-").rstrip("-.")
    if word in SPELLINGS:
        return [SPELLINGS[word]]
    word = word.replace("+", " ").replace("#", " ").replace(".", "-")
    return [part for part in (_HYPHENS.sub("-", part).strip("-") for part in word.split()) if part]


def plain(marked: str) -> str:
    """Return the normal form of a marked form.

    >>> plain("women-s the^")
    'women s the'
    """
    return marked.replace("-", " ").replace("^", "")


def fold(text: str, folding: Folding) -> str:
    """Return the normal form of text: `plain(mark(text, folding))`, by a faster way where there is one."""
    if text.isascii() and not ("+" in text or "#" in text or ("." in text and ".net" in text.lower())):
        return " ".join(text.encode().translate(_ASCII_PLAIN_BYTES).decode().split())
    return plain(mark(text, folding))


def normalize(text: str) -> str:
    """Return the normal form of any text: ASCII words of `[a-z0-9]+` joined by single spaces.

    For people with an index of their own; the functions of a catalogue fold by the table of its database,
    which is made by the same rules. Idempotent. Lone surrogates and NUL are spaces.

    >>> normalize("Straßenverkehr – İstanbul, 2024年")
    'strassenverkehr istanbul 2024 nian'
    """
    return fold(text, full_folding())


def joined(word: str) -> str:
    """Return the joined form of a marked word, "" if it has none.

    A compound is also written as one word (`e-mail`, *email*; `u-s`, *us*); a number is not (`38-101` is
    not 38101), so a compound whose join stands between two digits has none.

    >>> joined("e-mail"), joined("38-101"), joined("mail")
    ('email', '', '')
    """
    if "-" not in word or _DIGIT_JOIN.search(word):
        return ""
    return word.replace("-", "").replace("^", "")


_DIGIT_JOIN = re.compile(r"[0-9]-[0-9]")


def cut(question: str) -> tuple[str, list[str]]:
    """Cut a question at its first NUL and after MAX_CHARACTERS; lone surrogates become spaces.

    Returns:
        What is left, and the keys of the messages that say what was cut.

    >>> cut("labor\\0force")
    ('labor', ['cut_nul'])
    """
    said = []
    if "\0" in question:
        question = question[: question.index("\0")]
        said.append("cut_nul")
    if len(question) > MAX_CHARACTERS:
        question = question[:MAX_CHARACTERS]
        said.append("cut_characters")
    if not question.isascii():
        question = "".join(" " if "\ud800" <= character <= "\udfff" else character for character in question)
    return question, said
