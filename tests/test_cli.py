"""The command line, as a user meets it: what it prints, where, with which exit status, and never a traceback."""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from catalog_search import build, catalog, cli
from catalog_search.cli import main, visible

ROOT = Path(__file__).parent.parent
OECD = ROOT / "data" / "oecd" / "catalog.yaml"
ESCAPES = "\x1b[2J\x1b]0;title\x07\x9b31m\u202e\x7f"
STEERING = re.compile("[\x00-\x09\x0b-\x1a\x1c-\x1f\x7f-\x9f\u202a-\u202e]")
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
pty_needed = pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")


@pytest.fixture(scope="module")
def oecd(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("oecd") / "oecd.db"
    build(OECD, path)
    return path


@pytest.fixture(scope="module")
def steering(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A catalogue whose every column holds what could steer a terminal."""
    path = tmp_path_factory.mktemp("steering") / "steering.db"
    columns = ("title", "text", "words", "unit")
    documents = {"title": "{title}", "text": "{text}", "keywords": ["words"], "metadata": ["unit"], "facets": ["unit"]}
    build(
        {"name": "a", "language": "en", "documents": {"id": "{id}", **documents}},
        path,
        records=[{"id": f"1{ESCAPES}", **{column: f"Wages {column} {ESCAPES} next" for column in columns}}],
    )
    return path


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def child(*arguments: object, **options: Any) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "catalog_search", *map(os.fspath, map(str, arguments))]
    return subprocess.run(command, capture_output=True, **options)


def on_terminal(*arguments: object) -> str:
    """Run a command whose output is a terminal; return what it wrote."""
    import pty

    master, slave = pty.openpty()
    environment = os.environ | {"TERM": "xterm-256color", "COLUMNS": "100"}
    environment.pop("NO_COLOR", None)
    command = [sys.executable, "-m", "catalog_search", *map(str, arguments)]
    process = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, env=environment)
    os.close(slave)
    written = b""
    while True:
        try:
            chunk = os.read(master, 65_536)
        except OSError:  # Linux says so when the other end is closed
            break
        if not chunk:
            break
        written += chunk
    os.close(master)
    assert process.wait() == 0
    return written.decode()


def commands() -> Iterator[tuple[list[str], click.Command]]:
    """Every command with the words that call it."""
    waiting: list[tuple[list[str], click.Command]] = [([], main)]
    while waiting:
        words, command = waiting.pop(0)
        yield words, command
        if isinstance(command, click.Group):
            waiting += [([*words, name], one) for name, one in command.commands.items()]


COMMANDS = {" ".join(words): (words, command) for words, command in commands()}


# --- help -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself(name: str) -> None:
    words, command = COMMANDS[name]
    for option in ("--help", "-h"):
        result = run(*words, option)
        assert result.exit_code == 0
        assert result.output.startswith("Usage: ")
    assert command.help
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert parameter.help, parameter.name


@pytest.mark.parametrize("name", [name for name, (_, one) in COMMANDS.items() if not isinstance(one, click.Group)])
def test_every_short_help_is_a_whole_sentence(name: str) -> None:
    assert not COMMANDS[name][1].get_short_help_str(60).endswith("..."), name


def test_the_commands_are_those_of_the_documentation() -> None:
    assert list(main.commands) == [
        "build",
        "search",
        "fetch",
        "sql",
        "info",
        "check",
        "misses",
        "vocab",
        "evaluate",
        "export",
        "forge",
        "serve",
    ]


def test_the_version_is_that_of_the_package() -> None:
    from importlib.metadata import version

    assert run("--version").output == f"catalog-search, version {version('catalog-search')}\n"


def test_the_limits_said_are_those_of_the_catalogue() -> None:
    assert (cli.LONGEST_PAGE, cli.FARTHEST) == (catalog.LONGEST_PAGE, catalog.FARTHEST)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_can_complete(shell: str) -> None:
    script = shutil.which("catalog-search", path=os.path.dirname(sys.executable))
    assert script, "the package is not installed beside this Python"
    environment = os.environ | {"_CATALOG_SEARCH_COMPLETE": f"{shell}_source"}
    said = subprocess.run([script], env=environment, capture_output=True, text=True)
    assert said.returncode == 0
    assert "_CATALOG_SEARCH_COMPLETE" in said.stdout
    environment |= {"_CATALOG_SEARCH_COMPLETE": "bash_complete", "COMP_WORDS": "catalog-search se", "COMP_CWORD": "1"}
    said = subprocess.run([script], env=environment, capture_output=True, text=True)
    assert said.stdout.split() == ["plain,search", "plain,serve"]


# --- JSON -----------------------------------------------------------------------------------------------

SEARCH_KEYS = [
    "query", "results", "total", "total_relation", "relaxed", "dropped", "ignored", "reason", "suggestions",
    "terms", "notes", "facets",
]  # fmt: skip
RESULT_KEYS = ["id", "title", "url", "excerpt", "tier", "matched"]
PAIR_KEYS = ["asked", "source", "asked_documents", "source_documents", "gain", "verdict", "detail", "file", "line"]
KEYS = {
    "search {} labor": SEARCH_KEYS,
    "search {} xyzzy": SEARCH_KEYS,
    "search {} labor --explain --id DSD_ALFS@DF_SUMTAB": ["query", "id", "explanation"],
    "fetch {} DSD_ALFS@DF_SUMTAB": ["id", "title", "url", "text", "metadata", "provenance"],
    "sql {} labor": ["query", "dialect", "sql", "parameters"],
    "info {}": [
        "name", "title", "language", "publisher", "licence", "source_url", "revision", "retrieved_at", "documents",
        "words", "vocabulary_entries", "facets", "bytes", "format_version", "content_hash", "licence_notes",
    ],
    "check {}": ["database", "ok", "checked", "faults"],
    "check {} --target d1": ["database", "ok", "checked", "faults", "rows_read", "questions_per_day_free_tier"],
    "vocab measure {}": ["database", "vocabulary", "pairs"],
    "vocab suggest {}": ["database", "from", "file", "field", "candidates", "ways", "bad", "bad_lines"],
}  # fmt: skip


@pytest.mark.parametrize("line", KEYS)
def test_the_keys_of_every_object_are_stable(line: str, oecd: Path) -> None:
    result = run(*(word.format(oecd) for word in line.split()), "--json")
    assert result.exit_code == 0, result.output
    assert list(json.loads(result.stdout)) == KEYS[line]


def test_the_keys_of_results_and_pairs_are_stable(oecd: Path) -> None:
    strict = json.loads(run("search", oecd, "labor force", "--json").stdout)
    assert all(list(result) == RESULT_KEYS for result in strict["results"])
    assert strict["results"][0]["matched"]["title"] == [
        {"term": 0, "pattern": "labour", "kind": "vocabulary"},
        {"term": 1, "pattern": "force", "kind": "own"},
    ]
    assert strict["terms"][0] == {"term": "labor", "patterns": ["labor", "labour"], "translated": True}
    relaxed = json.loads(run("search", oecd, "labor xyzzy", "--json", "--explain").stdout)
    assert list(relaxed["results"][0]) == [*RESULT_KEYS, "missing", "explanation"]
    assert relaxed["relaxed"] is True
    assert (relaxed["dropped"], relaxed["reason"]) == (["xyzzy"], None)
    pairs = json.loads(run("vocab", "measure", oecd, "--json").stdout)["pairs"]
    assert all(list(pair) == PAIR_KEYS for pair in pairs)


def test_build_prints_its_report(tmp_path: Path) -> None:
    target = tmp_path / "a.db"
    said = json.loads(run("build", OECD, "-o", target, "--json").stdout)
    assert (said["path"], said["documents"], said["added"]) == (str(target), 1548, 1548)
    text = run("build", OECD, "-o", target).stdout.splitlines()
    assert re.fullmatch(rf"{re.escape(str(target))}: 1,548 documents, [\d,]+ bytes, [\d.]+ s", text[0])
    assert text[1:] == [
        "  added 0, changed 0, removed 0",
        "  vocabulary: 76 pairs, 76 ok",
        f"  content hash {said['content_hash']}",
    ]


def test_build_prints_what_a_maintainer_has_to_know(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,title,code\n1,a,x\n,b,y\n2,c\n1,d,z\n")
    (tmp_path / "words.yaml").write_text("pairs:\n- {asked: pay, source: [wage]}\n- {asked: q, source: [a, c]}\n")
    (tmp_path / "catalog.yaml").write_text(
        "name: a\nlanguage: en\nsource: {path: a.csv}\non_bad_row: skip\nduplicates: first\nvocabulary: words.yaml\n"
        'documents: {id: "{id}", title: "{title}", metadata: [code]}\n'
    )
    said = run("build", tmp_path / "catalog.yaml", "-o", tmp_path / "a.db").stdout
    for line in (
        "  2 documents without url: they cannot be cited as links",
        "  1 row with surplus or missing cells: lines 4",
        "  1 row left out:",
        "    line 3: missing id",
        "  1 id given more than once: 1",
        "  vocabulary: 2 pairs, 1 ok",
        "dead     “wage” occurs nowhere (line 2)",
    ):
        assert line in said


def test_the_database_is_named_after_the_catalogue(tmp_path: Path) -> None:
    assert child("build", OECD, cwd=tmp_path).returncode == 0
    assert [path.name for path in tmp_path.iterdir()] == ["oecd.db"]


# --- exit status, messages ------------------------------------------------------------------------------

RANDOM = bytes(range(256)) * 40
FAILING = {
    "no such settings": ("build {tmp}/none.yaml", 1, "none.yaml: no such file"),
    "settings that are no YAML": ("build {tmp}/broken.yaml", 1, "broken.yaml, line 3: not YAML"),
    "settings that are a folder": ("build {tmp}", 1, "cannot be read"),
    "an output folder": ("build {oecd_yaml} -o {tmp}", 1, "is a folder"),
    "a bad guard": ("build {oecd_yaml} -o {tmp}/a.db --max-removed many", 1, "max-removed is a number"),
    "no database": ("search {tmp}/none.db x", 1, "none.db: no such file; name a database made by"),
    "a folder": ("search {tmp} x", 1, "it is a folder"),
    "random bytes": ("search {tmp}/random.db x", 1, "is damaged or is no SQLite file"),
    "random bytes to info": ("info {tmp}/random.db", 1, "is damaged or is no SQLite file"),
    "random bytes to check": ("check {tmp}/random.db", 1, "is damaged or is no SQLite file"),
    "random bytes to fetch": ("fetch {tmp}/random.db x", 1, "is damaged or is no SQLite file"),
    "random bytes to sql": ("sql {tmp}/random.db x", 1, "is damaged or is no SQLite file"),
    "random bytes to suggest for": ("vocab suggest {tmp}/random.db", 1, "is damaged or is no SQLite file"),
    "random bytes to measure": ("vocab measure {tmp}/random.db", 1, "is damaged or is no SQLite file"),
    "random bytes to serve": ("serve {tmp}/random.db", 1, "is damaged or is no SQLite file"),
    "an empty file": ("search {tmp}/empty.db x", 1, "no catalogue"),
    "another SQLite file": ("search {tmp}/other.db x", 1, "it is a SQLite file but no catalogue"),
    "another format": ("search {tmp}/format.db x", 1, "its format version is 99, this program reads 1; rebuild it"),
    "an unknown id": ("fetch {db} dsd_alfs@df_sumtab", 1, "The nearest ids: DSD_ALFS@DF_SUMTAB"),
    "an unknown id to explain": ("search {db} x --explain --id none", 1, "none"),
    "an unknown facet": ("search {db} x --facet agncy", 1, 'there is no facet "agncy". Did you mean "agency"?'),
    "an unknown facet to filter": ("search {db} x --where agncy=y", 1, 'Did you mean "agency"?'),
    "a vocabulary that is not there": ("vocab measure {db} {tmp}/none.yaml", 1, "none.yaml: no such file"),
    "a condition without value": ("search {db} x --where agency", 2, "it is FACET=VALUE, not “agency”"),
    "a limit of 0": ("search {db} x --limit 0", 2, "'--limit': 0 is not in the range 1<=x<=1000"),
    "a limit that is too large": ("search {db} x --limit 1001", 2, "1001 is not in the range"),
    "a limit that is a word": ("search {db} x --limit ten", 2, "'ten' is not a valid integer"),
    "an offset below 0": ("search {db} x --offset -1", 2, "-1 is not in the range 0<=x<=1000000"),
    "an id without explain": ("search {db} x --id y", 2, "--id goes with --explain"),
    "no question": ("search {db}", 2, "Missing argument 'QUESTION'"),
    "two questions": ("search {db} x y", 2, "unexpected extra argument"),
    "an unknown option": ("search {db} x --limt 3", 2, "No such option '--limt'"),
    "an unknown command": ("serach {db} x", 2, "No such command 'serach'"),
    "an unknown dialect": ("sql {db} x --dialect d", 2, "'d' is not one of"),
    "no command": ("", 2, "Commands:"),
}


@pytest.fixture(scope="module")
def places(oecd: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    tmp = tmp_path_factory.mktemp("places")
    (tmp / "broken.yaml").write_text("name: a\ntitle: [\n")
    (tmp / "random.db").write_bytes(RANDOM)
    (tmp / "empty.db").write_bytes(b"")
    sqlite3.connect(tmp / "other.db").executescript("CREATE TABLE t(x)").connection.close()
    shutil.copy(oecd, tmp / "format.db")
    tamper(tmp / "format.db", "UPDATE catalog SET value = '99' WHERE key = 'format_version'")
    return {"tmp": tmp, "db": oecd, "oecd_yaml": OECD}


def tamper(path: Path, sql: str) -> None:
    connection = sqlite3.connect(path)
    connection.executescript(sql)
    connection.close()


@pytest.mark.parametrize("name", FAILING)
def test_what_cannot_be_done_is_one_message(name: str, places: dict[str, Path]) -> None:
    line, status, words = FAILING[name]
    result = run(*(word.format(**places) for word in line.split()))
    assert result.exit_code == status
    assert words in result.stderr, result.stderr
    assert result.stdout == ""
    assert result.exception is None or isinstance(result.exception, SystemExit)
    if status == 1:
        assert result.stderr.startswith("Error: ")


@pytest.mark.parametrize(
    "where", ["catalog", "documents", "words", "folding", "vocabulary", "statements", "documents_fts"]
)
@pytest.mark.parametrize(
    "line",
    ["search {} é", "search {} xyzzy", "fetch {} x", "info {}", "check {}", "vocab measure {}", "vocab suggest {}"],
)
def test_a_damaged_database_never_gives_a_traceback(where: str, line: str, steering: Path, tmp_path: Path) -> None:
    for number, sql in enumerate((f"DROP TABLE {where}", f"DELETE FROM {where}")):
        copy = Path(shutil.copy(steering, tmp_path / f"{number}.db"))
        tamper(copy, sql)
        result = run(*(word.format(copy) for word in line.split()))
        assert result.exit_code in (0, 1)
        assert result.exception is None or isinstance(result.exception, SystemExit), (sql, result.exc_info)


def test_bytes_flipped_anywhere_never_give_a_traceback(oecd: Path, tmp_path: Path) -> None:
    import random

    chance = random.Random(2026)
    whole = oecd.read_bytes()
    for number in range(40):
        data = bytearray(whole)
        for _ in range(200):
            data[chance.randrange(len(data))] = chance.randrange(256)
        copy = tmp_path / f"{number}.db"
        copy.write_bytes(data)
        for words in (["search", copy, "labor cost"], ["fetch", copy, "DSD_ALFS@DF_SUMTAB"], ["info", copy]):
            result = run(*words)
            assert result.exception is None or isinstance(result.exception, SystemExit), result.exc_info
        copy.unlink()


def test_finding_nothing_is_no_error(oecd: Path) -> None:
    for question in ("", "xyzzy qwrtp", "the"):
        result = run("search", oecd, question, "--no-relax")
        assert result.exit_code == 0
        assert result.stdout.strip()


@pytest.mark.parametrize("question", ["-5", "--limit", "--help", "-", "--"])
def test_a_question_that_begins_with_a_dash_stands_after_two_dashes(question: str, oecd: Path) -> None:
    result = run("search", oecd, "--json", "--", question)
    assert json.loads(result.stdout)["query"] == question


@pytest.mark.skipif(sys.platform == "win32", reason="arguments are no bytes")
def test_a_question_that_is_no_utf8_is_a_question(oecd: Path) -> None:
    command = [
        sys.executable.encode(),
        b"-m",
        b"catalog_search",
        b"search",
        os.fsencode(oecd),
        b"labor \xff",
        b"--json",
    ]
    said = subprocess.run(command, capture_output=True)
    assert said.returncode == 0
    assert json.loads(said.stdout)["total"] > 0


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252", "utf-8"])
def test_what_an_encoding_does_not_have_is_no_error(encoding: str, oecd: Path) -> None:
    environment = os.environ | {"PYTHONIOENCODING": encoding}
    for more in ([], ["--json"]):
        said = child("search", oecd, "labor 年 é", *more, env=environment)
        assert said.returncode == 0, said.stderr
        # click writes UTF-8 where a terminal claims to have nothing but ASCII
        text = said.stdout.decode("utf-8" if encoding == "ascii" else encoding)
        if more:
            assert json.loads(text)["query"] == "labor 年 é"


# --- terminals and pipes --------------------------------------------------------------------------------


def test_piped_output_has_no_colour_and_no_bar(oecd: Path, tmp_path: Path) -> None:
    for words in (
        ["search", oecd, "labor", "--facet", "agency", "--explain"],
        ["build", OECD, "-o", tmp_path / "a.db"],
        ["check", oecd],
        ["vocab", "measure", oecd],
    ):
        said = child(*words)
        assert said.returncode == 0
        assert b"\x1b" not in said.stdout
        assert said.stderr == b""


@pty_needed
def test_a_terminal_has_colours_and_the_words_that_matched_in_bold(oecd: Path) -> None:
    written = on_terminal("search", oecd, "labor force", "--limit", 3)
    assert "\x1b[32m\x1b[1mLabour\x1b[0m \x1b[32m\x1b[1mforce\x1b[0m" in written
    plain = child("search", oecd, "labor force", "--limit", 3).stdout.decode()
    assert COLOUR.sub("", written).replace("\r\n", "\n") == plain


@pty_needed
def test_a_terminal_has_a_progress_bar(tmp_path: Path) -> None:
    written = on_terminal("build", OECD, "-o", tmp_path / "a.db")
    assert "Reading 1,548 rows" in written
    assert "100%" in written
    assert "Reading" not in on_terminal("build", OECD, "-o", tmp_path / "a.db", "--json")


@pytest.mark.parametrize(
    "line",
    [
        "search {} wages --explain --facet unit", "search {} wages", "search {} xyzzy~wages", "sql {} wages~{}",
        "info {}", "check {}", "search {} wages --json",
    ],
)  # fmt: skip
@pty_needed
def test_what_a_catalogue_holds_cannot_steer_a_terminal(line: str, steering: Path) -> None:
    words = [word.format(steering).replace("~", " ") for word in line.split()]
    written = COLOUR.sub("", on_terminal(*words).replace("\r\n", "\n"))
    assert not STEERING.search(written)
    assert "\x1b" not in written


@pty_needed
def test_a_document_cannot_steer_a_terminal(steering: Path) -> None:
    written = on_terminal("fetch", steering, f"1{ESCAPES}").replace("\r\n", "\n")
    assert "Wages title" in written
    assert not STEERING.search(written.replace("\t", ""))
    assert "\x1b" not in written


def test_an_error_cannot_steer_a_terminal(steering: Path) -> None:
    said = run("fetch", steering, f"2{ESCAPES}").stderr
    assert "No document has the id" in said
    assert not STEERING.search(said)
    assert "\x1b" not in said


def test_letters_of_every_script_stay_as_they_are() -> None:
    for text in ("Países Baixos", "می‌خواهم", "日本語", "कर्म", "Ελλάδα", "👩‍🔬 e\u0301", "a\u00adb"):
        assert visible(text) == text


@pytest.mark.skipif(sys.platform == "win32", reason="there is no head")
@pytest.mark.parametrize(
    "line",
    ["search {} o --limit 1000", "search {} o --limit 1000 --json", "vocab measure {}", "vocab suggest {}", "--help"],
)
def test_a_closed_pipe_is_no_error_message(line: str, oecd: Path) -> None:
    command = [sys.executable, "-m", "catalog_search", *(word.format(oecd) for word in line.split())]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.read(1)
    process.stdout.close()
    assert process.stderr is not None
    assert process.stderr.read() == b""
    process.stderr.close()
    process.wait()


# --- sql ------------------------------------------------------------------------------------------------


@pytest.mark.skipif(not shutil.which("sqlite3"), reason="there is no sqlite3 shell")
@pytest.mark.parametrize("dialect", ["glob", "fts", "d1"])
@pytest.mark.parametrize(
    "question",
    [
        "labor force",
        "DSD_ALFS@DF_SUMTAB",
        'it\'s "quoted" \\n labour; -- x',
        "labour\n.quit\tforce\x1b",
        "r&d 15-24",
        "%n ?1",
    ],
)
def test_the_sql_runs_in_the_shell_as_it_is_printed(question: str, dialect: str, oecd: Path) -> None:
    printed = run("sql", oecd, question, "--dialect", dialect).stdout
    said = subprocess.run(["sqlite3", "-json", "-readonly", oecd], input=printed, capture_output=True, text=True)
    assert said.stderr == ""
    found = [row["id"] for row in json.loads(said.stdout or "[]")]
    answer = json.loads(run("search", oecd, question, "--json", "--no-relax", "--limit", 1000).stdout)
    assert found == [result["id"] for result in answer["results"]]


@pytest.mark.parametrize("dialect", ["glob", "fts", "d1"])
def test_the_sql_as_json_runs_with_its_parameters(dialect: str, oecd: Path) -> None:
    said = json.loads(run("sql", oecd, "labor force", "--dialect", dialect, "--json").stdout)
    connection = sqlite3.connect(oecd)
    assert len(connection.execute(said["sql"], said["parameters"]).fetchall()) == 22
    connection.close()


# --- check ----------------------------------------------------------------------------------------------

FAULTS = {
    "a changed normal form": (
        "UPDATE documents SET title_lc = 'other' WHERE id = 'DSD_ALFS@DF_SUMTAB'",
        'title_lc of document "DSD_ALFS@DF_SUMTAB" is not the normal form',
    ),
    "a row less in the index": (
        "INSERT INTO documents_fts(documents_fts, rowid, id_lc, title_lc, keywords_lc, text_lc) "
        "SELECT 'delete', rowid, id_lc, title_lc, keywords_lc, text_lc FROM documents WHERE id = 'DSD_ALFS@DF_SUMTAB'",
        "the index does not hold what the documents say",
    ),
    "a document less": (
        "DELETE FROM documents WHERE id = 'DSD_ALFS@DF_SUMTAB'",
        "the catalogue says 1,548 documents and holds 1,547",
    ),
    "a changed count": (
        "UPDATE words SET documents = 7 WHERE word = 'labour'",
        'the index has 97 documents with the word "labour", the table 7',
    ),
    "an index without its row": (
        "PRAGMA writable_schema = ON; DELETE FROM sqlite_master WHERE name = 'documents_title_lc'",
        "integrity of the file: ",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_check_finds_a_fault(name: str, oecd: Path, tmp_path: Path) -> None:
    sql, words = FAULTS[name]
    copy = Path(shutil.copy(oecd, tmp_path / "a.db"))
    tamper(copy, sql)
    result = run("check", copy)
    assert result.exit_code == 1
    assert words in result.stdout
    said = json.loads(run("check", copy, "--json").stdout)
    assert said["ok"] is False
    assert any(words in fault for fault in said["faults"])


def test_check_of_a_whole_database_finds_none_and_leaves_it_alone(oecd: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copy(oecd, tmp_path / "a.db"))
    copy.chmod(0o444)
    result = run("check", copy)
    assert result.exit_code == 0
    assert "fault" not in result.stdout
    assert copy.read_bytes() == oecd.read_bytes()
    assert [path.name for path in tmp_path.iterdir()] == ["a.db"]


# --- where, facets, explain -----------------------------------------------------------------------------


def test_facets_count_and_conditions_filter(oecd: Path) -> None:
    said = json.loads(run("search", oecd, "labour", "--facet", "agency", "--count", "--json").stdout)
    agencies = said["facets"]["agency"]
    assert sum(agencies.values()) == said["total"]
    first, second = list(agencies)[:2]
    filtered = ["--where", f"agency={first}", "--where", f"agency={second}", "--limit", 1000, "--json"]
    found = json.loads(run("search", oecd, "labour", *filtered).stdout)
    assert found["total"] == agencies[first] + agencies[second]


def test_explain_says_why_a_document_is_not_among_the_results(oecd: Path) -> None:
    said = run("search", oecd, "labour", "--explain", "--id", "SEEA_AEA_A").stdout
    lines = [
        "The document with id SEEA_AEA_A is not among the results.",
        "“labour” is missing: no word starts with “labour”.",
    ]
    assert said.splitlines() == lines
    filtered = ["--where", "agency=ESTAT", "--where", "agency=X", "--explain", "--id", "DSD_ALFS@DF_SUMTAB"]
    assert "ESTAT, X" in run("search", oecd, "labour", *filtered).stdout


# --- what a command loads -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [
        ["search", "{}", "Holanda é"], ["search", "{}", "xyzzy Países"], ["fetch", "{}", "NL"], ["sql", "{}", "Países"],
        ["info", "{}"], ["--help"],
    ],
    ids=" ".join,
)  # fmt: skip
def test_asking_loads_nothing_that_only_building_or_serving_needs(words: list[str], tmp_path: Path) -> None:
    database = tmp_path / "a.db"
    build(ROOT / "data" / "countries-pt" / "catalog.yaml", database)
    program = (
        "import sys\nfrom catalog_search.cli import main\n"
        "try: main(sys.argv[1:])\nexcept SystemExit as end: assert not end.code, end.code\n"
        "print(*sorted({name.partition('.')[0] for name in sys.modules}), file=sys.stderr)"
    )
    command = [sys.executable, "-c", program, *(word.format(database) for word in words)]
    said = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=True)
    loaded = set(said.stderr.split())
    assert not loaded & {"mcp", "sqlite_utils", "yaml", "unidecode", "pydantic", "anyio", "asyncio"}


def test_the_search_as_one_statement_is_printed_and_runs_in_the_shell(tmp_path: Path) -> None:
    target = tmp_path / "a.db"
    build(
        {"name": "jobs", "language": "en", "documents": {"id": "{id}", "title": "{title}"}},
        target,
        records=[{"id": "1", "title": "Labour force"}, {"id": "2", "title": "Wages"}],
    )
    numbered, named = run("sql", str(target), "--ask").stdout, run("sql", str(target), "--ask", "--named").stdout
    bare = [re.sub(r"^--.*\n", "", one, flags=re.M) for one in (numbered, named)]
    said = [one.removesuffix(statement) for one, statement in zip((numbered, named), bare, strict=True)]
    assert bare[0].replace("?1", ":question") == bare[1] != bare[0]
    for printed, comment, parameter in zip((numbered, named), said, ("?1", ":question"), strict=True):
        # As its own first lines say: each kind of caller has one, and the shell's is run.
        assert f"Its only parameter, {parameter}, is the question" in comment
        assert all(caller in comment for caller in ("JavaScript", "Go", "sqlite3", "Datasette"))
        setting = re.search(r"\.parameter set \S+", comment)[0]
        script = f"{setting} \"'wage'\"\n{printed}"
        shown = subprocess.run(["sqlite3", str(target)], input=script, capture_output=True, text=True, check=True)
        assert shown.stdout.startswith("2|Wages|")
    assert json.loads(run("sql", str(target), "--ask", "--json").stdout)["sql"] == bare[0].rstrip(";\n")
    for wrong in ([], ["wage", "--ask"], ["wage", "--named"], ["--ask", "--dialect", "glob"]):
        assert run("sql", str(target), *wrong).exit_code == 2
