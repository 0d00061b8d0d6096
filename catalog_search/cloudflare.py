"""Cloudflare D1's HTTP API: statements → rows, or one clear error.

    POST {base}/accounts/{account}/d1/database/{database}/query
    {"batch": [{"sql": "SELECT …?1", "params": ["…"]}, …]}

Parameters are text, as the API documents them. A call is tried again once, after a moment, if Cloudflare has too
many calls or fails; every statement of a catalogue only reads.
"""

from __future__ import annotations

import json
import os
import re
import time
import urllib.error
import urllib.request
from http.client import HTTPException
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn
from urllib.parse import urlsplit

from catalog_search.errors import DatabaseError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from email.message import Message
    from http.client import HTTPMessage

BASE_URL = "https://api.cloudflare.com/client/v4"
BASE_URL_VARIABLE = "CLOUDFLARE_API_BASE_URL"
"""The environment variable for another base URL; Cloudflare's own tools read it too."""

TOKEN_VARIABLE = "CLOUDFLARE_API_TOKEN"

SECONDS = 30.0
"""How long a call may take: D1 itself ends a query after so long."""

LONGEST_WAIT = 5.0
"""Seconds before the second try, at most, whatever Retry-After says."""

LONGEST_ANSWER = 64_000_000
"""Bytes of an answer; D1 gives 50 MB at most."""

LONGEST_MESSAGE = 200
"""Characters of Cloudflare's own message that are shown."""

_ADDRESS = re.compile(r"d1://([A-Za-z0-9_-]{1,64})/([A-Za-z0-9_-]{1,64})/?")
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
# What Cloudflare numbers: a token that is wrong, that may not, or that has another form; a database that is not there.
_TOKEN_CODES = frozenset({6003, 6111, 7403, 9106, 9109, 10000, 10001})
_ABSENT_CODES = frozenset({7404})


class StatementError(DatabaseError):
    """D1 was reached and refused a statement."""


class Token:
    """A secret that is shown nowhere."""

    def __init__(self, value: str) -> None:
        self._value = value

    def __repr__(self) -> str:
        return "Token(…)"

    def header(self) -> str:
        """Return the value of the header Authorization."""
        return f"Bearer {self._value}"

    def taken_out_of(self, text: str) -> str:
        """Return text without the token, should someone have echoed it."""
        return text.replace(self._value, "…")


class Rows(list[tuple[Any, ...]]):
    """The rows of one statement, with the methods of a cursor that a catalogue uses."""

    def fetchone(self) -> tuple[Any, ...] | None:
        """Return the first row."""
        return self[0] if self else None

    def fetchall(self) -> list[tuple[Any, ...]]:
        """Return every row."""
        return self


class Answer(NamedTuple):
    """What a batch gave: the rows of each statement, and how large the database is in bytes, 0 if it was not said."""

    rows: list[Rows]
    size: int


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect is an error: it would take the token elsewhere."""

    def redirect_request(
        self, req: urllib.request.Request, fp: Any, code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> None:
        return None


class D1:
    """A D1 database behind Cloudflare's API; it holds no connection open.

    Args:
        address: `d1://ACCOUNT/DATABASE`, the ids of both.
        token: a token with the permission D1 Read; the environment's CLOUDFLARE_API_TOKEN by default.
        base_url: of the API; the environment's CLOUDFLARE_API_BASE_URL or Cloudflare's by default.
        seconds: how long one call may take.

    Raises:
        DatabaseError: the address, the token or the base URL cannot be used.
    """

    def __init__(
        self, address: str, *, token: str | None = None, base_url: str | None = None, seconds: float = SECONDS
    ) -> None:
        found = _ADDRESS.fullmatch(address)
        if not found:
            raise DatabaseError(
                f"“{address[:80]}” is no address of a D1 database; it is d1://ACCOUNT/DATABASE, the ids of both"
            )
        self.name = f"d1://{found[1]}/{found[2]}"
        self._token = self._usable(os.environ.get(TOKEN_VARIABLE, "") if token is None else token)
        base = (base_url or os.environ.get(BASE_URL_VARIABLE) or BASE_URL).rstrip("/")
        self._check_base(base)
        self._url = f"{base}/accounts/{found[1]}/d1/database/{found[2]}/query"
        self._host = urlsplit(base).hostname
        self._seconds = seconds
        proxies = [urllib.request.ProxyHandler({})] if self._host in _LOOPBACK else []
        self._opener = urllib.request.build_opener(_NoRedirect, *proxies)

    def __repr__(self) -> str:
        return f"D1({self.name!r})"

    def _usable(self, token: str) -> Token:
        token = token.strip()
        if not token:
            self._fail(f"the environment variable {TOKEN_VARIABLE} is not set; it holds a token that may read D1")
        if not re.fullmatch(r"[!-~]+", token):
            self._fail(f"the token in {TOKEN_VARIABLE} holds characters that no token has; copy it again")
        return Token(token)

    def _check_base(self, base: str) -> None:
        try:
            parts = urlsplit(base)
            host = parts.hostname
        except ValueError:
            host = None
        if not host or parts.scheme not in ("http", "https") or parts.query or parts.fragment or parts.username:
            self._fail("the base URL of the API must be like https://api.cloudflare.com/client/v4")
        if parts.scheme == "http" and host not in _LOOPBACK:
            self._fail(f"the base URL of the API must begin with https://, or the token would be readable by {host}")

    def _fail(self, message: str) -> NoReturn:
        raise DatabaseError(message, path=self.name)

    def execute(self, sql: str, parameters: Sequence[str] = (), /) -> Rows:
        """Run one statement and return its rows."""
        return self.batch([(sql, parameters)]).rows[0]

    def batch(self, statements: Sequence[tuple[str, Sequence[str]]]) -> Answer:
        """Run statements in one call.

        Raises:
            StatementError: D1 refused one of them.
            DatabaseError: it could not be reached, did not accept the token, knows no such database, took too long,
                or gave an answer that is none.
        """
        body = json.dumps({"batch": [{"sql": sql, "params": list(parameters)} for sql, parameters in statements]})
        for again in (True, False):
            status, headers, content = self._post(body.encode())
            if not (again and (status == 429 or status >= 500)):
                break
            time.sleep(_wait(headers))
        return self._read(status, content, len(statements))

    def _post(self, body: bytes) -> tuple[int, Message, str]:
        request = urllib.request.Request(self._url, body, {"Content-Type": "application/json"}, method="POST")
        request.add_header("User-Agent", "catalog-search")
        request.add_header("Authorization", self._token.header())
        end = time.monotonic() + self._seconds
        try:
            try:
                with self._opener.open(request, timeout=self._seconds) as answer:
                    return answer.status, answer.headers, self._text(answer, end)
            except urllib.error.HTTPError as problem:
                with problem:
                    return problem.code, problem.headers, self._text(problem, end)
        except TimeoutError:
            self._too_slow()
        except urllib.error.URLError as problem:
            if isinstance(problem.reason, TimeoutError):
                self._too_slow()
            self._unreached(problem.reason)
        except (OSError, HTTPException, ValueError) as problem:
            self._unreached(problem)

    def _text(self, answer: Any, end: float) -> str:
        return self._token.taken_out_of(b"".join(self._pieces(answer, end)).decode("utf-8", "replace"))

    def _pieces(self, answer: Any, end: float) -> Iterator[bytes]:
        size = 0
        while piece := answer.read1(1 << 16):
            size += len(piece)
            if size > LONGEST_ANSWER:
                self._fail(f"the answer of {self._host} is longer than {LONGEST_ANSWER:,} bytes, more than D1 gives")
            if time.monotonic() > end:
                raise TimeoutError
            yield piece

    def _too_slow(self) -> NoReturn:
        raise DatabaseError(f"{self._host} did not answer within {self._seconds:g} seconds", path=self.name) from None

    def _unreached(self, problem: object) -> NoReturn:
        said = self._shown(getattr(problem, "strerror", None) or problem)
        raise DatabaseError(f"{self._host} cannot be reached ({said})", path=self.name) from None

    def _read(self, status: int, content: str, expected: int) -> Answer:
        try:
            found = json.loads(content)
        except (ValueError, RecursionError):
            found = None
        errors = _errors(found)
        said = self._shown("; ".join(message for _, message in errors))
        codes = {code for code, _ in errors}
        if status in (401, 403) or codes & _TOKEN_CODES:
            self._fail(
                f"Cloudflare did not accept the token (HTTP {status}{said and ': '}{said}); {TOKEN_VARIABLE} must hold "
                "one with the permission D1 Read for this account"
            )
        if status == 404 or codes & _ABSENT_CODES:
            self._fail(
                f"there is no such D1 database (HTTP {status}{said and ': '}{said}); “npx wrangler d1 list” lists "
                "those of your account"
            )
        if status == 429:
            self._fail("Cloudflare takes no more calls for now (HTTP 429), some four a second over five minutes; wait")
        if status >= 500:
            self._fail(f"Cloudflare failed, twice (HTTP {status}{said and ': '}{said}); try again later")
        if errors:
            raise StatementError(f"D1 refused a statement ({said})", path=self.name)
        try:
            if status != 200 or found["success"] is not True or len(found["result"]) != expected:
                raise ValueError
            rows = [Rows(tuple(row.values()) for row in _results(one)) for one in found["result"]]
            size = found["result"][-1].get("meta", {}).get("size_after", 0)
            return Answer(rows, size if isinstance(size, int) else 0)
        except (TypeError, KeyError, ValueError, AttributeError):
            shown = self._shown(content[: 2 * LONGEST_MESSAGE]) or "nothing"
            self._fail(f"{self._host} gave an answer that is not D1's (HTTP {status}: {shown}); is it the base URL?")

    def _shown(self, problem: object) -> str:
        text = " ".join(self._token.taken_out_of(str(problem)).split())
        return text if len(text) <= LONGEST_MESSAGE else f"{text[:LONGEST_MESSAGE]}…"


def _wait(headers: Message) -> float:
    """Return how many seconds to wait before the second try."""
    said = (headers.get("Retry-After") or "1").strip()
    return min(float(said), LONGEST_WAIT) if said.isdecimal() else 1.0


def _errors(found: Any) -> list[tuple[int, str]]:
    """Return what an answer lists under errors."""
    listed = found.get("errors") if isinstance(found, dict) else None
    ones = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    return [(one["code"] if isinstance(one.get("code"), int) else 0, str(one.get("message", ""))) for one in ones]


def _results(one: Any) -> list[dict[str, Any]]:
    results = one["results"]
    if one.get("success") is False or not isinstance(results, list):
        raise ValueError
    return results
