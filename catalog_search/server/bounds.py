"""What one caller may cost: the bounds of a server, and the rates it keeps count of."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from catalog_search.database import Limits

if TYPE_CHECKING:
    from collections.abc import Callable

REMEMBERED = 10_000
"""Callers whose rate is remembered; beyond, those who have been quiet longest are forgotten first."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """The bounds of a server. Each has its own answer when it is reached.

    Attributes:
        query_length: characters of a question; beyond 1,000 the rest is not searched, and a note says so.
        terms: terms of a question, after stop words are left out.
        patterns: words and phrases that are searched for them, all together.
        candidates: how far down an answer can be read: offset and limit together.
        text_bytes: bytes (UTF-8) of a document's text that one call returns; clients cut a result at some 25,000
            tokens.
        query_seconds: how long a question may take inside a database.
        calls_per_second: calls of one caller; twice as many may come at once. 0 for no bound.
        concurrent_calls: calls that are worked on or wait, of all callers together.
        connections: connections that are open, of all callers together; fewer if the process may have fewer files.
            At the bound those that have said nothing yet give way, the oldest first.
        body_bytes: bytes of one HTTP request.
        body_seconds: how long the head of an HTTP request may take to arrive, and its body.
        model_seconds: how long the model of verified_search may take, each of two attempts.
        failed_authentications: wrong tokens from one address in a minute. 0 for no bound.
    """

    query_length: int = 10_000
    terms: int = 64
    patterns: int = 2_000
    candidates: int = 1_000
    text_bytes: int = 40_000
    query_seconds: float = 1.5
    calls_per_second: float = 20.0
    concurrent_calls: int = 256
    connections: int = 1_000
    body_bytes: int = 256 * 1024
    body_seconds: float = 10.0
    model_seconds: float = 25.0
    failed_authentications: int = 10

    def limits(self) -> Limits:
        """Return those that are kept inside a database."""
        return Limits(self.terms, self.patterns, self.query_seconds)


BOUNDS = Bounds()
"""The bounds of a server that says nothing of them."""


class Rate:
    """So many events per second for each key, twice as many at once.

    Args:
        per_second: events per second; 0 for no bound.
        burst: how many may come at once.
        clock: seconds, from anywhere.

    >>> now = 0.0
    >>> rate = Rate(1.0, burst=2, clock=lambda: now)
    >>> [rate.take("a") for _ in range(3)], rate.take("b")
    ([0.0, 0.0, 1.0], 0.0)
    >>> now = 1.0
    >>> rate.take("a")
    0.0
    """

    def __init__(
        self, per_second: float, *, burst: float | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._per_second = per_second
        self._burst = max(1.0, 2 * per_second if burst is None else burst)
        self._clock = clock
        self._left: dict[str, tuple[float, float]] = {}

    def take(self, key: str) -> float:
        """Count one event; return 0 if it may be, else the seconds until the next may, and do not count it."""
        wait = self.wait(key)
        if not wait and self._per_second:
            left, now = self._now(key)
            self._left.pop(key, None)  # the dict is in the order of use
            self._left[key] = (left - 1, now)
            if len(self._left) > REMEMBERED:
                del self._left[next(iter(self._left))]
        return wait

    def wait(self, key: str) -> float:
        """Return the seconds until an event may be; 0 if it may be now."""
        if not self._per_second:
            return 0.0
        left, _ = self._now(key)
        return 0.0 if left >= 1 else (1 - left) / self._per_second

    def _now(self, key: str) -> tuple[float, float]:
        now = self._clock()
        left, then = self._left.get(key, (self._burst, now))
        return min(self._burst, left + (now - then) * self._per_second), now
