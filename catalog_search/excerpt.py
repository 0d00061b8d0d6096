"""A document's text, cut around what matched, from the text as it is written."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from catalog_search.text import Folding, fold, full_folding

if TYPE_CHECKING:
    from collections.abc import Iterable

    from catalog_search.expansion import Pattern

LENGTH = 240
"""Characters of an excerpt, at most, without the dots that say it was cut."""

_CHUNK = re.compile(r"\S+")


class Passage(NamedTuple):
    """A part of a text, as it is written but for its line ends, which are `\\n`, and the lines it stands in, from 1."""

    text: str
    first_line: int
    last_line: int


def cut_around(text: str, text_lc: str, patterns: Iterable[Pattern], folding: Folding) -> str:
    """Return the part of a text around the first pattern that it holds, on word boundaries; its start if none.

    Args:
        text: as it is written.
        text_lc: its normal form.
        patterns: what may have matched, in the order of preference.
        folding: what folds the text.

    >>> from catalog_search.expansion import Pattern
    >>> cut_around("It counts labour force.", "it counts labour force", [Pattern("labour", "own")], Folding({}))
    'It counts labour force.'
    """
    start, end = _span(text, text_lc, patterns, folding, LENGTH)
    if start == end:
        return ""
    before = "… " if text[:start].strip() else ""
    after = " …" if text[end:].strip() else ""
    return f"{before}{' '.join(text[start:end].split())}{after}"


def passage_around(text: str, text_lc: str, patterns: Iterable[Pattern], folding: Folding, length: int) -> Passage:
    """Return the same part to be quoted: verbatim, at most `length` characters, with its lines.

    >>> from catalog_search.expansion import Pattern
    >>> passage_around("It counts\\r\\nlabour.", "it counts labour", [Pattern("labour", "own")], Folding({}), 100)
    Passage(text='It counts\\nlabour.', first_line=1, last_line=2)
    >>> passage_around("It counts\\r\\nlabour.", "it counts labour", [Pattern("labour", "own")], Folding({}), 10)
    Passage(text='labour.', first_line=2, last_line=2)
    """
    start, end = _span(text, text_lc, patterns, folding, length)
    quoted = unix_lines(text[start:end])
    first = 1 + unix_lines(text[:start]).count("\n")
    return Passage(quoted, first, first + quoted.count("\n"))


def unix_lines(text: str) -> str:
    """Return text whose line ends are `\\n`; only `\\r\\n`, `\\r` and `\\n` end a line.

    >>> unix_lines("a\\r\\nb\\rc")
    'a\\nb\\nc'
    """
    return text.replace("\r\n", "\n").replace("\r", "\n")


def spans(text: str, patterns: Iterable[str], folding: Folding | None = None) -> list[tuple[int, int]]:
    """Return where in a text as it is written words begin with one of the patterns, to highlight them.

    >>> spans("Labour force", ["labour"])
    [(0, 6)]
    """
    folding = folding or full_folding()
    chunks = [(match.span(), fold(match[0], folding).split()) for match in _CHUNK.finditer(text)]
    words = [(word, span) for span, parts in chunks for word in parts]
    found: set[tuple[int, int]] = set()
    for pattern in patterns:
        parts = pattern.split(" ")
        for place in range(len(words) - len(parts) + 1):
            here = [word for word, _ in words[place : place + len(parts)]]
            if here[:-1] == parts[:-1] and here[-1].startswith(parts[-1]):
                found.update(span for _, span in words[place : place + len(parts)])
    return sorted(found)


def _word_of(pattern: Pattern, text_lc: str) -> int:
    """Return the number of the word at which a pattern first matches, -1 if nowhere."""
    if not pattern.starts(text_lc):
        return -1
    end = " " if pattern.whole or pattern.number else ""
    place = f" {text_lc} ".find(f" {pattern.text}{end}")
    return text_lc.count(" ", 0, place)


def _span(text: str, text_lc: str, patterns: Iterable[Pattern], folding: Folding, length: int) -> tuple[int, int]:
    """Return where the part around the first pattern begins and ends; a word that is too long is cut."""
    word = next((place for pattern in patterns if (place := _word_of(pattern, text_lc)) >= 0), 0)
    chunks = list(_around(text, word, folding, length))
    if not chunks:
        return 0, 0
    start = chunks[0][0]
    return start, min(chunks[-1][1], start + length)


def _around(text: str, word: int, folding: Folding, length: int) -> Iterable[tuple[int, int]]:
    """Yield the spans of the chunks before and after a word of the normal form, as many as an excerpt holds."""
    seen = 0
    before: list[tuple[int, int]] = []
    chunks = _CHUNK.finditer(text)
    for match in chunks:
        before.append(match.span())
        seen += len(fold(match[0], folding).split())
        if seen > word:
            break
    start = len(before) - 1
    while start > 0 and before[-1][1] - before[start - 1][0] <= length // 3:
        start -= 1
    yield from before[start:]
    for match in chunks:
        if match.end() - before[start][0] > length:
            return
        yield match.span()
