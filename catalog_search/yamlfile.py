"""YAML with line numbers: the one door to yaml.

Everything is read as text: `007`, `1E10`, `yes`, `2026-10-01` and `no` stay what the file says. Two values
keep a meaning of their own where a reader asks for it: see `is_null` and `as_bool`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from catalog_search.errors import CatalogSearchError

if TYPE_CHECKING:
    import yaml


class Mapping(dict[str, Any]):
    """A YAML mapping that knows the file's line of itself (`line`) and of each key (`lines[key]`).

    `spans[key]` is where the value of a key stands in the text, its quotation marks included: start and end.
    """

    line: int
    lines: dict[str, int]
    spans: dict[str, tuple[int, int]]


class Sequence(list[Any]):
    """A YAML list that knows its line (`line`) and the line of each item (`lines[index]`)."""

    line: int
    lines: list[int]


def read(path: str | Path, error: type[CatalogSearchError]) -> Mapping:
    """Read a YAML file whose top level is a mapping.

    Args:
        path: the file.
        error: the class to raise, so that a caller's reader sees its own kind of error.

    Raises:
        error: the file is missing, is not UTF-8, is not YAML, repeats a key, or is not a mapping.
    """
    try:
        text = Path(path).read_text("utf-8-sig")
    except FileNotFoundError:
        raise error("no such file", path=path) from None
    except OSError as problem:
        raise error(f"cannot be read: {problem.strerror or problem}", path=path) from None
    except UnicodeDecodeError as problem:
        line = problem.object.count(b"\n", 0, problem.start) + 1
        raise error(
            f"byte 0x{problem.object[problem.start]:02x} is not UTF-8; save the file as UTF-8",
            path=path,
            line=line,
        ) from None
    return parse(text, error, path=path)


def parse(text: str, error: type[CatalogSearchError], path: object = None) -> Mapping:
    """Parse YAML text whose top level is a mapping; see `read`.

    >>> parse("id: 007\\nfacets: [a, b]", CatalogSearchError)
    {'id': '007', 'facets': ['a', 'b']}
    """
    import yaml  # only those who read a file pay for it: a search does not

    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as problem:
        mark = problem.problem_mark or problem.context_mark
        what = " ".join(str(part) for part in (problem.context, problem.problem) if part)
        raise error(f"not YAML: {what}", path=path, line=mark.line + 1 if mark else None) from None
    except yaml.YAMLError as problem:
        raise error(f"not YAML: {' '.join(str(problem).split())}", path=path) from None
    except RecursionError:
        raise error("not readable: it is nested too deeply", path=path) from None
    if node is None:
        raise error("the file is empty", path=path)
    # a file without aliases has fewer values than this; with them a few lines can mean millions
    value = _construct(node, error, path, 0, iter(range(2 * len(text) + 10)))
    if not isinstance(value, Mapping):
        raise error("the top level must be a mapping (key: value)", path=path, line=1)
    return value


def is_null(value: object) -> bool:
    """Tell whether a value is absent: an empty plain scalar, `~` or `null`."""
    return value is None


def as_bool(value: object) -> bool | None:
    """Return the truth value that the words true and false stand for, None for any other value."""
    return {"true": True, "false": False}.get(str(value).strip().lower())


def _construct(
    node: yaml.Node, error: type[CatalogSearchError], path: object, depth: int, budget: Iterator[int]
) -> Any:
    if depth > 50:
        raise error("nested too deeply", path=path, line=node.start_mark.line + 1)
    if next(budget, None) is None:
        raise error("aliases (*name) repeat too much of the file; write the values out", path=path)
    import yaml

    if isinstance(node, yaml.ScalarNode):
        return None if node.tag == "tag:yaml.org,2002:null" else node.value
    if isinstance(node, yaml.SequenceNode):
        items = Sequence(_construct(item, error, path, depth + 1, budget) for item in node.value)
        items.line = node.start_mark.line + 1
        items.lines = [item.start_mark.line + 1 for item in node.value]
        return items
    mapping = Mapping()
    mapping.line = node.start_mark.line + 1
    mapping.lines = {}
    mapping.spans = {}
    for key_node, value_node in node.value:
        line = key_node.start_mark.line + 1
        if not isinstance(key_node, yaml.ScalarNode):
            raise error("a key must be a plain word", path=path, line=line)
        key = str(key_node.value)
        if key in mapping:
            raise error("the key is given twice", path=path, line=line, key=key)
        mapping[key] = _construct(value_node, error, path, depth + 1, budget)
        mapping.lines[key] = line
        mapping.spans[key] = (value_node.start_mark.index, value_node.end_mark.index)
    return mapping
