"""What people complained about MCP servers of this kind, one test each, over both transports, as raw messages."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from served import Client, program
from support import SHARED, built
from wires import WIRES, Wire, called, failed, opened

Served = Callable[..., AbstractContextManager[Wire]]
WAGES = [{"id": "1", "title": "Wages"}, {"id": "2", "title": "Wages by sex"}]


@pytest.fixture(params=WIRES)
def over(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Served]:
    """Serve rows over a transport."""

    def serve(rows: list[dict[str, Any]], *options: str, **more: Any) -> AbstractContextManager[Wire]:
        built(rows, to=tmp_path / "case.db", **more)
        return WIRES[request.param](str(tmp_path / "case.db"), *options)

    yield serve


def test_7_01_a_plain_server_has_exactly_the_two_tools(over: Served) -> None:
    with over(WAGES) as wire:
        (answer,) = wire.answers(b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}')
    tools = {tool["name"]: tool for tool in answer["result"]["tools"]}
    assert sorted(tools) == ["fetch", "search"]
    for name, key in (("search", "query"), ("fetch", "id")):
        schema = tools[name]["inputSchema"]
        assert (schema["required"], schema["properties"][key]["type"]) == ([key], "string")
        assert list(schema["properties"]) == [key] and tools[name]["annotations"]["readOnlyHint"] is True


def test_7_02_the_object_and_its_text_are_one(over: Served) -> None:
    with over([{"id": "1", "title": "Wages", "url": "https://x.example/1"}]) as wire:
        found = opened(called(wire, "search", {"query": "wages"}))
    assert found == {"results": [{"id": "1", "title": "Wages", "url": "https://x.example/1"}]}


def test_7_04_an_id_is_encoded_in_its_address(over: Served) -> None:
    rows = [{"id": "1", "title": "Wages"}, {"id": "a b/2", "title": "Rents"}]
    with over(rows, documents={"url": "https://x.example/t/{id}"}) as wire:
        found = opened(called(wire, "search", {"query": "rents"}))
    assert found["results"] == [{"id": "a b/2", "title": "Rents", "url": "https://x.example/t/a%20b%2F2"}]


def test_7_05_every_member_is_text_and_fetch_takes_what_search_gave(over: Served) -> None:
    rows: list[dict[str, Any]] = [{"id": 12, "title": None, "url": None, "text": "Wages 2020"}]
    with over(rows, documents={"title": "{title|id}"}) as wire:
        (one,) = opened(called(wire, "search", {"query": "wages"}))["results"]
        document = opened(called(wire, "fetch", {"id": one["id"]}))
    assert one == {"id": "12", "title": "12", "url": ""}
    assert all(isinstance(document[key], str) for key in ("id", "title", "url", "text"))


def test_7_07_a_database_that_is_removed_is_an_error(over: Served, tmp_path: Path) -> None:
    with over(WAGES) as wire:
        (tmp_path / "case.db").unlink()
        assert "database" in failed(called(wire, "search", {"query": "wages"}))
        assert "database" in failed(called(wire, "fetch", {"id": "1"}))
        built([{"id": "3", "title": "Wages again"}], to=tmp_path / "case.db")
        assert opened(called(wire, "search", {"query": "wages"}))["results"][0]["id"] == "3"


def test_7_08_a_guessed_call_runs_once_and_teaches(over: Served) -> None:
    with over(WAGES) as wire:
        for tool, arguments, named in (
            ("search", {"q": "wages"}, ("q", "query")),
            ("search", {"query": "wages", "limt": 1}, ("limt",)),
            ("search_datasets", {"query": "wages"}, ("search_datasets", "search")),
        ):
            found = opened(called(wire, tool, arguments))
            assert [one["id"] for one in found["results"]] == ["1", "2"]
            assert all(name in " ".join(found["warnings"]) for name in named)
        result = called(wire, "search", {})
        assert result["isError"] is False and "query" in result["content"][0]["text"]


def test_7_08_a_strict_server_refuses_it_and_names_what_offends(over: Served) -> None:
    with over(WAGES, "--strict") as wire:
        assert "limt" in failed(called(wire, "search", {"query": "wages", "limt": 1}))
        assert failed(called(wire, "search", {}))
        said = failed(called(wire, "search_datasets", {"query": "wages"}))
        assert "search" in said and "fetch" in said


def test_7_10_the_command_line_and_the_server_give_the_same_ids(over: Served, tmp_path: Path) -> None:
    with over(WAGES) as wire:
        for question in ("wages", "wages sex", "wage of astronauts"):
            command = [sys.executable, "-m", "catalog_search", "search", str(tmp_path / "case.db"), question, "--json"]
            printed = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
            found = opened(called(wire, "search", {"query": question}))
            assert [one["id"] for one in found["results"]] == [one["id"] for one in printed["results"]]


def test_7_11_a_long_document_pages_itself(over: Served) -> None:
    long = {"id": "1", "title": "Wages 1", "text": "lines of text\n" * 150_000}
    rows = [long, *({"id": str(n), "title": f"Wages {n}"} for n in range(2, 1_001))]
    with over(rows) as wire:
        (answer,) = wire.answers(
            b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search","arguments":{"query":"wages"}}}'
        )
        assert len(json.dumps(answer)) < 20_000
        found = opened(called(wire, "fetch", {"id": "1"}))
        assert len(found["text"]) < 100_000 and "continues: fetch" in found["text"][-100:]
        again = opened(called(wire, "fetch", {"id": found["metadata"]["next"]}))
        assert again["id"] == "1" and "lines of text" in again["text"]


def test_7_13_a_large_catalogue_starts_like_a_small_one(tmp_path: Path) -> None:
    """What is read before `initialize` is answered does not grow with the file."""
    read = []
    for count in (100, 10_000):
        built(({"id": str(n), "title": f"Wages {n}", "text": "word " * 50} for n in range(count)), to=tmp_path / "x.db")
        program = (
            "import sys; from catalog_search.database import Database; steps = 0\n"
            "def step():\n    global steps; steps += 1; return 0\n"
            "connect = Database._connect\n"
            "def counting(self):\n    opened = connect(self); opened.set_progress_handler(step, 1); return opened\n"
            "Database._connect = counting\n"
            "from catalog_search.server.configuration import Configuration\n"
            "from catalog_search.server.journal import Journal\n"
            "from catalog_search.server.shelf import Shelf; from catalog_search.server.serving import make_server\n"
            "make_server(Shelf.of_files([sys.argv[1]]), Configuration(), Journal()); print(steps)"
        )
        done = subprocess.run([sys.executable, "-c", program, str(tmp_path / "x.db")], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        read.append(int(done.stdout))
    assert read[1] <= read[0] * 1.1, read


def test_7_14_a_deploy_that_is_not_known_by_its_name_is_told_how(tmp_path: Path) -> None:
    built(WAGES, to=tmp_path / "case.db")
    for options, host, origin, status in (
        ((), "mcp.example.org", None, 421),
        (("--allow-host", "mcp.example.org"), "mcp.example.org", None, 200),
        ((), "127.0.0.1:8000", "http://evil.example", 403),
    ):
        with program(tmp_path / "case.db", "--http", "127.0.0.1:0", "--anonymous", *options) as server:
            client = Client(server.port)
            headers = {"Host": host} | ({"Origin": origin} if origin else {})
            assert client.request("GET", "/healthz", headers=headers).status == status
            client.close()
            server.process.terminate()
            assert server.wait() == 0
            assert ("--allow-host" in server.log()) == (status == 421)


def test_a_replaced_database_is_answered_from_without_a_failed_call(over: Served, tmp_path: Path) -> None:
    with over([{"id": "1", "title": "Wages 0"}]) as wire:
        for number in range(1, 6):
            built([{"id": "1", "title": f"Wages {number}"}], to=tmp_path / "new.db")
            shutil.move(tmp_path / "new.db", tmp_path / "case.db")
            found = opened(called(wire, "search", {"query": "wages"}))
            assert [one["title"] for one in found["results"]] == [f"Wages {number}"]


def test_every_collected_case_is_here() -> None:
    path = SHARED.parent / "cases" / "cases.jsonl"
    if not path.is_file():
        pytest.skip("the collection of cases (../shared/cases, beside the repository) is not there")
    collected = {json.loads(line)["id"].rstrip("ab") for line in path.read_text("utf-8").splitlines()}
    here = {found.replace("_", "-") for found in re.findall(r"def test_(7_\d\d)_", Path(__file__).read_text("utf-8"))}
    assert {id for id in collected if id.startswith("7-")} == here
