"""A new database against the one it replaces: what was added, changed and removed, and whether that is too much."""

from __future__ import annotations

import math
import os
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from catalog_search.catalog import Catalog
from catalog_search.errors import DatabaseError, SettingsError

if TYPE_CHECKING:
    from collections.abc import Callable

UNREADABLE = "The file that was there could not be read as a catalogue: it was replaced."


class Removable(NamedTuple):
    """How many documents may be gone: a number of them, or a share in percent."""

    number: float
    share: bool

    @classmethod
    def parse(cls, value: str) -> Removable:
        """Read "5" or "10%".

        Raises:
            SettingsError: it is neither.

        >>> Removable.parse("10%")
        Removable(number=10.0, share=True)
        """
        share = value.strip().endswith("%")
        try:
            number = float(value.strip().removesuffix("%"))
        except ValueError:
            number = -1.0
        if not 0 <= number < math.inf:
            raise SettingsError(f'max-removed is a number of documents or a share such as 10%, not "{value}"')
        return cls(number, share)

    def __str__(self) -> str:
        return f"{self.number:g}%" if self.share else f"{self.number:g}"

    def of(self, documents: int) -> float:
        """Return how many of so many documents may be gone."""
        return self.number * documents / 100 if self.share else self.number


def is_ours(path: str) -> bool:
    """Tell whether a file may be replaced by a catalogue: it is one, even damaged, or it is empty."""
    with open(path, "rb") as file:
        start = file.read(16)
    if start != b"SQLite format 3\0":
        return not start
    connection = sqlite3.connect(f"{Path(path).absolute().as_uri()}?mode=ro", uri=True)
    try:
        names = {name for (name,) in connection.execute("SELECT name FROM sqlite_schema")}
        return not names or "catalog" in names
    except (sqlite3.DatabaseError, UnicodeDecodeError):
        return True
    finally:
        connection.close()


def changes(
    connection: sqlite3.Connection, previous: str | None, removable: Removable | None, note: Callable[[str], None]
) -> dict[str, int]:
    """Count what was added, changed and removed.

    Args:
        connection: to the new database.
        previous: the file it replaces, None if there is none.
        removable: how much may be gone.
        note: called with a sentence if the old file cannot be read.

    Raises:
        DatabaseError: too many documents are gone, or that cannot be told.
    """
    (documents,) = connection.execute("SELECT count(*) FROM documents").fetchone()
    fresh = {"added": documents, "changed": 0, "removed": 0}
    if previous is None or not os.path.isfile(previous) or not os.path.getsize(previous):
        return fresh
    try:
        with Catalog.open(previous):
            pass
        before, counted = _compared(connection, previous)
    except (DatabaseError, sqlite3.DatabaseError) as problem:
        # It may be damaged, or of another format: a build is the remedy for both.
        if removable is not None:
            raise DatabaseError(
                "the old file cannot be read, so that max-removed cannot be checked; it is untouched. "
                "Build without max-removed to replace it",
                path=previous,
            ) from problem
        note(UNREADABLE)
        return fresh
    if removable is not None and counted["removed"] > removable.of(before):
        raise DatabaseError(
            f"{counted['removed']:,} of {before:,} documents would be removed, more than max-removed {removable} "
            "allows; the old file is untouched. If that is right, build with a larger one or without",
            path=previous,
        )
    return counted


def _compared(connection: sqlite3.Connection, previous: str) -> tuple[int, dict[str, int]]:
    """Return how many documents there were, and what became of them."""
    columns = (
        "title", "url", "keywords", "metadata", "path", "heading", "first_line", "last_line", "text",
    )  # fmt: skip
    now, then = (", ".join(f"{table}.{column}" for column in columns) for table in ("d", "p"))
    counted = {
        "added": "SELECT count(*) FROM documents WHERE id NOT IN (SELECT id FROM previous.documents)",
        "changed": "SELECT count(*) FROM documents d JOIN previous.documents p ON p.id = d.id "
        f"WHERE ({now}) IS NOT ({then})",
        "removed": "SELECT count(*) FROM previous.documents WHERE id NOT IN (SELECT id FROM documents)",
    }
    connection.execute("ATTACH ? AS previous", (str(Path(previous).absolute()),))
    try:
        changes = {name: int(connection.execute(sql).fetchone()[0]) for name, sql in counted.items()}
        (before,) = connection.execute("SELECT count(*) FROM previous.documents").fetchone()
    finally:
        connection.execute("DETACH previous")
    return before, changes
