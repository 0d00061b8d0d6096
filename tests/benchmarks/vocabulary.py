"""What the makers of vocabulary pairs are worth: proposals of `vocab suggest`, pairs of `vocab learn`.

    python tests/benchmarks/vocabulary.py --data ../shared/data --out out

Spelling: the pairs of a list of British and American words, of other packages than the ones that ours is made from,
of which one word finds nothing in a catalogue and the other does. How many are proposed?

Learning: a judged set in two halves by the first right id. Pairs are learned on one half and measured on the other,
both ways round; the questions of the second half are about documents that the first does not name.
"""

from __future__ import annotations

import argparse
import csv
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from report import DATA, machine, machine_line, progress, table, write

from catalog_search import Catalog, build, normalize
from catalog_search.purity import REFUSED, purity
from catalog_search.suggesting import suggest
from catalog_search.trial import Trial

csv.field_size_limit(2**31 - 1)

SPELT = {"UIS": "uis_indicators", "World Bank": "worldbank_indicators", "OECD": "oecd_dataflows"}


def main() -> None:
    arguments = parser().parse_args()
    if not (arguments.data / "evals").is_dir():
        sys.exit(f"{arguments.data / 'evals'} is no folder; name the one that holds evals and catalogues with --data")
    began = time.perf_counter()
    parts: list[str] = []
    values: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="vocabulary-") as folder:
        if arguments.only in (None, "spelling"):
            values["spelling"] = [spelling(name, file, arguments.data, Path(folder)) for name, file in SPELT.items()]
            parts.append(spelling_report(values["spelling"]))
    about = machine(peers=())
    markdown = "\n\n".join(["# Vocabulary", f"{machine_line(about)} {time.perf_counter() - began:.0f} s.", *parts])
    write(arguments.out, "vocabulary", markdown, {"machine": about, **values})
    print(markdown)


def parser() -> argparse.ArgumentParser:
    said, _, more = str(__doc__).partition("\n\n")
    found = argparse.ArgumentParser(description=said, epilog=more, formatter_class=argparse.RawTextHelpFormatter)
    found.add_argument("--data", type=Path, default=DATA, help="the folder with evals/, catalogues/ and vocab/")
    found.add_argument("--only", choices=["spelling", "learning"], help="only that part")
    found.add_argument("--out", type=Path, metavar="DIR", help="write vocabulary.md and vocabulary.json there")
    return found


def built(file: str, data: Path, folder: Path) -> Path:
    """Build a catalogue of titles."""
    path = folder / f"{file}.db"
    if not path.exists():
        documents = {"id": "{id}", "title": "{title}"}
        settings = {"name": "titles", "language": "en", "duplicates": "first", "documents": documents}
        with open(data / "catalogues" / f"{file}.csv", encoding="utf-8-sig", newline="") as rows:
            build(settings, path, records=list(csv.DictReader(rows)))
    return path


# Spelling -----------------------------------------------------------------------------------------------------


def spelling(name: str, file: str, data: Path, folder: Path) -> dict[str, Any]:
    """Return how the pairs of the list fare on a catalogue, each of which finds nothing by the asked word."""
    path = built(file, data, folder)
    progress(name)
    suggested = suggest(str(path), "spelling").candidates
    proposed = {(one.asked, one.source) for one in suggested}
    with open(data / "vocab" / "british_american_spelling.tsv", encoding="utf-8", newline="") as rows:
        listed = [(normalize(row["british"]), normalize(row["american"])) for row in csv.DictReader(rows, delimiter="\t")]
    both_ways = dict.fromkeys([*listed, *((other, one) for one, other in listed)])
    found: dict[str, list[str]] = {"refused": [], "needs_no_pair": [], "proposed": [], "missed": []}
    with Trial.open(path) as catalog:
        for asked, source in both_ways:
            if asked == source or starts(catalog, asked) or not starts(catalog, source):
                continue
            key = catalog.language.singular(asked)
            if any(said == asked or catalog.language.singular(said) == key for said, of in proposed if source.startswith(of)):
                kind = "proposed"
            elif catalog.search(asked, relax=False).total:
                kind = "needs_no_pair"
            elif purity(catalog.connection(), catalog.language, source).share < REFUSED:
                kind = "refused"
            else:
                kind = "missed"
            found[kind].append(f"{asked} > {source}")
        keys = {frozenset(map(catalog.language.singular, pair)) for pair in listed}
        known = [one for one in suggested if frozenset(map(catalog.language.singular, (one.asked, one.source))) in keys]
    return {
        "name": name,
        **found,
        "suggested": len(suggested),
        "in_the_list": len(known),
        "others": [f"{one.asked} > {one.source} {one.gain}" for one in suggested if one not in known],
    }


def starts(catalog: Catalog, text: str) -> bool:
    """Tell whether a title holds a word, or a phrase, that begins so."""
    sql = "SELECT 1 FROM documents_fts WHERE documents_fts MATCH ? LIMIT 1"
    return catalog._database.connection().execute(sql, (f'title_lc : "{text}"*',)).fetchone() is not None


def spelling_report(measured: Iterable[dict[str, Any]]) -> str:
    rows, told = [], []
    for one in measured:
        right, missed = len(one["proposed"]), len(one["missed"])
        rows.append([
            one["name"], right + missed + len(one["refused"]) + len(one["needs_no_pair"]), len(one["needs_no_pair"]),
            len(one["refused"]), right + missed, right, f"{right / (right + missed):.1%}",
            one["suggested"], one["in_the_list"],
        ])  # fmt: skip
        for kind in ("missed", "refused", "needs_no_pair", "others"):
            told.append(f"{one['name']}, {kind.replace('_', ' ')}: {'; '.join(one[kind]) or 'none'}.")
    return "\n\n".join([
        "## Spelling",
        "Pairs of the list with asked 0 and source ≥ 1 by word start. Needs no pair: the asked word's singular finds "
        "the documents. Refused: less than a quarter of the source's documents are about that word (literacy for lit).",
        table(["catalogue", "pairs", "needs no pair", "refused", "left", "proposed", "share", "suggested in all", "of them in the list"], rows),
        *told,
    ])  # fmt: skip


if __name__ == "__main__":
    main()
