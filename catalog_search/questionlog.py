"""A log of questions → the questions, one at a time, with what it says of each answer.

JSON Lines, `{"query": "…", "results": 3, "relaxed": false}`, or delimited text with a header. `serve --log-queries`
writes besides whether the question was `missed`, null where it cannot tell; that decides wherever it stands. What the
file begins with says which form it has; a line that cannot be used is told of, and reading goes on.
"""

from __future__ import annotations

import csv
import json
from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple

from catalog_search.csvfile import detect_delimiter
from catalog_search.encodings import encoding_of
from catalog_search.errors import SourceError
from catalog_search.jsonfile import not_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

COLUMNS = ("query", "question", "q", "search_query", "search_term", "search", "keyword", "text")
"""Names of the column that holds the question, the first that there is."""
CLICKED = ("clicked", "clicked_id", "clicked_ids", "opened")
"""Names of the member or column that holds the id that was chosen from the answer, or a list of them."""
SESSIONS = ("session", "session_id", "user", "caller")
"""Names of the member or column that tells who asked."""

_HEAD = 1 << 16
_SAMPLE = 20
_TOLD_EVERY = 1_000


class Logged(NamedTuple):
    """One question of a log."""

    line: int
    query: str
    missed: bool | None
    """Whether it had no strict answer, None if the log does not say."""
    clicked: tuple[str, ...] = ()
    """Ids of what was chosen from its answer, where the log says so."""
    session: str | None = None
    """Who asked, where the log says so."""


class BadLine(NamedTuple):
    """A line that holds no question that can be used, and why."""

    line: int
    reason: str


def read_log(
    path: str,
    column: str | None = None,
    progress: Callable[[float | None, int], None] | None = None,
) -> Iterator[Logged | BadLine]:
    """Yield the questions of a log and the lines that hold none; memory does not grow with the file.

    Args:
        path: the file.
        column: the member or column that holds the question; the first of COLUMNS otherwise.
        progress: called now and then with the share of the file that is read and the number of lines.

    Raises:
        SourceError: the file cannot be read, or no column of its header holds a question.
    """
    try:
        with open(path, "rb") as binary:
            head = binary.read(_HEAD)
            size = binary.seek(0, 2)
        encoding, _ = encoding_of(head, None, path)
        errors = "surrogateescape" if encoding.startswith("utf-8") else "replace"  # spoil their own line only
        with open(path, encoding=encoding, errors=errors, newline="") as file:
            lines = _told(file, size, progress) if progress else file
            start = head.decode(encoding, "replace").lstrip("\ufeff \t\r\n")
            names = (column,) if column else COLUMNS
            yield from _json_lines(lines, names) if start[:1] == "{" else _delimited(lines, names, path)
    except OSError as problem:
        raise SourceError(f"cannot be read: {problem.strerror or problem}", path=path) from None


def without_question(path: str, bad: int, first: BadLine) -> SourceError:
    """Return the error of a log of which no line can be used."""
    lines = "its line cannot be used" if bad == 1 else f"none of its {bad:,} lines can be used"
    return SourceError(f"holds no question, {lines}: {first.reason}", path=path, line=first.line)


def _told(file: Iterable[str], size: int, progress: Callable[[float | None, int], None]) -> Iterator[str]:
    done = 0
    for number, line in enumerate(file, 1):
        done += len(line)
        if number % _TOLD_EVERY == 0:
            progress(min(1.0, done / size), number)
        yield line


def _json_lines(lines: Iterable[str], names: tuple[str, ...]) -> Iterator[Logged | BadLine]:
    for number, text in enumerate(lines, 1):
        if not text.strip():
            continue
        try:
            value = json.loads(text)
        except json.JSONDecodeError as problem:
            yield BadLine(number, f"{not_json(problem)} at character {problem.pos + 1}")
            continue
        except RecursionError:
            yield BadLine(number, "not JSON: nested too deeply")
            continue
        except ValueError:  # Python reads no integer of more than some thousand digits
            yield BadLine(number, "a number has too many digits")
            continue
        if not isinstance(value, dict):
            yield BadLine(number, 'not an object such as {"query": "…"}')
            continue
        name = next((name for name in names if name in value), None)
        if name is None:
            yield BadLine(number, f"no member {_either(names)}; it has {', '.join(value) or 'none'}")
        else:
            yield _logged(number, name, value[name], value)


def _delimited(lines: Iterable[str], names: tuple[str, ...], path: str) -> Iterator[Logged | BadLine]:
    source = _Lines(lines)
    delimiter = detect_delimiter(source.ahead(_SAMPLE), names)
    header: list[str] | None = None
    place = -1
    for number, cells, problem in _rows(source, delimiter):
        if header is None:
            header = [name.strip().lower() for name in cells]
            found = [name for name in names if name.strip().lower() in header]
            if not found:
                shown = ", ".join(f"“{name.strip()}”" for name in cells) or problem or "an empty line"
                raise SourceError(
                    f"no column is {_either(names)}; its header is {shown}; name the column of the questions",
                    path=path, line=number,
                )  # fmt: skip
            place = header.index(found[0].strip().lower())
        elif problem:
            yield BadLine(number, problem)
        elif len(cells) <= place:
            yield BadLine(number, f"{len(cells)} cells; the question is in cell {place + 1}")
        else:
            yield _logged(number, header[place], cells[place], dict(zip(header, cells, strict=False)))


class _Lines:
    """Lines that can be looked at before they are read, and read again."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._lines = iter(lines)
        self._waiting: deque[str] = deque()
        self._taken: list[str] = []
        self.first = 1
        """The number of the first line that was read and not let go of."""

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = self._waiting.popleft() if self._waiting else next(self._lines)
        self._taken.append(line)
        return line

    def ahead(self, most: int) -> list[str]:
        """Return the next lines without reading them."""
        for line in self._lines:
            self._waiting.append(line)
            if len(self._waiting) >= most:
                break
        return list(self._waiting)

    def keep(self) -> None:
        """Let go of the lines that were read."""
        self.first += len(self._taken)
        self._taken.clear()

    def back_to_second(self) -> None:
        """Let go of the first of the lines that were read, and stand behind it."""
        self._waiting.extendleft(reversed(self._taken[1:]))
        self.first += 1
        self._taken.clear()


def _rows(source: _Lines, delimiter: str) -> Iterator[tuple[int, list[str], str]]:
    """Yield line, cells and problem of each row; a wrong quotation mark spoils the line it is in, and no other."""
    while True:
        reader = csv.reader(source, delimiter=delimiter, strict=True)
        try:
            for cells in reader:
                number = source.first
                source.keep()
                if cells:
                    yield number, cells, ""
            return
        except csv.Error as problem:
            number = source.first
            source.back_to_second()
            yield number, [], f"not delimited text: {problem}"


def _logged(line: int, name: str, value: Any, row: dict[str, Any]) -> Logged | BadLine:
    if not isinstance(value, str):
        return BadLine(line, f'"{name}" is not text')
    if not value.strip():
        return BadLine(line, f'"{name}" is empty')
    if not value.isascii() and any("\udc80" <= sign <= "\udcff" for sign in value):
        return BadLine(line, f'"{name}" is not UTF-8')
    clicked = next((row[name] for name in CLICKED if row.get(name)), ())
    session = next((str(row[name]) for name in SESSIONS if row.get(name)), None)
    missed = _missed(row)
    ids = clicked if isinstance(clicked, list) else [clicked] if clicked else []
    return Logged(line, value, missed, tuple(map(str, ids)), session)


def _missed(row: dict[str, Any]) -> bool | None:
    """Tell whether an answer was not strict: by the log's own word, else by its results and whether it was relaxed."""
    if "missed" in row:
        return _truth(row["missed"])
    if row.get("tool") not in (None, "", "search"):
        return None  # other tools answer with other things than results
    results, relaxed = row.get("results"), _truth(row.get("relaxed"))
    count = str(len(results) if isinstance(results, list) else results).strip()
    if relaxed or count == "0":
        return True
    return False if count.isdecimal() or relaxed is False else None


def _truth(value: Any) -> bool | None:
    return {"true": True, "1": True, "false": False, "0": False}.get(str(value).strip().lower())


def _either(names: tuple[str, ...]) -> str:
    return " or ".join(f"“{name}”" for name in names)
