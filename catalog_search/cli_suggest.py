"""The commands that find pairs for a vocabulary: suggested, learned. What they mean is in the modules above."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from catalog_search.options import as_json, database
from catalog_search.terminal import count, in_line, print_json, progress_bar, table, visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from catalog_search.candidates import Candidate
    from catalog_search.learning import Learned

SHOWN = 20
"""So many bad lines are shown; --json has more."""
WAYS = ("spelling", "forms", "aliases", "thesaurus", "log", "judged")


@click.command("suggest")
@database
@click.argument("file", metavar="[FILE]", type=click.Path(), required=False)
@click.option("--from", "way", type=click.Choice(WAYS), help="Where from; spelling and forms unless it is given.")
@click.option("--field", metavar="NAME", help="With --from aliases: “keywords”, or a name of the metadata.")
@as_json
def vocab_suggest(database: str, file: str | None, way: str | None, field: str | None, json_: bool) -> None:
    """Propose measured pairs; nothing is applied.

    \b
    spelling   spellings of the catalogue's words in other countries, and their words
    forms      plurals that their singular does not find, compounds joined and split
    aliases    a field of the documents that holds other names for them
    thesaurus  FILE is SKOS (.ttl, .rdf, .xml; needs the extra “thesaurus”) or CSV with the
               columns altLabel (several are separated by |) and prefLabel; names that the
               catalogue does not use lead to those that it uses
    log        FILE is a log of questions, as for “misses”: their words by spelling, form,
               common start and one letter, what was asked next, what was clicked
    judged     FILE is a judged set: the same for its words, and what each way does to it

    Each candidate is counted on the catalogue as “vocab measure” does, and left out if it would be found wanting,
    or if less than a quarter of the documents that it brings are about its word. The largest gain comes first.

    \b
    Examples:
        catalog-search vocab suggest oecd.db
        catalog-search vocab suggest oecd.db --from log queries.jsonl
    """
    from catalog_search.suggesting import as_json as suggestions_json
    from catalog_search.suggesting import is_adopted, suggest

    with progress_bar("Reading", "lines", shown=not json_) as progress:
        found = suggest(database, way, file, field, progress)
    if json_:
        print_json({"database": database, "from": way, "file": file, "field": field, **suggestions_json(found)})
        return
    print_candidates(found.candidates)
    for name, change in found.ways.items():
        told = click.style("worth adopting", fg="green") if is_adopted(change) else "not worth adopting"
        click.echo(f"{name}: {told}. {change.said()}")
    for bad in found.bad_lines[:SHOWN]:
        click.secho(f"{visible(str(file))}, line {bad.line}: {in_line(bad.reason)}", fg="yellow", err=True)
    if found.bad > SHOWN:
        click.secho(f"and {found.bad - SHOWN:,} more lines without a question", fg="yellow", err=True)
    click.secho(count(len(found.candidates), "candidate"), dim=True)


def print_candidates(candidates: Sequence[Candidate]) -> None:
    """Print candidates as a table, doubts below each."""
    rows = [
        (one.asked, one.source, one.origin, f"{one.asked_documents:,}", f"{one.source_documents:,}", f"{one.gain:,}",
         one.examples[0] if one.examples else "")
        for one in candidates
    ]  # fmt: skip
    head = ("asked", "source", "from", "asked", "source", "gain", "for example")
    notes = ["; ".join(one.warnings) for one in candidates]
    table(head, rows, right=(3, 4, 5), notes=notes)


@click.command("learn")
@database
@click.argument("judged", metavar="JUDGED.jsonl", type=click.Path())
@click.option("-o", "--output", metavar="FILE", type=click.Path(), required=True, help="The file to write.")
@click.option("--as-keywords", is_flag=True, help="Write the questions as keywords of their documents instead.")
@as_json
def vocab_learn(database: str, judged: str, output: str, as_keywords: bool, json_: bool) -> None:
    """Learn pairs from questions with known answers.

    Words and phrases that people ask, and that the right titles say otherwise, are paired if they go together in
    two different right documents or more, and more than by chance. A pair stays if it moves five judged answers
    up for each that it moves down, and loses none. The estimate is of questions about other documents: from five
    parts of the questions that share no right document. A gain does not prove sense: read the file before you use
    it. A file that “vocab learn” wrote is replaced; any other that exists is refused.

    With --as-keywords, CSV with the columns id and keywords, for the keywords column of the settings: it helps
    the documents that were asked for, and no others. “evaluate” on other questions shows which is better.

    \b
    Example:
        catalog-search vocab learn icd10cm.db data/icd10cm/judged.jsonl -o pairs.yaml
    """
    from catalog_search.learnt import learn_pairs, write_keywords

    if as_keywords:
        documents, questions = write_keywords(database, judged, output)
        if json_:
            print_json({
                "database": database, "judged": judged, "output": output,
                "documents": documents, "questions": questions,
            })  # fmt: skip
        else:
            click.echo(
                f"{visible(output)}: {count(questions, 'question')} as keywords of {count(documents, 'document')}"
            )
        return
    with progress_bar("Learning", "parts", shown=not json_) as progress:
        lesson = learn_pairs(database, judged, output, progress)
    if json_:
        print_json({"database": database, "judged": judged, "output": output, **lesson.as_json()})
        return
    print_learned(lesson.learned)
    click.echo(f"These questions: {lesson.judged.said()}.")
    click.echo(f"Questions about other documents, an estimate: {lesson.others.said()}.")
    click.secho(f"{visible(output)}: {count(len(lesson.learned), 'pair')}", dim=True)


def print_learned(learned: Sequence[Learned]) -> None:
    """Print what was learned as a table."""
    rows = [
        (one.candidate.asked, one.candidate.source, f"{one.candidate.asked_documents:,}",
         f"{one.candidate.source_documents:,}", *map(str, (one.support, one.gained, one.improved, one.harmed)))
        for one in learned
    ]  # fmt: skip
    head = ("asked", "source", "asked", "source", "support", "gained", "improved", "harmed")
    table(head, rows, right=range(2, 8), notes=["; ".join(one.candidate.warnings) for one in learned])
