"""A session with another MCP server over Streamable HTTP; its answers may be JSON or a stream of events.

A session is no connection: it is an id that the other server gave, kept with the Authorization it was opened with.
Every request carries that same Authorization, and cookies, which a client would share between sessions, are neither
kept nor sent. Redirects are not followed: they could carry the Authorization elsewhere.
"""

from __future__ import annotations

import asyncio
import itertools
from contextlib import aclosing, suppress
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import TYPE_CHECKING, Any

import anyio
import httpx2
from mcp.shared.inbound import encode_header_value

from catalog_search.errors import UpstreamError
from catalog_search.server.jsontext import TooDeep, parse
from catalog_search.server.upstream_wire import (
    INITIALIZED,
    MODERN,
    MOST_BYTES,
    TOO_DEEP,
    Expired,
    NoHandshake,
    answers,
    cancellation,
    encoded,
    initialization,
    is_of_session,
    kind_of,
    message_of,
    reply_to,
    request,
    result_of,
    version_of,
    with_meta,
)

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping

CONNECT_SECONDS = 10.0
NOTIFY_SECONDS = 1.0
"""How long may be spent on telling the other server that something is over."""
LINGER_SECONDS = 0.05
"""How long the end of a stream is waited for, once the answer in it has come; most end at once."""
CONNECTIONS, KEPT = 256, 64

SESSION, VERSION_HEADER = "mcp-session-id", "mcp-protocol-version"


# How long an answer may take is for the caller of a session to say.
_TIMEOUTS = {"timeout": httpx2.Timeout(None, connect=CONNECT_SECONDS).as_dict()}


def make_client() -> httpx2.AsyncClient:
    """Return what sends the requests of all sessions. It must be made and closed in one event loop."""
    return httpx2.AsyncClient(
        limits=httpx2.Limits(max_connections=CONNECTIONS, max_keepalive_connections=KEPT),
        cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
        follow_redirects=False,
    )


class HttpSession:
    """One session; see the module.

    Args:
        client: what sends its requests.
        url: the other server's endpoint.
        authorization: the header it is opened and used with; None for none.
    """

    def __init__(self, client: httpx2.AsyncClient, url: str, authorization: str | None) -> None:
        self._client, self._url = client, httpx2.URL(url)
        self._headers = {
            "accept": "application/json, text/event-stream",
            "accept-encoding": "gzip, deflate",
            "content-type": "application/json",
        }
        self._authorization = None if authorization is None else authorization.encode("latin-1")
        self._ids = itertools.count(1)
        self._gone = self._modern = False

    async def open(self) -> None:
        """Open the session.

        Raises:
            UpstreamError: the other server cannot be reached, refuses, or speaks no version known here.
        """
        try:
            id = next(self._ids)
            async with self._sent(initialization(id)) as response:
                opened = result_of(await self._answer(response, id))
                given = response.headers.get(SESSION)
        except NoHandshake:
            self._headers[VERSION_HEADER], self._modern = MODERN, True
            return
        self._headers[VERSION_HEADER] = version_of(opened)
        if given:
            self._headers[SESSION] = given
        async with self._sent(INITIALIZED) as response:
            await _body(response)  # a connection that is read to its end can be used again

    async def request(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Send a request and return its result.

        Raises:
            Expired: the session is not known any more.
            UpstreamError: the other server cannot be reached, refuses, or ends before it has answered.
        """
        id, more = next(self._ids), {}
        if self._modern:
            params, more = with_meta(params), {"mcp-method": method, "mcp-name": encode_header_value(params["name"])}
        try:
            async with self._sent(request(id, method, params), more) as response:
                return result_of(await self._answer(response, id))
        except Expired:
            self._gone = True
            raise
        except asyncio.CancelledError:
            if not self._modern:  # there the end of the connection says it
                with anyio.CancelScope(shield=True):
                    await self._tell("POST", encoded(cancellation(id)))
            raise

    async def close(self) -> None:
        """Tell the other server that the session is over."""
        if SESSION in self._headers and not self._gone:
            await self._tell("DELETE", b"")

    async def _tell(self, method: str, content: bytes) -> None:
        with suppress(httpx2.HTTPError, TimeoutError):
            async with asyncio.timeout(NOTIFY_SECONDS):
                await self._client.send(self._request(method, content))

    def _request(self, method: str, content: bytes, more: Mapping[str, str] = {}) -> httpx2.Request:
        # Made here and not by the client, which would merge its defaults, cookies and settings into each one.
        headers = [(name.encode(), value.encode("latin-1")) for name, value in {**self._headers, **more}.items()]
        if self._authorization is not None:
            headers.append((b"authorization", self._authorization))
        return httpx2.Request(method, self._url, headers=headers, content=content, extensions=_TIMEOUTS)

    def _sent(self, message: dict[str, Any], more: Mapping[str, str] = {}) -> _Sent:
        return _Sent(
            self._client,
            self._request("POST", encoded(message), more),
            in_session=SESSION in self._headers,
            authorized=self._authorization is not None,
        )

    async def _answer(self, response: httpx2.Response, id: int) -> Any:
        if _type(response) != "text/event-stream":
            answer = _parsed(await _body(response))
            if isinstance(answer, dict) and not answers(answer, id):
                raise UpstreamError(
                    "the upstream server answered with something that is no answer of MCP to this request"
                )
            return answer
        async with aclosing(_events(response)) as events:
            async for message in events:
                if ("result" in message or "error" in message) and answers(message, id):
                    await _to_the_end(events)
                    return message
                if (reply := reply_to(message)) is not None:
                    await self._tell("POST", encoded(reply))
        raise UpstreamError(ENDED)


ENDED = "the upstream server ended the connection before it had answered; what became of the call is not known"


class _Sent:
    """A request on its way: an answer that is none is an error, and so is whatever happens to the connection."""

    def __init__(
        self, client: httpx2.AsyncClient, request: httpx2.Request, *, in_session: bool, authorized: bool
    ) -> None:
        self._client, self._request = client, request
        self._in_session, self._authorized = in_session, authorized

    async def __aenter__(self) -> httpx2.Response:
        try:
            self._response = await self._client.send(self._request, stream=True)
        except httpx2.TransportError as problem:
            raise _translated(problem) from None
        try:
            if not self._response.is_success:
                await self._refuse(self._response)
        except BaseException:
            await self._response.aclose()
            raise
        return self._response

    async def __aexit__(self, kind: Any, problem: Any, traceback: Any) -> None:
        await self._response.aclose()
        if isinstance(problem, httpx2.HTTPError):
            raise _translated(problem) from None

    async def _refuse(self, response: httpx2.Response) -> None:
        status = f"{response.status_code} {response.reason_phrase}".strip()
        try:
            answer = _parsed(await _body(response))
        except (UpstreamError, httpx2.HTTPError):
            answer = None
        said = message_of(answer)
        text = f"the upstream server answered {status}"
        if said:
            text += f": {said}"
        # 404 is what the protocol asks for; many servers answer 400 and say what it is about. Whatever else is said
        # is a refusal of this call, which is not made again.
        bare = response.status_code == 404 and said is None
        if self._in_session and (bare or (response.status_code in (400, 404) and is_of_session(said))):
            raise Expired(text)
        if response.is_redirect:
            text += "; redirects are not followed"
        if response.status_code in (401, 403):
            text += (
                "; the Authorization of the call was handed on to it as it is"
                if self._authorized
                else "; the call carried no Authorization to hand on to it"
            )
        if after := response.headers.get("retry-after"):
            text += f"; it asks to wait {after[:40]} s" if after.isdigit() else ""
        raise kind_of(answer)(text)


def _translated(problem: httpx2.HTTPError) -> UpstreamError:
    if isinstance(problem, httpx2.ConnectTimeout):
        return UpstreamError(f"the upstream server cannot be reached: no connection within {CONNECT_SECONDS:g} s")
    if isinstance(problem, httpx2.ConnectError | httpx2.ProxyError | httpx2.UnsupportedProtocol):
        return UpstreamError("the upstream server cannot be reached; no connection could be made")
    if isinstance(problem, httpx2.SSEError | httpx2.DecodingError):
        return UpstreamError("the upstream server answered with something that cannot be read")
    return UpstreamError(ENDED)


def _type(response: httpx2.Response) -> str:
    return response.headers.get("content-type", "").partition(";")[0].strip().lower()


async def _body(response: httpx2.Response) -> bytes:
    found = bytearray()
    async for part in response.aiter_bytes():
        found += part
        if len(found) > MOST_BYTES:
            raise UpstreamError(f"the upstream server's answer is longer than {MOST_BYTES:,} bytes")
    return bytes(found)


def _parsed(body: bytes) -> Any:
    try:
        return parse(body)
    except TooDeep:
        raise UpstreamError(TOO_DEEP) from None
    except ValueError:
        raise UpstreamError("the upstream server answered with something that is not JSON") from None


async def _events(response: httpx2.Response) -> AsyncGenerator[dict[str, Any], None]:
    async for event in httpx2.EventSource(response, max_event_size=MOST_BYTES):
        if event.event == "message" and event.data:
            message = _parsed(event.data.encode("utf-8", "surrogatepass"))
            if isinstance(message, dict):
                yield message


async def _to_the_end(events: AsyncGenerator[dict[str, Any], None]) -> None:
    """Read a stream to its end, for its connection to be used again."""
    with suppress(TimeoutError, UpstreamError, httpx2.HTTPError):
        async with asyncio.timeout(LINGER_SECONDS):
            async for _ in events:
                pass
