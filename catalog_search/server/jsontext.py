"""Text that somebody else wrote as JSON → its value, whatever is in it: a message, and JSON inside a text alike.

Three things are JSON to those who wrote them and no value that can be sent on: half a character ("\\ud800"), a number
of thousands of digits, and thousands of brackets inside one another. They are seen to here, and nowhere else.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

DEEPEST = 200
"""Objects and lists inside one another that are read; what is deeper would exhaust somebody's stack later."""
LONGEST_NUMBER = 400
"""Digits of a number; a longer one is kept as its text."""

_HALF = re.compile(r"\\u[dD][89a-fA-F]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_STRUCTURE = re.compile(r'"(?:[^"\\]|\\.)*"?|[\[\]{}]', re.S)
_SCALAR = re.compile(r'\s*:\s*("(?:[^"\\]|\\.)*"|-?\d{1,18}(?![\d.eE]))', re.S)


class TooDeep(ValueError):
    """JSON that is nested too deeply to be read."""

    def __init__(self, id: str | int | None) -> None:
        super().__init__(f"it is nested more than {DEEPEST} deep")
        self.id = id
        """The member `id` of the object it is, if that could be read."""


def parse(text: bytes | str) -> Any:
    r"""Return the value of a JSON text; halves of characters, which no text can hold, become U+FFFD.

    Raises:
        TooDeep: it is nested more than DEEPEST deep.
        ValueError: it is not JSON.

    >>> parse(b'{"query": "a\\ud800 \\ud83d\\ude00"}')
    {'query': 'a� 😀'}
    """
    if isinstance(text, bytes):
        text = text.decode("utf-8", "replace")
    if text.count("[") + text.count("{") > DEEPEST:
        _check_depth(text)
    found = json.loads(text, parse_constant=_refuse_constant, parse_int=_whole, parse_float=_real)
    about = found.get("id") if isinstance(found, dict) else found
    if isinstance(about, _Number):
        raise ValueError("a number is longer than any that is read")
    if _HALF.search(text) or _SURROGATE.search(text):
        found = json.loads(whole(json.dumps(found, ensure_ascii=False)))
    return found


def whole(text: str) -> str:
    r"""Return a text with its halves of characters put together, or else replaced by U+FFFD.

    >>> whole("a\ud800"), whole("\ud83d\ude00")
    ('a�', '😀')
    """
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _check_depth(text: str) -> None:
    depth, too_deep, id, known = 0, False, None, False
    for found in _STRUCTURE.finditer(text):
        sign = found[0]
        if sign in ("{", "["):
            depth += 1
            too_deep = too_deep or depth > DEEPEST
        elif sign in ("}", "]"):
            depth -= 1
        elif depth == 1 and not known and sign == '"id"' and (scalar := _SCALAR.match(text, found.end())):
            known, id = text.lstrip()[:1] == "{", json.loads(scalar[1], strict=False)
    if too_deep:
        raise TooDeep((whole(id) if isinstance(id, str) else id) if known else None)


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON value")


class _Number(str):
    """A number that cannot be one here; inside a message it is its text, but it is no message and no id."""


def _whole(text: str) -> int | str:
    return int(text) if len(text) <= LONGEST_NUMBER else _Number(text)


def _real(text: str) -> float | str:
    found = float(text)
    return found if math.isfinite(found) else _Number(text)
