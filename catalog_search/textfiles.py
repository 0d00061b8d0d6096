"""A folder's text files → rows, one for each section, with the place where it stands.

Markdown (.md .markdown .mdx) is read heading by heading, whatever else matches paragraph by paragraph. Symbolic links
are not followed, so that nothing outside of the folder is read.
"""

from __future__ import annotations

import functools
import os
import re
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from catalog_search.encodings import decoding_error, encoding_of
from catalog_search.errors import SettingsError, SourceError
from catalog_search.formats import Place, Row, Value
from catalog_search.revision import Revision, read_revision
from catalog_search.sections import markdown_sections, paragraphs

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from catalog_search.settings import Settings, SourceSettings

COLUMNS = ("id", "title", "path", "slug", "heading", "parents", "line", "last_line", "text", "revision")
"""What a row holds: `heading` is the whole trail, `parents` the list of the headings above."""

TRAIL = " › "
MARKDOWN = (".md", ".markdown", ".mdx")
NAMED = 5
"""So many files are named in a sentence; the others are counted."""


class TextFiles:
    """The sections of the files of a folder that match some patterns, in the order of their paths.

    Attributes:
        notes: sentences on what was left out, and on changes that are not committed.
        revision: what the catalogue's provenance says of it, "" if nothing is known.

    Raises:
        SourceError: a pattern matches no file, git has no answer; while iterating, a file is no text.
        SettingsError: the url needs a revision, and none is stated.
    """

    def __init__(self, settings: Settings, source: SourceSettings) -> None:
        self.notes: list[str] = []
        self._folder, self._encoding = source.path, source.encoding
        found, links = _walk(source.path, source.files)
        chosen = _matching(found, source.files, source.path)
        if links := [path for path in links if any(_expression(one).fullmatch(path) for one in source.files)]:
            self.notes.append(f"Symbolic links are not followed: {_listed(links)}.")
        self.revision = self._address_revision = settings.provenance.revision
        if source.revision == "git":
            chosen = self._of_commit(read_revision(source.path), chosen)
        elif not self.revision and settings.documents.url and "revision" in settings.documents.url.columns:
            raise SettingsError(
                "it holds {revision}, and none is stated; write source: {revision: git} or provenance: {revision: …}",
                path=settings.path,
                line=settings.key_lines.get("documents.url"),
                key="documents.url",
            )
        self.files = {path: found[path] for path in chosen}
        self._done = 0

    def _of_commit(self, revision: Revision, paths: list[str]) -> list[str]:
        if foreign := [path for path in paths if path not in revision.files]:
            self.notes.append(f"Left out, because git does not track it: {_listed(foreign)}.")
        kept = [path for path in paths if path in revision.files]
        if not kept:
            raise SourceError(
                "git tracks none of the files that match source.files; add them to git, or take source.revision away",
                path=self._folder,
            )
        self.revision = self._address_revision = revision.commit
        if changed := [path for path in kept if path in revision.changed]:
            # An address leads to the commit: there is no other place that it could lead to.
            self.revision += "-dirty"
            self.notes.append(f"Not as it was committed: {_listed(changed)}. The revision is marked “-dirty”.")
        return kept

    def __iter__(self) -> Iterator[Row]:
        self._done, empty = 0, []
        for path in self.files:
            count = 0
            for row in self._rows(path):
                count += 1
                yield row
            if not count:
                empty.append(path)
            self._done += self.files[path][2]
        note = f"Without any text: {_listed(empty)}."
        if empty and note not in self.notes:
            self.notes.append(note)

    def _rows(self, path: str) -> Iterator[Row]:
        text = self._read(path)
        name = path.rpartition("/")[2]
        is_markdown = name.lower().endswith(MARKDOWN)
        for one in markdown_sections(text, name) if is_markdown else paragraphs(text):
            trail = TRAIL.join([*one.parents, one.title]) if is_markdown and one.slug else ""
            values: dict[str, Value] = {
                "id": f"{path}#{one.slug}" if one.slug else path,
                "title": one.title, "path": path, "slug": one.slug, "heading": trail,
                "parents": list(one.parents), "line": str(one.first_line), "last_line": str(one.last_line),
                "text": one.text, "revision": self._address_revision,
            }  # fmt: skip
            yield Row(one.first_line, values, 0, None, Place(path, trail or None, one.first_line, one.last_line))

    def _read(self, path: str) -> str:
        """Return the text of a file, its line ends `\\n`."""
        name = str(self._folder / path)
        # O_NOFOLLOW: what was a file when the folder was listed may be a link by now.
        flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
        try:
            descriptor = os.open(name, flags)
        except OSError as problem:
            raise _unreadable(problem) from None
        with open(descriptor, "rb") as file:
            raw = file.read()
            encoding, note = encoding_of(raw[:4096], self._encoding, name)
            if note and note not in self.notes:
                self.notes.append(note)
            try:
                text = raw.decode(encoding)
            except UnicodeError:
                file.seek(0)
                raise decoding_error(file, encoding, self._encoding, name) from None
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        if "\0" in text:
            line = text.count("\n", 0, text.index("\0")) + 1
            raise SourceError("holds a zero byte, so that it is no text; source.files must not match it",
                              path=name, line=line)  # fmt: skip
        return text

    def fraction(self) -> float:
        """Return how much of the files is read, 0 to 1."""
        return self._done / max(1, sum(file[2] for file in self.files.values()))

    def changed(self) -> Path | None:
        """Return a file that is not the one that was listed, was written to since, or is gone."""
        for path, identity in self.files.items():
            try:
                if _identity(os.lstat(self._folder / path)) == identity:
                    continue
            except FileNotFoundError:
                pass
            return self._folder / path
        return None


def _identity(found: os.stat_result) -> tuple[int, int, int, int]:
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def _walk(folder: Path, patterns: Iterable[str]) -> tuple[dict[str, tuple[int, int, int, int]], list[str]]:
    """Return the regular files below a folder by path, and its symbolic links, as far as patterns lead to them."""

    def give_up(problem: OSError) -> None:
        raise _unreadable(problem)

    split = [pattern.split("/") for pattern in patterns]
    files, links = {}, []
    for place, folders, names in os.walk(folder, onerror=give_up):
        inside = Path(place).relative_to(folder)
        for name in (*folders, *names):
            found = os.lstat(os.path.join(place, name))
            path = (inside / name).as_posix()
            if stat.S_ISLNK(found.st_mode):
                links.append(path)
            elif stat.S_ISREG(found.st_mode):
                files[path] = _identity(found)
        folders[:] = [name for name in folders if any(_leads_into((*inside.parts, name), parts) for parts in split)]
    return files, sorted(links)


def _leads_into(folder: Sequence[str], pattern: Sequence[str]) -> bool:
    """Tell whether a pattern may match something below a folder.

    >>> _leads_into(["docs", "a"], ["docs", "*", "b.md"]), _leads_into(["src"], ["docs", "**", "b.md"])
    (True, False)
    """
    for place, name in enumerate(folder):
        if place >= len(pattern) or not (part := pattern[place]):
            return False
        if part == "**":
            return not name.startswith(".") or any(one.startswith(".") for one in pattern)
        if place == len(pattern) - 1 or not _expression(part).fullmatch(name):
            return False
    return True


def _unreadable(problem: OSError) -> SourceError:
    if isinstance(problem, FileNotFoundError):
        said = "no such folder; source.path is relative to the folder of the settings file"
    elif isinstance(problem, NotADirectoryError):
        said = "is no folder; with source.files, source.path names the folder that they are in"
    else:
        said = f"cannot be read: {problem.strerror or problem}"
    return SourceError(said, path=problem.filename)


def _matching(paths: Iterable[str], patterns: Iterable[str], folder: Path) -> list[str]:
    """Return the paths that match one of the patterns, each of which must match one."""
    found: set[str] = set()
    for pattern in patterns:
        matched = {path for path in paths if _expression(pattern).fullmatch(path)}
        if not matched:
            raise SourceError(f'no file matches "{pattern}" (source.files)', path=folder)
        found |= matched
    for path in sorted(found):
        try:
            path.encode()
        except UnicodeEncodeError:
            shown = os.fsencode(path).decode("utf-8", "backslashreplace")
            raise SourceError(f'the name of the file "{shown}" is not UTF-8; rename it', path=folder) from None
    return sorted(found)


@functools.cache
def _expression(pattern: str) -> re.Pattern[str]:
    """Return a pattern of paths as a regular expression.

    `*` and `?` do not match a /; `**` matches folders, as many as there are. None of them matches a name that begins
    with a dot.

    >>> [bool(_expression("docs/**/*.md").fullmatch(path)) for path in ("docs/a.md", "docs/b/c.md", "docs/.d/e.md")]
    [True, True, False]
    """
    pieces = []
    for part in pattern.split("/"):
        if part == "**":
            pieces.append(r"(?:[^/.][^/]*/)*")
            continue
        signs = {"*": "[^/]*", "?": "[^/]"}
        hidden = "" if part.startswith(".") else r"(?!\.)"
        pieces.append(hidden + "".join(signs.get(sign, re.escape(sign)) for sign in part) + "/")
    if pattern.endswith("**"):
        return re.compile("".join(pieces) + r"(?!\.)[^/]+")
    return re.compile("".join(pieces).removesuffix("/"))


def _listed(paths: list[str]) -> str:
    shown = ", ".join(ascii(path)[1:-1] if not path.isprintable() else path for path in paths[:NAMED])
    return f"{shown} and {len(paths) - NAMED:,} more" if len(paths) > NAMED else shown
