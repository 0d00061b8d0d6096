"""A server over HTTP for tests, in a thread of this process or in a process of its own; and a client of bytes."""

from __future__ import annotations

import asyncio
import json
import os
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from catalog_search.server.configuration import Configuration
from catalog_search.server.hosts import Address
from catalog_search.server.http import Application
from catalog_search.server.journal import Journal
from catalog_search.server.model import Model
from catalog_search.server.service import Service, open_socket
from catalog_search.server.serving import make_application
from catalog_search.server.shelf import Shelf

REPLY_SECONDS = 15.0
SERVE = [sys.executable, "-m", "catalog_search", "serve"]


class Reply(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


class Client:
    """One connection. What is sent is what is given, byte for byte."""

    def __init__(self, port: int, token: str | None = None) -> None:
        self.port, self.token = port, token
        self.socket = socket.create_connection(("127.0.0.1", port), REPLY_SECONDS)
        self._file = self.socket.makefile("rb")

    def close(self) -> None:
        self._file.close()
        self.socket.close()

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def request(
        self, method: str = "POST", path: str = "/mcp", body: bytes = b"", headers: Mapping[str, str] | None = None
    ) -> Reply:
        self.send(self.head(method, path, len(body), headers) + body)
        return self.receive()

    def head(self, method: str, path: str, length: int | None, headers: Mapping[str, str] | None = None) -> bytes:
        sent = {"Host": f"127.0.0.1:{self.port}", "Content-Type": "application/json"}
        sent |= {"Content-Length": str(length)} if length is not None else {}
        sent |= {"Authorization": f"Bearer {self.token}"} if self.token else {}
        sent |= headers or {}
        lines = "".join(f"{name}: {value}\r\n" for name, value in sent.items())
        return f"{method} {path} HTTP/1.1\r\n{lines}\r\n".encode("latin-1")

    def receive(self) -> Reply:
        """Return the next reply; status 0 if the connection was closed instead."""
        line = self._file.readline()
        if not line:
            return Reply(0, {}, b"")
        status = int(line.split()[1])
        headers: dict[str, str] = {}
        while (line := self._file.readline()).strip():
            name, _, value = line.decode("latin-1").partition(":")
            headers[name.lower()] = value.strip()
        if status == 204:  # which never has a body
            return Reply(status, headers, b"")
        body = self._file.read(int(headers["content-length"])) if "content-length" in headers else self._file.read()
        return Reply(status, headers, body)

    def message(self, method: str, params: Any = None, *, id: Any = 1, headers: Mapping[str, str] | None = None) -> Any:
        """Send a JSON-RPC request and return the whole answer to it."""
        message = {"jsonrpc": "2.0", "id": id, "method": method} | ({} if params is None else {"params": params})
        reply = self.request(body=json.dumps(message).encode(), headers=headers)
        assert reply.status == 200, reply
        found = reply.json()
        assert found["id"] == id
        return found

    def call(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        """Call a tool and return its result."""
        found: dict[str, Any] = self.message("tools/call", {"name": tool, "arguments": arguments})["result"]
        return found

    def found(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        result = self.call(tool, **arguments)
        assert result["isError"] is False, result
        found: dict[str, Any] = result["structuredContent"]
        return found

    def error(self, tool: str, /, **arguments: Any) -> str:
        result = self.call(tool, **arguments)
        assert result["isError"] is True, result
        text: str = result["content"][0]["text"]
        return text


class Reached:
    """What listens at a port of this machine."""

    def __init__(self, port: int) -> None:
        self.port = port

    @contextmanager
    def client(self, token: str | None = None) -> Iterator[Client]:
        client = Client(self.port, token)
        try:
            yield client
        finally:
            client.close()


class Here(Reached):
    """A server in a thread of this process."""

    def __init__(self, application: Application, port: int) -> None:
        super().__init__(port)
        self.application = application


@contextmanager
def serving(configuration: Configuration, journal: Journal | None = None, model: Model | None = None) -> Iterator[Here]:
    """Serve in a thread of this process, at any port."""
    shelf = Shelf.of_files(
        [one.path for one in configuration.collections],
        names=[one.name for one in configuration.collections],
        qualified_ids=configuration.qualified_ids,
        bounds=configuration.bounds,
    )
    address = Address("127.0.0.1", 0)
    application = make_application(shelf, configuration, address, journal or Journal(), model)
    opened = open_socket(address)
    service = Service(application)
    thread = threading.Thread(target=asyncio.run, args=(service.serve(sockets=[opened]),), daemon=True)
    thread.start()
    try:
        yield Here(application, address.at(opened).port)
    finally:
        service.should_exit = True
        thread.join(REPLY_SECONDS)
        shelf.close()


class Program:
    """A server in a process of its own; its log is read until it says where it listens."""

    def __init__(self, *arguments: str, environment: Mapping[str, str] | None = None, before: Sequence[str] = SERVE):
        self.process = subprocess.Popen(
            [*before, *arguments],
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            env={**os.environ, **(environment or {})},
        )
        self._log: list[str] = []
        self._port: int | None = None
        self._told = threading.Event()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self._log.append(line.decode())
            if found := re.search(r"at http://.*:(\d+)/mcp", self._log[-1]):
                self._port = int(found[1])
                self._told.set()
        self._told.set()

    @property
    def port(self) -> int:
        assert self._told.wait(60)
        assert self._port is not None, self.log()
        return self._port

    def log(self) -> str:
        return "".join(self._log)

    def wait(self) -> int:
        """Wait for its end and return its exit status."""
        status = self.process.wait(60)
        self._thread.join(REPLY_SECONDS)
        return status


@contextmanager
def program(*arguments: str | Path, **options: Any) -> Iterator[Program]:
    started = Program(*map(str, arguments), **options)
    try:
        yield started
    finally:
        started.process.kill()
        started.process.wait(REPLY_SECONDS)
        assert started.process.stderr is not None
        started._thread.join(REPLY_SECONDS)
        started.process.stderr.close()
