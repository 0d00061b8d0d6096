"""A vocabulary measured on a catalogue: counts are those of a plain loop, each verdict names its reason and line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import oracle
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from support import built, catalogue, write_vocabulary

from catalog_search import Vocabulary, normalize
from catalog_search.measure import Measured, measure, measure_database, measured_at_build


def holding(documents: list[oracle.Document], *phrases: str) -> set[int]:
    return {
        document.rowid
        for document in documents
        for phrase in phrases
        if any(oracle.occurs(phrase.split(), name, words, False) for name, words in document.fields.items())
    }


def measured(folder: Path, rows: list[dict[str, str]], pairs: list[dict[str, Any]]) -> tuple[list[Measured], list[Any]]:
    vocabulary = Vocabulary.load(write_vocabulary(folder / "measured.yaml", pairs))
    with catalogue(rows) as catalog:
        connection = catalog._database.connection()
        return measure(connection, vocabulary), oracle.documents(connection)


def titles(*texts: str) -> list[dict[str, str]]:
    return [{"id": f"d{place}", "title": text} for place, text in enumerate(texts)]


@pytest.mark.parametrize(
    ("pairs", "verdicts", "counts", "detail"),
    [
        ([{"asked": "labor", "source": "labour"}], ["ok"], (0, 3, 3), ""),
        ([{"asked": "labor", "source": ["labour", "toil"]}], ["ok"], (0, 3, 3), "“toil” occurs nowhere"),
        ([{"asked": "labour", "source": "Labour"}], ["self"], (3, 3, 0), "“labour” is searched anyway"),
        ([{"asked": "labor", "source": "toil"}], ["dead"], (0, 0, 0), "“toil” occurs nowhere"),
        (
            [{"asked": "cost", "source": "labour costs"}],
            ["needless"],
            (3, 1, 0),
            "it adds 0 to the 3 that “cost” finds",
        ),
        ([{"asked": "force", "source": "cost"}], ["ok"], (1, 3, 3), ""),
        ([{"asked": "rare", "source": "unique"}], ["ok"], (0, 1, 1), ""),
    ],
)
def test_a_pair_has_its_verdict_and_counts(
    tmp_path: Path, pairs: list[dict[str, Any]], verdicts: list[str], counts: tuple[int, int, int], detail: str
) -> None:
    rows = titles("Labour force", "Labour costs", "Labours", "Cost of goods", "Costs", "Unique thing")
    found, _ = measured(tmp_path, rows, pairs)
    assert [one.verdict for one in found] == verdicts
    assert (found[0].asked_documents, found[0].source_documents, found[0].gain) == counts
    assert found[0].detail == detail


def test_needless_is_less_than_two_percent_of_what_the_asked_word_finds(tmp_path: Path) -> None:
    rows = titles(*["wage"] * 150, *["salary"] * 2, *["salary earnings"] * 2)
    found, _ = measured(
        tmp_path, rows, [{"asked": "wage", "source": "salary"}, {"asked": "wage", "source": "earnings"}]
    )
    assert [(one.gain, one.verdict) for one in found] == [(4, "ambiguous"), (2, "needless")]


def test_duplicates_and_ambiguous_words_name_the_other_line(tmp_path: Path) -> None:
    pairs = [
        {"asked": "asd", "source": "autistic spectrum"},
        {"asked": "asd", "source": "septal defect"},
        {"asked": "ASD", "source": ["Septal-Defect"]},
        {"asked": "asd", "source": ["autistic spectrum", "cases"]},
    ]
    found, _ = measured(
        tmp_path, titles("Autistic spectrum cases", "Autistic spectrum", "Septal defect", "Septal defect 2"), pairs
    )
    lines = [one.line for one in found]
    assert lines == sorted(set(lines))
    assert [one.verdict for one in found] == ["ambiguous", "ok", "duplicate", "ok"]
    assert found[0].detail == f"line {lines[1]} leads it to “septal defect” as well; both are searched"
    assert found[2].detail == f"duplicate of line {lines[1]}"


def test_json_names_the_file_and_the_line(tmp_path: Path) -> None:
    found, _ = measured(tmp_path, titles("Labour"), [{"asked": "labor", "source": "labour"}])
    assert found[0].as_json("v.yaml") == {
        "asked": "labor", "source": ["labour"], "asked_documents": 0, "source_documents": 1, "gain": 1,
        "verdict": "ok", "detail": "", "file": "v.yaml", "line": found[0].line,
    }  # fmt: skip


WORDS = st.sampled_from("labour labor wage wages cost of living e-mail 3361 336111 a Île 人口 r&d".split())
TEXTS = st.lists(WORDS, min_size=1, max_size=4).map(" ".join)


@settings(
    max_examples=25,
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow],
)
@given(
    st.lists(st.tuples(TEXTS, TEXTS, TEXTS), min_size=1, max_size=8),
    st.lists(
        st.fixed_dictionaries({"asked": TEXTS, "source": st.lists(TEXTS, min_size=1, max_size=3)}),
        min_size=1,
        max_size=8,
    ),
)
def test_counts_are_those_of_a_plain_loop(
    tmp_path_factory: pytest.TempPathFactory, texts: list[tuple[str, str, str]], pairs: list[dict[str, Any]]
) -> None:
    rows = [
        {"id": f"{place} {title}", "title": title, "keywords": keywords, "text": text}
        for place, (title, keywords, text) in enumerate(texts)
    ]
    found, documents = measured(tmp_path_factory.mktemp("measured"), rows, pairs)
    for pair, one in zip(pairs, found, strict=True):
        asked = holding(documents, normalize(pair["asked"]))
        source = holding(documents, *map(normalize, pair["source"]))
        assert one.asked_documents == len(asked)
        assert one.source_documents == len(source)
        assert one.gain == len(source - asked)
        if normalize(pair["asked"]) in map(normalize, pair["source"]):
            assert one.verdict == "self"
        elif not source:
            assert one.verdict in ("dead", "duplicate")
        elif one.verdict == "needless":
            assert one.gain < max(min(2, len(source)), 0.02 * len(asked))


def test_what_a_build_measures_is_kept_in_the_database(tmp_path: Path) -> None:
    pairs = [
        {"asked": "labor", "source": ["labour", "toil"], "both": True},
        {"asked": "asd", "source": "x"},
        {"asked": "asd", "source": "labour"},
    ]
    report = built(titles("Labour", "Labour force"), folder=tmp_path, vocabulary=pairs, to=tmp_path / "built.db")
    with report.catalog as catalog:
        kept = measured_at_build(catalog._database.connection())
    assert [one.as_json(tmp_path / "vocabulary.yaml") for one in kept] == report.vocabulary
    again = measure_database(str(tmp_path / "built.db"), str(tmp_path / "vocabulary.yaml"))
    assert again == kept == measure_database(str(tmp_path / "built.db"))
