"""Numbers and dates in a text, by value: `1,234.50` is 1234.5, and `1 May 2024` is 2024-05-01.

What can be read in two ways is read with care. A number with one separator before exactly three digits (`1,234`) has
both values; a date of figures alone whose day and month could be exchanged (`03/04/2024`) has none. A number to which
letters are attached (`COVID-19`, `5k`), a code that begins with a zero (`007`), and figures with several points
(`1.2.3`) are no numbers. Months are known in English, Portuguese, Spanish, French and German.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

_GAPS = "'’\u00a0\u2009\u202f"
# A whole token or nothing: the parts are possessive, so that `12.5kg` gives neither 12 nor 12.5. Repetitions have an
# end, so that what fails after a long run does not fail again from each place in it.
_TOKEN = re.compile(rf"(?<!\w)[0-9]++(?:[.,{_GAPS}][0-9]++){{0,12}}+(?:[eE][+-]?[0-9]{{1,3}}+)?+(?!\w)")
_SPACED = re.compile(r"(?<![\w.,])[0-9]{1,3}+(?: [0-9]{3}(?![0-9])){1,12}+(?:[.,][0-9]++)?+(?!\w)")
_PLAIN = re.compile(r"(?:0|[1-9][0-9]*)(?:\.[0-9]+)?")
_MINUS = "-−"
_LONGEST = 60
"""Characters of a number; a longer run of figures is none."""


class Number(NamedTuple):
    """A number as it stands in a text."""

    value: Decimal
    start: int
    end: int
    plain: bool
    """Whether it is written as JSON writes it."""


class Day(NamedTuple):
    """A date as it stands in a text."""

    value: tuple[int, ...]
    """Year, month and day, or year and month; () if it can be read in two ways."""
    start: int
    end: int


def decimal_of(value: float) -> Decimal:
    """Return the value of a number of JSON.

    >>> decimal_of(0.1)
    Decimal('0.1')
    """
    return Decimal(value) if isinstance(value, int) else Decimal(repr(value))


def numbers(text: str) -> Iterator[Number]:
    """Yield the numbers of a text, every reading of each; of a date only its year.

    >>> [str(number.value) for number in numbers("EUR 1.234,50 of 2024-05-01, −3 and COVID-19")]
    ['2024', '1234.50', '-3']
    """
    dates = [day for day in days(text) if day.end - day.start > len("2024-05")]
    for day in dates:
        year = next(re.finditer("[0-9]{4}", text[day.start : day.end]))
        yield Number(Decimal(year[0]), day.start + year.start(), day.start + year.end(), True)
    starts = [day.start for day in dates]
    for found in _TOKEN.finditer(text):
        near = bisect_right(starts, found.start()) - 1
        if near < 0 or dates[near].end <= found.start():
            yield from _signed(text, found)
    for found in _SPACED.finditer(text):
        yield from _signed(text, found)


def _signed(text: str, found: re.Match[str]) -> Iterator[Number]:
    start, sign = found.start(), 1
    if start and text[start - 1] in _MINUS:
        before = text[start - 2 : start - 1]
        if before.isalpha() or before == "_":
            return  # a compound
        if not before.isalnum() and before not in (")", *_MINUS):
            start, sign = start - 1, -1
    token = found[0]
    for value in readings(token):
        yield Number(sign * value, start, found.end(), bool(_PLAIN.fullmatch(token)) and value == Decimal(token))


def readings(token: str) -> list[Decimal]:
    """Return the values that a token without a sign may have, none if it is no number.

    >>> readings("1,234"), readings("1.234,5"), readings("0.125"), readings("1.2.3"), readings("007")
    ([Decimal('1.234'), Decimal('1234')], [Decimal('1234.5')], [Decimal('0.125')], [], [])
    """
    if len(token) > _LONGEST:
        return []
    token, _, exponent = token.lower().partition("e")
    body = re.sub(rf"[{_GAPS} ]", "_", token)
    if "_" in body:
        whole = re.split("[.,]", body)[0]
        if not _grouped(whole, "_"):
            return []
        body = whole.replace("_", "") + body[len(whole) :]
        if "_" in body:
            return []
    points, commas = body.count("."), body.count(",")
    found = []
    if not points and not commas:
        found = [body]
    elif points and commas:
        last = max(body.rfind("."), body.rfind(","))
        other = "," if body[last] == "." else "."
        if body.count(body[last]) == 1 and _grouped(body[:last], other):
            found = [f"{body[:last].replace(other, '')}.{body[last + 1 :]}"]
    else:
        sign = "." if points else ","
        if points + commas == 1:
            found.append(body.replace(sign, "."))
        if _grouped(body, sign) and not body.startswith("0"):
            found.append(body.replace(sign, ""))
    scale = f"e{exponent}" if exponent else ""
    return [Decimal(one + scale) for one in found if _PLAIN.fullmatch(one)]


def _grouped(body: str, sign: str) -> bool:
    first, *others = body.split(sign)
    return 1 <= len(first) <= 3 and bool(others) and all(len(one) == 3 for one in others)


_MONTHS = [
    "january jan janeiro enero ene janvier janv januar jänner",
    "february feb fevereiro fev febrero février fevrier févr februar",
    "march mar março marco marzo mars märz maerz",
    "april apr abril abr avril avr",
    "may maio mayo mai",
    "june jun junho junio juin juni",
    "july jul julho julio juillet juil juli",
    "august aug agosto ago août aout",
    "september sep sept setembro set septiembre septembre",
    "october oct outubro out octubre octobre oktober okt",
    "november nov novembro noviembre novembre",
    "december dec dezembro dez diciembre dic décembre decembre déc dezember",
]
_MONTH = {name: number for number, names in enumerate(_MONTHS, 1) for name in names.split()}
_NAME = "|".join(sorted(_MONTH, key=len, reverse=True))
_DAY, _YEAR, _OF = r"([0-9]{1,2})(?:st|nd|rd|th|er|º|ª|\.)?", r"([0-9]{4})(?!\w)", r"(?:de |del |of )?"
_DATES = re.compile(
    rf"(?<![\w./-])(?:(?P<iso>[0-9]{{4}}([-/.])[0-9]{{1,2}}\2[0-9]{{1,2}})(?![0-9])(?!\2[0-9])"
    rf"|(?P<dmy>[0-9]{{1,2}}([-/.])[0-9]{{1,2}}\4[0-9]{{4}})(?!\w)"
    rf"|(?P<named>{_DAY}\s{_OF}({_NAME})\.?,?\s{_OF}{_YEAR})"
    rf"|(?P<english>({_NAME})\.?\s{_DAY},?\s{_YEAR})"
    rf"|(?P<month>({_NAME})\.?,?\s{_OF}{_YEAR})"
    rf"|(?P<short>[0-9]{{4}}-[0-9]{{2}})(?![\w-]))",
    re.I,
)


def days(text: str) -> Iterator[Day]:
    """Yield the dates of a text.

    >>> [day.value for day in days("1er mai 2024, May 2, 2024; 31/12/2024; 03/04/2024; March 2025")]
    [(2024, 5, 1), (2024, 5, 2), (2024, 12, 31), (), (2025, 3)]
    """
    for found in _DATES.finditer(text):
        kind = next(name for name, part in found.groupdict().items() if part)
        parts = [int(one) for one in re.findall("[0-9]+", found[0])]
        value: tuple[int, ...] = ()
        if kind in ("iso", "short"):
            value = tuple(parts)
        elif kind == "dmy":
            first, second, year = parts
            if "." in found[0] or first > 12 or first == second:
                value = (year, second, first)
            elif second > 12:
                value = (year, first, second)
        else:
            name = next(one.lower() for one in re.findall(r"[^\W\d_]+", found[0]) if one.lower() in _MONTH)
            value = (parts[-1], _MONTH[name], *parts[:-1])
        if not value or _exists(value):
            yield Day(value, found.start(), found.end())


def _exists(value: tuple[int, ...]) -> bool:
    try:
        date(value[0], value[1], value[2] if len(value) > 2 else 1)
    except ValueError:
        return False
    return True


_MIDNIGHT = re.compile(r"[T ]00:00(?::00(?:\.0+)?)?(?:Z|[+-]00:?00)?$", re.I)


def date_of(text: str) -> tuple[int, ...]:
    """Return the date that a text is, () if it is none, or one that can be read in two ways.

    >>> date_of("2024-05-01T00:00:00Z"), date_of("5/2024"), date_of("May 2024")
    ((2024, 5, 1), (), (2024, 5))
    """
    text = _MIDNIGHT.sub("", text.strip())
    found = _DATES.fullmatch(text)
    return next(days(text)).value if found and next(days(text), None) else ()


def number_of(text: str) -> Decimal | None:
    """Return the number that a text is, None if it is none, or one that can be read in two ways.

    >>> number_of("-1,234.5"), number_of("1,234"), number_of("12 kg")
    (Decimal('-1234.5'), None, None)
    """
    text = text.strip()
    sign = -1 if text[:1] and text[0] in _MINUS else 1
    body = text[1:] if sign < 0 else text
    if not (_TOKEN.fullmatch(body) or _SPACED.fullmatch(body)):
        return None
    found = readings(body)
    return sign * found[0] if len(found) == 1 else None


def is_number(text: str) -> bool:
    """Tell whether a text is nothing but a number, however it may be read.

    >>> is_number("1,234"), is_number("007"), is_number("12 kg")
    (True, False, False)
    """
    body = text.strip().lstrip(_MINUS)
    return bool(_TOKEN.fullmatch(body) or _SPACED.fullmatch(body)) and bool(readings(body))
