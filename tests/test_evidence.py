"""Evidence: what is quoted stands where it is said to stand, and no answer has more characters than it may."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import built

from catalog_search.builder import build
from catalog_search.errors import DocumentNotFound, QueryError, SettingsError
from catalog_search.server.bounds import BOUNDS
from catalog_search.server.configuration import Configuration
from catalog_search.server.corpus import Corpora
from catalog_search.server.evidence import (
    LONGEST_PASSAGE,
    SHORTEST_PASSAGE,
    cost,
    evidence_tools,
    list_collections,
    read_document,
    search_evidence,
)
from catalog_search.server.evidence_contract import (
    DEFAULT_CHARS,
    EVIDENCE_TOOLS,
    LEAST_CHARS,
    MOST_CHARS,
    MOST_LINES,
    MOST_RESULTS,
)
from catalog_search.server.parts import lines_of
from catalog_search.server.shelf import Shelf
from catalog_search.server.texts import LOCALES, Texts

TEXTS = Texts("en")
CANDIDATES = BOUNDS.candidates
Rows = list[dict[str, Any]]


@pytest.fixture
def shelf_of(tmp_path: Path) -> Iterator[Callable[..., Shelf]]:
    opened: list[Shelf] = []

    def make(collections: dict[str, Rows], **more: Any) -> Shelf:
        paths = []
        for name, rows in collections.items():
            built(rows, to=tmp_path / f"{name}.db", folder=tmp_path, **({"name": name} | more))
            paths.append(tmp_path / f"{name}.db")
        opened.append(Shelf.of_files(paths))
        return opened[-1]

    yield make
    for shelf in opened:
        shelf.close()


DOCS = {
    "guide.md": "# Guide\nHow wages are counted.\n\n## Install\n\n```sh\n# wages\nrun\n```\nThen\nrest.\n",
    "a/notes.txt": "Wages, in short.\n\nRents\nof flats.\n",
    "a/b.md": "---\ntitle: Other\n---\nWages.\n\n# Rents\nNothing on pay.\n",
}


@pytest.fixture(scope="module")
def docs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shelf]:
    """Return a shelf with the documentation `docs` and a catalogue `jobs`; read, and not closed, by the tests."""
    tmp_path = tmp_path_factory.mktemp("docs")
    for name, text in DOCS.items():
        path = tmp_path / "docs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    documents = {"url": "https://example.org/{path}#{slug}", "metadata": ["path"], "facets": ["path"]}
    source = {"path": str(tmp_path / "docs"), "files": ["**/*.md", "**/*.txt"]}
    told = {"revision": "0123456789abcdef0123456789abcdef01234567", "publisher": "P", "licence": "MIT"}
    wanted = {"name": "docs", "title": "Documentation", "language": "en", "source": source, "documents": documents}
    build(wanted | {"provenance": told}, tmp_path / "docs.db")
    rows = [{"id": "1", "title": "Wages by sector", "text": "Labour cost."}]
    pairs = [{"asked": "labor", "source": ["labour"]}, {"asked": "salary", "source": ["wages"]}]
    built(rows, to=tmp_path / "jobs.db", folder=tmp_path, name="jobs", vocabulary=pairs, provenance={"revision": "7"})
    shelf = Shelf.of_files([tmp_path / "docs.db", tmp_path / "jobs.db"])
    yield shelf
    shelf.close()


def ask(shelf: Shelf, query: str, **arguments: Any) -> dict[str, Any]:
    answer = search_evidence(TEXTS, shelf, {"query": query, **arguments})
    assert cost(answer) <= arguments.get("max_chars", DEFAULT_CHARS)
    return answer


def read(shelf: Shelf, id: str, **arguments: Any) -> dict[str, Any]:
    answer = read_document(TEXTS, shelf, {"id": id, **arguments})
    assert cost(answer) <= arguments.get("max_chars", DEFAULT_CHARS)
    return answer


# search_evidence --------------------------------------------------------------------------------------------


def test_a_passage_says_all_that_it_is_cited_by(docs: Shelf) -> None:
    answer = ask(docs, "install wages")
    assert answer == {
        "results": [
            {
                "id": "docs:guide.md#install",
                "title": "Install",
                "heading": "Guide › Install",
                "collection": "docs",
                "revision": "0123456789abcdef0123456789abcdef01234567",
                "url": "https://example.org/guide.md#install",
                "excerpt": "## Install\n\n```sh\n# wages\nrun\n```\nThen\nrest.",
                "first_line": 1,
                "last_line": 8,
                "path": "guide.md",
                "file_first_line": 4,
                "file_last_line": 11,
                "matched": [{"term": "install", "word": "install"}, {"term": "wages", "word": "wages"}],
            }
        ],
        "total": 1,
        "total_relation": "eq",
    }


def test_a_translated_term_names_the_word_that_met_it_and_a_relaxed_answer_what_it_lacks(docs: Shelf) -> None:
    (found,) = ask(docs, "labor", collections=["jobs"])["results"]
    assert found["matched"] == [{"term": "labor", "word": "labour"}]
    assert found["excerpt"] == "Labour cost."
    near = ask(docs, "labor xylophone", collections=["jobs"])
    assert near["relaxed"] is True
    assert near["results"][0]["missing"] == ["xylophone"]
    assert any("xylophone" in note for note in near["notes"])


def test_the_lines_of_a_passage_are_those_of_the_document_and_of_the_file(docs: Shelf) -> None:
    seen = 0
    for question in ("wages", "rents", "run", "rest", "flats", "pay"):
        for one in ask(docs, question, collections=["docs"])["results"]:
            seen += 1
            document = docs.fetch(one["id"])[1]
            quoted = "\n".join(lines_of(document.text)[one["first_line"] - 1 : one["last_line"]])
            assert one["excerpt"] in quoted
            in_file = DOCS[one["path"]].split("\n")[one["file_first_line"] - 1 : one["file_last_line"]]
            assert "\n".join(in_file) == quoted
    assert seen > 8


def test_filters_leave_only_what_they_name(docs: Shelf) -> None:
    def paths(**arguments: Any) -> list[str]:
        return sorted({one.get("path", "") for one in ask(docs, "wages", **arguments)["results"]})

    assert paths() == ["", "a/b.md", "a/notes.txt", "guide.md"]
    assert paths(collections=["jobs"]) == [""]
    assert paths(path_prefix="a/") == ["a/b.md", "a/notes.txt"]
    assert paths(path_prefix="a/n", collections=["docs"]) == ["a/notes.txt"]
    assert paths(where={"path": "guide.md"}) == ["guide.md"]
    assert paths(where={"path": ["guide.md", "a/b.md"]}) == ["a/b.md", "guide.md"]
    assert paths(revision="0123456") == ["a/b.md", "a/notes.txt", "guide.md"]
    assert paths(revision="7") == [""]
    assert ask(docs, "wages", revision="7")["notes"] == [
        "Left out, being of another revision: docs “0123456789abcdef0123456789abcdef01234567”."
    ]
    # a path is compared as it is written
    assert ask(docs, "wages", path_prefix="A/")["results"] == []


def test_nothing_under_a_path_is_said(docs: Shelf) -> None:
    answer = ask(docs, "wages", path_prefix="b/")
    assert answer["results"] == []
    assert answer["notes"][-1] == "No document's path begins with “b/”."
    assert "b/" not in json.dumps(ask(docs, "wages", path_prefix="a/b")["results"][0].get("notes", ""))


def test_another_revision_names_the_one_that_is(docs: Shelf) -> None:
    said = (
        "Revision “v2” is not served. Served is: docs “0123456789abcdef0123456789abcdef01234567”, jobs “7”. "
        "Ask without revision, or with that one."
    )
    with pytest.raises(QueryError) as caught:
        ask(docs, "wages", revision="v2")
    assert caught.value.message == said
    with pytest.raises(QueryError, match=r"Revision “v2” is not served\. Served is: jobs “7”\."):
        read(docs, "jobs:1", revision="v2")
    assert read(docs, "jobs:1", revision="7")["revision"] == "7"
    assert read(docs, "docs:guide.md#guide", revision="0123456789ab")["first_line"] == 1
    for short in ("012345", "0123456789abcdef0123456789abcdef012345678"):
        with pytest.raises(QueryError):
            read(docs, "docs:guide.md#guide", revision=short)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"collections": ["nope"]}, 'there is no collection "nope"'),
        ({"where": {"nope": "x"}}, 'there is no facet "nope"'),
        ({"where": {"path": {"a": 1}}}, 'where must have a text for "path"'),
        ({"where": {"path": []}}, 'where must have a text for "path"'),
    ],
)
def test_what_is_not_there_is_an_error_and_no_empty_answer(docs: Shelf, arguments: dict[str, Any], said: str) -> None:
    with pytest.raises(QueryError, match=said):
        ask(docs, "wages", **arguments)


def rows_of(count: int, words: int = 400) -> Rows:
    filler = " ".join(f"word{n}" for n in range(words))
    return [
        {"id": f"{n}", "title": f"Wages {n}", "text": f"{filler}\nwages “quoted” \\ {n}\n{filler}"}
        for n in range(count)
    ]


@pytest.mark.parametrize("max_chars", [LEAST_CHARS, 501, 777, 1_000, 4_000, DEFAULT_CHARS, MOST_CHARS])
def test_pages_within_any_budget_are_the_whole_answer(shelf_of: Callable[..., Shelf], max_chars: int) -> None:
    shelf = shelf_of({"a": rows_of(30), "b": rows_of(20)})
    whole = [found.id for found in shelf.search("wages", limit=50).results]
    ids: list[str] = []
    offset: int | None = 0
    while offset is not None:
        answer = ask(shelf, "wages", limit=MOST_RESULTS, max_chars=max_chars, offset=offset)
        assert answer["total"] == 50
        for one in answer["results"]:
            assert "wages" in one["excerpt"]
            assert SHORTEST_PASSAGE // 2 <= len(one["excerpt"]) <= LONGEST_PASSAGE
            assert one["first_line"] <= 2 <= one["last_line"]
        ids += [one["id"] for one in answer["results"]]
        offset = answer.get("next_offset")
        assert offset in (None, len(ids))
    assert ids == whole


def test_a_budget_is_used_and_not_passed(shelf_of: Callable[..., Shelf]) -> None:
    shelf = shelf_of({"a": rows_of(30)})
    answers = {most: ask(shelf, "wages", max_chars=most) for most in range(LEAST_CHARS, 3_000, 37)}
    for most, answer in answers.items():
        # what is left would not hold another result with the shortest passage
        assert most - cost(answer) < 330
    assert len(answers[max(answers)]["results"]) > len(answers[LEAST_CHARS]["results"])


def test_limit_and_the_last_result_bound_an_answer(shelf_of: Callable[..., Shelf]) -> None:
    shelf = shelf_of({"a": [{"id": f"{n}", "title": f"Wages {n}"} for n in range(CANDIDATES + 5)]})
    assert len(ask(shelf, "wages", limit=3)["results"]) == 3
    assert ask(shelf, "wages", limit=3)["next_offset"] == 3
    last = ask(shelf, "wages", offset=CANDIDATES - 2, limit=MOST_RESULTS)
    assert len(last["results"]) == 2
    assert "next_offset" not in last
    with pytest.raises(QueryError, match="can be read down to 1,000"):
        ask(shelf, "wages", offset=CANDIDATES)


def test_a_budget_that_holds_no_result_says_what_it_would_take(shelf_of: Callable[..., Shelf]) -> None:
    shelf = shelf_of({"a": [{"id": "x" * 600, "title": "Wages " * 200, "text": "wages " * 100}]})
    with pytest.raises(QueryError, match=r"max_chars is 500, and the least that can be shown needs (\d+)") as caught:
        ask(shelf, "wages", max_chars=500)
    found = re.search(r"needs (\d+)", caught.value.message)
    assert found
    needed = int(found[1])
    assert len(ask(shelf, "wages", max_chars=needed)["results"]) == 1
    with pytest.raises(QueryError):
        ask(shelf, "wages", max_chars=needed - 1)


def test_many_notes_leave_room_for_results(shelf_of: Callable[..., Shelf]) -> None:
    pairs = [{"asked": f"asked{letter}", "source": ["wages"]} for letter in "abcdefghijklmnop"]
    shelf = shelf_of({"a": [{"id": "1", "title": "Wages"}]}, vocabulary=pairs)
    answer = ask(shelf, " ".join(pair["asked"] for pair in pairs), max_chars=1_000)  # type: ignore[misc]
    assert answer["results"]
    assert answer["notes"][-1] == "…"


def test_a_question_without_words_and_one_without_an_answer_say_why(docs: Shelf) -> None:
    for question in ("?!", "  ", "xylophone"):
        answer = ask(docs, question)
        assert answer["results"] == []
        assert answer["notes"]
        assert "next_offset" not in answer


TEXT = st.text(st.sampled_from('ab é\n\r\t"\\\x1f\u2028🎉,.'), max_size=300)


@settings(max_examples=10, deadline=None)
@given(st.lists(TEXT, min_size=1, max_size=20))
def test_any_passage_stands_in_its_lines(texts: list[str]) -> None:
    rows = [{"id": f"{n}", "title": "a b", "text": text} for n, text in enumerate(texts)]
    with built(rows).catalog as catalog:
        for one in catalog.search("a b", limit=20).results:
            stored = lines_of(catalog.fetch(one.id).text)
            for length in (1, 10, 80, 800):
                passage = one.passage(length)
                assert len(passage.text) <= length
                quoted = "\n".join(stored[passage.first_line - 1 : passage.last_line])
                assert passage.text in quoted
                assert passage.text.count("\n") == passage.last_line - passage.first_line


# read_document ----------------------------------------------------------------------------------------------


def whole(shelf: Shelf, id: str, **arguments: Any) -> list[str]:
    """Read a document in pages and put its lines together again."""
    lines: list[str] = []
    place: dict[str, Any] = {"from_line": 1}
    while True:
        page = read(shelf, id, **arguments, **place)
        numbered = page["text"].split("\n")
        assert len(numbered) <= arguments.get("max_lines", 10_000)
        for number, one in enumerate(numbered, page["first_line"]):
            assert one.startswith(f"{number}: ")
            rest = one.removeprefix(f"{number}: ")
            if number == place["from_line"] and place.get("from_char", 1) > 1:
                lines[-1] += rest
            else:
                assert number == len(lines) + 1
                lines.append(rest)
        assert page["last_line"] == len(lines)
        if "next" not in page:
            assert page["left"] == 0
            assert page["lines"] == len(lines)
            return lines
        place = page["next"]
        assert page["left"] == page["lines"] - place["from_line"] + 1


def test_lines_are_numbered_and_the_rest_is_announced(docs: Shelf) -> None:
    page = read(docs, "docs:guide.md#install", from_line=2, max_lines=3)
    assert page == {
        "id": "docs:guide.md#install",
        "title": "Install",
        "heading": "Guide › Install",
        "collection": "docs",
        "revision": "0123456789abcdef0123456789abcdef01234567",
        "url": "https://example.org/guide.md#install",
        "path": "guide.md",
        "file_first_line": 5,
        "text": "2: \n3: ```sh\n4: # wages",
        "first_line": 2,
        "last_line": 4,
        "lines": 8,
        "left": 4,
        "next": {"from_line": 5},
    }
    last = read(docs, "guide.md#install", from_line=8)
    assert (last["text"], last["left"], "next" in last) == ("8: rest.", 0, False)
    assert read(docs, "docs:guide.md#install#L8")["text"] == "8: rest."


PAGED = st.text(st.sampled_from('ab é\n\r\t"\\\x1f\u2028🎉'), max_size=2_000)


@settings(max_examples=8, deadline=None)
@given(
    st.lists(PAGED, min_size=5, max_size=10),
    st.integers(1, 3_000),
    st.lists(st.integers(LEAST_CHARS, 700), min_size=2, max_size=2),
    st.integers(1, 7),
)
def test_a_document_read_in_pages_of_any_size_is_the_stored_text(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], words: int, budgets: list[int], max_lines: int
) -> None:
    path = tmp_path_factory.mktemp("pages") / "a.db"
    texts = ["word " * words, *texts]
    built([{"id": f"{n}", "title": "A", "text": text} for n, text in enumerate(texts)], to=path)
    shelf = Shelf.of_files([path])
    try:
        for number, text in enumerate(texts):
            stored = text.replace("\r\n", "\n").replace("\r", "\n")
            for max_chars, most in ((budgets[0], 2_000), (MOST_CHARS, max_lines), (budgets[1], max_lines)):
                read_again = "\n".join(whole(shelf, f"{number}", max_chars=max_chars, max_lines=most))
                # a line end at the very end begins no line
                assert read_again in (stored, stored.removesuffix("\n"))
    finally:
        shelf.close()


def test_a_line_longer_than_a_budget_is_read_in_parts(shelf_of: Callable[..., Shelf]) -> None:
    shelf = shelf_of({"a": [{"id": "1", "title": "A", "text": "first\n" + 'é"' * 5_000 + "\nlast"}]})
    page = read(shelf, "1", max_chars=LEAST_CHARS)
    assert page["text"] == "1: first"
    assert page["next"] == {"from_line": 2}
    page = read(shelf, "1", max_chars=LEAST_CHARS, from_line=2)
    assert page["next"]["from_line"] == 2
    assert page["next"]["from_char"] > 50
    assert LEAST_CHARS - cost(page) < 25
    assert whole(shelf, "1", max_chars=LEAST_CHARS) == ["first", 'é"' * 5_000, "last"]


@pytest.mark.parametrize(("line", "character"), [(9, 1), (1, 12), (10**9, 1)])
def test_a_place_that_is_not_there_is_an_error(docs: Shelf, line: int, character: int) -> None:
    with pytest.raises(QueryError, match="the document has 8 lines"):
        read(docs, "docs:guide.md#install", from_line=line, from_char=character)


def test_a_document_without_text_has_one_empty_line(shelf_of: Callable[..., Shelf]) -> None:
    shelf = shelf_of({"a": [{"id": "1", "title": "A"}]})
    page = read(shelf, "1")
    assert (page["text"], page["lines"], page["left"]) == ("1: ", 1, 0)


def test_a_budget_too_small_for_a_document_says_what_it_would_take(shelf_of: Callable[..., Shelf]) -> None:
    shelf = shelf_of({"a": [{"id": "x" * 500, "title": "A", "text": "\x01\x02"}]})
    with pytest.raises(QueryError, match=r"max_chars is 500, and the least that can be shown needs (\d+)") as caught:
        read(shelf, "x" * 500, max_chars=500)
    found = re.search(r"needs (\d+)", caught.value.message)
    assert found
    assert read(shelf, "x" * 500, max_chars=int(found[1]))["text"].startswith("1: \x01")


def test_most_lines_bound_a_page(shelf_of: Callable[..., Shelf]) -> None:
    shelf = shelf_of({"a": [{"id": "1", "title": "A", "text": "\n".join("abcdef")}]})
    assert read(shelf, "1", max_lines=1)["next"] == {"from_line": 2}
    assert read(shelf, "1", max_lines=6)["left"] == 0
    assert read(shelf, "1", max_lines=MOST_LINES)["last_line"] == 6


def test_an_unknown_id_is_not_found_whatever_else_is_asked(docs: Shelf) -> None:
    for id in ("nope", "nope#L3", "docs:nope", "jobs:guide.md#guide"):
        for more in ({}, {"revision": "v9"}, {"from_line": 10**6}):
            with pytest.raises(DocumentNotFound):
                read(docs, id, **more)


# list_collections -------------------------------------------------------------------------------------------


def test_collections_say_what_they_are_and_translate(docs: Shelf) -> None:
    assert list_collections(docs, {}) == {
        "collections": [
            {
                "name": "docs",
                "title": "Documentation",
                "language": "en",
                "documents": 6,
                "publisher": "P",
                "licence": "MIT",
                "revision": "0123456789abcdef0123456789abcdef01234567",
                "facets": ["path"],
                "vocabulary": {"entries": 0, "examples": []},
            },
            {
                "name": "jobs",
                "title": "jobs",
                "language": "en",
                "documents": 1,
                "revision": "7",
                "vocabulary": {
                    "entries": 2,
                    "examples": [{"asked": "labor", "source": "labour"}, {"asked": "salary", "source": "wages"}],
                },
            },
        ]
    }


# Access -----------------------------------------------------------------------------------------------------

CALLS: list[tuple[Callable[..., Any], dict[str, Any]]] = [
    (search_evidence, {"query": "wages", "collections": ["HIDDEN"]}),
    (search_evidence, {"query": "wages", "collections": ["jobs", "HIDDEN"]}),
    (search_evidence, {"query": "wages", "path_prefix": "PATH"}),
    (search_evidence, {"query": "wages", "path_prefix": "PATH", "offset": 3}),
    (search_evidence, {"query": "wages", "revision": "REVISION"}),
    (search_evidence, {"query": "wages", "where": {"FACET": "guide.md"}}),
    (search_evidence, {"query": "PLAIN"}),
    (search_evidence, {"query": "URL"}),
    (read_document, {"id": "HIDDEN:PLAIN"}),
    (read_document, {"id": "PLAIN"}),
    (read_document, {"id": "PLAIN#L2"}),
    (read_document, {"id": "URL"}),
    (read_document, {"id": "HIDDEN:PLAIN", "revision": "REVISION"}),
    (read_document, {"id": "PLAIN", "from_line": 2, "from_char": 2}),
    (read_document, {"id": "PLAIN", "from_line": 9_999}),
    (read_document, {"id": "1", "revision": "REVISION"}),
]
HIDDEN = {
    "HIDDEN": "docs", "PLAIN": "guide.md#install", "PATH": "a/", "FACET": "path",
    "REVISION": "0123456789abcdef0123456789abcdef01234567", "URL": "https://example.org/guide.md#install",
}  # fmt: skip


@pytest.mark.parametrize(("tool", "arguments"), CALLS, ids=lambda value: getattr(value, "__name__", None) or str(value))
def test_what_a_caller_may_not_see_does_not_exist(docs: Shelf, tool: Any, arguments: dict[str, Any]) -> None:
    """A call gets from a server that hides a collection, byte for byte, what it gets from one that has none such."""
    sent = json.dumps(arguments)
    for key, value in HIDDEN.items():
        sent = sent.replace(key, value)

    def answered(shelf: Shelf) -> str:
        try:
            return json.dumps(tool(TEXTS, shelf, json.loads(sent)), ensure_ascii=False)
        except (QueryError, DocumentNotFound) as problem:
            return f"{type(problem).__name__}: {problem}"

    without = Shelf.of_files([docs.catalog("jobs").database.name])
    try:
        assert answered(docs.only(["jobs"])) == answered(without)
        if arguments not in ({"id": "URL"}, {"id": "1", "revision": "REVISION"}):  # which lead nowhere for anybody
            assert answered(docs) != answered(without)
    finally:
        without.close()


def test_the_hidden_is_in_no_list_and_no_count(docs: Shelf) -> None:
    shelf = docs.only(["jobs"])
    assert [one["name"] for one in list_collections(shelf, {})["collections"]] == ["jobs"]
    assert ask(shelf, "wages")["total"] == 1


# The tools --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("locale", LOCALES)
def test_the_schemas_are_plain_and_answers_satisfy_them(docs: Shelf, locale: str) -> None:
    tools = {tool.name: tool for tool in evidence_tools(Corpora.of(docs), Texts(locale))}
    assert tuple(tools) == EVIDENCE_TOOLS
    for tool in tools.values():
        definition = tool.definition
        assert definition.annotations is not None
        assert definition.annotations.read_only_hint
        assert len(definition.description or "") <= 1_000
        for schema in (definition.input_schema, definition.output_schema):
            assert schema is not None
            jsonschema.Draft7Validator.check_schema(schema)
            jsonschema.Draft202012Validator.check_schema(schema)
            assert not re.search(r'"(\$ref|\$defs|\$schema|anyOf|oneOf|allOf)"', json.dumps(schema))
            assert not re.search(r'"type": \[', json.dumps(schema))
    answers = [
        ("search_evidence", search_evidence(TEXTS, docs, {"query": "wages"})),
        ("search_evidence", search_evidence(TEXTS, docs, {"query": "wages", "limit": 1})),
        ("search_evidence", search_evidence(TEXTS, docs, {"query": "labor xylophone"})),
        ("read_document", read_document(TEXTS, docs, {"id": "docs:guide.md#install", "max_lines": 1})),
        ("read_document", read_document(TEXTS, docs, {"id": "jobs:1"})),
        ("list_collections", list_collections(docs, {})),
    ]
    for name, answer in answers:
        jsonschema.validate(answer, tools[name].definition.output_schema)
        jsonschema.validate(tools[name].blank(), tools[name].definition.output_schema)


def test_some_of_the_tools_can_be_chosen(docs: Shelf) -> None:
    corpora = Corpora.of(docs)

    def names(wanted: str) -> list[str]:
        chosen = Configuration().over(tools=wanted).tools
        return [tool.name for tool in evidence_tools(corpora, TEXTS, chosen)]

    assert names("") == []
    assert names("all") == list(EVIDENCE_TOOLS)
    assert names(" list_collections, search,search_evidence") == ["search_evidence", "list_collections"]
    with pytest.raises(SettingsError, match=r'no tool "read_documents"\. Did you mean "read_document"\?'):
        names("read_documents")
