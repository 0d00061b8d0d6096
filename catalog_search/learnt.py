"""What `vocab learn` writes: a vocabulary for a person to read, or the questions as keywords of their documents."""

from __future__ import annotations

import csv
import json
import os
import stat
from io import StringIO
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from catalog_search.candidates import Lexicon
from catalog_search.errors import SourceError
from catalog_search.judging import Change, Ranks
from catalog_search.learning import Learned, estimate, learn
from catalog_search.relevance import read_judged
from catalog_search.scratch import replace
from catalog_search.trial import Trial

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from catalog_search.relevance import Judged

    Progress = Callable[[float | None, int], None]

_MARK = "# Learned from "
_SENSE = "# A gain does not prove sense: read each pair, and take out what means nothing."
_SQLITE = b"SQLite format 3\0"


class Lesson(NamedTuple):
    """What was learned from a judged set."""

    learned: list[Learned]
    judged: Change
    """What the pairs do to the judged questions themselves; none of them is lost."""
    others: Change
    """The estimate: what pairs learned from a part of them do to questions about other documents."""

    def as_json(self) -> dict[str, object]:
        """Return it as `vocab learn --json` prints it."""
        return {
            "pairs": [one.as_json() for one in self.learned],
            "judged_change": self.judged.as_json(),
            "estimate": self.others.as_json(),
        }


def learn_pairs(database: str, judged: str, output: str, progress: Progress | None = None) -> Lesson:
    """Learn pairs from a judged set and write them as a vocabulary.

    Args:
        database: a catalogue's database; only read.
        judged: the judged set.
        output: the YAML file to write. Of files that exist, only one that was learned is replaced.
        progress: called with the share that is done and the number of steps.

    Raises:
        SourceError: the judged set cannot be read or is too small, or the output cannot be written.
    """
    old = _replaceable(output, (database, judged), _is_learned)
    questions = list(read_judged(judged))
    with Trial.open(database) as catalog, catalog.errors():
        lexicon = Lexicon(catalog)
        ranks = Ranks(catalog, questions)
        others = estimate(lexicon, questions, progress, judged, ranks=ranks)
        learned = learn(lexicon, questions, ranks=ranks)
        lesson = Lesson(learned, ranks.change([one.candidate for one in learned]), others)
        name = catalog.info["source_name"] or catalog.info["title"]
        lines = _vocabulary(lesson, lexicon.language.tag, name, judged)
        _write(output, "".join(f"{line}\n" for line in lines), old)
    return lesson


def _vocabulary(lesson: Lesson, language: str, name: str, judged: str) -> Iterable[str]:
    """Yield the lines of a vocabulary; quoted as JSON quotes, which is YAML too."""
    yield f"{_MARK}{''.join(sign if sign.isprintable() else ' ' for sign in Path(judged).name)}."
    yield _SENSE
    yield f"# These questions: {lesson.judged.said()}."
    yield f"# Estimate for questions about other documents: {lesson.others.said()}."
    yield f"language: {language}"
    yield f"source_name: {_quoted(name)}"
    yield "pairs:" if lesson.learned else "pairs: []"
    for one in lesson.learned:
        pair = one.candidate
        yield f"  - asked: {_quoted(pair.asked)}"
        yield f"    source: [{_quoted(pair.source)}]"
        yield f"    measured: {{asked: {pair.asked_documents}, source: {pair.source_documents}}}"
        yield (
            f"    learned: {{support: {one.support}, ratio: {one.ratio:.1f}, gained: {one.gained}, "
            f"improved: {one.improved}, harmed: {one.harmed}, lost: 0}}"
        )
        if pair.warnings:
            yield f"    note: {_quoted('; '.join(pair.warnings))}"
        yield "    examples:"
        for question, title in one.examples:
            yield f"      - {{question: {_quoted(question)}, title: {_quoted(title)}}}"


def _quoted(text: str) -> str:
    # YAML has no surrogate pairs, and takes neither of these for text.
    quoted = json.dumps(text.encode("utf-8", "replace").decode(), ensure_ascii=False)
    return "".join(
        f"\\u{ord(sign):04x}" if "\x7f" <= sign <= "\x9f" or sign in "\u2028\u2029\ufeff" else sign for sign in quoted
    )


def write_keywords(database: str, judged: str, output: str) -> tuple[int, int]:
    """Write the questions of a judged set as keywords of their documents: CSV with the columns id and keywords.

    Several questions of one document are separated by `|`; what its title is already, or what the database has no
    document for, is left out. A file that exists is not replaced, since nothing in a table tells who wrote it.

    Returns:
        The number of documents and of questions.

    Raises:
        SourceError: the judged set cannot be read, or the output cannot be written.
    """
    old = _replaceable(output, (database, judged), lambda _: True)
    questions = list(read_judged(judged))
    with Trial.open(database) as catalog, catalog.errors():
        found = _keywords(Lexicon(catalog), questions)
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("id", "keywords"))
    writer.writerows((id, "|".join(texts)) for id, texts in found.items())
    if old and old != _encoded(text.getvalue()):
        raise SourceError("exists and holds something else; name a new file with -o, or take it away", path=output)
    _write(output, text.getvalue(), old)
    return len(found), len(set(chain.from_iterable(found.values())))


def _keywords(lexicon: Lexicon, questions: Sequence[Judged]) -> dict[str, list[str]]:
    found: dict[str, dict[str, str]] = {}
    for one in questions:
        asked = lexicon.fold(one.query)
        for id, _, title in lexicon.titles_of(one.grades):
            if asked and asked != title:
                found.setdefault(id, {}).setdefault(asked, " ".join(one.query.replace("|", " ").split()))
    return {id: list(texts.values()) for id, texts in found.items()}


def _is_learned(content: bytes) -> bool:
    first, _, rest = content.partition(b"\n")
    return first.startswith(_MARK.encode()) and rest.startswith(_SENSE.encode())


def _replaceable(output: str, inputs: Sequence[str], is_own: Callable[[bytes], bool]) -> bytes | None:
    """Return what the output holds, None if it is not there; SourceError if it is not this program's to replace."""
    try:
        status = os.stat(output)
        if not stat.S_ISREG(status.st_mode):
            raise SourceError("is not a regular file; name a file with -o", path=output)
        for path in inputs:
            if os.path.exists(path) and os.path.samestat(status, os.stat(path)):
                raise SourceError("is read, and would be lost; name another file with -o", path=output)
        with open(output, "rb") as file:
            content = file.read(len(_SQLITE))
            content += b"" if content == _SQLITE else file.read()
    except (FileNotFoundError, NotADirectoryError):
        return None  # writing says what is wrong with the folder
    except OSError as problem:
        raise SourceError(f"cannot be written: {problem.strerror}", path=output) from None
    if content.startswith(_SQLITE):
        raise SourceError("is a database; name another file with -o", path=output)
    if content and not is_own(content):
        raise SourceError("exists, and was not written by “vocab learn”; name a new file with -o", path=output)
    return content


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "replace")


def _write(path: str, text: str, old: bytes | None) -> None:
    try:
        replace(path, _encoded(text), expected=old)
    except OSError as problem:
        raise SourceError(f"cannot be written: {problem.strerror or problem}", path=path) from None
