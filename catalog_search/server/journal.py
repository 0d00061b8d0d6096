"""What a server writes down: one line a call on standard error, and questions only into a file that was asked for.

2026-11-30 12:00:00 INFO search answered 3.1 ms caller=reader results=10

{"query": "wages", "tool": "search", "results": 10, "relaxed": false, "missed": false}
"""

from __future__ import annotations

import inspect
import json
import logging
import os
import threading
import time
from contextvars import ContextVar
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from catalog_search.errors import CatalogSearchError, DocumentNotFound

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence
    from io import RawIOBase

    from catalog_search.server.shelf import Answer, Shelf
    from catalog_search.server.tools import Tool

CALLER: ContextVar[str] = ContextVar("caller", default="stdio")
"""Who makes the call that is under way: the name of a token, or of the transport."""

LISTS = ("results", "excerpts", "collections", "lines", "items", "dropped")
"""Members of an answer whose length is worth a figure."""

logger = logging.getLogger(__name__)


class Journal:
    """Writes a line for each call of the tools it watches.

    Args:
        queries: where questions are written, as lines of JSON in UTF-8; nowhere if None.
    """

    def __init__(self, queries: RawIOBase | None = None) -> None:
        self._queries = queries
        self._full = False
        self._lock = threading.Lock()

    def watched(self, tools: Sequence[Tool]) -> list[Tool]:
        """Return the tools, with their calls written down."""
        return [replace(tool, handler=self._watch(tool)) for tool in tools]

    def record(self, kind: str, tool: str) -> None:
        """Write down a call that no tool was given: it could not be read, or was refused."""
        if kind in ("taught", "refused"):
            logger.info("%s %s caller=%s", tool, kind, CALLER.get())

    def _watch(self, tool: Tool) -> Any:
        def handler(caller: Shelf, arguments: dict[str, Any]) -> Any:
            began = time.perf_counter()
            shelf = _Heard(caller)
            try:
                answer = tool.handler(shelf, arguments)
            except Exception as problem:
                self._write(tool, arguments, began, shelf, None, problem)
                raise
            if inspect.isawaitable(answer):
                return later(answer, arguments, began, shelf)
            self._write(tool, arguments, began, shelf, answer)
            return answer

        async def later(awaited: Awaitable[Any], arguments: dict[str, Any], began: float, shelf: _Heard) -> Any:
            try:
                answer = await awaited
            except Exception as problem:
                self._write(tool, arguments, began, shelf, None, problem)
                raise
            self._write(tool, arguments, began, shelf, answer)
            return answer

        return handler

    def _write(
        self,
        tool: Tool,
        arguments: dict[str, Any],
        began: float,
        shelf: _Heard,
        answer: Any,
        problem: Exception | None = None,
    ) -> None:
        outcome = "answered"
        if problem is not None:
            foreseen = "not_found" if isinstance(problem, DocumentNotFound) else "error"
            outcome = foreseen if isinstance(problem, CatalogSearchError) else "failed"
        spent = (time.perf_counter() - began) * 1_000
        logger.info("%s %s %.1f ms caller=%s%s", tool.name, outcome, spent, CALLER.get(), counts(answer))
        self._note(tool, arguments, shelf, answer)

    def _note(self, tool: Tool, arguments: dict[str, Any], shelf: _Heard, answer: Any) -> None:
        if self._queries is None or tool.main != "query":
            return
        found = answer[0] if isinstance(answer, tuple) else answer or {}
        line = {
            "query": arguments["query"],
            "tool": tool.name,
            "results": len(found.get("results", found.get("items", ()))),
            "relaxed": shelf.relaxed,
            "missed": shelf.missed,
        }
        text = json.dumps(line, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
        with self._lock:
            try:
                self._queries.write(text)
            except OSError as problem:  # the disk is full: no reason to leave a question without its answer
                if not self._full:
                    logger.warning("questions are not written down: %s", problem.strerror or problem)
                self._full = True
            else:
                self._full = False


class _Heard:
    """A shelf for one call that keeps what it answered: what a tool makes of that does not say all of it.

    A page past the end, items that were all dropped and an error are no results, and the question had its answer.
    """

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf
        self.relaxed: bool | None = None
        """None if nothing was answered."""
        self.missed: bool | None = None
        """Whether the question has no strict answer; None also if only a part of the shelf was asked in vain."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._shelf, name)

    def search(self, question: str, **options: Any) -> Answer:
        answer = self._shelf.search(question, **options)
        part = options.get("where") or options.get("path_prefix") or set(self._shelf.names()) - set(answer.parts)
        self.relaxed = answer.relaxed
        self.missed = False if answer.total and not answer.relaxed else None if part else True
        return answer


def open_queries(path: str) -> RawIOBase:
    """Open the file that questions are written to; a new one is its owner's alone.

    Raises:
        OSError: it cannot be written.
    """
    return open(path, "ab", buffering=0, opener=lambda name, flags: os.open(name, flags, 0o600))


def counts(answer: Any) -> str:
    """Return the figures of an answer, as a line shows them; never any of its text.

    >>> counts(({"results": [1, 2]}, {"relaxed": True}))
    ' results=2 relaxed'
    """
    found, extras = answer if isinstance(answer, tuple) else (answer, None)
    merged = {**(found or {}), **(extras or {})}
    said = "".join(f" {name}={len(merged[name])}" for name in LISTS if isinstance(merged.get(name), list))
    if isinstance(merged.get("text"), str):
        said += f" characters={len(merged['text'])}"
    return said + (" relaxed" if merged.get("relaxed") is True else "")


def start(level: str) -> None:
    """Send what the package logs to standard error.

    Args:
        level: debug, info, warning or error.
    """
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s", "%Y-%m-%d %H:%M:%S"))
    package = logging.getLogger("catalog_search")
    package.handlers = [handler]
    package.setLevel(level.upper())
    package.propagate = False
