"""The README's tour, run: every command prints what the README shows, and every client block starts a server.

It needs nothing but the installed package, README.md, data/ and vocab/. With CATALOG_SEARCH_UPDATE=1 the
outputs of commands are written into the README instead of compared.
"""

from __future__ import annotations

import doctest
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from catalog_search import Settings, Vocabulary
from catalog_search.server.configuration import load_configuration
from catalog_search.server.upstream_settings import KEYS, load_upstream

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
UPDATE = bool(os.environ.get("CATALOG_SEARCH_UPDATE"))
BLOCK = re.compile(r"^(`{3,})(\w+)\n(.*?)^\1$", re.M | re.S)
# What differs from one run, one version of SQLite, or one version of a language pack to the next.
VARYING = [
    (re.compile(r"(content.hash +)[0-9a-f]{32}"), r"\1…"),
    (re.compile(r"[\d,]+ bytes, [\d.]+ s$", re.M), "… bytes, … s"),
    (re.compile(r"^(\S+/[\w.]+: )[\d,]+ bytes$", re.M), r"\1… bytes"),
    (re.compile(r"^(bytes +)[\d,]+$", re.M), r"\1…"),
    (re.compile(r"\d+( statements?.*?)[\d,]+ bytes$", re.M), r"…\1… bytes"),
    (re.compile(r"[\d,]+( bytes of the free plan)"), r"…\1"),
]
pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="the tour is written for a POSIX shell"),
    pytest.mark.skipif(bool(os.environ.get("CATALOG_SEARCH_SQLITE")), reason="a child process has the system's SQLite"),
    pytest.mark.xdist_group("tour"),
]


def blocks(language: str) -> list[str]:
    return [text for _, found, text in BLOCK.findall(README.read_text("utf-8")) if found == language]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with data/ and vocab/ and, as after the first command of the tour, oecd.db."""
    folder = tmp_path_factory.mktemp("tour")
    for name in ("data", "vocab"):
        shutil.copytree(ROOT / name, folder / name)
    run("catalog-search build data/oecd/catalog.yaml -o oecd.db", folder)
    (folder / "oecd.db").rename(folder / "built.db")
    return folder


def run(command: str, folder: Path) -> str:
    """Run a command line of the shell, with the commands of this Python first; return what it printed."""
    path = f"{os.path.dirname(sys.executable)}{os.pathsep}{os.environ['PATH']}"
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment |= {"PATH": path, "PYTHONUTF8": "1"}
    said = subprocess.run(
        ["sh", "-c", command], cwd=folder, env=environment, capture_output=True, text=True, encoding="utf-8"
    )
    assert said.returncode == 0, said.stderr
    assert said.stderr == ""
    return said.stdout


def same(text: str) -> str:
    for pattern, replacement in VARYING:
        text = pattern.sub(replacement, text)
    return text.rstrip("\n")


def commands_of(block: str) -> list[tuple[str, str]]:
    """Return the command lines of a block, each with what is shown below it."""
    found = re.findall(r"^\$ ([^\n]*)\n(.*?)(?=^\$ |\Z)", block, re.M | re.S)
    assert "".join(f"$ {command}\n{shown}" for command, shown in found) == block
    return [(command, shown) for command, shown in found]


def test_the_tour_prints_what_it_shows(folder: Path) -> None:
    text = README.read_text("utf-8")
    seen = 0
    for block in blocks("console"):
        made = ""
        for command, shown in commands_of(block):
            seen += 1
            if "sqlite3 " in command and not shutil.which("sqlite3"):
                made += f"$ {command}\n{shown}"
                continue
            printed = run(command, folder)
            if not UPDATE:
                assert same(printed) == same(shown), command
            # What varies too: a content hash or a size of long ago would be wrong.
            made += f"$ {command}\n{printed.rstrip() + chr(10) + chr(10) if printed.strip() else ''}"
        if UPDATE:
            text = text.replace(f"console\n{block}```", f"console\n{made.rstrip()}\n```")
    if UPDATE:
        README.write_text(text, "utf-8")
    assert seen >= 12


def test_the_examples_in_python_give_what_they_show(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    if not Path("oecd.db").exists():
        shutil.copy("built.db", "oecd.db")
    text = "\n".join(blocks("pycon"))
    test = doctest.DocTestParser().get_doctest(text, {}, "README.md", "README.md", 0)
    assert len(test.examples) > 15
    said: list[str] = []
    results = doctest.DocTestRunner(verbose=False).run(test, out=said.append)
    assert not results.failed, "".join(said)


def test_the_settings_and_the_vocabulary_shown_are_right(tmp_path: Path) -> None:
    front, settings, vocabulary, serve = blocks("yaml")
    read = Settings.from_mapping(yaml.safe_load(settings))
    assert read.documents.priority is not None
    assert read.documents.priority.descending
    (tmp_path / "vocabulary.yaml").write_text(vocabulary, "utf-8")
    assert [pair.asked for pair in Vocabulary.load(tmp_path / "vocabulary.yaml").pairs] == ["labor", "cpi"]
    # What stands there for the token's digest is refused, so that nobody serves with it.
    digest = serve.replace("the-64-digits-that-sha256sum-prints-for-the-token", "0" * 64)
    assert digest != serve
    (tmp_path / "serve.yaml").write_text(digest, "utf-8")
    configuration = load_configuration(tmp_path / "serve.yaml")
    assert [token.collections for token in configuration.tokens] == [("oecd", "guide")]
    (tmp_path / "front.yaml").write_text(front, "utf-8")
    assert set(yaml.safe_load(front)) == set(KEYS)
    assert load_upstream(tmp_path / "front.yaml", {}).optional_aliases["language"].aliases == ("lang",)


def servers() -> list[tuple[str, list[str]]]:
    """Return the command lines of the client blocks, each with the key it stands under."""
    found: list[tuple[str, list[str]]] = []
    for block in blocks("json"):
        value: dict[str, Any] = json.loads(block)
        if value.keys() & {"mcpServers", "servers"}:
            ((key, named),) = value.items()
            ((name, server),) = named.items()
            assert name == "oecd"
            assert server.keys() <= {"type", "command", "args"}
            assert server.get("type", "stdio") == "stdio"
            found.append((key, [server["command"], *server["args"]]))
    for line in re.findall(r"`claude mcp add oecd -- ([^`]+)`", README.read_text("utf-8")):
        found.append(("claude mcp add", line.split()))
    return found


def test_each_client_is_shown() -> None:
    assert [key for key, _ in servers()] == ["mcpServers", "mcpServers", "servers", "claude mcp add"]
    assert "ChatGPT starts no programs: it needs a server at a public https address" in README.read_text("utf-8")


@pytest.mark.parametrize(("key", "command"), servers())
def test_the_command_line_of_a_client_starts_a_server(key: str, command: list[str], folder: Path) -> None:
    assert command == ["catalog-search", "serve", "/absolute/path/to/oecd.db"]
    program = shutil.which(command[0], path=os.path.dirname(sys.executable))
    assert program
    built = str(folder / "built.db")
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "tour", "version": "0"}}
    call = {"name": "search", "arguments": {"query": "labor force"}}
    messages = [
        {"id": 1, "method": "initialize", "params": hello},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/list"},
        {"id": 3, "method": "tools/call", "params": call},
    ]
    process = subprocess.Popen(
        [program, command[1], built], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
    )
    assert process.stdin is not None
    assert process.stdout is not None
    answers = {}
    for message in messages:
        process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        process.stdin.flush()
        while "id" in message and message["id"] not in answers:
            answer = json.loads(process.stdout.readline())
            answers[answer.get("id")] = answer
    process.stdin.close()
    assert process.wait() == 0
    process.stdout.close()
    assert [tool["name"] for tool in answers[2]["result"]["tools"]] == ["search", "fetch"]
    results = answers[3]["result"]["structuredContent"]["results"]
    assert results[0]["id"] == "DSD_LFS@DF_IALFS_LF_Q"
