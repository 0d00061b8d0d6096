"""A catalogue with another vocabulary, without a build: what a change of the vocabulary would do to the answers.

    with Trial.open("oecd.db") as catalog:
        catalog.use(Vocabulary.load("new.yaml"))
        answer = catalog.search("labor force")

The answers are those of a database that is built with that vocabulary. The file is not written, and nothing is copied:
a vocabulary decides only how a question is expanded, so the change of one costs as much as reading it. A question
whose expansion is the same under two vocabularies has the same answer under both; see `Trial.expand`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from catalog_search.catalog import SUGGESTED_LEAST, Catalog
from catalog_search.documents import rare_characters
from catalog_search.expansion import expand
from catalog_search.ranking import Planner
from catalog_search.relaxing import Relaxed
from catalog_search.text import cut, full_folding
from catalog_search.vocabulary import Vocabulary

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Mapping, Sequence
    from contextlib import AbstractContextManager

    from catalog_search.database import Database
    from catalog_search.expansion import Expansion, Source
    from catalog_search.language import Language
    from catalog_search.vocabulary import Pair


class Trial(Catalog):
    """A catalogue that answers with the vocabulary it is told to use; with its own until then.

    >>> from catalog_search import Pair, build
    >>> settings = {"name": "jobs", "language": "en", "documents": {"id": "{id}", "title": "{title}"}}
    >>> report = build(settings, ":memory:", records=[{"id": "1", "title": "Labour force by sex"}])
    >>> with Trial.open(report.image) as catalog:
    ...     before = catalog.search("labor force", relax=False).total
    ...     catalog.use(catalog.vocabulary([Pair("labor", ("labour",), False, 1)]))
    ...     before, catalog.search("labor force", relax=False).total
    (0, 1)
    """

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self._own = (self.info, self._longest)
        self._used: Vocabulary | None = None
        self._rare: set[str] = set()
        self._near: dict[str, list[str]] = {}

    def connection(self) -> sqlite3.Connection:
        """Return this thread's connection to the database, which is open for reading only."""
        return self._database.connection()

    def errors(self) -> AbstractContextManager[None]:
        """Turn SQLite's errors into DatabaseError, for those who use `connection`."""
        return self._database.errors()

    @property
    def language(self) -> Language:
        """The language that folds and inflects, as the database has it."""
        return self._language

    def vocabulary(self, pairs: Sequence[Pair]) -> Vocabulary:
        """Return pairs as a vocabulary of this catalogue's language and source name."""
        return Vocabulary(pairs, self._language, self.info["source_name"])

    def use(self, vocabulary: Vocabulary | None) -> None:
        """Answer with a vocabulary from now on; None for the database's own.

        It is read in the catalogue's language, as a build reads it. Not while another thread asks.
        """
        self.info, self._longest = self._own
        self._used, self._rare = None, set()
        if vocabulary is None:
            return
        if vocabulary.language is not self._language:
            vocabulary = Vocabulary(vocabulary.pairs, self._language, vocabulary.source_name, vocabulary.path)
        self._used, self._longest = vocabulary, vocabulary.longest
        self._rare = set().union(*(rare_characters(entry.asked) for entry in vocabulary.entries))
        name = vocabulary.source_name or self.info["title"]
        self.info = {**self.info, "source_name": name, "longest_asked": str(vocabulary.longest)}

    def expand(self, question: str) -> tuple[Expansion, ...]:
        """Return a question's terms with their patterns: all that an answer takes from the vocabulary."""
        return self._ask(question)[0].expansions

    def keys(self, question: str) -> set[str]:
        """Return the keys that a question looks up: only pairs with one of them can change its expansion."""
        found: set[str] = set()

        def find(keys: Iterable[str]) -> Mapping[str, Sequence[Source]]:
            found.update(keys)
            return {}

        folding, _ = self._folding(cut(question)[0])
        expand(question, self._language, folding, find, self._longest)
        return found

    def missed(self, question: str) -> dict[str, list[str]] | None:
        """Return the words of a question that occur nowhere, each with the nearest words that do, nearest first.

        None if it has a strict answer. Without what else an answer says, for logs of many questions; the nearest words
        are looked for once for each word.
        """
        with self.errors():
            connection = self.connection()
            asked, _ = self._ask(question)
            if asked.raw.strip() and Planner(connection, self._statements, asked).first(1).total:
                return None
            found: dict[str, list[str]] = {}
            for one in self._unknown(asked):
                words = one.term.split(" ")
                for word in words:
                    # of a phrase or compound that does not occur, words may
                    sql = self._statements["words_by_start"]
                    if len(words) == 1 or not connection.execute(sql, (word, word + "{", 1)).fetchone():
                        found.setdefault(word, self._nearest_words(word))
            return found

    def _nearest_words(self, word: str) -> list[str]:
        if word not in self._near:
            relaxed = Relaxed(self.connection(), self._statements, self._language, self._figures)
            near = [other for other, _, likeness in relaxed.nearest(word) if likeness >= SUGGESTED_LEAST]
            self._near[word] = near
        return self._near[word]

    def _find(self, keys: Iterable[str]) -> Mapping[str, Sequence[Source]]:
        return super()._find(keys) if self._used is None else self._used.find(keys)

    def _folding_rows(self, keys: Iterable[str]) -> dict[str, str]:
        # A build adds to the folding table what the vocabulary's asked words need.
        keys = list(keys)
        added = {key: full_folding().single(key) for key in keys if key in self._rare}
        return super()._folding_rows(keys) | {key: signs for key, signs in added.items() if signs != " "}
