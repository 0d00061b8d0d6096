"""A catalogue: a question → a SearchResult, an id → a Document.

with Catalog.open("oecd.db") as catalog:
    answer = catalog.search("labor force")
    for result in answer.results:
        print(result.id, result.title, result.url)
    document = catalog.fetch(answer.results[0].id)
"""

from __future__ import annotations

import json
import os
import sqlite3
from importlib import import_module
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Self

from catalog_search.database import Database, Statements
from catalog_search.document import Document
from catalog_search.errors import BoundReached, DocumentNotFound, QueryError, echo, nearest
from catalog_search.expansion import (
    Asked,
    Expansion,
    Source,
    cut_notes,
    expand,
    listing,
    translations,
)
from catalog_search.language import Language, Rule
from catalog_search.query import Query, compile_statement, match_string
from catalog_search.ranking import COUNTED, Planner, Strict, Where
from catalog_search.relaxing import KEPT, Relaxed, lack
from catalog_search.result import Match, Result, SearchResult, Term, matched_in
from catalog_search.text import Folding, fold, is_letter
from catalog_search.text import cut as cut_question

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from catalog_search.expansion import Find

LONGEST_PAGE = 1_000
FARTHEST = 1_000_000
"""The largest offset."""
LONGEST_ID = 100
"""Characters of an unknown id that are compared and shown."""
SUGGESTIONS = 5
NAMED, LONGEST_SHOWN = 8, 60
"""So many terms are named in a note, and so many characters of each."""
SUGGESTED_LEAST = 0.35
"""The least likeness of a word that is suggested: below, it shares but an ending."""


class Catalog:
    """A catalogue's database, open for reading; safe to share between threads.

    Use `Catalog.open`. As a context manager it closes itself.

    >>> from catalog_search import build
    >>> settings = {"name": "jobs", "language": "en", "documents": {"id": "{id}", "title": "{title}"}}
    >>> report = build(settings, ":memory:", records=[{"id": "1", "title": "Labour force by sex"}])
    >>> with report.catalog as catalog:
    ...     catalog.search("labour").results[0].title
    'Labour force by sex'
    """

    def __init__(self, database: Database) -> None:
        self._database = self.database = database
        self.info: Mapping[str, str] = database.catalog
        """What the catalogue is: name, title, language, publisher, licence, revision, … all text."""
        carried = database.carried()
        self._statements = Statements(carried.statements)
        self._language = Language(
            tag=self.info["language"],
            name=self.info["language"],
            stop_words=frozenset(word for (word,) in carried.stop_words),
            rules=tuple(Rule(*row) for row in carried.rules),
            messages=dict(carried.messages),
        )
        with database.errors():
            self.facets: list[str] = json.loads(self.info["facets"])
            """The names that `where` and `facets` take."""
        self._longest = int(self.info["longest_asked"])
        self._figures = {name: float(self.info[name]) for name in ("documents", "title_words", "body_words")}

    @classmethod
    def open(cls, path: str | os.PathLike[str] | bytes) -> Self:
        """Open a database made by `build`.

        Args:
            path: the file, or the bytes of a database.

        Raises:
            DatabaseError: there is no such file, it is no catalogue, or of another format version.
        """
        return cls(Database(path))

    @staticmethod
    def connect(address: str, *, token: str | None = None, base_url: str | None = None, seconds: float = 30) -> Catalog:
        """Connect to a catalogue in Cloudflare D1, over Cloudflare's HTTP API.

        Its searches give the first ten documents at most, without facets, counts and explanations. The API takes some
        four calls a second, and a search two: it suits the command line and programs of one user; `export worker`
        makes what serves many.

        Args:
            address: `d1://ACCOUNT/DATABASE`, the ids of both.
            token: a token with the permission D1 Read; that of the environment's CLOUDFLARE_API_TOKEN by default.
            base_url: of the API; the environment's CLOUDFLARE_API_BASE_URL or Cloudflare's by default.
            seconds: how long one call may take.

        Raises:
            DatabaseError: D1 cannot be reached or refuses, the database is no catalogue, or of another format version.
        """
        # A layer above this one: it is a Catalog too.
        remote = import_module("catalog_search.remote")
        found: Catalog = remote.connect(address, token=token, base_url=base_url, seconds=seconds)
        return found

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def prepare(self) -> None:
        """Open the calling thread's connection, if it has none yet, and start the clock of its questions.

        Raises:
            DatabaseError: the file cannot be opened.
        """
        with self._database.errors():
            self._database.connection()
            self._database.start_clock()

    def close(self) -> None:
        """Close the database, for every thread."""
        self._database.close()

    def describe(self) -> dict[str, Any]:
        """Return what the catalogue is and how large: what `info --json` prints."""
        numbers = {"documents": "documents", "words": "words", "vocabulary_entries": "vocabulary"}
        with self._database.errors():
            execute = self._database.connection().execute
            counts = {name: execute(f"SELECT count(*) FROM {table}").fetchone()[0] for name, table in numbers.items()}
            (size,) = execute("SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()").fetchone()
        return self._description(counts, size)

    def _description(self, counts: Mapping[str, int], size: int) -> dict[str, Any]:
        told = ("name", "title", "language", "publisher", "licence", "source_url", "revision", "retrieved_at")
        return {
            **{name: self.info[name] for name in told},
            **counts,
            "facets": self.facets,
            "bytes": size,
            **{name: self.info[name] for name in ("format_version", "content_hash", "licence_notes")},
        }

    def translations(self, examples: int = 5) -> tuple[int, list[dict[str, str]]]:
        """Return how many words and phrases the vocabulary translates, and some of them.

        Args:
            examples: how many; those that bring the most documents come first.

        Returns:
            The count, and mappings of `asked` and `source`, as the vocabulary writes them.
        """
        used = "FROM vocabulary WHERE source_documents > 0 AND verdict = 'ok'"
        with self._database.errors():
            execute = self._database.connection().execute
            (count,) = execute(f"SELECT count(DISTINCT asked) {used}").fetchone()
            # A word that the source itself never uses shows most.
            first = execute(
                f"SELECT asked, json_group_array(source) FROM (SELECT * {used} ORDER BY rowid) GROUP BY asked "
                "ORDER BY max(asked_documents) > 0, max(gain) DESC, min(line), asked LIMIT ?",
                (examples,),
            )
            return count, [{"asked": asked, "source": ", ".join(json.loads(sources))} for asked, sources in first]

    def say(self, key: str, **values: object) -> str:
        """Return a message in the catalogue's language."""
        return self._language.say(key, **values)

    # Search -----------------------------------------------------------------------------------------------

    def search(
        self,
        question: str,
        *,
        limit: int = 10,
        offset: int = 0,
        where: Mapping[str, str | Sequence[str]] | None = None,
        path_prefix: str = "",
        facets: Iterable[str] = (),
        count: bool = False,
        relax: bool = True,
        explain: bool = False,
    ) -> SearchResult:
        """Answer a question.

        Args:
            question: any text; it has no operators.
            limit: how many results, 1 to 1,000.
            offset: how many to leave out before them.
            where: facet → the value it must have, or several of which it must have one; compared by normal form.
            path_prefix: only documents of files whose path begins so, as it is written.
            facets: facets to count the values of, over the whole answer.
            count: count the answer exactly, to 10,000; otherwise `total` is what was seen on the way.
            relax: give the nearest documents when none satisfies every term.
            explain: give each result its `explanation`.

        Raises:
            QueryError: a facet that the catalogue does not have, or a limit or offset out of range.
            BoundReached: the database was opened with limits, and the question needs more.
            DatabaseError: the database cannot be read. Never an empty result.
        """
        if not 1 <= limit <= LONGEST_PAGE:
            raise QueryError(f"limit is {limit}; it must be 1 to {LONGEST_PAGE}")
        if not 0 <= offset <= FARTHEST:
            raise QueryError(f"offset is {offset}; it must be 0 to {FARTHEST:,}")
        if not isinstance(question, str):
            raise QueryError(f"the question must be text, not {type(question).__name__}")
        facets = self._known_facets([facets] if isinstance(facets, str) else facets)
        condition = self._where(where or {}, path_prefix)
        try:
            return self._search(question, limit, offset, condition, facets, count, relax, explain)
        except (sqlite3.Error, UnicodeDecodeError) as problem:
            raise self._database.error(problem) from problem

    def _search(
        self, question: str, limit: int, offset: int, where: Where, facets: list[str],
        count: bool, relax: bool, explain: bool,
    ) -> SearchResult:  # fmt: skip
        connection = self._database.connection()
        asked, unknown_characters = self._ask(question)
        self._check_limits(asked)
        planner = Planner(connection, self._statements, asked, where)
        answer = self._without_results(question, asked, unknown_characters)
        if answer.reason:
            return answer
        strict = planner.first(offset + limit)
        if strict.total:
            self._fill_strict(answer, strict, planner, asked, offset, count, explain)
            for facet in facets:
                answer.facets[facet] = self._facet_counts(facet, asked, where)
            return answer
        if not asked.expansions:
            answer.reason = "no_words"
            answer.notes.append(self.say("no_words"))
            return answer
        relaxed = Relaxed(connection, self._statements, self._language, self._figures)
        unknown = self._unknown(asked)
        answer.suggestions = self._suggestions(unknown, relaxed)
        if relax:
            allowed = self._allowed(where) if where.sql else None
            self._fill_relaxed(answer, relaxed, allowed, asked, offset, limit, explain)
        if not answer.relaxed:
            answer.reason = "no_match"
            answer.notes.append(self.say("no_match", question=shortened(asked.raw.strip())))
        if unknown:
            words = self._named(unknown)
            answer.notes.append(self.say("unknown_words", words=words))
        if answer.suggestions:
            answer.notes.append(self.say("suggestions", words=", ".join(answer.suggestions)))
        return answer

    def _check_limits(self, asked: Asked) -> None:
        limits = self._database.limits
        if limits.terms and len(asked.expansions) > limits.terms:
            raise BoundReached(
                f"the question has {len(asked.expansions)} terms; {limits.terms} may be asked for at once"
            ).also("too_many_terms", found=len(asked.expansions), most=limits.terms)
        patterns = sum(len(one.all_patterns) for one in asked.expansions)
        if limits.patterns and patterns > limits.patterns:
            raise BoundReached(
                f"the question is searched by {patterns:,} words and phrases, its own and those of the vocabulary; "
                f"{limits.patterns:,} may be asked for at once, so ask with fewer words"
            ).also("too_many_patterns", found=patterns, most=limits.patterns)

    def _without_results(self, question: str, asked: Asked, unknown_characters: Sequence[str]) -> SearchResult:
        """Return an answer with what the question itself says; with its reason, if that is all there is to say."""
        answer = SearchResult(
            query=question,
            ignored=list(asked.ignored),
            terms=[Term(one.term, one.listed(), one.translated) for one in asked.expansions],
            notes=[
                *cut_notes(asked, self._language),
                *translations(asked.expansions, self._language, self.info["source_name"]),
            ],
        )
        if unknown_characters:
            answer.notes.append(self.say("unknown_characters", characters=" ".join(unknown_characters)))
        if not asked.raw.strip():
            answer.reason = "empty_query"
            answer.notes.append(self.say("empty_query"))
            return answer
        return answer

    def _ask(self, question: str, find: Find | None = None) -> tuple[Asked, list[str]]:
        """Expand a question; return also the letters that the folding table does not have."""
        folding, unknown = self._folding(cut_question(question)[0])
        asked = expand(question, self._language, folding, find or self._find, self._longest)
        for letter in unknown:
            expansions = [one._replace(asked=one.asked.replace(_stand_in(letter), letter)) for one in asked.expansions]
            asked = asked._replace(expansions=tuple(expansions))
        return asked, unknown

    def _folding(self, text: str) -> tuple[Folding, list[str]]:
        """Return the rows of the folding table that a text needs, and the letters it has no row for."""
        if text.isascii():
            return _ASCII, []
        singles = {character for character in text if not character.isascii()}
        pairs = {first + second for first, second in pairwise(text) if second in singles}
        keys = [key for key in sorted(singles | pairs) if not "\ud800" <= key[0] <= "\udfff"]
        rows = self._folding_rows(keys)
        unknown = sorted(one for one in singles if one not in rows and is_letter(one))
        # A letter that no document has is a word that no document has: it may not be left out of the AND.
        rows |= {one: f" {_stand_in(one)} " for one in unknown}
        return Folding({**_ASCII_ROWS, **rows}), unknown

    def _folding_rows(self, keys: Iterable[str]) -> dict[str, str]:
        with self._database.errors():
            statement = self._statements["folding_by_key"]
            return dict(self._database.connection().execute(statement, (json.dumps(list(keys)),)))

    def _find(self, keys: Iterable[str]) -> Mapping[str, Sequence[Source]]:
        statement = self._statements["vocabulary_by_key"]
        return sources_by_key(self._database.connection().execute(statement, (json.dumps(sorted(keys)),)))

    def _fill_strict(
        self, answer: SearchResult, strict: Strict, planner: Planner, asked: Asked,
        offset: int, count: bool, explain: bool,
    ) -> None:  # fmt: skip
        answer.total, exact = strict.total, strict.exact
        if count and not exact:
            answer.total, exact = planner.count(COUNTED)
        answer.total_relation = "eq" if exact else "gte"
        for one in strict.ranked[offset:]:
            result = Result(one.row, one.tier, one.kind, asked.expansions, self._text_of, self._folding)
            if explain:
                result.explanation = self._explanation(asked.expansions, result.matched, one.tier)
            answer.results.append(result)

    def _fill_relaxed(
        self, answer: SearchResult, relaxed: Relaxed, allowed: set[int] | None, asked: Asked,
        offset: int, limit: int, explain: bool,
    ) -> None:  # fmt: skip
        found, total, units = relaxed.best(asked, allowed, need=min(KEPT, offset + limit))
        if not found:
            return
        answer.relaxed = True
        answer.total, answer.total_relation = total, "gte" if total == KEPT else "eq"
        first = lack(asked, units, found[0]).missing
        answer.dropped = [one.term for one in first]
        if first:
            words = self._named(first)
            answer.notes.append(self.say("relaxed", dropped=words))
        else:
            answer.notes.append(self.say("relaxed_all"))
        stand_ins: dict[str, dict[str, None]] = {}
        for one in found[offset:]:
            missing, result_stand_ins = lack(asked, units, one)
            result = Result(one.row, None, None, asked.expansions, self._text_of, self._folding)
            result.missing = [term.term for term in missing]
            result.stand_ins = result_stand_ins
            if explain:
                result.explanation = self._explanation(asked.expansions, result.matched, None, missing)
            answer.results.append(result)
            for word, others in result_stand_ins.items():
                stand_ins.setdefault(word, {}).update(dict.fromkeys(others))
        typed = {one.term: one.asked for one in asked.expansions}
        for word, words_near in stand_ins.items():
            shown = ", ".join(list(words_near)[:SUGGESTIONS])
            answer.notes.append(self.say("stand_in", asked=shortened(typed.get(word, word)), words=shown))

    def _named(self, expansions: Sequence[Expansion]) -> str:
        """Return terms as a sentence names them: as they were typed, the first of many."""
        names = [f"“{shortened(one.asked)}”" for one in expansions[:NAMED]]
        return listing([*names, "…"] if len(expansions) > NAMED else names, self.say("list_and"))

    def _text_of(self, rowid: int) -> tuple[str, list[str], str]:
        """Return text, keywords and the normal form of the text of a document."""
        with self._database.errors():
            text, keywords, text_lc = (
                self._database.connection().execute(self._statements["text_by_rowid"], (rowid,)).fetchone()
            )
            return text, json.loads(keywords), text_lc

    # What was not found -----------------------------------------------------------------------------------

    def _unknown(self, asked: Asked) -> list[Expansion]:
        """Return the terms of which no pattern occurs in the catalogue."""
        begun, count = self._statements["words_by_start"], self._statements["count_by_match"]
        execute = self._database.connection().execute

        def occurs(one: Expansion) -> bool:
            # A look-up in the words is cheaper, but does not know ids, phrases and numbers.
            for pattern in one.patterns:
                text = pattern.text
                plain = " " not in text and not pattern.whole and not pattern.number
                if plain and execute(begun, (text, text + "{", 1)).fetchone():
                    return True
            return bool(execute(count, (match_string([one]), 1)).fetchone()[0])

        return [one for one in asked.expansions if not occurs(one)]

    def _suggestions(self, unknown: Sequence[Expansion], relaxed: Relaxed) -> list[str]:
        words = dict.fromkeys(word for one in unknown for word in one.term.split(" ") if len(word) > 1)
        near = [
            [other for other, _, likeness in relaxed.nearest(word) if likeness >= SUGGESTED_LEAST] for word in words
        ]
        found = dict.fromkeys(ones[place] for place in range(SUGGESTIONS) for ones in near if place < len(ones))
        return list(found)[:SUGGESTIONS]

    # Facets -----------------------------------------------------------------------------------------------

    def _known_facets(self, names: Iterable[str]) -> list[str]:
        names = list(names)
        for name in names:
            if name not in self.facets:
                known = nearest(name, self.facets) or " The catalogue has none."
                raise QueryError(f'there is no facet "{echo(name)}".{known}', path=self._database.name)
        return names

    def _where(self, where: Mapping[str, str | Sequence[str]], path_prefix: str = "") -> Where:
        self._known_facets(where)
        sql = ""
        parameters: list[str] = []
        for name, value in where.items():
            values = [value] if isinstance(value, str) else list(value)
            folded = json.dumps([fold(one, self._folding(one)[0]) for one in values])
            place = len(parameters) + 3  # ?1 and ?2 are the statement's own
            sql += (
                f" AND EXISTS (SELECT 1 FROM json_each(d.facets_lc, ?{place}) AS j"
                f" WHERE j.value IN (SELECT value FROM json_each(?{place + 1})))"
            )
            parameters += [_json_path(name), folded]
        if path_prefix:
            place = len(parameters) + 3
            sql += f" AND substr(d.path, 1, length(?{place})) = ?{place}"
            parameters.append(_shown(path_prefix))
        return Where(sql, tuple(parameters))

    def _allowed(self, where: Where) -> set[int]:
        sql = f"SELECT d.rowid FROM documents AS d WHERE ?1 IS ?2{where.sql}"
        return {rowid for (rowid,) in self._database.connection().execute(sql, (None, None, *where.parameters))}

    def _facet_counts(self, facet: str, asked: Asked, where: Where) -> dict[str, int]:
        sql = self._statements["facet_counts"]
        parameters: list[Any] = [match_string(asked.expansions), asked.raw.strip()]
        if where.sql:
            sql = sql.replace("\nGROUP BY", f"{where.sql}\nGROUP BY")
        place = len(parameters) + len(where.parameters) + 1
        sql = sql.replace("?3) AS j\n", f"?{place}) AS j\n")
        found = self._database.connection().execute(sql, (*parameters, *where.parameters, _json_path(facet)))
        return {str(value): number for value, number in found}

    # Why --------------------------------------------------------------------------------------------------

    def explain(self, question: str, id: str, where: Mapping[str, str | Sequence[str]] | None = None) -> list[str]:
        """Say why a document is among the results of a question, or is not: one sentence a reason.

        Raises:
            DocumentNotFound: no document has that id.
        """
        condition = self._where(where or {})
        self.fetch(id)
        with self._database.errors():
            connection = self._database.connection()
            asked, _ = self._ask(question)
            rowid, _, _, _, id_lc, title_lc, keywords_lc = connection.execute(
                self._statements["rows_by_id"], (id, "")
            ).fetchone()
            _, _, text_lc = self._text_of(rowid)
            fields = {"id": id_lc, "title": title_lc, "keywords": keywords_lc, "text": text_lc}
            matched = matched_in(fields, asked.expansions)
            missing = [one for place, one in enumerate(asked.expansions) if not _held(place, one, matched)]
            said = []
            if where and rowid not in self._allowed(condition):
                for name, value in where.items():
                    wanted = value if isinstance(value, str) else ", ".join(value)
                    said.append(self.say("explain_filtered", id=id, field=name, value=wanted))
            elif not missing:
                planner = Planner(connection, self._statements, asked, condition)
                places = [one.row.rowid for one in planner.first(COUNTED).ranked]
                if rowid in places:
                    said.append(self.say("explain_position", id=id, position=places.index(rowid) + 1))
                elif not asked.expansions:
                    said.append(self.say("explain_not_listed", id=id))
                    said.append(self.say("no_words" if asked.raw.strip() else "empty_query"))
            else:
                place = self._relaxed_place(rowid, asked, condition)
                key = "explain_position" if place else "explain_not_listed"
                said.append(self.say(key, id=id, position=place))
            return said + self._explanation(asked.expansions, matched, None, missing)

    def _relaxed_place(self, rowid: int, asked: Asked, condition: Where) -> int:
        """Return the place of a document in the relaxed answer, from 1; 0 if it is not in it or there is none."""
        connection = self._database.connection()
        if Planner(connection, self._statements, asked, condition).first(1).total:
            return 0
        relaxed = Relaxed(connection, self._statements, self._language, self._figures)
        near = relaxed.best(asked, self._allowed(condition) if condition.sql else None)
        return next((place for place, one in enumerate(near.documents, 1) if one.row.rowid == rowid), 0)

    def _explanation(
        self,
        expansions: Sequence[Expansion],
        matched: Mapping[str, Sequence[Match]],
        tier: int | None,
        missing: Sequence[Expansion] = (),
    ) -> list[str]:
        said = [] if tier is None else [self.say("explain_tier", tier=self.say(f"tier_{tier}"))]
        for place, one in enumerate(expansions):
            for field, matches in matched.items():
                for match in matches:
                    if match.term == place:
                        said.append(
                            self.say(
                                "explain_held",
                                term=one.asked,
                                pattern=match.pattern,
                                kind=self.say(f"kind_{match.kind}"),
                                field=self.say(f"field_{field}"),
                            )
                        )
            if one in missing:
                patterns = listing([f"“{text}”" for text in one.listed()], self.say("list_or"))
                said.append(self.say("explain_missing", term=one.asked, patterns=patterns))
        return said

    def statement(self, question: str, dialect: str = "glob") -> Query:
        """Return the SQL, with its parameters, that gives the whole strict answer to a question in order.

        Raises:
            QueryError: there is no such dialect.
        """
        with self._database.errors():
            return compile_statement(self._ask(question)[0], dialect)

    def ask_statement(self, *, named: bool = False) -> str:
        """Return the whole search as one statement, whose only parameter is the question.

        Args:
            named: whether the parameter is `:question`, as Datasette wants it, and not `?1`.

        Returns:
            A SELECT of id, title, url, relaxed, translated: the first ten documents.
        """
        sql = self._statements["ask"]
        return sql.replace("?1", ":question") if named else sql

    def ids_by_statement(self, question: str, dialect: str, limit: int) -> list[tuple[str]]:
        """Run `statement` and return the first ids."""
        query = self.statement(question, dialect)
        with self._database.errors():
            rows = self._database.connection().execute(
                f"SELECT id FROM ({query.sql} LIMIT {int(limit)})", query.parameters
            )
            return rows.fetchall()

    # Fetch ------------------------------------------------------------------------------------------------

    def fetch(self, id: str) -> Document:
        """Return a document, whole.

        Raises:
            DocumentNotFound: no document has that id; the nearest ids are named.
            DatabaseError: the database cannot be read.
        """
        with self._database.errors():
            row = None
            if _storable(id):
                row = self._database.connection().execute(self._statements["document_by_id"], (id,)).fetchone()
            if row is None:
                raise self.not_found(id, self._nearest_ids(_shown(id)))
            return Document.of(row[1:], self.info, self._language)

    def has(self, id: str) -> bool:
        """Tell whether a document has that id; its text is not read."""
        if not _storable(id):
            return False
        with self._database.errors():
            row = self._database.connection().execute("SELECT 1 FROM documents WHERE id = ?", (id,)).fetchone()
        return row is not None

    def id_by_url(self, url: str) -> str | None:
        """Return the id of the document that has a url, None if there is none, or more than one."""
        with self._database.errors():
            execute = self._database.connection().execute
            found = execute("SELECT id FROM documents WHERE url = ? LIMIT 2", (_shown(url),)).fetchall()
        return found[0][0] if len(found) == 1 else None

    def has_path(self, prefix: str) -> bool:
        """Tell whether a document is of a file whose path begins so."""
        with self.database.errors():
            row = self.database.connection().execute(
                "SELECT 1 FROM documents WHERE substr(path, 1, length(?1)) = ?1 LIMIT 1", (_shown(prefix),)
            )
            return row.fetchone() is not None

    def not_found(self, id: str, nearest: Sequence[str] = ()) -> DocumentNotFound:
        """Return the error of an id that no document has, in the catalogue's language, with ids to try instead."""
        shown = _shown(id)
        said = self.say("not_found", id=shown if len(shown) <= LONGEST_ID else f"{shown[:LONGEST_ID]}…")
        if nearest:
            said += " " + self.say("nearest_ids", ids=", ".join(nearest))
        return DocumentNotFound(said, id=id, nearest=tuple(nearest))

    def _nearest_ids(self, id: str) -> list[str]:
        from difflib import SequenceMatcher  # only a wrong id needs it

        execute = self._database.connection().execute
        same = [found for (found,) in execute(self._statements["ids_by_id_lc"], (fold(id, self._folding(id)[0]),))]
        found: dict[str, None] = dict.fromkeys(same)
        start = id.strip()[:LONGEST_ID]
        asked = start.lower()
        while start and len(found) < SUGGESTIONS:
            for form in dict.fromkeys((start, start.upper(), start.lower())):
                rows = execute(self._statements["ids_by_start"], (form, form + "\U0010ffff"))
                ratios = (
                    (SequenceMatcher(None, asked, other[:LONGEST_ID].lower()).ratio(), other) for (other,) in rows
                )
                near = sorted(ratios, reverse=True)
                found.update(dict.fromkeys(other for ratio, other in near[:SUGGESTIONS] if ratio >= 0.5))
            start = start[:-1]
        return list(found)[:SUGGESTIONS]


_ASCII_ROWS = {chr(code): Folding({}).signs(chr(code)) for code in range(128)}
_ASCII = Folding({})


def _shown(id: str) -> str:
    """Return an id that any database and any stream takes."""
    return id.encode("utf-8", "replace").decode()


def _storable(id: str) -> bool:
    return _shown(id) == id  # a lone surrogate is in no id


def _stand_in(letter: str) -> str:
    """Return a word that stands for a letter the folding table does not have."""
    return f"u{ord(letter):x}"


def sources_by_key(rows: Iterable[tuple[str, str, str]]) -> dict[str, list[Source]]:
    """Return what rows of the statement `vocabulary_by_key` say for each key."""
    found: dict[str, list[Source]] = {}
    for key, pattern, written in rows:
        found.setdefault(key, []).append(Source(pattern, written))
    return found


def shortened(text: str) -> str:
    """Return text as a note shows it."""
    return text if len(text) <= LONGEST_SHOWN else f"{text[: LONGEST_SHOWN - 1]}…"


def _json_path(name: str) -> str:
    return f'$."{name}"'


def _held(place: int, one: Expansion, matched: Mapping[str, Sequence[Match]]) -> bool:
    found = {match.pattern for matches in matched.values() for match in matches if match.term == place}
    if one.words and all(any(pattern.text in found for pattern in word) for word in one.words):
        return True
    return any(pattern.text in found for pattern in one.patterns)
