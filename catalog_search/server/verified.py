"""verified_search: real things in the caller's own shape, and nothing that no fetched source supports.

    retrieve   our own search, within the bounds of every question
    extract    the documents' fields by name, or a model that sees only what was retrieved
    verify     in code (verification.py): schema, source, values; whatever fails is dropped and named

A model is slow, and the threads that answer questions are few: it is waited for in threads of its own.
"""

from __future__ import annotations

import asyncio
import json
import threading
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import anyio

from catalog_search.errors import QueryError
from catalog_search.grounding import Source
from catalog_search.itemschema import ItemSchema
from catalog_search.itemtext import Broken
from catalog_search.itemtext import items_of as items_in_text
from catalog_search.server import columns, prompt
from catalog_search.server.contract import web_address
from catalog_search.server.evidence import cost
from catalog_search.server.evidence_contract import MOST_CHARS, VERIFIED_TOOL
from catalog_search.server.tools import Tool
from catalog_search.server.verified_contract import DEFAULT_DOCUMENTS, definition
from catalog_search.verification import MOST_ITEMS, required_paths, verify

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from catalog_search.server.corpus import Corpora
    from catalog_search.server.model import Model
    from catalog_search.server.shelf import Shelf
    from catalog_search.server.texts import Texts

MODEL_CALLS = 4
"""Calls of one caller that wait for the model at a time."""
MOST_TEXT = 500_000
"""Characters of one document in which values are looked for."""
LONGEST_DROPPED = 200
"""Characters that are shown of a dropped item, as JSON, if the answer would be too long."""


@dataclass(frozen=True)
class _Job:
    """A question, retrieved for: what extraction and verification need, and no database."""

    query: str
    schema: ItemSchema
    wanted: Sequence[str]
    sources: Sequence[Mapping[str, Any]]
    shown: Sequence[Mapping[str, Any]]
    """The sources as a model is shown them: of a long text the passage that matched."""
    notes: list[str]
    relaxed: bool


@dataclass(frozen=True)
class VerifiedSearch:
    """What carries out verified_search.

    Args:
        texts: the texts in the language of messages.
        model: what extracts items; the documents' fields do, by name, when None.
        field_aliases: field or name of metadata → further names under which a schema may ask for it.
        most_chars: characters of an answer.
    """

    texts: Texts
    model: Model | None = None
    field_aliases: Mapping[str, Sequence[str]] = field(default_factory=dict)
    most_chars: int = MOST_CHARS

    def __call__(self, shelf: Shelf, arguments: dict[str, Any]) -> Any:
        """Return the answer, or an awaitable of it if a model is asked.

        Raises:
            QueryError: the schema is wrong or missing, `require` names no field of it, or a collection is not on the
                shelf. Nothing has been looked up then.
            ModelError: the model did not answer.
        """
        job = self.retrieved(shelf, arguments)
        return self.answer(job) if self.model is None or not job.sources else self._later(job)

    async def _later(self, job: _Job) -> dict[str, Any]:
        async with self._limiter:
            return await _in_a_thread(partial(self.answer, job))

    @cached_property
    def _limiter(self) -> anyio.CapacityLimiter:
        return anyio.CapacityLimiter(MODEL_CALLS)  # made in the event loop

    def retrieved(self, shelf: Shelf, arguments: dict[str, Any]) -> _Job:
        """Look at what is asked for, then look up the documents."""
        if "schema" not in arguments:
            raise QueryError(self.texts.say("no_schema"))
        schema = ItemSchema(arguments["schema"])
        require = arguments.get("require") or ["source"]
        if len(require) == 1 and require[0] in ("source", "all") and require[0] not in schema.properties:
            require = require[0]
        wanted = required_paths(require, schema)
        limit = min(arguments.get("limit", DEFAULT_DOCUMENTS), shelf.candidates)
        names = dict.fromkeys(arguments.get("collections") or shelf.names())
        # A database may be replaced meanwhile: what is read must be of the one that was asked.
        while True:
            catalogs = {name: shelf.catalog(name) for name in names}
            found = shelf.search(arguments["query"], limit=limit, collections=list(catalogs))
            if all(shelf.catalog(name) is catalog for name, catalog in catalogs.items()):
                break
        share = prompt.MOST_CHARS // max(1, len(found.results))
        sources, shown, without = [], [], 0
        for one in found.results:
            url = web_address(one.result.url)
            if not url:
                without += 1
                continue
            document = catalogs[one.collection].fetch(one.result.id)
            source = {
                "id": one.id,
                "title": document.title,
                "url": url,
                "text": document.text[:MOST_TEXT],
                "keywords": document.keywords,
                "metadata": document.metadata,
            }
            sources.append(source)
            short = len(document.text) <= share // 2
            shown.append(
                source if short or self.model is None else source | {"text": one.result.passage(share // 2).text}
            )
        notes = list(found.notes)
        if without:
            notes.append(self.texts.say("without_url", count=without))
        return _Job(arguments["query"], schema, wanted, sources, shown, notes, found.relaxed)

    def answer(self, job: _Job) -> dict[str, Any]:
        """Extract and verify."""
        say = self.texts.say
        claimed, notes = self._extracted(job)
        if len(claimed) > MOST_ITEMS:
            notes.append(say("first_items", count=len(claimed), most=MOST_ITEMS))
        answer = verify(claimed[:MOST_ITEMS], job.schema, [Source(one) for one in job.sources], job.wanted)
        checked = "checked_all" if "" in job.wanted else "checked_fields" if job.wanted else "checked_source"
        fields = ", ".join(path[1:] for path in job.wanted)
        answer["guarantees"] = {"checked": say(checked, fields=fields), "not_checked": say("not_checked")}
        answer |= ({"relaxed": True} if job.relaxed else {}) | {"notes": [*notes, *job.notes]}
        return self._within(answer)

    def _extracted(self, job: _Job) -> tuple[list[Any], list[str]]:
        """Return the items that are claimed, and how they were come by."""
        say, schema = self.texts.say, job.schema
        if self.model is None:
            items, unmatched = columns.items_of(job.sources, schema.properties, schema.source_key, self.field_aliases)
            notes = [say("by_columns")]
            if unmatched and job.sources:
                notes.append(say("no_column", names=", ".join(name[:60] for name in unmatched[:10])))
            return items, notes
        notes = [say("by_model")]
        if not job.sources:
            return [], notes
        asked = prompt.messages(job.query, schema.schema, schema.source_key, job.shown, MOST_ITEMS)
        items = items_in_text(self.model.answer(asked))
        # Only now: the key may stand in the text by its escapes.
        return [self._clean(item) for item in items], notes

    def _clean(self, item: Any) -> Any:
        assert self.model is not None
        return Broken(*map(self.model.clean, item)) if isinstance(item, Broken) else self.model.clean(item)

    def _within(self, answer: dict[str, Any]) -> dict[str, Any]:
        """Return an answer with no more characters than it may have; what is left out is counted."""
        if cost(answer) <= self.most_chars:
            return answer
        for one in answer["dropped"]:
            text = json.dumps(one["item"], ensure_ascii=False)
            if len(text) > LONGEST_DROPPED:
                one["item"] = f"{text[:LONGEST_DROPPED]}…"
        left_out, notes = 0, answer["notes"]
        while cost(answer) > self.most_chars:
            if not answer["items"]:
                raise QueryError(self.texts.say("answer_too_long", most=self.most_chars))
            answer["items"].pop()
            left_out += 1
            answer["notes"] = [*notes, self.texts.say("items_left_out", count=left_out)]
        return answer


def _in_a_thread(work: Callable[[], dict[str, Any]]) -> asyncio.Future[dict[str, Any]]:
    """Start work in a thread that is waited for by nobody when the server ends: a model may be silent for long."""
    done: Future[dict[str, Any]] = Future()
    done.set_running_or_notify_cancel()  # what is given up by the caller goes on to its end, and is forgotten

    def run() -> None:
        try:
            done.set_result(work())
        except BaseException as problem:
            done.set_exception(problem)

    threading.Thread(target=run, daemon=True).start()
    return asyncio.wrap_future(done)


def verified_tools(corpora: Corpora, search: VerifiedSearch, wanted: Iterable[str] = ("all",)) -> list[Tool]:
    """Return the tool verified_search if it is wanted; its handler takes a `Shelf` as the caller.

    Args:
        corpora: what is told of the catalogues.
        search: what carries it out.
        wanted: "all", or names of tools.
    """
    if not {"all", VERIFIED_TOOL} & set(wanted):
        return []
    described = definition(
        corpora.what(), corpora.title, corpora.example, search.texts, by_model=search.model is not None
    )
    schema = {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]}
    example = {"query": corpora.example or "…", "schema": schema}
    return [Tool(described, search, main="query", example=example)]
