"""Text of each format → rows: delimited text, JSON, JSON Lines, and mappings made in Python.

Every format yields the same `Row`. Values are text as the source has it (`007`, `1E10`, `NaN`), lists, or
mappings; memory does not grow with the number of rows.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from typing import Any, Final, NamedTuple, TextIO, TypeAlias

from catalog_search.csvfile import read_cells
from catalog_search.errors import SourceError, nearest
from catalog_search.jsonfile import JsonText, not_json
from catalog_search.settings import as_text

Value: TypeAlias = "str | list[Value] | dict[str, Value] | None"

DEPTH_LIMIT = 100
"""Levels of lists and mappings inside one record."""

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_ESCAPED_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


class Missing(Enum):
    """The one value that stands for a column a row does not have."""

    MISSING = "missing"


MISSING: Final = Missing.MISSING


class Place(NamedTuple):
    """Where in a folder of text files a row is: the file, the trail of headings, the first and the last line."""

    path: str
    heading: str | None
    first_line: int
    last_line: int


class Row(NamedTuple):
    """One entry of a source.

    `line` is the first line it stands on, from 1 as an editor counts, or its number where a source has no
    lines. `values` are its cells by column: text, a list, a mapping, None for a cell that is missing.
    `surplus` counts cells beyond the header, `problem` says why the row cannot be used at all. `place` is that of a
    row of text files.

    >>> Row(2, {"id": "7", "meta": {"unit": "EUR"}}).get("meta.unit")
    'EUR'
    """

    line: int
    values: Mapping[str, Value]
    surplus: int = 0
    problem: str | None = None
    place: Place | None = None

    def find(self, column: str) -> Value | Missing:
        """Return a column's value, else what its dotted path leads to, else MISSING.

        A path through a list leads to the list of what its items hold.
        """
        value = self.values.get(column, MISSING)
        if value is MISSING and "." in column:
            return _follow(self.values, column.split("."))
        return value

    def get(self, column: str) -> Value:
        """Return what `find` finds, None when that is nothing."""
        value = self.values.get(column)
        if value is not None:
            return value
        found = self.find(column)
        return None if found is MISSING else found

    def text(self, column: str) -> str:
        """Return a column's value as text: a list joined by ", ", a mapping as JSON, "" for none."""
        value = self.get(column)
        if isinstance(value, str):
            return value
        if isinstance(value, list):
            return ", ".join(_inline(item) for item in value if item)
        return _inline(value)


def _follow(value: Any, path: Sequence[str]) -> Value | Missing:
    for index, key in enumerate(path):
        if isinstance(value, list):
            found = [_follow(item, path[index:]) for item in value]
            present = [item for item in found if item is not MISSING]
            return _flat(present) if present or not value else MISSING
        if not isinstance(value, Mapping) or key not in value:
            return MISSING
        value = value[key]
    return value  # type: ignore[no-any-return]


def _flat(values: Sequence[Value]) -> list[Value]:
    return [item for value in values for item in (value if isinstance(value, list) else [value])]


def _inline(value: Value) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


# --- delimited text -------------------------------------------------------------------------------------


class Delimited:
    """Delimited text: its columns, then its rows; one pass.

    Args:
        lines: the text's lines with their ends (a file opened with newline="").
        delimiter: one character.
        path: the file's name for messages.

    Raises:
        SourceError: there is no header, or (while rows are read) a quotation mark is left open.

    >>> rows = Delimited(["id,title\\n", "1,Wages\\n"], ",", "a.csv")
    >>> rows.columns, list(rows)
    (('id', 'title'), [Row(line=2, values={'id': '1', 'title': 'Wages'}, surplus=0, problem=None, place=None)])
    """

    def __init__(self, lines: Iterable[str], delimiter: str, path: object) -> None:
        self._cells = read_cells(lines, delimiter, path)
        for line, cells, problem in self._cells:
            if problem:
                raise SourceError(problem, path=path, line=line)
            self.columns = tuple(name.strip() for name in cells)
            return
        raise SourceError("no header: the file is empty; its first line must name the columns", path=path)

    def __iter__(self) -> Iterator[Row]:
        names = self.columns
        width = len(names)
        new = tuple.__new__  # half the cost of Row(…), and this loop is most of the reading
        for line, cells, problem in self._cells:
            count = len(cells)
            if count == width:
                yield new(Row, (line, dict(zip(names, cells)), 0, None, None))  # noqa: B905 - equal counts
            elif problem:
                yield Row(line, {}, 0, problem)
            elif count > 1 or cells[0].strip():
                values: dict[str, Value] = dict.fromkeys(names)
                values.update(zip(names, cells, strict=False))
                yield Row(line, values, max(0, count - width))


# --- values that are not text yet -----------------------------------------------------------------------


def as_value(value: object, depth: int = 0) -> Value:
    """Return a value of JSON or Python as text, lists and mappings; ValueError says what cannot be one.

    >>> as_value([12, True, None, {"a": 1.5}])
    ['12', 'true', None, {'a': '1.5'}]
    """
    if value is None or type(value) is str:
        return value
    if depth > DEPTH_LIMIT:
        raise ValueError(f"more than {DEPTH_LIMIT} levels of lists and mappings")
    text = as_text(value)
    if text is not None:
        return text
    if isinstance(value, Mapping):
        return {str(key): as_value(item, depth + 1) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [as_value(item, depth + 1) for item in value]
    if isinstance(value, (set, frozenset)):
        return [*sorted(as_text(item) or "" for item in value)]
    raise ValueError(f"a value of the type {type(value).__name__} cannot be kept; give text")


def as_row(line: int, record: object, *, check_text: bool = True) -> Row:
    """Return a decoded record as a row; what is wrong with it is the row's problem.

    Args:
        line: the record's line or number.
        record: a mapping from columns to values.
        check_text: look for lone surrogates, which no database stores.
    """
    if not isinstance(record, Mapping):
        return Row(line, {}, 0, f"not a record of columns and values but {_kind(record)}")
    values: dict[str, Value] = {}
    for name, value in record.items():
        column = str(name).strip()
        if column in values:
            return Row(line, {}, 0, f'the column "{column}" is given twice')
        try:
            values[column] = value if type(value) is str else as_value(value)
        except ValueError as problem:
            return Row(line, {}, 0, f'column "{column}": {problem}')
    if check_text and (column_at_fault := _unstorable(values)) is not None:
        return Row(line, {}, 0, f'column "{column_at_fault}" holds half a character (a lone surrogate)')
    return Row(line, values)


def _unstorable(values: Mapping[str, Value]) -> str | None:
    """Return the column that holds a lone surrogate, in its name or its value."""
    for column, value in values.items():
        if _LONE_SURROGATE.search(column) or _holds_surrogate(value):
            return column.encode("utf-8", "replace").decode()
    return None


def _holds_surrogate(value: Value) -> bool:
    if isinstance(value, str):
        return not value.isascii() and _LONE_SURROGATE.search(value) is not None
    if isinstance(value, list):
        return any(_holds_surrogate(item) for item in value)
    if isinstance(value, dict):
        return any(_holds_surrogate(key) or _holds_surrogate(item) for key, item in value.items())
    return False


def _kind(value: object) -> str:
    kinds = {dict: "a mapping", list: "a list", str: "text", type(None): "null", bool: "true or false"}
    return kinds.get(type(value), f"a {type(value).__name__}")


# --- JSON -----------------------------------------------------------------------------------------------


class _Decoder(json.JSONDecoder):
    """JSON whose numbers stay as typed; `repeated` is a key that a mapping of the last value gave twice."""

    def __init__(self) -> None:
        self.repeated: str | None = None
        super().__init__(object_pairs_hook=self._mapping, parse_float=str, parse_int=str, parse_constant=str)

    def _mapping(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        mapping = dict(pairs)
        if len(mapping) != len(pairs):
            names = [name for name, _ in pairs]
            self.repeated = next(name for name in names if names.count(name) > 1)
        return mapping


def read_json_lines(text: Iterable[str]) -> Iterator[Row]:
    """Yield the rows of JSON Lines; a line that is not JSON is a row with a problem, a blank one is no row.

    >>> [row.problem or row.values for row in read_json_lines(['{"id": 007}', '{"id": 1E10}'])]
    ["not JSON: Expecting ',' delimiter at character 9", {'id': '1E10'}]
    """
    decoder = _Decoder()
    for number, line in enumerate(text, 1):
        if not line.strip():
            continue
        decoder.repeated = None
        try:
            record = decoder.decode(line)
        except json.JSONDecodeError as problem:
            yield Row(number, {}, 0, f"{not_json(problem)} at character {problem.pos + 1}")
        except RecursionError:
            yield Row(number, {}, 0, f"more than {DEPTH_LIMIT} levels of lists and mappings")
        else:
            yield _json_row(number, record, decoder, _ESCAPED_SURROGATE.search(line) is not None)


def _json_row(line: int, record: object, decoder: _Decoder, check_text: bool) -> Row:
    if decoder.repeated is not None:
        return Row(line, {}, 0, f'the key "{decoder.repeated}" is given twice')
    return as_row(line, record, check_text=check_text)


def find_records(stream: TextIO, path: object) -> str | None:
    """Return the key of the one list of records in a JSON mapping, None when the JSON is itself a list.

    Raises:
        SourceError: it is neither, or no list or several lists are there to choose from.
    """
    text = JsonText(stream, path, _Decoder())
    if text.peek() != "{":
        return None
    full, empty = [], []
    for key in text.members():
        if text.peek() != "[":
            text.skip()
            continue
        kinds = set()
        for _ in text.items():
            kinds.add(text.peek())
            text.value()
        if not kinds:
            empty.append(key)
        elif kinds == {"{"}:
            full.append(key)
    text.end()
    found = full or empty
    if len(found) != 1:
        what = f"several lists of records ({', '.join(found)})" if found else "no list of records at its top"
        raise SourceError(
            f"the JSON holds {what}; say which list with source: {{records: {(found or ['path.to.it'])[0]}}}",
            path=path,
        )
    return found[0]


def read_json(stream: TextIO, path: object, records: str | None = None) -> Iterator[Row]:
    """Yield the rows of a JSON list.

    Args:
        stream: the file, opened as text with universal newlines.
        path: its name for messages.
        records: the dotted path of the list; None when the JSON is itself the list.

    Raises:
        SourceError: it is not JSON, is cut short, or holds no list there.
    """
    decoder = _Decoder()
    text = JsonText(stream, path, decoder)
    if not text.peek():
        raise SourceError("the file is empty", path=path)
    yield from _json_records(text, decoder, path, records.split(".") if records else [])
    text.end()


def _json_records(text: JsonText, decoder: _Decoder, path: object, inside: list[str]) -> Iterator[Row]:
    if not inside:
        if text.peek() != "[":
            raise SourceError("not a list of records", path=path, line=text.line)
        for _ in text.items():
            line = text.line
            decoder.repeated = None
            record = text.value()
            yield _json_row(line, record, decoder, _ESCAPED_SURROGATE.search(*text.source()) is not None)
        return
    if text.peek() != "{":
        raise SourceError(f'no mapping that could hold "{inside[0]}" (source.records)', path=path, line=text.line)
    whole = ".".join(inside)
    keys, found = [], False
    for key in text.members():
        keys.append(key)
        if key in (whole, inside[0]) and not found:
            found = True
            yield from _json_records(text, decoder, path, [] if key == whole else inside[1:])
        elif key in (whole, inside[0]):
            raise SourceError(f'the key "{key}" is given twice', path=path, line=text.line)
        else:
            text.skip()
    if not found:
        raise SourceError(f'no key "{inside[0]}" (source.records).{nearest(inside[0], keys)}', path=path)
