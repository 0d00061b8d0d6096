"""Calls and messages of any form, sent to the exported Worker: the tests of the server in Python, on one more wire."""

# ruff: noqa: F811, F401
from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import anyio
import pytest
import test_teaching
from edge import over_worker
from support import built, cases
from test_calls import SHARED_CALLS
from test_teaching import (
    database,
    test_a_call_in_any_shape_is_answered_as_the_canonical_one,
    test_a_collection_that_is_not_there_is_ignored_and_that_is_said,
    test_a_long_document_is_read_to_its_end_by_fetch_alone,
    test_a_message_of_any_form_is_answered_if_an_answer_is_owed,
    test_an_id_that_is_unknown_is_an_error_that_teaches_too,
    test_an_id_that_looks_like_a_part_is_itself_if_there_is_such_a_document,
    test_an_option_is_honoured_and_that_is_said,
    test_lines_are_counted_whatever_ends_them,
    test_several_messages_at_once_are_each_answered,
    test_the_answer_says_how_it_was_read_what_was_ignored_and_the_canonical_form,
    test_the_calls_seen_in_the_wild_are_answered,
    test_the_results_come_first_and_the_warnings_last,
    test_without_a_text_the_answer_teaches_by_an_example_that_has_an_answer,
)
from wires import Wire

from catalog_search.server.corpus import Corpora
from catalog_search.server.pair import search_and_fetch
from catalog_search.server.shelf import Shelf
from catalog_search.server.texts import Texts
from catalog_search.server.tools import Serving, answer


@pytest.fixture(scope="module")
def wire(database: str) -> Iterator[Wire]:
    test_teaching.SCHEMAS.clear()
    with over_worker(database) as opened_wire:
        yield opened_wire


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wire]:
    path = tmp_path_factory.mktemp("long") / "long.db"
    built((row for row in test_teaching.long_rows() if row["id"] != "huge"), to=path)  # which is too long for D1
    with over_worker(str(path)) as opened_wire:
        yield opened_wire


# As Python reads them -----------------------------------------------------------------------------------------

NEAREST = re.compile(r" The nearest ids: .*?\.(?= |$)")
"""Python and SQL measure nearness in ways of their own."""

# Not a key of digits: objects of JavaScript move those to the front.
WORDS = [
    "query", "q", "search_query", "Search-Query", "text", "input", "arguments", "params", "id", "ids", "url", "limit",
    "offset", "type", "lang", "collections", "about", "x", "é", "W1", "wages", "labour", "", " ", "searchType",
    "from_line", "document_id", "__proto__", "constructor", "toString", "a\nb", "k" * 90,
]  # fmt: skip
VALUES: list[Any] = [
    None, True, False, 0, 3, -1, 12.0, 1.5, "wages", "labor force", "W1", "", " \t", "3", '{"query": "wages"}',
    '["W1"]', '"query": "labour"', "{broken", "[", [], {}, ["wages", "sex"], ["W1", "W2"],
]  # fmt: skip
NAMES: list[Any] = [
    "search", "fetch", "lookup", "mcp__x__search", "WebSearch", "get_document", "do_it", "", None, 7, "поиск",
    "tool:fetch:0", "read2", "google.search", "x" * 200, {"name": "search"}, "toString",
]  # fmt: skip


def odd_calls(number: int) -> Iterator[tuple[Any, Any]]:
    """Yield so many calls, always the same: names and arguments put together from pieces."""
    draw = random.Random(20_261_130).random

    def of(pieces: list[Any]) -> Any:
        return pieces[int(draw() * len(pieces))]

    def value(depth: int) -> Any:
        kind = draw()
        if depth and kind < 0.25:
            return {of(WORDS): value(depth - 1) for _ in range(int(draw() * 4))}
        if depth and kind < 0.35:
            return [value(depth - 1) for _ in range(int(draw() * 3))]
        if depth and kind < 0.42:
            return json.dumps(value(depth - 1))
        return of(VALUES)

    for _ in range(number):
        yield of(NAMES), {of(WORDS): value(2) for _ in range(int(draw() * 4))} if draw() < 0.8 else value(3)


@pytest.fixture(scope="module")
def in_python(database: str) -> Iterator[Callable[[Any, Any], dict[str, Any]]]:
    """The server in Python, without its transports."""
    shelf = Shelf.of_files([database])
    texts = Texts("en")
    search, fetch = search_and_fetch(Corpora.of(shelf), texts)
    serving = Serving(texts, caller=lambda _: shelf)

    def called(name: Any, arguments: Any) -> dict[str, Any]:
        result = anyio.run(answer, [search, fetch], serving, shelf, name, arguments)
        dumped: dict[str, Any] = result.model_dump(by_alias=True, mode="json", exclude_none=True)
        return dumped

    yield called
    shelf.close()


def test_the_whole_answer_is_that_of_python(
    wire: Wire, in_python: Callable[[Any, Any], dict[str, Any]], database: str
) -> None:
    seen = json.loads(SHARED_CALLS.read_text("utf-8")) if SHARED_CALLS.exists() else []
    calls = [(case["sent"], case["with"]) for case in cases("calls")]
    calls += [(case["name"], case["arguments"]) for case in seen]
    calls += odd_calls(600)
    compared = 0
    for start in range(0, len(calls), 20):
        page = calls[start : start + 20]
        messages = [
            {"jsonrpc": "2.0", "id": n, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
            for n, (name, arguments) in enumerate(page)
        ]
        for (name, arguments), reply in zip(page, wire.answers(json.dumps(messages).encode(), len(page)), strict=True):
            there = reply["result"]
            here = in_python(name, arguments)
            assert there["isError"] == here["isError"], (name, arguments)
            if here["isError"]:
                texts = [NEAREST.sub("", one["content"][0]["text"]) for one in (here, there)]
                assert texts[0] == texts[1], (name, arguments)
            elif there["structuredContent"].get("notes", [""])[-1].startswith("This server gives the first 10"):
                assert there["structuredContent"]["results"] == []
            elif here["structuredContent"].get("relaxed"):
                mine, theirs = here["structuredContent"], there["structuredContent"]
                assert theirs.get("warnings") == mine.get("warnings"), (name, arguments)
            else:
                assert there["structuredContent"] == without_nearest(here["structuredContent"]), (name, arguments)
                compared += 1
    assert compared > 300


@pytest.mark.parametrize("offset", [10, 20, 1_000_000])
def test_behind_the_tenth_document_the_page_is_empty_and_that_is_said(wire: Wire, offset: int) -> None:
    calls = [
        {"jsonrpc": "2.0", "id": n, "method": "tools/call", "params": {"name": "search", "arguments": arguments}}
        for n, arguments in enumerate(({"query": "labour", "offset": offset}, {"query": "W1", "offset": offset}))
    ]
    many, few = (one["result"]["structuredContent"] for one in wire.answers(json.dumps(calls).encode(), len(calls)))
    assert many["results"] == few["results"] == []
    said = "This server gives the first 10 documents of an answer; ask more narrowly to see those behind them."
    assert many["notes"][-1] == said and said not in few.get("notes", [])


def without_nearest(found: dict[str, Any]) -> dict[str, Any]:
    """Return an answer without the nearest words, which only the search in Python looks for."""
    notes = [note for note in found.get("notes", []) if not note.startswith("The nearest words")]
    return found | ({"notes": notes} if "notes" in found else {})
