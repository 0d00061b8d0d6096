"""What a search answers: SearchResult, its results, and what matched where."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from catalog_search.excerpt import Passage, cut_around, passage_around, spans
from catalog_search.expansion import SPELLING, Expansion, Pattern

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from catalog_search.ranking import Row
    from catalog_search.text import Folding

FIELDS = ("id", "title", "keywords", "text")


class Match(NamedTuple):
    """A pattern that matched."""

    term: int
    """The number of its term in `SearchResult.terms`, from 0."""
    pattern: str
    kind: str
    """"own", "singular", "vocabulary" or "spelling"."""


class Term(NamedTuple):
    """A term of the question."""

    term: str
    patterns: list[str]
    """What was searched for it, the term itself first."""
    translated: bool
    """Whether the vocabulary added to it."""


class Result:
    """One document of an answer.

    What matched, and the excerpt, are looked up when they are first asked for, while the catalogue is open.

    Attributes:
        id, title, url: of the document; url is "" when it has none.
        tier: 0 (the id is the question) to 6 (all fields); None in a relaxed answer.
        kind: 0 every term by its own word, 1 a singular or joined form was needed, 2 the vocabulary was; None in a
            relaxed answer.
        missing: terms that the document does not hold; only in a relaxed answer.
        stand_ins: asked word → the document's words that stood in for it; only in a relaxed answer.
        explanation: sentences, if they were asked for.
    """

    __slots__ = (
        "_excerpt", "_expansions", "_folding", "_matched", "_row", "_text", "_text_of",
        "explanation", "id", "kind", "missing", "stand_ins", "tier", "title", "url",
    )  # fmt: skip

    def __init__(
        self,
        row: Row,
        tier: int | None,
        kind: int | None,
        expansions: Sequence[Expansion],
        text_of: Callable[[int], tuple[str, list[str], str]],
        folding: Callable[[str], tuple[Folding, list[str]]],
    ) -> None:
        self.id, self.title, self.url = row.id, row.title, row.url
        self.tier, self.kind = tier, kind
        self.missing: list[str] = []
        self.stand_ins: Mapping[str, tuple[str, ...]] = {}
        self.explanation: list[str] | None = None
        self._row, self._expansions, self._text_of, self._folding = row, expansions, text_of, folding
        self._text: tuple[str, list[str], str] | None = None
        self._matched: dict[str, list[Match]] | None = None
        self._excerpt: str | None = None

    def __repr__(self) -> str:
        return f"Result(id={self.id!r}, title={self.title!r}, url={self.url!r}, tier={self.tier!r})"

    @property
    def matched(self) -> dict[str, list[Match]]:
        """Field → the patterns that matched in it, in the order of the terms."""
        if self._matched is None:
            fields = {
                "id": self._row.id_lc,
                "title": self._row.title_lc,
                "keywords": self._row.keywords_lc,
                "text": self._texts()[2],
            }
            self._matched = matched_in(fields, self._expansions, self.stand_ins)
        return self._matched

    def _in_text(self) -> list[Pattern]:
        return [Pattern(match.pattern, match.kind) for match in self.matched.get("text", ())]

    def passage(self, length: int) -> Passage:
        """Return the text around the match, or its start, to be quoted: verbatim, with the lines it stands in.

        Args:
            length: how many characters at most.
        """
        text, _, text_lc = self._texts()
        return passage_around(text, text_lc, self._in_text(), self._folding(text)[0], length)

    @property
    def excerpt(self) -> str:
        """The text around the match, else the keyword that matched, else the start of the text."""
        if self._excerpt is None:
            text, keywords, text_lc = self._texts()
            in_text = self._in_text()
            if not in_text and (hit := self._keyword(keywords)):
                self._excerpt = hit
            else:
                self._excerpt = cut_around(text, text_lc, in_text, self._folding(text)[0]) if text else ""
        return self._excerpt

    def spans(self, text: str, *fields: str) -> list[tuple[int, int]]:
        """Return where the words that matched in some fields begin and end in a text, to highlight them."""
        patterns = [match.pattern for field in fields for match in self.matched.get(field, ())]
        return spans(text, patterns, self._folding(text)[0])

    def _keyword(self, keywords: Iterable[str]) -> str:
        patterns = [Pattern(match.pattern, match.kind) for match in self.matched.get("keywords", ())]
        for keyword in keywords:
            folding = self._folding(keyword)[0]
            excerpt = cut_around(keyword, normal := _normal(keyword, folding), patterns, folding)
            if any(pattern.starts(normal) for pattern in patterns):
                return excerpt
        return ""

    def _texts(self) -> tuple[str, list[str], str]:
        if self._text is None:
            self._text = self._text_of(self._row.rowid)
        return self._text

    def as_json(self, *, relaxed: bool) -> dict[str, Any]:
        """Return it as `search --json` prints it."""
        found: dict[str, Any] = {
            "id": self.id,
            "title": self.title,
            "url": self.url,
            "excerpt": self.excerpt,
            "tier": self.tier,
            "matched": {field: [match._asdict() for match in ones] for field, ones in self.matched.items()},
        }
        if relaxed:
            found["missing"] = self.missing
        if self.explanation is not None:
            found["explanation"] = self.explanation
        return found


def _normal(text: str, folding: Folding) -> str:
    from catalog_search.text import fold

    return fold(text, folding)


class SearchResult:
    """The answer to a question.

    Attributes:
        query: the question as it was asked.
        results: the page that was asked for, best first.
        total: how many documents the answer has, as far as they were seen.
        total_relation: "eq" if that is exact, "gte" if there are at least so many.
        relaxed: whether no document satisfies every term, and these are the nearest.
        dropped: the terms that the first relaxed result does not hold.
        ignored: stop words that were left out.
        reason: why there is no result: "empty_query", "no_words" or "no_match"; None if there is one.
        suggestions: words of the catalogue near to those that occur nowhere.
        terms: what was searched.
        notes: sentences in the catalogue's language: each translation, each cut, each relaxation.
        facets: facet → value → documents, if it was asked for.
    """

    __slots__ = (
        "dropped", "facets", "ignored", "notes", "query", "reason", "relaxed",
        "results", "suggestions", "terms", "total", "total_relation",
    )  # fmt: skip

    def __init__(self, query: str, ignored: list[str], terms: list[Term], notes: list[str]) -> None:
        self.query = query
        self.results: list[Result] = []
        self.total = 0
        self.total_relation = "eq"
        self.relaxed = False
        self.dropped: list[str] = []
        self.ignored = ignored
        self.reason: str | None = None
        self.suggestions: list[str] = []
        self.terms = terms
        self.notes = notes
        self.facets: dict[str, dict[str, int]] = {}

    def __repr__(self) -> str:
        return (
            f"SearchResult(query={self.query!r}, total={self.total}, relaxed={self.relaxed}, results={self.results!r})"
        )

    def as_json(self) -> dict[str, Any]:
        """Return it as `search --json` prints it; the keys and their order are stable."""
        return {
            # halves of a code point are no text to other readers of JSON
            "query": self.query.encode("utf-16", "surrogatepass").decode("utf-16", "replace"),
            "results": [result.as_json(relaxed=self.relaxed) for result in self.results],
            "total": self.total,
            "total_relation": self.total_relation,
            "relaxed": self.relaxed,
            "dropped": self.dropped,
            "ignored": self.ignored,
            "reason": self.reason,
            "suggestions": self.suggestions,
            "terms": [term._asdict() for term in self.terms],
            "notes": self.notes,
            "facets": self.facets,
        }


def matched_in(
    fields: Mapping[str, str],
    expansions: Iterable[Expansion],
    stand_ins: Mapping[str, Sequence[str]] | None = None,
) -> dict[str, list[Match]]:
    """Return field → the patterns of each term that match in it; fields without a match are left out."""
    found: dict[str, list[Match]] = {}
    for place, one in enumerate(expansions):
        near = [Pattern(text, SPELLING) for word in one.term.split(" ") for text in (stand_ins or {}).get(word, ())]
        for pattern in (*one.all_patterns, *near):
            for name, text in fields.items():
                if pattern.starts(text, is_id=name == "id"):
                    match = Match(place, pattern.text, pattern.kind)
                    if match not in found.setdefault(name, []):
                        found[name].append(match)
    return {name: found[name] for name in FIELDS if found.get(name)}
