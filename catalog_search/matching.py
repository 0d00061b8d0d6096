"""Regular expressions of strangers, matched within a time limit.

Python's `re` can try for ever and cannot be stopped from outside while it does. So a child process matches, with a
limit of its own on processor time and memory, and is ended when the time is up. Only a schema with patterns needs one.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

from catalog_search.errors import QueryError

if TYPE_CHECKING:
    from collections.abc import Iterable

SECONDS = 1
"""Processor time for all patterns of a schema on all texts."""
WAIT = 10.0
"""Seconds until the child is ended in any case: it may have to wait for a processor."""
MEMORY = 512 * 1024 * 1024

_PROGRAM = """
import json, re, sys
try:
    import resource
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
except (ImportError, ValueError, OSError):
    pass
patterns, texts = json.load(sys.stdin)
print(json.dumps([[bool(re.search(pattern, text)) for text in texts] for pattern in patterns]))
""".replace("SECONDS", str(SECONDS)).replace("MEMORY", str(MEMORY))


def matches(patterns: Iterable[str], texts: Iterable[str]) -> set[tuple[str, str]]:
    """Return those pairs of a pattern and a text in which the pattern is found.

    Raises:
        QueryError: it takes more than SECONDS of processor time; no process can be started.

    >>> sorted(matches(["^a", "b$"], ["ab", "b"]))
    [('^a', 'ab'), ('b$', 'ab'), ('b$', 'b')]
    """
    patterns, texts = list(dict.fromkeys(patterns)), list(dict.fromkeys(texts))
    if not patterns or not texts:
        return set()
    command = [sys.executable, "-I", "-S", "-c", _PROGRAM]
    try:
        said = subprocess.run(
            command, input=json.dumps([patterns, texts]).encode(), capture_output=True, timeout=WAIT, check=True
        )
    except (subprocess.TimeoutExpired, subprocess.CalledProcessError):
        raise QueryError(
            f"the patterns of the schema take more than {SECONDS} s to match; make them simpler, or leave them out"
        ) from None
    except OSError as problem:
        raise QueryError(f"a schema with patterns cannot be used here: {problem.strerror}") from None
    table = json.loads(said.stdout)
    return {
        (pattern, text)
        for pattern, row in zip(patterns, table, strict=True)
        for text, found in zip(texts, row, strict=True)
        if found
    }
