"""The search as one statement gives what Catalog.search gives: here, under D1's rules, and in workerd's own D1."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
import subprocess
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from d1local import D1
from d1strict import SUPPORTED, D1Strict
from hypothesis import given, settings
from support import CASES, asked_of, assigned_characters, built, cases
from test_equality import HOSTILE_ROWS, PAIRS, QUESTIONS, QUICK, ROWS

from catalog_search import Catalog, build, load_language, load_settings
from catalog_search.packs import known_languages
from catalog_search.relevance import read_judged
from catalog_search.statements import statement
from catalog_search.text import COMMON, LETTERS, full_folding

ROOT = Path(__file__).parent.parent
HOSTILE = [json.loads(line) for line in (CASES / "hostile.jsonl").read_text("utf-8").splitlines()]
SQL = statement("ask")
ROWS_READ = 600
"""Rows that a question may read in D1, in the median: it bills them."""

Row = tuple[str, str, str, int, str]
Run = Callable[[str], Sequence[Row]]


def storable(question: str) -> str:
    """Return a question as text that SQLite takes: it has no lone surrogates."""
    return re.sub("[\ud800-\udfff]", " ", question)


def runs_on(connection: sqlite3.Connection) -> Run:
    return lambda question: connection.execute(SQL, (storable(question),)).fetchall()


def check_under_d1(path: str | Path, run: Run, questions: Iterable[str]) -> None:
    """Compare what a connection under D1's rules gives with what this one gives."""
    if SUPPORTED:
        with closing(D1Strict(path)) as strict:
            for question in questions:
                assert [tuple(row.values()) for row in strict.execute(SQL, (storable(question),))] == run(question)


def check(catalog: Catalog, run: Run, question: str, *, flag: bool = True) -> None:
    """Compare the statement with the search: ids and order of a strict answer, else whether there is a relaxed one."""
    answer = catalog.search(question, limit=10)
    rows = run(question)
    relaxed = {row[3] for row in rows}
    strict = [] if answer.relaxed else [result.id for result in answer.results]
    assert [row[0] for row in rows if not row[3]] == strict, question
    assert len(relaxed) < 2, question
    if flag:
        assert bool(rows and rows[0][3]) == answer.relaxed, question
    for place, result in enumerate(answer.results if strict else []):
        assert rows[place][1:3] == (result.title, result.url)
    if rows:
        said = {(one["asked"], one["source"]) for one in json.loads(rows[0][4])}
        expansions = asked_of(catalog, question).expansions
        assert said == {(one.term, source) for one in expansions for source in one.sources}, question


# --- what it is


def test_it_has_one_parameter_and_the_named_one_differs_in_nothing_else() -> None:
    with built([{"id": "1", "title": "Wages"}]).catalog as catalog:
        numbered, named = catalog.ask_statement(), catalog.ask_statement(named=True)
    assert numbered.count("?") - numbered.count("* ?'") == 1
    assert re.findall(r":\w+", re.sub(r"'[^']*'", "", named)) == [":question"]
    assert named.replace(":question", "?1") == numbered


def test_a_stage_takes_the_one_before_it_once() -> None:
    """SQLite copies a WITH table at each mention: two mentions a stage would double the statement at every stage."""
    bare = re.sub(r"--[^\n]*", "", SQL)
    for name in re.findall(r"^ *(?:WITH RECURSIVE )?(\w+)\([\w, ]+\) AS", bare, flags=re.MULTILINE):
        mentions = len(re.findall(rf"\b(?:FROM|JOIN) {name}\b", bare))
        recursive = len(re.findall(rf"\b{name}\([\w, ]+\) AS \(", bare))
        assert mentions <= 1 + recursive, name


def test_it_is_small_enough_for_d1() -> None:
    assert len(SQL.encode()) < 50_000
    with built([{"id": "1", "title": "Wages"}]).catalog as catalog, catalog._database.errors():
        connection = catalog._database.connection()
        assert len(connection.execute(f"EXPLAIN {SQL}", ("a",)).fetchall()) < 10_000


def test_its_ranges_are_those_of_python_and_cover_every_letter_but_no_emoji() -> None:
    ranges = re.findall(r"BETWEEN (0x\w+) AND (0x\w+)", SQL)
    assert [range(int(first, 16), int(last, 16) + 1) for first, last in ranges] == list(LETTERS)
    covered = {code for codes in (*COMMON, *LETTERS) for code in codes}
    assert not [hex(ord(one)) for one in assigned_characters() if one.isalnum() and ord(one) not in covered]
    assert not [codes for codes in LETTERS for common in COMMON if set(codes) & set(common)]
    assert not set(range(0x1F300, 0x1FB00)) & covered


def test_its_shortcuts_hold_for_every_row_of_the_folding_table() -> None:
    """What is easy folds to itself, no pair begins with it, and ^ stands after a letter."""
    easy = set(re.findall(r"'(abc\w+ )'", SQL)[0])
    for key, signs in full_folding().rows(()):
        assert key[0] not in easy or (len(key) == 1 and signs == key.lower())
        assert "^^" not in signs


def test_no_language_has_a_longer_ending_than_it_looks_for() -> None:
    longest = max(map(int, re.findall(r"substr\(f\.value, -(\d+)\)", SQL)))
    endings = [rule.form for tag in known_languages() for rule in load_language(tag).rules if rule.kind == "ending"]
    assert max(map(len, endings)) <= longest


# --- here


def test_a_question_is_cut_after_64_words_and_1000_characters(tmp_path: Path) -> None:
    titles = [" ".join(f"w{n}" for n in range(64)), "x" * 1_000, " ".join(["a"] * 64)]
    rows = [{"id": str(place), "title": title} for place, title in enumerate(titles)]
    report = built(rows, to=tmp_path / "long.db")
    with report.catalog as catalog, closing(sqlite3.connect(report.path)) as connection:
        run = runs_on(connection)
        for place, title in enumerate(titles):
            for more in ("", " more", "x more", "\0more", " \0", "é", "\ud800"):
                check(catalog, run, title + more)
            assert run(title + " more")[0][0] == str(place)


@settings(QUICK, max_examples=30)
@given(ROWS, QUESTIONS)
def test_it_gives_the_strict_answer_of_any_catalogue(
    tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, str]], questions: list[str]
) -> None:
    folder = tmp_path_factory.mktemp("any")
    report = built(rows, folder=folder, vocabulary=PAIRS, to=folder / "any.db", documents={"priority": "-views"})
    with closing(sqlite3.connect(report.path)) as connection, report.catalog as catalog:
        run = runs_on(connection)
        for question in [*questions, *(row["title"] for row in rows[:4]), *(row["id"] for row in rows[:4])]:
            check(catalog, run, question, flag=False)


@pytest.fixture(scope="module")
def hostile_path(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("hostile")
    return built(HOSTILE_ROWS, folder=folder, vocabulary=PAIRS, to=folder / "hostile.db").path


def test_it_gives_the_same_for_hostile_questions(hostile_path: str) -> None:
    assert len(HOSTILE) == 300
    with closing(sqlite3.connect(hostile_path)) as connection, Catalog.open(hostile_path) as catalog:
        run = runs_on(connection)
        for question in HOSTILE:
            check(catalog, run, question, flag=False)
        check_under_d1(hostile_path, run, HOSTILE)


def questions_in(value: Any) -> Iterator[str]:
    """Yield the questions of a file of cases."""
    if isinstance(value, dict):
        asked = value.get("question", [])
        yield from [asked] if isinstance(asked, str) else asked
        for inner in value.values():
            yield from questions_in(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from questions_in(inner)


def test_it_gives_the_same_for_the_questions_of_every_case(hostile_path: str) -> None:
    asked = [question for path in sorted(CASES.glob("*.yaml")) for question in questions_in(cases(path.stem))]
    assert len(asked) > 100
    with closing(sqlite3.connect(hostile_path)) as connection, Catalog.open(hostile_path) as catalog:
        run = runs_on(connection)
        for question in asked:
            check(catalog, run, question, flag=False)


@pytest.mark.parametrize("name", ["countries-pt", "icd10cm", "oecd"])
def test_it_gives_the_same_over_the_sample_catalogues(tmp_path: Path, name: str) -> None:
    build(load_settings(ROOT / "data" / name / "catalog.yaml"), tmp_path / "sample.db")
    path = tmp_path / "sample.db"
    with closing(sqlite3.connect(path)) as connection, Catalog.open(path) as catalog:
        asked = [one.query for one in read_judged(str(ROOT / "data" / name / "judged.jsonl"))]
        titles = [title for (title,) in connection.execute("SELECT title FROM documents ORDER BY rowid")]
        run, questions = runs_on(connection), [*asked, *some(titles, 300)]
        for question in questions:
            check(catalog, run, question)
        check_under_d1(path, run, questions)


@pytest.mark.skipif(shutil.which("sqlite3") is None, reason="there is no sqlite3 shell")
def test_the_sqlite3_shell_alone_is_enough(tmp_path: Path) -> None:
    """The commands are those of the statement's header."""
    lines = re.findall(r"^--   (?:sqlite3|       )   +(.+)$", SQL.split("JavaScript")[0], flags=re.MULTILINE)
    report = built([{"id": "1", "title": "Wages"}, {"id": "2", "title": "Labour force"}], to=tmp_path / "jobs.db")
    done = subprocess.run(
        ["sqlite3", report.path], input="\n".join(lines[-4:]).replace("labor", "labour"), cwd=tmp_path,
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert (done.stdout.strip(), done.stderr) == ("2|Labour force||0|[]", "")


# --- in D1


def some(questions: Iterable[str], number: int) -> list[str]:
    """Return so many questions, always the same."""
    return sorted(dict.fromkeys(questions), key=lambda one: sha256(one.encode()).digest())[:number]


@pytest.mark.skipif(not SUPPORTED, reason="this sqlite3 cannot set limits")
def test_the_d1_strict_connection_refuses_what_d1_refuses(hostile_path: str) -> None:
    with closing(D1Strict(hostile_path)) as strict:
        for sql in (
            "SELECT sqlite_version()",
            "BEGIN",
            "ATTACH ':memory:' AS other",
            "DELETE FROM documents",
            " UNION ALL ".join(["SELECT 1"] * 6),
            f"SELECT title FROM documents WHERE title GLOB '{'a' * 51}'",
            f"SELECT max({','.join(['1'] * 33)})",
            f"SELECT {'1 + ' * 100} 1",
        ):
            with pytest.raises(sqlite3.OperationalError):
                strict.execute(sql)
        assert strict.execute("SELECT typeof(?1) AS a, 2 AS b, 3 AS b", (1,)) == [{"a": "real", "b": 3}]


@pytest.fixture
def d1() -> Iterator[D1]:
    with closing(D1()) as started:
        yield started


def test_d1_gives_the_same_for_hostile_questions(d1: D1, hostile_path: str) -> None:
    """Over a hostile catalogue too; over real ones see test_everywhere.py."""
    d1.load(hostile_path)
    with closing(sqlite3.connect(hostile_path)) as connection:
        run = runs_on(connection)
        answers = d1.each(SQL, ([storable(question)] for question in HOSTILE))
        for question, answer in zip(HOSTILE, answers, strict=True):
            assert [tuple(row.values()) for row in answer["results"]] == run(question), question
