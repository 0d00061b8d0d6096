"""Known counts on real catalogues, and nothing lost of them; the catalogues are shared data, not in the repository."""

from __future__ import annotations

import csv
import re
import sys
import unicodedata
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from support import SHARED, write_vocabulary

from catalog_search import Catalog, Settings, build
from catalog_search.measure import measured_at_build

CATALOGUES = SHARED / "catalogues"
PAIRS = SHARED / "vocab" / "asked_to_source_pairs_dev.tsv"

pytestmark = pytest.mark.skipif(
    not CATALOGUES.is_dir(), reason="the real catalogues (../shared/data, beside the repository) are not there"
)

csv.field_size_limit(min(sys.maxsize, 2**31 - 1))


def rows(name: str) -> list[dict[str, str]]:
    with open(CATALOGUES / f"{name}.csv", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def pairs_of(catalogue: str) -> list[dict[str, Any]]:
    """Return the open pairs of a catalogue as a vocabulary file has them."""
    with open(PAIRS, encoding="utf-8", newline="") as file:
        lines = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        return [
            {"asked": line["asked"], "source": [source.strip() for source in line["source_terms"].split(";")]}
            for line in lines
            if line["catalogue"] == catalogue
        ]


Opener = Callable[..., Catalog]


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Opener]:
    """Build catalogues, each once, and open them."""
    known: dict[str, Catalog] = {}

    def open_(name: str, *, pairs: str = "", language: str = "en", **more: Any) -> Catalog:
        if name not in known:
            folder = tmp_path_factory.mktemp(name)
            settings: dict[str, Any] = {
                "name": name.replace(".", "_"),
                "language": language,
                "source": {"path": str(CATALOGUES / f"{name}.csv")},
                "documents": {"id": "{id}", "title": "{title}"},
            } | more
            if pairs:
                path = folder / "vocabulary.yaml"
                settings["vocabulary"] = str(write_vocabulary(path, pairs_of(pairs), language, source_name=pairs))
            build(Settings.from_mapping(settings), folder / "built.db")
            known[name] = Catalog.open(folder / "built.db")
        return known[name]

    yield open_
    for catalog in known.values():
        catalog.close()


def count(catalog: Catalog, question: str) -> int:
    answer = catalog.search(question, count=True, relax=False)
    assert answer.total_relation == "eq"
    return answer.total


def folded(text: str) -> str:
    """Fold Latin text by the Unicode database alone: enough for an independent count."""
    plain = "".join(one for one in unicodedata.normalize("NFKD", text.lower()) if not unicodedata.combining(one))
    return " ".join(re.findall("[a-z0-9]+", plain))


def starting(texts: Iterator[str] | list[str], *starts: str) -> int:
    """Count texts in which a word begins with one of the starts, by a plain loop."""
    return sum(any(f" {start}" in f" {folded(text)}" for start in starts) for text in texts)


# --- known counts


def test_cnae(opened: Opener) -> None:
    catalog = opened("cnae_subclasses", pairs="IBGE CNAE", language="pt-BR")
    titles = [row["title"] for row in rows("cnae_subclasses")]
    assert count(catalog, "uber") == 0 == starting(titles, "uber")
    assert count(catalog, "ovo") == 2 == starting(titles, "ovo")
    assert count(catalog, "dentista") == 5
    assert any("odontolog" in note for note in catalog.search("dentista").notes)
    relaxed = catalog.search("uber")
    assert relaxed.relaxed or relaxed.reason == "no_match"
    assert not any("tubérculos" in result.title.lower() for result in relaxed.results)


def test_uis(opened: Opener) -> None:
    catalog = opened("uis_indicators", pairs="UNESCO UIS")
    titles = [row["title"] for row in rows("uis_indicators")]
    assert count(catalog, "women") == 1_083 == starting(titles, "women", "woman", "female")
    assert count(catalog, "enrollment") == 526 == starting(titles, "enrollment", "enrolment", "enrolled")
    assert any("enrolment" in note for note in catalog.search("enrollment").notes)
    assert count(catalog, "male") == 971 == starting(titles, "male")
    found = [result.title for result in catalog.search("male", limit=1_000).results]
    assert len(found) == 971
    assert [title for title in found if not re.search(r"\bmale", title.lower())] == []


def test_ilostat(opened: Opener) -> None:
    catalog = opened("ilostat_indicators_2022", pairs="ILOSTAT")
    american, british = (catalog.search(f"{word} force", limit=1_000) for word in ("labor", "labour"))
    assert american.total == british.total == 76
    assert [one.id for one in american.results] != [] and {one.id for one in american.results} == {
        one.id for one in british.results
    }
    assert any("labour" in note for note in american.notes)


def test_oecd(opened: Opener) -> None:
    catalog = opened("oecd_dataflows", pairs="ILOSTAT", duplicates="first")
    first = {row["id"]: row for row in reversed(rows("oecd_dataflows"))}.values()
    by_title = {row["id"] for row in first if starting([row["title"]], "labor", "labour")}
    by_id = {row["id"] for row in first if starting([row["id"]], "labor", "labour")} - by_title
    assert (len(by_title), len(by_id)) == (27, 1)
    assert [id for id in by_id if "LABOUR" in id] == list(by_id)
    answer = catalog.search("labor", limit=100)
    assert {one.id for one in answer.results} == by_title | by_id
    assert {one.id for one in answer.results if "title" in one.matched} == by_title
    # No title has the American word: what it finds, it finds by translation.
    assert starting([row["title"] for row in first], "labor") == 0


def test_world_bank(opened: Opener) -> None:
    catalog = opened("worldbank_indicators", duplicates="first")
    assert starting([row["title"] for row in rows("worldbank_indicators")], "labour") == 0
    answer = catalog.search("labour")
    assert answer.relaxed or answer.reason == "no_match"
    assert answer.suggestions[0] == "labor"


def test_naics(opened: Opener) -> None:
    catalog = opened("naics2017")
    children = sorted(row["id"] for row in rows("naics2017") if row["id"].startswith("3361"))
    answer = catalog.search("3361", limit=100)
    assert len(children) > 3
    assert sorted(one.id for one in answer.results) == children
    assert answer.results[0].id == "3361"


def test_numbers_in_titles_match_whole(opened: Opener) -> None:
    catalog = opened("uis_indicators", pairs="UNESCO UIS")
    titles = {row["id"]: folded(row["title"]).split() for row in rows("uis_indicators")}
    for number in ("1", "15", "2", "100"):
        found = {one.id for one in catalog.search(number, limit=1_000, relax=False).results}
        assert {
            id for id in found if number not in titles[id] and not re.search(rf"(^|[^a-z0-9]){number}", id.lower())
        } == set()


@pytest.mark.parametrize(
    ("name", "question", "of_rows"),
    [
        ("cid10_pt", "cancer", 0),
        ("cid10_pt", "neoplasia maligna", 439),
        ("ibge_sidra_agregados", "renda", 33),
        ("ibge_sidra_agregados", "idade", None),
    ],
)
def test_a_word_start_is_counted_as_a_plain_loop_does(
    opened: Opener, name: str, question: str, of_rows: int | None
) -> None:
    source = rows(name)
    assert of_rows in (None, starting([row["title"] for row in source], question))
    # Rows of one id are one document.
    documents: dict[str, str] = {}
    for row in source:
        documents[row["id"]] = f"{documents.get(row['id'], '')} | {row['title']}"
    catalog = opened(name, language="pt-BR", duplicates="merge")
    held = [title for title in documents.values() if all(starting([title], word) for word in question.split())]
    assert count(catalog, question) == len(held)


OPEN_PAIRS = {
    "UNESCO UIS": ("uis_indicators", "en", 49),
    "ILOSTAT": ("ilostat_indicators_2022", "en", 21),
    "IBGE CNAE": ("cnae_subclasses", "pt-BR", 29),
    "BCB SGS": ("bcb_sgs_curated", "pt-BR", 10),
}


def words_of(row: dict[str, str]) -> list[str]:
    """Return what a search can find in a row: title and id, and a compound's joined form (well-being, wellbeing)."""
    found = []
    for text in (row["title"], row["id"]):
        found.append(f" {folded(text)}")
        compounds = (re.sub(r"[^\w\s]", "", chunk) for chunk in text.split() if re.search(r"\w[-.'’&_]\w", chunk))
        found += [f" {folded(one)}" for one in compounds if text is row["title"]]
    return found


@pytest.mark.parametrize("publisher", OPEN_PAIRS)
def test_every_open_pair_is_counted_as_a_plain_loop_does(opened: Opener, publisher: str) -> None:
    name, language, number = OPEN_PAIRS[publisher]
    catalog = opened(name, pairs=publisher, language=language)
    source = [words_of(row) for row in rows(name)]

    def holding(*starts: str) -> set[int]:
        patterns = [f" {folded(start)}" for start in starts]
        return {
            place
            for place, texts in enumerate(source)
            if any(pattern in text for pattern in patterns for text in texts)
        }

    measured = measured_at_build(catalog._database.connection())
    pairs = pairs_of(publisher)
    assert len(measured) == len(pairs) == number
    for one, pair in zip(measured, pairs, strict=True):
        asked, held = holding(pair["asked"]), holding(*pair["source"])
        assert (one.asked, list(one.source)) == (pair["asked"], pair["source"])
        assert (one.asked_documents, one.source_documents, one.gain) == (len(asked), len(held), len(held - asked)), one


# --- nothing lost


def held(catalog: Catalog) -> list[str]:
    execute = catalog._database.connection().execute
    return sorted(id for (id,) in execute("SELECT id FROM documents"))


@pytest.mark.parametrize(("name", "language", "repeated"), [("cid10_pt", "pt-BR", 263), ("eurostat_toc", "en", 1_977)])
def test_every_id_of_the_source_is_there(opened: Opener, name: str, language: str, repeated: int) -> None:
    source = [row["id"] for row in rows(name)]
    catalog = opened(name, language=language, duplicates="merge")
    assert held(catalog) == sorted(set(source))
    assert len(source) - len(set(source)) >= repeated


def test_every_id_of_the_largest_catalogue_is_there_and_its_titles_are_found(opened: Opener) -> None:
    source = rows("mesh_terms_large")
    catalog = opened("mesh_terms_large")
    assert len(source) == 263_936
    assert held(catalog) == sorted(row["id"] for row in source)
    for row in source[:: len(source) // 150]:
        answer = catalog.search(row["title"], limit=50, relax=False)
        assert any(one.id == row["id"] and one.tier in (0, 1) for one in answer.results), row
