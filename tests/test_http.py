"""MCP over HTTP, as bytes on a connection: who is let in, what is answered, and what happens to what is no message."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client as McpClient
from mcp.client.streamable_http import streamable_http_client
from served import Client, Here, Reply, program, serving
from support import built, cases

from catalog_search import Catalog
from catalog_search.errors import SettingsError
from catalog_search.server.bounds import Bounds
from catalog_search.server.configuration import Collection, Configuration
from catalog_search.server.hosts import Address, Hosts
from catalog_search.server.service import open_socket

HANDSHAKES = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]
MODERN = "2026-07-28"
META = {
    f"io.modelcontextprotocol/{key}": value for key, value in (("protocolVersion", MODERN), ("clientCapabilities", {}))
}
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "tests", "version": "1"}}


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("http")
    rows = [
        {
            "id": f"W{n}",
            "title": f"Wages of trade {n}",
            "text": f"By sex and age.\nTable {n}.\n" * (60 if n < 30 else 1),
        }
        for n in range(1_500)
    ]
    path = folder / "wages.db"
    built(rows, folder=folder, vocabulary=[{"asked": "pay", "source": ["wages", "age"]}], to=path, name="wages")
    return str(path)


def public(database: str, **more: Any) -> Configuration:
    bounds = Bounds(**({"calls_per_second": 0} | more.pop("bounds", {})))
    return Configuration((Collection(database, public=True),), anonymous=True, bounds=bounds, **more)


@pytest.fixture(scope="module")
def here(database: str) -> Iterator[Here]:
    """A server for the tests that leave it as it was."""
    hosts, origins = ("mcp.example.org", "other.example:99"), ("https://app.example",)
    with serving(public(database, allow_hosts=hosts, allow_origins=origins)) as here:
        yield here
        with here.client() as client:
            assert client.found("search", query="wages")["results"]


@pytest.fixture
def client(here: Here) -> Iterator[Client]:
    with here.client() as client:
        yield client


# Routes -----------------------------------------------------------------------------------------------------


def test_healthz_says_that_it_is_well_and_which_version(client: Client) -> None:
    from importlib.metadata import version

    reply = client.request("GET", "/healthz")
    assert (reply.status, reply.json()) == (200, {"ok": True, "version": version("catalog-search")})


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT", "OPTIONS", "PATCH", "TRACE"])
def test_mcp_takes_posts_only(client: Client, method: str) -> None:
    reply = client.request(method)
    assert (reply.status, reply.headers["allow"]) == (405, "POST")


@pytest.mark.parametrize("method", ["POST", "DELETE", "OPTIONS"])
def test_healthz_is_read_only(client: Client, method: str) -> None:
    reply = client.request(method, "/healthz")
    assert (reply.status, reply.headers["allow"]) == (405, "GET")


@pytest.mark.parametrize("path", ["/", "/mcp/", "/sse", "/mcp%2f", "//mcp", "/healthz/../mcp", "/etc/passwd"])
def test_there_is_nothing_else(client: Client, path: str) -> None:
    assert client.request("POST", path, b"{}").status == 404


@pytest.mark.parametrize("path", ["/mcp", "/healthz", "/elsewhere"])
@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "mcp.example.org"}, None),
        ({"Host": "MCP.example.org:9000"}, None),
        ({"Host": "localhost"}, None),
        ({"Host": "[::1]:80"}, None),
        ({"Host": "other.example:99"}, None),
        ({"Host": "other.example:98"}, 421),
        ({"Host": "other.example"}, 421),
        ({"Host": "evil.example"}, 421),
        ({"Host": ""}, 421),
        ({"Host": "localhost.evil.example"}, 421),
        ({"Host": "evil-localhost"}, 421),
        ({"Host": "localhost:80.evil.example"}, 421),
        ({"Host": "localhost:123456"}, 421),
        ({"Host": "127.0.0.1@evil.example"}, 421),
        ({"Host": "mcp.example.org.evil.example"}, 421),
        ({"Host": "mcp.example.orgx"}, 421),
        ({"Host": "xmcp.example.org"}, 421),
        ({"Origin": "http://localhost:6274"}, None),
        ({"Origin": "https://app.example"}, None),
        ({"Origin": "http://app.example"}, 403),
        ({"Origin": "https://app.example:444"}, 403),
        ({"Origin": "https://app.example.evil.example"}, 403),
        ({"Origin": "https://mcp.example.org"}, 403),
        ({"Origin": "http://localhost.evil.example"}, 403),
        ({"Origin": "http://localhost:80.evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "file://"}, 403),
        ({"Origin": "http://127.0.0.1:80/path"}, 403),
    ],
)
def test_host_and_origin_are_compared_whole_on_every_route(
    client: Client, path: str, headers: dict[str, str], status: int | None
) -> None:
    reply = client.request("GET", path, headers=headers)
    usual = {"/mcp": 405, "/healthz": 200, "/elsewhere": 404}[path]
    assert reply.status == (status or usual)


def test_a_refusal_is_logged_with_the_option_that_would_allow_it(
    database: str, caplog: pytest.LogCaptureFixture
) -> None:
    told = caplog.at_level(logging.WARNING, "catalog_search")
    with told, serving(public(database)) as here, here.client() as client:
        client.request(headers={"Host": "docs.example.org"})
        client.request(headers={"Origin": 'https://x.example/"\x85'})
        client.request(headers={"Origin": "null"})
        client.request(headers={"Origin": "https://app.example.org"})
    assert 'Host "docs.example.org"' in caplog.text and "allow it with --allow-host docs.example.org" in caplog.text
    assert 'Origin "https://x.example/' in caplog.text and 'Origin "null"' in caplog.text
    # what is advised is what the option takes
    advised = re.findall(r"allow it with --allow-origin (\S+)", caplog.text)
    assert advised == ["https://app.example.org"] and Hosts(Address("127.0.0.1", 1), [], advised)


@pytest.mark.parametrize(
    ("origin", "allowed"),
    [
        ("https://app.example", True),
        ("http://localhost:6274", True),
        ("https://app.example.evil.example", False),
        ("null", False),
    ],
)
def test_a_page_of_an_allowed_origin_may_ask_and_read_and_no_other(client: Client, origin: str, allowed: bool) -> None:
    asks = {"Origin": origin, "Access-Control-Request-Method": "POST"}
    preflight = client.request("OPTIONS", headers=asks | {"Access-Control-Request-Headers": "content-type"})
    assert preflight.status == (204 if allowed else 403)
    answers = [preflight]
    ping = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
    answers.append(client.request(body=ping, headers={"Origin": origin}))
    answers.append(client.request(body=b"{", headers={"Origin": origin}))
    assert [one.status for one in answers[1:]] == ([200, 400] if allowed else [403, 403])
    for answer in answers:
        assert answer.headers.get("access-control-allow-origin") == (origin if allowed else None)
        assert (answer.headers.get("vary") == "Origin") == allowed
    if allowed:
        assert "POST" in preflight.headers["access-control-allow-methods"]
        assert {"Authorization", "Content-Type", "MCP-Protocol-Version"} <= set(
            preflight.headers["access-control-allow-headers"].split(", ")
        )
    assert "access-control-allow-origin" not in client.request("OPTIONS").headers
    other = {"Host": "evil.example"}
    assert client.request("OPTIONS", headers=asks | other).status == 421 or not allowed


@pytest.mark.parametrize("header", ["Host: 127.0.0.1", "Origin: http://localhost", "Authorization: Bearer x"])
def test_a_header_that_says_who_asks_stands_there_once(here: Here, header: str) -> None:
    with here.client() as client:
        head = client.head("POST", "/mcp", 2).replace(b"\r\n\r\n", f"\r\n{header}\r\n{header}\r\n\r\n".encode())
        client.send(head + b"{}")
        assert client.receive().status == 400


def test_each_refusal_leaves_a_line_and_a_flood_of_them_only_some(
    database: str, caplog: pytest.LogCaptureFixture
) -> None:
    bounds = {"body_bytes": 1_000, "body_seconds": 0.2, "calls_per_second": 5}
    with caplog.at_level(logging.WARNING, "catalog_search"), serving(public(database, bounds=bounds)) as here:
        for sent in (b"{", b"x" * 2_000, b"[]"):
            with here.client() as client:
                client.request(body=sent)
        with here.client() as client:
            client.send(client.head("POST", "/mcp", 100))
            assert client.receive().status == 408
        with here.client() as client:
            while client.request(body=b"{}").status != 429:
                pass
            for status in (400, 413, 408, 429):
                assert f"refused: {status} from 127.0.0.1: " in caplog.text
            for _ in range(200):
                client.request(body=b"{}")
    assert len(caplog.records) < 60


@pytest.mark.parametrize("text", ["a:b:c", "http://x", "127.0.0.1:99999", "", "x/y"])
def test_an_address_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(SettingsError):
        Address.parse(text)


@pytest.mark.parametrize(
    ("hosts", "origins"), [(["https://x.example"], []), ([], ["x.example"]), ([], ["https://x/y"])]
)
def test_a_host_or_an_origin_that_is_none_is_refused(hosts: list[str], origins: list[str]) -> None:
    with pytest.raises(SettingsError):
        Hosts(Address("127.0.0.1", 1), hosts, origins)


# Messages ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", HANDSHAKES)
def test_every_version_with_a_handshake_is_spoken(client: Client, version: str) -> None:
    about = client.message("initialize", HELLO | {"protocolVersion": version})["result"]
    assert about["protocolVersion"] == version and about["serverInfo"]["name"] == "wages"
    headers = {"MCP-Protocol-Version": version}
    assert len(client.message("tools/list", headers=headers)["result"]["tools"]) == 2
    params = {"name": "search", "arguments": {"query": "wages"}}
    assert client.message("tools/call", params, headers=headers)["result"]["structuredContent"]["results"]
    assert client.message("ping", headers=headers)["result"] == {}


def modern(method: str, **params: Any) -> tuple[bytes, dict[str, str]]:
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": META}}
    named = {"Mcp-Name": params["name"]} if "name" in params else {}
    return json.dumps(body).encode(), {"MCP-Protocol-Version": MODERN, "Mcp-Method": method, **named}


def test_the_version_without_a_handshake_is_spoken(client: Client) -> None:
    body, headers = modern("server/discover")
    assert client.request(body=body, headers=headers).json()["result"]["supportedVersions"]
    body, headers = modern("tools/call", name="search", arguments={"query": "wages"})
    result = client.request(body=body, headers=headers).json()["result"]
    assert result["resultType"] == "complete" and result["structuredContent"]["results"]


@pytest.mark.parametrize(
    ("change", "status", "code"),
    [
        ({"Mcp-Method": "tools/list"}, 400, -32020),
        ({"Mcp-Name": "fetch"}, 400, -32020),
        ({"MCP-Protocol-Version": "2099-01-01"}, 400, -32020),
    ],
)
def test_headers_that_contradict_the_body_are_refused(
    client: Client, change: dict[str, str], status: int, code: int
) -> None:
    body, headers = modern("tools/call", name="search", arguments={"query": "wages"})
    reply = client.request(body=body, headers=headers | change)
    assert (reply.status, reply.json()["error"]["code"], reply.json()["id"]) == (status, code, 1)


def test_a_version_that_nobody_speaks_is_answered_with_those_that_are(client: Client) -> None:
    body, headers = modern("tools/list")
    body = body.replace(MODERN.encode(), b"2099-01-01")
    reply = client.request(body=body, headers=headers | {"MCP-Protocol-Version": "2099-01-01"})
    assert reply.status == 400 and reply.json()["error"]["data"]["supported"] == [MODERN]


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_python_client_lists_and_calls_the_tools(here: Here, mode: str) -> None:
    async def use() -> None:
        transport = streamable_http_client(f"http://127.0.0.1:{here.port}/mcp")
        async with McpClient(transport, mode=mode) as client:  # type: ignore[arg-type]
            assert [tool.name for tool in (await client.list_tools()).tools] == ["search", "fetch"]
            found = await client.call_tool("search", {"query": "pay"})
            assert found.structured_content is not None
            (first, *_) = found.structured_content["results"]
            document = await client.call_tool("fetch", {"id": first["id"]})
            assert document.structured_content is not None and document.structured_content["title"] == first["title"]
            missing = await client.call_tool("fetch", {"id": "W9999"})
            assert missing.is_error

    with anyio.from_thread.start_blocking_portal() as portal:
        portal.call(use)


@pytest.mark.parametrize(
    ("body", "status", "code", "id"),
    [
        (b"", 400, -32700, None),
        (b"{bad", 400, -32700, None),
        (b'{"jsonrpc":"2.0","id":7,"method":"ping"', 400, -32700, None),
        (b"\xff\xfe\x00", 400, -32700, None),
        (b"NaN", 400, -32700, None),
        (b'{"jsonrpc":"2.0","id":NaN,"method":"ping"}', 400, -32700, None),
        (b"null", 400, -32600, None),
        (b'"search"', 400, -32600, None),
        (b"17", 400, -32600, None),
        (b"[]", 400, -32600, None),
        (b"{}", 400, -32600, None),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', 400, -32600, None),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', 400, -32600, None),
        (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', 400, -32600, None),
        (b'{"jsonrpc":"2.0","id":{},"method":"ping"}', 400, -32600, None),
        (b'{"jsonrpc":"2.0","id":7}', 400, -32600, 7),
        (b'{"jsonrpc":"2.0","id":7,"method":5}', 400, -32600, 7),
        (b'{"jsonrpc":"2.0","id":"a","method":"no/such"}', 200, -32601, "a"),
        (b'{"jsonrpc":"2.0","id":7,"method":"ping","params":"x"}', 400, -32600, 7),
        (b'{"jsonrpc":"2.0","id":7,"method":"initialize","params":{}}', 200, -32602, 7),
        (b"[" * 100_000, 400, -32700, None),
        (b'{"params":' + b'{"a":' * 990 + b"0" + b"}" * 991 + b"}", 400, -32700, None),
        (b'{"jsonrpc":"2.0","id":1e999,"method":"ping"}', 400, -32700, None),
        (b"9" * 5_000, 400, -32700, None),
    ],
)  # fmt: skip
def test_what_is_no_message_is_answered_and_the_next_one_too(
    client: Client, body: bytes, status: int, code: int, id: object
) -> None:
    reply = client.request(body=body)
    assert (reply.status, reply.json()["error"]["code"], reply.json()["id"]) == (status, code, id)
    assert client.message("ping", id="next")["result"] == {}


def test_a_message_that_is_too_deep_is_answered_by_its_id(client: Client) -> None:
    reply = client.request(body=b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":' + b'{"a":' * 50_000)
    assert (reply.status, reply.json()["error"]["code"], reply.json()["id"]) == (400, -32700, 7)
    assert client.message("ping", id="next")["result"] == {}


@pytest.mark.parametrize(
    "body",
    [
        b'{"jsonrpc":"2.0","method":"notifications/initialized"}',
        b'{"jsonrpc":"2.0","method":"no/such","params":{}}',
        b'{"jsonrpc":"2.0","id":7,"result":{}}',
        b'[{"jsonrpc":"2.0","method":"notifications/initialized"}]',
    ],
)
def test_what_asks_for_no_answer_is_taken_without_one(client: Client, body: bytes) -> None:
    reply = client.request(body=body)
    assert (reply.status, reply.body) == (202, b"")
    assert client.message("ping")["result"] == {}


def test_several_messages_at_once_are_answered_one_by_one(client: Client) -> None:
    messages = [
        {"jsonrpc": "2.0", "id": 1, "method": "ping"},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        5,
        {
            "jsonrpc": "2.0",
            "id": "b",
            "method": "tools/call",
            "params": {"name": "search", "arguments": {"query": "x"}},
        },
        [],
    ]
    answers = client.request(body=json.dumps(messages).encode()).json()
    assert [answer["id"] for answer in answers] == [1, None, "b", None]
    reply = client.request(body=json.dumps([messages[0]] * 21).encode())
    assert reply.status == 400 and "at most 20 messages" in reply.json()["error"]["message"]


@pytest.mark.parametrize("accept", [None, "*/*", "application/json", "text/event-stream", "text/html"])
def test_an_answer_is_json_whatever_was_asked_for(client: Client, accept: str | None) -> None:
    headers = {"Accept": accept} if accept else {}
    body = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
    reply = client.request(body=body, headers=headers)
    assert reply.status == 200 and reply.headers["content-type"] == "application/json"


def test_halves_of_characters_come_back_as_what_can_be_sent(client: Client) -> None:
    params = b'{"name":"fetch","arguments":{"id":"\\udfff \xff"}}'
    body = b'{"jsonrpc":"2.0","id":"\\ud800","method":"tools/call","params":' + params + b"}"
    reply = client.request(body=body)
    assert reply.status == 200 and reply.json()["id"] == "\ufffd"
    assert "\ufffd \ufffd" in reply.json()["result"]["content"][0]["text"]


def test_http_that_is_none_is_refused_and_the_server_goes_on(here: Here) -> None:
    for sent in (b"hello\r\n\r\n", b"POST /mcp HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x02\x00", b"GET " + b"x" * 40_000,
                 b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n"):  # fmt: skip
        with here.client() as client:
            client.send(sent)
            client.socket.shutdown(socket.SHUT_WR)
            assert client.receive().status in (0, 400)
    with here.client() as client:
        assert client.message("ping")["result"] == {}


@pytest.mark.parametrize("case", cases("mcp"), ids=lambda case: case["name"])
def test_calls_answer_as_the_contract_says(case: dict[str, Any], tmp_path: Path) -> None:
    more = {name: case[name] for name in ("documents", "provenance") if name in case}
    built(case["rows"], to=tmp_path / "case.db", **more)
    with serving(public(str(tmp_path / "case.db"))) as here, here.client() as client:
        for one in case["calls"]:
            result = client.call(one["tool"], **one["arguments"])
            (block,) = result["content"]
            if "error" in one:
                assert (result["isError"], block["text"]) == (True, one["error"])
            else:
                assert result["structuredContent"] == json.loads(block["text"]) == one["found"]


# Bounds: each is reached ------------------------------------------------------------------------------------

SMALL = {
    "query_length": 40, "terms": 3, "patterns": 4, "candidates": 15, "text_bytes": 500, "body_bytes": 5_000,
    "body_seconds": 0.3,
}  # fmt: skip


@pytest.fixture(scope="module")
def small(database: str) -> Iterator[Here]:
    with serving(public(database, bounds=SMALL)) as here:
        yield here


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"query": "w" * 41}, "the question has 41 characters; 40 may be asked at once"),
        ({"query": "wages trade table sex"}, "the question has 4 terms; 3 may be asked for at once"),
        ({"query": "pay tables ages"}, "is searched by 7 words and phrases"),
    ],
)
def test_a_question_beyond_its_bound_is_told_which(small: Here, arguments: dict[str, str], said: str) -> None:
    with small.client() as client:
        assert said in client.error("search", **arguments).lower()
        assert client.found("search", query="wages")["results"]


def test_an_answer_is_not_read_further_down_than_its_bound(small: Here) -> None:
    with small.client() as client:
        assert len(client.found("search", query="wages", offset=5)["results"]) == 10
        assert "Results 7 to 16 were asked for; an answer can be read down to 15" in client.error(
            "search", query="wages", offset=6
        )


def test_a_text_beyond_its_bound_comes_in_parts_that_make_it_whole(small: Here, database: str) -> None:
    with Catalog.open(database) as catalog:
        whole = catalog.fetch("W7").text
    with small.client() as client:
        id, seen, parts = "W7", "", 0
        while id:
            found = client.found("fetch", id=id)
            assert len(found["text"].encode()) < 1_000
            seen += found["text"].split("```text\n")[1].split("\n```")[0] + "\n"
            id, parts = found["metadata"].get("next", ""), parts + 1
    assert parts > 2 and seen == whole


def test_a_body_beyond_its_bound_is_refused_before_it_is_read(small: Here) -> None:
    with small.client() as client:
        client.send(client.head("POST", "/mcp", 5_001))  # and nothing of it
        assert client.receive().status == 413
    with small.client() as client:
        client.send(client.head("POST", "/mcp", None, {"Transfer-Encoding": "chunked"}))
        for _ in range(6):
            client.send(b"400\r\n" + b" " * 1_024 + b"\r\n")
        reply = client.receive()
        assert reply.status == 413 and "longer than 5,000 bytes" in reply.json()["error"]["message"]


def test_a_body_that_does_not_arrive_is_given_up(small: Here) -> None:
    with small.client() as client:
        client.send(client.head("POST", "/mcp", 100) + b'{"jsonrpc"')
        reply = client.receive()
        assert reply.status == 408 and reply.headers["connection"] == "close"
        assert "longer than 0.3 s to arrive" in reply.json()["error"]["message"]


def test_a_question_that_takes_too_long_is_stopped_and_says_so(database: str) -> None:
    with serving(public(database, bounds={"query_seconds": 1e-9})) as here, here.client() as client:
        assert "takes longer than 1e-09 s in the catalogue's database" in client.error(
            "search", query="wages sex zebra"
        )


def test_a_caller_makes_so_many_calls_a_second(database: str) -> None:
    with serving(public(database, bounds={"calls_per_second": 2})) as here, here.client() as client:
        replies = [client.request(body=b'{"jsonrpc":"2.0","id":1,"method":"ping"}') for _ in range(8)]
        assert [reply.status for reply in replies[:4]] == [200] * 4
        assert replies[7].status == 429 and replies[7].headers["retry-after"] == "1"
        assert "2 a second is what one caller may make" in replies[7].json()["error"]["message"]
        assert client.request("GET", "/healthz").status == 200
        time.sleep(0.6)
        assert client.request(body=b'{"jsonrpc":"2.0","id":1,"method":"ping"}').status == 200


def test_several_messages_at_once_are_as_many_calls(database: str) -> None:
    with serving(public(database, bounds={"calls_per_second": 2})) as here, here.client() as client:
        ping = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
        assert client.request(body=b"[" + b",".join([ping] * 4) + b"]").status == 200
        assert client.request(body=ping).status == 429


def test_aliases_of_the_configuration_are_understood_and_not_listed(database: str) -> None:
    aliases: dict[str, Any] = {"tool_aliases": {"search": ("procurar",)}, "key_aliases": {"query": ("pergunta",)}}
    with serving(public(database, **aliases)) as here, here.client() as client:
        found = client.found("procurar", pergunta="wages")
        assert found["results"] and "procurar" in found["warnings"][0]
        assert "procurar" not in json.dumps(client.message("tools/list"))


def test_calls_beyond_what_is_under_way_are_told_that_it_is_busy(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    held, asked = threading.Event(), threading.Event()
    search = Catalog.search

    def slow(self: Catalog, question: str, **options: Any) -> Any:
        if question == "slow":
            asked.set()
            held.wait(10)
        return search(self, question, **options)

    monkeypatch.setattr(Catalog, "search", slow)
    with serving(public(database, bounds={"concurrent_calls": 1})) as here, here.client() as one, here.client() as two:
        found: list[Any] = []
        thread = threading.Thread(target=lambda: found.append(one.found("search", query="slow")))
        thread.start()
        assert asked.wait(10)
        reply = two.request(body=b'{"jsonrpc":"2.0","id":1,"method":"ping"}')
        assert reply.status == 503 and reply.headers["retry-after"] == "1"
        assert two.request("GET", "/healthz").status == 200
        held.set()
        thread.join(10)
        assert found and two.message("ping")["result"] == {}


# The process ------------------------------------------------------------------------------------------------


def test_it_does_not_start_over_http_without_saying_who_is_let_in(database: str) -> None:
    with program(database, "--http", "127.0.0.1:0") as started:
        assert started.wait() == 1
        assert "needs tokens, or --anonymous to answer whoever can reach it" in started.log()


def test_an_address_that_is_taken_is_said(database: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        with program(database, "--http", address, "--anonymous") as started:
            assert started.wait() == 1
            assert f"cannot listen at {address}: Address already in use" in started.log()


def test_options_come_from_the_environment_and_each_call_is_a_line_without_its_question(
    database: str, tmp_path: Path
) -> None:
    environment = {
        "CATALOG_SEARCH_SERVE_HTTP": "127.0.0.1:0",
        "CATALOG_SEARCH_SERVE_ANONYMOUS": "1",
        "CATALOG_SEARCH_SERVE_LOG_QUERIES": str(tmp_path / "questions.jsonl"),
    }
    with program(database, environment=environment) as started:
        client = Client(started.port)
        client.found("search", query="secret wages")
        client.call("search")
        client.error("fetch", id="secret id")
        client.close()
        started.process.send_signal(signal.SIGTERM)
        assert started.wait() == 0
        log = started.log()
    assert "secret" not in log
    lines = [line.split(" ", 2)[2] for line in log.splitlines() if "caller=" in line]
    assert [line.split(" ms ")[-1] for line in lines] == [
        "caller=anonymous results=10 relaxed",
        "INFO search taught caller=anonymous",
        "caller=anonymous",
    ]
    assert lines[0].startswith("INFO search answered ") and lines[2].startswith("INFO fetch not_found ")
    written = [json.loads(line) for line in (tmp_path / "questions.jsonl").read_text("utf-8").splitlines()]
    assert written == [{"query": "secret wages", "tool": "search", "results": 10, "relaxed": True, "missed": True}]
    if sys.platform != "win32":
        assert (tmp_path / "questions.jsonl").stat().st_mode & 0o777 == 0o600


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_question_that_cannot_be_written_down_is_answered_and_that_is_said_once(database: str) -> None:
    with program(database, "--http", "127.0.0.1:0", "--anonymous", "--log-queries", "/dev/full") as started:
        client = Client(started.port)
        for _ in range(3):
            assert client.found("search", query="wages")["results"]
        client.close()
        started.process.send_signal(signal.SIGTERM)
        assert started.wait() == 0
        assert started.log().count("questions are not written down") == 1 and "Traceback" not in started.log()


SLOW = """
import sys, time
from catalog_search import Catalog
search = Catalog.search
def slow(self, question, **options):
    print("asked", file=sys.stderr, flush=True)
    time.sleep(float(question.split()[-1]))
    return search(self, "wages", **options)
Catalog.search = slow
from catalog_search.cli import main
main(["serve", *sys.argv[1:]])
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_after_the_calls_in_hand(database: str, number: signal.Signals) -> None:
    import sys

    with program(database, "--http", "127.0.0.1:0", "--anonymous", before=[sys.executable, "-c", SLOW]) as started:
        port = started.port
        found: list[Any] = []

        def ask() -> None:
            client = Client(port)
            found.append(client.found("search", query="sleep 1.0"))
            client.close()

        threads = [threading.Thread(target=ask) for _ in range(4)]
        idle = Client(port)
        for thread in threads:
            thread.start()
        deadline = time.monotonic() + 10
        while started.log().count("asked") < 4 and time.monotonic() < deadline:
            time.sleep(0.02)
        os.kill(started.process.pid, number)
        for thread in threads:
            thread.join(20)
        assert started.wait() == 0
        assert len(found) == 4 and all(one["results"] for one in found)
        assert idle.receive().status == 0
        idle.close()


def test_a_signal_cuts_nobody_off_between_two_calls(database: str) -> None:
    """Connections that ask one question after another each get an answer to every question they sent."""
    with program(database, "--http", "127.0.0.1:0", "--anonymous", "--log-level", "error") as started:
        port = started.port
        stop, lost, answered = threading.Event(), [], [0]

        def ask() -> None:
            client = Client(port)
            while not stop.is_set():
                body = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
                try:
                    reply = client.request(body=body)
                except OSError as problem:
                    reply = Reply(0, {}, repr(problem).encode())
                if reply.status not in (200, 429):
                    lost.append(reply)
                    break
                answered[0] += 1
                if reply.headers.get("connection") == "close":
                    break
            client.close()

        threads = [threading.Thread(target=ask) for _ in range(8)]
        for thread in threads:
            thread.start()
        time.sleep(1.0)
        started.process.send_signal(signal.SIGTERM)
        assert started.wait() == 0
        stop.set()
        for thread in threads:
            thread.join(10)
        assert lost == [] and answered[0] > 8


def test_the_parts_of_an_answer_are_sent_without_waiting_for_each_other() -> None:
    """A system that holds a part back until the one before is acknowledged makes every call 40 ms longer."""

    async def accepted() -> int:
        told: asyncio.Future[int] = asyncio.get_running_loop().create_future()

        def connected(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            told.set_result(writer.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            writer.close()

        server = await asyncio.start_server(connected, sock=(opened := open_socket(Address("127.0.0.1", 0))))
        async with server:
            _, writer = await asyncio.open_connection(*opened.getsockname())
            found = await told
            writer.close()
            return found

    assert asyncio.run(accepted())
