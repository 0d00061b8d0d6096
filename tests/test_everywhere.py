"""One answer everywhere: over real catalogues, every way to ask gives the same ids in the same order.

Catalog.search is held against the search as one statement, here, under D1's rules and in workerd's own D1; against the
statement compiled for D1; against the catalogue over D1's HTTP API; and against the exported Worker. Two paths share
their SQL at most.
"""

from __future__ import annotations

import csv
import http.client
import json
import sqlite3
import statistics
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from d1local import ADDRESS, TOKEN, Cloudflare
from support import SHARED, built
from test_ask import HOSTILE, ROWS_READ, SQL, check, check_under_d1, runs_on, some, storable

from catalog_search import Catalog
from catalog_search.relevance import read_judged
from catalog_search.result import SearchResult
from catalog_search.worker import export_worker

REAL: dict[str, tuple[str, str, tuple[str, ...], str]] = {
    "cid10": ("cid10_pt", "pt-BR", ("cid10_abreviado", "cid10_gnuhealth_ptbr"), ""),
    "uis": ("uis_indicators", "en", (), "UNESCO UIS"),
    "oecd": ("oecd_dataflows", "en", (), ""),
}
"""Name → catalogue, language, judged sets, the name of its pairs."""

COMPILED_ROWS_READ = 100
"""Rows that a statement compiled for D1 may read in D1, in the median."""

LISTED = 10


class Real(NamedTuple):
    """A real catalogue with questions, and what Catalog.search answers to each."""

    path: str
    folder: Path
    questions: list[str]
    answers: list[SearchResult]
    notes: list[list[str]]
    """The notes of each, as far as they are the same everywhere: of a relaxed answer those on the question; without
    the nearest words, which only Catalog.search looks for."""

    def strict(self) -> Iterator[tuple[str, list[str]]]:
        """Yield each question with the ids of its strict answer."""
        for question, answer in zip(self.questions, self.answers, strict=True):
            yield question, [] if answer.relaxed else [result.id for result in answer.results]


@pytest.fixture(scope="module", params=REAL)
def real(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Real:
    """A real catalogue and 1,000 questions: of its judged sets, its pairs, titles, whole and in pieces; and hostile."""
    catalogue, language, judged, pairs = REAL[request.param]
    if not SHARED.is_dir():
        pytest.skip("the real catalogues (../shared/data, beside the repository) are not there")
    from test_shared_data import pairs_of  # it needs the shared data too

    folder = tmp_path_factory.mktemp(request.param)
    with open(SHARED / "catalogues" / f"{catalogue}.csv", encoding="utf-8-sig", newline="") as file:
        rows = [{"id": row["id"], "title": row["title"]} for row in csv.DictReader(file)]
    vocabulary = pairs_of(pairs) if pairs else []
    report = built(
        rows, folder=folder, vocabulary=vocabulary, to=folder / "real.db", language=language, duplicates="first"
    )
    asked = [one.query for name in judged for one in read_judged(str(SHARED / "evals" / f"{name}.jsonl"))]
    asked += [pair["asked"] for pair in vocabulary]
    titles = some((row["title"] for row in rows), 350)
    pieces = [" ".join(title.split()[::2]) for title in titles] + [title[:9] for title in titles]
    kept = some(asked, 350)
    questions = [*kept, *some([*titles, *pieces], 700 - len(kept)), *HOSTILE]
    assert len(questions) == 1_000
    with Catalog.open(report.path) as catalog:
        answers = [catalog.search(one) for one in questions]
        nearest = catalog.say("suggestions", words="\0").partition("\0")[0]
        relaxed = {catalog.say(key, dropped="\0").partition("\0")[0] for key in ("relaxed", "relaxed_all")}
    notes = []
    for answer in answers:
        said = [note for note in answer.notes if not note.startswith(nearest)]
        places = [place for place, note in enumerate(said) if note.startswith(tuple(relaxed))]
        assert len(places) == answer.relaxed
        notes.append(said[: places[0]] if places else said)
    return Real(report.path, folder, questions, answers, notes)


@pytest.fixture(scope="module")
def cloudflare(real: Real) -> Iterator[Cloudflare]:
    """The catalogue in D1, with the API and the exported Worker in front of it."""
    export_worker(real.path, real.folder / "worker")
    with closing(Cloudflare(real.folder / "worker" / "worker.js")) as started:
        started.run(real.folder / "worker" / "seed.sql")
        yield started


def test_the_statement_gives_it(real: Real) -> None:
    with closing(sqlite3.connect(real.path)) as connection, Catalog.open(real.path) as catalog:
        run = runs_on(connection)
        for question in real.questions:
            check(catalog, run, question)
        check_under_d1(real.path, run, real.questions[::5])


def test_the_statement_gives_it_in_d1_and_reads_few_rows(real: Real, cloudflare: Cloudflare) -> None:
    with closing(sqlite3.connect(real.path)) as connection:
        run = runs_on(connection)
        answers = list(cloudflare.each(SQL, ([storable(question)] for question in real.questions)))
        for question, answer in zip(real.questions, answers, strict=True):
            assert [tuple(row.values()) for row in answer["results"]] == run(question), question
    assert statistics.median(answer["meta"]["rows_read"] for answer in answers) <= ROWS_READ


def test_the_statement_compiled_for_d1_gives_it_and_reads_few_rows(real: Real, cloudflare: Cloudflare) -> None:
    read = []
    with Catalog.open(real.path) as catalog:
        for question, ids in real.strict():
            query = catalog.statement(question, "d1")
            answer = cloudflare.send(sql=query.sql, params=query.parameters)
            found = [row["id"] for row in answer["results"]]
            assert found[:LISTED] == ids, question
            if len(ids) == LISTED:
                whole = [result.id for result in catalog.search(question, limit=1_000, relax=False).results]
                assert found[:1_000] == whole, question
            else:
                assert found == ids, question
            read.append(answer["meta"]["rows_read"])
    assert statistics.median(read) <= COMPILED_ROWS_READ


def test_the_catalogue_over_http_gives_it(real: Real, cloudflare: Cloudflare) -> None:
    with Catalog.connect(ADDRESS, token=TOKEN, base_url=cloudflare.api) as remote:
        for (question, ids), answer, notes in zip(real.strict(), real.answers, real.notes, strict=True):
            there = remote.search(question)
            assert there.relaxed == answer.relaxed, question
            assert there.reason == answer.reason, question
            assert there.notes[: len(notes)] == notes, question
            if not there.relaxed:
                assert there.notes == notes, question
                assert [result.id for result in there.results] == ids, question
                assert [result.tier for result in there.results] == [result.tier for result in answer.results]


def called(cloudflare: Cloudflare, questions: list[str]) -> Iterator[dict[str, Any]]:
    """Yield what the Worker answers to questions, twenty in a call."""
    connection = http.client.HTTPConnection(cloudflare.worker.removeprefix("http://"), timeout=60)
    with closing(connection):
        for place in range(0, len(questions), 20):
            calls = [
                {
                    "jsonrpc": "2.0", "id": number, "method": "tools/call",
                    "params": {"name": "search", "arguments": {"query": storable(question)}},
                }
                for number, question in enumerate(questions[place : place + 20])
            ]  # fmt: skip
            connection.request("POST", "/mcp", json.dumps(calls), {"Content-Type": "application/json"})
            for number, reply in enumerate(json.loads(connection.getresponse().read())):
                assert reply["id"] == number
                assert json.loads(reply["result"]["content"][0]["text"]) == reply["result"]["structuredContent"]
                yield reply["result"]["structuredContent"]


def test_the_worker_gives_it(real: Real, cloudflare: Cloudflare) -> None:
    found = called(cloudflare, real.questions)
    for (question, ids), answer, notes, there in zip(real.strict(), real.answers, real.notes, found, strict=True):
        assert there.get("relaxed", False) == answer.relaxed, question
        said = there.get("notes", [])
        assert said[: len(notes)] == notes, question
        if not answer.relaxed:
            assert said == notes, question
            here = [{"id": result.id, "title": result.title, "url": result.url} for result in answer.results]
            assert there["results"] == here, question
            assert [result["id"] for result in there["results"]] == ids
