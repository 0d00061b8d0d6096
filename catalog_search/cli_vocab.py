"""The commands of a vocabulary: measured, linted, compared, defended. What they mean is in the modules above."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from catalog_search.options import as_json, database
from catalog_search.terminal import count, print_json, print_pairs, visible

if TYPE_CHECKING:
    from catalog_search.trial import Trial

vocabulary_file = click.argument("vocabulary", metavar="VOCAB.yaml", type=click.Path())


def opened(path: str) -> Trial:
    from catalog_search.trial import Trial

    return Trial.open(path)


@click.group()
def vocab() -> None:
    """Measure, check and defend the vocabulary: what each pair adds to the answers, and what a change takes."""


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
