"""One session with another MCP server for each Authorization: opened by the first call, kept, re-opened once.

A session belongs to whoever opened it. It is found by the whole Authorization header, as it was sent, and by nothing
else; a caller without one has a session of its own as well. So with one caller there is one session, and with two no
session, and no answer in it, is ever shared.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

from catalog_search.errors import UpstreamError
from catalog_search.server.upstream_http import HttpSession, make_client
from catalog_search.server.upstream_stdio import StdioSession
from catalog_search.server.upstream_wire import Expired

if TYPE_CHECKING:
    import httpx2

    from catalog_search.server.upstream_settings import Target

CALL_SECONDS = 50.0
"""How long a call may take, the opening of its session included; most clients wait for a minute."""

MOST_SESSIONS = 1_000
"""Sessions that are kept; beyond, the one that was used longest ago is let go, unless it is in use."""

logger = logging.getLogger(__name__)


class Sessions:
    """The sessions with one server.

    Args:
        target: the server.
        seconds: how long a call may take.
        most: how many sessions are kept.

    Use it in one event loop, and close it there.
    """

    def __init__(self, target: Target, *, seconds: float = CALL_SECONDS, most: int = MOST_SESSIONS) -> None:
        self._target, self._seconds, self._most = target, seconds, most
        self._slots: dict[str | None, _Slot] = {}
        self._client: httpx2.AsyncClient | None = None
        self._closing: set[asyncio.Task[None]] = set()
        self._deadlines: set[asyncio.Timeout] = set()
        self._hurried = False

    async def call(self, tool: str, arguments: dict[str, Any], authorization: str | None = None) -> dict[str, Any]:
        """Call a tool, once, and return its result as it came.

        Args:
            tool: its name.
            arguments: its arguments.
            authorization: the caller's Authorization header, with whose session it is called; a process that is
                spoken to over standard input and output is handed none.

        Raises:
            UpstreamError: there is no answer; it says why.
        """
        key = None if self._target.command else authorization
        params = {"name": tool, "arguments": arguments}
        slot = self._slot(key)
        slot.in_use += 1
        deadline = asyncio.timeout(self._seconds)
        self._deadlines.add(deadline)
        try:
            async with deadline:
                session = await slot.session(self, key, None)
                try:
                    return await session.request("tools/call", params)
                except Expired:
                    logger.info("a session with the upstream server had expired; it is opened anew")
                    session = await slot.session(self, key, session)
                    return await session.request("tools/call", params)
        except Expired as problem:
            said = str(problem) or "the upstream server does not know the session"
            raise UpstreamError(f"{said}; the session had just been opened") from None
        except TimeoutError:
            if self._hurried:
                raise UpstreamError("this server ends, and the upstream server has not answered yet") from None
            raise UpstreamError(f"the upstream server did not answer within {self._seconds:g} s") from None
        finally:
            self._deadlines.discard(deadline)
            slot.in_use -= 1
            if slot.opened is None and not slot.in_use:
                self._slots.pop(key, None)

    def hurry(self, seconds: float) -> None:
        """Give the calls in hand so many seconds at most."""
        self._hurried, latest = True, asyncio.get_running_loop().time() + seconds
        for deadline in self._deadlines:
            if (when := deadline.when()) is not None and when > latest:
                deadline.reschedule(latest)

    async def close(self) -> None:
        """End all sessions."""
        ending = [slot.opened.close() for slot in self._slots.values() if slot.opened is not None]
        self._slots.clear()
        await asyncio.gather(*ending, *self._closing, return_exceptions=True)
        if self._client is not None:
            await self._client.aclose()
            self._client = None

    def make(self, authorization: str | None) -> HttpSession | StdioSession:
        """Return a session that is not open yet."""
        if self._target.command:
            return StdioSession(self._target.command)
        if self._client is None:
            self._client = make_client()
        return HttpSession(self._client, self._target.url, authorization)

    def let_go(self, session: HttpSession | StdioSession) -> None:
        """End a session in the background."""
        task = asyncio.create_task(session.close())
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    def _slot(self, key: str | None) -> _Slot:
        slot = self._slots.pop(key, None) or _Slot()
        self._slots[key] = slot  # the dict is in the order of use
        if len(self._slots) > self._most:
            oldest = next((one for one, slot in self._slots.items() if not slot.in_use and one != key), key)
            if oldest != key and (session := self._slots.pop(oldest).opened) is not None:
                self.let_go(session)
        return slot


class _Slot:
    """Where the session of one Authorization is: calls that need it at once wait for one opening."""

    def __init__(self) -> None:
        self.opened: HttpSession | StdioSession | None = None
        self.in_use = 0
        self._opening = asyncio.Lock()

    async def session(
        self, sessions: Sessions, authorization: str | None, expired: HttpSession | StdioSession | None
    ) -> HttpSession | StdioSession:
        """Return the open session; a new one if there is none, or if it is the one that has expired."""
        async with self._opening:
            if self.opened is None or self.opened is expired:
                if self.opened is not None:
                    sessions.let_go(self.opened)
                self.opened = None
                made = sessions.make(authorization)
                await made.open()
                self.opened = made
            return self.opened
