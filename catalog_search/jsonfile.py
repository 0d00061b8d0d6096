"""JSON read piece by piece, with line numbers: a long list is never in memory as a whole.

text = JsonText(stream, "a.json", decoder)
for _ in text.items():              # the reader stands before an item
    line, item = text.line, text.value()
text.end()
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, TextIO

from catalog_search.errors import SourceError

_CHUNK = 1 << 16
# how near to the end of what was read an error may be the fault of reading no further: the longest token that
# is neither text nor a number is an escape such as \ud83d\ude00
_TAIL = 16


def not_json(problem: json.JSONDecodeError) -> str:
    """Return what is wrong with a text; where, its reader says: Python's words may end before the place.

    >>> try:
    ...     json.loads('"wages')
    ... except json.JSONDecodeError as problem:
    ...     not_json(problem)
    'not JSON: Unterminated string starting'
    """
    return f"not JSON: {problem.msg.removesuffix(' at').rstrip(': ')}"


class JsonText:
    """A cursor over JSON text.

    Args:
        stream: a file opened as text (universal newlines, so that lines are counted as an editor does).
        path: the file's name for messages.
        decoder: decodes one value; memory holds the longest value it is asked for.

    Raises:
        SourceError: from every method: the text is not JSON, is cut short or nested too deeply.

    >>> import io
    >>> text = JsonText(io.StringIO('[1,\\n2]'), "a.json")
    >>> [(text.line, text.value()) for _ in text.items()]
    [(1, 1), (2, 2)]
    """

    def __init__(self, stream: TextIO, path: object, decoder: json.JSONDecoder | None = None) -> None:
        self._stream, self._path = stream, path
        self._decode = (decoder or json.JSONDecoder()).raw_decode
        self._buffer, self._at, self._ended = "", 0, False
        self._line, self._counted = 1, 0
        self.start = 0

    @property
    def line(self) -> int:
        """The line of the next value, from 1."""
        self.peek()
        return self._line_at(self._at)

    def peek(self) -> str:
        """Step over blanks and return the next character, "" at the end."""
        while True:
            buffer, at = self._buffer, self._at
            end = len(buffer)
            while at < end and buffer[at] in " \t\n\r":
                at += 1
            self._at = at
            if at < end:
                return buffer[at]
            if not self._more():
                return ""

    def take(self, choices: str) -> str:
        """Step over one of the characters of `choices` and return it."""
        character = self.peek()
        if not character or character not in choices:
            wanted = " or ".join(choices)
            raise self._error(f"not JSON: expected {wanted}" if character else self._cut_short())
        self._at += 1
        return character

    def value(self) -> Any:
        """Decode the next value and step over it."""
        first = self.peek()
        if not first:
            raise self._error(self._cut_short())
        while True:
            try:
                value, end = self._decode(self._buffer, self._at)
            except json.JSONDecodeError as problem:
                unfinished = problem.msg.startswith("Unterminated")
                if (unfinished or problem.pos + _TAIL > len(self._buffer)) and self._more():
                    continue
                unfinished = unfinished or problem.pos >= len(self._buffer.rstrip())
                message = self._cut_short() if unfinished else not_json(problem)
                raise self._error(message, problem.pos) from None
            except RecursionError:
                raise self._error("nested too deeply to be read") from None
            else:
                # a number or word at the end of what was read may go on
                if first in '{["' or end + _TAIL < len(self._buffer) or not self._more():
                    self.start, self._at = self._at, end
                    return value

    def source(self) -> tuple[str, int, int]:
        """Return the text that holds the last value as written, with its start and end in that text."""
        return self._buffer, self.start, self._at

    def items(self) -> Iterator[None]:
        """Walk a list: yields before each item, which must be read or skipped before the next step."""
        self.take("[")
        if self.peek() == "]":
            self._at += 1
            return
        while True:
            yield
            if self.take(",]") == "]":
                return

    def members(self) -> Iterator[str]:
        """Walk a mapping: yields each key, standing before its value, which must be read or skipped."""
        self.take("{")
        if self.peek() == "}":
            self._at += 1
            return
        while True:
            if self.peek() != '"':
                raise self._error("not JSON: expected a key in quotation marks")
            key = self.value()
            self.take(":")
            yield key
            if self.take(",}") == "}":
                return

    def skip(self) -> None:
        """Step over the next value, holding no more of it than one item of a list."""
        character = self.peek()
        if character == "[":
            for _ in self.items():
                self.value()
        elif character == "{":
            for _ in self.members():
                self.skip()
        else:
            self.value()

    def end(self) -> None:
        """Check that nothing but blanks is left."""
        if self.peek():
            raise self._error(
                "text after the end of the JSON; when each line is a record of its own, name the file .jsonl"
            )

    def _more(self) -> bool:
        """Read on; False at the end. What was stepped over is let go."""
        if self._ended:
            return False
        # doubling what is held keeps the decoding of one long value linear
        piece = self._stream.read(max(_CHUNK, len(self._buffer) - self._at))
        if not piece:
            self._ended = True
            return False
        self._line, self._counted = self._line_at(self._at), 0
        self._buffer, self._at = self._buffer[self._at :] + piece, 0
        return True

    def _line_at(self, position: int) -> int:
        if position >= self._counted:
            self._line += self._buffer.count("\n", self._counted, position)
            self._counted = position
            return self._line
        return self._line - self._buffer.count("\n", position, self._counted)

    def _cut_short(self) -> str:
        return "the file ends inside the JSON; it was cut short"

    def _error(self, message: str, position: int | None = None) -> SourceError:
        line = self._line_at(self._at if position is None else position)
        return SourceError(message, path=self._path, line=line)
