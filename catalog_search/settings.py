"""catalog.yaml → Settings: what a catalogue's file holds and which of its columns become what.

    name: wages                            documents:
    title: Wage statistics                   id: "{code}"
    language: en                             title: "{name|code}"
    source: {path: wages.csv}                url: "https://example.org/{code}"
                                             keywords: [topics, {column: synonyms, split: "|"}]

Of text files, source: {files: "docs/**/*.md", revision: git}, the documents need not be said: each heading is one.

A template (id, title, url, text) is text with columns in it, see `template`; the other keys name columns.
"""

from __future__ import annotations

import io
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from catalog_search import yamlfile
from catalog_search.errors import SettingsError, nearest
from catalog_search.template import Template, url_problem

NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")
DUPLICATES = ("error", "first", "merge")
ON_BAD_ROW = ("stop", "skip")

_KEYS: dict[str, tuple[str, ...]] = {
    "": (
        "name", "title", "language", "source", "documents",
        "vocabulary", "provenance", "duplicates", "on_bad_row",
    ),
    "source": ("path", "encoding", "delimiter", "table", "query", "records", "files", "revision"),
    "documents": ("id", "title", "url", "keywords", "text", "metadata", "facets", "priority"),
    "provenance": ("publisher", "licence", "source_url", "retrieved_at", "revision"),
    "documents.keywords": ("column", "split"),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class SourceSettings:
    """The catalogue's file and how to read it; what is None is found out from the file.

    With `files`, patterns of text files, `path` is the folder they are in.
    """

    path: Path
    encoding: str | None = None
    delimiter: str | None = None
    table: str | None = None
    query: str | None = None
    records: str | None = None
    files: tuple[str, ...] = ()
    revision: str | None = None


@dataclass(frozen=True, slots=True)
class KeywordColumn:
    """A column of keywords; `split` is the text between two keywords of one cell."""

    column: str
    split: str | None = None

    def keywords(self, value: object) -> list[str]:
        """Return the keywords of one value (text or a list), without blanks around them or empty ones.

        >>> KeywordColumn("synonyms", split="|").keywords("pay | wage||")
        ['pay', 'wage']
        """
        if isinstance(value, list):
            return [keyword for item in value for keyword in self.keywords(item)]
        if not isinstance(value, str):
            return []
        pieces = value.split(self.split) if self.split else [value]
        return [piece.strip() for piece in pieces if piece.strip()]


@dataclass(frozen=True, slots=True)
class MetadataColumn:
    """A column kept beside the document, under a name."""

    name: str
    column: str


@dataclass(frozen=True, slots=True)
class Priority:
    """The column whose number puts documents first; the greatest first when `descending`."""

    column: str
    descending: bool = False


@dataclass(frozen=True, slots=True)
class DocumentSettings:
    """Which columns become which part of a document."""

    id: Template
    title: Template
    url: Template | None = None
    keywords: tuple[KeywordColumn, ...] = ()
    text: Template | None = None
    metadata: tuple[MetadataColumn, ...] = ()
    facets: tuple[str, ...] = ()
    priority: Priority | None = None


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where the catalogue comes from; each is text, "" when it is not said."""

    publisher: str = ""
    licence: str = ""
    source_url: str = ""
    retrieved_at: str = ""
    revision: str = ""


@dataclass(frozen=True, slots=True)
class ColumnUse:
    """A column that the settings name, the key that names it, and that key's line in the file."""

    column: str
    key: str
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Settings:
    """A catalogue's settings, checked.

    `source` is None only when the rows are handed over in Python. `path` is the settings file, None when
    there is none; `key_lines` holds the line of each key by its dotted name.

    >>> settings = Settings.from_mapping(
    ...     {"name": "wages", "language": "en", "documents": {"id": "{code}", "title": "{name}"}}
    ... )
    >>> [(use.column, use.key) for use in settings.columns()]
    [('code', 'documents.id'), ('name', 'documents.title')]
    """

    name: str
    title: str
    language: str
    documents: DocumentSettings
    source: SourceSettings | None = None
    vocabulary: Path | None = None
    provenance: Provenance = Provenance()
    duplicates: str = "error"
    on_bad_row: str = "stop"
    path: Path | None = None
    key_lines: Mapping[str, int] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def from_mapping(cls, mapping: Mapping[str, Any], base: Path | None = None) -> Settings:
        """Check settings given as a mapping of the same keys as catalog.yaml.

        Args:
            mapping: the settings; numbers, truth values and dates are taken as their text.
            base: the folder that relative paths start from; the current one when None.

        Raises:
            SettingsError: names the key, what is wrong with it and the nearest key that exists.
        """
        return _settings(_Section(mapping), base or Path(), None)

    def columns(self) -> tuple[ColumnUse, ...]:
        """Return every column the settings name, each with the first key that names it."""
        documents = self.documents
        uses: list[tuple[str, str]] = []
        for key in ("id", "title", "url", "text"):
            template: Template | None = getattr(documents, key)
            uses += [(column, key) for column in template.columns] if template else []
        uses += [(keyword.column, "keywords") for keyword in documents.keywords]
        uses += [(entry.column, "metadata") for entry in documents.metadata]
        uses += [(documents.priority.column, "priority")] if documents.priority else []
        first: dict[str, str] = {}
        for column, key in uses:
            first.setdefault(column, f"documents.{key}")
        return tuple(ColumnUse(column, key, self.key_lines.get(key)) for column, key in first.items())


def load_settings(path: str | Path) -> Settings:
    """Read a catalogue's settings file; relative paths in it start from its folder.

    Raises:
        SettingsError: names file, line and key, what is wrong and what to do.
    """
    path = Path(path)
    return _settings(_Section(yamlfile.read(path, SettingsError), path), path.parent, path)


class _Section:
    """One mapping of the settings: hands out its values and knows where each of them stands."""

    def __init__(self, value: object, path: Path | None = None, prefix: str = "", line: int | None = None) -> None:
        self.path, self.prefix, self.line = path, prefix, line
        if not isinstance(value, Mapping):
            raise self.error(f"must be a mapping of {', '.join(_KEYS[prefix])}")
        self.lines: Mapping[str, int] = getattr(value, "lines", {})
        self.values = {str(key): item for key, item in value.items() if not yamlfile.is_null(item)}
        for key in map(str, value):
            if key not in _KEYS[prefix]:
                raise self.error(f"unknown key.{nearest(key, _KEYS[prefix])}", key)

    def full(self, key: str) -> str:
        return f"{self.prefix}.{key}" if self.prefix else key

    def error(self, message: str, key: str | None = None) -> SettingsError:
        line = self.lines.get(key, self.line) if key else self.line
        return SettingsError(message, path=self.path, line=line, key=self.full(key) if key else self.prefix or None)

    def section(self, key: str) -> _Section | None:
        if key not in self.values:
            return None
        return _Section(self.values[key], self.path, self.full(key), self.lines.get(key, self.line))

    def text(self, key: str) -> str | None:
        if key not in self.values:
            return None
        value = as_text(self.values[key])
        if value is None:
            raise self.error("must be text", key)
        return value if value.strip() else None

    def required(self, key: str, example: str) -> str:
        value = self.text(key)
        if value is None:
            raise self.error(f"is missing; write for example {key}: {example}", key)
        return value

    def choice(self, key: str, choices: tuple[str, ...]) -> str:
        value = self.text(key) or choices[0]
        if value not in choices:
            raise self.error(f'"{value}" is none of {", ".join(choices)}', key)
        return value

    def items(self, key: str) -> list[Any]:
        value = self.values.get(key, [])
        return list(value) if isinstance(value, (list, tuple)) else [value]

    def column(self, key: str, value: object, what: str = "a column") -> str:
        """Check one name of a column outside a template."""
        name = (as_text(value) or "").strip()
        if not name:
            raise self.error(f"must be {what}, not {type(value).__name__} or empty text", key)
        if name.startswith("{") and name.endswith("}"):
            raise self.error(f'"{name}" must be a column\'s name without braces: {name.strip("{}")}', key)
        return name


def as_text(value: object) -> str | None:
    """Return a scalar as the text a settings file or a row would hold, None for anything else.

    >>> as_text(12), as_text(True), as_text([1])
    ('12', 'true', None)
    """
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return str(value)
    isoformat = getattr(value, "isoformat", None)
    return str(isoformat()) if isoformat else None


def _settings(root: _Section, base: Path, path: Path | None) -> Settings:
    name = root.required("name", "oecd")
    if not NAME.fullmatch(name):
        raise root.error(
            f'"{name}" cannot be a name: use small letters a-z, digits, - and _, a letter or digit first, '
            "and at most 63 characters",
            "name",
        )
    documents = root.section("documents")
    source = root.section("source")
    of_files = source is not None and bool(source.items("files"))
    if documents is None and of_files:
        documents = _Section({}, path, "documents")
    if documents is None:
        raise root.error('is missing; write for example documents: {id: "{id}", title: "{title}"}', "documents")
    if of_files:
        _fill_in(documents)
        if root.choice("duplicates", DUPLICATES) == "merge":
            raise root.error("must not be merge for files: the text of a document is lines of one file", "duplicates")
    vocabulary = root.text("vocabulary")
    source_settings = _source(source, base)
    provenance = _provenance(root.section("provenance"))
    if source and source_settings and source_settings.revision and provenance.revision:
        raise source.error("git says the revision; take provenance.revision or this key away", "revision")
    return Settings(
        name=name,
        title=root.text("title") or name,
        language=root.required("language", "en (the language of the titles: en, pt-BR, es, fr or de)"),
        documents=_documents(documents),
        source=source_settings,
        vocabulary=base / vocabulary if vocabulary else None,
        provenance=provenance,
        duplicates=root.choice("duplicates", DUPLICATES),
        on_bad_row=root.choice("on_bad_row", ON_BAD_ROW),
        path=path,
        key_lines={
            section.full(key): line
            for section in (root, documents, source)
            if section
            for key, line in section.lines.items()
        },
    )


def _fill_in(documents: _Section) -> None:
    """Say what the documents of text files are, where the settings do not."""
    if documents.text("text") is not None:
        raise documents.error("the text of a file's document is its lines; remove the key", "text")
    usual = {"id": "{id}", "title": "{title}", "text": "{text}", "keywords": ["parents"]}
    documents.values = usual | documents.values


def _source(section: _Section | None, base: Path) -> SourceSettings | None:
    if section is None:
        return None
    if section.items("files"):
        return _files(section, base)
    if section.text("revision"):
        raise section.error("goes with files; for this source write provenance: {revision: …}", "revision")
    path = section.required("path", "titles.csv")
    if section.text("table") and section.text("query"):
        raise section.error("give table or query, not both", "query")
    encoding = section.text("encoding")
    if encoding is not None:
        _check_encoding(section, encoding)
    # a delimiter may be a blank, so it is not read by `text`
    delimiter = as_text(section.values.get("delimiter"))
    delimiter = {"tab": "\t", "\\t": "\t", "": None}.get(delimiter or "", delimiter)
    if delimiter is not None and (len(delimiter) != 1 or delimiter in '"\r\n'):
        raise section.error('must be one character such as "," or ";", or the word tab', "delimiter")
    return SourceSettings(
        base / path,
        encoding,
        delimiter,
        section.text("table"),
        section.text("query"),
        section.text("records"),
    )


def _files(section: _Section, base: Path) -> SourceSettings:
    for key in ("delimiter", "table", "query", "records"):
        if key in section.values:
            raise section.error("does not go with files, which are read as Markdown or plain text; remove the key", key)
    patterns = [as_text(item) or "" for item in section.items("files")]
    for pattern in patterns:
        parts = pattern.split("/")
        if not all(parts) or {".", ".."} & set(parts) or "\\" in pattern:
            raise section.error(
                f'"{pattern}" must be a path below the folder source.path, its parts joined by /, '
                'such as "docs/**/*.md"; * stands for a part of a name, ** for any folders',
                "files",
            )
    if (revision := section.text("revision")) not in (None, "git"):
        raise section.error(f'must be git; for "{revision}" write provenance: {{revision: "{revision}"}}', "revision")
    encoding = section.text("encoding")
    if encoding is not None:
        _check_encoding(section, encoding)
    folder = section.text("path")
    return SourceSettings(base / folder if folder else base, encoding, files=tuple(patterns), revision=revision)


def _check_encoding(section: _Section, encoding: str) -> None:
    try:
        # as the source will be opened; a codec that is no text encoding, such as base64, is refused too
        io.TextIOWrapper(io.BytesIO(), encoding)
    except (LookupError, UnicodeError, ValueError):
        raise section.error(
            f'"{encoding}" is not a text encoding; write for example utf-8, cp1252, latin-1 or utf-16',
            "encoding",
        ) from None


def _documents(section: _Section) -> DocumentSettings:
    metadata = _metadata(section)
    names = [entry.name for entry in metadata]
    facets = tuple(section.column("facets", facet, "a name of metadata") for facet in section.items("facets"))
    for facet in facets:
        if facet not in names:
            hint = nearest(facet, names) if names else ""
            raise section.error(f'"{facet}" is not among the names of documents.metadata.{hint}', "facets")
    priority = section.text("priority")
    return DocumentSettings(
        id=_needed_template(section, "id"),
        title=_needed_template(section, "title"),
        url=_url(section),
        keywords=tuple(_keyword(section, item) for item in section.items("keywords")),
        text=_template(section, "text"),
        metadata=metadata,
        facets=tuple(dict.fromkeys(facets)),
        priority=None if priority is None else _priority(section, priority),
    )


def _template(section: _Section, key: str) -> Template | None:
    text = section.text(key)
    try:
        return None if text is None else Template.parse(text)
    except ValueError as problem:
        raise section.error(str(problem), key) from None


def _needed_template(section: _Section, key: str) -> Template:
    template = _template(section, key)
    if template is None:
        raise section.error(f'is missing; write for example {key}: "{{{key}}}"', key)
    if not template.columns:
        text = template.text
        raise section.error(
            f'"{text}" would be the same for every row; for the column of that name write "{{{text}}}"', key
        )
    return template


def _url(section: _Section) -> Template | None:
    url = _template(section, "url")
    if url is None or url.is_one_column:
        return url
    # values are percent-encoded, so that the scheme has to stand in the template itself
    sample = url.render(lambda column: "x")
    if not isinstance(url.parts[0], str) or not re.match(r"https?://", url.parts[0], re.I):
        raise section.error(
            f'"{url.text}" must begin with http:// or https://, or be one column that holds it: "{{url}}"',
            "url",
        )
    if problem := url_problem(sample):
        raise section.error(problem, "url")
    return url


def _keyword(section: _Section, item: object) -> KeywordColumn:
    if not isinstance(item, Mapping):
        return KeywordColumn(section.column("keywords", item))
    inner = _Section(item, section.path, section.full("keywords"), getattr(item, "line", None))
    split = as_text(inner.values.get("split"))
    if split == "":
        raise inner.error("must not be empty; leave it out when a cell is one keyword", "split")
    return KeywordColumn(inner.column("column", inner.values.get("column")), split)


def _metadata(section: _Section) -> tuple[MetadataColumn, ...]:
    entries: list[MetadataColumn] = []
    for item in section.items("metadata"):
        if isinstance(item, Mapping):
            entries += [
                MetadataColumn(section.column("metadata", name), section.column("metadata", column))
                for name, column in item.items()
            ]
        else:
            column = section.column("metadata", item)
            entries.append(MetadataColumn(column.rpartition(".")[2].strip() or column, column))
    seen: dict[str, str] = {}
    for entry in entries:
        if entry.name in seen:
            raise section.error(
                f'the name "{entry.name}" is given to {seen[entry.name]} and to {entry.column}; '
                f'write {{another_name: "{entry.column}"}} for one of them',
                "metadata",
            )
        seen[entry.name] = entry.column
    return tuple(entries)


def _priority(section: _Section, text: str) -> Priority:
    descending = text.strip().startswith("-")
    return Priority(section.column("priority", text.strip().removeprefix("-")), descending)


def _provenance(section: _Section | None) -> Provenance:
    if section is None:
        return Provenance()
    provenance = Provenance(**{key: section.text(key) or "" for key in _KEYS["provenance"]})
    if problem := url_problem(provenance.source_url):
        raise section.error(problem, "source_url")
    return provenance
