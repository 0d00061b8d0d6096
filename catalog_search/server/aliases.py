"""Other names under which agents call tools and arguments, as they were seen; none of them is ever advertised."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


class Aliases(NamedTuple):
    """Other names: tool → names, key → keys, both in order; and the words of keys of kind."""

    tools: Mapping[str, Sequence[str]]
    keys: Mapping[str, Sequence[str]]
    kinds: frozenset[str]

    def with_more(
        self, *, tools: Mapping[str, Iterable[str]] | None = None, keys: Mapping[str, Iterable[str]] | None = None
    ) -> Aliases:
        """Return these with others before them.

        >>> ALIASES.with_more(keys={"query": ["pergunta"]}).keys["query"][:3]
        ('pergunta', 'search_query', 'q')
        """

        def merged(old: Mapping[str, Sequence[str]], new: Mapping[str, Iterable[str]]) -> dict[str, Sequence[str]]:
            return {**old, **{key: (*dict.fromkeys(new[key]), *old.get(key, ())) for key in new}}

        return Aliases(merged(self.tools, tools or {}), merged(self.keys, keys or {}), self.kinds)


ALIASES = Aliases(
    tools={
        "search": (
            "web_search", "query", "find", "lookup", "web", "search_documents", "search_docs", "search_catalog",
            "search_catalogue", "search_query", "semantic_search", "knowledge_search", "file_search", "retrieve",
            "retrieval", "google", "search_evidence", "ask",
        ),
        "fetch": (
            "get_document", "web_fetch", "fetch_document", "fetch_url", "get", "read", "open", "read_document",
            "document", "view", "get_page", "open_url", "read_file", "scrape", "retrieve_document",
        ),
        "search_evidence": ("evidence", "find_evidence", "get_evidence", "search_excerpts", "excerpts", "search_text"),
        "read_document": ("read_lines", "get_lines", "read_file", "read", "view_document", "cat"),
        "verified_search": ("search_verified", "verify_search", "structured_search", "extract_items", "extract"),
        "list_collections": ("collections", "get_collections", "list_catalogs", "list_catalogues", "list_sources"),
    },
    keys={
        "query": (
            "search_query", "q", "search", "searchQuery", "search_term", "searchTerm", "term", "text", "input",
            "prompt", "question", "keywords", "topic", "searchString",
            "queries", "search_queries", "terms", "keyword", "phrase", "value",
        ),
        "id": (
            "document_id", "documentId", "doc_id", "docId", "ids", "result_id", "identifier", "key", "ref", "uri",
            "url", "link", "href", "path", "document", "item", "result",
        ),
        "limit": (
            "max_results", "maxResults", "num_results", "n_results", "top_k", "topK", "k", "count", "size",
            "per_page", "page_size", "pageSize", "max", "n",
        ),
        "offset": ("skip", "start", "from"),
        "collections": ("collection", "catalogs", "catalogues", "catalog", "catalogue", "sources", "namespaces"),
        "collection": ("collections", "catalog", "catalogue", "namespace"),
        "where": ("filter", "filters", "facets"),
        "schema": ("json_schema", "jsonSchema", "item_schema", "output_schema", "response_schema"),
        "require": ("required", "requires"),
        "path_prefix": ("prefix", "folder", "directory", "path"),
        "revision": ("rev", "version", "commit"),
        "max_chars": ("max_characters", "maxChars", "characters", "budget", "max_length"),
        "from_line": ("start_line", "startLine", "fromLine", "line", "first_line", "offset"),
        "max_lines": ("lines", "line_count", "num_lines", "maxLines", "limit"),
    },
    kinds=frozenset(
        """
        type types mode kind sort order orderby lang language locale format scope filter filters source sources
        site domain domains depth limit offset page per size count max min top session cursor token timezone
        description name model version date time timeout range region country category collection collections id
        """.split()
    ),
)  # fmt: skip
"""Names and keys that were seen in calls; none of them is advertised."""

WRAPPERS = ("arguments", "args", "params", "parameters", "input", "tool_input", "kwargs", "payload", "data", "body",
            "request", "properties")  # fmt: skip
"""Keys that hold the arguments once more; they are looked into before any other."""

# Words of which one names what a tool does, where nothing else of its name is known.
VERBS = {
    "query": {"search", "find", "query", "lookup", "ask", "retrieve"},
    "id": {"fetch", "read", "open", "get", "view", "load"},
}


def words_of(name: str) -> list[str]:
    """Return the words of a name in any of the usual spellings.

    >>> words_of("mcp_WebSearch"), words_of("search-docs2")
    (['mcp', 'web', 'search'], ['search', 'docs', '2'])
    """
    return [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_a-zA-Z]+", name)]
