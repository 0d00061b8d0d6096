"""Items that somebody claims → those that a source supports, and every other one by name.

Who made the items, a model perhaps, is not trusted: an item is kept if it satisfies the caller's schema, names its
source by exactly the url of one of the sources, and that source holds the values that must be found. All of it is
decided here, by comparison of texts and values.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from catalog_search.errors import QueryError, nearest
from catalog_search.grounding import Evidence, Source
from catalog_search.itemschema import EVIDENCE, ItemSchema, pointer
from catalog_search.itemtext import Broken, as_json, items_of

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_ITEMS = 50
"""Items that are verified at once."""
REASONS = ("not_json", "schema", "no_source", "unknown_source", "not_supported")
"""Why an item may be dropped."""
CHECKED = (
    "Every item satisfies the schema and names its source by exactly the url of one of the sources; for each other "
    "value, evidence says whether that source holds it, and where."
)
CHECKED_FIELDS = (
    "Every item satisfies the schema, names its source by exactly the url of one of the sources, and that source "
    "holds every value of {fields}; for each other value, evidence says whether it does."
)
CHECKED_ALL = (
    "Every item satisfies the schema, names its source by exactly the url of one of the sources, and that source "
    "holds every one of its values."
)
NOT_CHECKED = (
    "Not checked: whether the source says a value of this very item and in the same unit, whether what the source "
    "says is true, and whether an item is missing; a value whose evidence is absent is not in the source."
)


def verify_items(
    items: Iterable[Any] | str,
    schema: Mapping[str, Any],
    sources: Iterable[Mapping[str, Any]],
    *,
    require: str | Sequence[str] = "source",
) -> dict[str, Any]:
    """Keep the items that a source supports, and name every other one.

    Args:
        items: what is claimed: objects, each with `source_url` (`sourceUrl` if the schema names it so); at most 50.
            A text is read as a model's answer: JSON in a fence, among sentences, broken off.
        schema: the JSON Schema of one item, 2020-12 or draft-07. At most 16 kB, 8 schemas inside one another, no
            `$ref` beyond itself, no `patternProperties`; `pattern` has a time limit; `format` is not checked. It
            need not name the source, nor allow it.
        sources: mappings with id, title, url and text, and perhaps keywords (a list) and metadata (a mapping).
        require: what the source must hold: "source", nothing but that it is one; "all", every value; or a list of
            fields, as names of members or JSON Pointers.

    Returns:
        `items`, each with its `evidence`: JSON Pointer of a value → `match` (exact, folded: in its normal form or by
        value, or absent), `in`, and for the text `first_line` and `last_line`. `items_extracted` and `items_dropped`,
        how many came and went. `dropped`: index, item, reason, path and message of each that went; a reason is
        not_json, schema, no_source, unknown_source or not_supported. `sources`: id, title and url of each.
        `guarantees`: what was checked, and what was not.

    Raises:
        QueryError: the schema is wrong or asks for too much, there are more than 50 items, a source has no url, or
            `require` names a field that the schema does not have. Nothing has been looked at then.

    >>> sources = [{"id": "7", "title": "Wages", "url": "https://x.example/7", "text": "Wages rose by 3.5 %."}]
    >>> claims = [{"rise": 3.5, "source_url": "https://x.example/7"}, {"rise": 4, "source_url": "https://x.example/7/"}]
    >>> answer = verify_items(claims, {"properties": {"rise": {"type": "number"}}}, sources)
    >>> answer["items"]
    [{'rise': 3.5, 'source_url': 'https://x.example/7', 'evidence': {'/rise': {'match': 'exact', 'in': 'text', \
'first_line': 1, 'last_line': 1}}}]
    >>> answer["dropped"][0]["reason"]
    'unknown_source'
    """
    checked = ItemSchema(schema)
    wanted = required_paths(require, checked)
    if isinstance(items, Mapping):
        items = [items]
    if not isinstance(items, Iterable):
        raise QueryError("items are objects, each with its source, or a text that holds them")
    claimed = items_of(items) if isinstance(items, str) else list(items)
    if len(claimed) > MOST_ITEMS:
        raise QueryError(f"{len(claimed):,} items are too many; {MOST_ITEMS} can be verified at once")
    if not isinstance(sources, Iterable):
        raise QueryError("sources are mappings, each with id, title, url and text")
    known = []
    for one in sources:
        if not isinstance(one, Mapping):
            raise QueryError("a source is a mapping with id, title, url and text")
        if not isinstance(one.get("metadata") or {}, Mapping):
            raise QueryError("the metadata of a source is a mapping")
        if not isinstance(one.get("keywords") or (), Iterable):
            raise QueryError("the keywords of a source are a list")
        known.append(Source(one))
        if not known[-1].url:
            raise QueryError(f"the source “{known[-1].id[:60]}” has no url, so that no item could name it")
    return verify(claimed, checked, known, wanted)


def verify(
    claimed: Sequence[Any], schema: ItemSchema, sources: Sequence[Source], wanted: Sequence[str]
) -> dict[str, Any]:
    """Do what `verify_items` does, once schema, sources and what is required are known to be right."""
    items = [as_json(item) for item in claimed]
    objects = [item for item in items if isinstance(item, dict)]
    for item in objects:
        item.pop(EVIDENCE, None)  # it is ours to say
    faults = iter(schema.faults(objects))
    by_url: dict[str, list[Source]] = {}
    for source in sources:
        by_url.setdefault(source.url, []).append(source)
    kept: list[dict[str, Any]] = []
    dropped: list[dict[str, Any]] = []
    for index, item in enumerate(items):
        fault = next(faults) if isinstance(item, dict) else None
        reason, path, message = _judged(item, fault, schema, by_url, wanted)
        if reason:
            shown = item.item if isinstance(item, Broken) else item
            shown = (
                {key: value for key, value in shown.items() if key != EVIDENCE} if isinstance(shown, dict) else shown
            )
            dropped.append({"index": index, "item": shown, "reason": reason, "path": path, "message": message})
        else:
            kept.append(item)
    return {
        "items": kept,
        "items_extracted": len(items),
        "items_dropped": len(dropped),
        "dropped": dropped,
        "sources": [{"id": one.id, "title": one.title, "url": one.url} for one in sources],
        "guarantees": {"checked": _said(wanted), "not_checked": NOT_CHECKED},
    }


def _said(wanted: Sequence[str]) -> str:
    if not wanted:
        return CHECKED
    return CHECKED_ALL if "" in wanted else CHECKED_FIELDS.format(fields=", ".join(one[1:] for one in wanted))


def _judged(
    item: Any, fault: Any, schema: ItemSchema, by_url: Mapping[str, Sequence[Source]], wanted: Sequence[str]
) -> tuple[str, str, str]:
    """Return why an item is dropped, where and in a sentence; if it is not, give it its evidence and return ""."""
    if isinstance(item, Broken):
        return "not_json", "", item.message
    if not isinstance(item, dict):
        return "schema", "", "it is no object"
    key = schema.source_key
    url = item.get(key)
    if not isinstance(url, str) or not url:
        return "no_source", pointer([key]), f"it names no source: {key} must be the url of one"
    if fault is not None:
        return "schema", fault.path, fault.message
    if url not in by_url:
        return "unknown_source", pointer([key]), "its source was not retrieved: no source has exactly this url"
    if other := _other_source(item, key, by_url):
        return "unknown_source", other, "it names a further source that was not retrieved"
    best: tuple[list[str], dict[str, Evidence]] | None = None
    for source in by_url[url]:
        evidence = {pointer(path): source.find(value, path[-1]) for path, value in leaves(item) if path != (key,)}
        missing = _missing(evidence, wanted, item) + (_unasked(item, evidence, schema) if "" in wanted else [])
        if best is None or (len(missing), _absent(evidence)) < (len(best[0]), _absent(best[1])):
            best = missing, evidence
    assert best is not None
    missing, evidence = best
    if missing:
        return "not_supported", missing[0], "the source it names does not hold this value"
    item[EVIDENCE] = {path: one.as_json() for path, one in evidence.items()}
    return "", "", ""


def _other_source(item: dict[str, Any], key: str, by_url: Mapping[str, Sequence[Source]]) -> str:
    """Return where an item names one more source, by a web address that is no source's; "" if it does not."""
    for path, value in leaves(item):
        if path == (key,) or not isinstance(value, str) or value in by_url:
            continue
        named = any(part.replace("_", "").lower() == "sourceurl" for part in path)
        if named and value.strip().lower().startswith(("http://", "https://")):
            return pointer(path)
    return ""


def _absent(evidence: Mapping[str, Evidence]) -> int:
    return sum(one.match == "absent" for one in evidence.values())


def _missing(evidence: Mapping[str, Evidence], wanted: Sequence[str], item: dict[str, Any]) -> list[str]:
    """Return where values are that the source should hold and does not."""
    found: list[str] = []
    for path in wanted:
        under = {at: one for at, one in evidence.items() if not path or at == path or at.startswith(f"{path}/")}
        if path and not under:
            found.append(path)  # what must be found must be there
        # Nothing is claimed by null or an empty text, unless the field itself must be found.
        found += [at for at, one in under.items() if one.match == "absent" and (path or _claims(item, at))]
    return found


def _unasked(item: dict[str, Any], evidence: Mapping[str, Evidence], schema: ItemSchema) -> list[str]:
    """Return the members that no schema asked for and that have nothing found in them: their name is the claim."""
    extra = [pointer([name]) for name in item if name not in schema.properties and name != schema.source_key]
    held = [at for at, one in evidence.items() if one.match != "absent"]
    return [path for path in extra if not any(at == path or at.startswith(f"{path}/") for at in held)]


def _claims(item: Any, path: str) -> bool:
    value = next(value for parts, value in leaves(item) if pointer(parts) == path)
    return value is not None and not (isinstance(value, str) and not value.strip())


def leaves(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield the values of an item that hold no others, each with the way to it.

    >>> list(leaves({"a": [1, {"b": None}], "c": {}}))
    [(('a', '0'), 1), (('a', '1', 'b'), None)]
    """
    if isinstance(value, dict):
        for name, one in value.items():
            yield from leaves(one, (*path, name))
    elif isinstance(value, list):
        for place, one in enumerate(value):
            yield from leaves(one, (*path, str(place)))
    else:
        yield path, value


def required_paths(require: str | Sequence[str], schema: ItemSchema) -> list[str]:
    """Return what `require` asks for as JSON Pointers; "" is the whole item, and nothing is only the source.

    Raises:
        QueryError: it is neither source, nor all, nor a list of fields of the schema.
    """
    if require == "source":
        return []
    if require == "all":
        return [""]
    names = [require] if isinstance(require, str) else list(require) if isinstance(require, Sequence) else [None]
    found = []
    for name in names:
        if not isinstance(name, str) or not name:
            raise QueryError("require is “source”, “all”, or a list of fields")
        path = name if name.startswith("/") else pointer([name])
        first = path[1:].partition("/")[0].replace("~1", "/").replace("~0", "~")
        if first not in schema.properties and first != schema.source_key:
            raise QueryError(
                f'the schema has no field "{first[:60]}" that could be required.{nearest(first, schema.properties)}'
            )
        if first != schema.source_key:
            found.append(path)
    return found
