"""Many clients at once against a server over HTTP: how many calls were answered, rightly or not, and how fast.

Used by tests/test_load.py, shortly, and by tests/benchmarks/server.py, at length.
"""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

PROTOCOL = "2025-11-25"
MODERN = "2026-07-28"


class Call(NamedTuple):
    """A request, and what its answer must hold."""

    request: bytes
    holds: bytes


@dataclass
class Tally:
    """What became of the calls."""

    right: int = 0
    wrong: int = 0
    refused: int = 0
    """Answered with 503."""
    lost: int = 0
    """Sent, and not answered."""
    seconds: list[float] = field(default_factory=list)
    """Of each call that was answered rightly."""
    samples: list[str] = field(default_factory=list)
    """The first answers that were wrong."""

    @property
    def all(self) -> int:
        return self.right + self.wrong + self.refused + self.lost

    def quantile(self, share: float) -> float:
        """Return the milliseconds within which so many calls were answered."""
        ordered = sorted(self.seconds)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))] * 1_000 if ordered else 0.0


def post(body: bytes, headers: dict[str, str] | None = None, *, port: int = 80, path: str = "/mcp") -> bytes:
    lines = {"Host": f"127.0.0.1:{port}", "Content-Type": "application/json", "Content-Length": str(len(body))}
    head = "".join(f"{name}: {value}\r\n" for name, value in (lines | (headers or {})).items())
    return f"POST {path} HTTP/1.1\r\n{head}\r\n".encode() + body


def call(name: str, arguments: dict[str, str], holds: str, version: str = PROTOCOL) -> Call:
    """Return a call of a tool, as one version of the protocol has it."""
    params: dict[str, object] = {"name": name, "arguments": arguments}
    headers = {"MCP-Protocol-Version": version}
    if version == MODERN:
        prefix = "io.modelcontextprotocol"
        params["_meta"] = {f"{prefix}/protocolVersion": version, f"{prefix}/clientCapabilities": {}}
        headers |= {"Mcp-Method": "tools/call", "Mcp-Name": name}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()
    return Call(post(body, headers), holds.encode())


async def receive(reader: asyncio.StreamReader) -> tuple[int, bytes, bytes]:
    """Return status, head and body of the next reply."""
    head = await reader.readuntil(b"\r\n\r\n")
    length = head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
    return int(head[9:12]), head, await reader.readexactly(int(length or 0))


class Load:
    """Clients that each make one call after another.

    Args:
        port: where the server listens on the loopback.
        calls: what is called, in turn.
        clients: how many at once.
    """

    def __init__(self, port: int, calls: Sequence[Call], clients: int) -> None:
        self.tally = Tally()
        self._port, self._calls, self._clients = port, calls, clients
        self._ends = 0.0
        self.ending = False
        """Whether the server was told to end: it closes connections then, between two calls."""

    async def run(self, seconds: float) -> Tally:
        self._ends = time.monotonic() + seconds
        async with asyncio.TaskGroup() as group:
            for number in range(self._clients):
                group.create_task(self._client(number))
        return self.tally

    async def _client(self, number: int) -> None:
        while time.monotonic() < self._ends:
            try:
                reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
            except OSError:
                if self.ending:
                    return
                self.tally.lost += 1
                await asyncio.sleep(0.05)
                continue
            try:
                await self._talk(reader, writer, number)
            finally:
                writer.close()
            # Told to end, a server refuses connections sooner or later; who is let in until then is answered.

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, number: int) -> None:
        while time.monotonic() < self._ends:
            number += 1
            request, holds = self._calls[number % len(self._calls)]
            began = time.perf_counter()
            writer.write(request)
            try:
                status, head, body = await receive(reader)
            except (OSError, asyncio.IncompleteReadError):
                self.tally.lost += 1
                return
            if status == 200 and holds in body:
                self.tally.right += 1
                self.tally.seconds.append(time.perf_counter() - began)
            elif status == 503:
                self.tally.refused += 1
                await asyncio.sleep(0.05)
            else:
                self.tally.wrong += 1
                if len(self.tally.samples) < 3:
                    self.tally.samples.append(f"{status} {body[:200]!r}")
            if b"connection: close" in head.lower():
                return


NESTED = ("where", "id", "query", "collections", "schema", "limit", "path_prefix", "\ud800")
"""Arguments that arrive as JSON in a text, with half a character in it."""


def hostile_bodies() -> list[bytes]:
    """Return what nobody sends who means well."""
    inner = ['{"query": "\\ud800 wages"}', '["\\udfff"]', '"\\ud800"', '{"a":' * 990, "9" * 5_000, "1e999", "[" * 990]
    calls = [
        {"name": name, "arguments": arguments}
        for name in ("search", "fetch", "search_evidence", "read_document", "verified_search")
        for text in inner
        for arguments in (text, *({"query": "wages", key: text} for key in NESTED))
    ]
    return [
        b"", b"{", b"[]", b"null", b'"x"', b"\xff\xfe\xfd", b"\x00" * 100, b"[" * 20_000, b"9" * 5_000,
        b'{"a":' * 20_000,
        b'{"jsonrpc":"2.0","id":1}', b'{"jsonrpc":"2.0","id":{},"method":"ping"}', b'{"id":1,"method":"tools/call"}',
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[]}', b'{"jsonrpc":"2.0","id":1,"method":"\\ud800"}',
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":5,"arguments":[[[[[]]]]]}}',
        b'{"jsonrpc":"2.0","id":1e400,"method":"ping"}', b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":7}',
        b"[" + b'{"jsonrpc":"2.0","id":1,"method":"ping"},' * 30 + b"1]", b" " * 300_000,
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":"' + b"a " * 50_000 + b'"}}',
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"fetch","arguments":{"id":"\xed\xa0\x80"}}}',
        *(json.dumps({"id": 1, "method": "tools/call", "params": params}).encode() for params in calls),
        *(json.dumps({"id": 1, "method": "tools/call", "params": json.dumps(params)}).encode() for params in calls),
    ]  # fmt: skip


def hostile_lines(count: int) -> list[bytes]:
    """Return so many of them as lines, some with a byte changed, always the same."""
    chance = random.Random(7)
    bodies = hostile_bodies()
    return [_damaged(chance, chance.choice(bodies)).replace(b"\n", b" ") for _ in range(count)]


def _damaged(chance: random.Random, message: bytes) -> bytes:
    body = bytearray(message)
    if body and chance.random() < 0.3:  # a byte of it is another
        body[chance.randrange(len(body))] = chance.randrange(256)
    return bytes(body)


def hostile_messages(count: int) -> list[bytes]:
    """Return request bytes that nobody means well with, always the same."""
    chance = random.Random(5)
    bodies = hostile_bodies()
    found = []
    for _ in range(count):
        body = _damaged(chance, chance.choice(bodies))
        headers = chance.choice(
            [{}, {}, {}, {"MCP-Protocol-Version": "x" * 50}, {"MCP-Protocol-Version": MODERN}, {"Content-Type": "a/b"},
             {"Accept": "no/thing"}, {"Mcp-Name": "\x7f"}, {"Origin": "http://evil.example"}, {"Host": "evil.example"}]
        )  # fmt: skip
        found.append(post(body, headers))
    return found


async def assault(port: int, count: int, clients: int = 20) -> dict[int, int]:
    """Send hostile messages, slow, short and overlong bodies; return status → how many. 0 is no answer at all."""
    statuses: dict[int, int] = {}
    messages = hostile_messages(count)

    def seen(status: int) -> None:
        statuses[status] = statuses.get(status, 0) + 1

    async def one(messages: Sequence[bytes]) -> None:
        reader = writer = None
        for message in messages:
            if writer is None or writer.is_closing():
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
            assert reader is not None
            try:
                writer.write(message)
                status, head, _ = await asyncio.wait_for(receive(reader), 30)
                seen(status)
                if b"connection: close" in head.lower():
                    writer.close()
            except (OSError, asyncio.IncompleteReadError, TimeoutError):
                seen(0)
                writer.close()
        if writer is not None:
            writer.close()

    async def slow(begun: bytes) -> None:
        """Send the beginning of a request, and never the rest."""
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(begun)
        try:
            status, _, _ = await asyncio.wait_for(receive(reader), 30)
            seen(status)
        except (OSError, asyncio.IncompleteReadError, TimeoutError):
            seen(0)
        writer.close()

    half = post(b"x" * 1_000)[:-500]
    overlong = post(b"").replace(b"Content-Length: 0", b"Content-Length: 99999999")
    async with asyncio.TaskGroup() as group:
        for number in range(clients):
            group.create_task(one(messages[number::clients]))
        for begun in (half, overlong, b"POST /mcp HTT", post(b"")[:40]):
            for _ in range(10):
                group.create_task(slow(begun))
    return statuses


def resident(process: int) -> int:
    """Return the bytes of memory that a process holds; 0 where that cannot be known."""
    try:
        for line in Path(f"/proc/{process}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0
