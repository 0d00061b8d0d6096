"""Over every transport, as raw bytes: a call in any shape is answered, with its results first; then it teaches."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from support import built, cases
from test_calls import SHARED_CALLS
from wires import MODERN, SERVE, WIRES, Wire, called, ended_well, failed, opened, served

MESSAGES = cases("envelopes")
SCHEMAS: dict[str, Any] = {}


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("taught")
    rows = [
        *({"id": f"L{n:02}", "title": f"Labour force, region {n:02}"} for n in range(12)),
        {"id": "W1", "title": "Wages", "text": "one\ntwo\nthree", "url": "https://x.example/W1"},
        {"id": "W2", "title": "Wages by sex"},
        {"id": "[1]", "title": "An id like JSON", "url": "https://x.example/both"},
        {"id": "12", "title": "An id of digits", "url": "https://x.example/both"},
        {"id": "3361", "title": "Motor vehicles"},
        {"id": "sqlite", "title": "SQLite backup"},
    ]
    built(rows, to=folder / "taught.db", folder=folder, vocabulary=[{"asked": "labor", "source": ["labour"]}])
    return str(folder / "taught.db")


@pytest.fixture(scope="module", params=WIRES)
def wire(request: pytest.FixtureRequest, database: str) -> Iterator[Wire]:
    with WIRES[request.param](database) as opened_wire:
        yield opened_wire


@pytest.fixture(scope="module", params=WIRES)
def strict(request: pytest.FixtureRequest, database: str) -> Iterator[Wire]:
    with WIRES[request.param](database, "--strict") as opened_wire:
        yield opened_wire


def answered(wire: Wire, tool: Any, arguments: Any) -> dict[str, Any]:
    """Call a tool and return its object, which satisfies the schema of the tool that answered."""
    found = opened(called(wire, tool, arguments))
    jsonschema.validate(found, schemas(wire)["search" if "results" in found else "fetch"])
    return found


def schemas(wire: Wire) -> dict[str, Any]:
    if not SCHEMAS:
        (listed,) = wire.answers(b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}')
        SCHEMAS.update({tool["name"]: tool["outputSchema"] for tool in listed["result"]["tools"]})
    return SCHEMAS


def without_warnings(found: dict[str, Any]) -> dict[str, Any]:
    assert list(found)[-1] == "warnings"
    return {key: value for key, value in found.items() if key != "warnings"}


@pytest.mark.parametrize("case", cases("calls"), ids=lambda case: case["name"])
def test_a_call_in_any_shape_is_answered_as_the_canonical_one(wire: Wire, case: dict[str, Any]) -> None:
    result = called(wire, case["sent"], case["with"])
    key = {"search": "query", "fetch": "id"}[case["reads"]]
    if "text" not in case:
        found = answered(wire, case["sent"], case["with"])
        nothing = {"results": []} if key == "query" else {"id": "", "title": "", "text": "", "url": ""}
        assert without_warnings(found) == nothing
        assert any(f"holds no text for “{key}”" in said for said in found["warnings"])
        return
    canonical = called(wire, case["reads"], {key: case["text"]})
    if result["isError"]:
        said, wanted = failed(result), failed(canonical)
        assert said.startswith(wanted)
        assert (said == wanted) == (not case["says"])
    else:
        found, wanted = answered(wire, case["sent"], case["with"]), opened(canonical)
        if case["says"]:
            assert f'The canonical call: {case["reads"]} {{"{key}": ' in found["warnings"][-1]
            assert len(found["warnings"]) == len(case["says"]) + 1
            found = without_warnings(found)
        if not case.get("also"):
            assert found == wanted


def test_the_calls_seen_in_the_wild_are_answered(wire: Wire) -> None:
    if not SHARED_CALLS.exists():
        pytest.skip(f"{SHARED_CALLS} is not there")
    for case in json.loads(SHARED_CALLS.read_text("utf-8")):
        result = called(wire, case["name"], case["arguments"])
        if case["value"] is None:
            assert opened(result)["results"] == [] and opened(result)["warnings"], case["label"]
        elif case["tool"] == "search":
            found = opened(result)
            assert [one["id"] for one in found["results"]] == ["sqlite"], case["label"]
            assert list(found)[-1] == "warnings", case["label"]
        else:
            assert case["value"] in failed(result), case["label"]


@pytest.mark.parametrize("case", MESSAGES, ids=lambda case: case["name"])
def test_a_message_of_any_form_is_answered_if_an_answer_is_owed(wire: Wire, case: dict[str, Any]) -> None:
    owed = case.keys() & {"calls", "code", "result"}
    answers = wire.answers(case["message"].encode(), len(owed))
    if not owed:
        return
    (answer,) = answers
    assert answer["id"] == case.get("id")
    if "code" in case:
        assert answer["error"]["code"] == case["code"]
        assert "Traceback" not in answer["error"]["message"]
    elif "result" in case:
        assert answer["result"] == case["result"]
    else:
        assert without_warnings(opened(answer["result"])) == answered(wire, "search", {"query": case["calls"]})


@pytest.mark.parametrize("case", [case for case in MESSAGES if "strict" in case], ids=lambda case: case["name"])
def test_a_strict_server_refuses_a_message_of_nearly_the_right_form(strict: Wire, case: dict[str, Any]) -> None:
    (answer,) = strict.answers(case["message"].encode())
    assert (answer["id"], answer["error"]["code"]) == (case["id"], case["strict"])


@pytest.mark.parametrize("number", ["9" * 5_000, "-" + "9" * 450, "1e999"], ids=["5000", "450", "exponent"])
def test_a_number_that_cannot_be_one_beside_the_question_is_no_hindrance(wire: Wire, number: str) -> None:
    params = {"name": "search", "arguments": {"query": "wages", "n": "N"}}
    call = json.dumps({"jsonrpc": "2.0", "id": "a", "method": "tools/call", "params": params})
    (answer,) = wire.answers(call.replace('"N"', number).encode())
    assert answer["id"] == "a"
    assert [one["id"] for one in opened(answer["result"])["results"]] == ["W1", "W2"]


def test_several_messages_at_once_are_each_answered(wire: Wire) -> None:
    call = {"method": "tools/call", "params": {"name": "lookup", "arguments": "wages"}}
    batch = [{"jsonrpc": "2.0", "id": "a", "method": "ping"}, {"id": "b", **call}, {"jsonrpc": "2.0", "method": "x"}, 7]
    answers = {answer["id"]: answer for answer in wire.answers(json.dumps(batch).encode(), 3)}
    assert answers["a"]["result"] == {}
    assert [one["id"] for one in opened(answers["b"]["result"])["results"]] == ["W1", "W2"]
    assert answers[None]["error"]["code"] == -32600


def test_a_call_is_read_in_the_version_without_a_handshake_too(database: str) -> None:
    prefix = "io.modelcontextprotocol"
    meta = {f"{prefix}/protocolVersion": MODERN, f"{prefix}/clientCapabilities": {}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
    with served(database) as child:
        child.send(message | {"params": {"name": "lookup", "arguments": "wages", "_meta": meta}})
        found = opened(child.receive()["result"])
        assert [one["id"] for one in found["results"]] == ["W1", "W2"]
        assert found["warnings"][0] == "“lookup” was read as the tool “search”."
        ended_well(*child.end())


# What is taught -----------------------------------------------------------------------------------------------


def test_the_answer_says_how_it_was_read_what_was_ignored_and_the_canonical_form(wire: Wire) -> None:
    found = answered(wire, "lookup", {"q": "wages", "limt": 1})
    assert [one["id"] for one in found["results"]] == ["W1", "W2"]
    assert found["warnings"] == [
        "“lookup” was read as the tool “search”.",
        "“q” was read as “query”.",
        "Ignored: limt.",
        'The canonical call: search {"query": "wages"}',
    ]


def test_the_results_come_first_and_the_warnings_last(wire: Wire) -> None:
    found = answered(wire, "search", {"q": "labor"})
    assert list(found) == ["results", "notes", "warnings"]


def test_an_option_is_honoured_and_that_is_said(wire: Wire) -> None:
    found = answered(wire, "search", {"query": "labour", "limit": 3, "offset": 2})
    assert [one["id"] for one in found["results"]] == [
        one["id"] for one in answered(wire, "search", {"query": "labour"})["results"][2:5]
    ]
    assert "“limit” was honoured as limit = 3, though search does not ask for it." in found["warnings"]
    text = answered(wire, "fetch", {"id": "W1", "from_line": 3})["text"]
    assert "```text\nthree\n```" in text and text.endswith("lines 3–3 of 3")


def test_a_collection_that_is_not_there_is_ignored_and_that_is_said(wire: Wire) -> None:
    for asked, said in (
        (
            ["tested", "web"],
            '“collections” was honoured as collections = ["tested"], though search does not ask for it.',
        ),
        (["web"], "Ignored: collections."),
        ("web", "Ignored: collections."),
    ):
        found = answered(wire, "search", {"query": "wages", "collections": asked})
        assert [one["id"] for one in found["results"]] == ["W1", "W2"]
        assert found["warnings"] == [said, 'The canonical call: search {"query": "wages"}']


def test_without_a_text_the_answer_teaches_by_an_example_that_has_an_answer(wire: Wire) -> None:
    found = answered(wire, "search", {"searchType": "boards"})
    assert found == {
        "results": [],
        "warnings": [
            "Nothing was looked up: the call holds no text for “query”.",
            "Ignored: searchType.",
            'The canonical call: search {"query": "labor"}',
        ],
    }
    assert answered(wire, "search", {"query": "labor"})["results"]


def test_an_id_that_is_unknown_is_an_error_that_teaches_too(wire: Wire) -> None:
    said = failed(called(wire, "get_document", {"url": "L99"}))
    assert said.startswith("No document has the id “L99”. The nearest ids: L0")
    assert said.endswith('“url” was read as “id”. The canonical call: fetch {"id": "L99"}')


def test_the_url_of_a_document_leads_to_it(wire: Wire) -> None:
    for arguments in ({"id": "https://x.example/W1"}, {"url": "https://x.example/W1"}, "https://x.example/W1"):
        found = answered(wire, "fetch", arguments)
        assert (found["id"], found["title"]) == ("W1", "Wages")
    # One that two documents have leads to neither, and one that nobody has is not opened.
    for url in ("https://x.example/both", "https://x.example/w1", "https://127.0.0.1:1/", "https://"):
        assert failed(called(wire, "fetch", {"url": url})).startswith(f"No document has the id “{url}”.")


def test_every_way_to_ask_gives_the_same_answer(wire: Wire, database: str) -> None:
    for question in ("wages", "labor force", "motor wages", "3361", "?"):
        command = [*SERVE[:-1], "search", database, question, "--json"]
        told = json.loads(subprocess.run(command, capture_output=True, check=True, timeout=60).stdout)
        found = answered(wire, "search", {"query": question})
        assert [one["id"] for one in found["results"]] == [one["id"] for one in told["results"]]
        assert found.get("notes", []) == told["notes"]


@pytest.mark.parametrize(
    ("tool", "arguments", "named"),
    [
        ("search", {"query": "wages", "limt": 1}, ["limt"]),
        ("search", {"q": "wages"}, ["“q”", "query"]),
        ("search", {"query": 7}, ["query"]),
        ("search", {"query": "wages", "limit": 3}, ["limit"]),
        ("search", {"query": {"text": "wages"}}, ["query.text"]),
        ("search", {}, ["query"]),
        ("search", "wages", ["arguments"]),
        ("search_datasets", {"query": "wages"}, ["search_datasets", "search, fetch"]),
        ("fetch", {"id": 12}, ["id"]),
        ("fetch", {"url": "W1"}, ["url"]),
        (None, {"id": "W1"}, ["search, fetch"]),
    ],
)
def test_a_strict_server_refuses_and_names_what_offends(
    strict: Wire, tool: Any, arguments: Any, named: list[str]
) -> None:
    said = failed(called(strict, tool, arguments))
    assert all(name in said for name in named), said
    assert "The canonical call: " in said


def test_a_strict_server_answers_what_is_canonical(strict: Wire) -> None:
    assert [one["id"] for one in opened(called(strict, "search", {"query": "wages"}))["results"]] == ["W1", "W2"]
    assert opened(called(strict, "fetch", {"id": "W1"}))["title"] == "Wages"


@pytest.mark.parametrize(
    ("locale", "title", "warning", "refusal"),
    [
        ("pt-BR", "Pesquisar em tested", "“q” foi lido como “query”.", "“q” não é como search recebe “query”."),
        ("es", "Buscar en tested", "“q” se leyó como “query”.", "“q” no es como search recibe “query”."),
        ("fr", "Rechercher dans tested", "« q » a été lu comme « query ».", "« q » n'est pas la façon"),
        ("de", "Suchen in tested", "„q“ wurde als „query“ gelesen.", "„q“ ist nicht, wie search „query“ annimmt."),
    ],
)
def test_titles_and_messages_are_in_the_language_asked_for_and_descriptions_in_english(
    database: str, locale: str, title: str, warning: str, refusal: str
) -> None:
    with WIRES["stdio"](database, "--locale", locale) as wire:
        (listed,) = wire.answers(b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}')
        search, _ = listed["result"]["tools"]
        assert search["title"] == title
        assert search["description"].startswith('Search the catalogue "tested": 18 documents, language en. ')
        assert re.search(r'Example: \{"query": "labor"\}', search["description"])
        assert opened(called(wire, "search", {"q": "wages"}))["warnings"][0] == warning
    with WIRES["stdio"](database, "--locale", locale, "--strict") as wire:
        assert failed(called(wire, "search", {"q": "wages"})).startswith(refusal)


TOO_MUCH: list[tuple[str, dict[str, Any], dict[str, str]]] = [
    ("search", {"query": "x" * 10_001}, {"fr": "La question a 10001 caractères", "de": "Die Frage hat 10001 Zeichen"}),
    (
        "search",
        {"query": "wages", "offset": 10},
        {"fr": "Les résultats 11 à 20", "de": "Gefragt war nach"},
    ),
    (
        "search_evidence",
        {"query": "wages", "collections": ["n" * 500]},
        {"fr": "Il n'y a pas de collection « nnnn", "de": "Eine Sammlung „nnnn"},
    ),
    (
        "search_evidence",
        {"query": "wages", "where": {"agncy": "x"}},
        {"fr": "Il n'y a pas de facette « agncy »", "de": "Eine Facette „agncy“"},
    ),
    (
        "search_evidence",
        {"query": "wages", "where": {"a": []}},
        {"fr": "where doit avoir un texte pour « a »", "de": "where muss für „a“"},
    ),
    (
        "search_evidence",
        {"query": "wages of labour"},
        {"fr": "La question a 2 termes", "de": "Die Frage hat 2 Begriffe"},
    ),
]


@pytest.mark.parametrize("locale", ["fr", "de"])
def test_what_is_asked_too_much_is_said_in_the_language_asked_for_and_not_at_length(
    database: str, tmp_path: Path, locale: str
) -> None:
    (tmp_path / "serve.yaml").write_text("bounds: {candidates: 15, terms: 1}\n", "utf-8")
    with WIRES["stdio"](
        database, "--locale", locale, "--tools", "all", "--config", str(tmp_path / "serve.yaml")
    ) as wire:
        for tool, arguments, said in TOO_MUCH:
            told = failed(called(wire, tool, arguments))
            assert told.startswith(said[locale]) and len(told) < 400
            assert not re.search(r"\b(the|there|Did|Known)\b", told)


def test_the_catalogues_language_is_the_default_and_english_where_there_are_no_texts(tmp_path: Path) -> None:
    for language, title in (("fr", "Rechercher dans tested"), ("de", "Suchen in tested")):
        built([{"id": "1", "title": "x"}], to=tmp_path / f"{language}.db", language=language)
        with WIRES["stdio"](str(tmp_path / f"{language}.db")) as wire:
            (listed,) = wire.answers(b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}')
            assert listed["result"]["tools"][0]["title"] == title


@pytest.mark.parametrize("transport", WIRES)
def test_other_names_are_configured_and_never_advertised(database: str, tmp_path: Path, transport: str) -> None:
    config = tmp_path / "serve.yaml"
    config.write_text("aliases: {tools: {fetch: [nachschlagen]}, keys: {query: [frage], id: [kennung]}}\n", "utf-8")
    with WIRES[transport](database, "--config", str(config)) as wire:
        found = answered(wire, "search", {"frage": "wages", "q": "labour"})
        assert [one["id"] for one in found["results"]] == ["W1", "W2"]
        assert answered(wire, "nachschlagen", {"kennung": "W1", "type": "x", "note": "y"})["title"] == "Wages"
        (listed,) = wire.answers(b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}')
        said = json.dumps(listed)
        for name in ("nachschlagen", "frage", "kennung", "search_query", "searchTerm", "web_search", "get_document"):
            assert name not in said


def test_the_example_calls_of_the_descriptions_are_canonical(wire: Wire) -> None:
    (listed,) = wire.answers(b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}')
    (example,) = re.findall(r"Example: (\{.*?\})", listed["result"]["tools"][0]["description"])
    found = answered(wire, "search", json.loads(example))
    assert found["results"] and "warnings" not in found


# Long documents -----------------------------------------------------------------------------------------------


def long_rows() -> list[dict[str, str]]:
    lines = [f"line {n} of a text with ünïcode — 人口" for n in range(1, 2_501)]
    return [
        {"id": "lines", "title": "Wages of many lines", "text": "\n".join(lines)},
        {"id": "one", "title": "Wages of one line", "text": "é" * 50_000},
        {"id": "lines#L2", "title": "An id like a part's", "text": "itself"},
        {"id": "short", "title": "Wages, short", "text": "a\r\nb\rc\n"},
        {
            "id": "wide",
            "title": "Wide " * 1_000,
            "keywords": "|".join(f"word {n}" for n in range(9_000)),
            "a": "x" * 9_000,
        }
        | {f"field {n}": "y" * 1_000 for n in range(40)},
        *({"id": str(n), "title": f"Wages {n}"} for n in range(1_000)),
        {"id": "huge", "title": "Wages k", "text": "Wages " * 333_334},
    ]


@pytest.fixture(scope="module", params=WIRES)
def long(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wire]:
    path = tmp_path_factory.mktemp("long") / "long.db"
    built(long_rows(), to=path)
    with WIRES[request.param](str(path)) as wire:
        yield wire


def inside(found: dict[str, Any]) -> str:
    """Return the document's text out of the Markdown around it."""
    (text,) = re.findall(r"```text\n(.*?)\n```\n", found["text"], re.S)
    return str(text)


@pytest.mark.parametrize("id", ["lines", "one"])
def test_a_long_document_is_read_to_its_end_by_fetch_alone(long: Wire, id: str) -> None:
    parts, following = [], id
    while following:
        found = opened(called(long, "fetch", {"id": following}))
        assert found["id"] == id
        assert len(json.dumps(found, ensure_ascii=False).encode()) < 50_000
        parts.append(inside(found))
        following = found["metadata"].get("next", "")
        assert found["text"].endswith(f"continues: fetch `{following}`") == bool(following)
    assert len(parts) > 2
    if id == "one":
        assert "".join(parts) == "é" * 50_000
    else:
        assert "\n".join(parts).split("\n") == [f"line {n} of a text with ünïcode — 人口" for n in range(1, 2_501)]


def test_two_megabytes_of_text_come_in_parts_and_a_search_stays_small(long: Wire) -> None:
    assert len(json.dumps(called(long, "search", {"query": "wages"}))) < 20_000
    found = opened(called(long, "fetch", {"id": "huge"}))
    assert len(found["text"]) < 100_000
    assert "continues: fetch `huge#L1C" in found["text"]
    assert found["metadata"]["next"].startswith("huge#L1C")


def test_an_id_that_looks_like_a_part_is_itself_if_there_is_such_a_document(long: Wire) -> None:
    assert opened(called(long, "fetch", {"id": "lines#L2"}))["title"] == "An id like a part's"
    assert inside(opened(called(long, "fetch", {"id": "lines#L3"}))).startswith("line 3 of")


def test_lines_are_counted_whatever_ends_them(long: Wire) -> None:
    assert inside(opened(called(long, "fetch", {"id": "short#L2"}))) == "b\nc"
    said = failed(called(long, "fetch", {"id": "short#L4"}))
    assert said == "Document “short” ends before line 4; fetch it without a line to see how long it is."
    assert failed(called(long, "fetch", {"id": "nowhere#L2"})).startswith("No document has the id “nowhere#L2”.")
    assert failed(called(long, "fetch", {"id": "short#L0"})).startswith("No document has the id “short#L0”.")


def test_fields_that_are_long_or_many_are_shortened_and_that_is_said(long: Wire) -> None:
    found = opened(called(long, "fetch", {"id": "wide"}))
    assert len(json.dumps(found)) < 40_000
    assert found["title"].endswith("…") and found["metadata"]["keywords"].endswith("…")
    assert found["metadata"]["a"] == "x" * 2_000 + "…"
    assert found["metadata"]["field 0"] == "y" * 1_000 and "field 39" not in found["metadata"]
    (note,) = found["notes"]
    assert note.startswith("Long fields are shortened, and what is beyond them is left out: keywords, a, field 7,")
    assert len(json.dumps(called(long, "search", {"query": "wide"}))) < 5_000
