"""A local Cloudflare D1, workerd's own, by way of tests/clients/d1.mjs."""

from __future__ import annotations

import json
import sqlite3
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from node import installed

from catalog_search.export import export_d1

TOKEN = "0123456789abcdefSECRET"
ADDRESS = "d1://account/catalogue"


class D1:
    """A local D1, empty at first; nothing of it is left when it is closed."""

    def __init__(self, *arguments: str) -> None:
        command = ["node", str(installed() / "d1.mjs"), *arguments]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def send(self, **message: Any) -> dict[str, Any]:
        """Send a statement, or a batch of them; an error is an AssertionError with D1's words."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()
        answer = self._read()
        assert answer["ok"], answer["error"]
        return answer

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        return answer

    def rows(self, sql: str, *parameters: Any) -> list[tuple[Any, ...]]:
        """Return the rows of a statement."""
        return [tuple(row.values()) for row in self.send(sql=sql, params=list(parameters))["results"]]

    def each(self, sql: str, parameters: Iterable[Sequence[Any]], size: int = 100) -> Iterator[dict[str, Any]]:
        """Yield `results` and `meta` of a statement for each of many lists of parameters, so many in a call."""
        lists = list(parameters)
        for place in range(0, len(lists), size):
            yield from self.send(sql=sql, each=lists[place : place + size])["each"]

    def load(self, path: str | Path) -> None:
        """Load a catalogue's database, as an import does."""
        script = Path(f"{path}.sql")
        export_d1(path, script)
        self.run(script)
        script.unlink()

    def run(self, script: Path) -> int:
        """Run a script as one transaction, as an import does; return the rows that it wrote."""
        written = self.send(batch=list(statements_of(script)))["rows_written"]
        assert isinstance(written, int)
        return written

    def close(self) -> None:
        self._process.communicate(timeout=60)


class Cloudflare(D1):
    """A local D1 with Cloudflare's API in front of it, and an exported Worker.

    Attributes:
        api: the API's base URL, for TOKEN and ADDRESS.
        worker: the Worker's address.
    """

    def __init__(self, worker: Path | None = None) -> None:
        super().__init__(TOKEN, *([str(worker)] if worker else []))
        about = self._read()
        self.api: str = about["api"]
        self.worker: str = (about["worker"] or "").rstrip("/")


def statements_of(script: Path) -> Iterator[str]:
    """Yield the statements of a script; one that is not ended, which an import leaves out, is an AssertionError."""
    lines: list[str] = []
    with open(script, encoding="utf-8", newline="\n") as file:
        for line in file:
            lines.append(line)
            if line.endswith(";\n") and sqlite3.complete_statement("".join(lines)):
                yield "".join(lines)
                lines.clear()
    assert not lines, "the last statement is not ended"


def longest(statements: Iterable[str]) -> int:
    return max(len(one.encode()) for one in statements)
