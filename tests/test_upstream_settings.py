"""The settings of a front: what each one is from a file and from the environment, and how each wrong one is refused."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner
from support import cases

from catalog_search import SettingsError
from catalog_search.cli import main
from catalog_search.server.hosts import Address
from catalog_search.server.upstream_settings import (
    KEYS,
    OPTIONS,
    PREFIX,
    Optional,
    Target,
    UpstreamSettings,
    load_upstream,
)

URL = "http://127.0.0.1:9000/mcp"
WRONG = cases("front_settings")
SOUND: dict[str, tuple[Any, str, str, Any]] = {
    # key: (in the file, in the environment, field, what it is)
    "upstream": ("https://example.org/a?b=c#d", "https://example.org/a?b=c#d", "target",
                 Target("https://example.org/a?b=c")),
    "listen": ("localhost:1234", "localhost:1234", "listen", Address("localhost", 1234)),
    "tools": (["web_search", "find"], "web_search, find", "tools", ("web_search", "find")),
    "canonical_tool": ("find", "find", "canonical_tool", "find"),
    "canonical_param": ("question", "question", "canonical_param", "question"),
    "query_aliases": (["pergunta", "frage"], "pergunta,frage", "query_aliases", ("pergunta", "frage")),
    "optional_aliases": (
        {"limit": {"type": "integer", "aliases": ["n"]}, "language": ["lang"], "region": None},
        "{limit: {type: integer, aliases: [n]}, language: [lang], region: }",
        "optional_aliases",
        {"limit": Optional("integer", ("n",)), "language": Optional(None, ("lang",)), "region": Optional()},
    ),
    "target_tool": ("vendor.search", "vendor.search", "target_tool", "vendor.search"),
    "target_param": ("q", "q", "target_param", "q"),
    "log_level": ("WARNING", "WARNING", "log_level", "warning"),
}  # fmt: skip


def written(folder: Path, values: Mapping[str, Any]) -> Path:
    path = folder / "front.yaml"
    path.write_text(yaml.safe_dump(dict(values), allow_unicode=True, sort_keys=False), "utf-8")
    return path


def variables(values: Mapping[str, str]) -> dict[str, str]:
    return {PREFIX + key.upper(): value for key, value in values.items()}


def test_every_setting_is_tried() -> None:
    assert SOUND.keys() == set(KEYS)
    assert {field for _, _, field, _ in SOUND.values()} == {one.name for one in fields(UpstreamSettings)}
    tried = {key for case in WRONG for key in (case.get("file") or {})}
    assert set(KEYS) <= tried


@pytest.mark.parametrize("key", SOUND)
def test_a_setting_of_the_file_is_what_it_says(key: str, tmp_path: Path) -> None:
    in_file, _, field, value = SOUND[key]
    found = load_upstream(written(tmp_path, {"upstream": URL, key: in_file}), {})
    assert getattr(found, field) == value


@pytest.mark.parametrize("key", SOUND)
def test_a_setting_of_the_environment_comes_before_that_of_the_file(key: str, tmp_path: Path) -> None:
    _, in_environment, field, value = SOUND[key]
    path = written(tmp_path, {"upstream": URL, "listen": "127.0.0.1:1", "target_tool": "other", "log_level": "error"})
    assert getattr(load_upstream(path, variables({key: in_environment})), field) == value
    assert getattr(load_upstream(None, variables({"upstream": URL, key: in_environment})), field) == value


def test_what_the_command_line_says_comes_before_all() -> None:
    environment = variables({"upstream": URL, "tools": "web_search", "log_level": "error"})
    given = {"upstream": "http://[::1]:1/x", "tools": "web_search,look", "log_level": "debug", "listen": "8080"}
    found = load_upstream(None, environment, given)
    assert (found.target.url, found.tools, found.log_level) == ("http://[::1]:1/x", ("web_search", "look"), "debug")
    assert found.listen == Address("127.0.0.1", 8080)


def test_an_address_alone_is_enough_for_a_server_with_the_contracts_search() -> None:
    assert load_upstream(None, variables({"upstream": URL})) == UpstreamSettings(Target(URL))
    assert UpstreamSettings(Target(URL)).listen is None


def test_a_canonical_tool_alone_is_the_only_one() -> None:
    assert load_upstream(None, variables({"upstream": URL, "canonical_tool": "find"})).tools == ("find",)


def test_a_command_is_read_as_a_shell_would() -> None:
    found = load_upstream(None, variables({"upstream": "stdio:sh -c 'exec true' x"}))
    assert found.target.command == ("sh", "-c", "exec true", "x")


@pytest.mark.parametrize("case", WRONG, ids=lambda case: case["name"])
def test_a_wrong_setting_is_said_with_its_place(case: dict[str, Any], tmp_path: Path) -> None:
    path = written(tmp_path, {"upstream": URL} | case["file"]) if "file" in case else None
    environment = variables({"upstream": URL} | case.get("env", {}))
    if "file" in case:
        environment = {}
    with pytest.raises(SettingsError) as caught:
        load_upstream(path, environment)
    for words in case["says"]:
        assert words in str(caught.value), str(caught.value)


def test_a_missing_upstream_is_said(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="is missing; give the address of an MCP server"):
        load_upstream(written(tmp_path, {"target_tool": "x"}), {})


def run(*arguments: str, **environment: str) -> Any:
    return CliRunner().invoke(main, ["serve", *arguments], env=environment)


@pytest.mark.parametrize("arguments", [["--config", "nowhere.yaml"], ["--config", "nowhere.yaml", "--upstream", URL]])
def test_a_named_file_that_is_not_there_is_an_error(arguments: list[str]) -> None:
    said = run(*arguments)
    assert (said.exit_code, said.output) == (1, "Error: nowhere.yaml: no such file\n")


def test_a_wrong_setting_ends_the_command_with_one_message(tmp_path: Path) -> None:
    path = written(tmp_path, {"upstream": URL, "listen": "0.0.0.0:1"})
    said = run("--config", str(path))
    assert said.exit_code == 1
    assert said.output.startswith(f"Error: {path}, line 2, key listen: “0.0.0.0:1” is not the loopback")
    assert said.output.count("\n") == 1
    for environment in ({"LOG_LEVEL": "loud"}, {"HTTP": "0.0.0.0:1"}, {"TOOLS": "look"}, {"UPSTREAM": "x"}):
        said = (
            run("--upstream", URL, **variables(environment))
            if "UPSTREAM" not in environment
            else run(**variables(environment))
        )
        assert said.exit_code == 1, said.output
        assert said.output.startswith("Error: ") and said.output.count("\n") == 1


def test_the_variables_that_are_known_are_the_commands_own() -> None:
    assert set(OPTIONS) == {one.name for one in main.commands["serve"].params}


@pytest.mark.parametrize("arguments", [["--upstream", URL], ["nowhere.db"]])
def test_a_variable_that_means_nothing_is_an_error_whatever_is_served(arguments: list[str]) -> None:
    said = run(*arguments, CATALOG_SEARCH_SERVE_LOCAL="pt")
    assert said.exit_code == 1
    assert said.output == (
        "Error: key CATALOG_SEARCH_SERVE_LOCAL: there is no such variable. "
        'Did you mean "CATALOG_SEARCH_SERVE_LOCALE"?\n'
    )
    said = run(*arguments, CATALOG_SEARCH_SERVE_TOOLS="")
    assert said.output == "Error: key CATALOG_SEARCH_SERVE_TOOLS: is empty; unset it or give it a value\n"


@pytest.mark.parametrize(
    "option",
    ["x.db", "--strict", "--anonymous", "--qualified-ids", "--locale=pt", "--log-queries=x", "--allow-host=x"],
)
def test_what_is_for_catalogues_is_refused_beside_an_upstream(option: str) -> None:
    said = run(option, "--upstream", URL)
    assert said.exit_code == 1
    assert "is for catalogues; with --upstream there is none" in said.output


def test_wrong_settings_are_said_before_the_sdk_is_loaded() -> None:
    code = (
        "import sys; from catalog_search.cli import main\n"
        "try: main(['serve', '--upstream', 'x'])\n"
        "except SystemExit as end: print(end.code, 'mcp' in sys.modules, 'httpx2' in sys.modules)"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=dict(os.environ))
    assert said.stdout.split() == ["1", "False", "False"], said.stderr
