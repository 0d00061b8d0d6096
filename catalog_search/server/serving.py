"""A configuration → a server that runs: what is served, to whom, by which transport."""

from __future__ import annotations

import sys
from contextlib import ExitStack, suppress
from functools import cache
from typing import TYPE_CHECKING, Any

from catalog_search.errors import CatalogSearchError, SettingsError
from catalog_search.server.shelf import Shelf

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from anyio import CapacityLimiter
    from mcp.server.lowlevel import Server

    from catalog_search.server.configuration import Configuration
    from catalog_search.server.hosts import Address
    from catalog_search.server.http import Application
    from catalog_search.server.journal import Journal
    from catalog_search.server.model import Model
    from catalog_search.server.tools import Tool


def serve(configuration: Configuration) -> None:
    """Serve catalogues' databases, over standard input and output or over HTTP.

    Returns when the input ends, or on SIGTERM or Ctrl-C, after the calls in hand are answered. Over standard input
    and output, whatever else the process prints to standard output goes to standard error. Call it from the main
    thread.

    Raises:
        DatabaseError: there is no such file, it is no catalogue, or of another format version.
        SettingsError: what the configuration says cannot be done, or nobody would be let in.
        CatalogSearchError: standard input or output is closed, the address is taken, or a file cannot be written.
    """
    # Before mcp is loaded, which takes most of a second: a wrong path is said at once, and never to a client.
    if not configuration.collections:
        raise SettingsError("there is nothing to serve; name a database")
    if configuration.listen is not None and not (configuration.tokens or configuration.anonymous):
        raise SettingsError("over HTTP a server needs tokens, or --anonymous to answer whoever can reach it")
    with ExitStack() as closing:
        shelf = Shelf.of_files(
            [one.path for one in configuration.collections],
            names=[one.name for one in configuration.collections],
            qualified_ids=configuration.qualified_ids,
            bounds=configuration.bounds,
        )
        closing.callback(shelf.close)

        from catalog_search.server.journal import Journal, open_queries, start
        from catalog_search.server.texts import locale_of

        if configuration.locale is not None:
            locale_of(configuration.locale)
        queries = None
        if configuration.log_queries is not None:
            try:
                queries = closing.enter_context(open_queries(configuration.log_queries))
            except OSError as problem:
                raise CatalogSearchError(
                    f"questions cannot be written there: {problem.strerror}", path=configuration.log_queries
                ) from None
        start(configuration.log_level)
        journal = Journal(queries)
        model = _model(configuration)
        if configuration.listen is None:
            from catalog_search.server.stdio import run

            run(make_server(shelf, configuration, journal, model=model), strict=configuration.strict)
        else:
            _serve_http(shelf, configuration, configuration.listen, journal, model)


def _model(configuration: Configuration) -> Model | None:
    """Return the model that the environment names, if a tool needs one; the variables may be there for others."""
    if not {"all", "verified_search"} & set(configuration.tools):
        return None
    from catalog_search.server.model import Model

    return Model.from_environment(seconds=configuration.bounds.model_seconds)


def _serve_http(shelf: Shelf, configuration: Configuration, listen: str, journal: Journal, model: Model | None) -> None:
    from catalog_search.server.hosts import Address
    from catalog_search.server.service import open_socket, run

    address = Address.parse(listen)
    application = make_application(shelf, configuration, address, journal, model)
    opened = open_socket(address)
    print(f"Serving {', '.join(shelf.names())} at http://{address.at(opened)}/mcp", file=sys.stderr, flush=True)
    run(application, opened)


def make_application(
    shelf: Shelf, configuration: Configuration, address: Address, journal: Journal, model: Model | None = None
) -> Application:
    """Return what answers over HTTP at an address.

    Raises:
        SettingsError: a token opens a collection that is not served, anonymous callers would see nothing, or a host
            or an origin is none.
    """
    from anyio import CapacityLimiter

    from catalog_search.server.access import Access
    from catalog_search.server.hosts import Hosts
    from catalog_search.server.http import Application
    from catalog_search.server.tools import THREADS

    public = [name for name, one in zip(shelf.names(), configuration.collections, strict=True) if one.public]
    if configuration.anonymous and not public:
        raise SettingsError("those without a token would see nothing; mark a collection with public: true")
    access = Access(shelf, configuration.tokens, public if configuration.anonymous else None)
    limiter = cache(lambda: CapacityLimiter(THREADS))  # for all callers together
    return Application(
        access,
        lambda seen: make_server(seen, configuration, journal, limiter, model),
        Hosts(address, configuration.allow_hosts, configuration.allow_origins),
        configuration.bounds,
        strict=configuration.strict,
    )


def make_server(
    shelf: Shelf,
    configuration: Configuration,
    journal: Journal,
    limiter: Callable[[], CapacityLimiter] | None = None,
    model: Model | None = None,
) -> Server[Any]:
    """Return an MCP server with the tools that a configuration names, over one caller's shelf.

    Args:
        shelf: what the caller may see.
        configuration: which tools, how strict, in which language.
        journal: where calls are written down.
        limiter: gives what bounds the worker threads; one of the server's own when None.
        model: what extracts items for verified_search; the documents' own fields do when None.
    """
    from anyio import CapacityLimiter

    from catalog_search.server.aliases import ALIASES
    from catalog_search.server.corpus import Corpora
    from catalog_search.server.evidence import evidence_tools
    from catalog_search.server.pair import search_and_fetch
    from catalog_search.server.texts import Texts, nearest_locale
    from catalog_search.server.tools import THREADS, Serving
    from catalog_search.server.tools import make_server as make
    from catalog_search.server.verified import VerifiedSearch, verified_tools

    corpora = Corpora.of(shelf)
    locale = configuration.locale or nearest_locale(corpora.each[0].language)
    texts = Texts(locale)

    verified = VerifiedSearch(texts, model, configuration.field_aliases, configuration.bounds.text_bytes)

    def offered(corpora: Corpora) -> Sequence[Tool]:
        most = configuration.bounds.text_bytes
        pair = search_and_fetch(corpora, texts, part_bytes=most)
        evidence = evidence_tools(corpora, texts, configuration.tools, most_chars=most)
        return journal.watched([*pair, *evidence, *verified_tools(corpora, verified, configuration.tools)])

    kept = (shelf.state(), offered(corpora))

    def tools(_caller: object) -> Sequence[Tool]:
        # What is said of a catalogue changes with its file: its size, its example.
        nonlocal kept
        if (state := shelf.state()) != kept[0]:
            with suppress(CatalogSearchError):  # the file is gone: the call will say so, and the list of tools stays
                kept = (state, offered(Corpora.of(shelf)))
        return kept[1]

    return make(
        tools,
        Serving(
            texts=texts,
            strict=configuration.strict,
            aliases=ALIASES.with_more(tools=configuration.tool_aliases, keys=configuration.key_aliases),
            caller=lambda _context: shelf,
            record=journal.record,
            limiter=limiter or (lambda: CapacityLimiter(THREADS)),
        ),
        name=corpora.name,
        title=corpora.title,
        instructions=corpora.instructions(),
        cache_scope="private" if configuration.tokens else "public",
    )
