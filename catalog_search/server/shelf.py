"""The collections that one caller may see, asked as one.

A collection is a catalogue's database under the name it is served by. What a caller may not see is not on its shelf,
so that nothing it sends can reach it: neither a question nor an id, a filter or the name of the collection.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, groupby, zip_longest
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from catalog_search.errors import BoundReached, DatabaseError, DocumentNotFound, QueryError, echo, nearest
from catalog_search.server.bounds import BOUNDS, Bounds
from catalog_search.server.holding import Holding

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from catalog_search.catalog import Catalog
    from catalog_search.document import Document
    from catalog_search.result import Result, SearchResult

T = TypeVar("T")

SUGGESTIONS = 5
"""So many ids are named to one that is unknown."""


class Found(NamedTuple):
    """One document of a merged answer."""

    id: str
    """Its id on the wire, which `fetch` takes."""
    collection: str
    result: Result


class Resolved(NamedTuple):
    """Where an id leads."""

    collection: str
    catalog: Catalog
    id: str
    """The id inside the collection."""


@dataclass(slots=True)
class Answer:
    """The answer of all collections of a shelf to a question.

    Attributes:
        results: the page that was asked for, best first.
        total: how many documents the answer has, as far as they were seen.
        exact: whether `total` is their number; otherwise there are at least so many.
        relaxed: whether no document satisfies every term, and these are the nearest.
        reason: why there is no result, as in `SearchResult`; None if there is one.
        notes: sentences, each in the language of the catalogue that says it, each once.
        suggestions: words near to those that occur nowhere.
        parts: collection → its own answer, for those that were asked.
    """

    results: list[Found] = field(default_factory=list)
    total: int = 0
    exact: bool = True
    relaxed: bool = False
    reason: str | None = None
    notes: list[str] = field(default_factory=list)
    suggestions: list[str] = field(default_factory=list)
    parts: dict[str, SearchResult] = field(default_factory=dict)


class Shelf:
    """The collections that one caller may see, in the order they are served.

    Ids are `collection:id` on the wire when there is more than one collection, or from the start when
    `qualified_ids`. Both forms are always understood.

    Args:
        holdings: name → database, in order.
        qualified_ids: write `collection:id` also when there is only one.
        bounds: what a question may cost.

    >>> import tempfile
    >>> from catalog_search import build
    >>> folder = tempfile.TemporaryDirectory()
    >>> for name, title in (("jobs", "Wages"), ("homes", "Rents and wages")):
    ...     settings = {"name": name, "language": "en", "documents": {"id": "{id}", "title": "{title}"}}
    ...     report = build(settings, f"{folder.name}/{name}.db", records=[{"id": "1", "title": title}])
    >>> shelf = Shelf.of_files([f"{folder.name}/jobs.db", f"{folder.name}/homes.db"])
    >>> [found.id for found in shelf.search("wages").results]
    ['jobs:1', 'homes:1']
    >>> shelf.fetch("homes:1")[1].title
    'Rents and wages'
    >>> shelf.only(["homes"]).search("wages").results[0].id
    '1'
    >>> shelf.close(); folder.cleanup()
    """

    def __init__(
        self, holdings: Mapping[str, Holding], *, qualified_ids: bool = False, bounds: Bounds = BOUNDS
    ) -> None:
        self._holdings = dict(holdings)
        self._bounds = bounds
        self._qualified_ids = qualified_ids
        self._qualified = qualified_ids or len(self._holdings) > 1

    @classmethod
    def of_files(
        cls,
        paths: Iterable[str | os.PathLike[str]],
        *,
        names: Iterable[str | None] | None = None,
        qualified_ids: bool = False,
        bounds: Bounds = BOUNDS,
    ) -> Shelf:
        """Open databases.

        Args:
            paths: the files.
            names: by which name each is served; its own for None.
            qualified_ids, bounds: as for the shelf.

        Raises:
            DatabaseError: a file cannot be served, or two have one name.
        """
        paths = list(paths)
        holdings: dict[str, Holding] = {}
        for path, named in zip(paths, names or [None] * len(paths), strict=True):
            holding = Holding(path, bounds.limits())
            name = named or holding.catalog().info["name"]
            if name in holdings:
                raise DatabaseError(
                    f'its name is "{name}", as is that of {holdings[name].path}; '
                    "give the collections names of their own in a configuration file",
                    path=holding.path,
                )
            holdings[name] = holding
        return cls(holdings, qualified_ids=qualified_ids, bounds=bounds)

    def only(self, names: Iterable[str]) -> Shelf:
        """Return a shelf with those of the collections, in the order of this one, over the same open databases."""
        wanted = set(names)
        kept = {name: holding for name, holding in self._holdings.items() if name in wanted}
        return Shelf(kept, qualified_ids=self._qualified_ids, bounds=self._bounds)

    def close(self) -> None:
        """Close every database, for every thread and every shelf that shares it."""
        for holding in self._holdings.values():
            holding.close()

    def names(self) -> tuple[str, ...]:
        """Return the names of the collections, in the order they are served."""
        return tuple(self._holdings)

    @property
    def candidates(self) -> int:
        """How far down an answer can be read: offset and limit together."""
        return self._bounds.candidates

    def state(self) -> tuple[object, ...]:
        """Return what changes when the file of a collection is replaced."""
        return tuple(holding.state() for holding in self._holdings.values())

    def catalog(self, name: str) -> Catalog:
        """Return a collection as it is now, ready for the calling thread.

        Raises:
            QueryError: no collection of that name is on the shelf.
            DatabaseError: its file cannot be read.
        """
        return self._catalog_of(self._known(name))

    def qualify(self, name: str, id: str) -> str:
        """Return the id on the wire of a document of a collection."""
        return f"{name}:{id}" if self._qualified else id

    # Documents --------------------------------------------------------------------------------------------

    def resolve(self, id: str) -> Resolved:
        """Return where an id leads; `collection:id` and the plain id are understood alike.

        What stands on the wire comes first: an id that `search` returned always leads back to its document. A
        plain id that several collections have is that of the first. The url of a document is understood too, if
        it is that of no other in its collection; no url is ever opened.

        Raises:
            DocumentNotFound: no document on the shelf has that id; the nearest ids are named.
            DatabaseError: a database cannot be read.
        """
        readings = []
        for name, plain in self._readings(id):
            with self._named(name):  # each is opened when it is its turn: what comes first needs no other
                reading = Resolved(name, self._holdings[name].catalog(), plain)
                if reading.catalog.has(plain):
                    return reading
            readings.append(reading)
        if id.startswith(("http://", "https://")):
            for reading in readings:
                with self._named(reading.collection):
                    if reading.id == id and (found := reading.catalog.id_by_url(id)) is not None:
                        return reading._replace(id=found)
        raise self._not_found(id, readings)

    def fetch(self, id: str) -> tuple[str, Document]:
        """Return the id on the wire, and the document.

        Raises:
            DocumentNotFound, DatabaseError: as for `resolve`.
        """
        name, catalog, plain = self.resolve(id)
        with self._named(name):
            return self.qualify(name, plain), catalog.fetch(plain)

    @contextmanager
    def _named(self, name: str) -> Iterator[None]:
        """Say of which of several collections the database failed."""
        try:
            yield
        except DatabaseError as problem:
            if len(self._holdings) < 2:
                raise
            message = f'the collection "{name}" cannot be read: {problem.message}'
            raise DatabaseError(message, path=problem.path) from problem

    def _catalog_of(self, name: str) -> Catalog:
        with self._named(name):
            return self._holdings[name].catalog()

    def _asked(self, name: str, catalog: Catalog, question: str, **options: Any) -> SearchResult:
        with self._named(name):
            return catalog.search(question, **options)

    def _readings(self, id: str) -> Iterator[tuple[str, str]]:
        """Yield what an id may mean, as collection and id inside it, the form that this shelf writes first."""
        name, colon, rest = id.partition(":")
        prefixed = [(name, rest)] if colon and name in self._holdings else []
        plain = [(other, id) for other in self._holdings]
        yield from chain(prefixed, plain) if self._qualified else chain(plain, prefixed)

    def _not_found(self, id: str, readings: Sequence[Resolved]) -> DocumentNotFound:
        near: list[list[str]] = []
        for reading in readings:
            try:
                reading.catalog.fetch(reading.id)
            except DocumentNotFound as problem:
                near.append([self.qualify(reading.collection, one) for one in problem.nearest])
        if not readings:
            return DocumentNotFound("There is no collection to look in.", id=id)
        return readings[0].catalog.not_found(id, list(dict.fromkeys(in_turn(near)))[:SUGGESTIONS])

    # Questions --------------------------------------------------------------------------------------------

    def search(
        self,
        question: str,
        limit: int = 10,
        offset: int = 0,
        collections: Sequence[str] | None = None,
        where: Mapping[str, str | Sequence[str]] | None = None,
        path_prefix: str = "",
    ) -> Answer:
        """Ask the collections as one.

        Strict answers are merged by tier and kind, and where these are equal in turn, in the order of the
        collections: a rowid of one database says nothing beside that of another. Only if no collection has a
        strict answer are the relaxed ones given, in turn by rank, since their scores do not compare either.

        Args:
            question: any text; it has no operators.
            limit: how many results, 1 or more.
            offset: how many to leave out before them; together with `limit` no more than the bound of candidates.
            collections: the names of those to ask; all when None or empty.
            where: facet → the value it must have, or several; a collection without the facet has no such document.
            path_prefix: only documents of files whose path begins so.

        Raises:
            QueryError: a collection or a facet that is not on the shelf, or a limit or offset out of range.
            BoundReached: the question costs more than it may.
            DatabaseError: a database cannot be read. Never an empty result.
        """
        if limit < 1 or offset < 0:
            raise QueryError(f"limit is {limit} and offset {offset}; they must be 1 and 0 or more")
        if limit + offset > self._bounds.candidates:
            raise BoundReached(
                f"results {offset + 1:,} to {offset + limit:,} were asked for; an answer can be read down to "
                f"{self._bounds.candidates:,}, so ask more narrowly"
            ).also("out_of_reach", first=offset + 1, last=offset + limit, most=self._bounds.candidates)
        if len(question) > self._bounds.query_length:
            raise BoundReached(
                f"the question has {len(question):,} characters; {self._bounds.query_length:,} may be asked at once"
            ).also("question_too_long", found=len(question), most=self._bounds.query_length)
        names = list(self._holdings) if not collections else list(dict.fromkeys(map(self._known, collections)))
        catalogs = {name: self._catalog_of(name) for name in names}
        if where:
            catalogs = _with_facets(catalogs, where)
        only: dict[str, Any] = {"where": where, "path_prefix": path_prefix}
        if len(catalogs) == 1:
            ((name, catalog),) = catalogs.items()
            return self._merged(
                {name: self._asked(name, catalog, question, limit=limit, offset=offset, **only)}, 0, limit
            )
        need = offset + limit
        ask = partial(self._asked, question=question, limit=need, **only)
        parts = {name: ask(name=name, catalog=catalog, relax=False) for name, catalog in catalogs.items()}
        if not any(part.total for part in parts.values()):
            parts = {name: ask(name=name, catalog=catalog) for name, catalog in catalogs.items()}
        return self._merged(parts, offset, limit)

    def _merged(self, parts: dict[str, SearchResult], offset: int, limit: int) -> Answer:
        telling = {name: part for name, part in parts.items() if part.total} or parts
        found = [
            [Found(self.qualify(name, one.id), name, one) for one in part.results] for name, part in telling.items()
        ]
        relaxed = any(part.relaxed for part in telling.values())
        ordered = list(in_turn(found)) if relaxed else list(merged(found))
        return Answer(
            results=ordered[offset : offset + limit],
            total=sum(part.total for part in telling.values()),
            exact=all(part.total_relation == "eq" for part in telling.values()),
            relaxed=relaxed,
            reason=next((part.reason for part in telling.values()), None),
            notes=list(dict.fromkeys(chain.from_iterable(part.notes for part in telling.values()))),
            suggestions=list(dict.fromkeys(in_turn([part.suggestions for part in telling.values()])))[:SUGGESTIONS],
            parts=parts,
        )

    def _known(self, name: str) -> str:
        if name not in self._holdings:
            problem = QueryError(f'there is no collection "{echo(name)}".{nearest(name, self._holdings)}')
            raise problem.also("no_collection", name=echo(name)).also_nearest(name, self._holdings)
        return name


def merged(answers: Iterable[Sequence[Found]]) -> Iterator[Found]:
    """Yield strict results by tier and kind, those that are equal in turn; each answer is in its own order."""
    by_rank: dict[tuple[int, int], list[list[Found]]] = {}
    for answer in answers:
        for rank, ones in groupby(answer, _rank):
            by_rank.setdefault(rank, []).append(list(ones))
    for rank in sorted(by_rank):
        yield from in_turn(by_rank[rank])


def _rank(found: Found) -> tuple[int, int]:
    return found.result.tier or 0, found.result.kind or 0


def in_turn(sequences: Iterable[Sequence[T]]) -> Iterator[T]:
    """Yield the first of each sequence, then the second of each, and so on.

    >>> "".join(in_turn(["ad", "b", "ce"]))
    'abcde'
    """
    missing = object()
    for ones in zip_longest(*sequences, fillvalue=missing):
        yield from (one for one in ones if one is not missing)  # type: ignore[misc]


def _with_facets(catalogs: Mapping[str, Catalog], where: Mapping[str, str | Sequence[str]]) -> dict[str, Catalog]:
    """Return the catalogues that have every facet of a filter.

    Raises:
        QueryError: none has one of them.
    """
    facets = {name: catalog.facets for name, catalog in catalogs.items()}
    known = list(dict.fromkeys(chain.from_iterable(facets.values())))
    for facet in where:
        if facet not in known:
            hint = nearest(facet, known) or " There are none."
            problem = QueryError(f'there is no facet "{echo(facet)}".{hint}')
            raise problem.also("no_facet", name=echo(facet)).also_nearest(facet, known)
    kept = {name: catalog for name, catalog in catalogs.items() if set(where) <= set(facets[name])}
    if not kept:
        names = ", ".join(where)
        problem = QueryError(f"no collection has all of the facets {names}; ask with one of them")
        raise problem.also("no_facets_together", names=names)
    return kept
