"""A caller's JSON Schema: what is refused before anything runs, what an item must satisfy, and that nothing hangs."""

from __future__ import annotations

import time
from typing import Any

import pytest
from support import cases

from catalog_search.errors import QueryError
from catalog_search.itemschema import DEEPEST, MOST_AT_ONCE, MOST_BYTES, ItemSchema
from catalog_search.matching import SECONDS, matches

URL = "https://x.example/1"


def fault(schema: dict[str, Any], **item: Any) -> tuple[str, str] | None:
    return ItemSchema(schema).faults([item])[0]


@pytest.mark.parametrize("case", cases("item_schemas"), ids=lambda case: str(case["schema"])[:60])
def test_a_bad_schema_is_an_error_that_says_what_is_wrong(case: dict[str, Any]) -> None:
    with pytest.raises(QueryError) as caught:
        ItemSchema(case["schema"])
    assert case["said"] in caught.value.message
    assert len(caught.value.message) < 400


@pytest.mark.parametrize(
    "schema", [None, True, [], "{}", 3, {"const": float("nan")}, {"const": {1}}, {"const": "\ud800"}]
)
def test_what_is_no_schema_is_an_error(schema: Any) -> None:
    with pytest.raises(QueryError, match=r"must be an object|not JSON"):
        ItemSchema(schema)


def nested(depth: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(depth - 1):
        schema = {"type": "object", "properties": {"a": schema}}
    return schema


def test_schemas_lie_inside_one_another_to_a_depth() -> None:
    assert ItemSchema(nested(DEEPEST))
    for depth in (DEEPEST + 1, 100, 300):
        with pytest.raises(QueryError, match="too deep"):
            ItemSchema(nested(depth))
    value: Any = 1
    for _ in range(500):
        value = [value]
    for key in ("const", "default", "x-anything"):
        with pytest.raises(QueryError, match="too deep"):
            ItemSchema({"properties": {"a": {key: value}}})


def test_a_schema_has_so_many_bytes() -> None:
    def padded(size: int) -> dict[str, Any]:
        return {"description": "é" * (size // 2)}

    assert ItemSchema(padded(MOST_BYTES - 100))
    with pytest.raises(QueryError, match="it may have 16,384"):
        ItemSchema(padded(MOST_BYTES + 2))


def test_schemas_that_multiply_are_refused() -> None:
    defs: dict[str, Any] = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(60)}
    with pytest.raises(QueryError, match=f"more than {MOST_AT_ONCE} schemas apply to one value"):
        ItemSchema({"$defs": defs | {"d60": {}}, "$ref": "#/$defs/d0"})


def test_work_that_multiplies_with_the_item_is_stopped() -> None:
    inner = {"properties": {"x": {"anyOf": [{"$ref": "#/$defs/a"}] * 10 + [{"type": "string"}]}}, "required": ["y"]}
    schema = ItemSchema({"$defs": {"a": inner}, "$ref": "#/$defs/a"})
    item: dict[str, Any] = {}
    for _ in range(14):
        item = {"x": item}
    began = time.monotonic()
    with pytest.raises(QueryError, match="too many steps"):
        schema.faults([item])
    assert time.monotonic() - began < 60


def test_a_property_may_be_called_what_a_keyword_is() -> None:
    names = ["pattern", "$ref", "$id", "$schema", "patternProperties", "properties", "enum", "type"]
    schema = {"properties": {name: {"type": "string"} for name in names}, "required": names}
    assert fault(schema, **dict.fromkeys(names, "(")) is None
    assert fault({"properties": {"a": {"enum": [{"$ref": "https://x.example", "pattern": "("}]}}}, a=1) is not None


@pytest.mark.parametrize(
    "draft", ["https://json-schema.org/draft/2020-12/schema", "http://json-schema.org/draft-07/schema#"]
)
def test_both_drafts_are_understood(draft: str) -> None:
    word = "$defs" if "2020" in draft else "definitions"
    schema = {
        "$schema": draft,
        "$id": "https://x.example/item.json",
        word: {"code": {"type": "string", "pattern": "^[A-Z]{2}[0-9]+$"}},
        "type": ["object", "null"],
        "properties": {"code": {"$ref": f"#/{word}/code"}, "n": {"type": "integer", "minimum": 1}},
        "required": ["code"],
    }
    assert fault(schema, code="AB12", n=1, source_url=URL) is None
    assert fault(schema, code="ab12") == ("/code", "'ab12' does not match '^[A-Z]{2}[0-9]+$'")
    assert fault(schema, code="AB12", n=0) == ("/n", "0 is less than the minimum of 1")
    assert fault(schema, n=1) == ("", "'code' is a required property")


def test_the_drafts_differ_where_they_should() -> None:
    pair = {"properties": {"a": {"items": [{"type": "string"}, {"type": "integer"}]}}}
    assert fault({"$schema": "http://json-schema.org/draft-07/schema#"} | pair, a=["x", "y"]) is not None
    with pytest.raises(QueryError, match="is wrong at /properties/a/items"):
        ItemSchema(pair)
    assert fault({"properties": {"a": {"prefixItems": [{"type": "string"}]}}}, a=[1]) is not None


def test_a_schema_may_lead_to_itself_by_parts_of_the_value() -> None:
    schema = {"properties": {"name": {"type": "string"}, "parts": {"items": {"$ref": "#"}}}, "required": ["name"]}
    assert fault(schema, name="a", parts=[{"name": "b", "parts": []}]) is None
    assert fault(schema, name="a", parts=[{"name": "b", "parts": [{}]}]) == (
        "/parts/0/parts/0",
        "'name' is a required property",
    )


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"a": {}}, "additionalProperties": False},
        {"properties": {"a": {}}, "unevaluatedProperties": False},
        {"properties": {"a": {}}, "maxProperties": 1},
        {"properties": {"a": {}}, "propertyNames": {"maxLength": 1}},
        {"$ref": "#/$defs/i", "$defs": {"i": {"properties": {"a": {}}, "additionalProperties": False}}},
        {"allOf": [{"properties": {"a": {}}, "additionalProperties": False}]},
        {"properties": {"a": {}, "source_url": {"type": "string"}}, "additionalProperties": False},
        {"properties": {"a": {}}, "required": ["a", "source_url"]},
    ],
)
def test_every_schema_gets_its_source(schema: dict[str, Any]) -> None:
    assert ItemSchema(schema).source_key == "source_url"
    assert fault(schema, a="x", source_url=URL) is None


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"a": {}, "sourceUrl": {"type": "string"}}, "additionalProperties": False},
        {"properties": {"a": {}}, "required": ["sourceUrl"]},
        {"$ref": "#/$defs/i", "$defs": {"i": {"properties": {"a": {}, "sourceUrl": {"format": "uri"}}}}},
    ],
)
def test_the_source_is_called_as_the_schema_calls_it(schema: dict[str, Any]) -> None:
    assert ItemSchema(schema).source_key == "sourceUrl"
    assert fault(schema, a="x", sourceUrl=URL) is None


def test_what_the_schema_says_of_the_source_counts() -> None:
    schema = {"properties": {"source_url": {"type": "string", "maxLength": 5}}}
    assert fault(schema, source_url=URL) == ("/source_url", f"'{URL}' is too long")


FOREVER = ["(a+)+$", "(a|a)*$", "(a|aa)+$", r"^(\w+\s?)*$", "(.*)*x$", "(?:a{1,20}){1,20}b"]


@pytest.mark.parametrize("pattern", FOREVER)
def test_a_pattern_that_backtracks_for_ever_is_an_error_soon(pattern: str) -> None:
    began = time.monotonic()
    with pytest.raises(QueryError, match=f"take more than {SECONDS} s to match"):
        fault({"properties": {"a": {"pattern": pattern}}}, a="a" * 5_000 + "!")
    assert time.monotonic() - began < 60


def test_patterns_are_looked_for_anywhere_and_in_names_too() -> None:
    assert matches(["b", "^b", "é"], ["abc", "", "né"]) == {("b", "abc"), ("é", "né")}
    assert matches(["a"], []) == matches([], ["a"]) == set()
    assert fault({"propertyNames": {"pattern": "^[a-z]+$"}}, ab=1) is None
    assert fault({"propertyNames": {"pattern": "^[a-z]+$"}}, A=1) is not None
    assert fault({"properties": {"a": {"items": {"pattern": "x"}}}}, a=["x", "y"]) == ("/a/1", "'y' does not match 'x'")
    assert fault({"properties": {"a": {"pattern": "x"}}}, a=3) is None  # of no text nothing is asked


def test_a_value_that_arithmetic_cannot_take_is_no_crash() -> None:
    for value in (1e308, 10**400, -1e-308):
        fault({"properties": {"a": {"multipleOf": 1e-308}}}, a=value)


def test_format_is_an_annotation_as_the_standard_has_it() -> None:
    assert fault({"properties": {"a": {"format": "date"}}}, a="soon") is None
