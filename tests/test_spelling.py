"""Words that are written in two ways: the rules go both ways, the list is whole, other languages have none."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog_search.packs import known_languages
from catalog_search.spelling import load_spellings

ENGLISH = load_spellings("en")
# British, American: written by hand, one or more for every rule.
PAIRS = """
labour labor, neighbourhood neighborhood, organise organize, organising organizing, organisation organization,
recognisable recognizable, analyse analyze, analysing analyzing, centre center, centred centered, centring centering,
fibre fiber, ochre ocher, modelled modeled, modelling modeling, traveller traveler, counsellor counselor,
jewellery jewelry, enrol enroll, skilful skillful, worshipped worshiped, worshipping worshiping, benefitted benefited,
benefitting benefiting, focussed focused, focussing focusing, focusses focuses, defence defense, licencing licensing,
catalogue catalog, programme program, judgement judgment, ageing aging, saleable salable, connexion connection,
cheque check, plough plow, draught draft, mould mold, tyre tire, aluminium aluminum, anaemia anemia, foetus fetus,
sulphur sulfur, anaesthetise anesthetize, haemorrhage hemorrhage, labourers laborers, enrolment enrollment
"""


@pytest.mark.parametrize(("british", "american"), [pair.split() for pair in PAIRS.split(",")])
def test_a_rule_leads_either_way(british: str, american: str) -> None:
    assert american in ENGLISH.by_rules(british)
    assert british in ENGLISH.by_rules(american)


def test_every_rule_has_a_pair_above() -> None:
    words = [pair.split() for pair in PAIRS.split(",")]
    for rule in ENGLISH.rules:
        assert any(other in ENGLISH._by_rules(one, [rule]) for one, other in words), rule
    assert len(ENGLISH.rules) >= 30


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("organisation", [("organization", "organisation")]),
        ("organised", [("organized", "organised"), ("organize", "organise")]),
        ("urbanization", [("urbanisation", "urbanization")]),
        ("analyses", [("analyzes", "analyses"), ("analyze", "analyse")]),
    ],
)
def test_a_sure_rule_makes_an_asked_word(word: str, expected: list[tuple[str, str]]) -> None:
    assert ENGLISH.asked_for(word) == expected


@pytest.mark.parametrize(
    "word",
    "doctor number factor exercise enterprises revised size sizes prize seized noise rising comprise maize".split(),
)
def test_no_word_is_made_where_all_of_english_writes_one(word: str) -> None:
    assert ENGLISH.asked_for(word) == []


@given(st.text("abcdefghijklmnopqrstuvwxyz", min_size=1, max_size=15))
def test_a_variant_of_any_word_is_another_word_and_leads_back(word: str) -> None:
    variants = ENGLISH.variants(word)
    assert word not in variants
    for other in variants:
        assert re.fullmatch("[a-z ]+", other)
    for other in ENGLISH._by_rules(word, [rule for rule in ENGLISH.rules if not rule.within]):
        assert word in ENGLISH._by_rules(other, ENGLISH.rules)


def test_the_list_goes_both_ways_and_has_no_plural_of_a_pair_that_it_has() -> None:
    assert ENGLISH.listed["grey"] == ["gray"]
    assert "grey" in ENGLISH.listed["gray"]
    assert "labours" not in ENGLISH.listed
    assert sum(map(len, ENGLISH.listed.values())) > 6_000
    for word, others in ENGLISH.listed.items():
        assert word not in others
        assert all(word in ENGLISH.listed[other] for other in others)


def test_the_list_carries_its_licence() -> None:
    text = (files("catalog_search.vocab") / "spellings" / "en-scowl.yaml").read_text("utf-8")
    assert "scowl 2020.12.07-2" in text
    assert "Copyright 2000-2011 by Kevin Atkinson" in text
    assert "Modified" in text


@pytest.mark.parametrize("tag", known_languages())
def test_a_language_without_spellings_has_no_variants(tag: str) -> None:
    assert bool(load_spellings(tag).variants("labour")) == (tag == "en")
