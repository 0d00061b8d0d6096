"""Two vocabularies on one catalogue: what each change does to the first page, and what it loses.

A change is one asked word or phrase led, or no longer led, to one of the source's. Only questions that look up what
changed are asked, once with either vocabulary; where several changes meet in one question, each is also taken back
alone, so that what it does is told from what the others do.

    better, worse   of a judged question: its discounted gain (nDCG@10) rises or falls; of any other: it gets a strict
                    answer, or has none any more
    lost            right ids that were on the first page, are no longer, and have not made room for as right ones
    misled          it had no strict answer, and has one now, in whose first 100 no right id is
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from catalog_search.errors import SourceError
from catalog_search.expansion import key_of
from catalog_search.judging import HARM, is_kept
from catalog_search.questionlog import BadLine, read_log, without_question
from catalog_search.relevance import DEPTH, Judged, Outcome, read_judged
from catalog_search.text import full_folding, normalize
from catalog_search.vocabulary import Pair, Vocabulary

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from catalog_search.trial import Trial
    from catalog_search.vocabulary import Entry

PAGE = 10
"""Results of a first page."""
TOLD_EVERY = 100


class Change(NamedTuple):
    """One way that the new vocabulary has and the old one has not, or the other way round."""

    added: bool
    asked: str
    source: str
    path: str
    line: int
    key: str
    """What is looked up; see `catalog_search.expansion.key_of`."""
    pattern: str

    def __str__(self) -> str:
        sign = "+" if self.added else "-"
        return f"{sign} “{self.asked}” → “{self.source}” ({self.path}, line {self.line})"

    def as_json(self) -> dict[str, object]:
        """Return it as `vocab diff --json` prints it."""
        return {
            "change": "added" if self.added else "removed",
            "asked": self.asked, "source": self.source, "file": self.path, "line": self.line,
        }  # fmt: skip


class Question(NamedTuple):
    """A question that both vocabularies are asked."""

    query: str
    grades: dict[str, float]
    """The right ids with their grades; empty if nobody judged."""
    path: str
    """Where it is from: a judged set, a log, or the vocabulary whose asked word it is."""
    line: int


class Effect(NamedTuple):
    """What one change does to the first page of one question."""

    change: Change
    added: list[str]
    removed: list[str]
    kind_before: str
    """How the question is answered without the change, and with it: "strict", "relaxed" or "nothing"."""
    kind_after: str
    better: bool
    """Whether a judged question gets better by it."""

    def as_json(self) -> dict[str, object]:
        """Return it as `vocab diff --json` prints it."""
        return {
            **self.change.as_json(), "added": self.added, "removed": self.removed,
            "before": self.kind_before, "after": self.kind_after,
        }  # fmt: skip


class Answer(NamedTuple):
    """What a vocabulary gives to a question."""

    ids: list[str]
    strict: bool

    @property
    def kind(self) -> str:
        """ "strict", "relaxed" or "nothing"."""
        return "strict" if self.strict else "relaxed" if self.ids else "nothing"


@dataclass(slots=True)
class Compared:
    """A question whose expansion differs between the vocabularies."""

    question: Question
    before: Answer
    after: Answer
    changes: list[Change]
    """Those whose asked word it holds."""
    effects: list[Effect] = field(default_factory=list)
    """What each of them does; of a single one, all that differs."""

    @property
    def verdict(self) -> str:
        """ "better", "worse", or "same"."""
        if self.question.grades:
            before, after = (_gain(self.question, answer) for answer in (self.before, self.after))
        else:
            before, after = float(self.before.strict), float(self.after.strict)
        return "better" if after > before else "worse" if after < before else "same"

    @property
    def changed(self) -> bool:
        """Whether the first page differs."""
        return self.before.ids[:PAGE] != self.after.ids[:PAGE]

    @property
    def lost(self) -> list[str]:
        """The right ids that are lost."""
        grades = self.question.grades
        before, after = ([id for id in one.ids[:PAGE] if id in grades] for one in (self.before, self.after))
        if is_kept((grades[id] for id in before), (grades[id] for id in after)):
            return []
        return [id for id in before if id not in after]

    @property
    def misled(self) -> bool:
        """Whether its new strict answer excludes every right id."""
        turned = self.after.strict and not self.before.strict
        return bool(self.question.grades) and turned and self.question.grades.keys().isdisjoint(self.after.ids)

    def blamed(self) -> list[Change]:
        """Return the changes without any of which a loss, or a misleading answer, would not be; else all."""
        lost = set(self.lost)
        some = [
            one.change
            for one in self.effects
            if (lost & set(one.removed) if lost else one.kind_before != one.kind_after == "strict")
        ]
        return some or self.changes

    def ranks(self) -> tuple[int | None, int | None]:
        """Return the ranks of the first right id before and after, None beyond the first 100."""
        before, after = (_outcome(self.question, one).rank(DEPTH) or None for one in (self.before, self.after))
        return before, after

    def as_json(self) -> dict[str, Any]:
        """Return it as `vocab diff --json` prints it."""
        before, after = (one.ids[:PAGE] for one in (self.before, self.after))
        judged = {}
        if self.question.grades:
            ranks = self.ranks()
            judged = {
                "ids": list(self.question.grades), "rank_before": ranks[0], "rank_after": ranks[1],
                "lost": self.lost, "misled": self.misled,
            }  # fmt: skip
        return {
            "query": self.question.query, "file": self.question.path, "line": self.question.line,
            "verdict": self.verdict, "kind_before": self.before.kind, "kind_after": self.after.kind,
            "added": [id for id in after if id not in before], "removed": [id for id in before if id not in after],
            "before": before, "after": after, **judged,
            "changes": [one.as_json() for one in self.effects],
        }  # fmt: skip


def _outcome(question: Question, answer: Answer) -> Outcome:
    return Outcome(Judged(question.query, question.grades, "", "", question.line), answer.ids, [], not answer.strict)


def _gain(question: Question, answer: Answer) -> float:
    return _outcome(question, answer).gain(PAGE)


class Comparison:
    """An old and a new vocabulary on a catalogue.

    Args:
        catalog: asked with both; it has the new one afterwards.
        old, new: read in the catalogue's language.
    """

    def __init__(self, catalog: Trial, old: Vocabulary, new: Vocabulary) -> None:
        self._catalog = catalog
        self._old, self._new = self._own(old), self._own(new)
        before, after = ({(one.key, one.source.pattern): one for one in own.entries} for own in (self._old, self._new))
        self.changes = [_change(True, after[way], self._new) for way in after if way not in before]
        self.changes += [_change(False, before[way], self._old) for way in before if way not in after]
        """What the new one adds, then what it takes away, each in the order of its file."""
        self._of_key: dict[str, list[Change]] = {}
        for one in self.changes:
            self._of_key.setdefault(one.key, []).append(one)

    def _own(self, vocabulary: Vocabulary) -> Vocabulary:
        return Vocabulary(vocabulary.pairs, self._catalog.language, vocabulary.source_name, vocabulary.path)

    def asked_words(self) -> list[Question]:
        """Return each asked word or phrase that changes, as a question."""
        return [Question(first.asked, {}, first.path, first.line) for first, *_ in self._of_key.values()]

    def changes_of(self, asked: str) -> list[Change]:
        """Return the changes of an asked word or phrase."""
        return self._of_key.get(key_of(asked, self._catalog.language, full_folding()), [])

    def compare(
        self, questions: Iterable[Question], progress: Callable[[float | None, int], None] | None = None
    ) -> list[Compared]:
        """Ask the questions that look up what changed, with both; return those whose expansion differs.

        Args:
            questions: read once; those that meet no change are let go.
            progress: called now and then with the share that is done and the number of questions read.
        """
        catalog = self._catalog
        catalog.use(catalog.vocabulary([*self._old.pairs, *self._new.pairs]))
        met: list[tuple[Question, list[Change]]] = []
        read = 0
        for read, question in enumerate(questions, 1):
            keys = catalog.keys(question.query) & self._of_key.keys()
            if keys:
                met.append((self._answerable(question), [one for one in self.changes if one.key in keys]))
            if progress and read % TOLD_EVERY == 0:
                progress(None, read)
        catalog.use(self._old)
        before = [catalog.expand(question.query) for question, _ in met]
        catalog.use(self._new)
        met = [one for one, terms in zip(met, before, strict=True) if catalog.expand(one[0].query) != terms]
        answers: list[list[Answer]] = []
        for vocabulary in (self._old, self._new):
            catalog.use(vocabulary)
            answers.append([])
            for question, _ in met:
                answers[-1].append(self._ask(question))
                if progress:
                    progress(sum(map(len, answers)) / (2 * len(met)), read)
        found = [
            Compared(question, old, new, changes) for (question, changes), old, new in zip(met, *answers, strict=True)
        ]
        self._tell_apart(found)
        return found

    def judged(self, questions: Sequence[Question]) -> int:
        """Return how many right ids of judged questions the catalogue does not have; nothing can lose those.

        Raises:
            SourceError: there is no question, or none has a right id that the catalogue has.
        """
        path = ", ".join(dict.fromkeys(one.path for one in questions))
        ids = {id for one in questions for id in one.grades}
        unknown = len(ids) - len(self._known(ids))
        if not ids:
            raise SourceError("no judged question: there is nothing that a change could lose")
        if unknown == len(ids):
            raise SourceError(
                f"no document has any of its {unknown:,} right ids, such as “{next(iter(questions[0].grades))}”: "
                "it was judged on another catalogue",
                path=path,
            )
        return unknown

    def _answerable(self, question: Question) -> Question:
        """Return a question without the right ids that no document has: nothing can lose them."""
        if not question.grades:
            return question
        return question._replace(grades={id: question.grades[id] for id in self._known(question.grades)})

    def _known(self, ids: Iterable[str]) -> list[str]:
        """Return those of different ids that documents have."""
        with self._catalog.errors():
            known = self._catalog.connection().execute(
                "SELECT id FROM documents WHERE id IN (SELECT value FROM json_each(?))", (json.dumps(list(ids)),)
            )
            return [id for (id,) in known]

    def _tell_apart(self, found: list[Compared]) -> None:
        """Note what each change does to the questions that it meets: where there are several, take each back alone."""
        catalog = self._catalog
        several: dict[Change, list[Compared]] = {}
        for one in found:
            if len(one.changes) == 1:
                one.effects.append(_effect(one.changes[0], one.question, one.before, one.after))
            for change in one.changes if len(one.changes) > 1 else ():
                several.setdefault(change, []).append(one)
        for change, met in several.items():
            after = [catalog.expand(one.question.query) for one in met]
            catalog.use(self._without(change))
            for one, expansions in zip(met, after, strict=True):
                if catalog.expand(one.question.query) != expansions:
                    one.effects.append(_effect(change, one.question, self._ask(one.question), one.after))
            catalog.use(self._new)

    def _without(self, change: Change) -> Vocabulary:
        entries = list(self._new.entries)
        if change.added:
            entries = [one for one in entries if (one.key, one.source.pattern) != (change.key, change.pattern)]
        pairs = [Pair(one.asked, (one.source.written,), False, one.pair.line) for one in entries]
        if not change.added:
            pairs.append(Pair(change.asked, (change.source,), False, change.line))
        return Vocabulary(pairs, self._catalog.language, self._new.source_name)

    def _ask(self, question: Question) -> Answer:
        found = self._catalog.search(question.query, limit=DEPTH if question.grades else PAGE)
        return Answer([one.id for one in found.results], bool(found.results) and not found.relaxed)


def _change(added: bool, entry: Entry, vocabulary: Vocabulary) -> Change:
    return Change(
        added, entry.asked, entry.source.written, str(vocabulary.path or ""), entry.pair.line,
        entry.key, entry.source.pattern,
    )  # fmt: skip


def _effect(change: Change, question: Question, before: Answer, after: Answer) -> Effect:
    old, new = before.ids[:PAGE], after.ids[:PAGE]
    return Effect(
        change, [id for id in new if id not in old], [id for id in old if id not in new], before.kind, after.kind,
        bool(question.grades) and _gain(question, after) > _gain(question, before),
    )  # fmt: skip


def judged_questions(path: str) -> Iterator[Question]:
    """Yield the questions of a judged set; see `catalog_search.relevance.read_judged`."""
    for one in read_judged(path):
        yield Question(one.query, one.grades, path, one.line)


def logged_questions(path: str, column: str | None, bad: Callable[[BadLine], None]) -> Iterator[Question]:
    """Yield the questions of a log, each once, and give lines that hold none to `bad`; see `questionlog`."""
    seen: set[str] = set()
    first: BadLine | None = None
    number = 0
    for one in read_log(path, column):
        if isinstance(one, BadLine):
            first, number = first or one, number + 1
            bad(one)
        elif (key := normalize(one.query)) not in seen:
            seen.add(key)
            yield Question(one.query, {}, path, one.line)
    if first and not seen:
        raise without_question(path, number, first)


def refusals(compared: Sequence[Compared], allowed: Iterable[Change] = ()) -> list[Compared]:
    """Return the questions for which a change is refused: those that lose a right id, or are misled.

    A change may mislead some, HARM for each question that it makes better, itself and not what came with it.

    Args:
        compared: questions of judged sets.
        allowed: changes that may lose and mislead.
    """
    better = Counter(effect.change for one in compared for effect in one.effects if effect.better)
    misled = Counter(change for one in compared if one.misled for change in one.blamed())
    allowed = set(allowed)
    worth_it = {change for change, number in misled.items() if number <= HARM * better[change]}
    return [
        one
        for one in compared
        if (one.lost and not allowed.issuperset(one.blamed()))
        or (one.misled and not (allowed | worth_it).issuperset(one.blamed()))
    ]
