"""The thin MCP adapter: a catalogue as two tools, search and fetch.

    contract.py    what goes over the wire: the schemas of the tools, the envelope of a result
    corpus.py      what a model is told about the catalogue
    holding.py     a database file that is served, and what is moved into its place
    shelf.py       the collections that one caller may see, asked as one
    access.py      who asks → that caller's shelf
    bounds.py      what a caller may cost
    tools.py       a catalogue → the tools and their results, as an MCP server
    stdio.py       an MCP server → standard input and output
    exchange.py    one JSON-RPC message that stands alone → its answer
    http.py        an MCP server → HTTP

All meaning is in `Catalog`. Only this package imports mcp.
"""

from __future__ import annotations

import sys
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

    Raises:
        DatabaseError: there is no such file, it is no catalogue, or of another format version.
        SettingsError: the address cannot be read, or nobody would be let in.
        CatalogSearchError: standard input or output is closed, or the address is taken.
    """
    # Before mcp is loaded, which takes most of a second: a wrong path is said at once, and never to a client.
    shelf = Shelf.of_files(paths, qualified_ids=qualified_ids)
    try:
        if http is None:
            from catalog_search.server.stdio import run

            run(_server(shelf))
            return
        if not anonymous:
            raise SettingsError("over HTTP a server needs tokens, or --anonymous to answer whoever can reach it")
        from catalog_search.server.access import Access
        from catalog_search.server.bounds import Bounds
        from catalog_search.server.http import Address, Application, Hosts, listen
        from catalog_search.server.http import run as run_http

        address = Address.parse(http)
        hosts = Hosts(address, allow_hosts, allow_origins)
        application = Application(Access(shelf, public=shelf.names()), _server, hosts, Bounds())
        opened = listen(address)
        print(f"Serving {', '.join(shelf.names())} at http://{address.at(opened)}/mcp", file=sys.stderr, flush=True)
        run_http(application, opened)
    finally:
        shelf.close()


def _server(shelf: Shelf) -> Server[Any]:
    from catalog_search.server.corpus import Corpus
    from catalog_search.server.tools import make_server

    catalog = shelf.catalog(shelf.names()[0])
    return make_server(catalog, Corpus.of(catalog._database))
