"""The thin MCP adapter: catalogues as tools, search and fetch.

    holding.py     a database file that is served, and what is moved into its place
    shelf.py       the collections that one caller may see, asked as one
    access.py      who asks → that caller's shelf
    bounds.py      what a caller may cost
    configuration.py   serve.yaml → what is served, where, to whom, within which bounds
    aliases.py     other names of tools and arguments
    calls.py       a call in any shape → the call that was meant
    envelopes.py   a message of nearly the right form → one that can be answered
    texts.py       the contract's texts in five languages
    contract.py    what goes over the wire: the schemas of the pair, the envelope of a result
    corpus.py      what a model is told about the catalogues
    tools.py       tools → an MCP server that understands any call of them
    parts.py       a long document in parts
    pair.py        search and fetch over a shelf
    evidence_contract.py   search_evidence, read_document, list_collections as a client sees them
    evidence.py    these three over a shelf
    model.py       a model behind a chat endpoint
    prompt.py      what it is asked, and from which sources
    columns.py     items without a model
    verified_contract.py   verified_search as a client sees it
    verified.py    retrieve, extract, verify
    forge.py       forged answers, and what becomes of them
    journal.py     one line a call on standard error
    stdio.py       an MCP server → standard input and output
    hosts.py       where a server listens, and by which names it may be addressed
    exchange.py    one JSON-RPC message that stands alone → its answer
    http.py        an MCP server → HTTP
    serving.py     a configuration → a server that runs
    register.py    the pair for somebody else's MCP server
    upstream_settings.py   front.yaml and the environment → what a front is for
    upstream_wire.py       what goes to another MCP server and what comes back
    upstream_http.py       a session with one over HTTP
    upstream_stdio.py      a session with one that is a process
    upstream_sessions.py   one session for each Authorization
    upstream.py    a front for another server's search tool
    fronting.py    the settings of a front → a server that runs

All meaning is in `Catalog`. Only this package imports mcp. The names in `__all__` are for people with a server of
their own; they are loaded when they are asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from catalog_search.server.contract import (
        DEFAULT_LIMIT,
        SEARCH_TOOLS,
        get_contract_schemas,
        tool_error,
        tool_result,
    )
    from catalog_search.server.register import register_search_tools
    from catalog_search.server.serving import serve

__all__ = [
    "DEFAULT_LIMIT",
    "SEARCH_TOOLS",
    "get_contract_schemas",
    "register_search_tools",
    "serve",
    "tool_error",
    "tool_result",
]


def __getattr__(name: str) -> Any:
    if name in __all__:
        module = {"register_search_tools": "register", "serve": "serving"}.get(name, "contract")
        return getattr(import_module(f"catalog_search.server.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
