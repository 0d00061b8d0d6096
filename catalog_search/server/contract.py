"""The search and fetch contract, as it goes over the wire.

search({query}) → {results: [{id, title, url}]}          and, where they apply, relaxed, notes, warnings
fetch({id})     → {id, title, text, url, metadata}       and, where they apply, notes, warnings

The object stands in structuredContent and, as the same compact JSON, in exactly one text block: some clients read
the one, some the other. Members that apply only sometimes are optional, declared, and last. The rules come from
OpenAI's requirements for deep research and company knowledge; the schemas keep to what every client accepts:
an object at the root, one type a member, no $ref, no union.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import mcp_types as types

from catalog_search.server.texts import Texts

if TYPE_CHECKING:
    from collections.abc import Mapping

DEFAULT_LIMIT = 10
"""How many results search returns at most."""

SEARCH_TOOLS = ("search", "fetch")
"""The names of the two tools; the contract's, not ours to choose."""

READ_ONLY = types.ToolAnnotations(
    read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)
"""What every tool is; company knowledge passes over a tool without readOnlyHint."""

NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
"""What every client takes for the name of a tool."""

META = "catalog-search/"
"""What the keys of _meta begin with."""


_WEB = re.compile(r"https?://[^\s/?#]+[^\s]*", re.I)


def web_address(url: object) -> str:
    """Return an address that a reader can open, "" for any other: the contract has absolute ones only.

    >>> web_address("https://x.example/1"), web_address("/1"), web_address(None)
    ('https://x.example/1', '', '')
    """
    return url if isinstance(url, str) and _WEB.fullmatch(url) else ""


def text_schema(description: str) -> dict[str, Any]:
    """Return the schema of a text."""
    return {"type": "string", "description": description}


def object_schema(required: Mapping[str, Any], optional: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the schema of an object that has no other members."""
    return {
        "type": "object",
        "properties": {**required, **(optional or {})},
        "required": list(required),
        "additionalProperties": False,
    }


def sentences_schema(description: str) -> dict[str, Any]:
    """Return the schema of a list of texts."""
    return {"type": "array", "items": {"type": "string"}, "description": description}


_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,), "boolean": (bool,), "integer": (int,), "number": (int, float), "array": (list, tuple),
    "object": (dict,),
}  # fmt: skip


def fits(value: Any, schema: Mapping[str, Any]) -> bool:
    """Tell whether a value is of the types that a plain schema asks for, all the way down.

    >>> texts = {"type": "array", "items": {"type": "string"}}
    >>> fits(["a"], texts), fits([1], texts)
    (True, False)
    """
    kind = schema.get("type")
    if kind is not None and (
        not isinstance(value, _TYPES.get(kind, (object,))) or (isinstance(value, bool) and kind != "boolean")
    ):
        return False
    if isinstance(value, list | tuple):
        return all(fits(item, schema.get("items", {})) for item in value)
    if isinstance(value, dict):
        members, others = schema.get("properties", {}), schema.get("additionalProperties", {})
        others = {} if others is True else others
        return set(schema.get("required", ())) <= value.keys() and all(
            isinstance(key, str) and (key in members or others is not False) and fits(one, members.get(key, others))
            for key, one in value.items()
        )
    return True


def get_contract_schemas(locale: str = "en") -> dict[str, dict[str, Any]]:
    """Return the JSON Schemas of the two tools: search_input, search_output, fetch_input, fetch_output.

    They are valid as draft-07 and as 2020-12. Each call returns new ones.

    Args:
        locale: the language of the descriptions: en, pt-BR, es, fr or de.

    Raises:
        SettingsError: the descriptions are in no such language.

    >>> get_contract_schemas()["search_input"]["required"]
    ['query']
    """
    say = Texts(locale).say
    id, title, url = (text_schema(say(key)) for key in ("document_id", "document_title", "document_url"))
    notes, warnings = (sentences_schema(say(key)) for key in ("notes", "warnings"))
    results = {
        "type": "array",
        "maxItems": DEFAULT_LIMIT,
        "items": object_schema({"id": id, "title": title, "url": url}),
        "description": say("search_results"),
    }
    document = {
        "id": id,
        "title": title,
        "text": text_schema(say("document_text")),
        "url": url,
    }
    metadata = {
        "type": "object",
        "additionalProperties": {"type": "string"},
        "description": say("document_metadata"),
    }
    relaxed = {"type": "boolean", "description": say("search_relaxed")}
    provenance = {"type": "object", "description": say("provenance")}
    said = {"notes": notes, "provenance": provenance, "warnings": warnings}
    schemas = {
        "search_input": object_schema({"query": text_schema(say("search_query"))}),
        "search_output": object_schema({"results": results}, {"relaxed": relaxed, **said}),
        "fetch_input": object_schema({"id": text_schema(say("fetch_id"))}),
        "fetch_output": object_schema(document, {"metadata": metadata, **said}),
    }
    copied: dict[str, dict[str, Any]] = json.loads(json.dumps(schemas))  # no two share a member
    return copied


def tool_result(obj: Mapping[str, Any], extras: Mapping[str, Any] | None = None) -> types.CallToolResult:
    """Put a result into its envelope: the object, and the same as compact JSON in one text block.

    Args:
        obj: what the contract asks for.
        extras: optional members, which the tool's output schema must declare. They follow those of `obj`, which
            win where both have one, and stand in `_meta` too, their keys after "catalog-search/".

    >>> result = tool_result({"results": []}, {"results": "lost", "relaxed": True})
    >>> result.content[0].text
    '{"results":[],"relaxed":true}'
    """
    more = {key: value for key, value in (extras or {}).items() if key not in obj}
    found = {**obj, **more}
    text = json.dumps(found, ensure_ascii=False, separators=(",", ":"))
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=text)],
        structured_content=found,
        _meta={META + key: value for key, value in more.items()} if more else None,
    )


def tool_error(text: str) -> types.CallToolResult:
    """Return a failed call: what is wrong and what to do, in plain words, in one text block.

    >>> tool_error("No document has the id “x”.").is_error
    True
    """
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)], is_error=True)
