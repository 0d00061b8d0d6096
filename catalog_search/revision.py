"""The revision of a folder that git keeps: its commit, which files are of it, and which have changed since.

Git is asked, not read: it alone knows its work trees, packed names and ignored files. Nothing is written.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import NamedTuple

from catalog_search.errors import SourceError

SECONDS = 60
"""How long git may take to answer."""

# No index is refreshed on disk, and no watcher is started that a repository's configuration may name.
_QUIET = ("-c", "core.fsmonitor=false", "--no-optional-locks")
# A hook has these in its environment: they lead to the repository it belongs to, whatever the folder is.
_OF_A_REPOSITORY = {
    "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY",
    "GIT_NAMESPACE",
}  # fmt: skip
_REMEDY = "state it with provenance: {revision: …} instead"


class Revision(NamedTuple):
    """A commit; `files` are those of the folder that git keeps, `changed` those that differ from the commit.

    Paths are relative to the folder, with / between their parts.
    """

    commit: str
    files: frozenset[str]
    changed: frozenset[str]


def read_revision(folder: Path) -> Revision:
    """Return the revision of a folder.

    Raises:
        SourceError: git is not there, the folder is in no work tree, or there is no commit yet.
    """
    _git(folder, "rev-parse", "--show-toplevel")
    try:
        commit = _git(folder, "rev-parse", "--verify", "HEAD^{commit}").decode("ascii").strip()
    except SourceError:
        said = f"git has no commit yet, so that there is no revision; commit, or {_REMEDY}"
        raise SourceError(said, path=folder) from None
    files = _git(folder, "ls-files", "-z", "--cached")
    options = ("-z", "--name-only", "--relative", "--no-ext-diff", "--no-textconv", "--no-renames")
    changed = _git(folder, "diff", *options, "HEAD", "--", ".")
    return Revision(commit, _names(files), _names(changed))


def _git(folder: Path, *arguments: str) -> bytes:
    environment = {name: value for name, value in os.environ.items() if name not in _OF_A_REPOSITORY}
    try:
        said = subprocess.run(
            ["git", *_QUIET, *arguments], cwd=folder, env=environment | {"LC_ALL": "C"},
            stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS,
        )  # fmt: skip
    except FileNotFoundError:
        raise SourceError(f"source.revision is git, and there is no command git; {_REMEDY}", path=folder) from None
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise SourceError(f"git cannot be asked for the revision: {problem}; {_REMEDY}", path=folder) from None
    if said.returncode:
        reason = " ".join(said.stderr.decode("utf-8", "replace").split())[:200].removeprefix("fatal: ")
        if "not a git repository" in reason:
            reason = "the folder is in no work tree of git"
        raise SourceError(f"source.revision is git, and {reason}; {_REMEDY}", path=folder)
    return said.stdout


def _names(listed: bytes) -> frozenset[str]:
    return frozenset(os.fsdecode(name) for name in listed.split(b"\0") if name)
