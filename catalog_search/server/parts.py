"""A long document in parts, each of which says how to go on: `fetch` alone reads it to its end.

The id of a part is that of the document and the line it begins at, `ID#L401`; `ID#L1C40001` begins within a line
that is longer than a part. Lines are those of the stored text, counted from 1.
"""

from __future__ import annotations

import re
from typing import NamedTuple

PART_BYTES = 40_000
"""UTF-8 of a document's text in one part: about 10,000 tokens of English and 15,000 of Chinese, of the 25,000 that
clients take."""

_PART = re.compile(r"(.+)#L([1-9]\d{0,8})(?:C([1-9]\d{0,8}))?", re.S)


class Part(NamedTuple):
    """Some lines of a text."""

    text: str
    first: int
    last: int
    lines: int
    """How many the whole text has."""
    next: str
    """Where the next part begins, "L401"; "" if this is the last."""
    whole: bool = False
    """Whether it is all there is."""

    def place(self) -> str:
        """Return which lines these are.

        >>> part_of("a\\nb\\nc", 2).place()
        'lines 2–3 of 3'
        """
        return f"lines {self.first:,}–{self.last:,} of {self.lines:,}"


def split_id(id: str) -> tuple[str, int, int] | None:
    """Return the document's id, line and character of a part's id, None if it is none.

    >>> split_id("guide#setup#L401"), split_id("a#L1C40001"), split_id("a#Lx")
    (('guide#setup', 401, 1), ('a', 1, 40001), None)
    """
    found = _PART.fullmatch(id)
    return None if found is None else (found[1], int(found[2]), int(found[3] or 1))


def lines_of(text: str) -> list[str]:
    """Return the lines of a text, as they are counted.

    >>> lines_of("a\\r\\nb\\rc\\n")
    ['a', 'b', 'c']
    """
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return lines[:-1] if len(lines) > 1 and not lines[-1] else lines


def part_of(text: str, line: int = 1, character: int = 1, longest: int = PART_BYTES) -> Part | None:
    """Return the part of a text that begins at a line, None if it has no such line.

    Args:
        text: the whole text.
        line, character: where to begin, counted from 1.
        longest: UTF-8 bytes of the part; one character at least is given.

    >>> part_of("one\\ntwo\\nthree", longest=8)
    Part(text='one\\ntwo', first=1, last=2, lines=3, next='L3', whole=False)
    """
    lines = lines_of(text)
    if line > len(lines) or (character > 1 and character > len(lines[line - 1])):
        return None
    taken: list[str] = []
    room = longest
    for number in range(line, len(lines) + 1):
        begin = character - 1 if number == line else 0
        rest = lines[number - 1][begin:]
        size = len(rest.encode("utf-8", "replace"))
        if taken and size > room:
            return Part("\n".join(taken), line, number - 1, len(lines), f"L{number}")
        cut = rest if size <= room else rest.encode("utf-8", "replace")[:room].decode("utf-8", "ignore") or rest[:1]
        if len(cut) < len(rest):
            return Part(cut, line, number, len(lines), f"L{number}C{begin + len(cut) + 1}")
        taken.append(rest)
        room -= size + 1
    return Part("\n".join(taken), line, len(lines), len(lines), "", line == character == 1)
