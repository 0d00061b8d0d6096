"""Calls in any shape are read by fixed rules: what was meant, and what is said of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support import cases

from catalog_search.server.aliases import ALIASES
from catalog_search.server.calls import NAMED, STEPS, Shape, canonical, read_call
from catalog_search.server.envelopes import repaired
from catalog_search.server.jsontext import parse
from catalog_search.server.pair import _FETCH_HIDDEN, _SEARCH_HIDDEN

SHARED_CALLS = Path(__file__).parents[2] / "shared" / "cases" / "malformed_calls.json"
COLLECTIONS = {"collections": {"type": "array", "items": {"type": "string", "enum": ["tested"]}}}
SEARCH = Shape("search", "query", hidden=_SEARCH_HIDDEN | COLLECTIONS, example={"query": "labor"})
FETCH = Shape("fetch", "id", hidden=_FETCH_HIDDEN, literal=True)
PAIR = [SEARCH, FETCH]
LINES = {"from_line": {"type": "integer", "minimum": 1}, "max_lines": {"type": "integer", "minimum": 1}}
EVIDENCE = Shape("search_evidence", "query", {"limit": {"type": "integer", "minimum": 1, "maximum": 20}})
ALL = [*PAIR, EVIDENCE, Shape("read_document", "id", LINES, literal=True), Shape("list_collections")]


@pytest.mark.parametrize("case", cases("calls"), ids=lambda case: case["name"])
def test_a_call_is_read_as_it_was_meant(case: dict[str, Any]) -> None:
    call = read_call(PAIR, case["sent"], case["with"])
    main = {"search": "query", "fetch": "id"}[case["reads"]]
    text = {main: case["text"]} if "text" in case else {}
    assert (call.tool, call.arguments) == (case["reads"], text | case.get("also", {}))
    assert [remark.kind for remark in call.remarks] == case["says"]
    assert call.usable == bool(text)


def test_the_calls_seen_in_the_wild_are_read_as_they_were_meant() -> None:
    if not SHARED_CALLS.exists():
        pytest.skip(f"{SHARED_CALLS} is not there")
    seen = json.loads(SHARED_CALLS.read_text("utf-8"))
    assert len(seen) == 47
    for case in seen:
        call = read_call(PAIR, case["name"], case["arguments"])
        main = call.arguments.get({"search": "query", "fetch": "id"}[call.tool])
        assert (call.tool, main) == (case["tool"], case["value"]), case["label"]
        assert call.remarks, case["label"]


def test_other_keys_are_tried_in_their_order() -> None:
    keys = ["query", *ALIASES.keys["query"]]
    assert " ".join(keys[:15]) == (
        "query search_query q search searchQuery search_term searchTerm term text input prompt question keywords "
        "topic searchString"
    )
    while keys:
        arguments = {key: f"under {key}" for key in reversed(keys)}
        assert read_call(PAIR, "search", arguments).arguments == {"query": f"under {keys[0]}"}
        del keys[0]


@pytest.mark.parametrize(
    ("name", "arguments", "tool", "read"),
    [
        ("search_evidence", {"query": "x", "limit": 20}, "search_evidence", {"query": "x", "limit": 20}),
        ("find_evidence", {"q": "x", "top_k": 50}, "search_evidence", {"query": "x", "limit": 20}),
        ("read_lines", {"id": "a", "start": 3, "line": 4}, "read_document", {"id": "a", "from_line": 4}),
        ("read", {"id": "a"}, "fetch", {"id": "a"}),
        ("read_document", {"path": "a", "limit": 9}, "read_document", {"id": "a", "max_lines": 9}),
        ("get_collections", {"x": 1}, "list_collections", {}),
        ("list_collections", None, "list_collections", {}),
        ("search", {"query": "x", "limit": 20}, "search", {"query": "x", "limit": 10}),
    ],
)
def test_of_many_tools_the_one_is_found_whose_name_is_nearest(
    name: str, arguments: Any, tool: str, read: dict[str, Any]
) -> None:
    call = read_call(ALL, name, arguments)
    assert (call.tool, call.arguments) == (tool, read)


def test_a_tool_that_is_offered_is_never_taken_for_another() -> None:
    for shape in ALL:
        for arguments in ({"query": "x"}, {"id": "x"}, {"url": "x"}, "x", ["x"], None):
            assert read_call(ALL, shape.tool, arguments).tool == shape.tool


def test_an_option_that_the_schema_names_is_canonical() -> None:
    assert read_call([EVIDENCE], "search_evidence", {"query": "x", "limit": 3}).remarks == []
    (remark,) = read_call([EVIDENCE], "search_evidence", {"query": "x", "limit": "3"}).remarks
    assert remark.kind == "value"
    (remark,) = read_call([EVIDENCE], "search_evidence", {"query": "x", "top_k": 3}).remarks
    assert (remark.kind, remark.values["asked"], remark.values["key"]) == ("option", "top_k", "limit")


@pytest.mark.parametrize(
    ("schema", "given", "read"),
    [
        ({"type": "integer"}, "12", 12),
        ({"type": "integer"}, 12.0, 12),
        ({"type": "integer"}, True, None),
        ({"type": "integer"}, "1" * 40, None),
        ({"type": "integer"}, float("inf"), None),
        ({"type": "boolean"}, "True", True),
        ({"type": "boolean"}, 1, None),
        ({"type": "string"}, 7, "7"),
        ({"type": "string"}, ["a"], "a"),
        ({"type": "string"}, ["a", "b"], None),
        ({"type": "array", "items": {"type": "string"}}, "a", ["a"]),
        ({"type": "array", "items": {"type": "string"}}, '["a", 2]', ["a", "2"]),
        ({"type": "array", "items": {"type": "string"}}, [{}], None),
        ({"type": "array", "items": {"type": "string", "enum": ["a"]}}, ["a", "b"], ["a"]),
        ({"type": "array", "items": {"type": "string", "enum": ["a"]}}, ["b"], None),
        ({"type": "string", "enum": ["a"]}, "b", None),
        ({"type": "object"}, '{"area": "BR"}', {"area": "BR"}),
        ({"type": "object"}, "area", None),
    ],
)
def test_an_option_is_made_what_its_schema_asks_for_or_ignored(schema: dict[str, Any], given: Any, read: Any) -> None:
    call = read_call([Shape("search", "query", {"x": schema})], "search", {"query": "a", "x": given})
    assert call.arguments == {"query": "a"} | ({} if read is None else {"x": read})
    assert [remark.kind for remark in call.remarks] == (["ignored"] if read is None else ["value"])


def test_other_names_can_be_configured_and_come_before_the_known_ones() -> None:
    aliases = ALIASES.with_more(tools={"search": ["suche"]}, keys={"query": ["frage"]})
    call = read_call(PAIR, "suche", {"q": "wages", "frage": "labour"}, aliases)
    assert (call.tool, call.arguments) == ("search", {"query": "labour"})
    assert read_call(PAIR, "get", {"frage": "labour"}).tool == "fetch"
    assert read_call(PAIR, "suche", {"frage": "labour"}).arguments == {"query": "labour"}


def test_a_call_of_very_many_parts_is_not_searched_through() -> None:
    wide: Any = [[[[["x"] * 90] * 90] * 90] * 90] * 90
    for arguments in ({"input": {"input": {"input": wide}}}, {"arguments": json.dumps({"text": [None] * 10_000})}):
        call = read_call(PAIR, "search", arguments)
        assert len(call.arguments.get("query", "").split()) <= STEPS
    many = {f"key {n}": {"query": "x"} for n in range(50_000)}
    assert not read_call(PAIR, "search", many).usable
    assert read_call(PAIR, "search", many | {"q": "wages"}).arguments == {"query": "wages"}


def test_what_a_caller_wrote_is_repeated_on_one_line_and_shortened() -> None:
    call = read_call(PAIR, "x\n\x1b[31m" + "y" * 500, {"query": "a"} | {f"k{n}\n": n for n in range(50)})
    tool, ignored = call.remarks
    assert len(tool.values["asked"]) == 61 and tool.values["asked"].isprintable()
    assert ignored.values["keys"].count(",") == NAMED and "\n" not in ignored.values["keys"]


def test_the_canonical_form_is_the_call_itself_unless_it_is_long() -> None:
    assert canonical(read_call(PAIR, "x", {"q": "a", "limit": 3}), SEARCH) == 'search {"query": "a"}'
    assert canonical(read_call(PAIR, "x", {"q": "a" * 300}), SEARCH) == 'search {"query": "labor"}'
    assert canonical(read_call(PAIR, "search", {}), SEARCH) == 'search {"query": "labor"}'
    assert canonical(read_call(PAIR, "fetch", {}), FETCH) == 'fetch {"id": "…"}'
    assert canonical(read_call(ALL, "list_collections", {"x": 1}), ALL[-1]) == "list_collections {}"


KEYS = st.sampled_from(["query", "q", "arguments", "about", "id", "limit", "type"]) | st.text(max_size=6)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4) | inner.map(json.dumps),
    max_leaves=12,
)


def texts(value: Any) -> Iterator[str]:
    """Yield every text and number inside a value, and inside the JSON of its texts."""
    if isinstance(value, dict):
        for one in value.values():
            yield from texts(one)
    elif isinstance(value, list):
        for one in value:
            yield from texts(one)
    elif isinstance(value, str):
        yield value
        for candidate in (value.strip(), "{" + value.strip() + "}"):
            try:
                inner = parse(candidate)
            except ValueError:
                continue
            if inner != value:
                yield from texts(inner)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield f"{value} {int(value)}"


@given(st.sampled_from(["search", "fetch", "web_search", "x"]) | JSON, JSON)
@example("search", "[" * 50_000)
@example("search", {"query": "[" * 50_000})
@example("search", {"a": {"a": {"a": {"a": {"a": {"a": {"a": {"query": "too deep"}}}}}}}})
def test_any_call_is_read_the_same_way_twice_and_nothing_is_made_up(name: Any, arguments: Any) -> None:
    call = read_call(PAIR, name, arguments)
    assert call == read_call(PAIR, name, json.loads(json.dumps(arguments)))
    text = call.arguments.get("query", call.arguments.get("id"))
    assert call.usable == (text is not None)
    if text is not None:
        assert text.strip()
        known = " ".join(texts(arguments))
        assert set("".join(text.split())) <= set(known)
    assert call.usable or call.remarks


@given(st.text(min_size=1).filter(lambda text: text.strip() and text.strip()[0] not in "{["))
def test_any_plain_question_is_canonical(text: str) -> None:
    call = read_call(PAIR, "search", {"query": text})
    assert (call.tool, call.arguments, call.remarks) == ("search", {"query": text}, [])


@pytest.mark.parametrize(
    ("sent", "params"),
    [
        ({"params": "search"}, {"name": "search"}),
        ({"params": ["search", "wages"]}, {"name": "search", "arguments": {"params": "wages"}}),
        ({"params": ["search"]}, {"name": "search", "arguments": {"params": None}}),
        ({"params": []}, {"name": None, "arguments": {"params": None}}),
        (
            {"params": '{"name": "search", "arguments": {"query": "a"}}'},
            {"name": "search", "arguments": {"params": {"query": "a"}}},
        ),
        ({"params": '{"name": '}, {"arguments": {"params": '{"name": '}}),
        ({"params": 7}, {"name": 7}),
        ({"params": None}, {}),
        ({}, {}),
    ],
)
def test_a_call_with_parameters_of_any_kind_becomes_one_with_an_object(sent: Any, params: Any) -> None:
    message = {"id": 1, "method": "tools/call", **sent}
    assert repaired(message) == {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}


@pytest.mark.parametrize(
    "message", [None, 7, "x", [], {}, {"id": 1}, {"id": 1, "method": 7}, {"jsonrpc": "2.0", "result": {}}]
)
def test_what_is_no_request_is_left_as_it_is(message: Any) -> None:
    assert repaired(message) == message
