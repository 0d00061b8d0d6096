"""Delimited text → cells, with the line each row begins on, and which delimiter a file has."""

from __future__ import annotations

import csv
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from catalog_search.errors import SourceError

DELIMITERS = (",", ";", "\t", "|")
CELL_LIMIT = 1 << 27
"""Characters of one cell: beyond it a quotation mark was surely left open."""


def detect_delimiter(sample: Sequence[str], needed: Iterable[str] = ()) -> str:
    """Return the delimiter of a file from its first lines.

    The header must hold the most of the `needed` columns; then the most rows must have the header's number
    of cells; then the most cells win. A comma when nothing tells.

    >>> detect_delimiter(["id;title\\n", "1;Wages, men, total\\n", "2;Rents, flats\\n"])
    ';'
    """
    needed = set(needed)
    best, delimiter = (0, 0.0, 1), ","
    for candidate in DELIMITERS:
        rows = _sample_rows(sample, candidate)
        if not rows or len(rows[0]) < 2:
            continue
        header = {name.strip() for name in rows[0]}
        even = sum(len(row) == len(rows[0]) for row in rows) / len(rows)
        score = (len(needed & header), even, len(rows[0]))
        if score > best:
            best, delimiter = score, candidate
    return delimiter


def _sample_rows(sample: Sequence[str], delimiter: str) -> list[list[str]]:
    with _long_cells():
        # without strict no text is an error, so that a wrong delimiter is judged like a right one
        return [row for row in csv.reader(sample, delimiter=delimiter) if row]


def read_cells(lines: Iterable[str], delimiter: str, path: object) -> Iterator[tuple[int, list[str], str | None]]:
    """Yield (first line, cells, problem) for each row; blank lines are no rows.

    Lines are counted from 1 as an editor counts them. A row with a problem, a stray quotation mark, has no
    cells, and reading goes on with the next line.

    Args:
        lines: the text's lines with their ends, so that line ends inside quotation marks are kept.
        delimiter: one character.
        path: the file's name for messages.

    Raises:
        SourceError: a quotation mark opens a cell and none closes it; with the line where it opens.
    """
    # strict: a stray quotation mark is an error with a line, not a cell that silently changed
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    with _long_cells():
        while True:
            line = reader.line_num + 1
            try:
                for cells in reader:
                    if cells:
                        yield line, cells, None
                    line = reader.line_num + 1
                return
            except csv.Error as problem:
                message = str(problem)
            if "unexpected end of data" in message or "field larger than" in message:
                raise SourceError(
                    "a quotation mark opens a cell in this row and none closes it; close it, or double it "
                    "where it is text",
                    path=path,
                    line=line,
                )
            stray = "expected after" in message
            yield line, [], _STRAY if stray else f"not delimited text: {message}"


_STRAY = "a quotation mark inside a quoted cell is not doubled, or a cell's quotation mark is not closed"

_lock = threading.Lock()
_readers = 0
_limit_before = 0


@contextmanager
def _long_cells() -> Iterator[None]:
    """Let csv read long cells. The limit is the process's: the last reader to end puts it back."""
    global _readers, _limit_before
    with _lock:
        if _readers == 0:
            _limit_before = csv.field_size_limit()
            csv.field_size_limit(max(_limit_before, CELL_LIMIT))
        _readers += 1
    try:
        yield
    finally:
        with _lock:
            _readers -= 1
            if _readers == 0:
                csv.field_size_limit(_limit_before)
