"""A catalogue's answers: what they say, how they are cut into pages, and that a failure is never an empty answer."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hostile import hostile
from support import asked_of, assigned_characters, built, catalogue, ids

from catalog_search import Catalog, CatalogSearchError, DatabaseError, DocumentNotFound, QueryError, normalize
from catalog_search.database import Database, Limits
from catalog_search.errors import BoundReached
from catalog_search.text import full_folding, is_common, is_letter

ROWS = [
    {"id": "LFS-1", "title": "Labour force by sex and region", "url": "https://x.example/1",
    "text": "It counts the labour "
     "force, women and men, in every region.", "keywords": "workers|employment", "topic": "Labour", "year": "2020"},
    {"id": "LFS-2", "title": "Labour costs", "url": "", "text": "", "keywords": "pay", "topic": "Labour",
    "year": "2021"},
    {"id": "CPI-1", "title": "Consumer price index", "url": "https://x.example/3", "text": "Prices of goods.",
    "keywords": "",
     "topic": "Prices", "year": "2020"},
    {"id": "CPI-2", "title": "Prices of consumer goods", "url": "", "text": "", "keywords": "inflation",
    "topic": "Prices",
     "year": "2021"},
    {"id": "HLT-1", "title": "Health of women", "url": "", "text": "Women’s health, by region",
    "keywords": "e-mail survey",
     "topic": "Santé", "year": ""},
    {"id": "336111", "title": "Automobile manufacturing", "url": "", "text": "", "keywords": "", "topic": "Industry",
     "year": "2021"},
    {"id": "3361", "title": "Motor vehicles", "url": "", "text": "", "keywords": "", "topic": "Industry",
    "year": "2021"},
]  # fmt: skip
PAIRS = [
    {"asked": "labor", "source": "labour"},
    {"asked": "cost of living", "source": "consumer price"},
    {"asked": "salary", "source": ["pay"]},
]
KEYS = [
    "query", "results", "total", "total_relation", "relaxed", "dropped",
    "ignored", "reason", "suggestions", "terms", "notes", "facets",
]  # fmt: skip


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("catalog")
    provenance = {"publisher": "The Office", "licence": "CC BY 4.0", "source_url": "https://x.example", "revision": "7"}
    built(
        ROWS, folder=folder, vocabulary=PAIRS, to=folder / "small.db", title="Small things",
        documents={"facets": ["topic", "year"]}, provenance=provenance,
    )  # fmt: skip
    return folder / "small.db"


@pytest.fixture
def catalog(path: Path) -> Iterator[Catalog]:
    with Catalog.open(path) as opened:
        yield opened


# --- the shape of an answer


@pytest.mark.parametrize("question", ["labor force", "women mars", "", "***", "zebra", "3361", "a\0b", "\ud800 wages"])
def test_the_keys_of_an_answer_are_these_in_this_order(catalog: Catalog, question: str) -> None:
    answer = catalog.search(question).as_json()
    assert list(answer) == KEYS
    assert json.loads(json.dumps(answer)) == answer
    for result in answer["results"]:
        assert list(result) == [
            "id",
            "title",
            "url",
            "excerpt",
            "tier",
            "matched",
            *(["missing"] if answer["relaxed"] else []),
        ]
        assert all(isinstance(result[key], str) for key in ("id", "title", "url", "excerpt"))
        assert set(result["matched"]) <= {"id", "title", "keywords", "text"}
        for matches in result["matched"].values():
            for match in matches:
                assert list(match) == ["term", "pattern", "kind"]
                assert match["kind"] in ("own", "singular", "vocabulary", "spelling")
                assert 0 <= match["term"] < len(answer["terms"])
    for term in answer["terms"]:
        assert list(term) == ["term", "patterns", "translated"]
    assert answer["reason"] in (None, "empty_query", "no_words", "no_match")
    assert bool(answer["results"]) != bool(answer["reason"])


def test_an_answer_says_what_was_searched_and_what_matched_where(catalog: Catalog) -> None:
    answer = catalog.search("the labor costs").as_json()
    assert answer["ignored"] == ["the"]
    assert answer["terms"] == [
        {"term": "labor", "patterns": ["labor", "labour"], "translated": True},
        {"term": "costs", "patterns": ["costs", "cost"], "translated": False},
    ]
    assert answer["notes"] == ["“labor” was also searched as labour, the wording the source uses."]
    (result,) = answer["results"]
    assert (result["id"], result["tier"]) == ("LFS-2", 3)
    assert result["matched"] == {
        "title": [
            {"term": 0, "pattern": "labour", "kind": "vocabulary"},
            {"term": 1, "pattern": "costs", "kind": "own"},
            {"term": 1, "pattern": "cost", "kind": "singular"},
        ]
    }


def test_attributes_have_the_names_of_the_json(catalog: Catalog) -> None:
    answer = catalog.search("labor")
    assert [name for name in KEYS if not hasattr(answer, name)] == []
    assert [name for name in answer.as_json()["results"][0] if not hasattr(answer.results[0], name)] == []


# --- promises: never silently empty, never invented, plain text never raises, translations said, citable


@pytest.mark.parametrize(
    ("question", "reason"),
    [("", "empty_query"), (" \t\n", "empty_query"), ("\0labor", "empty_query"), ("\ud800", "empty_query"),
    ("***", "no_words"),
     ("🌍", "no_words"), ("\u00ad", "no_words"), ("qqqqxx zzzzyy", "no_match")],
)  # fmt: skip
def test_an_empty_answer_has_its_reason_and_a_sentence(catalog: Catalog, question: str, reason: str) -> None:
    answer = catalog.search(question)
    assert (answer.results, answer.total, answer.total_relation, answer.relaxed) == ([], 0, "eq", False)
    assert answer.reason == reason
    assert answer.notes


def test_a_question_that_no_document_satisfies_gets_the_nearest_and_is_told_so(catalog: Catalog) -> None:
    answer = catalog.search("health of women on xylophones")
    assert answer.relaxed
    assert answer.results[0].id == "HLT-1"
    assert answer.results[0].tier is None
    assert answer.results[0].missing == answer.dropped == ["xylophones"]
    assert any("xylophones" in note and "nearest" in note for note in answer.notes)
    assert any("nowhere" in note and "xylophones" in note for note in answer.notes)


def test_without_relaxing_the_answer_is_empty_and_says_why(catalog: Catalog) -> None:
    answer = catalog.search("health of women on xylophones", relax=False)
    assert (answer.results, answer.relaxed, answer.reason) == ([], False, "no_match")


def test_a_stand_in_is_said(catalog: Catalog) -> None:
    answer = catalog.search("automobil manufactoring")
    assert answer.relaxed
    assert answer.results[0].id == "336111"
    assert answer.dropped == []
    assert any("manufactoring" in note and "manufacturing" in note for note in answer.notes)
    assert "manufacturing" in answer.suggestions


def test_a_pair_takes_no_stand_in_away(tmp_path: Path) -> None:
    rows = [{"id": "1", "title": "Fishing harbours"}, {"id": "2", "title": "Trawling"}]
    pair = {"asked": "fishery", "source": "trawling"}
    with catalogue(rows) as alone, catalogue(rows, folder=tmp_path, vocabulary=[pair]) as translated:
        found = [[one.id for one in each.search("fishery zzzz").results] for each in (alone, translated)]
    assert found == [["1"], ["2", "1"]]


@pytest.mark.parametrize("question", ["abour", "ale", "rice", "omen", "ex", "egion", "336", "36111"])
def test_no_answer_rests_on_the_middle_of_a_word(catalog: Catalog, question: str) -> None:
    right = {
        row["id"]
        for row in ROWS
        for field in ("id", "title", "keywords", "text")
        if any(word.startswith(question) for word in normalize(row[field]).split())
        and (field == "id" or not question.isdigit())
    }
    assert set(ids(catalog, question)) == right


def test_the_cuts_of_a_question_are_said(catalog: Catalog) -> None:
    assert any("NUL" in note for note in catalog.search("labour\0x").notes)
    assert any("1000" in note for note in catalog.search("labour " + "x" * 1_000).notes)
    assert any("64" in note for note in catalog.search("labour " * 65).notes)
    assert ids(catalog, "labour " * 65) == ids(catalog, "labour")


def test_letters_that_no_document_has_are_not_left_out_of_the_question(catalog: Catalog) -> None:
    answer = catalog.search("labour 人口")
    assert answer.relaxed
    assert any("人" in note and "口" in note for note in answer.notes)
    assert ids(catalog, "labour 人口") == []
    assert ids(catalog, "labour 🌍") == ids(catalog, "labour")


def test_any_letter_beyond_the_common_ones_is_asked_for(catalog: Catalog) -> None:
    letters = [one for one in assigned_characters() if one.isalnum() and not is_common(one)]
    for letter in letters[::97]:
        if normalize(f"labour {letter}") != "labour":
            assert asked_of(catalog, f"labour {letter}").text != "labour", letter


def test_signs_of_rare_scripts_separate_words_in_a_question_as_they_do_in_a_title() -> None:
    signs = [one for one in assigned_characters() if is_letter(one) and full_folding().single(one) == " "]
    assert len(signs) > 300  # so many are there in Unicode 14
    rows = [{"id": str(number), "title": f"wages {sign} I{sign}"} for number, sign in enumerate(signs)]
    with catalogue(rows) as catalog:
        ask = catalog.ask_statement()
        for number, sign in enumerate(signs):
            answer = catalog.search(f"wages I{sign}", limit=1_000)
            assert not answer.relaxed and str(number) in [one.id for one in answer.results], sign
        connection = catalog._database.connection()
        for sign in signs[::9]:
            found = connection.execute(ask, (f"wages I{sign}",)).fetchall()
            assert [row[0] for row in found] == [one.id for one in catalog.search(f"wages I{sign}").results]
            assert not any(row[3] for row in found)


@pytest.mark.parametrize(
    "question", ["ＬＡＢＯＵＲ ｆｏｒｃｅ", "𝗹𝗮𝗯𝗼𝘂𝗿 𝑓𝑜𝑟𝑐𝑒", "la\u00adbour\ufeff force", "labour\ufe0f force"]
)
def test_other_forms_of_common_letters_need_no_document_that_has_them(catalog: Catalog, question: str) -> None:
    assert ids(catalog, question) == ["LFS-1"]


def test_letters_of_ids_facets_and_vocabulary_are_known_to_the_database(tmp_path: Path) -> None:
    rows = [{"id": "人-1", "title": "Labour", "area": "東京"}, {"id": "2", "title": "Population", "area": "x"}]
    pairs = [{"asked": "人口", "source": "population"}]
    with catalogue(rows, folder=tmp_path, vocabulary=pairs, documents={"facets": ["area"]}) as catalog:
        assert ids(catalog, "人 1") == ["人-1"]
        assert ids(catalog, "labour", where={"area": "東京"}) == ["人-1"]
        assert ids(catalog, "人口") == ["2"]


def test_a_document_is_cited_whole(catalog: Catalog) -> None:
    document = catalog.fetch("LFS-1")
    assert (document.title, document.url, document.text) == (ROWS[0]["title"], ROWS[0]["url"], ROWS[0]["text"])
    assert document.provenance == {
        "catalog": "Small things", "publisher": "The Office", "licence": "CC BY 4.0",
        "source_url": "https://x.example", "revision": "7",
    }  # fmt: skip
    assert document.as_json()["metadata"] == {"keywords": ["workers", "employment"], "topic": "Labour", "year": "2020"}
    assert catalog.fetch("LFS-2").as_json()["url"] == ""


# --- arguments


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"limit": 0}, "limit is 0"),
        ({"limit": 1_001}, "1 to 1000"),
        ({"offset": -1}, "offset is -1"),
        ({"facets": ["topik"]}, 'Did you mean "topic"?'),
        ({"where": {"colour": "red"}}, "Known: topic, year"),
    ],
)
def test_an_argument_that_cannot_be_is_named(catalog: Catalog, options: dict[str, Any], says: str) -> None:
    with pytest.raises(QueryError) as caught:
        catalog.search("labour", **options)
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("where", "right"),
    [
        ({"topic": "LABOUR"}, {"LFS-1", "LFS-2"}),
        ({"topic": ["labour", "prices"], "year": "2020"}, {"LFS-1", "CPI-1"}),
        ({"topic": "sante"}, {"HLT-1"}),
        ({"topic": "labo"}, set()),
        ({"topic": "\ud800"}, set()),
        ({"year": ""}, set()),
        ({"topic": []}, set()),
    ],
)
def test_a_filter_compares_whole_folded_values(catalog: Catalog, where: dict[str, Any], right: set[str]) -> None:
    found: set[str] = set()
    for question in ("labour", "consumer", "women", "3361"):
        answer = catalog.search(question, where=where, relax=False, facets=["topic"])
        assert sum(answer.facets.get("topic", {}).values()) == len(answer.results) == answer.total
        found.update(result.id for result in answer.results)
    assert found == right


def test_a_filter_holds_for_relaxed_answers_too(catalog: Catalog) -> None:
    answer = catalog.search("health of women on mars", where={"topic": "labour"})
    assert {result.id for result in answer.results} <= {"LFS-1", "LFS-2"}


def test_facets_count_the_whole_answer_and_not_the_page(catalog: Catalog) -> None:
    answer = catalog.search("of", limit=1, facets=["topic", "year"])
    everything = catalog.search("of", limit=100)
    topics = Counter(next(row["topic"] for row in ROWS if row["id"] == one.id) for one in everything.results)
    assert answer.facets["topic"] == dict(topics)
    assert sum(answer.facets["year"].values()) == len([one for one in everything.results if one.id != "HLT-1"])


# --- pages and totals


MANY = [{"id": f"W{number}", "title": f"Wages {'of women ' * (number % 3)}{number % 7}"} for number in range(1_500)]


@pytest.fixture(scope="module")
def many() -> Iterator[Catalog]:
    with catalogue(MANY) as opened:
        yield opened


@pytest.mark.parametrize("question", ["wages", "wages women", "women 3", "wage", "w", "wages of women"])
@pytest.mark.parametrize("size", [1, 7, 100, 1_000])
def test_pages_neither_repeat_nor_skip(many: Catalog, question: str, size: int) -> None:
    right = [id for (id,) in many.ids_by_statement(question, "glob", 10_000)]
    pages = min(-(-len(right) // size) + 1, 20)
    found = [
        result.id for page in range(pages) for result in many.search(question, limit=size, offset=page * size).results
    ] if right else []  # fmt: skip
    assert found == right[: pages * size]
    assert len(set(found)) == len(found)


@pytest.mark.parametrize("question", ["wages", "wages women", "women 3", "zebra", "women", "W1"])
def test_the_total_is_exact_or_said_to_be_a_lower_bound(many: Catalog, question: str) -> None:
    right = len(many.ids_by_statement(question, "fts", 10_000))
    for options in ({"limit": 3}, {"limit": 1_000}, {"limit": 5, "offset": 200}):
        answer = many.search(question, relax=False, **options)
        assert answer.total_relation in ("eq", "gte")
        assert answer.total == right if answer.total_relation == "eq" else len(answer.results) <= answer.total <= right
    counted = many.search(question, count=True, relax=False)
    assert (counted.total, counted.total_relation) == (right, "eq")


def test_a_page_behind_the_last_is_empty_without_a_reason(many: Catalog) -> None:
    answer = many.search("women 3", offset=5_000)
    assert (answer.results, answer.reason, answer.relaxed) == ([], None, False)
    assert answer.total > 0


def test_pages_of_a_relaxed_answer_neither_repeat_nor_skip(many: Catalog) -> None:
    whole = [result.id for result in many.search("wages women mars", limit=60).results]
    pages = [
        result.id for page in range(6) for result in many.search("wages women mars", limit=10, offset=page * 10).results
    ]
    assert pages == whole
    assert len(set(whole)) == len(whole)


# --- why


def test_every_result_says_which_pattern_of_which_term_matched_which_field(catalog: Catalog) -> None:
    answer = catalog.search("labor region", explain=True)
    assert [one.id for one in answer.results] == ["LFS-1"]
    said = answer.results[0].explanation
    assert said is not None
    assert any("tier" in sentence for sentence in said)
    assert any("“labor”" in sentence and "labour" in sentence and "title" in sentence for sentence in said)
    assert any("“region”" in sentence and "text" in sentence for sentence in said)
    assert "explanation" in answer.as_json()["results"][0]


@pytest.mark.parametrize(
    ("question", "id", "where", "says"),
    [
        ("labor", "LFS-2", {}, ["“LFS-2” is in the answer, at position 1"]),
        ("labor force", "LFS-2", {}, ["id LFS-2 is not among the results", "“force” is missing"]),
        ("labor", "LFS-2", {"topic": "Prices"}, ["left out by the filter", "topic", "Prices"]),
        ("***", "LFS-2", {}, ["not among the results", "no letters or digits"]),
        ("", "LFS-2", {}, ["not among the results", "empty"]),
        ("3361", "336111", {}, ["at position 2", "id"]),
        ("cost of living", "CPI-1", {}, ["at position 1", "consumer price"]),
    ],
)
def test_why_a_document_is_or_is_not_among_the_results(
    catalog: Catalog, question: str, id: str, where: dict[str, Any], says: list[str]
) -> None:
    said = " ".join(catalog.explain(question, id, where))
    assert [words for words in says if words not in said] == [], said


def test_why_an_unknown_document_is_not_found(catalog: Catalog) -> None:
    with pytest.raises(DocumentNotFound):
        catalog.explain("labor", "nothing")


# --- fetch


@pytest.mark.parametrize(
    ("id", "nearest"),
    [
        ("lfs-1", "LFS-1"),
        ("LFS 1", "LFS-1"),
        ("LFS-3", "LFS-1"),
        ("33611", "336111"),
        ("cpi1", "CPI-1"),
        (" LFS-2 ", "LFS-2"),
    ],
)
def test_an_unknown_id_names_the_nearest(catalog: Catalog, id: str, nearest: str) -> None:
    with pytest.raises(DocumentNotFound) as caught:
        catalog.fetch(id)
    assert nearest in caught.value.nearest
    assert nearest in str(caught.value)
    assert caught.value.id == id


@pytest.mark.parametrize("id", ["", "\0", "\ud800", "x" * 100_000, "*", "' OR 1=1 --", "🌍", "人口"])
def test_no_id_is_taken_for_another(catalog: Catalog, id: str) -> None:
    with pytest.raises(DocumentNotFound):
        catalog.fetch(id)


def test_a_lone_surrogate_is_no_question_mark() -> None:
    with catalogue([{"id": "?", "title": "Wages"}]) as catalog:
        assert catalog.fetch("?").title == "Wages"
        with pytest.raises(DocumentNotFound):
            catalog.fetch("\ud800")


# --- errors are errors


def test_a_closed_catalogue_says_so(path: Path) -> None:
    catalog = Catalog.open(path)
    answer = catalog.search("labour")
    catalog.close()
    for ask in (
        lambda: catalog.search("labour"),
        lambda: catalog.fetch("LFS-1"),
        lambda: catalog.explain("a", "LFS-1"),
    ):
        with pytest.raises(DatabaseError, match="closed"):
            ask()
    assert answer.results[0].title
    catalog.close()


def changed(path: Path, folder: Path, sql: str) -> Path:
    copy = folder / "changed.db"
    copy.write_bytes(path.read_bytes())
    with closing(sqlite3.connect(copy)) as connection:
        connection.executescript(sql)
    return copy


@pytest.mark.parametrize(
    "sql",
    ["DROP TABLE documents_fts", "DELETE FROM documents_fts_data", "DROP TABLE documents_fts_idx"],
)
def test_a_broken_index_is_an_error_that_names_it(path: Path, tmp_path: Path, sql: str) -> None:
    with Catalog.open(changed(path, tmp_path, sql)) as catalog:
        for question in ("labour", "labor force", "women mars"):
            with pytest.raises(DatabaseError, match="index"):
                catalog.search(question)


@pytest.mark.parametrize("table", ["documents", "words", "vocabulary", "trigrams"])
def test_a_missing_table_is_an_error(path: Path, tmp_path: Path, table: str) -> None:
    with Catalog.open(changed(path, tmp_path, f"DROP TABLE {table}")) as catalog, pytest.raises(DatabaseError):
        catalog.search("labour mars zzz")


@pytest.mark.parametrize("version", ["0", "2", "99", ""])
def test_another_format_version_is_refused(path: Path, tmp_path: Path, version: str) -> None:
    other = changed(path, tmp_path, f"UPDATE catalog SET value = '{version}' WHERE key = 'format_version'")
    with pytest.raises(DatabaseError, match="format version") as caught:
        Catalog.open(other)
    assert "rebuild" in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"SQLite format 3\0", b"no database", b"\0" * 5_000, b"id,title\n1,Wages\n"])
def test_a_file_that_is_no_catalogue_is_refused(tmp_path: Path, content: bytes) -> None:
    other = tmp_path / "other.db"
    other.write_bytes(content)
    with pytest.raises(DatabaseError) as caught:
        Catalog.open(other)
    assert "other.db" in str(caught.value)


def test_another_database_a_folder_and_nothing_are_refused(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "theirs.db")) as connection:
        connection.execute("CREATE TABLE t (a)")
    for name, says in (("theirs.db", "no catalogue"), (".", "folder"), ("nothing.db", "no such file")):
        with pytest.raises(DatabaseError, match=says):
            Catalog.open(tmp_path / name)


@pytest.mark.parametrize("place", range(1, 10))
def test_a_damaged_file_gives_the_right_answer_or_an_error(path: Path, tmp_path: Path, place: int) -> None:
    questions = ["labor", "labour force", "cost of living", "women mars", "3361", "prices"]
    with Catalog.open(path) as catalog:
        right = [[one.id for one in catalog.search(question).results] for question in questions]
    data = bytearray(path.read_bytes())
    start = 4_096 + (len(data) - 8_192) * place // 10
    data[start : start + 4_096] = b"\xa5" * 4_096
    damaged = tmp_path / "damaged.db"
    damaged.write_bytes(data)
    for question, found in zip(questions, right, strict=True):
        try:
            with Catalog.open(damaged) as catalog:
                answer = catalog.search(question)
                assert [one.id for one in answer.results] == found or answer.results
        except CatalogSearchError as problem:
            assert "damaged.db" in str(problem)


def test_a_truncated_file_is_an_error(path: Path, tmp_path: Path) -> None:
    data = path.read_bytes()
    cut = tmp_path / "cut.db"
    cut.write_bytes(data[: len(data) // 2])
    with pytest.raises(DatabaseError), Catalog.open(cut) as catalog:
        for question in ("labour", "women mars", "3361"):
            catalog.search(question)


# --- at once, and always the same


def answers(catalog: Catalog, questions: list[str]) -> list[Any]:
    return [catalog.search(question).as_json() for question in questions]


def test_threads_share_one_catalogue(path: Path) -> None:
    questions = [question for question in hostile(3_000) if len(question) < 60][::7][:200]
    assert len(questions) == 200
    with Catalog.open(path) as catalog:
        right = answers(catalog, questions)
        with ThreadPoolExecutor(8) as pool:
            shares = list(pool.map(lambda _: answers(catalog, questions), range(8)))
    assert all(share == right for share in shares)


PROGRAM = """
import json, sys
from catalog_search import Catalog
with Catalog.open(sys.argv[1]) as catalog:
    for question in json.loads(sys.argv[2]):
        print(json.dumps(catalog.search(question, explain=True, facets=["topic"]).as_json()))
"""


def test_answers_are_the_same_in_every_process(path: Path) -> None:
    questions = [
        "labor",
        "women mars",
        "automobil manufactoring",
        "consumer goods prices",
        "cost of living",
        "regoin womn helth",
    ]
    outputs = {
        subprocess.run(
            [sys.executable, "-c", PROGRAM, str(path), json.dumps(questions)],
            env=os.environ | {"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True,
        ).stdout
        for seed in ("0", "1", "4242")
    }  # fmt: skip
    assert len(outputs) == 1
    assert outputs.pop().count("\n") == len(questions)


def test_the_database_answers_by_its_own_tables(path: Path, tmp_path: Path) -> None:
    sql = "DELETE FROM stopwords WHERE word = 'of'; UPDATE messages SET sentence = 'Leer.' WHERE key = 'empty_query'"
    with Catalog.open(changed(path, tmp_path, sql)) as catalog:
        assert catalog.search("cost of goods").ignored == []
        assert catalog.search("").notes == ["Leer."]


def test_a_file_is_opened_without_writing_beside_it(path: Path) -> None:
    before = path.read_bytes()
    with Catalog.open(path) as catalog:
        answers(catalog, ["labour", "women mars"])
        assert sorted(one.name for one in path.parent.iterdir()) == ["small.db", "vocabulary.yaml"]
    assert path.read_bytes() == before


def test_a_catalogue_can_be_opened_from_its_bytes(path: Path) -> None:
    with Catalog.open(path.read_bytes()) as catalog:
        assert ids(catalog, "labor force") == ["LFS-1"]


def test_what_the_catalogue_is(catalog: Catalog) -> None:
    told = catalog.describe()
    assert (told["name"], told["documents"], told["facets"]) == ("tested", len(ROWS), ["topic", "year"])
    assert "Unidecode" in told["licence_notes"] and "GPL" in told["licence_notes"]
    assert told["content_hash"] and told["format_version"]


def test_a_document_of_the_relaxed_answer_is_said_to_be_there() -> None:
    rows = [{"id": "1", "title": "Labour force"}, {"id": "2", "title": "Wages"}]
    with catalogue(rows) as catalog:
        assert catalog.search("labour zebra").relaxed
        said = " ".join(catalog.explain("labour zebra", "1"))
        assert "position 1" in said and "zebra" in said and "not among" not in said
        assert "not among" in " ".join(catalog.explain("labour zebra", "2"))


@pytest.mark.parametrize("arguments", [{"offset": 10**30}, {"question": None}, {"question": 5}])
def test_an_argument_of_another_kind_is_a_query_error(arguments: dict[str, Any]) -> None:
    with catalogue([{"id": "1", "title": "Wages"}]) as catalog, pytest.raises(QueryError):
        catalog.search(**{"question": "wages", **arguments})


def test_notes_name_terms_as_typed_and_are_never_as_long_as_the_question() -> None:
    with catalogue([{"id": "1", "title": "Wages"}]) as catalog:
        question = "wages " + " ".join(f"Zébra{number}" for number in range(30)) + " " + "x" * 300
        notes = catalog.search(question).notes
        assert "“Zébra1”" in " ".join(notes) and all(len(note) < 700 for note in notes)


def test_half_a_code_point_is_a_sign_in_json() -> None:
    with catalogue([{"id": "1", "title": "Wages"}]) as catalog:
        found = json.loads(json.dumps(catalog.search("wages \ud800").as_json()))
        assert found["query"] == "wages \ufffd" and [one["id"] for one in found["results"]] == ["1"]


# What one question may ask for -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("limited")
    rows = [{"id": f"{n}", "title": f"Wages of trade {n}", "text": f"by sex and age, table {n}"} for n in range(3_000)]
    built(rows, to=folder / "wide.db", folder=folder, vocabulary=[{"asked": "pay", "source": ["wages", "age"]}])
    return folder / "wide.db"


def limited(path: Path, **limits: float) -> Catalog:
    return Catalog(Database(path, Limits(**limits)))  # type: ignore[arg-type]


def test_a_question_of_more_terms_than_allowed_is_refused_with_the_figure(wide: Path) -> None:
    with limited(wide, terms=3) as catalog:
        assert catalog.search("wages of trade 7").total == 1
        with pytest.raises(BoundReached, match="the question has 4 terms; 3 may be asked for at once"):
            catalog.search("wages trade sex age")


def test_a_question_of_more_patterns_than_allowed_is_refused_with_the_figure(wide: Path) -> None:
    with limited(wide, patterns=2) as catalog:
        assert catalog.search("trade").total
        with pytest.raises(BoundReached, match=r"searched by 3 words and phrases.* 2 may be asked for at once"):
            catalog.search("pay")


def test_a_question_that_takes_too_long_is_stopped_and_the_next_is_answered(wide: Path) -> None:
    with limited(wide, seconds=1e-6) as catalog:
        catalog.prepare()
        with pytest.raises(BoundReached, match=r"takes longer than 1e-06 s in the catalogue's database"):
            catalog.search("wages age table sex", count=True)
        catalog._database.limits = catalog._database.limits._replace(seconds=60.0)
        catalog.prepare()
        assert catalog.search("wages age table sex", count=True).total == 3_000


@pytest.mark.parametrize(
    "statement",
    [
        "ATTACH ':memory:' AS other",
        "CREATE TEMP TABLE t (x)",
        "UPDATE documents SET title = 'x'",
        "DELETE FROM documents",
        "PRAGMA query_only = 0",
        "PRAGMA writable_schema = 1",
        "SELECT load_extension('x')",
        "VACUUM INTO 'never.db'",
        "BEGIN",
    ],
)
def test_a_connection_does_nothing_but_read(wide: Path, statement: str) -> None:
    with limited(wide) as catalog, pytest.raises(sqlite3.DatabaseError, match=r"not authorized|authorization denied"):
        catalog._database.connection().execute(statement)
