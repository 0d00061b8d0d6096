"""Learned pairs: what questions and right titles have in common is found; what harms is refused."""

from __future__ import annotations

import csv
import json
import os
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
import yaml
from click.testing import CliRunner, Result
from hypothesis import given, settings
from hypothesis import strategies as st
from support import built, write_vocabulary

from catalog_search import Catalog, SourceError, Vocabulary, learning
from catalog_search.candidates import Lexicon
from catalog_search.cli import main
from catalog_search.compare import Comparison, Question, refusals
from catalog_search.judging import Ranks, sign_test
from catalog_search.learning import estimate, fold, learn, likelihood_ratio, taken_apart
from catalog_search.measure import measure
from catalog_search.relevance import Judged, ask_all
from catalog_search.trial import Trial
from catalog_search.vocabulary import Pair

ORGANS = "lung skin liver bone brain kidney".split()
OTHERS = "burn cyst pain gout scar ache itch wart mole rash sore spot".split()
ROWS = [
    {"id": f"{name}-{organ}", "title": f"{name} of {organ}".capitalize()}
    for organ in ORGANS
    for name in (*OTHERS, "malignant neoplasm")
]


def asked(*questions: tuple[str, str]) -> list[Judged]:
    return [Judged(query, {id: 1.0}, "", "", line) for line, (query, id) in enumerate(questions, 1)]


CANCER = asked(
    *((f"cancer {organ}", f"malignant neoplasm-{organ}") for organ in ORGANS),
    *((f"{name} {organ}", f"{name}-{organ}") for name in OTHERS[:2] for organ in ORGANS),
)


def image(rows: list[dict[str, str]], **more: Any) -> bytes:
    made = built(rows, **more).image
    assert made is not None
    return made


@pytest.fixture(scope="module")
def cancer() -> bytes:
    return image(ROWS)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a database, its judged questions and its vocabulary, which is empty."""
    folder = tmp_path_factory.mktemp("learn")
    built(ROWS, to=folder / "a.db")
    lines = [{"query": one.query, "ids": list(one.grades)} for one in CANCER]
    (folder / "judged.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    write_vocabulary(folder / "old.yaml", [])
    return folder


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["vocab", *map(str, arguments)])


def test_what_questions_say_for_the_words_of_the_titles_is_learned(cancer: bytes) -> None:
    with Trial.open(cancer) as catalog:
        (one,) = learn(Lexicon(catalog), CANCER)
        assert (one.candidate.asked, one.candidate.source) in {
            ("cancer", "malignant"), ("cancer", "neoplasm"), ("cancer", "malignant neoplasm"),
        }  # fmt: skip
        assert (one.support, one.gained, one.improved, one.harmed) == (6, 6, 6, 0)
        assert one.ratio > 6
        assert len(one.examples) == 3
        assert one.examples[0] == ("cancer lung", "Malignant neoplasm of lung")
        after = Ranks(catalog, CANCER).under([one.candidate])
        assert all(found.rank == 1 for found in after.values())


def test_support_counts_right_documents_and_not_questions(cancer: bytes) -> None:
    words = "cancer lung", "lung cancer", "cancer in lung", "lung with cancer", "the cancer of lung"
    with Trial.open(cancer) as catalog:
        assert learn(Lexicon(catalog), asked(*((query, "malignant neoplasm-lung") for query in words))) == []


def test_a_pair_that_the_catalogue_refuses_is_not_learned() -> None:
    rows = [{"id": organ, "title": f"Literacy {organ}"} for organ in ORGANS]
    with Trial.open(image(rows)) as catalog:
        lexicon = Lexicon(catalog)
        questions = asked(*((f"lite {organ}", organ) for organ in ORGANS))
        assert learn(lexicon, questions) == []  # the asked word finds it anyway
        common = asked(*((f"literacy reading {organ}", organ) for organ in ORGANS))
        assert all(one.candidate.asked != "literacy" for one in learn(lexicon, common))


PLACES = "north south west coast hills shore".split()
CLAIMS = [
    *({"id": f"claims-{place}", "title": f"Claims of {place}"} for place in PLACES),
    *({"id": f"wages-{place}", "title": f"Wages {place}"} for place in PLACES),
    *({"id": f"{n}-{place}", "title": f"{n} {place}"} for n in OTHERS for place in PLACES),
    *({"id": f"{n}-east", "title": f"Claims {n} east"} for n in OTHERS),
]


def helped(asked: str, source: str, number: int) -> list[tuple[str, str]]:
    """Questions that a pair makes better."""
    return [(f"{asked} {place}", f"{source}-{place}") for place in PLACES[:number]]


def learned_of(rows: list[dict[str, str]], *questions: tuple[str, str]) -> dict[tuple[str, str], int]:
    """Return asked word and source → questions that the pair harms."""
    with Trial.open(image(rows)) as catalog:
        return {one.candidate[:2]: one.harmed for one in learn(Lexicon(catalog), asked(*questions))}


@pytest.mark.parametrize(("number", "learned"), [(4, {}), (5, {("jobless", "claim"): 1})])
def test_a_pair_may_mislead_one_question_for_five_that_it_makes_better(
    number: int, learned: dict[tuple[str, str], int]
) -> None:
    rows = [*CLAIMS, {"id": "idle", "title": "Idle youth"}]
    others = [*helped("jobless", "claims", number), *helped("wages", "wages", 6)]
    assert ("jobless", "claim") in learned_of(rows, *others)
    assert learned_of(rows, *others, ("jobless east", "idle")) == learned


def test_a_pair_that_loses_an_answer_is_not_learned_and_takes_no_other_with_it() -> None:
    """Both pairs meet in the question whose answer one of them loses; the other gains less."""
    rows = [*CLAIMS, {"id": "idle", "title": "Idle east"}]
    others = [*helped("jobless", "claims", 6), *helped("payless", "wages", 5)]
    pairs = {("jobless", "claim"): 0, ("payless", "wage"): 0}
    assert learned_of(rows, *others) == pairs
    for question in ("jobless payless east", "job-less payless east"):
        assert learned_of(rows, *others, (question, "idle")).keys() == {("payless", "wage")}, question


def test_of_pairs_that_lose_an_answer_only_together_the_weaker_is_left_out() -> None:
    rows = [*CLAIMS, {"id": "idle", "title": "Idle youth in many a region without any work"}]
    rows += [{"id": f"both-{n}", "title": f"Claims wages {n}"} for n in range(12)]
    others = [*helped("jobless", "claims", 6), *helped("payless", "wages", 5)]
    question = ("jobless payless idle", "idle")
    for pair in (others[:6], others[6:]):
        assert len(learned_of(rows, *pair, *helped("burn", "burn", 6), question)) == 1
    assert learned_of(rows, *others, question) == {("jobless", "claim"): 0}


def test_of_pairs_that_mislead_only_together_the_one_that_gains_too_little_for_it_is_left_out() -> None:
    rows = [*CLAIMS, {"id": "idle", "title": "Idle youth"}, {"id": "both", "title": "Claims and wages"}]
    others = [*helped("jobless", "claims", 5), *helped("payless", "wages", 4), *helped("burn", "burn", 6)]
    assert learned_of(rows, *others).keys() == {("jobless", "claim"), ("payless", "wage")}
    assert learned_of(rows, *others, ("jobless payless", "idle")).keys() == {("jobless", "claim")}


def test_no_two_pairs_lead_in_a_circle_not_even_with_one_of_the_database(tmp_path: Path) -> None:
    rows = [{"id": f"{n}-{place}", "title": f"{n} {place}"} for n in ("claims", "jobless", *OTHERS) for place in PLACES]
    questions = asked(
        *((f"jobless {place} office", f"claims-{place}") for place in PLACES[:3]),
        *((f"claims {place} office", f"jobless-{place}") for place in PLACES[3:]),
        *helped("burn", "burn", 6),
    )
    ways = {("jobless", "claim"), ("claims", "jobless")}
    with Trial.open(image(rows)) as catalog:
        learned = {one.candidate[:2] for one in learn(Lexicon(catalog), questions)}
    assert len(learned & ways) == 1
    for asked_word, source in sorted(learned & ways):
        pair = {"asked": source, "source": asked_word}
        with Trial.open(image(rows, folder=tmp_path, vocabulary=[pair])) as catalog:
            assert not {one.candidate[:2] for one in learn(Lexicon(catalog), questions)} & learned & ways


def test_pairs_that_say_the_same_are_one(cancer: bytes) -> None:
    questions = asked(*((f"nasty big cancer {organ}", f"malignant neoplasm-{organ}") for organ in ORGANS))
    with Trial.open(cancer) as catalog:
        learned = learn(Lexicon(catalog), questions)
    sources = [one.candidate.source for one in learned]
    assert len(sources) == len(set(sources))
    assert all(" " not in one.candidate.asked for one in learned)


def test_a_question_is_taken_apart_against_its_nearest_title(cancer: bytes) -> None:
    one = Judged("Cancers of the lungs", {"none": 1, "burn-lung": 1, "malignant neoplasm-lung": 1}, "", "", 1)
    with Trial.open(cancer) as catalog:
        units = taken_apart(Lexicon(catalog), one)
        assert units is not None
        assert units.asked == {"cancers"}
        assert units.source == {"burn"}
        assert taken_apart(Lexicon(catalog), Judged("x", {"none": 1}, "", "", 1)) is None


WORDS = "alpha beta gamma delta sigma omega kappa theta".split()
ASKED = [f"{word}x" for word in WORDS] + WORDS[:4]


@settings(max_examples=25, deadline=None)
@given(
    titles=st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=4), min_size=6, max_size=30),
    questions=st.lists(
        st.tuples(
            st.lists(st.sampled_from(ASKED), min_size=1, max_size=4),
            st.lists(st.integers(0, 29), min_size=1, max_size=3),
        ),
        min_size=4,
        max_size=25,
    ),
)
def test_what_is_learned_loses_no_judged_answer_is_measured_and_accepted(
    titles: list[list[str]], questions: list[tuple[list[str], list[int]]]
) -> None:
    rows = [{"id": str(number), "title": " ".join(title)} for number, title in enumerate(titles)]
    judged = [
        Judged(" ".join(words), {str(place % len(rows)): 1.0 + place % 3 for place in right}, "", "", line)
        for line, (words, right) in enumerate(questions, 1)
    ]
    with Trial.open(image(rows)) as catalog:
        before = ask_all(catalog, judged)
        # few of so few questions go together by more than chance: what is tested is what comes after
        with patch.object(learning, "RATIO", 0.0):
            learned = learn(Lexicon(catalog), judged)
        pairs = [Pair(one.candidate.asked, (one.candidate.source,), False, 0) for one in learned]
        for one, found in zip(learned, measure(catalog.connection(), catalog.vocabulary(pairs)), strict=True):
            assert found.verdict in ("ok", "ambiguous")
            assert one.support >= 2
            assert one.improved > one.harmed
        catalog.use(catalog.vocabulary(pairs))
        for old, new in zip(before, ask_all(catalog, judged), strict=True):
            assert bool(old.rank(10)) <= bool(new.rank(10)), old.judged.query
        between = Comparison(catalog, catalog.vocabulary([]), catalog.vocabulary(pairs))
        asked_both = [Question(one.query, one.grades, "judged", one.line) for one in judged]
        assert refusals(between.compare(asked_both)) == []


# --- the estimate


def test_the_estimate_foresees_what_other_documents_share(cancer: bytes) -> None:
    with Trial.open(cancer) as catalog:
        found = estimate(Lexicon(catalog), CANCER)
    assert (found.questions, found.before, found.gained, found.lost) == (18, 12, 6, 0)
    assert found.p == sign_test(6, 0) < 0.05
    assert "not distinguishable" not in found.said()


def test_what_only_one_document_is_asked_for_gains_nothing_in_the_estimate() -> None:
    """Each word is asked for two documents of one family, which folds by question would let through."""
    rows = [{"id": f"{name}-{organ}", "title": f"{name} of {organ}"} for organ in ORGANS for name in OTHERS]
    rows += [{"id": f"long-{organ}", "title": f"very long winded disease of the {organ}"} for organ in ORGANS]
    judged = asked(*((f"{organ}itis {more} {organ}", f"long-{organ}") for organ in ORGANS for more in ("a", "b", "c")))
    with Trial.open(image(rows)) as catalog:
        found = estimate(Lexicon(catalog), judged)
    assert (found.gained, found.lost) == (0, 0)
    assert "not distinguishable from nothing" in found.said()


def test_questions_about_one_document_are_in_one_fold() -> None:
    folds = {fold(Judged(query, {"a": 1.0, "b": 1.0}, "", "", 1), 5) for query in "abcdefgh"}
    assert len(folds) == 1
    assert {fold(Judged("", {str(n): 1.0}, "", "", 1), 5) for n in range(50)} == set(range(5))


def test_too_few_documents_are_said_to_be_too_few(cancer: bytes) -> None:
    with Trial.open(cancer) as catalog, pytest.raises(SourceError, match="fewer than 5 documents"):
        estimate(Lexicon(catalog), CANCER[:3])


@pytest.mark.parametrize(
    ("gained", "lost", "p"),
    [
        (0, 0, 1.0), (1, 0, 1.0), (5, 0, 0.0625), (6, 0, 0.03125), (0, 6, 0.03125), (9, 1, 0.021484375),
        (3_000, 0, 0.0), (0, 1_030, 2.0**-1029), (2_000, 2_000, 1.0),
    ],
)  # fmt: skip
def test_the_sign_test_is_that_of_the_binomial_distribution(gained: int, lost: int, p: float) -> None:
    assert sign_test(gained, lost) == p


def test_the_likelihood_ratio_is_that_of_the_literature() -> None:
    # Dunning 1993, table of bigrams: 110, 2442, 111, 29114 for "the swiss"
    assert likelihood_ratio(110, 2552, 221, 31777) == pytest.approx(270.72, abs=0.05)
    assert likelihood_ratio(1, 10, 10, 100) == 0.0


# --- the command


def test_the_file_is_a_vocabulary_that_lint_and_accept_let_through(folder: Path) -> None:
    said = run("learn", folder / "a.db", folder / "judged.jsonl", "-o", folder / "new.yaml")
    assert said.exit_code == 0, said.output
    assert "18 questions" in said.output
    assert said.output.splitlines()[-1].endswith("new.yaml: 1 pair")
    vocabulary = Vocabulary.load(folder / "new.yaml")
    assert [pair.asked for pair in vocabulary.pairs] == ["cancer"]
    text = (folder / "new.yaml").read_text("utf-8")
    assert "# Estimate for questions about other documents: 12 of 18 questions had" in text
    (pair,) = yaml.safe_load(text)["pairs"]
    assert pair["measured"] == {"asked": 0, "source": 6}
    assert pair["learned"] == {
        "support": 6,
        "ratio": pair["learned"]["ratio"],
        "gained": 6,
        "improved": 6,
        "harmed": 0,
        "lost": 0,
    }
    assert [example["question"] for example in pair["examples"]] == ["cancer lung", "cancer skin", "cancer liver"]
    assert run("lint", folder / "new.yaml", "--db", folder / "a.db").exit_code == 0
    accepted = run(
        "accept", folder / "a.db", folder / "old.yaml", folder / "new.yaml", "--judged", folder / "judged.jsonl"
    )
    assert accepted.exit_code == 0, accepted.output


def test_learning_twice_writes_the_same_bytes(folder: Path) -> None:
    for name in ("one.yaml", "two.yaml"):
        run("learn", folder / "a.db", folder / "judged.jsonl", "-o", folder / name)
    assert (folder / "one.yaml").read_bytes() == (folder / "two.yaml").read_bytes()


def test_json_holds_pairs_and_estimate(folder: Path) -> None:
    said = run("learn", folder / "a.db", folder / "judged.jsonl", "-o", folder / "new.yaml", "--json")
    found = json.loads(said.stdout)
    assert list(found) == ["database", "judged", "output", "pairs", "judged_change", "estimate"]
    assert found["estimate"] == {
        "questions": 18, "before": 12, "gained": 6, "lost": 0, "p": 0.03125, "distinguishable": True,
    }  # fmt: skip
    assert found["pairs"][0]["support"] == 6


def test_any_question_is_written_as_yaml_reads_it(tmp_path: Path) -> None:
    odd = "“x”: {a} # b\u2028\x85\x07\t'\"\\ 人"
    rows = [*ROWS, {"id": "odd", "title": odd}]
    built(rows, to=tmp_path / "a.db")
    lines = [{"query": f"cancer {odd} {organ}", "ids": [f"malignant neoplasm-{organ}"]} for organ in ORGANS]
    lines += [{"query": f"burn {odd} {organ}", "ids": [f"burn-{organ}"]} for organ in ORGANS]
    (tmp_path / "judged.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    said = run("learn", tmp_path / "a.db", tmp_path / "judged.jsonl", "-o", tmp_path / "new.yaml")
    assert said.exit_code == 0, said.output
    pairs = yaml.safe_load((tmp_path / "new.yaml").read_text("utf-8"))["pairs"]
    assert pairs
    for pair in pairs:
        assert all(example["question"] in {line["query"] for line in lines} for example in pair["examples"])


def test_as_keywords_the_questions_find_their_documents(folder: Path, tmp_path: Path) -> None:
    output = tmp_path / "keywords.csv"
    said = run("learn", folder / "a.db", folder / "judged.jsonl", "-o", output, "--as-keywords")
    assert said.output == f"{output}: 18 questions as keywords of 18 documents\n"
    with open(output, encoding="utf-8", newline="") as file:
        keywords = {row["id"]: row["keywords"] for row in csv.DictReader(file)}
    assert keywords["malignant neoplasm-lung"] == "cancer lung"
    built([row | {"keywords": keywords.get(row["id"], "")} for row in ROWS], to=tmp_path / "b.db")
    with Catalog.open(tmp_path / "b.db") as catalog:
        assert catalog.search("cancer lung").results[0].id == "malignant neoplasm-lung"
        assert catalog.search("cancer toe").relaxed


def test_a_question_of_two_documents_is_one_question(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "j.jsonl").write_text('{"query": "organ trouble", "ids": ["cyst-lung", "cyst-skin"]}\n', "utf-8")
    said = run("learn", folder / "a.db", tmp_path / "j.jsonl", "-o", tmp_path / "k.csv", "--as-keywords")
    assert said.output.endswith("k.csv: 1 question as keywords of 2 documents\n")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["{}/none.db", "{}/judged.jsonl", "-o", "{}/x.yaml"], "none.db: no such file"),
        (["{}/a.db", "{}/none.jsonl", "-o", "{}/x.yaml"], "none.jsonl: cannot be read"),
        (["{}/a.db", "{}/judged.jsonl", "-o", "{}/none/x.yaml"], "none/x.yaml: cannot be written"),
        (["{}/a.db", "{}/judged.jsonl", "-o", "{}/none/x.csv", "--as-keywords"], "none/x.csv: cannot be written"),
        (["{}/a.db", "{}/old.yaml", "-o", "{}/x.yaml"], "old.yaml, line 1: not JSON"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_line(folder: Path, arguments: list[str], said: str) -> None:
    found = run("learn", *(one.format(folder) for one in arguments))
    assert found.exit_code == 1
    assert said in found.stderr
    assert not (folder / "x.yaml").exists()


OTHER = b"language: en\nsource_name: mine\npairs: []\n"


@pytest.mark.parametrize("more", [[], ["--as-keywords"]])
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("a.db", "is read, and would be lost"),
        ("judged.jsonl", "is read, and would be lost"),
        ("link.jsonl", "is read, and would be lost"),
        ("other.db", "is a database"),
        ("mine.yaml", "exists"),
        ("mine.csv", "exists"),
        ("folder", "is not a regular file"),
        ("pipe", "is not a regular file"),
    ],
)
def test_no_file_is_overwritten_that_was_not_learned(
    folder: Path, tmp_path: Path, name: str, said: str, more: list[str]
) -> None:
    for one in ("a.db", "judged.jsonl"):
        (tmp_path / one).write_bytes((folder / one).read_bytes())
    (tmp_path / "other.db").write_bytes((folder / "a.db").read_bytes())
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "judged.jsonl")
    (tmp_path / "mine.yaml").write_bytes(OTHER)
    (tmp_path / "mine.csv").write_bytes(b"id,keywords\nburn-lung,mine\n")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    before = {path: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}
    found = run("learn", tmp_path / "a.db", tmp_path / "judged.jsonl", "-o", tmp_path / name, *more)
    assert found.exit_code == 1
    assert f"{name}: {said}" in found.stderr
    assert "Traceback" not in found.output
    assert {path: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()} == before


@pytest.mark.parametrize("more", [[], ["--as-keywords"]])
def test_what_was_learned_and_what_is_empty_may_be_written_anew(folder: Path, tmp_path: Path, more: list[str]) -> None:
    output = tmp_path / "out"
    output.touch(0o640)
    arguments = ("learn", folder / "a.db", folder / "judged.jsonl", "-o", output, *more)
    assert run(*arguments).exit_code == 0
    first = output.read_bytes()
    assert first
    assert run(*arguments).exit_code == 0
    assert output.read_bytes() == first
    assert list(tmp_path.iterdir()) == [output]
    assert output.stat().st_mode & 0o777 == 0o640
