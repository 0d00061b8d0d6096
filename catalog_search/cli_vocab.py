"""The commands of a vocabulary: measured, linted, compared, defended. What they mean is in the modules above."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from catalog_search.options import as_json, database
from catalog_search.terminal import count, in_line, print_json, print_pairs, progress_bar, some, visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from catalog_search.compare import Change, Compared, Comparison, Effect
    from catalog_search.questionlog import BadLine
    from catalog_search.trial import Trial

SHOWN = 20
"""So many lines, or questions of a change, are shown; --json has all."""
NAMED = 3
"""So many ids of a question."""

vocabulary_file = click.argument("vocabulary", metavar="VOCAB.yaml", type=click.Path())


def opened(path: str) -> Trial:
    from catalog_search.trial import Trial

    return Trial.open(path)


@click.command()
@click.argument("log", metavar="LOG", type=click.Path())
@click.option("--db", metavar="DB", type=click.Path(), help="The catalogue; without it, what the log says counts.")
@click.option("--column", metavar="NAME", help="The member or column that holds the question.")
@click.option("--redact", is_flag=True, help="Print single words, never a question, and none with a digit.")
@as_json
def misses(log: str, db: str | None, column: str | None, redact: bool, json_: bool) -> None:
    """List what was asked in vain.

    LOG is what “serve --log-queries” wrote, or any JSON Lines or CSV file with a column of questions: query,
    question, q, search_query, search_term, search, keyword or text, unless --column names it. Questions
    without a strict answer are folded, grouped and counted, with the words that occur nowhere in the catalogue
    and the nearest words that do. Lines that hold no question are named and left out.

    \b
    Examples:
        catalog-search misses queries.jsonl --db oecd.db
        catalog-search misses queries.jsonl --db oecd.db --redact --json
    """
    from contextlib import nullcontext

    from catalog_search.misses import find_misses

    with opened(db) if db else nullcontext() as catalog:
        with progress_bar("Reading", "lines", shown=not json_) as progress:
            found = find_misses(log, catalog, column, progress)
        listed = found.words() if redact else found.misses
    name = "word" if redact else "query"
    if json_:
        print_json({
            "log": log, "database": db, "questions": found.questions, "distinct": found.distinct,
            "missed": found.missed, "untold": found.untold,
            "misses": [{name: one.query, "count": one.count, "unknown": one.unknown} for one in listed],
            "bad": found.bad,
            "bad_lines": [{"file": log, **one._asdict()} for one in found.bad_lines],
        })  # fmt: skip
        return
    print_bad_lines([(log, one) for one in found.bad_lines], found.bad)
    width = max((len(f"{one.count:,}") for one in listed), default=0)
    for one in listed:
        click.echo(f"  {one.count:>{width},}  {in_line(one.query)}", nl=False)
        near = [
            f"{in_line(word)}: {', '.join(words)}" if words else in_line(word) for word, words in one.unknown.items()
        ]
        click.secho(f"  ({visible('; '.join(near))})" if near else "", dim=True)
    told = f", {found.untold:,} of which the log does not say whether they had results" if found.untold else ""
    click.secho(f"{count(found.questions, 'question')}, {found.missed:,} without a strict answer{told}", dim=True)


def print_bad_lines(lines: Sequence[tuple[str, BadLine]], total: int) -> None:
    """Name the first lines of logs that hold no question, on standard error."""
    for log, one in lines[:SHOWN]:
        click.secho(f"{visible(log)}, line {one.line}: {in_line(one.reason)}", fg="yellow", err=True)
    if total > SHOWN:
        click.secho(f"and {total - SHOWN:,} more lines without a question", fg="yellow", err=True)


@click.group()
def vocab() -> None:
    """Measure, check and defend the vocabulary."""


@vocab.command("measure")
@database
@click.argument("vocabulary", metavar="[VOCAB.yaml]", type=click.Path(), required=False)
@click.option("--write", is_flag=True, help="Bring the counts and dates that VOCAB.yaml states up to date.")
@as_json
def vocab_measure(database: str, vocabulary: str | None, write: bool, json_: bool) -> None:
    """Count each pair on a catalogue and judge it.

    Without a file, the pairs that the database was built with. Counts are documents, taken from the index:
    that hold the asked word, that hold one of the source's words, and what the pair gains.

    With --write the numbers that the file states under “measured” are written anew in their places: asked,
    source, gain, a source's word, and the date under “on”. Nothing else of the file changes.

    \b
    Examples:
        catalog-search vocab measure oecd.db
        catalog-search vocab measure oecd.db --write vocab/catalogs/oecd.yaml
    """
    from catalog_search.measure import measure_database

    if write and vocabulary is None:
        raise click.UsageError("--write goes with VOCAB.yaml")
    pairs = [one.as_json(vocabulary) for one in measure_database(database, vocabulary)]
    written = []
    if write and vocabulary is not None:
        from catalog_search.recount import recount

        with opened(database) as catalog, catalog.errors():
            written = recount(catalog.connection(), vocabulary, catalog.language.tag)
    if json_:
        wrote = {"written": [one._asdict() for one in written]} if write else {}
        print_json({"database": database, "vocabulary": vocabulary, "pairs": pairs, **wrote})
    elif write:
        for one in written:
            click.echo(visible(f"{vocabulary}:{one.line}: “{one.asked}” {one.key}: {one.before} → {one.after}"))
        click.secho(f"{count(len(pairs), 'pair')}, {count(len(written), 'number')} written", dim=True)
    else:
        print_pairs(pairs)
        ok = sum(one["verdict"] == "ok" for one in pairs)
        click.secho(f"{count(len(pairs), 'pair')}, {ok} ok", dim=True)


@vocab.command("lint")
@vocabulary_file
@click.option("--db", metavar="DB", type=click.Path(), help="A catalogue, for what only a catalogue shows.")
@as_json
def vocab_lint(vocabulary: str, db: str | None, json_: bool) -> None:
    """Find what is wrong with a vocabulary's file.

    Unknown keys, pairs that are empty, lead to themselves, are said twice or go round in a circle, and other
    errors; words that are led to two places, and phrases that a longer one takes away, as warnings. With a
    catalogue also pairs that add nothing, and source words that start unrelated ones, with titles that show it.
    Exit status 1 if there is an error, 0 if there are only warnings.

    \b
    Example:
        catalog-search vocab lint vocab/catalogs/oecd.yaml --db oecd.db
    """
    from contextlib import nullcontext

    from catalog_search.lint import lint

    with opened(db) if db else nullcontext() as catalog:
        pairs, faults = lint(vocabulary, catalog)
    errors = sum(one.severity == "error" for one in faults)
    if json_:
        print_json({
            "vocabulary": vocabulary, "database": db, "pairs": pairs, "errors": errors,
            "warnings": len(faults) - errors, "faults": [one.as_json(vocabulary) for one in faults],
        })  # fmt: skip
    else:
        for one in faults:
            colour = "red" if one.severity == "error" else "yellow"
            place = visible(f"{vocabulary}:{one.line}: ")
            click.echo(f"{place}{click.style(one.severity, fg=colour)}: {one.kind}: {visible(one.message)}")
            for title in one.titles:
                click.echo(f"    {visible(title)}")
        told = f"{count(errors, 'error')}, {count(len(faults) - errors, 'warning')}" if faults else "no fault"
        click.secho(f"{count(pairs, 'pair')}, {told}", dim=True)
    if errors:
        raise SystemExit(1)


# diff, accept -------------------------------------------------------------------------------------------------

old_file = click.argument("old", metavar="OLD.yaml", type=click.Path())
new_file = click.argument("new", metavar="NEW.yaml", type=click.Path())


def comparison(catalog: Trial, old: str, new: str) -> Comparison:
    from catalog_search.compare import Comparison
    from catalog_search.vocabulary import Vocabulary

    return Comparison(catalog, *(Vocabulary.load(path, catalog.language.tag) for path in (old, new)))


@vocab.command("diff")
@database
@old_file
@new_file
@click.option("--judged", multiple=True, metavar="FILE", type=click.Path(), help="Judged questions; repeatable.")
@click.option("--log", multiple=True, metavar="FILE", type=click.Path(), help="A log of questions; repeatable.")
@click.option("--column", metavar="NAME", help="The member or column of the log that holds the question.")
@as_json
def vocab_diff(
    database: str, old: str, new: str, judged: tuple[str, ...], log: tuple[str, ...], column: str | None, json_: bool
) -> None:
    """Say what a change of the vocabulary does to the answers.

    For each pair that is added or taken away: which ids it puts on the first page and which it takes from it,
    of the asked word itself and of every question of the judged sets and logs that holds it. Judged questions
    get better or worse by their discounted gain, others by whether they have a strict answer. The database is
    not written, and need not be built with either vocabulary.

    \b
    Example:
        catalog-search vocab diff oecd.db old.yaml new.yaml --judged data/oecd/judged.jsonl
    """
    from itertools import chain

    from catalog_search.compare import judged_questions, logged_questions

    bad: list[tuple[str, BadLine]] = []

    def bad_of(path: str) -> Callable[[BadLine], None]:
        return lambda one: bad.append((path, one))

    with opened(database) as catalog:
        between = comparison(catalog, old, new)
        questions = chain(
            between.asked_words(), *map(judged_questions, judged),
            *(logged_questions(one, column, bad_of(one)) for one in log),
        )  # fmt: skip
        with progress_bar("Asking", "questions", shown=not json_) as progress:
            compared = between.compare(questions, progress)
    verdicts = {name: sum(one.verdict == name for one in compared) for name in ("better", "worse", "same")}
    if json_:
        print_json({
            "database": database, "old": old, "new": new,
            "changes": [one.as_json() for one in between.changes], **verdicts,
            "questions": [one.as_json() for one in compared],
            "bad_lines": [{"file": path, **one._asdict()} for path, one in bad],
        })  # fmt: skip
        return
    print_bad_lines(bad, len(bad))
    of_change: dict[Change, list[tuple[str, Effect]]] = {}
    for one in compared:
        for effect in one.effects:
            if effect.added or effect.removed:
                of_change.setdefault(effect.change, []).append((one.question.query, effect))
    for change in between.changes:
        print_change(change)
        found = of_change.get(change, [])
        for query, effect in found[:SHOWN]:
            click.echo(f"    {in_line(query)}: {visible(what_it_does(effect))}")
        if len(found) > SHOWN:
            click.secho(f"    and {len(found) - SHOWN:,} more questions", dim=True)
    print_verdicts(one for one in compared if one.verdict != "same")
    click.secho(
        f"{count(len(between.changes), 'change')}, {count(len(compared), 'question')} met: "
        + ", ".join(f"{number:,} {name}" for name, number in verdicts.items()),
        dim=True,
    )


@vocab.command("accept")
@database
@old_file
@new_file
@click.option(
    "--judged", multiple=True, required=True, metavar="FILE", type=click.Path(), help="Judged questions; repeatable."
)
@click.option(
    "--allow", multiple=True, metavar="ASKED", help="Let the change of that asked word lose answers; repeatable."
)
@as_json
def vocab_accept(
    database: str, old: str, new: str, judged: tuple[str, ...], allow: tuple[str, ...], json_: bool
) -> None:
    """Refuse a change that loses a judged answer.

    A judged answer is lost when a right document leaves the first page and none as right takes its place.
    Refused as well is a pair that misleads: a question without a strict answer gets one that holds no right
    document. One question may be misled for every five that the pair makes better by itself; it is printed as
    let through. What is refused is printed with the pair, the question and the id, and the exit status is 1,
    unless --allow names the asked word.
    Judged ids that no document has are counted; it is an error if there are no others.
    For a build's checks: OLD.yaml is the vocabulary as it was, NEW.yaml as it would be.

    \b
    Example:
        catalog-search vocab accept oecd.db old.yaml new.yaml --judged data/oecd/judged.jsonl
    """
    from itertools import chain

    from catalog_search.compare import judged_questions, refusals

    with opened(database) as catalog:
        between = comparison(catalog, old, new)
        allowed = []
        for asked in allow:
            if not (found := between.changes_of(asked)):
                raise click.BadParameter(f"no pair of “{asked}” changes", param_hint="--allow")
            allowed += found
        with progress_bar("Asking", "questions", shown=not json_) as progress:
            questions = list(chain(*map(judged_questions, judged)))
            unknown = between.judged(questions)
            compared = between.compare(questions, progress)
    refused = refusals(compared, allowed)
    misled = [one for one in compared if one.misled and one not in refused]
    better = sum(one.verdict == "better" for one in compared)
    if json_:
        print_json({
            "database": database, "old": old, "new": new, "accepted": not refused,
            "changes": [one.as_json() for one in between.changes], "judged": len(questions),
            "unknown_ids": unknown, "questions": len(compared), "better": better,
            **{
                name: [{**one.as_json(), "pairs": [change.as_json() for change in one.blamed()]} for one in some]
                for name, some in (("refused", refused), ("let_through", misled))
            },
        })  # fmt: skip
    else:
        if unknown:
            click.secho(f"{count(unknown, 'judged id')} that no document has: not checked", fg="yellow", err=True)
        for one in (*misled, *refused):
            for change in one.blamed():
                print_change(change)
            click.echo(f"    {visible(what_is_lost(one))}" + ("; let through" if one in misled else ""))
        told = click.style("refused", fg="red") if refused else click.style("accepted", fg="green")
        click.echo(
            f"{told}: {count(len(between.changes), 'change')}, {count(len(compared), 'judged question')} met, "
            f"{better:,} better, {len(refused):,} refused"
        )
    if refused:
        raise SystemExit(1)


def what_is_lost(one: Compared) -> str:
    """Return what a judged question loses, or how it is misled, in a sentence."""
    question = f"“{in_line(one.question.query)}” ({one.question.path}, line {one.question.line})"
    if one.lost:
        return f"{question} loses {', '.join(one.lost)} from the first page"
    right, instead = ", ".join(list(one.question.grades)[:3]), ", ".join(one.after.ids[:3])
    return f"{question} had no strict answer, and has one now without {right}: {instead}"


def print_change(change: Change) -> None:
    click.secho(visible(str(change)), fg="green" if change.added else "red")


def what_it_does(effect: Effect) -> str:
    """Return what a change does to the first page of a question, in a line."""
    turned = f"{effect.kind_before} → {effect.kind_after}; " if effect.kind_before != effect.kind_after else ""
    parts = [("adds", effect.added), ("removes", effect.removed)]
    return turned + "; ".join(f"{does} {some(ids, NAMED)}" for does, ids in parts if ids)


def print_verdicts(compared: Iterable[Compared]) -> None:
    """Print the questions that get better or worse."""
    for one in compared:
        if one.question.grades:
            before, after = (f"rank {rank}" if rank else "not found" for rank in one.ranks())
        else:
            before, after = one.before.kind, one.after.kind
        colour = "green" if one.verdict == "better" else "red"
        click.echo(f"{click.style(one.verdict, fg=colour)}  {in_line(one.question.query)}: {before} → {after}")
