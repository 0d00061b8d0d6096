"""A change of a vocabulary: what it does to the first page, and that one which loses a judged answer is refused."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from support import built, write_vocabulary

from catalog_search import Catalog, Vocabulary
from catalog_search.cli import main
from catalog_search.compare import PAGE, Compared, Comparison, Question, refusals
from catalog_search.trial import Trial

ROWS = [
    {"id": "u1", "title": "Unemployment rate"},
    {"id": "c2", "title": "Claims paid by insurers"},
    {"id": "c3", "title": "Insurance claims, jobless"},
    {"id": "l4", "title": "Labour force by sex"},
    {"id": "l5", "title": "Labour costs"},
    {"id": "t6", "title": "Toil and trouble"},
]
Pairs = Sequence[dict[str, Any]]


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("compare") / "a.db"
    built(ROWS, to=path)
    return path


@pytest.fixture(scope="module")
def catalog(database: Path) -> Iterator[Trial]:
    with Trial.open(database) as opened:
        yield opened


def judged(path: Path, *questions: tuple[str, list[str]]) -> Path:
    path.write_text("".join(json.dumps({"query": query, "ids": ids}) + "\n" for query, ids in questions), "utf-8")
    return path


def pair(asked: str, *source: str, **more: Any) -> dict[str, Any]:
    return {"asked": asked, "source": list(source), **more}


def written(folder: Path, old: Pairs, new: Pairs) -> tuple[Path, Path]:
    return write_vocabulary(folder / "old.yaml", old), write_vocabulary(folder / "new.yaml", new)


def between(catalog: Trial, folder: Path, old: Pairs, new: Pairs) -> Comparison:
    return Comparison(catalog, *map(Vocabulary.load, written(folder, old, new)))


def compared(catalog: Trial, folder: Path, old: Pairs, new: Pairs, *questions: tuple[str, list[str]]) -> list[Compared]:
    asked = [Question(query, dict.fromkeys(ids, 1.0), "j", line) for line, (query, ids) in enumerate(questions, 1)]
    return between(catalog, folder, old, new).compare(asked)


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["vocab", *map(str, arguments)])


# --- the gate


def test_a_harmful_pair_is_refused_with_pair_question_and_id(tmp_path: Path) -> None:
    """Claims are of insurance here, and none is about the jobless: the right document was never there to be lost."""
    rows = [{"id": "1", "title": "Unemployment rate"}, {"id": "2", "title": "Claims paid by insurers"}]
    built(rows, to=tmp_path / "a.db")
    files = written(tmp_path, [], [pair("jobless", "claims")])
    questions = judged(tmp_path / "j.jsonl", ("jobless", ["1"]), ("unemployment", ["1"]))
    done = run("accept", tmp_path / "a.db", *files, "--judged", questions)
    assert done.exit_code == 1
    assert done.output.splitlines() == [
        f"+ “jobless” → “claims” ({files[1]}, line 4)",
        f"    “jobless” ({questions}, line 1) had no strict answer, and has one now without 1: 2",
        "refused: 1 change, 1 judged question met, 0 better, 1 refused",
    ]
    found = json.loads(run("accept", tmp_path / "a.db", *files, "--judged", questions, "--json").output)
    (refused,) = found["refused"]
    assert (refused["query"], refused["ids"], refused["after"]) == ("jobless", ["1"], ["2"])
    assert [(one["asked"], one["source"], one["line"]) for one in refused["pairs"]] == [("jobless", "claims", 4)]
    assert not found["accepted"]


def test_a_pair_that_takes_a_right_document_off_the_first_page_is_refused(tmp_path: Path) -> None:
    rows = [{"id": f"c{place:02}", "title": f"Claims {'abcdefghijklmnopqrst'[place]}"} for place in range(20)]
    rows.append({"id": "u", "title": "Unemployment rate of those without work", "keywords": "jobless"})
    built(rows, to=tmp_path / "a.db")
    new = [pair("jobless", "claims")]
    files = written(tmp_path, [], new)
    questions = judged(tmp_path / "j.jsonl", ("jobless", ["u"]), ("rate", ["u"]))
    done = run("accept", tmp_path / "a.db", *files, "--judged", questions)
    assert done.exit_code == 1
    assert f"+ “jobless” → “claims” ({files[1]}, line 4)" in done.output
    assert f"“jobless” ({questions}, line 1) loses u from the first page" in done.output
    allowed = run("accept", tmp_path / "a.db", *files, "--judged", questions, "--allow", "Jobless")
    assert (allowed.exit_code, allowed.output) == (
        0,
        "accepted: 1 change, 1 judged question met, 0 better, 0 refused\n",
    )
    wrong = run("accept", tmp_path / "a.db", *files, "--judged", questions, "--allow", "claims")
    assert wrong.exit_code == 2
    assert "no pair of “claims” changes" in wrong.output


def test_a_pair_that_is_taken_away_is_refused_where_it_answered(catalog: Trial, tmp_path: Path) -> None:
    old, question = [pair("labor", "labour", "toil")], ("labor force", ["l4"])
    (one,) = compared(catalog, tmp_path, old, [pair("work", "labour"), pair("labor", "toil")], question)
    assert [(change.added, change.asked, change.source) for change in one.blamed()] == [(False, "labor", "labour")]
    # relaxed answers may still hold it; one without the word itself does not
    (one,) = compared(catalog, tmp_path, [pair("wrk", "labour costs")], [], ("wrk", ["l5"]))
    assert one.lost == ["l5"]
    assert refusals([one]) == [one]
    assert one.ranks() == (1, None)


def test_what_gains_is_accepted(database: Path, tmp_path: Path) -> None:
    files = written(tmp_path, [], [pair("wrkers", "labour")])
    questions = judged(tmp_path / "j.jsonl", ("wrkers", ["l4", "l5"]))
    done = run("accept", database, *files, "--judged", questions)
    assert (done.exit_code, done.output) == (0, "accepted: 1 change, 1 judged question met, 1 better, 0 refused\n")


def test_of_several_changes_only_the_one_that_loses_is_named(catalog: Trial, tmp_path: Path) -> None:
    old = [pair("wrk", "labour costs")]
    new = [pair("wrk", "toil"), pair("grief", "trouble")]
    first, second = compared(catalog, tmp_path, old, new, ("wrk", ["l5"]), ("wrk grief", ["l5"]))
    assert [str(one).split(" (")[0] for one in first.blamed()] == ["- “wrk” → “labour costs”"]
    assert len(first.changes) == 2
    assert len(second.changes) == 3


def test_changes_that_lose_only_together_are_all_named(catalog: Trial, tmp_path: Path) -> None:
    """Two pairs bring the same documents: taking back one of them brings nothing back."""
    old = [pair("wrk", "labour costs")]
    new = [*old, pair("wrk", "zzz")]
    assert compared(catalog, tmp_path, old, new, ("wrk", ["l5"]))[0].lost == []
    both = [pair("jbless", "claims paid"), pair("jbless", "claims paid by")]
    (one,) = compared(catalog, tmp_path, [], both, ("jbless", ["u1"]))
    assert one.misled
    assert len(one.blamed()) == 2
    assert refusals([one], one.changes[:1]) == [one]
    assert refusals([one], one.changes) == []


@pytest.mark.parametrize(("better", "refused"), [(4, 1), (5, 0)])
def test_a_pair_may_mislead_one_question_for_five_that_it_makes_better(
    better: int, refused: int, tmp_path: Path
) -> None:
    places = "north south west coast hills".split()
    rows = [{"id": place, "title": f"Claims {place}"} for place in places]
    rows += [{"id": "east", "title": "Claims paid in the east"}, {"id": "idle", "title": "Idle youth"}]
    with Trial.open(built(rows).image or b"") as found:
        asked = [(f"jobless {place}", [place]) for place in places[:better]]
        met = compared(found, tmp_path, [], [pair("jobless", "claims")], *asked, ("jobless east", ["idle"]))
        assert [one.misled for one in met] == [False] * better + [True]
        assert [one.verdict for one in met[:-1]] == ["same"] * better
        assert len(refusals(met)) == 1  # what was found at once already gains nothing
    rows += [{"id": f"{n}-{place}", "title": f"{n} {place}"} for place in places for n in ("ales", "axes")]
    with Trial.open(built(rows).image or b"") as found:
        met = compared(found, tmp_path, [], [pair("jobless", "claims")], *asked, ("jobless east", ["idle"]))
        assert [one.verdict for one in met] == ["better"] * better + ["same"]
        assert len(refusals(met)) == refused


def test_what_came_with_a_misleading_pair_does_not_speak_for_it(tmp_path: Path) -> None:
    """The questions that get better do so by the other pair, which may have the same asked word."""
    places = "north south west coast hills".split()
    rows = [{"id": f"{n}-{place}", "title": f"{n} {place}"} for place in places for n in ("Wages", "ales", "axes")]
    rows += [{"id": "east", "title": "Claims paid in the east"}, {"id": "idle", "title": "Idle youth"}]
    asked = [(f"jobless {place}", [f"Wages-{place}"]) for place in places]
    with Trial.open(built(rows).image or b"") as found:
        both = [pair("jobless", "wages", "claims")]
        met = compared(found, tmp_path, [], both, *asked, ("jobless east", ["idle"]))
        assert [one.verdict for one in met] == [*["better"] * 5, "same"]
        (refused,) = refusals(met)
        assert [change.source for change in refused.blamed()] == ["claims"]


def test_a_misled_question_that_is_let_through_is_printed(tmp_path: Path) -> None:
    places = "north south west coast hills".split()
    rows = [{"id": f"{n}-{place}", "title": f"{n} {place}"} for place in places for n in ("Claims", "ales", "axes")]
    rows += [{"id": "east", "title": "Claims paid in the east"}, {"id": "idle", "title": "Idle youth"}]
    built(rows, to=tmp_path / "a.db")
    files = written(tmp_path, [], [pair("jobless", "claims")])
    asked = [(f"jobless {place}", [f"Claims-{place}"]) for place in places]
    questions = judged(tmp_path / "j.jsonl", *asked, ("jobless east", ["idle"]))
    done = run("accept", tmp_path / "a.db", *files, "--judged", questions)
    assert (done.exit_code, done.output.splitlines()) == (0, [
        f"+ “jobless” → “claims” ({files[1]}, line 4)",
        f"    “jobless east” ({questions}, line 6) had no strict answer, and has one now without idle: east; "
        "let through",
        "accepted: 1 change, 6 judged questions met, 5 better, 0 refused",
    ])  # fmt: skip
    found = json.loads(run("accept", tmp_path / "a.db", *files, "--judged", questions, "--json").output)
    assert [one["query"] for one in found["let_through"]] == ["jobless east"]
    assert found["refused"] == []


def test_three_answers_that_are_less_right_do_not_make_up_for_one_that_is_lost(catalog: Trial, tmp_path: Path) -> None:
    rows = [{"id": f"c{place}", "title": f"Claims {'abcdefghijklmnopqrst'[place]}"} for place in range(10)]
    rows.append({"id": "u", "title": "Unemployment rate of those without work", "keywords": "jobless"})
    grades = {"u": 3.0, "c0": 1.0, "c1": 1.0, "c2": 1.0}
    with Trial.open(built(rows).image or b"") as found:
        between_ = between(found, tmp_path, [], [pair("jobless", "claims")])
        (one,) = between_.compare([Question("jobless", grades, "j", 1)])
    assert one.before.ids == ["u"]
    assert one.lost == ["u"]
    assert refusals([one]) == [one]


def test_a_right_id_that_no_document_has_cannot_be_lost(catalog: Trial, tmp_path: Path) -> None:
    (one,) = compared(catalog, tmp_path, [], [pair("jbless", "claims")], ("jbless", ["gone"]))
    assert not one.misled
    assert refusals([one]) == []


def test_an_as_right_document_may_take_the_place_of_another(tmp_path: Path) -> None:
    titles = [(name, letter) for name in ("rent", "flat") for letter in "abcdefghijkl"]
    rows = [{"id": f"{name}-{letter}", "title": f"{name} {letter}"} for name, letter in titles]
    right = [row["id"] for row in rows]
    with Trial.open(built(rows).image) as catalog:  # type: ignore[arg-type]
        (one,) = compared(catalog, tmp_path, [pair("home", "rent")], [pair("home", "flat")], ("home", right))
    assert one.changed
    assert one.lost == []
    assert one.verdict == "same"


def test_accept_needs_a_judged_set(database: Path, tmp_path: Path) -> None:
    path = write_vocabulary(tmp_path / "v.yaml", [])
    assert run("accept", database, path, path).exit_code == 2
    (tmp_path / "j.jsonl").write_text('{"query": "a"}\n', "utf-8")
    done = run("accept", database, path, path, "--judged", tmp_path / "j.jsonl")
    assert done.exit_code == 1
    assert "j.jsonl, line 1: needs" in done.output


def test_a_judged_set_that_can_lose_nothing_accepts_nothing(database: Path, tmp_path: Path) -> None:
    files = written(tmp_path, [], [pair("toil", "labour")])
    empty = judged(tmp_path / "empty.jsonl")
    for options in ([], ["--json"]):
        done = run("accept", database, *files, "--judged", empty, *options)
        assert done.exit_code == 1
        assert "no judged question" in done.stderr
        foreign = judged(tmp_path / "foreign.jsonl", ("toil", ["x1", "x2"]), ("labour", ["x1"]))
        done = run("accept", database, *files, "--judged", foreign, "--judged", empty, *options)
        assert done.exit_code == 1
        assert "foreign.jsonl: no document has any of its 2 right ids, such as “x1”" in done.stderr
        assert "accepted" not in done.stdout


def test_judged_ids_that_the_catalogue_does_not_have_are_counted(database: Path, tmp_path: Path) -> None:
    files = written(tmp_path, [], [pair("work", "labour")])
    questions = judged(tmp_path / "j.jsonl", ("work", ["l4", "x1"]), ("labour", ["x1", "x2"]))
    done = run("accept", database, *files, "--judged", questions)
    assert (done.exit_code, done.stderr) == (0, "2 judged ids that no document has: not checked\n")
    found = json.loads(run("accept", database, *files, "--judged", questions, "--json").stdout)
    assert (found["accepted"], found["judged"], found["unknown_ids"], found["questions"]) == (True, 2, 2, 1)
    known = judged(tmp_path / "j.jsonl", ("work", ["l4"]))
    assert run("accept", database, *files, "--judged", known).stderr == ""


# --- the difference


def test_each_change_has_the_ids_it_adds_and_removes(catalog: Trial, tmp_path: Path) -> None:
    both = between(catalog, tmp_path, [pair("wrk", "labour")], [pair("wrk", "toil"), pair("wnts", "claims")])
    assert [str(one).split(" (")[0] for one in both.changes] == [
        "+ “wrk” → “toil”", "+ “wnts” → “claims”", "- “wrk” → “labour”",
    ]  # fmt: skip
    found = {one.question.query: one for one in both.compare(both.asked_words())}
    assert list(found) == ["wrk", "wnts"]
    effects = {(one.change.asked, one.change.source): (one.added, one.removed) for one in found["wrk"].effects}
    assert effects == {("wrk", "toil"): (["t6"], []), ("wrk", "labour"): ([], ["l5", "l4"])}
    assert [(sorted(one.added), one.removed) for one in found["wnts"].effects] == [(["c2", "c3"], [])]
    assert found["wnts"].verdict == "better"
    assert found["wrk"].verdict == "same"


def test_a_way_back_is_a_change_too(catalog: Trial, tmp_path: Path) -> None:
    both = between(catalog, tmp_path, [pair("wrk", "toil")], [pair("wrk", "toil", both=True)])
    assert [(one.added, one.asked, one.source) for one in both.changes] == [(True, "toil", "wrk")]


def test_the_order_and_the_notes_of_a_file_are_no_change(catalog: Trial, tmp_path: Path) -> None:
    one, other = pair("wrk", "toil", note="x"), pair("labor", "labour", "toil")
    both = between(catalog, tmp_path, [one, other], [pair("Labor", "Toil", "labour"), pair("wrks", "toil")])
    assert both.changes == []
    assert both.compare([Question("wrk", {}, "", 1)]) == []


def test_diff_prints_what_changes_for_judged_and_logged_questions(database: Path, tmp_path: Path) -> None:
    files = written(tmp_path, [pair("wrk", "labour")], [pair("wrk", "toil"), pair("wnts", "claims")])
    questions = judged(tmp_path / "j.jsonl", ("wrk costs", ["l5"]), ("wages", ["l5"]), ("wrk and trouble", ["t6"]))
    (tmp_path / "log.csv").write_text("q\nwnts people\nWnts  people\nwages\n", "utf-8")
    options = ("--judged", questions, "--log", tmp_path / "log.csv")
    found = json.loads(run("diff", database, *files, *options, "--json").output)
    assert [(one["change"], one["asked"], one["source"]) for one in found["changes"]] == [
        ("added", "wrk", "toil"), ("added", "wnts", "claims"), ("removed", "wrk", "labour"),
    ]  # fmt: skip
    of = {one["query"]: one for one in found["questions"]}
    assert list(of) == ["wrk", "wnts", "wrk costs", "wrk and trouble", "wnts people"]
    assert of["wrk and trouble"]["rank_after"] == 1
    assert of["wnts people"]["file"] == str(tmp_path / "log.csv")
    text = run("diff", database, *files, *options).output
    assert f"+ “wrk” → “toil” ({files[1]}, line 4)" in text
    assert "    wnts: nothing → strict; adds c2, c3\n" in text
    assert text.splitlines()[-1].startswith("3 changes, 5 questions met: ")


def test_the_same_vocabulary_changes_nothing(database: Path, tmp_path: Path) -> None:
    path = write_vocabulary(tmp_path / "v.yaml", [pair("wrk", "labour")])
    assert run("diff", database, path, path).output == "0 changes, 0 questions met: 0 better, 0 worse, 0 same\n"


def test_what_is_wrong_with_an_input_is_one_message(database: Path, tmp_path: Path) -> None:
    good, bad = write_vocabulary(tmp_path / "v.yaml", []), tmp_path / "bad.yaml"
    bad.write_text("pairs: [", "utf-8")
    for arguments in ((database, good, bad), (tmp_path / "none.db", good, good), (database, good, tmp_path / "none")):
        done = run("diff", *arguments)
        assert done.exit_code == 1
        assert done.output.startswith("Error: ")


# --- against catalogues that are built with either vocabulary


WORDS = ["labor", "labour", "wrk", "toil", "claims", "jobless", "rate", "costs", "force", "zzz"]
TEXTS = st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join)
PAIRS = st.lists(st.builds(pair, TEXTS, TEXTS), max_size=4)


def page(catalog: Catalog, question: str) -> list[str]:
    return [one.id for one in catalog.search(question, limit=PAGE).results]


@settings(
    max_examples=15,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow],
)
@given(old=PAIRS, new=PAIRS, questions=st.lists(TEXTS, min_size=1, max_size=8, unique=True))
def test_pages_are_those_of_catalogues_built_with_either(
    tmp_path_factory: pytest.TempPathFactory, old: Pairs, new: Pairs, questions: list[str]
) -> None:
    folder = tmp_path_factory.mktemp("built")
    report = built(ROWS)
    with Trial.open(report.image) as trial:  # type: ignore[arg-type]
        found = {
            one.question.query: one for one in compared(trial, folder, old, new, *((one, ["l5"]) for one in questions))
        }
    with (
        built(ROWS, folder=folder, vocabulary=old).catalog as before,
        built(ROWS, folder=folder, vocabulary=new).catalog as after,
    ):
        for question in questions:
            pages = (page(before, question), page(after, question))
            if question in found:
                one = found[question]
                assert (one.before.ids[:PAGE], one.after.ids[:PAGE]) == pages
                assert ("l5" in one.lost) == ("l5" in pages[0] and "l5" not in pages[1])
            else:
                assert pages[0] == pages[1]
