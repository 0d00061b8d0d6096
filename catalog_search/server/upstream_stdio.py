"""A session with another MCP server over the standard input and output of a process that is started for it.

The process has this one's environment, and with it whatever keys its operator put there. What it writes to standard
error goes to ours.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import signal
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import anyio

from catalog_search.errors import UpstreamError
from catalog_search.server.jsontext import TooDeep, parse
from catalog_search.server.upstream_wire import (
    INITIALIZED,
    MOST_BYTES,
    TOO_DEEP,
    Expired,
    NoHandshake,
    cancellation,
    encoded,
    initialization,
    reply_to,
    request,
    result_of,
    version_of,
    with_meta,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

END_SECONDS = 1.0
"""How long the process may take to end of itself, once its input has ended."""

NOTIFY_SECONDS = 1.0
"""How long may be spent on telling it that nobody waits for an answer any more."""

ENDED = "the upstream server ended before it had answered; what became of the call is not known"


class StdioSession:
    """One session, one process.

    Args:
        command: the program and its arguments.
    """

    def __init__(self, command: Sequence[str]) -> None:
        self._command = command
        self._process: asyncio.subprocess.Process | None = None
        self._reading: asyncio.Task[None] | None = None
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._ids = itertools.count(1)
        self._over, self._modern = True, False

    async def open(self) -> None:
        """Start the process and shake hands.

        Raises:
            UpstreamError: it cannot be started, refuses, or speaks no version known here.
        """
        try:
            self._process = await asyncio.create_subprocess_exec(
                *self._command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                limit=MOST_BYTES,
                # Ctrl-C is for this process, which still has calls to answer with that one's help.
                start_new_session=True,
            )
        except OSError as problem:
            raise UpstreamError(f"the upstream server cannot be started: {problem.strerror or problem}") from None
        self._over = False
        self._reading = asyncio.create_task(self._read())
        try:
            id = next(self._ids)
            version_of(result_of(await self._asked(id, initialization(id))))
            await self._send(INITIALIZED)
        except NoHandshake:
            self._modern = True
        except BaseException:
            await self.close()
            raise

    async def request(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Send a request and return its result.

        Raises:
            Expired: the process had ended before the request was sent.
            UpstreamError: the other server refuses, or ends before it has answered.
        """
        if self._over:
            raise Expired
        id = next(self._ids)
        params = with_meta(params) if self._modern else params
        try:
            return result_of(await self._asked(id, request(id, method, params)))
        except asyncio.CancelledError:
            with suppress(UpstreamError), anyio.move_on_after(NOTIFY_SECONDS, shield=True):
                await self._send(cancellation(id))
            raise

    async def close(self) -> None:
        """End the process: its input ends, and if that does not move it, it is killed."""
        process, self._over = self._process, True
        if process is None:
            return
        assert process.stdin is not None
        process.stdin.close()
        try:
            async with asyncio.timeout(END_SECONDS):
                await process.wait()
        except TimeoutError:
            with suppress(ProcessLookupError):
                if hasattr(os, "killpg"):
                    os.killpg(process.pid, signal.SIGKILL)
                else:
                    process.kill()
            await process.wait()
        if self._reading is not None:
            self._reading.cancel()
            with suppress(asyncio.CancelledError):
                await self._reading

    async def _asked(self, id: int, message: dict[str, Any]) -> Any:
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting[id] = answer
        try:
            await self._send(message)
            return await answer
        finally:
            del self._waiting[id]

    async def _send(self, message: dict[str, Any]) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        if self._over:
            raise UpstreamError(ENDED)
        try:
            self._process.stdin.write(encoded(message) + b"\n")
            await self._process.stdin.drain()
        except OSError:
            raise UpstreamError(ENDED) from None

    async def _read(self) -> None:
        assert self._process is not None
        assert self._process.stdout is not None
        try:
            # ValueError: a line is longer than an answer may be; where the next one begins is not known.
            with suppress(OSError, ValueError):
                async for line in self._process.stdout:
                    await self._receive(line)
        finally:
            self._over = True
            self._give_up(ENDED)

    def _give_up(self, why: str) -> None:
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(UpstreamError(why))

    async def _receive(self, line: bytes) -> None:
        try:
            message = parse(line)
        except TooDeep:
            self._give_up(TOO_DEEP)  # whose answer it is cannot be read
            return
        except ValueError:
            return  # what is no message is somebody's print, and answers nothing
        if not isinstance(message, dict):
            return
        if (reply := reply_to(message)) is not None:
            with suppress(UpstreamError):
                await self._send(reply)
        elif type(id := message.get("id")) is int and (waiting := self._waiting.get(id)) and not waiting.done():
            waiting.set_result(message)
