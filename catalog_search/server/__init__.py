"""The thin MCP adapter: catalogues as tools, search and fetch.

    holding.py     one database file, and its replacement
    shelf.py       the collections that one caller may see, asked as one
    calls.py       a call in any shape → the call that was meant
    texts.py       the contract's texts in five languages
    contract.py    what goes over the wire: the schemas of the pair, the envelope of a result
    corpus.py      what a model is told about the catalogues
    tools.py       tools → an MCP server that understands any call of them
    parts.py       a long document in parts
    pair.py        search and fetch over a shelf
    evidence_contract.py, evidence.py   passages, lines and collections over a shelf
    stdio.py       an MCP server → standard input and output

All meaning is in `Catalog`. Only this package imports mcp.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from catalog_search.server.shelf import Shelf

if TYPE_CHECKING:
    from collections.abc import Iterable


def serve_stdio(paths: Iterable[str], *, locale: str | None = None, strict: bool = False, tools: str = "") -> None:
    """Serve catalogues' databases over standard input and output.

    Returns when the input ends, or on SIGTERM or Ctrl-C, after the calls in hand are answered. Until then
    whatever else the process prints to standard output goes to standard error. Call it from the main thread.

    Args:
        paths: databases made by `build`.
        locale: the language of titles and messages: en, pt-BR, es, fr or de; the first catalogue's by default.
        strict: refuse a call that is not in its canonical form.
        tools: what to offer beside search and fetch: "all", or names with commas between them.

    Raises:
        DatabaseError: there is no such file, it is no catalogue, or of another format version.
        SettingsError: there are no texts in that language, or no tool of that name.
        CatalogSearchError: standard input or output is closed.
    """
    # Before mcp is loaded, which takes most of a second: a wrong path is said at once, and never to a client.
    shelf = Shelf.of_files(paths)
    try:
        from catalog_search.server.corpus import Corpora
        from catalog_search.server.texts import Texts, nearest_locale

        corpora = Corpora.of(shelf)
        texts = Texts(nearest_locale(corpora.each[0].language) if locale is None else locale)

        from catalog_search.server.evidence import evidence_tools
        from catalog_search.server.pair import search_and_fetch
        from catalog_search.server.stdio import run
        from catalog_search.server.tools import Serving, make_server

        server = make_server(
            [*search_and_fetch(corpora, texts), *evidence_tools(corpora, texts, tools)],
            Serving(texts=texts, strict=strict, caller=lambda _context: shelf),
            name=corpora.name,
            title=corpora.title,
            instructions=corpora.instructions(),
        )
        run(server)
    finally:
        shelf.close()
