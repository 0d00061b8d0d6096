"""What the command line prints: JSON, reports, answers and tables, safe for a terminal, plain when piped."""

from __future__ import annotations

import json
import re
import sys
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from catalog_search.builder import BuildReport
    from catalog_search.query import Query
    from catalog_search.result import Result, SearchResult
    from catalog_search.server.forge import Forgeries

# Control characters, line and paragraph separators, marks that turn the direction of writing, and halves of a
# code point: what could steer a terminal, or cannot be written to it.
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def print_json(value: object) -> None:
    utf = str(getattr(sys.stdout, "encoding", "utf-8")).lower().startswith("utf")
    text = json.dumps(value, ensure_ascii=not utf, indent=2)
    click.echo(_UNSAFE.sub(lambda match: match[0] if match[0] == "\n" else f"\\u{ord(match[0]):04x}", text))


LONGEST_IN_LINE = 200
"""Characters of a question, or of a reason, that are shown."""


def visible(text: str, keep: str = "") -> str:
    """Return text without what could steer a terminal: a space for a line's end or a tab, else a sign.

    >>> visible("Wages\\nby\\tsector\\x1b[2J")
    'Wages by sector�[2J'
    """
    return _UNSAFE.sub(lambda match: match[0] if match[0] in keep else " " if match[0].isspace() else "\ufffd", text)


def in_line(text: str) -> str:
    """Return text of any length as it is shown in one line: its beginning, as `visible` shows it.

    >>> len(in_line("wages " * 100_000))
    200
    """
    return visible(text if len(text) <= LONGEST_IN_LINE else f"{text[: LONGEST_IN_LINE - 1]}…")


class progress_bar:
    """A progress bar on a terminal, nothing when piped."""

    def __init__(self, label: str, noun: str, *, shown: bool) -> None:
        self._bar: Any = None
        self._label, self._noun = label, noun
        if shown and sys.stderr.isatty():
            self._bar = click.progressbar(length=1_000, label=label, file=sys.stderr)

    def __enter__(self) -> Callable[[float | None, int], None] | None:
        if self._bar is None:
            return None
        self._bar.__enter__()
        return self._moved

    def _moved(self, share: float | None, rows: int) -> None:
        self._bar.label = f"{self._label} {rows:,} {self._noun}"
        self._bar.update(max(0, int(1_000 * (share or 0)) - self._bar.pos))

    def __exit__(self, *error: Any) -> None:
        if self._bar is not None:
            self._bar.__exit__(*error)


def print_report(report: BuildReport) -> None:
    from catalog_search.drafts import place_of  # loaded by the build itself

    click.secho(f"{report.path}", bold=True, nl=False)
    click.echo(f": {count(report.documents, 'document')}, {report.size:,} bytes, {report.seconds:.1f} s")
    click.echo(f"  added {report.added:,}, changed {report.changed:,}, removed {report.removed:,}")
    for note in report.notes:
        click.echo(f"  {visible(note)}")
    if report.without_url:
        click.secho(
            f"  {count(report.without_url, 'document')} without url: they cannot be cited as links",
            fg="yellow",
        )
    if report.ragged_lines:
        rows, lines = count(len(report.ragged_lines), "row"), some(report.ragged_lines)
        click.secho(f"  {rows} with surplus or missing cells: lines {lines}", fg="yellow")
    if report.skipped:
        click.secho(f"  {count(len(report.skipped), 'row')} left out:", fg="yellow")
        for row in report.skipped[:20]:
            click.echo(f"    {visible(place_of(row))}: {visible(str(row['reason']))}")
        if len(report.skipped) > 20:
            click.echo(f"    and {len(report.skipped) - 20} more")
    if report.duplicates:
        ids = some([str(one["id"]) for one in report.duplicates])
        click.secho(f"  {count(len(report.duplicates), 'id')} given more than once: {visible(ids)}", fg="yellow")
    if report.vocabulary:
        faults = [one for one in report.vocabulary if one["verdict"] != "ok"]
        click.echo(f"  vocabulary: {count(len(report.vocabulary), 'pair')}, {len(report.vocabulary) - len(faults)} ok")
        print_pairs(faults)
    click.echo(f"  content hash {report.content_hash}")


def count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def some(values: Sequence[object], most: int = 10) -> str:
    shown = ", ".join(map(str, values[:most]))
    return f"{shown} and {len(values) - most} more" if len(values) > most else shown


def print_answer(answer: SearchResult, offset: int) -> None:
    for note in answer.notes:
        click.secho(visible(note), fg="yellow" if answer.relaxed or answer.reason else None, dim=not answer.relaxed)
    if answer.notes and answer.results:
        click.echo()
    for place, result in enumerate(answer.results, offset + 1):
        click.echo(f"{place:>3}. ", nl=False)
        click.echo(highlighted(result, result.title, "title"), nl=False)
        click.secho(f"  {visible(result.id)}", fg="cyan")
        if result.url:
            click.secho(f"     {visible(result.url)}", dim=True)
        if result.excerpt:
            click.echo(f"     {highlighted(result, result.excerpt, 'text', 'keywords')}")
        if result.missing:
            click.secho(f"     without: {visible(', '.join(result.missing))}", fg="yellow")
        for reason in result.explanation or ():
            click.echo(f"     - {visible(reason)}")
    if answer.total and not answer.results:
        click.secho(f"{count(answer.total, 'document')} in all, none after the first {offset:,}", fg="yellow")
    if answer.results:
        more = "" if answer.total_relation == "eq" else "at least "
        click.secho(f"\n{more}{count(answer.total, 'document')}", dim=True)
    for facet, values in answer.facets.items():
        click.secho(f"\n{facet}", bold=True)
        width = max((len(f"{number:,}") for number in values.values()), default=0)
        for value, number in values.items():
            click.echo(f"  {number:>{width},}  {visible(value)}")


def highlighted(result: Result, text: str, *fields: str) -> str:
    """Return text for a terminal, the words that matched in these fields in bold."""
    text = visible(text)
    out, end = [], 0
    for start, stop in result.spans(text, *fields):
        out += [text[end:start], click.style(text[start:stop], bold=True, fg="green")]
        end = stop
    return "".join(out) + text[end:]


def for_the_shell(query: Query) -> str:
    """Return a query as commands of the sqlite3 shell: its parameters, then the statement."""
    lines = [".parameter clear"]
    for number, value in enumerate(query.parameters, 1):
        literal = "'" + value.replace("'", "''") + "'"
        # the shell reads a backslash in double quotes as C does
        quoted = "".join(f"\\{ord(sign):03o}" if sign < " " or sign in '"\\' else sign for sign in literal)
        lines.append(f'.parameter set ?{number} "{quoted}"')
    return "\n".join([*lines, f"{query.sql};"])


def print_pairs(pairs: Sequence[dict[str, Any]]) -> None:
    """Print pairs as a table."""
    if not pairs:
        return
    rows = [
        (
            visible(str(one["asked"])), visible(", ".join(one["source"])), f"{one['asked_documents']:,}",
            f"{one['source_documents']:,}", f"{one['gain']:,}", one["verdict"],
            visible(f"{one['detail']} (line {one['line']})" if one["detail"] else ""),
        )
        for one in pairs
    ]  # fmt: skip
    head = ("asked", "source", "asked", "source", "gain", "verdict", "")
    widths = [max(len(row[place]) for row in (head, *rows)) for place in range(len(head) - 1)]
    for number, row in enumerate((head, *rows)):
        cells = [
            f"{cell:>{widths[place]}}" if place in (2, 3, 4) else f"{cell:<{widths[place]}}"
            for place, cell in enumerate(row[:-1])
        ]
        line = "  ".join([*cells, row[-1]]).rstrip()
        click.secho(f"  {line}", bold=number == 0, fg="yellow" if number and row[5] != "ok" else None)


def table(head: Sequence[str], rows: Sequence[Sequence[str]], right: Iterable[int], notes: Sequence[str] = ()) -> None:
    """Print rows of text as a table.

    Args:
        head: the names of the columns.
        rows: as long as the head.
        right: places of the columns that are set to the right.
        notes: for each row what is said below it, "" for nothing.
    """
    if not rows:
        return
    shown = [[visible(cell) for cell in row] for row in (head, *rows)]
    widths = [max(len(row[place]) for row in shown) for place in range(len(head))]
    places = set(right)
    for number, row in enumerate(shown):
        cells = [
            f"{cell:>{width}}" if place in places else f"{cell:<{width}}"
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        click.secho(f"  {'  '.join(cells)}".rstrip(), bold=number == 0)
        if number and notes and notes[number - 1]:
            click.secho(f"      {visible(notes[number - 1])}", fg="yellow")


def print_forgeries(found: Forgeries) -> None:
    """Print what became of forged items, as a table, and one of them."""
    head = ("forged", "items", "dropped", "survived", "reason")
    rows = [
        (
            kind.name,
            f"{kind.forged:,}",
            f"{kind.forged - kind.survived:,}",
            f"{kind.survived:,}",
            ", ".join(kind.reasons),
        )
        for kind in found.kinds
    ]
    width = max(len(row[0]) for row in (head, *rows))
    for number, row in enumerate((head, *rows)):
        line = f"  {row[0]:<{width}}  {row[1]:>6}  {row[2]:>7}  {row[3]:>8}  {row[4]}"
        click.secho(line.rstrip(), bold=number == 0, fg="red" if number and row[3] != "0" else None)
    if found.example:
        item = json.dumps(found.example["item"], ensure_ascii=False)
        click.echo(f"\nOne of them: {visible(item)}\n  {found.example['reason']}: {visible(found.example['message'])}")
    click.echo(
        f"\n“{visible(found.question)}”, {count(found.sources, 'source')}: {found.survived:,} of {found.forged:,} "
        f"forged items survived; {found.true_kept:,} of {found.true:,} true ones among them were kept."
    )


def print_figures(figures: dict[str, Any]) -> None:
    """Print an evaluation: the figures of all questions, and of each class, as a table."""
    names = [name for name in figures if not name.startswith("by_")]
    classes = [("all", figures)]
    for by in ("by_language", "by_overlap"):
        classes += list(figures[by].items())
    width = max(len(name) for name, _ in classes)
    click.secho(f"{'':<{width}}  {'  '.join(f'{name:>10}' for name in names)}", bold=True)
    for name, values in classes:
        cells = [f"{values[one]:>10,}" if one == "queries" else f"{values[one]:>10.4f}" for one in names]
        click.echo(f"{visible(name):<{width}}  {'  '.join(cells)}")


def print_worst(questions: Sequence[dict[str, Any]]) -> None:
    """Print the questions that were answered worst, with what came instead."""
    for one in questions:
        rank = f"rank {one['rank']}" if one["rank"] else "not found"
        click.secho(f"\n{visible(one['query'])}", bold=True, nl=False)
        click.secho(f"  line {one['line']}, right: {visible(some(one['ids'], 3))}, {rank}", dim=True)
        for result in one["returned"]:
            click.echo(f"  {visible(result['title'])}  {click.style(visible(result['id']), fg='cyan')}")
