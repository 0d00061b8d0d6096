"""Who asks → the shelf of what they may see.

The check is here, before a call is read: a caller is handed a shelf that holds its collections and nothing else.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from catalog_search.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from catalog_search.server.shelf import Shelf

SHORTEST_TOKEN = 20
"""Characters of a token that is read from the environment; a shorter one can be guessed."""

ANONYMOUS = "anonymous"


class Caller(NamedTuple):
    """Who asks."""

    name: str
    """What a log calls it: never the token."""
    shelf: Shelf
    anonymous: bool = False


@dataclass(frozen=True, slots=True)
class Token:
    """A secret that opens collections.

    Attributes:
        name: what a log calls whoever has it.
        digest: its SHA-256, 64 hexadecimal digits: the secret itself is not kept.
        collections: what it opens.
    """

    name: str
    digest: str
    collections: tuple[str, ...]


def digest(token: str) -> str:
    """Return what is kept of a token: its SHA-256.

    >>> digest("secret")[:16]
    '2bb80d537b1da3e3'
    """
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


class Access:
    """The callers of a server.

    Args:
        shelf: everything that is served.
        tokens: who may see what.
        public: the collections for those without a token; None if there is no anonymous access.

    Raises:
        SettingsError: a token or `public` names a collection that is not served, or two tokens are the same.
    """

    def __init__(self, shelf: Shelf, tokens: Iterable[Token] = (), public: Iterable[str] | None = None) -> None:
        self._callers: dict[str, Caller] = {}
        for token in tokens:
            known = self._callers.get(token.digest)
            if known:
                raise SettingsError(f"the tokens {known.name} and {token.name} are the same; give each its own")
            self._callers[token.digest] = Caller(token.name, _shelf(shelf, token.name, token.collections))
        self._anonymous = None if public is None else Caller(ANONYMOUS, _shelf(shelf, ANONYMOUS, public), True)

    def caller(self, token: str | None) -> Caller | None:
        """Return who has that token; None if nobody has, or without a token if there is no anonymous access."""
        if token is None:
            return self._anonymous
        return self._callers.get(digest(token))

    def callers(self) -> tuple[Caller, ...]:
        """Return all callers there can be."""
        return (*self._callers.values(), *([self._anonymous] if self._anonymous else []))


def bearer(header: str | None) -> str | None:
    """Return the token of an Authorization header, None if it holds none.

    >>> bearer("Bearer abc"), bearer("bearer  abc "), bearer("Basic abc"), bearer(None)
    ('abc', 'abc', None, None)
    """
    scheme, _, token = (header or "").partition(" ")
    return token.strip() or None if scheme.lower() == "bearer" else None


def from_environment(name: str, environment: Mapping[str, str]) -> str:
    """Return the digest of a token in a variable of the environment.

    Raises:
        SettingsError: it is not set, or too short to be a secret.
    """
    token = environment.get(name, "").strip()
    if len(token) < SHORTEST_TOKEN:
        what = f"has {len(token)} characters; a token needs {SHORTEST_TOKEN}" if token else "is not set"
        raise SettingsError(f"the variable {name} of the environment {what}", key=name)
    return digest(token)


def _shelf(shelf: Shelf, name: str, collections: Iterable[str]) -> Shelf:
    wanted = list(collections)
    for one in wanted:
        if one not in shelf.names():
            raise SettingsError(
                f'"{one}" is not a collection that is served; served are {", ".join(shelf.names())}', key=name
            )
    return shelf.only(wanted)
