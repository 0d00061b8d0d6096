"""Templates: text with columns in it, from which a document's id, title, url and text are made.

`{column}` stands for a column of the row, `{a|b}` for the first of two that is not empty, `{{` and `}}` for
braces and `||`, between braces, for a `|` of the column's name. It is not `str.format`: a column's name may
hold any character (`a[b]`, `Value [EUR]`, `q"t`), and `meta.unit` reaches the field `unit` inside `meta`
unless a column has that very name.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import quote as percent_encode

# A placeholder ends at the first brace, unless two braces stand alone: `{{{id}}}` is {, the id, }.
_PIECE = re.compile(
    r"(?P<brace>\{\{|\}\})|\{(?P<columns>(?:[^{}]|\{\{|\}\}(?!\}))*)\}|(?P<text>[^{}]+)|(?P<lone>.)", re.S
)
_UNRESERVED = re.compile(r"[A-Za-z0-9._~-]+")
_HTTP = re.compile(r"https?://[^\s/?#\\]", re.I)
_NOT_IN_URLS = re.compile(r"[\s\x00-\x1f\x7f-\x9f\\<>\"]")


@dataclass(frozen=True, slots=True)
class Template:
    """Text with columns in it, compiled once.

    `parts` are the template in order: a string is text, a tuple the columns of which the first that is not
    empty is taken.

    >>> Template.parse("{{{code}}} {name|code}").render({"code": "7", "name": " "}.__getitem__)
    '{7} 7'
    """

    text: str
    parts: tuple[str | tuple[str, ...], ...]

    @classmethod
    def parse(cls, text: str) -> Template:
        """Compile a template; ValueError says what is wrong with it."""
        parts: list[str | tuple[str, ...]] = []
        for match in _PIECE.finditer(text):
            if match["lone"]:
                raise ValueError(
                    f'the brace at character {match.start() + 1} of "{text}" has no partner; '
                    "write {{ or }} for a brace that is text"
                )
            if match["columns"] is not None:
                parts.append(_columns_of(match["columns"], text))
                continue
            piece = match["text"] or match["brace"][0]
            if parts and isinstance(parts[-1], str):
                parts[-1] += piece
            else:
                parts.append(piece)
        return cls(text, tuple(parts))

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns it needs, each once, in order."""
        groups = [part for part in self.parts if isinstance(part, tuple)]
        return tuple(dict.fromkeys(column for group in groups for column in group))

    @property
    def is_one_column(self) -> bool:
        """Whether it is a placeholder and nothing else, so that it yields a value as the row has it."""
        return len(self.parts) == 1 and isinstance(self.parts[0], tuple)

    def render(self, get: Callable[[str], str]) -> str:
        """Return the text for one row.

        Args:
            get: a column's value as text, "" when it has none (`Row.text`).
        """
        return "".join([part if isinstance(part, str) else _first(part, get) for part in self.parts])

    def render_url(self, get: Callable[[str], str]) -> str:
        """Return the url for one row, "" when a column it needs is empty; judge it with `url_problem`.

        Values are percent-encoded (all but RFC 3986's unreserved characters), unless the template is one
        column: its value is a url already.

        >>> Template.parse("https://example.org/{id}").render_url({"id": "a b/2"}.__getitem__)
        'https://example.org/a%20b%2F2'
        """
        if self.is_one_column:
            return self.render(get).strip()
        pieces = []
        for part in self.parts:
            if isinstance(part, str):
                pieces.append(part)
                continue
            value = _first(part, get).strip()
            if not value:
                return ""
            pieces.append(value if _UNRESERVED.fullmatch(value) else percent_encode(value, safe=""))
        return "".join(pieces)


def url_problem(url: str) -> str | None:
    """Say why a url cannot be shown as a link, None when it can or is empty.

    >>> url_problem("javascript:alert(1)")
    'the url "javascript:alert(1)" does not begin with http:// or https://'
    """
    if not url:
        return None
    shown = url if len(url) <= 80 else url[:79] + "…"
    if not _HTTP.match(url):
        return f'the url "{shown}" does not begin with http:// or https://'
    if _NOT_IN_URLS.search(url):
        return f'the url "{shown}" holds a blank or another character that must be percent-encoded'
    return None


def _columns_of(inner: str, template: str) -> tuple[str, ...]:
    """Return the columns between the braces of a placeholder."""
    whole = inner.replace("{{", "{").replace("}}", "}").replace("||", "\0")
    columns = tuple(column.replace("\0", "|").strip() for column in whole.split("|"))
    if not all(columns):
        raise ValueError(f'a pair of braces in "{template}" names no column')
    return columns


def _first(columns: tuple[str, ...], get: Callable[[str], str]) -> str:
    """Return the first value that is more than blanks, else the first."""
    if len(columns) == 1:
        return get(columns[0])
    values = [get(column) for column in columns]
    return next((value for value in values if value.strip()), values[0])
