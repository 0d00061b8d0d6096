"""A catalogue's database → a folder that makes it a Cloudflare Worker: an MCP server from D1.

worker.js        the server, one file without dependencies; what it says of the catalogue is written into it
wrangler.jsonc   its settings for Cloudflare's command line
seed.sql         the database; see `catalog_search.export`
README.md        how to deploy it
"""

from __future__ import annotations

import json
import os
import re
from contextlib import closing
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

from catalog_search import scratch
from catalog_search.database import FORMAT_VERSION, INDEXED
from catalog_search.errors import DatabaseError
from catalog_search.export import Written, export_d1
from catalog_search.server.aliases import ALIASES, VERBS, WRAPPERS
from catalog_search.server.corpus import Corpora, Corpus
from catalog_search.server.shelf import Shelf

PARTS = ("server", "messages", "calls", "tools", "database", "search", "fetch", "text")
"""The pieces of worker.js, in its order."""

ABOUT = "const ABOUT = null;"
"""The line of worker.js in whose place the catalogue is described."""


MARKS = {
    "worker.js": "// A catalogue as an MCP server: ",
    "README.md": ": a Cloudflare Worker\n\n`worker.js` serves the catalogue “",
    "seed.sql": "CREATE TABLE documents (",
}
"""The files that are written anew → what the first of their lines hold, by which one that was made here is known."""

_TEXTS = ("canonical", "database_failed", "ends_before", "failed", "first_only", "shortened")


def export_worker(path: str | os.PathLike[str], folder: str | os.PathLike[str]) -> list[Written]:
    """Write a Cloudflare Worker that serves a catalogue; equal databases give equal files.

    Args:
        path: the catalogue's database.
        folder: where to; it is made if it is not there. A `wrangler.jsonc` in it stays as it is: it holds the id of
            your database.

    Returns:
        The files that were written.

    Raises:
        DatabaseError: the database cannot be read, has rows that are too long for D1, or a file cannot be written:
            one of its name that was not made here stays as it is, and nothing is written.
    """
    with closing(Shelf.of_files([os.fspath(path)])) as shelf:
        corpora = Corpora.of(shelf)
        target = Path(folder)
        try:
            target.mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            raise DatabaseError(f"the folder cannot be made: {problem.strerror}", path=target) from None
        _refuse_others(target)
        written = export_d1(path, target / "seed.sql")
        described = f"const ABOUT = {json.dumps(about(corpora), ensure_ascii=False)};"
        worker = "\n".join(_part(f"{name}.js") for name in PARTS).replace(ABOUT, described)
        written.append(_written(target / "worker.js", worker))
        (corpus,) = corpora.each
        if not (target / "wrangler.jsonc").exists():
            written.append(_written(target / "wrangler.jsonc", _filled(_part("wrangler.jsonc"), corpus)))
        written.append(_written(target / "README.md", _filled(_part("README.md"), corpus)))
        return written


def about(corpora: Corpora) -> dict[str, Any]:
    """Return what the Worker says of the catalogue and how it reads a call: the same as the server in Python."""
    from catalog_search.server.pair import search_and_fetch  # with it comes mcp
    from catalog_search.server.texts import Texts, nearest_locale
    from catalog_search.server.tools import as_listed

    texts = Texts(nearest_locale(corpora.each[0].language))
    tools = search_and_fetch(corpora, texts)
    listed = [as_listed(tool, texts) for tool in tools]
    return {
        "formatVersion": str(FORMAT_VERSION),
        "indexed": INDEXED,
        "serverInfo": {"name": corpora.name, "title": corpora.title, "version": version("catalog-search")},
        "capabilities": {"tools": {"listChanged": False}},
        "instructions": corpora.instructions(),
        "tools": [tool.model_dump(by_alias=True, mode="json", exclude_none=True) for tool in listed],
        "texts": {key: text for key, text in texts.all().items() if key.startswith("read_") or key in _TEXTS},
        "shapes": [
            {
                "tool": tool.name,
                "main": tool.main,
                "literal": tool.literal,
                "hidden": tool.hidden,
                "example": tool.example,
                "blank": [[name, json.dumps(value)] for name, value in tool.blank().items()],
            }
            for tool in tools
        ],
        "toolNames": {tool.name: ALIASES.tools[tool.name] for tool in tools},
        "keys": {key: keys for key, keys in ALIASES.keys.items() if any(key in (t.main, *t.hidden) for t in tools)},
        "kinds": sorted(ALIASES.kinds),
        "wrappers": WRAPPERS,
        "verbs": {tool.main: sorted(VERBS[tool.main]) for tool in tools},
    }


def worker_name(name: str) -> str:
    """Return a name that Cloudflare takes for a Worker and a database: small letters, digits and dashes.

    >>> worker_name("Preise_2026"), worker_name("人口")
    ('preise-2026', 'catalogue')
    """
    return re.sub(r"[^a-z0-9]+", "-", name.lower())[:54].strip("-") or "catalogue"


def _part(name: str) -> str:
    return files("catalog_search.worker").joinpath(name).read_text("utf-8")


def _filled(text: str, corpus: Corpus) -> str:
    values = {
        "NAME": worker_name(corpus.name),
        "TITLE": corpus.title,
        "DOCUMENTS": "1 document" if corpus.documents == 1 else f"{corpus.documents:,} documents",
        "EXAMPLE": corpus.example.replace("'", "’"),
        "VERSION": version("catalog-search"),
    }
    return re.sub(r"\b(NAME|TITLE|DOCUMENTS|EXAMPLE|VERSION)\b", lambda found: values[found[0]], text)


def _refuse_others(folder: Path) -> None:
    """Refuse to write over files that were not made here."""
    others = [
        name for name, mark in MARKS.items() if os.path.lexists(folder / name) and not _holds(folder / name, mark)
    ]
    if others:
        raise DatabaseError(
            f"{' and '.join(others)} there: not of “catalog-search export worker”; "
            "name another folder, or take away what is there first",
            path=folder,
        )


def _holds(path: Path, mark: str) -> bool:
    if not path.is_file():
        return False
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return mark in file.read(1_000)
    except OSError as problem:
        raise DatabaseError(f"cannot be read: {problem.strerror or problem}", path=path) from None


def _written(target: Path, text: str) -> Written:
    try:
        size = scratch.write(target, [text.encode()])
    except OSError as problem:
        raise DatabaseError(f"cannot be written: {problem.strerror or problem}", path=target) from None
    return Written(str(target), 0, size)
