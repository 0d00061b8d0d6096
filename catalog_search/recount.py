"""The counts that a vocabulary's file states, brought up to date in place.

    measured: {asked: 0, source: 35, gain: 35, on: 2026-11-30}

Of each pair, of those left out too, the numbers that the file states under `measured` are written anew, by the marks of
the parser: nothing else of the file changes, no comment, order, quotation mark, line end or byte order mark. A pair
without `measured` gets none. `source` and the source's words as keys are counts of documents, `on` is the date.
"""

from __future__ import annotations

import codecs
import datetime
import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from catalog_search import yamlfile
from catalog_search.errors import VocabularyError
from catalog_search.measure import Counter
from catalog_search.scratch import replace
from catalog_search.text import fold, full_folding
from catalog_search.vocabulary import Vocabulary

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator

# after a tag or an anchor, with or without quotation marks
_WRITTEN = re.compile(r"(?:[&!]\S*\s+)*([\"']?)(.*)\1", re.S)
_NUMBER = re.compile(r"\d(?:[\d_,]*\d)?")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


class Recount(NamedTuple):
    """One number of a vocabulary's file that was brought up to date."""

    line: int
    asked: str
    key: str
    before: str
    after: str


def recount(
    connection: sqlite3.Connection, path: str | Path, language: str | None = None, today: datetime.date | None = None
) -> list[Recount]:
    """Write the counts of a vocabulary's file anew; return what changed. A file without a change is not written.

    Args:
        connection: to a catalogue's database.
        path: the file. A symbolic link is followed; permissions are kept; it is replaced at once or not at all.
        language: the language to use when the file names none.
        today: the date of the count, today if None.

    Raises:
        VocabularyError: the file is no vocabulary, a count it states is no number, or it cannot be written.
    """
    Vocabulary.load(path, language)  # so that its faults are named as everywhere
    raw = Path(path).read_bytes()
    mark = codecs.BOM_UTF8 if raw.startswith(codecs.BOM_UTF8) else b""
    text = raw[len(mark) :].decode()
    date = (today or datetime.date.today()).isoformat()
    changed: list[Recount] = []
    edits: dict[tuple[int, int], Recount] = {}
    for span, one in _stated(text, Counter(connection), date, path):
        earlier = edits.setdefault(span, one)
        if earlier.after != one.after:
            raise VocabularyError(
                f"the pairs of lines {earlier.line} and {one.line} state one count together (an alias), and it is "
                f"{earlier.after} for one and {one.after} for the other; write both out",
                path=path, line=one.line, key=one.key,
            )  # fmt: skip
    for (_, end), one in sorted(edits.items(), reverse=True):
        if one.before != one.after:
            place = end - len(one.before) - (text[end - 1] in "\"'")
            text = text[:place] + one.after + text[place + len(one.before) :]
            changed.append(one)
    if changed:
        try:
            replace(path, mark + text.encode(), expected=raw)
        except OSError as problem:
            raise VocabularyError(f"cannot be written: {problem.strerror or problem}", path=path) from None
    return changed[::-1]


def _stated(text: str, counts: Counter, date: str, path: str | Path) -> Iterator[tuple[tuple[int, int], Recount]]:
    """Yield for each number that the file states its place in the text and what it should be."""
    top = yamlfile.parse(text, VocabularyError, path=path)
    folding = full_folding()
    for item in [*(top.get("pairs") or ()), *(top.get("left_out") or ())]:
        stated = item.get("measured")
        if not isinstance(stated, yamlfile.Mapping):
            continue
        sources = item["source"] if isinstance(item["source"], list) else [item["source"]]
        asked = fold(item["asked"], folding)
        patterns = [fold(source, folding) for source in sources]
        each = dict(zip([*sources, *patterns], [*patterns, *patterns], strict=True))
        for key, value in stated.items():
            if key == "on":
                after, shape, kind = date, _DATE, "a date such as 2026-11-30"
            elif (count := _count(key, asked, patterns, each, counts)) is not None:
                after, shape, kind = str(count), _NUMBER, "a number"
            else:
                continue
            written = _WRITTEN.fullmatch(text[slice(*stated.spans[key])])
            if not isinstance(value, str) or not shape.fullmatch(value) or not written or written[2] != value:
                raise VocabularyError(
                    f"what is measured must be {kind}, written plainly", path=path, line=stated.lines[key], key=key
                )
            if value.replace("_", "").replace(",", "") == after:
                after = value
            yield stated.spans[key], Recount(stated.lines[key], str(item["asked"]), key, value, after)


def _count(key: str, asked: str, patterns: list[str], each: dict[str, str], counts: Counter) -> int | None:
    if key == "asked":
        return counts.holding([asked])
    if key == "source":
        return counts.holding(patterns)
    if key == "gain":
        return counts.gained(patterns, asked)
    return counts.holding([each[key]]) if key in each else None
