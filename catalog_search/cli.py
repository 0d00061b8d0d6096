"""The command line: parse, one public call, print."""

from __future__ import annotations

import io
import os
import sys
from typing import TYPE_CHECKING, Any

import click

from catalog_search.cli_suggest import vocab_learn, vocab_suggest
from catalog_search.cli_vocab import misses, vocab
from catalog_search.errors import CatalogSearchError
from catalog_search.options import as_json, database
from catalog_search.terminal import (
    count,
    for_the_shell,
    print_answer,
    print_figures,
    print_forgeries,
    print_json,
    print_report,
    print_worst,
    progress_bar,
    visible,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from catalog_search.catalog import Catalog
    from catalog_search.checking import Checked
    from catalog_search.d1check import Fitting

LONGEST_PAGE, FARTHEST = 1_000, 1_000_000


class Errors(click.Group):
    """A group whose commands end with one message and exit status 1 on a foreseen error."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)  # in the order of use

    def invoke(self, ctx: click.Context) -> Any:
        for stream in (sys.stdout, sys.stderr):
            # what the terminal's encoding does not have is written as its number, and is no error
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="backslashreplace")
        if os.environ.get("NO_COLOR"):
            ctx.color = False
        try:
            return super().invoke(ctx)
        except CatalogSearchError as problem:
            raise click.ClickException(visible(str(problem), keep="\n")) from None
        except BrokenPipeError:
            raise  # click ends quietly
        except OSError as problem:
            sys.stdout = io.StringIO()  # what is left in its buffer cannot be written either
            raise click.ClickException(f"the output cannot be written: {problem.strerror}") from None


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


over_d1 = click.option(
    "--d1", is_flag=True, help="DB is ACCOUNT/DATABASE of Cloudflare D1, asked with the token in CLOUDFLARE_API_TOKEN."
)


def opened(path: str, d1: bool = False) -> Catalog:
    from catalog_search.catalog import Catalog

    return Catalog.connect(d1_address(path)) if d1 else Catalog.open(path)


def d1_address(database: str) -> str:
    return f"d1://{database.removeprefix('d1://')}"


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

    with progress_bar("Reading", "rows", shown=not json_) as progress:
        report = build_catalog(settings, output, max_removed=max_removed, progress=progress)
    if json_:
        print_json(report.as_json())
    else:
        print_report(report)


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
    type=click.IntRange(0, FARTHEST),
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
@over_d1
@as_json
def search(
    database: str, question: str, limit: int, offset: int, where: tuple[str, ...], facets: tuple[str, ...],
    count_: bool, no_relax: bool, explain: bool, id_: str | None, d1: bool, json_: bool,
) -> None:  # fmt: skip
    """Answer a question.

    Every word of it must be met by a document, as it is, in the singular, or by the words that the vocabulary
    says the source uses. If none meets all, the nearest are shown, and what they lack. A question that begins
    with a dash stands after two dashes. Over D1 the first ten documents can be had, without facets, --count
    and --explain.

    \b
    Examples:
        catalog-search search oecd.db "labor force"
        catalog-search search oecd.db "labor force" --where agency=OECD.SDD.TPS --facet agency
        catalog-search search oecd.db "labor force" --explain --id DSD_ALFS@DF_SUMTAB
        catalog-search search oecd.db -- -5
    """
    if id_ is not None and not explain:
        raise click.UsageError("--id goes with --explain")
    if d1 and (where or facets or count_ or explain):
        raise click.UsageError("over D1 there are no --where, --facet, --count and --explain: they need the file")
    if d1:
        from catalog_search.remote import PAGE

        if limit + offset > PAGE:
            raise click.UsageError(f"over D1 a search gives the first {PAGE} documents: --limit + --offset is more")
    with opened(database, d1) as catalog:
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


@main.command()
@database
@click.argument("id_", metavar="ID")
@over_d1
@as_json
def fetch(database: str, id_: str, d1: bool, json_: bool) -> None:
    """Print a document, whole, with its source.

    As Markdown, to be read; with --json as an object with metadata and provenance.

    \b
    Example:
        catalog-search fetch oecd.db DSD_ALFS@DF_SUMTAB
    """
    with opened(database, d1) as catalog:
        document = catalog.fetch(id_)
        if json_:
            print_json(document.as_json())
        else:
            click.echo(visible(document.markdown(), keep="\n\t"), nl=False)


@main.command()
@database
@click.argument("question", required=False)
@click.option(
    "--dialect",
    type=click.Choice(["glob", "fts", "d1"]),
    help="By patterns on the columns, which is the default; by the index; or by the index within the limits of "
    "Cloudflare D1.",
)
@click.option("--ask", is_flag=True, help="The whole search as one statement; its parameter ?1 is the question.")
@click.option("--named", is_flag=True, help="With --ask: the parameter is :question, for Datasette.")
@as_json
def sql(database: str, question: str | None, dialect: str | None, ask: bool, named: bool, json_: bool) -> None:
    """Print the SQL of a question; it is not run.

    The statement, with its parameters, gives the whole strict answer, in the order of search. What is printed for
    a QUESTION can be given to the sqlite3 shell as it is. With --ask and no question: the statement that takes
    any question as its parameter, and gives the first ten documents; its first lines say how it is bound.

    \b
    Examples:
        catalog-search sql oecd.db "labor force" --dialect fts | sqlite3 oecd.db
        catalog-search sql oecd.db --ask > ask.sql
        sqlite3 oecd.db ".parameter set ?1 \\"'labor force'\\"" ".read ask.sql"
    """
    if (question is None) != ask or (named and not ask):
        raise click.UsageError("give a QUESTION, or --ask without one; --named goes with --ask")
    if ask and dialect is not None:
        raise click.UsageError("--dialect is for a QUESTION; the statement of --ask is one for every SQLite")
    from catalog_search.statements import BINDING, BINDING_NAMED

    with opened(database) as catalog:
        if question is None:
            statement = catalog.ask_statement(named=named)
            if json_:
                print_json({"sql": statement})
            else:
                click.echo(f"{BINDING_NAMED if named else BINDING}{statement};")
            return
        dialect = dialect or "glob"
        query = catalog.statement(question, dialect)
    if json_:
        print_json({"query": question, "dialect": dialect, "sql": query.sql, "parameters": list(query.parameters)})
    else:
        click.echo(for_the_shell(query))


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
@over_d1
@click.option("--target", type=click.Choice(["d1"]), help="Check instead whether it fits into Cloudflare D1.")
@as_json
def check(database: str, d1: bool, target: str | None, json_: bool) -> None:
    """Check a database, whole.

    The integrity of the file, its format, every normal form, its index, and that every way to ask gives the same
    answer; over D1, which bills rows read, by the number of each table's rows and samples. With --target d1: the
    length of every row and of the script that `export d1` would write, questions under D1's limits, and what they
    read there. Exit status 1 if there is a fault.
    """
    if target and d1:
        raise click.UsageError("--target is for a file; --d1 checks what is in D1 already")
    if target:
        from catalog_search.d1check import check_d1

        found: Checked | Fitting = check_d1(database)
    elif d1:
        from catalog_search.remotecheck import check as check_remote

        found = check_remote(d1_address(database))
    else:
        from catalog_search.checking import check as check_database

        found = check_database(database)
    if json_:
        print_json({"database": database, "ok": not found.faults, **found._asdict()})
    else:
        for line in found.checked:
            click.echo(f"{click.style('ok', fg='green')}     {visible(line)}")
        for line in found.faults:
            click.echo(f"{click.style('fault', fg='red')}  {visible(line)}")
    if found.faults:
        raise SystemExit(1)


# vocab ------------------------------------------------------------------------------------------------------

main.add_command(misses)
main.add_command(vocab)
vocab.add_command(vocab_suggest)
vocab.add_command(vocab_learn)


# evaluate -----------------------------------------------------------------------------------------------------


def floors(values: Iterable[str]) -> dict[str, float]:
    """Read `figure=number` options."""
    found = {}
    for value in values:
        name, _, number = value.partition("=")
        try:
            found[name.strip().lower()] = float(number)
        except ValueError:
            raise click.BadParameter(f"it is FIGURE=NUMBER, not “{value}”", param_hint="--fail-under") from None
    return found


@main.command()
@database
@click.argument("judged", metavar="JUDGED.jsonl", type=click.Path())
@click.option(
    "--limit",
    type=click.IntRange(1, 100),
    default=10,
    show_default=True,
    metavar="K",
    help="Judge the first K results.",
)
@click.option(
    "--worst", "worst_", type=click.IntRange(0), default=0, metavar="N", help="List the N questions answered worst."
)
@click.option("--fail-under", multiple=True, metavar="FIGURE=NUMBER", help="Exit 1 if a figure is below; repeatable.")
@as_json
def evaluate(database: str, judged: str, limit: int, worst_: int, fail_under: tuple[str, ...], json_: bool) -> None:
    """Measure a catalogue on judged questions.

    JUDGED.jsonl holds one question a line: {"query": "…", "ids": ["…"]}, or {"query": "…", "grades": {"…": 3}};
    lang and overlap, where given, sort the figures into classes.

    \b
    Examples:
        catalog-search evaluate oecd.db data/oecd/judged.jsonl --worst 5
        catalog-search evaluate oecd.db data/oecd/judged.jsonl --fail-under mrr@10=0.6
    """
    from catalog_search.relevance import ask_all, evaluation, read_judged, worst

    least = floors(fail_under)
    questions = list(read_judged(judged))
    with opened(database) as catalog, progress_bar("Asking", "questions", shown=not json_) as progress:
        outcomes = ask_all(catalog, questions, progress)
    figures = evaluation(outcomes, limit)
    for name in least:
        if not isinstance(figures.get(name), (int, float)):
            known = ", ".join(one for one in figures if not one.startswith("by_"))
            raise click.BadParameter(f"there is no figure “{name}”. Known: {known}", param_hint="--fail-under")
    failing = worst(outcomes, worst_, limit)
    if json_:
        print_json(figures | ({"worst": failing} if worst_ else {}))
    else:
        print_figures(figures)
        print_worst(failing)
    below = [f"{name} is {figures[name]}, below {number:g}" for name, number in least.items() if figures[name] < number]
    if below:
        raise click.ClickException("; ".join(below))


# export -----------------------------------------------------------------------------------------------------


@main.group()
def export() -> None:
    """Take a catalogue to Cloudflare."""


def a_name(context: click.Context, parameter: click.Parameter, value: str) -> str:
    if value == "-":
        raise click.BadParameter("nothing is written to standard output; “./-” is a file of that name")
    return value


@export.command("d1")
@database
@click.option(
    "-o", "--output", metavar="SEED.sql", type=click.Path(), required=True, callback=a_name, help="The file to write."
)
@click.option("--parts", is_flag=True, help="Write SEED.data.sql and SEED.index.sql, to be run in this order.")
@click.option(
    "--since", metavar="OLD.db", type=click.Path(), help="Write only what differs from the database exported before."
)
@as_json
def export_d1(database: str, output: str, parts: bool, since: str | None, json_: bool) -> None:
    """Write a catalogue as SQL for Cloudflare D1.

    Run on an empty database there, the script makes the same catalogue: every table, its indexes, and the
    full-text index. Equal databases give equal scripts. With --since it makes the new catalogue of the old one,
    and fails at once on a database that is not the old one. D1 bills the rows that it writes: some six for a
    changed title, more for a changed text, one for each word that came or went; a word that is new to the
    catalogue or gone from it writes two for each of its letters.

    \b
    Examples:
        catalog-search export d1 oecd.db -o seed.sql
        npx wrangler d1 execute oecd --remote --file seed.sql
        catalog-search export d1 new.db -o changes.sql --since oecd.db
    """
    from catalog_search.export import export_d1 as write_script

    if parts and since is not None:
        raise click.UsageError("what changed is one script: --since goes without --parts")
    written = write_script(database, output, parts=parts, since=since)
    if json_:
        print_json({"database": database, "files": [one._asdict() for one in written]})
    else:
        for one in written:
            click.echo(f"{visible(one.path)}: {count(one.statements, 'statement')}, {one.bytes:,} bytes")


@export.command("worker")
@database
@click.option(
    "-o", "--output", metavar="DIR", type=click.Path(), required=True, callback=a_name, help="The folder to write."
)
@as_json
def export_worker(database: str, output: str, json_: bool) -> None:
    """Write a Cloudflare Worker that serves a catalogue.

    MCP over HTTP, from D1, with the tools and answers of serve: one worker.js without dependencies, seed.sql for
    its database, wrangler.jsonc, and a README that says how to deploy it. A wrangler.jsonc that is there already
    stays, and so does every file that this command did not write: it ends with an error instead.

    \b
    Example:
        catalog-search export worker oecd.db -o oecd-worker
    """
    from catalog_search.worker import export_worker as write_worker

    written = write_worker(database, output)
    if json_:
        print_json({"database": database, "files": [{"path": one.path, "bytes": one.bytes} for one in written]})
    else:
        for one in written:
            click.echo(f"{visible(one.path)}: {one.bytes:,} bytes")


# forge --------------------------------------------------------------------------------------------------------


@main.command()
@database
@click.argument("question", required=False)
@click.option(
    "--count",
    "count_",
    type=click.IntRange(1, 100_000),
    default=1_000,
    show_default=True,
    metavar="N",
    help="How many items to forge.",
)
@click.option("--seed", type=int, default=0, show_default=True, metavar="N", help="Equal seeds forge equally.")
@as_json
def forge(database: str, question: str | None, count_: int, seed: int, json_: bool) -> None:
    """Forge answers, and see that verified_search drops them.

    Opens a chat endpoint on this machine that lies, asks verified_search with it for QUESTION, and counts which of
    the forged items come through, and which of the true ones among them do not. Exit status 1 if there is one.

    \b
    Example:
        catalog-search forge oecd.db "labor force"
    """
    from catalog_search.server.forge import forge as forge_items

    found = forge_items(database, question, count=count_, seed=seed)
    if json_:
        print_json(found.as_json())
    else:
        print_forgeries(found)
    if found.survived or found.true_kept < found.true:
        raise click.ClickException("verified_search let a forgery through, or dropped a true item")


# serve ------------------------------------------------------------------------------------------------------


@main.command(context_settings={"auto_envvar_prefix": "CATALOG_SEARCH_SERVE"})
@click.argument("databases", metavar="[DB]...", nargs=-1, type=click.Path())
@click.option("--config", metavar="SERVE.yaml", type=click.Path(), help="A file that says all this, and tokens.")
@click.option("--upstream", metavar="URL", help="Serve no catalogue: be a front for another MCP server's search tool.")
@click.option("--http", metavar="HOST:PORT", help="Listen there, over HTTP, instead of standard input and output.")
@click.option("--anonymous", is_flag=True, help="Over HTTP: answer whoever can reach it.")
@click.option(
    "--allow-host", "hosts", multiple=True, metavar="HOST", help="Over HTTP: a further name of this server; repeatable."
)
@click.option(
    "--allow-origin",
    "origins",
    multiple=True,
    metavar="ORIGIN",
    help="Over HTTP: a web page's origin that may address it; repeatable.",
)
@click.option("--qualified-ids", is_flag=True, help="Write ids as COLLECTION:ID also when there is one collection.")
@click.option(
    "--tools",
    metavar="all|NAMES",
    default="",
    help="Tools beside search and fetch: all, or some of search_evidence, read_document, list_collections, "
    "verified_search.",
)
@click.option("--locale", metavar="TAG", help="Language of titles and messages: en, pt-BR, es, fr or de.")
@click.option("--strict", is_flag=True, help="Refuse a call that is not in its canonical form.")
@click.option("--log-level", metavar="LEVEL", help="How much is logged: debug, info, warning or error.")
@click.option("--log-queries", metavar="FILE", type=click.Path(), help="Write every question into a file.")
@click.pass_context
def serve(
    context: click.Context, /, databases: tuple[str, ...], config: str | None, upstream: str | None, **options: Any
) -> None:
    """Serve catalogues to language models.

    MCP over standard input and output, or over HTTP. Two tools, search(query) and fetch(id), in the form that
    ChatGPT's deep research requires. Name this command in the client's settings; nothing but the protocol is written
    to standard output, and one line a call to standard error, without its question.

    --tools adds search_evidence, which quotes passages with their lines within a budget of characters;
    read_document, which reads a document line by line; list_collections, which says what there is; and
    verified_search, which answers in the caller's own JSON Schema and drops what no fetched source supports. It
    takes items from the documents' fields, or has the model extract them that LLM_BASE_URL, LLM_MODEL and
    LLM_API_KEY name in the environment: an OpenAI-compatible chat endpoint.

    A call with another tool's name, other keys or none is understood, and its answer ends with warnings that say
    how to call; --strict refuses it instead. The first catalogue's language is the default of --locale; the
    descriptions that models read are always English.

    Over HTTP it needs tokens, which SERVE.yaml has, or --anonymous. Every option can be set in the environment, as
    in CATALOG_SEARCH_SERVE_HTTP.

    --upstream puts a tool web_search(query) in front of another server's search tool: calls of any shape become one
    right call there, with the caller's Authorization as it came, and the result comes back before any warning. URL is
    the other server's, or stdio:COMMAND. Of the other options it has --config, --http, --tools and --log-level; its
    further settings are in SERVE.yaml or the environment.

    \b
    Examples:
        catalog-search serve oecd.db
        catalog-search serve oecd.db cnae.db --http 127.0.0.1:8787 --anonymous
        catalog-search serve --config serve.yaml
        catalog-search serve --upstream http://127.0.0.1:9000/mcp --http 127.0.0.1:8787
    """
    from catalog_search.server.upstream_settings import check_variables, load_upstream, names_upstream

    check_variables()
    if upstream or (config is not None and names_upstream(config)):
        own = {"http": "listen", "tools": "tools", "log_level": "log_level"}
        refused = [name for name in ("databases", *options) if name not in own and context.params[name]]
        if refused:
            (first, *_) = (one.get_error_hint(context) for one in context.command.params if one.name in refused)
            raise click.ClickException(f"{first} is for catalogues; with --upstream there is none")
        given = {"upstream": upstream, **{name: options[option] for option, name in own.items()}}
        settings = load_upstream(config, given=given)
        from catalog_search.server.fronting import serve_front

        serve_front(settings)
        return
    from catalog_search.server import serve
    from catalog_search.server.configuration import Configuration, load_configuration

    found = Configuration() if config is None else load_configuration(config)
    serve(found.over(databases, **options))


if __name__ == "__main__":
    main()
