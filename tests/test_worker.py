"""The exported Worker, in workerd: the tests of the server in Python, and what is its own."""

# ruff: noqa: F811, F401
from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import anyio
import jsonschema
import pytest
from click.testing import CliRunner
from edge import Edge, exported
from node import installed, run
from support import built, cases
from test_equality import HOSTILE_ROWS
from test_server import (
    LISTED,
    SCHEMAS,
    database,
    test_a_question_met_by_its_own_words_has_no_extra_members,
    test_a_relaxed_answer_is_marked_and_says_what_it_leaves_out,
    test_a_translation_is_said,
    test_an_unknown_id_names_the_nearest,
    test_any_text_is_a_question_and_any_text_may_be_an_id,
    test_every_answer_satisfies_the_schema_that_is_listed,
    test_the_list_of_tools_is_exactly_this,
    test_the_text_of_a_document_cannot_leave_its_fence,
    test_what_search_gives_fetch_takes,
)
from test_server_clients import SPOKEN
from wires import MODERN, opened

from catalog_search import DatabaseError, build, load_settings
from catalog_search.cli import main
from catalog_search.server.pair import fetch
from catalog_search.server.shelf import Shelf
from catalog_search.server.texts import Texts
from catalog_search.worker import PARTS, export_worker, worker_name

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def server(database: str) -> Iterator[Edge]:
    with exported(database) as edge:
        yield edge


@pytest.mark.parametrize("case", cases("mcp"), ids=lambda case: case["name"])
def test_calls_answer_as_the_contract_says(case: dict[str, Any], tmp_path: Path) -> None:
    more = {name: case[name] for name in ("documents", "provenance") if name in case}
    built(case["rows"], to=tmp_path / "case.db", **more)
    with exported(tmp_path / "case.db") as edge:
        for call in case["calls"]:
            if "error" in call:
                assert edge.error(call["tool"], **call["arguments"]) == call["error"]
            else:
                assert edge.found(call["tool"], **call["arguments"]) == call["found"]


# Documents ----------------------------------------------------------------------------------------------------


def markdown_rows() -> Iterator[dict[str, Any]]:
    """Yield documents whose every part is hostile to Markdown or JSON."""
    texts = [
        *cases("markdown"),
        "a\x85b\u2028c\ufeffd \u00a0e\x1cf",
        "`" * 5,
        "\n\n",
        " \ufeff ",
        "\r\n" * 3,
        '"\\/\b\f\n',
    ]
    for number, text in enumerate(texts):
        yield {
            "id": f"m{number} {text}".strip(),
            "title": text if text.strip() else "blank",
            "keywords": f"{text}|{text * 2}",
            "text": f"{text}\n{text}",
            "url": "https://x.example/?a=b_c" if number % 2 else "",
            "2024": text,
            "10": [text, "b"],
            "1": {"b": text, "a": ["x", {"7": text, "5": [], "é": {}}], "__proto__": "p"},
            "path": text,
            "constructor": "c",
            text or "empty": "x" * (3_000 if number % 7 == 0 else 3),
        }


def document_rows() -> Iterator[dict[str, Any]]:
    rows = list(markdown_rows())
    names = dict.fromkeys(name for row in rows for name in row)
    kept = [name for name in names if name.strip() and not set("{}|") & set(name) and name.isprintable()]
    assert len(kept) > 30
    for row in rows:
        yield {name: row.get(name) for name in kept}


def same_documents(edge: Edge, path: str, ids: Iterable[str]) -> int:
    """Compare the Worker's documents with Python's, byte by byte."""
    ids = list(ids)
    shelf = Shelf.of_files([path])
    for start in range(0, len(ids), 20):
        page = ids[start : start + 20]
        calls = [
            {"jsonrpc": "2.0", "id": n, "method": "tools/call", "params": {"name": "fetch", "arguments": {"id": id}}}
            for n, id in enumerate(page)
        ]
        status, _, body = edge.post(json.dumps(calls).encode())
        assert status == 200
        for id, reply in zip(page, json.loads(body), strict=True):
            found = fetch(Texts("en"), 40_000, shelf, {"id": id})
            obj, extras = found if isinstance(found, tuple) else (found, None)
            wanted = {**obj, **(extras or {})}
            text = json.dumps(wanted, ensure_ascii=False, separators=(",", ":"))
            assert reply["result"]["content"][0]["text"] == text, id
            assert reply["result"]["structuredContent"] == wanted
    shelf.close()
    return len(ids)


@pytest.mark.parametrize("name", ["icd10cm", "oecd"])
def test_documents_are_those_of_python_byte_by_byte(tmp_path: Path, name: str) -> None:
    path = tmp_path / f"{name}.db"
    build(load_settings(ROOT / "data" / name / "catalog.yaml"), path)
    with Shelf.of_files([str(path)]).catalog(name) as catalog:
        found = catalog.database.connection().execute("SELECT id FROM documents ORDER BY id LIMIT 1500").fetchall()
    with exported(path) as edge:
        assert same_documents(edge, str(path), (id for (id,) in found)) > 1_000


def test_hostile_documents_are_those_of_python_byte_by_byte(tmp_path: Path) -> None:
    path = tmp_path / "hostile.db"
    rows = list(document_rows())
    report = built(
        rows, to=path, on_bad_row="skip", duplicates="first", provenance={"publisher": "a*b", "licence": "[c]"}
    )
    assert report.documents > 40
    with report.catalog as catalog:
        found = catalog.database.connection().execute("SELECT id FROM documents ORDER BY id").fetchall()
    with exported(path) as edge:
        same_documents(edge, str(path), (id for (id,) in found))


def test_documents_of_every_script_are_those_of_python_byte_by_byte(tmp_path: Path) -> None:
    report = built(HOSTILE_ROWS, to=tmp_path / "scripts.db")
    with exported(report.path) as edge:
        assert same_documents(edge, report.path, (row["id"] for row in HOSTILE_ROWS)) > 150


# Clients ------------------------------------------------------------------------------------------------------


CALLS: list[dict[str, Any]] = [
    {"name": "search", "arguments": {"query": "labor force"}},
    {"name": "fetch", "arguments": {"id": "L07"}},
    {"name": "fetch", "arguments": {"id": "L77"}},
    {"name": "lookup", "arguments": {"q": "labor force"}},
]


@pytest.mark.parametrize("kind", ["1", "2", "2-auto"])
def test_the_typescript_clients_list_and_call_both_tools(server: Edge, kind: str) -> None:
    done = run(["node", str(installed() / "sdk.mjs"), kind, json.dumps(CALLS), f"{server.cloudflare.worker}/mcp"])
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["server"]["name"], told.get("version", SPOKEN[kind]), told["strays"]) == (
        "labour-tables",
        SPOKEN[kind],
        [],
    )
    assert told["tools"] == LISTED
    search, fetched, unknown, lookup = told["results"]
    for result in (search, fetched, lookup):
        (block,) = result["content"]
        assert json.loads(block["text"]) == result["structuredContent"]
    assert len(search["structuredContent"]["results"]) == 10
    assert lookup["structuredContent"]["results"] == search["structuredContent"]["results"]
    assert lookup["structuredContent"]["warnings"]
    assert fetched["structuredContent"]["title"] == "Labour force, region 07"
    assert unknown["isError"] is True and "The nearest ids: L0" in unknown["content"][0]["text"]


@pytest.mark.parametrize("mode", ["legacy", "auto", MODERN])
def test_the_python_client_lists_and_calls_both_tools(server: Edge, mode: str) -> None:
    from mcp import Client
    from mcp.client.streamable_http import streamable_http_client

    async def use() -> None:
        transport = streamable_http_client(f"{server.cloudflare.worker}/mcp")
        async with Client(transport, mode=mode) as client:  # type: ignore[arg-type]
            listed = (await client.list_tools()).tools
            assert [tool.model_dump(by_alias=True, mode="json", exclude_none=True) for tool in listed] == LISTED
            result = await client.call_tool("search", {"query": "labor force"})
            found = opened(result.model_dump(by_alias=True, mode="json", exclude_none=True))
            document = (await client.call_tool("fetch", {"id": found["results"][0]["id"]})).structured_content
            assert document is not None and document["title"] == found["results"][0]["title"]
            assert (await client.call_tool("fetch", {"id": "nowhere"})).is_error

    anyio.run(use)


def test_the_answer_is_that_of_the_server_in_python(server: Edge, database: str) -> None:
    with Shelf.of_files([database]).catalog("labour-tables") as catalog:
        for question in ("wages by sector", "labor", "région 07", "a/b 2", "Émigrés", "strikes\0", "x" * 1_001, "W1"):
            answer = catalog.search(question)
            if not answer.relaxed:
                found = server.found("search", query=question)
                assert [one["id"] for one in found["results"]] == [result.id for result in answer.results]
                assert found.get("notes", []) == [note for note in answer.notes if "nearest words" not in note]
    assert Texts().say("read_ignored", keys="x") == server.found("search", query="wages", x=1)["warnings"][0]


# What can go wrong --------------------------------------------------------------------------------------------


def test_healthz_says_whether_the_database_can_be_asked(tmp_path: Path) -> None:
    from importlib.metadata import version

    built([{"id": "1", "title": "Wages"}], to=tmp_path / "one.db")
    with exported(tmp_path / "one.db") as edge:
        status, _, body = edge.post(b"", path="/healthz", method="GET")
        assert (status, json.loads(body)) == (200, {"ok": True, "version": version("catalog-search")})
        edge.cloudflare.send(sql="UPDATE catalog SET value = '99' WHERE key = 'format_version'")
        status, _, body = edge.post(b"", path="/healthz", method="GET")
        said = json.loads(body)
        assert (status, said["ok"]) == (503, False)
        assert said["error"] == (
            "The catalogue's database failed, so nothing was looked up: it has another format version than this "
            "Worker; export the catalogue anew."
        )


def test_a_database_that_is_empty_is_an_error_and_never_an_empty_answer(tmp_path: Path) -> None:
    built([{"id": "1", "title": "Wages"}], to=tmp_path / "one.db")
    with exported(tmp_path / "one.db") as edge:
        assert edge.found("search", query="wages")["results"]
        edge.cloudflare.send(batch=["DROP TABLE documents_fts"])
        said = edge.error("search", query="wages")
        assert said == "The server failed at this call and looked nothing up. Its log says why."
        edge.cloudflare.send(batch=["DROP TABLE catalog"])
        status, _, body = edge.post(b"", path="/healthz", method="GET")
        assert status == 503 and "it holds no catalogue; load seed.sql into it" in json.loads(body)["error"]


@pytest.mark.parametrize(
    ("statements", "said"),
    [
        (["DROP TABLE documents_fts"], "its full-text index is missing"),
        (["INSERT INTO documents_fts(documents_fts) VALUES ('delete-all')"], "its full-text index is empty"),
    ],
)
def test_healthz_and_calls_say_what_to_load_where_the_index_is_missing_or_empty(
    tmp_path: Path, statements: list[str], said: str
) -> None:
    """As after the first part of a script, or after its index was made and not yet filled."""
    built([{"id": "1", "title": "Wages"}], to=tmp_path / "one.db")
    with exported(tmp_path / "one.db") as edge:
        edge.cloudflare.send(batch=statements)
        status, _, body = edge.post(b"", path="/healthz", method="GET")
        wanted = f"{said}; load the rest of seed.sql, or seed.index.sql after seed.data.sql"
        assert (status, json.loads(body)["ok"]) == (503, False)
        assert wanted in json.loads(body)["error"]
        for tool, arguments in (("search", {"query": "wages"}), ("search", {"query": "xyzzy"}), ("fetch", {"id": "1"})):
            assert wanted in edge.error(tool, **arguments)


def test_pages_of_other_origins_are_refused(server: Edge) -> None:
    ping = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
    own = f"http://127.0.0.1:{server.port}"
    for origin, status in ((own, 200), ("https://evil.example", 403), ("null", 403), (f"{own}.evil.example", 403)):
        assert server.post(ping, {"Origin": origin})[0] == status, origin


def test_a_body_beyond_its_bound_is_refused(server: Edge) -> None:
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"x": "y" * 1_000_000}}).encode()
    assert server.post(body)[0] == 413
    assert server.request("ping")["result"] == {}


@pytest.mark.parametrize(
    "text",
    [" " * 900_000, "a" + " " * 400_000 + "b" + "\t" * 200_000 + "c", "\u3000a" * 100_000],
    ids=["all", "runs", "wide"],
)
def test_a_long_run_of_blanks_takes_no_longer_than_its_length(server: Edge, text: str) -> None:
    """A pattern that looks at such a run once for each of its blanks would take hours."""
    found = server.found("search", query=text)
    assert "warnings" in found or "notes" in found
    assert server.found("search", query="wages")["results"]


# The folder ---------------------------------------------------------------------------------------------------


def test_the_folder_is_made_whole_and_the_same_again(database: str, tmp_path: Path) -> None:
    first, second = tmp_path / "a" / "b", tmp_path / "c"
    written = export_worker(database, first)
    assert sorted(Path(one.path).name for one in written) == ["README.md", "seed.sql", "worker.js", "wrangler.jsonc"]
    assert all(one.bytes == Path(one.path).stat().st_size for one in written)
    export_worker(database, second)
    for one in written:
        path = Path(one.path)
        assert path.read_bytes() == (second / path.name).read_bytes()


def test_the_settings_of_a_deployed_worker_stay(database: str, tmp_path: Path) -> None:
    export_worker(database, tmp_path)
    (tmp_path / "wrangler.jsonc").write_text("{}")
    written = export_worker(database, tmp_path)
    assert "wrangler.jsonc" not in [Path(one.path).name for one in written]
    assert (tmp_path / "wrangler.jsonc").read_text() == "{}"


def test_the_settings_and_the_readme_name_the_catalogue(database: str, tmp_path: Path) -> None:
    export_worker(database, tmp_path)
    text = (tmp_path / "wrangler.jsonc").read_text("utf-8")
    settings = json.loads(re.sub(r"^ *//.*$", "", text, flags=re.M))
    assert settings["name"] == "labour-tables" and settings["main"] == "worker.js"
    assert settings["d1_databases"][0] | {"database_id": ""} == {
        "binding": "DB",
        "database_name": "labour-tables",
        "database_id": "",
    }
    readme = (tmp_path / "README.md").read_text("utf-8")
    assert "Labour 'tables'" in readme and "16 documents" in readme and '"query":"labor"' in readme
    assert not re.search(r"\b(NAME|TITLE|DOCUMENTS|EXAMPLE|VERSION)\b", readme + text)


def test_the_worker_is_one_file_without_dependencies(database: str, tmp_path: Path) -> None:
    export_worker(database, tmp_path)
    text = (tmp_path / "worker.js").read_text("utf-8")
    assert not re.search(r"^\s*import\b|\brequire\(|\bimport\(", text, flags=re.M)
    assert text.count("export default") == 1 and "const ABOUT = null" not in text
    parts = {path.stem for path in (ROOT / "catalog_search" / "worker").glob("*.js")}
    assert parts == set(PARTS)


@pytest.mark.skipif(shutil.which("node") is None, reason="there is no node")
def test_the_worker_uses_no_name_that_it_does_not_have(database: str, tmp_path: Path) -> None:
    """Each piece of it is run with the others, and a name that is nowhere would fail only when it is reached."""
    export_worker(database, tmp_path)
    text = (tmp_path / "worker.js").read_text("utf-8")
    declared = set(re.findall(r"^(?:async )?(?:function|const|let|class) (\w+)", text, flags=re.M))
    bare = re.sub(r'//.*|"(?:[^"\\\n]|\\.)*"', "", text)
    called = set(re.findall(r"(?<![.\w])(\w+)\(", bare))
    own = {name for name in called if name[0].islower()} - {
        "if",
        "for",
        "while",
        "switch",
        "catch",
        "function",
        "super",
    }
    local = set(re.findall(r"\b(?:const|let) (\w+) =", text)) | set(re.findall(r"\b(?:const|let) \{ ([^}]+) \}", text))
    names = {name.strip() for group in local for name in re.split(r"[,:]", group)}
    assert own - declared - names - {"fetch", "atob", "constructor", "typed"} == set()
    (tmp_path / "worker.mjs").write_text(text)
    done = subprocess.run(["node", "--check", tmp_path / "worker.mjs"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_names_are_those_that_cloudflare_takes() -> None:
    for name in ("a", "Preise_2026", "x" * 100, "--a--", "人口", "A.B"):
        assert re.fullmatch(r"[a-z0-9]([a-z0-9-]{0,52}[a-z0-9])?", worker_name(name)), name


def test_what_cannot_be_exported_is_said(database: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DatabaseError, match="the folder cannot be made"):
        export_worker(database, tmp_path / "file" / "folder")
    with pytest.raises(DatabaseError, match="no such file"):
        export_worker(tmp_path / "none.db", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_command_writes_the_folder(database: str, tmp_path: Path) -> None:
    done = CliRunner().invoke(main, ["export", "worker", database, "-o", str(tmp_path / "w")])
    assert done.exit_code == 0
    assert [line.rpartition("/")[2].split(":")[0] for line in done.output.splitlines()] == [
        "seed.sql",
        "worker.js",
        "wrangler.jsonc",
        "README.md",
    ]
    done = CliRunner().invoke(main, ["export", "worker", database, "-o", str(tmp_path / "w"), "--json"])
    assert [Path(one["path"]).name for one in json.loads(done.output)["files"]] == [
        "seed.sql",
        "worker.js",
        "README.md",
    ]


def test_the_schemas_that_are_listed_are_those_of_python(server: Edge) -> None:
    listed = server.request("tools/list")["result"]["tools"]
    for tool in listed:
        jsonschema.Draft202012Validator.check_schema(tool["outputSchema"])
        assert tool["outputSchema"] == SCHEMAS[tool["name"]]
