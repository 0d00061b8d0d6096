"""Items without a model: a document's own fields, matched by name to the properties of a schema.

A property takes its value from the field or metadata of its name (`unitPrice`, `unit_price` and `Unit price` are one),
or of another name that is declared for it. One document gives one item. A value is made a number, true or false, or a
list where the schema wants one and it plainly is one; else it stays as it is, and the schema has the last word.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from catalog_search.document import plainly
from catalog_search.server.aliases import words_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

LONGEST_VALUE = 2_000
"""Characters of a text that an item takes over; it is cut after a word."""

FIELDS: Mapping[str, Sequence[str]] = {
    "id": ("identifier", "code", "key"),
    "title": ("name", "label", "heading"),
    "url": ("link", "href", "uri"),
    "keywords": ("tags", "subjects", "categories"),
    "text": ("description", "summary", "abstract", "content", "body"),
}
"""The fields of a document, and other names for them."""


def items_of(
    sources: Sequence[Mapping[str, Any]],
    properties: Mapping[str, Any],
    source_key: str,
    aliases: Mapping[str, Sequence[str]] | None = None,
) -> tuple[list[dict[str, Any]], list[str]]:
    """Return an item of each source, and the properties that no source has a field for.

    Args:
        sources: mappings with id, title, url, text, keywords and metadata.
        properties: the schema's, name → schema.
        source_key: the member that names the source.
        aliases: field or name of metadata → further names for it.

    >>> source = {"id": "7", "title": "Pay", "url": "https://x.example/7", "metadata": {"unit price": "3.5"}}
    >>> items_of([source], {"name": {}, "unitPrice": {"type": "number"}, "size": {}}, "source_url")
    ([{'name': 'Pay', 'unitPrice': 3.5, 'source_url': 'https://x.example/7'}], ['size'])
    """
    items: list[dict[str, Any]] = []
    found: set[str] = set()
    for source in sources:
        named = _named(source, aliases or {})
        item: dict[str, Any] = {}
        for name, schema in properties.items():
            value = named.get(_key(name))
            if name != source_key and value not in (None, "", [], {}):
                item[name] = _fitted(value, schema)
        found |= item.keys()
        items.append(item | {source_key: source["url"]})
    return items, [name for name in properties if name not in found and name != source_key]


def _named(source: Mapping[str, Any], aliases: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Return a source's values by every name they go by; a name of their own comes before another's alias."""
    values = {**{name: source.get(name) for name in FIELDS}, **(source.get("metadata") or {})}
    named: dict[str, Any] = {}
    for name, value in values.items():
        named[_key(name)] = value
    for names in (aliases, FIELDS):
        for name, others in names.items():
            for other in others:
                if (value := named.get(_key(name))) is not None:
                    named.setdefault(_key(other), value)
    return named


def _key(name: str) -> str:
    return "".join(words_of(name)) or name


_INTEGER, _NUMBER = (
    re.compile(r"-?(?:0|[1-9][0-9]{0,300})"),
    re.compile(r"-?(?:0|[1-9][0-9]{0,300})(?:\.[0-9]{1,300})?"),
)


def _fitted(value: Any, schema: Any) -> Any:
    kinds = schema.get("type", ()) if isinstance(schema, dict) else ()
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if "array" in kinds:
        inner = schema.get("items", {})
        return [_fitted(one, inner) for one in (value if isinstance(value, list) else [value])]
    if isinstance(value, str):
        text = value.strip()
        if ("integer" in kinds and _INTEGER.fullmatch(text)) or ("number" in kinds and _NUMBER.fullmatch(text)):
            return json.loads(text)
        if "boolean" in kinds and text.lower() in ("true", "false"):
            return text.lower() == "true"
        return _cut(value)
    if kinds and "string" in kinds and not isinstance(value, dict):
        return _cut(plainly(value))
    return value


def _cut(text: str) -> str:
    if len(text) <= LONGEST_VALUE:
        return text
    return re.sub(r"\s+\S*\Z", "", text[: LONGEST_VALUE + 1]) or text[:LONGEST_VALUE]
