"""Every way to answer gives the same strict answer, ids and order: search, pages, GLOB, FTS5, D1's, a plain loop."""

from __future__ import annotations

import random
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import oracle
import pytest
from hostile import PIECES, hostile
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from support import asked_of, assigned_characters, built, catalogue, ids

from catalog_search import Catalog, Vocabulary
from catalog_search.builder import BuildReport
from catalog_search.ranking import BROAD, Planner

PAIRS: list[dict[str, Any]] = [
    {"asked": "labor", "source": ["labour"]},
    {"asked": "cost of living", "source": ["consumer price", "living standard"]},
    {"asked": "cpi", "source": "consumer price index", "both": True},
    {"asked": "pay", "source": ["wages", "earnings", "salary"]},
    {"asked": "vat", "source": "value added tax", "both": True},
    {"asked": "value of goods", "source": "exports"},
    {"asked": "teen", "source": "youth"},
    {"asked": "r&d", "source": "research"},
    {"asked": "thé", "source": "tea"},
    {"asked": "population", "source": "人口"},
    {"asked": "3361", "source": "motor"},
]


Place = tuple[tuple[int, int, int], str]
"""(tier, class, rowid) and id of a document in an answer."""


def documents_of(report: BuildReport) -> list[oracle.Document]:
    """Read a catalogue's normal forms, past the package."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.deserialize(report.image or Path(report.path).read_bytes())
        return oracle.documents(connection)


def expected(catalog: Catalog, rows: list[oracle.Document], question: str) -> list[Place]:
    asked = asked_of(catalog, question)
    return oracle.answer(rows, asked.raw.strip(), asked.text, oracle.terms(asked.expansions))


def paged(catalog: Catalog, question: str, size: int, most: int) -> list[tuple[int | None, str]]:
    found: list[tuple[int | None, str]] = []
    while len(found) < most:
        page = catalog.search(question, limit=size, offset=len(found), relax=False)
        found += [(result.tier, result.id) for result in page.results]
        if len(page.results) < size:
            break
    return found


def check(catalog: Catalog, rows: list[oracle.Document], question: str, *, pages: int = 12) -> list[Place]:
    """Compare every way to answer a question; return the right answer."""
    right = expected(catalog, rows, question)
    right_ids = [id for _, id in right]
    answer = catalog.search(question, limit=1_000, relax=False)
    assert [result.id for result in answer.results] == right_ids[:1_000], question
    assert [result.tier for result in answer.results] == [place[0] for place, _ in right[:1_000]], question
    if answer.total_relation == "eq":
        assert answer.total == len(right), question
    else:
        assert len(answer.results) <= answer.total <= len(right), question
    for dialect in ("glob", "fts", "d1"):
        assert [id for (id,) in catalog.ids_by_statement(question, dialect, 10_000)] == right_ids, (dialect, question)
    small = [(place[0], id) for place, id in right[:pages]]
    assert paged(catalog, question, 3, pages)[:pages] == small, question
    assert catalog.search(question, limit=1, relax=False, count=True).total == len(right), question
    return right


# --- generated small catalogues

WORDS = st.sampled_from(
    "labour labor force wages wage earnings consumer price prices index cost of the living standard cpi us U.S. R&D "
    "rd c++ C# e-mail email women's women covid-19 covid 19 2024 3361 336111 33 a b thé tea the 人口 ガス Łódź "
    "value added tax vat youth exports series who İstanbul naïve 1 x".split()
)
TEXTS = st.lists(WORDS, max_size=6).map(" ".join)
TITLES = st.lists(WORDS, min_size=1, max_size=5).map(" ".join)
LETTERS = st.text(st.sampled_from("abAB12 -.'&é人ガß"), max_size=6)
ANY = st.text(st.sampled_from(assigned_characters()), max_size=8)
IDS = st.one_of(st.sampled_from("3361 336111 A-1 a.1 covid-19 007 1E10 labour wages 人".split()), LETTERS, ANY)


def filled(text: str) -> bool:
    return bool(text.strip())


ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "id": IDS.filter(filled),
            "title": st.one_of(TITLES, LETTERS, ANY).filter(filled),
            "keywords": st.one_of(TEXTS, st.lists(TEXTS, max_size=3).map("|".join)),
            "text": st.one_of(TEXTS, ANY),
            "views": st.sampled_from(["", "1", "2", "10", "-3", "1e6"]),
        }
    ),
    min_size=1,
    max_size=25,
    unique_by=lambda row: row["id"],
)
QUESTIONS = st.lists(
    st.one_of(TITLES, TEXTS, LETTERS, ANY, st.sampled_from([pair["asked"] for pair in PAIRS])), min_size=1, max_size=6
)


# Each example builds a catalogue, so examples are few and shrinking, which would take minutes, is left out.
QUICK = settings(
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@settings(QUICK, max_examples=25)
@given(ROWS, QUESTIONS, st.lists(st.sampled_from(PAIRS), unique_by=str))
def test_every_way_gives_the_same_answer_over_any_catalogue(
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[dict[str, str]],
    questions: list[str],
    pairs: list[dict[str, Any]],
) -> None:
    folder = tmp_path_factory.mktemp("any")
    report = built(rows, folder=folder, vocabulary=pairs, documents={"priority": "-views"})
    with report.catalog as catalog:
        read = documents_of(report)
        for question in [*questions, *(row["title"] for row in rows[:4]), *(row["id"] for row in rows[:4])]:
            check(catalog, read, question)


@settings(QUICK, max_examples=25)
@given(ROWS)
def test_every_document_is_first_or_tied_by_its_own_title_and_id(rows: list[dict[str, str]]) -> None:
    with catalogue(rows) as catalog:
        for row in rows:
            by_id = catalog.search(row["id"], limit=1_000, relax=False).results
            # A question ends at its first NUL, and blanks around it are not part of it.
            if row["id"] == row["id"].strip() and "\0" not in row["id"]:
                assert (row["id"], 0) in [(result.id, result.tier) for result in by_id]
            found = {
                result.id: result.tier for result in catalog.search(row["title"], limit=1_000, relax=False).results
            }
            if asked_of(catalog, row["title"]).expansions and "\0" not in row["title"]:
                assert found[row["id"]] in (0, 1)


# --- hostile questions

HOSTILE_ROWS = [
    {"id": f"p{number}", "title": piece, "keywords": PIECES[(number * 7) % len(PIECES)], "text": PIECES[number // 2]}
    for number, piece in enumerate(PIECES)
    if piece.strip() and not any("\ud800" <= one <= "\udfff" for one in piece + PIECES[(number * 7) % len(PIECES)])
    and not any("\ud800" <= one <= "\udfff" for one in PIECES[number // 2])
]  # fmt: skip


@pytest.fixture(scope="module")
def hostile_report(tmp_path_factory: pytest.TempPathFactory) -> BuildReport:
    folder = tmp_path_factory.mktemp("hostile")
    return built(HOSTILE_ROWS, folder=folder, vocabulary=PAIRS)


def test_the_hostile_questions_are_5000_and_always_the_same() -> None:
    questions = list(hostile())
    assert len(questions) == 5_000
    assert questions == list(hostile())
    assert len(set(questions)) > 4_500
    assert max(map(len, questions)) > 10_000
    assert sum("\0" in one for one in questions) > 50
    assert sum(any("\ud800" <= c <= "\udfff" for c in one) for one in questions) > 50


@pytest.mark.parametrize("part", range(10))
def test_hostile_questions_raise_nothing_and_find_what_a_plain_loop_finds(
    hostile_report: BuildReport, part: int
) -> None:
    rows = documents_of(hostile_report)
    vocabulary = Vocabulary.load(Path(str(hostile_report.vocabulary[0]["file"])))
    with hostile_report.catalog as catalog:
        for number, question in enumerate(hostile()):
            if number % 10 != part:
                continue
            right = [id for _, id in expected(catalog, rows, question)]
            whole = vocabulary.ask(question)
            if whole != asked_of(catalog, question):
                # A letter that no document has is still asked for: nothing is found that its sound would not find.
                terms = oracle.terms(whole.expansions)
                found = {id for _, id in oracle.answer(rows, whole.raw.strip(), whole.text, terms)}
                assert set(right) <= found, repr(question)
            answer = catalog.search(question, limit=1_000)
            if not answer.relaxed:
                assert [result.id for result in answer.results] == right, repr(question)
            else:
                assert right == [], repr(question)
            assert answer.results or answer.reason, repr(question)
            for dialect in ("glob", "fts", "d1"):
                found = [id for (id,) in catalog.ids_by_statement(question, dialect, 10_000)]
                assert found == right, (dialect, question)


# --- a broad catalogue, so that the walk is taken


def broad_rows(number: int) -> Iterator[dict[str, str]]:
    """Yield rows in which a few words are in most, some in many, and others in few."""
    draw = random.Random(7).random
    common = "labour force wages consumer price index women".split()
    middling = (
        "value added tax youth men living cost standard earnings monthly annual regions 2024 3361 e-mail R&D".split()
    )
    rare = "wheat barley copper tea zinc exports salary covid-19 labourers womens prices indexes".split()

    def some(words: list[str], most: int) -> list[str]:
        return [words[int(draw() * len(words))] for _ in range(int(draw() * (most + 1)))]

    for place in range(number):
        title = some(common, 3) + some(middling, 2) + (some(rare, 1) if draw() < 0.2 else [])
        title = title or ["wages"]
        yield {
            "id": f"{33 if place % 3 else 'T'}{place:05}",
            "title": " ".join(title),
            "keywords": "|".join(some(common, 1) + some(middling, 2)),
            "text": " ".join(some(common, 3) + some(rare, 1)),
            "area": ("North", "South", "Île", "")[int(draw() * 4)],
            "views": str(int(draw() * 5)),
        }


@pytest.fixture(scope="module")
def broad(tmp_path_factory: pytest.TempPathFactory) -> BuildReport:
    folder = tmp_path_factory.mktemp("broad")
    rows = list(broad_rows(3_500))
    return built(rows, folder=folder, vocabulary=PAIRS, documents={"priority": "-views", "facets": ["area"]})


BROAD_QUESTIONS = [
    "labour", "labor", "force", "wages", "wage", "women", "women's", "price", "prices", "consumer price",
    "consumer price index",
    "cpi", "index", "indexes", "33", "3361", "T00003", "3300001", "t00000 wages", "cost of living", "cost",
    "living cost",
    "labour force", "labor force", "force labour", "labor force women", "the wages of women",
    "wages women force labour",
    "wheat", "wheat wages", "wages of wheat", "copper labour force consumer", "vat", "value added tax",
    "value added", "vat women",
    "tax value added", "teen wages", "youth wages", "pay", "pay of women", "pay tax", "e-mail", "email",
    "email wages", "r&d",
    "rd", "research", "r&d wages", "2024", "2024 wages", "2024 labour women", "standard of living",
    "cost of living index",
    "lab", "w", "wa", "wag", "c", "co", "con pri", "earn", "monthly", "mon wages", "annual regions", "men",
    "men women", "m",
    "covid 19", "covid-19", "covid", "womens wages", "womens", "labourers", "labour labourers", "salary",
    "pay salary earnings",
    "women men youth", "who is in the labour force", "index index index", "index price consumer force", "zebra",
    "value of goods",
    "value of goods wages", "3361 wages", "motor", "tea", "thé", "the tea",
    "labour force wages consumer price index women",
]  # fmt: skip


def test_the_broad_catalogue_has_words_in_more_documents_than_the_bound(broad: BuildReport) -> None:
    counts = Counter(
        word for one in documents_of(broad) for word in {word for words in one.fields.values() for word in words}
    )
    assert sum(count > BROAD for count in counts.values()) >= 6
    assert sum(count < 300 for count in counts.values()) >= 6


def test_every_way_gives_the_same_answer_by_both_ways_of_the_planner(
    broad: BuildReport, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: Counter[str] = Counter()
    walk, if_few = Planner._walk, Planner._if_few

    def counted_walk(self: Planner, *arguments: Any, **options: Any) -> Any:
        taken["walk"] += 1
        return walk(self, *arguments, **options)

    def counted_all(self: Planner, *arguments: Any, **options: Any) -> Any:
        found = if_few(self, *arguments, **options)
        taken["many" if found is None else "few" if isinstance(found, list) else "numbers"] += 1
        return found

    monkeypatch.setattr(Planner, "_walk", counted_walk)
    monkeypatch.setattr(Planner, "_if_few", counted_all)
    rows = documents_of(broad)
    kinds: Counter[tuple[int, int]] = Counter()
    with broad.catalog as catalog:
        for question in BROAD_QUESTIONS:
            right = check(catalog, rows, question, pages=15)
            kinds.update({(place[0], place[1]) for place, _ in right})
    assert taken["walk"] > 50
    assert taken["few"] > 50
    assert taken["many"] > 20
    assert taken["numbers"] > 5
    assert {tier for tier, _ in kinds} == {0, 1, 2, 3, 4, 5, 6}
    assert {kind for tier, kind in kinds if tier in (3, 4, 5, 6)} == {0, 1, 2}


@pytest.mark.parametrize(
    ("asked", "wanted"),
    [("north", {"North"}), (["South", "ILE"], {"South", "Île"}), ("nowhere", set()), ("", set()), ([], set())],
)
def test_a_filter_leaves_the_order_of_what_it_lets_through(
    broad: BuildReport, asked: str | list[str], wanted: set[str]
) -> None:
    where = {"area": asked}
    areas = {row["id"]: row["area"] for row in broad_rows(3_500)}
    rows = documents_of(broad)
    with broad.catalog as catalog:
        for question in BROAD_QUESTIONS[::3]:
            right = [id for _, id in expected(catalog, rows, question) if areas[id] in wanted]
            assert ids(catalog, question, where=where) == right[:1_000], question
            first = catalog.search(question, limit=7, where=where, relax=False, facets=["area"], count=True)
            assert [result.id for result in first.results] == right[:7], question
            assert first.total == len(right), question
            second = catalog.search(question, limit=7, offset=7, where=where, relax=False)
            assert [result.id for result in second.results] == right[7:14], question
            assert first.facets.get("area", {}) == dict(Counter(areas[id] for id in right)), question


# --- one table, everywhere


def faults(catalog: Catalog, vocabulary: Vocabulary, titles: list[str]) -> list[str]:
    """Return the titles that the catalogue's own tables read otherwise than the package's."""
    return [title for title in titles if asked_of(catalog, title) != vocabulary.ask(title)]


TITLES_OF_ALL = [
    "Impôt sur le revenu",
    "Łódź",
    "İstanbul nüfusu",
    "Население России",
    "2024年GDP統計",
    "ガス料金",
    "Women’s “wages”",
]


def test_the_database_expands_as_the_vocabulary_does(tmp_path: Path) -> None:
    rows = [{"id": str(number), "title": title} for number, title in enumerate(TITLES_OF_ALL)]
    questions = list(hostile(1_500))
    with built(rows, folder=tmp_path, vocabulary=PAIRS).catalog as catalog:
        vocabulary = Vocabulary.load(tmp_path / "vocabulary.yaml")
        assert faults(catalog, vocabulary, TITLES_OF_ALL) == []
        known = [question for question in questions if not catalog._ask(question)[1]]
        assert len(known) > 1_000
        assert len(known) < len(questions)
        assert faults(catalog, vocabulary, known) == []


@pytest.mark.parametrize("key", ["ô", "Ł", "İ", "Н", "年", "ガ", "’"])
def test_one_folding_row_less_is_noticed(tmp_path: Path, key: str) -> None:
    rows = [{"id": str(number), "title": title} for number, title in enumerate(TITLES_OF_ALL)]
    path = tmp_path / "mutated.db"
    built(rows, to=path)
    with closing(sqlite3.connect(path)) as connection, connection:
        assert connection.execute("DELETE FROM folding WHERE key = ?", (key,)).rowcount == 1
    vocabulary = Vocabulary.empty(Vocabulary.load(_empty(tmp_path)).language)
    with Catalog.open(path) as catalog:
        assert faults(catalog, vocabulary, TITLES_OF_ALL) != []


def _empty(folder: Path) -> Path:
    path = folder / "empty.yaml"
    path.write_text("language: en\npairs: []\n", "utf-8")
    return path
