"""A catalogue with another vocabulary answers as one that was built with it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from support import built, write_vocabulary

from catalog_search import Catalog, Vocabulary
from catalog_search.trial import Trial

ROWS = [
    {"id": "1", "title": "Labour force by sex", "keywords": "employment|jobs"},
    {"id": "2", "title": "Consumer prices", "keywords": "inflation"},
    {"id": "3", "title": "Cost of living of households", "keywords": "prices"},
    {"id": "4", "title": "Population by age, 人口", "keywords": ""},
    {"id": "5", "title": "Labour costs", "keywords": "wages"},
]
OLD = [{"asked": "labor", "source": "labour"}, {"asked": "cpi", "source": "consumer prices", "both": True}]
NEW = [
    {"asked": "labor", "source": ["labour", "employment"]},
    {"asked": "cost of living", "source": "consumer prices"},
    {"asked": "労働", "source": "labour"},
    {"asked": "people", "source": "population", "both": True},
]
QUESTIONS = [
    "labor",
    "labor force",
    "cpi",
    "consumer prices",
    "the cost of living",
    "労働",
    "人口",
    "people",
    "鬱 labor",
]


def answers(catalog: Catalog, questions: list[str]) -> list[dict[str, Any]]:
    return [catalog.search(one, explain=True).as_json() for one in questions]


def both_ways(folder: Path, pairs: list[dict[str, Any]], questions: list[str], old: list[dict[str, Any]]) -> None:
    new = write_vocabulary(folder / "new.yaml", pairs)
    with built(ROWS, folder=folder, vocabulary=pairs).catalog as catalog:
        expected = answers(catalog, questions)
    image = built(ROWS, folder=folder, vocabulary=old).image
    with Catalog.open(image) as catalog, Trial.open(image) as trial:  # type: ignore[arg-type]
        own = answers(catalog, questions)
        assert answers(trial, questions) == own
        before = [trial.expand(one) for one in questions]
        trial.use(Vocabulary.load(new))
        found = answers(trial, questions)
        assert found == expected
        for question, asked, mine, theirs in zip(questions, before, own, found, strict=True):
            if trial.expand(question) == asked:
                assert mine == theirs
        trial.use(None)
        assert answers(trial, questions) == own


def test_a_trial_answers_as_a_catalogue_built_with_its_vocabulary(tmp_path: Path) -> None:
    both_ways(tmp_path, NEW, QUESTIONS, OLD)


def test_a_trial_without_pairs_translates_nothing(tmp_path: Path) -> None:
    with Trial.open(built(ROWS, folder=tmp_path, vocabulary=OLD).image) as trial:  # type: ignore[arg-type]
        assert trial.search("cpi", relax=False).total == 1
        trial.use(trial.vocabulary([]))
        assert trial.search("cpi", relax=False).total == 0


def test_a_trial_writes_nothing(tmp_path: Path) -> None:
    built(ROWS, folder=tmp_path, vocabulary=OLD, to=tmp_path / "a.db")
    before = (tmp_path / "a.db").read_bytes()
    with Trial.open(tmp_path / "a.db") as trial:
        trial.use(Vocabulary.load(write_vocabulary(tmp_path / "new.yaml", NEW)))
        assert trial.search("people").results[0].id == "4"
    assert (tmp_path / "a.db").read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.db", "new.yaml", "vocabulary.yaml"]


def test_a_vocabulary_without_a_source_name_has_the_catalogues_title(tmp_path: Path) -> None:
    path = tmp_path / "v.yaml"
    path.write_text("language: en\npairs:\n  - {asked: labor, source: labour}\n", "utf-8")
    with Trial.open(built(ROWS, title="The Bureau").image) as trial:  # type: ignore[arg-type]
        trial.use(Vocabulary.load(path))
        assert trial.search("labor").notes == ["“labor” was also searched as labour, the wording The Bureau uses."]


WORDS = st.sampled_from("labor labour cost costs of living wages people 人口 e-mail cpi prices 2024".split())
TEXTS = st.lists(WORDS, min_size=1, max_size=3).map(" ".join)
PAIRS = st.lists(
    st.fixed_dictionaries({"asked": TEXTS, "source": st.lists(TEXTS, min_size=1, max_size=2), "both": st.booleans()}),
    min_size=1,
    max_size=4,
)


@settings(
    max_examples=15,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    phases=[Phase.explicit, Phase.generate],
)
@given(pairs=PAIRS, questions=st.lists(TEXTS, min_size=1, max_size=8))
def test_any_vocabulary_is_tried_as_it_is_built(
    tmp_path_factory: pytest.TempPathFactory,
    pairs: list[dict[str, Any]],
    questions: list[str],
) -> None:
    both_ways(tmp_path_factory.mktemp("trial"), pairs, questions, OLD)
