"""The official conformance suite of MCP passes over HTTP, but for what tests/conformance names with a reason.

npm brings it: see node.py.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import yaml
from node import modules, newer_node, run
from support import built
from wires import over_http

CONFORMANCE = Path(__file__).parent / "conformance"
VERSIONS = ["2025-11-25", "2026-07-28"]
MUST_PASS = {
    "2025-11-25": {"server-initialize", "server-session-lifecycle", "ping", "tools-list", "dns-rebinding-protection"},
    "2026-07-28": {"tools-list", "dns-rebinding-protection", "http-header-validation"},
}
SUITE_SECONDS = 300


def expected(version: str) -> set[str]:
    return set(yaml.safe_load((CONFORMANCE / f"{version}.yml").read_text("utf-8"))["server"])


@pytest.mark.parametrize("version", VERSIONS)
def test_each_expected_failure_has_its_reason(version: str) -> None:
    lines = (CONFORMANCE / f"{version}.yml").read_text("utf-8").splitlines()
    entries = [line for line in lines if line.startswith("  - ")]
    assert len(entries) == len(expected(version)) > 20
    assert all(len(line.partition("# ")[2].split()) > 1 for line in entries)
    assert not expected(version) & MUST_PASS[version]


@pytest.mark.parametrize("version", VERSIONS)
def test_the_conformance_suite_passes(version: str, tmp_path: Path) -> None:
    suite = modules() / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
    node = newer_node()
    rows = [{"id": str(n), "title": f"Wages {n}"} for n in range(20)]
    built(rows, to=tmp_path / "wages.db")
    with over_http(str(tmp_path / "wages.db")) as wire:
        options = ["--url", f"http://{wire.address}/mcp", "--suite", "all", "--spec-version", version]
        options += ["--expected-failures", str(CONFORMANCE / f"{version}.yml"), "-o", str(tmp_path / "checks")]
        environment = os.environ | {"HOME": str(tmp_path)}
        done = run([node, str(suite), "server", *options], seconds=SUITE_SECONDS, cwd=tmp_path, env=environment)
    said = done.stdout[done.stdout.find("=== SUMMARY") :]
    assert done.returncode == 0, said + done.stderr
    assert all(f"✓ {name}: " in said for name in MUST_PASS[version]), said
