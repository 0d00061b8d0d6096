"""verify_items: what no source supports is dropped, always, and named."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from catalog_search import QueryError, verify_items
from catalog_search.itemtext import Broken, items_of
from catalog_search.verification import CHECKED_ALL, MOST_ITEMS, NOT_CHECKED, REASONS

SOURCES: list[dict[str, Any]] = [
    {
        "id": "a",
        "title": "Nurses' wages",
        "url": "https://x.example/Wages?y=2024#t1",
        "text": "Wages of nurses\nrose by 3.5 % to EUR 1,234.50\nsince 1 May 2024.",
        "keywords": ["pay"],
        "metadata": {"agency": "Office for Wages", "open": True},
    },
    {"id": "b", "title": "Rents", "url": "https://x.example/rents/", "text": "Rents fell by 2 %."},
]
URL = SOURCES[0]["url"]
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "title": {"type": "string"},
        "rise": {"type": "number"},
        "since": {"type": "string", "format": "date"},
        "tags": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["title"],
    "additionalProperties": False,
}
TRUE = {"title": "Nurses' wages", "rise": 3.5, "since": "2024-05-01", "source_url": URL}


def why(item: Any, require: Any = "source", schema: dict[str, Any] = SCHEMA) -> tuple[str, str]:
    answer = verify_items([item], schema, SOURCES, require=require)
    if answer["items"]:
        assert (answer["items_dropped"], answer["dropped"]) == (0, [])
        return "", ""
    (one,) = answer["dropped"]
    assert one.keys() == {"index", "item", "reason", "path", "message"}
    assert one["reason"] in REASONS
    assert one["message"] and one["index"] == 0
    return one["reason"], one["path"]


def test_an_answer_says_what_was_kept_what_went_and_what_that_is_worth() -> None:
    claims = [TRUE, {**TRUE, "source_url": "https://x.example/other"}]
    answer = verify_items(claims, SCHEMA, SOURCES, require="all")
    evidence = {
        "/title": {"match": "exact", "in": "title"},
        "/rise": {"match": "exact", "in": "text", "first_line": 2, "last_line": 2},
        "/since": {"match": "folded", "in": "text", "first_line": 3, "last_line": 3},
    }
    assert answer == {
        "items": [{**TRUE, "evidence": evidence}],
        "items_extracted": 2,
        "items_dropped": 1,
        "dropped": [
            {
                "index": 1,
                "item": claims[1],
                "reason": "unknown_source",
                "path": "/source_url",
                "message": "its source was not retrieved: no source has exactly this url",
            }
        ],
        "sources": [{key: one[key] for key in ("id", "title", "url")} for one in SOURCES],
        "guarantees": {"checked": CHECKED_ALL, "not_checked": NOT_CHECKED},
    }
    assert "evidence" not in claims[0], "the caller's own items stay as they are"


@pytest.mark.parametrize(
    "url",
    [
        "https://x.example/invented", URL + "/", URL.rstrip("1"), URL.replace("#t1", ""), URL.replace("Wages", "wages"),
        URL.replace("https", "http"), URL.replace("x.example", "X.example"), URL.replace("x.example", "x.example:443"),
        URL.replace("#", "%23"), URL.replace("/W", "//W"), URL.replace("/W", "/./W"), f" {URL}", f"{URL} ", f"{URL}\n",
        "https://x.example/rents", "https://x.example/rents/#top", "a", "b", "Rents",
        URL.replace("e", "е"), URL + "\u200b", f"<{URL}>", f"[Wages]({URL})", f"{URL},https://x.example/rents/",
    ],
)  # fmt: skip
def test_a_url_that_is_not_a_sources_own_is_dropped_however_near_it_is(url: str) -> None:
    for require in ("source", "all", ["title"]):
        assert why({**TRUE, "source_url": url}, require) == ("unknown_source", "/source_url")


@pytest.mark.parametrize("url", [None, "", 1, True, [URL], {"url": URL}])
def test_an_item_that_names_no_source_is_dropped(url: Any) -> None:
    assert why({**TRUE, "source_url": url}) == ("no_source", "/source_url")


def test_no_other_member_stands_for_the_source() -> None:
    open_schema = {"properties": {"title": {}}}
    for key in ("sourceUrl", "url", "Source_url", "source"):
        item = {key: value for key, value in TRUE.items() if key == "title"} | {key: URL}
        assert why(item, schema=open_schema) == ("no_source", "/source_url")
    camel = {"properties": {"title": {}, "sourceUrl": {}}}
    assert why({"title": "x", "source_url": URL}, schema=camel) == ("no_source", "/sourceUrl")
    assert why({"title": "x", "sourceUrl": URL}, schema=camel) == ("", "")


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"rise": 3.6}, "/rise"), ({"rise": 35}, "/rise"), ({"rise": -3.5}, "/rise"), ({"rise": 2}, "/rise"),
        ({"title": "Nurses' salaries"}, "/title"), ({"title": "Rents"}, "/title"), ({"title": "wage"}, "/title"),
        ({"since": "2024-05-02"}, "/since"), ({"since": "2024-01-05"}, "/since"), ({"tags": ["pay", "gap"]}, "/tags/1"),
    ],
)  # fmt: skip
def test_a_value_that_the_source_does_not_hold_is_dropped_where_it_must(change: dict[str, Any], path: str) -> None:
    item = {**TRUE, **change}
    assert why(item, "all") == why(item, [path.split("/")[1]]) == ("not_supported", path)
    (kept,) = verify_items([item], SCHEMA, SOURCES)["items"]
    assert kept["evidence"][path] == {"match": "absent"}


def test_what_must_be_found_must_be_there() -> None:
    assert why({"title": "Nurses' wages", "source_url": URL}, ["rise"]) == ("not_supported", "/rise")
    assert why({**TRUE, "tags": []}, ["tags"]) == ("not_supported", "/tags")
    loose = {"properties": {"title": {}, "a": {"properties": {"b": {}}}}}
    assert why({"title": None, "source_url": URL}, ["title"], loose) == ("not_supported", "/title")
    assert why({"title": None, "source_url": URL}, "all", loose) == ("", "")
    assert why({"a": {"b": "pay", "c": "no such"}, "source_url": URL}, ["/a/b"], loose) == ("", "")
    assert why({"a": {"b": "pay", "c": "no such"}, "source_url": URL}, ["a"], loose) == ("not_supported", "/a/c")


def test_under_all_no_member_may_say_something_by_its_name_alone() -> None:
    loose = {"properties": {"title": {}}}
    for value in (None, "", [], {}, True, [None], {"x": ""}):
        item = {"title": "Nurses' wages", "nurses strike": value, "source_url": URL}
        assert why(item, "all", loose)[0] == "not_supported"
    assert why({"title": "Nurses' wages", "pay": "pay", "source_url": URL}, "all", loose) == ("", "")


@pytest.mark.parametrize(
    ("item", "reason"),
    [
        ("no JSON at all", "not_json"), ({"title": float("nan")}, "not_json"), ({"title": {1, 2}}, "not_json"),
        ({"title": "\ud800"}, "not_json"), ("{'title': 1}", "not_json"), ('{"title": "x"} {"title": "y"}', "not_json"),
        ({"title": "x" * 70_000}, "not_json"), ({"title": list(range(2_000))}, "not_json"),
        (7, "schema"), (None, "schema"), ([], "schema"), ([TRUE], "schema"), (True, "schema"),
        ({**TRUE, "title": 3}, "schema"), ({**TRUE, "rise": "3.5"}, "schema"), ({**TRUE, "more": 1}, "schema"),
        ({"rise": 3.5, "source_url": URL}, "schema"), ({}, "no_source"), (json.dumps(TRUE), ""),
        (f"```json\n{json.dumps(TRUE)}\n```", ""),
    ],
)  # fmt: skip
def test_what_is_no_json_or_of_another_shape_is_dropped(item: Any, reason: str) -> None:
    assert why(item)[0] == reason
    json.dumps(verify_items([item], SCHEMA, SOURCES), allow_nan=False).encode()


def test_a_deep_item_is_dropped() -> None:
    item: Any = {}
    for _ in range(100_000):
        item = {"a": item}
    assert why({**TRUE, "more": item}) == ("not_json", "")


@pytest.mark.parametrize("depth", [*range(1, 40), *range(40, 2_000, 37), 480, 481, 600, 989, 990, 1_000, 2_000, 90_000])
@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")])
def test_an_item_of_any_depth_is_kept_or_dropped_by_itself(depth: int, opening: str, closing: str) -> None:
    inner = opening * depth + "1" + closing * depth
    deep, good = f'{{"w": {inner}, "source_url": "{URL}"}}', f'{{"title": "pay ]}}", "source_url": "{URL}"}}'
    for text in (f"[{good}, {deep}, {good}]", f'Here:\n```json\n[{good}, {deep}, {good}]\n```\nThat was "all".'):
        answer = verify_items(text, {}, SOURCES)
        assert answer["items_extracted"] == 3
        assert [(one["index"], one["reason"]) for one in answer["dropped"]] == ([(1, "not_json")] * (depth > 14))
        json.dumps(answer)
    assert [one["reason"] for one in verify_items([deep], {}, SOURCES)["dropped"]] == ["not_json"] * (depth > 14)
    value: Any = 1
    for _ in range(depth):
        value = [value] if opening == "[" else {"a": value}
    answer = verify_items([{"w": value, "source_url": URL}, TRUE], {}, SOURCES)
    assert [one["reason"] for one in answer["dropped"]] == ["not_json"] * (depth > 14)


def test_an_item_that_holds_itself_is_dropped() -> None:
    item: dict[str, Any] = {**TRUE}
    item["more"] = [item, item]
    assert why(item) == ("not_json", "")


@pytest.mark.parametrize(
    ("more", "path"),
    [
        ({"sourceUrl": "https://forged.example"}, "/sourceUrl"),
        ({"Source_URL": "HTTPS://forged.example"}, "/Source_URL"),
        ({"a": [{"source_url": "http://forged.example"}]}, "/a/0/source_url"),
        ({"a": {"sourceUrl": [URL, " https://forged.example"]}}, "/a/sourceUrl/1"),
        ({"sourceUrl": URL, "a": {"source_url": SOURCES[1]["url"]}}, ""),
        ({"sourceUrl": "see above", "link": "https://forged.example"}, ""),
    ],
)
def test_no_further_source_may_be_named_that_is_none(more: dict[str, Any], path: str) -> None:
    assert why({**TRUE, **more}, schema={}) == (("unknown_source", path) if path else ("", ""))


def test_evidence_is_ours_to_say() -> None:
    claim = {**TRUE, "evidence": {"/title": {"match": "exact"}}}
    (kept,) = verify_items([claim], SCHEMA, SOURCES)["items"]
    assert kept["evidence"]["/title"] == {"match": "exact", "in": "title"}


def test_of_sources_with_one_url_the_one_that_holds_most_is_cited() -> None:
    twins = [{"id": n, "title": "T", "url": URL, "text": f"Row {n} has {n}00."} for n in ("1", "2")]
    schema = {"properties": {"n": {}, "row": {}}}
    answer = verify_items([{"n": 200, "row": "Row 2", "source_url": URL}], schema, twins, require="all")
    assert answer["items_dropped"] == 0
    # but an item is not put together of two
    assert verify_items([{"n": 100, "row": "Row 2", "source_url": URL}], schema, twins, require="all")["items"] == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"items": [TRUE] * (MOST_ITEMS + 1)}, "51 items are too many; 50 can be verified at once"),
        ({"sources": [{"id": "x", "title": "X", "text": ""}]}, "the source “x” has no url"),
        ({"sources": ["https://x.example"]}, "a source is a mapping with id, title, url and text"),
        ({"sources": [None]}, "a source is a mapping with id, title, url and text"),
        ({"sources": None}, "sources are mappings, each with id, title, url and text"),
        ({"sources": [{**SOURCES[0], "metadata": ["x"]}]}, "the metadata of a source is a mapping"),
        ({"sources": [{**SOURCES[0], "keywords": 5}]}, "the keywords of a source are a list"),
        ({"items": None}, "items are objects, each with its source, or a text that holds them"),
        ({"items": 7}, "items are objects, each with its source, or a text that holds them"),
        ({"schema": None}, "schema"),
        ({"sources": SOURCES[0]}, "a source is a mapping with id, title, url and text"),
        ({"require": "everything"}, 'no field "everything" that could be required'),
        ({"require": ["titel"]}, 'Did you mean "title"'),
        ({"require": ["/titel/0"]}, 'no field "titel"'),
        ({"require": 3}, "require is “source”, “all”, or a list of fields"),
        ({"require": [""]}, "require is “source”, “all”, or a list of fields"),
        ({"schema": {"type": "objekt"}}, "the schema is wrong at /type"),
    ],
)
def test_a_call_that_cannot_be_carried_out_is_an_error(arguments: dict[str, Any], said: str) -> None:
    with pytest.raises(QueryError) as caught:
        verify_items(**({"items": [TRUE], "schema": SCHEMA, "sources": SOURCES} | arguments))
    assert said in caught.value.message


def test_one_item_need_not_stand_in_a_list() -> None:
    assert len(verify_items(TRUE, SCHEMA, SOURCES)["items"]) == 1


HOSTILE = [
    " " * 300_000 + "x", "<think>" * 50_000, "1.1" * 100_000 + "a", "1.1." * 100_000 + "1a", "123 " * 100_000 + "1a",
    "1" * 300_000 + "a", "1" * 300_000, "1 May " * 50_000, "2024-05-" * 40_000, '{"' * 100_000, "[" * 300_000,
    "- " * 150_000, "a-" * 150_000, '{"a":[' * 50_000, "é" * 200_000, "\n" * 300_000,
]  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: repr(text[:8]))
def test_a_hostile_text_takes_no_longer_than_any_other(text: str) -> None:
    """Without a clock: what takes the square of its length would take hours here."""
    source = {"id": "x", "title": "X", "url": "https://x.example/x", "text": text}
    claims = [
        {"a": value, "source_url": "https://x.example/x"} for value in (1, "1 a", "1 May 2024", text[:60_000], "x")
    ]
    assert verify_items(claims, {}, [source])["items_extracted"] == 5
    assert verify_items(text, {}, [source])["items"] == []


def test_no_items_is_an_answer() -> None:
    answer = verify_items([], SCHEMA, [])
    assert (answer["items"], answer["items_extracted"], answer["items_dropped"]) == ([], 0, 0)
    assert verify_items('{"items": []}', SCHEMA, SOURCES)["items_extracted"] == 0


# A model's text ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ('{"items": [{"a": 1}, {"a": 2}]}', [{"a": 1}, {"a": 2}]),
        ('[{"a": 1}]', [{"a": 1}]),
        ('{"a": 1}', [{"a": 1}]),
        ('{"results": [{"a": 1}]}', [{"a": 1}]),
        ('\ufeff [{"a": 1}] ', [{"a": 1}]),
        ('```json\n[{"a": 1}]\n```', [{"a": 1}]),
        ('Found [1] of them:\n```\n{"items": [{"a": 1}]}\n```\nSee [2].', [{"a": 1}]),
        ('{"a": 1}\n{"a": 2}\n', [{"a": 1}, {"a": 2}]),
        ('<think>Maybe [{"a": 0}]?</think>[{"a": 1}]', [{"a": 1}]),
        ("[]", []),
        ('{"items": []}', []),
        ('Nothing: {"items": []}', []),
        ('[{"a": [{"b": 1}]}, 3, "x"]', [{"a": [{"b": 1}]}, 3, "x"]),
        ('{"tags": ["x"], "a": 1}', [{"tags": ["x"], "a": 1}]),
    ],
)
def test_a_models_text_is_read_tolerantly(text: str, items: list[Any]) -> None:
    assert items_of(text) == items


@pytest.mark.parametrize(
    ("text", "whole"),
    [('[{"a": 1}, {"a": 2', 1), ("", 0), ("Sorry.", 0), ('{"a": NaN}', 0), ('{"a": 1,}', 0), ("{'a': 1}", 0),
     ("[" * 100_000, 0), ('{"a":' * 100_000, 0), ("9" * 5_000, 0)],
)  # fmt: skip
def test_what_breaks_off_is_named(text: str, whole: int) -> None:
    *items, last = items_of(text)
    assert isinstance(last, Broken)
    assert len(last.item) <= 201
    assert len(items) == whole
    answer = verify_items(text, SCHEMA, SOURCES)
    assert answer["dropped"][-1]["reason"] == "not_json"


@given(st.text(alphabet=st.sampled_from('[]{}",:a1 \n\\'), max_size=60) | st.text(max_size=60))
def test_any_text_can_be_read(text: str) -> None:
    answer = verify_items(text[:200], {"properties": {"a": {}}}, SOURCES)
    assert answer["items"] == []
    assert answer["items_extracted"] == answer["items_dropped"] == len(answer["dropped"])


# Forgeries --------------------------------------------------------------------------------------------------

WORDS = "labour cost index price census poverty energy trade school health water travel steel crop rent bank".split()


def world(dice: random.Random) -> list[dict[str, Any]]:
    """Return sources in which every number, date and name occurs once."""
    sources = []
    numbers = dice.sample(range(1_000, 9_999), 40)
    for place in range(8):
        a, b, c, d = dice.sample(WORDS, 4)
        day = f"{dice.randrange(1950, 2030)}-{dice.randrange(1, 13):02}-{dice.randrange(1, 29):02}"
        url = f"https://{a}.example/{b.title()}/{numbers[place]}?v={place}#x{place}"
        text = f"{c.title()} {d} of {a}.\nIt was {numbers[place + 10]}.5 on {day}."
        title = f"{a} {b} survey{place}"
        true = {"title": title, "n": numbers[place + 10] + 0.5, "day": day}
        sources.append({"id": f"d{place}", "title": title, "url": url, "text": text, "true": true})
    return sources


def forged(dice: random.Random, sources: list[dict[str, Any]]) -> tuple[dict[str, Any], str]:
    """Return an item that no source supports, and what was forged."""
    one, other = dice.sample(sources, 2)
    item = {**one["true"], "source_url": one["url"]}
    kinds = {
        "url made up": {"source_url": f"https://{dice.choice(WORDS)}.example/{dice.random()}"},
        "slash": {"source_url": one["url"] + "/"},
        "case": {"source_url": one["url"].swapcase()},
        "fragment": {"source_url": one["url"].partition("#")[0]},
        "query": {"source_url": one["url"].replace("?v", "?w")},
        "one character": {"source_url": _changed(dice, one["url"])},
        "path": {"source_url": one["url"].replace("example/", "example/../")},
        "another's url": {"source_url": other["url"]},
        "no url": {"source_url": dice.choice([None, "", [one["url"]], 1])},
        "number": {"n": one["true"]["n"] + dice.choice([-1, 1, 0.1, 1_000])},
        "sign": {"n": -one["true"]["n"]},
        "number of another": {"n": other["true"]["n"]},
        "date": {"day": one["true"]["day"][:-2] + "30"},
        "date of another": {"day": other["true"]["day"]},
        "title": {"title": one["title"] + dice.choice("sx0")},
        "title of another": {"title": other["title"]},
        "part of a word": {"title": one["title"][:-1]},
        "words in another order": {"title": " ".join(reversed(one["title"].split()))},
        "type": {"n": str(one["true"]["n"])},
        "one member more": {"note": one["title"]},
    }
    kind = dice.choice(list(kinds))
    return {**item, **kinds[kind]}, kind


def _changed(dice: random.Random, url: str) -> str:
    place = dice.randrange(len(url))
    return url[:place] + chr(ord(url[place]) ^ 1) + url[place + 1 :]


STRICT: dict[str, Any] = {
    "properties": {"title": {"type": "string"}, "n": {"type": "number"}, "day": {"type": "string"}},
    "required": ["title", "n", "day"],
    "additionalProperties": False,
}


def test_of_1000_random_forgeries_none_survives_and_every_true_item_does() -> None:
    dice = random.Random(7)
    survived, kinds, true = [], set(), 0
    for _ in range(40):
        sources = world(dice)
        pairs = [forged(dice, sources) for _ in range(25)]
        claims = [item for item, _ in pairs] + [{**one["true"], "source_url": one["url"]} for one in sources]
        answer = verify_items(claims, STRICT, sources, require="all")
        gone = {one["index"] for one in answer["dropped"]}
        survived += [pair for index, pair in enumerate(pairs) if index not in gone]
        kinds |= {kind for _, kind in pairs}
        true += answer["items_extracted"] - answer["items_dropped"]
    assert survived == []
    assert len(kinds) == 20
    assert true == 40 * 8


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=40), st.dictionaries(st.text(max_size=8), st.text(max_size=20), max_size=4))
def test_no_item_with_any_other_url_survives(url: str, item: dict[str, Any]) -> None:
    urls = {one["url"] for one in SOURCES}
    answer = verify_items([{**item, "source_url": url}], {}, SOURCES)
    assert answer["items_dropped"] == (url not in urls)


def test_the_function_is_loaded_when_it_is_asked_for() -> None:
    program = "import sys, catalog_search; a = 'jsonschema' in sys.modules; catalog_search.verify_items; print(a)"
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert said.stdout == "False\n"
