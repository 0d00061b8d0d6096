"""How pure a word-start pattern is: the share of what it matches that holds its word, inflected or not."""

from __future__ import annotations

import pytest
from support import built

from catalog_search import load_language
from catalog_search.purity import is_inflection, purity
from catalog_search.trial import Trial

TITLES = [
    "Literacy rate", "Literacy of adults", "Literate women", "Lit rooms",
    "Labour force", "Labours", "Labourers", "Labour-intensive work",
    "Mould", "Moldova", "Moldova, prices", "Mold growth",
    "Drop out rate", "Drop outs", "Drop outside", "Outside", "Plans planned", "Plant",
    "Vitamin c", "Vitamin complex", "Census 2024", "Census 20245",
]  # fmt: skip


@pytest.mark.parametrize(
    ("pattern", "own", "matched", "others"),
    [
        ("lit", 1, 4, ("literacy", "literate")),
        ("labour", 4, 4, ()),
        ("mold", 1, 3, ("moldova",)),
        ("drop out", 2, 3, ("outside",)),
        ("plan", 1, 2, ("plant",)),
        ("vitamin c", 0, 0, ()),
        ("census 2024", 0, 0, ()),
        ("nowhere", 0, 0, ()),
    ],
)
def test_the_purity_of_a_pattern(pattern: str, own: int, matched: int, others: tuple[str, ...]) -> None:
    rows = [{"id": str(place), "title": title} for place, title in enumerate(TITLES)]
    with Trial.open(built(rows).image) as catalog:  # type: ignore[arg-type]
        found = purity(catalog.connection(), catalog.language, pattern)
    assert found[:3] == (matched, own, others)
    assert len(found.titles) == min(3, matched - own)
    assert all(any(word in title.lower() for word in others) for title in found.titles)
    assert found.share == (own / matched if matched else 1.0)


@pytest.mark.parametrize(
    ("language", "of", "yes", "no"),
    [
        ("en", "labour", "labour labours labouring labourer", "labourforce"),
        ("en", "alcohol", "alcoholic alcohols", "alcoholmeter"),
        ("en", "met", "mets metted", "metal method metropolitan"),
        ("en", "city", "city", "citywide"),
        ("en", "disc", "discs disced", "discrimination discount discal"),
        ("pt-BR", "trabalhador", "trabalhadores trabalhadora", "trabalhadorismo"),
        ("de", "preis", "preise preisen", "preisindex"),
    ],
)
def test_an_inflection_is_of_its_language(language: str, of: str, yes: str, no: str) -> None:
    pack = load_language(language)
    assert [word for word in f"{yes} {no}".split() if is_inflection(word, of, pack)] == yes.split()
