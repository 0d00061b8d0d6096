"""Sections: every line of a file is where the section says, and headings are those that GitHub shows."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import cases

from catalog_search.sections import LONGEST_TITLE, Section, markdown_sections, paragraphs


def check_lines(text: str, found: list[Section]) -> None:
    """Check that sections hold the lines they name, in order, and leave out but what is blank."""
    lines = text.split("\n")
    covered: set[int] = set()
    for one in found:
        assert one.text.split("\n") == lines[one.first_line - 1 : one.last_line]
        assert lines[one.first_line - 1].strip()
        assert lines[one.last_line - 1].strip()
        numbers = set(range(one.first_line, one.last_line + 1))
        assert not numbers & covered
        covered |= numbers
    assert [one.first_line for one in found] == sorted(one.first_line for one in found)
    assert len({one.slug for one in found}) == len(found)
    assert all(one.title.strip() for one in found)


@pytest.mark.parametrize("case", cases("sections"), ids=lambda case: case["name"])
def test_cases(case: dict[str, Any]) -> None:
    found = list(markdown_sections(case["text"], "a.md"))
    assert [[one.slug, one.title, one.first_line, one.last_line] for one in found] == case["sections"]
    if "parents" in case:
        assert [list(one.parents) for one in found] == case["parents"]
    check_lines(case["text"], found)


PIECES = st.sampled_from(
    ["# A", "## A", "#", "===", "---", "```", "~~~", "<!--", "-->", "- ", "> ", "    ", "text", "title: x", "+++",
     "|a|", "|-|", "[a]: b", "\n", "\n\n", " ", "\t", "é", "🎉", "\x0b", "\u2028"]
)  # fmt: skip


@given(st.lists(PIECES, max_size=30).map("".join) | st.text(max_size=80))
def test_any_text_is_cut_into_lines_that_it_has(text: str) -> None:
    text = text.replace("\r", "\n").replace("\0", "")
    check_lines(text, list(markdown_sections(text, "a.md")))
    found = list(paragraphs(text))
    check_lines(text, found)
    kept = {number for one in found for number in range(one.first_line, one.last_line + 1)}
    assert all(number in kept or not line.strip() for number, line in enumerate(text.split("\n"), 1))


def test_nothing_after_the_first_heading_is_lost() -> None:
    text = "# A\n\ntext\n\n* list\n\n## B\n\n<!-- comment -->\n\n    code\n"
    kept = "\n".join(one.text for one in markdown_sections(text, "a.md"))
    assert [line for line in kept.split("\n") if line] == [line for line in text.split("\n") if line]


def test_a_paragraph_is_called_by_its_first_words() -> None:
    long = "word " * 40
    text = f"=====\nWages\n\n{long}\n\n{'x' * 200}\n\n***\n"
    titles = [one.title for one in paragraphs(text)]
    assert titles[0] == "Wages"
    assert titles[1] == ("word " * 16).strip() + "…"
    assert titles[2] == "x" * (LONGEST_TITLE - 1) + "…"
    assert titles[3] == "***"
