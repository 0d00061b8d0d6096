"""Who may see what: a caller's answers are, byte for byte, those of a server that never had anything else.

Two servers are asked the same: one has the collections a and b, the caller's token opens a; the other has a alone.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from served import Client, Here, serving

from catalog_search.builder import build
from catalog_search.errors import SettingsError
from catalog_search.server.access import Access, Token, bearer, digest, from_environment
from catalog_search.server.bounds import Bounds
from catalog_search.server.configuration import Collection, Configuration
from catalog_search.server.shelf import Shelf

TOKENS = {name: f"{name}-{'0123456789abcdef' * 2}" for name in ("only-a", "both", "only-b")}
OPEN = Bounds(calls_per_second=0, failed_authentications=0)
REVISION = "b-2026-11-30"


def write(folder: Path, name: str, pages: dict[str, str], revision: str) -> str:
    for path, text in pages.items():
        (folder / name / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / name / path).write_text(text, "utf-8")
    settings = {
        "name": name,
        "title": f"The {name} papers",
        "language": "en",
        "source": {"path": f"{folder}/{name}", "files": "**/*.md"},
        "documents": {"url": f"https://{name}.example/{{path}}#{{slug}}"},
        "provenance": {"publisher": f"Publisher {name}", "revision": revision},
    }
    build(settings, folder / f"{name}.db")
    return str(folder / f"{name}.db")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("access")
    lines = "\n".join(f"Line {n} on wages." for n in range(40))
    a = {"guide.md": f"# Wages\n\n{lines}\n\n## Rents\n\nOf flats.\n", "more.md": "# Prices\n\nOf food and rents.\n"}
    b = {"secret/zulu.md": f"# Zulu wages\n\n{lines}\n\n## Quebec\n\nRents.\n", "guide.md": "# Xray\n\nWages.\n"}
    return {"a": write(folder, "a", a, "a-1"), "b": write(folder, "b", b, REVISION)}


def configured(files: dict[str, str], *names: str, public: tuple[str, ...] = (), **more: Any) -> Configuration:
    opens = {"only-a": ["a"], "both": ["a", "b"], "only-b": ["b"]}
    tokens = [
        Token(name, digest(secret), tuple(one for one in opens[name] if one in names))
        for name, secret in TOKENS.items()
        if set(opens[name]) & set(names)
    ]
    collections = tuple(Collection(files[name], name, name in public) for name in names)
    return Configuration(collections, tokens=tuple(tokens), tools=("all",), bounds=OPEN, anonymous=bool(public), **more)


@pytest.fixture(scope="module")
def pair(files: dict[str, str]) -> Iterator[tuple[Here, Here]]:
    """The server that has b as well, and the one that never had it; a is public on both."""
    with ExitStack() as stack:
        yield (
            stack.enter_context(serving(configured(files, "a", "b", public=("a",)))),
            stack.enter_context(serving(configured(files, "a", public=("a",)))),
        )


def documents_of_b(pair: tuple[Here, Here]) -> list[dict[str, str]]:
    with pair[0].client(TOKENS["only-b"]) as client:
        found: list[dict[str, str]] = client.found("search", query="wages rents xray zulu quebec")["results"]
    assert {one["id"] for one in found} == {"secret/zulu.md#zulu-wages", "secret/zulu.md#quebec", "guide.md#xray"}
    return found


TITLE = {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]}
QUESTIONS = ["wages", "zulu", "quebec rents", "xray", "secret", "Publisher b", REVISION, "https://b.example/guide.md"]


def probes(tool: dict[str, Any], documents: list[dict[str, str]]) -> list[dict[str, Any]]:
    """Return arguments that try to reach b: each value of each argument, alone and two by two."""
    ids = [*(one["id"] for one in documents), *(f"b:{one['id']}" for one in documents)]
    ids += [
        f"{ids[0]}#L3",
        f"b:{ids[0]}#L3",
        "b:",
        "b",
        ":b",
        "b:b:" + ids[0],
        "B:" + ids[0],
        f"a:{ids[0]}",
        f"a:b:{ids[0]}",
    ]
    ids += [f"{ids[0]}#L999", *(one["url"] for one in documents), "secret/zulu.md", "b.db", "../b.db"]
    values: dict[str, list[Any]] = {
        "query": QUESTIONS,
        "id": ids,
        "collections": [["b"], ["a", "b"], ["b", "a"], "b", ["B"], []],
        "collection": ["b"],
        "where": [{"collection": "b"}, {"path": "secret/zulu.md"}, {"revision": REVISION}],
        "path_prefix": ["secret", "secret/", "secret/zulu.md", "b", "/", "..", "guide.md"],
        "revision": [REVISION, "b-2026", "a-1"],
        "limit": [1, 10, 1_000],
        "offset": [0, 1, 2, 5, 100, 999],
        "max_chars": [1_000, 40_000],
        "from_line": [1, 3, 40, 1_000],
        "max_lines": [1, 500],
        "schema": [{"properties": {"text": {"type": "string"}, "collection": {}, "path": {}}}],
        "require": [["all"], ["title"], ["b"]],
    }
    needed = {"schema": TITLE} if "schema" in tool["inputSchema"]["properties"] else {}
    main = next((key for key in ("query", "id") if key in tool["inputSchema"]["properties"]), None)
    taken = {*tool["inputSchema"]["properties"], *HIDDEN.get(tool["name"], ())} - {main}
    keys = [key for key in values if key in taken]
    found: list[dict[str, Any]] = [{main: start} for start in values[main]] if main else [{}]
    for start in values[main][:6] if main else [None]:
        base = {main: start} if main else {}
        found += [base | {key: value} for key in keys for value in values[key]]
    start = {main: values[main][0 if main == "id" else 1]} if main else {}
    for one, other in combinations(keys, 2):
        found += [start | {one: first, other: second} for first in values[one] for second in values[other][:3]]
    # and what the tool does not take, which is ignored, and said to be
    found += [start | {key: value} for key in values if key not in taken for value in values[key][:2]]
    return [needed | probe for probe in found]


HIDDEN = {"search": ("limit", "offset", "collections"), "fetch": ("from_line",)}
"""What a tool takes beside what its schema names."""


def body(method: str, params: dict[str, Any]) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()


def listed(client: Client) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = client.message("tools/list")["result"]["tools"]
    return found


@pytest.mark.parametrize("token", [TOKENS["only-a"], None])
def test_no_tool_and_no_argument_tells_a_hidden_collection_from_one_that_never_was(
    pair: tuple[Here, Here], token: str | None
) -> None:
    documents = documents_of_b(pair)
    asked = 0
    with pair[0].client(token) as one, pair[1].client(token) as other:
        names = [tool["name"] for tool in listed(one)]
        assert names == ["search", "fetch", "search_evidence", "read_document", "list_collections", "verified_search"]
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
        sent = [body("initialize", hello), body("tools/list", {}), body("resources/list", {}), body("prompts/list", {})]
        for tool in listed(one):
            sent += [
                body("tools/call", {"name": tool["name"], "arguments": probe}) for probe in probes(tool, documents)
            ]
        for message in sent:
            first, second = one.request(body=message), other.request(body=message)
            assert (first.status, first.body) == (second.status, second.body), message
            assert {**first.headers, "date": ""} == {**second.headers, "date": ""}
            asked += 1
    assert asked > 500


def test_the_probes_reach_what_is_allowed(pair: tuple[Here, Here]) -> None:
    """The same probes, with a token for both collections: some of each kind bring documents of b."""
    documents = documents_of_b(pair)
    with pair[0].client(TOKENS["both"]) as client:
        for tool in listed(client):
            answers = [client.call(tool["name"], **probe) for probe in probes(tool, documents)[:40]]
            assert any("b.example" in json.dumps(one) or '"b"' in json.dumps(one) for one in answers), tool["name"]
        assert [one["name"] for one in client.found("list_collections")["collections"]] == ["a", "b"]


def test_an_id_of_a_hidden_collection_is_answered_as_one_that_nobody_has(pair: tuple[Here, Here]) -> None:
    """Within one server: the answer is the same but for the id that it repeats."""
    with pair[0].client(TOKENS["only-a"]) as client:
        for tool in ("fetch", "read_document"):
            for hidden, nobody in (
                ("secret/zulu.md#quebec", "zzzzzz/qqqq.md#quebec"),
                ("b:secret/zulu.md#quebec", "q:zzzzzz/qqqq.md#quebec"),
                ("https://b.example/secret/zulu.md#quebec", "https://q.example/zzzzzz/qqqq.md#quebec"),
            ):
                said = [client.request(body=body("tools/call", {"name": tool, "arguments": {"id": id}}))
                        for id in (hidden, nobody)]  # fmt: skip
                assert said[0].body.decode().replace(hidden, "ID") == said[1].body.decode().replace(nobody, "ID")


def test_each_token_opens_its_collections_and_no_more(pair: tuple[Here, Here]) -> None:
    seen = {}
    for name, token in TOKENS.items():
        with pair[0].client(token) as client:
            seen[name] = {one["id"].partition(".md")[0] for one in client.found("search", query="wages")["results"]}
    assert seen == {
        "only-a": {"guide"},
        "only-b": {"secret/zulu", "guide"},
        "both": {"a:guide", "b:secret/zulu", "b:guide"},
    }


# Tokens -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def closed(files: dict[str, str]) -> Iterator[Here]:
    """A server without anonymous access."""
    with serving(configured(files, "a")) as here:
        yield here


@pytest.mark.parametrize(
    "header",
    [None, "", "Bearer", "Bearer ", "Basic b25seS1h", TOKENS["only-a"], f"Token {TOKENS['only-a']}",
     f"Bearer {TOKENS['only-a']}x", f"Bearer {TOKENS['only-a'][:-1]}", f"Bearer {TOKENS['only-a'].upper()}",
     f"Bearer {digest(TOKENS['only-a'])}", "Bearer \xff\xfe", "Bearer " + "x" * 8_000],
)  # fmt: skip
@pytest.mark.parametrize("method", ["tools/list", "tools/call", "initialize", "ping", "no/such"])
def test_without_its_token_nothing_is_answered(closed: Here, header: str | None, method: str) -> None:
    with closed.client() as client:
        headers = {} if header is None else {"Authorization": header}
        reply = client.request(body=body(method, {"name": "search", "arguments": {"query": "wages"}}), headers=headers)
    assert reply.status == 401 and reply.headers["www-authenticate"] == "Bearer"
    assert reply.json().keys() == {"jsonrpc", "id", "error"}


def test_with_its_token_it_is_answered(closed: Here) -> None:
    for form in ("Bearer", "bearer", "BEARER "):
        with closed.client() as client:
            reply = client.request(body=body("tools/list", {}), headers={"Authorization": f"{form} {TOKENS['only-a']}"})
            assert reply.status == 200
    with closed.client() as client:
        assert client.request("GET", "/healthz").status == 200


def test_a_wrong_token_is_refused_even_where_none_is_needed(pair: tuple[Here, Here]) -> None:
    with pair[0].client("x" * 40) as client:
        assert client.request(body=body("tools/list", {})).status == 401


def test_wrong_tokens_from_one_address_are_counted_and_then_not_looked_at(files: dict[str, str]) -> None:
    with ExitStack() as stack:
        configuration = configured(files, "a")
        object.__setattr__(configuration, "bounds", Bounds(calls_per_second=0, failed_authentications=3))
        here = stack.enter_context(serving(configuration))
        client = stack.enter_context(here.client())
        headers = [{"Authorization": f"Bearer {'x' * 30}{n}"} for n in range(5)]
        replies = [client.request(body=body("ping", {}), headers=one) for one in headers]
        assert [reply.status for reply in replies] == [401, 401, 401, 429, 429]
        assert int(replies[-1].headers["retry-after"]) >= 1
        right = {"Authorization": f"Bearer {TOKENS['only-a']}"}
        assert client.request(body=body("ping", {}), headers=right).status == 429  # else it would tell right from wrong
        assert client.request("GET", "/healthz").status == 200


def test_the_rate_of_one_token_is_not_that_of_another(files: dict[str, str]) -> None:
    configuration = configured(files, "a", "b")
    object.__setattr__(configuration, "bounds", Bounds(calls_per_second=1))
    with serving(configuration) as here, here.client() as client:
        statuses = {
            name: [
                client.request(body=body("ping", {}), headers={"Authorization": f"Bearer {token}"}).status
                for _ in range(4)
            ]
            for name, token in TOKENS.items()
        }
    assert statuses == {name: [200, 200, 429, 429] for name in TOKENS}


def test_a_token_is_kept_as_its_digest_only(files: dict[str, str]) -> None:
    shelf = Shelf.of_files([files["a"]])
    access = Access(shelf, [Token("reader", digest("secret-token"), ("a",))])
    assert "secret-token" not in repr(vars(access))
    caller = access.caller("secret-token")
    assert caller is not None and caller.name == "reader" and caller.shelf.names() == ("a",)
    assert access.caller("secret-tokem") is None and access.caller(None) is None
    assert digest("secret-token") == hashlib.sha256(b"secret-token").hexdigest()
    shelf.close()


def test_access_that_cannot_be_is_refused(files: dict[str, str]) -> None:
    shelf = Shelf.of_files([files["a"]])
    with pytest.raises(SettingsError, match='"b" is not a collection that is served; served are a'):
        Access(shelf, [Token("reader", digest("x"), ("b",))])
    with pytest.raises(SettingsError, match="the tokens one and two are the same"):
        Access(shelf, [Token(name, digest("x"), ("a",)) for name in ("one", "two")])
    shelf.close()
    with (
        pytest.raises(SettingsError, match="mark a collection with public: true"),
        serving(Configuration((Collection(files["a"]),), anonymous=True)),
    ):
        pass


def test_a_token_from_the_environment_must_be_long_enough() -> None:
    assert from_environment("T", {"T": " " + "x" * 20 + "\n"}) == digest("x" * 20)
    with pytest.raises(SettingsError, match="the variable T of the environment is not set"):
        from_environment("T", {})
    with pytest.raises(SettingsError, match="has 19 characters; a token needs 20"):
        from_environment("T", {"T": "x" * 19})


def test_only_a_bearer_token_is_one() -> None:
    assert bearer("Bearer a b") == "a b" and bearer("Digest x") is None
