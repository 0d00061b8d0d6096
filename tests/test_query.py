"""Expansions → SQL: for tables of others too, inside every limit, and never text that was not bound."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import oracle
import pytest
from hostile import hostile
from hypothesis import given
from hypothesis import strategies as st
from support import SHARED, catalogue

from catalog_search import Pair, QueryError, Vocabulary, compile_query, load_language, normalize
from catalog_search.conditions import LONGEST_GLOB, LONGEST_WHOLE
from catalog_search.expansion import Expansion, Pattern
from catalog_search.query import COLUMNS, Query, compile_statement

ENGLISH = load_language("en")
PAIRS = [
    Pair("labor", ("labour",), False, 1),
    Pair("cost of living", ("consumer price", "living standard"), False, 2),
    Pair("pay", ("wages", "earnings", "salary"), False, 3),
]
VOCABULARY = Vocabulary(PAIRS, ENGLISH, "the source")

D1 = {
    sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 50,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 100,
    sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 5,
    sqlite3.SQLITE_LIMIT_FUNCTION_ARG: 32,
}
"""Limits of Cloudflare D1 that SQLite can set."""

D1_WORDS = {"json", "each", "value", "field", "term", "pattern", "c", "ltrim", "coalesce"}
"""What the form with one parameter adds to a statement."""


@pytest.fixture
def foreign() -> Iterator[sqlite3.Connection]:
    """A table that knows nothing of us: its own names, two columns in normal form and two that are not."""
    titles = [
        "Labour force by sex",
        "Collabouration",
        "Consumer prices, index",
        "Price of consumer goods",
        "R&D 3361",
        "336111",
    ]
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute('CREATE TABLE tables (code TEXT, "name norm" TEXT, note TEXT, lower TEXT)')
        connection.executemany(
            "INSERT INTO tables VALUES (?, ?, ?, ?)",
            [(str(number), normalize(title), "", title.lower()) for number, title in enumerate(titles)],
        )
        yield connection


def found(connection: sqlite3.Connection, query: Query) -> list[str]:
    sql = f"SELECT code FROM tables AS t WHERE {query.sql} ORDER BY code"
    return [code for (code,) in connection.execute(sql, query.parameters)]


@pytest.mark.parametrize(
    ("question", "codes"),
    [
        ("labor", ["0"]),
        ("labor force", ["0"]),
        ("consumer price", ["2", "3"]),
        ("cost of living", ["2"]),
        ("r&d", ["4"]),
        ("3361", ["4"]),
        ("r", ["4"]),
        ("lab", ["0"]),
        ("bour", []),
        ("zebra", []),
        ("", []),
        ("***", []),
    ],
)
def test_a_foreign_table_with_normal_form_columns_is_searched(
    foreign: sqlite3.Connection, question: str, codes: list[str]
) -> None:
    query = compile_query(VOCABULARY.expand(question), ['t."name norm"', "t.note"])
    assert found(foreign, query) == codes


@pytest.mark.parametrize(
    ("question", "codes"),
    [
        ("labor", ["0"]),
        ("bour", []),
        ("cost of living", ["2", "3"]),  # a phrase is the AND of its words
        ("r&d", ["4"]),
        ("r", ["4"]),
        ("3361", ["4"]),
        ("consumer", ["2", "3"]),
        ("***", []),
    ],
)
def test_a_column_that_is_only_lower_case_is_searched_word_by_word(
    foreign: sqlite3.Connection, question: str, codes: list[str]
) -> None:
    assert found(foreign, compile_query(VOCABULARY.expand(question), ["lower"], normal_form=False)) == codes


def test_a_column_of_ids_takes_numbers_by_their_start(foreign: sqlite3.Connection) -> None:
    foreign.execute('CREATE VIEW renamed AS SELECT code, "name norm" AS id_lc FROM tables')
    query = compile_query(VOCABULARY.expand("3361"), ["id_lc"])
    rows = foreign.execute(f"SELECT code FROM renamed WHERE {query.sql} ORDER BY code", query.parameters)
    assert rows.fetchall() == [("4",), ("5",)]


@pytest.mark.parametrize("normal_form", [True, False])
def test_null_columns_match_nothing(foreign: sqlite3.Connection, normal_form: bool) -> None:
    foreign.execute("INSERT INTO tables VALUES ('null', NULL, NULL, NULL)")
    for question in ("labor", "r", "3361"):
        query = compile_query(VOCABULARY.expand(question), ['"name norm"', "lower"], normal_form=normal_form)
        assert "null" not in found(foreign, query)


def test_parameters_are_numbered_and_used_again() -> None:
    query = compile_query(VOCABULARY.expand("labor force"), ["a", "b", "c"])
    assert query.parameters == (
        "labor*", "*[^a-z0-9]labor*", "labour*", "*[^a-z0-9]labour*", "force*", "*[^a-z0-9]force*"
    )  # fmt: skip
    numbers = [int(number) for number in re.findall(r"\?(\d+)", query.sql)]
    assert set(numbers) == set(range(1, 7))
    assert len(numbers) == 3 * 6


@pytest.mark.parametrize("dialect", ["glob", "fts", "d1"])
def test_without_expansions_the_condition_is_false(dialect: str) -> None:
    with catalogue([{"id": "1", "title": "Wages"}]) as catalog:
        connection = catalog._database.connection()
        source = "documents_fts" if dialect == "fts" else "documents"
        query = compile_query([], dialect=dialect)
        assert connection.execute(f"SELECT * FROM {source} WHERE {query.sql}", query.parameters).fetchall() == []


@pytest.mark.parametrize("normal_form", [True, False])
def test_an_empty_pattern_matches_nothing(foreign: sqlite3.Connection, normal_form: bool) -> None:
    empty = Expansion("", "", (Pattern("", "own"),))
    query = compile_query([empty], ['"name norm"'], normal_form=normal_form)
    assert found(foreign, query) == []


def test_a_term_left_without_patterns_matches_nothing() -> None:
    assert compile_query([Expansion("", "", ())], ["title_lc"]).sql == "0"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"dialect": "globb"}, 'Did you mean "glob"?'),
        ({"dialect": "like"}, "glob, fts"),
        ({"columns": []}, "one column"),
    ],
)
def test_what_cannot_be_compiled_is_said(arguments: dict[str, Any], says: str) -> None:
    with pytest.raises(QueryError, match=re.escape(says)):
        compile_query(VOCABULARY.expand("labor"), **arguments)
    if "dialect" in arguments:
        with pytest.raises(QueryError, match=re.escape(says)):
            compile_statement(VOCABULARY.ask("labor"), **arguments)


def test_a_chosen_column_of_the_index_is_searched_alone() -> None:
    rows = [{"id": "labour", "title": "Wages", "text": ""}, {"id": "2", "title": "Labour", "text": "x"}]
    rows += [{"id": "3361", "title": "Cars", "text": "x"}, {"id": "336111", "title": "Trucks 3361", "text": "336111"}]
    with catalogue(rows) as catalog:
        connection = catalog._database.connection()

        def ids(question: str, columns: Sequence[str]) -> list[str]:
            both = []
            for dialect, table in (("glob", "documents"), ("fts", "documents_fts")):
                query = compile_query(VOCABULARY.expand(question), columns, dialect)
                sql = (
                    f"SELECT id FROM documents WHERE rowid IN (SELECT rowid FROM {table} WHERE {query.sql}) ORDER BY id"
                )
                both.append([id for (id,) in connection.execute(sql, query.parameters)])
            assert both[0] == both[1]
            return both[0]

        assert ids("labor", ["title_lc"]) == ["2"]
        assert ids("labor", ["id_lc"]) == ["labour"]
        assert ids("labor", ["id_lc", "title_lc"]) == ["2", "labour"]
        assert ids("3361", ["id_lc"]) == ["3361", "336111"]
        assert ids("3361", ["title_lc"]) == ["336111"]
        assert ids("3361", ["text_lc"]) == []
        assert ids("3361", ["title_lc", "text_lc", "keywords_lc"]) == ["336111"]
        assert ids("3361", COLUMNS) == ["3361", "336111"]


# --- limits


def limited() -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:")
    for limit, value in D1.items():
        connection.setlimit(limit, value)
    connection.execute("CREATE TABLE t (id_lc, title_lc, keywords_lc, text_lc)")
    connection.execute("INSERT INTO t VALUES ('1', 'wages', '', '')")
    return connection


@pytest.mark.parametrize("normal_form", [True, False])
@pytest.mark.parametrize("dialect", ["glob"])
def test_64_words_with_4_patterns_each_stay_within_an_expression_depth_of_100(dialect: str, normal_form: bool) -> None:
    pairs = [Pair(f"word{place}", tuple(f"other {place} {n}" for n in range(3)), False, 1) for place in range(64)]
    expansions = Vocabulary(pairs, ENGLISH, "").expand(" ".join(f"word{place}" for place in range(64)))
    assert [len(one.patterns) for one in expansions] == [4] * 64
    query = compile_query(expansions, dialect=dialect, normal_form=normal_form)
    with closing(limited()) as connection:
        assert connection.execute(f"SELECT * FROM t WHERE {query.sql}", query.parameters).fetchall() == []


def patterns_of(query: Query) -> list[str]:
    """Return the GLOB patterns among the parameters."""
    numbers = {int(number) for number in re.findall(r"GLOB \?(\d+)", query.sql)}
    return [query.parameters[number - 1] for number in numbers]


LENGTHS = st.integers(1, 80)


@given(st.lists(LENGTHS, min_size=1, max_size=4), st.booleans())
def test_no_glob_pattern_is_longer_than_50_bytes(lengths: list[int], normal_form: bool) -> None:
    question = " ".join("abcdefgh"[place] * length for place, length in enumerate(lengths))
    phrase = Vocabulary([Pair("asked", (question,), False, 1), Pair("1", ("9" * max(lengths),), False, 1)], ENGLISH, "")
    for expansions in (phrase.expand(question), phrase.expand("asked"), phrase.expand("1")):
        query = compile_query(expansions, ["title_lc", "id_lc"], normal_form=normal_form)
        assert [pattern for pattern in patterns_of(query) if len(pattern.encode()) > 50] == []


@pytest.mark.parametrize(
    "length", [LONGEST_WHOLE, LONGEST_WHOLE + 1, LONGEST_GLOB - 1, LONGEST_GLOB, LONGEST_GLOB + 1, 60]
)
@pytest.mark.parametrize("letter", ["x", "д", "7"])
@pytest.mark.parametrize("normal_form", [True, False])
def test_a_long_word_is_found_whole_and_only_at_the_start_of_a_word(
    length: int, letter: str, normal_form: bool
) -> None:
    word = normalize(letter * length)
    texts = [word, f"a {word}", f"{word}z", f"a{word}", word[:-1], f"b {word} c"]
    query = compile_query(VOCABULARY.expand(word), ["title_lc"], normal_form=normal_form)
    with closing(limited()) as connection:
        connection.execute("DELETE FROM t")
        connection.executemany("INSERT INTO t (title_lc) VALUES (?)", [(text,) for text in texts])
        hits = [text for (text,) in connection.execute(f"SELECT title_lc FROM t WHERE {query.sql}", query.parameters)]
    # In a column that is not in normal form, a number so long is not told from a longer one.
    digits = letter == "7" and (normal_form or length <= LONGEST_WHOLE)
    assert hits == [text for text in texts if any(
        one == word if digits else one.startswith(word) for one in text.split()
    )]  # fmt: skip


def test_the_whole_statement_of_64_words_runs() -> None:
    rows = [{"id": str(place), "title": " ".join(f"w{n}x" for n in range(64))} for place in range(3)]
    with catalogue(rows) as catalog:
        question = " ".join(f"w{n}" for n in range(64))
        for dialect in ("glob", "fts", "d1"):
            assert len(catalog.ids_by_statement(question, dialect, 10)) == 3


# --- text is bound


@pytest.mark.parametrize("dialect", ["glob", "fts", "d1"])
def test_sql_holds_no_text_of_the_question(dialect: str) -> None:
    shape = re.compile(r"[a-z_A-Z0-9 ()'|,.=?\n<>#]*")
    for question in hostile(1_000):
        asked = VOCABULARY.ask(question)
        for query in (compile_query(asked.expansions, dialect=dialect), compile_statement(asked, dialect)):
            assert shape.fullmatch(query.sql)
            words = set(re.findall("[a-z]+", query.sql)) - {"id", "lc", "title", "keywords", "text", "url", "rowid"}
            assert words <= {"documents", "fts", "instr"} | (D1_WORDS if "json_each" in query.sql else set())
        for parameter in compile_query(asked.expansions).parameters:
            assert re.fullmatch(r"(\*(\[\^a-z0-9\])?)?[a-z0-9 ]+\*?", parameter)


def test_a_question_is_a_statement_to_show() -> None:
    query = compile_statement(VOCABULARY.ask("Labor force"), "fts")
    assert query.sql.startswith("SELECT rowid, id, title, url\nFROM documents\nWHERE rowid IN (")
    assert query.parameters[:3] == ('(("labor"* OR "labour"*) AND "force"*)', "Labor force", "labor force")
    assert query.sql.endswith(", rowid")


# --- the same rows


SETS = st.lists(
    st.lists(
        st.sampled_from("labour labor force consumer prices price 3361 336111 a ab r d living x".split()), max_size=5
    ),
    max_size=8,
)
ASKED = st.lists(st.sampled_from("labor force consumer price cost of living 3361 a r&d pay x".split()), max_size=5)


@given(SETS, ASKED)
def test_glob_on_normal_form_is_what_a_plain_loop_finds(texts: list[list[str]], words: list[str]) -> None:
    expansions = VOCABULARY.expand(" ".join(words))
    query = compile_query(expansions, ["title_lc", "text_lc"])
    with closing(limited()) as connection:
        connection.execute("DELETE FROM t")
        connection.executemany(
            "INSERT INTO t VALUES (?, ?, '', ?)",
            [(str(place), " ".join(text), " ".join(texts[0])) for place, text in enumerate(texts)],
        )
        hits = [id for (id,) in connection.execute(f"SELECT id_lc FROM t WHERE {query.sql}", query.parameters)]
    terms = oracle.terms(expansions)
    right = []
    for place, text in enumerate(texts):
        document = oracle.Document(place, "", {"title": text, "text": texts[0]})
        if terms and all(oracle.met(term, document, ["title", "text"], 2, False) for term in terms):
            right.append(str(place))
    assert hits == right


@pytest.mark.skipif(not SHARED.is_dir(), reason="../shared/data is not there")
def test_a_real_table_in_another_database_is_searched(tmp_path: Path) -> None:
    import csv

    with closing(sqlite3.connect(tmp_path / "theirs.db")) as connection:
        connection.execute("CREATE TABLE indicators (code, name, name_lc)")
        with open(SHARED / "catalogues" / "ilostat_indicators_2022.csv", encoding="utf-8", newline="") as file:
            rows = [(row["id"], row["title"], normalize(row["title"])) for row in csv.DictReader(file)]
        connection.executemany("INSERT INTO indicators VALUES (?, ?, ?)", rows)
        counts = []
        for question in ("labor force", "labour force"):
            query = compile_query(VOCABULARY.expand(question), ["name_lc"])
            (count,) = connection.execute(
                f"SELECT count(*) FROM indicators WHERE {query.sql}", query.parameters
            ).fetchone()
            counts.append(count)
    assert counts == [76, 76]
