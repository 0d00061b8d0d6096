"""A front before real servers: one right call for any, the result first, and no token with another caller's."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from fronts import VENDOR, Vendor, front, said, settings, vendor
from served import Client, serving
from support import cases

from catalog_search import build
from catalog_search.server.configuration import Collection, Configuration
from catalog_search.server.upstream import Front
from catalog_search.server.upstream_sessions import Sessions
from catalog_search.server.upstream_settings import UpstreamSettings, load_upstream

ROOT = Path(__file__).parent.parent
SHARED_CALLS = ROOT.parent / "shared" / "cases" / "malformed_calls.json"
CALLS = cases("calls")
SAYS_NOTHING = "Nothing was looked up: the call holds no text for “query”."
TOKENS = ["first-callers-secret", "second-callers-secret"]


@pytest.fixture(scope="module", params=["sse", "json"])
def behind(request: pytest.FixtureRequest) -> Iterator[Vendor]:
    with vendor(request.param) as started:
        yield started


@pytest.fixture(scope="module")
def streaming() -> Iterator[Vendor]:
    with vendor("sse") as started:
        yield started


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("oecd") / "oecd.db"
    build(ROOT / "data" / "oecd" / "catalog.yaml", path)
    return str(path)


@contextmanager
def called(found: UpstreamSettings) -> Iterator[Any]:
    """Yield what calls a front without a wire before it; the server behind is real."""

    async def one(name: Any, arguments: Any, authorization: str | None) -> dict[str, Any]:
        sessions = Sessions(found.target)
        try:
            return await Front(found, sessions).answer(name, arguments, authorization)
        finally:
            await sessions.close()

    yield lambda name, arguments, authorization=None: asyncio.run(one(name, arguments, authorization))


# What is advertised ---------------------------------------------------------------------------------------------


def test_one_tool_is_advertised_and_never_the_upstreams(streaming: Vendor) -> None:
    before = len(streaming.log())
    given = {"tools": "web_search,find", "canonical_param": "question", "optional_aliases": "{count: {type: integer}}"}
    with front(settings(streaming.url, **given)) as served, served.client() as client:
        listed = client.message("tools/list")["result"]
        hello = client.message("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {
            "name": "tests", "version": "1"}})["result"]  # fmt: skip
    assert [tool["name"] for tool in listed["tools"]] == ["web_search"]
    schema = listed["tools"][0]["inputSchema"]
    assert list(schema["properties"]) == ["question", "count"]
    assert (schema["required"], schema["additionalProperties"]) == (["question"], False)
    assert schema["properties"]["count"]["type"] == "integer"
    assert "vendor" not in json.dumps([listed, hello])
    assert len(streaming.log()) == before  # nobody asked it


def test_health_does_not_touch_the_server_behind() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(0.2)
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"
        with front(settings(url)) as served, served.client() as client:
            assert client.request("GET", "/healthz").json()["ok"] is True
            assert client.call("web_search")["isError"] is False  # which teaches
            with pytest.raises(TimeoutError):
                listening.accept()


# One right call -------------------------------------------------------------------------------------------------


def test_a_canonical_call_is_handed_on_and_its_result_comes_back_as_it_is(behind: Vendor) -> None:
    before = len(behind.calls())
    with front(settings(behind.url)) as served, served.client() as client:
        result = client.call("web_search", query="  wages, of “nurses”\n ")
    assert behind.calls()[before:] == [{"name": "vendor_search", "arguments": {"q": "  wages, of “nurses”\n "}}]
    assert list(result) == ["content"] and len(result["content"]) == 1
    assert said(result)["q"] == "  wages, of “nurses”\n "


def test_the_calls_seen_in_the_wild_become_one_right_call_each(behind: Vendor) -> None:
    if not SHARED_CALLS.exists():
        pytest.skip(f"{SHARED_CALLS} is not there")
    seen = json.loads(SHARED_CALLS.read_text("utf-8"))
    assert len(seen) == 47
    with front(settings(behind.url)) as served, served.client() as client:
        for case in seen:
            before = len(behind.calls())
            result = client.message("tools/call", {"name": case["name"], "arguments": case["arguments"]})["result"]
            made = behind.calls()[before:]
            assert result.get("isError", False) is False, case["label"]
            if case["tool"] == "search" and case["value"] is not None:
                assert made == [{"name": "vendor_search", "arguments": {"q": case["value"]}}], case["label"]
                assert [said(result)["q"], len(result["content"])] == [case["value"], 2], case["label"]
                assert "The canonical call: web_search " in result["content"][1]["text"], case["label"]
            elif case["tool"] == "search":
                assert made == [], case["label"]
                assert SAYS_NOTHING in result["content"][0]["text"], case["label"]
            else:
                # A front has no tool that fetches: what a call of one holds is asked for, or it teaches.
                assert len(made) <= 1, case["label"]
                assert "The canonical call: web_search " in result["content"][-1]["text"], case["label"]


@pytest.mark.parametrize("name", ["search", 5, None, ["web_search"], {"a": 1}, "", "web_search"])
def test_any_name_and_any_argument_gets_an_answer_that_is_no_error(name: Any, streaming: Vendor) -> None:
    with front(settings(streaming.url)) as served, served.client() as client:
        for arguments in (
            {"query": "a"},
            {},
            None,
            7,
            [],
            ["a", "b"],
            "a",
            '{"query": "a"}',
            {"query": {"query": "a"}},
        ):
            before = len(streaming.calls())
            result = client.message("tools/call", {"name": name, "arguments": arguments})["result"]
            assert not result.get("isError"), arguments
            asked = arguments not in ({}, None, [])
            assert len(streaming.calls()) - before == asked, arguments


def test_the_cases_of_our_own_tools_are_read_alike_by_a_front(streaming: Vendor) -> None:
    mine = [case for case in CALLS if case["reads"] == "search"]
    assert len(mine) > 60
    with front(settings(streaming.url)) as served, served.client() as client:
        for case in mine:
            before = len(streaming.calls())
            message = {"name": case["sent"], "arguments": case["with"]}
            if not isinstance(case["sent"], str):
                continue
            result = client.message("tools/call", message)["result"]
            made = [one["arguments"]["q"] for one in streaming.calls()[before:]]
            assert made == ([case["text"]] if "text" in case else []), case["name"]
            assert not result.get("isError"), case["name"]


def test_a_question_is_handed_on_uncut(streaming: Vendor) -> None:
    question = "wages " * 20_000 + "end"
    with front(settings(streaming.url)) as served, served.client() as client:
        client.call("web_search", query=question)
        client.call("search", q=question)
    assert [call["arguments"]["q"] for call in streaming.calls()[-2:]] == [question, question]


def test_equal_calls_are_made_each_time(streaming: Vendor) -> None:
    with front(settings(streaming.url)) as served, served.client() as client:
        numbers = [said(client.call("web_search", query="the same"))["number"] for _ in range(3)]
    assert numbers == [numbers[0], numbers[0] + 1, numbers[0] + 2]


# What comes back --------------------------------------------------------------------------------------------------


def test_the_warning_comes_after_the_result_in_the_blocks_and_in_the_object(behind: Vendor) -> None:
    with front(settings(behind.url)) as served, served.client() as client:
        result = client.call("lookup", q="structured", limt=3)
    warnings = [
        "“lookup” was read as the tool “web_search”.",
        "“q” was read as “query”.",
        "Ignored: limt.",
        'The canonical call: web_search {"query": "structured"}',
    ]
    assert list(result["structuredContent"]) == ["results", "total", "warnings"]
    assert result["structuredContent"] == {"results": [{"id": "1"}], "total": 1, "warnings": warnings}
    assert [block["text"] for block in result["content"]][1:] == [" ".join(warnings)]
    assert result["_meta"] == {"catalog-search/warnings": warnings}


def test_an_object_of_a_canonical_call_is_as_it_came(behind: Vendor) -> None:
    with front(settings(behind.url)) as served, served.client() as client:
        result = client.call("web_search", query="structured")
    assert result["structuredContent"] == {"results": [{"id": "1"}], "total": 1}
    assert "_meta" not in result


def test_blocks_of_every_kind_come_back(behind: Vendor) -> None:
    with front(settings(behind.url)) as served, served.client() as client:
        result = client.call("web_search", query="blocks")
        assert [block["type"] for block in result["content"]] == ["resource_link", "audio"]
        assert result["_meta"] == {"vendor/spent": 3}
        assert client.call("web_search", query="nothing")["content"] == []
        assert len(client.call("web_search", query="long")["content"][0]["text"]) == 3_000_000


def test_an_error_of_the_server_behind_stays_one_and_no_other_is(behind: Vendor) -> None:
    with front(settings(behind.url)) as served, served.client() as client:
        assert client.call("web_search", query="fail") == {
            "content": [{"type": "text", "text": "the index is being rebuilt"}],
            "isError": True,
        }
        result = client.call("find", q="fail")
    assert result["isError"] is True
    assert result["content"][0]["text"] == "the index is being rebuilt"
    assert "The canonical call" in result["content"][1]["text"]


def test_a_call_that_the_server_behind_refuses_is_said_in_its_words(behind: Vendor) -> None:
    with front(settings(behind.url, target_tool="gone")) as served, served.client() as client:
        text = client.error("web_search", query="wages")
        warned = client.error("find", query="wages")
    assert text.startswith("The upstream server refused the call: ")
    assert "this is no call of mine" in text and "(error -32602)" in text
    assert warned.startswith(text) and "The canonical call: web_search" in warned


def test_a_server_that_asks_something_of_the_front_is_answered(streaming: Vendor) -> None:
    with front(settings(streaming.url)) as served, served.client() as client:
        assert said(client.call("web_search", query="ping"))["q"] == "ping"


# Sessions -------------------------------------------------------------------------------------------------------


def test_one_session_is_opened_by_the_first_call_and_closed_at_the_end(behind: Vendor) -> None:
    before = len(behind.methods())
    with front(settings(behind.url)) as served:
        with served.client() as client:
            client.call("web_search")
            assert behind.methods()[before:] == []
            sessions = {said(client.call("web_search", query="wages"))["session"] for _ in range(4)}
        with served.client() as client:
            sessions.add(said(client.call("web_search", query="wages"))["session"])
        assert behind.methods()[before:] == ["initialize", "notifications/initialized"]
    assert len(sessions) == 1
    assert behind.methods()[before:] == ["initialize", "notifications/initialized", "DELETE"]


@pytest.mark.parametrize("status", [404, 400])
def test_a_session_that_has_expired_is_opened_anew_and_the_call_made_once(status: int, behind: Vendor) -> None:
    with front(settings(behind.url)) as served, served.client() as client:
        first = said(client.call("web_search", query="before"))
        methods, calls = len(behind.methods()), len(behind.calls())
        behind.expire(status)
        second = said(client.call("web_search", query="after"))
    assert second["session"] not in (None, first["session"])
    assert [call["arguments"]["q"] for call in behind.calls()[calls:]] == ["after"]
    assert behind.methods()[methods:][:2] == ["initialize", "notifications/initialized"]
    assert behind.methods()[methods:].count("initialize") == 1


def test_many_calls_that_find_their_session_expired_open_one(streaming: Vendor) -> None:
    with front(settings(streaming.url)) as served:
        with served.client() as client:
            client.call("web_search", query="before")
        before = len(streaming.methods())
        streaming.expire()
        assert len({one["session"] for one in at_once(served.port, ["wages"] * 12, [None])}) == 1
        assert streaming.methods()[before:].count("initialize") == 1


def test_a_session_that_is_not_known_twice_is_an_error() -> None:
    def answer(message: dict[str, Any], _: Any) -> dict[str, Any]:
        if message.get("method") == "initialize":
            return {"session": "a", "body": json.dumps(opening(message))}
        return {"status": 202 if "id" not in message else 404, "body": ""}

    with odd(answer) as (url, received), front(settings(url)) as served, served.client() as client:
        text = client.error("web_search", query="wages")
    assert text == "The upstream server answered 404 Not Found; the session had just been opened."
    assert [one.get("method") for one in received].count("tools/call") == 2
    assert [one.get("method") for one in received].count("initialize") == 2


def refusing(status: int, message: str | None, session: str | None, kind: str = "") -> Any:
    def answer(asked: dict[str, Any], _: Any) -> dict[str, Any]:
        if asked.get("method") == "initialize":
            return {"session": session, "body": json.dumps(opening(asked))}
        if "id" not in asked:
            return {"status": 202, "body": ""}
        error = {"jsonrpc": "2.0", "id": asked["id"], "error": {"code": -32000, "message": message}}
        return {"status": status, "type": kind, "body": json.dumps(error) if not kind else str(message)}

    return answer


@pytest.mark.parametrize(
    ("status", "message", "kind"),
    [
        (400, "query must not mention a parliamentary session", ""),
        (400, "too many results in this search session", ""),
        (400, "invalid query: one session of parliament is not a period", ""),
        (400, "the sessions table is closed", ""),
        (404, "no such index", ""), (404, "no index of this session", ""), (500, "Session not found", ""),
        (400, "no such index: session id", "text/plain"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("session", ["a", None])
def test_a_refusal_is_not_taken_for_an_expired_session(
    status: int, message: str, kind: str, session: str | None
) -> None:
    answer = refusing(status, message, session, kind)
    with odd(answer) as (url, received), front(settings(url)) as served, served.client() as client:
        text = client.error("web_search", query="wages")
    assert text.startswith(f"The upstream server answered {status} ")
    assert kind or message in text
    methods = [one.get("method") for one in received]
    assert (methods.count("tools/call"), methods.count("initialize")) == (1, 1)


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (404, "Session not found"), (400, "Bad Request: No valid session ID provided"), (400, "Invalid session"),
        (400, "Bad Request: Mcp-Session-Id header is required"), (400, "session 8a7f-11 has expired"),
        (404, "Session has been terminated"), (400, "Unknown session"), (400, "The session does not exist"),
    ],
)  # fmt: skip
def test_a_session_that_is_said_to_be_gone_is_opened_once_more_and_then_the_servers_words_are_said(
    status: int, message: str
) -> None:
    for session, times in (("a", 2), (None, 1)):
        answer = refusing(status, message, session)
        with odd(answer) as (url, received), front(settings(url)) as served, served.client() as client:
            text = client.error("web_search", query="wages")
        assert message in text
        methods = [one.get("method") for one in received]
        assert (methods.count("tools/call"), methods.count("initialize")) == (times, times)


def test_the_answer_to_another_request_is_passed_over_in_a_stream() -> None:
    def answer(asked: dict[str, Any], _: Any) -> dict[str, Any]:
        if asked.get("method") == "initialize":
            return {"body": json.dumps(opening(asked))}
        if "id" not in asked:
            return {"status": 202, "body": ""}
        others: list[Any] = [99, str(asked["id"]), True, None, asked["id"]]
        results = [
            {"jsonrpc": "2.0", "id": id, "result": {"content": [{"type": "text", "text": repr(id)}]}} for id in others
        ]
        return {"events": "".join(f"data: {json.dumps(one)}\n\n" for one in results)}

    with odd(answer) as (url, _), front(settings(url)) as served, served.client() as client:
        assert client.call("web_search", query="wages")["content"] == [{"type": "text", "text": "2"}]


@pytest.mark.parametrize("depth", [98, 120, 250, 300, 600, 900, 1_100, 20_000])
@pytest.mark.parametrize("form", ["body", "events"])
def test_a_result_that_is_too_deep_is_said_to_be_so(depth: int, form: str) -> None:
    def answer(asked: dict[str, Any], _: Any) -> dict[str, Any]:
        if asked.get("method") == "initialize":
            return {"body": json.dumps(opening(asked))}
        if "id" not in asked:
            return {"status": 202, "body": ""}
        deep = "[" * (depth - 2) + "]" * (depth - 2)
        result = f'{{"content": [], "structuredContent": {{"a": {deep}}}}}'
        text = f'{{"jsonrpc": "2.0", "id": {asked["id"]}, "result": {result}}}'
        return {form: text if form == "body" else f"data: {text}\n\n"}

    with odd(answer) as (url, received), front(settings(url)) as served, served.client() as client:
        if depth < 100:
            assert "structuredContent" in client.call("web_search", query="wages")
        else:
            text = client.error("web_search", query="wages")
            assert text == ("The upstream server's answer is nested too deeply to be handed on: more than 100 levels.")
    assert [one.get("method") for one in received].count("tools/call") == 1


def test_a_server_that_dies_in_a_call_is_not_asked_again_until_the_next() -> None:
    with vendor("sse") as first, front(settings(first.url)) as served, served.client() as client:
        assert said(client.call("web_search", query="wages"))["number"] == 0
        text = client.error("web_search", query="die")
        assert text.startswith("The upstream server ended the connection before it had answered; what became of")
        assert first.process.wait(15) == 3
        assert client.error("web_search", query="wages").startswith("The upstream server cannot be reached")
        assert client.error("find", q="wages").endswith('The canonical call: web_search {"query": "wages"}')


def test_a_server_that_comes_back_is_asked_again() -> None:
    """Its sessions are gone with it."""
    state = {"id": "a"}

    def answer(message: dict[str, Any], _: Any) -> dict[str, Any]:
        if message.get("method") == "initialize":
            return {"session": state["id"], "body": json.dumps(opening(message))}
        if "id" not in message:
            return {"status": 202, "body": ""}
        result = {"content": [{"type": "text", "text": state["id"]}]}
        return {"body": json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result})}

    with odd(answer) as (url, _), front(settings(url)) as served, served.client() as client:
        assert client.call("web_search", query="x")["content"][0]["text"] == "a"
        state["id"] = "b"
        assert client.call("web_search", query="x")["content"][0]["text"] == "b"


@pytest.mark.parametrize(
    ("status", "code"), [(404, -32601), (400, -32022), (200, -32601), (400, -32020)], ids=lambda value: str(value)
)
def test_a_server_without_sessions_is_spoken_to_in_its_version(status: int, code: int, database: str) -> None:
    """Our own server, which checks the form of that version, behind one that shakes no hands."""
    configuration = Configuration((Collection(database, "oecd", True),), anonymous=True, strict=True)
    with serving(configuration) as ours, ours.client() as relay:

        def answer(message: dict[str, Any], headers: Any) -> dict[str, Any]:
            if message["method"] == "initialize":
                error = {"code": code, "message": "there is no such thing"}
                body = json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": error})
                return {"status": status, "body": body}
            names = ("mcp-protocol-version", "mcp-method", "mcp-name")
            reply = relay.request(body=json.dumps(message).encode(), headers={name: headers[name] for name in names})
            return {"status": reply.status, "body": reply.body.decode()}

        given = {"target_tool": "search", "target_param": "query"}
        with odd(answer) as (url, received), front(settings(url, **given)) as served, served.client() as client:
            for _ in range(2):
                found = client.found("find", q="labor force")
                assert found["results"][0]["id"] == "DSD_LFS@DF_IALFS_LF_Q"
    assert [message["method"] for message in received] == ["initialize", "tools/call", "tools/call"]


# Callers --------------------------------------------------------------------------------------------------------


def at_once(port: int, questions: list[str], tokens: list[str | None]) -> list[dict[str, Any]]:
    """Ask questions at the same time, each with the next of the tokens, and return what is said of each call."""

    def ask(number: int, question: str) -> dict[str, Any]:
        client = Client(port, tokens[number % len(tokens)])
        try:
            return said(client.call("web_search", query=question))
        finally:
            client.close()

    with ThreadPoolExecutor(12) as pool:
        return list(pool.map(ask, range(len(questions)), questions))


def test_no_token_ever_crosses(behind: Vendor) -> None:
    tokens = [*TOKENS, None]
    questions = [f"question {number}" for number in range(60)]
    with front(settings(behind.url)) as served:
        for _ in range(2):
            answers = at_once(served.port, questions, tokens)
            behind.expire()  # and then all of them need a session anew, at once
            answers += at_once(served.port, questions, tokens)
            for number, one in enumerate(answers):
                token = tokens[number % len(questions) % len(tokens)]
                wanted = token and f"Bearer {token}"
                assert (one["q"], one["authorization"]) == (questions[number % len(questions)], wanted)
                assert one["opened"] == wanted  # the session is that token's too
    of_session: dict[str, set[str | None]] = {}
    for entry in behind.log():
        if entry.get("session"):
            of_session.setdefault(entry["session"], set()).add(entry["authorization"])
    assert all(len(callers) == 1 for callers in of_session.values())
    assert not [entry for entry in behind.log() if entry.get("cookie")]


@pytest.mark.parametrize("header", ["Basic dTpw", "bearer  two  blanks", "Custom a=b, c=\xe9", "Bearer"])
def test_an_authorization_is_handed_on_as_it_is(header: str, streaming: Vendor) -> None:
    with front(settings(streaming.url)) as served, served.client() as client:
        params = {"name": "web_search", "arguments": {"query": "wages"}}
        answer = client.message("tools/call", params, headers={"Authorization": header})
        assert said(answer["result"])["authorization"] == header
        # The connection is the same, and the next call on it has none.
        assert said(client.call("web_search", query="wages"))["authorization"] is None


def test_a_caller_who_is_refused_is_told_and_others_are_served(streaming: Vendor) -> None:
    with front(settings(streaming.url)) as served, served.client("refused") as out, served.client(TOKENS[0]) as entered:
        assert out.error("web_search", query="wages") == (
            "The upstream server answered 401 Unauthorized: who is this? (error -32000); "
            "the Authorization of the call was handed on to it as it is."
        )
        assert said(entered.call("web_search", query="wages"))["opened"] == f"Bearer {TOKENS[0]}"


def test_tokens_are_in_no_log(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(message: dict[str, Any], _: Any) -> dict[str, Any]:
        error = {"code": 1, "message": f"I know no {TOKENS[0]}, nor Bearer {TOKENS[0]}"}
        return {"status": 403, "body": json.dumps({"jsonrpc": "2.0", "id": None, "error": error})}

    caplog.set_level(logging.DEBUG)
    monkeypatch.setattr(logging.getLogger("catalog_search"), "propagate", True)
    with odd(answer) as (url, _), front(settings(url + "?key=of-the-operator")) as served:  # noqa: SIM117
        with served.client(TOKENS[0]) as client:
            assert TOKENS[0] in client.error("web_search", query="what was asked")
    assert "I know no …, nor …" in caplog.text
    assert "web_search error" in caplog.text
    ours = "\n".join(record.getMessage() for record in caplog.records if record.name.startswith("catalog_search"))
    for secret in (TOKENS[0], "of-the-operator", "what was asked"):
        assert secret not in ours


def test_the_sessions_that_are_kept_are_so_many(streaming: Vendor) -> None:
    before = len(streaming.methods())
    with front(settings(streaming.url), most=3) as served:
        for number in range(6):
            with served.client(f"token-{number}") as client:
                client.call("web_search", query="wages")
        with served.client("token-5") as client:
            client.call("web_search", query="wages")
    methods = streaming.methods()[before:]
    assert (methods.count("initialize"), methods.count("DELETE")) == (6, 6)


# What may go wrong ------------------------------------------------------------------------------------------------


def opening(message: dict[str, Any]) -> dict[str, Any]:
    result = {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {"name": "odd", "version": "1"}}
    return {"jsonrpc": "2.0", "id": message["id"], "result": result}


@contextmanager
def odd(answer: Any) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Serve answers as a function of the message has them; yield the address and what was received."""
    received: list[dict[str, Any]] = []
    given: set[str] = set()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            message = json.loads(self.rfile.read(int(self.headers["content-length"])) or b"{}")
            received.append(message)
            what = answer(message, self.headers)
            asked = self.headers.get("mcp-session-id")
            if asked is not None and given and asked not in given:
                what = {"status": 404, "body": ""}
            if what.get("closed"):
                self.close_connection = True
                return
            body = what.get("events", what.get("body", "")).encode()
            kind = "text/event-stream" if "events" in what else what.get("type", "application/json")
            self.send_response(what.get("status", 200))
            for name, value in (("mcp-session-id", what.get("session")), ("location", what.get("location")),
                                ("retry-after", what.get("after")), ("content-type", kind)):  # fmt: skip
                if value:
                    self.send_header(name, value)
            if what.get("session"):
                given.clear()
                given.add(what["session"])
            self.send_header("content-length", str(len(body) + 10 * bool(what.get("short"))))
            self.end_headers()
            self.wfile.write(body)
            self.close_connection = bool(what.get("short"))

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/mcp", received
    finally:
        server.shutdown()
        thread.join(15)
        server.server_close()


@pytest.mark.parametrize("case", cases("upstream_answers"), ids=lambda case: case["name"])
def test_what_is_no_answer_is_said_as_it_is_and_not_asked_for_again(case: dict[str, Any]) -> None:
    def answer(message: dict[str, Any], _: Any) -> dict[str, Any]:
        if message.get("method") == case.get("to", "tools/call"):
            return case
        if message.get("method") == "initialize":
            return {"body": json.dumps(opening(message))}
        return {"status": 202, "body": ""}

    with odd(answer) as (url, received), front(settings(url)) as served, served.client(case.get("token")) as client:
        text = client.error("web_search", query="wages")
    assert text.startswith("The upstream server") and case["says"] in text, text
    assert "Traceback" not in text and "127.0.0.1" not in text
    methods = [message.get("method") for message in received]
    assert methods.count("initialize") == 1
    assert methods.count("tools/call") == ("to" not in case)


def test_a_server_that_is_not_there_is_said() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with front(settings(f"http://127.0.0.1:{port}/mcp")) as served, served.client() as client:
        text = client.error("web_search", query="wages")
    assert text == "The upstream server cannot be reached; no connection could be made."


def test_a_call_that_takes_too_long_is_given_up_and_the_server_behind_is_told(behind: Vendor) -> None:
    with front(settings(behind.url), seconds=1.0) as served, served.client() as client:
        assert client.error("web_search", query="never") == "The upstream server did not answer within 1 s."
        deadline = time.monotonic() + 15
        while {"cancelled": True} not in behind.log() and time.monotonic() < deadline:
            time.sleep(0.02)
        assert {"cancelled": True} in behind.log()
        # The session goes on.
        assert said(client.call("web_search", query="wages"))["q"] == "wages"


# Each setting, in what it does --------------------------------------------------------------------------------------


def from_file(folder: Path, **values: Any) -> UpstreamSettings:
    path = folder / "front.yaml"
    path.write_text(json.dumps({**VENDOR, **values}), "utf-8")  # YAML, too
    return load_upstream(path, {})


def from_environment(_folder: Path, **values: Any) -> UpstreamSettings:
    texts = {
        key: ",".join(value) if isinstance(value, list) else json.dumps(value) if isinstance(value, dict) else value
        for key, value in {**VENDOR, **values}.items()
    }
    return load_upstream(None, {f"CATALOG_SEARCH_SERVE_{key.upper()}": value for key, value in texts.items()})


@pytest.fixture(params=[from_file, from_environment], ids=["file", "environment"])
def read(request: pytest.FixtureRequest, tmp_path: Path, streaming: Vendor) -> Any:
    return lambda **values: request.param(tmp_path, **{"upstream": streaming.url, **values})


def warnings_of(result: dict[str, Any]) -> list[str]:
    found: list[str] = result.get("_meta", {}).get("catalog-search/warnings", [])
    return found


def test_upstream_is_the_server_that_is_asked(read: Any, database: str) -> None:
    configuration = Configuration((Collection(database, "oecd", True),), anonymous=True)
    with serving(configuration) as ours:
        found = read(upstream=f"http://127.0.0.1:{ours.port}/mcp", target_tool="search", target_param="query")
        with called(found) as call:
            result = call("web_search", {"query": "labor force"})
            read_as = call("find_data", {"q": "labor force"})
    assert result["structuredContent"]["results"][0]["id"] == "DSD_LFS@DF_IALFS_LF_Q"
    assert warnings_of(result) == [] and "warnings" not in result["structuredContent"]  # it was a right call there
    assert read_as["structuredContent"]["results"] == result["structuredContent"]["results"]
    assert list(read_as["structuredContent"])[-1] == "warnings"


def test_tools_are_names_that_need_no_remark(read: Any) -> None:
    with called(read(tools=["web_search", "Look-Up"])) as call:
        assert warnings_of(call("Look-Up", {"query": "wages"})) == []
        assert warnings_of(call("web_search", {"query": "wages"})) == []
        assert "“look_up” was read as the tool “web_search”." in warnings_of(call("look_up", {"query": "wages"}))


def test_the_canonical_tool_is_the_one_that_is_advertised_and_taught(read: Any) -> None:
    found = read(tools=["web_search", "look"], canonical_tool="look")
    assert Front(found, Sessions(found.target)).tool.name == "look"
    with called(found) as call:
        assert 'The canonical call: look {"query": "wages"}' in warnings_of(call("search", {"query": "wages"}))
        assert 'The canonical call: look {"query": ' in call("look", {})["content"][0]["text"]


def test_the_canonical_parameter_is_the_one_that_is_advertised_and_taught(read: Any) -> None:
    found = read(canonical_param="question")
    assert Front(found, Sessions(found.target)).tool.input_schema["required"] == ["question"]
    with called(found) as call:
        result = call("web_search", {"question": "wages"})
        assert (said(result)["q"], warnings_of(result)) == ("wages", [])
        # The usual keys are still understood, the usual name of the question among them.
        for key in ("query", "q", "searchTerm"):
            result = call("web_search", {key: "wages", "limit": 3})
            assert said(result)["q"] == "wages"
            assert warnings_of(result)[0] == f"“{key}” was read as “question”."


def test_query_aliases_come_before_those_that_are_known(read: Any) -> None:
    with called(read(query_aliases=["pergunta"])) as call:
        result = call("web_search", {"q": "other", "pergunta": "wages"})
    assert said(result)["q"] == "wages"
    assert warnings_of(result)[0] == "“pergunta” was read as “query”."
    with called(read()) as call:
        assert said(call("web_search", {"q": "other", "pergunta": "wages"}))["q"] == "other"


def test_optional_aliases_are_what_is_handed_on_besides(read: Any) -> None:
    with called(read(optional_aliases={"count": {"type": "integer", "aliases": ["how_many"]}})) as call:
        result = call("web_search", {"query": "wages", "count": 3})
        assert (said(result)["count"], warnings_of(result)) == (3, [])
        result = call("web_search", {"query": "wages", "how_many": "4", "lang": "en"})
        assert said(result)["count"] == 4
        assert warnings_of(result)[:2] == ["“how_many” was read as “count”: 4.", "Ignored: lang."]
        # A value that cannot be made what it should be is left out, and that is said.
        result = call("web_search", {"query": "wages", "count": "many"})
        assert "count" not in said(result)
        assert warnings_of(result)[0] == "Ignored: count."
        # A text under an optional key is no question.
        assert "Nothing was looked up" in call("web_search", {"how_many": "wages"})["content"][0]["text"]
    with called(read()) as call:
        result = call("web_search", {"query": "wages", "count": 3})
        assert "count" not in said(result) and warnings_of(result)[0] == "Ignored: count."


def test_an_optional_without_a_type_is_handed_on_as_it_comes(read: Any) -> None:
    with called(read(optional_aliases={"count": ["n"]})) as call:
        assert said(call("web_search", {"query": "wages", "n": 5}))["count"] == 5
        assert said(call("web_search", {"query": "wages", "n": [1, {"a": None}]}))["count"] == [1, {"a": None}]


def test_the_target_tool_and_parameter_are_what_the_server_behind_gets(read: Any, streaming: Vendor) -> None:
    with called(read(target_tool="other_search", target_param="text")) as call:
        result = call("web_search", {"query": "wages"})
    assert result["isError"] is True  # that server has neither, and says so
    assert streaming.calls()[-1] == {"name": "other_search", "arguments": {"text": "wages"}}


def test_no_warning_names_the_tool_of_the_server_behind(read: Any) -> None:
    with called(read()) as call:
        for arguments in ({}, {"q": "wages"}, {"a": "b", "c": "d"}):
            assert not re.search("vendor", " ".join(warnings_of(call("find", arguments))))
