"""A call in any shape → the call that was meant, and remarks on what was not as it should be.

    lookup  {"q": "wages", "limt": 5}   →   search  {"query": "wages"}   and two remarks

Agents guess the names of tools and of arguments, send text where an object belongs, or JSON inside a string. What
was meant is nearly always plain. The rules are fixed, so that equal calls are read equally:

1. The tool: its name, then other names for it, then parts of the name, then the keys of the arguments.
2. Its main argument: the key, then other keys for it in order, then the same without regard to case, then the same
   inside other objects, then a text that stands alone once keys of kind (type, sort, lang, …) are set aside.
3. Its optional arguments: their key, then other keys for them, beside the main argument or around it.

Nothing is guessed from what is left: without a usable text a call is not carried out. A remark is a key of the
contract's texts with what it speaks of; no remark means that the call was canonical. Nothing is known of any one
tool but its `Shape`.
"""

from __future__ import annotations

import json
import re
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from catalog_search.errors import echo
from catalog_search.server.aliases import ALIASES, VERBS, WRAPPERS, Aliases, words_of
from catalog_search.server.jsontext import parse

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

DEEPEST = 6
"""Objects, lists and JSON texts inside one another that are looked into."""
STEPS = 2_000
"""Values that are looked at in search of the main argument."""
MOST = 100
"""Members of an object whose names are compared one by one, and items of a list that are read."""
NAMED = 8
"""Keys of a caller that are repeated."""
LONGEST_EXAMPLE = 200
"""Characters of a call that is repeated in its canonical form; the tool's own example stands for a longer one."""


class Shape(NamedTuple):
    """What a canonical call of a tool is made of."""

    tool: str
    main: str = ""
    """The key of the text that it cannot do without; "" if there is none."""
    options: Mapping[str, Mapping[str, Any]] = {}
    """The other keys that its input schema names → their schemas."""
    hidden: Mapping[str, Mapping[str, Any]] = {}
    """Keys that no schema names and that are honoured all the same → their schemas."""
    example: Mapping[str, Any] = {}
    """The arguments of a canonical call."""
    literal: bool = False
    """The main argument is an identifier: any text is taken as it stands, and of several the first."""


class Remark(NamedTuple):
    """One thing that was not as it should be: a key of the contract's texts, and what it speaks of."""

    kind: str
    values: Mapping[str, Any]


class Call(NamedTuple):
    """A call as it was understood."""

    tool: str
    arguments: dict[str, Any]
    """By canonical keys; without the main one if the call is not usable."""
    usable: bool
    """Whether it can be carried out: its main argument was found, or it has none."""
    remarks: list[Remark]
    """What was not canonical, in the order: tool, main argument, optional ones, what was ignored."""


def read_call(shapes: Sequence[Shape], name: Any, arguments: Any, aliases: Aliases = ALIASES) -> Call:
    """Understand a call.

    Args:
        shapes: the tools that are offered, at least one.
        name: the name of the tool as it was sent, of any JSON type.
        arguments: the arguments as they were sent, of any JSON type.
        aliases: other names for tools and keys.

    >>> shapes = [Shape("search", "query"), Shape("fetch", "id", literal=True)]
    >>> call = read_call(shapes, "lookup", {"q": "wages", "limt": 5})
    >>> call.tool, call.arguments, [remark.kind for remark in call.remarks]
    ('search', {'query': 'wages'}, ['tool', 'key', 'ignored'])
    """
    shape = _tool(shapes, name, arguments, aliases)
    remarks = []
    if not isinstance(name, str) or not name.strip():
        remarks.append(Remark("nameless", {"tool": shape.tool}))
    elif name != shape.tool:
        remarks.append(Remark("tool", {"asked": echo(name), "tool": shape.tool}))
    found = _Reader(shape, aliases).read(arguments) if shape.main else _Found("", (), ())
    read: dict[str, Any] = {}
    if found is None:
        remarks.append(Remark("missing", {"key": shape.main}))
        return Call(shape.tool, read, False, [*remarks, *_leftover(shape, arguments, ())])
    if shape.main:
        read[shape.main] = found.text
        remarks += _said_of_main(shape, arguments, found)
    places = [place for place in (*reversed(found.places), arguments) if isinstance(place, dict)]
    used = set(found.path)
    for key, schema in (*shape.options.items(), *shape.hidden.items()):
        _option(shape, key, schema, places, aliases, read, used, remarks)
    return Call(shape.tool, read, True, [*remarks, *_leftover(shape, arguments, used, found)])


def canonical(call: Call, shape: Shape) -> str:
    """Return how the call is written rightly: the tool, and arguments as JSON.

    >>> canonical(Call("search", {"query": "wages"}, True, []), Shape("search", "query"))
    'search {"query": "wages"}'
    """
    advertised = {key: value for key, value in call.arguments.items() if key not in shape.hidden}
    nothing = {shape.main: "…"} if shape.main else {}
    for arguments in (advertised if call.usable else shape.example, shape.example, nothing):
        text = json.dumps(arguments, ensure_ascii=False)
        if arguments and len(text) <= LONGEST_EXAMPLE:
            return f"{shape.tool} {text}"
    return f"{shape.tool} {{}}"


# The tool -----------------------------------------------------------------------------------------------------


def _tool(shapes: Sequence[Shape], name: Any, arguments: Any, aliases: Aliases) -> Shape:
    offered = {shape.tool: shape for shape in shapes}
    if isinstance(name, str) and name in offered:
        return offered[name]
    with_main = [shape for shape in shapes if shape.main] or list(shapes)
    found = _by_name(shapes, name, aliases) if isinstance(name, str) else None
    keys = set(arguments) if isinstance(arguments, dict) else set()
    if found is None:
        # A key that only one kind of tool has says more than the order in which they are offered.
        for shape in with_main:
            if keys & {shape.main, *aliases.keys.get(shape.main, ())}:
                return shape
        return with_main[0]
    if keys and found.main not in keys and not keys & set(aliases.keys.get(found.main, ())):
        for shape in with_main:
            if shape.main in keys:
                return shape
    return found


def _by_name(shapes: Sequence[Shape], name: str, aliases: Aliases) -> Shape | None:
    known: dict[str, Shape] = {}
    for shape in shapes:
        known.setdefault("_".join(words_of(shape.tool)), shape)
    for shape in shapes:
        for alias in aliases.tools.get(shape.tool, ()):
            known.setdefault("_".join(words_of(alias)), shape)
    for part in _parts(name[:1_000]):
        if part in known:
            return known[part]
    for word in words_of(name[:1_000]):
        for shape in shapes:
            if word in VERBS.get(shape.main, ()):
                return shape
    return None


def _parts(name: str) -> Iterator[str]:
    """Yield what may be the tool's own name in one that has others around it: prefixes of hosts, numbers."""
    yield "_".join(words_of(name))
    for segment in reversed(re.split(r"__|[.:/]", name)):
        yield "_".join(words_of(segment))
    words = words_of(name)[-8:]
    for start in range(1, len(words)):
        yield "_".join(words[start:])
    for end in range(len(words) - 1, 0, -1):
        yield "_".join(words[:end])


# The main argument --------------------------------------------------------------------------------------------


class _Found(NamedTuple):
    text: str
    path: tuple[str, ...]
    """The keys that lead to it, outermost first; empty for a text in place of the arguments."""
    places: tuple[Any, ...]
    """The objects on the way, outermost first."""


class _Reader:
    """Looks for the main argument of one call, in so many steps at most."""

    def __init__(self, shape: Shape, aliases: Aliases) -> None:
        self._shape, self._aliases = shape, aliases
        self._steps = STEPS
        objects = [key for key, schema in shape.options.items() if schema.get("type") == "object"]
        self._held = {name for key in objects for name in (key, *aliases.keys.get(key, ()))}
        """Keys of other arguments that are objects: what they hold is theirs, and never the main argument."""

    def read(self, arguments: Any) -> _Found | None:
        main = self._shape.main
        if isinstance(arguments, dict) and isinstance(text := arguments.get(main), str) and text.strip():
            # The canonical form. An identifier may be any text; a question that is JSON was meant to be its content.
            inner = _decoded(text.strip())
            if isinstance(inner, dict) or (isinstance(inner, list) and not self._shape.literal):
                found = self._dig(inner, 1)
                if found is not None:
                    return found._replace(path=(main, *found.path), places=(arguments, *found.places))
            return _Found(text, (main,), (arguments,))
        return self._dig(arguments, 0)

    def _dig(self, value: Any, depth: int, *, lone: bool = True) -> _Found | None:
        self._steps -= 1
        if depth > DEEPEST or self._steps < 0:
            return None
        if isinstance(value, str):
            text = value.strip()
            inner = _decoded(text)
            if inner is not None:
                return self._dig(inner, depth + 1, lone=lone)
            # What begins as JSON and is none was cut off: nobody asks for its brackets.
            return _Found(text, (), ()) if text and text[0] not in "{[" else None
        if isinstance(value, int | float) and not isinstance(value, bool):
            return _Found(_number(value), (), ())
        if isinstance(value, list):
            found = [one for one in (self._dig(item, depth + 1) for item in value[:MOST]) if one is not None]
            if not found:
                return None
            if self._shape.literal or len(found) == 1:
                return found[0]
            return _Found(" ".join(one.text for one in found), (), ())
        if isinstance(value, dict):
            return self._dig_object(value, depth, lone=lone)
        return None

    def _dig_object(self, value: dict[str, Any], depth: int, *, lone: bool) -> _Found | None:
        def under(key: str, *, lone: bool) -> _Found | None:
            found = self._dig(value[key], depth + 1, lone=lone)
            return found and found._replace(path=(key, *found.path), places=(value, *found.places))

        named = list(_keys_for(self._shape.main, value, self._aliases))
        for key in named:
            found = under(key, lone=True)
            if found is not None:
                return found
        # Of an object with very many members only those are looked at that have a name of their own here.
        others = [key for key in value if not _of_kind(key, self._aliases)] if len(value) <= MOST else []
        others = [key for key in others if key not in self._held]
        inside = [key for key in WRAPPERS if key in value]
        for key in [*inside, *sorted(key for key in others if key not in inside)]:
            # Other texts stand alone or not at all; here only what holds an object counts.
            if key not in named and (key in inside or isinstance(_decoded(value[key]), dict | list)):
                found = under(key, lone=key in inside)
                if found is not None:
                    return found
        texts = [key for key in others if isinstance(value[key], str) and value[key].strip()]
        return under(texts[0], lone=True) if lone and len(texts) == 1 else None


def _keys_for(main: str, value: Mapping[str, Any], aliases: Aliases) -> Iterator[str]:
    """Yield the keys of an object that name an argument, the surest first."""
    names = (main, *aliases.keys.get(main, ()))
    yield from (name for name in names if name in value)
    if len(value) <= MOST:
        spelled = {"".join(words_of(key)): key for key in sorted(value)}
        for name in names:
            key = spelled.get(_spelling(name))
            if key is not None and key not in names:
                yield key


@cache
def _spelling(name: str) -> str:
    """Return a name of ours without regard to case and joints; there are few, and each is compared in every call."""
    return "".join(words_of(name))


def _of_kind(key: str, aliases: Aliases) -> bool:
    return not aliases.kinds.isdisjoint(words_of(key)) or "".join(words_of(key)) in aliases.kinds


def _decoded(value: Any) -> Any:
    """Return an object or list, or the JSON inside a text: an object, a list, a text in quotes; None for all else."""
    if not isinstance(value, str):
        return value if isinstance(value, dict | list) else None
    if value[:1] not in ("{", "[", '"'):
        return None
    for candidate in (value, "{" + value + "}"):  # the members of an object without its braces
        try:
            found = parse(candidate)
        except ValueError:
            continue
        if isinstance(found, dict | list | str):
            return found
    return None


def _number(value: float) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() and abs(value) < 1e15 else str(value)


def _said_of_main(shape: Shape, arguments: Any, found: _Found) -> Iterator[Remark]:
    if not isinstance(arguments, dict):
        yield Remark("shape", {"key": shape.main, "tool": shape.tool})
    elif found.path != (shape.main,):
        yield Remark("key", {"asked": echo(".".join(found.path)), "key": shape.main, "tool": shape.tool})
    elif arguments[shape.main] != found.text:
        yield Remark("value", {"key": shape.main, "value": echo(found.text), "tool": shape.tool})


# The optional arguments ---------------------------------------------------------------------------------------


def _option(
    shape: Shape,
    key: str,
    schema: Mapping[str, Any],
    places: Sequence[Mapping[str, Any]],
    aliases: Aliases,
    read: dict[str, Any],
    used: set[str],
    remarks: list[Remark],
) -> None:
    taken = {shape.main, *shape.options, *shape.hidden} - {key}
    for place in places:
        for name in _keys_for(key, place, aliases):
            if name in used or name in taken:
                continue
            value = _fitted(place[name], schema)
            if value is None:
                if place[name] is None:
                    used.add(name)  # clients send null for what they leave out
                continue
            used.add(name)
            read[key] = value
            about = {"asked": echo(name), "key": key, "value": echo(_plain(value)), "tool": shape.tool}
            if key in shape.hidden:
                remarks.append(Remark("hidden", about))
            elif name != key or place is not places[-1]:
                remarks.append(Remark("option", about))
            elif type(value) is not type(place[name]) or value != place[name]:
                remarks.append(Remark("value", about))
            return


def _fitted(value: Any, schema: Mapping[str, Any]) -> Any:
    """Return a value as a schema has it, within its bounds; None if it cannot be made so."""
    kind = schema.get("type")
    if kind in ("array", "object") and isinstance(value, str) and (inner := _decoded(value.strip())) is not None:
        value = inner
    if kind == "integer":
        if isinstance(value, str) and re.fullmatch(r"\s*-?\d{1,15}\s*", value):
            value = int(value)
        if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
            value = int(value)
        if not isinstance(value, int) or isinstance(value, bool):
            return None
        value = min(value, schema.get("maximum", value))
        return max(value, schema.get("minimum", value))
    if kind == "boolean":
        words = {"true": True, "false": False}
        return value if isinstance(value, bool) else words.get(value.lower()) if isinstance(value, str) else None
    if kind == "string":
        if isinstance(value, list) and len(value) == 1:
            value = value[0]
        if isinstance(value, int | float) and not isinstance(value, bool):
            value = _number(value)
        known = isinstance(value, str) and value.strip() and value in schema.get("enum", (value,))
        return value if known else None
    if kind == "array":
        items = schema.get("items", {})
        fitted = [_fitted(item, items) for item in (value if isinstance(value, list) else [value])]
        if "enum" in items:  # what is known of several is better than nothing
            fitted = [item for item in fitted if item is not None]
        return fitted if fitted and None not in fitted else None
    if kind == "object":
        return value if isinstance(value, dict) else None
    return value


# What is left over --------------------------------------------------------------------------------------------


def _leftover(shape: Shape, arguments: Any, used: Iterable[str], found: _Found | None = None) -> Iterator[Remark]:
    objects = [one for one in (arguments, *(found.places if found else ())) if isinstance(one, dict)]
    used = set(used)
    ignored = list(dict.fromkeys(key for one in objects for key in one if key not in used))
    if found is None:
        ignored = [key for key in ignored if key != shape.main]
    if ignored:
        yield Remark("ignored", {"keys": shown_keys(ignored), "tool": shape.tool})


def shown_keys(keys: Sequence[str]) -> str:
    """Return a caller's words as a list to be repeated to them: the first of many, each on one line and shortened.

    >>> shown_keys(["limt", "a\\nb"])
    'limt, a b'
    """
    return ", ".join([*map(echo, keys[:NAMED]), *(["…"] if len(keys) > NAMED else [])])


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
