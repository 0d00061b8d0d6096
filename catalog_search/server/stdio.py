"""An MCP server → standard input and output: one JSON-RPC message a line.

The SDK has such a transport. It does not answer a line that is no message as it knows them, and half a character in
a question is enough for that: the client waits for ever. It drops the calls in hand when the input ends, and Ctrl-C
does not end it while it waits for a line. Hence this one.
"""

from __future__ import annotations

import json
import logging
import os
import queue
import signal
import sys
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread
import mcp_types as types
from anyio.from_thread import BlockingPortal
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

from catalog_search.errors import CatalogSearchError
from catalog_search.server.envelopes import repaired
from catalog_search.server.jsontext import TooDeep, parse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
    from mcp.server.lowlevel import Server

DRAIN_SECONDS = 10.0
"""How long the calls in hand may take to be answered after a signal, or once the client no longer reads."""

WRITE_SECONDS = 2.0
"""How long the last answers may take to be written; a client may have stopped reading without leaving."""


logger = logging.getLogger(__name__)


def run(server: Server[Any], *, strict: bool = False) -> None:
    """Serve until standard input ends, or SIGTERM or Ctrl-C; a second signal ends the process at once.

    Args:
        server: what answers.
        strict: refuse a message of nearly the right form instead of repairing it.
    """
    with protocol_only() as (incoming, outgoing), suppress(KeyboardInterrupt):
        anyio.run(serve, server, incoming, outgoing, strict)


async def serve(
    server: Server[Any], incoming: int, outgoing: int, strict: bool = False, drain_seconds: float = DRAIN_SECONDS
) -> None:
    """Serve the client behind two descriptors until it leaves, or until the process is told to stop."""
    await Connection(incoming, outgoing, strict=strict, drain_seconds=drain_seconds).serve(server)


@contextmanager
def protocol_only() -> Iterator[tuple[int, int]]:
    """Yield descriptors of standard input and output; what anyone else prints goes to standard error.

    Raises:
        CatalogSearchError: one of them is closed.
    """
    if sys.stdin is None or sys.stdout is None:  # closed, and perhaps another file has the number by now
        raise CatalogSearchError("MCP is spoken over standard input and output, and one of them is closed")
    sys.stdout.flush()
    incoming, outgoing = os.dup(0), os.dup(1)
    os.dup2(2, 1)
    try:
        yield incoming, outgoing
    finally:
        sys.stdout.flush()
        os.dup2(outgoing, 1)
        # Neither is closed: a thread may still wait in it, and its number would be given to another file.


class Connection:
    """One client: reads its lines, writes what the server answers, and knows which calls are still open."""

    def __init__(
        self, incoming: int, outgoing: int, *, strict: bool = False, drain_seconds: float = DRAIN_SECONDS
    ) -> None:
        self._incoming, self._outgoing, self._strict = incoming, outgoing, strict
        self._drain_seconds = drain_seconds
        self._answers: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._open: set[types.RequestId] = set()
        self._reading = anyio.CancelScope()
        self._ended = False
        self._all_answered = anyio.Event()

    async def serve(self, server: Server[Any]) -> None:
        """Serve the client until it leaves, or until the process is told to stop."""
        lines_in, lines = anyio.create_memory_object_stream[bytes](0)
        to_server, from_client = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        to_client, from_server = anyio.create_memory_object_stream[SessionMessage](0)
        async with BlockingPortal() as portal, anyio.create_task_group() as signals:
            # Daemons: a thread that waits for a client cannot be interrupted, and must not outlive the rest.
            threading.Thread(target=self._read, args=(portal, lines_in), daemon=True).start()
            writer = threading.Thread(target=self._write, args=(portal,), daemon=True)
            writer.start()
            signals.start_soon(self._stop_on_signal)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._receive, lines, to_server)
                tasks.start_soon(self._send, from_server)
                await server.run(from_client, to_client, server.create_initialization_options())
            self._answers.put(None)
            await anyio.to_thread.run_sync(writer.join, WRITE_SECONDS)
            signals.cancel_scope.cancel()

    async def _stop_on_signal(self) -> None:
        # Where the loop cannot receive signals, on Windows, Ctrl-C is a KeyboardInterrupt as everywhere.
        with suppress(NotImplementedError), anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as received:
            async for _ in received:
                self._reading.cancel()
                return

    # In threads of their own ------------------------------------------------------------------------------

    def _read(self, portal: BlockingPortal, lines: MemoryObjectSendStream[bytes]) -> None:
        # RuntimeError: the loop is gone; the others: nobody receives any more.
        with suppress(RuntimeError, anyio.BrokenResourceError, anyio.ClosedResourceError):
            with suppress(OSError), os.fdopen(self._incoming, "rb", closefd=False) as stream:
                for line in stream:
                    portal.call(lines.send, line)
            portal.call(lines.aclose)

    def _write(self, portal: BlockingPortal) -> None:
        try:
            with os.fdopen(self._outgoing, "wb", buffering=0, closefd=False) as stream:
                while (answer := self._answers.get()) is not None:
                    rest = memoryview(answer)
                    while rest:
                        rest = rest[stream.write(rest) :]
        except OSError:
            # The client is gone; so is the reason to go on.
            with suppress(RuntimeError):
                portal.call(self._reading.cancel)

    # In the loop ------------------------------------------------------------------------------------------

    async def _receive(
        self, lines: MemoryObjectReceiveStream[bytes], to_server: MemoryObjectSendStream[SessionMessage | Exception]
    ) -> None:
        async with to_server:
            with self._reading:
                async with lines:
                    async for line in lines:
                        for message in self._messages(line):
                            await to_server.send(SessionMessage(message))
                # The input ended; whoever sent it may still read, and nobody says hurry.
                await self._answer_the_rest()
            with anyio.move_on_after(self._drain_seconds):
                await self._answer_the_rest()

    async def _answer_the_rest(self) -> None:
        self._ended = True
        if self._open:
            await self._all_answered.wait()

    async def _send(self, from_server: MemoryObjectReceiveStream[SessionMessage]) -> None:
        async with from_server:
            async for message in from_server:
                self._answers.put(written(message.message) + b"\n")
                if isinstance(message.message, types.JSONRPCResponse | types.JSONRPCError):
                    self._close(message.message.id)

    def _close(self, request: Any) -> None:
        if isinstance(request, int | str):
            self._open.discard(request)
        if self._ended and not self._open:
            self._all_answered.set()

    def _messages(self, line: bytes) -> Iterator[types.JSONRPCMessage]:
        """Yield the messages of a line; answer what is none, so that nobody waits for it."""
        if not line.strip():
            return
        try:
            found = parse(line)
        except TooDeep as problem:
            self._refuse({"id": problem.id}, types.PARSE_ERROR, f"The line is not read: {problem}.")
            return
        except ValueError as problem:
            self._refuse(None, types.PARSE_ERROR, f"The line is not JSON: {problem}")
            return
        if found == []:
            self._refuse(None, types.INVALID_REQUEST, "The list of messages is empty.")
        # Several at once, as 2025-03-26 had it; each is answered by itself.
        for one in found if isinstance(found, list) else [found]:
            if not self._strict:
                one = repaired(one)
            try:
                message = types.jsonrpc_message_adapter.validate_python(one, by_name=False)
            except ValidationError:
                self._refuse(one, types.INVALID_REQUEST, "This is not a JSON-RPC 2.0 message.")
                continue
            if isinstance(message, types.JSONRPCRequest):
                self._open.add(message.id)
            elif isinstance(message, types.JSONRPCNotification):
                if "id" in one:  # which is neither text nor a whole number: not a request, as the SDK reads it
                    self._refuse(one, types.INVALID_REQUEST, "The id of a request is a text or a whole number.")
                    continue
                if message.method == "notifications/cancelled":
                    self._close((message.params or {}).get("requestId"))
            yield message

    def _refuse(self, message: Any, code: int, text: str) -> None:
        request = None
        if isinstance(message, dict):
            if "method" in message and "id" not in message:
                return  # A notification is never answered.
            if isinstance(message.get("id"), str | int | float) and not isinstance(message["id"], bool):
                request = message["id"]
        error = {"jsonrpc": "2.0", "id": request, "error": {"code": code, "message": text}}
        self._answers.put(json.dumps(error).encode() + b"\n")


def written(message: types.JSONRPCMessage) -> bytes:
    """Return a message as it is sent; in place of an answer that cannot be written, an error for the same request."""
    try:
        return message.model_dump_json(by_alias=True, exclude_unset=True).encode()
    except Exception:
        # Whatever it is: one answer is no reason to leave every other call without one.
        logger.exception("an answer cannot be written as JSON")
    request = getattr(message, "id", None)
    error = {"code": types.INTERNAL_ERROR, "message": "The server failed at this request. Its log says why."}
    return json.dumps({"jsonrpc": "2.0", "id": request, "error": error}).encode()
