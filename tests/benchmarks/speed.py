"""Identical documents and questions through this package and its peers: how long does each take?

    python tests/benchmarks/speed.py --data ../shared/data --out out
    python tests/benchmarks/speed.py --generate 600000 --only query,build
    python tests/benchmarks/speed.py --quick

Engines take turns, repeat by repeat; of each question the median counts. We are timed through `Catalog.search`, from
the text of the question to id, title and url of ten results, relaxing included. Peers begin at the question's terms,
as our expansion has them. Everything is in memory or in the page cache.
"""

from __future__ import annotations

import argparse
import multiprocessing
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import corpus
from commands import in_turns, medians, run, script
from report import DATA, is_editable, machine, machine_line, progress, require_peers, table, write

from catalog_search import Catalog, build

PARTS = ("query", "cold", "build", "size", "threads")
SCANNED = 3
"""Questions of each class for the full scan, which takes a second each."""

OUR_FTS5 = ", tokenize='unicode61 remove_diacritics 2', prefix='2 3 4', columnsize=0"


class Row(NamedTuple):
    """A row of the table of targets."""

    what: str
    against: str
    target: str
    measured: str
    met: str


class Bench:
    """What the parts share: a folder, the corpus in it, and how much to run."""

    def __init__(self, folder: Path, arguments: argparse.Namespace) -> None:
        quick = arguments.quick
        self.folder = folder
        self.repeats = arguments.repeats or (2 if quick else 5)
        self.number = arguments.questions or (10 if quick else 40)
        self.clock = time.thread_time_ns if arguments.clock == "cpu" else time.perf_counter_ns
        self.commands = 3 if quick else 21
        self.builds = 1 if quick else 3
        self.small = 2_000 if quick else 10_000
        self.csv = folder / "catalogue.csv"
        if arguments.generate:
            self.documents = corpus.write_generated(self.csv, arguments.generate)
            self.content = corpus.GENERATED
        else:
            self.documents = corpus.write_joined(self.csv, arguments.data / "catalogues")
            self.content = corpus.CONTENT
        progress(f"{self.documents:,} documents, {self.csv.stat().st_size / 1e6:.1f} MB of CSV")
        maker = corpus.Maker(corpus.read_titles(self.csv))
        self.pairs = maker.vocabulary()
        self.questions = maker.questions(self.pairs, self.number)
        self.settings = corpus.write_settings(folder, self.csv, self.pairs)
        self.vocabulary = folder / "vocabulary.yaml"
        self._database: Path | None = None

    @property
    def database(self) -> Path:
        """Our database of the corpus, built at the first use."""
        if self._database is None:
            self._database = self.folder / "catalogue.db"
            report = build(self.settings, self._database)
            progress(f"built in {report.seconds:.1f} s")
        return self._database


def main() -> None:
    arguments = parser().parse_args()
    require_peers()
    if arguments.quick and not arguments.generate:
        arguments.generate = 10_000
    if not arguments.generate and not (arguments.data / "catalogues").is_dir():
        sys.exit(f"{arguments.data / 'catalogues'} is no folder; name the one that holds catalogues with --data, "
                 "or use --generate N")  # fmt: skip
    shared_memory = Path("/dev/shm")
    place = arguments.work or (shared_memory if shared_memory.is_dir() else None)
    about: dict[str, Any] = {"start": machine()}
    parts = {"query": query, "cold": cold, "build": build_part, "size": size, "threads": threads}
    with tempfile.TemporaryDirectory(prefix="speed-", dir=place) as folder:
        bench = Bench(Path(folder), arguments)
        about |= {"documents": bench.documents, "csv_bytes": bench.csv.stat().st_size, "csv": bench.content}
        about |= {"place": "memory" if str(folder).startswith("/dev/shm") else "disk", "clock": arguments.clock}
        rows, texts = [], []
        for name in arguments.only:
            progress(f"{name} …")
            found, text, values = parts[name](bench)
            rows += found
            texts += [text] if text else []
            about[name] = values
    about["end"] = machine()
    about["targets"] = [row._asdict() for row in rows]
    markdown = report(about, rows, texts)
    print(markdown)
    write(arguments.out, "speed", markdown, about)


def parser() -> argparse.ArgumentParser:
    said, _, more = str(__doc__).partition("\n\n")
    found = argparse.ArgumentParser(description=said, epilog=more, formatter_class=argparse.RawTextHelpFormatter)
    found.add_argument("--data", type=Path, default=DATA, help="the folder with catalogues/\n(%(default)s)")
    found.add_argument("--generate", type=int, metavar="N", help="N made-up documents instead")
    found.add_argument("--only", type=parts_of, default=PARTS, metavar="PART,PART", help=f"of {', '.join(PARTS)} (all)")
    found.add_argument("--questions", type=int, metavar="N", help="of each of the eight classes (40)")
    found.add_argument("--repeats", type=int, metavar="N", help="of each question (5)")
    found.add_argument("--clock", choices=["wall", "cpu"], default="wall",
                       help="cpu: the thread's processor time, for a machine with other work; no engine here\n"
                       "uses a second thread for one question (wall)")  # fmt: skip
    found.add_argument("--quick", action="store_true", help="10,000 made-up documents, few repeats: in seconds")
    found.add_argument("--work", type=Path, metavar="DIR", help="where to work (in memory, if there is /dev/shm)")
    found.add_argument("--out", type=Path, metavar="DIR", help="write speed.md and speed.json there")
    return found


def parts_of(text: str) -> list[str]:
    names = text.split(",")
    for name in names:
        if name not in PARTS:
            raise argparse.ArgumentTypeError(f"there is no part “{name}”; there are {', '.join(PARTS)}")
    return names


def report(about: dict[str, Any], rows: Sequence[Row], texts: Sequence[str]) -> str:
    """Return all tables as Markdown."""
    end = "  ".join(map(str, about["end"]["load"]))
    return "\n\n".join([
        "# Speed",
        f"{machine_line(about['start'])} Load at the end {end}.",
        f"{about['documents']:,} documents; the CSV is {about['csv_bytes'] / 1e6:.1f} MB: {about['csv']} "
        f"Files in {about['place']}; questions by the {about['clock']} clock.",
        table(Row._fields, rows),
        f"{sum(row.met == 'yes' for row in rows)} of {sum(row.met != '–' for row in rows)} targets met.",
        *texts,
    ])  # fmt: skip


# Measures ---------------------------------------------------------------------------------------------------


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value at a share of the way through the sorted values."""
    return sorted(values)[round(share * (len(values) - 1))] if values else float("nan")


def ms(value: float) -> str:
    return f"{value:.3g}" if value < 100 else f"{value:,.0f}"


def ratio_row(what: str, against: str, ours: float, theirs: float, most: float, unit: str) -> Row:
    """Return a row whose target is at most so many times the peer's figure."""
    ratio = ours / theirs
    return Row(
        what, against, f"≤ {most:g} ×", f"{ms(ours)} {unit} / {ms(theirs)} {unit} = {ratio:.2g} ×",
        "yes" if ratio <= most else "no",
    )  # fmt: skip


def time_in_turns(
    engines: dict[str, Callable[[Any], Any]], asked: Sequence[Any], repeats: int, clock: Callable[[], int]
) -> dict[str, list[float]]:
    """Return engine → milliseconds of each question, the median of the repeats, after a round that is not timed."""
    for engine in engines.values():
        for one in asked:
            engine(one)
    times: dict[str, list[list[float]]] = {name: [[] for _ in asked] for name in engines}
    names = list(engines)
    for repeat in range(repeats):
        turn = repeat % len(names)
        for name in names[turn:] + names[:turn]:
            engine = engines[name]
            for one, mine in zip(asked, times[name], strict=True):
                began = clock()
                engine(one)
                mine.append((clock() - began) / 1e6)
    return {name: [statistics.median(mine) for mine in every] for name, every in times.items()}


# Parts: each returns rows of targets, its tables, and its values --------------------------------------------


def query(bench: Bench) -> tuple[list[Row], str, dict[str, Any]]:
    """Time all engines on all questions."""
    import speed_peers as sp

    asked = sp.prepare(bench.questions, bench.vocabulary)
    with Catalog.open(bench.database) as catalog:
        progress("building peers")
        engines = {sp.OURS: sp.ours(catalog), **sp.peers(bench.database, bench.folder)}
        progress("timing")
        times = time_in_turns(engines, asked, bench.repeats, bench.clock)
        answers = [catalog.search(one.text) for one in asked]
        scanned, scan_times = scan_some(bench, asked, catalog, sp)
    strict = [place for place, answer in enumerate(answers) if answer.results and not answer.relaxed]
    relaxed = [place for place in range(len(asked)) if place not in strict]

    def of(engine: str, places: Sequence[int], share: float) -> float:
        return percentile([times[engine][place] for place in places], share)

    rows = []
    for peer, *most in (
        (sp.TANTIVY_WHOLE, 1.0, 2.0),
        (sp.TANTIVY_PREFIX, 0.15, 0.15),
        (sp.FTS5_PREFIX, 0.05, 0.02),
    ):
        for share, limit in zip((0.5, 0.99), most, strict=True):
            what = f"p{share * 100:.0f}, questions with a strict answer"
            rows.append(ratio_row(what, peer, of(sp.OURS, strict, share), of(peer, strict, share), limit, "ms"))
    for peer, limit in ((sp.FTS5_OR, 0.1), (sp.TANTIVY_OR, 2.0)):
        what = "p95, relaxed questions"
        rows.append(ratio_row(what, peer, of(sp.OURS, relaxed, 0.95), of(peer, relaxed, 0.95), limit, "ms"))
    ours_scanned = percentile([times[sp.OURS][place] for place in scanned], 0.5)
    scan_name = f"{sp.SCAN}, same ids, {len(scanned)} questions"
    rows.append(ratio_row("p50", scan_name, ours_scanned, percentile(scan_times, 0.5), 0.0003, "ms"))
    growth, small = grown(bench, [bench.questions[place] for place in strict])
    rows.append(growth)

    exact = sum(answers[place].total_relation == "eq" for place in strict)
    text = [
        "## Questions",
        f"Milliseconds, p50 / p95, of {bench.number} questions a class, {bench.repeats} repeats. {len(strict)} have a "
        f"strict answer, of which {exact} with an exact total and {len(strict) - exact} with a lower bound (`count` "
        f"off); {len(relaxed)} have none, and the nearest documents are timed.",
        by_class(times, asked),
        "Of questions with a strict answer, and of the others:",
        by_answer(times, strict, relaxed),
        f"Growth is of the {len(small['questions'])} questions that have a strict answer at both sizes.",
    ]
    values = {
        "questions": [one._asdict() for one in bench.questions],
        "strict": strict, "exact_totals": exact, "milliseconds": times, "small": small,
        "scan": dict(zip(scanned, scan_times, strict=True)),
    }  # fmt: skip
    return rows, "\n\n".join(text), values


def by_class(times: dict[str, list[float]], asked: Sequence[Any]) -> str:
    rows = []
    for name, mine in times.items():
        cells = [name]
        for kind in (*corpus.CLASSES, None):
            some = [one for one, question in zip(mine, asked, strict=True) if kind in (None, question.kind)]
            cells.append(f"{ms(percentile(some, 0.5))} / {ms(percentile(some, 0.95))}")
        rows.append(cells)
    return table(["engine", *corpus.CLASSES, "all"], rows)


def by_answer(times: dict[str, list[float]], strict: Sequence[int], relaxed: Sequence[int]) -> str:
    shares = (0.5, 0.95, 0.99, 1.0)
    head = ["engine", *(f"strict {name}" for name in ("p50", "p95", "p99", "max")), "relaxed p50", "p95", "p99", "max"]
    rows = [
        [name, *(ms(percentile([mine[place] for place in places], share)) for places in (strict, relaxed)
                 for share in shares)]
        for name, mine in times.items()
    ]  # fmt: skip
    return table(head, rows)


def scan_some(bench: Bench, asked: Sequence[Any], catalog: Catalog, sp: Any) -> tuple[list[int], list[float]]:
    """Time the full scan on some questions of each class; end the program if its ids are not ours."""
    chosen = [
        place
        for kind in corpus.CLASSES
        for place in [place for place, one in enumerate(asked) if one.kind == kind][:SCANNED]
    ]
    engine = sp.scan(bench.database)
    times = []
    for place in chosen:
        began = bench.clock()
        found = engine(asked[place])
        times.append((bench.clock() - began) / 1e6)
        scanned = {id for id, _, _ in found}
        ours = catalog.search(asked[place].text, limit=1_000, relax=False, count=True)
        ids = {result.id for result in ours.results}
        if not (ids <= scanned and len(ids) == min(1_000, len(scanned)) and ours.total == min(10_000, len(scanned))):
            sys.exit(f"“{asked[place].text}”: the scan finds {len(scanned)} documents, the search {ours.total}")
    return chosen, times


def grown(bench: Bench, questions: Sequence[corpus.Question]) -> tuple[Row, dict[str, Any]]:
    """Time us alone on a small sample of the documents and on all, questions with a strict answer at both."""
    folder = bench.folder / "small"
    folder.mkdir()
    sample = folder / "sample.csv"
    corpus.sample(bench.csv, bench.small, sample)
    build(corpus.write_settings(folder, sample, bench.pairs), folder / "sample.db")
    with Catalog.open(folder / "sample.db") as few, Catalog.open(bench.database) as all_:
        texts = [one.text for one in questions if few.search(one.text, relax=False).results]
        engines = {"few": few.search, "all": all_.search}
        times = time_in_turns(engines, texts, bench.repeats, bench.clock)
    before, after = percentile(times["few"], 0.5), percentile(times["all"], 0.5)
    row = ratio_row(
        f"p50, growth from {bench.small:,} to {bench.documents:,} documents", "ourselves", after, before, 3.0, "ms"
    )
    return row, {"documents": bench.small, "questions": texts, "milliseconds": times}


def cold(bench: Bench) -> tuple[list[Row], str, dict[str, Any]]:
    """Time commands as processes, all files in the page cache."""
    question = next(one.text for one in bench.questions if one.kind == "2-4 words")
    theirs = bench.folder / "cold.db"
    run(*insert(bench, theirs))
    run(*enable(theirs))
    usage = in_turns(
        {
            "catalog-search search": [[script("catalog-search"), "search", str(bench.database), question]],
            "python -c 'import sqlite3'": [[sys.executable, "-c", "import sqlite3"]],
            "sqlite-utils search": [
                [script("sqlite-utils"), "search", str(theirs), "documents", question, "--quote", "--limit", "10"]
            ],
        },
        bench.commands,
    )
    theirs.unlink()
    ours, python, peer = (one.seconds * 1_000 for one in usage.values())
    what = "one search as a process"
    rows = [
        ratio_row(what, "python -c 'import sqlite3'", ours, python, 5, "ms"),
        ratio_row(what, "sqlite-utils search", ours, peer, 0.25, "ms"),
    ]
    lines = [
        [name, f"{one.seconds * 1_000:.1f}", f"{one.cpu_seconds * 1_000:.1f}", f"{one.peak_bytes / 1e6:.0f}"]
        for name, one in usage.items()
    ]
    editable = " The package is installed as editable, which delays every one of them." if is_editable() else ""
    text = (
        f"## One search as a process\n\nMedians of {bench.commands} runs in turns, “{question}”.{editable}\n\n"
        + table(["command", "ms", "ms of processor", "MB at most"], lines)
    )  # fmt: skip
    return rows, text, {name: one._asdict() for name, one in usage.items()}


def insert(bench: Bench, target: Path) -> list[str]:
    return [script("sqlite-utils"), "insert", str(target), "documents", str(bench.csv), "--csv", "--pk", "id"]


def enable(target: Path) -> list[str]:
    return [script("sqlite-utils"), "enable-fts", str(target), "documents", "id", "title"]


def build_part(bench: Bench) -> tuple[list[Row], str, dict[str, Any]]:
    """Time the build against sqlite-utils, and against nothing but SQLite."""
    ours, theirs = bench.folder / "build-ours.db", bench.folder / "build-theirs.db"
    found: dict[str, list[Any]] = {"ours": [], "theirs": []}
    plain: dict[str, list[float]] = {OUR_FTS5: [], "": []}
    commands = str(Path(__file__).with_name("commands.py"))
    for _ in range(bench.builds):
        for path in (ours, theirs):
            path.unlink(missing_ok=True)
        found["ours"].append(run(script("catalog-search"), "build", str(bench.settings), "-o", str(ours)))
        found["theirs"].append(run(*insert(bench, theirs)) + run(*enable(theirs)))
        for options, seconds in plain.items():
            target = bench.folder / "plain.db"
            done = subprocess.run(
                [sys.executable, commands, str(ours), str(target), options], check=True, capture_output=True, text=True
            )
            seconds.append(float(done.stdout))
            target.unlink()
    mine, peer = medians(found["ours"]), medians(found["theirs"])
    bare, default = (statistics.median(seconds) for seconds in plain.values())
    rows = [
        ratio_row("build, processor time", "sqlite-utils insert --csv, enable-fts id title", mine.cpu_seconds,
                  peer.cpu_seconds, 1.5, "s"),
        Row("build, memory", "", "≤ 300 MB", f"{mine.peak_bytes / 1e6:.0f} MB",
            "yes" if mine.peak_bytes <= 300e6 else "no"),
        ratio_row("build, wall time", "executemany and FTS5 rebuild of the same columns", mine.seconds, bare, 3, "s"),
    ]  # fmt: skip
    lines = [
        ["catalog-search build", f"{mine.seconds:.1f}", f"{mine.cpu_seconds:.1f}", f"{mine.peak_bytes / 1e6:.0f}"],
        ["sqlite-utils insert, enable-fts", f"{peer.seconds:.1f}", f"{peer.cpu_seconds:.1f}",
         f"{peer.peak_bytes / 1e6:.0f}"],
        ["executemany, FTS5 with our options", f"{bare:.1f}", "", ""],
        ["executemany, FTS5 by default", f"{default:.1f}", "", ""],
    ]  # fmt: skip
    text = (
        f"## Build\n\nMedians of {bench.builds} in turns. The last two start from rows in memory, folded before.\n\n"
        + table(["", "s", "s of processor", "MB at most"], lines)
    )  # fmt: skip
    values = {
        "ours": mine._asdict(), "sqlite-utils": peer._asdict(), "plain_our_options": bare, "plain_default": default,
    }  # fmt: skip
    return rows, text, values


def size(bench: Bench) -> tuple[list[Row], str, dict[str, Any]]:
    """Compare the size of our database with the CSV and with sqlite-utils' database."""
    theirs = bench.folder / "size.db"
    run(*insert(bench, theirs))
    run(*enable(theirs))
    sizes = {
        "CSV": bench.csv.stat().st_size,
        "catalog-search": bench.database.stat().st_size,
        "sqlite-utils with FTS": theirs.stat().st_size,
    }
    theirs.unlink()
    table_, ours, peer = (value / 1e6 for value in sizes.values())
    rows = [
        ratio_row(".db size", "the CSV", ours, table_, 6, "MB"),
        ratio_row(".db size", "sqlite-utils with FTS of id and title", ours, peer, 3, "MB"),
    ]
    if table_ < 10:
        rows[0] = rows[0]._replace(met="–", target=f"{rows[0].target}, above 10 MB")
    return rows, "", sizes


def threads(bench: Bench) -> tuple[list[Row], str, dict[str, Any]]:
    """Compare two threads, and two processes, with one."""
    with Catalog.open(bench.database) as catalog:
        texts = [one.text for one in bench.questions]
        times = time_in_turns({"": catalog.search}, texts, 3, bench.clock)[""]
        strict = {text for text in texts if not (answer := catalog.search(text)).relaxed and answer.results}
        slowest = [text for _, text in sorted(zip(times, texts, strict=True), reverse=True)]
        first = [text for text in slowest if text in strict]
        groups = {
            "heavy: the slowest tenth": slowest[: len(texts) // 10],
            "heavy, with a strict answer": first[: max(1, len(first) // 10)],
            "heavy, relaxed": [text for text in slowest if text not in strict][: len(texts) // 10],
            "light: the faster half": slowest[len(texts) // 2 :],
        }
        lines, found = [], {}
        for name, group in groups.items():
            once = sum(times[texts.index(text)] for text in group) / 1_000
            jobs = group * max(1, round((0.2 if bench.commands < 10 else 1.0) / once))
            one, two = [], []
            for _ in range(bench.repeats):
                one.append(rate(catalog, jobs, 1))
                two.append(rate(catalog, jobs, 2))
            processes = process_rate(bench.database, jobs, 2)
            single = statistics.median(one)
            found[name] = {"one": single, "threads": statistics.median(two), "processes": processes}
            lines.append([name, f"{single:,.0f}", f"{found[name]['threads']:,.0f}", f"{processes:,.0f}",
                          f"{found[name]['threads'] / single:.2f} ×", f"{processes / single:.2f} ×"])  # fmt: skip
    heavy = found["heavy: the slowest tenth"]
    gain = heavy["threads"] / heavy["one"]
    row = Row(
        "two threads, heavy questions", "one thread", "≥ 1.4 ×",
        f"{heavy['threads']:,.0f} / {heavy['one']:,.0f} a second = {gain:.2f} ×", "yes" if gain >= 1.4 else "no",
    )  # fmt: skip
    text = (
        "## Threads\n\nQuestions a second through one `Catalog`. SQLite works without the interpreter's lock, Python "
        "does not: light questions, and scores, gain by processes only.\n\n"
        + table(["questions", "one thread", "two threads", "two processes", "threads", "processes"], lines)
    )  # fmt: skip
    return [row], text, found


def rate(catalog: Catalog, jobs: Sequence[str], number: int) -> float:
    """Return the questions a second of so many threads."""
    start = threading.Barrier(number + 1)

    def work(mine: Sequence[str]) -> None:
        catalog.search(mine[0])  # opens the thread's connection
        start.wait()
        for text in mine:
            catalog.search(text)

    workers = [threading.Thread(target=work, args=(jobs[place::number],)) for place in range(number)]
    for worker in workers:
        worker.start()
    start.wait()
    began = time.perf_counter()
    for worker in workers:
        worker.join()
    return len(jobs) / (time.perf_counter() - began)


def process_rate(database: Path, jobs: Sequence[str], number: int) -> float:
    """Return the questions a second of so many processes."""
    context = multiprocessing.get_context("spawn")
    start, results = context.Barrier(number), context.Queue()
    workers = [
        context.Process(target=answer_all, args=(str(database), jobs[place::number], start, results))
        for place in range(number)
    ]
    for worker in workers:
        worker.start()
    rates = [results.get() for _ in workers]
    for worker in workers:
        worker.join()
    return sum(rates)


def answer_all(database: str, jobs: Sequence[str], start: Any, results: Any) -> None:
    with Catalog.open(database) as catalog:
        for text in dict.fromkeys(jobs):
            catalog.search(text)
        start.wait()
        began = time.perf_counter()
        for text in jobs:
            catalog.search(text)
        results.put(len(jobs) / (time.perf_counter() - began))


if __name__ == "__main__":
    main()
