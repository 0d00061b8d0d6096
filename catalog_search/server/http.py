"""MCP over HTTP: one request, one JSON answer, nothing kept in between.

    POST /mcp       a JSON-RPC message → its answer
    GET  /healthz   {"ok": true, "version": …}; nothing is looked up for it

What costs least is checked first, and the body of a request is not read before its sender is known: Host and Origin,
the path and method, the token, the rate, and only then the body, and how many calls are under way already.
"""

from __future__ import annotations

import asyncio
import json
import logging
from contextlib import suppress
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from catalog_search.server.access import bearer
from catalog_search.server.bounds import Rate
from catalog_search.server.exchange import exchange
from catalog_search.server.hosts import Hosts, allowing
from catalog_search.server.journal import CALLER
from catalog_search.server.jsontext import TooDeep, parse

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, MutableMapping

    from mcp.server.lowlevel import Server

    from catalog_search.server.access import Access, Caller
    from catalog_search.server.bounds import Bounds
    from catalog_search.server.shelf import Shelf

    Scope = MutableMapping[str, Any]
    Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
    Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

UNREAD = (408, 413)
"""The refusals of a request that has not been read to its end; its connection is closed."""
PASSED_BYTES, PASSED_SECONDS = 16 * 1024 * 1024, 1.0
"""So much of it is let pass before that."""
SHOWN = 80
"""Characters of a header that a log line repeats."""
LINES_PER_SECOND = 10
"""Lines about refusals; twice as many may come at once."""
ONCE = (b"host", b"origin", b"authorization")
"""Headers that decide who asks, and that stand for nobody if there are two of them."""
PREFLIGHT = [
    (b"access-control-allow-methods", b"GET, POST"),
    (
        b"access-control-allow-headers",
        b"Accept, Authorization, Content-Type, Last-Event-ID, Mcp-Method, Mcp-Name, Mcp-Session-Id, "
        b"MCP-Protocol-Version",
    ),
    (b"access-control-max-age", b"600"),
]
"""What a page of an allowed Origin may send."""

PARSE_ERROR, INTERNAL_ERROR, REFUSED = -32700, -32603, -32000

logger = logging.getLogger(__name__)


class Refused(Exception):
    """A request that is not answered as it wished: the status, what is said, and headers."""

    def __init__(
        self,
        status: int,
        text: str,
        headers: Iterable[tuple[bytes, bytes]] = (),
        *,
        code: int = REFUSED,
        id: str | int | None = None,
        log: str = "",
    ) -> None:
        self.status, self.text, self.headers, self.code, self.id = status, text, headers, code, id
        self.log = log or text
        """What is written down of it."""


class Endpoint:
    """MCP over HTTP as an ASGI application, whoever may ask for whatever; a subclass says who asks, and who answers.

    Args:
        hosts: the names it may be addressed by.
        bounds: what a caller may cost.
        strict: refuse a message of nearly the right form instead of repairing it.
    """

    def __init__(self, hosts: Hosts, bounds: Bounds, *, strict: bool = False) -> None:
        self.bounds = bounds
        self._hosts, self._strict = hosts, strict
        self._rate = Rate(bounds.calls_per_second)
        self._lines = Rate(LINES_PER_SECOND)
        self._under_way = 0
        self._health = json.dumps({"ok": True, "version": version("catalog-search")}).encode()
        self.ending = False
        """Whether connections are closed after the next answer."""

    def admit(self, header: str | None, address: str) -> tuple[Server[Any], str]:
        """Return what answers a request, and the key that its sender's calls are counted under.

        Args:
            header: its Authorization header.
            address: where it comes from.

        Raises:
            Refused: its sender may not ask.
        """
        raise NotImplementedError

    def leave(self) -> None:
        """Told once, in the event loop, that the server is to end; the calls in hand are still answered."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, as ASGI has it."""
        if scope["type"] != "http":
            return
        cors = self._cors(scope)
        try:
            if cors and scope["method"] == "OPTIONS":
                await self._send(send, 204, b"", [*cors, *PREFLIGHT])
                return
            status, body = await self._answer(scope, receive)
            if status >= 400:
                self._log(status, "it is no request that can be answered", scope)
            await self._send(send, status, body, cors)
        except Refused as refused:
            self._log(refused.status, refused.log, scope)
            error = {"jsonrpc": "2.0", "id": refused.id, "error": {"code": refused.code, "message": refused.text}}
            unread = receive if refused.status in UNREAD else None
            await self._send(send, refused.status, json.dumps(error).encode(), [*refused.headers, *cors], unread)

    async def _send(
        self,
        send: Send,
        status: int,
        body: bytes,
        headers: Iterable[tuple[bytes, bytes]] = (),
        unread: Receive | None = None,
    ) -> None:
        sent = [(b"cache-control", b"no-store"), *headers]
        if status != 204:
            sent.append((b"content-length", str(len(body)).encode()))
        if body:
            sent.append((b"content-type", b"application/json"))
        if self.ending or unread:
            sent.append((b"connection", b"close"))
        await send({"type": "http.response.start", "status": status, "headers": sent})
        if unread:
            # A connection that is closed while its sender still writes is reset, and the answer is lost with it.
            await send({"type": "http.response.body", "body": body, "more_body": True})
            await _let_pass(unread)
            body = b""
        await send({"type": "http.response.body", "body": body})

    def _cors(self, scope: Scope) -> list[tuple[bytes, bytes]]:
        """Return the headers that let a page of an allowed Origin read the answer; none for any other."""
        named = {name: [value for key, value in scope["headers"] if key == name] for name in (b"host", b"origin")}
        hosts, origins = ([value.decode("latin-1") for value in values] for values in named.values())
        if len(hosts) == len(origins) == 1 and self._hosts.knows(hosts[0]) and self._hosts.lets(origins[0]):
            exposed = (b"access-control-expose-headers", b"Retry-After, WWW-Authenticate")
            return [(b"access-control-allow-origin", named[b"origin"][0]), (b"vary", b"Origin"), exposed]
        return []

    def _log(self, status: int, what: str, scope: Scope) -> None:
        """Write down a refusal, unless very many come."""
        if not self._lines.take(""):
            logger.warning("refused: %d from %s: %s", status, _address(scope), what)

    async def _answer(self, scope: Scope, receive: Receive) -> tuple[int, bytes]:
        for name in ONCE:
            if sum(key == name for key, _ in scope["headers"]) > 1:
                raise Refused(400, f"The header {name.decode().title()} stands there more than once.")
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        self._check_names(headers)
        if scope["path"] == "/healthz":
            _only("GET", scope["method"])
            return 200, self._health
        if scope["path"] != "/mcp":
            raise Refused(404, "There is nothing at this path; MCP is at /mcp.")
        _only("POST", scope["method"])
        server, key = self.admit(headers.get("authorization"), _address(scope))
        self._count(key)
        body = await self._body(headers, receive)
        try:
            message = parse(body)
        except TooDeep as problem:
            raise Refused(400, f"The body is not read: {problem}.", code=PARSE_ERROR, id=problem.id) from None
        except ValueError as problem:
            raise Refused(400, f"The body is not JSON: {problem}", code=PARSE_ERROR) from None
        for _ in range(len(message) - 1 if isinstance(message, list) else 0):
            self._count(key)  # each message of several is a call
        if self._under_way >= self.bounds.concurrent_calls:
            raise Refused(503, "The server is busy. Make the same call again in a second.", _later(1.0))
        self._under_way += 1
        try:
            status, answer = await exchange(server, message, scope["headers"], strict=self._strict)
        finally:
            self._under_way -= 1
        if answer is None:
            return status, b""
        return status, written(answer)

    # The checks -------------------------------------------------------------------------------------------

    def _check_names(self, headers: dict[str, str]) -> None:
        host, origin = headers.get("host", ""), headers.get("origin")
        if not self._hosts.knows(host):
            log = f"Host {_quoted(host)} is not a name of this server{allowing('--allow-host', host)}"
            raise Refused(421, "This server is not known by the name in the Host header.", log=log)
        if origin is not None and not self._hosts.lets(origin):
            log = f"Origin {_quoted(origin)} may not address this server{allowing('--allow-origin', origin)}"
            raise Refused(403, "Pages of this Origin may not address this server.", log=log)

    def _count(self, key: str) -> None:
        if wait := self._rate.take(key):
            most = f"{self.bounds.calls_per_second:g} a second"
            raise Refused(429, f"Too many calls: {most} is what one caller may make.", _later(wait))

    async def _body(self, headers: dict[str, str], receive: Receive) -> bytes:
        most = self.bounds.body_bytes
        told = headers.get("content-length", "")
        too_long = Refused(413, f"The request is longer than {most:,} bytes, which is what this server takes.")
        if told.isascii() and told.isdigit() and (len(told) > 15 or int(told) > most):
            raise too_long
        body = bytearray()
        try:
            async with asyncio.timeout(self.bounds.body_seconds):
                more = True
                while more:
                    part = await receive()
                    if part["type"] == "http.disconnect":
                        raise Refused(400, "The request ended before its body did.")
                    body += part.get("body", b"")
                    if len(body) > most:
                        raise too_long
                    more = part.get("more_body", False)
        except TimeoutError:
            raise Refused(408, f"The request took longer than {self.bounds.body_seconds:g} s to arrive.") from None
        return bytes(body)


class Application(Endpoint):
    """Catalogues over HTTP: each caller is answered by a server over what that caller may see.

    Args:
        access: who may ask, and for what.
        make_server: a shelf → what answers for it.
        hosts, bounds, strict: as for `Endpoint`.
    """

    def __init__(
        self,
        access: Access,
        make_server: Callable[[Shelf], Server[Any]],
        hosts: Hosts,
        bounds: Bounds,
        *,
        strict: bool = False,
    ) -> None:
        super().__init__(hosts, bounds, strict=strict)
        self._access = access
        # Callers who see the same share a server.
        self._servers: dict[tuple[str, ...], Server[Any]] = {}
        for caller in access.callers():
            if caller.shelf.names() not in self._servers:
                self._servers[caller.shelf.names()] = make_server(caller.shelf)
        self._failures = Rate(bounds.failed_authentications / 60, burst=bounds.failed_authentications)

    def admit(self, header: str | None, address: str) -> tuple[Server[Any], str]:
        """Let in those whom `access` knows."""
        caller = self._caller(header, address)
        CALLER.set(caller.name)
        key = f"address {address}" if caller.anonymous else f"token {caller.name}"
        return self._servers[caller.shelf.names()], key

    def _caller(self, header: str | None, address: str) -> Caller:
        refused = [(b"www-authenticate", b"Bearer")]
        if header is None:
            if caller := self._access.caller(None):
                return caller
            raise Refused(401, "A token is needed: send it as “Authorization: Bearer …”.", refused)
        token = bearer(header)
        if wait := self._failures.wait(address):
            # Whoever has the right one waits as well: else the answer would tell it from a wrong one.
            raise Refused(429, "Too many wrong tokens from this address; wait before the next one.", _later(wait))
        if token and (caller := self._access.caller(token)):
            return caller
        self._failures.take(address)
        raise Refused(401, "The token is not one of this server's.", refused, log="wrong token")


def written(answer: dict[str, Any] | list[dict[str, Any]]) -> bytes:
    """Return an answer as it is sent; in place of one that cannot be written, an error for the same request."""
    try:
        text = json.dumps(answer, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return text.encode("utf-8", "replace")
    except Exception:
        logger.exception("an answer cannot be written as JSON")
    if isinstance(answer, list):
        return b"[" + b",".join(map(written, answer)) + b"]"
    error = {"code": INTERNAL_ERROR, "message": "The server failed at this request. Its log says why."}
    return json.dumps({"jsonrpc": "2.0", "id": answer.get("id"), "error": error}).encode()


async def _let_pass(receive: Receive) -> None:
    """Read what is left of a request, for a while, and forget it."""
    left = PASSED_BYTES
    with suppress(TimeoutError):
        async with asyncio.timeout(PASSED_SECONDS):
            while left > 0:
                part = await receive()
                left -= len(part.get("body", b""))
                if part["type"] == "http.disconnect" or not part.get("more_body", False):
                    return


def _only(method: str, found: str) -> None:
    if found != method:
        raise Refused(405, f"Only {method} is answered at this path.", [(b"allow", method.encode())])


def _quoted(value: str) -> str:
    return json.dumps(value[:SHOWN])


def _later(seconds: float) -> list[tuple[bytes, bytes]]:
    return [(b"retry-after", str(max(1, round(seconds))).encode())]


def _address(scope: Scope) -> str:
    client = scope.get("client")
    return str(client[0]) if client else "?"
