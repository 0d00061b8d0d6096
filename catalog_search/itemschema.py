"""A caller's JSON Schema for one item: what it may be, and whether an item satisfies it.

The schema comes from outside. It is bounded in size and depth, refers to nothing beyond itself, and is checked as a
whole before anything is done with it; while items are checked, every step is counted, and patterns are matched by a
process with a time limit. JSON Schema 2020-12, or draft-07 if `$schema` says so; `format` is an annotation, as the
standard has it.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from catalog_search.errors import QueryError
from catalog_search.matching import matches

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

MOST_BYTES = 16 * 1024
"""UTF-8 bytes of a schema, as compact JSON."""
DEEPEST = 8
"""Schemas inside one another, and levels of a value that a schema states (enum, const, default, …)."""
MOST_AT_ONCE = 500
"""Schemas that apply to one value, by way of allOf, $ref and the like."""
MOST_STEPS = 200_000
"""Keywords that are applied to values, for all items together."""
SOURCE_KEYS = ("source_url", "sourceUrl")
"""The member that names an item's source: the first, unless the schema names the second."""
EVIDENCE = "evidence"
"""The member that every item gets, and no schema may define."""
_LONGEST_MESSAGE = 200

_DRAFTS = {
    "https://json-schema.org/draft/2020-12/schema": "Draft202012Validator",
    "http://json-schema.org/draft-07/schema": "Draft7Validator",
}
# Where schemas stand inside a schema: those for the value itself, for its parts, and in which shape.
_HERE_LISTS, _HERE = ("allOf", "anyOf", "oneOf"), ("not", "if", "then", "else")
_HERE_MAPS = ("dependentSchemas", "dependencies")
_BELOW_MAPS, _BELOW_LISTS = ("properties",), ("prefixItems",)
_BELOW = ("items", "additionalItems", "additionalProperties", "contains", "propertyNames", "unevaluatedItems",
          "unevaluatedProperties")  # fmt: skip
_DEFINITIONS = ("$defs", "definitions")
_REFUSED = {
    "$id": "only the outermost schema can have $id",
    "$schema": "only the outermost schema can have $schema",
    "$anchor": "anchors are not understood; refer to “#/…”",
    "$dynamicAnchor": "anchors are not understood; refer to “#/…”",
    "$dynamicRef": "$dynamicRef is not understood; use $ref",
    "$recursiveRef": "$recursiveRef is not understood; use $ref",
    "patternProperties": "patternProperties is not understood; name the properties",
}


class Fault(NamedTuple):
    """Why an item does not satisfy the schema."""

    path: str
    """Where in the item, as a JSON Pointer."""
    message: str


class ItemSchema:
    """A caller's schema, checked.

    Args:
        schema: a JSON Schema of one item, which is an object.

    Raises:
        QueryError: it is no schema, too large, too deep, refers elsewhere, or has what cannot be checked here.

    >>> schema = ItemSchema({"properties": {"year": {"type": "integer"}}, "required": ["year"]})
    >>> schema.source_key, list(schema.properties)
    ('source_url', ['year'])
    >>> schema.faults([{"year": "2024", "source_url": "https://x.example"}])
    [Fault(path='/year', message="'2024' is not of type 'integer'")]
    """

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self.schema = _plain(schema)
        named = self.schema.pop("$schema", next(iter(_DRAFTS)))
        self.schema.pop("$id", None)
        if not isinstance(named, str) or named.rstrip("#").replace("https:", "http:") not in (
            one.replace("https:", "http:") for one in _DRAFTS
        ):
            raise QueryError(f"the schema's $schema must be {' or '.join(_DRAFTS)}")
        draft = next(value for key, value in _DRAFTS.items() if ("2020" in key) == ("2020" in named))
        self.patterns: list[str] = []
        self._references: list[tuple[Any, str]] = []
        self._steps = self._at_once = 0
        self._found: set[tuple[str, str]] = set()
        self._validator = self._checked(draft)
        self.properties: dict[str, Any] = {}
        required: set[str] = set()
        self._at_once = 0
        for one in self._in_place(self.schema, ()):
            for name, inner in one.get("properties", {}).items():
                self.properties.setdefault(name, inner)
            required |= set(one.get("required", ()))
        if EVIDENCE in self.properties or EVIDENCE in required:
            raise QueryError(f"the schema must not define “{EVIDENCE}”: every item gets a member of that name")
        kinds = self.schema.get("type", "object")
        if "object" not in ([kinds] if isinstance(kinds, str) else kinds):
            raise QueryError("the schema is that of one item, an object; of a list give what stands under “items”")
        names = self.properties.keys() | required
        self.named_source = any(key in names for key in SOURCE_KEYS)
        """Whether the schema itself names the source."""
        self.source_key = next((key for key in SOURCE_KEYS if key in names), SOURCE_KEYS[0])

    # The schema -------------------------------------------------------------------------------------------

    def _checked(self, draft: str) -> Any:
        import jsonschema
        from jsonschema.exceptions import SchemaError

        try:
            self._walk(self.schema, "", 1)
        except RecursionError:
            raise QueryError("the schema is too deep") from None
        self._known = {id(one) for one in self._schemas(self.schema)}
        for reference, path in self._references:
            self._resolved(reference, path)
        base = getattr(jsonschema, draft)
        try:
            base.check_schema(self.schema)
        except SchemaError as problem:
            raise QueryError(f"the schema is wrong at {_pointer(problem.path) or '/'}: {_short(problem)}") from None
        except RecursionError:
            raise QueryError("the schema is too deep") from None
        for pattern in self.patterns:
            try:
                re.compile(pattern)
            except (re.error, RecursionError, OverflowError) as problem:
                raise QueryError(f"the schema has a pattern that is none, “{pattern[:60]}”: {problem}") from None
        for place in self._schemas(self.schema):
            self._at_once = 0
            for _ in self._in_place(place, ()):
                pass
        counted = {key: self._counted(function) for key, function in base.VALIDATORS.items()}
        validators: Any = jsonschema.validators
        return validators.extend(base, counted | {"pattern": self._counted(self._pattern)})(self.schema)

    def _walk(self, schema: Any, path: str, depth: int) -> None:
        """Check what no standard forbids, schema by schema: a property may well be called “pattern”."""
        if depth > DEEPEST:
            raise QueryError(f"the schema is too deep at {path}: {DEEPEST} schemas may lie inside one another")
        if not isinstance(schema, dict):
            return  # true, false, or wrong, as the check against the standard will say
        for key in schema:
            if key in _REFUSED:
                raise QueryError(f"the schema cannot be used at {path or '/'}: {_REFUSED[key]}")
        if isinstance(pattern := schema.get("pattern"), str):
            self.patterns.append(pattern)
        if "$ref" in schema:
            self._references.append((schema["$ref"], path))
        for place, one in _inner(schema):
            self._walk(one, f"{path}/{place}", depth + 1)
        known = {*_HERE_LISTS, *_HERE, *_HERE_MAPS, *_BELOW_MAPS, *_BELOW_LISTS, *_BELOW, *_DEFINITIONS}
        for key, value in schema.items():
            if key not in known and _depth(value) > DEEPEST:
                raise QueryError(f"the schema is too deep at {path}/{key}: {DEEPEST} levels")

    def _resolved(self, reference: Any, path: str) -> Any:
        if not isinstance(reference, str) or not (reference == "#" or reference.startswith("#/")) or "%" in reference:
            raise QueryError(
                f"the schema refers elsewhere at {path or '/'}/$ref; only “#” and “#/…” can be referred to"
            )
        value: Any = self.schema
        for part in reference[2:].split("/") if reference != "#" else ():
            name = part.replace("~1", "/").replace("~0", "~")
            if isinstance(value, list) and re.fullmatch("[0-9]{1,4}", name) and int(name) < len(value):
                value = value[int(name)]
            elif isinstance(value, dict) and name in value:
                value = value[name]
            else:
                raise QueryError(f"the schema refers to “{reference[:60]}” at {path or '/'}, which it does not have")
        if id(value) not in self._known and not isinstance(value, bool):
            raise QueryError(f"the schema refers to “{reference[:60]}” at {path or '/'}, which is no schema in it")
        return value

    def _schemas(self, schema: Any) -> Iterator[dict[str, Any]]:
        if isinstance(schema, dict):
            yield schema
            for _, one in _inner(schema):
                yield from self._schemas(one)

    def _in_place(self, schema: Any, seen: tuple[int, ...]) -> Iterator[dict[str, Any]]:
        """Yield a schema and those that apply to the same value, each as often as it does.

        Raises:
            QueryError: it applies to the value again and again.
        """
        if not isinstance(schema, dict):
            return
        if id(schema) in seen:
            raise QueryError("the schema refers to itself without end; $ref must lead to a part of the value")
        seen = (*seen, id(schema))
        self._at_once += 1
        if self._at_once > MOST_AT_ONCE:
            raise QueryError(f"the schema is too involved: more than {MOST_AT_ONCE} schemas apply to one value")
        yield schema
        for key in _HERE_LISTS:
            for one in schema.get(key, ()):
                yield from self._in_place(one, seen)
        for key in _HERE:
            yield from self._in_place(schema.get(key), seen)
        for key in _HERE_MAPS:
            for one in schema.get(key, {}).values():
                yield from self._in_place(one, seen)
        if "$ref" in schema:
            yield from self._in_place(self._resolved(schema["$ref"], ""), seen)

    # Items ------------------------------------------------------------------------------------------------

    def faults(self, items: Iterable[dict[str, Any]]) -> list[Fault | None]:
        """Return for each item what is wrong with it, None if it satisfies the schema.

        The member that names the source is not looked at unless the schema names it: a schema that forbids further
        properties does not forbid the source.

        Raises:
            QueryError: it takes too many steps or too much time.
        """
        items = [
            item if self.named_source else {key: value for key, value in item.items() if key != self.source_key}
            for item in items
        ]
        self._steps = 0
        self._found = (
            matches(self.patterns, (text for item in items for text in _texts(item))) if self.patterns else set()
        )
        return [self._fault(item) for item in items]

    def _fault(self, item: dict[str, Any]) -> Fault | None:
        from jsonschema.exceptions import best_match

        try:
            problem = best_match(self._validator.iter_errors(item))
        except (RecursionError, ArithmeticError):
            return Fault("", "it could not be checked against the schema")
        return problem and Fault(_pointer(problem.absolute_path), _short(problem))

    def _counted(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def applied(validator: Any, value: Any, instance: Any, schema: Any) -> Any:
            self._steps += 1
            if self._steps > MOST_STEPS:
                raise QueryError("the schema takes too many steps to check; make it simpler")
            return function(validator, value, instance, schema)

        return applied

    def _pattern(self, validator: Any, pattern: str, instance: Any, _schema: Any) -> Iterator[Any]:
        from jsonschema.exceptions import ValidationError

        if validator.is_type(instance, "string") and (pattern, instance) not in self._found:
            yield ValidationError(f"{instance!r} does not match {pattern!r}")


def _inner(schema: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the schemas directly inside a schema, each with its place."""
    for key in (*_DEFINITIONS, *_BELOW_MAPS, *_HERE_MAPS):
        if isinstance(value := schema.get(key), dict):
            yield from ((f"{key}/{name}", one) for name, one in value.items() if isinstance(one, dict))
    for key in (*_BELOW, *_HERE):
        if isinstance(value := schema.get(key), dict):
            yield key, value
    for key in (*_HERE_LISTS, *_BELOW_LISTS, "items"):
        if isinstance(value := schema.get(key), list):
            yield from ((f"{key}/{place}", one) for place, one in enumerate(value) if isinstance(one, dict))


def _plain(schema: Any) -> dict[str, Any]:
    """Return a copy of a schema that holds nothing but JSON."""
    if not hasattr(schema, "keys"):
        raise QueryError("the schema must be an object: the JSON Schema of one item")
    try:
        text = json.dumps(dict(schema), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        size = len(text.encode())
        found: dict[str, Any] = json.loads(text)
    except RecursionError:
        raise QueryError("the schema is too deep") from None
    except (TypeError, ValueError):  # UnicodeEncodeError is one
        raise QueryError("the schema holds something that is not JSON") from None
    if size > MOST_BYTES:
        raise QueryError(f"the schema has {size:,} bytes; it may have {MOST_BYTES:,}")
    return found


def _depth(value: Any) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + max(map(_depth, inner), default=0)


def _texts(value: Any) -> Iterator[str]:
    """Yield the texts of a value, the names of its members among them."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, one in value.items():
            yield name
            yield from _texts(one)
    elif isinstance(value, list):
        for one in value:
            yield from _texts(one)


def _pointer(path: Iterable[object]) -> str:
    return pointer(map(str, path))


def pointer(parts: Iterable[str]) -> str:
    """Return a place in a value as a JSON Pointer (RFC 6901).

    >>> pointer(["a/b", "0"])
    '/a~1b/0'
    """
    return "".join("/" + part.replace("~", "~0").replace("/", "~1") for part in parts)


def _short(problem: Any) -> str:
    text = str(problem.message)
    return text if len(text) <= _LONGEST_MESSAGE else f"{text[:_LONGEST_MESSAGE]}…"
