"""The settings of a front → a server that runs, over standard input and output or over HTTP."""

from __future__ import annotations

import asyncio
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import anyio

from catalog_search.server import stdio
from catalog_search.server.bounds import Bounds
from catalog_search.server.hosts import Hosts
from catalog_search.server.http import Endpoint
from catalog_search.server.journal import CALLER, start
from catalog_search.server.service import Service, open_socket
from catalog_search.server.upstream import AUTHORIZATION, make_front
from catalog_search.server.upstream_sessions import Sessions

if TYPE_CHECKING:
    import socket

    from mcp.server.lowlevel import Server

    from catalog_search.server.hosts import Address
    from catalog_search.server.upstream_settings import UpstreamSettings

DRAIN_SECONDS = 6
"""How long calls in hand may take after a signal; with the end of the sessions it is less than ten seconds in all."""
HURRY_SECONDS = 5.0
"""How long the server behind may still take for them; who waits for it is told."""

BOUNDS = Bounds(calls_per_second=0)
"""How often one may ask is for the server behind to say."""


class FrontEndpoint(Endpoint):
    """A front over HTTP: whoever reaches it may ask, and each call's Authorization goes along to the server behind."""

    def __init__(self, settings: UpstreamSettings, sessions: Sessions, address: Address) -> None:
        super().__init__(Hosts(address), BOUNDS)
        self._server, self._sessions = make_front(settings, sessions), sessions

    def admit(self, header: str | None, address: str) -> tuple[Server[Any], str]:
        """Let everyone in, and note the header for this one call."""
        AUTHORIZATION.set(header)
        CALLER.set("anonymous" if header is None else "authorized")
        return self._server, address

    def leave(self) -> None:
        """Wait for the server behind no longer than there is time for an answer."""
        self._sessions.hurry(HURRY_SECONDS)


def serve_front(settings: UpstreamSettings) -> None:
    """Serve a front until its input ends, or until SIGTERM or Ctrl-C; the calls in hand are answered first.

    Call it from the main thread.

    Raises:
        CatalogSearchError: standard input or output is closed, or the address is taken.
    """
    start(settings.log_level)
    if settings.listen is None:
        with stdio.protocol_only() as (incoming, outgoing), suppress(KeyboardInterrupt):
            anyio.run(_over_stdio, settings, incoming, outgoing)
        return
    opened = open_socket(settings.listen)
    at = settings.listen.at(opened)
    print(f"Serving {settings.canonical_tool} at http://{at}/mcp", file=sys.stderr, flush=True)
    asyncio.run(over_http(settings, opened))


async def over_http(settings: UpstreamSettings, opened: socket.socket) -> None:
    """Serve a front at a socket."""
    assert settings.listen is not None
    sessions = Sessions(settings.target)
    endpoint = FrontEndpoint(settings, sessions, settings.listen)
    try:
        await Service(endpoint, DRAIN_SECONDS).serve(sockets=[opened])
    finally:
        await sessions.close()


async def _over_stdio(settings: UpstreamSettings, incoming: int, outgoing: int) -> None:
    sessions = Sessions(settings.target)
    try:
        await stdio.serve(make_front(settings, sessions), incoming, outgoing, drain_seconds=DRAIN_SECONDS)
    finally:
        await sessions.close()
