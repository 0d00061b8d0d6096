"""front.yaml and the environment → what a front is for: which server, under which names, where it listens.

    upstream: http://127.0.0.1:9000/mcp        query_aliases: [pergunta]
    listen: 127.0.0.1:8787                     optional_aliases:
    tools: [web_search, WebSearch]               limit: {type: integer, aliases: [max_results, top_k]}
    canonical_tool: web_search                   language: [lang]
    canonical_param: query                     target_tool: search
    log_level: info                            target_param: query

Each setting is also a variable of the environment, CATALOG_SEARCH_SERVE_ and its name in capitals, which comes before
the file; lists have commas there, and `optional_aliases` is written as in the file, on one line. There is no setting
for a credential: each caller's Authorization is handed on as it is.
"""

from __future__ import annotations

import ipaddress
import os
import re
import shlex
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from catalog_search import yamlfile
from catalog_search.errors import SettingsError, nearest
from catalog_search.server.aliases import words_of
from catalog_search.server.configuration import Section, checked_level
from catalog_search.server.hosts import Address

PREFIX = "CATALOG_SEARCH_SERVE_"
"""What the variables begin with; what follows is the name of a setting in capitals."""

STDIO = "stdio:"
"""What an upstream begins with that is a command, not an address."""

TYPES = ("string", "integer", "number", "boolean")
"""The types that an optional argument can have."""

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_SECRETS = {"authorization", "auth", "token", "tokens", "bearer", "key", "secret", "password", "credentials", "headers"}


class Target(NamedTuple):
    """The server behind: one of the two is set."""

    url: str = ""
    """Its address, for Streamable HTTP."""
    command: tuple[str, ...] = ()
    """The program and its arguments, for standard input and output."""

    def __str__(self) -> str:
        return self.url.partition("?")[0] or self.command[0]  # what follows may be a secret


class Optional(NamedTuple):
    """An argument that is handed on by its own name."""

    type: str | None = None
    """What its values are made to be; None for whatever comes."""
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class UpstreamSettings:
    """What a front is for.

    Attributes:
        target: the server behind it.
        listen: where it listens; None for standard input and output.
        tools: the names that a right call can have.
        canonical_tool: the one of them that is advertised.
        canonical_param: the argument that holds the question.
        query_aliases: further keys for it, before those that are known anyway.
        optional_aliases: the arguments that are handed on besides → their type and further keys for them.
        target_tool, target_param: what the server behind calls its tool and the question.
        log_level: debug, info, warning or error.
    """

    target: Target
    listen: Address | None = None
    tools: tuple[str, ...] = ("web_search",)
    canonical_tool: str = "web_search"
    canonical_param: str = "query"
    query_aliases: tuple[str, ...] = ()
    optional_aliases: Mapping[str, Optional] = field(default_factory=dict)
    target_tool: str = "search"
    target_param: str = "query"
    log_level: str = "info"


KEYS = (
    "upstream", "listen", "tools", "canonical_tool", "canonical_param", "query_aliases", "optional_aliases",
    "target_tool", "target_param", "log_level",
)  # fmt: skip


OPTIONS = (
    "databases", "config", "upstream", "http", "anonymous", "hosts", "origins", "qualified_ids", "tools", "locale",
    "strict", "log_level", "log_queries",
)  # fmt: skip
"""The options of the command, which are variables as well."""


def check_variables(environment: Mapping[str, str] = os.environ) -> None:
    """Check that there is no variable that means nothing, and none that says nothing.

    Raises:
        SettingsError: names the variable, and the one that may be meant.

    >>> check_variables({"CATALOG_SEARCH_SERVE_TOOL": "find"})
    Traceback (most recent call last):
    catalog_search.errors.SettingsError: key CATALOG_SEARCH_SERVE_TOOL: there is no such variable. \
Did you mean "CATALOG_SEARCH_SERVE_TOOLS"?
    """
    known = sorted(PREFIX + name.upper() for name in {*KEYS, *OPTIONS})
    for variable in sorted(environment):
        if not variable.startswith(PREFIX):
            continue
        if variable not in known:
            raise SettingsError(f"there is no such variable.{nearest(variable, known)}", key=variable)
        if not environment[variable].strip():
            raise SettingsError("is empty; unset it or give it a value", key=variable)


def names_upstream(path: str | os.PathLike[str]) -> bool:
    """Tell whether a configuration file is that of a front.

    Raises:
        SettingsError: there is no such file, or it cannot be read.
    """
    return "upstream" in yamlfile.read(Path(path), SettingsError)


def load_upstream(
    path: str | os.PathLike[str] | None = None,
    environment: Mapping[str, str] = os.environ,
    given: Mapping[str, str | None] | None = None,
) -> UpstreamSettings:
    """Read the settings of a front.

    Args:
        path: a file of them, None for none.
        environment: where variables are looked up.
        given: settings of the command line, as texts; they come before all others.

    Raises:
        SettingsError: names file and line, or variable, and key; what is wrong and what to do.

    >>> load_upstream(None, {}, {"upstream": "http://127.0.0.1:9000/mcp"}).target.url
    'http://127.0.0.1:9000/mcp'
    """
    file = {} if path is None else yamlfile.read(Path(path), SettingsError)
    return _Reader(file, None if path is None else Path(path), environment, given or {}).settings()


class _Reader:
    """Takes each setting from where it is said first: the command line, the environment, the file."""

    def __init__(
        self, file: Mapping[str, Any], path: Path | None, environment: Mapping[str, str], given: Mapping[str, Any]
    ) -> None:
        check_variables(environment)
        for key in file:
            if key not in KEYS and _SECRETS & set(words_of(key)):
                raise Section(file, path, "").error(
                    "credentials do not belong here: each caller's Authorization is handed on as it is", key
                )
        self._file = Section(file, path, "", KEYS)
        self._texts: dict[str, tuple[str, str]] = {}
        for key in KEYS:
            if given.get(key):
                self._texts[key] = (str(given[key]), key)
            elif environment.get(variable := PREFIX + key.upper()):
                self._texts[key] = (environment[variable], variable)

    def settings(self) -> UpstreamSettings:
        before = UpstreamSettings(Target())
        target = self._target()
        found = UpstreamSettings(
            target=target,
            listen=self._listen(),
            tools=self._list("tools") or (self._text("canonical_tool") or before.canonical_tool,),
            canonical_tool=self._text("canonical_tool") or before.canonical_tool,
            canonical_param=self._text("canonical_param") or before.canonical_param,
            query_aliases=self._list("query_aliases"),
            optional_aliases=self._optionals(),
            target_tool=self._text("target_tool") or before.target_tool,
            target_param=self._text("target_param") or before.target_param,
            log_level=self._log_level(),
        )
        self._check_tools(found)
        self._check_arguments(found)
        return found

    # Where a value is ------------------------------------------------------------------------------------------

    def _error(self, message: str, key: str) -> SettingsError:
        """Return an error that names the place a setting was taken from."""
        if key in self._texts:
            return SettingsError(message, key=self._texts[key][1])
        return self._file.error(message, key) if key in self._file.values else SettingsError(message, key=key)

    def _text(self, key: str) -> str | None:
        if key in self._texts:
            return self._texts[key][0].strip()
        found = self._file.text(key)
        if found is not None and not found.strip():
            raise self._error("is empty; leave it out or give it a value", key)
        return found and found.strip()

    def _list(self, key: str) -> tuple[str, ...]:
        if key in self._texts:
            found = tuple(one.strip() for one in self._texts[key][0].split(",") if one.strip())
        else:
            found = self._file.texts(key)
        said = key in self._texts or key in self._file.values
        if said and not found and key == "tools":
            raise self._error("names no tool; leave it out or name one", key)
        if twice := next((one for one in found if found.count(one) > 1), None):
            raise self._error(f"“{twice}” stands there twice", key)
        return found

    # The settings ----------------------------------------------------------------------------------------------

    def _target(self) -> Target:
        text = self._text("upstream")
        if text is None:
            raise self._error("is missing; give the address of an MCP server, http://HOST:PORT/PATH", "upstream")
        if text.startswith(STDIO):
            return Target(command=self._command(text.removeprefix(STDIO)))
        try:
            parts = urlsplit(text)
            sound = (
                parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
            )
        except ValueError:
            sound = False
        if not sound or not text.isprintable() or " " in text:
            raise self._error(
                f"“{text}” is no absolute address; write http://HOST:PORT/PATH or https://…, or {STDIO}COMMAND",
                "upstream",
            )
        if parts.username is not None or parts.password is not None:
            raise self._error(
                "a name or password in the address is a credential, and those do not belong here: "
                "each caller's Authorization is handed on as it is",
                "upstream",
            )
        return Target(url=parts._replace(fragment="").geturl())

    def _command(self, text: str) -> tuple[str, ...]:
        try:
            command = tuple(shlex.split(text))
        except ValueError as problem:
            raise self._error(f"the command cannot be read as a shell's would be: {problem}", "upstream") from None
        if not command:
            raise self._error(f"there is no command after {STDIO}", "upstream")
        if shutil.which(command[0]) is None:
            raise self._error(f"there is no program “{command[0]}”", "upstream")
        return command

    def _listen(self) -> Address | None:
        text = self._text("listen")
        if text is None:
            return None
        try:
            address = Address.parse(text)
        except SettingsError as problem:
            raise self._error(problem.message, "listen") from None
        try:
            loopback = ipaddress.ip_address(address.host).is_loopback
        except ValueError:
            loopback = address.host.lower() == "localhost"
        if not loopback:
            raise self._error(
                f"“{text}” is not the loopback, and whoever reaches a front reaches the server behind it; "
                "listen at 127.0.0.1, ::1 or localhost",
                "listen",
            )
        return address

    def _optionals(self) -> dict[str, Optional]:
        key = "optional_aliases"
        if key not in self._texts:
            return _optionals(self._file.section(key))
        text, variable = self._texts[key]
        try:
            return _optionals(Section(yamlfile.parse(text, SettingsError), None, ""))
        except SettingsError as problem:
            place = f"{problem.key}: " if problem.key else ""
            example = "{limit: [max_results], language: {type: string}}"
            raise SettingsError(f"{place}{problem.message}; it is written as {example}", key=variable) from None

    def _log_level(self) -> str:
        try:
            return checked_level(self._text("log_level") or "info")
        except SettingsError as problem:
            raise self._error(problem.message, "log_level") from None

    # What must fit together --------------------------------------------------------------------------------------

    def _check_tools(self, found: UpstreamSettings) -> None:
        for name in found.tools:
            if not _NAME.fullmatch(name):
                raise self._error(f"no client takes a tool by the name “{name}”; use a-z, A-Z, 0-9, _ and -", "tools")
        if not _NAME.fullmatch(found.canonical_tool):
            raise self._error(
                f"no client takes a tool by the name “{found.canonical_tool}”; use a-z, A-Z, 0-9, _ and -",
                "canonical_tool",
            )
        if found.canonical_tool not in found.tools:
            raise self._error(
                f"“{found.canonical_tool}” is not one of tools ({', '.join(found.tools)}); add it there, or name one",
                "canonical_tool",
            )
        for key, names in (("canonical_tool", (found.canonical_tool,)), ("tools", found.tools)):
            if found.target_tool.casefold() in {name.casefold() for name in names}:
                raise self._error(
                    f"“{found.target_tool}” is the name of the upstream's own tool, which is never advertised; "
                    "choose another, or set target_tool",
                    key,
                )

    def _check_arguments(self, found: UpstreamSettings) -> None:
        if not _NAME.fullmatch(found.canonical_param):
            raise self._error(
                f"no client takes an argument by the name “{found.canonical_param}”; use a-z, A-Z, 0-9, _ and -",
                "canonical_param",
            )
        taken = {found.canonical_param: "canonical_param"}
        for name in found.optional_aliases:
            if not _NAME.fullmatch(name):
                raise self._error(f"no client takes an argument by the name “{name}”", "optional_aliases")
            if name == found.target_param:
                raise self._error(f"“{name}” is target_param, which holds the question", "optional_aliases")
            self._take(taken, name, "optional_aliases")
        for name in found.query_aliases:
            self._take(taken, name, "query_aliases")
        for one in found.optional_aliases.values():
            for name in one.aliases:
                self._take(taken, name, "optional_aliases")

    def _take(self, taken: dict[str, str], name: str, key: str) -> None:
        if name in taken:
            raise self._error(f"“{name}” has a meaning already, by {taken[name]}; a key has one", key)
        if not any(letter.isalpha() for letter in name):
            raise self._error(f"“{name}” is no word, and no key of a call; write names: [a, b]", key)
        taken[name] = key


def _optionals(section: Section) -> dict[str, Optional]:
    found = {}
    for name in section.names:
        value = section.values.get(name, ())
        if isinstance(value, Mapping):
            inner = section.section(name, ("type", "aliases"))
            kind = inner.text("type")
            if kind is not None and kind not in TYPES:
                raise inner.error(f"there is no type “{kind}”.{nearest(kind, TYPES)}", "type")
            found[name] = Optional(kind, inner.texts("aliases"))
        else:
            found[name] = Optional(None, section.texts(name))
    return found
