"""Three tools for work with sources: passages within a budget, documents line by line, and what there is.

A budget is exact: the answer as compact JSON, the text that goes over the wire, never has more than `max_chars`
characters. What does not fit is left for the next call, and the answer says how to ask for it. Only `warnings`, which
a call that is not canonical brings upon itself, come on top.
"""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

from catalog_search.errors import DocumentNotFound, QueryError, SettingsError, echo, nearest
from catalog_search.server.contract import SEARCH_TOOLS, web_address
from catalog_search.server.evidence_contract import (
    DEFAULT_CHARS,
    DEFAULT_LINES,
    DEFAULT_RESULTS,
    EVIDENCE_TOOLS,
    MOST_CHARS,
    VERIFIED_TOOL,
    definitions,
)
from catalog_search.server.parts import lines_of, split_id
from catalog_search.server.tools import Tool

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from catalog_search.catalog import Catalog
    from catalog_search.document import Document
    from catalog_search.server.corpus import Corpora
    from catalog_search.server.shelf import Answer, Found, Resolved, Shelf
    from catalog_search.server.texts import Texts

LONGEST_PASSAGE, SHORTEST_PASSAGE = 800, 80
"""Characters of a passage: at most, and at least, unless the document has fewer."""
LONGEST_TITLE = 300
"""Characters of a title or of a trail of headings that are shown."""
EXAMPLES = 5
"""So many translations of a vocabulary are shown."""
NAMED = 8
"""So many collections are named in a sentence."""
_SHORTEST_HASH = 7


def evidence_tools(
    corpora: Corpora, texts: Texts, wanted: Iterable[str] = ("all",), *, most_chars: int = MOST_CHARS
) -> list[Tool]:
    """Return the three tools, or some of them; their handlers take a `Shelf` as the caller.

    Args:
        corpora: what is told of the catalogues.
        texts: the texts in the language of titles, schemas and messages.
        wanted: "all", or names; search and fetch, which are always there, may be among them.
        most_chars: the largest budget that a call may ask for.

    Raises:
        SettingsError: there is no tool of a name.
    """
    names = list(wanted)
    known = ("all", *SEARCH_TOOLS, *EVIDENCE_TOOLS, VERIFIED_TOOL)
    for name in names:
        if name not in known:
            raise SettingsError(f'there is no tool "{name}".{nearest(name, known)}', key="tools")
    search, read, collections = definitions(corpora.what(), corpora.title, corpora.example, texts, most_chars)
    tools = [
        Tool(search, partial(search_evidence, texts), main="query", example={"query": corpora.example or "…"}),
        Tool(read, partial(read_document, texts), main="id", literal=True),
        Tool(collections, list_collections),
    ]
    return [tool for tool in tools if "all" in names or tool.name in names]


# search_evidence ----------------------------------------------------------------------------------------------


def search_evidence(texts: Texts, shelf: Shelf, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return what search_evidence answers.

    Raises:
        QueryError: a collection, facet or revision that is not on the shelf; a budget in which no result fits.
    """
    offset = arguments.get("offset", 0)
    limit = min(arguments.get("limit", DEFAULT_RESULTS), max(1, shelf.candidates - offset))
    prefix = arguments.get("path_prefix", "")
    # A database may be replaced meanwhile: what is said of a collection must be of the one that was asked.
    while True:
        chosen = _chosen(shelf, arguments)
        catalogs = _of_revision(texts, chosen, arguments.get("revision"))
        answer = shelf.search(
            arguments["query"],
            limit=limit,
            offset=offset,
            collections=list(catalogs),
            where=_conditions(arguments.get("where", {})),
            path_prefix=prefix,
        )
        if all(shelf.catalog(name) is catalog for name, catalog in catalogs.items()):
            break
    if others := {name: catalog for name, catalog in chosen.items() if name not in catalogs}:
        answer.notes.insert(0, texts.say("left_out_revisions", served=_revisions(others)))
    if prefix and not answer.results and not any(catalog.has_path(prefix) for catalog in catalogs.values()):
        answer.notes.append(texts.say("no_such_path", prefix=_short(prefix)))
    told = _within(texts, answer, catalogs, offset, limit, arguments.get("max_chars", DEFAULT_CHARS))
    if told.get("next_offset", 0) >= shelf.candidates:
        del told["next_offset"]
    return told


def _chosen(shelf: Shelf, arguments: dict[str, Any]) -> dict[str, Catalog]:
    names = dict.fromkeys(arguments.get("collections") or shelf.names())
    return {name: shelf.catalog(name) for name in names}


def _conditions(where: dict[str, Any]) -> dict[str, list[str]]:
    conditions = {}
    for facet, value in where.items():
        values = value if isinstance(value, list) else [value]
        if not values or not all(isinstance(one, str | int | float) and not isinstance(one, bool) for one in values):
            raise QueryError(f'where must have a text for "{echo(facet)}"').also("bad_where", name=echo(facet))
        conditions[facet] = [str(one) for one in values]
    return conditions


def _of_revision(texts: Texts, catalogs: dict[str, Catalog], asked: str | None) -> dict[str, Catalog]:
    """Return the catalogues of a revision; QueryError names those that there are."""
    if asked is None:
        return catalogs
    kept = {name: catalog for name, catalog in catalogs.items() if _is_revision(asked, catalog)}
    if not kept:
        raise QueryError(texts.say("other_revision", asked=_short(asked), served=_revisions(catalogs)))
    return kept


def _revisions(catalogs: Mapping[str, Catalog]) -> str:
    each = [f"{name} “{_short(catalog.info['revision'])}”" for name, catalog in catalogs.items()]
    return ", ".join([*each[:NAMED], "…"] if len(each) > NAMED else each)


def _is_revision(asked: str, catalog: Catalog) -> bool:
    """Tell whether a catalogue is of a revision; a commit may be shortened, as git does."""
    served = catalog.info["revision"]
    is_hash = len(asked) >= _SHORTEST_HASH and not set(served) - set("0123456789abcdef")
    return asked == served or (is_hash and served.startswith(asked))


def _within(
    texts: Texts, answer: Answer, catalogs: dict[str, Catalog], offset: int, limit: int, budget: int
) -> dict[str, Any]:
    """Return as many results as a budget holds, each with a passage of a fair length."""
    tail: dict[str, Any] = {"total": answer.total, "total_relation": "eq" if answer.exact else "gte"}
    if answer.relaxed:
        tail["relaxed"] = True
    if notes := _fitting(answer.notes, budget // 4):
        tail["notes"] = notes
    room = budget - cost({"results": [], **tail, "next_offset": offset + limit})
    results: list[dict[str, Any]] = []
    for place, found in enumerate(answer.results):
        share = room // (len(answer.results) - place)
        one = _evidence(found, answer, catalogs[found.collection], share, room - 1)
        needed = cost(one) + 1
        if needed > room:
            if not results:
                raise _too_small(texts, budget, budget - room + needed)
            break
        room -= needed
        results.append(one)
    shown = offset + len(results)
    more = len(results) < len(answer.results) or shown < answer.total or (not answer.exact and len(results) == limit)
    if results and more:
        tail["next_offset"] = shown
    return {"results": results, **tail}


def _evidence(found: Found, answer: Answer, catalog: Catalog, share: int, room: int) -> dict[str, Any]:
    """Return one result: its passage as long as its share allows, the shortest if the share is less than that."""
    result = found.result
    document = catalog.fetch(result.id)
    told: dict[str, Any] = {"id": found.id, "title": _short(result.title)}
    if document.heading:
        told["heading"] = _short(document.heading)
    told |= {"collection": found.collection, "revision": catalog.info["revision"], "url": web_address(result.url)}
    told |= {"excerpt": "", "first_line": 1, "last_line": 1}
    if document.path and document.first_line:
        told |= {"path": document.path, "file_first_line": document.first_line, "file_last_line": document.first_line}
    part = answer.parts[found.collection]
    words: dict[int, str] = {}
    for matches in result.matched.values():
        for match in matches:
            words.setdefault(match.term, match.pattern)
    told["matched"] = [{"term": part.terms[place].term, "word": words[place]} for place in sorted(words)]
    if result.missing:
        told["missing"] = result.missing
    length = min(LONGEST_PASSAGE, max(SHORTEST_PASSAGE, share - cost(told)))
    while True:
        passage = result.passage(length)
        told |= {"excerpt": passage.text, "first_line": passage.first_line, "last_line": passage.last_line}
        if "path" in told and document.first_line:
            told["file_first_line"] = document.first_line + passage.first_line - 1
            told["file_last_line"] = document.first_line + passage.last_line - 1
        over = cost(told) - room
        if over <= 0 or length <= SHORTEST_PASSAGE:
            return told
        length = max(SHORTEST_PASSAGE, length - over)


# read_document ------------------------------------------------------------------------------------------------


def read_document(texts: Texts, shelf: Shelf, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return what read_document answers.

    Raises:
        DocumentNotFound: no document on the shelf has that id.
        QueryError: another revision is served, there is no such line, or the budget holds not one character.
    """
    place, line, character = _place(shelf, arguments["id"])
    line, character = arguments.get("from_line", line), arguments.get("from_char", character)
    _of_revision(texts, {place.collection: place.catalog}, arguments.get("revision"))
    document = place.catalog.fetch(place.id)
    lines = lines_of(document.text)
    if line > len(lines) or character > max(1, len(lines[line - 1])):
        raise QueryError(texts.say("no_such_line", line=line, character=character, lines=len(lines)))
    told = _about(shelf, place, document)
    budget = arguments.get("max_chars", DEFAULT_CHARS)
    most = {"text": "", "first_line": line, "last_line": len(lines), "lines": len(lines), "left": len(lines)}
    longest = max(map(len, lines))
    room = budget - cost(told | most | {"next": {"from_line": len(lines), "from_char": longest}})
    if "path" in told:
        room -= cost({"file_first_line": len(lines) + (document.first_line or 0)}) - 1
    text, last, following = _numbered(lines, line, character, arguments.get("max_lines", DEFAULT_LINES), room)
    if not text:
        needed = budget - room + cost(f"{line}: ") - 2 + _LARGEST_CHARACTER
        raise _too_small(texts, budget, needed)
    if "path" in told and document.first_line:
        told["file_first_line"] = document.first_line + line - 1
    left = len(lines) - (following[0] - 1 if following else len(lines))
    told |= {"text": text, "first_line": line, "last_line": last, "lines": len(lines), "left": left}
    if following:
        told["next"] = {"from_line": following[0]} | ({"from_char": following[1]} if following[1] > 1 else {})
    return told


_LARGEST_CHARACTER = 6
"""A control character in JSON: \\\\u001f."""


def _place(shelf: Shelf, id: str) -> tuple[Resolved, int, int]:
    """Return where an id leads, and the line and character that the id of a part names."""
    try:
        return shelf.resolve(id), 1, 1
    except DocumentNotFound:
        part = split_id(id)
        if part is not None:
            try:
                return shelf.resolve(part[0]), part[1], part[2]
            except DocumentNotFound:
                pass
        raise


def _about(shelf: Shelf, place: Resolved, document: Document) -> dict[str, Any]:
    told: dict[str, Any] = {"id": shelf.qualify(place.collection, place.id), "title": _short(document.title)}
    if document.heading:
        told["heading"] = _short(document.heading)
    revision = place.catalog.info["revision"]
    told |= {"collection": place.collection, "revision": revision, "url": web_address(document.url)}
    return told | ({"path": document.path} if document.path else {})


def _numbered(
    lines: Sequence[str], line: int, character: int, most: int, room: int
) -> tuple[str, int, tuple[int, int] | None]:
    """Return numbered lines that fit, the last one's number, and the line and character to go on at.

    A line is cut only if it is the first, and then without a line end: the next part begins within it.
    """
    taken: list[str] = []
    number = line
    for number in range(line, min(len(lines), line + most - 1) + 1):
        start = character if number == line else 1
        numbered = f"{number}: {lines[number - 1][start - 1 :]}"
        needed = cost(numbered) - 2 + (2 if taken else 0)
        if needed <= room:
            taken.append(numbered)
            room -= needed
            continue
        if taken:
            return "\n".join(taken), number - 1, (number, 1)
        head = f"{number}: "
        kept = _starting(lines[number - 1][start - 1 :], room - len(head))
        return (head + kept if kept else ""), number, (number, start + len(kept))
    return "\n".join(taken), number, (number + 1, 1) if number < len(lines) else None


def _starting(text: str, room: int) -> str:
    """Return the start of a text that needs at most so many characters in JSON."""
    for place, sign in enumerate(text[: max(0, room) + 1]):
        room -= cost(sign) - 2
        if room < 0:
            return text[:place]
    return text


# list_collections ---------------------------------------------------------------------------------------------


def list_collections(shelf: Shelf, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return what list_collections answers."""
    return {"collections": [_collection(name, shelf.catalog(name)) for name in shelf.names()]}


def _collection(name: str, catalog: Catalog) -> dict[str, Any]:
    info = catalog.info
    told: dict[str, Any] = {
        "name": name,
        "title": info["title"],
        "language": info["language"],
        "documents": int(info["documents"]),
    }
    told |= {key: info[key] for key in ("publisher", "licence", "source_url", "revision", "retrieved_at") if info[key]}
    if catalog.facets:
        told["facets"] = catalog.facets
    entries, examples = catalog.translations(EXAMPLES)
    return told | {"vocabulary": {"entries": entries, "examples": examples}}


# What all need ------------------------------------------------------------------------------------------------


def cost(value: object) -> int:
    """Return how many characters a value has as compact JSON, as it goes over the wire.

    >>> cost({"a": "é\\n"})
    11
    """
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def _too_small(texts: Texts, budget: int, needed: int) -> QueryError:
    values = {"max_chars": budget, "needed": needed}
    return QueryError(texts.say("budget_too_small", **values)).also("budget_too_small", **values)


def _short(text: str) -> str:
    line = " ".join(text[: 4 * LONGEST_TITLE].split())
    return line if len(line) <= LONGEST_TITLE else f"{line[: LONGEST_TITLE - 1]}…"


def _fitting(notes: Sequence[str], room: int) -> list[str]:
    """Return the notes that fit; dots stand for the others."""
    kept: list[str] = []
    for note in notes:
        room -= cost(note) + 1
        if room < 4:
            return [*kept, "…"]
        kept.append(note)
    return kept
