"""What goes to another MCP server and what comes back, whichever transport is between."""

from __future__ import annotations

import json
import re
from functools import cache
from importlib.metadata import version
from typing import Any

import mcp_types as types
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

from catalog_search.errors import UpstreamError

VERSION = HANDSHAKE_PROTOCOL_VERSIONS[-1]
"""The version of the protocol that is offered; the other server may choose an older one."""

MODERN = MODERN_PROTOCOL_VERSIONS[-1]
"""The version that is spoken with a server that shakes no hands: each request says what it needs."""

MOST_BYTES = 64 * 1024 * 1024
"""Of one answer. A longer one is refused, not cut."""

LONGEST_MESSAGE = 2_000
"""Characters of another server's error message that are handed on."""

DEEPEST = 100
"""Levels of a result that are handed on; neither end's JSON is read at any depth."""

TOO_DEEP = f"the upstream server's answer is nested too deeply to be handed on: more than {DEEPEST} levels"

INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}


_SESSION = re.compile(
    r"\b(?:mcp[ _-]?)?session[ _-]?id\b"
    r"|\b(?:invalid|unknown|expired|terminated|missing|no such|no valid|no active)[ ](?:mcp[ -]?)?session\b"
    r"|\bsession(?:[ :]+\S*\d\S*)?[ ](?:(?:is|was|has|has been|had|does|could)[ ])?(?:already[ ])?"
    r"(?:not[ ](?:be[ ])?(?:found|known|valid|exist)|no longer|expired|invalid|unknown|terminated|missing|closed)\b",
    re.I,
)


class Expired(Exception):
    """The session that a request was sent in is not known any more; the request was not carried out.

    Its text, if there is one, is what the other server said.
    """


def is_of_session(said: str | None) -> bool:
    """Tell whether an error's message is that a session is not known; one that merely has the word is not.

    >>> is_of_session("Bad Request: No valid session ID provided"), is_of_session("Session not found")
    (True, True)
    >>> is_of_session("query must not mention a parliamentary session")
    False
    """
    return said is not None and _SESSION.search(said) is not None


class NoHandshake(UpstreamError):
    """The other server opens no sessions: it speaks only versions of the protocol without them."""


def initialization(id: int) -> dict[str, Any]:
    """Return the request that opens a session. It offers nothing: no sampling, no roots, no elicitation."""
    return request(id, "initialize", {"protocolVersion": VERSION, "capabilities": {}, "clientInfo": _about()})


def with_meta(params: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters of a request that stands alone: they say what the opening of a session would have."""
    meta = {
        types.PROTOCOL_VERSION_META_KEY: MODERN,
        types.CLIENT_INFO_META_KEY: _about(),
        types.CLIENT_CAPABILITIES_META_KEY: {},
    }
    return {**params, "_meta": meta}


@cache
def _about() -> dict[str, str]:
    return {"name": "catalog-search", "version": version("catalog-search")}


def request(id: int, method: str, params: dict[str, Any]) -> dict[str, Any]:
    """Return a JSON-RPC request."""
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


def cancellation(id: int) -> dict[str, Any]:
    """Return the notification that nobody waits for a request any more."""
    params = {"requestId": id, "reason": "nobody waits for it any more"}
    return {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}


def encoded(message: Any) -> bytes:
    """Return a message as it is sent; half a character, which no text can hold, becomes a question mark."""
    return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def reply_to(message: dict[str, Any]) -> dict[str, Any] | None:
    """Return the answer to a message that the other server sends of itself; None if it is owed none."""
    if "id" not in message or "method" not in message:
        return None
    answer: dict[str, Any] = {"jsonrpc": "2.0", "id": message["id"]}
    if message["method"] == "ping":
        return answer | {"result": {}}
    return answer | {"error": {"code": types.METHOD_NOT_FOUND, "message": "This client offers nothing of the kind."}}


def result_of(answer: Any) -> dict[str, Any]:
    """Return the result in an answer.

    Raises:
        UpstreamError: it is an error, or no answer at all.

    >>> result_of({"jsonrpc": "2.0", "id": 1, "error": {"code": -32602, "message": "no such tool"}})
    Traceback (most recent call last):
    catalog_search.errors.UpstreamError: the upstream server refused the call: no such tool (error -32602)
    """
    if isinstance(answer, dict) and isinstance(answer.get("result"), dict):
        found: dict[str, Any] = answer["result"]
        if _is_too_deep(found):
            raise UpstreamError(TOO_DEEP)
        return found
    if (said := message_of(answer)) is not None:
        raise kind_of(answer)(f"the upstream server refused the call: {said}")
    raise UpstreamError("the upstream server answered with something that is no answer of MCP")


def _is_too_deep(value: Any) -> bool:
    level = [value]
    for _ in range(DEEPEST):
        level = [
            inner
            for one in level
            if isinstance(one, dict | list)
            for inner in (one.values() if isinstance(one, dict) else one)
        ]
        if not level:
            return False
    return True


def answers(message: Any, id: int) -> bool:
    """Tell whether a message is the answer to a request; an error may be without an id, if that could not be read."""
    if not isinstance(message, dict) or "method" in message:
        return False
    its = message.get("id")
    return ("error" in message and its is None) or (its == id and not isinstance(its, bool))


def kind_of(answer: Any) -> type[UpstreamError]:
    """Return the class of the error that an answer is."""
    error = answer.get("error") if isinstance(answer, dict) else None
    code = error.get("code") if isinstance(error, dict) else None
    return NoHandshake if code in _NO_HANDSHAKE else UpstreamError


_NO_HANDSHAKE = (types.METHOD_NOT_FOUND, types.UNSUPPORTED_PROTOCOL_VERSION, types.HEADER_MISMATCH)
"""What a server without sessions may say to the opening of one."""


def message_of(answer: Any) -> str | None:
    """Return what an error says, as it is handed on; None if the answer is no error."""
    error = answer.get("error") if isinstance(answer, dict) else None
    if not isinstance(error, dict):
        return None
    text = " ".join(str(error.get("message", "")).split())
    code = f"(error {error.get('code')})"
    return f"{text[:LONGEST_MESSAGE]} {code}" if text else code


def version_of(opened: dict[str, Any]) -> str:
    """Return the version of the protocol that a server chose when a session was opened.

    Raises:
        UpstreamError: it chose none that is known here.
    """
    chosen = opened.get("protocolVersion")
    if chosen not in HANDSHAKE_PROTOCOL_VERSIONS:
        raise UpstreamError(f"the upstream server speaks a version of MCP that is not known here: {str(chosen)[:40]}")
    return str(chosen)
