"""A front for another MCP server's search tool: any call that holds a question becomes exactly one right one.

    web_search {"q": "wages", "lang": "en"}   →   search {"query": "wages"}   and what it answered, then a warning

The front advertises one tool, under its own name, and never the other server's. It reads calls as our own tools do
(calls.py), hands the question on uncut and the caller's Authorization as it is, and gives the result back as it came,
before any warning. Without a question nothing is sent, and the answer teaches. Only what the other server says is an
error is one. It keeps nothing: the same call twice is two calls there.
"""

from __future__ import annotations

import json
import logging
import time
from contextvars import ContextVar
from functools import reduce
from importlib.metadata import version
from itertools import chain
from typing import TYPE_CHECKING, Any

import mcp_types as types
from mcp.server.lowlevel import Server
from mcp_types.methods import serialize_server_result
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from catalog_search.errors import UpstreamError
from catalog_search.server.aliases import ALIASES, Aliases, words_of
from catalog_search.server.calls import Call, Shape, canonical, read_call
from catalog_search.server.contract import META, text_schema, tool_error
from catalog_search.server.journal import CALLER
from catalog_search.server.texts import Texts
from catalog_search.server.tools import LISTED_FOR, any_arguments, as_sentence

if TYPE_CHECKING:
    from collections.abc import Sequence

    from catalog_search.server.upstream_sessions import Sessions
    from catalog_search.server.upstream_settings import UpstreamSettings

AUTHORIZATION: ContextVar[str | None] = ContextVar("authorization", default=None)
"""The Authorization header of the call that is under way, as it came; it is handed on and written nowhere."""

NO_RESULT = "The upstream server's answer is no result of a tool, as this version of the protocol has them."

FAILED = "Something went wrong in this server; whether the upstream server was asked is not known."

EXAMPLE = "history of the metre"
"""A question as it might be asked; what the server behind has is not known here."""

NAME = "web-search"
"""What the front calls itself."""

logger = logging.getLogger(__name__)


class Front:
    """The tool of a front, and what carries out a call of it.

    Args:
        settings: its names, and those of the server behind.
        sessions: the way to the server behind.
    """

    def __init__(self, settings: UpstreamSettings, sessions: Sessions) -> None:
        self._settings, self._sessions = settings, sessions
        self._texts = Texts()
        self.tool = _tool(settings, self._texts)
        properties: dict[str, Any] = self.tool.input_schema["properties"]
        main = settings.canonical_param
        # What a client is shown has descriptions; what a value is made to be is its type alone.
        options = {name: {"type": one.type} if one.type else {} for name, one in settings.optional_aliases.items()}
        assert properties.keys() == {main, *options}
        self.shape = Shape(settings.canonical_tool, main, options, example={main: EXAMPLE})
        self.aliases = _aliases(settings)

    async def answer(self, name: Any, arguments: Any, authorization: str | None) -> dict[str, Any]:
        """Carry out a call of any shape.

        Args:
            name: the name of the tool as it was sent, of any JSON type.
            arguments: the arguments as they were sent, of any JSON type.
            authorization: the caller's Authorization header.

        Returns:
            The result, as it goes over the wire.
        """
        began = time.perf_counter()
        if name in self._settings.tools:
            name = self._settings.canonical_tool
        call = read_call([self.shape], name, arguments, self.aliases)
        warnings = self._said(call)
        if not call.usable:
            outcome, result = "taught", _plain(" ".join(warnings))
        else:
            outcome, result = await self._handed_on(call, warnings, authorization)
        spent = (time.perf_counter() - began) * 1_000
        logger.info("%s %s %.1f ms caller=%s", self.shape.tool, outcome, spent, CALLER.get())
        return result

    def _said(self, call: Call) -> list[str]:
        say = self._texts.say
        warnings = [say(f"read_{remark.kind}", **remark.values) for remark in call.remarks]
        return [*warnings, say("canonical", call=canonical(call, self.shape))] if warnings else []

    async def _handed_on(
        self, call: Call, warnings: Sequence[str], authorization: str | None
    ) -> tuple[str, dict[str, Any]]:
        arguments = dict(call.arguments)
        arguments = {self._settings.target_param: arguments.pop(self.shape.main), **arguments}
        try:
            found = await self._sessions.call(self._settings.target_tool, arguments, authorization)
        except UpstreamError as problem:
            # The other server may repeat what it was sent; the caller may read that, a log may not.
            secrets = sorted({authorization or "", *(authorization or "").split()}, key=len, reverse=True)
            text = reduce(lambda text, one: text.replace(one, "…") if len(one) > 6 else text, secrets, problem.message)
            logger.warning("%s: %s", self._settings.target, text)
            return "error", _wire(tool_error(" ".join([as_sentence(problem.message), *warnings])))
        if not isinstance(found.get("content"), list):
            logger.warning("%s: the result has no content", self._settings.target)
            return "error", _wire(tool_error(" ".join([NO_RESULT, *warnings])))
        if found.get("isError"):
            return "error", with_warnings(found, warnings)
        return ("understood" if warnings else "answered"), with_warnings(found, warnings)


def with_warnings(result: dict[str, Any], warnings: Sequence[str]) -> dict[str, Any]:
    """Return a result with warnings after it: in a text block of their own, and as the last member of its object.

    Some clients show a model the blocks only, others the object only.

    >>> with_warnings({"content": [], "structuredContent": {"results": []}}, ["Ignored: k."])["structuredContent"]
    {'results': [], 'warnings': ['Ignored: k.']}
    """
    if not warnings:
        return result
    block = {"type": "text", "text": " ".join(warnings)}
    said = {**result, "content": [*result["content"], block]}
    found = result.get("structuredContent")
    if isinstance(found, dict) and isinstance(theirs := found.get("warnings", []), list):
        others = {key: value for key, value in found.items() if key != "warnings"}
        said["structuredContent"] = {**others, "warnings": [*theirs, *warnings]}
    meta = result.get("_meta")
    said["_meta"] = {**(meta if isinstance(meta, dict) else {}), f"{META}warnings": list(warnings)}
    return said


def make_front(settings: UpstreamSettings, sessions: Sessions) -> Server[Any]:
    """Return an MCP server with the one tool of a front."""
    front = Front(settings, sessions)

    async def list_tools(_context: Any, _params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[front.tool], ttl_ms=LISTED_FOR, cache_scope="public")

    async def call_tool(context: Any, params: types.CallToolRequestParams) -> Any:
        try:
            found = await front.answer(params.name, params.arguments, AUTHORIZATION.get())
            return _deliverable(found, context.protocol_version)
        except Exception:
            # The SDK would send the text of the exception to the client.
            logger.exception("a call failed")
            return tool_error(FAILED)

    server: Server[Any] = Server(
        NAME,
        version=version("catalog-search"),
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        get_tool_input_schema=lambda _name: None,
    )
    server.middleware.clear()
    server.middleware.append(any_arguments)
    return server


def _tool(settings: UpstreamSettings, texts: Texts) -> types.Tool:
    main = settings.canonical_param
    properties: dict[str, Any] = {main: text_schema("What to look for, in plain words.")}
    for name, one in settings.optional_aliases.items():
        kind = {"type": one.type} if one.type else {}
        properties[name] = kind | {"description": "Optional; handed on to the search as it is."}
    example = json.dumps({main: EXAMPLE})
    return types.Tool(
        name=settings.canonical_tool,
        title="Search",
        description=(
            f"Search for a question in plain words; the results come first. "
            f"Call it as {settings.canonical_tool} {example}."
        ),
        input_schema={
            "type": "object",
            "properties": properties,
            "required": [main],
            "additionalProperties": False,
        },
        annotations=types.ToolAnnotations(
            read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=True
        ),
    )


def _aliases(settings: UpstreamSettings) -> Aliases:
    """Return the keys that are known for each argument; one that is declared for an argument is no other's."""
    aliases = {settings.canonical_param: settings.query_aliases}
    aliases |= {name: one.aliases for name, one in settings.optional_aliases.items()}
    known = {**ALIASES.keys, settings.canonical_param: ("query", *ALIASES.keys["query"])}
    declared = {*aliases, *chain.from_iterable(aliases.values())}
    keys = {
        name: (*more, *(one for one in known.get(name, ()) if one not in declared)) for name, more in aliases.items()
    }
    optional = chain.from_iterable((name, *one.aliases) for name, one in settings.optional_aliases.items())
    # A text under one of those is never taken for the question.
    return Aliases({}, keys, ALIASES.kinds | {"".join(words_of(name)) for name in optional})


def _plain(text: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}], "isError": False}


def _wire(result: types.CallToolResult) -> dict[str, Any]:
    return result.model_dump(by_alias=True, mode="json", exclude_none=True)


def _deliverable(found: dict[str, Any], version: str) -> dict[str, Any] | types.CallToolResult:
    """Return a result as one version of the protocol has it; the other server may speak a newer one, or be careless."""
    found = {key: value for key, value in found.items() if key in _MEMBERS}
    if version in MODERN_PROTOCOL_VERSIONS:
        found["resultType"] = "complete"
    try:
        return serialize_server_result("tools/call", version, found)
    except ValidationError:
        logger.warning("the upstream server's result is none that version %s of the protocol has", version)
        return tool_error(NO_RESULT)


_MEMBERS = ("content", "structuredContent", "isError", "_meta")
