"""A model behind an OpenAI-compatible chat endpoint: one question, one text.

    LLM_BASE_URL   what stands before /chat/completions, https://api.example.com/v1
    LLM_MODEL      the name of the model
    LLM_API_KEY    sent as a bearer token, if there is one

What comes back is bounded in time and size, and is text of a stranger. The key is in no message, log or result: what
the endpoint says of an error is not repeated, and a text that holds the key is handed on without it. Redirects are
not followed, so that the key goes nowhere else.
"""

from __future__ import annotations

import http.client
import json
import logging
import os
import re
import socket
import ssl
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from catalog_search.errors import ModelError, SettingsError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MOST_BYTES = 1_000_000
"""Bytes of an answer, as it goes over the wire."""
ATTEMPTS = 2
PAUSE, LONGEST_PAUSE = 0.5, 5.0
"""Seconds before the second attempt, unless the endpoint says how many; it is not waited for longer."""
SHORTEST_SECRET = 12
"""A key of fewer characters is a placeholder, as local models take one ("ollama"), and may be a common word."""

logger = logging.getLogger(__name__)


class _Passing(Exception):
    """An attempt failed in a way that may pass; its text is the reason, and `pause` is to be waited."""

    def __init__(self, reason: str, pause: float = PAUSE) -> None:
        super().__init__(reason)
        self.pause = pause


@dataclass(frozen=True)
class Model:
    """A chat endpoint, and how long one attempt at it may take.

    Args:
        base_url: what stands before /chat/completions.
        name: of the model.
        key: the secret; "" for none.
        seconds: for one attempt, from the connection to the last byte.

    Raises:
        SettingsError: the address is none, or the key could not be sent. The key is not repeated.
    """

    base_url: str
    name: str
    key: str = field(default="", repr=False)
    seconds: float = 25.0

    def __post_init__(self) -> None:
        try:
            parts = urlsplit(self.base_url)
            fine = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
        except ValueError:
            fine = False
        # An address may hold a password: it is not repeated either.
        if (
            not fine
            or parts.username is not None
            or parts.query
            or parts.fragment
            or not _SENDABLE.match(self.base_url)
        ):
            raise SettingsError(
                "it must be an address such as https://api.example.com/v1, without a password, ? or #",
                key="LLM_BASE_URL",
            )
        if self.key and not _SENDABLE.match(self.key):
            raise SettingsError("it holds a blank or a character that cannot be sent", key="LLM_API_KEY")

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ, seconds: float = 25.0) -> Model | None:
        """Return the model that LLM_BASE_URL, LLM_MODEL and LLM_API_KEY name, None if none of them is set.

        Raises:
            SettingsError: some are set and others missing, or one is wrong.

        >>> Model.from_environment({}) is None
        True
        """
        url, name, key = (environment.get(one, "").strip() for one in ("LLM_BASE_URL", "LLM_MODEL", "LLM_API_KEY"))
        if not url and not name and not key:
            return None
        for variable, value in (("LLM_BASE_URL", url), ("LLM_MODEL", name)):
            if not value:
                raise SettingsError("it is not set; a model needs LLM_BASE_URL and LLM_MODEL", key=variable)
        return cls(url, name, key, seconds)

    def answer(self, messages: Sequence[Mapping[str, str]]) -> str:
        """Return the model's answer to messages, each with role and content.

        A failure that may pass (no answer in time, no connection, 408, 429, 5xx) is tried once more.

        Raises:
            ModelError: there is no answer, or it is not one; what is wrong, and never what the endpoint said of it.
        """
        body = json.dumps({"model": self.name, "messages": list(messages), "stream": False}).encode()
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return _text_of(self._post(body))
            except _Passing as problem:
                logger.warning("the model failed, attempt %d of %d: %s", attempt, ATTEMPTS, problem)
                reason, pause = str(problem), problem.pause
            if attempt < ATTEMPTS:
                if pause > LONGEST_PAUSE:
                    break
                time.sleep(pause)
        raise ModelError(
            f"the model did not answer: {reason}. Ask again later, or use search_evidence, which needs none"
        )

    def clean(self, value: Any) -> Any:
        """Return a value of JSON without the key, wherever it stands in it."""
        if len(self.key) < SHORTEST_SECRET:
            return value
        if isinstance(value, str):
            value = value.replace(self.key, "…")
            # Text that could not be read as JSON may still hold its escapes.
            return "…" if self.key in _ESCAPE.sub(lambda found: chr(int(found[1], 16)), value) else value
        if isinstance(value, dict):
            return {self.clean(name): self.clean(one) for name, one in value.items()}
        if isinstance(value, list):
            return [self.clean(one) for one in value]
        return value

    def _post(self, body: bytes) -> bytes:
        parts = urlsplit(self.base_url)
        assert parts.hostname is not None
        connection: http.client.HTTPConnection
        if parts.scheme == "https":
            context = ssl.create_default_context()
            connection = http.client.HTTPSConnection(parts.hostname, parts.port, timeout=self.seconds, context=context)
        else:
            connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=self.seconds)
        late = threading.Event()
        opened: list[socket.socket] = []
        response: http.client.HTTPResponse | None = None

        def end() -> None:
            # A time-out of the socket is for each read; an answer that trickles would never end.
            late.set()
            for one in opened:
                with suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)

        timer = threading.Timer(self.seconds, end)
        timer.daemon = True
        timer.start()
        try:
            headers = {"Content-Type": "application/json", "Accept": "application/json"}
            headers |= {"Authorization": f"Bearer {self.key}"} if self.key else {}
            connection.connect()
            opened.append(connection.sock)  # kept: http.client forgets it once an answer of no stated length begins
            if late.is_set():
                raise TimeoutError
            connection.request("POST", f"{parts.path.rstrip('/')}/chat/completions", body, headers)
            response = connection.getresponse()
            if response.status != 200:
                raise _refusal(response)
            answer = response.read(MOST_BYTES + 1)
            # Cut short: http.client takes an end before its time for the end of an answer of no stated length.
            if late.is_set():
                raise TimeoutError
        except (OSError, http.client.HTTPException) as problem:
            if late.is_set() or isinstance(problem, TimeoutError):
                raise _Passing(f"it took more than {self.seconds:g} s") from None
            # Not the text of the exception, which may quote what was sent or received.
            raise _Passing(f"the connection failed ({type(problem).__name__})") from None
        finally:
            timer.cancel()
            connection.close()
            if response is not None:
                response.close()
            for one in opened:
                one.close()
        if len(answer) > MOST_BYTES:
            raise ModelError(f"the model's answer has more than {MOST_BYTES:,} bytes; ask for less")
        return answer


_ESCAPE = re.compile(r"\\u00([0-9a-fA-F]{2})")
_SENDABLE = re.compile(r"[!-~]+\Z")


def _refusal(response: http.client.HTTPResponse) -> Exception:
    status = response.status
    reason = f"it answered with status {status}"
    if status in (408, 429) or status >= 500:
        asked = response.getheader("Retry-After", "")
        return _Passing(reason, float(asked) if re.fullmatch("[0-9]{1,6}", asked) else PAUSE)
    hint = {401: "; see LLM_API_KEY", 403: "; see LLM_API_KEY", 404: "; see LLM_BASE_URL and LLM_MODEL"}.get(status, "")
    return ModelError(f"the model cannot be asked: {reason}{hint}")


def _text_of(body: bytes) -> str:
    """Return the text of a chat completion."""
    try:
        content = json.loads(body)["choices"][0]["message"]["content"]
    except (ValueError, LookupError, TypeError, RecursionError):
        content = None
    if isinstance(content, list):
        texts = [one.get("text") for one in content if isinstance(one, dict)]
        content = "".join(one for one in texts if isinstance(one, str))
    if not isinstance(content, str):
        raise ModelError("the model's answer is no chat completion with a text; see LLM_BASE_URL")
    return content
