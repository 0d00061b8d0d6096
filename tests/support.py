"""What several test modules use: catalogues built in memory, cases read from tests/cases."""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from catalog_search import Catalog
from catalog_search.builder import BuildReport, build
from catalog_search.expansion import Asked
from catalog_search.settings import Settings

CASES = Path(__file__).parent / "cases"
SHARED = Path(__file__).parents[2] / "shared" / "data"


def cases(name: str) -> Any:
    return yaml.safe_load((CASES / f"{name}.yaml").read_text("utf-8"))


@functools.cache
def assigned_characters() -> tuple[str, ...]:
    """Return every assigned code point, private use and surrogates left out."""
    import unicodedata

    characters = map(chr, range(sys.maxunicode + 1))
    return tuple(one for one in characters if unicodedata.category(one) not in ("Cn", "Cs", "Co"))


def settings_for(fields: Iterable[str], **more: Any) -> dict[str, Any]:
    """Return settings for rows with some of id, title, url, keywords, text; other fields become metadata."""
    fields = list(fields)
    documents: dict[str, Any] = {"id": "{id}", "title": "{title}"}
    documents |= {name: f"{{{name}}}" for name in ("url", "text") if name in fields}
    documents |= {"keywords": [{"column": "keywords", "split": "|"}]} if "keywords" in fields else {}
    others = [name for name in fields if name not in ("id", "title", "url", "text", "keywords")]
    documents |= {"metadata": others} if others else {}
    documents |= more.pop("documents", {})
    return {"name": "tested", "language": "en", "documents": documents} | more


def write_vocabulary(
    path: Path, pairs: Iterable[Mapping[str, Any]], language: str = "en", source_name: str = ""
) -> Path:
    """Write a vocabulary file."""
    content = {"language": language, "source_name": source_name or "the source", "pairs": list(map(dict, pairs))}
    path.write_text(yaml.safe_dump(content, allow_unicode=True, sort_keys=False), "utf-8")
    return path


def built(
    rows: Iterable[Mapping[str, Any]],
    *,
    folder: Path | None = None,
    vocabulary: Iterable[Mapping[str, Any]] = (),
    to: str | Path = ":memory:",
    **more: Any,
) -> BuildReport:
    """Build a catalogue of rows; a vocabulary needs a folder to be written to."""
    rows = list(rows)
    fields = dict.fromkeys(name for row in rows for name in row)
    settings = settings_for(fields, **more)
    pairs = list(vocabulary)
    if pairs:
        assert folder is not None
        settings["vocabulary"] = str(write_vocabulary(folder / "vocabulary.yaml", pairs, settings["language"]))
    return build(Settings.from_mapping(settings), to, records=rows)


@contextmanager
def catalogue(rows: Iterable[Mapping[str, Any]], **more: Any) -> Iterator[Catalog]:
    """Build a catalogue of rows in memory and open it."""
    with built(rows, **more).catalog as catalog:
        yield catalog


def asked_of(catalog: Catalog, question: str) -> Asked:
    """Return the question's terms as the catalogue's database has them."""
    return catalog._ask(question)[0]


def ids(catalog: Catalog, question: str, **options: Any) -> list[str]:
    """Return the ids of a strict answer."""
    return [result.id for result in catalog.search(question, **({"limit": 1_000, "relax": False} | options)).results]
