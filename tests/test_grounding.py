"""Where a source says a value: as it is written, in normal form, by value, or nowhere; and on which lines."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import cases

from catalog_search.grounding import Source
from catalog_search.text import normalize
from catalog_search.values import days, numbers


def source(text: str = "", **more: Any) -> Source:
    return Source({"id": "A.1", "title": "Title", "url": "https://x.example/1", "text": text, **more})


@pytest.mark.parametrize("case", cases("grounding"), ids=lambda case: f"{case['value']} in {case['text']}")
def test_a_value_is_found_where_it_is_said_and_only_there(case: dict[str, Any]) -> None:
    assert source(case["text"]).find(case["value"]).match == case["match"]


def test_lines_are_those_of_the_text() -> None:
    one = source("Wages\nof 1,200\nnurses in\nthe north")
    assert one.find(1200).as_json() == {"match": "folded", "in": "text", "first_line": 2, "last_line": 2}
    assert one.find("Nurses in the").as_json() == {"match": "folded", "in": "text", "first_line": 3, "last_line": 4}
    assert one.find("north").as_json() == {"match": "exact", "in": "text", "first_line": 4, "last_line": 4}
    assert one.find("Wages\nof").as_json() == {"match": "exact", "in": "text", "first_line": 1, "last_line": 2}


def test_what_is_written_so_comes_before_what_only_folds_so() -> None:
    assert source("wages", title="Wages").find("Wages").as_json() == {"match": "exact", "in": "title"}
    assert source("Wages", title="wages").find("Wages").place == "text"
    assert source("wages and Wages").find("Wages").match == "exact"


def test_fields_beside_the_text_are_sources_too() -> None:
    metadata = {"agency": "OECD", "n": 7, "tags": ["a", {"b": "c d"}], "open": True, "shut": "false"}
    one = source("", keywords=["pay gap", "wages"], metadata=metadata)
    assert one.find("pay gap").place == "keywords"
    assert one.find("gap wages").match == "folded"  # as search has it, one keyword after the other
    assert one.find("OECD").place == "metadata.agency"
    assert one.find(7).as_json() == {"match": "exact", "in": "metadata.n"}
    assert one.find("c d").place == "metadata.tags"
    assert one.find(True, "Open").place == "metadata.open"
    assert one.find(False, "shut").place == "metadata.shut"
    for value, name in ((True, "shut"), (False, "open"), (True, "other"), (True, ""), (False, "tags")):
        assert one.find(value, name).match == "absent"


def test_an_id_and_a_url_are_evidence_of_themselves_only() -> None:
    one = source(url="https://x.example/2024/wages", id="7")
    assert one.find("https://x.example/2024/wages").place == "url"
    assert one.find("7").place == "id"
    assert one.find(7).place == "id"
    assert one.find(2024).match == one.find("wages").match == "absent"


@given(st.integers(-(10**12), 10**12), st.integers(0, 3))
def test_every_number_is_found_as_it_is_usually_written(number: int, places: int) -> None:
    value = Decimal(number).scaleb(-places)
    plain = f"{value:f}"
    for text in (plain, f"{value:,f}", f"{value:,f}".replace(",", "_").replace(".", ",").replace("_", "."),
                 f"{value:,f}".replace(",", "\u202f").replace(".", ",")):  # fmt: skip
        assert value in {one.value for one in numbers(f"of {text} and")}, text


@given(st.dates(date(1000, 1, 1), date(2999, 12, 31)))
def test_every_date_is_found_as_it_is_usually_written(day: date) -> None:
    wanted = (day.year, day.month, day.day)
    for text in (
        day.isoformat(),
        f"{day.day}.{day.month}.{day.year}",
        day.strftime("%d %B %Y"),
        day.strftime("%b %d, %Y"),
    ):
        assert wanted in {one.value for one in days(f"on {text}, and")}, text


@given(st.text(max_size=80), st.text(max_size=12))
def test_any_text_can_be_looked_for_in_any(text: str, value: str) -> None:
    found = source(text).find(value)
    if found.match == "folded" and found.place == "text" and not any(sign.isdigit() for sign in value):
        assert f" {normalize(value)} " in f" {normalize(text)} "
    if found.match == "exact":
        assert value in text or value.strip() in text or found.place != "text"
    lines = text.count("\n") + 1
    assert found.first_line <= found.last_line <= lines


def test_a_long_text_is_looked_through() -> None:
    text = "\n".join(f"row {n} of the table: {n},500 units" for n in range(20_000))
    one = source(text)
    assert one.find("Row 19999 of").first_line == 20_000
    assert one.find(19_999_500).match == "absent"
    assert one.find("x" * 1000).match == "absent"
