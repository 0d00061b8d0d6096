"""The strict answer by a plain loop over the rows: what every other way to answer is compared with.

It shares no code with the package. It takes a question's terms as data, and fields in normal form, splits
them at spaces, and follows the written rules word by word.

    pattern   (its words, its class)          class 0: the word itself, 1: singular or joined form, 2: vocabulary
    term      (patterns, words)               met by one of `patterns`, or by one pattern for each of `words`
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

CLASSES = {"own": 0, "singular": 1, "spelling": 1, "vocabulary": 2}


class Phrase(NamedTuple):
    words: list[str]
    kind: int


class Term(NamedTuple):
    patterns: list[Phrase]
    words: list[list[Phrase]]


class Document(NamedTuple):
    rowid: int
    id: str
    fields: dict[str, list[str]]
    """Field → its words; the fields are id, title, keywords and text."""


def documents(connection: sqlite3.Connection) -> list[Document]:
    """Read the normal forms of all documents of a catalogue's database."""
    rows = connection.execute("SELECT rowid, id, id_lc, title_lc, keywords_lc, text_lc FROM documents ORDER BY rowid")
    return [
        Document(rowid, id, dict(zip(("id", "title", "keywords", "text"), map(str.split, fields), strict=True)))
        for rowid, id, *fields in rows
    ]


def terms(expansions: Iterable[Any]) -> list[Term]:
    """Read expansions as data: tuples whose `patterns` and `words` hold (text, kind)."""

    def phrases(patterns: Iterable[Any]) -> list[Phrase]:
        return [Phrase(text.split(), CLASSES[kind]) for text, kind in patterns]

    return [Term(phrases(one.patterns), [phrases(word) for word in one.words]) for one in expansions]


def starts_at(words: list[str], place: int, phrase: list[str], field: str) -> bool:
    """Tell whether a phrase matches at a place: all but its last word whole, the last by its kind."""
    end = place + len(phrase) - 1
    if end >= len(words) or words[place:end] != phrase[:-1]:
        return False
    last, word = phrase[-1], words[end]
    if len(last) == 1 or (last.isdigit() and field != "id"):
        return word == last
    return word.startswith(last)


def occurs(phrase: list[str], field: str, words: list[str], whole: bool) -> bool:
    for place in range(len(words)):
        if whole:
            if words[place : place + len(phrase)] == phrase:
                return True
        elif starts_at(words, place, phrase, field):
            return True
    return False


def met(term: Term, document: Document, names: Sequence[str], most: int, whole: bool) -> bool:
    """Tell whether a term is met in some fields by patterns up to a class."""

    def by_one(phrases: list[Phrase]) -> bool:
        for phrase in phrases:
            if phrase.kind > most or not phrase.words:
                continue
            for name in names:
                if occurs(phrase.words, name, document.fields[name], whole):
                    return True
        return False

    if term.words and all(by_one(word) for word in term.words):
        return True
    return by_one(term.patterns)


def place(document: Document, raw: str, text: str, question: list[Term]) -> tuple[int, int, int] | None:
    """Return (tier, class, rowid) of a document in the strict answer, None if it is not in it.

    Args:
        document: the document.
        raw: the question as typed, without blanks around it.
        text: the normal form of the question.
        question: its terms.
    """
    asked = text.split()
    everywhere = ("id", "title", "keywords", "text")
    if document.id == raw:
        return 0, 0, document.rowid
    if not question:
        return None
    for term in question:
        if not met(term, document, everywhere, 2, False):
            return None
    title = document.fields["title"]
    if document.fields["id"] == asked:
        return 0, 0, document.rowid
    if title == asked:
        return 1, 0, document.rowid
    if any(title[start : start + len(asked)] == asked for start in range(len(title))):
        return 2, 0, document.rowid
    levels: list[tuple[int, Sequence[str], bool]] = [
        (3, ("title",), True),
        (4, ("title",), False),
        (5, ("title", "keywords"), False),
        (6, everywhere, False),
    ]
    for tier, names, whole in levels:
        for kind in (0, 1, 2):
            if all(met(term, document, names, kind, whole) for term in question):
                return tier, kind, document.rowid
    raise AssertionError("a document in the strict answer has a tier")


def answer(
    rows: Iterable[Document], raw: str, text: str, question: list[Term]
) -> list[tuple[tuple[int, int, int], str]]:
    """Return the whole strict answer, best first: ((tier, class, rowid), id)."""
    found = []
    for document in rows:
        where = place(document, raw, text, question)
        if where is not None:
            found.append((where, document.id))
    return sorted(found)
