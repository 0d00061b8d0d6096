"""The catalogues under data/ are whole, and the counts in their vocabularies are true.

Counts are made here from the CSV with unidecode and str.split alone; no code of the package is used.
"""

from __future__ import annotations

import csv
import functools
import json
import unicodedata
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml
from unidecode import unidecode

ROOT = Path(__file__).parent.parent
ROWS = {"oecd": 1548, "icd10cm": 4143, "countries-pt": 249}


class Entry(NamedTuple):
    """One row: its columns, and the normal form of its id, title, keywords and text."""

    row: dict[str, str]
    fields: list[str]


def normal(text: str) -> str:
    """Lower case, no accents, words of [a-z0-9] joined by single spaces."""
    folded = unidecode(unicodedata.normalize("NFKC", text)).lower()
    letters = "abcdefghijklmnopqrstuvwxyz0123456789"
    return " ".join("".join(c if c in letters else " " for c in folded).split())


@functools.cache
def settings(name: str) -> dict[str, Any]:
    return yaml.safe_load((ROOT / "data" / name / "catalog.yaml").read_text("utf-8"))


@functools.cache
def entries(name: str) -> list[Entry]:
    documents = settings(name)["documents"]
    keywords = [
        (entry["column"], entry["split"]) if isinstance(entry, dict) else (entry, None)
        for entry in documents.get("keywords", [])
    ]
    found = []
    with (ROOT / "data" / name / settings(name)["source"]["path"]).open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            keyword_text = " ".join(row[column].replace(mark or "\0", " ") for column, mark in keywords)
            text = row[documents["text"].strip("{}")] if "text" in documents else ""
            fields = [normal(value) for value in (row["id"], row["title"], keyword_text, text)]
            found.append(Entry(row, [f" {field} " for field in fields]))
    return found


def documents_with(name: str, patterns: list[str]) -> set[str]:
    """The ids whose entry has a pattern at the start of a word; a last word of one letter is whole."""
    found = set()
    for pattern in patterns:
        needle = " " + normal(pattern)
        if len(needle.split()[-1]) == 1:
            needle += " "
        found |= {row["id"] for row, fields in entries(name) if any(needle in field for field in fields)}
    return found


def vocabulary(name: str) -> dict[str, Any]:
    path = ROOT / "data" / name / settings(name)["vocabulary"]
    assert path.resolve() == (ROOT / "vocab" / "catalogs" / f"{name}.yaml").resolve()
    return yaml.safe_load(path.read_text("utf-8"))


@pytest.mark.parametrize("name", ROWS)
def test_the_rows_are_whole(name):
    rows = [entry.row for entry in entries(name)]
    assert len(rows) == ROWS[name]
    assert len({row["id"] for row in rows}) == len(rows)
    for row in rows:
        assert None not in row
        assert None not in row.values()
        assert row["id"].strip()
        assert row["title"].strip()


@pytest.mark.parametrize("name", ROWS)
def test_the_settings_name_columns_that_exist(name):
    columns = set(entries(name)[0].row)
    documents = settings(name)["documents"]
    for column in [*documents["metadata"], *documents.get("facets", [])]:
        assert column in columns
    assert settings(name)["name"] == name
    assert documents["url"].startswith("https://")
    provenance = settings(name)["provenance"]
    assert sorted(provenance) == ["licence", "publisher", "retrieved_at", "revision", "source_url"]


@pytest.mark.parametrize("name", ROWS)
def test_the_folder_says_where_it_comes_from(name):
    readme = (ROOT / "data" / name / "README.md").read_text("utf-8")
    for line in ("| Publisher |", "| Licence |", "| Package | PyPI", "| File", "| Retrieved | 20"):
        assert line in readme
    assert f"python data/make.py {name} " in readme
    for path in (ROOT / "data" / name).iterdir():
        assert path.stat().st_size < 1_500_000, path


def test_the_names_of_iso_codes_come_with_their_licence():
    text = (ROOT / "data" / "countries-pt" / "LGPL-2.1.txt").read_text("utf-8")
    assert "GNU LESSER GENERAL PUBLIC LICENSE" in text
    assert "Version 2.1, February 1999" in text


@pytest.mark.parametrize("name", ROWS)
def test_each_judged_question_has_answers_that_exist(name):
    lines = (ROOT / "data" / name / "judged.jsonl").read_text("utf-8").splitlines()
    judged = [json.loads(line) for line in lines]
    ids = {entry.row["id"] for entry in entries(name)}
    assert len(judged) >= 20
    assert len({question["query"] for question in judged}) == len(judged)
    for question in judged:
        assert set(question) == {"query", "ids"}
        assert question["ids"]
        assert set(question["ids"]) <= ids, question


@pytest.mark.parametrize("name", ROWS)
def test_each_pair_is_measured_and_true(name):
    table = vocabulary(name)
    assert table["language"] == settings(name)["language"]
    pairs = table["pairs"]
    assert len(pairs) >= 25
    assert len({normal(pair["asked"]) for pair in pairs}) == len(pairs)
    for pair in pairs:
        asked = documents_with(name, [pair["asked"]])
        source = documents_with(name, pair["source"])
        assert pair["measured"] == {"asked": len(asked), "source": len(source)}, pair
        for pattern in pair["source"]:
            assert documents_with(name, [pattern]), f"{pattern!r} occurs nowhere: {pair}"


@pytest.mark.parametrize("name", ROWS)
def test_each_pair_gains_documents(name):
    for pair in vocabulary(name)["pairs"]:
        asked = documents_with(name, [pair["asked"]])
        source = documents_with(name, pair["source"])
        # A name of one country can gain no more than that country.
        least = min(2, len(source)) if name == "countries-pt" else max(2, 0.02 * len(asked))
        assert len(source - asked) >= least, pair
        if pair.get("both"):
            assert len(asked - source) >= max(2, 0.02 * len(source)), pair


@pytest.mark.parametrize("name", ROWS)
def test_each_pair_left_out_says_why(name):
    table = vocabulary(name)
    kept = {(normal(pair["asked"]), normal(source)) for pair in table["pairs"] for source in pair["source"]}
    assert table["left_out"]
    for pair in table["left_out"]:
        assert pair["reason"].strip()
        assert not kept & {(normal(pair["asked"]), normal(source)) for source in pair["source"]}, pair


def test_the_best_known_words():
    titles = {name: [f" {normal(entry.row['title'])} " for entry in entries(name)] for name in ROWS}
    assert sum(" labor" in title for title in titles["oecd"]) == 0
    assert sum(" labour" in title for title in titles["oecd"]) == 27
    assert not documents_with("icd10cm", ["heart attack"])
    assert "I21" in documents_with("icd10cm", ["myocardial infarction"])
    assert not documents_with("countries-pt", ["Holanda"])
    assert documents_with("countries-pt", ["Países Baixos"]) == {"NL"}
