"""A front and the server behind it for tests: one of the TypeScript SDK in a process, the front in a thread."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from node import installed
from served import REPLY_SECONDS, Reached

from catalog_search.server.fronting import FrontEndpoint
from catalog_search.server.hosts import Address
from catalog_search.server.service import Service, open_socket
from catalog_search.server.upstream_sessions import Sessions
from catalog_search.server.upstream_settings import UpstreamSettings, load_upstream

VENDOR = {"target_tool": "vendor_search", "target_param": "q"}
"""The names of the TypeScript server's tool and question."""


def node_server(mode: str) -> list[str]:
    """Return the command of the TypeScript server."""
    return ["node", str(installed() / "upstream.mjs"), mode]


class Vendor:
    """The TypeScript server over HTTP."""

    def __init__(self, mode: str, port: int = 0) -> None:
        self.process = subprocess.Popen(
            node_server(mode), stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, env=os.environ
        )
        assert self.process.stdout is not None
        self.port = json.loads(self.process.stdout.readline())["port"]
        self.url = f"http://127.0.0.1:{self.port}/mcp"

    def log(self) -> list[dict[str, Any]]:
        """Return what it received, in order."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/log", timeout=REPLY_SECONDS) as response:
            found: list[dict[str, Any]] = json.loads(response.read())
        return found

    def calls(self) -> list[dict[str, Any]]:
        """Return the calls of its tool that it received."""
        return [one["call"] for one in self.log() if "call" in one]

    def methods(self) -> list[str]:
        """Return what else it received."""
        return [one["method"] for one in self.log() if "method" in one]

    def expire(self, status: int = 404) -> None:
        """Let it forget all sessions."""
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}/expire?status={status}", method="POST", data=b""
        )
        urllib.request.urlopen(request, timeout=REPLY_SECONDS).close()

    def close(self) -> None:
        self.process.kill()
        self.process.wait(REPLY_SECONDS)
        assert self.process.stdout is not None
        self.process.stdout.close()


@contextmanager
def vendor(mode: str = "sse") -> Iterator[Vendor]:
    started = Vendor(mode)
    try:
        yield started
    finally:
        started.close()


def settings(upstream: str, **given: str) -> UpstreamSettings:
    """Return the settings of a front of the TypeScript server, at any port."""
    environment = {f"CATALOG_SEARCH_SERVE_{key.upper()}": value for key, value in {**VENDOR, **given}.items()}
    return load_upstream(None, environment, {"upstream": upstream, "listen": "127.0.0.1:0"})


class Front(Reached):
    """A front in a thread of this process."""

    def __init__(self, port: int, sessions: Sessions) -> None:
        super().__init__(port)
        self.sessions = sessions


@contextmanager
def front(found: UpstreamSettings, **options: Any) -> Iterator[Front]:
    """Serve a front in a thread; at its end its sessions are closed."""
    opened = open_socket(Address("127.0.0.1", 0))
    address = Address("127.0.0.1", 0).at(opened)
    sessions = Sessions(found.target, **options)
    service = Service(FrontEndpoint(found, sessions, address))

    async def serve() -> None:
        try:
            await service.serve(sockets=[opened])
        finally:
            await sessions.close()

    thread = threading.Thread(target=asyncio.run, args=(serve(),), daemon=True)
    thread.start()
    try:
        yield Front(address.port, sessions)
    finally:
        service.should_exit = True
        thread.join(REPLY_SECONDS)


def said(result: dict[str, Any]) -> dict[str, Any]:
    """Return what the TypeScript server says of a call."""
    assert not result.get("isError"), result
    found: dict[str, Any] = json.loads(result["content"][0]["text"])
    return found
