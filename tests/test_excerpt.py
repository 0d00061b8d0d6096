"""An excerpt is a piece of the text as it is written, around what matched, cut between words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import catalogue

from catalog_search.excerpt import LENGTH, cut_around, spans
from catalog_search.expansion import Pattern
from catalog_search.text import full_folding, normalize

FOLDING = full_folding()
FILLER = "Lorem ipsum dolor sit amet consectetur. " * 30


def excerpt(text: str, *patterns: str) -> str:
    return cut_around(text, normalize(text), [Pattern(pattern, "own") for pattern in patterns], FOLDING)


def test_a_short_text_is_whole() -> None:
    assert excerpt("It counts labour force.", "labour") == "It counts labour force."


@pytest.mark.parametrize("before", [0, 1, 5, 30])
@pytest.mark.parametrize("word", ["Labour", "Île-de-France", "Straße", "2024年", "E-MAIL", "«naïve»"])
def test_the_match_is_in_the_excerpt_as_it_is_written(before: int, word: str) -> None:
    text = FILLER[: 40 * before] + word + " " + FILLER
    cut = excerpt(text, normalize(word))
    assert word in cut
    assert len(cut) <= LENGTH + 4
    assert cut.startswith("… ") is (before * 40 > LENGTH // 3)
    assert cut.endswith(" …")


def test_without_a_match_it_is_the_start() -> None:
    cut = excerpt(FILLER, "zebra")
    assert FILLER.startswith(cut.removesuffix(" …"))


def test_the_first_pattern_that_occurs_decides() -> None:
    text = f"alpha {FILLER} beta {FILLER}"
    assert "beta" in excerpt(text, "zebra", "beta", "alpha")
    assert "alpha" in excerpt(text, "alpha", "beta")


def test_a_phrase_and_whole_words_are_found_where_they_match() -> None:
    text = f"consumer {FILLER} price carbon c {FILLER} consumer price index"
    assert "consumer price" in excerpt(text, "consumer price")
    assert "carbon c" in excerpt(text, "c")


def test_a_word_longer_than_an_excerpt_is_cut() -> None:
    assert len(excerpt("x" * 1_000, "x")) <= LENGTH + 4


TEXTS = st.lists(
    st.one_of(
        st.sampled_from("labour LABOUR Île 人口 e-mail a … ( ) ’ \n \u00a0 \u00ad ﬁn C++".split(" ")),
        st.text(max_size=6),
    ),
    max_size=120,
).map(" ".join)


@given(TEXTS, st.sampled_from(["labour", "ile", "ren kou", "e mail", "a", "zebra", "cplusplus"]))
def test_an_excerpt_is_a_piece_of_the_text_on_word_boundaries(text: str, pattern: str) -> None:
    cut = excerpt(text, pattern)
    assert len(cut) <= LENGTH + 4
    inner = cut.removeprefix("… ").removesuffix(" …")
    words = text.split()
    if inner and all(len(word) <= LENGTH for word in words):
        shown = inner.split()
        assert any(words[place : place + len(shown)] == shown for place in range(len(words)))
        if Pattern(pattern, "own").starts(normalize(text)):
            assert pattern.split()[0] in normalize(cut)


@pytest.mark.parametrize(
    ("text", "patterns", "found"),
    [
        ("Labour force", ["labour"], ["Labour"]),
        ("The Île-de-France", ["ile"], ["Île-de-France"]),
        ("consumer prices, price", ["price"], ["prices,", "price"]),
        ("female male", ["male"], ["male"]),
        ("Consumer Price index", ["consumer price"], ["Consumer", "Price"]),
        ("nothing", ["zebra"], []),
        ("", ["a"], []),
    ],
)
def test_what_is_highlighted(text: str, patterns: list[str], found: list[str]) -> None:
    shown = [text[start:end] for start, end in spans(text, patterns)]
    assert [one.rstrip(",") for one in shown] == [one.rstrip(",") for one in found]


def test_the_excerpt_of_a_result_is_text_then_keyword_then_start() -> None:
    rows = [
        {"id": "1", "title": "A", "text": f"{FILLER} labour here. {FILLER}", "keywords": "x"},
        {"id": "2", "title": "B", "text": "Other text", "keywords": "pay|Labour market|z"},
        {"id": "3", "title": "Labour", "text": f"Start of text. {FILLER}", "keywords": ""},
        {"id": "4", "title": "Labour", "text": "", "keywords": ""},
    ]
    with catalogue(rows) as catalog:
        shown = {result.id: result.excerpt for result in catalog.search("labour").results}
    assert "labour here." in shown["1"]
    assert shown["2"] == "Labour market"
    assert shown["3"].startswith("Start of text.")
    assert shown["4"] == ""
