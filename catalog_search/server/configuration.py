"""serve.yaml → Configuration: what is served, where, to whom, and within which bounds.

    listen: 127.0.0.1:8787                  tokens:
    anonymous: true                           reader:   {env: READER_TOKEN, collections: [oecd]}
    collections:                              analyst:  {sha256: …, collections: [oecd, internal]}
      oecd: {path: oecd.db, public: true}   bounds: {calls_per_second: 5}
      internal: internal.db

Paths start from the folder of the file.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, NamedTuple

from catalog_search import yamlfile
from catalog_search.errors import SettingsError, nearest
from catalog_search.server.access import Token, from_environment
from catalog_search.server.aliases import ALIASES
from catalog_search.server.bounds import Bounds
from catalog_search.settings import NAME

LOG_LEVELS = ("debug", "info", "warning", "error")

_DIGEST = re.compile(r"[0-9a-f]{64}", re.I)


class Collection(NamedTuple):
    """A database that is served."""

    path: str
    name: str | None = None
    """The name it is served by; its own when None."""
    public: bool = False
    """Whether those without a token may see it."""


@dataclass(frozen=True, slots=True)
class Configuration:
    """What a server serves, where, to whom, and within which bounds.

    Attributes:
        collections: in the order they are served.
        listen: HOST:PORT; None for standard input and output.
        anonymous: over HTTP, let those without a token see the public collections.
        allow_hosts, allow_origins: further names of the server, and origins of pages that may address it.
        tokens: who may see what over HTTP.
        qualified_ids: write `collection:id` also when there is one collection.
        tools: the tools that are offered beside search and fetch, or "all".
        locale: the language of titles and messages; that of the first catalogue when None.
        strict: refuse a call that is not in its canonical form.
        tool_aliases, key_aliases: tool → further names for it; argument → further keys for it.
        field_aliases: field of a document → further names under which a schema may ask verified_search for it.
        bounds: what a caller may cost.
        log_level: debug, info, warning or error.
        log_queries: a file that every question is written to, for work on the vocabulary; None for none.
    """

    collections: tuple[Collection, ...] = ()
    listen: str | None = None
    anonymous: bool = False
    allow_hosts: tuple[str, ...] = ()
    allow_origins: tuple[str, ...] = ()
    tokens: tuple[Token, ...] = ()
    qualified_ids: bool = False
    tools: tuple[str, ...] = ()
    locale: str | None = None
    strict: bool = False
    tool_aliases: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    key_aliases: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    field_aliases: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    bounds: Bounds = field(default_factory=Bounds)
    log_level: str = "info"
    log_queries: str | None = None

    def over(
        self,
        databases: Sequence[str] = (),
        *,
        http: str | None = None,
        anonymous: bool = False,
        hosts: Sequence[str] = (),
        origins: Sequence[str] = (),
        qualified_ids: bool = False,
        tools: str = "",
        locale: str | None = None,
        strict: bool = False,
        log_level: str | None = None,
        log_queries: str | None = None,
    ) -> Configuration:
        """Return it with what the command line says, which comes first.

        Databases named there are served after those of the file, and are public if `anonymous` stands there too;
        tools have commas between their names.
        """
        more = tuple(Collection(path, public=anonymous) for path in databases)
        return replace(
            self,
            collections=self.collections + more,
            listen=http or self.listen,
            anonymous=anonymous or self.anonymous,
            allow_hosts=(*self.allow_hosts, *hosts),
            allow_origins=(*self.allow_origins, *origins),
            qualified_ids=qualified_ids or self.qualified_ids,
            tools=tuple(name.strip() for name in tools.split(",") if name.strip()) or self.tools,
            locale=locale or self.locale,
            strict=strict or self.strict,
            log_level=checked_level(log_level or self.log_level),
            log_queries=log_queries or self.log_queries,
        )


_KEYS = (
    "listen", "anonymous", "allow_hosts", "allow_origins", "collections", "tokens", "qualified_ids", "tools",
    "locale", "strict", "aliases", "bounds", "log_level", "log_queries",
)  # fmt: skip


def load_configuration(path: str | os.PathLike[str], environment: Mapping[str, str] = os.environ) -> Configuration:
    """Read a server's configuration file.

    Args:
        path: the file.
        environment: where tokens given by `env` are.

    Raises:
        SettingsError: names file, line and key, what is wrong and what to do.
    """
    return _Reader(Path(path), environment).configuration()


class _Reader:
    def __init__(self, path: Path, environment: Mapping[str, str]) -> None:
        self._path, self._environment = path, environment

    def configuration(self) -> Configuration:
        top = Section(yamlfile.read(self._path, SettingsError), self._path, "", _KEYS)
        collections = self._collections(top)
        aliases = top.section("aliases", ("tools", "keys", "fields"))
        return Configuration(
            collections=collections,
            listen=top.text("listen"),
            anonymous=top.flag("anonymous"),
            allow_hosts=top.texts("allow_hosts"),
            allow_origins=top.texts("allow_origins"),
            tokens=self._tokens(top, [one.name for one in collections if one.name]),
            qualified_ids=top.flag("qualified_ids"),
            tools=top.texts("tools"),
            locale=top.text("locale"),
            strict=top.flag("strict"),
            tool_aliases=_aliases(aliases, "tools", tuple(ALIASES.tools)),
            key_aliases=_aliases(aliases, "keys", tuple(ALIASES.keys)),
            field_aliases=_aliases(aliases, "fields"),
            bounds=_bounds(top),
            log_level=_log_level(top),
            log_queries=self._file(top.text("log_queries")),
        )

    def _file(self, name: str | None) -> str | None:
        return None if name is None else str(self._path.parent / name)

    def _collections(self, top: Section) -> tuple[Collection, ...]:
        section = top.section("collections")
        found = []
        for name in section.filled():
            value = section.values[name]
            if not NAME.fullmatch(name):
                raise section.error("a name is made of a-z, 0-9, _ and -, and begins with a letter or digit", name)
            if isinstance(value, Mapping):
                inner = section.section(name, ("path", "public"))
                path, public = inner.needed("path"), inner.flag("public")
            else:
                path, public = section.needed(name), False
            found.append(Collection(str(self._path.parent / path), name, public))
        return tuple(found)

    def _tokens(self, top: Section, collections: list[str]) -> tuple[Token, ...]:
        section = top.section("tokens")
        return tuple(self._token(section.section(name, ("sha256", "env", "collections")), name, collections)
                     for name in section.filled())  # fmt: skip

    def _token(self, section: Section, name: str, known: list[str]) -> Token:
        sha256, variable = section.text("sha256"), section.text("env")
        if (sha256 is None) == (variable is None):
            raise section.error("needs sha256, the SHA-256 of the token, or env, the variable that holds it, not both")
        if variable is not None:
            try:
                digest = from_environment(variable, self._environment)
            except SettingsError as problem:
                raise section.error(problem.message, "env") from None
        elif sha256 is not None and _DIGEST.fullmatch(sha256):
            digest = sha256.lower()
        else:
            raise section.error(
                "a SHA-256 has 64 hexadecimal digits, as sha256sum prints them; the token itself does not belong here",
                "sha256",
            )
        wanted = section.texts("collections")
        for one in wanted:
            if one not in known:
                raise section.error(f'there is no collection "{one}".{nearest(one, known)}', "collections")
        if not wanted:
            raise section.error("is missing; name the collections that the token opens", "collections")
        return Token(name, digest, wanted)


class Section:
    """A mapping of the file: hands out its values and knows where each of them stands."""

    def __init__(
        self, value: Any, path: Path | None, prefix: str, known: tuple[str, ...] | None = None, line: int | None = None
    ) -> None:
        self._path, self._prefix, self._line = path, prefix, line
        if not isinstance(value, Mapping):
            raise self.error("must be a mapping (key: value)")
        self._lines: Mapping[str, int] = getattr(value, "lines", {})
        for key in value:
            if known is not None and key not in known:
                raise self.error(f"unknown key.{nearest(key, known)}", key)
        self.names = tuple(value)
        self.values = {key: item for key, item in value.items() if not yamlfile.is_null(item)}

    def error(self, message: str, key: str | None = None) -> SettingsError:
        full = ".".join(part for part in (self._prefix, key) if part) or None
        return SettingsError(message, path=self._path, line=self._lines.get(key, self._line) if key else self._line,
                             key=full)  # fmt: skip

    def section(self, key: str, known: tuple[str, ...] | None = None) -> Section:
        full = f"{self._prefix}.{key}" if self._prefix else key
        return Section(self.values.get(key, {}), self._path, full, known, self._lines.get(key, self._line))

    def filled(self) -> tuple[str, ...]:
        """Return the names, each of which must have something after its colon."""
        for name in self.names:
            if name not in self.values:
                raise self.error("is missing: nothing stands after the colon; fill it in or leave the name out", name)
        return self.names

    def text(self, key: str) -> str | None:
        value = self.values.get(key)
        if value is not None and not isinstance(value, str):
            raise self.error("must be one value, not a list or a mapping", key)
        return value

    def needed(self, key: str) -> str:
        value = self.text(key)
        if not value:
            raise self.error("is missing", key)
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        """Return a list of texts; one text stands for a list of it."""
        value = self.values.get(key, [])
        values = value if isinstance(value, list) else [value]
        if not all(isinstance(one, str) and one for one in values):
            raise self.error("must be a list of words: [a, b]", key)
        return tuple(values)

    def flag(self, key: str) -> bool:
        value = self.text(key)
        found = False if value is None else yamlfile.as_bool(value)
        if found is None:
            raise self.error("must be true or false", key)
        return found

    def number(self, key: str, kind: type[int] | type[float]) -> float | int | None:
        value = self.text(key)
        if value is None:
            return None
        try:
            found = kind(value.replace("_", ""))
        except ValueError:
            found = -1
        if not 0 <= found < 1e15:
            raise self.error(f"must be {'a whole number' if kind is int else 'a number'}, 0 or more", key)
        return found


def _bounds(top: Section) -> Bounds:
    known = {one.name: one for one in fields(Bounds)}
    section = top.section("bounds", tuple(known))
    given: dict[str, Any] = {}
    for key in section.values:
        given[key] = section.number(key, int if known[key].type == "int" else float)
        if not given[key] and key not in UNBOUNDED:
            raise section.error("must be more than 0", key)
        if given[key] < LEAST.get(key, 0):
            raise section.error(f"must be {LEAST[key]} or more: so many results has a search", key)
    return Bounds(**given)


LEAST = {"candidates": 10}
"""The least that a canonical call needs of a bound."""
UNBOUNDED = ("calls_per_second", "failed_authentications", "terms", "patterns", "query_seconds")
"""The bounds that 0 takes away."""


def _aliases(section: Section, key: str, known: tuple[str, ...] | None = None) -> dict[str, tuple[str, ...]]:
    inner = section.section(key, known)
    return {name: inner.texts(name) for name in inner.values}


def _log_level(top: Section) -> str:
    try:
        return checked_level(top.text("log_level") or Configuration().log_level)
    except SettingsError as problem:
        raise top.error(problem.message, "log_level") from None


def checked_level(text: str) -> str:
    """Return a level as it is written here.

    Raises:
        SettingsError: there is no such level.

    >>> checked_level("INFO")
    'info'
    """
    level = text.lower()
    if level not in LOG_LEVELS:
        raise SettingsError(f"there is no level “{level}”.{nearest(level, LOG_LEVELS)}", key="log_level")
    return level
