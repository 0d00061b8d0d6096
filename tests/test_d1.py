"""The dialect d1: inside every limit of Cloudflare D1, the strict answer of search, and few rows read."""

from __future__ import annotations

import json
import os
import re
import sqlite3
import statistics
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from d1local import D1
from d1strict import SUPPORTED, D1Strict
from hypothesis import given, settings
from hypothesis import strategies as st
from support import CASES, built
from test_ask import HOSTILE, hostile_path, storable  # noqa: F401  (fixtures)
from test_equality import PAIRS, QUESTIONS, QUICK, ROWS

from catalog_search import Catalog, Pair, Vocabulary, build, compile_query, load_language, load_settings
from catalog_search.expansion import Expansion
from catalog_search.relevance import read_judged

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
ENGLISH = load_language("en")
WORDS = [f"word{place}" for place in range(64)]
MANY = [{"asked": word, "source": [f"{name}{word}" for name in ("big", "small", "third")]} for word in WORDS]
"""A vocabulary by which 64 words have four patterns each."""

LIMITED = pytest.mark.skipif(not SUPPORTED, reason="this sqlite3 cannot set limits")
SCANNED = "SELECT id FROM documents WHERE {} ORDER BY rowid"


def many_rows() -> list[dict[str, str]]:
    """Return documents that meet 64 terms by their first, second, third, fourth patterns, or lack one of them."""
    rows = [{"id": str(n), "title": " ".join(f"{name}{word}s" for word in WORDS)} for n, name in enumerate(
        ("", "big", "small", "third")
    )]  # fmt: skip
    for place in (0, 31, 63):
        kept = [f"third{word}" for n, word in enumerate(WORDS) if n != place]
        rows.append({"id": f"lacks {place}", "title": " ".join(kept)})
    rows.append({"id": "text", "title": "Wages", "text": " ".join(f"third{word}" for word in WORDS)})
    return rows


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("many")
    rows = [{"text": "", **row} for row in many_rows()]
    return Path(built(rows, folder=folder, vocabulary=MANY, to=folder / "many.db").path)


@pytest.fixture
def d1() -> Iterator[D1]:
    with closing(D1()) as started:
        yield started


def expanded(words: int, patterns: int) -> tuple[Expansion, ...]:
    pairs = [Pair(word, tuple(f"other {word} {n}" for n in range(patterns - 1)), False, 1) for word in WORDS]
    return tuple(Vocabulary(pairs, ENGLISH, "").expand(" ".join(WORDS[:words])))


# --- the two forms


def test_a_small_question_keeps_the_form_of_glob_and_a_large_one_has_one_parameter() -> None:
    """Case 6-02, and the largest question that there is."""
    assert compile_query(expanded(2, 4), dialect="d1") == compile_query(expanded(2, 4), dialect="glob")
    for words in (30, 64):
        large = compile_query(expanded(words, 4), dialect="d1")
        assert "GLOB" not in large.sql and len(large.parameters) == 1
        assert [len(term) for term in json.loads(large.parameters[0])] == [4] * words
        assert len(large.sql) < 1_000


@LIMITED
@pytest.mark.parametrize("words", range(1, 65, 7))
@pytest.mark.parametrize("patterns", [1, 2, 4])
@pytest.mark.parametrize("normal_form", [True, False])
def test_every_number_of_words_is_within_the_limits(many: Path, words: int, patterns: int, normal_form: bool) -> None:
    compiled = compile_query(expanded(words, patterns), dialect="d1", normal_form=normal_form)
    assert len(compiled.parameters) <= 100
    with closing(D1Strict(many)) as strict:
        assert strict.execute(SCANNED.format(compiled.sql), compiled.parameters) == [{"id": "0"}]


@LIMITED
def test_a_question_of_64_words_with_four_patterns_each_drops_none_of_them(many: Path) -> None:
    with Catalog.open(many) as catalog, closing(D1Strict(many)) as strict:
        question = " ".join(WORDS)
        right = [result.id for result in catalog.search(question, relax=False).results]
        assert sorted(right) == ["0", "1", "2", "3", "text"]
        compiled = catalog.statement(question, "d1")
        assert "json_each" in compiled.sql
        assert [row["id"] for row in strict.execute(compiled.sql, compiled.parameters)] == right


def test_d1_takes_a_question_of_64_words_with_four_patterns_each(d1: D1, many: Path) -> None:
    d1.load(many)
    with Catalog.open(many) as catalog:
        question = " ".join(WORDS)
        right = [result.id for result in catalog.search(question, relax=False).results]
        statement = catalog.statement(question, "d1")
        assert [row[1] for row in d1.rows(statement.sql, *statement.parameters)] == right
        condition = compile_query(catalog._ask(question)[0].expansions, dialect="d1")
        found = d1.rows(SCANNED.format(condition.sql), *condition.parameters)
        assert sorted(id for (id,) in found) == sorted(right)


@settings(QUICK, max_examples=30)
@given(ROWS, QUESTIONS)
def test_the_form_with_one_parameter_gives_the_strict_answer_too(
    tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, str]], questions: list[str]
) -> None:
    report = built(rows, folder=tmp_path_factory.mktemp("any"), vocabulary=PAIRS)
    with pytest.MonkeyPatch.context() as patched, report.catalog as catalog:
        patched.setattr("catalog_search.query._fits_d1", lambda compiled: False)
        asked = [*questions, *(row["title"] for row in rows[:4]), *(row["id"] for row in rows[:4])]
        for question in asked:
            right = [result.id for result in catalog.search(question, limit=1_000, relax=False).results]
            found = [id for (id,) in catalog.ids_by_statement(question, "d1", 1_000)]
            assert found == right, question
            expansions = catalog._ask(question)[0].expansions
            both = [compile_query(expansions, dialect=dialect) for dialect in ("glob", "d1")]
            by_glob, by_json = (
                catalog._database.connection().execute(SCANNED.format(one.sql), one.parameters).fetchall()
                for one in both
            )
            assert by_glob == by_json, question


@pytest.mark.parametrize("column", ["key", "value", "id", "path", "atom", '"type"', "t.value", "term", "c0"])
def test_no_name_of_a_column_is_taken_for_one_of_json(column: str) -> None:
    """json_each has columns of its own, and the form with one parameter stands inside the query of another table."""
    name = column.rpartition(".")[2]
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(f"CREATE TABLE t ({name} TEXT)")
        connection.executemany("INSERT INTO t VALUES (?)", [(" ".join(WORDS),), ("wages",), (None,)])
        compiled = compile_query(expanded(64, 4), [column], "d1")
        found = connection.execute(f"SELECT count(*) FROM t WHERE {compiled.sql}", compiled.parameters).fetchone()
    assert found == (1,)


LOOSE = st.lists(
    st.sampled_from(["labour", "force", "consumer", "prices", "3361", "336111", "a", "ab", "r", "d", "x" * 35])
)
ASKED = st.lists(
    st.sampled_from(["labor", "force", "consumer price", "cost of living", "3361", "a", "r&d", "x" * 45, "x" * 35])
)
PRICES = [Pair("labor", ("labour",), False, 1), Pair("cost of living", ("consumer price", "force labour"), False, 2)]


@settings(QUICK, max_examples=60)
@given(st.lists(LOOSE, max_size=6), ASKED, st.sampled_from([" ", "-", ", "]))
def test_columns_that_are_only_lower_case_take_a_large_question_too(
    texts: list[list[str]], asked: list[str], between: str
) -> None:
    expansions = Vocabulary(PRICES, ENGLISH, "").expand(" ".join(asked))
    with closing(sqlite3.connect(":memory:")) as connection, pytest.MonkeyPatch.context() as patched:
        connection.execute("CREATE TABLE t (id TEXT, value TEXT)")
        rows = [(between.join(text[:2]), between.join(text[2:]) or None) for text in texts]
        connection.executemany("INSERT INTO t VALUES (?, ?)", rows)
        patched.setattr("catalog_search.query._fits_d1", lambda compiled: False)
        by_glob, by_json = (
            compile_query(expansions, ["id", "value"], dialect, normal_form=False) for dialect in ("glob", "d1")
        )
        assert ("json_each" in by_json.sql) == bool(expansions)
        found = [
            connection.execute(f"SELECT rowid FROM t WHERE {one.sql}", one.parameters).fetchall()
            for one in (by_glob, by_json)
        ]
    assert found[0] == found[1]


@LIMITED
@pytest.mark.parametrize("length", [38, 39, 40, 60])
def test_a_long_word_exceeds_no_pattern(tmp_path: Path, length: int) -> None:
    """Case 6-04."""
    word = "x" * length
    report = built([{"id": "1", "title": f"a {word}yz"}, {"id": "2", "title": f"y{word}"}], to=tmp_path / "long.db")
    with report.catalog as catalog, closing(D1Strict(report.path)) as strict:
        compiled = catalog.statement(word, "d1")
        assert [row["id"] for row in strict.execute(compiled.sql, compiled.parameters)] == ["1"]
        patterns = [one for one in compiled.parameters if "*" in one and not one.startswith('"')]  # not that of FTS5
        assert len(patterns) == (0 if length > 39 else 3)
        assert all(len(one) <= 50 for one in patterns)


# --- over a hostile catalogue, here under D1's rules and in D1; over real ones see test_everywhere.py


def judge(catalog: Catalog, run: Any, questions: Iterable[str]) -> None:
    for question in questions:
        compiled = catalog.statement(question, "d1")
        right = [result.id for result in catalog.search(question, limit=1_000, relax=False).results]
        parameters = [storable(one) for one in compiled.parameters]
        assert [row["id"] for row in run(compiled.sql, parameters)][:1_000] == right, question


@LIMITED
def test_hostile_questions_have_the_strict_answer_under_the_rules_of_d1(hostile_path: str) -> None:  # noqa: F811
    with Catalog.open(hostile_path) as catalog, closing(D1Strict(hostile_path)) as strict:
        judge(catalog, strict.execute, HOSTILE)


def test_hostile_questions_have_the_strict_answer_in_d1(d1: D1, hostile_path: str) -> None:  # noqa: F811
    d1.load(hostile_path)
    with Catalog.open(hostile_path) as catalog:
        judge(catalog, lambda sql, values: d1.send(sql=sql, params=values)["results"], HOSTILE)


# --- what is said of it


def rows_read(d1: D1, path: Path, questions: Sequence[str]) -> list[list[int]]:
    """Return the rows that each question reads: by a scan, by its compiled statement, by the one for all questions."""
    read: list[list[int]] = [[], [], []]
    with Catalog.open(path) as catalog:
        for question in map(storable, questions):
            condition = compile_query(catalog._ask(question)[0].expansions, dialect="d1")
            statements = [
                (SCANNED.format(condition.sql), condition.parameters),
                catalog.statement(question, "d1"),
                (catalog.ask_statement(), (question,)),
            ]
            for found, (sql, parameters) in zip(read, statements, strict=True):
                found.append(d1.send(sql=sql, params=list(parameters))["meta"]["rows_read"])
    return read


def test_the_readme_says_how_many_rows_questions_read(tmp_path: Path) -> None:
    """With CATALOG_SEARCH_UPDATE=1 the table is written anew."""
    figures_of = ["median", "9 of 10", "most"]
    head = ["catalogue", "documents", "questions", "scan with GLOB"]
    head += [f"{one}, {what}" for one in ("compiled", "`ask.sql`") for what in figures_of]
    lines = [head, ["---", *["---:"] * (len(head) - 1)]]
    for name in ("oecd", "icd10cm", "countries-pt"):
        path = tmp_path / f"{name}.db"
        report = build(load_settings(ROOT / "data" / name / "catalog.yaml"), path)
        questions = [one.query for one in read_judged(str(ROOT / "data" / name / "judged.jsonl"))]
        with closing(D1()) as d1:
            d1.load(path)
            scanned, *others = rows_read(d1, path, questions)
        figures = [round(statistics.median(scanned))]
        for read in others:
            nine_of_ten = sorted(read)[len(read) * 9 // 10]
            figures += [round(statistics.median(read)), nine_of_ten, max(read)]
        lines.append([name, *(f"{one:,}" for one in (report.documents, len(questions), *figures))])
    made = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    readme = README.read_text("utf-8")
    pattern = re.compile(r"(<!-- rows read: made by tests/test_d1.py -->\n)(.*?)(\n<!-- end -->)", re.S)
    (found,) = pattern.findall(readme)
    if os.environ.get("CATALOG_SEARCH_UPDATE"):
        README.write_text(pattern.sub(lambda match: f"{match[1]}{made}{match[3]}", readme), "utf-8")
    else:
        assert found[1] == made


# --- none is left out


def test_every_collected_case_of_the_group_is_here() -> None:
    path = CASES.parents[2] / "shared" / "cases" / "cases.jsonl"
    if not path.is_file():
        pytest.skip("the collection of cases (../shared/cases, beside the repository) is not there")
    wanted = {one["id"] for one in map(json.loads, path.read_text("utf-8").splitlines()) if "D1" in one["group"]}
    tests = "".join((CASES.parent / name).read_text("utf-8") for name in ("test_d1.py", "test_export.py"))
    assert wanted == set(re.findall(r"Case (6-\d+)", tests))
