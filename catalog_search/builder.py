"""Settings, rows and a vocabulary → a .db, all or nothing.

    rows ─▶ drafts, in a temporary table ─▶ duplicates ─▶ documents, in the order of their rank
         ─▶ index ─▶ words, trigrams, broad prefixes ─▶ language, vocabulary with its counts ─▶ published

Equal inputs give equal bytes on one version of SQLite: no clock, no path, nothing random goes in.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from catalog_search.catalog import Catalog
from catalog_search.changes import Removable, changes, is_ours
from catalog_search.database import OLDEST_SQLITE
from catalog_search.drafts import Drafts
from catalog_search.errors import DatabaseError, SettingsError, VocabularyError
from catalog_search.language import Language
from catalog_search.packs import load_language
from catalog_search.scratch import Scratch
from catalog_search.settings import Settings, load_settings
from catalog_search.source import Source, open_source
from catalog_search.tables import Tables
from catalog_search.vocabulary import Vocabulary

Progress = Callable[[float | None, int], None]
"""Called now and then with the share of the source that is read (None if not known) and the rows so far."""


@dataclass(frozen=True, slots=True)
class BuildReport:
    """What a build did."""

    name: str
    path: str
    documents: int
    skipped: list[dict[str, object]] = field(default_factory=list)
    """Rows left out: {"line", "reason"}."""
    ragged_lines: list[int] = field(default_factory=list)
    """Lines of rows with surplus cells, which were cut off, or missing ones, which are empty."""
    duplicates: list[dict[str, object]] = field(default_factory=list)
    """Ids that several rows had: {"id", "lines"}."""
    without_url: int = 0
    added: int = 0
    changed: int = 0
    removed: int = 0
    """Against the previous database at that path."""
    vocabulary: list[dict[str, object]] = field(default_factory=list)
    """Each pair with its counts and verdict; see `catalog_search.measure`."""
    notes: list[str] = field(default_factory=list)
    """What was chosen where the settings leave a choice."""
    seconds: float = 0.0
    size: int = 0
    """Bytes of the database."""
    content_hash: str = ""
    image: bytes | None = field(default=None, repr=False)
    """The database itself, of a build into ":memory:"."""

    @property
    def catalog(self) -> Catalog:
        """The catalogue that was built, opened anew at each call; close it."""
        return Catalog.open(self.path if self.image is None else self.image)

    def as_json(self) -> dict[str, object]:
        """Return it as `build --json` prints it."""
        names = {name: "bytes" if name == "size" else name for name in self.__slots__ if name != "image"}
        return {key: getattr(self, name) for name, key in names.items()}


def build(
    settings: Settings | Mapping[str, Any] | str | os.PathLike[str],
    path: str | os.PathLike[str] | None = None,
    *,
    records: Iterable[Mapping[str, Any]] | None = None,
    max_removed: str | None = None,
    progress: Progress | None = None,
) -> BuildReport:
    """Build a catalogue's database.

    Args:
        settings: a settings file, its content as a mapping, or `Settings`.
        path: the database to write, `<name>.db` by default; ":memory:" for one that is only in memory.
        records: mappings to read instead of the settings' source.
        max_removed: refuse if more documents than that, "5" or "10%", are gone against the previous database.
        progress: see `Progress`.

    Returns:
        What was done; `.catalog` opens it.

    Raises:
        SettingsError, SourceError, VocabularyError: the input is wrong; no file was touched.
        DatabaseError: the database cannot be written, or too many documents are gone; the old one is untouched.

    >>> settings = {"name": "wages", "language": "en", "documents": {"id": "{id}", "title": "{title}"}}
    >>> report = build(settings, ":memory:", records=[{"id": "007", "title": "Wages by sector"}])
    >>> with report.catalog as catalog:
    ...     [result.id for result in catalog.search("wage").results]
    ['007']
    """
    began = time.perf_counter()
    if sqlite3.sqlite_version_info < OLDEST_SQLITE:
        raise DatabaseError(f"SQLite {sqlite3.sqlite_version} is too old; 3.40 or newer is needed")
    if not isinstance(settings, Settings):
        settings = Settings.from_mapping(settings) if isinstance(settings, Mapping) else load_settings(Path(settings))
    removable = None if max_removed is None else Removable.parse(max_removed)
    language = _language(settings)
    vocabulary = (
        Vocabulary.load(settings.vocabulary, settings.language)
        if settings.vocabulary
        else Vocabulary([], language, settings.title)
    )
    source = open_source(settings, records)
    if source.revision is not None:
        settings = replace(settings, provenance=replace(settings.provenance, revision=source.revision))
    if vocabulary.language.tag != language.tag:
        source.notes.append(f"The vocabulary says it is {vocabulary.language.tag}; it is read as {language.tag}.")
        vocabulary = Vocabulary(vocabulary.pairs, language, vocabulary.source_name, vocabulary.path)
    target = os.fspath(path) if path is not None else f"{settings.name}.db"
    _refuse_to_write(target, settings)
    one = _Build(settings, language, vocabulary, source, progress)
    if target == ":memory:":
        connection = sqlite3.connect(":memory:", isolation_level=None)
        try:
            report = one.run(connection, None, removable)
            image = connection.serialize()
        finally:
            connection.close()
        size = len(image)
    else:
        image = None
        report, size = _into_file(one, target, removable)
    values = {**report, "path": target, "size": size, "image": image}
    return BuildReport(name=settings.name, seconds=round(time.perf_counter() - began, 3), **values)


def _language(settings: Settings) -> Language:
    try:
        return load_language(settings.language)
    except VocabularyError as problem:
        line = settings.key_lines.get("language")
        raise SettingsError(problem.message, path=settings.path, line=line, key="language") from None


def _refuse_to_write(target: str, settings: Settings) -> None:
    """Refuse to write over a file that the build reads, or that is none of ours."""
    inputs = {
        "settings file": settings.path,
        "source": settings.source and settings.source.path,
        "vocabulary": settings.vocabulary,
    }
    for what, path in inputs.items():
        if path and os.path.exists(target) and os.path.samefile(target, path):
            raise DatabaseError(f"is the {what} itself; name another file to write", path=target)
    if os.path.isfile(target) and not is_ours(target):
        raise DatabaseError("is there and is no catalogue; name another file, or take it away first", path=target)


def _into_file(one: _Build, target: str, removable: Removable | None) -> tuple[dict[str, Any], int]:
    try:
        if os.path.isdir(target):
            raise DatabaseError("is a folder; name the file to write with -o", path=target)
        scratch = Scratch(target)
    except OSError as problem:
        raise DatabaseError(f"cannot be written: {problem.strerror}", path=target) from None
    try:
        connection = sqlite3.connect(scratch.path, isolation_level=None, uri=False)
        try:
            connection.executescript(
                "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE"
            )
            connection.execute("BEGIN EXCLUSIVE")
            connection.execute("COMMIT")
            scratch.forget_name()
            report = one.run(connection, target, removable)
        finally:
            connection.close()
        try:
            scratch.publish()
        except OSError as problem:
            raise DatabaseError(
                f"could not be written: {problem.strerror}; the old file is untouched", path=target
            ) from None
        return report, scratch.size
    except sqlite3.Error as problem:
        raise DatabaseError(
            f"could not be built: {_plainly(problem)}; the old file is untouched", path=target
        ) from problem
    finally:
        scratch.close()


def _plainly(problem: sqlite3.Error) -> str:
    return "the disk is full" if "disk is full" in str(problem) else str(problem)


class _Build:
    """One build: what goes in."""

    def __init__(
        self,
        settings: Settings,
        language: Language,
        vocabulary: Vocabulary,
        source: Source,
        progress: Progress | None,
    ) -> None:
        self._settings = settings
        self._language = language
        self._vocabulary = vocabulary
        self._source = source
        self._progress = progress or (lambda share, rows: None)

    def run(self, connection: sqlite3.Connection, previous: str | None, removable: Removable | None) -> dict[str, Any]:
        """Fill an empty database; return what the report says of it."""
        connection.execute("PRAGMA cache_size = -16000")
        drafts = Drafts(connection, self._settings, self._source)
        connection.execute("BEGIN")
        drafts.read(self._progress)
        duplicates = drafts.resolve_duplicates()
        tables = Tables(connection, self._settings, self._language, self._vocabulary)
        tables.create()
        tables.write_documents()
        tables.write_words()
        measured = tables.write_vocabulary()
        tables.write_language(drafts.maker.rare)
        digest = tables.write_catalog()
        connection.execute("DROP TABLE temp.drafts")
        connection.execute("COMMIT")
        tables.write_indexes()
        return {
            "documents": tables.count(),
            "skipped": drafts.skipped,
            "ragged_lines": drafts.ragged,
            "duplicates": duplicates,
            "without_url": tables.count("url = ''"),
            **changes(connection, previous, removable, self._source.notes.append),
            "vocabulary": [one.as_json(self._vocabulary.path) for one in measured],
            "notes": list(self._source.notes),
            "content_hash": digest,
        }
