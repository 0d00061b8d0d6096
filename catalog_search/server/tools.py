"""A catalogue → the two tools and their results, as an MCP server of the low-level kind.

The low-level server sends schemas as they are written and gives the handler every call that is one; that the
arguments satisfy the schema is not checked by it.
"""

from __future__ import annotations

import logging
from functools import partial
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread
import mcp_types as types
from mcp.server.lowlevel import Server

from catalog_search.document import plainly
from catalog_search.errors import CatalogSearchError, DatabaseError
from catalog_search.server.contract import (
    DEFAULT_LIMIT,
    FETCH_INPUT,
    FETCH_OUTPUT,
    READ_ONLY,
    SEARCH_INPUT,
    SEARCH_OUTPUT,
    SEARCH_TOOLS,
    tool_error,
    tool_result,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from catalog_search.catalog import Catalog
    from catalog_search.server.corpus import Corpus

THREADS = 4
"""Calls that are worked on at a time. Each thread has its own connection, and with it a cache."""

LISTED_FOR = 300_000
"""Milliseconds for which a client may keep the list of tools; 2026-07-28 asks for a figure."""

logger = logging.getLogger(__name__)


class Unusable(CatalogSearchError):
    """A call that names no tool of ours, or lacks the one argument that it must have."""


def make_server(catalog: Catalog, corpus: Corpus) -> Server[Any]:
    """Return an MCP server with the tools search and fetch over a catalogue.

    It speaks the versions of the protocol with a handshake, 2024-11-05 to 2025-11-25, and 2026-07-28.
    """
    tools = types.ListToolsResult(tools=tool_list(corpus), ttl_ms=LISTED_FOR, cache_scope="public")
    limiter = anyio.CapacityLimiter(THREADS)

    async def list_tools(_context: object, _params: object) -> types.ListToolsResult:
        return tools

    async def call_tool(_context: object, params: types.CallToolRequestParams) -> types.CallToolResult:
        work = partial(call, catalog, params.name, params.arguments or {})
        return await anyio.to_thread.run_sync(work, limiter=limiter)

    return Server(
        corpus.name,
        version=version("catalog-search"),
        title=corpus.title,
        instructions=corpus.instructions(),
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def tool_list(corpus: Corpus) -> list[types.Tool]:
    """Return what tools/list answers."""
    return [
        types.Tool(
            name="search",
            title=f"Search {corpus.title}",
            description=corpus.search_description(),
            input_schema=SEARCH_INPUT,
            output_schema=SEARCH_OUTPUT,
            annotations=READ_ONLY,
        ),
        types.Tool(
            name="fetch",
            title=f"Read a document of {corpus.title}",
            description=corpus.fetch_description(),
            input_schema=FETCH_INPUT,
            output_schema=FETCH_OUTPUT,
            annotations=READ_ONLY,
        ),
    ]


def call(catalog: Catalog, name: str, arguments: Mapping[str, Any]) -> types.CallToolResult:
    """Carry out a call. Never raises: whatever goes wrong is a result that says so in plain words."""
    try:
        if name == "search":
            return tool_result(_noted(search(catalog, _argument("query", arguments)), "query", arguments))
        if name == "fetch":
            return tool_result(_noted(fetch(catalog, _argument("id", arguments)), "id", arguments))
        return tool_error(f"There is no tool of that name. The tools are {' and '.join(SEARCH_TOOLS)}.")
    except DatabaseError as problem:
        # The message, not its text: where the file lies is no client's business.
        logger.error("%s", problem)
        return tool_error(f"The catalogue's database failed, so nothing was looked up: {problem.message}.")
    except CatalogSearchError as problem:
        return tool_error(problem.message)
    except Exception:
        logger.exception("a call of %r failed", name)
        return tool_error("The server failed at this call and looked nothing up. Its log says why.")


def search(catalog: Catalog, query: str) -> dict[str, Any]:
    """Return what search answers.

    >>> from catalog_search import build
    >>> settings = {"name": "jobs", "language": "en", "documents": {"id": "{id}", "title": "{title}"}}
    >>> report = build(settings, ":memory:", records=[{"id": "1", "title": "Wages"}])
    >>> with report.catalog as catalog:
    ...     search(catalog, "wages")
    {'results': [{'id': '1', 'title': 'Wages', 'url': ''}]}
    """
    answer = catalog.search(query, limit=DEFAULT_LIMIT)
    found: dict[str, Any] = {"results": [{"id": one.id, "title": one.title, "url": one.url} for one in answer.results]}
    if answer.relaxed:
        found["relaxed"] = True
    if answer.notes:
        found["notes"] = answer.notes
    return found


def fetch(catalog: Catalog, id: str) -> dict[str, Any]:
    """Return what fetch answers; `metadata` is flat, name → text.

    Raises:
        DocumentNotFound: no document has that id.
    """
    document = catalog.fetch(id)
    metadata = {name: plainly(value) for name, value in document.as_json()["metadata"].items() if value is not None}
    return {
        "id": document.id,
        "title": document.title,
        "text": document.markdown(),
        "url": document.url,
        # Provenance is the maintainer's word; a column of the source of the same name stays in the text.
        "metadata": metadata | document.provenance,
    }


def _argument(key: str, arguments: Mapping[str, Any]) -> str:
    value = arguments.get(key)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)  # An id of digits: many a client makes a number of it.
    if not isinstance(value, str):
        raise Unusable(f'The call needs the argument "{key}", a text: {{"{key}": "…"}}.')
    return value


def _noted(found: dict[str, Any], key: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Say which arguments were ignored: an answer without its filter would be taken for one with it."""
    ignored = sorted(set(arguments) - {key})
    if ignored:
        said = f'Ignored: {", ".join(ignored)[:200]}; the only argument is "{key}".'
        found["notes"] = [*found.get("notes", []), said]
    return found
