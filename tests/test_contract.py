"""The contract for people with their own server: schemas, envelopes, texts, and the pair over their own functions."""

from __future__ import annotations

import json
import logging
import re
import string
import threading
from collections.abc import Callable, Iterator
from typing import Any

import anyio
import jsonschema
import mcp_types as types
import pytest
from mcp import Client
from mcp.server.lowlevel import Server
from support import built

import catalog_search.server
from catalog_search import DocumentNotFound, SettingsError
from catalog_search.server import (
    DEFAULT_LIMIT,
    SEARCH_TOOLS,
    get_contract_schemas,
    register_search_tools,
    tool_error,
    tool_result,
)
from catalog_search.server.corpus import Corpora, Corpus, fetch_description, search_description
from catalog_search.server.parts import lines_of, part_of
from catalog_search.server.texts import LOCALES, _all
from catalog_search.server.tools import Serving, Tool, answer, make_server

PLAIN = {"type", "properties", "required", "additionalProperties", "items", "maxItems", "description"}


def test_the_public_names_are_there_and_described() -> None:
    assert sorted(catalog_search.server.__all__) == catalog_search.server.__all__
    assert SEARCH_TOOLS == ("search", "fetch") and DEFAULT_LIMIT == 10
    for name in catalog_search.server.__all__:
        value = getattr(catalog_search.server, name)
        assert not callable(value) or value.__doc__
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        catalog_search.server.nothing  # noqa: B018


# Schemas ------------------------------------------------------------------------------------------------------


def within(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield schema
    for inner in (*schema.get("properties", {}).values(), schema.get("items"), schema.get("additionalProperties")):
        if isinstance(inner, dict):
            yield from within(inner)


@pytest.mark.parametrize("locale", LOCALES)
@pytest.mark.parametrize("draft", [jsonschema.Draft7Validator, jsonschema.Draft202012Validator])
def test_the_four_schemas_are_plain_and_valid(locale: str, draft: Any) -> None:
    schemas = get_contract_schemas(locale)
    assert list(schemas) == ["search_input", "search_output", "fetch_input", "fetch_output"]
    for schema in schemas.values():
        draft.check_schema(schema)
        for one in within(schema):
            assert set(one) <= PLAIN
            assert isinstance(one["type"], str)
            assert one.get("description", "x")
    assert list(schemas["search_input"]["properties"]) == schemas["search_input"]["required"] == ["query"]
    assert list(schemas["fetch_input"]["properties"]) == schemas["fetch_input"]["required"] == ["id"]
    assert schemas["search_output"]["required"] == ["results"]
    assert schemas["fetch_output"]["required"] == ["id", "title", "text", "url"]


def test_schemas_may_be_changed_by_whoever_asked_for_them() -> None:
    get_contract_schemas()["fetch_output"]["properties"]["id"]["type"] = "integer"
    assert get_contract_schemas()["fetch_output"]["properties"]["id"]["type"] == "string"
    schemas = get_contract_schemas()
    members = [id(one) for schema in schemas.values() for one in within(schema)]
    assert len(members) == len(set(members))


def test_a_language_that_there_are_no_texts_in_is_an_error() -> None:
    with pytest.raises(SettingsError, match="speak no “ja”; they speak en, pt-BR, es, fr, de"):
        get_contract_schemas("ja")


def test_every_text_is_in_every_language_with_the_same_values() -> None:
    for key, sentences in _all().items():
        assert tuple(sentences) == LOCALES, key
        fields = {locale: sorted(name for _, name, _, _ in string.Formatter().parse(sentences[locale]) if name)
                  for locale in LOCALES}  # fmt: skip
        assert all(found == fields["en"] for found in fields.values()), key
        assert len(set(sentences.values())) == len(LOCALES), f"{key} was not translated"


# Envelopes ----------------------------------------------------------------------------------------------------


def test_a_result_is_an_object_and_the_same_in_one_text() -> None:
    result = tool_result({"results": [{"id": "1", "title": "Émigrés", "url": ""}]})
    assert result.structured_content == {"results": [{"id": "1", "title": "Émigrés", "url": ""}]}
    (block,) = result.content
    assert isinstance(block, types.TextContent)
    assert block.text == '{"results":[{"id":"1","title":"Émigrés","url":""}]}'
    assert result.meta is None and not result.is_error


def test_the_contracts_members_win_over_extras() -> None:
    extras = {"results": "lost", "provenance": {"publisher": "Office"}, "relaxed": True}
    result = tool_result({"results": []}, extras)
    assert result.structured_content == {"results": [], "provenance": {"publisher": "Office"}, "relaxed": True}
    assert result.meta == {
        "catalog-search/provenance": {"publisher": "Office"},
        "catalog-search/relaxed": True,
    }


def test_an_error_is_one_text_and_no_object() -> None:
    result = tool_error("No document has the id “x”.")
    assert result.is_error and result.structured_content is None
    assert [block.model_dump()["text"] for block in result.content] == ["No document has the id “x”."]


def test_a_tool_that_no_client_would_take_cannot_be_made() -> None:
    for name in ("", "a b", "a.b", "x" * 65, "é"):
        with pytest.raises(ValueError, match="no client takes a tool"):
            Tool(types.Tool(name=name, input_schema={"type": "object"}), lambda caller, arguments: {})


# Somebody else's server ---------------------------------------------------------------------------------------

FOUND = [{"id": n, "title": f"Job {n}", "url": f"https://jobs.example/{n}", "salary": 100 * n} for n in range(1, 31)]


def find(question: str) -> Any:
    return [one for one in FOUND if question == "all" or question in str(one["title"])]


def read(id: str) -> Any:
    if id == "long":
        return {"id": "long", "title": "Long", "text": "\n".join(f"line {n}" for n in range(10_000)), "url": None}
    return {**FOUND[int(id) - 1], "text": f"Job {id} in full.", "metadata": {"salary": 100, "city": None}}


def with_client(server: Server[Any], work: Callable[[Client], Any]) -> Any:
    """Let a client speak to a server; it holds every result against the schema that was listed."""

    async def main() -> Any:
        async with Client(server) as client:
            return await work(client)

    return anyio.run(main)


def asked(server: Server[Any], tool: str, **arguments: Any) -> types.CallToolResult:
    async def work(client: Client) -> Any:
        await client.list_tools()
        return await client.call_tool(tool, arguments)

    found: types.CallToolResult = with_client(server, work)
    return found


def own_meta(result: types.CallToolResult) -> dict[str, Any]:
    return {name: value for name, value in (result.meta or {}).items() if name.startswith("catalog-search/")}


def listed(server: Server[Any]) -> list[types.Tool]:
    async def work(client: Client) -> Any:
        return (await client.list_tools()).tools

    tools: list[types.Tool] = with_client(server, work)
    return tools


def registered(search: Any = find, fetch: Any = read, **more: Any) -> Server[Any]:
    server: Server[Any] = Server("jobs")
    register_search_tools(server, search, fetch, **{"corpus": "the job register, 30 jobs", **more})
    return server


async def find_later(question: str) -> Any:
    await anyio.sleep(0)
    return {"results": find(question)}


async def read_later(id: str) -> Any:
    await anyio.sleep(0)
    return read(id)


@pytest.mark.parametrize(("search", "fetch"), [(find, read), (find_later, read_later)])
def test_functions_of_both_kinds_are_served_by_the_contract(search: Any, fetch: Any) -> None:
    server = registered(search, fetch)
    result = asked(server, "search", query="all")
    assert result.structured_content == {
        "results": [{"id": str(n), "title": f"Job {n}", "url": f"https://jobs.example/{n}"} for n in range(1, 11)]
    }
    assert asked(server, "fetch", id="3").structured_content == {
        "id": "3",
        "title": "Job 3",
        "text": "Job 3 in full.",
        "url": "https://jobs.example/3",
        "metadata": {"salary": "100"},
    }


def test_the_definitions_are_those_of_the_contract() -> None:
    server = registered(
        example="night nurse", rich_tools=["salary_table"], limit=5, locale="de", titles={"fetch": "Stelle lesen"},
        annotations=types.ToolAnnotations(read_only_hint=False, open_world_hint=True),
    )  # fmt: skip
    search, fetch = listed(server)
    assert (search.name, fetch.name) == SEARCH_TOOLS
    assert (search.title, fetch.title) == ("Suchen in the job register, 30 jobs", "Stelle lesen")
    assert search.description is not None
    assert search.description.startswith("Search the job register, 30 jobs. ")
    assert 'Example: {"query": "night nurse"}' in search.description
    assert "salary_table" in search.description
    assert "at most 5 documents" in search.description
    for tool in (search, fetch):
        assert tool.annotations is not None
        assert tool.annotations.read_only_hint is True
        assert tool.annotations.open_world_hint is True
    assert search.input_schema == get_contract_schemas("de")["search_input"]
    found = asked(server, "search", query="all").structured_content
    assert len(found["results"]) == 5


def test_calls_of_any_shape_are_understood_and_taught() -> None:
    found = asked(registered(), "find_jobs", q="Job 3").structured_content
    assert [one["id"] for one in found["results"]] == ["3", "30"]
    assert found["warnings"][-1] == 'The canonical call: search {"query": "Job 3"}'
    assert asked(registered(example="nurse"), "search").structured_content["results"] == []


def test_extras_are_declared_members_and_meta() -> None:
    extras = {
        "provenance": {"publisher": "Office"},
        "notes": ["one", "two"],
        "relaxed": True,
        "region": "north",
        "results": "lost",
        "undeclared": 7,
    }
    server = registered(
        lambda question: (find(question), extras),
        lambda id: (read(id), {"notes": "no list"}),
        extend_output_schema={"search": {"region": {"type": "string"}}},
    )
    result = asked(server, "search", query="Job 30")
    kept = {name: extras[name] for name in ("provenance", "notes", "relaxed", "region")}
    assert result.structured_content == {
        "results": [{"id": "30", "title": "Job 30", "url": "https://jobs.example/30"}],
        **kept,
    }
    assert own_meta(result) == {f"catalog-search/{name}": value for name, value in (kept | {"undeclared": 7}).items()}
    # What is not as its schema has it would make a client throw the whole answer away.
    result = asked(server, "fetch", id="1")
    assert "notes" not in result.structured_content
    assert own_meta(result) == {"catalog-search/notes": "no list"}


@pytest.mark.parametrize(
    ("one", "sent"),
    [
        ({"id": 7, "title": None, "url": None}, {"id": "7", "title": "7", "url": ""}),
        ({"id": "a", "title": 3, "url": "/a"}, {"id": "a", "title": "3", "url": ""}),
        ({"id": "a", "url": "file:///etc/passwd"}, {"id": "a", "title": "a", "url": ""}),
        ({"id": "a", "title": "A", "url": "HTTPS://x.example/a", "text": "b"},
         {"id": "a", "title": "A", "url": "HTTPS://x.example/a"}),
    ],
)  # fmt: skip
def test_what_a_function_returns_is_made_what_the_contract_asks_for(one: dict[str, Any], sent: dict[str, Any]) -> None:
    server = registered(lambda question: [one], lambda id: one)
    assert asked(server, "search", query="x").structured_content == {"results": [sent]}
    assert asked(server, "fetch", id="a").structured_content == sent | {"text": one.get("text", "")}


def test_a_long_text_comes_in_parts() -> None:
    server, parts, following = registered(not_found=ValueError), [], "long"
    while following:
        found = asked(server, "fetch", id=following).structured_content
        text, _, place = found["text"].rpartition("\n\n")
        parts.append(text)
        following = found.get("metadata", {}).get("next", "")
        assert place.endswith(f"continues: fetch `{following}`") == bool(following)
    assert "\n".join(parts) == read("long")["text"]
    assert len(parts) > 1


def test_a_line_beyond_the_end_is_an_error_that_says_so() -> None:
    said = asked(registered(locale="de", not_found=ValueError), "fetch", id="3", from_line=7).content[0].text  # type: ignore[union-attr]
    assert said.startswith("Das Dokument „3“ endet vor Zeile 7")


class Missing(Exception):
    pass


@pytest.mark.parametrize("raised", [None, Missing(), DocumentNotFound("x", id="x")])
def test_a_document_that_is_not_there_is_said_to_be_unknown(raised: Exception | None) -> None:
    def nothing(id: str) -> Any:
        if raised is not None:
            raise raised
        return None

    kinds: list[tuple[str, str]] = []
    server = registered(fetch=nothing, not_found=Missing, locale="fr", record=lambda *told: kinds.append(told))
    for id in ("x", "x#L3"):
        result = asked(server, "fetch", id=id)
        assert result.is_error
        if not isinstance(raised, DocumentNotFound):
            assert result.content[0].text == f"Aucun document n'a l'identifiant « {id} »."  # type: ignore[union-attr]
    assert kinds == [("not_found", "fetch")] * 2


def test_a_failure_is_reported_to_the_maintainer_and_not_to_the_client(caplog: pytest.LogCaptureFixture) -> None:
    def broken(question: str) -> Any:
        raise ZeroDivisionError("secret")

    told: list[tuple[str, Exception]] = []
    result = asked(registered(broken, on_error=lambda *one: told.append(one)), "search", query="x")
    assert result.is_error and "secret" not in result.model_dump_json()
    ((tool, problem),) = told
    assert tool == "search" and isinstance(problem, ZeroDivisionError)
    assert not caplog.records
    with caplog.at_level(logging.ERROR):
        asked(registered(broken), "search", query="x")
    assert "a call of search failed" in caplog.text and "secret" in caplog.text


def test_a_foreseen_failure_is_told_in_the_maintainers_words() -> None:
    def busy(question: str) -> Any:
        raise TimeoutError

    def words(problem: Exception) -> str | None:
        return "The register is closed until six." if isinstance(problem, TimeoutError) else None

    kinds: list[str] = []
    server = registered(busy, classify_error=words, record=lambda kind, tool: kinds.append(kind))
    assert asked(server, "search", query="x").content[0].text == "The register is closed until six."  # type: ignore[union-attr]
    assert kinds == ["error"]


def test_what_is_recorded_are_kinds_and_tools_and_never_arguments() -> None:
    told: list[Any] = []
    server = registered(record=lambda *one: told.append(one))
    asked(server, "search", query="secret")
    asked(server, "lookup", q="secret")
    asked(server, "search")
    assert told == [("answered", "search"), ("understood", "search"), ("taught", "search")]


def test_the_servers_own_tools_stay_and_are_called_as_before() -> None:
    async def list_tools(context: Any, params: Any) -> types.ListToolsResult:
        tools = [types.Tool(name=name, input_schema={"type": "object"}) for name in ("salary_table", "search")]
        return types.ListToolsResult(tools=tools)

    async def call_tool(context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        return tool_error(f"{params.name} {json.dumps(params.arguments)}")

    server: Server[Any] = Server("jobs", on_list_tools=list_tools, on_call_tool=call_tool)
    register_search_tools(server, find, read, corpus="jobs")
    assert [tool.name for tool in listed(server)] == ["search", "fetch", "salary_table"]
    assert asked(server, "salary_table", q=1).content[0].text == 'salary_table {"q": 1}'  # type: ignore[union-attr]
    assert asked(server, "search", query="Job 30").structured_content["results"][0]["id"] == "30"
    assert "warnings" in asked(server, "lookup", q="Job 30").structured_content


@pytest.mark.parametrize("limit", [0, 11, -1])
def test_a_limit_out_of_range_is_refused(limit: int) -> None:
    with pytest.raises(ValueError, match="it is 1 to 10"):
        registered(limit=limit)


def test_a_member_of_the_contract_cannot_be_declared_otherwise() -> None:
    with pytest.raises(ValueError, match="has the member “results” of search already"):
        registered(extend_output_schema={"search": {"results": {"type": "string"}}})


# The mechanism ------------------------------------------------------------------------------------------------


def counted(answered: Any = None) -> tuple[list[Any], Tool]:
    """Return a tool that keeps the calls it gets."""
    calls: list[Any] = []

    def handler(caller: Any, arguments: dict[str, Any]) -> Any:
        calls.append((caller, arguments, threading.current_thread() is threading.main_thread()))
        return {"total": 1} if answered is None else answered

    output = {
        "type": "object",
        "properties": {"total": {"type": "integer"}, "rows": {"type": "array", "items": {"type": "string"}}},
        "required": ["total", "rows"],
    }
    definition = types.Tool(
        name="count",
        input_schema={
            "type": "object",
            "properties": {"query": {"type": "string"}, "limit": {"type": "integer", "maximum": 50}},
            "required": ["query"],
        },
        output_schema=output,
    )
    return calls, Tool(definition, handler, main="query")


def test_a_call_is_carried_out_once_in_a_worker_thread_with_its_caller() -> None:
    calls, tool = counted()
    serving = Serving(caller=lambda context: "somebody")
    server = make_server([tool], serving, name="counts")
    asked(server, "whatever", query={"text": "wages"}, max_results="70")
    assert calls == [("somebody", {"query": "wages", "limit": 50}, False)]


def test_without_a_text_no_handler_is_called_and_the_answer_satisfies_the_schema() -> None:
    calls, tool = counted()
    result = asked(make_server([tool], name="counts"), "count", sort="date")
    assert calls == []
    assert result.structured_content["total"] == 0 and result.structured_content["rows"] == []
    assert result.structured_content["warnings"]


def test_tools_may_differ_from_caller_to_caller() -> None:
    _, tool = counted({"total": 1, "rows": []})
    _, other = counted()
    other = Tool(other.definition.model_copy(update={"name": "other"}), other.handler, main="query")
    seen = {"a": [tool], "b": [other]}
    for caller, names in (("a", ["count"]), ("b", ["other"])):
        serving = Serving(caller=lambda context, caller=caller: caller)
        server = make_server(lambda caller: seen[caller], serving, name="counts")
        assert [one.name for one in listed(server)] == names


def test_whatever_a_handler_returns_nothing_inside_is_told() -> None:
    for wrong in (7, None, {"total": object()}, ({}, 7), ({"total": {1, 2}}, None)):
        _, tool = counted()
        tool = Tool(tool.definition, lambda caller, arguments, wrong=wrong: wrong, main="query")

        async def call(tool: Tool = tool) -> types.CallToolResult:
            return await answer([tool], Serving(), None, "count", {"query": "x"})

        result = anyio.run(call)
        assert result.is_error
        assert result.content[0].text == "The server failed at this call and looked nothing up. Its log says why."  # type: ignore[union-attr]


# What is told of catalogues, and parts of documents -------------------------------------------------------------


def test_several_catalogues_are_named_with_their_sizes() -> None:
    each = [Corpus(f"c{n}", f"Catalogue {n}", n, "Office" if n == 1 else "", "en", "") for n in range(1, 10)]
    told = Corpora(each)
    assert told.name == "catalog-search"
    assert told.what() == (
        'the 9 catalogues "Catalogue 1" (1 document, en), "Catalogue 2" (2 documents, en), '
        '"Catalogue 3" (3 documents, en), "Catalogue 4" (4 documents, en), "Catalogue 5" (5 documents, en), 4 more'
    )
    assert Corpora(each[:1]).what() == 'the catalogue "Catalogue 1" by Office: 1 document, language en'
    assert Corpora(each[:2]).title == "Catalogue 1, Catalogue 2"
    for corpora in (Corpora([one._replace(title="t" * 900, publisher="p" * 900) for one in each]),
                    Corpora([each[0]._replace(title="t" * 900, publisher="p" * 900)])):  # fmt: skip
        assert len(search_description(corpora.what(), example="x" * 900)) < 1_000
        assert len(fetch_description(corpora.what())) < 1_000
        assert len(corpora.title) < 400
    with built([{"id": "1", "title": "Wages"}]).catalog as catalog:
        assert Corpora([Corpus.of(catalog)]).what() == 'the catalogue "tested": 1 document, language en'
        assert Corpora([Corpus.of(catalog)]).example == "Wages"


TEXTS = ["", "a", "one\ntwo\n\n\nthree", "é" * 50, "人\r\n口\r😀😀😀\n", "\n\n\n", "x" * 39 + "\ny"]


@pytest.mark.parametrize("longest", [1, 2, 3, 7, 40, 1_000])
@pytest.mark.parametrize(
    "text", ["", "a", "one\ntwo\n\n\nthree", "é" * 50, "人\r\n口\r😀😀😀\n", "\n\n\n", "x" * 39 + "\ny"]
)
def test_the_parts_of_a_text_are_the_text(text: str, longest: int) -> None:
    rebuilt: list[str] = [""]
    line, character = 1, 1
    while True:
        part = part_of(text, line, character, longest)
        assert part is not None
        assert len(part.text.encode()) <= max(longest, 4)
        first, *others = part.text.split("\n")
        if character > 1:
            rebuilt[-1] += first
        else:
            rebuilt.append(first)
        rebuilt += others
        if not part.next:
            break
        found = re.fullmatch(r"L(\d+)(?:C(\d+))?", part.next)
        assert found
        assert (line, character) < (int(found[1]), int(found[2] or 1))
        line, character = int(found[1]), int(found[2] or 1)
    assert rebuilt[1:] == lines_of(text)
    assert part_of(text, len(lines_of(text)) + 1) is None
