"""A document as Markdown: readable, and no catalogue's text can break out of its place."""

from __future__ import annotations

import json
import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import cases

from catalog_search import Document, load_language
from catalog_search.document import code, escaped, plainly

ENGLISH = load_language("en")
HOSTILE: list[str] = cases("markdown")


def document(**parts: object) -> Document:
    given_parts = {
        "id": "1", "title": "Wages", "url": "", "text": "", "keywords": [], "metadata": {},
        "place": (None, None, None, None), "provenance": {"catalog": "C"}, "language": ENGLISH,
    } | parts  # fmt: skip
    return Document(**given_parts)  # type: ignore[arg-type]


def split(markdown: str) -> tuple[list[str], list[str]]:
    """Return the lines outside and inside the fence, by CommonMark's rule for fences."""
    outside: list[str] = []
    inside: list[str] = []
    fence = ""
    for line in re.split(r"\r\n|\r|\n", markdown):
        if not fence:
            opened = re.fullmatch(r" {0,3}(`{3,}|~{3,})([^`]*)", line)
            fence = opened[1] if opened else ""
            if not opened:
                outside.append(line)
        elif re.fullmatch(rf" {{0,3}}{re.escape(fence[0])}{{{len(fence)},}}[ \t]*", line):
            fence = ""
        else:
            inside.append(line)
    assert not fence
    return outside, inside


def check(one: Document) -> None:
    """Check that Markdown around the text is ours alone: its lines are counted and each begins as we begin it."""
    outside, inside = split(one.markdown())
    shown = [line for line in outside if line]
    assert shown[0].startswith("# ")
    assert all(line.startswith("- ") for line in shown[1:])
    fields = 1 + bool(one.keywords) + len(one.metadata)
    source = 1 + sum(bool(value) for name, value in one.provenance.items() if name not in ("catalog", "source_url"))
    assert len(shown) == 1 + fields + source + bool(one.url)
    for line in shown:
        # Nothing of a control's kind, and every sign that could open something is escaped or in a code span.
        assert not any(unicodedata.category(sign) == "Cc" or sign in "\u2028\u2029\u202e\u2066" for sign in line)
        bare = re.sub(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", "", line[6:]) if line.startswith("- Id: ") else line[2:]
        bare = re.sub(r"\\[\\`*_\[\]<>#|~&]", "", re.sub(r"(?<!\\)<https?://[^\s<>]+>(?=$|: )", "", bare))
        assert not re.search(r"[\\`*_\[\]<>#|~&]", bare), line
    text = re.sub(r"\r\n?", "\n", one.text)
    if one.text.strip():
        said = [
            re.sub(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]", " ", line) for line in text.split("\n")
        ]
        while said and not said[-1]:
            said.pop()
        assert inside == said
    else:
        assert inside == []


@pytest.mark.parametrize("hostile", HOSTILE)
def test_hostile_text_stays_in_its_place(hostile: str) -> None:
    check(
        document(
            title=hostile,
            id=hostile,
            keywords=[hostile, "x"],
            metadata={hostile: hostile, "b": [hostile]},
            text=hostile,
        )
    )
    check(document(text=f"{hostile}\n{hostile}\n", provenance={"catalog": hostile, "publisher": hostile}))
    check(document(title=hostile * 3, text=f"a\n{hostile}", url="https://x.example/" + "".join(hostile.split())))


SIGNS = st.text(
    st.one_of(st.sampled_from("`~#*_<>[]()|\\-=+.!&\n\r \t\u2028\x85\x0b1a"), st.characters(exclude_categories=["Cs"]))
)


@given(
    SIGNS.filter(lambda text: bool(text.strip())),
    SIGNS,
    SIGNS,
    st.dictionaries(SIGNS.filter(str.strip), SIGNS, max_size=2),
)
def test_no_text_breaks_the_markdown(title: str, id: str, text: str, metadata: dict[str, str]) -> None:
    id = id if re.search("[!-~]", id) else "1"
    check(document(title=title, id=id, text=text, keywords=[title, id], metadata=metadata))


@given(st.text(st.sampled_from("`a ")).filter(str.strip))
def test_an_id_stands_in_a_code_span(id: str) -> None:
    span = code(id)
    fence = re.match("`+", span)
    assert fence
    inside = span[len(fence[0]) : -len(fence[0])]
    assert span.endswith(fence[0])
    assert not re.search(rf"(?<!`){fence[0]}(?!`)", inside)
    assert inside.strip() == " ".join(id.split())


def test_markdown_of_a_whole_document() -> None:
    one = document(
        id="DF_A", title="Wages, *gross* [euro]", url="https://x.example/DF_A", text="Line one.\n\nLine ```two```.",
        keywords=["pay", "salary"], metadata={"unit": "EUR", "tags": ["a", "b"]},
        provenance={"catalog": "Tables", "publisher": "Office", "licence": "CC BY 4.0",
        "source_url": "https://x.example"},
    )  # fmt: skip
    assert one.markdown() == (
        "# Wages, \\*gross\\* \\[euro\\]\n\n"
        "- Id: `DF_A`\n- Keywords: pay; salary\n- unit: EUR\n- tags: a; b\n\n"
        "````text\nLine one.\n\nLine ```two```.\n````\n\n"
        "- Source: Tables https://x.example\n- Publisher: Office\n- Licence: CC BY 4.0\n- Address: <https://x.example/DF_A>\n"
    )


def test_json_of_a_document_keeps_everything_as_it_is() -> None:
    one = document(title="a\nb", text="\x1b", keywords=["k"], metadata={"n": {"x": [1]}}, place=("a.md", "H", 3, 9))
    assert one.as_json() == {
        "id": "1", "title": "a\nb", "url": "", "text": "\x1b",
        "metadata": {
            "keywords": ["k"], "path": "a.md", "heading": "H", "first_line": 3, "last_line": 9, "n": {"x": [1]},
        },
        "provenance": {"catalog": "C"},
    }  # fmt: skip
    assert json.loads(json.dumps(one.as_json())) == one.as_json()


@pytest.mark.parametrize(
    ("value", "line"),
    [("a", "a"), (["a", "b"], "a; b"), ([1, "b"], '[1, "b"]'), ({"é": None}, '{"é": null}'), ([], "")],
)
def test_a_value_stands_on_one_line(value: object, line: str) -> None:
    assert plainly(value) == line


@pytest.mark.parametrize("address", ["https://x.example/a_b?c=*", "http://x.example"])
def test_a_web_address_stays_one(address: str) -> None:
    assert escaped(address) == f"<{address}>"
