"""A piece of Cloudflare on this machine: workerd's D1, the API in front of it, and an exported Worker."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from node import installed

from catalog_search.database import Database
from catalog_search.export import data_statements, index_statements

TOKEN = "0123456789abcdefSECRET"
ADDRESS = "d1://account/catalogue"


class Cloudflare:
    """It holds one D1 database, empty at first; `api` is the API's base URL, `worker` the address of the Worker."""

    def __init__(self, worker: Path | None = None) -> None:
        command = ["node", str(installed() / "cloudflare.mjs"), TOKEN, *([str(worker)] if worker else [])]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        about = self._read()
        self.api: str = about["api"]
        self.worker: str = (about["worker"] or "").rstrip("/")

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        return answer

    def send(self, **message: Any) -> dict[str, Any]:
        """Run statements inside; each must succeed."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()
        answer = self._read()
        assert answer["ok"], answer["error"]
        return answer

    def load(self, path: str | Path) -> None:
        """Put a catalogue's database into D1, statement by statement as an import does."""
        database = Database(str(path))
        for sql in (*data_statements(database), *index_statements(database)):
            self.send(batch=[sql])
        database.close()

    def close(self) -> None:
        self._process.communicate(timeout=60)
