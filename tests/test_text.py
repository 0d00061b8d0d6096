"""Text in every script becomes ASCII words; composed and decomposed, by Python or by the stored table, alike."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import assigned_characters, cases

from catalog_search import normalize
from catalog_search.text import (
    MAX_CHARACTERS,
    SPELLINGS,
    Folding,
    cut,
    fold,
    full_folding,
    joined,
    mark,
    plain,
)

NORMAL = re.compile(r"([a-z0-9]+( [a-z0-9]+)*)?")
MARKED = re.compile(r"([a-z0-9^]+(-[a-z0-9^]+)*( [a-z0-9^]+(-[a-z0-9^]+)*)*)?")
BELOW = 0x3400
"""Code points that every catalogue's table holds."""

CHARACTERS = st.sampled_from(assigned_characters())
COMMON = st.sampled_from([one for one in assigned_characters() if ord(one) < BELOW])
SIGNS = st.sampled_from("ab1 -.'&_+#^/,’–·\u0301\u0308\u00ad\u200bé.net")
TEXTS = st.lists(st.one_of(CHARACTERS, COMMON, SIGNS), max_size=12).map("".join)


def outcomes() -> Iterator[tuple[str, str, str]]:
    for group, pairs in cases("normalize").items():
        for written, marked in pairs:
            yield group, re.sub(r"\\u(d[89a-f][0-9a-f]{2})", lambda found: chr(int(found[1], 16)), written), marked


@pytest.mark.parametrize(("group", "written", "marked"), list(outcomes()))
def test_text_has_its_marked_and_normal_form(group: str, written: str, marked: str) -> None:
    assert mark(written, full_folding()) == marked
    assert normalize(written) == marked.replace("-", " ").replace("^", "")


# --- every code point


def test_every_code_point_becomes_words_and_folds_alike_composed_and_decomposed() -> None:
    folding = full_folding()
    faults = []
    for character in assigned_characters():
        marked = mark(character, folding)
        if not NORMAL.fullmatch(normalize(character)) or normalize(character) != plain(marked):
            faults.append(character)
        for form in ("NFC", "NFD"):
            other = unicodedata.normalize(form, character)
            if other == character:
                continue
            # Alone, inside a word, and after its like: what stands beside it must not matter.
            for before, after in (("", ""), ("a", "b"), (character, "")):
                if mark(before + character + after, folding) != mark(before + other + after, folding):
                    faults.append(character)
    assert faults == []


def test_every_letter_with_a_case_and_every_digit_is_kept_but_signs_of_no_sound() -> None:
    kinds = ("Ll", "Lu", "Lt", "Nd")
    letters = (one for one in assigned_characters() if unicodedata.category(one) in kinds)
    lost = {unicodedata.name(one) for one in letters if not normalize(one)}
    silent = (
        "HARD SIGN|SOFT SIGN|SEMISOFT SIGN|STOP|FRICATIVE|PERCUSSIVE|PALOCHKA|"
        "TURNED V|SCHWA WITH HOOK|CLICK|KAI SYMBOL|REVERSED C|ONE HUNDRED"
    )
    assert {name for name in lost if not re.search(silent, name)} == set()


def test_a_capital_folds_as_its_small_letter() -> None:
    faults = [
        character
        for character in assigned_characters()
        for other in (character.upper(), character.lower())
        if unicodedata.category(character)[0] == "L"
        if len(other) == 1 and other.upper() == character.upper() and normalize(other) != normalize(character)
    ]
    assert set(faults) <= {"\u1c88"}  # a variant whose capital is that of another letter


@pytest.mark.parametrize("used", ["", "人口年統計", "ﾊﾟ", "인구", "𞤀𠀀"])
def test_the_rows_of_a_database_fold_as_the_whole_table_does(used: str) -> None:
    whole = full_folding()
    rows = list(whole.rows(used))
    stored = Folding(dict(rows))
    assert rows == sorted(rows)
    assert len(dict(rows)) == len(rows)
    assert {len(key) for key, _ in rows} == {1, 2}
    characters = [*map(chr, range(BELOW)), *used]
    assert [one for one in characters if stored.signs(one) != whole.signs(one)] == []
    for form in ("NFC", "NFD"):
        together = unicodedata.normalize(form, used)
        assert fold(together, stored) == fold(used, whole) or form == "NFC"
    assert fold(used, stored) == fold(used, whole)


# --- any text


@given(TEXTS)
def test_normal_form_is_words_joined_by_single_spaces_and_stays_itself(text: str) -> None:
    normal = normalize(text)
    assert NORMAL.fullmatch(normal)
    assert normalize(normal) == normal


@given(st.text(st.characters(), max_size=30))
def test_no_text_raises(text: str) -> None:
    assert NORMAL.fullmatch(normalize(text))
    assert NORMAL.fullmatch(normalize(cut(text)[0]))


@given(TEXTS)
def test_marked_form_is_words_that_hold_a_letter_or_digit(text: str) -> None:
    marked = mark(text, full_folding())
    assert MARKED.fullmatch(marked)
    assert all(re.search("[a-z0-9]", word) for word in marked.split())


@given(TEXTS)
def test_the_fast_way_gives_what_the_marked_form_gives(text: str) -> None:
    assert fold(text, full_folding()) == plain(mark(text, full_folding()))


BASES = st.sampled_from(
    [
        one
        for one in assigned_characters()
        if unicodedata.category(one)[0] in "LNS" and not unicodedata.decomposition(one)
    ]
)
MARKS = st.sampled_from([one for one in assigned_characters() if unicodedata.category(one)[0] == "M"])


@settings(max_examples=500)
@given(st.lists(st.tuples(BASES, MARKS).map("".join), min_size=1, max_size=4).map("".join))
def test_letters_with_marks_fold_alike_composed_and_decomposed(text: str) -> None:
    composed, decomposed = (unicodedata.normalize(form, text) for form in ("NFC", "NFD"))
    assert mark(text, full_folding()) == mark(composed, full_folding()) == mark(decomposed, full_folding())


@given(st.lists(st.one_of(COMMON, SIGNS), max_size=12).map("".join))
def test_the_stored_rows_fold_any_common_text_as_the_whole_table_does(text: str) -> None:
    for form in ("NFC", "NFD"):
        written = unicodedata.normalize(form, text)
        if all(ord(one) < BELOW for one in written):
            assert mark(written, STORED) == mark(written, full_folding())


STORED = Folding(dict(full_folding().rows(())))


@given(TEXTS, st.sampled_from(["\u00ad", "\u200b", "\u200d", "\ufeff", "\u2060"]))
def test_what_cannot_be_seen_changes_nothing_in_ascii_text(text: str, hidden: str) -> None:
    ascii_text = "".join(one for one in text if one.isascii())
    assert normalize(hidden.join(ascii_text)) == normalize(ascii_text)


# --- spellings, joined forms, cuts


def test_there_are_ten_spellings_at_most_and_each_is_one_word() -> None:
    assert len(SPELLINGS) <= 10
    for written, spelled in SPELLINGS.items():
        assert normalize(f"a {written} b") == f"a {spelled} b"
        assert NORMAL.fullmatch(spelled)
        assert " " not in spelled


@pytest.mark.parametrize(
    ("marked", "one_word"),
    [
        ("e-mail", "email"),
        ("u-s", "us"),
        ("r-d", "rd"),
        ("igp-m", "igpm"),
        ("covid-19", "covid19"),
        ("up-to-date", "uptodate"),
        ("l-e^te^", "lete"),
        ("38-101", ""),
        ("a-1-2", ""),
        ("mail", ""),
        ("", ""),
    ],
)
def test_a_compound_is_also_one_word_unless_it_joins_digits(marked: str, one_word: str) -> None:
    assert joined(marked) == one_word


@pytest.mark.parametrize(
    ("question", "left", "said"),
    [
        ("", "", []),
        ("labor", "labor", []),
        ("labor\0force", "labor", ["cut_nul"]),
        ("\0", "", ["cut_nul"]),
        ("a" * MAX_CHARACTERS, "a" * MAX_CHARACTERS, []),
        ("a" * (MAX_CHARACTERS + 1), "a" * MAX_CHARACTERS, ["cut_characters"]),
        ("a" * MAX_CHARACTERS + "\0", "a" * MAX_CHARACTERS, ["cut_nul"]),
        ("é\ud800a\udfff", "é a ", []),
        ("人" * 2_000 + "\0x", "人" * MAX_CHARACTERS, ["cut_nul", "cut_characters"]),
    ],
)
def test_a_question_is_cut_and_what_was_cut_is_known(question: str, left: str, said: list[str]) -> None:
    assert cut(question) == (left, said)
