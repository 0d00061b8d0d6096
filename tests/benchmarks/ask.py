"""The search as one statement, sql/ask.sql, beside Catalog.search, over the judged sets.

    python tests/benchmarks/ask.py --data ../shared/data
    python tests/benchmarks/ask.py --only cid10 country

Their strict answers must be equal. The relaxed ones follow two rules: the table says how often the two agree that an
answer is relaxed, who has the right document among the first ten, and what it costs. The median of the statement's
times must be ten times that of Catalog.search at most, over the questions of a run; each line below the table says
whether what it demands is met, and the exit status is 1 if one is not.
"""

from __future__ import annotations

import argparse
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from relevance import SETS, built, judged_of
from report import DATA, progress, table, write

from catalog_search import Catalog
from catalog_search.relevance import Judged
from catalog_search.statements import statement

MOST = 10
"""How many times the median of Catalog.search's times that of the statement's may be."""


def main() -> None:
    arguments = parser().parse_args()
    if not (arguments.data / "evals").is_dir():
        sys.exit(f"{arguments.data / 'evals'} is no folder; name the one that holds evals and catalogues with --data")
    chosen = [one for one in SETS if not arguments.only or any(name in one.name for name in arguments.only)]
    if not chosen:
        sys.exit(f"no set has that in its name; they are: {', '.join(one.name for one in SETS)}")
    measured = []
    with tempfile.TemporaryDirectory(prefix="ask-") as folder:
        for one in chosen:
            progress(one.name)
            measured.append(measure(one.name, built(one, arguments.data, Path(folder)), judged_of(one, arguments.data)))
    markdown = report(measured)
    print(markdown)
    write(arguments.out, "ask", markdown, {"sets": measured})
    if not all(met for _, met in demands(measured)):
        sys.exit(1)


def demands(measured: Sequence[dict[str, Any]]) -> list[tuple[str, bool]]:
    """Return what is demanded of all sets together, with the figure, and whether it is met."""
    differences = sum(one["strict_differences"] for one in measured)
    every = {who: [time for one in measured for time in one["ms"][who]] for who in ("search", "ask")}
    search, ask = (statistics.median(every[who]) for who in ("search", "ask"))
    return [
        (f"strict answers that differ: {differences}, of 0", not differences),
        (
            f"median of {len(every['ask']):,} questions: ask.sql {ask:.2f} ms, search {search:.2f} ms, "
            f"{ask / search:.1f} times, of {MOST}",
            ask <= MOST * search,
        ),
    ]


def parser() -> argparse.ArgumentParser:
    said, _, more = str(__doc__).partition("\n\n")
    found = argparse.ArgumentParser(description=said, epilog=more, formatter_class=argparse.RawTextHelpFormatter)
    found.add_argument("--data", type=Path, default=DATA, help="the folder with evals/ and catalogues/\n(%(default)s)")
    found.add_argument("--only", nargs="+", metavar="SET", default=[], help="only sets with this in their name")
    found.add_argument("--out", type=Path, metavar="DIR", help="write ask.md and ask.json there")
    return found


def measure(name: str, path: Path, judged: Sequence[Judged]) -> dict[str, Any]:
    """Return the figures of a set: agreement, hit@10 of relaxed answers, milliseconds."""
    sql = statement("ask")
    flags = differences = 0
    hits: dict[str, list[bool]] = {"search": [], "ask": []}
    seconds: dict[str, list[float]] = {"search": [], "ask": []}
    with closing(sqlite3.connect(path)) as connection, Catalog.open(path) as catalog:
        connection.execute(sql, ("",)).fetchall()
        for one in judged:
            began = time.perf_counter()
            answer = catalog.search(one.query)
            between = time.perf_counter()
            rows = connection.execute(sql, (one.query,)).fetchall()
            seconds["search"].append(between - began)
            seconds["ask"].append(time.perf_counter() - between)
            relaxed = any(row[3] for row in rows)
            if relaxed != answer.relaxed or bool(rows) != bool(answer.results):
                flags += 1
                progress(
                    f"  the flag differs: {one.query!r} ({answer.relaxed}, {answer.reason}; {len(rows)}, {relaxed})"
                )
            ids = {"search": [result.id for result in answer.results], "ask": [row[0] for row in rows]}
            if not answer.relaxed and not relaxed:
                differences += ids["search"] != ids["ask"]
            elif answer.relaxed:
                for who, found in ids.items():
                    hits[who].append(not one.grades.keys().isdisjoint(found))
    return {
        "name": name,
        "questions": len(judged),
        "relaxed": len(hits["search"]),
        "strict_differences": differences,
        "flag_differences": flags,
        "hit@10": {who: sum(found) / len(found) if found else None for who, found in hits.items()},
        "median_ms": {who: statistics.median(taken) * 1e3 for who, taken in seconds.items()},
        "ms": {who: [round(one * 1e3, 3) for one in taken] for who, taken in seconds.items()},
    }


def report(measured: Sequence[dict[str, Any]]) -> str:
    """Return the table as Markdown."""

    def share(value: float | None) -> str:
        return "–" if value is None else f"{value:.3f}"

    rows = [
        [
            one["name"], one["questions"], one["strict_differences"], one["flag_differences"], one["relaxed"],
            share(one["hit@10"]["search"]), share(one["hit@10"]["ask"]),
            f"{one['median_ms']['search']:.2f}", f"{one['median_ms']['ask']:.2f}",
            f"{one['median_ms']['ask'] / one['median_ms']['search']:.1f}",
        ]
        for one in measured
    ]  # fmt: skip
    head = ["set", "questions", "strict differ", "flag differs", "relaxed", "hit@10 search", "hit@10 ask.sql",
            "search, median ms", "ask.sql, median ms", "times"]  # fmt: skip
    return "\n\n".join([
        "# One statement beside Catalog.search",
        "hit@10 of the questions whose answer is relaxed, language pack alone, no vocabulary.",
        table(head, rows),
        "\n".join(f"- {said}: {'met' if met else 'not met'}" for said, met in demands(measured)),
    ])  # fmt: skip


if __name__ == "__main__":
    main()
