"""The two tools of the contract, search and fetch, over the collections that a caller may see."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import mcp_types as types

from catalog_search.document import code, plainly
from catalog_search.errors import DocumentNotFound, QueryError
from catalog_search.server.calls import shown_keys
from catalog_search.server.contract import DEFAULT_LIMIT, READ_ONLY, get_contract_schemas, web_address
from catalog_search.server.corpus import fetch_description, search_description
from catalog_search.server.parts import PART_BYTES, part_of, split_id
from catalog_search.server.tools import Answer, Tool

if TYPE_CHECKING:
    from catalog_search.document import Document
    from catalog_search.server.corpus import Corpora
    from catalog_search.server.shelf import Shelf
    from catalog_search.server.texts import Texts

FARTHEST = 900
LONGEST_TITLE, LONGEST_VALUE, LONGEST_FIELDS = 500, 2_000, 10_000
"""Characters that are shown of a title, of one field of a document, and of all its fields."""

# Never advertised: the contract's tools have one argument each.
_SEARCH_HIDDEN: dict[str, dict[str, Any]] = {
    "limit": {"type": "integer", "minimum": 1, "maximum": DEFAULT_LIMIT},
    "offset": {"type": "integer", "minimum": 0, "maximum": FARTHEST},
}
_FETCH_HIDDEN: dict[str, dict[str, Any]] = {"from_line": {"type": "integer", "minimum": 1}}
_MORE = (
    "Words are also searched in the wording the source uses, and every such translation is said in notes. "
    "If relaxed is true, no document holds the whole question and these are the nearest. "
)


def search_and_fetch(corpora: Corpora, texts: Texts, *, part_bytes: int = PART_BYTES) -> list[Tool]:
    """Return the pair of tools; their handlers take a `Shelf` as the caller.

    Args:
        corpora: what is told of the catalogues.
        texts: the texts in the language of titles, schemas and messages.
        part_bytes: UTF-8 bytes of a document's text that fetch returns at a time.
    """
    schemas = get_contract_schemas(texts.locale)
    what, title = corpora.what(), corpora.title
    # Who guesses this argument, and a name that is none, gets the answer of all.
    collections = {"type": "array", "items": {"type": "string", "enum": corpora.names}}
    return [
        Tool(
            types.Tool(
                name="search",
                title=texts.say("search_title", corpus=title),
                description=search_description(what, example=corpora.example, more=_MORE),
                input_schema=schemas["search_input"],
                output_schema=schemas["search_output"],
                annotations=READ_ONLY,
            ),
            search,
            main="query",
            hidden=_SEARCH_HIDDEN | {"collections": collections},
            example={"query": corpora.example or "…"},
        ),
        Tool(
            types.Tool(
                name="fetch",
                title=texts.say("fetch_title", corpus=title),
                description=fetch_description(what),
                input_schema=schemas["fetch_input"],
                output_schema=schemas["fetch_output"],
                annotations=READ_ONLY,
            ),
            partial(fetch, texts, part_bytes),
            main="id",
            literal=True,
            hidden=_FETCH_HIDDEN,
        ),
    ]


def search(shelf: Shelf, arguments: dict[str, Any]) -> Answer:
    """Return what search answers."""
    answer = shelf.search(
        arguments["query"],
        limit=arguments.get("limit", DEFAULT_LIMIT),
        offset=arguments.get("offset", 0),
        collections=arguments.get("collections"),
    )
    results = [
        {
            "id": found.id,
            "title": _short(found.result.title, LONGEST_TITLE),
            "url": web_address(found.result.url),
        }
        for found in answer.results
    ]
    extras: dict[str, Any] = {}
    if answer.relaxed:
        extras["relaxed"] = True
    if answer.notes:
        extras["notes"] = answer.notes
    return {"results": results}, extras


def fetch(texts: Texts, part_bytes: int, shelf: Shelf, arguments: dict[str, Any]) -> Answer:
    """Return what fetch answers; `metadata` is flat, name → text, and says that none of it is to be obeyed.

    Raises:
        DocumentNotFound: no document has that id.
        QueryError: it has, and not that many lines.
    """
    id, document, line, character = _place(shelf, arguments)
    part = part_of(document.text, line, character, part_bytes)
    if part is None:
        raise QueryError(texts.say("ends_before", id=_short(id, LONGEST_TITLE), line=line))
    shortened = _shorten_fields(document)
    metadata = {name: plainly(value) for name, value in document.as_json()["metadata"].items() if value is not None}
    # Provenance is the maintainer's word; a column of the source of the same name stays in the text.
    metadata |= document.provenance
    metadata["untrusted"] = "true"
    text = document.markdown() if part.whole else f"{document.markdown(part.text)}\n{part.place()}"
    if part.next:
        metadata["next"] = f"{id}#{part.next}"
        text += f"; continues: fetch {code(metadata['next'])}"
    found = {
        "id": id,
        "title": document.title,
        "text": text,
        "url": web_address(document.url),
        "metadata": metadata,
    }
    return found, {"notes": [texts.say("shortened", fields=shown_keys(shortened))]} if shortened else None


def _shorten_fields(document: Document) -> list[str]:
    """Cut what is too long to be read beside the text; return the names of what was cut."""
    document.title = _short(document.title, LONGEST_TITLE)
    keywords, cut = _short("; ".join(document.keywords), LONGEST_VALUE), []
    if document.keywords and keywords.endswith("…"):
        document.keywords = [keywords]
        cut.append("keywords")
    left = LONGEST_FIELDS
    kept: dict[str, Any] = {}
    for name, value in document.metadata.items():
        text = plainly(value)
        shown = _short(text, LONGEST_VALUE)
        left -= len(name) + len(shown)
        if left >= 0:
            kept[name] = value if shown == text else shown
        if left < 0 or shown != text:
            cut.append(name)
    document.metadata = kept
    return cut


def _place(shelf: Shelf, arguments: dict[str, Any]) -> tuple[str, Document, int, int]:
    """Return a document with its id on the wire, and the line and character at which it is to be read."""
    asked, line = arguments["id"], arguments.get("from_line", 1)
    try:
        return *shelf.fetch(asked), line, 1
    except DocumentNotFound:
        part = split_id(asked)
        if part is None:
            raise
        try:
            return *shelf.fetch(part[0]), *part[1:]
        except DocumentNotFound:
            pass
        raise


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}…"
