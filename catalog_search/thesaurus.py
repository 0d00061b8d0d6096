"""A thesaurus → its concepts: what each is called, and what else.

SKOS in Turtle (.ttl) or RDF/XML (.rdf, .xml, .owl), read by rdflib, the extra `thesaurus`; or delimited text with
columns `altLabel` and `prefLabel`, in which a cell of altLabel may hold several labels, separated by `|` or line
breaks; without a prefLabel they are names of which none is preferred, as in a list of synonyms.
"""

from __future__ import annotations

import csv
import re
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from catalog_search.csvfile import detect_delimiter
from catalog_search.encodings import encoding_of
from catalog_search.errors import SourceError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

FORMATS = {".ttl": "turtle", ".rdf": "xml", ".xml": "xml", ".owl": "xml"}
_SKOS = "http://www.w3.org/2004/02/skos/core#"
_OTHERS = ("altLabel", "hiddenLabel")
_HEAD = 1 << 16


class Concept(NamedTuple):
    """A concept's names, each once."""

    preferred: tuple[str, ...]
    """The names to use; more than one only where the language leaves a choice, none in a list of synonyms."""
    others: tuple[str, ...]


def concepts(path: str, language: str) -> Iterator[Concept]:
    """Yield the concepts that have two names at least.

    Args:
        path: the file; its ending says what it is.
        language: a tag; labels of other languages are left out, those without language are not.

    Raises:
        SourceError: the file cannot be read, holds no labels, or rdflib is wanted and not installed.
    """
    found = list(_of_graph(path, language) if Path(path).suffix.lower() in FORMATS else _of_table(path))
    if not found:
        raise SourceError(
            f"holds no concept with an altLabel and another label in the language {language}",
            path=path,
        )
    yield from found


def _concept(preferred: Iterable[str], others: Iterable[str]) -> Concept | None:
    preferred = tuple(dict.fromkeys(preferred))
    others = tuple(one for one in dict.fromkeys(others) if one not in preferred)
    return Concept(preferred, others) if len(preferred) + len(others) > 1 else None


def _of_graph(path: str, language: str) -> Iterator[Concept]:
    try:
        import rdflib
    except ImportError:
        raise SourceError(
            "SKOS is read by rdflib, which is not installed; run: pip install 'catalog-search[thesaurus]'", path=path
        ) from None
    graph = rdflib.Graph()
    try:
        with open(path, "rb") as file:
            graph.parse(file, format=FORMATS[Path(path).suffix.lower()], publicID=Path(path).absolute().as_uri())
    except OSError as problem:
        raise SourceError(f"cannot be read: {problem.strerror or problem}", path=path) from None
    except Exception as problem:  # each of its parsers raises errors of its own
        line = getattr(problem, "lines", None)
        said = " ".join(str(problem).split())
        raise SourceError(
            f"cannot be read as RDF: {said[:200]}", path=path, line=line + 1 if isinstance(line, int) else None
        ) from None
    wanted = language.split("-")[0].lower()

    def spoken(concept: object, name: str) -> list[str]:
        values = graph.objects(concept, rdflib.URIRef(_SKOS + name))  # type: ignore[arg-type]
        return sorted(
            str(value)
            for value in values
            if isinstance(value, rdflib.Literal) and (value.language or wanted).split("-")[0].lower() == wanted
        )

    named = {one for name in ("prefLabel", *_OTHERS) for one in graph.subjects(rdflib.URIRef(_SKOS + name), None)}
    for concept in sorted(named, key=str):
        if found := _concept(
            spoken(concept, "prefLabel"), chain.from_iterable(spoken(concept, one) for one in _OTHERS)
        ):
            yield found


def _of_table(path: str) -> Iterator[Concept]:
    try:
        with open(path, "rb") as binary:
            head = binary.read(_HEAD)
        encoding, _ = encoding_of(head, None, path)
        with open(path, encoding=encoding, newline="") as file:
            sample = [line for _, line in zip(range(20), file, strict=False)]
            file.seek(0)
            reader = csv.DictReader(file, delimiter=detect_delimiter(sample, ("altLabel", "prefLabel")))
            columns = {str(name).strip().lstrip("\ufeff").lower(): name for name in reader.fieldnames or ()}
            for name in ("altLabel", "prefLabel"):
                if name.lower() not in columns:
                    raise SourceError(f"the header has no column {name}; has: {', '.join(columns)}", path=path, line=1)
            preferred_of: dict[str, list[str]] = {}
            for row in reader:
                preferred, others = (str(row[columns[name]] or "").strip() for name in ("preflabel", "altlabel"))
                names = [one for one in map(str.strip, re.split(r"[|\n]", others)) if one]
                if preferred:
                    preferred_of.setdefault(preferred, []).extend(names)  # a row a label is a form of table too
                elif found := _concept((), names):
                    yield found
            for preferred, names in preferred_of.items():
                if found := _concept((preferred,), names):
                    yield found
    except OSError as problem:
        raise SourceError(f"cannot be read: {problem.strerror or problem}", path=path) from None
    except UnicodeDecodeError:
        raise SourceError(f"is not {encoding}; save it as UTF-8", path=path) from None
    except csv.Error as problem:
        raise SourceError(f"is no delimited text: {problem}", path=path) from None
