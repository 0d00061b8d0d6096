"""The same catalogue over Cloudflare D1's HTTP API, for administration and the command line.

The database there answers alone: a question is one call of its statement `ask`, and the calls around it say what was
translated and what is missing. A search takes two calls, three if its results are looked at.
"""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn, cast

from catalog_search.answers import SHAPES, fits
from catalog_search.catalog import SUGGESTIONS, Catalog, shortened, sources_by_key
from catalog_search.cloudflare import D1, SECONDS, Answer, Rows, StatementError
from catalog_search.database import CARRIED, CATALOG, INDEXED, NO_LIMITS, Carried, Database
from catalog_search.errors import CatalogSearchError, DatabaseError, QueryError
from catalog_search.expansion import Asked, Source
from catalog_search.query import match_string
from catalog_search.ranking import Row, rank
from catalog_search.result import Result, SearchResult
from catalog_search.text import cut, fold

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from catalog_search.text import Folding

PAGE = 10
"""The documents that the statement `ask` gives."""

_SHAPES = {
    CATALOG: "ss",
    **dict(zip(CARRIED, ("ss", "s", "sssi", "ss"), strict=True)),
    INDEXED: "1i",
}
"""Statements of this module and the database's own → the shapes of their rows, see `answers`."""

UNINDEXED = (
    "its full-text index is {}, so that nothing would be found; run the script of “catalog-search export d1” to its "
    "end, and with --parts its second part, seed.index.sql, too"
)


def connect(
    address: str, *, token: str | None = None, base_url: str | None = None, seconds: float = SECONDS
) -> RemoteCatalog:
    """Connect to a catalogue in D1; see `Catalog.connect`."""
    return RemoteCatalog(RemoteDatabase(D1(address, token=token, base_url=base_url, seconds=seconds)))


class RemoteDatabase(Database):
    """A catalogue's database in D1.

    Raises:
        DatabaseError: it cannot be reached, is no catalogue, or has another format version.
    """

    def __init__(self, d1: D1) -> None:
        self.name = d1.name
        self.limits = NO_LIMITS
        self.d1 = d1
        self._closed = False
        self._shapes = dict(_SHAPES)
        opening = [(sql, ()) for sql in (CATALOG, *CARRIED, INDEXED)]
        try:
            rows = d1.batch(opening).rows
            self._look_at(opening[:1], rows[:1])  # the others may be of another format version
            self.catalog, failed = dict(rows[0]), None
        except StatementError as problem:
            # A table is missing: of another format version, or it is no catalogue.
            self.catalog, failed = self._catalog_alone(problem), problem
        self._check_catalog("load it with the script of “catalog-search export d1”")
        if failed is not None:
            missing = "a table of the catalogue is missing; load it anew with “catalog-search export d1”"
            if not _is_missing(failed):
                raise failed
            no_index = "documents_fts" in failed.message
            raise DatabaseError(UNINDEXED.format("missing") if no_index else missing, path=self.name)
        self._look_at(opening, rows)
        if not rows[-1][0][0]:
            raise DatabaseError(UNINDEXED.format("empty"), path=self.name)
        self._carried = Carried(*rows[1:-1])
        self._shapes |= {sql: SHAPES[name] for name, sql in self._carried.statements if name in SHAPES}

    def _catalog_alone(self, problem: StatementError) -> dict[str, str]:
        try:
            return dict(self.execute(CATALOG))
        except StatementError:
            if _is_missing(problem):
                raise DatabaseError(
                    "it is a D1 database but holds no catalogue; load it with the script of “catalog-search export d1”",
                    path=self.name,
                ) from None
            raise problem from None

    def batch(self, statements: Sequence[tuple[str, Sequence[str]]], shape: str = "") -> Answer:
        """Run statements in one call; the one door by which rows come in.

        Args:
            statements: each with its parameters.
            shape: of the rows of each, see `answers`; that of a statement that is known by default.

        Raises:
            DatabaseError: the catalogue was closed, D1 could not be asked, or rows are of another shape.
        """
        if self._closed:
            raise DatabaseError("the catalogue was closed", path=self.name)
        answer = self.d1.batch(statements)
        self._look_at(statements, answer.rows, shape)
        return answer

    def _look_at(self, statements: Sequence[tuple[str, Sequence[str]]], found: list[Rows], shape: str = "") -> None:
        for (sql, _), rows in zip(statements, found, strict=True):
            wanted = shape or self._shapes.get(sql, "")
            if wanted and not fits(rows, wanted):
                raise self.misshapen()

    def execute(self, sql: str, parameters: Sequence[str] = (), /) -> Rows:
        """Run one statement and return its rows."""
        return self.batch([(sql, parameters)]).rows[0]

    def misshapen(self) -> DatabaseError:
        """Return the error of an answer that is not what its statement gives."""
        return DatabaseError(
            "an answer has another shape than its statement gives; the database is damaged, or was changed meanwhile: "
            "ask again, or load it anew with “catalog-search export d1”",
            path=self.name,
        )

    def connection(self) -> sqlite3.Connection:
        """Return what runs statements there: of a connection it has `execute`, and no more.

        Raises:
            DatabaseError: the catalogue was closed.
        """
        if self._closed:
            raise DatabaseError("the catalogue was closed", path=self.name)
        return cast("sqlite3.Connection", self)

    def carried(self) -> Carried:
        """Return what was read when it was opened."""
        return self._carried

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Turn what a damaged database's rows lead to into a DatabaseError; `D1` raises its own."""
        try:
            yield
        except CatalogSearchError:
            raise
        except (ValueError, TypeError, LookupError, AttributeError) as problem:
            raise self.misshapen() from problem

    def close(self) -> None:
        """End its use; there is nothing open."""
        self._closed = True


def _is_missing(problem: StatementError) -> bool:
    return "no such table" in problem.message or "no such column" in problem.message


class RemoteCatalog(Catalog):
    """A catalogue in D1, asked over Cloudflare's API. Use `Catalog.connect`.

    It differs from one in a file in this: a search gives the first ten documents at most, has no facets and no
    suggestions, and its relaxed answers follow the simpler rule of the statement `ask`.
    """

    def __init__(self, database: RemoteDatabase) -> None:
        with database.errors():
            super().__init__(database)
        self._remote = database
        self._folded: dict[str, str] = {}
        self._looked_up: set[str] = set()

    def __enter__(self) -> RemoteCatalog:
        return self

    def describe(self) -> dict[str, Any]:
        """Return what the catalogue is and how large; `bytes` as D1 counts them."""
        numbers = {"documents": "documents", "words": "words", "vocabulary_entries": "vocabulary"}
        answer = self._remote.batch([(f"SELECT count(*) AS n FROM {table}", ()) for table in numbers.values()], "1i")
        return self._description(
            {name: rows[0][0] for name, rows in zip(numbers, answer.rows, strict=True)}, answer.size
        )

    def search(
        self,
        question: str,
        *,
        limit: int = PAGE,
        offset: int = 0,
        where: Mapping[str, str | Sequence[str]] | None = None,
        path_prefix: str = "",
        facets: Iterable[str] = (),
        count: bool = False,
        relax: bool = True,
        explain: bool = False,
    ) -> SearchResult:
        """Answer a question with the first ten documents at most; see `Catalog.search`.

        Raises:
            QueryError: facets, a count or explanations were asked for, or documents beyond the tenth.
            DatabaseError: D1 could not be asked. Never an empty result.
        """
        if where or path_prefix or list(facets) or count or explain:
            self._not_here("Facets, filters, counts and explanations")
        if not (isinstance(question, str) and limit >= 1 and offset >= 0):
            return super().search(question, limit=limit, offset=offset)  # which says what is wrong
        if limit + offset > PAGE:
            raise QueryError(
                f"over D1 a search gives the first {PAGE} documents; limit and offset are {limit + offset} together",
                path=self._database.name,
            )
        with self._database.errors():
            return self._answer(question, slice(offset, offset + limit), relax)

    def explain(self, question: str, id: str, where: Mapping[str, str | Sequence[str]] | None = None) -> list[str]:
        """Raise QueryError: it needs the catalogue's file."""
        self._not_here("Explanations")

    def _not_here(self, what: str) -> NoReturn:
        raise QueryError(
            f"{what} need the catalogue's file; over D1 there are search, fetch and check", path=self._database.name
        )

    def _answer(self, question: str, page: slice, relax: bool) -> SearchResult:
        rows: list[Any] | None = None

        def find(keys: Iterable[str]) -> Mapping[str, Sequence[Source]]:
            # With what the vocabulary says comes the answer, in the same call.
            nonlocal rows
            sources, rows = self.batch(
                [
                    (self._statements["vocabulary_by_key"], (json.dumps(sorted(keys)),)),
                    (self._statements["ask"], (cut(question)[0],)),
                ]
            )
            return sources_by_key(sources)

        asked, unknown_characters = self._ask(question, find)
        answer = self._without_results(question, asked, unknown_characters)
        if answer.reason:
            return answer
        if rows is None:
            rows = self._execute("ask", asked.raw)
        answer.relaxed = bool(rows and rows[0][3])
        if answer.relaxed and not relax:
            rows, answer.relaxed = [], False
        found = [id for id, *_ in rows]
        answer.total, answer.total_relation = len(found), "gte" if len(found) == PAGE else "eq"
        if not rows and not asked.expansions:
            answer.reason = "no_words"
            answer.notes.append(self.say("no_words"))
            return answer
        if rows and not answer.relaxed:
            answer.results = self._results(asked, found, self._execute("rows_by_ids", json.dumps(found)))
        else:
            self._fill_nearest(answer, asked, found)
        answer.results = answer.results[page]
        return answer

    def _fill_nearest(self, answer: SearchResult, asked: Asked, found: list[str]) -> None:
        """Give the relaxed answer: its documents, and which terms they and the catalogue lack."""
        matches = json.dumps([match_string([one]) for one in asked.expansions])
        held, rows = self.batch(
            [
                (self._statements["terms_held"], (matches, json.dumps(found))),
                (self._statements["rows_by_ids"], (json.dumps(found),)),
            ]
        )
        holds = {(int(term), id) for term, id in held}
        answer.results = self._results(asked, found, rows)
        for result in answer.results:
            result.tier = result.kind = None
            missing = [one for place, one in enumerate(asked.expansions) if (place, result.id) not in holds]
            result.missing = [one.term for one in missing]
            if result is answer.results[0]:
                answer.dropped = result.missing
                key = "relaxed" if missing else "relaxed_all"
                answer.notes.append(self.say(key, dropped=self._named(missing)))
        if not answer.results:
            answer.reason = "no_match"
            answer.notes.append(self.say("no_match", question=shortened(asked.raw.strip())))
        unknown = [one for place, one in enumerate(asked.expansions) if (place, "") not in holds]
        if unknown:
            answer.notes.append(self.say("unknown_words", words=self._named(unknown)))

    def _results(self, asked: Asked, ids: list[str], found: Iterable[Any]) -> list[Result]:
        rows = [Row(*row) for row in found]
        if [row.id for row in rows] != ids:
            raise self._changed()
        texts: dict[int, tuple[str, list[str], str]] = {}

        def text_of(rowid: int) -> tuple[str, list[str], str]:
            if not texts:  # of the whole page, in one call
                rowids = json.dumps([row.rowid for row in rows])
                for found, text, keywords, text_lc in self._execute("texts_by_rowids", rowids):
                    texts[found] = text, json.loads(keywords), text_lc
                self._folding(" ".join(part for text, keywords, _ in texts.values() for part in (text, *keywords)))
            if rowid not in texts:
                raise self._changed()
            return texts[rowid]

        return [Result(row, *rank(row, asked), asked.expansions, text_of, self._folding) for row in rows]

    def _changed(self) -> DatabaseError:
        return DatabaseError(
            "a document of the answer is gone: the database was changed meanwhile; ask again", path=self._database.name
        )

    def _folding_rows(self, keys: Iterable[str]) -> dict[str, str]:
        """Return rows of the folding table; each key is asked for once."""
        keys = set(keys)
        new = keys - self._looked_up
        if new:
            self._folded.update(super()._folding_rows(new))
            self._looked_up |= new
        return {key: self._folded[key] for key in keys if key in self._folded}

    def _nearest_ids(self, id: str) -> list[str]:
        found = self._execute("nearest_ids", id, fold(id, self._folding(id)[0]))
        return [one for (one,) in found][:SUGGESTIONS]

    def _execute(self, name: str, *parameters: str) -> list[Any]:
        return self._database.connection().execute(self._statements[name], parameters).fetchall()

    def batch(self, statements: Sequence[tuple[str, Sequence[str]]], shape: str = "") -> list[Rows]:
        """Run statements in one call and return the rows of each; see `RemoteDatabase.batch`."""
        return self._remote.batch(statements, shape).rows

    def folding_of(self, text: str) -> tuple[Folding, list[str]]:
        """Return the rows of the folding table that a text needs, and the letters it has no row for."""
        return self._folding(text)
