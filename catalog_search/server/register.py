"""The pair search and fetch for somebody else's MCP server, over whatever it searches.

    from mcp.server.lowlevel import Server
    from catalog_search.server import register_search_tools

    server = Server("jobs")
    register_search_tools(server, find, read, corpus="the job register, 12,000 jobs", example="night nurse")

Everything that the contract asks for is seen to here, whatever the two functions return: texts, absolute urls, at
most ten results, a document in parts, calls in any shape. What they return besides reaches a client only as far as
the output schema declares it.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import anyio.to_thread
import mcp_types as types

from catalog_search.document import code
from catalog_search.errors import DocumentNotFound, QueryError
from catalog_search.server.contract import DEFAULT_LIMIT, READ_ONLY, SEARCH_TOOLS, get_contract_schemas, web_address
from catalog_search.server.corpus import fetch_description, search_description
from catalog_search.server.parts import Part, part_of, split_id
from catalog_search.server.texts import Texts
from catalog_search.server.tools import Serving, Tool, add_tools

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from mcp.server.lowlevel import Server

    from catalog_search.server.tools import Answer


def register_search_tools(
    server: Server[Any],
    search: Callable[[str], Any],
    fetch: Callable[[str], Any],
    *,
    corpus: str,
    example: str = "",
    rich_tools: Iterable[str] = (),
    limit: int = DEFAULT_LIMIT,
    locale: str = "en",
    titles: Mapping[str, str] | None = None,
    annotations: types.ToolAnnotations | None = None,
    extend_output_schema: Mapping[str, Mapping[str, Any]] | None = None,
    not_found: type[Exception] | tuple[type[Exception], ...] = (),
    on_error: Callable[[str, Exception], None] | None = None,
    record: Callable[[str, str], None] | None = None,
    classify_error: Callable[[Exception], str | None] | None = None,
) -> None:
    """Add the tools search and fetch to a low-level MCP server, before those that it has.

    Both functions may be plain, and then run in worker threads, or coroutines. Either may return a pair, its result
    and extras: optional members (`notes`, `relaxed`, `provenance`, those of `extend_output_schema`) that follow the
    result's own in structuredContent, and stand in `_meta`. Extras that the schema does not declare, or declares
    otherwise, are in `_meta` alone.

    Args:
        server: the server, before it runs.
        search: a question → the results, a list or {"results": the list}, the best first; each a mapping with id,
            title and url. Other members of a result are left out.
        fetch: an id → a mapping with id, title, text, url and perhaps metadata, or None if there is no such document.
        corpus: what is searched and how much of it, in English, to stand after “Search”.
        example: a question that has an answer.
        rich_tools: the names of other tools of the server that can do more; the descriptions point to them.
        limit: how many results search returns at most, 1 to 10.
        locale: the language of titles, schemas and messages: en, pt-BR, es, fr or de.
        titles: tool → its title.
        annotations: the tools' annotations; they are read-only whatever these say.
        extend_output_schema: tool → optional member → its schema.
        not_found: what `fetch` raises if there is no such document.
        on_error: told of each failure, with the tool's name; by default it is logged.
        record: told of each call when it is done: what came of it, and the tool's name. What came of it is one of
            answered, understood, taught, refused, not_found, error, failed. It is never told what was asked.
        classify_error: what was raised → what to tell the client, None if it is a failure of the server.

    Raises:
        ValueError: the limit is out of range, or an extended schema takes a name of the contract's.
        SettingsError: there are no texts in that language.
    """
    if not 1 <= limit <= DEFAULT_LIMIT:
        raise ValueError(f"limit is {limit}; it is 1 to {DEFAULT_LIMIT}")
    texts = Texts(locale)
    schemas = get_contract_schemas(locale)
    marks = (annotations or READ_ONLY).model_copy(update={"read_only_hint": True})
    richer = ", ".join(rich_tools)
    more = f"This server's other tools can do more than find and read: {richer}. " if richer else ""
    described = {
        "search": search_description(corpus, example=example, more=more, limit=limit),
        "fetch": fetch_description(corpus),
    }
    members: dict[str, dict[str, Any]] = {}
    for name in SEARCH_TOOLS:
        output = schemas[f"{name}_output"]
        members[name] = dict((extend_output_schema or {}).get(name, {}))
        if taken := sorted(members[name].keys() & output["properties"].keys()):
            raise ValueError(f"the contract has the member “{taken[0]}” of {name} already")
        output["properties"] |= members[name]

    async def run_search(_caller: object, arguments: dict[str, Any]) -> Answer:
        found, extras = _pair(await _called(search, arguments["query"]))
        results = found.get("results", ()) if isinstance(found, dict) else found
        kept = [_result(one) for one in list(results)[: min(limit, arguments.get("limit", limit))]]
        return {"results": kept}, extras

    async def run_fetch(_caller: object, arguments: dict[str, Any]) -> Answer:
        id, line, character = arguments["id"], arguments.get("from_line", 1), 1
        found, extras = await read(id)
        if found is None and (part := split_id(id)):
            id, line, character = part
            found, extras = await read(id)
        if found is None:
            raise DocumentNotFound(texts.say("not_found", id=arguments["id"][:100]), id=arguments["id"])
        document = _document(found, id, line, character)
        if document is None:
            raise QueryError(texts.say("ends_before", id=id[:100], line=line))
        return document, extras

    async def read(id: str) -> tuple[Any, dict[str, Any]]:
        try:
            return _pair(await _called(fetch, id))
        except not_found:
            return None, {}

    def tool(name: str, handler: Callable[..., Any], main: str, hidden: dict[str, Any], shown: dict[str, str]) -> Tool:
        definition = types.Tool(
            name=name,
            title=(titles or {}).get(name) or texts.say(f"{name}_title", corpus=corpus),
            description=described[name],
            input_schema=schemas[f"{name}_input"],
            output_schema=schemas[f"{name}_output"],
            annotations=marks,
        )
        return Tool(definition, handler, main=main, literal=name == "fetch", hidden=hidden, example=shown)

    most = {"limit": {"type": "integer", "minimum": 1, "maximum": limit}}
    lines = {"from_line": {"type": "integer", "minimum": 1}}
    add_tools(
        server,
        [
            tool("search", run_search, "query", most, {"query": example or "…"}),
            tool("fetch", run_fetch, "id", lines, {}),
        ],
        Serving(
            texts=texts,
            record=record or (lambda _kind, _tool: None),
            on_error=on_error,
            classify_error=classify_error or (lambda _problem: None),
        ),
    )


async def _called(function: Callable[[str], Any], argument: str) -> Any:
    if inspect.iscoroutinefunction(function):
        return await function(argument)
    found = await anyio.to_thread.run_sync(function, argument)
    return await found if inspect.isawaitable(found) else found


def _pair(found: Any) -> tuple[Any, dict[str, Any]]:
    """Split what a function returned into its result and its extras."""
    if isinstance(found, tuple):
        result, extras = found
        return result, dict(extras or {})
    return found, {}


def _result(one: Mapping[str, Any]) -> dict[str, str]:
    id = str(one["id"])
    return {"id": id, "title": str(one.get("title") or id), "url": web_address(one.get("url"))}


def _document(found: Mapping[str, Any], asked: str, line: int, character: int) -> dict[str, Any] | None:
    """Return a document as the contract has it, from a line on; None if it has no such line."""
    id = str(found.get("id") or asked)
    text = str(found.get("text") or "")
    part = part_of(text, line, character)
    if part is None:
        return None
    metadata = {str(key): str(value) for key, value in (found.get("metadata") or {}).items() if value is not None}
    if part.next:
        metadata["next"] = f"{id}#{part.next}"
    document = {
        "id": id,
        "title": str(found.get("title") or id),
        "text": text if part.whole else f"{part.text}\n\n{_place(part, metadata)}",
        "url": web_address(found.get("url")),
    }
    return document | ({"metadata": metadata} if metadata else {})


def _place(part: Part, metadata: Mapping[str, str]) -> str:
    return part.place() + (f"; continues: fetch {code(metadata['next'])}" if part.next else "")
