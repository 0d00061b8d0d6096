"""A catalogue in Cloudflare D1 over its HTTP API: the answers of workerd's own D1, and every way a call can fail."""

from __future__ import annotations

import json
import os
import socket
import sqlite3
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from d1local import ADDRESS, TOKEN, Cloudflare
from support import built, cases

from catalog_search import Catalog, DatabaseError, DocumentNotFound, QueryError
from catalog_search.cli import main
from catalog_search.cloudflare import D1

ROWS = [
    *({"id": f"L{n:02}", "title": f"Labour force, region {n:02}", "text": "By sex and age."} for n in range(12)),
    {"id": "W1", "title": "Wages by sector", "keywords": "pay|earnings", "url": "https://x.example/1", "unit": "EUR"},
    {"id": "W2", "title": "Émigrés — 人口", "text": "Cost of living, by café. " * 30},
    {"id": "a/b 1", "title": "Strikes and lockouts", "text": "x"},
]
PAIRS = [{"asked": "labor", "source": ["labour"]}, {"asked": "cost of living", "source": ["consumer price"]}]


# Against workerd's D1 -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("remote")
    return built(ROWS, folder=folder, vocabulary=PAIRS, to=folder / "jobs.db", name="jobs").path


@pytest.fixture(scope="module")
def cloudflare(database: str) -> Iterator[Cloudflare]:
    with closing(Cloudflare()) as started:
        started.load(database)
        yield started


@pytest.fixture
def fresh() -> Iterator[Cloudflare]:
    """An empty D1."""
    with closing(Cloudflare()) as started:
        yield started


def connected(cloudflare: Cloudflare) -> Catalog:
    return Catalog.connect(ADDRESS, token=TOKEN, base_url=cloudflare.api)


QUESTIONS = [
    "labor", "labor force", "wages by sector", "pay", "W1", "émigrés", "人口", "Emigre\u0301s", "cost of living",
    "café", "strikes", "a/b 1", "wages EUR", "region 07", "labor\0force", "labour \ud800 force", "x" * 1_200, "the",
]  # fmt: skip


def test_a_strict_answer_is_that_of_the_file(cloudflare: Cloudflare, database: str) -> None:
    with connected(cloudflare) as remote, Catalog.open(database) as local:
        strict = 0
        for question in QUESTIONS:
            here, there = local.search(question), remote.search(question)
            assert there.relaxed == here.relaxed, question
            if here.relaxed or here.reason:
                continue
            strict += 1
            mine, theirs = here.as_json(), there.as_json()
            mine["total"] = min(mine["total"], 10)
            mine["total_relation"] = "gte" if mine["total"] == 10 else "eq"
            assert theirs == mine, question
        assert strict > 10


def test_a_relaxed_answer_says_what_it_leaves_out(cloudflare: Cloudflare) -> None:
    with connected(cloudflare) as remote:
        answer = remote.search("labor of astronauts")
        assert answer.relaxed and answer.total == 10 and answer.total_relation == "gte"
        assert answer.dropped == answer.results[0].missing == ["astronauts"]
        assert answer.results[0].tier is None and answer.results[0].matched["title"][0].pattern == "labour"
        assert answer.notes == [
            "“labor” was also searched as labour, the wording the source uses.",
            "No document holds all of the question; the nearest are shown. The first one leaves out “astronauts”.",
            "Occurs nowhere in this catalogue: “astronauts”.",
        ]
        assert remote.search("labor of astronauts", relax=False).results == []


@pytest.mark.parametrize(
    ("question", "reason", "note"),
    [
        ("", "empty_query", "The question is empty."),
        (" \t\u3000", "empty_query", "The question is empty."),
        ("?!", "no_words", "The question holds no letters or digits to search for."),
        ("qqqqqq", "no_match", "Nothing was found for “qqqqqq”."),
    ],
)
def test_an_answer_without_results_says_why(cloudflare: Cloudflare, question: str, reason: str, note: str) -> None:
    with connected(cloudflare) as remote:
        answer = remote.search(question)
        assert (answer.results, answer.reason, answer.notes[0]) == ([], reason, note)


def test_a_document_is_that_of_the_file(cloudflare: Cloudflare, database: str) -> None:
    with connected(cloudflare) as remote, Catalog.open(database) as local:
        for row in ROWS:
            here, there = local.fetch(row["id"]), remote.fetch(row["id"])
            assert (there.as_json(), there.markdown()) == (here.as_json(), here.markdown())


def test_an_unknown_id_names_the_nearest(cloudflare: Cloudflare) -> None:
    with connected(cloudflare) as remote:
        for id, near in (("L99", "L00"), ("A/B 1", "a/b 1"), ("w1", "W1"), ("l0", "L00"), ("L0\ud800", "L00")):
            with pytest.raises(DocumentNotFound) as caught:
                remote.fetch(id)
            assert near in caught.value.nearest, id
        with pytest.raises(DocumentNotFound, match=r"^No document has the id “nowhere”\.$"):
            remote.fetch("nowhere")


def test_statements_and_description_are_those_of_the_file(cloudflare: Cloudflare, database: str) -> None:
    with connected(cloudflare) as remote, Catalog.open(database) as local:
        assert remote.statement("labor", "fts") == local.statement("labor", "fts")
        here, there = local.describe(), remote.describe()
        assert there.pop("bytes") > 0 and here.pop("bytes") > 0
        assert there == here


def test_what_it_has_not_is_refused(cloudflare: Cloudflare) -> None:
    refused: list[Callable[[Catalog], object]] = [
        lambda remote: remote.search("wages", facets=["unit"]),
        lambda remote: remote.search("wages", where={"unit": "EUR"}),
        lambda remote: remote.search("wages", count=True),
        lambda remote: remote.search("wages", explain=True),
        lambda remote: remote.search("wages", limit=11),
        lambda remote: remote.search("wages", limit=6, offset=5),
        lambda remote: remote.search("wages", limit=0),
        lambda remote: remote.search(b"wages"),  # type: ignore[arg-type]
        lambda remote: remote.explain("wages", "W1"),
    ]
    with connected(cloudflare) as remote:
        for call in refused:
            with pytest.raises(QueryError):
                call(remote)
        assert len(remote.search("labor", limit=4, offset=6).results) == 4
    with pytest.raises(DatabaseError, match="the catalogue was closed"):
        remote.search("wages")


def test_a_search_takes_few_calls(cloudflare: Cloudflare, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    batch = D1.batch
    monkeypatch.setattr(D1, "batch", lambda self, statements: calls.append(len(statements)) or batch(self, statements))
    with connected(cloudflare) as remote:
        assert len(calls) == 1
        answer = remote.search("labor force")
        assert len(calls) == 3  # the question with its vocabulary, its documents
        assert [result.excerpt for result in answer.results] == ["By sex and age."] * 10
        assert len(calls) == 4


def test_the_database_carries_what_it_is_asked_with(cloudflare: Cloudflare) -> None:
    """Not the package's statements but its own are run."""
    ask = cloudflare.send(sql="SELECT sql FROM statements WHERE name = 'ask'")["results"][0]["sql"]
    cloudflare.send(sql="UPDATE statements SET sql = ?1 WHERE name = 'ask'", params=[f"SELECT * FROM ({ask}) LIMIT 1"])
    try:
        with connected(cloudflare) as remote:
            assert len(remote.search("labor").results) == 1
    finally:
        cloudflare.send(sql="UPDATE statements SET sql = ?1 WHERE name = 'ask'", params=[ask])


def test_a_database_that_is_no_catalogue_is_refused(fresh: Cloudflare) -> None:
    with pytest.raises(DatabaseError, match=r"it is a D1 database but holds no catalogue"):
        connected(fresh)
    fresh.send(
        batch=["CREATE TABLE catalog (key TEXT, value TEXT)", "INSERT INTO catalog VALUES ('format_version', '7')"]
    )
    with pytest.raises(DatabaseError, match=r"its format version is 7, this program reads 1"):
        connected(fresh)


def test_a_table_that_is_gone_is_an_error_and_no_empty_answer(fresh: Cloudflare, database: str) -> None:
    fresh.load(database)
    remote = connected(fresh)
    fresh.send(batch=["DROP TABLE documents_fts"])
    with pytest.raises(DatabaseError, match=r"D1 refused a statement \(no such table: documents_fts: SQLITE_ERROR\)"):
        remote.search("wages")
    fresh.send(batch=["DROP TABLE rules"])
    with pytest.raises(DatabaseError, match=r"a table of the catalogue is missing"):
        connected(fresh)


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("DROP TABLE documents_fts", "its full-text index is missing"),
        ("INSERT INTO documents_fts(documents_fts) VALUES ('delete-all')", "its full-text index is empty"),
    ],
)
def test_an_index_that_is_missing_or_empty_is_an_error_that_says_what_to_run(
    fresh: Cloudflare, database: str, statement: str, said: str
) -> None:
    fresh.load(database)
    fresh.send(batch=[statement])
    for command in ("search", "fetch", "check"):
        done = invoked(fresh, command, "--d1", "account/catalogue", *(["W1"] if command != "check" else []))
        assert done.exit_code == 1
        assert f"{said}, so that nothing would be found; run the script" in done.stderr
        assert "seed.index.sql" in done.stderr


def test_a_catalogue_without_a_word_has_an_index_too(fresh: Cloudflare, tmp_path: Path) -> None:
    fresh.load(built([{"id": "1", "title": "!"}], to=tmp_path / "a.db").path)
    with connected(fresh) as remote:
        assert [result.id for result in remote.search("1").results] == ["1"]


# What D1 gives is looked at at the door ---------------------------------------------------------------------------


MISSHAPEN: dict[str, Callable[[list[dict[str, Any]]], object]] = {
    "a column less": lambda rows: [dict(list(row.items())[1:]) for row in rows],
    "a column more": lambda rows: [row | {"more": 1} for row in rows],
    "no columns": lambda rows: [{} for _ in rows],
    "numbers": lambda rows: [dict.fromkeys(row, 5) for row in rows],
    "texts": lambda rows: [dict.fromkeys(row, "{") for row in rows],
    "nothing": lambda rows: [dict.fromkeys(row) for row in rows],
    "lists": lambda rows: [{name: [1] for name in row} for row in rows],
    "objects": lambda rows: [{name: {} for name in row} for row in rows],
    "rows that are lists": lambda rows: [list(row.values()) for row in rows],
    "rows that are texts": lambda rows: ["x" for _ in rows],
    "an object": lambda rows: {"rows": rows} if rows else [],
    "nothing at all": lambda rows: None if rows else [],
    "no rows": lambda rows: [],
}
USES: dict[str, list[str]] = {
    "a strict search": ["search", "--json", "labor force"],
    "a relaxed search": ["search", "--json", "labor of émigrés and astronauts"],
    "a document": ["fetch", "--json", "W2"],
    "an unknown document": ["fetch", "--json", "w2"],
    "a check": ["check"],
}


@pytest.mark.parametrize("use", USES)
def test_every_answer_of_another_shape_is_one_clear_error(
    cloudflare: Cloudflare, use: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each statement of each call is answered in each other shape, the rest as D1 does."""
    post = D1._post
    kept: dict[bytes, tuple[int, Any, str]] = {}
    spoilt: tuple[int, int, Callable[[list[dict[str, Any]]], object]] | None = None
    calls: list[int] = []

    def spoiling(self: D1, body: bytes) -> tuple[int, Any, str]:
        if body not in kept:
            kept[body] = post(self, body)
        status, headers, content = kept[body]
        found = json.loads(content)
        if spoilt and spoilt[0] == len(calls):
            one = found["result"][spoilt[1]]
            one["results"] = spoilt[2](one["results"])
        calls.append(len(found["result"]))
        return status, headers, json.dumps(found)

    monkeypatch.setattr(D1, "_post", spoiling)
    name, *rest = USES[use]

    def used() -> Any:
        calls.clear()
        return invoked(cloudflare, name, "--d1", "account/catalogue", *rest)

    whole = used()
    assert isinstance(whole.exception, SystemExit) == (use == "an unknown document")
    places = [(call, place) for call, size in enumerate(list(calls)) for place in range(size)]
    assert len(places) > 6
    refused = 0
    for call, place in places:
        for shape, spoil in MISSHAPEN.items():
            spoilt = (call, place, spoil)
            done = used()
            where = (call, place, shape)
            assert done.exception is None or isinstance(done.exception, SystemExit), (where, done.exception)
            if done.exit_code:
                refused += 1
            elif shape not in ("no rows", "texts"):  # which may be what D1 says
                assert done.output == whole.output, where
    assert refused > len(places) * 5


def test_a_document_that_goes_while_it_is_asked_for_is_said(
    cloudflare: Cloudflare, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows are gone from any later call."""
    batch = D1.batch
    for name, question in (
        ("rows_by_ids", "wages by sector"),
        ("rows_by_ids", "wages xyzzy"),
        ("texts_by_rowids", "pay"),
    ):
        with connected(cloudflare) as remote:
            gone = remote._statements[name]

            def without(self: D1, statements: Any, gone: str = gone) -> Any:
                answer = batch(self, statements)
                rows = [
                    type(found)(found[1:]) if sql == gone else found
                    for (sql, _), found in zip(statements, answer.rows, strict=True)
                ]
                return answer._replace(rows=rows)

            monkeypatch.setattr(D1, "batch", without)
            with pytest.raises(DatabaseError, match="a document of the answer is gone"):
                remote.search(question).as_json()
            monkeypatch.setattr(D1, "batch", batch)


# The command line -----------------------------------------------------------------------------------------------


def invoked(cloudflare: Cloudflare, *arguments: str) -> Any:
    environment = {"CLOUDFLARE_API_TOKEN": TOKEN, "CLOUDFLARE_API_BASE_URL": cloudflare.api}
    return CliRunner().invoke(main, list(arguments), env=environment)


def test_the_command_line_searches_and_fetches_over_d1(cloudflare: Cloudflare, database: str) -> None:
    here = CliRunner().invoke(main, ["search", database, "wages by sector"])
    there = invoked(cloudflare, "search", "--d1", "account/catalogue", "wages by sector")
    assert (there.exit_code, there.output) == (0, here.output)
    here = CliRunner().invoke(main, ["fetch", database, "W1", "--json"])
    there = invoked(cloudflare, "fetch", "--d1", ADDRESS, "W1", "--json")
    assert (there.exit_code, there.output) == (0, here.output)
    there = invoked(cloudflare, "search", "--d1", "jobs.db", "wages")
    assert (there.exit_code, "“d1://jobs.db” is no address of a D1 database" in there.output) == (1, True)


@pytest.mark.parametrize(
    "more",
    [["--limit", "11"], ["--limit", "6", "--offset", "5"], ["--offset", "10"], ["--count"], ["--facet", "unit"],
     ["--where", "unit=EUR"], ["--explain"], ["--explain", "--id", "W1"], ["--where", "unit"]],
)  # fmt: skip
def test_what_cannot_be_asked_over_d1_is_said_before_anything_is_sent(more: list[str]) -> None:
    with scripted((200, {}, b"{}")) as server:
        environment = {"CLOUDFLARE_API_TOKEN": TOKEN, "CLOUDFLARE_API_BASE_URL": server.url}
        done = CliRunner().invoke(main, ["search", "--d1", "account/catalogue", "wages", *more], env=environment)
        assert (done.exit_code, server.asked) == (2, [])
        assert "Usage" in done.stderr


def test_check_finds_a_sound_catalogue_sound_and_a_damaged_one_not(fresh: Cloudflare, database: str) -> None:
    fresh.load(database)
    done = invoked(fresh, "check", "--d1", "account/catalogue")
    assert done.exit_code == 0, done.output
    assert [line.split(maxsplit=1)[0] for line in done.output.splitlines()] == ["ok"] * 6
    fresh.send(sql="UPDATE documents SET title_lc = 'wage by sector' WHERE id = 'W1'")
    done = invoked(fresh, "check", "--d1", "account/catalogue", "--json")
    assert (done.exit_code, json.loads(done.output)["faults"]) == (
        1,
        ['title_lc of document "W1" is not the normal form of what it holds'],
    )
    fresh.send(
        batch=["INSERT INTO documents_fts(documents_fts) VALUES ('rebuild')", "DELETE FROM documents WHERE id = 'L05'"]
    )
    faults = json.loads(invoked(fresh, "check", "--d1", "account/catalogue", "--json").output)["faults"]
    assert "the catalogue says 15 documents and holds 14" in faults
    assert any(fault.startswith("the index has ") for fault in faults)


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM vocabulary WHERE asked = 'labor'",
        "DELETE FROM words WHERE word = 'wages'",
        "DELETE FROM trigrams WHERE trigram = 'wag'",
        "DELETE FROM trigram_counts WHERE trigram = 'wag'",
        "DELETE FROM folding WHERE key = 'é'",
        "DELETE FROM id_starts",
        "DELETE FROM stopwords WHERE word = 'the'",
        "DELETE FROM rules WHERE position = 1",
        "DELETE FROM spellings",
        "INSERT INTO prefixes VALUES ('w', 5000)",
        "DELETE FROM statements WHERE name = 'facet_counts'",
        "DELETE FROM catalog WHERE key = 'rows'",
    ],
)
def test_check_finds_every_table_from_which_rows_are_gone(
    fresh: Cloudflare, database: str, tmp_path: Path, statement: str
) -> None:
    fresh.load(database)
    fresh.send(batch=[statement])
    done = invoked(fresh, "check", "--d1", "account/catalogue", "--json")
    local = tmp_path / "local.db"
    local.write_bytes(Path(database).read_bytes())
    with closing(sqlite3.connect(local, isolation_level=None)) as connection:
        connection.execute(statement)
    here = CliRunner().invoke(main, ["check", str(local), "--json"])
    table = statement.split()[2]
    for said in (done, here):
        assert said.exit_code == 1
        assert any(
            fault.startswith((f"the table {table} should have", 'the entry "rows"'))
            for fault in json.loads(said.output)["faults"]
        )


# Faults ---------------------------------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLOUDFLARE_API_TOKEN", TOKEN)


class Scripted:
    """A server that gives the answers it was told to, and keeps what it was asked."""

    def __init__(self, *answers: tuple[int, dict[str, str], bytes]) -> None:
        self.answers, self.asked = list(answers), []  # type: ignore[var-annotated]
        scripted = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                scripted.asked.append((self.path, dict(self.headers), json.loads(body)))
                answers = scripted.answers
                status, headers, content = answers.pop(0) if len(answers) > 1 else answers[0]
                self.send_response(status)
                for name, value in ({"Content-Length": str(len(content))} | headers).items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(content)

            do_GET = do_POST

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"


@contextmanager
def scripted(*answers: tuple[int, dict[str, str], bytes]) -> Iterator[Scripted]:
    made = Scripted(*answers)
    thread = threading.Thread(target=made.server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield made
    finally:
        made.server.shutdown()
        made.server.server_close()
        thread.join()


def secret_is_kept(
    problem: BaseException, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    shown = "".join(traceback.TracebackException.from_exception(problem, capture_locals=True).format())
    printed = capsys.readouterr()
    for text in (str(problem), repr(problem), repr(vars(problem)), shown, printed.out, printed.err, caplog.text):
        assert TOKEN not in text


@pytest.mark.parametrize("case", cases("d1_api"), ids=lambda case: case["name"])
def test_each_answer_that_is_no_success_is_said(
    case: dict[str, Any], capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr("time.sleep", lambda _: None)
    caplog.set_level(0)
    body = case["body"] if isinstance(case["body"], str) else json.dumps(case["body"])
    with scripted((200, {}, b"{}")) as elsewhere:
        headers = {name: value.replace("{elsewhere}", elsewhere.url) for name, value in case.get("headers", {}).items()}
        with scripted((case["status"], headers, body.replace("{token}", TOKEN).encode())) as server:
            with pytest.raises(DatabaseError) as caught:
                Catalog.connect(ADDRESS, base_url=f"{server.url}/client/v4/")
            assert str(caught.value) == f"{ADDRESS}: {case['error']}"
            assert len(server.asked) == case.get("calls", 1)
            assert server.asked[0][0] == "/client/v4/accounts/account/d1/database/catalogue/query"
            assert server.asked[0][1]["Authorization"] == f"Bearer {TOKEN}"
        assert elsewhere.asked == []
    secret_is_kept(caught.value, capsys, caplog)


def answer(*results: list[dict[str, Any]]) -> tuple[int, dict[str, str], bytes]:
    return (
        200,
        {},
        json.dumps({"success": True, "errors": [], "result": [{"results": one} for one in results]}).encode(),
    )


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504, 520])
def test_a_call_is_tried_once_more(status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float] = []
    monkeypatch.setattr("time.sleep", waited.append)
    with scripted((status, {}, b""), (status, {"Retry-After": "900"}, b""), answer([{"a": 1, "b": "x"}])) as server:
        d1 = D1(ADDRESS, token=TOKEN, base_url=server.url)
        with pytest.raises(DatabaseError, match=f"HTTP {status}"):
            d1.execute("SELECT 1")
        assert d1.execute("SELECT ?1", ("ü",)) == [(1, "x")]
        assert waited == [1.0]
        server.answers[:] = [(status, {"Retry-After": "900"}, b""), answer([])]
        assert d1.execute("SELECT 1").fetchone() is None
        assert waited == [1.0, 5.0]
    assert server.asked[2][2] == {"batch": [{"sql": "SELECT ?1", "params": ["ü"]}]}
    assert "SECRET" not in repr(d1)


def test_a_server_that_is_not_there_is_said(
    capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(DatabaseError, match=r"127\.0\.0\.1 cannot be reached \(Connection refused\)") as caught:
        Catalog.connect(ADDRESS, base_url=f"http://127.0.0.1:{port}")
    secret_is_kept(caught.value, capsys, caplog)


@contextmanager
def raw_server(talk: Callable[[socket.socket], None]) -> Iterator[str]:
    """A server that reads a request and then does whatever it likes with the connection, once."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            connection, _ = listening.accept()
            with connection:
                connection.recv(1 << 20)
                talk(connection)
                # A socket that is closed with unread bytes resets, and the answer may be lost.
                with suppress(OSError):
                    connection.settimeout(1)
                    connection.shutdown(socket.SHUT_WR)
                    while connection.recv(1 << 20):
                        pass

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        thread.join()


ENDED = threading.Event()


def drip(connection: socket.socket) -> None:
    """Send an answer that never ends, a byte at a time, so that no single read is slow."""
    try:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
        while not ENDED.wait(0.02):
            connection.sendall(b" ")
    except OSError:
        pass


@pytest.mark.parametrize(
    ("talk", "said"),
    [
        (lambda connection: ENDED.wait(0.6), "127.0.0.1 did not answer within 0.2 seconds"),
        (drip, "127.0.0.1 did not answer within 0.2 seconds"),
        (lambda connection: None, "127.0.0.1 cannot be reached (Remote end closed connection without response)"),
        (lambda connection: connection.sendall(b"SSH-2.0-x\r\n"), "127.0.0.1 cannot be reached (SSH-2.0-x)"),
        (
            lambda connection: connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{"),
            "127.0.0.1 gave an answer that is not D1's (HTTP 200: {); is it the base URL?",
        ),
    ],
    ids=["silent", "slow", "closed", "another protocol", "cut off"],
)
def test_a_connection_that_fails_is_said(
    talk: Callable[[socket.socket], None],
    said: str,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    ENDED.clear()
    with raw_server(talk) as url:
        with pytest.raises(DatabaseError) as caught:
            Catalog.connect(ADDRESS, base_url=url, seconds=0.2 if "within" in said else 30)
        ENDED.set()
    assert str(caught.value) == f"{ADDRESS}: {said}"
    secret_is_kept(caught.value, capsys, caplog)


@pytest.mark.parametrize(
    "address",
    ["", "d1://", "d1://a", "d1://a/", "d1:///b", "d1://a/b/c", "d1://a/../b", "d1://a/b?c", "D1://a/b", "https://a/b",
     "d1://a b/c", "d1://a/b\n", f"d1://{'a' * 65}/b", "d1://á/b"],
)  # fmt: skip
def test_an_address_that_is_none_is_refused(address: str) -> None:
    with pytest.raises(DatabaseError, match="it is d1://ACCOUNT/DATABASE"):
        Catalog.connect(address, token=TOKEN)


@pytest.mark.parametrize("token", ["", " ", "a b", "SECRET\r\nX: y", "SECRÉT", "SECRET\0"])
def test_a_token_that_is_none_is_refused_without_being_shown(token: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLOUDFLARE_API_TOKEN", token) if "\0" not in token else None
    with pytest.raises(DatabaseError) as caught:
        Catalog.connect(ADDRESS, token=token if "\0" in token else None, base_url="http://127.0.0.1:1")
    assert "CLOUDFLARE_API_TOKEN" in str(caught.value) and "SECR" not in str(caught.value)


@pytest.mark.parametrize(
    "base",
    ["http://api.cloudflare.com/client/v4", "ftp://127.0.0.1", "127.0.0.1:80", "https://", "https://u:p@x.example",
     "https://x.example/?a=b", "http://127.0.0.1.x.example", "http://[::1", "file:///etc/passwd"],
)  # fmt: skip
def test_a_base_url_that_would_show_the_token_or_is_none_is_refused(base: str) -> None:
    with pytest.raises(DatabaseError, match="the base URL of the API must"):
        Catalog.connect(ADDRESS, token=TOKEN, base_url=base)


def test_nothing_of_it_is_loaded_before_it_is_used(database: str) -> None:
    program = "import sys, catalog_search; catalog_search.Catalog.open(sys.argv[1]).search('a'); print(*sys.modules)"
    said = subprocess.run([sys.executable, "-c", program, database], capture_output=True, text=True, check=True)
    assert not set(said.stdout.split()) & {
        "catalog_search.remote",
        "catalog_search.cloudflare",
        "urllib.request",
        "http",
    }


def test_asking_over_d1_loads_only_what_asking_needs(cloudflare: Cloudflare) -> None:
    program = f"import sys, catalog_search as c; c.Catalog.connect('{ADDRESS}').search('wages'); print(*sys.modules)"
    environment = os.environ | {"CLOUDFLARE_API_TOKEN": TOKEN, "CLOUDFLARE_API_BASE_URL": cloudflare.api}
    said = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment, cwd=Path("/")
    )
    loaded = {name.partition(".")[0] for name in said.stdout.split()}
    assert not loaded & {"mcp", "sqlite_utils", "yaml", "unidecode", "pydantic", "anyio", "asyncio", "click"}
