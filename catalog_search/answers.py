"""What comes over the network for a statement → rows of its columns and types, or one clear error.

Each statement's shape is one letter a column, in their order:

s   text                    i   a whole number
S   text or NULL            I   a whole number or NULL
l   JSON, a list of text    o   JSON, an object

A 1 before them: exactly one row.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

SHAPES = {
    "ask": "sssis",
    "document_by_id": "isssslo" + "SSII",
    "folding_by_key": "ss",
    "nearest_ids": "s",
    "rows_by_ids": "issssss",
    "terms_held": "is",
    "texts_by_rowids": "isls",
    "vocabulary_by_key": "sss",
}
"""Statements that a database keeps, and are asked for over the network → their shapes."""


def _is_json(value: object, kind: Callable[[Any], bool]) -> bool:
    try:
        return isinstance(value, str) and kind(json.loads(value))
    except (ValueError, RecursionError):
        return False


def _is_list(found: Any) -> bool:
    return isinstance(found, list) and all(isinstance(one, str) for one in found)


_FITS: dict[str, Callable[[object], bool]] = {
    "s": lambda value: isinstance(value, str),
    "S": lambda value: value is None or isinstance(value, str),
    "i": lambda value: type(value) is int,
    "I": lambda value: value is None or type(value) is int,
    "l": lambda value: _is_json(value, _is_list),
    "o": lambda value: _is_json(value, lambda found: isinstance(found, dict)),
}


def fits(rows: Iterable[Sequence[object]], shape: str) -> bool:
    """Tell whether rows are of a shape.

    >>> fits([("a", 1), ("b", 2)], "si"), fits([("a",)], "si"), fits([], "1i"), fits([("[1]",)], "l")
    (True, False, False, False)
    """
    rows = list(rows)
    columns = shape.removeprefix("1")
    if columns != shape and len(rows) != 1:
        return False
    return all(
        len(row) == len(columns) and all(_FITS[letter](value) for letter, value in zip(columns, row, strict=True))
        for row in rows
    )
