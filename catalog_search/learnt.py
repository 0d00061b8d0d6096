"""What `vocab learn` writes: a vocabulary for a person to read, or the questions as keywords of their documents."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from catalog_search.candidates import Lexicon
from catalog_search.errors import SourceError
from catalog_search.judging import Change, Ranks
from catalog_search.learning import Learned, estimate, learn
from catalog_search.relevance import read_judged
from catalog_search.trial import Trial

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from catalog_search.relevance import Judged

    Progress = Callable[[float | None, int], None]


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
        output: the YAML file to write.
        progress: called with the share that is done and the number of steps.

    Raises:
        SourceError: the judged set cannot be read or is too small, or the output cannot be written.
    """
    questions = list(read_judged(judged))
    with Trial.open(database) as catalog, catalog.errors():
        lexicon = Lexicon(catalog)
        others = estimate(lexicon, questions, progress, judged)
        ranks = Ranks(catalog, questions)
        learned = learn(lexicon, questions, ranks=ranks)
        lesson = Lesson(learned, ranks.change([one.candidate for one in learned]), others)
        name = catalog.info["source_name"] or catalog.info["title"]
        _write(output, _vocabulary(lesson, lexicon.language.tag, name, judged))
    return lesson


def _vocabulary(lesson: Lesson, language: str, name: str, judged: str) -> Iterable[str]:
    """Yield the lines of a vocabulary; quoted as JSON quotes, which is YAML too."""
    yield f"# Learned from {''.join(sign if sign.isprintable() else ' ' for sign in Path(judged).name)}."
    yield "# A gain does not prove sense: read each pair, and take out what means nothing."
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
    document for, is left out.

    Returns:
        The number of documents and of questions.

    Raises:
        SourceError: the judged set cannot be read, or the output cannot be written.
    """
    questions = list(read_judged(judged))
    with Trial.open(database) as catalog, catalog.errors():
        found = _keywords(Lexicon(catalog), questions)
    try:
        with open(output, "w", encoding="utf-8", errors="replace", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(("id", "keywords"))
            writer.writerows((id, "|".join(texts)) for id, texts in found.items())
    except OSError as problem:
        raise SourceError(f"cannot be written: {problem.strerror}", path=output) from None
    return len(found), sum(map(len, found.values()))


def _keywords(lexicon: Lexicon, questions: Sequence[Judged]) -> dict[str, list[str]]:
    found: dict[str, dict[str, str]] = {}
    for one in questions:
        asked = lexicon.fold(one.query)
        for id, _, title in lexicon.titles_of(one.grades):
            if asked and asked != title:
                found.setdefault(id, {}).setdefault(asked, " ".join(one.query.replace("|", " ").split()))
    return {id: list(texts.values()) for id, texts in found.items()}


def _write(path: str, lines: Iterable[str]) -> None:
    try:
        with open(path, "w", encoding="utf-8", newline="\n") as file:
            file.writelines(f"{line}\n" for line in lines)
    except OSError as problem:
        raise SourceError(f"cannot be written: {problem.strerror}", path=path) from None
