"""Text of a file → its sections: of Markdown one a heading, of plain text one a paragraph.

A section holds whole lines of the file, its heading's own among them, up to the next heading of any level. So the
line `n` of a section is the line `first_line + n - 1` of the file.

Markdown is read as GitHub reads it: by CommonMark with tables, and with its names for headings. Only the blocks are
parsed, and of the headings what stands in them.
"""

from __future__ import annotations

import re
import unicodedata
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from markdown_it import MarkdownIt

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from markdown_it.token import Token

LONGEST_TITLE = 80
"""Characters of a paragraph's first line that become its title."""

_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.S)
_FENCES = {"---": ("---", "..."), "+++": ("+++",)}
_FIELD = re.compile(r"[\w.\"'-]+\s*[:=]|#|\[")
_TITLE = re.compile(r"title\s*[:=]\s*(?P<quote>[\"']?)(?P<title>[^\s>|].*?)(?P=quote)\s*")
_SLUG = ("L", "M", "Nd", "Nl", "Pc")


class Section(NamedTuple):
    """A part of a file: whole lines, from `first_line` to `last_line`, counted from 1.

    `slug` names it within the file, "" for what stands before the first heading; `parents` are the headings above
    its own, the outermost first.
    """

    slug: str
    title: str
    parents: tuple[str, ...]
    first_line: int
    last_line: int
    text: str


def paragraphs(text: str) -> Iterator[Section]:
    """Yield the paragraphs of plain text, which blank lines part; the slug is `L` and the first line's number.

    Args:
        text: with line ends of one character, `\\n`.

    >>> [(one.slug, one.title, one.last_line) for one in paragraphs("Wages\\nby sector\\n\\n\\nRents\\n")]
    [('L1', 'Wages', 2), ('L5', 'Rents', 5)]
    """
    start: int | None = None
    lines = text.split("\n")
    for place, line in enumerate([*lines, ""]):
        if line.strip():
            start = place if start is None else start
        elif start is not None:
            part = lines[start:place]
            said = next((one for one in part if any(map(str.isalnum, one))), part[0])
            yield Section(f"L{start + 1}", _shortened(said), (), start + 1, place, "\n".join(part))
            start = None


def markdown_sections(text: str, name: str) -> Iterator[Section]:
    """Yield the sections of Markdown, in their order.

    What stands before the first heading is a section too, if it is more than comments. Headings inside lists and
    quotations begin none, nor does a heading without text.

    Args:
        text: with line ends of one character, `\\n`.
        name: the title of what stands before the first heading, unless the front matter has one.

    >>> text = "# Wages\\nGross.\\n\\n## By sector\\n```\\n# no heading\\n```\\n"
    >>> [(one.slug, one.parents, one.first_line, one.last_line) for one in markdown_sections(text, "a.md")]
    [('wages', (), 1, 2), ('by-sector', ('Wages',), 4, 7)]
    """
    lines = text.split("\n")
    matter = _front_matter(lines)
    title = next((found["title"] for line in lines[:matter] if (found := _TITLE.fullmatch(line))), "")
    headings = list(_headings("\n".join([""] * matter + lines[matter:]), Slugs()))
    first = headings[0].place if headings else len(lines)
    start, end = _without_blanks(lines, matter, first)
    before = "\n".join(lines[start:end])
    if _COMMENT.sub("", before).strip():
        yield Section("", title or name, (), start + 1, end, before)
    # A page whose title is in its front matter begins with headings of the second level.
    above = [(1, title)] if title and headings and headings[0].level > 1 else []
    ends = [*(one.place for one in headings[1:]), len(lines)]
    for one, end in zip(headings, ends, strict=False):
        while above and above[-1][0] >= one.level:
            above.pop()
        start, end = _without_blanks(lines, one.place, end)
        parents = tuple(title for _, title in above)
        yield Section(one.slug, one.title, parents, start + 1, end, "\n".join(lines[start:end]))
        above.append((one.level, one.title))


class Slugs:
    """The names of a file's headings, as GitHub gives them: the second of a name has -1, the third -2.

    >>> slugs = Slugs()
    >>> [slugs.next(title) for title in ("What's new?", "Whats New", "whats new 1", "Whats new")]
    ['whats-new', 'whats-new-1', 'whats-new-1-1', 'whats-new-2']
    """

    def __init__(self) -> None:
        self._seen: dict[str, int] = {}

    def next(self, title: str) -> str:
        """Return the name of the next heading."""
        kept = "".join(sign for sign in title.lower() if sign in " -" or unicodedata.category(sign).startswith(_SLUG))
        plain = slug = kept.replace(" ", "-")
        while slug in self._seen:
            self._seen[plain] += 1
            slug = f"{plain}-{self._seen[plain]}"
        self._seen[slug] = 0
        return slug


class _Heading(NamedTuple):
    place: int
    level: int
    title: str
    slug: str


_blocks = MarkdownIt("commonmark").enable("table").disable("inline")
_inline = MarkdownIt("commonmark").enable("strikethrough")


def _headings(text: str, slugs: Slugs) -> Iterator[_Heading]:
    """Yield the headings at the top level of Markdown that have a text."""
    links: dict[str, object] = {}
    tokens = _blocks.parse(text, links)
    for token, content in pairwise(tokens):
        if token.type != "heading_open":
            continue
        parts = _inline.parseInline(content.content, links)[0].children or []
        slug = slugs.next(_text(parts, images=False).strip())
        title = " ".join(_text(parts, images=True).split())
        if title and not token.level and token.map:
            place = token.map[0]
            yield _Heading(place, int(token.tag[1:]), title, slug or f"L{place + 1}")


def _text(tokens: Iterable[Token], *, images: bool) -> str:
    """Return what a reader sees of a heading; of an image its description, if wanted."""
    pieces = []
    for token in tokens:
        if token.type == "image":
            pieces.append(_text(token.children or [], images=True) if images else "")
        elif token.type in ("softbreak", "hardbreak"):
            pieces.append(" ")
        elif token.type != "html_inline":
            pieces.append(token.content)
    return "".join(pieces)


def _front_matter(lines: list[str]) -> int:
    """Return how many lines at the start are front matter: fields of YAML or TOML between two fences."""
    ends = _FENCES.get(lines[0].rstrip(), ())
    for place, line in enumerate(lines[1:], 1):
        if line.rstrip() in ends:
            said = next((one.strip() for one in lines[1:place] if one.strip()), "#")
            return place + 1 if _FIELD.match(said) else 0
    return 0


def _without_blanks(lines: list[str], start: int, end: int) -> tuple[int, int]:
    """Return a range of lines without the blank ones at its start and its end."""
    while start < end and not lines[start].strip():
        start += 1
    while end > start and not lines[end - 1].strip():
        end -= 1
    return start, end


def _shortened(line: str) -> str:
    line = " ".join(line.split())
    if len(line) <= LONGEST_TITLE:
        return line
    return (line[:LONGEST_TITLE].rpartition(" ")[0] or line[: LONGEST_TITLE - 1]) + "…"
