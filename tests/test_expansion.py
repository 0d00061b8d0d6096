"""Question → terms → patterns: what leaves, what stays, what is added; expanding never loses a document."""

from __future__ import annotations

import random
import string
from pathlib import Path
from typing import Any

import oracle
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import cases, write_vocabulary

from catalog_search import Expansion, Pair, Vocabulary, VocabularyError, load_language
from catalog_search.expansion import Asked, Pattern, Source, expand, key_of, matches
from catalog_search.text import MAX_CHARACTERS, MAX_WORDS, full_folding, normalize


def vocabulary_of(pairs: list[dict[str, Any]], language: str = "en") -> Vocabulary:
    made = [
        Pair(
            pair["asked"],
            tuple([pair["source"]] if isinstance(pair["source"], str) else pair["source"]),
            pair.get("both", False),
            line,
        )
        for line, pair in enumerate(pairs, 1)
    ]
    return Vocabulary(made, load_language(language), "the source")


def written(expansion: Expansion) -> Any:
    patterns = [f"{pattern.kind} {pattern.text}" for pattern in expansion.patterns]
    if not expansion.words:
        return patterns
    words = [[f"{pattern.kind} {pattern.text}" for pattern in word] for word in expansion.words]
    return {"words": words, "patterns": patterns}


@pytest.mark.parametrize("case", cases("expansion"), ids=lambda case: case["name"])
def test_a_question_has_these_terms(case: dict[str, Any]) -> None:
    asked = vocabulary_of(case.get("pairs", []), case.get("language", "en")).ask(case["question"])
    # In YAML a quoted number stands for itself: own "7" is written `own "7"`.
    right = [_unquoted(term) for term in case["terms"]]
    assert [written(one) for one in asked.expansions] == right
    assert list(asked.ignored) == case.get("ignored", [])
    assert list(asked.cuts) == case.get("cuts", [])


def _unquoted(term: Any) -> Any:
    if isinstance(term, dict):
        return {"words": [_unquoted(word) for word in term["words"]], "patterns": _unquoted(term["patterns"])}
    return [pattern.replace('"', "") for pattern in term]


# --- cuts


def test_a_question_is_cut_after_1000_characters_and_64_words() -> None:
    vocabulary = vocabulary_of([])
    assert vocabulary.ask("a" * MAX_CHARACTERS).cuts == ()
    long = vocabulary.ask("a" * (MAX_CHARACTERS + 1))
    assert (long.cuts, long.raw, len(long.expansions)) == (("cut_characters",), "a" * MAX_CHARACTERS, 1)
    words = [f"w{number}" for number in range(MAX_WORDS + 1)]
    assert len(vocabulary.ask(" ".join(words[:-1])).expansions) == MAX_WORDS
    many = vocabulary.ask(" ".join(words))
    assert many.cuts == ("cut_words",)
    assert many.text == " ".join(words[:-1])
    assert [one.term for one in many.expansions] == words[:-1]


def test_stop_words_count_among_the_64() -> None:
    asked = vocabulary_of([]).ask("the " * MAX_WORDS + "wages")
    assert [one.term for one in asked.expansions] == ["the"]
    assert asked.cuts == ("cut_words",)


@given(st.text(st.characters(), max_size=1_200))
def test_any_text_is_a_question(question: str) -> None:
    asked = ALL.ask(question)
    assert len(asked.expansions) <= MAX_WORDS
    assert bool(asked.expansions) == bool(normalize(asked.raw))
    for one in asked.expansions:
        assert one.term and one.asked.strip()
        assert all(pattern.text == normalize(pattern.text) != "" for pattern in one.all_patterns)
        assert one.all_patterns


# --- matching


@pytest.mark.parametrize(
    ("pattern", "field", "is_id", "starts", "stands"),
    [
        ("labour", "labours of man", False, True, False),
        ("male", "female", False, False, False),
        ("labour force", "the labour forces", False, True, False),
        ("labour force", "labour of force", False, False, False),
        ("3361", "336111", False, False, False),
        ("3361", "336111", True, True, False),
        ("3361", "a 3361", False, True, True),
        ("naics 3361", "naics 336111", True, True, False),
        ("c", "cat", False, False, False),
        ("c", "vitamin c", False, True, True),
        ("vitamin c", "vitamin carbon", False, False, False),
        ("u s", "u s a", False, True, True),
        ("7", "7a 71", True, False, False),
        ("x", "", False, False, False),
    ],
)
def test_a_pattern_starts_a_word_and_never_its_middle(
    pattern: str, field: str, is_id: bool, starts: bool, stands: bool
) -> None:
    assert Pattern(pattern, "own").starts(field, is_id=is_id) is starts
    assert Pattern(pattern, "own").stands_in(field) is stands
    plain = oracle.occurs(pattern.split(), "id" if is_id else "title", field.split(), whole=False)
    assert plain is starts


# --- expanding only adds

WORDS = (
    "labor labour force wages wage cost of living the consumer price prices index value added tax vat in women's women "
    "e-mail email r&d research covid-19 3361 c teen youth series for thé tea 人口 population U.S. us"
).split()
ASKED = st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join)
PAIRS = st.lists(
    st.fixed_dictionaries(
        {
            "asked": ASKED,
            "source": st.lists(ASKED, min_size=1, max_size=3),
            "both": st.booleans(),
        }
    ),
    max_size=8,
)
QUESTIONS = st.lists(st.sampled_from(WORDS), max_size=9).map(" ".join)
DOCUMENTS = st.lists(
    st.lists(st.sampled_from([*WORDS, "labourers", "prices", "x"]), max_size=7).map(" ".join), max_size=6
)


def says_something(pair: dict[str, Any]) -> bool:
    """Tell whether a pair asks for more than stop words: one that does not makes a term of what was none."""
    english = load_language("en")
    sides = [pair["asked"], *pair["source"]] if pair["both"] else [pair["asked"]]
    return not any(all(english.is_stop(word.replace("'", "-")) for word in side.split()) for side in sides)


@given(PAIRS.map(lambda pairs: list(filter(says_something, pairs))), QUESTIONS, DOCUMENTS)
def test_expanding_only_adds_matches(pairs: list[dict[str, Any]], question: str, documents: list[str]) -> None:
    vocabulary = vocabulary_of(pairs)
    with_words = vocabulary.expand(question)
    language, folding = vocabulary.language, full_folding()
    null = expand(question, language, folding, vocabulary.find, vocabulary.longest, source_words=False).expansions
    assert null == Vocabulary.empty(language).expand(question)
    for text in documents:
        fields = {"title": normalize(text), "text": ""}
        if matches(fields, null):
            assert matches(fields, with_words)


@given(PAIRS, QUESTIONS)
def test_the_same_question_has_the_same_terms_and_more_pairs_only_add_patterns(
    pairs: list[dict[str, Any]], question: str
) -> None:
    once, again = vocabulary_of(pairs), vocabulary_of(pairs)
    assert once.ask(question) == again.ask(question)
    singles = [pair for pair in pairs if len(normalize(pair["asked"]).split()) == 1 and not pair["both"]]
    singles = list(filter(says_something, singles))
    fewer, more = vocabulary_of(singles[: len(singles) // 2]).ask(question), vocabulary_of(singles).ask(question)
    patterns = {one.term: set(one.patterns) for one in more.expansions}
    assert all(set(one.patterns) <= patterns[one.term] for one in fewer.expansions)


@given(PAIRS, QUESTIONS, DOCUMENTS)
def test_matching_is_what_a_plain_loop_finds(pairs: list[dict[str, Any]], question: str, documents: list[str]) -> None:
    expansions = vocabulary_of(pairs).expand(question)
    terms = oracle.terms(expansions)
    for number, text in enumerate(documents):
        fields = {"id": f"a {number}", "title": normalize(text), "keywords": normalize(documents[0]), "text": ""}
        document = oracle.Document(1, "", {name: field.split() for name, field in fields.items()})
        plain = all(oracle.met(term, document, list(fields), 2, False) for term in terms)
        assert matches(fields, expansions) is plain


# --- the vocabulary's own ways in


ALL = vocabulary_of(
    [
        {"asked": "labor", "source": "labour"},
        {"asked": "cost of living", "source": ["consumer price"]},
        {"asked": "women", "source": "females", "both": True},
    ]
)


def test_notes_say_each_translation_in_the_languages_words() -> None:
    assert ALL.notes(ALL.expand("labor force and the Cost of Living")) == [
        "“labor” was also searched as labour, the wording the source uses.",
        "“Cost of Living” was also searched as consumer price, the wording the source uses.",
    ]
    assert ALL.notes(ALL.expand("labour force")) == []


def test_asked_words_lead_to_a_title() -> None:
    assert ALL.asked_words_for("Labour force, females") == ["labor", "women"]
    assert ALL.asked_words_for("Consumer prices") == ["cost of living"]
    assert ALL.asked_words_for("Collabourating") == []


def test_a_text_matches_by_the_same_rules() -> None:
    assert ALL.matches("LABOUR costs", ALL.expand("labor cost"))
    assert not ALL.matches("Elaboration", ALL.expand("labor"))


@pytest.mark.parametrize(
    ("asked", "key"),
    [
        ("Women's", "woman"),
        ("cost of living", "cost of living"),
        ("E-mails", "e mail"),
        ("prices", "price"),
        ("***", ""),
    ],
)
def test_the_key_of_an_asked_word_is_its_singulars(asked: str, key: str) -> None:
    assert key_of(asked, load_language("en"), full_folding()) == key


def test_an_empty_vocabulary_is_the_null_expansion() -> None:
    empty = Vocabulary.empty(load_language("en"))
    assert empty.pairs == () and empty.notes(empty.expand("labor")) == []
    assert not any(one.translated for one in empty.expand("labor force and the cost of living"))


def test_expansion_is_linear_in_what_the_look_up_returns() -> None:
    keys: list[set[str]] = []

    def find(asked: Any) -> dict[str, list[Source]]:
        keys.append(set(asked))
        return {}

    question = " ".join(string.ascii_lowercase)
    asked = expand(question, load_language("en"), full_folding(), find, 3)
    assert isinstance(asked, Asked)
    assert len(keys) == 1
    assert len(keys[0]) <= 26 * 3


# --- files


FILE_FAULTS = [
    ("pairs: []", "no language"),
    ("language: en\n", "pairs"),
    ("language: en\npairs: {a: b}\n", "must be a list"),
    ("language: en\npairs:\n  - labor\n", "line 3"),
    ("language: en\npairs:\n  - {source: labour}\n", "no asked word"),
    ("language: en\npairs:\n  - {asked: labor}\n", "source is a word or a list"),
    ("language: en\npairs:\n  - {asked: labor, source: []}\n", "source is a word or a list"),
    ("language: en\npairs:\n  - {asked: labor, source: [' ']}\n", "source is a word or a list"),
    (
        "language: en\npairs:\n  - {asked: labor, source: labour, bth: true}\n",
        'unknown key "bth". Did you mean "both"?',
    ),
    ("language: en\npairs:\n  - {asked: labor, source: labour, both: perhaps}\n", "both is true or false"),
    ("language: en\npairs:\n  - {asked: '***', source: labour}\n", "no letter or digit"),
    ("language: en\npairs:\n  - {asked: labor, source: '***'}\n", "no letter or digit"),
    ("language: en\npairs: []\nleft_out:\n  - {asked: job, source: employment}\n", "needs its reason"),
    ("language: xx\npairs: []\n", "no language pack"),
    ("language: en\npairs: [\n", "line"),
]


@pytest.mark.parametrize(("content", "says"), FILE_FAULTS)
def test_a_fault_in_a_file_is_named_with_file_line_and_key(tmp_path: Path, content: str, says: str) -> None:
    path = tmp_path / "wrong.yaml"
    path.write_text(content, "utf-8")
    with pytest.raises(VocabularyError) as caught:
        Vocabulary.load(path)
    assert says in str(caught.value)
    if says != "no language pack":
        assert "wrong.yaml" in str(caught.value)


def test_pairs_keep_their_order_and_lines(tmp_path: Path) -> None:
    draw = random.Random(1)
    pairs = [{"asked": f"asked{draw.random()}", "source": [f"s{place}", "t"]} for place in range(20)]
    loaded = Vocabulary.load(write_vocabulary(tmp_path / "v.yaml", pairs, source_name="OECD"))
    assert [(pair.asked, list(pair.source)) for pair in loaded.pairs] == [
        (one["asked"], one["source"]) for one in pairs
    ]
    assert [pair.line for pair in loaded.pairs] == sorted(pair.line for pair in loaded.pairs)
    assert loaded.source_name == "OECD"
