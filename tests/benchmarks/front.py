"""What a front adds to a call on the loopback, beside the same call made directly, one after the other.

    python tests/benchmarks/front.py                 # before our own server, over HTTP
    python tests/benchmarks/front.py --calls 200

Direct calls and calls through the front are made in turn, each on a connection that is kept, so that whatever else the
machine does weighs on both. What is wanted: no more than 3 ms at the median. Exit status 1 if that is not met.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from report import ROOT
from served import Client, program

from catalog_search import build

WANTED = 3.0
"""Milliseconds that a front may add at the median."""
CONFIG = "listen: 127.0.0.1:0\nlog_level: error\n"


def spent(process: int) -> float:
    """Return the milliseconds of processor time that a process has had; 0 where that cannot be known."""
    try:
        found = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(found[11]) + int(found[12])) * 1_000 / os.sysconf("SC_CLK_TCK")


def milliseconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1_000


def beside(
    name: str, direct: Client, tool: str, key: str, front: Client, shape: dict[str, str], calls: int, process: int
) -> bool:
    """Call in turn, directly and through the front; print what the front adds and whether that is little enough."""

    def directly() -> None:
        assert not direct.call(tool, **{key: "labor force"}).get("isError")

    def through() -> None:
        assert not front.call("web_search", **shape).get("isError")

    for _ in range(20):
        directly(), through()
    began = spent(process)
    pairs = [(milliseconds(directly), milliseconds(through)) for _ in range(calls)]
    added = statistics.median(after - before for before, after in pairs)
    before, after = (statistics.median(ones) for ones in zip(*pairs, strict=True))
    met = added <= WANTED
    print(
        f"{'ok  ' if met else 'FAIL'}  {name}: {before:.2f} ms directly, {after:.2f} ms through the front; "
        f"{added:.2f} ms more at the median of {calls}; {WANTED:g} ms is wanted "
        f"({(spent(process) - began) / calls:.2f} ms of processor time each)",
        flush=True,
    )
    return met


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--calls", type=int, default=1_000, help="how many of each")
    options = parser.parse_args()
    print(f"{os.cpu_count()} processors, load average {os.getloadavg()[0]:.1f}")
    met = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        build(ROOT / "data" / "oecd" / "catalog.yaml", folder / "oecd.db")
        (folder / "ours.yaml").write_text(
            f"{CONFIG}anonymous: true\nbounds: {{calls_per_second: 0}}\n"
            "collections: {oecd: {path: oecd.db, public: true}}\n"
        )
        with program("--config", folder / "ours.yaml") as ours:
            (folder / "front.yaml").write_text(f"{CONFIG}upstream: http://127.0.0.1:{ours.port}/mcp\n")
            with program("--config", folder / "front.yaml") as front:
                direct, through = Client(ours.port), Client(front.port)
                for kind, shape in (("a right call", {"query": "labor force"}), ("any call", {"q": "labor force"})):
                    label = f"our own server, {kind}"
                    met.append(
                        beside(label, direct, "search", "query", through, shape, options.calls, front.process.pid)
                    )
    raise SystemExit(0 if all(met) else 1)


if __name__ == "__main__":
    main()
