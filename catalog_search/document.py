"""A document, whole, with where it comes from; as Markdown and as JSON."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from catalog_search.language import Language

PROVENANCE = ("publisher", "licence", "source_url", "revision", "retrieved_at")

# ASCII punctuation that means something inside a line of Markdown that does not begin with it.
_SPECIAL = re.compile(r"([\\`*_\[\]<>#|~&])")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


class Document:
    """One entry of a catalogue.

    Attributes:
        id, title, url, text: as the source has them; url and text are "" when there is none.
        keywords: a list of text.
        metadata: name → text, or what the source nests.
        path, heading, first_line, last_line: where in a source of text files it is, None otherwise.
        provenance: `catalog` (its title) and those of publisher, licence, source_url, revision, retrieved_at
            that the catalogue states.
    """

    __slots__ = (
        "_language", "first_line", "heading", "id", "keywords", "last_line",
        "metadata", "path", "provenance", "text", "title", "url",
    )  # fmt: skip

    def __init__(
        self,
        id: str,
        title: str,
        url: str,
        text: str,
        keywords: list[str],
        metadata: dict[str, Any],
        place: Sequence[Any],
        provenance: dict[str, str],
        language: Language,
    ) -> None:
        self.id, self.title, self.url, self.text = id, title, url, text
        self.keywords, self.metadata, self.provenance = keywords, metadata, provenance
        self.path, self.heading, self.first_line, self.last_line = place
        self._language = language

    @classmethod
    def of(cls, row: Sequence[Any], info: Mapping[str, str], language: Language) -> Document:
        """Make a document of a row of the statement `document_by_id`, without its rowid."""
        id, title, url, text, keywords, metadata, *place = row
        provenance = {"catalog": info["title"]} | {name: info[name] for name in PROVENANCE if info.get(name)}
        return cls(id, title, url, text, json.loads(keywords), json.loads(metadata), place, provenance, language)

    def __repr__(self) -> str:
        return f"Document(id={self.id!r}, title={self.title!r}, url={self.url!r})"

    def as_json(self) -> dict[str, Any]:
        """Return it as `fetch --json` prints it; `metadata` holds the keywords and the place as well."""
        metadata: dict[str, Any] = {"keywords": self.keywords} if self.keywords else {}
        for name in ("path", "heading", "first_line", "last_line"):
            if getattr(self, name) is not None:
                metadata[name] = getattr(self, name)
        return {
            "id": self.id,
            "title": self.title,
            "url": self.url,
            "text": self.text,
            "metadata": metadata | self.metadata,
            "provenance": self.provenance,
        }

    def markdown(self, text: str | None = None) -> str:
        """Return it to be read: title, fields, text, source and url, in the catalogue's language.

        What the catalogue says cannot end the Markdown around it: single lines are escaped, and the text
        stands in a fence longer than any in it.

        Args:
            text: what stands for its text, a part of it perhaps.
        """
        text = self.text if text is None else text
        say = self._language.say
        lines = [f"# {escaped(self.title)}", "", f"- {say('label_id')}: {code(self.id)}"]
        if self.keywords:
            lines.append(f"- {say('label_keywords')}: {escaped('; '.join(self.keywords))}")
        if self.path:
            lines.append(f"- {say('label_file')}: {code(f'{self.path}:{self.first_line}-{self.last_line}')}")
        for name, value in self.metadata.items():
            lines.append(f"- {escaped(name)}: {escaped(plainly(value))}")
        if text.strip():
            text = _CONTROL.sub(" ", text.replace("\r\n", "\n").replace("\r", "\n"))
            fence = "`" * (max((len(run) for run in re.findall(r"`{3,}", text)), default=2) + 1)
            lines += ["", f"{fence}text", text.rstrip("\n"), fence, ""]
        lines += [f"- {label}: {escaped(value)}" for label, value in self._source()]
        return "\n".join(lines) + "\n"

    def _source(self) -> list[tuple[str, str]]:
        say, get = self._language.say, self.provenance.get
        source = " ".join(part for part in (get("catalog", ""), get("source_url", "")) if part)
        parts = [
            (say("label_source"), source),
            (say("label_publisher"), get("publisher", "")),
            (say("label_licence"), get("licence", "")),
            (say("label_revision"), get("revision", "")),
            (say("label_retrieved"), get("retrieved_at", "")),
            (say("label_url"), self.url),
        ]
        return [(label, value) for label, value in parts if value]


def plainly(value: Any) -> str:
    """Return a metadata value on one line: a list joined by semicolons, anything nested as JSON.

    >>> plainly(["a", "b"]), plainly({"unit": "EUR"})
    ('a; b', '{"unit": "EUR"}')
    """
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return "; ".join(value)
    return json.dumps(value, ensure_ascii=False)


def code(text: str) -> str:
    """Return text as a code span of Markdown, to be copied as it is.

    >>> code("DF_A"), code("a`b")
    ('`DF_A`', '`` a`b ``')
    """
    line = " ".join(_CONTROL.sub(" ", text).split())
    fence = "`" * (max((len(run) for run in re.findall("`+", line)), default=0) + 1)
    return f"{fence} {line} {fence}" if "`" in line else f"{fence}{line}{fence}"


def escaped(text: str) -> str:
    """Return text as one line of Markdown that shows it as it is; a web address stays one.

    >>> escaped("*gross* [euro]\\n# next")
    '\\\\*gross\\\\* \\\\[euro\\\\] \\\\# next'
    """
    line = " ".join(_CONTROL.sub(" ", text).split())
    if re.fullmatch(r"https?://[^\s<>]+", line):
        return f"<{line}>"
    return _SPECIAL.sub(r"\\\1", line)
