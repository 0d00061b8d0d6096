"""Every error of the package, and what each one means.

    CatalogSearchError          the base: `except CatalogSearchError` catches all that is foreseen
    ├── SettingsError           the settings file (catalog.yaml) is wrong; fix it
    ├── SourceError             the catalogue's file is not what it says; fix the file or the settings
    ├── VocabularyError         a vocabulary or a language pack is malformed; fix the YAML
    ├── DatabaseError           the .db is missing, damaged, of another format, or could not be written
    ├── QueryError              a search was asked for in a way it has not (an unknown facet, a bad limit)
    │   └── BoundReached        a question needs more work than one may ask for
    ├── ModelError              the model that extracts items did not answer; ask again, or without it
    ├── UpstreamError           another MCP server, which is asked on a caller's behalf, gave no answer
    └── DocumentNotFound        no document has that id

`str(error)` is one message: where, what is wrong, what to do. The place is also kept in fields.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Self


class CatalogSearchError(Exception):
    """What is wrong, where, and what to do.

    Args:
        message: what is wrong and what to do, one sentence or two.
        path: the file it is about, as the caller named it.
        line: its line, counted from 1 as an editor does.
        key: the key, column or id in question.

    >>> str(SourceError("the row has no id", path="a.csv", line=3))
    'a.csv, line 3: the row has no id'
    """

    def __init__(self, message: str, *, path: object = None, line: int | None = None, key: str | None = None) -> None:
        self.message = message
        self.path = None if path is None else str(path)
        self.line = line
        self.key = key
        place = ", ".join(
            part for part in (self.path, None if line is None else f"line {line}", key and f"key {key}") if part
        )
        super().__init__(f"{place}: {message}" if place else message)
        self.sentences: tuple[tuple[str, dict[str, object]], ...] = ()
        """The message as keys of a server's texts with their values, for those who say it in another language."""

    def also(self, key: str, /, **values: object) -> Self:
        """Add a sentence of a server's texts that says the message, or goes on with it; return the error itself."""
        self.sentences += ((key, values),)
        return self

    def also_nearest(self, word: str, known: Iterable[str]) -> Self:
        """Add what `nearest` says."""
        known = list(known)
        if close := _close(word, known):
            return self.also("did_you_mean", near=close)
        return self.also("these_are_known", known=", ".join(known)) if known else self


class SettingsError(CatalogSearchError):
    """The settings of a catalogue are wrong: an unknown key, a missing one, a value of another kind."""


class SourceError(CatalogSearchError):
    """A catalogue's file is missing, of another encoding or shape, or holds rows that cannot be documents."""


class VocabularyError(CatalogSearchError):
    """A vocabulary or a language pack is malformed."""


class DatabaseError(CatalogSearchError):
    """A .db is missing, damaged, of another format version, or could not be written."""


class QueryError(CatalogSearchError):
    """A search has an argument that the catalogue does not know: a facet, a limit, a dialect."""


class BoundReached(QueryError):
    """A question needs more work than one may ask for; asked more narrowly it can be answered."""


class ModelError(CatalogSearchError):
    """The model behind `verified_search` did not answer, or not in the form of a chat completion."""


class UpstreamError(CatalogSearchError):
    """Another server, which is asked on a caller's behalf, cannot be reached, refused the call or gave no answer."""


class DocumentNotFound(CatalogSearchError, LookupError):
    """No document has that id; `nearest` holds the nearest ids that exist."""

    def __init__(self, message: str, *, id: str, nearest: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.id = id
        self.nearest = nearest


def nearest(word: str, known: Iterable[str]) -> str:
    """Return `; did you mean "…"?` for the known word most like `word`, or the list of the known ones.

    >>> nearest("titel", ["id", "title"])
    ' Did you mean "title"?'
    >>> nearest("xyz", ["id", "title"])
    ' Known: id, title.'
    """
    known = list(known)
    if close := _close(word, known):
        return f' Did you mean "{close}"?'
    return f" Known: {', '.join(known)}." if known else ""


def _close(word: str, known: list[str]) -> str:
    from difflib import get_close_matches  # a search that finds needs it not

    return next(iter(get_close_matches(word[:LONGEST_ECHO], known, n=1, cutoff=0.6)), "")


LONGEST_ECHO = 60
"""Characters of a caller's word that a message repeats."""


def echo(word: str) -> str:
    """Return a caller's word as a message repeats it: on one line, and shortened.

    >>> echo("a\\nb"), echo("x" * 100) == "x" * 60 + "…"
    ('a b', True)
    """
    line = " ".join("".join(sign if sign.isprintable() else " " for sign in word[: 4 * LONGEST_ECHO]).split())
    return line if len(line) <= LONGEST_ECHO else f"{line[:LONGEST_ECHO]}…"
