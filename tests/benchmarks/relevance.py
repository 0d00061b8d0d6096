"""Judged sets through this package and its peers: who has the right document among the first ten?

    python tests/benchmarks/relevance.py --data ../shared/data --out out
    python tests/benchmarks/relevance.py --quick

Ours is what `build` and `Catalog.search` give with a language pack and no vocabulary. Each peer is tried in several
settings and its best one for the set counts, which is more than its user would know to choose. The documents are the
same for all: those that our build kept (of a repeated id the first).
"""

from __future__ import annotations

import argparse
import csv
import dataclasses
import json
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from report import DATA, ROOT, machine, machine_line, progress, require_peers, table, write

from catalog_search import Catalog, build, load_settings
from catalog_search.relaxing import Relaxed
from catalog_search.relevance import Judged, Outcome, ask_all, figures, read_judged

csv.field_size_limit(2**31 - 1)


class JudgedSet(NamedTuple):
    """A judged set with its catalogue and what is to be reached."""

    name: str
    judged: str
    """Of evals/, a .jsonl or a folder of corpus.jsonl, queries.jsonl and qrels.tsv."""
    catalogue: str
    """Of catalogues/; "" for a folder's own corpus."""
    language: str
    text: str
    """Template of the text, "" for titles only."""
    target: tuple[float, ...]
    """hit@10 and MRR@10; nDCG@10 alone for a folder; none if nothing was set."""


SETS = (
    JudgedSet("cid10_abreviado", "cid10_abreviado", "cid10_pt", "pt-BR", "", (0.99, 0.95)),
    JudgedSet("cid10_gnuhealth_ptbr", "cid10_gnuhealth_ptbr", "cid10_pt", "pt-BR", "", (0.95, 0.83)),
    JudgedSet("country_name_variants_en", "country_name_variants_en", "countries", "en", "", (0.81, 0.74)),
    JudgedSet("country_name_variants_pt", "country_name_variants_pt", "countries_ptbr", "pt-BR", "", (0.96, 0.89)),
    JudgedSet("esco, titles", "esco_altlabels_en", "esco_occupations_en", "en", "", (0.77, 0.60)),
    JudgedSet("esco, descriptions", "esco_altlabels_en", "esco_occupations_en", "en", "{description}", (0.81, 0.64)),
    JudgedSet("icd10cm_inclusion_terms", "icd10cm_inclusion_terms", "icd10cm_2026_titles_only", "en", "", (0.60, 0.34)),
    JudgedSet("mesh_entry_terms", "mesh_entry_terms", "mesh_descriptors", "en", "", (0.60, 0.46)),
    JudgedSet("naics2017, titles", "naics2017_index", "naics2017", "en", "", (0.55, 0.39)),
    JudgedSet("naics2017, descriptions", "naics2017_index", "naics2017", "en", "{description}", (0.82, 0.61)),
    JudgedSet("onet_alternate, titles", "onet_alternate_titles", "onet_occupations", "en", "", (0.49, 0.32)),
    JudgedSet("onet_reported, titles", "onet_reported_titles", "onet_occupations", "en", "", (0.68, 0.53)),
    JudgedSet(
        "onet_reported, descriptions", "onet_reported_titles", "onet_occupations", "en", "{description}", (0.72, 0.55)
    ),
    JudgedSet(
        "geonames_alternate_names", "geonames_alternate_names", "geonames_cities100k_inhabitants", "en", "",
        (0.51, 0.43),
    ),
    JudgedSet("wordnet31_other_lemmas", "wordnet31_other_lemmas", "wordnet31_synsets", "en", "", ()),
    JudgedSet("cranfield", "cranfield", "", "en", "{text}", (0.40,)),
    JudgedSet("cacm", "cacm", "", "en", "{text}", (0.46,)),
    JudgedSet("scifact", "scifact", "", "en", "{text}", (0.85,)),
)  # fmt: skip


def main() -> None:
    arguments = parser().parse_args()
    require_peers()
    began = time.perf_counter()
    measured: list[dict[str, Any]] = []
    markdown = ""
    with tempfile.TemporaryDirectory(prefix="relevance-") as folder:
        sets = own_sets(Path(folder)) if arguments.quick else shared_sets(arguments, Path(folder))
        for one, path, judged in sets:
            measured.append(measure(one, path, judged, with_peers=not arguments.ours))
            about = machine()
            markdown = report(measured, about, round(time.perf_counter() - began))
            write(arguments.out, "relevance", markdown, {"machine": about, "sets": measured})
    print(markdown)


def parser() -> argparse.ArgumentParser:
    said, _, more = str(__doc__).partition("\n\n")
    found = argparse.ArgumentParser(description=said, epilog=more, formatter_class=argparse.RawTextHelpFormatter)
    found.add_argument("--data", type=Path, default=DATA, help="the folder with evals/ and catalogues/\n(%(default)s)")
    found.add_argument("--only", nargs="+", metavar="SET", default=[], help="only sets with this in their name")
    found.add_argument("--quick", action="store_true", help="only the small judged sets of data/, in seconds")
    found.add_argument("--ours", action="store_true", help="without the peers, in a minute")
    found.add_argument("--out", type=Path, metavar="DIR", help="write relevance.md and relevance.json there")
    return found


# Sets -------------------------------------------------------------------------------------------------------


def own_sets(folder: Path) -> Iterable[tuple[JudgedSet, Path, list[Judged]]]:
    """Yield the judged sets of data/, their catalogues built without the vocabulary."""
    for path in sorted((ROOT / "data").glob("*/judged.jsonl")):
        settings = dataclasses.replace(load_settings(path.with_name("catalog.yaml")), vocabulary=None)
        name = path.parent.name
        build(settings, folder / f"{name}.db")
        one = JudgedSet(name, name, name, settings.language, "", ())
        yield one, folder / f"{name}.db", list(read_judged(str(path)))


def shared_sets(arguments: argparse.Namespace, folder: Path) -> Iterable[tuple[JudgedSet, Path, list[Judged]]]:
    """Yield the chosen judged sets of --data, their catalogues built."""
    data = arguments.data
    if not (data / "evals").is_dir():
        sys.exit(f"{data / 'evals'} is no folder; name the one that holds evals and catalogues with --data, "
                 "or use --quick")  # fmt: skip
    chosen = [one for one in SETS if not arguments.only or any(name in one.name for name in arguments.only)]
    if not chosen:
        sys.exit(f"no set is called {' or '.join(arguments.only)}; there are {', '.join(one.name for one in SETS)}")
    for one in chosen:
        yield one, built(one, data, folder), judged_of(one, data)


def built(one: JudgedSet, data: Path, folder: Path) -> Path:
    """Build the catalogue of a set."""
    documents = {"id": "{id}", "title": "{title}", "text": one.text or None}
    settings = {"name": "judged", "language": one.language, "duplicates": "first", "documents": documents}
    path = folder / f"{one.name}.db"
    build(settings, path, records=records_of(one, data))
    return path


def records_of(one: JudgedSet, data: Path) -> list[dict[str, str]]:
    if not one.catalogue:
        with open(data / "evals" / one.judged / "corpus.jsonl", encoding="utf-8") as file:
            # Cranfield has two documents without title: their id stands in.
            return [row | {"title": row["title"].strip() or row["id"]} for row in map(json.loads, file)]
    with open(data / "catalogues" / f"{one.catalogue}.csv", encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def judged_of(one: JudgedSet, data: Path) -> list[Judged]:
    if one.catalogue:
        return list(read_judged(str(data / "evals" / f"{one.judged}.jsonl")))
    folder = data / "evals" / one.judged
    with open(folder / "queries.jsonl", encoding="utf-8") as file:
        questions = {row["qid"]: row["text"] for row in map(json.loads, file)}
    grades: dict[str, dict[str, float]] = {}
    with open(folder / "qrels.tsv", encoding="utf-8", newline="") as file:
        for qid, id, grade in csv.reader(file, delimiter="\t"):
            # Cranfield's grades run from 1, the best, to 4: as in the literature, all of them are right.
            if grade.isdigit() and int(grade) > 0:
                grades.setdefault(qid, {})[id] = 1.0
    return [Judged(questions[qid], ids, one.language, "", line) for line, (qid, ids) in enumerate(grades.items(), 1)]


# Measures ---------------------------------------------------------------------------------------------------


def measure(one: JudgedSet, path: Path, judged: list[Judged], *, with_peers: bool) -> dict[str, Any]:
    """Return the figures of a set: ours, the relaxed rule alone, and every peer's best setting."""
    # Imported here, so that a missing peer is reported before.
    from relevance_peers import Document, all_settings

    began = time.perf_counter()
    progress(f"{one.name}: {len(judged)} questions")
    key = "ndcg@10" if len(one.target) == 1 else "mrr@10"
    with Catalog.open(path) as catalog:
        rows = catalog._database.connection().execute("SELECT id, title, keywords, text FROM documents")
        documents = [
            Document(id, title, " ".join([*json.loads(keywords), text]).strip()) for id, title, keywords, text in rows
        ]
        outcomes = ask_all(catalog, judged)
        rule = rule_alone(catalog, judged)
    peers: dict[str, dict[str, Any]] = {}
    questions = [asked.query for asked in judged]
    settings = all_settings(documents, questions, one.language, abstracts=not one.catalogue) if with_peers else ()
    for peer, setting, search in settings:
        found = figures([Outcome(asked, search(asked.query, 10), [], False) for asked in judged])
        tried = {**peers.get(peer, {}).get("tried", {}), setting: found[key]}
        if peer not in peers or (found[key], found["hit@10"]) > (peers[peer][key], peers[peer]["hit@10"]):
            peers[peer] = {"setting": setting, **found}
        peers[peer]["tried"] = tried
    told = [f"{peer} {pair(found, key)}" for peer, found in [("ours", figures(outcomes)), *peers.items()]]
    progress(f"  {'; '.join(told)}; {time.perf_counter() - began:.0f} s")
    half = [outcome for outcome in outcomes if is_odd(outcome.judged.query)]
    return {
        "name": one.name,
        "documents": len(documents),
        "measure": key,
        "target": list(one.target),
        "ours": figures(outcomes),
        "reported_half": figures(half) if half else None,
        "rule_alone": figures(rule),
        "peers": peers,
    }


def rule_alone(catalog: Catalog, judged: Iterable[Judged]) -> list[Outcome]:
    """Answer every question by the relaxed rule, also those that have a strict answer."""
    connection = catalog._database.connection()
    relaxed = Relaxed(connection, catalog._statements, catalog._language, catalog._figures)
    outcomes = []
    for one in judged:
        asked, _ = catalog._ask(one.query)
        found = relaxed.best(asked).documents if asked.text else []
        outcomes.append(Outcome(one, [near.row.id for near in found], [], True))
    return outcomes


def is_odd(question: str) -> bool:
    """Tell whether a question is in the half that is reported; the rule was chosen on the other."""
    return int(sha256(question.encode()).hexdigest(), 16) % 2 == 1


# Report -----------------------------------------------------------------------------------------------------


def pair(found: dict[str, Any] | None, key: str = "mrr@10") -> str:
    """Return hit@10 / MRR@10, or nDCG@10 alone."""
    if found is None:
        return "–"
    return f"{found['ndcg@10']:.3f}" if key == "ndcg@10" else f"{found['hit@10']:.3f} / {found['mrr@10']:.3f}"


def all_three(found: dict[str, Any]) -> str:
    return f"{pair(found)} / {found['ndcg@10']:.3f}"


def is_met(one: dict[str, Any]) -> str:
    if not one["target"]:
        return "–"
    keys = ("ndcg@10",) if len(one["target"]) == 1 else ("hit@10", "mrr@10")
    short = [
        f"{key} −{target - one['ours'][key]:.3f}"
        for key, target in zip(keys, one["target"], strict=True)
        if one["ours"][key] < target
    ]
    return f"no: {', '.join(short)}" if short else "yes"


def leads(one: dict[str, Any]) -> str:
    """Say whether no peer has a better figure, or which one has."""
    if not one["peers"]:
        return "–"
    keys = ("ndcg@10",) if one["measure"] == "ndcg@10" else ("hit@10", "mrr@10")
    behind = []
    for key in keys:
        name, found = max(one["peers"].items(), key=lambda item: item[1][key])
        if found[key] > one["ours"][key]:
            behind.append(f"{name} {key} {found[key]:.3f}")
    return f"no: {', '.join(behind)}" if behind else "yes"


def report(measured: Sequence[dict[str, Any]], about: dict[str, Any], seconds: int) -> str:
    """Return the tables as Markdown."""
    rows, strict = [], []
    for one in measured:
        key, ours = one["measure"], one["ours"]
        ordered = sorted(one["peers"].items(), key=lambda item: (item[1][key], item[1]["hit@10"]))
        best = f"{ordered[-1][0]} {pair(ordered[-1][1], key)}" if ordered else "–"
        target = " / ".join(f"{value:.2f}" for value in one["target"]) or "–"
        rows.append([
            one["name"], best, pair(ours, key), target, is_met(one), leads(one),
            f"{ours['relaxed']:.0%}", pair(one["reported_half"], key),
        ])  # fmt: skip
        rule = one["rule_alone"]
        cost = round(rule["hit@10"] - ours["hit@10"], 4)
        strict.append([
            one["name"], f"{1 - ours['relaxed'] - ours['empty']:.0%}", all_three(ours), all_three(rule), f"{cost:+.3f}",
            "yes" if cost <= 0.01 else "no",
        ])  # fmt: skip
    names = list(dict.fromkeys(name for one in measured for name in one["peers"]))
    every = []
    for one in measured:
        key = one["measure"]
        every.append([one["name"], *(pair(one["peers"].get(name), key) for name in names), pair(one["ours"], key)])
    met = sum(row[4] == "yes" for row in rows)
    with_target = sum(row[3] != "–" for row in rows)
    return "\n\n".join([
        "# Relevance",
        f"{machine_line(about)} {seconds} s.",
        "hit@10 / MRR@10, or nDCG@10 alone. Ours: language pack, no vocabulary. Peer: the best one, each at its best "
        "setting for the set. Reported half: ours, on questions whose SHA-256 is odd.",
        table(["set", "best peer", "ours", "target", "met", "≥ every peer", "relaxed", "reported half"], rows),
        f"{met} of {with_target} targets met.",
        "## Strict tiers in front of the rule",
        "What it costs that a question with a strict answer gets it, instead of the relaxed rule: hit@10 of the rule "
        "for every question, less ours; to be 0.01 at most. hit@10 / MRR@10 / nDCG@10.",
        table(["set", "strict answers", "ours", "rule for every question", "cost in hit@10", "met"], strict),
        "## Every peer",
        table(["set", *names, "ours"], every),
    ])  # fmt: skip


if __name__ == "__main__":
    main()
