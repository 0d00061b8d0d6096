"""A server in a process of its own, and the ways to it: what goes over the wire is bytes, and every wait has an end.

`Child` is a server at the end of two pipes. A `Wire` sends one raw message and gives the answer to it, whichever
transport is between; tests that take the fixture `wire` run over each of WIRES.
"""

from __future__ import annotations

import http.client
import json
import queue
import re
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol

SERVE = [sys.executable, "-m", "catalog_search", "serve"]
HANDSHAKES = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]
MODERN = "2026-07-28"
REPLY_SECONDS = 15.0
"""For one reply; the first one waits for Python and the SDK to load, on a machine that is busy with other tests."""

CLIENT = {"capabilities": {}, "clientInfo": {"name": "tests", "version": "1"}}


class Caller:
    """The calls of tools, over whatever sends requests."""

    def request(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        """Send a request and return the whole reply to it."""
        raise NotImplementedError

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool and return its result."""
        found: dict[str, Any] = self.request("tools/call", {"name": tool, "arguments": arguments})["result"]
        return found

    def found(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool, see that the envelope is in order, and return the object in it."""
        return opened(self.call(tool, **arguments))

    def error(self, tool: str, **arguments: Any) -> str:
        """Call a tool, see that it fails as a call should, and return what it says."""
        return failed(self.call(tool, **arguments))


class Child(Caller):
    """A server in a process of its own. Every wait has an end; every line it writes must be a message."""

    def __init__(self, database: str, command: list[str] | None = None, *, listens: bool = True) -> None:
        self._stderr: list[bytes] = []
        self.process = subprocess.Popen(
            [*(command or SERVE), database], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        self._lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._threads = [threading.Thread(target=self._read_errors, daemon=True)]
        if listens:
            self._threads.append(threading.Thread(target=self._read, daemon=True))
        for thread in self._threads:
            thread.start()
        self._number = 0

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line)
        self._lines.put(None)

    def _read_errors(self) -> None:
        assert self.process.stderr is not None
        self._stderr += self.process.stderr

    def send(self, message: object) -> None:
        """Send a message, or bytes as they are."""
        assert self.process.stdin is not None
        line = message if isinstance(message, bytes) else json.dumps(message).encode()
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def receive(self) -> dict[str, Any]:
        """Return the next message."""
        line = self._lines.get(timeout=REPLY_SECONDS)
        assert line is not None, "the server ended"
        message = json.loads(line)
        assert isinstance(message, dict) and message["jsonrpc"] == "2.0"
        return message

    def post(self, id: object, method: str, params: dict[str, Any]) -> None:
        """Send a request without waiting for its reply."""
        self.send({"jsonrpc": "2.0", "id": id, "method": method, "params": params})

    def request(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        """Send a request and return the whole reply to it."""
        self._number += 1
        message = {"jsonrpc": "2.0", "id": self._number, "method": method}
        self.send(message if params is None else message | {"params": params})
        reply = self.receive()
        assert reply["id"] == self._number
        return reply

    def handshake(self, version: str = HANDSHAKES[-1]) -> dict[str, Any]:
        """Open the connection and return what the server says of itself."""
        found: dict[str, Any] = self.request("initialize", CLIENT | {"protocolVersion": version})["result"]
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return found

    def end(self) -> tuple[int, str]:
        """Close the server's input and return its exit status and what it wrote to standard error."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.ended()

    def ended(self) -> tuple[int, str]:
        """Wait for the end; what comes before it must still be messages."""
        status = self.process.wait(REPLY_SECONDS)
        for thread in self._threads:
            thread.join(REPLY_SECONDS)
        while not self._lines.empty() and (line := self._lines.get()) is not None:
            json.loads(line)
        return status, b"".join(self._stderr).decode()

    def close(self) -> None:
        """End it in whatever state it is."""
        self.process.kill()
        self.process.wait(REPLY_SECONDS)
        for thread in self._threads:
            thread.join(REPLY_SECONDS)
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert pipe is not None
            with suppress(BrokenPipeError):
                pipe.close()


def opened(result: dict[str, Any]) -> dict[str, Any]:
    """Return the object of a result; the one text block must say the same, compactly."""
    found: dict[str, Any] = result["structuredContent"]
    assert result["isError"] is False
    assert [sorted(block) for block in result["content"]] == [["text", "type"]]
    text = result["content"][0]["text"]
    assert json.loads(text) == found
    assert text == json.dumps(found, ensure_ascii=False, separators=(",", ":"))
    return found


def failed(result: dict[str, Any]) -> str:
    """Return what a failed call says: one block of plain words."""
    assert result["isError"] is True
    assert "structuredContent" not in result
    assert [block["type"] for block in result["content"]] == ["text"]
    text: str = result["content"][0]["text"]
    assert "Traceback" not in text and ".py" not in text and text.endswith((".", "?", "}"))
    return text


def ended_well(status: int, log: str) -> None:
    """Check the end of a server: it was asked to end, and has written a line for each call and no more."""
    assert status == 0
    assert all(re.match(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d INFO \w+ \w+ ", line) for line in log.splitlines()), log


@contextmanager
def served(database: str | Path, command: list[str] | None = None, *, listens: bool = True) -> Iterator[Child]:
    child = Child(str(database), command, listens=listens)
    try:
        yield child
    finally:
        child.close()


def patched(statements: str) -> list[str]:
    """Return the command of a server whose Catalog is changed first; `Catalog` and `search` (the old one) are there."""
    code = f"""
import os, sys, time
from catalog_search import Catalog
search = Catalog.search
{statements}
from catalog_search.cli import main
main(["serve", sys.argv[1]])
"""
    return [sys.executable, "-c", code]


# Wires --------------------------------------------------------------------------------------------------------


class Wire(Protocol):
    """A way to a server for messages that no client would send."""

    def answers(self, message: bytes, count: int = 1) -> list[Any]:
        """Send a message as it is and return the answers to it; so many must come, and in time, and no more."""


class Stdio:
    """The two pipes of a child process."""

    def __init__(self, child: Child) -> None:
        self._child = child
        child.handshake()

    def answers(self, message: bytes, count: int = 1) -> list[Any]:
        self._child.send(message)
        found = [self._child.receive() for _ in range(count)]
        # Once a ping is answered, nothing more comes for what was sent before it.
        assert self._child.request("ping")["result"] == {}
        return found


class Http:
    """One connection to a server that listens; every message is a request of its own."""

    def __init__(self, address: str) -> None:
        self.address = address
        host, _, port = address.rpartition(":")
        self._connection = http.client.HTTPConnection(host, int(port), timeout=REPLY_SECONDS)

    def answers(self, message: bytes, count: int = 1) -> list[Any]:
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        self._connection.request("POST", "/mcp", message, headers)
        response = self._connection.getresponse()
        body = response.read()
        assert response.status in (200, 202, 400, 404), body
        found = json.loads(body) if body else []
        found = found if isinstance(found, list) else [found]
        assert len(found) == count, body
        return found

    def close(self) -> None:
        self._connection.close()


@contextmanager
def over_stdio(database: str, *options: str) -> Iterator[Wire]:
    """Serve a database over standard input and output; at its end it has said nothing but messages."""
    with served(database, [*SERVE, *options]) as child:
        yield Stdio(child)
        status, log = child.end()
        assert status == 0
        assert "Traceback" not in log


@contextmanager
def over_http(database: str, *options: str) -> Iterator[Http]:
    """Serve a database over HTTP, to whoever asks and as often as they ask."""
    with tempfile.TemporaryDirectory() as folder:
        if "--config" not in options:
            config = Path(folder, "serve.yaml")
            config.write_text("bounds: {calls_per_second: 0}\n", "utf-8")
            options += ("--config", str(config))
        command = [*SERVE, database, "--http", "127.0.0.1:0", "--anonymous", *options]
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
        assert process.stderr is not None
        log: list[bytes] = []
        listening: queue.SimpleQueue[str | None] = queue.SimpleQueue()

        def read() -> None:  # all the time: a pipe that is full would hold the server up
            assert process.stderr is not None
            for line in process.stderr:
                log.append(line)
                if found := re.search(r"http://([\d.]+:\d+)/mcp", line.decode()):
                    listening.put(found[1])
            listening.put(None)

        reader = threading.Thread(target=read, daemon=True)
        reader.start()
        try:
            address = listening.get(timeout=REPLY_SECONDS)
            assert address, b"".join(log)
            wire = Http(address)
            yield wire
            wire.close()
            process.terminate()
            assert process.wait(REPLY_SECONDS) == 0
            assert b"Traceback" not in b"".join(log)
        finally:
            process.kill()
            process.wait(REPLY_SECONDS)
            reader.join(REPLY_SECONDS)
            process.stderr.close()


WIRES: dict[str, Callable[..., AbstractContextManager[Wire]]] = {"stdio": over_stdio, "http": over_http}


def called(wire: Wire, tool: Any, arguments: Any) -> dict[str, Any]:
    """Call a tool with a name and arguments of any kind, and return its result."""
    message = {"jsonrpc": "2.0", "id": "call", "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
    (answer,) = wire.answers(json.dumps(message).encode())
    assert answer["id"] == "call", answer
    result: dict[str, Any] = answer["result"]
    return result
