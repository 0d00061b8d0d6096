"""A JSON-RPC message of nearly the right form → one that can be answered.

The SDK refuses these before any tool sees them, or does not answer at all; a client waits for ever then. What is no
message at all is for the transport to refuse.
"""

from __future__ import annotations

from typing import Any

from catalog_search.server.jsontext import parse


def repaired(message: Any) -> Any:
    """Return a message with what is missing from its form; anything else as it is.

    A request needs no version, and a call of a tool may have its parameters as a list, a text or JSON in a text.

    >>> repaired({"id": 1, "method": "tools/call", "params": ["search", {"query": "wages"}]})["params"]
    {'name': 'search', 'arguments': {'params': {'query': 'wages'}}}
    """
    if not isinstance(message, dict) or not isinstance(message.get("method"), str):
        return message
    message = {**message, "jsonrpc": "2.0"}
    if message.get("params", ...) is None:
        del message["params"]
    if message["method"] == "tools/call" and "id" in message:
        message["params"] = _params(message.get("params", {}))
    if isinstance(message.get("params"), dict) and "_meta" in message["params"]:
        message["params"] = _with_sound_meta(message["params"])
    return message


def _params(params: Any) -> dict[str, Any]:
    if isinstance(params, dict):
        return params
    if isinstance(params, str) and params.lstrip()[:1] in ("{", "["):
        try:
            params = parse(params)
        except ValueError:
            return {"arguments": {"params": params}}
    if isinstance(params, dict):
        # Not as they are: that they came as a text is for the answer to say.
        return {**params, "arguments": {"params": params.get("arguments")}}
    if isinstance(params, list):
        name, arguments = (*params, None, None)[:2]
        return {"name": name, "arguments": {"params": arguments}}
    return {"name": params}


def _with_sound_meta(params: dict[str, Any]) -> dict[str, Any]:
    """Leave out what is said about a request and cannot be: it is not what is asked."""
    rest = {key: value for key, value in params.items() if key != "_meta"}
    meta = params["_meta"]
    if not isinstance(meta, dict):
        return rest
    token = meta.get("progressToken")
    if isinstance(token, bool) or not isinstance(token, str | int | None):
        meta = {key: value for key, value in meta.items() if key != "progressToken"}
    return {**rest, "_meta": meta}
