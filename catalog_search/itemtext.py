"""A model's text → the items in it, read tolerantly.

A model is asked for JSON and gives a fence around it, a sentence before and after, a bare list, objects one after
another, or a list that breaks off. What can be read is read; what cannot is handed on as `Broken`, so that it can be
named.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

STARTS = 2_000
"""Places of a text at which JSON may begin that are tried."""
SHOWN = 200
"""Characters of a text that cannot be read that are shown."""
MOST_BYTES, MOST_VALUES, DEEPEST = 64 * 1024, 1_000, 16
"""UTF-8 bytes of an item as JSON, values in it, and levels."""
_PRUNED = 4 * DEEPEST

_THOUGHT = re.compile(r"<think(?:ing)?>.*?</think(?:ing)?>", re.S)
_OPENING = re.compile(r"[\[{]")
_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?|[\[{\]}]', re.S)
_TOO_MUCH = f"it has more than {MOST_VALUES:,} values, or {DEEPEST} levels"


class Broken(NamedTuple):
    """What is no JSON, or more than an item may be."""

    item: Any
    """What there is, as far as it can be shown."""
    message: str


def items_of(text: str) -> list[Any]:
    """Return the items of a model's answer: of any JSON type, or `Broken`.

    >>> items_of('Here you are:\\n```json\\n{"items": [{"a": 1}, {"a": 2}]}\\n```\\nAnything else?')
    [{'a': 1}, {'a': 2}]
    >>> items_of('[{"a": 1}, {"a": ')
    [{'a': 1}, Broken(item='{"a":', message='it breaks off, or is no JSON')]
    >>> items_of("I found nothing.")
    [Broken(item='I found nothing.', message='it holds no JSON')]
    """
    text = text.removeprefix("\ufeff").strip()
    if thought := _THOUGHT.match(text):
        text = text[thought.end() :]
    try:
        return [_bounded(item) for item in _unwrapped(_decoder.decode(text.strip()))]
    except (ValueError, RecursionError):
        pass
    found: list[Any] = []
    read_any, end, failed = False, 0, -1
    for _ in range(STARTS):
        opening = _OPENING.search(text, max(end, failed + 1))
        if opening is None:
            break
        try:
            try:
                value, end = _decoder.raw_decode(text, opening.start())
            except RecursionError:
                # The item that is too deep for it stands among others, and is dropped by its name.
                text = _pruned(text, opening.start())
                value, end = _decoder.raw_decode(text, opening.start())
        except (ValueError, RecursionError):
            failed = opening.start()
            continue
        items = _unwrapped(value)
        # A figure in brackets beside the answer is not one.
        if not items or any(isinstance(item, dict) for item in items):
            read_any = True
            found += map(_bounded, items)
    if failed >= end and text[failed : failed + 1] == "{":
        found.append(Broken(_cut(text[failed:]), "it breaks off, or is no JSON"))
    elif not read_any:
        found.append(Broken(_cut(text.strip()), "it holds no JSON"))
    return found


def _unwrapped(value: Any) -> list[Any]:
    if isinstance(value, dict):
        if isinstance(inner := value.get("items"), list):
            return inner
        inner = next(iter(value.values())) if len(value) == 1 else None
        if isinstance(inner, list) and any(isinstance(one, dict) for one in inner):
            return inner
    return value if isinstance(value, list) else [value]


def as_json(item: Any) -> Any:
    """Return an item as JSON has it, or `Broken`.

    >>> as_json({"a": (1, 2)}), as_json("a: 1").message, as_json({"a": {1}}).message
    ({'a': [1, 2]}, 'it holds no JSON', 'it holds something that is not JSON')
    """
    if isinstance(item, Broken):
        return item
    if isinstance(item, str):
        inner = items_of(item)
        if len(inner) != 1:
            return Broken(_cut(item), "it holds more than one item")
        item = inner[0]
        if isinstance(item, Broken):
            return item
    if isinstance(item, Mapping):
        item = dict(item)
    item = _bounded(item)
    if isinstance(item, Broken):
        return item
    try:
        text = json.dumps(item, ensure_ascii=False, allow_nan=False)
        whole = text.encode("utf-8", "replace").decode()
        found = _decoder.decode(whole)
    except (TypeError, ValueError, RecursionError):
        return Broken(_cut(ascii(type(item))), "it holds something that is not JSON")
    if whole != text:
        return Broken(found, "it holds half a character")
    if len(text.encode()) > MOST_BYTES:
        return Broken(_cut(text), f"it has more than {MOST_BYTES:,} bytes")
    return found


def _bounded(item: Any) -> Any:
    """Return an item, or `Broken` if it has too many values or levels; no call lies inside another for its depth."""
    values, open_ones = 1, [_inner(item)]
    while open_ones:
        if len(open_ones) > DEEPEST or values > MOST_VALUES:
            return Broken(_begun(item), _TOO_MUCH)
        try:
            inner = next(open_ones[-1])
        except StopIteration:
            open_ones.pop()
            continue
        values += 1
        open_ones.append(_inner(inner))
    return item


def _inner(value: Any) -> Iterator[Any]:
    if isinstance(value, Mapping):
        return iter(value.values())
    return iter(value if isinstance(value, list | tuple) else ())


def _begun(item: Any) -> str:
    try:
        return _cut(json.dumps(item, ensure_ascii=False))
    except (TypeError, ValueError, RecursionError):
        return _cut(ascii(type(item)))


def _pruned(text: str, start: int) -> str:
    """Return a text whose JSON from a place on has nothing below a level that no item may have."""
    parts, depth, kept = [text[:start]], 0, start
    for token in _TOKEN.finditer(text, start):
        if token[0] in "[{":
            depth += 1
            if depth == _PRUNED:
                parts.append(text[kept : token.end()])
        elif token[0] in "]}":
            if depth == _PRUNED:
                kept = token.start()
            depth -= 1
            if depth == 0:
                break
    return "".join([*parts, text[kept:] if depth < _PRUNED else ""])


def _cut(text: str) -> str:
    text = text.encode("utf-8", "replace").decode()
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"


def _no_constant(name: str) -> Any:
    raise ValueError(name)  # NaN and Infinity are Python's, not JSON's


_decoder = json.JSONDecoder(parse_constant=_no_constant)
