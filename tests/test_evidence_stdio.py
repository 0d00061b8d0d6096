"""The tools of evidence as clients meet them: a child process, every tool, answers that satisfy their schemas."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import anyio
import jsonschema
import pytest
from mcp import Client, StdioServerParameters
from support import built

from catalog_search.builder import build
from catalog_search.server.evidence_contract import DEFAULT_CHARS, EVIDENCE_TOOLS, LEAST_CHARS, VERIFIED_TOOL

SERVE = ["-m", "catalog_search", "serve"]
GUIDE = "# Guide\nHow wages are counted.\n\n## Install\n" + "".join(f"Step {n}: wages “{n}”.\n" for n in range(1, 400))


@pytest.fixture(scope="module")
def databases(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """A guide as a catalogue, and a catalogue of one document."""
    folder = tmp_path_factory.mktemp("evidence")
    (folder / "guide.md").write_text(GUIDE, "utf-8")
    documents = {"url": "https://example.org/{path}#{slug}"}
    wanted = {"name": "docs", "title": "The guide", "language": "en", "source": {"path": str(folder), "files": "*.md"}}
    build(wanted | {"documents": documents, "provenance": {"revision": "v1"}}, folder / "docs.db")
    pairs = [{"asked": "labor", "source": ["labour"]}]
    rows = [{"id": "1", "title": "Labour cost", "text": "Wages."}]
    built(rows, to=folder / "jobs.db", folder=folder, vocabulary=pairs, name="jobs")
    return [str(folder / "docs.db"), str(folder / "jobs.db")]


def talk(arguments: list[str], tell: Callable[[Client], Any]) -> None:
    """Start a server and talk to it through a client that checks what it is given against the schemas."""

    async def session() -> None:
        with anyio.fail_after(60):
            async with Client(StdioServerParameters(command=sys.executable, args=[*SERVE, *arguments])) as client:
                await tell(client)

    anyio.run(session)


async def called(client: Client, name: str, **arguments: Any) -> dict[str, Any]:
    """Call a tool; return the object, which must stand in the text too."""
    result = await client.call_tool(name, arguments)
    assert not result.is_error, result.content
    (block,) = result.content
    found = result.structured_content
    assert isinstance(found, dict)
    assert block.text == json.dumps(found, ensure_ascii=False, separators=(",", ":"))  # type: ignore[union-attr]
    if "warnings" not in found:
        assert len(block.text) <= arguments.get("max_chars", 10**9)  # type: ignore[union-attr]
    return found


async def refused(client: Client, name: str, **arguments: Any) -> str:
    result = await client.call_tool(name, arguments)
    assert result.is_error
    assert result.structured_content is None
    return str(result.content[0].text)  # type: ignore[union-attr]


def test_the_tools_are_offered_only_if_they_are_asked_for(databases: list[str]) -> None:
    async def names(client: Client) -> list[str]:
        return [tool.name for tool in (await client.list_tools()).tools]

    for options, more in (
        ([], []),
        (["--tools", "all"], [*EVIDENCE_TOOLS, VERIFIED_TOOL]),
        (["--tools", "list_collections,read_document"], ["read_document", "list_collections"]),
    ):

        async def tell(client: Client, more: list[str] = more) -> None:
            assert await names(client) == ["search", "fetch", *more]

        talk([*databases, *options], tell)


def test_a_tool_that_there_is_not_ends_the_command(databases: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, *SERVE, databases[0], "--tools", "evidence"], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 1
    assert 'there is no tool "evidence".' in done.stderr
    assert "Traceback" not in done.stderr


def test_every_tool_answers_what_its_schema_says(databases: list[str]) -> None:
    async def tell(client: Client) -> None:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        for tool in tools.values():
            assert tool.annotations is not None
            assert tool.annotations.read_only_hint
            assert "never an instruction" in (tool.description or "") or tool.name in ("search", "list_collections")

        found = await called(client, "search_evidence", query="wages install", max_chars=2_000)
        first = found["results"][0]
        assert (first["id"], first["heading"], first["revision"]) == ("docs:guide.md#install", "Guide › Install", "v1")
        assert first["url"] == "https://example.org/guide.md#install"
        lines = GUIDE.split("\n")[first["file_first_line"] - 1 : first["file_last_line"]]
        assert first["excerpt"] in "\n".join(lines)
        jsonschema.validate(found, tools["search_evidence"].output_schema)

        # on from the passage, where read_document counts the same lines
        page = await called(client, "read_document", id=first["id"], from_line=first["first_line"], max_lines=2)
        assert page["text"].startswith(f"{first['first_line']}: ")
        assert page["next"] == {"from_line": first["first_line"] + 2}
        jsonschema.validate(page, tools["read_document"].output_schema)

        listed = await called(client, "list_collections")
        assert [one["name"] for one in listed["collections"]] == ["docs", "jobs"]
        assert listed["collections"][1]["vocabulary"]["examples"] == [{"asked": "labor", "source": "labour"}]
        jsonschema.validate(listed, tools["list_collections"].output_schema)

        # the pair beside them knows the same ids
        assert (await called(client, "fetch", id=first["id"]))["title"] == "Install"

    talk([*databases, "--tools", "all"], tell)


def test_a_document_is_read_to_its_end_over_the_wire(databases: list[str]) -> None:
    async def tell(client: Client) -> None:
        for budget in (LEAST_CHARS, 1_234, DEFAULT_CHARS):
            lines: list[str] = []
            place: dict[str, Any] | None = {}
            while place is not None:
                page = await called(client, "read_document", id="docs:guide.md#install", max_chars=budget, **place)
                lines += [one.partition(": ")[2] for one in page["text"].split("\n")]
                place = page.get("next")
            assert lines == GUIDE.rstrip("\n").split("\n")[3:]

    talk([*databases, "--tools", "all"], tell)


def test_calls_in_another_shape_are_answered_and_taught(databases: list[str]) -> None:
    async def tell(client: Client) -> None:
        found = await called(client, "search_evidence", q="wages", collection="jobs", budget=600, limt=3)
        assert [one["id"] for one in found["results"]] == ["jobs:1"]
        assert list(found)[-1] == "warnings"
        assert any("limt" in warning for warning in found["warnings"])
        page = await called(client, "read_document", document_id="docs:guide.md#install", start_line="3", lines=1)
        assert page["text"] == "3: Step 2: wages “2”."
        # a bound is kept to, and that is said
        most = await called(client, "read_document", id="docs:guide.md#install", max_chars=10**9)
        assert most["warnings"]
        taught = await called(client, "read_document")
        assert (taught["text"], taught["lines"]) == ("", 0)
        assert taught["warnings"]
        assert (await called(client, "list_collections", query="?"))["collections"]

    talk([*databases, "--tools", "all"], tell)


def test_what_cannot_be_answered_is_an_error_in_plain_words(databases: list[str]) -> None:
    async def tell(client: Client) -> None:
        assert "No document has the id “nope”" in await refused(client, "read_document", id="nope")
        said = await refused(client, "read_document", id="docs:guide.md#install", revision="v2")
        assert said == "Revision “v2” is not served. Served is: docs “v1”. Ask without revision, or with that one."
        assert "the document has 400 lines" in await refused(
            client, "read_document", id="docs:guide.md#install", from_line=401
        )
        assert 'here is no collection "x"' in await refused(client, "search_evidence", query="a", collections=["x"])
        assert "can be read down to 1000" in await refused(client, "search_evidence", query="a", offset=1_000)

    talk([*databases, "--tools", "all"], tell)


def test_titles_and_schemas_speak_the_language_of_the_server_and_descriptions_english(databases: list[str]) -> None:
    async def tell(client: Client) -> None:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert tools["search_evidence"].title == "Encontrar trechos em The guide, jobs"
        assert tools["read_document"].input_schema["properties"]["max_lines"]["description"] == (
            "Quantas linhas no máximo."
        )
        assert (tools["read_document"].description or "").startswith("Read a document of the 2 catalogues")
        assert (await refused(client, "read_document", id="jobs:1", revision="9")).startswith("A revisão “9” não")

    talk([*databases, "--tools", "all", "--locale", "pt-BR"], tell)
