"""The kernels of real complaints, in tests/cases/complaints.yaml: the outcome that was asked for."""

from __future__ import annotations

import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from support import SHARED, built, cases, settings_for

from catalog_search import Catalog, CatalogSearchError, DatabaseError, Settings, build
from catalog_search.builder import BuildReport

COMPLAINTS: list[dict[str, Any]] = cases("complaints")
GROUPS = {
    "FTS5 query syntax": "1-",
    "Unicode": "2-",
    "LIKE/GLOB pitfalls": "3-",
    "Import and rebuild": "4-",
    "Search wishes": "5-",
    "Synonyms": "8-",
}
OF_ANOTHER_KIND = {"8-14", "8-16"}
"""Cases about learning a vocabulary, tested with it."""


def questions(ask: dict[str, Any]) -> list[str]:
    return ask["question"] if isinstance(ask["question"], list) else [ask["question"]]


@pytest.mark.parametrize("case", COMPLAINTS, ids=lambda case: f"{case['id']} {case['name']}")
def test_a_complaint_has_its_right_outcome(tmp_path: Path, case: dict[str, Any]) -> None:
    report = from_file(tmp_path, case["build"]) if "build" in case else from_rows(tmp_path, case)
    if report is None:
        return
    with report.catalog as catalog:
        for ask in case.get("ask", ()):
            for question in questions(ask):
                check(catalog, question, ask)
        for one in case.get("explain", ()):
            said = " ".join(catalog.explain(one["question"], one["id"]))
            assert [words for words in one["says"] if words not in said] == [], said
    if "verdicts" in case:
        lines = [pair["line"] for pair in report.vocabulary]
        assert lines == sorted(set(lines))
        found = [pair["verdict"] for pair in report.vocabulary]
        assert [right if right == "any" else one for one, right in zip(found, case["verdicts"], strict=True)] == case[
            "verdicts"
        ]
        for place, detail in case["details"].items():
            right = re.sub(r"pair (\d+)", lambda match: f"line {lines[int(match[1]) - 1]}", detail)
            assert report.vocabulary[place - 1]["detail"] == right


def from_rows(folder: Path, case: dict[str, Any]) -> BuildReport:
    facets = {"documents": {"facets": case["facets"]}} if "facets" in case else {}
    path = folder / "built.db"
    report = built(case["rows"], folder=folder, vocabulary=case.get("vocabulary", ()), to=path, **facets)
    if "damage" in case:
        with closing(sqlite3.connect(path)) as connection:
            connection.executescript(case["damage"])
    return report


def check(catalog: Catalog, question: str, ask: dict[str, Any]) -> None:
    options = ask.get("options", {})
    if "error" in ask:
        with pytest.raises(DatabaseError, match=ask["error"]):
            catalog.search(question, **options)
        return
    answer = catalog.search(question, **options)
    found = [result.id for result in answer.results]
    if "ids" in ask:
        assert sorted(found) == sorted(ask["ids"])
        assert answer.relaxed is ask.get("relaxed", False)
    if "order" in ask:
        assert found == ask["order"]
    if "first" in ask:
        assert found[0] == ask["first"]
    assert set(ask.get("contains", ())) <= set(found)
    assert set(ask.get("excludes", ())).isdisjoint(found)
    for name in ("relaxed", "reason", "ignored", "dropped", "total", "facets"):
        if name in ask:
            assert getattr(answer, name) == ask[name], name
    if "notes" in ask:
        assert bool(answer.notes) == bool(ask["notes"])
        assert [words for words in ask["notes"] if words not in " ".join(answer.notes)] == []
    assert answer.results or answer.reason
    if not answer.relaxed and "where" not in options and "limit" not in options:
        for dialect in ("glob", "fts", "d1"):
            assert [id for (id,) in catalog.ids_by_statement(question, dialect, 1_000)] == found
    if "pages" in ask:
        limit, sizes = ask["pages"]["limit"], ask["pages"]["sizes"]
        pages = [catalog.search(question, limit=limit, offset=limit * place).results for place in range(len(sizes))]
        assert [len(page) for page in pages] == sizes
        assert [result.id for page in pages for result in page] == found


# --- builds of files


def write(folder: Path, files: dict[str, dict[str, Any]]) -> Path:
    ((name, content),) = files.items()
    if "hex" in content:
        data = bytes.fromhex(content["hex"])
    elif "json" in content:
        data = json.dumps(content["json"]).encode()
    else:
        middle = content.get("repeat", "") * int(content.get("times", 0))
        data = (content["text"] + middle + content.get("end", "")).encode()
    (folder / name).write_bytes(data)
    return folder / name


def from_file(folder: Path, case: dict[str, Any]) -> BuildReport | None:
    target = folder / "built.db"

    def run(files: dict[str, dict[str, Any]]) -> BuildReport:
        settings = settings_for([], documents=case.get("documents", {}), on_bad_row=case.get("on_bad_row", "stop"))
        settings["source"] = {"path": str(write(folder, files))} | case.get("source", {})
        return build(Settings.from_mapping(settings), target)

    if "error" in case:
        with pytest.raises(CatalogSearchError) as caught:
            run(case["file"])
        assert [words for words in case["error"] if words not in str(caught.value)] == [], str(caught.value)
        assert not target.exists()
        return None
    if "before" in case:
        run(case["before"])
    report = run(case["file"])
    with report.catalog as catalog:
        for right in case["documents_are"]:
            document = catalog.fetch(right["id"])
            assert document.title == right["title"]
            assert document.keywords == right.get("keywords", [])
            assert document.metadata == {k: v for k, v in right.items() if k not in ("id", "title", "keywords")}
            if "text_length" in case:
                assert len(document.text) == case["text_length"]
    assert report.documents == len(case["documents_are"])
    for name, value in case.get("report", {}).items():
        assert getattr(report, name) == value
    assert [words for words in case.get("report_notes", ()) if words not in " ".join(report.notes)] == []
    with closing(sqlite3.connect(target)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        connection.execute("INSERT INTO documents_fts(documents_fts, rank) VALUES ('integrity-check', 1)")
        (rows,) = connection.execute("SELECT count(*) FROM documents_fts_docsize").fetchone() if _has_sizes(
            connection
        ) else (report.documents,)  # fmt: skip
        assert rows == report.documents
    return report


def _has_sizes(connection: sqlite3.Connection) -> bool:
    return connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'documents_fts_docsize'").fetchone() is not None


# --- none is left out


def test_every_collected_case_of_these_groups_is_here() -> None:
    path = SHARED.parent / "cases" / "cases.jsonl"
    if not path.is_file():
        pytest.skip("the collection of cases (../shared/cases, beside the repository) is not there")
    collected = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    wanted = {one["id"] for one in collected if any(one["group"].startswith(group) for group in GROUPS)}
    assert {one["id"] for one in collected if one["id"].startswith(tuple(GROUPS.values()))} == wanted
    here = {re.sub("[ab]$", "", case["id"]) for case in COMPLAINTS}
    assert wanted - OF_ANOTHER_KIND == {id for id in here if not id.startswith("own-")}
