"""Programs as processes: their time, processor time and memory. For the command line, the build and its size."""

from __future__ import annotations

import json
import sqlite3
import statistics
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from corpus import documents_of

# In a process of its own: Linux counts the memory of the process that starts a command as the command's.
_MEASURE = """
import json, os, subprocess, sys, time
began = time.perf_counter()
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
said = process.stderr.read().decode(errors="replace")
_, status, usage = os.wait4(process.pid, 0)
seconds = time.perf_counter() - began
scale = 1 if sys.platform == "darwin" else 1024
print(json.dumps([os.waitstatus_to_exitcode(status), said, seconds, usage.ru_utime + usage.ru_stime,
                  usage.ru_maxrss * scale]))
"""


class Usage(NamedTuple):
    """What a command took."""

    seconds: float
    cpu_seconds: float
    """Of all its threads and processes."""
    peak_bytes: int

    def __add__(self, other: Usage) -> Usage:  # type: ignore[override]
        return Usage(
            self.seconds + other.seconds,
            self.cpu_seconds + other.cpu_seconds,
            max(self.peak_bytes, other.peak_bytes),
        )


def script(name: str) -> str:
    """Return the path of a command that is installed beside the interpreter."""
    path = Path(sys.executable).with_name(name)
    if not path.exists():
        sys.exit(f"{path} does not exist: run this with the interpreter of the environment that holds {name}")
    return str(path)


def run(*command: str) -> Usage:
    """Run a command to its end; end the program if it fails."""
    measured = subprocess.run([sys.executable, "-c", _MEASURE, *command], capture_output=True, text=True, check=True)
    status, said, *usage = json.loads(measured.stdout)
    if status:
        sys.exit(f"{' '.join(command)}: exit status {status}\n{said}")
    return Usage(*usage)


def medians(usages: Iterable[Usage]) -> Usage:
    """Return the median time and processor time, and the largest memory."""
    seconds, cpu, peak = zip(*usages, strict=True)
    return Usage(statistics.median(seconds), statistics.median(cpu), max(peak))


def in_turns(commands: Mapping[str, Sequence[Sequence[str]]], repeats: int) -> dict[str, Usage]:
    """Run named lists of commands in turns; return the medians of their sums."""
    found: dict[str, list[Usage]] = {name: [] for name in commands}
    for _ in range(repeats):
        for name, steps in commands.items():
            total, *others = [run(*step) for step in steps]
            for one in others:
                total += one
            found[name].append(total)
    return {name: medians(usages) for name, usages in found.items()}


def plain_build(source: str, target: str, options: str) -> float:
    """Write the folded columns of a catalogue with executemany, then rebuild an FTS5 table; return the seconds."""
    rows = documents_of(Path(source))
    began = time.perf_counter()
    connection = sqlite3.connect(target, isolation_level=None)
    connection.executescript("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN")
    connection.execute(
        "CREATE TABLE documents (rowid INTEGER PRIMARY KEY, id TEXT, title TEXT, url TEXT, "
        "id_lc TEXT, title_lc TEXT, keywords_lc TEXT, text_lc TEXT)"
    )
    connection.executemany("INSERT INTO documents VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)
    connection.execute(
        f"CREATE VIRTUAL TABLE f USING fts5(id_lc, title_lc, keywords_lc, text_lc, content='documents'{options})"
    )
    connection.execute("INSERT INTO f(f) VALUES ('rebuild')")
    connection.execute("COMMIT")
    connection.close()
    return time.perf_counter() - began


if __name__ == "__main__":
    print(plain_build(*sys.argv[1:]))
