"""Figures of a judged set: by hand, and from the command line."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from click.testing import CliRunner

from catalog_search import build
from catalog_search.cli import main
from catalog_search.errors import SourceError
from catalog_search.relevance import Judged, Outcome, evaluation, figures, read_judged, worst


def outcome(ids: list[str], grades: dict[str, float], **fields: str) -> Outcome:
    judged = Judged("q", grades, fields.get("language", ""), fields.get("overlap", ""), 1)
    return Outcome(judged, ids, [f"title {id}" for id in ids[:10]], False)


def test_figures_are_those_worked_out_by_hand() -> None:
    found = figures(
        [
            outcome(["a", "b", "c"], {"b": 1.0, "z": 1.0}),
            outcome(["x"], {"x": 3.0, "y": 1.0}),
            outcome([], {"x": 1.0}),
            outcome([str(n) for n in range(20)], {"15": 1.0}),
        ]
    )
    first = (1 / math.log2(3)) / (1 + 1 / math.log2(3))
    second = 3 / (3 + 1 / math.log2(3))
    assert found == {
        "queries": 4,
        "hit@1": 0.25,
        "hit@10": 0.5,
        "mrr@10": round((0.5 + 1) / 4, 4),
        "ndcg@10": round((first + second) / 4, 4),
        "recall@100": round((0.5 + 0.5 + 0 + 1) / 4, 4),
        "relaxed": 0.0,
        "empty": 0.25,
    }


def test_another_limit_names_its_figures_and_counts_no_further() -> None:
    found = figures([outcome(["a", "b"], {"b": 1.0})], limit=1)
    assert found["hit@1"] == 0.0 and found["mrr@1"] == 0.0 and "hit@10" not in found


def test_classes_are_those_of_the_questions_that_name_one() -> None:
    found = evaluation(
        [outcome(["a"], {"a": 1.0}, language="en", overlap="zero"), outcome(["a"], {"b": 1.0}, language="pt")]
    )
    assert {name: values["hit@1"] for name, values in found["by_language"].items()} == {"en": 1.0, "pt": 0.0}
    assert list(found["by_overlap"]) == ["zero"]


def test_the_worst_questions_are_those_whose_answer_comes_latest() -> None:
    late = outcome([str(n) for n in range(20)], {"15": 1.0})
    absent = outcome(["a"], {"z": 1.0})
    right = outcome(["a"], {"a": 1.0})
    found = worst([right, late, absent], 5)
    assert [one["rank"] for one in found] == [None, 16]
    assert found[0]["returned"] == [{"id": "a", "title": "title a"}]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "not JSON"),
        ("[]", '"query"'),
        ('{"query": 1, "ids": ["a"]}', '"query"'),
        ('{"query": "a"}', '"ids"'),
        ('{"query": "a", "ids": []}', "right document"),
        ('{"query": "a", "grades": {"x": "high"}}', "right document"),
        ('{"query": "a", "grades": {"x": 0}}', "right document"),
    ],
)
def test_a_line_that_is_no_judged_question_is_named(tmp_path: Path, line: str, said: str) -> None:
    path = tmp_path / "judged.jsonl"
    path.write_text('{"query": "fine", "ids": ["a"]}\n\n' + line + "\n", "utf-8")
    with pytest.raises(SourceError, match=r"judged\.jsonl, line 3") as caught:
        list(read_judged(str(path)))
    assert said in str(caught.value)


@pytest.fixture
def judged(tmp_path: Path) -> tuple[str, str]:
    database = tmp_path / "jobs.db"
    settings = {"name": "jobs", "language": "en", "documents": {"id": "{id}", "title": "{title}"}}
    build(settings, database, records=[{"id": "1", "title": "Labour force"}, {"id": "2", "title": "Wages"}])
    path = tmp_path / "judged.jsonl"
    lines = [
        {"query": "wage", "ids": ["2"], "lang": "en", "overlap": "some"},
        {"query": "labour", "grades": {"2": 1}, "lang": "en"},
    ]
    path.write_text("\n".join(map(json.dumps, lines)), "utf-8")
    return str(database), str(path)


def test_evaluate_prints_an_object_of_stable_keys(judged: tuple[str, str]) -> None:
    ran = CliRunner().invoke(main, ["evaluate", *judged, "--json"])
    found = json.loads(ran.stdout)
    assert list(found) == [
        "queries", "hit@1", "hit@10", "mrr@10", "ndcg@10", "recall@100", "relaxed", "empty",
        "by_language", "by_overlap",
    ]  # fmt: skip
    assert found["hit@1"] == 0.5 and found["by_language"]["en"]["queries"] == 2


def test_a_figure_below_its_floor_fails_and_says_which(judged: tuple[str, str]) -> None:
    runner = CliRunner()
    assert runner.invoke(main, ["evaluate", *judged, "--fail-under", "mrr@10=0.4"]).exit_code == 0
    ran = runner.invoke(main, ["evaluate", *judged, "--fail-under", "mrr@10=0.6", "--fail-under", "hit@1=0.5"])
    assert ran.exit_code == 1 and "mrr@10 is 0.5, below 0.6" in ran.output and "hit@1" not in ran.stderr
    assert runner.invoke(main, ["evaluate", *judged, "--fail-under", "speed=1"]).exit_code == 2


def test_the_worst_are_listed_with_what_came_instead(judged: tuple[str, str]) -> None:
    ran = CliRunner().invoke(main, ["evaluate", *judged, "--worst", "3"])
    assert "labour" in ran.output and "Labour force" in ran.output and "not found" in ran.output
