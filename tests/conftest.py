"""What every test runs under: the environment's CATALOG_SEARCH_SQLITE names a module to use in the place of sqlite3.

Say pysqlite3, of the package pysqlite3-binary, which has a newer SQLite than most systems.
"""

from __future__ import annotations

import importlib
import os
import sqlite3
import sys
import tempfile
from pathlib import Path
from typing import Any


def replace_sqlite(name: str) -> None:
    """Put a module with the interface of sqlite3 in its place, before the package is imported."""
    assert "catalog_search" not in sys.modules
    other: Any = importlib.import_module(name)

    class Connection(other.Connection):
        """A connection with the two methods that pysqlite3 does not have, by way of a file."""

        def serialize(self) -> bytes:
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder, "copy.db")
                copy = other.connect(path)
                self.backup(copy)
                copy.close()
                return path.read_bytes()

        def deserialize(self, data: bytes) -> None:
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder, "copy.db")
                path.write_bytes(data)
                copy = other.connect(path)
                copy.backup(self)
                copy.close()

    connect = other.connect
    if not hasattr(other.Connection, "serialize"):
        other.connect = lambda *args, **keys: connect(*args, **{"factory": Connection, **keys})
    sys.modules["sqlite3"] = other


if replacement := os.environ.get("CATALOG_SEARCH_SQLITE"):
    replace_sqlite(replacement)


def pytest_report_header() -> str:
    said = f"SQLite {sys.modules['sqlite3'].sqlite_version}"
    return f"{said} of {replacement}, not the system's {sqlite3.sqlite_version}" if replacement else said
