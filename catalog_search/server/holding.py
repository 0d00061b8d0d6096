"""One served database file, and its replacement: a file moved into its place is opened by the next call."""

from __future__ import annotations

import os
import threading
import weakref
from typing import TYPE_CHECKING

from catalog_search.catalog import Catalog
from catalog_search.database import Database
from catalog_search.errors import DatabaseError

if TYPE_CHECKING:
    from collections.abc import Callable

Identity = tuple[int, int, int, int]


class Holding:
    """A database file that is served for as long as the server lives, whatever is moved into its place.

    Args:
        path: a database made by `build`.
        open: opens it.

    Raises:
        DatabaseError: there is no such file, it is no catalogue, or of another format version.
    """

    def __init__(self, path: str | os.PathLike[str], open: Callable[[str], Database] = Database) -> None:
        self.path = os.fspath(path)
        self._open = open
        self._lock = threading.Lock()
        self._identity: Identity | None = None
        self._catalog = self._reopened()

    def catalog(self) -> Catalog:
        """Return the catalogue in the file that is there now, ready for the calling thread.

        A call asks once and keeps what it was given: a replacement does not change the answer under its hands.
        The old file is closed when the last call that holds it is done.

        Raises:
            DatabaseError: the file is gone, or what was moved into its place is no catalogue.
        """
        while True:
            catalog, identity = self._catalog, self._identity
            if identity == self._identity_now():
                # A thread that had no connection yet has opened the file by its name: is it still the same one?
                catalog.connect()
                if identity == self._identity_now():
                    return catalog
            with self._lock:
                if self._identity != self._identity_now():
                    self._catalog = self._reopened()

    def close(self) -> None:
        """Close the database, for every thread."""
        self._catalog.close()

    def _reopened(self) -> Catalog:
        while True:
            identity = self._identity_now(missing=None)
            database = self._open(self.path)
            catalog = Catalog(database)
            if identity is not None and identity == self._identity_now(missing=None):
                self._identity = identity
                weakref.finalize(catalog, database.close)
                return catalog
            database.close()

    def _identity_now(self, missing: str | None = "the file is gone; build it again or put it back") -> Identity | None:
        try:
            found = os.stat(self.path)
        except OSError:
            if missing is None:
                return None
            raise DatabaseError(missing, path=self.path) from None
        return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns
