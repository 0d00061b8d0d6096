"""A value → where a source says it: as it is written, in its normal form or by its value, or nowhere.

    "Labour force"   in  "… the labour-force of 2024 …"   folded
    1234.5           in  "EUR 1,234.50"                   folded
    "Labour"         in  "Labourers"                      absent: a word is met whole
    "5 %"            in  "−5 %"                           absent: numbers inside a text count by value too

What is looked for is a value, not a statement: that the source says it *of this item* is not known here.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from catalog_search.text import normalize
from catalog_search.values import date_of, days, decimal_of, is_number, number_of, numbers

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from decimal import Decimal

TRIES = 200
"""Places of one text at which a value is held against its neighbours."""


class Evidence(NamedTuple):
    """Where a value was found."""

    match: str
    """exact: as it is written; folded: in its normal form, or by value; absent."""
    place: str = ""
    """text, title, id, url, keywords, or metadata.NAME."""
    first_line: int = 0
    last_line: int = 0

    def as_json(self) -> dict[str, Any]:
        """Return it as an answer has it; lines, counted from 1, are those of the source's text."""
        found: dict[str, Any] = {"match": self.match}
        if self.place:
            found["in"] = self.place
        if self.first_line:
            found |= {"first_line": self.first_line, "last_line": self.last_line}
        return found


ABSENT = Evidence("absent")


class Source:
    """A source, in which values are looked for.

    Args:
        source: a mapping with id, title, url and text, and perhaps keywords (a list) and metadata (a mapping).

    >>> source = Source({"id": "1", "title": "Wages", "url": "https://x.example", "text": "In 2024:\\nEUR 1,234.50"})
    >>> source.find(1234.5)
    Evidence(match='folded', place='text', first_line=2, last_line=2)
    >>> source.find("wages").match, source.find("wage").match
    ('folded', 'absent')
    """

    def __init__(self, source: Mapping[str, Any]) -> None:
        self.id, self.title, self.url = (_text(source.get(key)) for key in ("id", "title", "url"))
        self._texts = {"text": Text(_text(source.get("text"))), "title": Text(self.title)}
        keywords = source.get("keywords") or ()
        words = [keywords] if isinstance(keywords, str) else [_text(one) for one in keywords]
        if words:
            self._texts["keywords"] = Text("\n".join(words))
        self._whole = {"id": self.id, "url": self.url}
        for name, value in (source.get("metadata") or {}).items():
            self._texts[f"metadata.{name}"] = Text("\n".join(map(_text, _leaves(value))))

    def find(self, value: Any, name: str = "") -> Evidence:
        """Return where a value stands.

        Args:
            value: a text or a number; null and empty texts stand nowhere. True and false say nothing by themselves:
                they stand in the metadata of the same name.
            name: of the member whose value it is.
        """
        if value is None or (isinstance(value, str) and not value.strip()):
            return ABSENT
        text = value if isinstance(value, str) else ("true" if value else "false") if isinstance(value, bool) else ""
        for place, whole in self._whole.items():
            # An id or a url is evidence of itself, not of a number or a word in it.
            if whole and (text == whole or (not text and str(value) == whole)):
                return Evidence("exact", place)
        if isinstance(value, bool):
            wanted = f"metadata.{normalize(name)}"
            for place, one in self._texts.items():
                if place.startswith("metadata.") and _named(place) == wanted and one.raw.lower() == text:
                    return Evidence("exact", place)
            return ABSENT
        near = ABSENT
        for place, one in self._texts.items():
            span = one.find(value)
            if span is not None and (span[2] or near is ABSENT):
                lines = one.lines(span[0], span[1]) if place == "text" else (0, 0)
                found = Evidence("exact" if span[2] else "folded", place, *lines)
                if span[2]:
                    return found
                near = found
        return near


Span = tuple[int, int, bool]
"""Where a value begins and ends in a text, and whether it is written there as it is."""


class Text:
    """One text of a source, and what is needed to look for values in it; made when it is needed."""

    def __init__(self, raw: str) -> None:
        self.raw = raw

    def find(self, value: str | float) -> Span | None:
        """Return where a value stands, as it is written if possible."""
        if not self.raw:
            return None
        if not isinstance(value, str):
            return self._numbers.get(decimal_of(value))
        if (day := date_of(value)) and (span := self._days.get(day)):
            return span[0], span[1], self.raw[span[0] : span[1]] == value
        if is_number(value):
            number = number_of(value)
            # Of a number that can be read in two ways only the same characters are evidence.
            found = next(self._as_written(value), None) if number is None else self._numbers.get(number)
            return found and (found[0], found[1], self.raw[found[0] : found[1]] == value.strip())
        exact = next(self._as_written(value), None)
        if exact is not None or day:
            return exact
        return self._folded(value)

    def lines(self, start: int, end: int) -> tuple[int, int]:
        """Return the first and the last line of a span, counted from 1."""
        return bisect_right(self._starts, start), bisect_right(self._starts, max(start, end - 1))

    def _as_written(self, value: str) -> Iterator[Span]:
        for start in islice(_places(self.raw, value), TRIES):
            end = start + len(value)
            if not (_goes_on(self.raw, start - 1, -1, value[0]) or _goes_on(self.raw, end, 1, value[-1])):
                yield start, end, True

    def _folded(self, value: str) -> Span | None:
        wanted = normalize(value)
        if not wanted:
            return None
        claimed = {number.value for number in numbers(value)}
        words, starts = self._words
        for place in islice(_places(words, f" {wanted} "), TRIES):
            first = bisect_right(starts, place) - 1
            last = bisect_right(starts, place + len(wanted)) - 1
            start, end = self._chunks[first][0], self._chunks[last][1]
            if claimed <= {number.value for number in numbers(self.raw[start:end])}:
                return start, end, False
        return None

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *(place + 1 for place in _places(self.raw, "\n"))]

    @cached_property
    def _numbers(self) -> dict[Decimal, Span]:
        found: dict[Decimal, Span] = {}
        for number in numbers(self.raw):
            if number.value not in found or (number.plain and not found[number.value][2]):
                found[number.value] = (number.start, number.end, number.plain)
        return found

    @cached_property
    def _days(self) -> dict[tuple[int, ...], tuple[int, int]]:
        found: dict[tuple[int, ...], tuple[int, int]] = {}
        for day in days(self.raw):
            for value in (day.value, day.value[:2]):
                found.setdefault(value, (day.start, day.end))
        found.pop((), None)
        return found

    @cached_property
    def _folded_words(self) -> tuple[str, list[int], list[tuple[int, int]]]:
        """All words between blanks, where in that each begins, and where in the text it comes from."""
        words: list[str] = []
        starts: list[int] = []
        chunks: list[tuple[int, int]] = []
        place = end = 0
        for chunk in self.raw.split():
            start = self.raw.index(chunk, end)
            end = start + len(chunk)
            for word in normalize(chunk).split():
                words.append(word)
                starts.append(place)
                chunks.append((start, end))
                place += len(word) + 1
        return f" {' '.join(words)} ", starts, chunks

    @property
    def _words(self) -> tuple[str, list[int]]:
        return self._folded_words[:2]

    @property
    def _chunks(self) -> list[tuple[int, int]]:
        return self._folded_words[2]


def _places(text: str, part: str) -> Iterator[int]:
    place = text.find(part)
    while place >= 0:
        yield place
        place = text.find(part, place + 1)


def _goes_on(text: str, place: int, step: int, sign: str) -> bool:
    """Tell whether a word or a number goes on beyond an end of a span.

    Args:
        text: the text.
        place: of the neighbour of the span.
        step: 1 if that is after the span, -1 if before.
        sign: the character of the span beside it.
    """
    if not 0 <= place < len(text):
        return False
    beside, beyond = text[place], text[place + step : place + step + 1] if place + step >= 0 else ""
    if sign.isalnum() and (beside.isalnum() or beside == "_"):
        return True
    if step > 0 and sign.isalpha() and beside in "+#":
        return True  # C is not C++
    if not sign.isdecimal():
        return False
    return (beside in ".," and beyond.isdecimal()) or (step < 0 and beside in "-−" and not beyond.isalnum())


def _named(place: str) -> str:
    kind, _, name = place.partition(".")
    return f"{kind}.{normalize(name)}"


def _leaves(value: Any) -> list[Any]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        return [leaf for one in value for leaf in _leaves(one)]
    return [value]


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
