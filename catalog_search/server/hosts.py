"""Where a server listens, by which names it may be addressed, and from which pages.

A page of any site can make a browser send requests to this machine; Host and Origin tell such a one.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from catalog_search.errors import SettingsError

if TYPE_CHECKING:
    import socket
    from collections.abc import Iterable

LOOPBACK = "127.0.0.1"
PORT = 8787

_HOST = re.compile(r"(?P<name>\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::(?P<port>[0-9]{1,5}))?", re.I)


class Address(NamedTuple):
    """Where a server listens."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> Address:
        """Read HOST:PORT, HOST or PORT; the host is the loopback if none is named.

        Raises:
            SettingsError: it is neither.

        >>> Address.parse("127.0.0.1:80"), Address.parse("9000"), Address.parse("[::1]")
        (Address(host='127.0.0.1', port=80), Address(host='127.0.0.1', port=9000), Address(host='::1', port=8787))
        """
        host, port = LOOPBACK, text
        if not text.isascii() or not text.isdigit():
            found = _HOST.fullmatch(text)
            if not found:
                raise SettingsError(f"“{text}” is no address to listen at; write it as 127.0.0.1:{PORT}")
            host, port = found["name"].strip("[]"), found["port"] or str(PORT)
        if int(port) > 65_535:
            raise SettingsError(f"“{text}”: a port is a number up to 65535")
        return cls(host, int(port))

    def at(self, opened: socket.socket) -> Address:
        """Return the address with the port that a socket was given, where 0 asked for any."""
        return self._replace(port=opened.getsockname()[1])

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class Hosts:
    """The names by which a server may be addressed, and the origins of pages that may address it.

    Both are compared whole: a name that begins or ends like an allowed one is another name. A host that is allowed
    without a port is allowed with any.

    Args:
        address: where the server listens.
        hosts: further names, as `--allow-host` gives them.
        origins: further origins, as `--allow-origin` gives them.

    Raises:
        SettingsError: one of them is not a name or not an origin.

    >>> hosts = Hosts(Address("127.0.0.1", 8787), ["mcp.example.org"])
    >>> hosts.knows("localhost:8787"), hosts.knows("mcp.example.org"), hosts.knows("localhost.example.org")
    (True, True, False)
    >>> hosts.lets("http://localhost:6274"), hosts.lets("https://mcp.example.org"), hosts.lets("null")
    (True, False, False)
    """

    def __init__(self, address: Address, hosts: Iterable[str] = (), origins: Iterable[str] = ()) -> None:
        self._names = {_split(name) for name in (*_LOOPBACK_NAMES, *hosts)}
        if address.host not in ("0.0.0.0", "::"):
            self._names.add(_split(f"[{address.host}]" if ":" in address.host else address.host))
        self._origins = {_origin(one) for one in origins}

    def knows(self, host: str) -> bool:
        """Tell whether a Host header names this server."""
        found = _HOST.fullmatch(host)
        if not found:
            return False
        name = found["name"].lower()
        return (name, None) in self._names or (name, found["port"]) in self._names

    def lets(self, origin: str) -> bool:
        """Tell whether a page of that Origin may address this server: one of this machine, or an allowed one."""
        if origin.lower() in self._origins:
            return True
        scheme, separator, host = origin.partition("://")
        found = _HOST.fullmatch(host)
        return bool(
            separator and scheme.lower() in ("http", "https") and found and found["name"].lower() in _LOOPBACK_NAMES
        )


def allowing(option: str, value: str) -> str:
    """Return how a refused Host or Origin would be allowed, by an option that takes that very value.

    >>> allowing("--allow-origin", "https://app.example"), allowing("--allow-origin", "null")
    ('; allow it with --allow-origin https://app.example', '; no --allow-origin names such a one')
    """
    try:
        (_split if option == "--allow-host" else _origin)(value)
    except SettingsError:
        return f"; no {option} names such a one"
    return f"; allow it with {option} {value}"


_LOOPBACK_NAMES = ("127.0.0.1", "localhost", "[::1]")


def _split(host: str) -> tuple[str, str | None]:
    found = _HOST.fullmatch(host.strip())
    if not found:
        raise SettingsError(f"“{host}” is no host; write a name as in mcp.example.org or mcp.example.org:8787")
    return found["name"].lower(), found["port"]


def _origin(origin: str) -> str:
    scheme, separator, host = origin.strip().partition("://")
    if scheme.lower() not in ("http", "https") or not separator or not _HOST.fullmatch(host):
        raise SettingsError(f"“{origin}” is no origin; write it as https://app.example.org, without a path")
    return origin.strip().lower()
