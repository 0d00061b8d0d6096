"""Put a catalogue behind a question: one SQLite file that answers in the asker's words and cites its source.

    from catalog_search import Catalog, build

    build("catalog.yaml", "oecd.db")
    with Catalog.open("oecd.db") as catalog:
        answer = catalog.search("labor force")

Names that are not listed here may change.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from catalog_search.catalog import Catalog
from catalog_search.document import Document
from catalog_search.errors import (
    CatalogSearchError,
    DatabaseError,
    DocumentNotFound,
    QueryError,
    SettingsError,
    SourceError,
    VocabularyError,
)
from catalog_search.expansion import Expansion, Pattern
from catalog_search.query import Query, compile_query
from catalog_search.result import Result, SearchResult
from catalog_search.text import normalize

if TYPE_CHECKING:
    from catalog_search.builder import BuildReport, build
    from catalog_search.packs import load_language
    from catalog_search.settings import Settings, load_settings
    from catalog_search.verification import verify_items
    from catalog_search.vocabulary import Pair, Vocabulary

__all__ = [
    "BuildReport",
    "Catalog",
    "CatalogSearchError",
    "DatabaseError",
    "Document",
    "DocumentNotFound",
    "Expansion",
    "Pair",
    "Pattern",
    "Query",
    "QueryError",
    "Result",
    "SearchResult",
    "Settings",
    "SettingsError",
    "SourceError",
    "Vocabulary",
    "VocabularyError",
    "build",
    "compile_query",
    "load_language",
    "load_settings",
    "normalize",
    "verify_items",
]

# What only a build or a vocabulary needs brings sqlite_utils, yaml and unidecode with it: loaded when asked for.
_LATER = {
    "BuildReport": "builder",
    "Pair": "vocabulary",
    "Settings": "settings",
    "Vocabulary": "vocabulary",
    "build": "builder",
    "load_language": "packs",
    "load_settings": "settings",
    "verify_items": "verification",
}


def __getattr__(name: str) -> Any:
    if name in _LATER:
        from importlib import import_module

        return getattr(import_module(f"catalog_search.{_LATER[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
