"""What a token does not open does not exist: every tool, every argument, byte for byte."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterator
from typing import Any

import pytest
from served import Here, serving
from support import built

from catalog_search.builder import build
from catalog_search.server.access import Token
from catalog_search.server.bounds import Bounds
from catalog_search.server.configuration import Collection, Configuration

SECRET, OTHER_SECRET = "a-secret-for-tests", "another-secret-for-tests"
TOKEN = Token("reader", hashlib.sha256(SECRET.encode()).hexdigest(), ("seen",))
OTHER = Token("analyst", hashlib.sha256(OTHER_SECRET.encode()).hexdigest(), ("seen", "hidden"))
REVISION = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Here, Here]]:
    """Serve two collections, of which the token opens one; and that one alone."""
    folder = tmp_path_factory.mktemp("access")
    (folder / "docs").mkdir()
    (folder / "docs/plans.md").write_text("# Plans\nWages of 2030.\n\n## Budget\nSecret zebra.\n", "utf-8")
    source = {"path": str(folder), "files": "docs/*.md"}
    documents = {"url": "https://hidden.example/{path}#{slug}", "metadata": [{"file": "path"}], "facets": ["file"]}
    wanted = {"name": "hidden", "title": "Hidden plans", "language": "en", "source": source, "documents": documents}
    build(wanted | {"provenance": {"revision": REVISION}}, folder / "hidden.db")
    rows = [
        {"id": f"{n}", "title": f"Wages {n}", "text": "Gross\nand net.", "url": f"https://seen.example/{n}"}
        for n in range(30)
    ]
    built(rows, to=folder / "seen.db", name="seen", provenance={"revision": "7"})
    seen, hidden = Collection(str(folder / "seen.db"), "seen"), Collection(str(folder / "hidden.db"), "hidden")
    bounds = Bounds(calls_per_second=0)
    common: dict[str, Any] = {"tools": ("all",), "bounds": bounds}
    with (
        serving(Configuration((seen, hidden), tokens=(TOKEN, OTHER), **common)) as both,
        serving(Configuration((seen,), tokens=(TOKEN,), **common)) as alone,
    ):
        yield both, alone


TITLE = {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]}
TEXTS = [
    "hidden", "hidden:docs/plans.md#plans", "docs/plans.md#plans", "docs/plans.md#plans#L2", "docs/plans.md",
    "https://hidden.example/docs/plans.md#plans", "docs/", REVISION, "zebra", "Plans", "7", "seen", "seen:1", "1",
]  # fmt: skip
VALUES: dict[str, list[Any]] = {
    "query": ["wages", "secret zebra", "plans", REVISION, "docs/plans.md#plans", "hidden"],
    "id": TEXTS,
    "collections": [["hidden"], ["seen", "hidden"], ["hidden", "nowhere"]],
    "where": [{"file": "docs/plans.md"}, {"file": "docs/plans.md", "x": "y"}],
    "path_prefix": ["docs/", "docs/plans.md"],
    "revision": [REVISION, REVISION[:9], "7"],
    "from_line": [1, 2, 3, 10**6],
    "from_char": [2, 10**6],
    "offset": [1, 29, 30, 31, 999, 1_000],
    "limit": [1, 50],
    "max_lines": [1],
    "max_chars": [500],
    "schema": [{"properties": {"text": {"type": "string"}, "file": {}}}],
    "require": [["all"], ["title"]],
}


def calls(tool: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield calls of a tool: each value of each argument, and each two arguments at a time."""
    keys = list(tool["inputSchema"]["properties"])
    main = [key for key in keys if key in ("query", "id")]
    others = [key for key in keys if key not in main]
    # what no schema names, and is read all the same
    others += [key for key in ("collection", "collections", "from_line", "offset", "revision") if key not in others]
    needed = {"schema": TITLE} if "schema" in keys else {}
    firsts = [{key: value, **needed} for key in main for value in VALUES[key]] or [{}]
    yield from firsts
    for key in others:
        for value in VALUES.get(key, ["hidden"]):
            yield firsts[0] | {key: value}
            yield firsts[min(2, len(firsts) - 1)] | {key: value}
    for one, two in itertools.combinations(others, 2):
        yield firsts[0] | {one: VALUES.get(one, ["hidden"])[0], two: VALUES.get(two, ["hidden"])[0]}


def test_a_server_that_hides_a_collection_answers_like_one_without_it(servers: tuple[Here, Here]) -> None:
    count = 0
    with servers[0].client(SECRET) as both, servers[1].client(SECRET) as alone:
        tools = both.message("tools/list")
        assert tools == alone.message("tools/list")
        names = [tool["name"] for tool in tools["result"]["tools"]]
        assert names == ["search", "fetch", "search_evidence", "read_document", "list_collections", "verified_search"]
        for tool in tools["result"]["tools"]:
            for arguments in calls(tool):
                params = {"name": tool["name"], "arguments": arguments}
                body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()
                told, other = both.request(body=body), alone.request(body=body)
                assert (told.status, told.body) == (other.status, other.body), arguments
                assert b"Secret" not in told.body
                assert b"hidden.example" not in told.body or "hidden.example" in json.dumps(arguments)
                count += 1
    assert count > 200


def test_whom_it_is_open_to_finds_it(servers: tuple[Here, Here]) -> None:
    """Else the test above would prove nothing."""
    with servers[0].client(OTHER_SECRET) as client:
        assert (
            client.found("search_evidence", query="secret zebra")["results"][0]["id"] == "hidden:docs/plans.md#budget"
        )
        assert client.found("search_evidence", query="wages", path_prefix="docs/")["total"] == 1
        assert client.found("search_evidence", query="wages", revision=REVISION)["total"] == 1
        (item,) = client.found("verified_search", query="secret zebra", schema=TITLE)["items"]
        assert (item["title"], item["source_url"]) == ("Budget", "https://hidden.example/docs/plans.md#budget")
        assert client.found("read_document", id="docs/plans.md#plans")["text"].startswith("1: # Plans")
        assert len(client.found("list_collections")["collections"]) == 2
