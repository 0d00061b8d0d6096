"""Sources: every value arrives as the file has it, with its line, or one message says why not."""

from __future__ import annotations

import csv
import datetime
import gzip
import io
import json
import sqlite3
import tempfile
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from catalog_search.csvfile import CELL_LIMIT, detect_delimiter
from catalog_search.errors import CatalogSearchError, SettingsError, SourceError
from catalog_search.formats import Row, as_row
from catalog_search.jsonfile import JsonText
from catalog_search.settings import Settings
from catalog_search.source import Source, open_source

MESSY = Path(__file__).parents[2] / "shared" / "data" / "messy"
needs_messy = pytest.mark.skipif(not MESSY.is_dir(), reason="../shared/data is not there")


def cases(name: str) -> list[Any]:
    return yaml.safe_load((Path(__file__).parent / "cases" / f"{name}.yaml").read_text("utf-8"))


def source(path: Path | str, needs: tuple[str, ...] | list[str] = ("id", "title"), **keys: str) -> Source:
    """Open a file whose settings name the columns `needs`."""
    first, *others = needs
    documents = {"id": f"{{{first}}}", "title": f"{{{(others or needs)[0]}}}", "metadata": others[1:]}
    mapping = {"name": "a", "language": "en", "source": {"path": str(path), **keys}, "documents": documents}
    return open_source(Settings.from_mapping(mapping))


def columns_of(path: Path, *columns: str, **keys: str) -> list[tuple[int, tuple[Any, ...]]]:
    return [(row.line, tuple(map(row.get, columns))) for row in source(path, columns, **keys)]


def write(folder: Path, case: dict[str, Any]) -> Path:
    path = folder / case["file"]
    data = bytes.fromhex(case["hex"]) if "hex" in case else case["text"].encode()
    path.write_bytes(gzip.compress(data) if case.get("gzip") else data)
    return path


@pytest.mark.parametrize("case", cases("sources"), ids=lambda case: case["name"])
def test_cases(case: dict[str, Any], tmp_path: Path) -> None:
    path = write(tmp_path, case)
    needs = case.get("needs", ["id", "title"])
    if "error" in case:
        with pytest.raises(CatalogSearchError) as caught:
            list(source(path, needs, **case.get("source", {})))
        assert all(words in str(caught.value) for words in case["error"]["says"]), str(caught.value)
        assert caught.value.line == case["error"].get("line")
        return
    opened = source(path, needs, **case.get("source", {}))
    rows = list(opened)
    assert [[row.line, dict(row.values)] for row in rows] == case["rows"]
    assert {row.line: row.surplus for row in rows if row.surplus} == case.get("surplus", {})
    problems = {row.line: row.problem for row in rows if row.problem}
    assert problems.keys() == case.get("problems", {}).keys()
    assert all(words in problems[line] for line, words in case.get("problems", {}).items())
    assert all(words in " ".join(opened.notes) for words in case.get("notes", []))
    assert list(opened) == rows, "a source can be read twice"


# --- any table ------------------------------------------------------------------------------------------

ENCODINGS = ("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "cp1252", "latin-1", "gb18030")


@st.composite
def tables(draw: st.DrawFn) -> tuple[str, str, str, list[list[str]]]:
    """Draw an encoding, a delimiter, a line end, and a table whose cells that encoding holds."""
    encoding = draw(st.sampled_from(ENCODINGS))
    codec = encoding if encoding in ("cp1252", "latin-1") else "utf-8"
    cells = st.text(st.characters(codec=codec) | st.sampled_from(list(',;\t|"\r\n ')), max_size=12)
    # a mark inside the text is a mark to the decoder
    cells = cells.map(lambda cell: cell.replace("\ufeff", ""))
    cells = cells.filter(lambda cell: _survives(cell, encoding))
    width = draw(st.integers(1, 4))
    rows = draw(st.lists(st.lists(cells, min_size=width, max_size=width), max_size=6))
    line_end = draw(st.sampled_from(["\n", "\r\n", "\r"]))
    return encoding, draw(st.sampled_from(",;\t|")), line_end, rows


def _survives(cell: str, encoding: str) -> bool:
    try:
        return cell.encode(encoding).decode(encoding) == cell
    except UnicodeError:
        return False


@given(tables(), st.booleans())
@settings(deadline=None)
def test_any_table_reads_back_unchanged_with_its_lines(
    table: tuple[str, str, str, list[list[str]]], detect: bool
) -> None:
    encoding, delimiter, line_end, rows = table
    width = len(rows[0]) if rows else 2
    header = [f"column {number}" for number in range(width)]
    text = io.StringIO(newline="")
    # csv.writer quotes line ends, and a row of nothing, only when told to
    sure = line_end == "\r\n" and width > 1
    quoting = csv.QUOTE_MINIMAL if sure else csv.QUOTE_ALL
    writer = csv.writer(text, delimiter=delimiter, lineterminator=line_end, quoting=quoting)
    lines = []
    for row in [header, *rows]:
        lines.append(sum(1 for _ in io.StringIO(text.getvalue(), newline="")) + 1)
        writer.writerow(row)
    keys = {"encoding": encoding} if detect else {"encoding": encoding, "delimiter": delimiter}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "table.csv")
        path.write_bytes(text.getvalue().encode(encoding))
        read = [(row.line, list(row.values.values())) for row in source(path, header, **keys)]
    assert read == list(zip(lines[1:], rows, strict=True))


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(), st.lists, max_leaves=20))
@settings(deadline=None)
def test_any_json_value_is_kept_or_named(value: object) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "a.json")
        path.write_text(json.dumps([{"id": 1, "title": value}], indent=1), "utf-8")
        (row,) = source(path)
    assert row.problem is None or "surrogate" in row.problem


@given(st.text(alphabet='[]{}",:\\ \n1aeu-.', max_size=30))
@settings(deadline=None)
def test_any_text_is_json_exactly_when_the_library_says_so(text: str) -> None:
    def read() -> object:
        cursor = JsonText(io.StringIO(text), "a.json")
        value = [cursor.value() for _ in cursor.items()] if cursor.peek() == "[" else cursor.value()
        cursor.end()
        return value

    try:
        expected = json.loads(text)
    except ValueError:
        with pytest.raises(SourceError):
            read()
    else:
        assert read() == expected


@pytest.mark.parametrize("chunk", [1, 2, 3, 7, 64])
def test_json_is_the_same_however_it_is_cut(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("catalog_search.jsonfile._CHUNK", chunk)
    items = [{"id": '\n\\"é', "n": -1.5e10}, 12345, True, None, "text", [[], {}, 1.0], -7]
    text = json.dumps(items, indent=1) + "\n"
    cursor = JsonText(io.StringIO(text), "a.json")
    read = [(cursor.line, cursor.value()) for _ in cursor.items()]
    cursor.end()
    assert [value for _, value in read] == items
    assert [line for line, _ in read] == [2, 6, 7, 8, 9, 10, 15]


# --- limits ---------------------------------------------------------------------------------------------


def test_a_cell_of_any_length_is_read_and_the_limit_of_others_stays(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(f"id,title\n1,{'x' * 200_000}\n2,b\n", "utf-8")
    before = csv.field_size_limit()
    first, second = iter(source(path)), iter(source(path))
    assert len(next(first).text("title")) == len(next(second).text("title")) == 200_000
    assert [row.line for row in first] == [3]
    assert csv.field_size_limit() == max(before, CELL_LIMIT), "the second reader is not done"
    second.close()  # type: ignore[attr-defined]
    assert csv.field_size_limit() == before


def test_deep_nesting_is_a_message(tmp_path: Path) -> None:
    deep = "[" * 5000 + "]" * 5000
    path = tmp_path / "a.json"
    path.write_text('[{"id": 1, "title": ' + deep + "}]", "utf-8")
    with pytest.raises(SourceError, match="nested too deeply"):
        list(source(path))
    path = tmp_path / "a.jsonl"
    path.write_text('{"id": 1, "title": ' + deep + '}\n{"id": 2, "title": "b"}', "utf-8")
    rows = list(source(path))
    assert rows[0].problem and "levels" in rows[0].problem
    path.write_text('{"id": 1, "title": ' + "[" * 200 + "]" * 200 + "}", "utf-8")
    (row,) = source(path)
    assert row.problem and "levels" in row.problem


def test_deep_nesting_outside_the_records_is_a_message(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('{"x": ' + '{"a":' * 5000 + "1" + "}" * 5000 + ', "items": [{"id": 1, "title": "a"}]}')
    with pytest.raises(SourceError, match="nested too deeply"):
        list(source(path))


@pytest.mark.parametrize("kind", ["csv", "json"])
def test_memory_does_not_grow_with_the_rows(kind: str, tmp_path: Path) -> None:
    def lines(count: int) -> Iterator[str]:
        rows = ((number, f"Wages, table {number}") for number in range(count))
        if kind == "csv":
            yield "id,title\n"
            yield from (f'{number},"{title}"\n' for number, title in rows)
            return
        yield "["
        for number, title in rows:
            yield f'{"," if number else ""}\n{{"id": {number}, "title": "{title}"}}'
        yield "]"

    path = tmp_path / f"a.{kind}"
    with path.open("w", encoding="utf-8") as file:
        file.writelines(lines(300_000))
    tracemalloc.start()
    try:
        assert sum(1 for _ in source(path)) == 300_000
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert path.stat().st_size > 8_000_000
    assert peak < 6_000_000


@pytest.mark.parametrize("count", [0, 100_000])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_wrong_bytes_are_placed_exactly(mark: str, count: int, tmp_path: Path) -> None:
    good = mark + "id,title\r\n" + "".join(f"{number},é\r\n" for number in range(count))
    path = tmp_path / "a.csv"
    path.write_bytes(good.encode() + b"x,\xe9\r\n" + b"y,z\r\n")
    with pytest.raises(SourceError) as caught:
        list(source(path))
    assert caught.value.line == count + 2
    assert f"offset {len(good.encode()) + 2} " in str(caught.value)


# --- files that are not what they should be ------------------------------------------------------------


def test_a_missing_file_a_folder_and_a_pipe_are_messages(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="no such file"):
        source(tmp_path / "none.csv")
    with pytest.raises(SourceError, match="is a directory"):
        source(tmp_path)
    with pytest.raises(SourceError, match="not a regular file"):
        source("/dev/null")


def test_a_gzip_cut_short_is_a_message(tmp_path: Path) -> None:
    path = tmp_path / "a.csv.gz"
    packed = gzip.compress(("id,title\n" + "".join(f"{n},{n * 7919}\n" for n in range(100_000))).encode())
    path.write_bytes(packed[: len(packed) // 2])
    with pytest.raises(SourceError, match="damaged or cut short"):
        list(source(path))


def test_a_file_that_changes_while_it_is_read_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("id,title\n1,a\n", "utf-8")
    opened = source(path)
    rows = iter(opened)
    next(rows)
    with path.open("a", encoding="utf-8") as file:
        file.write("2,b\n")
    with pytest.raises(SourceError, match="changed while it was read; run the build again"):
        list(rows)
    with pytest.raises(SourceError, match="changed"):
        opened.check_unchanged()


def test_a_file_replaced_by_an_equal_one_is_a_change(tmp_path: Path) -> None:
    path, other = tmp_path / "a.csv", tmp_path / "b.csv"
    for file in (path, other):
        file.write_text("id,title\n1,a\n", "utf-8")
    opened = source(path)
    other.replace(path)
    with pytest.raises(SourceError, match="changed"):
        list(opened)


def test_the_share_that_is_read_grows(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("id,title\n" + "1,a\n" * 100_000, "utf-8")
    opened = source(path)
    shares = [share for row in opened if row.line % 20_000 == 0 and (share := opened.fraction()) is not None]
    assert shares == sorted(shares) and 0 < shares[0] < shares[-1] <= 1


# --- SQLite ---------------------------------------------------------------------------------------------


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "a.db"
    connection = sqlite3.connect(path)
    connection.executescript(
        """
        CREATE TABLE tables (id, title TEXT, n, "a ""b", picture BLOB);
        INSERT INTO tables VALUES ('007', 'Wages', 1, 'x', x'00ff'), (8, NULL, 0.1, 2.50, NULL);
        CREATE VIEW totals AS SELECT id, title FROM tables;
        """
    )
    connection.close()
    return path


def test_a_table_arrives_as_text(database: Path) -> None:
    assert columns_of(database, "id", "title", "n", 'a "b') == [
        (1, ("007", "Wages", "1", "x")),
        (2, ("8", None, "0.1", "2.5")),
    ]


def test_a_view_or_a_query_is_a_source(database: Path) -> None:
    assert columns_of(database, "id", table="totals") == [(1, ("007",)), (2, ("8",))]
    query = "WITH t AS (SELECT * FROM tables) SELECT id AS code, upper(title) AS title FROM t ORDER BY id DESC;"
    assert columns_of(database, "code", "title", query=query) == [(1, ("007", "WAGES")), (2, ("8", None))]


@pytest.mark.parametrize(
    "query",
    [
        "DELETE FROM tables",
        "SELECT 1; DROP TABLE tables",
        "ATTACH 'other.db' AS other",
        "PRAGMA user_version = 3",
        "SELECT nothing FROM tables",
        "",
        "SELEC 1",
    ],
)
def test_a_query_that_is_not_one_select_is_refused(query: str, database: Path, tmp_path: Path) -> None:
    before = database.read_bytes()
    with pytest.raises(CatalogSearchError):
        list(source(database, query=query or ";"))
    assert database.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["a.db"]


def test_several_tables_have_to_be_told_apart(database: Path) -> None:
    connection = sqlite3.connect(database)
    connection.execute("CREATE TABLE others (id)")
    connection.close()
    with pytest.raises(SourceError, match="several tables: tables, others"):
        source(database)
    with pytest.raises(SourceError, match='Did you mean "tables"'):
        source(database, table="table")


def test_bytes_are_a_bad_row_only_where_they_are_needed(database: Path) -> None:
    rows = list(source(database, ["id", "picture"]))
    assert rows[0].problem and '"picture"' in rows[0].problem
    assert rows[1].problem is None


def test_text_that_is_not_utf8_is_a_bad_row(database: Path) -> None:
    connection = sqlite3.connect(database)
    connection.execute("INSERT INTO tables(id, title) VALUES ('9', CAST(x'436166e9' AS TEXT))")
    connection.commit()
    connection.close()
    assert '"title"' in str(list(source(database))[2].problem)


def test_a_sqlite_file_can_be_packed_and_of_any_name(database: Path, tmp_path: Path) -> None:
    packed = tmp_path / "b.sqlite.gz"
    packed.write_bytes(gzip.compress(database.read_bytes()))
    assert columns_of(packed, "id") == [(1, ("007",)), (2, ("8",))]
    assert columns_of(database.rename(tmp_path / "b.dat"), "id") == [(1, ("007",)), (2, ("8",))]


def test_a_write_ahead_log_is_read_too(database: Path) -> None:
    writer = sqlite3.connect(database)
    writer.execute("PRAGMA journal_mode = wal")
    writer.execute("INSERT INTO tables(id) VALUES ('late')")
    writer.commit()
    assert columns_of(database, "id")[-1] == (3, ("late",))
    writer.close()


def test_a_file_that_is_no_database_is_a_message(tmp_path: Path) -> None:
    (tmp_path / "a.db").write_text("id,title\n")
    with pytest.raises(SourceError, match="not a SQLite file"):
        source(tmp_path / "a.db")
    (tmp_path / "b.db").write_bytes(b"SQLite format 3\0" + b"x" * 5000)
    with pytest.raises(SourceError, match=r"SQLite cannot read it|holds no table"):
        list(source(tmp_path / "b.db"))


# --- records made in Python -----------------------------------------------------------------------------


def rows_of(records: Any) -> list[Row]:
    documents = {"id": "{id}", "title": "{title}"}
    return list(open_source(Settings.from_mapping({"name": "a", "language": "en", "documents": documents}), records))


def test_records_become_text() -> None:
    record = {
        "id": 12,
        "title": None,
        " flag ": True,
        "x": 1.5,
        "day": datetime.date(2026, 10, 1),
        "tags": ("a", 2),
        "set": {"b", "a"},
    }
    (row,) = rows_of(iter([record]))
    assert row == Row(
        1,
        {
            "id": "12", "title": None, "flag": "true", "x": "1.5",
            "day": "2026-10-01", "tags": ["a", "2"], "set": ["a", "b"],
        },
    )  # fmt: skip


def test_a_record_that_cannot_be_kept_is_a_bad_row() -> None:
    good = {"id": 1, "title": "a"}
    rows = rows_of([good, {"id": b"x"}, {"title": "\ud800"}, 7, {"id": 1, " id": 2}, {"id": object()}])
    assert [bool(row.problem) for row in rows] == [False, True, True, True, True, True]
    assert [row.line for row in rows] == [1, 2, 3, 4, 5, 6]


def test_rows_of_sqlite3_are_records() -> None:
    connection = sqlite3.connect(":memory:")
    connection.row_factory = sqlite3.Row
    assert rows_of(connection.execute("SELECT 1 AS id, 'a' AS title")) == [Row(1, {"id": "1", "title": "a"})]


@pytest.mark.parametrize("records", ["text", {"id": 1}, 7])
def test_what_is_no_list_of_records_is_refused(records: Any) -> None:
    with pytest.raises(SourceError, match="iterable of mappings"):
        rows_of(records)


def test_without_source_and_records_the_key_is_named() -> None:
    with pytest.raises(SettingsError, match="key source"):
        rows_of(None)


# --- rows -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("column", "value", "text"),
    [
        ("meta.unit", "EUR", "EUR"),
        ("meta.none", None, ""),
        ("a.b", "literal", "literal"),
        ("items.name", ["x", "y", "z"], "x, y, z"),
        ("meta", {"unit": "EUR"}, '{"unit": "EUR"}'),
        ("null", None, ""),
        ("title.unit", None, ""),
    ],
)
def test_a_row_follows_dotted_paths(column: str, value: object, text: str) -> None:
    items = [{"name": "x"}, {"name": ["y", "z"]}, {"other": 1}]
    row = as_row(
        1,
        {
            "meta": {"unit": "EUR"},
            "a.b": "literal",
            "a": {"b": "nested"},
            "items": items,
            "null": None,
            "title": "t",
        },
    )
    assert (row.get(column), row.text(column)) == (value, text)


def test_a_header_alone_has_a_delimiter() -> None:
    assert detect_delimiter(["id\ttitle, long\n"], ["id"]) == "\t"
    assert detect_delimiter(["id\n"]) == detect_delimiter([]) == ","


# --- real files -----------------------------------------------------------------------------------------


@needs_messy
@pytest.mark.parametrize("path", sorted((MESSY / "csv-spectrum").glob("csvs_*.csv")), ids=lambda path: path.stem)
def test_csv_spectrum_has_its_known_answers(path: Path) -> None:
    answers = json.loads(path.with_name(path.stem.replace("csvs_", "json_") + ".json").read_text("utf-8"))
    if "newlines_crlf" in path.stem:  # the file's line ends were changed, its answers' were not
        answers = json.loads(json.dumps(answers).replace("\\r\\n", "\\n"))
    rows = [dict(row.values) for row in source(path, list(answers[0]))]
    assert rows == answers


@needs_messy
@pytest.mark.parametrize("case", cases("messy_files"), ids=lambda case: case["file"])
def test_messy_files_are_read(case: dict[str, Any]) -> None:
    rows = columns_of(MESSY / case["file"], *case["columns"], **case.get("source", {}))
    assert len(rows) == case.get("rows", len(rows))
    assert rows[0][0] == case["line"]
    assert list(rows[0][1]) == case.get("first", list(rows[0][1]))


@needs_messy
@pytest.mark.parametrize(
    ("name", "encoding"),
    [
        ("cid10_subcategorias_latin1_semicolon.csv", "latin-1"),
        ("naics2017_descriptions_cp1252_T_suffix.csv", "cp1252"),
    ],
)
def test_messy_encodings_are_named(name: str, encoding: str) -> None:
    with pytest.raises(SourceError, match=f"likely .*{encoding}"):
        list(source(MESSY / name, ["Code"] if "naics" in name else ["SUBCAT"]))
