"""An exported Worker for tests, in workerd with its own D1, with the ways to it that the tests of the server take."""

from __future__ import annotations

import http.client
import json
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from d1local import Cloudflare
from wires import REPLY_SECONDS, Caller, Http, Wire

from catalog_search.worker import export_worker


class Edge(Caller):
    """A Worker that serves one catalogue; it answers as `wires.Child` and `served.Here` do, where that makes sense."""

    def __init__(self, cloudflare: Cloudflare) -> None:
        self.cloudflare = cloudflare
        self.port = int(cloudflare.worker.rpartition(":")[2])
        self._number = 0

    def post(
        self, body: bytes, headers: Mapping[str, str] | None = None, path: str = "/mcp", method: str = "POST"
    ) -> tuple[int, dict[str, str], bytes]:
        """Send a request as it is; return status, headers and body."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=REPLY_SECONDS)
        with closing(connection):
            connection.request(method, path, body, {"Content-Type": "application/json", **(headers or {})})
            response = connection.getresponse()
            return response.status, {name.lower(): value for name, value in response.getheaders()}, response.read()

    def request(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        """Send a request and return the whole reply to it."""
        self._number += 1
        message = {"jsonrpc": "2.0", "id": self._number, "method": method}
        status, _, body = self.post(json.dumps(message if params is None else message | {"params": params}).encode())
        assert status == 200, body
        reply: dict[str, Any] = json.loads(body)
        assert reply["id"] == self._number
        return reply


@contextmanager
def exported(database: str | Path) -> Iterator[Edge]:
    """Export a catalogue as a Worker, load its seed.sql, and serve it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        export_worker(database, folder)
        with closing(Cloudflare(folder / "worker.js")) as cloudflare:
            cloudflare.run(folder / "seed.sql")
            yield Edge(cloudflare)


class Anew(Http):
    """A connection for each message: workerd closes one that is idle for some seconds."""

    def answers(self, message: bytes, count: int = 1) -> list[Any]:
        self.close()
        return super().answers(message, count)


@contextmanager
def over_worker(database: str) -> Iterator[Wire]:
    """Serve a database as a Worker; see `wires.WIRES`."""
    with exported(database) as edge:
        wire = Anew(f"127.0.0.1:{edge.port}")
        yield wire
        wire.close()
