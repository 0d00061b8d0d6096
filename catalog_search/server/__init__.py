"""The thin MCP adapter: catalogues as tools, search and fetch.

    holding.py     a database file that is served, and what is moved into its place
    shelf.py       the collections that one caller may see, asked as one
    access.py      who asks → that caller's shelf
    bounds.py      what a caller may cost
    calls.py       a call in any shape → the call that was meant
    envelopes.py   a message of nearly the right form → one that can be answered
    texts.py       the contract's texts in five languages
    contract.py    what goes over the wire: the schemas of the pair, the envelope of a result
    corpus.py      what a model is told about the catalogues
    tools.py       tools → an MCP server that understands any call of them
    parts.py       a long document in parts
    pair.py        search and fetch over a shelf
    stdio.py       an MCP server → standard input and output
    exchange.py    one JSON-RPC message that stands alone → its answer
    http.py        an MCP server → HTTP

All meaning is in `Catalog`. Only this package imports mcp.
"""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING, Any

from catalog_search.errors import SettingsError
from catalog_search.server.shelf import Shelf

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp.server.lowlevel import Server


def serve(
    paths: Sequence[str],
    *,
    http: str | None = None,
    anonymous: bool = False,
    allow_hosts: Sequence[str] = (),
    allow_origins: Sequence[str] = (),
    qualified_ids: bool = False,
    locale: str | None = None,
    strict: bool = False,
) -> None:
    """Serve catalogues' databases, over standard input and output or over HTTP.

    Returns when the input ends, or on SIGTERM or Ctrl-C, after the calls in hand are answered. Over standard input
    and output, whatever else the process prints to standard output goes to standard error. Call it from the main
    thread.

    Args:
        paths: databases made by `build`.
        http: listen there, HOST:PORT, instead.
        anonymous: answer over HTTP whoever can reach it.
        allow_hosts: names by which the server may be addressed over HTTP, beside those of the loopback.
        allow_origins: origins of web pages that may address it, beside those of this machine.
        qualified_ids: write ids as `collection:id` also when there is one collection.
        locale: the language of titles and messages: en, pt-BR, es, fr or de; the first catalogue's by default.
        strict: refuse a call that is not in its canonical form.

    Raises:
        DatabaseError: there is no such file, it is no catalogue, or of another format version.
        SettingsError: the address cannot be read, nobody would be let in, or there are no texts in that language.
        CatalogSearchError: standard input or output is closed, or the address is taken.
    """
    # Before mcp is loaded, which takes most of a second: a wrong path is said at once, and never to a client.
    shelf = Shelf.of_files(paths, qualified_ids=qualified_ids)
    try:
        if locale is not None:
            from catalog_search.server.texts import locale_of

            locale = locale_of(locale)
        make_server = partial(_server, locale=locale, strict=strict)
        if http is None:
            from catalog_search.server.stdio import run

            run(make_server(shelf), strict=strict)
            return
        if not anonymous:
            raise SettingsError("over HTTP a server needs tokens, or --anonymous to answer whoever can reach it")
        from catalog_search.server.access import Access
        from catalog_search.server.bounds import Bounds
        from catalog_search.server.http import Address, Application, Hosts, listen
        from catalog_search.server.http import run as run_http

        address = Address.parse(http)
        hosts = Hosts(address, allow_hosts, allow_origins)
        application = Application(Access(shelf, public=shelf.names()), make_server, hosts, Bounds(), strict=strict)
        opened = listen(address)
        print(f"Serving {', '.join(shelf.names())} at http://{address.at(opened)}/mcp", file=sys.stderr, flush=True)
        run_http(application, opened)
    finally:
        shelf.close()


def _server(shelf: Shelf, *, locale: str | None = None, strict: bool = False) -> Server[Any]:
    from catalog_search.server.corpus import Corpora
    from catalog_search.server.pair import search_and_fetch
    from catalog_search.server.texts import Texts, nearest_locale
    from catalog_search.server.tools import Serving, make_server

    corpora = Corpora.of(shelf)
    texts = Texts(nearest_locale(corpora.each[0].language) if locale is None else locale)
    return make_server(
        search_and_fetch(corpora, texts),
        Serving(texts=texts, strict=strict, caller=lambda _context: shelf),
        name=corpora.name,
        title=corpora.title,
        instructions=corpora.instructions(),
    )
