"""A build: what the source says is in the database, unchanged, or one message says why not."""

from __future__ import annotations

import csv
import hashlib
import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import support
import yaml
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from catalog_search import build
from catalog_search.builder import BuildReport
from catalog_search.documents import LAST_PRIORITY, rank_of, static_rank
from catalog_search.errors import CatalogSearchError, DatabaseError, SettingsError, SourceError
from catalog_search.template import Template

ROOT = Path(__file__).parent.parent
CASES = yaml.safe_load((Path(__file__).parent / "cases" / "builds.yaml").read_text("utf-8"))
JSON_COLUMNS = ("keywords", "metadata", "facets_lc")
PLAIN = {"name": "tested", "language": "en", "documents": {"id": "{id}", "title": "{title}"}}
# A build under another SQLite has to be this very interpreter's.
other_sqlite = pytest.mark.skipif(
    bool(os.environ.get("CATALOG_SEARCH_SQLITE")), reason="a child process has the system's SQLite"
)


def write_csv(path: Path, rows: list[list[str]]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)
    return path


def built(target: Path, rows: list[list[str]], header: str = "id,title", **more: Any) -> BuildReport:
    """Build a CSV of rows beside the target."""
    source = write_csv(target.with_suffix(".csv"), [header.split(","), *rows])
    more.setdefault("documents", {})
    keys = {name: more.pop(name) for name in ("max_removed", "progress") if name in more}
    settings = PLAIN | {"source": {"path": str(source)}} | more
    settings["documents"] = PLAIN["documents"] | settings["documents"]
    return build(settings, target, **keys)


def rows_of(path: Path, sql: str = "SELECT * FROM documents ORDER BY rowid") -> list[dict[str, Any]]:
    connection = sqlite3.connect(path)
    connection.row_factory = sqlite3.Row
    found = [dict(row) for row in connection.execute(sql)]
    connection.close()
    return found


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_cases(case: dict[str, Any], tmp_path: Path) -> None:
    source, target = tmp_path / "source.csv", tmp_path / "tested.db"
    source.write_bytes(case["csv"].encode())
    settings = PLAIN | {"source": {"path": "source.csv"}} | case.get("settings", {})
    settings["documents"] = PLAIN["documents"] | case.get("documents", {})
    (tmp_path / "catalog.yaml").write_text(yaml.safe_dump(settings, allow_unicode=True), "utf-8")
    if "error" in case:
        with pytest.raises(CatalogSearchError) as caught:
            build(tmp_path / "catalog.yaml", target)
        said, place = str(caught.value), 0
        for words in case["error"]:
            words = words.replace("{path}", str(source))
            place = said.find(words, place)
            assert place >= 0, (words, said)
        assert sorted(path.name for path in tmp_path.iterdir()) == ["catalog.yaml", "source.csv"]
        return
    report = build(tmp_path / "catalog.yaml", target)
    found = rows_of(target)
    documents = {
        row["id"]: {name: json.loads(value) if name in JSON_COLUMNS else value for name, value in row.items()}
        for row in found
    }
    if "order" in case:
        assert [row["id"] for row in found] == case["order"]
    if "rows" in case:
        assert documents.keys() == case["rows"].keys()
    for id, columns in case.get("rows", {}).items():
        assert {name: documents[id][name] for name in columns} == columns
    for name, value in case.get("report", {}).items():
        assert report.as_json()[name] == value


# --- sources --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content", "more"),
    [
        ("a.tsv", "id\ttitle\n007\tCafé\n", {}),
        ("a.csv", "id;title\n007;Café\n", {}),
        ("a.json", '{"meta": 1, "data": [{"id": "007", "title": "Café"}]}', {}),
        ("a.json", '{"x": {"data": [{"id": "007", "title": "Café"}]}, "y": []}', {"records": "x.data"}),
        ("a.jsonl", '{"id": "007", "title": "Café"}\n', {}),
    ],
)
def test_every_kind_of_file_gives_the_same_document(
    name: str, content: str, more: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(content.encode())
    build(PLAIN | {"source": {"path": str(tmp_path / name), **more}}, tmp_path / "out.db")
    (row,) = rows_of(tmp_path / "out.db")
    assert (row["id"], row["title"], row["title_lc"]) == ("007", "Café", "cafe")


def test_a_table_of_sqlite_gives_the_same_documents(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "source.db")
    connection.executescript("CREATE TABLE t(id TEXT, title TEXT); INSERT INTO t VALUES ('007', '1E10')")
    connection.close()
    build(PLAIN | {"source": {"path": str(tmp_path / "source.db"), "table": "t"}}, tmp_path / "out.db")
    (row,) = rows_of(tmp_path / "out.db")
    assert (row["id"], row["title"]) == ("007", "1E10")


def test_nested_values_stay_nested_in_metadata(tmp_path: Path) -> None:
    record = {"id": 7, "title": "Pay", "tags": ["a", "b"], "meta": {"unit": {"code": "EUR"}}, "of": {"x": [1, 2]}}
    (tmp_path / "a.jsonl").write_text(json.dumps(record))
    documents = {"keywords": ["tags"], "metadata": ["tags", "meta.unit.code", "of"], "facets": ["tags"]}
    settings = PLAIN | {"source": {"path": str(tmp_path / "a.jsonl")}}
    report = build(settings | {"documents": PLAIN["documents"] | documents}, ":memory:")
    with report.catalog as catalog:
        document = catalog.fetch("7")
        assert document.keywords == ["a", "b"]
        assert document.metadata["tags"] == ["a", "b"]
        assert document.metadata["code"] == "EUR"
        assert document.metadata["of"] == {"x": ["1", "2"]}
        assert catalog.search("pay", facets=["tags"]).facets == {"tags": {"a": 1, "b": 1}}


def test_bytes_of_another_encoding_are_named(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"id,title\n1,a\n2,Caf\xe9\n")
    with pytest.raises(SourceError, match=r"a\.csv, line 3: byte 0xe9 at offset 18 is not utf-8.*cp1252 or latin-1"):
        build(PLAIN | {"source": {"path": str(tmp_path / "a.csv")}}, tmp_path / "out.db")
    build(PLAIN | {"source": {"path": str(tmp_path / "a.csv"), "encoding": "cp1252"}}, tmp_path / "out.db")
    assert [row["title"] for row in rows_of(tmp_path / "out.db")] == ["a", "Café"]


def test_only_the_first_twenty_bad_rows_are_named(tmp_path: Path) -> None:
    with pytest.raises(SourceError) as caught:
        built(tmp_path / "a.db", [["", "x"]] * 1_234)
    lines = str(caught.value).splitlines()
    assert "1,234 bad rows" in lines[0]
    assert lines[1:] == [*(f"  line {line}: missing id" for line in range(2, 22)), "  and 1,214 more"]


TEXTS = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), min_size=1, max_size=40)


@given(st.dictionaries(TEXTS.filter(str.strip), TEXTS.filter(str.strip), min_size=1, max_size=30))
@hypothesis_settings(max_examples=20, deadline=None)
def test_any_text_comes_back_as_it_went_in(titles: dict[str, str]) -> None:
    records = [{"id": id, "title": title} for id, title in titles.items()]
    with build(PLAIN, ":memory:", records=records).catalog as catalog:
        assert {id: catalog.fetch(id).title for id in titles} == titles


def test_records_from_python_are_read_once_and_named(tmp_path: Path) -> None:
    report = build(PLAIN, tmp_path / "a.db", records=({"id": n, "title": f"t {n}"} for n in (1, 2)))
    assert (report.documents, report.path) == (2, str(tmp_path / "a.db"))
    with pytest.raises(SourceError, match="records"):
        build(PLAIN, ":memory:", records=[{"id": 1}])
    with pytest.raises(SettingsError, match="source"):
        build(PLAIN, ":memory:")


# --- the report -----------------------------------------------------------------------------------------


def test_the_report_opens_what_was_built(tmp_path: Path) -> None:
    for target in (tmp_path / "a.db", ":memory:"):
        report = build(PLAIN, target, records=[{"id": "1", "title": "Wages"}])
        with report.catalog as catalog, report.catalog as again:
            assert [result.id for result in catalog.search("wage").results] == ["1"]
            assert again.fetch("1").title == "Wages"
        assert report.size > 10_000
    assert (tmp_path / "a.db").stat().st_size == build(PLAIN, tmp_path / "a.db", records=[{"id": 1, "title": "x"}]).size


def test_the_keys_of_the_report_are_stable(tmp_path: Path) -> None:
    report = built(tmp_path / "a.db", [["1", "Wages"]])
    assert list(report.as_json()) == [
        "name", "path", "documents", "skipped", "ragged_lines", "duplicates", "without_url", "added", "changed",
        "removed", "vocabulary", "notes", "seconds", "bytes", "content_hash",
    ]  # fmt: skip
    json.dumps(report.as_json())


def test_changes_against_the_previous_database_are_counted(tmp_path: Path) -> None:
    target = tmp_path / "a.db"
    first = built(target, [["1", "a"], ["2", "b"], ["3", "c"]])
    assert (first.added, first.changed, first.removed) == (3, 0, 0)
    same = built(target, [["1", "a"], ["2", "b"], ["3", "c"]])
    assert (same.added, same.changed, same.removed) == (0, 0, 0)
    second = built(target, [["1", "a"], ["2", "other"], ["4", "d"], ["5", "e"]])
    assert (second.added, second.changed, second.removed) == (2, 1, 1)


@pytest.mark.parametrize(
    ("guard", "refused"),
    [("4", True), ("5", False), ("49%", True), ("50%", False), ("0", True), (None, False)],
)
def test_max_removed_refuses_to_lose_more_documents(guard: str | None, refused: bool, tmp_path: Path) -> None:
    target = tmp_path / "a.db"
    built(target, [[str(number), "x"] for number in range(10)])
    before = sha256(target)
    fewer = [[str(number), "x"] for number in range(5)]
    if not refused:
        assert built(target, fewer, max_removed=guard).removed == 5
        return
    with pytest.raises(DatabaseError, match="5 of 10 documents would be removed, more than max-removed"):
        built(target, fewer, max_removed=guard)
    assert sha256(target) == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.csv", "a.db"]


@pytest.mark.parametrize("guard", ["many", "-1", "nan", "inf", "", "%"])
def test_max_removed_is_a_number_or_a_share(guard: str, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="max-removed is a number"):
        built(tmp_path / "a.db", [["1", "x"]], max_removed=guard)


def test_a_damaged_old_database_is_replaced_and_that_is_said(tmp_path: Path) -> None:
    target = tmp_path / "a.db"
    built(target, [["1", "x"]])
    data = bytearray(target.read_bytes())
    data[4096 : len(data) // 2] = b"\xff" * (len(data) // 2 - 4096)
    target.write_bytes(data)
    with pytest.raises(DatabaseError, match="max-removed cannot be checked"):
        built(target, [["1", "x"]], max_removed="10%")
    assert target.read_bytes() == data
    report = built(target, [["1", "x"]])
    assert (report.added, report.removed) == (1, 0)
    assert "could not be read as a catalogue" in " ".join(report.notes)


@pytest.mark.parametrize("content", [b"notes\n", b"SQLite format", b"\0" * 100])
def test_a_file_that_is_none_of_ours_is_not_written_over(tmp_path: Path, content: bytes) -> None:
    target = tmp_path / "notes.txt"
    target.write_bytes(content)
    with pytest.raises(DatabaseError, match="is there and is no catalogue"):
        built(target, [["1", "x"]])
    assert target.read_bytes() == content


def test_a_database_of_somebody_else_is_not_written_over_and_an_empty_file_is(tmp_path: Path) -> None:
    target = tmp_path / "mine.db"
    other = sqlite3.connect(target)
    other.executescript("CREATE TABLE t(a); INSERT INTO t VALUES (1)")
    other.close()
    with pytest.raises(DatabaseError, match="is there and is no catalogue"):
        built(target, [["1", "x"]])
    target.write_bytes(b"")
    assert built(target, [["1", "x"]]).documents == 1


@pytest.mark.parametrize("name", ["catalog.yaml", "source.csv", "words.yaml"])
def test_a_build_does_not_write_over_what_it_reads(name: str, tmp_path: Path) -> None:
    (tmp_path / "source.csv").write_text("id,title\n1,a\n")
    (tmp_path / "words.yaml").write_text("pairs: [{asked: b, source: a}]\n")
    settings = PLAIN | {"source": {"path": "source.csv"}, "vocabulary": "words.yaml"}
    (tmp_path / "catalog.yaml").write_text(yaml.safe_dump(settings))
    before = (tmp_path / name).read_bytes()
    with pytest.raises(DatabaseError, match="itself; name another file"):
        build(tmp_path / "catalog.yaml", tmp_path / name)
    assert (tmp_path / name).read_bytes() == before


def test_the_verdict_on_each_pair_is_in_the_report(tmp_path: Path) -> None:
    (tmp_path / "words.yaml").write_text(
        "pairs:\n- {asked: labor, source: labour}\n- {asked: jobs, source: [employment, posts]}\n"
        "- {asked: a, source: zz}\n"
    )
    rows = [[str(number), title] for number, title in enumerate(["Labour force", "Labour cost", "Employment"])]
    report = built(tmp_path / "a.db", rows, vocabulary=str(tmp_path / "words.yaml"))
    keys = ("asked", "asked_documents", "source_documents", "gain", "verdict", "line")
    assert [tuple(pair[key] for key in keys) for pair in report.vocabulary] == [
        ("labor", 0, 2, 2, "ok", 2),
        ("jobs", 0, 1, 1, "ok", 3),
        ("a", 0, 0, 0, "dead", 4),
    ]


# --- rowid: a document's static rank ---------------------------------------------------------------------


def test_rowids_are_made_from_priority_title_and_id(tmp_path: Path) -> None:
    documents = {"priority": "rank"}
    built(tmp_path / "a.db", [["a", "Pay", "1"], ["b", "Wages", ""]], "id,title,rank", documents=documents)
    rowids = {row["id"]: row["rowid"] for row in rows_of(tmp_path / "a.db", "SELECT rowid, id FROM documents")}
    for id, title, priority in (("a", "pay", rank_of(1)), ("b", "wages", LAST_PRIORITY)):
        digest = hashlib.blake2b(id.encode(), digest_size=8).digest()
        assert rowids[id] == priority * 2**34 + len(title) * 2**24 + int.from_bytes(digest[:3], "big")
        assert rowids[id] == static_rank(priority, title, id)
    assert rowids["b"] < 2**53


def test_long_titles_share_the_last_length() -> None:
    assert static_rank(0, "x" * 1_023, "a") == static_rank(0, "x" * 5_000, "a")
    assert static_rank(LAST_PRIORITY, "x" * 5_000, "a") < 2**53


def test_documents_of_one_rank_take_the_next_free_numbers(tmp_path: Path) -> None:
    # Three bytes of a digest: among some ten thousand ids of one length two are alike.
    digests: dict[bytes, list[str]] = {}
    for number in range(20_000):
        id = f"id{number}"
        digests.setdefault(hashlib.blake2b(id.encode(), digest_size=8).digest()[:3], []).append(id)
    pair = sorted(next(ids for ids in digests.values() if len(ids) > 1))
    for target, ids in (("a.db", pair), ("b.db", pair[::-1])):
        built(tmp_path / target, [[id, "same title"] for id in ids])
        rowids = {row["id"]: row["rowid"] for row in rows_of(tmp_path / target, "SELECT rowid, id FROM documents")}
        assert rowids == {
            pair[0]: static_rank(0, "same title", pair[0]),
            pair[1]: static_rank(0, "same title", pair[0]) + 1,
        }


def test_only_changed_documents_move(tmp_path: Path) -> None:
    rows = [[f"id{number}", f"Wages of sector {number}"] for number in range(500)]
    built(tmp_path / "a.db", rows)
    changed = [*rows[:100], ["id100", "Changed"], *rows[102:], ["new", "New one"]]
    built(tmp_path / "b.db", changed)
    then, now = (
        {row["id"]: row["rowid"] for row in rows_of(tmp_path / name, "SELECT rowid, id FROM documents")}
        for name in ("a.db", "b.db")
    )
    assert then.keys() - now.keys() == {"id101"}
    assert now.keys() - then.keys() == {"new"}
    assert {id for id in then.keys() & now.keys() if then[id] != now[id]} == {"id100"}


@given(st.floats(allow_nan=False), st.floats(allow_nan=False))
def test_the_rank_of_numbers_keeps_their_order(one: float, other: float) -> None:
    assert 0 <= rank_of(one) < LAST_PRIORITY
    if one <= other:
        assert rank_of(one) <= rank_of(other)


# --- the file -------------------------------------------------------------------------------------------


CHILD = "import sys; from catalog_search import build; build(sys.argv[1], sys.argv[2])"


def build_in_child(settings: Path, target: Path, cwd: Path, seed: str) -> None:
    environment = os.environ | {"PYTHONHASHSEED": seed, "TZ": "Pacific/Auckland" if seed == "1" else "UTC"}
    subprocess.run([sys.executable, "-c", CHILD, settings, target], cwd=cwd, env=environment, check=True)


@pytest.mark.parametrize("name", ["oecd", "countries-pt"])
def test_equal_inputs_give_equal_bytes(name: str, tmp_path: Path) -> None:
    import shutil

    digests = set()
    for number, folder in enumerate(("one", "two/deep")):
        root = tmp_path / folder
        shutil.copytree(ROOT / "data" / name, root / "data" / name)
        shutil.copytree(ROOT / "vocab" / "catalogs", root / "vocab" / "catalogs")
        target = root / f"out{number}.db"
        build_in_child(root / "data" / name / "catalog.yaml", target, [tmp_path, root][number], str(number))
        digests.add(sha256(target))
        data = target.read_bytes()
        assert str(root).encode() not in data
    assert len(digests) == 1


@other_sqlite
def test_the_content_hash_is_the_same_on_another_sqlite(tmp_path: Path) -> None:
    pytest.importorskip("pysqlite3", reason="pysqlite3-binary is not installed: there is no other SQLite here")
    program = (
        "import sys, pysqlite3; sys.modules['sqlite3'] = pysqlite3; from catalog_search import build\n"
        "report = build(sys.argv[1], sys.argv[2]); print(pysqlite3.sqlite_version, report.content_hash)"
    )
    settings = ROOT / "data" / "oecd" / "catalog.yaml"
    command = [sys.executable, "-c", program, settings, tmp_path / "other.db"]
    version, other = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    assert version != sqlite3.sqlite_version
    assert other == build(settings, tmp_path / "a.db").content_hash


@pytest.mark.parametrize(
    "change",
    [
        {"title": "Other"},
        {"documents": {"url": "https://example.org/{id}"}},
        {"provenance": {"revision": "2"}},
        {"language": "fr"},
    ],
    ids=str,
)
def test_the_content_hash_tells_what_the_catalogue_says(change: dict[str, Any], tmp_path: Path) -> None:
    rows = [["1", "Wages"]]
    first = built(tmp_path / "a.db", rows).content_hash
    assert built(tmp_path / "b.db", rows).content_hash == first
    assert built(tmp_path / "c.db", rows, **change).content_hash != first
    assert built(tmp_path / "d.db", [["1", "Wage"]]).content_hash != first


def test_the_database_answers_alone(tmp_path: Path) -> None:
    build(ROOT / "data" / "countries-pt" / "catalog.yaml", tmp_path / "a.db")
    program = (
        "import sys\n"
        "for name in ('yaml', 'unidecode', 'sqlite_utils', 'catalog_search.vocab', 'catalog_search.sql'):\n"
        "    sys.modules[name] = None\n"
        "from catalog_search import Catalog\n"
        "with Catalog.open(sys.argv[1]) as catalog:\n"
        "    answer = catalog.search('Mianmá é a Holanda', explain=True)\n"
        "    print(answer.as_json()['notes'], answer.results[0].excerpt, catalog.fetch('NL').markdown())\n"
    )
    command = [sys.executable, "-c", program, tmp_path / "a.db"]
    said = subprocess.run(command, check=True, capture_output=True, text=True, encoding="utf-8")
    assert "Países Baixos" in said.stdout
    tables = ("folding", "stopwords", "rules", "messages", "spellings", "statements", "vocabulary", "words")
    for table in tables:
        assert rows_of(tmp_path / "a.db", f"SELECT count(*) AS n FROM {table}")[0]["n"] > 0, table


def test_the_file_says_where_the_folding_table_comes_from(tmp_path: Path) -> None:
    report = built(tmp_path / "a.db", [["1", "Wages"]])
    with report.catalog as catalog:
        assert "Unidecode (GPL-2.0-or-later)" in catalog.describe()["licence_notes"]


def test_facets_have_an_index(tmp_path: Path) -> None:
    documents = {"metadata": ["unit"], "facets": ["unit"]}
    built(tmp_path / "a.db", [["1", "a", "EUR"]], "id,title,unit", documents=documents)
    (plan,) = rows_of(
        tmp_path / "a.db", """EXPLAIN QUERY PLAN SELECT id FROM documents WHERE facets_lc ->> '$."unit"' = 'eur'"""
    )
    assert "documents_facet_unit" in plan["detail"]


MEASURED = """
import csv, os, resource, sys
from catalog_search import build
path, target, rows = sys.argv[1], sys.argv[2], int(sys.argv[3])
words = [f"word{n:x}" for n in range(997)]
with open(path, "w", newline="") as file:
    writer = csv.writer(file)
    writer.writerow(["id", "title", "text"])
    for n in range(rows):
        writer.writerow([f"{n:07d}", " ".join(words[n * k % 997] for k in (1, 3, 7)), words[n % 991] * 3])
documents = {"id": "{id}", "title": "{title}", "text": "{text}"}
report = build({"name": "a", "language": "en", "source": {"path": path}, "documents": documents}, target)
assert report.documents == rows
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def test_memory_does_not_grow_with_the_source(tmp_path: Path) -> None:
    peaks = []
    for rows in (26_000, 260_000):
        command = [sys.executable, "-c", MEASURED, tmp_path / "a.csv", tmp_path / "a.db", str(rows)]
        peaks.append(int(subprocess.run(command, check=True, capture_output=True, text=True).stdout))
        (tmp_path / "a.db").unlink()
    # KiB; the page caches and sorters of SQLite fill up, and then stay as they are.
    assert peaks[1] - peaks[0] < 60_000, peaks


def test_ten_thousand_bad_rows_are_not_kept_in_memory(tmp_path: Path) -> None:
    import tracemalloc

    def bad(count: int) -> int:
        tracemalloc.start()
        with pytest.raises(SourceError):
            build(PLAIN, ":memory:", records=({"id": "", "title": "x" * 100} for _ in range(count)))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak

    bad(100)
    assert bad(10_000) - bad(100) < 200_000


def test_a_vocabulary_of_another_language_is_read_in_the_catalogues_and_that_is_said(tmp_path: Path) -> None:
    words = tmp_path / "words.yaml"
    words.write_text("language: fr\npairs: [{asked: job, source: employment}]\n", "utf-8")
    settings = {
        "name": "jobs", "language": "en", "vocabulary": str(words),
        "documents": {"id": "{id}", "title": "{title}"},
    }  # fmt: skip
    report = build(settings, ":memory:", records=[{"id": "1", "title": "Employment"}])
    assert "it is read as en" in " ".join(report.notes)
    with report.catalog as catalog:
        assert [result.id for result in catalog.search("jobs", relax=False).results] == ["1"]


GENERATED = [
    # template of the url, ids, whether it takes no room
    ("https://example.org/{id}", ["a", "A.1-x_y~z"], True),
    ("https://example.org/{id}.html?x='y'", ["a:b", "%3A", "a b/c", "50% of $1"], True),
    ("https://example.org/{id}", ["a", " b "], False),
    ("https://example.org/{id}", ["a", "é"], False),
    ("https://example.org/{id}", ["a!", "a#$", "a&'", "a()", "a*+", "a,:", "a;="], False),
    ("https://example.org/{id}/{id}", ["a"], False),
    ("https://example.org/{title}", ["a"], False),
    ("{id}", ["https://example.org/a"], False),
]


@pytest.mark.parametrize(("template", "ids", "generated"), GENERATED)
def test_urls_made_of_ids_are_the_same_and_take_no_room_where_sql_can_make_them(
    template: str, ids: list[str], generated: bool, tmp_path: Path
) -> None:
    rows = [{"id": id, "title": f"Title {number}"} for number, id in enumerate(ids)]
    report = support.built(rows, to=tmp_path / "c.db", documents={"url": template})
    connection = sqlite3.connect(tmp_path / "c.db")
    hidden = {name: kind for _, name, *_, kind in connection.execute("PRAGMA table_xinfo(documents)")}["url"]
    found = dict(connection.execute("SELECT id, url FROM documents"))
    connection.close()
    compiled = Template.parse(template)
    assert found == {row["id"]: compiled.render_url(row.__getitem__) for row in rows}
    assert (hidden == 2) == generated
    assert report.without_url == 0
    with report.catalog as catalog:
        assert [one.url for one in catalog.search("title").results] == [
            found[one.id] for one in catalog.search("title").results
        ]
