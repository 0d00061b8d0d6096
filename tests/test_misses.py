"""A log of questions: each that found nothing is listed, and no line that cannot be read takes another with it."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from chat import Reply, chat, items, status
from click.testing import CliRunner, Result
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from served import serving
from support import built, write_vocabulary
from wires import SERVE, Child

from catalog_search import SourceError
from catalog_search.cli import main
from catalog_search.formats import read_json_lines
from catalog_search.misses import Miss, find_misses
from catalog_search.questionlog import BadLine, Logged, read_log
from catalog_search.relaxing import Relaxed
from catalog_search.server.configuration import Collection, Configuration
from catalog_search.server.journal import Journal, open_queries
from catalog_search.server.model import Model
from catalog_search.trial import Trial

ROWS = [
    {"id": "1", "title": "Unemployment rate"},
    {"id": "2", "title": "Claims paid by insurers"},
    {"id": "3", "title": "Joblessness by sex"},
]


def jsonl(path: Path, *lines: object) -> str:
    path.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), "utf-8")
    return str(path)


def questions(path: str, column: str | None = None) -> tuple[list[tuple[int, str]], list[tuple[int, str]]]:
    """Return line and question, and line and reason of what cannot be read."""
    found = list(read_log(path, column))
    return (
        [(one.line, one.query) for one in found if isinstance(one, Logged)],
        [(one.line, one.reason) for one in found if isinstance(one, BadLine)],
    )


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["misses", *map(str, arguments)])


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("misses") / "a.db"
    built(ROWS, to=path)
    return path


# --- reading a log


@pytest.mark.parametrize("name", ["query", "question", "q", "search_query", "search_term", "search", "keyword", "text"])
def test_a_column_of_questions_is_known_by_its_name(tmp_path: Path, name: str) -> None:
    (tmp_path / "a.csv").write_text(f"when,{name.upper()}\n1,wages\n2,rents\n", "utf-8")
    assert questions(str(tmp_path / "a.csv")) == ([(2, "wages"), (3, "rents")], [])
    assert questions(jsonl(tmp_path / "a.jsonl", {"when": 1, name: "wages"})) == ([(1, "wages")], [])


def test_a_column_may_be_named(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("query,Frage\nwrong,wages\n", "utf-8")
    assert questions(str(tmp_path / "a.csv"), "Frage") == ([(2, "wages")], [])
    assert questions(jsonl(tmp_path / "a.jsonl", {"query": "wrong", "Frage": "wages"}), "Frage")[0] == [(1, "wages")]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_delimited_logs_of_any_form_are_read(tmp_path: Path, delimiter: str, encoding: str, end: str) -> None:
    asked = ["wages", 'the "best" wages', f"a{delimiter}b", "two\nlines", "câncer", "人口"]
    with open(tmp_path / "a.log", "w", encoding=encoding, newline="") as file:
        writer = csv.writer(file, delimiter=delimiter, lineterminator=end)
        writer.writerow(["n", "question"])
        writer.writerows(enumerate(asked))
    found, bad = questions(str(tmp_path / "a.log"))
    assert ([one for _, one in found], bad) == (asked, [])


def test_a_bad_line_is_named_and_no_other_is_lost(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(
        b'{"query": "one"}\nnot json\n[1]\n\n{"asked": "x"}\n{"query": 5}\n{"query": " "}\n{"query": "\xff"}\n'
        b'{"query": "two"\n{}\n' + b"[" * 100_000 + b'\n{"query": null}\n{"query": "three"}'
    )
    found, bad = questions(str(path))
    assert found == [(1, "one"), (13, "three")]
    assert [line for line, _ in bad] == [2, 3, 5, 6, 7, 8, 9, 10, 11, 12]
    reasons = dict(bad)
    assert reasons[2] == "not JSON: Expecting value at character 1"
    assert "it has asked" in reasons[5]
    assert reasons[6] == '"query" is not text'
    assert reasons[7] == '"query" is empty'
    assert reasons[8] == '"query" is not UTF-8'


def test_a_line_that_was_cut_off_is_told_of_in_whole_words(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"query": "one"}\n{"query": "tw\n{"query": "\\x"}\n{"query": "thr', "utf-8")
    assert questions(str(path))[1] == [
        (2, "not JSON: Invalid control character at character 14"),
        (3, "not JSON: Invalid \\escape at character 12"),
        (4, "not JSON: Unterminated string starting at character 11"),
    ]
    text = path.read_text("utf-8").splitlines()
    assert [row.problem for row in read_json_lines(text)][1:] == [
        "not JSON: Unterminated string starting at character 11",
        "not JSON: Invalid \\escape at character 12",
        "not JSON: Unterminated string starting at character 11",
    ]


def test_an_open_quotation_mark_spoils_its_own_line_only(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b'n,query\n1,one\n2,"open\n3,three\n4,"four"x\n5\n6,\xff\n7,"sev""en"\n8,"two\nlines"\n9,nine')
    found, bad = questions(str(path))
    assert found == [(2, "one"), (4, "three"), (8, 'sev"en'), (9, "two\nlines"), (11, "nine")]
    assert [line for line, _ in bad] == [3, 5, 6, 7]


SLOW = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
WORDS = st.text(st.sampled_from("abc \"',;é\n"), min_size=1, max_size=8).filter(lambda one: bool(one.strip()))


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=SLOW,
    phases=[Phase.explicit, Phase.generate],
)
@given(st.lists(st.tuples(WORDS, st.booleans()), min_size=1, max_size=12))
def test_every_good_line_of_a_log_is_read(tmp_path: Path, lines: list[tuple[str, bool]]) -> None:
    good = [json.dumps({"q": text}) for text, _ in lines]
    written = [text if whole else text[:-2] for text, (_, whole) in zip(good, lines, strict=True)]
    (tmp_path / "a.jsonl").write_text("{}\n" + "\n".join(written), "utf-8")
    found, bad = questions(str(tmp_path / "a.jsonl"))
    assert [text for _, text in found] == [text for text, whole in lines if whole]
    assert len(found) + len(bad) == len(lines) + 1


def test_a_file_that_is_no_log_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="cannot be read"):
        list(read_log(str(tmp_path / "none")))
    (tmp_path / "a.csv").write_text("id,title\n1,wages\n", "utf-8")
    with pytest.raises(SourceError, match=r"no column is “query” or .*its header is “id”, “title”; name the column"):
        list(read_log(str(tmp_path / "a.csv")))
    (tmp_path / "b.csv").write_text("", "utf-8")
    assert questions(str(tmp_path / "b.csv")) == ([], [])


def test_a_long_log_is_read_line_by_line(tmp_path: Path) -> None:
    import tracemalloc

    path = tmp_path / "a.jsonl"
    line = json.dumps({"query": "wages", "note": "x" * 1_000}) + "\n"
    path.write_text(line * 20_000, "utf-8")
    told: list[tuple[float | None, int]] = []
    tracemalloc.start()
    found = sum(isinstance(one, Logged) for one in read_log(str(path), None, lambda *one: told.append(one)))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found == 20_000
    assert peak < 2_000_000  # the file has 20
    assert told == [(pytest.approx(number / 20_000), number) for number in range(1_000, 20_001, 1_000)]


# --- what was asked in vain


def test_questions_without_an_answer_are_folded_grouped_and_counted(tmp_path: Path, database: Path) -> None:
    asked = ["joblesness", "Joblesness ", "zebra", "unemployment"]
    log = jsonl(tmp_path / "a.jsonl", *({"query": one} for one in asked))
    done = run(log, "--db", database, "--json")
    found = json.loads(done.output)
    assert done.exit_code == 0
    assert [(one["query"], one["count"]) for one in found["misses"]] == [("joblesness", 2), ("zebra", 1)]
    assert found["misses"][0]["unknown"] == {"joblesness": ["joblessness"]}
    assert found["misses"][1]["unknown"] == {"zebra": []}
    assert (found["questions"], found["distinct"], found["missed"]) == (4, 3, 3)


def test_only_the_words_that_occur_nowhere_are_named(tmp_path: Path, database: Path) -> None:
    log = jsonl(tmp_path / "a.jsonl", {"query": "unemployment claims"}, {"query": "paid leaves-claims unemploymant"})
    with Trial.open(database) as catalog:
        found = find_misses(log, catalog)
    assert found.misses == [
        Miss("paid leaves claims unemploymant", 1, {"leaves": [], "unemploymant": ["unemployment"]}),
        Miss("unemployment claims", 1, {}),
    ]


def test_without_a_catalogue_the_log_tells_what_was_missed(tmp_path: Path) -> None:
    log = jsonl(
        tmp_path / "a.jsonl",
        {"query": "a b", "tool": "search", "results": 0, "relaxed": False},
        {"query": "A  b", "results": 3, "relaxed": True},
        {"query": "c", "results": 3, "relaxed": False},
        {"query": "d", "tool": "search_text", "results": 0, "relaxed": False},
        {"query": "e"},
    )
    found = find_misses(log)
    assert (found.misses, found.questions, found.missed, found.untold) == ([Miss("a b", 2, {})], 5, 2, 2)
    with pytest.raises(SourceError, match="does not say which questions had results; name the catalogue"):
        find_misses(jsonl(tmp_path / "b.jsonl", {"query": "a"}))


def test_what_a_log_says_was_missed_is_not_guessed_from_its_results(tmp_path: Path) -> None:
    log = jsonl(
        tmp_path / "a.jsonl",
        {"query": "a", "tool": "verified_search", "results": 0, "relaxed": False, "missed": False},
        {"query": "b", "tool": "search_evidence", "results": 3, "relaxed": True, "missed": True},
        {"query": "c", "tool": "search", "results": 0, "relaxed": None, "missed": None},
    )
    found = find_misses(log)
    assert (found.misses, found.untold) == ([Miss("b", 1, {})], 1)
    (tmp_path / "a.csv").write_text("query,results,missed\na,0,False\nb,3,True\nc,0,\n", "utf-8")
    found = find_misses(str(tmp_path / "a.csv"))
    assert (found.misses, found.untold) == ([Miss("b", 1, {})], 1)


def test_a_delimited_log_tells_it_too(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("query,results\nwages,0\nrents,12\nwages,0\n", "utf-8")
    assert find_misses(str(tmp_path / "a.csv")).misses == [Miss("wages", 2, {})]


def test_redacted_no_question_is_printed(tmp_path: Path, database: Path) -> None:
    secret = ["my neighbour unemploymant", "zebra 5551234", "x9y", "unemployment claims"]
    log = jsonl(tmp_path / "a.jsonl", *({"query": one, "results": 0} for one in [*secret, secret[0]]))
    for options in ([], ["--db", database]):
        found = json.loads(run(log, "--redact", "--json", *options).output)
        words = {one["word"]: one["count"] for one in found["misses"]}
        assert words["neighbour"] == words["unemploymant"] == 2
        assert words["zebra"] == 1
        assert all(word.isalpha() for word in words)
        assert ("claims" in words) == (not options)  # the catalogue has it
        text = run(log, "--redact", *options).output
        assert not any(one in text for one in [*secret, "5551234", "x9y"])


def test_questions_of_signs_and_of_nothing_are_counted(tmp_path: Path, database: Path) -> None:
    log = jsonl(tmp_path / "a.jsonl", {"query": "???"}, {"query": "???"}, {"query": "the"}, {"query": "\x00wages"})
    with Trial.open(database) as catalog:
        assert [(one.query, one.count) for one in find_misses(log, catalog).misses] == [("???", 2), ("", 1), ("the", 1)]


def test_bad_lines_go_to_standard_error_and_what_is_printed_steers_no_terminal(tmp_path: Path, database: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text("{bad\n" * 30 + json.dumps({"query": "zebra \x1b[2J"}) + "\n", "utf-8")
    done = run(path, "--db", database)
    assert done.exit_code == 0
    assert "a.jsonl, line 1: not JSON" in done.stderr
    assert "and 10 more lines without a question" in done.stderr
    assert done.stdout.splitlines() == ["  1  zebra 2j  (zebra; 2j)", "1 question, 1 without a strict answer"]
    found: dict[str, Any] = json.loads(run(path, "--db", database, "--json").stdout)
    assert found["bad"] == len(found["bad_lines"]) == 30
    assert found["bad_lines"][29] == {"file": str(path), "line": 30, "reason": found["bad_lines"][0]["reason"]}


def test_what_cannot_be_read_ends_with_one_message(tmp_path: Path, database: Path) -> None:
    for arguments in ([tmp_path / "none"], [jsonl(tmp_path / "a.jsonl", {"query": "a"}), "--db", tmp_path / "none.db"]):
        done = run(*arguments)
        assert done.exit_code == 1
        assert done.stderr.startswith("Error: ")
        assert "Traceback" not in done.output


def test_a_question_is_missed_exactly_if_it_has_no_strict_answer(database: Path) -> None:
    words = ["unemployment", "rate", "claims", "zebra", "joblesness", "the", "1", "3", "???", "", " ", "\x00a", "x-ray"]
    with Trial.open(database) as catalog:
        for one in [*words, *(f"{one} {other}" for one in words for other in words)]:
            assert (catalog.missed(one) is None) == bool(catalog.search(one, relax=False).total), one


def test_the_nearest_words_are_looked_for_once_for_each_word(
    tmp_path: Path, database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[str] = []
    look = Relaxed._look_for_nearest

    def counted(self: Relaxed, word: str) -> list[tuple[str, int, float]]:
        looked.append(word)
        return look(self, word)

    monkeypatch.setattr(Relaxed, "_look_for_nearest", counted)
    log = jsonl(tmp_path / "a.jsonl", *({"query": f"joblesness zebra {number % 7}"} for number in range(700)))
    told: list[tuple[float | None, int]] = []
    with Trial.open(database) as catalog:
        found = find_misses(log, catalog, progress=lambda *one: told.append(one))
    assert found.missed == 700
    assert len(looked) == len(set(looked)) <= 9
    assert told[-1] == (1.0, 700)


def test_a_long_number_is_not_called_deep(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(f'{{"query": "a", "n": {"9" * 10_000}}}\n' + "[" * 100_000 + '\n{"query": "b"}\n', "utf-8")
    assert questions(str(path)) == (
        [(3, "b")], [(1, "a number has too many digits"), (2, "not JSON: nested too deeply")],
    )  # fmt: skip


def test_a_log_of_which_no_line_can_be_used_is_an_error(tmp_path: Path, database: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"query": 1}\n{"query": ""}\n', "utf-8")
    empty = write_vocabulary(tmp_path / "v.yaml", [])
    commands = [
        ["misses", path], ["misses", path, "--db", database, "--json"],
        ["vocab", "suggest", database, "--from", "log", path], ["vocab", "diff", database, empty, empty, "--log", path],
    ]  # fmt: skip
    for command in commands:
        done = CliRunner().invoke(main, [*map(str, command)])
        assert done.exit_code == 1, command
        assert 'a.jsonl, line 1: holds no question, none of its 2 lines can be used: "query" is not text' in done.stderr
    path.write_text("", "utf-8")
    assert run(path, "--db", database).exit_code == 0


def test_a_long_question_is_shown_by_its_beginning(tmp_path: Path, database: Path) -> None:
    long = {"query": "zebra " * 300_000}
    word = {"query": "y" * 2_000_000}
    names = dict.fromkeys(("n" * 1_000_000, "m"), "x")
    log = jsonl(tmp_path / "a.jsonl", long, word, names)
    done = run(log, "--db", database)
    assert done.exit_code == 0
    assert max(map(len, done.output.splitlines())) < 1_000
    old, new = (write_vocabulary(tmp_path / f"{n}.yaml", [{"asked": "zebra", "source": n}]) for n in ("rate", "claims"))
    judged = jsonl(tmp_path / "j.jsonl", {**long, "ids": ["1"]}, {"query": "zebra", "ids": ["1"]})
    for command, option in (("diff", ["--log", log, "--judged", judged]), ("accept", ["--judged", judged])):
        done = CliRunner().invoke(main, ["vocab", command, *map(str, [database, old, new, *option])])
        assert done.exit_code == (command == "accept"), done.output[-2_000:]
        assert "zebra" in done.output
        assert max(map(len, done.output.splitlines())) < 1_000


# --- the log of a server


def test_what_a_server_logs_is_read(database: Path, tmp_path: Path) -> None:
    log = tmp_path / "queries.jsonl"
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "0"}}
    asked = ["unemployment", "joblesness", "Joblesness!", "zebra"]
    messages = [
        {"id": 0, "method": "initialize", "params": hello},
        {"method": "notifications/initialized"},
        *(
            {"id": place, "method": "tools/call", "params": {"name": "search", "arguments": {"query": one}}}
            for place, one in enumerate(asked, 1)
        ),
    ]
    command = [sys.executable, "-m", "catalog_search", "serve", str(database), "--log-queries", str(log)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert process.stdin is not None
    assert process.stdout is not None
    for message in messages:
        process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        process.stdin.flush()
        while "id" in message and json.loads(process.stdout.readline()).get("id") != message["id"]:
            pass
    process.stdin.close()
    assert process.wait(60) == 0
    process.stdout.close()
    with Trial.open(database) as catalog:
        found = find_misses(str(log), catalog)
    assert [(one.query, one.count) for one in found.misses] == [("joblesness", 2), ("zebra", 1)]
    # without the catalogue the log's own word counts, and it is the same
    alone = find_misses(str(log))
    assert [(one.query, one.count) for one in alone.misses] == [("joblesness", 2), ("zebra", 1)]
    assert alone.untold == found.bad == alone.bad == 0


ITEM = {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]}
OTHER = {"type": "object", "properties": {"wage": {"type": "number"}}, "required": ["wage"]}
HOMES = [
    {"id": "1", "title": "Rents of flats", "url": "https://x.example/1"},
    {"id": "2", "title": "Mortgages", "url": ""},
]
ASKED: dict[str, list[tuple[dict[str, Any], int, bool | None, bool | None]]] = {
    "search": [({"query": "rents", "offset": 50}, 0, False, False), ({"query": "rents " * 2_000}, 0, None, None)],
    "search_evidence": [
        ({"query": "rents", "offset": 50}, 0, False, False),
        ({"query": "rents", "path_prefix": "docs/"}, 0, False, None),
        ({"query": "rents", "revision": "7"}, 0, None, None),
        ({"query": "rents", "where": {"year": "2024"}}, 0, None, None),
    ],
    "verified_search": [
        ({"query": "rents", "schema": OTHER}, 0, False, False),
        ({"query": "mortgages"}, 0, False, False),  # found, and no item: it has no address
        ({"query": "rents", "schema": "none"}, 0, None, None),
    ],
}
"""Tool → calls, each with what is written down: how many results, whether relaxed, whether the question was missed."""


def test_of_every_tool_only_what_had_no_strict_answer_is_logged_as_missed(database: Path, tmp_path: Path) -> None:
    built(HOMES, to=tmp_path / "homes.db", name="homes")
    log = tmp_path / "queries.jsonl"
    served = Child(str(tmp_path / "homes.db"), [*SERVE, "--tools", "all", "--log-queries", str(log), str(database)])
    try:
        served.handshake()
        listed = served.request("tools/list")["result"]["tools"]
        assert {one["name"] for one in listed if "query" in one["inputSchema"]["properties"]} == set(ASKED)
        for tool, calls in ASKED.items():
            log.write_text("", "utf-8")
            more = {"schema": ITEM} if tool == "verified_search" else {}
            every: list[tuple[dict[str, Any], int, bool | None, bool | None]] = [
                ({"query": "rents"}, 1, False, False),
                ({"query": "rents", "collections": ["tested"]}, 0, False, None),
                ({"query": "rents zebra"}, 1, True, True),
                ({"query": "zebra"}, 0, False, True),
                ({"query": "???"}, 0, False, True),
                *calls,
            ]
            for arguments, *_ in every:
                served.call(tool, **{**more, **arguments})
            served.call(tool)
            served.call("fetch", id="zebra")
            served.call("read_document", id="zebra")
            served.call("list_collections")
            lines = [json.loads(line) for line in log.read_text("utf-8").splitlines()]
            assert lines == [
                {"query": one["query"], "tool": tool, "results": count, "relaxed": relaxed, "missed": missed}
                for one, count, relaxed, missed in every
            ]
            found = json.loads(run(log, "--json").output)
            assert [one["query"] for one in found["misses"]] == ["???", "rents zebra", "zebra"], tool
            assert found["untold"] == sum(missed is None for *_, missed in every)
    finally:
        served.close()


@pytest.mark.parametrize("reply", [items(), status(500)])
def test_a_model_that_finds_nothing_or_fails_makes_no_miss(tmp_path: Path, reply: Reply) -> None:
    built(HOMES, to=tmp_path / "homes.db", name="homes")
    log = tmp_path / "queries.jsonl"
    configuration = Configuration(
        (Collection(str(tmp_path / "homes.db"), "homes", True),), anonymous=True, tools=("all",)
    )
    with chat(reply) as server, open_queries(str(log)) as queries:
        with serving(configuration, Journal(queries), Model(server.url, "m", "")) as here, here.client() as client:
            for query in ("rents", "rents zebra"):
                client.call("verified_search", query=query, schema=ITEM)
        assert server.asked
    assert [one.query for one in find_misses(str(log)).misses] == ["rents zebra"]
