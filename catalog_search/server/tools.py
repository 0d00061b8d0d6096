"""Tools → an MCP server of the low-level kind that understands any call of them.

A `Tool` says what it is, what it needs, and what carries it out. What every call has in common is done here, once:
it is read (calls.py), carried out in a worker thread, and put into its envelope (contract.py); whatever goes wrong
is a result that says so in plain words. The low-level server sends schemas as they are written, and does not check
arguments against them.
"""

from __future__ import annotations

import copy
import inspect
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread
import mcp_types as types
from mcp.server.lowlevel import Server

from catalog_search.errors import CatalogSearchError, DatabaseError, DocumentNotFound
from catalog_search.server.aliases import ALIASES, Aliases
from catalog_search.server.calls import Call, Remark, Shape, canonical, read_call
from catalog_search.server.contract import META, NAME, fits, sentences_schema, tool_error, tool_result
from catalog_search.server.texts import Texts

if TYPE_CHECKING:
    from mcp.server.context import CallNext, HandlerResult, ServerRequestContext

THREADS = 4
"""Calls that are worked on at a time. Each thread has its own connection, and with it a cache."""

LISTED_FOR = 300_000
"""Milliseconds for which a client may keep the list of tools; 2026-07-28 asks for a figure."""

_SENTENCES = {"type": "array", "items": {"type": "string"}}

logger = logging.getLogger(__name__)

Answer = Mapping[str, Any] | tuple[Mapping[str, Any], Mapping[str, Any] | None]
"""What a handler returns: an object as the output schema has it, or that and optional members besides."""
Handler = Callable[[Any, dict[str, Any]], Answer | Awaitable[Answer]]
"""(caller, arguments by their canonical keys) → answer. A plain function runs in a worker thread."""


@dataclass(frozen=True)
class Tool:
    """A tool: its definition, what carries it out, and what a call of it needs.

    The input schema's properties say which arguments are read, of which type and within which bounds (`minimum`,
    `maximum`); all but the main one are optional. A call without its main argument is answered by the output
    schema's required members, empty, and `warnings`, which every output schema gets.
    """

    definition: types.Tool
    handler: Handler
    main: str = ""
    """The argument that a call cannot do without; "" if there is none."""
    literal: bool = False
    """The main argument is an identifier, taken as it stands."""
    hidden: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Arguments that are honoured though the input schema does not name them → their schemas."""
    example: Mapping[str, Any] = field(default_factory=dict)
    """The arguments of a call that is worth showing."""

    def __post_init__(self) -> None:
        if not NAME.fullmatch(self.definition.name):
            raise ValueError(f"no client takes a tool by the name {self.definition.name!r}")

    @property
    def name(self) -> str:
        return self.definition.name

    @property
    def shape(self) -> Shape:
        """What calls.py needs to know of it."""
        properties: Mapping[str, Any] = self.definition.input_schema.get("properties", {})
        options = {key: schema for key, schema in properties.items() if key != self.main}
        return Shape(self.name, self.main, options, self.hidden, self.example, self.literal)

    def blank(self) -> dict[str, Any]:
        """Return an answer that satisfies the output schema and holds nothing."""
        schema = self.definition.output_schema or {}
        return {key: _blank(schema.get("properties", {}).get(key, {})) for key in schema.get("required", ())}


Tools = Sequence[Tool] | Callable[[Any], Sequence[Tool]]
"""The tools, or a function that gives those that one caller may use."""


@dataclass(frozen=True)
class Serving:
    """How calls are served, whichever tool they are for."""

    texts: Texts = field(default_factory=Texts)
    aliases: Aliases = ALIASES
    strict: bool = False
    """Refuse what is not canonical instead of reading it."""
    caller: Callable[[Any], Any] = lambda _context: None
    """The context of a request → what handlers get as the caller."""
    record: Callable[[str, str], None] = lambda _kind, _tool: None
    """Told of each call, after it: a kind and the tool. Kinds: answered, understood (answered, though the call was
    not canonical), taught, refused, not_found, error, failed. It is never told the arguments."""
    on_error: Callable[[str, Exception], None] | None = None
    """Told of what no handler should raise, with the tool; by default it is logged."""
    classify_error: Callable[[Exception], str | None] = lambda _problem: None
    """What a handler raised → what the client is told, or None: then it is a failure of the server."""
    limiter: Callable[[], anyio.CapacityLimiter] = lambda: anyio.CapacityLimiter(THREADS)
    """Makes what bounds the worker threads; called once, in the event loop."""


def make_server(
    tools: Tools,
    serving: Serving = Serving(),
    *,
    name: str,
    title: str = "",
    instructions: str = "",
    cache_scope: str = "public",
) -> Server[Any]:
    """Return an MCP server with tools.

    It speaks the versions of the protocol with a handshake, 2024-11-05 to 2025-11-25, and 2026-07-28.

    Args:
        tools: what it offers.
        serving: how.
        name, title, instructions: what it says of itself.
        cache_scope: "private" if the tools differ from caller to caller.
    """
    server: Server[Any] = Server(
        name,
        version=version("catalog-search"),
        title=title or None,
        instructions=instructions or None,
        # Else a call over HTTP lists the tools first, to look for arguments that travel as headers; none does.
        get_tool_input_schema=lambda _name: None,
    )
    server.middleware.clear()
    add_tools(server, tools, serving, cache_scope=cache_scope)
    return server


def add_tools(server: Server[Any], tools: Tools, serving: Serving, *, cache_scope: str = "public") -> None:
    """Add tools to a low-level server, before those that it has; theirs are left as they are."""
    others_list = server.get_request_handler("tools/list")
    others_call = server.get_request_handler("tools/call")
    limiter: list[anyio.CapacityLimiter] = []

    def offered(context: Any) -> tuple[Any, Sequence[Tool]]:
        caller = serving.caller(context)
        return caller, tools(caller) if callable(tools) else tools

    async def list_tools(context: Any, params: Any) -> types.ListToolsResult:
        listed = [as_listed(tool, serving.texts) for tool in offered(context)[1]]
        if others_list is None:
            return types.ListToolsResult(tools=listed, ttl_ms=LISTED_FOR, cache_scope=cache_scope)  # type: ignore[arg-type]
        theirs: Any = await others_list.handler(context, params)
        if params is not None and getattr(params, "cursor", None):
            return theirs  # type: ignore[no-any-return]
        names = {tool.name for tool in listed}
        merged = [*listed, *(tool for tool in theirs.tools if tool.name not in names)]
        return theirs.model_copy(update={"tools": merged})  # type: ignore[no-any-return]

    async def call_tool(context: Any, params: types.CallToolRequestParams) -> Any:
        if others_call is not None and await is_theirs(context, params.name):
            return await others_call.handler(context, params)
        try:
            caller, ours = offered(context)
            if not limiter:
                limiter.append(serving.limiter())
            return await answer(ours, serving, caller, params.name, params.arguments, limiter[0])
        except Exception:
            # The SDK would send the text of the exception to the client.
            logger.exception("a call failed")
            return tool_error(serving.texts.say("failed"))

    async def is_theirs(context: Any, name: str) -> bool:
        if others_list is None or name in {tool.name for tool in offered(context)[1]}:
            return False
        listed: Any = await others_list.handler(context, None)
        return name in {tool.name for tool in listed.tools}

    server.add_request_handler("tools/list", types.PaginatedRequestParams, list_tools)
    server.add_request_handler("tools/call", types.CallToolRequestParams, call_tool)
    server.middleware.append(any_arguments)


async def any_arguments(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
    """Let a call pass that the SDK would refuse before its handler sees it: no name, arguments that are no object."""
    if ctx.method == "tools/call":
        params = dict(ctx.params or {})
        if not isinstance(params.get("name"), str):
            params["name"] = ""
        if not isinstance(params.get("arguments"), dict | None):
            params["arguments"] = {"arguments": params["arguments"]}
        ctx = replace(ctx, params=params)
    return await call_next(ctx)


async def answer(
    tools: Sequence[Tool],
    serving: Serving,
    caller: Any,
    name: Any,
    arguments: Any,
    limiter: anyio.CapacityLimiter | None = None,
) -> types.CallToolResult:
    """Carry out a call; what goes wrong with it is a result that says so in plain words."""
    shapes = {tool.name: tool.shape for tool in tools}
    call = read_call(list(shapes.values()), name, arguments, serving.aliases)
    tool = next(tool for tool in tools if tool.name == call.tool)
    say = serving.texts.say
    warnings = [_sentence(say, "read", remark) for remark in call.remarks]
    if warnings:
        warnings.append(say("canonical", call=canonical(call, shapes[call.tool])))
    if call.remarks and serving.strict:
        kind, result = "refused", tool_error(_refusal(say, call, shapes))
    elif not call.usable:
        kind, result = "taught", tool_result(tool.blank() | {"warnings": warnings})
    else:
        kind, result = await _carried_out(tool, serving, caller, call, warnings, limiter)
    serving.record(kind, tool.name)
    return result


async def _carried_out(
    tool: Tool,
    serving: Serving,
    caller: Any,
    call: Call,
    warnings: Sequence[str],
    limiter: anyio.CapacityLimiter | None,
) -> tuple[str, types.CallToolResult]:
    try:
        if inspect.iscoroutinefunction(tool.handler):
            found = await tool.handler(caller, call.arguments)
        else:
            work = partial(tool.handler, caller, call.arguments)
            found = await anyio.to_thread.run_sync(work, limiter=limiter)
            if inspect.isawaitable(found):
                found = await found
        obj, extras = found if isinstance(found, tuple) else (found, None)
        extras = dict(extras or {})
        # Last of all, after the other extras too: a model reads the results first.
        warnings = [*extras.pop("warnings", ()), *warnings]
        extras |= {"warnings": warnings} if warnings else {}
        return "understood" if warnings else "answered", _enveloped(tool, obj, extras)
    except Exception as problem:
        kind, text = _failure(tool, serving, problem)
        return kind, tool_error(" ".join([text, *warnings]))


def _enveloped(tool: Tool, obj: Mapping[str, Any], extras: Mapping[str, Any]) -> types.CallToolResult:
    """Put an answer into its envelope; what its output schema does not declare, or otherwise, is in `_meta` alone."""
    members = (tool.definition.output_schema or {}).get("properties", {}) | {"warnings": _SENTENCES}
    declared = {key: value for key, value in extras.items() if key in members and fits(value, members[key])}
    result = tool_result(obj, declared)
    if more := {META + key: value for key, value in extras.items() if key not in declared and key not in obj}:
        result.meta = {**(result.meta or {}), **more}
    return result


def _failure(tool: Tool, serving: Serving, problem: Exception) -> tuple[str, str]:
    say = serving.texts.say
    text = serving.classify_error(problem)
    if text is not None:
        return "error", text
    if isinstance(problem, DocumentNotFound):
        return "not_found", as_sentence(problem.message)
    if isinstance(problem, DatabaseError):
        # The message, not its text: where the file lies is no client's business.
        logger.error("%s", problem)
        return "failed", say("database_failed", problem=problem.message.rstrip("."))
    if isinstance(problem, CatalogSearchError):
        said = " ".join(say(key, **values) for key, values in problem.sentences)
        return "error", said or as_sentence(problem.message)
    if serving.on_error is not None:
        serving.on_error(tool.name, problem)
    else:
        logger.error("a call of %s failed", tool.name, exc_info=problem)
    return "failed", say("failed")


def as_sentence(text: str) -> str:
    """Return an error's message as it is said to a client.

    >>> as_sentence("there is no collection")
    'There is no collection.'
    """
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "?", "!")) else ".")


def _refusal(say: Callable[..., str], call: Call, shapes: Mapping[str, Shape]) -> str:
    tools = ", ".join(shapes)
    sentences = [_sentence(say, "refused", remark, tools=tools, tool=call.tool) for remark in call.remarks]
    return " ".join([*sentences, say("canonical", call=canonical(call, shapes[call.tool]))])


def _sentence(say: Callable[..., str], form: str, remark: Remark, **more: str) -> str:
    kind = remark.kind
    if form == "refused" and kind in ("option", "hidden"):
        if kind == "option":
            kind = "key"
        else:
            kind, more = "ignored", more | {"keys": remark.values["asked"]}
    return say(f"{form}_{kind}", **{**remark.values, **more})


def as_listed(tool: Tool, texts: Texts) -> types.Tool:
    """Return a tool's definition, its output schema with the member `warnings`, which any answer may have."""
    schema = tool.definition.output_schema
    if schema is None or "warnings" in schema.get("properties", {}):
        return tool.definition
    schema = copy.deepcopy(schema)
    schema.setdefault("properties", {})["warnings"] = sentences_schema(texts.say("warnings"))
    return tool.definition.model_copy(update={"output_schema": schema})


def _blank(schema: Mapping[str, Any]) -> Any:
    kind = schema.get("type")
    if kind == "object":
        return {key: _blank(schema.get("properties", {}).get(key, {})) for key in schema.get("required", ())}
    empty: dict[Any, Any] = {"array": [], "integer": 0, "number": 0, "boolean": False}
    return empty.get(kind, "")
