"""Candidate pairs: each is measured, none that fails its own measurement is said, and each way finds what it is for."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support import SHARED, built

from catalog_search import QueryError, SourceError, normalize
from catalog_search.candidates import Candidate, Lexicon, Proposal
from catalog_search.cli import main
from catalog_search.judging import Change, Ranks
from catalog_search.learning import fold, learn
from catalog_search.measure import measure
from catalog_search.purity import REFUSED, purity
from catalog_search.relevance import Judged, read_judged
from catalog_search.suggesting import suggest
from catalog_search.trial import Trial
from catalog_search.vocabulary import Pair

TITLES = """
Labour force by sex
Labour costs
Enrolment in primary education
Organisation of work
Harmonised unemployment rate
Women in parliament
Women in research
Cities and towns
Literacy rate
Literacy of adults
Literature in towns
Post secondary education
Wellbeing of people
Wellbeing of children
Claims paid by insurers
Unemployment benefits
Unemployment of youth
Philosophy degrees
Monitor of prices
Railway freight
Neoplasm of the lung
Neoplasm of the skin
""".strip().splitlines()
ROWS = [{"id": str(number), "title": title, "other": ""} for number, title in enumerate(TITLES)]
ROWS[0]["other"] = "Manpower force by sex"
ROWS[1]["other"] = "Manpower costs; Staff spending and other outlays of firms"
ROWS[20]["other"] = "Cancer of the lung|Pulmonary cancer"
ROWS[21]["other"] = "Cancer of the skin"


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("suggest")
    pairs = [{"asked": "town", "source": "city"}, {"asked": "jobless", "source": "unemployment"}]
    built(ROWS, to=folder / "a.db", folder=folder, vocabulary=pairs)
    return str(folder / "a.db")


@pytest.fixture
def lexicon(database: str) -> Iterator[Lexicon]:
    with Trial.open(database) as catalog:
        yield Lexicon(catalog)


def pairs(database: str, *arguments: str, **more: Any) -> set[tuple[str, str, str]]:
    return {(one.asked, one.source, one.origin) for one in suggest(database, *arguments, **more).candidates}


def written(path: Path, *lines: object) -> str:
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), "utf-8")
    return str(path)


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["vocab", "suggest", *map(str, arguments)])


# --- measured


def test_a_candidate_is_counted_as_measure_counts(lexicon: Lexicon) -> None:
    (one,) = lexicon.measured([Proposal("labor", "labour", "spelling")])
    assert (one.asked_documents, one.source_documents, one.gain, one.purity) == (0, 2, 2, 1.0)
    assert sorted(one.examples) == ["Labour costs", "Labour force by sex"]
    assert one.warnings == ()


@pytest.mark.parametrize(
    ("asked", "source", "why"),
    [
        ("lighted", "lit", "most of what begins so is literacy"),
        ("jobs", "xylophone", "the source occurs nowhere"),
        ("labour", "labour", "it is the same"),
        ("work", "works", "the asked word finds it"),
        ("towns", "town", "its singular finds it"),
        ("towns", "city", "the vocabulary has it"),
        ("labour force", "labour", "the source is among the asked words"),
        ("!?", "labour", "nothing is asked"),
        ("jobs", "", "nothing is searched"),
    ],
)
def test_a_pair_that_is_worth_nothing_is_refused(lexicon: Lexicon, asked: str, source: str, why: str) -> None:
    assert lexicon.measured([Proposal(asked, source, "x")]) == [], why


def test_a_source_that_also_starts_other_words_is_doubted() -> None:
    rows = [{"id": str(n), "title": title} for n, title in enumerate(["Discs", "Disc", "Disco", "Discovery of oil"])]
    with Trial.open(built(rows).image or b"") as trial:
        (one,) = Lexicon(trial).measured([Proposal("platter", "disc", "x")])
    assert one.purity == 0.5
    assert one.warnings == ("“disc” also starts disco, discovery",)


def test_where_a_word_starts_others_its_inflection_is_proposed() -> None:
    titles = ["Literacy"] * 9 + ["Liters of milk", "Liters of water"]
    rows = [{"id": str(n), "title": title} for n, title in enumerate(titles)]
    with Trial.open(built(rows).image or b"") as trial:
        found = Lexicon(trial).measured([Proposal("litre", "liter", "spelling")])
        assert [(one.asked, one.source) for one in found] == [("litre", "liters")]
        assert Lexicon(trial).measured([Proposal("litre", "liter", "spelling")], inflected=False) == []


def test_the_largest_gain_comes_first_and_inflections_are_one_pair(lexicon: Lexicon) -> None:
    found = lexicon.measured([
        Proposal("enrollment", "enrolment", "x"), Proposal("cancers", "neoplasm", "x"),
        Proposal("cancer", "neoplasm", "x"), Proposal("cancer", "neoplasms", "x"),
        Proposal("labor", "labour", "x"), Proposal("joblessness", "unemployment", "x"),
    ])  # fmt: skip
    assert [(one.asked, one.gain) for one in found] == [
        ("joblessness", 3), ("cancer", 2), ("labor", 2), ("enrollment", 1),
    ]  # fmt: skip


WORDS = sorted(
    {word for title in TITLES for word in title.lower().split()} | set("labor lit cit woman enrol jobs x".split())
)
TEXTS = st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join) | st.text(max_size=8)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(proposals=st.lists(st.tuples(TEXTS, TEXTS), max_size=12))
def test_nothing_suggested_fails_its_own_measurement(lexicon: Lexicon, proposals: list[tuple[str, str]]) -> None:
    connection = lexicon.catalog.connection()
    found = lexicon.measured(Proposal(asked, source, "x") for asked, source in proposals)
    assert [-one.gain for one in found] == sorted(-one.gain for one in found)
    for one in found:
        (again,) = measure(connection, lexicon.catalog.vocabulary([Pair(one.asked, (one.source,), False, 0)]))
        assert again.verdict == "ok"
        assert (again.asked_documents, again.source_documents, again.gain) == one[3:6]
        assert purity(connection, lexicon.language, one.source).share == one.purity >= REFUSED
        plain = sum(f" {one.source}" in f" {title.lower()}" for title in TITLES)
        assert one.source_documents == plain or one.source.isdigit()
        assert all(title in TITLES for title in one.examples)


# --- the ways


def test_spellings_of_the_words_of_a_catalogue_are_proposed(database: str) -> None:
    found = pairs(database, "spelling")
    assert {
        ("labor", "labour", "spelling"), ("enrollment", "enrolment", "spelling"),
        ("organization", "organisation", "spelling"), ("harmonized", "harmonised", "spelling"),
        ("harmonize", "harmonise", "spelling"), ("railroad", "railway", "word"),
    } == found  # fmt: skip


def test_forms_of_the_words_of_a_catalogue_are_proposed(database: str) -> None:
    assert pairs(database, "forms") == {
        ("woman", "women", "form"), ("city", "cities", "form"), ("person", "people", "form"),
        ("postsecondary", "post secondary", "compound"),
    }  # fmt: skip


def test_without_a_way_it_is_those_that_need_no_file(database: str) -> None:
    assert pairs(database) == pairs(database, "spelling") | pairs(database, "forms")


def test_aliases_are_compared_with_titles(database: str) -> None:
    assert pairs(database, "aliases", field="other") == {
        ("manpower", "labour", "alias"),
        ("cancer", "neoplasm", "alias"),
    }
    one = next(one for one in suggest(database, "aliases", field="other").candidates if one.asked == "cancer")
    assert one.times == 2


def test_the_words_of_a_log_are_tried_in_every_way(database: str, tmp_path: Path) -> None:
    asked = ["labor costs", "moniter", "philosopher", "post-secondary", "well being", "womans", "postsecondary", "the"]
    log = written(tmp_path / "log.jsonl", *({"query": query} for query in asked), {"question": 1})
    found = suggest(database, "log", log)
    assert {(one.asked, one.source, one.origin) for one in found.candidates} == {
        ("labor", "labour", "spelling"), ("moniter", "monitor", "edit"), ("philosopher", "philosophy", "stem"),
        ("well being", "wellbeing", "compound"), ("womans", "women", "form"),
        ("postsecondary", "post secondary", "compound"),
    }  # fmt: skip
    assert [one.line for one in found.bad_lines] == [len(asked) + 1]
    said = run(database, "--from", "log", log)
    assert f"log.jsonl, line {len(asked) + 1}: " in said.stderr


def test_what_was_asked_next_is_proposed(database: str, tmp_path: Path) -> None:
    log = written(
        tmp_path / "log.jsonl",
        {"query": "manpower costs", "session": "a"}, {"query": "women", "session": "b"},
        {"query": "labour costs", "session": "a"}, {"query": "joblessness"}, {"query": "railway freight"},
        {"query": "train freight"}, {"query": "railway freight"}, {"query": "hiring", "session": "c"},
        {"query": "organisation", "session": "c"},
    )  # fmt: skip
    found = {one for one in pairs(database, "log", log) if one[2] == "next"}
    assert found == {
        ("manpower", "labour", "next"), ("train", "railway", "next"), ("hiring", "organisation", "next"),
    }  # fmt: skip


def test_what_was_clicked_is_proposed(database: str, tmp_path: Path) -> None:
    log = written(
        tmp_path / "log.jsonl",
        {"query": "cancer", "clicked": "20"}, {"query": "cancer", "clicked": ["21"]},
        {"query": "trains freight", "clicked": "19"}, {"query": "tumours", "clicked": "none"},
        {"query": "scholars unknown", "clicked": "17"},
    )  # fmt: skip
    found = {one for one in pairs(database, "log", log) if one[2] == "clicked"}
    assert found == {("cancer", "neoplasm", "clicked"), ("trains", "railway", "clicked")}


def test_judged_questions_say_what_each_way_is_worth(database: str, tmp_path: Path) -> None:
    questions = [("labor costs", "1"), ("labor force", "0"), ("philosophers", "17")]
    judged = written(tmp_path / "judged.jsonl", *({"query": query, "ids": [id]} for query, id in questions))
    found = suggest(database, "judged", judged)
    assert ("labor", "labour", "spelling") in {one[:3] for one in found.candidates}
    assert found.ways["spelling"].questions == 3
    assert found.ways["spelling"].lost == 0


def test_of_two_words_that_are_both_asked_one_leads_to_the_other(tmp_path: Path) -> None:
    titles = ["Labour force", "Labour costs", "Labor union", "Colour", "Color print", "Color wheel"]
    rows = [{"id": str(number), "title": title} for number, title in enumerate(titles)]
    built(rows, to=tmp_path / "a.db")
    asked = [("labor", "0"), ("labour", "2"), ("color", "3"), ("colour", "4")]
    judged = written(tmp_path / "judged.jsonl", *({"query": query, "ids": [id]} for query, id in asked))
    log = written(tmp_path / "log.jsonl", *({"query": query} for query, _ in asked))
    for way, file in (("judged", judged), ("log", log)):
        assert {one[:2] for one in pairs(str(tmp_path / "a.db"), way, file)} == {
            ("labor", "labour"), ("colour", "color"),
        }, way  # fmt: skip


# --- thesauri

TURTLE = """
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
<urn:a> a skos:Concept ; skos:prefLabel "Neoplasms"@en, "Tumores"@pt ; skos:altLabel "Cancers"@en, "Cancro"@pt ;
    skos:hiddenLabel "Tumour" .
<urn:b> skos:prefLabel "Labour"@en-GB ; skos:altLabel "Manpower"@en .
<urn:c> skos:altLabel "Orphan"@en .
"""
RDF = """<?xml version="1.0"?>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:skos="http://www.w3.org/2004/02/skos/core#">
<skos:Concept rdf:about="urn:a"><skos:prefLabel xml:lang="en">Neoplasms</skos:prefLabel>
<skos:altLabel xml:lang="en">Cancers</skos:altLabel><skos:altLabel xml:lang="pt">Cancro</skos:altLabel>
<skos:hiddenLabel>Tumour</skos:hiddenLabel></skos:Concept>
<skos:Concept rdf:about="urn:b"><skos:prefLabel xml:lang="en">Labour</skos:prefLabel>
<skos:altLabel xml:lang="en">Manpower</skos:altLabel></skos:Concept></rdf:RDF>
"""
TABLE = "PrefLabel;AltLabel;note\nNeoplasms;Cancers|Tumour;\nLabour;Manpower;x\nWages;;\n;Nothing;\n"


@pytest.mark.parametrize(("name", "text"), [("a.ttl", TURTLE), ("a.rdf", RDF), ("a.XML", RDF), ("a.csv", TABLE)])
def test_other_labels_of_a_thesaurus_lead_to_the_preferred_one(
    database: str, tmp_path: Path, name: str, text: str
) -> None:
    (tmp_path / name).write_text(text, "utf-8")
    assert pairs(database, "thesaurus", str(tmp_path / name)) == {
        ("cancers", "neoplasm", "thesaurus"), ("tumour", "neoplasm", "thesaurus"), ("manpower", "labour", "thesaurus"),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # the preferred label is in no document: the names that are stand for those that are not
        ("Jobs;Manpower|Labour|Staff;\n", {("manpower", "labour"), ("staff", "labour"), ("jobs", "labour")}),
        # a list of synonyms, none preferred; two of its names are in documents
        (";Cancers|Neoplasms|Labour;\n", {("cancers", "labour"), ("cancers", "neoplasm")}),
        # what the catalogue says already needs no other word, unless that is preferred
        (";Labour|Neoplasms;\n", set()),
        ("Neoplasms;Labour;\n", {("labour", "neoplasm")}),
        ("Nothing;Nowhere|Never;\n", set()),
        # a row a name
        ("Jobs;Manpower;\nJobs;Labour;\n", {("manpower", "labour"), ("jobs", "labour")}),
    ],
)  # fmt: skip
def test_names_of_a_concept_lead_to_those_that_the_catalogue_uses(
    database: str, tmp_path: Path, text: str, expected: set[tuple[str, str]]
) -> None:
    (tmp_path / "a.csv").write_text(f"prefLabel;altLabel;note\n{text}", "utf-8")
    assert {one[:2] for one in pairs(database, "thesaurus", str(tmp_path / "a.csv"))} == expected


@pytest.mark.parametrize(
    "labels",
    [
        'skos:prefLabel "Labour"@en-GB, "Labor"@en-US',
        'skos:altLabel "Labour"@en, "Labor"@en',
        'skos:prefLabel "Labour"@en ; skos:hiddenLabel "Labor"',
    ],
)
def test_whichever_labels_hold_the_names_of_a_concept_they_lead_to_the_one_in_use(
    database: str, tmp_path: Path, labels: str
) -> None:
    text = f"@prefix skos: <http://www.w3.org/2004/02/skos/core#> . <urn:a> {labels} ."
    (tmp_path / "a.ttl").write_text(text, "utf-8")
    assert {one[:2] for one in pairs(database, "thesaurus", str(tmp_path / "a.ttl"))} == {("labor", "labour")}


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.ttl", "this is no turtle", "a.ttl, line 1: cannot be read as RDF"),
        ("a.rdf", "<rdf", "a.rdf: cannot be read as RDF"),
        ("a.ttl", "", "a.ttl: holds no concept with an altLabel"),
        ("a.csv", "a,b\n1,2\n", "a.csv, line 1: the header has no column altLabel"),
        ("a.csv", "altLabel,prefLabel\n", "a.csv: holds no concept with an altLabel"),
        ("a.csv", "", "a.csv, line 1: the header has no column altLabel"),
    ],
)
def test_a_thesaurus_that_cannot_be_used_is_refused_by_name(
    database: str, tmp_path: Path, name: str, text: str, said: str
) -> None:
    (tmp_path / name).write_text(text, "utf-8")
    with pytest.raises(SourceError) as caught:
        suggest(database, "thesaurus", str(tmp_path / name))
    assert str(caught.value).startswith(f"{tmp_path}/{said}")


def test_without_rdflib_the_error_says_what_to_install(database: str, tmp_path: Path) -> None:
    (tmp_path / "a.ttl").write_text(TURTLE, "utf-8")
    program = (
        "import sys; sys.modules['rdflib'] = None\nfrom catalog_search.cli import main\n"
        f"main(['vocab', 'suggest', {database!r}, '--from', 'thesaurus', {str(tmp_path / 'a.ttl')!r}])"
    )
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert said.returncode == 1
    assert "run: pip install 'catalog-search[thesaurus]'" in said.stderr


def test_rdflib_is_loaded_for_skos_alone(database: str, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(TABLE, "utf-8")
    program = (
        "import sys\nfrom catalog_search.suggesting import suggest\n"
        f"suggest({database!r}); suggest({database!r}, 'thesaurus', {str(tmp_path / 'a.csv')!r})\n"
        "print('rdflib' in sys.modules)"
    )
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert said.stdout == "False\n"


# --- the command


def test_the_command_prints_the_largest_gain_first_and_applies_nothing(database: str) -> None:
    before = Path(database).read_bytes()
    lines = run(database).stdout.splitlines()
    assert lines[0].split() == ["asked", "source", "from", "asked", "source", "gain", "for", "example"]
    assert lines[1].split()[:2] == ["labor", "labour"]
    assert lines[-1] == f"{len(lines) - 2} candidates"
    assert Path(database).read_bytes() == before


def test_json_holds_every_figure(database: str) -> None:
    found = json.loads(run(database, "--from", "spelling", "--json").stdout)
    assert list(found) == ["database", "from", "file", "field", "candidates", "ways", "bad", "bad_lines"]
    assert found["candidates"][0] == {
        "asked": "labor", "source": ["labour"], "from": "spelling", "times": 0, "asked_documents": 0,
        "source_documents": 2, "gain": 2, "purity": 1.0, "warnings": [],
        "examples": ["Labour costs", "Labour force by sex"],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--from", "log"], "--from log needs a FILE"),
        (["--from", "forms", "x"], "--from forms reads no FILE"),
        (["x.jsonl"], "a FILE goes with --from thesaurus, log or judged"),
        (["--from", "aliases"], "--from aliases and --field NAME go together"),
        (["--from", "spelling", "--field", "other"], "--from aliases and --field NAME go together"),
        (["--from", "aliases", "--field", "othr"], 'no document has the field "othr". Did you mean "other"?'),
        (["--from", "log", "none.jsonl"], "none.jsonl: cannot be read"),
        (["--from", "judged", "none.jsonl"], "none.jsonl: cannot be read"),
        (["--from", "thesaurus", "none.ttl"], "none.ttl: cannot be read"),
        (["--from", "thesaurus", "none.csv"], "none.csv: cannot be read"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_line(database: str, arguments: list[str], said: str) -> None:
    found = run(database, *arguments)
    assert found.exit_code == 1
    assert said in found.stderr
    assert "Traceback" not in found.stderr


def test_odd_text_in_a_log_or_a_judged_set_is_no_error(database: str, tmp_path: Path) -> None:
    odd = ["\ud800", "a\0b", "NEAR(", '"', "-", "é" * 2_000, "人口 統計", "x " * 500, "\x1b[2J"]
    for way, more in (("log", {"clicked": "\ud800"}), ("judged", {"ids": ["\ud800", "1"]})):
        lines = [{"query": f"labor {text} moniter", **more} for text in odd] + [{"query": text, **more} for text in odd]
        found = run(database, "--from", way, written(tmp_path / f"{way}.jsonl", *lines), "--json")
        assert found.exit_code == 0, found.output
        assert ["labour"] in [one["source"] for one in json.loads(found.stdout)["candidates"]]


def test_an_unknown_way_is_named() -> None:
    with pytest.raises(QueryError, match="there is no way"):
        suggest("none.db", "guess")


# --- real catalogues: shared data, not in the repository

shared = pytest.mark.skipif(
    not (SHARED / "catalogues").is_dir(),
    reason="the real catalogues (../shared/data, beside the repository) are not there",
)


@shared
def test_a_list_of_another_source_is_proposed_almost_whole(tmp_path: Path) -> None:
    """Of its spellings that find nothing, where the other spelling is a word of the titles: 95 % are proposed."""
    with open(SHARED / "vocab" / "british_american_spelling.tsv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    listed = [(normalize(row["british"]), normalize(row["american"])) for row in rows]
    right, missed = 0, []
    for name in ("uis_indicators", "worldbank_indicators", "oecd_dataflows"):
        with open(SHARED / "catalogues" / f"{name}.csv", encoding="utf-8", newline="") as file:
            titles = {row["id"]: row["title"] for row in csv.DictReader(file)}
        words = {word for title in titles.values() for word in normalize(title).split()}
        built(({"id": id, "title": title} for id, title in titles.items()), to=tmp_path / f"{name}.db")
        proposed = {(one.asked, one.source) for one in suggest(str(tmp_path / f"{name}.db"), "spelling").candidates}
        for asked, source in {*listed, *((other, one) for one, other in listed)}:
            if asked[0] != source[0] or source not in words or any(word.startswith(asked[:-1]) for word in words):
                continue
            if any(said == asked and source.startswith(of) for said, of in proposed):
                right += 1
            elif not any(said in (asked, asked[:-1]) and source.startswith(of) for said, of in proposed):
                missed.append((name, asked, source))
    assert right >= 50
    assert len(missed) <= 0.05 * (right + len(missed)), missed


def halves_of(questions: list[Judged]) -> tuple[list[int], list[int]]:
    """Return the places of one half of the questions, and of those about documents that it does not name."""
    half = [place for place, one in enumerate(questions) if fold(one, 2) == 0]
    named = {id for place in half for id in questions[place].grades}
    return half, [place for place, one in enumerate(questions) if not named & one.grades.keys()]


def learned_on_half(catalog: Trial, questions: list[Judged]) -> tuple[list[Candidate], Change]:
    """Return what is learned on one half and what it does to the other; nothing is lost on the first."""
    ranks = Ranks(catalog, questions)
    half, others = halves_of(questions)
    learned = [one.candidate for one in learn(Lexicon(catalog), questions, ranks=ranks, places=half)]
    before, after = ranks.under([], half), ranks.under(learned, half)
    assert not [questions[place].query for place in half if before[place].loses(after[place])]
    return learned, ranks.change(learned, others)


def titles_of(catalogue: str) -> bytes:
    with open(SHARED / "catalogues" / f"{catalogue}.csv", encoding="utf-8", newline="") as file:
        return built({"id": row["id"], "title": row["title"]} for row in csv.DictReader(file)).image or b""


@shared
@pytest.mark.parametrize(
    ("judged", "catalogue"),
    [
        ("esco_altlabels_en", "esco_occupations_en"),
        ("icd10cm_inclusion_terms", "icd10cm_2026_titles_only"),
        ("mesh_entry_terms", "mesh_descriptors"),
        ("naics2017_index", "naics2017"),
    ],
)
def test_what_is_learned_on_half_of_a_real_set_loses_nothing_there_and_little_elsewhere(
    judged: str, catalogue: str
) -> None:
    questions = list(read_judged(str(SHARED / "evals" / f"{judged}.jsonl")))
    with Trial.open(titles_of(catalogue)) as catalog:
        _, change = learned_on_half(catalog, questions)
        assert change.gained >= change.lost or change.p > 0.05


@shared
def test_thousands_of_questions_teach_what_helps_questions_about_other_documents() -> None:
    """A third of the inclusion terms that ICD-10-CM publishes: half of them are learned from."""
    found: dict[str, dict[str, float]] = {}
    with open(SHARED / "catalogues" / "icd10cm_2026.csv", encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            for term in filter(None, row["inclusion_terms"].split(" | ")):
                found.setdefault(term, {})[row["id"]] = 1.0
    questions = [Judged(query, grades, "en", "", 1) for query, grades in found.items()]
    questions = [one for one in questions if fold(one, 3) == 0]
    with Trial.open(titles_of("icd10cm_2026_titles_only")) as catalog:
        learned, change = learned_on_half(catalog, questions)
    assert len(learned) > 50
    assert change.gained - change.lost >= 0.02 * change.before
    assert change.p < 0.01
