"""Clients that others wrote list and call the tools, over a stdio child and over HTTP: the Python client, the two
TypeScript ones, the Inspector. Each holds the results against the schemas that were listed.

npm brings those of JavaScript: see node.py.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import jsonschema
import pytest
from mcp import Client, StdioServerParameters
from node import installed, modules, newer_node, run
from support import built
from wires import HANDSHAKES, MODERN, REPLY_SECONDS, SERVE, over_http

TRANSPORTS = ["stdio", "http"]
SPOKEN = {"1": HANDSHAKES[-1], "2": HANDSHAKES[-1], "2-auto": MODERN}


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("clients")
    rows = [
        {"id": f"L{n}", "title": f"Labour force, region {n}", "url": f"https://x.example/{n}", "text": "Émigrés — 人口"}
        for n in range(12)
    ]
    vocabulary = [{"asked": "labor", "source": ["labour"]}]
    built(rows, folder=folder, vocabulary=vocabulary, to=folder / "labour.db", name="labour-tables")
    return str(folder / "labour.db")


@pytest.fixture(scope="module")
def url(database: str) -> Iterator[str]:
    with over_http(database, "--tools", "all") as wire:
        yield f"http://{wire.address}/mcp"


TITLE = {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]}
CALLS: list[dict[str, Any]] = [
    {"name": "search", "arguments": {"query": "labor force"}},
    {"name": "fetch", "arguments": {"id": "L7"}},
    {"name": "fetch", "arguments": {"id": "L77"}},
    {"name": "lookup", "arguments": {"q": "labor force"}},
    {"name": "search", "arguments": {}},
    {"name": "fetch", "arguments": {}},
    {"name": "search_evidence", "arguments": {"query": "region 7"}},
    {"name": "read_document", "arguments": {"id": "L7"}},
    {"name": "list_collections", "arguments": {}},
    {"name": "verified_search", "arguments": {"query": "region 7", "schema": TITLE, "require": ["all"]}},
]


def check(tools: list[dict[str, Any]], results: list[dict[str, Any]]) -> None:
    """Check what a client was given for CALLS: the tools, and the results."""
    schemas = {tool["name"]: tool["outputSchema"] for tool in tools}
    assert list(schemas) == [
        "search",
        "fetch",
        "search_evidence",
        "read_document",
        "list_collections",
        "verified_search",
    ]
    assert all(tool["annotations"]["readOnlyHint"] is True for tool in tools)
    found = {}
    for number, (call, result) in enumerate(zip(CALLS, results, strict=True)):
        (block,) = result["content"]
        if number == 2:
            assert result["isError"] is True
            assert "The nearest ids: L7" in block["text"]
            continue
        assert not result.get("isError"), block
        assert json.loads(block["text"]) == result["structuredContent"]
        jsonschema.validate(result["structuredContent"], schemas.get(call["name"], schemas["search"]))
        found[number] = result["structuredContent"]
    assert len(found[0]["results"]) == 10
    assert found[0]["notes"] == ["“labor” was also searched as labour, the wording the source uses."]
    assert found[1]["url"] == "https://x.example/7"
    assert "Émigrés — 人口" in found[1]["text"]
    assert found[3]["results"] == found[0]["results"]
    assert found[3]["warnings"][-1] == 'The canonical call: search {"query": "labor force"}'
    assert found[4]["results"] == [] and found[4]["warnings"]
    assert found[5]["text"] == "" and found[5]["warnings"]
    assert "L7" in json.dumps(found[6]) and "Émigrés — 人口" in json.dumps(found[7], ensure_ascii=False)


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("mode", ["legacy", "auto", MODERN])
def test_the_python_client_lists_and_calls_every_tool(database: str, url: str, mode: str, transport: str) -> None:
    async def main() -> None:
        child = StdioServerParameters(command=SERVE[0], args=[*SERVE[1:], database, "--tools", "all"])
        target: Any = child if transport == "stdio" else url
        async with Client(target, mode=mode, read_timeout_seconds=REPLY_SECONDS) as client:
            assert client.protocol_version == (HANDSHAKES[-1] if mode == "legacy" else MODERN)
            tools = (await client.list_tools()).tools
            results = [await client.call_tool(call["name"], call["arguments"]) for call in CALLS]
        plain = [one.model_dump(by_alias=True, mode="json", exclude_none=True) for one in (*tools, *results)]
        check(plain[: len(tools)], plain[len(tools) :])

    anyio.run(main)


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("kind", SPOKEN)
def test_the_typescript_clients_list_and_call_every_tool(database: str, url: str, kind: str, transport: str) -> None:
    target = [*SERVE, database, "--tools", "all"] if transport == "stdio" else [url]
    done = run(["node", str(installed() / "sdk.mjs"), kind, json.dumps(CALLS), *target])
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["server"]["name"] == "labour-tables"
    assert told["instructions"].startswith('This server answers from the catalogue "labour-tables"')
    assert told["strays"] == []
    assert told.get("version", SPOKEN[kind]) == SPOKEN[kind]
    check(told["tools"], told["results"])


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_the_inspector_lists_and_calls_the_tools(database: str, url: str, transport: str, tmp_path: Path) -> None:
    node = newer_node()
    package = modules() / "@modelcontextprotocol" / "inspector"
    inspector = str(package / "clients" / "launcher" / "build" / "index.js")
    target = [*SERVE, database, "--tools", "all"] if transport == "stdio" else [url, "--transport", "http"]

    def inspect(*options: str, status: int = 0) -> dict[str, Any]:
        done = run([node, inspector, "--cli", *target, *options], env=os.environ | {"HOME": str(tmp_path)})
        assert done.returncode == status, done.stderr + done.stdout
        told: dict[str, Any] = json.loads(done.stdout)
        return told

    def call(name: str, arguments: dict[str, str], status: int = 0) -> dict[str, Any]:
        pairs = [f"{key}={value}" for key, value in arguments.items()]
        given = ["--tool-arg", *pairs] if pairs else []
        return inspect("--method", "tools/call", "--tool-name", name, *given, status=status)

    # --strict: it fails if a client that it knows of could not take the schemas.
    tools = inspect("--method", "tools/list", "--strict")["tools"]
    assert [tool["name"] for tool in tools][:2] == ["search", "fetch"]
    search, fetch = (call(one["name"], one["arguments"]) for one in CALLS[:2])
    for result, tool in zip((search, fetch), tools, strict=False):
        jsonschema.validate(result["structuredContent"], tool["outputSchema"])
    assert len(search["structuredContent"]["results"]) == 10
    assert fetch["structuredContent"]["title"] == "Labour force, region 7"
    assert "The nearest ids: L7" in call("fetch", CALLS[2]["arguments"], status=5)["content"][0]["text"]
