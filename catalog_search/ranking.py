"""Matches → the strict order: (tier, class, rowid), integers only.

    tier 0  the id is the question            class 0  every term by its own word
         1  the title is the question               1  a singular or a joined form was needed
         2  the question is a phrase of the title   2  the vocabulary was needed
         3  all terms are whole words of the title
         4  all terms start words of the title
         5  title and keywords                rowid    the document's static rank
         6  all fields

The least class that reaches the best tier counts. Nothing else decides, so the best can be had without
looking at the rest: the index yields rowids in order, and a walk from the best tier and class to the last
stops when enough rows are in hand.
"""

from __future__ import annotations

import json
from string import ascii_lowercase
from typing import TYPE_CHECKING, NamedTuple

from catalog_search.expansion import CLASS, Asked, Expansion, Pattern
from catalog_search.query import COLUMNS, classes, is_id, match_string, needed, within

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Mapping, Sequence

BROAD = 1_000
"""A word start that occurs in more documents is broad; the table `prefixes` bounds it."""

RATIO = 20
"""A term with more than so many times the rarest term's documents is tested on the row, not in the index: a
row costs as much as some twenty entries of the index."""

PREFIXED = 4
"""The index has lists for word starts of up to so many letters; for longer ones it merges those of their words."""

BEGUN = 24
"""A longer start that begins no more words than this is searched as those words, which takes no merging."""

SEEN = 100
"""A broad question is first tried with so many rows; if there are no more, they are all there is."""

FEW = 30
"""A question of one term that has hardly more documents is first tried with so many rows."""

LETTERS_OF_IDS = 6
"""So many of the letters that the words of ids begin with are kept."""

COUNTED = 10_000
"""An exact count is not carried further."""

_LEVELS = ((3, ("title",), True), (4, ("title",), False), (5, ("title", "keywords"), False))


class Row(NamedTuple):
    """What the order needs of a document."""

    rowid: int
    id: str
    title: str
    url: str
    id_lc: str
    title_lc: str
    keywords_lc: str


class Ranked(NamedTuple):
    """A document in the strict answer."""

    tier: int
    kind: int
    row: Row


class Strict(NamedTuple):
    """The first of a strict answer."""

    ranked: list[Ranked]
    total: int
    exact: bool
    """Whether `total` is the number of all matches; otherwise there are at least so many."""


class Where(NamedTuple):
    """A condition on facets: SQL over the table alias `d`, and its parameters from ?3 on."""

    sql: str = ""
    parameters: tuple[str, ...] = ()


NO_CONDITION = Where()


class Planner:
    """Finds the first documents of a strict answer.

    Args:
        connection: to the catalogue's database.
        statements: its statements by name.
        asked: the question, expanded.
        where: a further condition.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        statements: Mapping[str, str],
        asked: Asked,
        where: Where = NO_CONDITION,
    ) -> None:
        self._execute = connection.execute
        self._statements = statements
        self._asked = asked
        self._where = where
        self._classes = classes(asked.expansions)
        self._begun: dict[str, tuple[str, ...]] = {}

    def first(self, need: int) -> Strict:
        """Return the first `need` documents in order, and how many there are as far as it was seen."""
        by_id = self._rows("rows_by_id", self._asked.raw.strip(), self._asked.text, limited=False)
        if not self._asked.expansions:
            return Strict([Ranked(0, 0, row) for row in by_id[:need]], len(by_id), True)
        sizes = self._sizes()
        several = len(sizes) > 1 or bool(self._asked.expansions[0].words)
        broad = not several and sizes[0] > BROAD * len(self._asked.expansions[0].patterns)
        seen = max(SEEN if several else FEW, need)
        total = 0
        if several or sizes[0] <= 2 * seen:
            few = self._if_few(sizes, seen, unlimited=several)
            if isinstance(few, list):
                found = {row.rowid: row for row in (*by_id, *few)}
                return Strict(self._ranked(found.values())[:need], len(found), True)
            total = len(few.union(row.rowid for row in by_id)) if few else 0
        walked = self._walk(by_id, need)
        if len(walked) < need or total:
            return Strict(walked, total or len(walked), True)
        if several or broad:
            return Strict(walked, max(len(walked), seen if several else 0), False)
        return Strict(walked, max(len(walked), self._count()), True)

    def count(self, limit: int = COUNTED) -> tuple[int, bool]:
        """Count the strict answer up to a limit: the count, and whether it is exact."""
        if not self._asked.expansions:
            strict = self.first(limit)
            return strict.total, True
        inside, outside = self._parted(sizes := self._sizes())
        rowids = self._rowids(inside, -1 if min(sizes) <= BROAD else limit + 1, outside)
        if len(rowids) > limit:
            return limit, False
        by_id = self._rows("rows_by_id", self._asked.raw.strip(), self._asked.text, limited=False)
        return len({*rowids, *(row.rowid for row in by_id)}), True

    # The whole match set, if it is small ------------------------------------------------------------------

    def _if_few(self, sizes: list[int], seen: int, *, unlimited: bool) -> list[Row] | set[int] | None:
        """Return all matches if there are no more than `seen`, or if the rarest term is rare.

        Those of a rare term that are more than `seen`, as their rowids; None if there are others.
        """
        inside, outside = self._parted(sizes)
        limit = -1 if unlimited and min(sizes) <= BROAD else seen + 1
        if outside or min(sizes) <= seen:
            rows = self._match(inside, COLUMNS, limit, check=outside)
            return None if len(rows) == limit else rows
        # A row takes ten times as long as its number, and the walk reads but the best.
        rowids = self._rowids(inside, limit)
        if len(rowids) > seen:
            return None if len(rowids) == limit else set(rowids)
        found = self._execute(self._statements["rows_by_rowid"], (json.dumps(rowids),))
        return [Row(*row[:-1]) for row in found]

    def _parted(self, sizes: list[int]) -> tuple[list[Expansion], list[Expansion]]:
        """Return the terms to look for in the index, and those to test on the rows that it finds."""
        most = RATIO * min(sizes)
        sized = list(zip(self._asked.expansions, sizes, strict=True))
        return [one for one, size in sized if size <= most], [one for one, size in sized if size > most]

    def _sizes(self) -> list[int]:
        """Return an upper bound of the documents of each term, and find what words its patterns begin."""
        # One look-up a word: it costs a tenth of one for a list.
        broad, execute = self._statements["broad_prefix"], self._execute

        def bound(word: str) -> int:
            found = execute(broad, (word,)).fetchone()
            return found[0] if found else BROAD

        def one(pattern: Pattern) -> int:
            text = pattern.text
            if len(text) > 2 and " " not in text and not pattern.number:
                words = execute(self._statements["words_by_start"], (text, text + "{", BEGUN + 1)).fetchall()
                if len(words) <= BEGUN and not self._begins_an_id(text):
                    if len(text) > PREFIXED:
                        self._begun[text] = tuple(word for word, _ in words)
                    return sum(documents for _, documents in words)
            return min(map(bound, text.split(" ")))

        def size(patterns: Sequence[Pattern]) -> int:
            return sum(map(one, needed(patterns)))

        return [(min(map(size, one.words)) if one.words else 0) + size(one.patterns) for one in self._asked.expansions]

    def _begins_an_id(self, text: str) -> bool:
        """Tell whether a word of an id may begin so."""
        start = text[: len(text) - len(text.lstrip(ascii_lowercase))][:LETTERS_OF_IDS]
        # What begins with a text that is all letters has at least those; with another one, exactly its first letters.
        after = "{" if start == text and len(text) < LETTERS_OF_IDS else " "
        return self._execute(self._statements["id_start"], (start, start + after)).fetchone() is not None

    def _ranked(self, rows: Iterable[Row]) -> list[Ranked]:
        ranked = [Ranked(*rank(row, self._asked), row) for row in rows]
        last = [one.row.rowid for one in ranked if one.tier == 6]
        if last and len(self._classes) > 1:
            kinds = self._last_kinds(last)
            ranked = [one._replace(kind=kinds[one.row.rowid]) if one.tier == 6 else one for one in ranked]
        ranked.sort(key=lambda one: (one.tier, one.kind, one.row.rowid))
        return ranked

    def _last_kinds(self, rowids: list[int]) -> dict[int, int]:
        """Return the class of documents of the last tier: by the index, since it would take their texts."""
        kinds = dict.fromkeys(rowids, self._classes[-1])
        for limit in reversed(self._classes[:-1]):
            match = match_string(within(self._asked.expansions, limit), begun=self._begun)
            for (rowid,) in self._execute(self._statements["rowids_within"], (json.dumps(rowids), match)):
                kinds[rowid] = limit
        return kinds

    # The walk, for many matches ---------------------------------------------------------------------------

    def _walk(self, by_id: list[Row], need: int) -> list[Ranked]:
        """Return the first `need` documents, fewer if there are no more."""
        found: dict[int, Ranked] = {row.rowid: Ranked(0, 0, row) for row in by_id}
        text = self._asked.text

        def add(tier: int, kind: int, rows: list[Row]) -> bool:
            for row in rows:
                if row.rowid not in found:
                    found[row.rowid] = Ranked(tier, kind, row)
                    if len(found) >= need:
                        return True
            return len(found) >= need

        full = len(found) >= need or add(1, 0, self._rows("rows_by_title", text, str(need + len(found))))
        full = full or add(2, 0, self._match_text(f'title_lc : "{text}"', need + len(found)))
        for tier, columns, whole in (*_LEVELS, (6, None, False)):
            for limit in self._classes:
                if full or (tier == 3 and limit == 0 and " " not in text):
                    continue
                names = COLUMNS if columns is None else tuple(f"{column}_lc" for column in columns)
                rows = self._match(within(self._asked.expansions, limit), names, need + len(found), whole=whole)
                full = add(tier, limit, rows)
        return list(found.values())[:need]

    def _count(self) -> int:
        """Count the matches of a term that is not broad."""
        if self._where.sql:
            return len(self._match(self._asked.expansions, COLUMNS, -1))
        (total,) = self._execute(
            self._statements["count_by_match"], (match_string(self._asked.expansions, begun=self._begun), -1)
        ).fetchone()
        return int(total)

    # Rows -------------------------------------------------------------------------------------------------

    def _match(
        self,
        expansions: Sequence[Expansion],
        columns: Sequence[str],
        limit: int,
        *,
        whole: bool = False,
        check: Sequence[Expansion] = (),
    ) -> list[Row]:
        return self._match_text(match_string(expansions, columns, whole=whole, begun=self._begun), limit, check)

    def _match_text(self, match: str, limit: int, check: Sequence[Expansion] = ()) -> list[Row]:
        return [Row(*row) for row in self._found("rows_by_match", match, limit, check)]

    def _rowids(self, expansions: Sequence[Expansion], limit: int, check: Sequence[Expansion] = ()) -> list[int]:
        name = "rowids_by_row" if check or self._where.sql else "rowids_by_match"
        (found,) = self._found(name, match_string(expansions, begun=self._begun), limit, check).fetchone()
        rowids: list[int] = json.loads(found)
        return rowids

    def _found(self, name: str, match: str, limit: int, check: Sequence[Expansion]) -> sqlite3.Cursor:
        sql = self._statements[name]
        parameters: tuple[str | int, ...] = (match, limit, *self._where.parameters)
        conditions = self._where.sql
        if check:
            tests, values = _row_test(check, len(parameters))
            conditions += tests
            parameters += values
        if conditions:
            sql = sql.replace("\nORDER BY", f"{conditions}\nORDER BY")
        return self._execute(sql, parameters)

    def _rows(self, name: str, *parameters: str, limited: bool = True) -> list[Row]:
        sql = self._statements[name]
        values: tuple[str | int, ...] = parameters
        if limited:
            values = (*parameters[:-1], int(parameters[-1]))
        if self._where.sql:
            values = (*values, *self._where.parameters)
            sql = sql.replace("\nORDER BY", f"{self._where.sql}\nORDER BY")
        return [Row(*row) for row in self._execute(sql, values)]


def _row_test(expansions: Iterable[Expansion], bound: int) -> tuple[str, tuple[str, ...]]:
    """Return a condition that tests terms on a row, on normal form the same as GLOB and three times faster."""
    values: list[str] = []

    def placeholder(value: str) -> str:
        if value not in values:
            values.append(value)
        return f"?{bound + values.index(value) + 1}"

    def one(pattern: Pattern) -> str:
        tests = []
        for column in COLUMNS:
            if pattern.whole or (pattern.number and not is_id(column)):
                tests.append(f"instr(' '||d.{column}||' ', {placeholder(f' {pattern.text} ')})")
            else:
                tests.append(f"instr(' '||d.{column}, {placeholder(f' {pattern.text}')})")
        return " OR ".join(tests)

    def any_of(patterns: Iterable[Pattern]) -> str:
        return " OR ".join(map(one, patterns))

    terms = []
    for expansion in expansions:
        ways = [any_of(expansion.patterns)] if expansion.patterns else []
        if expansion.words:
            ways.append(" AND ".join(f"({any_of(word)})" for word in expansion.words))
        terms.append(f" AND ({' OR '.join(ways)})")
    return "".join(terms), tuple(values)


def rank(row: Row, asked: Asked) -> tuple[int, int]:
    """Return tier and class of a document that satisfies the question.

    The class of a document in the last tier is 0: its text is not looked at.
    """
    if row.id == asked.raw.strip() or row.id_lc == asked.text:
        return 0, 0
    if row.title_lc == asked.text:
        return 1, 0
    if f" {asked.text} " in f" {row.title_lc} ":
        return 2, 0
    fields = {"title": row.title_lc, "keywords": row.keywords_lc}
    for tier, names, whole in _LEVELS:
        kind = _kind(asked.expansions, [fields[name] for name in names], whole)
        if kind is not None:
            return tier, kind
    return 6, 0


def _kind(expansions: Iterable[Expansion], fields: Sequence[str], whole: bool) -> int | None:
    """Return the least class of patterns by which every term is met in the fields, None if one is not."""
    worst = 0
    for one in expansions:
        ways = [_least(one.patterns, fields, whole)]
        if one.words:
            each = [_least(word, fields, whole) for word in one.words]
            ways.append(None if None in each else max(kind for kind in each if kind is not None))
        met = [kind for kind in ways if kind is not None]
        if not met:
            return None
        worst = max(worst, min(met))
    return worst


def _least(patterns: Iterable[Pattern], fields: Sequence[str], whole: bool) -> int | None:
    kinds = [
        CLASS[pattern.kind]
        for pattern in patterns
        if any((pattern.stands_in if whole else pattern.starts)(field) for field in fields)
    ]
    return min(kinds, default=None)
