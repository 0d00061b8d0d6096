"""A socket, and a process that answers at it over HTTP until it is told to end.

Uvicorn reads HTTP. What is added here is what it leaves to a proxy in front of it: connections are bounded, silent
ones are let go, and a signal loses no call that somebody could already send.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import anyio._backends._asyncio  # noqa: F401  else with the first call, when no file may be left to open it by
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from catalog_search.errors import CatalogSearchError
from catalog_search.server.stdio import DRAIN_SECONDS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

    from catalog_search.server.hosts import Address
    from catalog_search.server.http import Endpoint

KEEP_ALIVE_SECONDS = 30
HEADER_BYTES = 16 * 1024
QUIET_SECONDS = 0.5
"""After a signal, how long those who are connected already are still answered before silent ones are let go."""
WAITING = 1_024
"""Connections that the system keeps until they are accepted."""
AT_ONCE = 16
"""Connections that are accepted before any of them is looked at."""
KEPT_FREE = 128
"""File descriptors that are left for databases and the like."""
FULL = (
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nConnection: close\r\n"
    b"Retry-After: 1\r\nContent-Length: %d\r\n\r\n%s"
)
FULL_BODY = (
    b'{"jsonrpc": "2.0", "id": null, "error": {"code": -32000, "message": '
    b'"Too many connections are open. Connect again in a second."}}'
)

logger = logging.getLogger(__name__)


def open_socket(address: Address) -> socket.socket:
    """Open the socket a server listens at.

    Raises:
        CatalogSearchError: the address is taken or not this machine's.
    """
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    # By its name: asyncio sends at once (TCP_NODELAY) only on sockets that say they are TCP, and an answer in two
    # pieces otherwise waits some 40 ms for the acknowledgement of its first.
    opened = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        opened.bind((address.host, address.port))
        opened.listen(WAITING)
    except OSError as problem:
        opened.close()
        raise CatalogSearchError(f"cannot listen at {address}: {problem.strerror or problem}") from None
    return opened


def run(application: Endpoint, opened: socket.socket) -> None:
    """Serve until SIGTERM or Ctrl-C, then answer the calls in hand; a second signal ends the process at once."""
    asyncio.run(Service(application).serve(sockets=[opened]))


def most_connections(wanted: int) -> int:
    """Return how many connections may be open: so many, or as many as the process may have besides its files.

    >>> most_connections(10)
    10
    """
    try:
        import resource
    except ImportError:  # Windows, where a socket is no file
        return wanted
    allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if allowed == resource.RLIM_INFINITY:
        return wanted
    return min(wanted, max(allowed - KEPT_FREE, allowed // 4))


class _Crowd:
    """The connections that are open, and which of them have said nothing yet, the oldest first."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.open = 0
        self.silent: dict[_Patient, None] = {}
        self._told = 0.0

    def enter(self, one: _Patient, now: float) -> bool:
        """Tell whether one more may be open; it takes the place of the one that has been silent longest."""
        if self.open >= self.most:
            if now - self._told > 60 or not self._told:
                self._told = now
                logger.warning("%d connections are open, which is the bound; silent ones are closed", self.most)
            if not self.silent:
                return False
            next(iter(self.silent)).give_way()
        self.open += 1
        self.silent[one] = None
        return True

    def speaks(self, one: _Patient) -> None:
        self.silent.pop(one, None)

    def leave(self, one: _Patient) -> None:
        self.silent.pop(one, None)
        self.open -= 1


class _Patient(H11Protocol):
    """Uvicorn's reader of HTTP, with an end to its patience: a head that does not arrive holds no connection."""

    seconds = 0.0
    crowd: _Crowd
    _inside = False
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._inside = self.crowd.enter(self, self.loop.time())
        if not self._inside:
            transport.write(FULL % (len(FULL_BODY), FULL_BODY))
            transport.close()
            return
        self._wait()

    def data_received(self, data: bytes) -> None:
        if not self._inside:
            return
        self.crowd.speaks(self)
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_waiting()
        elif self._timer is None:
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._leave()
        super().connection_lost(exc)

    def give_way(self) -> None:
        """Close at once: another needs the place, and its descriptor."""
        self._leave()
        self.transport.abort()

    def _leave(self) -> None:
        self._stop_waiting()
        if self._inside:
            self._inside = False
            self.crowd.leave(self)

    def _wait(self) -> None:
        self._timer = self.loop.call_later(self.seconds, self.transport.close)

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class Service(uvicorn.Server):
    """Uvicorn, but for what a signal does: clients that are connected are not cut off between two calls."""

    def __init__(self, application: Endpoint, drain_seconds: float = DRAIN_SECONDS) -> None:
        crowd = _Crowd(most_connections(application.bounds.connections))
        super().__init__(
            uvicorn.Config(
                application,
                log_config=None,
                log_level="error",
                access_log=False,
                lifespan="off",
                ws="none",
                http=type("_Protocol", (_Patient,), {"seconds": application.bounds.body_seconds, "crowd": crowd}),
                backlog=AT_ONCE,
                proxy_headers=False,
                server_header=False,
                timeout_keep_alive=KEEP_ALIVE_SECONDS,
                timeout_graceful_shutdown=int(drain_seconds),
                h11_max_incomplete_event_size=HEADER_BYTES,
            )
        )
        self._application = application
        self._listening: list[socket.socket] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._told = -60.0
        self._taken: set[asyncio.Task[None]] = set()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._listening = list(sockets or [])
        for opened in self._listening:
            opened.listen(WAITING)  # uvicorn has one figure for this and for how many are accepted at once
        self._loop = asyncio.get_running_loop()
        self._loop.set_exception_handler(self._on_exception)

    def _on_exception(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Log it as ever, but for what asyncio says of each connection that it cannot accept."""
        if not str(context.get("message", "")).startswith("socket.accept()"):
            loop.default_exception_handler(context)
        elif loop.time() - self._told > 60:
            self._told = loop.time()
            logger.error("a connection cannot be accepted: %s", context.get("exception"))

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if self._application.ending:
            self.force_exit = self.should_exit = True
            return
        self._application.ending = True
        if self._loop is None:  # it does not listen yet
            self.should_exit = True
        else:
            self._loop.call_soon_threadsafe(self._leave, self._loop)

    def _leave(self, loop: asyncio.AbstractEventLoop) -> None:
        """Let nobody in but those who wait at the door, answer those who are in, and then end."""
        for opened in self._listening:
            with suppress(NotImplementedError):  # on Windows nobody is told of a socket that can be read
                loop.remove_reader(opened)
        # What asyncio has accepted, and not yet made a connection of, is lost if its server is closed before.
        loop.call_soon(self._close_door, loop)

    def _close_door(self, loop: asyncio.AbstractEventLoop) -> None:
        for opened in self._listening:
            self._accept_waiting(loop, opened)
        for server in self.servers:
            server.close()
        self._application.leave()
        loop.call_later(QUIET_SECONDS, setattr, self, "should_exit", True)

    def _accept_waiting(self, loop: asyncio.AbstractEventLoop, opened: socket.socket) -> None:
        """Accept who is connected as far as they know, and may have sent a call; nothing else runs meanwhile."""
        with suppress(OSError):  # BlockingIOError: nobody waits
            while True:
                connected, _ = opened.accept()
                connected.setblocking(False)
                task = loop.create_task(self._take(loop, connected))
                self._taken.add(task)
                task.add_done_callback(self._taken.discard)

    async def _take(self, loop: asyncio.AbstractEventLoop, connected: socket.socket) -> None:
        def protocol() -> asyncio.Protocol:
            made = self.config.http_protocol_class
            return made(config=self.config, server_state=self.server_state, app_state=self.lifespan.state)  # type: ignore[call-arg]

        with suppress(OSError):  # it is gone already
            await loop.connect_accepted_socket(protocol, connected)
