"""The thin MCP adapter: a catalogue as two tools, search and fetch.

    contract.py    what goes over the wire: the schemas of the tools, the envelope of a result
    corpus.py      what a model is told about the catalogue
    tools.py       a catalogue → the tools and their results, as an MCP server
    stdio.py       an MCP server → standard input and output

All meaning is in `Catalog`. Only this package imports mcp.
"""

from __future__ import annotations

from catalog_search.catalog import Catalog
from catalog_search.database import Database
from catalog_search.server.corpus import Corpus


def serve_stdio(path: str) -> None:
    """Serve a catalogue's database over standard input and output.

    Returns when the input ends, or on SIGTERM or Ctrl-C, after the calls in hand are answered. Until then
    whatever else the process prints to standard output goes to standard error. Call it from the main thread.

    Args:
        path: a database made by `build`.

    Raises:
        DatabaseError: there is no such file, it is no catalogue, or of another format version.
        CatalogSearchError: standard input or output is closed.
    """
    # Before mcp is loaded, which takes most of a second: a wrong path is said at once, and never to a client.
    database = Database(path)
    with Catalog(database) as catalog:
        corpus = Corpus.of(database)

        from catalog_search.server.stdio import run
        from catalog_search.server.tools import make_server

        run(make_server(catalog, corpus))
