"""What the benchmarks print and write: the machine, Markdown tables, JSON; and what they need installed."""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import os
import platform
import sqlite3
import sys
from collections.abc import Iterable, Sequence
from datetime import date
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT.parent / "shared" / "data"
PEERS = {"tantivy": "tantivy", "bm25s": "bm25s", "Stemmer": "PyStemmer", "sqlite_utils": "sqlite-utils"}
"""Module → the package that holds it."""


def require_peers() -> None:
    """End the program, with what to do, if a peer is not installed."""
    missing = []
    for module, package in PEERS.items():
        try:
            importlib.import_module(module)
        except ImportError:
            missing.append(package)
    if missing:
        sys.exit(f"not installed: {', '.join(missing)}. Run: pip install -e '{ROOT}[bench]'")


def progress(text: str) -> None:
    """Say on standard error what is going on."""
    print(text, file=sys.stderr, flush=True)


def machine(peers: Iterable[str] = tuple(PEERS.values())) -> dict[str, Any]:
    """Return the date, the machine's size and what is installed."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {
        "date": date.today().isoformat(),
        "system": f"{platform.system()} {platform.machine()}",
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory_gib": round(memory, 1),
        "load": [round(value, 2) for value in os.getloadavg()],
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "packages": {name: importlib.metadata.version(name) for name in ("catalog-search", *peers)},
    }


def is_editable() -> bool:
    """Tell whether the package is installed as editable: then every start of Python here imports what finds it."""
    told = importlib.metadata.distribution("catalog-search").read_text("direct_url.json")
    return bool(json.loads(told or "{}").get("dir_info", {}).get("editable"))


def machine_line(one: dict[str, Any]) -> str:
    """Return the machine as one sentence."""
    peers = ", ".join(f"{name} {version}" for name, version in one["packages"].items())
    load = "  ".join(map(str, one["load"]))
    return (
        f"{one['date']}, {one['system']}, {one['cores']} cores, {one['memory_gib']} GiB, load {load}; "
        f"Python {one['python']}, SQLite {one['sqlite']}, {peers}."
    )


def table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return a Markdown table; its columns are padded, so that it reads well as text too."""
    lines = [[str(cell) for cell in row] for row in (head, *rows)]
    widths = [max(len(line[place]) for line in lines) for place in range(len(head))]
    padded = ["| " + " | ".join(f"{cell:<{width}}" for cell, width in zip(line, widths, strict=True)) + " |"
              for line in lines]  # fmt: skip
    padded.insert(1, "| " + " | ".join("-" * width for width in widths) + " |")
    return "\n".join(padded)


def write(folder: Path | None, name: str, markdown: str, values: dict[str, Any]) -> None:
    """Write Markdown, and the values as JSON, if there is a folder for them."""
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.md").write_text(markdown + "\n", "utf-8")
        (folder / f"{name}.json").write_text(json.dumps(values, ensure_ascii=False, indent=1) + "\n", "utf-8")
