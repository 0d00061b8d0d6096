"""The command line: parse, one public call, print."""

from __future__ import annotations

import json
import re
import sys
from typing import TYPE_CHECKING, Any

import click

from catalog_search.errors import CatalogSearchError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from catalog_search.builder import BuildReport
    from catalog_search.catalog import Catalog
    from catalog_search.query import Query
    from catalog_search.result import Result, SearchResult

LONGEST_PAGE = 1_000


class Errors(click.Group):
    """A group whose commands end with one message and exit status 1 on a foreseen error."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)  # in the order of use

    def invoke(self, ctx: click.Context) -> Any:
        for stream in (sys.stdout, sys.stderr):
            # what the terminal's encoding does not have is written as its number, and is no error
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="backslashreplace")
        try:
            return super().invoke(ctx)
        except CatalogSearchError as problem:
            raise click.ClickException(visible(str(problem), keep="\n")) from None


@click.group(
    "catalog-search", cls=Errors, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(package_name="catalog-search", prog_name="catalog-search")
def main() -> None:
    """Put a catalogue behind a question.

    Build a database from a catalogue's file, ask it in your own words, fetch what it found, and serve it to
    language models. Every command but serve has --json.

    \b
    Exit status: 0 done, also when nothing was found; 1 it could not be done; 2 it was asked for wrongly.
    """


as_json = click.option("--json", "json_", is_flag=True, help="Print one JSON object.")
database = click.argument("database", metavar="DB", type=click.Path())


# Control characters, line and paragraph separators, marks that turn the direction of writing, and halves of a
# code point: what could steer a terminal, or cannot be written to it.
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def print_json(value: object) -> None:
    utf = str(getattr(sys.stdout, "encoding", "utf-8")).lower().startswith("utf")
    text = json.dumps(value, ensure_ascii=not utf, indent=2)
    click.echo(_UNSAFE.sub(lambda match: match[0] if match[0] == "\n" else f"\\u{ord(match[0]):04x}", text))


def visible(text: str, keep: str = "") -> str:
    """Return text without what could steer a terminal: a space for a line's end or a tab, else a sign.

    >>> visible("Wages\\nby\\tsector\\x1b[2J")
    'Wages by sector�[2J'
    """
    return _UNSAFE.sub(lambda match: match[0] if match[0] in keep else " " if match[0].isspace() else "\ufffd", text)


def opened(path: str) -> Catalog:
    from catalog_search.catalog import Catalog

    return Catalog.open(path)


# build ------------------------------------------------------------------------------------------------------


@main.command()
@click.argument("settings", metavar="CATALOG.yaml", type=click.Path())
@click.option("-o", "--output", metavar="OUT.db", type=click.Path(), help="The file to write; <name>.db by default.")
@click.option(
    "--max-removed",
    metavar="N|N%",
    help="Refuse if more documents than that are gone against the old file, say 5 or 10%.",
)
@as_json
def build(settings: str, output: str | None, max_removed: str | None, json_: bool) -> None:
    """Build a catalogue's database, all or nothing.

    CATALOG.yaml says which file holds the catalogue, which of its columns become what, and which vocabulary
    translates the words people ask with. The old database stays until the new one is complete, and answers
    meanwhile.

    \b
    Example:
        catalog-search build data/oecd/catalog.yaml -o oecd.db
    """
    from catalog_search.builder import build as build_catalog

    with progress_bar(shown=not json_) as progress:
        report = build_catalog(settings, output, max_removed=max_removed, progress=progress)
    if json_:
        print_json(report.as_json())
    else:
        print_report(report)


class progress_bar:
    """A progress bar on a terminal, nothing when piped."""

    def __init__(self, *, shown: bool) -> None:
        self._bar: Any = None
        if shown and sys.stderr.isatty():
            self._bar = click.progressbar(length=1_000, label="Reading", file=sys.stderr)

    def __enter__(self) -> Callable[[float | None, int], None] | None:
        if self._bar is None:
            return None
        self._bar.__enter__()
        return self._moved

    def _moved(self, share: float | None, rows: int) -> None:
        self._bar.label = f"Reading {rows:,} rows"
        self._bar.update(max(0, int(1_000 * (share or 0)) - self._bar.pos))

    def __exit__(self, *error: Any) -> None:
        if self._bar is not None:
            self._bar.__exit__(*error)


def print_report(report: BuildReport) -> None:
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
            click.echo(f"    line {row['line']}: {visible(str(row['reason']))}")
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


# search -----------------------------------------------------------------------------------------------------


def conditions(values: Iterable[str]) -> dict[str, list[str]]:
    """Read `facet=value` options; a facet given twice may have either value."""
    where: dict[str, list[str]] = {}
    for value in values:
        name, equals, wanted = value.partition("=")
        if not equals:
            raise click.BadParameter(f"it is FACET=VALUE, not “{value}”", param_hint="--where")
        where.setdefault(name.strip(), []).append(wanted.strip())
    return where


@main.command()
@database
@click.argument("question")
@click.option(
    "--limit",
    type=click.IntRange(1, LONGEST_PAGE),
    default=10,
    show_default=True,
    metavar="N",
    help="How many results.",
)
@click.option(
    "--offset",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    metavar="N",
    help="How many to leave out before them.",
)
@click.option("--where", multiple=True, metavar="FACET=VALUE", help="Only documents with that value; repeatable.")
@click.option("--facet", "facets", multiple=True, metavar="FACET", help="Count the values of a facet; repeatable.")
@click.option("--count", "count_", is_flag=True, help="Count the answer exactly, to 10,000.")
@click.option("--no-relax", is_flag=True, help="Give nothing rather than documents that lack a term.")
@click.option("--explain", is_flag=True, help="Say for each result what matched where.")
@click.option(
    "--id", "id_", metavar="ID", help="With --explain: say why that document is among the results, or is not."
)
@as_json
def search(
    database: str, question: str, limit: int, offset: int, where: tuple[str, ...], facets: tuple[str, ...],
    count_: bool, no_relax: bool, explain: bool, id_: str | None, json_: bool,
) -> None:  # fmt: skip
    """Answer a question.

    Every word of it must be met by a document, as it is, in the singular, or by the words that the vocabulary
    says the source uses. If none meets all, the nearest are shown, and what they lack. A question that begins
    with a dash stands after two dashes.

    \b
    Examples:
        catalog-search search oecd.db "labor force"
        catalog-search search oecd.db "labor force" --where agency=OECD.SDD.TPS --facet agency
        catalog-search search oecd.db "labor force" --explain --id DSD_ALFS@DF_SUMTAB
        catalog-search search oecd.db -- -5
    """
    if id_ is not None and not explain:
        raise click.UsageError("--id goes with --explain")
    with opened(database) as catalog:
        if id_ is not None:
            reasons = catalog.explain(question, id_, where=conditions(where))
            if json_:
                print_json({"query": question, "id": id_, "explanation": reasons})
            else:
                click.echo("\n".join(map(visible, reasons)))
            return
        answer = catalog.search(
            question, limit=limit, offset=offset, where=conditions(where), facets=facets,
            count=count_, relax=not no_relax, explain=explain,
        )  # fmt: skip
        if json_:
            print_json(answer.as_json())
        else:
            print_answer(answer, offset)


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


@main.command()
@database
@click.argument("id_", metavar="ID")
@as_json
def fetch(database: str, id_: str, json_: bool) -> None:
    """Print a document, whole, with its source.

    As Markdown, to be read; with --json as an object with metadata and provenance.

    \b
    Example:
        catalog-search fetch oecd.db DSD_ALFS@DF_SUMTAB
    """
    with opened(database) as catalog:
        document = catalog.fetch(id_)
        if json_:
            print_json(document.as_json())
        else:
            click.echo(visible(document.markdown(), keep="\n\t"), nl=False)


@main.command()
@database
@click.argument("question")
@click.option(
    "--dialect",
    type=click.Choice(["glob", "fts"]),
    default="glob",
    show_default=True,
    help="By patterns on the columns, or by the index.",
)
@as_json
def sql(database: str, question: str, dialect: str, json_: bool) -> None:
    """Print the SQL of a question; it is not run.

    The statement, with its parameters, gives the whole strict answer, in the order of search. What is printed
    can be given to the sqlite3 shell as it is.

    \b
    Example:
        catalog-search sql oecd.db "labor force" --dialect fts | sqlite3 oecd.db
    """
    with opened(database) as catalog:
        query = catalog.statement(question, dialect)
    if json_:
        print_json({"query": question, "dialect": dialect, "sql": query.sql, "parameters": list(query.parameters)})
        return
    click.echo(for_the_shell(query))


def for_the_shell(query: Query) -> str:
    """Return a query as commands of the sqlite3 shell: its parameters, then the statement."""
    lines = [".parameter clear"]
    for number, value in enumerate(query.parameters, 1):
        literal = "'" + value.replace("'", "''") + "'"
        # the shell reads a backslash in double quotes as C does
        quoted = "".join(f"\\{ord(sign):03o}" if sign < " " or sign in '"\\' else sign for sign in literal)
        lines.append(f'.parameter set ?{number} "{quoted}"')
    return "\n".join([*lines, f"{query.sql};"])


# info, check ------------------------------------------------------------------------------------------------


@main.command()
@database
@as_json
def info(database: str, json_: bool) -> None:
    """Print what the catalogue is and how large."""
    with opened(database) as catalog:
        found = catalog.describe()
    if json_:
        print_json(found)
        return
    width = max(map(len, found))
    for name, value in found.items():
        shown = (
            ", ".join(map(str, value)) if isinstance(value, list) else f"{value:,}" if isinstance(value, int) else value
        )
        click.echo(f"{name:<{width}}  {visible(str(shown))}")


@main.command()
@database
@as_json
def check(database: str, json_: bool) -> None:
    """Check a database, whole.

    The integrity of the file, its format, every normal form, its index, and that every way to ask gives the same
    answer. Exit status 1 if there is a fault.
    """
    from catalog_search.checking import check as check_database

    found = check_database(database)
    if json_:
        print_json({"database": database, "ok": not found.faults, "checked": found.checked, "faults": found.faults})
    else:
        for line in found.checked:
            click.echo(f"{click.style('ok', fg='green')}     {visible(line)}")
        for line in found.faults:
            click.echo(f"{click.style('fault', fg='red')}  {visible(line)}")
    if found.faults:
        raise SystemExit(1)


# vocab ------------------------------------------------------------------------------------------------------


@main.group()
def vocab() -> None:
    """Measure the vocabulary: what each pair adds to the answers."""


@vocab.command("measure")
@database
@click.argument("vocabulary", metavar="[VOCAB.yaml]", type=click.Path(), required=False)
@as_json
def vocab_measure(database: str, vocabulary: str | None, json_: bool) -> None:
    """Count each pair on a catalogue and judge it.

    Without a file, the pairs that the database was built with. Counts are documents, taken from the index:
    that hold the asked word, that hold one of the source's words, and what the pair gains.
    """
    from catalog_search.measure import measure_database

    pairs = [one.as_json(vocabulary) for one in measure_database(database, vocabulary)]
    if json_:
        print_json({"database": database, "vocabulary": vocabulary, "pairs": pairs})
    else:
        print_pairs(pairs)
        ok = sum(one["verdict"] == "ok" for one in pairs)
        click.secho(f"{count(len(pairs), 'pair')}, {ok} ok", dim=True)


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


# serve ------------------------------------------------------------------------------------------------------


@main.command()
@database
def serve(database: str) -> None:
    """Serve a catalogue to language models.

    MCP over standard input and output. Two tools, search(query) and fetch(id), in the form that ChatGPT's deep
    research requires. Name this command in the client's settings; nothing but the protocol is written to
    standard output.
    """
    from catalog_search.server import serve_stdio

    serve_stdio(database)


if __name__ == "__main__":
    main()
