"""One served database file, and its replacement: a file moved into its place is opened by the next call."""

from __future__ import annotations

import os
import threading
import weakref

from catalog_search.catalog import Catalog
from catalog_search.database import NO_LIMITS, Database, Limits
from catalog_search.errors import DatabaseError

Identity = tuple[int, int, int, int]


class Holding:
    """A database file that is served for as long as the server lives, whatever is moved into its place.

    Args:
        path: a database made by `build`.
        limits: the most that one question may ask of it.

    Raises:
        DatabaseError: there is no such file, it is no catalogue, or of another format version.
    """

    def __init__(self, path: str | os.PathLike[str], limits: Limits = NO_LIMITS) -> None:
        self.path = os.fspath(path)
        self._limits = limits
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
                catalog.prepare()
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
            identity = self.state()
            database = Database(self.path, self._limits)
            catalog = Catalog(database)
            if identity is not None and identity == self.state():
                self._identity = identity
                weakref.finalize(catalog, database.close)
                return catalog
            database.close()

    def state(self) -> Identity | None:
        """Return what tells the file that is there now from others; None if there is none."""
        try:
            found = os.stat(self.path)
        except OSError:
            return None
        return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns

    def _identity_now(self) -> Identity:
        found = self.state()
        if found is None:
            raise DatabaseError("the file is gone; build it again or put it back", path=self.path)
        return found
