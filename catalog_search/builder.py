"""Settings, rows and a vocabulary → a .db, all or nothing.

    rows ─▶ drafts, in a temporary table ─▶ duplicates ─▶ documents, in the order of their rank
         ─▶ index ─▶ words, trigrams, broad prefixes ─▶ language, vocabulary with its counts ─▶ published

Equal inputs give equal bytes on one version of SQLite: no clock, no path, nothing random goes in.
"""

from __future__ import annotations

import json
import math
import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any

import sqlite_utils

from catalog_search.catalog import Catalog
from catalog_search.database import FORMAT_VERSION, OLDEST_SQLITE
from catalog_search.documents import BadRow, DocumentMaker, Draft, merged, rare_characters
from catalog_search.errors import DatabaseError, SettingsError, SourceError
from catalog_search.language import Language, load_language
from catalog_search.measure import Measured, measure
from catalog_search.ranking import BROAD
from catalog_search.scratch import Scratch
from catalog_search.settings import Settings, load_settings
from catalog_search.source import Source, open_source
from catalog_search.statements import query_time, statement
from catalog_search.text import SPELLINGS, full_folding
from catalog_search.vocabulary import Vocabulary

LICENCE_NOTES = (
    "The table folding is made from Unidecode (GPL-2.0-or-later). Documents are under the licence of their source."
)
NAMED_BAD_ROWS = 20

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
        names = [name for name in self.__slots__ if name != "image"]
        return {name: getattr(self, name) for name in names}


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
    removable = _max_removed(max_removed)
    language = load_language(settings.language)
    vocabulary = (
        Vocabulary.load(settings.vocabulary, settings.language)
        if settings.vocabulary
        else Vocabulary([], language, settings.title)
    )
    source = open_source(settings, records)
    target = os.fspath(path) if path is not None else f"{settings.name}.db"
    _refuse_inputs(target, settings)
    build = _Build(settings, language, vocabulary, source, progress)
    if target == ":memory:":
        connection = sqlite3.connect(":memory:", isolation_level=None)
        try:
            report = build.run(connection, None, removable)
            image = connection.serialize()
        finally:
            connection.close()
        size = len(image)
    else:
        image = None
        report, size = _into_file(build, target, removable)
    values = {**report, "path": target, "size": size, "image": image}
    return BuildReport(name=settings.name, seconds=round(time.perf_counter() - began, 3), **values)


def _refuse_inputs(target: str, settings: Settings) -> None:
    """Refuse to write over a file that the build reads."""
    inputs = {
        "settings file": settings.path,
        "source": settings.source and settings.source.path,
        "vocabulary": settings.vocabulary,
    }
    for what, path in inputs.items():
        if path and os.path.exists(target) and os.path.samefile(target, path):
            raise DatabaseError(f"is the {what} itself; name another file to write", path=target)


def _into_file(build: _Build, target: str, removable: tuple[float, bool] | None) -> tuple[dict[str, Any], int]:
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
            report = build.run(connection, target, removable)
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


def _max_removed(value: str | None) -> tuple[float, bool] | None:
    """Return the number and whether it is a share."""
    if value is None:
        return None
    share = value.strip().endswith("%")
    try:
        number = float(value.strip().removesuffix("%"))
    except ValueError:
        number = -1.0
    if not 0 <= number < math.inf:
        raise SettingsError(f'max-removed is a number of documents or a share such as 10%, not "{value}"')
    return number, share


class _Build:
    """One build, on a connection to an empty database."""

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
        self._maker = DocumentMaker(settings)
        self._skipped: list[dict[str, object]] = []
        self._ragged: list[int] = []

    def run(
        self, connection: sqlite3.Connection, previous: str | None, removable: tuple[float, bool] | None
    ) -> dict[str, Any]:
        self._db = sqlite_utils.Database(connection, execute_plugins=False)
        self._execute = connection.execute
        self._connection = connection
        self._execute("PRAGMA cache_size = -16000")
        self._db.executescript(statement("schema"))
        self._execute("BEGIN")
        self._read_drafts()
        duplicates = self._resolve_duplicates()
        self._write_documents()
        documents = self._db.table("documents")
        documents.rebuild_fts()
        documents.optimize()  # before the other tables, which take the pages that it frees
        self._write_words()
        measured = self._write_vocabulary()
        self._write_language()
        digest = self._write_catalog(documents.count)
        self._execute("DROP TABLE temp.drafts")
        self._execute("COMMIT")
        self._db.executescript(statement("indexes"))
        self._index_facets()
        changes = self._changes(previous, removable)
        (without_url,) = self._execute("SELECT count(*) FROM documents WHERE url = ''").fetchone()
        return {
            "documents": documents.count,
            "skipped": self._skipped,
            "ragged_lines": self._ragged,
            "duplicates": duplicates,
            "without_url": without_url,
            **changes,
            "vocabulary": [one.as_json(self._vocabulary.path) for one in measured],
            "notes": list(self._source.notes),
            "content_hash": digest,
        }

    # Rows → drafts ----------------------------------------------------------------------------------------

    def _read_drafts(self) -> None:
        columns = ", ".join(Draft._fields)
        places = ", ".join("?" * len(Draft._fields))
        self._execute(f"CREATE TEMP TABLE drafts ({columns})")
        bad: list[tuple[int, str]] = []
        found = count = 0
        batch: list[Draft] = []
        insert = f"INSERT INTO drafts VALUES ({places})"
        stop = self._settings.on_bad_row == "stop"
        for row in self._source:
            count += 1
            if not count % 1_000:
                self._progress(self._source.fraction(), count)
            if row.surplus or (self._source.kind == "delimited" and None in row.values.values()):
                self._ragged.append(row.line)
            try:
                if row.surplus and stop:
                    cells = "1 more cell" if row.surplus == 1 else f"{row.surplus} more cells"
                    raise BadRow(f"{cells} than the header has")
                batch.append(self._maker.make(row))
            except BadRow as problem:
                found += 1
                if not stop or found <= NAMED_BAD_ROWS:
                    bad.append((row.line, str(problem)))
                continue
            if len(batch) == 1_000:
                self._connection.executemany(insert, batch)
                batch.clear()
        self._connection.executemany(insert, batch)
        if bad and stop:
            raise self._bad_rows(bad, found)
        self._skipped = [{"line": line, "reason": reason} for line, reason in bad]
        if not self._execute("SELECT 1 FROM drafts LIMIT 1").fetchone():
            raise SourceError("it holds no document; nothing was built", path=self._source.name)
        self._progress(1.0, count)

    def _bad_rows(self, named_rows: list[tuple[int, str]], count: int) -> SourceError:
        named = "\n".join(f"  line {line}: {reason}" for line, reason in named_rows)
        more = f"\n  and {count - len(named_rows):,} more" if count > len(named_rows) else ""
        rows = "1 bad row" if count == 1 else f"{count:,} bad rows"
        return SourceError(
            f"{rows}; nothing was built. Correct the file, or set “on_bad_row: skip”\n{named}{more}",
            path=self._source.name,
        )

    def _resolve_duplicates(self) -> list[dict[str, object]]:
        """Leave one draft for each id, as the settings say; return the ids that had several."""
        self._execute("CREATE INDEX temp.drafts_id ON drafts(id)")
        repeated = self._execute(
            "SELECT id, json_group_array(line) FROM "
            "(SELECT id, line FROM drafts WHERE id IN (SELECT id FROM drafts GROUP BY id HAVING count(*) > 1) "
            "ORDER BY id, line) GROUP BY id ORDER BY min(line)"
        ).fetchall()
        found: list[dict[str, object]] = [{"id": id, "lines": json.loads(lines)} for id, lines in repeated]
        if not found:
            return []
        if self._settings.duplicates == "error":
            named = "\n".join(f"  id “{one['id']}”: lines {_list(one['lines'])}" for one in found[:NAMED_BAD_ROWS])
            more = f"\n  and {len(found) - NAMED_BAD_ROWS} more" if len(found) > NAMED_BAD_ROWS else ""
            ids = "1 id is" if len(found) == 1 else f"{len(found):,} ids are"
            raise SourceError(
                f"{ids} given more than once (duplicate id); nothing was built. "
                f"Correct the file, or set “duplicates: first” or “duplicates: merge”\n{named}{more}",
                path=self._source.name,
                key=str(found[0]["id"]),
            )
        places = ", ".join("?" * len(Draft._fields))
        for one in found:
            rows = self._execute("SELECT * FROM drafts WHERE id = ? ORDER BY line, rowid", (one["id"],)).fetchall()
            drafts = [Draft(*row) for row in rows]
            kept = drafts[0] if self._settings.duplicates == "first" else merged(drafts, self._maker)
            self._execute("DELETE FROM drafts WHERE id = ?", (one["id"],))
            self._execute(f"INSERT INTO drafts VALUES ({places})", kept)
        return found

    # Drafts → documents, index, words ---------------------------------------------------------------------

    def _write_documents(self) -> None:
        """Write the documents in the order of their rank; the next free number on collision."""
        columns = ", ".join(Draft._fields[2:])
        self._execute(
            f"INSERT INTO documents (rowid, {columns}) "
            "SELECT place + max(rank - place) OVER (ORDER BY place), "
            f"{columns} FROM (SELECT *, row_number() OVER (ORDER BY rank, id) AS place FROM drafts) ORDER BY place"
        )

    def _write_words(self) -> None:
        (documents,) = self._execute("SELECT count(*) FROM documents").fetchone()
        self._execute("CREATE VIRTUAL TABLE temp.by_word USING fts5vocab(main, documents_fts, row)")
        self._execute("CREATE VIRTUAL TABLE temp.by_column USING fts5vocab(main, documents_fts, col)")
        self._execute("CREATE TEMP TABLE counted AS SELECT term, doc FROM by_word")
        words = self._execute(
            "SELECT term, doc FROM counted "
            "WHERE term IN (SELECT term FROM by_column WHERE col <> 'id_lc') ORDER BY term"
        )
        singular = self._language.singular
        self._connection.executemany(
            "INSERT INTO words (word, documents, weight, singular) VALUES (?, ?, ?, ?)",
            ((word, count, round(1000 * math.log(documents / count)), singular(word)) for word, count in words),
        )
        self._execute(
            "WITH RECURSIVE place(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM place "
            "WHERE n < (SELECT max(length(word)) FROM words)) "
            "INSERT INTO trigrams SELECT DISTINCT substr('_'||w.word||'_', n, 3), w.rowid "
            "FROM words AS w JOIN place ON n <= length(w.word) ORDER BY 1, 2"
        )
        self._execute("INSERT INTO trigram_counts SELECT trigram, count(*) FROM trigrams GROUP BY trigram")
        self._write_prefixes()
        for name in ("counted", "by_word", "by_column"):
            self._execute(f"DROP TABLE temp.{name}")

    def _write_prefixes(self) -> None:
        """Write the broad prefixes, letter by letter: a broad one begins with broad ones."""
        length = 1
        while True:
            found = self._execute(
                "INSERT INTO prefixes SELECT substr(term, 1, ?1), sum(doc) FROM counted "
                "WHERE length(term) >= ?1 AND (?1 = 1 OR substr(term, 1, ?1 - 1) IN "
                "(SELECT prefix FROM prefixes WHERE length(prefix) = ?1 - 1)) "
                "GROUP BY 1 HAVING sum(doc) > ?2",
                (length, BROAD),
            )
            if not found.rowcount:
                return
            length += 1

    # What folds, splits and translates --------------------------------------------------------------------

    def _write_vocabulary(self) -> list[Measured]:
        measured = measure(self._connection, self._vocabulary)
        by_pair = {id(pair): one for pair, one in zip(self._vocabulary.pairs, measured, strict=True)}
        self._connection.executemany(
            "INSERT INTO vocabulary (key, asked, pattern, source, asked_documents, source_documents, gain, "
            "verdict, detail, line, reverse) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                (
                    entry.key, entry.asked, entry.source.pattern, entry.source.written,
                    one.asked_documents, one.source_documents, one.gain, one.verdict, one.detail,
                    one.line, entry.reverse,
                )
                for entry in self._vocabulary.entries
                for one in [by_pair[id(entry.pair)]]
            ),
        )  # fmt: skip
        return measured

    def _write_language(self) -> None:
        many = self._connection.executemany
        asked = (rare_characters(entry.asked) for entry in self._vocabulary.entries)
        rare = self._maker.rare.union(*asked)
        many("INSERT INTO folding VALUES (?, ?)", full_folding().rows(rare))
        many("INSERT INTO stopwords VALUES (?)", ((word,) for word in sorted(self._language.stop_words)))
        many(
            "INSERT INTO rules (kind, form, replacement, least) VALUES (?, ?, ?, ?)",
            self._language.rules,
        )
        many("INSERT INTO messages VALUES (?, ?)", sorted(self._language.messages.items()))
        many("INSERT INTO spellings VALUES (?, ?)", sorted(SPELLINGS.items()))
        many("INSERT INTO statements VALUES (?, ?)", sorted(query_time().items()))

    def _write_catalog(self, documents: int) -> str:
        title_words, body_words = self._execute(
            "SELECT total(length(title_lc) - length(replace(title_lc, ' ', '')) + 1), "
            "total(CASE WHEN keywords_lc||text_lc = '' THEN 0 ELSE length(keywords_lc||text_lc) "
            "- length(replace(keywords_lc||text_lc, ' ', '')) + 1 END) FROM documents"
        ).fetchone()
        settings, provenance = self._settings, self._settings.provenance
        digest = self._content_hash()
        values = {
            "name": settings.name,
            "title": settings.title,
            "language": self._language.tag,
            "publisher": provenance.publisher,
            "licence": provenance.licence,
            "source_url": provenance.source_url,
            "revision": provenance.revision,
            "retrieved_at": provenance.retrieved_at,
            "format_version": str(FORMAT_VERSION),
            "content_hash": digest,
            "licence_notes": LICENCE_NOTES,
            "source_name": self._vocabulary.source_name or settings.title,
            "documents": str(documents),
            "facets": json.dumps(list(settings.documents.facets), ensure_ascii=False),
            "longest_asked": str(self._vocabulary.longest),
            "title_words": f"{title_words / documents:.6f}",
            "body_words": f"{body_words / documents:.6f}",
        }
        self._connection.executemany("INSERT INTO catalog VALUES (?, ?)", sorted(values.items()))
        return digest

    def _content_hash(self) -> str:
        """Return a digest of what the source says, its vocabulary and its language; the same on every SQLite."""
        digest = blake2b(digest_size=16)
        settings = self._settings
        for part in (
            (
                settings.name,
                settings.title,
                self._language.tag,
                FORMAT_VERSION,
                settings.provenance,
                settings.documents.facets,
            ),
            self._vocabulary.entries,
            sorted(self._language.stop_words),
            self._language.rules,
            sorted(self._language.messages.items()),
        ):
            digest.update(repr(part).encode())
        for row in self._execute(
            "SELECT rowid, id, title, url, keywords, metadata, path, heading, first_line, last_line, text "
            "FROM documents ORDER BY rowid"
        ):
            digest.update(repr(row).encode())
        return digest.hexdigest()

    def _index_facets(self) -> None:
        for facet in self._settings.documents.facets:
            name = self._db.quote(f'$."{facet}"')
            self._execute(f"CREATE INDEX {_identifier(f'documents_facet_{facet}')} ON documents(facets_lc ->> {name})")

    # Against the previous database ------------------------------------------------------------------------

    def _changes(self, previous: str | None, removable: tuple[float, bool] | None) -> dict[str, int]:
        """Count what was added, changed and removed; refuse if too many documents are gone."""
        (documents,) = self._execute("SELECT count(*) FROM documents").fetchone()
        fresh = {"added": documents, "changed": 0, "removed": 0}
        if previous is None or not os.path.isfile(previous) or not os.path.getsize(previous):
            return fresh
        try:
            with Catalog.open(previous):
                pass
            before, changes = self._compared(previous)
        except (DatabaseError, sqlite3.DatabaseError) as problem:
            # It may be damaged, or of another format: a build is the remedy for both.
            if removable is not None:
                raise DatabaseError(
                    "the old file cannot be read, so that max-removed cannot be checked; it is untouched. "
                    "Build without max-removed to replace it",
                    path=previous,
                ) from problem
            self._source.notes.append("The file that was there could not be read as a catalogue: it was replaced.")
            return fresh
        if removable is not None:
            number, share = removable
            limit = number * before / 100 if share else number
            if changes["removed"] > limit:
                said = f"{number:g}%" if share else f"{number:g}"
                raise DatabaseError(
                    f"{changes['removed']:,} of {before:,} documents would be removed, more than max-removed {said} "
                    "allows; the old file is untouched. If that is right, build with a larger one or without",
                    path=previous,
                )
        return changes

    def _compared(self, previous: str) -> tuple[int, dict[str, int]]:
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
        self._execute("ATTACH ? AS previous", (str(Path(previous).absolute()),))
        try:
            changes = {name: int(self._execute(sql).fetchone()[0]) for name, sql in counted.items()}
            (before,) = self._execute("SELECT count(*) FROM previous.documents").fetchone()
        finally:
            self._execute("DETACH previous")
        return before, changes


def _identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _list(lines: object) -> str:
    shown = [str(line) for line in lines] if isinstance(lines, list) else []
    return ", ".join(shown[:10]) + (f" and {len(shown) - 10} more" if len(shown) > 10 else "")
