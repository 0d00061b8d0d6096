"""A judged set → how well a catalogue answers it.

A judged set is JSON Lines: `{"query": "heart attack", "ids": ["I21"]}`, or with grades,
`{"query": "…", "grades": {"I21": 3, "I22": 1}}`; `lang` and `overlap` sort the figures into classes.

    hit@k      share of questions with a right document among the first k
    mrr@k      mean of 1/rank of the first right document, 0 beyond k
    ndcg@k     discounted gain over that of the best order; the gain is the grade, the discount log2(1 + rank)
    recall@100 mean share of a question's right documents among the first 100
    relaxed    share answered by the nearest documents only
    empty      share without any result

Source: Järvelin and Kekäläinen 2002 for the discounted gain, with the gains and discounts of trec_eval.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any, NamedTuple

from catalog_search.errors import SourceError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from catalog_search.catalog import Catalog

DEPTH = 100


class Judged(NamedTuple):
    """A question with its right documents."""

    query: str
    grades: dict[str, float]
    """Id → how right, above 0."""
    language: str
    overlap: str
    line: int


class Outcome(NamedTuple):
    """What a catalogue returned for a judged question."""

    judged: Judged
    ids: list[str]
    titles: list[str]
    relaxed: bool

    def rank(self, limit: int) -> int:
        """Return the rank of the first right document, from 1; 0 if none is among the first `limit`."""
        return next((place for place, id in enumerate(self.ids[:limit], 1) if id in self.judged.grades), 0)

    def gain(self, limit: int) -> float:
        """Return the normalized discounted cumulative gain of the first `limit`."""
        grades = self.judged.grades
        found = _discounted([grades.get(id, 0.0) for id in self.ids[:limit]])
        return found / _discounted(sorted(grades.values(), reverse=True)[:limit])

    def recall(self) -> float:
        """Return the share of the right documents that are among the first 100."""
        return len(self.judged.grades.keys() & set(self.ids)) / len(self.judged.grades)


def read_judged(path: str) -> Iterator[Judged]:
    """Yield the questions of a judged set.

    Raises:
        SourceError: with file and line, when a line is no judged question.
    """
    try:
        with open(path, encoding="utf-8-sig") as file:
            for line, text in enumerate(file, 1):
                if text.strip():
                    yield _judged(text, line, path)
    except OSError as problem:
        raise SourceError(f"cannot be read: {problem.strerror or problem}", path=path) from None
    except UnicodeDecodeError:
        raise SourceError("is not UTF-8; save it as UTF-8", path=path) from None


def _judged(text: str, line: int, path: str) -> Judged:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as problem:
        raise SourceError(f"not JSON: {problem}", path=path, line=line) from None
    if not isinstance(value, dict) or not isinstance(value.get("query"), str):
        raise SourceError('needs "query", a text, and "ids" or "grades"', path=path, line=line)
    grades = value.get("grades")
    if grades is None and isinstance(value.get("ids"), list):
        grades = {str(id): 1 for id in value["ids"]}
    kept = {}
    if isinstance(grades, dict) and all(map(_is_grade, grades.values())):
        kept = {str(id): float(grade) for id, grade in grades.items() if grade > 0}
    if not kept:
        raise SourceError('needs "ids", a list, or "grades", {id: number}, with a right document', path=path, line=line)
    return Judged(value["query"], kept, str(value.get("lang", "")), str(value.get("overlap", "")), line)


def _is_grade(value: object) -> bool:
    return isinstance(value, (int, float)) and math.isfinite(value)


def ask_all(
    catalog: Catalog, judged: Sequence[Judged], progress: Callable[[float | None, int], None] | None = None
) -> list[Outcome]:
    """Ask every question of a judged set, to a depth of 100 results.

    Args:
        catalog: what is asked.
        judged: the questions.
        progress: called after each question with the share that is done and the number.
    """
    outcomes = []
    for number, one in enumerate(judged, 1):
        answer = catalog.search(one.query, limit=DEPTH)
        ids = [result.id for result in answer.results]
        titles = [result.title for result in answer.results[:10]]
        outcomes.append(Outcome(one, ids, titles, answer.relaxed))
        if progress:
            progress(number / len(judged), number)
    return outcomes


def figures(outcomes: Sequence[Outcome], limit: int = 10) -> dict[str, float]:
    """Return the figures of outcomes: `queries` is their number, all else a share or a mean.

    Raises:
        SourceError: there is no outcome.

    >>> judged = Judged("wages", {"2": 1.0}, "en", "", 1)
    >>> found = figures([Outcome(judged, ["1", "2"], ["Rents", "Wages"], False)])
    >>> found["hit@1"], found["hit@10"], found["mrr@10"], found["ndcg@10"]
    (0.0, 1.0, 0.5, 0.6309)
    """
    if not outcomes:
        raise SourceError("the judged set holds no question")
    ranks = [one.rank(limit) for one in outcomes]
    sums = {
        "hit@1": sum(rank == 1 for rank in ranks),
        f"hit@{limit}": sum(rank > 0 for rank in ranks),
        f"mrr@{limit}": sum(1 / rank for rank in ranks if rank),
        f"ndcg@{limit}": sum(one.gain(limit) for one in outcomes),
        f"recall@{DEPTH}": sum(one.recall() for one in outcomes),
        "relaxed": sum(one.relaxed for one in outcomes),
        "empty": sum(not one.ids for one in outcomes),
    }
    return {"queries": len(outcomes)} | {name: round(value / len(outcomes), 4) for name, value in sums.items()}


def evaluation(outcomes: Sequence[Outcome], limit: int = 10) -> dict[str, Any]:
    """Return the figures of all outcomes and of each language and overlap class."""
    by = {
        "by_language": _classes(outcomes, limit, lambda one: one.judged.language),
        "by_overlap": _classes(outcomes, limit, lambda one: one.judged.overlap),
    }
    return {**figures(outcomes, limit), **by}


def _classes(outcomes: Sequence[Outcome], limit: int, key: Callable[[Outcome], str]) -> dict[str, dict[str, float]]:
    names = sorted({key(one) for one in outcomes} - {""})
    return {name: figures([one for one in outcomes if key(one) == name], limit) for name in names}


def worst(outcomes: Sequence[Outcome], number: int, limit: int = 10) -> list[dict[str, Any]]:
    """Return the questions whose right documents come latest or not at all, with what came instead."""
    late = [one for one in outcomes if one.rank(1) != 1]
    late.sort(key=lambda one: -(one.rank(DEPTH) or DEPTH + 1))
    return [
        {
            "query": one.judged.query,
            "ids": list(one.judged.grades),
            "rank": one.rank(DEPTH) or None,
            "relaxed": one.relaxed,
            "returned": [{"id": id, "title": title} for id, title in zip(one.ids[:3], one.titles[:3], strict=True)],
            "line": one.judged.line,
        }
        for one in late[:number]
    ]


def _discounted(gains: Iterable[float]) -> float:
    return sum(gain / math.log2(place + 1) for place, gain in enumerate(gains, 1))
