"""A catalogue's script makes the same catalogue in D1, whole or from the one before; what D1 would not take is said."""

from __future__ import annotations

import json
import random
import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from d1local import D1, statements_of
from d1strict import SUPPORTED
from support import SHARED, built
from test_equality import HOSTILE_ROWS, PAIRS

from catalog_search import Catalog, DatabaseError, QueryError, build, load_settings
from catalog_search.cli import main
from catalog_search.d1 import literal, pieces
from catalog_search.d1check import check_d1
from catalog_search.export import export_d1
from catalog_search.statements import statement

ROOT = Path(__file__).parent.parent
ASK = statement("ask")
ODD_ROWS = [
    {"id": "quotes", "title": "O'Neil's \"tables\"; -- /* `x` */ $x$", "text": "line\r\nline\n;\n'"},
    {"id": "nul", "title": "a\0b", "text": "behind\0a NUL"},
    {"id": "transaction", "title": "BEGIN TRANSACTION; COMMIT;", "text": "PRAGMA foreign_keys=ON; begin transaction"},
    {"id": "control", "title": "\x01\x1b[2J", "text": "".join(map(chr, range(1, 32)))},
    {"id": "emoji", "title": "Wages 👩‍👩‍👧 \U0010ffff", "text": "é\u0301 ﬁ"},
    {"id": "long", "title": "Long text", "text": "it's a word " * 12_500},
    {"id": "longer", "title": "Quotes", "text": "'\0é " * 60_000},
    {"id": "longest", "title": "Nearly too long", "text": "Wages " * 160_000},
]
"""What a script could get wrong."""

BILLED = 12
"""Rows that a document with another title may write."""

OF_A_DOCUMENT = 5
"""Rows that a document writes beside those of its words: itself, what three indexes hold of it, and its id's start."""

OF_A_CATALOGUE = 7
"""Rows that any change writes: what the catalogue says of itself, and the full-text index."""


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("odd")
    rows = [*({**row} for row in HOSTILE_ROWS), *ODD_ROWS]
    fields = {name for row in rows for name in row}
    filled = [{name: row.get(name, "") for name in sorted(fields)} for row in rows]
    return Path(built(filled, folder=folder, vocabulary=PAIRS, to=folder / "odd.db").path)


@pytest.fixture(scope="module")
def oecd(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("oecd") / "oecd.db"
    build(load_settings(ROOT / "data" / "oecd" / "catalog.yaml"), path)
    return path


@pytest.fixture
def d1() -> Iterator[D1]:
    with closing(D1()) as started:
        yield started


class Here:
    """The system's SQLite in the place of a D1, for what needs no D1."""

    def __init__(self) -> None:
        self._connection = sqlite3.connect(":memory:", isolation_level=None)

    def run(self, script: Path) -> None:
        self._connection.execute("BEGIN")
        try:
            for sql in statements_of(script):
                self._connection.execute(sql)
        except sqlite3.Error:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")

    def rows(self, sql: str, *parameters: Any) -> list[tuple[Any, ...]]:
        return self._connection.execute(sql, parameters).fetchall()

    def close(self) -> None:
        self._connection.close()


@pytest.fixture
def here() -> Iterator[Here]:
    with closing(Here()) as started:
        yield started


def same_database(path: Path, other: D1 | Here) -> None:
    """Compare a database with another, table by table; words by what they are, since their numbers may differ."""
    wanted = Here()
    wanted._connection.close()
    wanted._connection = sqlite3.connect(path)
    with closing(wanted):
        schema = "SELECT type, name, sql FROM sqlite_schema WHERE name NOT LIKE '%documents\\_fts\\_%' ESCAPE '\\' "
        schema += "AND name NOT LIKE '\\_cf%' ESCAPE '\\' AND sql IS NOT NULL ORDER BY name"
        made = wanted.rows(schema)
        assert other.rows(schema) == made
        numbered = {"words", "trigrams"}
        for name in {name for kind, name, sql in made if kind == "table" and "VIRTUAL" not in sql} - numbered:
            columns = [row[1] for row in wanted.rows(f"PRAGMA table_info({name})")]
            key = next(row[1] for row in wanted.rows(f"PRAGMA table_info({name})") if row[5])
            sql = f"SELECT {', '.join(columns)} FROM {name} ORDER BY {key}"
            assert other.rows(sql) == wanted.rows(sql), name
        for sql in (
            "SELECT word, documents, weight, singular FROM words ORDER BY word",
            "SELECT t.trigram, w.word FROM trigrams AS t JOIN words AS w ON w.rowid = t.word ORDER BY 1, 2",
        ):
            assert other.rows(sql) == wanted.rows(sql)


def same_answers(path: Path, other: D1 | Here, questions: Sequence[str]) -> None:
    with closing(sqlite3.connect(path)) as connection:
        for question in questions:
            assert other.rows(ASK, question) == connection.execute(ASK, (question,)).fetchall(), question


def titles(path: Path, number: int) -> list[str]:
    with closing(sqlite3.connect(path)) as connection:
        sql = "SELECT title FROM documents WHERE NOT instr(title, char(0)) ORDER BY id LIMIT ?"
        return [title for (title,) in connection.execute(sql, (number,))]


# --- the whole catalogue


def test_the_script_makes_the_same_database_in_d1(d1: D1, odd: Path, tmp_path: Path) -> None:
    export_d1(odd, tmp_path / "seed.sql")
    d1.run(tmp_path / "seed.sql")
    same_database(odd, d1)
    same_answers(odd, d1, [*titles(odd, 40), "labor", "cost of living", "xyzzy wages", "longest"])


def test_the_two_parts_make_the_same_database_in_d1(d1: D1, oecd: Path, tmp_path: Path) -> None:
    written = export_d1(oecd, tmp_path / "seed.sql", parts=True)
    assert [Path(one.path).name for one in written] == ["seed.data.sql", "seed.index.sql"]
    for one in written:
        assert d1.run(Path(one.path)) > 0
    same_database(oecd, d1)
    same_answers(oecd, d1, [*titles(oecd, 20), "labor force", "jobless youth xylophone"])
    assert d1.rows("SELECT value FROM catalog WHERE key = 'content_hash'") == [(hash_of(oecd),)]


def hash_of(path: Path) -> str:
    with Catalog.open(path) as catalog:
        return str(catalog.describe()["content_hash"])


@pytest.mark.parametrize("parts", [False, True])
def test_every_statement_is_within_the_limits(odd: Path, tmp_path: Path, parts: bool) -> None:
    for written in export_d1(odd, tmp_path / "seed.sql", parts=parts):
        statements = list(statements_of(Path(written.path)))
        assert len(statements) == written.statements
        assert Path(written.path).stat().st_size == written.bytes
        for sql in statements:
            assert len(sql.encode()) <= 90_000 + len(";\n")
            bare = re.sub(r"'(?:[^']|'')*'|--[^\n]*", "", sql)
            assert not re.search(r"\b(BEGIN|COMMIT|PRAGMA|unistr|documents_fts_\w+)\b", bare), bare[:200]
            assert "BEGIN TRANSACTION" not in sql  # which Wrangler takes away, wherever it stands
            assert "\0" not in sql


def test_a_statement_inserts_no_more_cells_than_d1_takes(tmp_path: Path) -> None:
    report = built([{"id": str(n), "title": f"w{n}"} for n in range(9_000)], to=tmp_path / "many.db")
    export_d1(report.path, tmp_path / "seed.sql")
    most: dict[str, int] = {}
    for sql in statements_of(tmp_path / "seed.sql"):
        if found := re.match(r'INSERT INTO "(\w+)" \(([^)]*)\) VALUES\n', sql):
            cells = (sql.count("\n") - 1) * (found[2].count(",") + 3)
            most[found[1]] = max(most.get(found[1], 0), cells)
    assert max(most.values()) <= 24_000
    assert most["trigrams"] > 12_000


def test_equal_databases_give_equal_scripts(odd: Path, oecd: Path, tmp_path: Path) -> None:
    build(load_settings(ROOT / "data" / "oecd" / "catalog.yaml"), tmp_path / "again.db")
    for path, name in ((oecd, "one"), (oecd, "two"), (tmp_path / "again.db", "three")):
        export_d1(path, tmp_path / name)
    assert len({(tmp_path / name).read_bytes() for name in ("one", "two", "three")}) == 1


def test_a_script_that_cannot_be_written_leaves_the_old_one(odd: Path, tmp_path: Path) -> None:
    (tmp_path / "seed.sql").write_text("old")
    with pytest.raises(DatabaseError, match="no such file"):
        export_d1(tmp_path / "none.db", tmp_path / "seed.sql")
    with pytest.raises(DatabaseError, match="cannot be written"):
        export_d1(odd, tmp_path / "none" / "seed.sql")
    with pytest.raises(DatabaseError, match="cannot be written"):
        export_d1(odd, tmp_path)
    copy = tmp_path / "copy.db"
    copy.write_bytes(odd.read_bytes())
    with pytest.raises(DatabaseError, match="is a database"):
        export_d1(copy, copy)
    assert copy.read_bytes() == odd.read_bytes()
    copy.unlink()
    assert (tmp_path / "seed.sql").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["seed.sql"]


@pytest.mark.parametrize("value", ["", "'", "a" * 100, "'" * 100, "é" * 99, "a\0" * 60, "x" * 40 + "BEGIN TRANSACTION"])
@pytest.mark.parametrize("room", [30, 31, 90])
def test_the_pieces_of_a_value_are_short_and_join_to_it(value: str, room: int) -> None:
    for whole in (value, value.encode()):
        written = pieces(whole, room)
        assert all(len(one.encode()) <= room for one in written)
        with closing(sqlite3.connect(":memory:")) as connection:
            joined = connection.execute(f"SELECT {' || '.join(written) or literal('')}").fetchone()[0]
        assert (joined if isinstance(joined, str) else joined.decode()) == value


def test_the_command_says_what_it_wrote(oecd: Path, tmp_path: Path) -> None:
    target = str(tmp_path / "seed.sql")
    done = CliRunner().invoke(main, ["export", "d1", str(oecd), "-o", target])
    assert re.fullmatch(r".*seed\.sql: \d+ statements, [\d,]+ bytes\n", done.stdout)
    done = CliRunner().invoke(main, ["export", "d1", str(oecd), "-o", target, "--since", str(oecd), "--json"])
    said = json.loads(done.stdout)
    assert list(said) == ["database", "files"]
    assert said["files"] == [{"path": target, "statements": 1, "bytes": Path(target).stat().st_size}]
    done = CliRunner().invoke(main, ["export", "d1", str(oecd), "-o", target, "--since", str(oecd), "--parts"])
    assert (done.exit_code, "--since goes without --parts" in done.stderr) == (2, True)


# --- what does not fit


def test_a_text_of_150_kb_is_put_together_and_a_row_of_more_than_2_mb_is_refused_by_its_id(
    tmp_path: Path, here: Here
) -> None:
    """Case 6-07."""
    rows = [
        {"id": "1", "title": "Long", "text": "yes " * 37_500},
        {"id": "2", "title": "Longer", "text": "yes " * 525_000},
    ]
    built(rows[:1], to=tmp_path / "long.db")
    export_d1(tmp_path / "long.db", tmp_path / "seed.sql")
    assert max(len(sql.encode()) for sql in statements_of(tmp_path / "seed.sql")) < 100_000
    here.run(tmp_path / "seed.sql")
    same_database(tmp_path / "long.db", here)
    built(rows, to=tmp_path / "longer.db")
    with pytest.raises(DatabaseError) as refused:
        export_d1(tmp_path / "longer.db", tmp_path / "other.sql")
    assert "id '2'" in str(refused.value) and "2,000,000" in str(refused.value)
    assert "id '1'" not in str(refused.value)
    assert not (tmp_path / "other.sql").exists()


def test_the_check_names_id_column_bytes_and_limit(tmp_path: Path) -> None:
    """Case 6-08."""
    texts = ["short", "été " * 350_000, "short"]
    built(
        [{"id": str(n), "title": f"Title {n}", "text": text} for n, text in enumerate(texts, 1)], to=tmp_path / "a.db"
    )
    done = CliRunner().invoke(main, ["check", str(tmp_path / "a.db"), "--target", "d1", "--json"])
    said = json.loads(done.stdout)
    assert (done.exit_code, said["ok"]) == (1, False)
    (fault,) = [one for one in said["faults"] if one.startswith("documents")]
    for words in ("id '2'", "text has 2,100,000", "2,000,000"):
        assert words in fault


@pytest.mark.skipif(not SUPPORTED, reason="this sqlite3 cannot set limits")
def test_the_check_asks_under_the_limits_and_names_them(oecd: Path) -> None:
    """Case 6-04: a word of 60 letters exceeds no GLOB pattern."""
    done = CliRunner().invoke(main, ["check", str(oecd), "--target", "d1"])
    assert done.exit_code == 0
    assert "LIKE_PATTERN_LENGTH 50" in done.stdout


@pytest.mark.skipif(not SUPPORTED, reason="this sqlite3 cannot set limits")
def test_the_check_says_how_many_rows_a_question_reads_as_d1_counts_them(d1: D1, tmp_path: Path) -> None:
    """Case 6-10."""
    rows = [{"id": str(n), "title": f"Wages by sector {n}" if n % 2_000 == 0 else f"Table {n}"} for n in range(20_000)]
    built(rows, to=tmp_path / "many.db")
    fitting = check_d1(tmp_path / "many.db")
    assert fitting.rows_read["scan"] == 20_000
    assert fitting.questions_per_day_free_tier["scan"] == 250
    assert any("or more by a compiled statement" in line for line in fitting.checked)  # a broad question reads more
    assert fitting.questions_per_day_free_tier["compiled"] > 10_000
    d1.load(tmp_path / "many.db")
    with Catalog.open(tmp_path / "many.db") as catalog:
        query = catalog.statement("wages by sector", "d1")
        answer = d1.send(sql=query.sql, params=list(query.parameters))
    assert len(answer["results"]) == 10
    assert fitting.rows_read["compiled"] <= answer["meta"]["rows_read"] in range(4 * 10, 4 * 10 + 3)
    asked = [meta["meta"]["rows_read"] for meta in d1.each(ASK, [("wages by sector",), ("table 7",), ("labor xyzzy",)])]
    assert max(asked) <= fitting.rows_read["ask"]


# --- only what changed


def changed(rows: Sequence[Mapping[str, str]], share: float, seed: int) -> tuple[list[dict[str, str]], int]:
    """Return rows of which a share have another title: a word more, less, or another; of a tenth of them a new one."""
    chance = random.Random(seed)
    words = [word for row in rows for word in row["title"].split()]
    new = [dict(row) for row in rows]
    chosen = chance.sample(new, max(1, round(share * len(new))))
    for place, row in enumerate(chosen):
        title = row["title"].split()
        word = f"neologism{place}" if place % 10 == 9 else chance.choice(words)
        if chance.random() < 0.5:
            title[chance.randrange(len(title))] = word
        else:
            title.append(word)
        row["title"] = " ".join(title)
    return new, len(chosen)


def test_with_1_percent_changed_few_rows_are_written_and_the_catalogue_is_that_of_a_fresh_build(
    d1: D1, tmp_path: Path
) -> None:
    settings = load_settings(ROOT / "data" / "icd10cm" / "catalog.yaml")
    build(settings, tmp_path / "old.db")
    with closing(sqlite3.connect(tmp_path / "old.db")) as connection:
        rows = [{"id": id, "title": title} for id, title in connection.execute("SELECT id, title FROM documents")]
    built(rows, to=tmp_path / "old.db")
    new, number = changed(rows, 0.01, 1)
    built(new, to=tmp_path / "new.db")
    export_d1(tmp_path / "new.db", tmp_path / "changes.sql", since=tmp_path / "old.db")
    d1.load(tmp_path / "old.db")
    written = d1.run(tmp_path / "changes.sql")
    assert written <= BILLED * number
    same_database(tmp_path / "new.db", d1)
    same_answers(tmp_path / "new.db", d1, [*titles(tmp_path / "new.db", 30), "neologism9", "diabetes xyzzy"])
    assert d1.rows("SELECT value FROM catalog WHERE key = 'content_hash'") == [(hash_of(tmp_path / "new.db"),)]


@pytest.mark.parametrize("name", ["uis_indicators", "cid10_pt", "oecd_dataflows"])
def test_with_1_percent_of_a_real_catalogue_changed_few_rows_are_written(d1: D1, tmp_path: Path, name: str) -> None:
    path = SHARED / "catalogues" / f"{name}.csv"
    if not path.is_file():
        pytest.skip("the real catalogues (../shared/data, beside the repository) are not there")
    import csv

    with open(path, encoding="utf-8-sig", newline="") as file:
        rows = list({row["id"]: {"id": row["id"], "title": row["title"]} for row in csv.DictReader(file)}.values())
    new, number = changed(rows, 0.01, 2)
    added = [{"id": f"new-{place}", "title": row["title"]} for place, row in enumerate(rows[:: len(rows) // number])]
    new = [*new[len(added) :], *added]  # so many are gone, and so many are new
    built(rows, to=tmp_path / "old.db")
    built(new, to=tmp_path / "new.db")
    export_d1(tmp_path / "new.db", tmp_path / "changes.sql", since=tmp_path / "old.db")
    d1.load(tmp_path / "old.db")
    assert d1.run(tmp_path / "changes.sql") <= BILLED * (number + 2 * len(added))
    same_database(tmp_path / "new.db", d1)
    same_answers(tmp_path / "new.db", d1, titles(tmp_path / "new.db", 40))


def words_of(path: Path) -> dict[str, int]:
    with closing(sqlite3.connect(path)) as connection:
        return dict(connection.execute("SELECT word, documents FROM words"))


@pytest.mark.parametrize("change", ["texts", "removals", "additions"])
def test_changed_texts_write_a_row_for_each_word_counted_otherwise_and_more_for_each_that_comes_or_goes(
    d1: D1, oecd: Path, tmp_path: Path, change: str
) -> None:
    """1% of the descriptions are other ones, with words that occur nowhere else; or 1% of the documents go, or come."""
    with closing(sqlite3.connect(oecd)) as connection:
        found = connection.execute("SELECT id, title, text FROM documents ORDER BY id")
        rows = [dict(zip(("id", "title", "text"), row, strict=True)) for row in found]
    chosen = rows[:: len(rows) // 15][:15]
    less = [row for row in rows if row not in chosen]
    new = [
        row | {"text": f"{chosen[-1 - chosen.index(row)]['text']} neologism{place}"} if row in chosen else row
        for place, row in enumerate(rows)
    ]
    before, after = {"texts": (rows, new), "removals": (rows, less), "additions": (less, rows)}[change]
    built(before, to=tmp_path / "old.db")
    built(after, to=tmp_path / "new.db")
    export_d1(tmp_path / "new.db", tmp_path / "changes.sql", since=tmp_path / "old.db")
    d1.load(tmp_path / "old.db")
    written = d1.run(tmp_path / "changes.sql")
    old_words, new_words = words_of(tmp_path / "old.db"), words_of(tmp_path / "new.db")
    other = old_words.keys() ^ new_words.keys()
    counted = sum(new_words[word] != old_words[word] for word in old_words.keys() & new_words.keys())
    with closing(sqlite3.connect(tmp_path / "new.db")) as connection:
        (prefixes,) = connection.execute("SELECT count(*) FROM prefixes").fetchone()
    of_words = counted + sum(2 * len(word) + 3 for word in other) + prefixes
    assert written <= OF_A_CATALOGUE + OF_A_DOCUMENT * len(chosen) + of_words
    same_database(tmp_path / "new.db", d1)
    same_answers(tmp_path / "new.db", d1, titles(tmp_path / "new.db", 20))


@pytest.mark.parametrize("seed", range(12))
def test_the_changes_make_the_new_catalogue_whatever_they_are(here: Here, tmp_path: Path, seed: int) -> None:
    """Documents come, go, change, and take each other's places: with a priority, their ranks are their own."""
    chance = random.Random(seed)

    def rows() -> list[dict[str, str]]:
        numbers = chance.sample(range(12), chance.randint(1, 12))
        return [
            {
                "id": str(n), "title": chance.choice(["Wages", "Labour force", "O'Neil"]),
                "text": chance.choice(["", "Consumer prices", "it's " * 30_000]),
                "keywords": chance.choice(["", "a|b"]),
                "order": str(chance.randrange(4)),
            }
            for n in numbers
        ]  # fmt: skip

    settings = {"documents": {"priority": "order", "facets": ["order"]}}
    if seed % 2:
        settings["documents"]["url"] = "https://example.org/{id}"  # which is a generated column
    built(rows(), folder=tmp_path, vocabulary=PAIRS[: seed % 4 + 1], to=tmp_path / "old.db", **settings)
    built(rows(), folder=tmp_path, vocabulary=PAIRS[: seed % 3 + 1], to=tmp_path / "new.db", **settings)
    export_d1(tmp_path / "old.db", tmp_path / "seed.sql")
    export_d1(tmp_path / "new.db", tmp_path / "changes.sql", since=tmp_path / "old.db")
    assert ("GENERATED" in (tmp_path / "seed.sql").read_text()) == bool(seed % 2)
    here.run(tmp_path / "seed.sql")
    here.run(tmp_path / "changes.sql")
    same_database(tmp_path / "new.db", here)
    same_answers(tmp_path / "new.db", here, ["wages", "labor", "consumer wages", "xyzzy"])
    here.rows("INSERT INTO documents_fts(documents_fts, rank) VALUES ('integrity-check', 1)")


def test_documents_that_take_each_others_places_are_moved(here: Here, tmp_path: Path) -> None:
    """Ids cannot choose their ranks, but a database can hold them so; a circle of three, and a chain."""
    built([{"id": str(n), "title": f"Title {n}"} for n in range(6)], to=tmp_path / "old.db")
    (tmp_path / "new.db").write_bytes((tmp_path / "old.db").read_bytes())
    with closing(sqlite3.connect(tmp_path / "new.db", isolation_level=None)) as connection:
        places = [rowid for (rowid,) in connection.execute("SELECT rowid FROM documents ORDER BY id")]
        connection.execute("UPDATE documents SET rowid = -rowid")
        moved = [places[1], places[2], places[0], places[4], places[3] + 1, places[5]]
        for before, after in zip(places, moved, strict=True):
            connection.execute("UPDATE documents SET rowid = ? WHERE rowid = -?", (after, before))
        connection.execute("INSERT INTO documents_fts(documents_fts) VALUES ('rebuild')")
    export_d1(tmp_path / "old.db", tmp_path / "seed.sql")
    export_d1(tmp_path / "new.db", tmp_path / "changes.sql", since=tmp_path / "old.db")
    here.run(tmp_path / "seed.sql")
    here.run(tmp_path / "changes.sql")
    same_database(tmp_path / "new.db", here)


def test_without_a_change_nothing_is_written(d1: D1, oecd: Path, tmp_path: Path) -> None:
    export_d1(oecd, tmp_path / "changes.sql", since=oecd)
    d1.load(oecd)
    assert d1.run(tmp_path / "changes.sql") == 0


def test_the_changes_are_refused_by_another_database_than_the_old_one(d1: D1, oecd: Path, tmp_path: Path) -> None:
    built([{"id": "1", "title": "Wages"}], to=tmp_path / "old.db")
    built([{"id": "1", "title": "Labour"}], to=tmp_path / "new.db")
    built([{"id": "1", "title": "Prices"}], to=tmp_path / "other.db")
    export_d1(tmp_path / "new.db", tmp_path / "changes.sql", since=tmp_path / "old.db")
    d1.load(tmp_path / "other.db")
    with pytest.raises(AssertionError, match="NOT NULL constraint failed"):
        d1.run(tmp_path / "changes.sql")
    same_database(tmp_path / "other.db", d1)
    with pytest.raises(DatabaseError, match="it is the catalogue “oecd”, and the new database is “tested”"):
        export_d1(tmp_path / "new.db", tmp_path / "changes.sql", since=oecd)
    built([{"id": "1", "title": "Wages", "x": "y"}], to=tmp_path / "facets.db", documents={"facets": ["x"]})
    with pytest.raises(DatabaseError, match="other tables or indexes"):
        export_d1(tmp_path / "new.db", tmp_path / "changes.sql", since=tmp_path / "facets.db")
    with pytest.raises(QueryError, match="leave out parts"):
        export_d1(tmp_path / "new.db", tmp_path / "changes.sql", since=tmp_path / "old.db", parts=True)
