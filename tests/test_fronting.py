"""A front as a program: over HTTP and over standard input and output, before servers of either kind, and its end."""

from __future__ import annotations

import json
import shlex
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from fronts import VENDOR, Vendor, front, node_server, said, settings, vendor
from node import CALL_SECONDS, installed, run
from served import SERVE, Client, program
from wires import MODERN, Child

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals are sent as POSIX has them")
DRAIN_SECONDS = 10.0


@pytest.fixture(scope="module")
def behind() -> Iterator[Vendor]:
    with vendor("sse") as started:
        yield started


@pytest.fixture
def config(tmp_path: Path) -> Any:
    def write(upstream: str, **values: Any) -> Path:
        path = tmp_path / "front.yaml"
        path.write_text(json.dumps({"upstream": upstream, **VENDOR, **values}), "utf-8")
        return path

    return write


def command(mode: str = "stdio") -> str:
    return "stdio:" + shlex.join(node_server(mode))


def child(path: Path) -> Child:
    return Child(str(path), [*SERVE, "--config"])


# Over standard input and output ---------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["http", "stdio"])
def test_a_front_over_stdio_stands_before_a_server_of_either_kind(kind: str, behind: Vendor, config: Any) -> None:
    front = child(config(behind.url if kind == "http" else command()))
    try:
        assert front.handshake()["serverInfo"]["name"] == "web-search"
        assert [tool["name"] for tool in front.request("tools/list")["result"]["tools"]] == ["web_search"]
        assert said(front.call("web_search", query="wages"))["q"] == "wages"
        result = front.call("look", searchTerm="wages")
        assert said(result)["q"] == "wages"
        assert result["content"][1]["text"].endswith('The canonical call: web_search {"query": "wages"}')
        assert front.call("web_search")["content"][0]["text"].startswith("Nothing was looked up")
        assert front.call("web_search", query="fail")["isError"] is True
        status, log = front.end()
    finally:
        front.close()
    assert status == 0
    assert "Traceback" not in log
    assert log.count("caller=stdio") == 4


def test_calls_at_once_over_stdio_each_get_their_answer(config: Any) -> None:
    front = child(config(command()))
    try:
        front.handshake()
        for number in range(20):
            arguments = {"name": "web_search", "arguments": {"query": "slow" if number == 0 else f"q{number}"}}
            front.post(f"call {number}", "tools/call", arguments)
        answers = [front.receive() for _ in range(20)]
        assert front.end()[0] == 0
    finally:
        front.close()
    for answer in answers:
        number = int(answer["id"].split()[1])
        if number:
            assert said(answer["result"])["q"] == f"q{number}"
    assert answers[-1]["id"] == "call 0"  # nobody waited for the slow one


@pytest.mark.parametrize("kind", ["http", "stdio"])
def test_a_call_that_is_cancelled_is_cancelled_at_the_server_behind(kind: str, behind: Vendor, config: Any) -> None:
    front = child(config(behind.url if kind == "http" else command()))
    try:
        front.handshake()
        said(front.call("web_search", query="wages"))
        before = len(behind.log())
        calls = len(behind.calls())
        front.post("given up", "tools/call", {"name": "web_search", "arguments": {"query": "never"}})
        if kind == "http":
            wait_for(behind, "never", calls)
        else:
            assert said(front.call("web_search", query="wages"))["number"] == 2  # it has come before this one
        front.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "given up"}})
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            if kind == "stdio":
                found = said(front.call("web_search", query="cancelled?")).get("cancelled")
            else:
                found = {"cancelled": True} in behind.log()[before:]
            if found:
                break
            time.sleep(0.02)
        assert found
        assert said(front.call("web_search", query="wages"))["q"] == "wages"
        assert front.end()[0] == 0
    finally:
        front.close()


def test_a_client_of_another_sdk_is_served(behind: Vendor, config: Any) -> None:
    path = config(behind.url)
    calls = [{"name": "web_search", "arguments": {"query": "wages"}}, {"name": "web_search", "arguments": {"q": "x"}}]
    for kind in ("1", "2-auto"):
        script = ["node", str(installed() / "sdk.mjs"), kind, json.dumps(calls), *SERVE, "--config", str(path)]
        done = run(script, seconds=CALL_SECONDS)
        assert done.returncode == 0, done.stderr
        found = json.loads(done.stdout)
        assert [tool["name"] for tool in found["tools"]] == ["web_search"]
        assert [json.loads(result["content"][0]["text"])["q"] for result in found["results"]] == ["wages", "x"]
        assert [len(result["content"]) for result in found["results"]] == [1, 2]
        assert found["strays"] == []


# Before a server over standard input and output -------------------------------------------------------------------


def test_the_process_is_started_by_the_first_call_and_ended_with_the_front(config: Any, tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    wrapped = f"stdio:sh -c {shlex.quote(f'echo $$ > {pid}; exec ' + shlex.join(node_server('stdio')))}"
    with program("--config", config(wrapped, listen="127.0.0.1:0")) as started:
        client = Client(started.port, "a-callers-secret")
        assert client.call("web_search")["isError"] is False
        assert not pid.exists()
        first = said(client.call("web_search", query="wages"))
        # There is no header over standard input: the token goes nowhere.
        assert (first["authorization"], first["number"]) == (None, 0)
        assert said(client.call("web_search", query="wages"))["number"] == 1
        number = int(pid.read_text())
        client.close()
        started.process.send_signal(signal.SIGTERM)
        assert started.wait() == 0
    assert not Path(f"/proc/{number}").exists()


def test_a_process_that_dies_in_a_call_is_started_anew_by_the_next() -> None:
    with front(settings(command())) as served, served.client() as client:
        assert said(client.call("web_search", query="wages"))["number"] == 0
        text = client.error("web_search", query="die")
        assert text == "The upstream server ended before it had answered; what became of the call is not known."
        assert said(client.call("web_search", query="wages"))["number"] == 0


def test_a_call_of_a_process_that_takes_too_long_is_given_up() -> None:
    with front(settings(command()), seconds=2.0) as served, served.client() as client:
        assert said(client.call("web_search", query="wages"))["number"] == 0
        assert client.error("web_search", query="never") == "The upstream server did not answer within 2 s."
        assert said(client.call("web_search", query="wages"))["number"] == 2


def test_a_process_without_sessions_is_spoken_to_in_its_version() -> None:
    script = """read line; echo '{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}'; read line
        case "$line" in *io.modelcontextprotocol/protocolVersion*2026-07-28*) found=yes;; esac
        echo '{"jsonrpc":"2.0","id":2,"result":{"resultType":"complete","content":[{"type":"text","text":"'$found'"}]}}'
        read line"""
    with front(settings(f"stdio:sh -c {shlex.quote(script)}"), seconds=10.0) as served, served.client() as client:
        assert client.call("web_search", query="wages")["content"][0]["text"] == "yes"


@pytest.mark.parametrize(
    ("script", "says"),
    [
        ("exit 1", "The upstream server ended before it had answered"),
        ("echo '{}'; read line; echo no; exit 0", "The upstream server ended before it had answered"),
        (
            """read line; echo '{"jsonrpc":"2.0","id":1,"error":{"code":5,"message":"not today"}}'; sleep 9""",
            "The upstream server refused the call: not today (error 5).",
        ),
        (
            """read line; echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"1"}}'; trap '' TERM; sleep 99""",
            "The upstream server speaks a version of MCP that is not known here: 1.",
        ),
    ],
)
def test_a_process_that_is_no_server_is_said(script: str, says: str) -> None:
    with front(settings(f"stdio:sh -c {shlex.quote(script)}"), seconds=10.0) as served, served.client() as client:
        assert client.error("web_search", query="wages").startswith(says)


@pytest.mark.parametrize("depth", [300, 900, 20_000])
def test_a_result_of_a_process_that_is_too_deep_is_said_to_be_so(depth: int) -> None:
    script = f"""read line; echo '{{"jsonrpc":"2.0","id":1,"result":{{"protocolVersion":"2025-06-18"}}}}'
        read line; read line; printf '{{"jsonrpc":"2.0","id":2,"result":{{"content":[],"structuredContent":{{"a":'
        printf '[%.0s' $(seq {depth}); printf ']%.0s' $(seq {depth}); echo '}}}}}}'; read line"""
    with front(settings(f"stdio:sh -c {shlex.quote(script)}"), seconds=20.0) as served, served.client() as client:
        text = client.error("web_search", query="wages")
    assert text == "The upstream server's answer is nested too deeply to be handed on: more than 100 levels."


# Over HTTP --------------------------------------------------------------------------------------------------------


def test_it_listens_where_it_is_told_and_speaks_the_newest_version(behind: Vendor, config: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with program("--config", config(behind.url, listen=f"127.0.0.1:{port}")) as started:
            assert started.wait() == 1
        assert started.log() == f"Error: cannot listen at 127.0.0.1:{port}: Address already in use\n"
    with program("--config", config(behind.url, listen=f"127.0.0.1:{port}")) as started:
        assert started.port == port
        client = Client(port)
        meta = {
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientInfo": {"name": "tests", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        }
        headers = {"MCP-Protocol-Version": MODERN, "Mcp-Method": "tools/call", "Mcp-Name": "find"}
        params = {"name": "find", "arguments": {"q": "wages"}, "_meta": meta}
        result = client.message("tools/call", params, headers=headers)["result"]
        assert (said(result)["q"], result["resultType"]) == ("wages", "complete")
        assert client.request("GET", "/healthz").json()["ok"] is True
        assert client.request("POST", "/mcp", b"{}", {"Host": "evil.example"}).status == 421
        assert client.request("POST", "/mcp", b"{}", {"Origin": "http://evil.example"}).status == 403
        client.close()


def test_everything_can_be_said_in_the_environment(behind: Vendor) -> None:
    environment = {
        "CATALOG_SEARCH_SERVE_UPSTREAM": behind.url,
        "CATALOG_SEARCH_SERVE_LISTEN": "127.0.0.1:0",
        "CATALOG_SEARCH_SERVE_TOOLS": "find,look",
        "CATALOG_SEARCH_SERVE_CANONICAL_TOOL": "look",
        "CATALOG_SEARCH_SERVE_TARGET_TOOL": "vendor_search",
        "CATALOG_SEARCH_SERVE_TARGET_PARAM": "q",
        "CATALOG_SEARCH_SERVE_LOG_LEVEL": "error",
    }
    with program(environment=environment) as started:
        client = Client(started.port)
        assert said(client.call("look", query="wages"))["q"] == "wages"
        client.close()
        assert started.log() == f"Serving look at http://127.0.0.1:{started.port}/mcp\n"


def test_the_level_says_how_much_is_logged(behind: Vendor, config: Any) -> None:
    """One line a call, without the question; at the level of warnings, what fails alone."""
    logs = {}
    for level in ("info", "warning"):
        with program("--config", config(behind.url, listen="127.0.0.1:0", log_level=level)) as started:
            client = Client(started.port, "refused")
            client.call("web_search", query="what is asked")
            client.call("web_search")
            client.close()
            started.process.send_signal(signal.SIGTERM)
            assert started.wait() == 0
        logs[level] = [line for line in started.log().splitlines() if not line.startswith("Serving")]
        assert "what is asked" not in started.log() and "refused" not in started.log().replace("refused the", "")
    assert [line.split()[2] for line in logs["warning"]] == ["WARNING"]
    assert [line.split()[2] for line in logs["info"]] == ["WARNING", "INFO", "INFO"]
    assert "web_search error" in logs["info"][1] and logs["info"][1].endswith("caller=authorized")
    assert "web_search taught" in logs["info"][2]


# Its end ----------------------------------------------------------------------------------------------------------


def in_hand(port: int, question: str) -> tuple[threading.Thread, list[Any]]:
    """Make a call in a thread; return the thread, and where its answer will be."""
    found: list[Any] = []

    def ask() -> None:
        client = Client(port)
        client.socket.settimeout(30)
        with suppress(OSError):
            found.append(client.call("web_search", query=question))
        client.close()

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    return thread, found


def wait_for(behind: Vendor, question: str, before: int) -> None:
    """Wait until a call is the server's that was not among so many before."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        if question in [call["arguments"].get("q") for call in behind.calls()[before:]]:
            return
        time.sleep(0.02)
    raise AssertionError("the call did not arrive")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_call_in_hand_is_answered_before_the_end(number: signal.Signals, behind: Vendor, config: Any) -> None:
    before, calls = len(behind.methods()), len(behind.calls())
    with program("--config", config(behind.url, listen="127.0.0.1:0")) as started:
        thread, found = in_hand(started.port, "slow")
        wait_for(behind, "slow", calls)
        began = time.monotonic()
        started.process.send_signal(number)
        assert started.wait() == 0
        assert time.monotonic() - began < DRAIN_SECONDS
        thread.join(15)
    assert said(found[0])["q"] == "slow"
    assert behind.methods()[before:][-1] == "DELETE"
    assert "Traceback" not in started.log()


def test_a_call_that_is_never_answered_does_not_hold_up_the_end(behind: Vendor, config: Any) -> None:
    calls = len(behind.calls())
    with program("--config", config(behind.url, listen="127.0.0.1:0")) as started:
        thread, found = in_hand(started.port, "never")
        wait_for(behind, "never", calls)
        began = time.monotonic()
        started.process.send_signal(signal.SIGTERM)
        assert started.wait() == 0
        assert time.monotonic() - began < DRAIN_SECONDS
        thread.join(15)
    assert found[0]["content"][0]["text"] == "This server ends, and the upstream server has not answered yet."
    assert "Traceback" not in started.log()


@pytest.mark.parametrize("question", ["slow", "never"])
def test_over_stdio_too_the_end_comes_in_time(question: str, config: Any) -> None:
    front = child(config(command()))
    try:
        front.handshake()
        assert said(front.call("web_search", query="wages"))["number"] == 0
        front.post("last", "tools/call", {"name": "web_search", "arguments": {"query": question}})
        time.sleep(0.3)
        began = time.monotonic()
        front.process.send_signal(signal.SIGTERM)
        if question == "slow":
            assert said(front.receive()["result"])["q"] == "slow"
        status = front.process.wait(30)
        assert time.monotonic() - began < DRAIN_SECONDS
        assert status == 0
    finally:
        front.close()
