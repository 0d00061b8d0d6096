"""What the makers of vocabulary pairs are worth: proposals of `vocab suggest`, pairs of `vocab learn`.

    python tests/benchmarks/vocabulary.py --data ../shared/data --wordnet /usr/share/wordnet --out out

Spelling: the pairs of a list of British and American words, of other packages than the ones that ours is made from,
of which one word finds nothing in a catalogue and the other does. How many are proposed?

Learning: a judged set in two halves by the first right id. Pairs are learned on one half and measured on the other,
both ways round; the questions of the second half are about documents that the first does not name. The sets are 500
questions each, and for three catalogues the other names that their publishers list, of MeSH one in four. A way of
`suggest` is adopted if on the first half it gains two questions and loses at most a fifth of that; it sees the words
of all questions, as a log has them, and not the answers of the second half. WordNet, as a list of synonyms, is the
thesaurus, if its files (data.noun, …; Debian's wordnet-base) are there. The sets of 500 are measured a second time
without the search's stand-ins (common starts, nearest words, singulars), which do by themselves what some of these
pairs would do.
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
from zlib import crc32

from report import DATA, machine, machine_line, progress, table, write

from catalog_search import Catalog, build, harvesting, normalize, relaxing
from catalog_search.candidates import Lexicon
from catalog_search.judging import Change, Ranks
from catalog_search.learning import fold, learn
from catalog_search.purity import REFUSED, purity
from catalog_search.relevance import Judged, read_judged
from catalog_search.suggesting import is_adopted, suggest, ways_judged
from catalog_search.thesaurus import Concept
from catalog_search.trial import Trial

csv.field_size_limit(2**31 - 1)

SPELT = {"UIS": "uis_indicators", "World Bank": "worldbank_indicators", "OECD": "oecd_dataflows"}
LEARNED = {
    "ESCO": ("esco_altlabels_en", "esco_occupations_en"),
    "ICD-10-CM": ("icd10cm_inclusion_terms", "icd10cm_2026_titles_only"),
    "NAICS": ("naics2017_index", "naics2017"),
    "MeSH": ("mesh_entry_terms", "mesh_descriptors"),
}
WHOLE = {
    # name: (table of the catalogue's other names, a document's id, its name, its other names, what separates them,
    #        one of so many is taken)
    "ESCO": ("messy/esco_occupations_quoted_newlines", "conceptUri", "preferredLabel", "altLabels", "\n", 1),
    "ICD-10-CM": ("catalogues/icd10cm_2026", "id", "title", "inclusion_terms", " | ", 1),
    "MeSH": ("catalogues/mesh_terms_large", "descriptor_id", "descriptor", "title", None, 4),
}
SHOWN = 40
STAND_INS = ("SAME_SINGULAR", "COMMON_START", "STARTED", "NEAREST")


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
        if arguments.only in (None, "learning"):
            values["learning"] = [
                learning(name, kind, arguments, Path(folder))
                for name in arguments.sets or LEARNED
                for kind in ("500", "500, without stand-ins", *(("published",) if name in WHOLE else ()))
            ]
            parts.append(learning_report(values["learning"]))
    about = machine(peers=())
    markdown = "\n\n".join(["# Vocabulary", f"{machine_line(about)} {time.perf_counter() - began:.0f} s.", *parts])
    write(arguments.out, "vocabulary", markdown, {"machine": about, **values})
    print(markdown)


def parser() -> argparse.ArgumentParser:
    said, _, more = str(__doc__).partition("\n\n")
    found = argparse.ArgumentParser(description=said, epilog=more, formatter_class=argparse.RawTextHelpFormatter)
    found.add_argument("--data", type=Path, default=DATA, help="the folder with evals/, catalogues/ and vocab/")
    found.add_argument("--only", choices=["spelling", "learning"], help="only that part")
    found.add_argument("--sets", nargs="+", choices=LEARNED, help="only these of the judged sets")
    found.add_argument("--wordnet", type=Path, metavar="DIR", help="the folder with data.noun and the others")
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
        listed = [
            (normalize(row["british"]), normalize(row["american"])) for row in csv.DictReader(rows, delimiter="\t")
        ]
    both_ways = dict.fromkeys([*listed, *((other, one) for one, other in listed)])
    found: dict[str, list[str]] = {"refused": [], "needs_no_pair": [], "proposed": [], "missed": []}
    with Trial.open(path) as catalog:
        for asked, source in both_ways:
            if asked == source or starts(catalog, asked) or not starts(catalog, source):
                continue
            key = catalog.language.singular(asked)
            if any(
                said == asked or catalog.language.singular(said) == key
                for said, of in proposed
                if source.startswith(of)
            ):
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
    measured = list(measured)
    total: dict[str, Any] = {"name": "all three"}
    for key in ("proposed", "missed", "refused", "needs_no_pair"):
        total[key] = [pair for one in measured for pair in one[key]]
    for key in ("suggested", "in_the_list"):
        total[key] = sum(one[key] for one in measured)
    for one in (*measured, total):
        right, missed = len(one["proposed"]), len(one["missed"])
        rows.append([
            one["name"], right + missed + len(one["refused"]) + len(one["needs_no_pair"]), len(one["needs_no_pair"]),
            len(one["refused"]), right + missed, right, f"{right / (right + missed):.1%}",
            one["suggested"], one["in_the_list"],
        ])  # fmt: skip
        for kind in ("missed", "refused", "needs_no_pair", "others") if one is not total else ():
            told.append(f"{one['name']}, {kind.replace('_', ' ')}: {'; '.join(one[kind]) or 'none'}.")
    return "\n\n".join([
        "## Spelling",
        "Pairs of the list with asked 0 and source ≥ 1 by word start. Needs no pair: the asked word's singular finds "
        "the documents. Refused: less than a quarter of the source's documents are about that word (literacy for lit).",
        table(
            [
                "catalogue", "pairs", "needs no pair", "refused", "left", "proposed", "share", "suggested in all",
                "of them in the list",
            ],
            rows,
        ),
        *told,
    ])  # fmt: skip


# Learning -----------------------------------------------------------------------------------------------------


def learning(name: str, kind: str, arguments: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Return what is learned on each half of a judged set, and what it does to the other half."""
    progress(f"{name}, {kind}")
    judged, file = LEARNED[name]
    path = built(file, arguments.data, folder)
    kept = {constant: getattr(relaxing, constant) for constant in STAND_INS}
    if "without" in kind:
        for constant in STAND_INS:
            setattr(relaxing, constant, 0.0)
    try:
        with Trial.open(path) as catalog:
            lexicon = Lexicon(catalog)
            if kind == "published":
                questions = other_names(lexicon, arguments.data, *WHOLE[name])
            else:
                questions = list(read_judged(str(arguments.data / "evals" / f"{judged}.jsonl")))
            return {"name": name, "kind": kind, **halves(lexicon, questions, arguments.wordnet)}
    finally:
        for constant, value in kept.items():
            setattr(relaxing, constant, value)


def other_names(
    lexicon: Lexicon, data: Path, file: str, id: str, name: str, others: str, separator: str | None, every: int
) -> list[Judged]:
    """Return the other names that a table lists, with their documents; not what is the name in other forms or order."""

    def words(text: str) -> tuple[str, ...]:
        return tuple(sorted(map(lexicon.language.singular, lexicon.fold(text).split())))

    found: dict[str, dict[str, float]] = {}
    met = set()
    with open(data / f"{file}.csv", encoding="utf-8-sig", newline="") as rows:
        for row in csv.DictReader(rows):
            document = row[id].rsplit("/", 1)[-1]
            for other in filter(None, map(str.strip, row[others].split(separator) if separator else [row[others]])):
                if words(other) != words(row[name]) and (document, words(other)) not in met:
                    met.add((document, words(other)))
                    found.setdefault(other, {})[document] = 1.0
    taken = (one for one in found.items() if crc32(one[0].encode()) % every == 0)
    return [Judged(query, grades, "en", "", line) for line, (query, grades) in enumerate(taken, 1)]


def synonyms(folder: Path) -> Iterable[Concept]:
    """Yield the sets of synonyms of WordNet; the format is that of its manual page wndb(5)."""
    for part in ("noun", "verb", "adj", "adv"):
        with open(folder / f"data.{part}", encoding="utf-8") as file:
            for line in file:
                if not line.startswith(" "):  # the licence
                    fields = line.split(" ")
                    names = [fields[4 + 2 * place] for place in range(int(fields[3], 16))]
                    yield Concept((), tuple(name.partition("(")[0].replace("_", " ") for name in names))


def halves(lexicon: Lexicon, questions: list[Judged], wordnet: Path | None) -> dict[str, Any]:
    trained, learnt, both, pairs, adopted = [], [], [], [], []
    ranks = Ranks(lexicon.catalog, questions)
    words = harvesting.asked_words(lexicon, (one.query for one in questions))
    ways = harvesting.from_words(lexicon, words)
    if wordnet:
        ways["thesaurus"] = list(harvesting.from_thesaurus(lexicon, synonyms(wordnet)))
    candidates = {way: lexicon.measured(proposals) for way, proposals in sorted(ways.items())}
    for half in (0, 1):
        first = [place for place, one in enumerate(questions) if fold(one, 2) == half]
        named = {id for place in first for id in questions[place].grades}
        second = [place for place, one in enumerate(questions) if not named & one.grades.keys()]
        found = [one.candidate for one in learn(lexicon, questions, ranks=ranks, places=first)]
        measured = ways_judged(ranks, candidates, first)
        good = {way for way, change in measured.items() if is_adopted(change)}
        more = [one for way in sorted(good) for one in candidates[way]]
        trained.append(ranks.change(found, first))
        learnt.append(ranks.change(found, second))
        both.append(ranks.change([*found, *more], second))
        pairs.append([f"{one.asked} > {one.source}" for one in found])
        adopted.append({way: f"{one.gained}/{one.lost}" for way, one in measured.items() if way in good})
    return {
        "trained": summed(trained), "learnt": summed(learnt), "with_suggested": summed(both),
        "pairs": pairs, "adopted": adopted,
    }  # fmt: skip


def summed(changes: Iterable[Change]) -> dict[str, Any]:
    one = Change(*(sum(values) for values in zip(*changes, strict=True)))
    return {**one.as_json(), "gain": (one.gained - one.lost) / one.before}


def learning_report(measured: Iterable[dict[str, Any]]) -> str:
    rows, told = [], []
    for one in measured:
        name = f"{one['name']}, {one['kind']}"
        learnt, both = one["learnt"], one["with_suggested"]
        rows.append([
            name, learnt["questions"], f"{learnt['before'] / learnt['questions']:.3f}",
            one["trained"]["gained"], one["trained"]["lost"],
            *(cell for change in (learnt, both) for cell in (
                f"{(change['before'] + change['gained'] - change['lost']) / change['questions']:.3f}",
                f"{change['gain']:+.1%}", change["gained"], change["lost"], f"{change['p']:.2g}",
            )),
            " / ".join(str(len(pairs)) for pairs in one["pairs"]),
            " // ".join(", ".join(f"{way} {did}" for way, did in ways.items()) or "none" for ways in one["adopted"]),
        ])  # fmt: skip
        told.append(f"{name}: {' // '.join('; '.join(pairs[:SHOWN]) or 'none' for pairs in one['pairs'])}.")
    head = (
        "set", "questions", "base hit@10", "gained in training", "lost in training",
        "learnt", "change", "gained", "lost", "p", "learnt + suggested", "change", "gained", "lost", "p",
        "pairs kept", "ways adopted",
    )  # fmt: skip
    return "\n\n".join([
        "## Learning",
        "hit@10 on questions about other documents, both halves together; p by a two-sided sign test. Beside a way "
        "that is adopted, what it gained and lost on the half that it was judged on.",
        table(head, rows),
        f"Pairs learned on either half, the first {SHOWN}:",
        *told,
    ])  # fmt: skip


if __name__ == "__main__":
    main()
