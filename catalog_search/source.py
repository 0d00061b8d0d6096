"""Files → rows, with their line numbers.

A source is delimited text (.csv .tsv .txt), JSON (.json), JSON Lines (.jsonl .ndjson) or a SQLite file (.db
.sqlite .sqlite3), each also as .gz, a folder's text files, or records made in Python. A file of another suffix is
known by its first bytes. Whatever it is, it yields `Row`s: text as the source has it, nothing guessed.
"""

from __future__ import annotations

import gzip
import io
import os
import shutil
import sqlite3
import stat
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import IO, BinaryIO, TextIO, cast

from catalog_search.csvfile import detect_delimiter
from catalog_search.encodings import decoding_error, encoding_of
from catalog_search.errors import SettingsError, SourceError, nearest
from catalog_search.formats import (
    MISSING,
    Delimited,
    Row,
    Value,
    as_row,
    find_records,
    read_json,
    read_json_lines,
)
from catalog_search.settings import ColumnUse, Settings, SourceSettings
from catalog_search.sqlitefile import columns_of, connect, query_of, read_sqlite

__all__ = ["Row", "Source", "Value", "open_source"]

_KINDS = {
    ".csv": "delimited", ".tsv": "delimited", ".txt": "delimited",
    ".json": "json", ".jsonl": "json lines", ".ndjson": "json lines",
    ".db": "sqlite", ".sqlite": "sqlite", ".sqlite3": "sqlite",
}  # fmt: skip
_KEYS_OF_KIND = {
    "delimited": {"encoding", "delimiter"},
    "json": {"encoding", "records"},
    "json lines": {"encoding"},
    "sqlite": {"table", "query"},
}
_GZIP = b"\x1f\x8b"
_SQLITE = b"SQLite format 3\0"
_FOREIGN = {
    b"PK\x03\x04": "a ZIP archive or an Excel workbook; save its sheet as CSV",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook; save its sheet as CSV",
    b"PAR1": "a Parquet file; export it as CSV or JSON Lines",
    b"%PDF": "a PDF; a source is CSV, JSON, JSON Lines or SQLite",
}
_SAMPLE_LINES = 1000
_SAMPLE_CHARACTERS = 1 << 18


class Source:
    """A catalogue's rows. Iterating reads the file from its start; each iteration opens it anew.

    Attributes:
        name: the file as messages name it.
        kind: delimited, json, json lines, sqlite, files or records.
        columns: the columns in the file's order, None where each record names its own (JSON, Python).
        notes: sentences on what was chosen where the settings leave a choice.
        revision: of the source, where it is known from it; None otherwise.

    Raises:
        SourceError: from the constructor when the file is missing or is not what its name says, or lacks a
            column; while iterating when its text is broken, or the file changed meanwhile.
        SettingsError: a key of `source` does not go with this kind of file.
    """

    def __init__(self, settings: SourceSettings, needed: Iterable[ColumnUse] = (), catalog: object = None) -> None:
        self.name = str(settings.path)
        self.columns: tuple[str, ...] | None = None
        self.notes: list[str] = []
        self.revision: str | None = None
        self._settings, self._catalog, self._needed = settings, catalog, tuple(needed)
        self._raw: IO[bytes] | None = None
        with self._plain_errors():
            self._fingerprint = self._stat()
            with self._bytes() as binary:
                head = binary.read(4096)
            self.kind = self._kind_of(head)
            self._check_keys()
            self._rows: Callable[[], Iterator[Row]] = self._prepare(head)
        if self.columns is not None:
            self._check_columns(self.columns)

    def __iter__(self) -> Iterator[Row]:
        with self._plain_errors():
            yield from self._rows() if self.columns is not None else self._watched(self._rows())
        self.check_unchanged()

    def fraction(self) -> float | None:
        """Return how much of the file is read, 0 to 1, for a progress bar; None when not known."""
        if self._raw is None or self._raw.closed:
            return None
        size = self._fingerprint[0][2]
        return min(1.0, self._raw.tell() / size) if size else None

    def check_unchanged(self) -> None:
        """Raise SourceError when the file is not the one that was opened, or was written to since."""
        with self._plain_errors():
            changed = self._stat() != self._fingerprint
        if changed:
            raise SourceError("changed while it was read; run the build again", path=self.name)

    # what the file is

    def _stat(self) -> list[tuple[int, int, int, int]]:
        found = os.stat(self._settings.path)
        if not stat.S_ISREG(found.st_mode):
            what = "a directory" if stat.S_ISDIR(found.st_mode) else "not a regular file"
            raise SourceError(f"is {what}; source.path must name a file", path=self.name)
        files = [found]
        log = Path(f"{self._settings.path}-wal")
        if log.exists():
            files.append(log.stat())
        return [(file.st_dev, file.st_ino, file.st_size, file.st_mtime_ns) for file in files]

    def _kind_of(self, head: bytes) -> str:
        for magic, what in _FOREIGN.items():
            if head.startswith(magic):
                raise SourceError(f"is {what}", path=self.name)
        path = self._settings.path
        suffix = Path(path.stem).suffix if path.suffix.lower() == ".gz" else path.suffix
        if kind := _KINDS.get(suffix.lower()):
            return kind
        if head.startswith(_SQLITE):
            return "sqlite"
        start = head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
        return "json" if start in (b"{", b"[") else "delimited"

    def _check_keys(self) -> None:
        for key in ("encoding", "delimiter", "table", "query", "records"):
            if getattr(self._settings, key) is not None and key not in _KEYS_OF_KIND[self.kind]:
                raise SettingsError(
                    f"{self.name} is read as {self.kind}, which has no {key}; remove the key",
                    path=self._catalog,
                    key=f"source.{key}",
                )

    def _check_columns(self, columns: tuple[str, ...]) -> None:
        for use in self._needed:
            if columns.count(use.column) == 1:
                continue
            if use.column in columns:
                raise SourceError(
                    f"duplicate column '{use.column}', which {self._place(use)} needs; rename all but one",
                    path=self.name,
                )
            raise SourceError(
                f'no column "{use.column}", which {self._place(use)} needs.{nearest(use.column, columns)}',
                path=self.name,
            )

    def _place(self, use: ColumnUse) -> str:
        where = f" in line {use.line}" if use.line is not None else ""
        return f"{use.key}{where} of {self._catalog}" if self._catalog else use.key

    def _watched(self, rows: Iterator[Row]) -> Iterator[Row]:
        """Pass rows on; complain at the end about a column that no row had."""
        unseen = {use.column: use for use in self._needed}
        known: dict[str, None] = {}
        count = 0
        for row in rows:
            if row.problem is None:
                count += 1
                if unseen:
                    if len(known) < 1000:
                        known.update(dict.fromkeys(islice(row.values, 100)))
                    for column in [column for column in unseen if row.find(column) is not MISSING]:
                        del unseen[column]
            yield row
        for use in unseen.values():
            if count:
                hint = nearest(use.column, known)
                raise SourceError(
                    f'no record has "{use.column}", which {self._place(use)} needs.{hint}', path=self.name
                )

    # opening

    @contextmanager
    def _bytes(self) -> Iterator[BinaryIO]:
        """Open the file, decompressed."""
        with open(self._settings.path, "rb") as raw:
            self._raw = raw
            packed = raw.read(2) == _GZIP
            raw.seek(0)
            if not packed and self._settings.path.suffix.lower() == ".gz":
                raise SourceError("is named .gz but is not gzip", path=self.name)
            if packed:
                with gzip.GzipFile(fileobj=raw) as plain:
                    yield cast(BinaryIO, plain)
            else:
                yield raw

    @contextmanager
    def _text(self, newline: str | None) -> Iterator[TextIO]:
        with self._bytes() as binary, io.TextIOWrapper(binary, self._encoding, newline=newline) as text:
            yield text

    @contextmanager
    def _plain_errors(self) -> Iterator[None]:
        """Turn the errors of reading into one sentence with the file's name."""
        try:
            yield
        except FileNotFoundError:
            raise SourceError(
                "no such file; source.path is relative to the folder of the settings file", path=self.name
            ) from None
        except (EOFError, zlib.error):
            raise SourceError("the .gz file is damaged or cut short; fetch it again", path=self.name) from None
        except UnicodeError:
            with self._bytes() as binary:
                error = decoding_error(binary, self._encoding, self._settings.encoding, self.name)
            raise error from None
        except (sqlite3.Error, sqlite3.Warning) as problem:
            raise SourceError(f"SQLite cannot read it: {problem}", path=self.name) from None
        except RecursionError:
            raise SourceError("nested too deeply to be read", path=self.name) from None
        except OSError as problem:
            raise SourceError(f"cannot be read: {problem.strerror or problem}", path=self.name) from None

    # each kind

    def _prepare(self, head: bytes) -> Callable[[], Iterator[Row]]:
        """Find out what reading needs to know and return the function that reads."""
        if self.kind == "sqlite":
            with self._sqlite() as connection:
                self._query = query_of(connection, self._settings, self.name)
                self.columns = columns_of(connection, self._query, self.name)
            return self._sqlite_rows
        self._encoding, note = encoding_of(head, self._settings.encoding, self.name)
        self.notes += [note] if note else []
        if self.kind == "json":
            self._records = self._settings.records
            if self._records is None:
                with self._text(None) as text:
                    self._records = find_records(text, self.name)
                if self._records is not None:
                    self.notes.append(f'The records are the list "{self._records}" of {self.name}.')
            return self._json
        if self.kind == "json lines":
            return self._json_lines
        self._delimiter = self._settings.delimiter or self._detected()
        with self._text("") as text:
            self.columns = Delimited(text, self._delimiter, self.name).columns
        return self._delimited

    def _detected(self) -> str:
        lines: list[str] = []
        size = 0
        with self._text("") as text:
            for line in islice(text, _SAMPLE_LINES):
                lines.append(line)
                size += len(line)
                if size > _SAMPLE_CHARACTERS:
                    break
        return detect_delimiter(lines, (use.column for use in self._needed))

    def _delimited(self) -> Iterator[Row]:
        with self._text("") as text:
            yield from Delimited(text, self._delimiter, self.name)

    def _json(self) -> Iterator[Row]:
        with self._text(None) as text:
            yield from read_json(text, self.name, self._records)

    def _json_lines(self) -> Iterator[Row]:
        with self._text(None) as text:
            yield from read_json_lines(text)

    def _sqlite_rows(self) -> Iterator[Row]:
        assert self.columns is not None
        needed = {use.column for use in self._needed}
        with self._sqlite() as connection:
            yield from read_sqlite(connection, self._query, self.columns, needed)

    @contextmanager
    def _sqlite(self) -> Iterator[sqlite3.Connection]:
        """Open the SQLite file so that nothing can be written, neither to it nor beside it."""
        with self._bytes() as binary:
            if binary.read(len(_SQLITE)) != _SQLITE:
                raise SourceError("is not a SQLite file", path=self.name)
            binary.seek(0)
            if not isinstance(binary, gzip.GzipFile):
                with connect(self._settings.path) as connection:
                    yield connection
                return
            with tempfile.TemporaryDirectory() as folder:
                unpacked = Path(folder, "source.db")
                with unpacked.open("wb") as file:
                    shutil.copyfileobj(binary, file)
                with connect(unpacked) as connection:
                    yield connection


class _Records(Source):
    """Rows from records made in Python; iterated as often as the records can be."""

    def __init__(self, records: Iterable[object], needed: Iterable[ColumnUse], catalog: object) -> None:
        if isinstance(records, (str, bytes, Mapping)) or not isinstance(records, Iterable):
            raise SourceError("records must be an iterable of mappings from columns to values")
        self.name, self.kind, self.columns, self.notes, self.revision = "records", "records", None, [], None
        self._needed, self._catalog, self._records_given = tuple(needed), catalog, records

    def __iter__(self) -> Iterator[Row]:
        records = self._records_given
        return self._watched(
            # a sqlite3.Row has keys but is no Mapping
            as_row(number, dict(record) if hasattr(record, "keys") else record)  # type: ignore[call-overload]
            for number, record in enumerate(records, 1)
        )

    def fraction(self) -> float | None:
        return None

    def check_unchanged(self) -> None:
        pass


class _Files(Source):
    """Rows from the text files of a folder."""

    def __init__(self, source: SourceSettings, settings: Settings) -> None:
        from catalog_search.textfiles import COLUMNS, TextFiles  # with its parser, which only such a build needs

        self.name, self.kind, self.columns = str(source.path), "files", COLUMNS
        self._catalog, self._needed = settings.path, settings.columns()
        with self._plain_errors():
            self._files = TextFiles(settings, source)
        self.notes, self.revision = self._files.notes, self._files.revision
        self._check_columns(COLUMNS)

    def __iter__(self) -> Iterator[Row]:
        with self._plain_errors():
            yield from self._files
        self.check_unchanged()

    def fraction(self) -> float | None:
        return self._files.fraction()

    def check_unchanged(self) -> None:
        with self._plain_errors():
            changed = self._files.changed()
        if changed:
            raise SourceError("changed while it was read; run the build again", path=changed)


def open_source(settings: Settings, records: Iterable[object] | None = None) -> Source:
    """Return the rows of a catalogue: of the file that its settings name, or of `records`.

    Args:
        settings: the catalogue's settings.
        records: mappings from columns to values, instead of a file; row `line` is then their number from 1.

    Raises:
        SourceError, SettingsError: see `Source`.

    >>> documents = {"id": "{id}", "title": "{title}"}
    >>> settings = Settings.from_mapping({"name": "wages", "language": "en", "documents": documents})
    >>> [row.text("id") for row in open_source(settings, [{"id": 7, "title": "Wages"}])]
    ['7']
    """
    if records is not None:
        return _Records(records, settings.columns(), settings.path)
    if settings.source is None:
        raise SettingsError(
            "is missing; write source: {path: …} or {files: …}, or hand records to build()",
            path=settings.path,
            key="source",
        )
    if settings.source.files:
        return _Files(settings.source, settings)
    return Source(settings.source, settings.columns(), settings.path)
