"""What imports what: the layers, the one door of each third-party package, and what an import costs.

Read from the sources, imports inside functions and for type checkers included.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import catalog_search

PACKAGE = Path(catalog_search.__file__).parent

# A module imports only modules above it.
LAYERS = """
errors
yamlfile
text language packs
template settings
encodings csvfile jsonfile formats sqlitefile sections revision textfiles source
statements database d1 answers cloudflare
expansion vocabulary
conditions query ranking relaxing
excerpt result document
catalog
measure purity relevance
values grounding matching itemschema itemtext verification
documents drafts tables changes checking scratch builder
trial lint recount questionlog misses
spelling candidates proposing thesaurus harvesting judging compare learning suggesting learnt
remote remotecheck
d1rows d1delta export d1check
server.aliases server.bounds server.holding server.shelf server.access server.configuration
server.jsontext server.calls server.envelopes server.texts server.contract server.corpus server.tools
server.parts server.pair
server.evidence_contract server.evidence
server.model server.prompt server.columns server.verified_contract server.verified server.forge
server.register server.journal server.stdio server.exchange server.hosts server.http server.service
server.serving
server.upstream_settings server.upstream_wire server.upstream_http server.upstream_stdio server.upstream_sessions
server.upstream server.fronting server
worker
terminal options cli_vocab cli_suggest cli
__main__
""".split()

# Third-party package → the modules that import it.
DOORS = {
    "click": {"cli", "cli_suggest", "cli_vocab", "options", "terminal"},
    "jsonschema": {"itemschema"},
    "markdown_it": {"sections"},
    "mcp": {
        *("server.register", "server.exchange", "server.http", "server.serving", "server.stdio", "server.tools"),
        *("server.upstream", "server.upstream_http", "server.fronting"),
    },
    "rdflib": {"thesaurus"},
    "sqlite_utils": {"sqlitefile", "tables"},
    "unidecode": {"text"},
    "yaml": {"yamlfile"},
}
# Of mcp's own dependencies, what its interface hands over.
WITH_MCP = {"mcp_types", "anyio", "httpx2", "pydantic", "uvicorn"}
# What is called from outside, not imported.
ENTRIES = {"__main__"}


def module_name(path: Path) -> str:
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts) or "__init__"


MODULES = {module_name(path): path for path in sorted(PACKAGE.rglob("*.py"))}
# sql/ and vocab/ are parts of the installed package, and hold no code.
MODULES = {name: path for name, path in MODULES.items() if name not in ("sql", "vocab")}


def imports_of(name: str) -> set[str]:
    """Return the full names of what a module imports."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(MODULES[name].read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name}: imports are absolute"
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def own_imports(name: str) -> set[str]:
    """Return the modules of the package that a module imports."""
    found = set()
    for full in imports_of(name):
        package, _, rest = full.partition(".")
        if package == "catalog_search":
            while rest not in MODULES and rest:
                rest = rest.rpartition(".")[0]
            found.add(rest or "__init__")
    return found - {name}


def test_the_layers_are_the_modules() -> None:
    assert sorted(LAYERS) == sorted(set(MODULES) - {"__init__"})


@pytest.mark.parametrize("name", LAYERS)
def test_a_module_imports_only_modules_above_it(name: str) -> None:
    assert own_imports(name) <= set(LAYERS[: LAYERS.index(name)])


def test_the_public_names_come_from_below_the_adapters() -> None:
    assert not own_imports("__init__") & {name for name in LAYERS if name.startswith(("server", "cli", "__main__"))}


def test_every_module_is_used() -> None:
    later = set(catalog_search._LATER.values())
    used = set().union(*(own_imports(name) for name in MODULES)) | later
    assert set(LAYERS) - used == ENTRIES


def test_each_third_party_package_has_one_door() -> None:
    doors: dict[str, set[str]] = {}
    for name in MODULES:
        for full in imports_of(name):
            package = full.partition(".")[0]
            if package not in sys.stdlib_module_names and package != "catalog_search":
                doors.setdefault(package, set()).add(name)
    with_mcp = set().union(*(doors.pop(package, set()) for package in WITH_MCP))
    assert with_mcp <= {name for name in MODULES if name.startswith("server.")}
    assert doors.keys() == DOORS.keys()
    for package, modules in doors.items():
        assert modules <= DOORS[package], package


def test_no_module_takes_the_name_of_data_or_of_a_public_function() -> None:
    """An editable install would find catalog_search/sql.py, a wheel the folder of SQL."""
    taken = {"sql", "vocab"} | {name for name in catalog_search.__all__ if name.islower()}
    assert not taken & set(MODULES)


def test_the_data_is_read_as_part_of_the_package() -> None:
    for name in ("catalog_search.sql", "catalog_search.vocab"):
        spec = find_spec(name)
        assert spec is not None
        assert spec.origin is not None


@pytest.mark.parametrize(
    "program",
    [
        "import catalog_search",
        "from catalog_search import Catalog, SearchResult, Document, Query, compile_query, normalize",
        "import catalog_search.cli",
    ],
)
def test_an_import_loads_only_what_asking_needs(program: str) -> None:
    said = subprocess.run(
        [sys.executable, "-c", f"import sys; {program}; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = {name.partition(".")[0] for name in said.stdout.split()}
    assert not loaded & {
        "mcp",
        "sqlite_utils",
        "yaml",
        "unidecode",
        "markdown_it",
        "jsonschema",
        "pydantic",
        "anyio",
        "asyncio",
    }
    if "cli" not in program:
        assert "click" not in loaded


def test_the_public_names_are_sorted_and_exist() -> None:
    assert catalog_search.__all__ == sorted(catalog_search.__all__)
    for name in catalog_search.__all__:
        assert getattr(catalog_search, name) is not None
    assert dir(catalog_search) == catalog_search.__all__
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        catalog_search.nothing  # noqa: B018
