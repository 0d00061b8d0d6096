"""The documentation is whole: every command, option, key, public name and statement is described, and the README's
generated parts are what the package says now. With CATALOG_SEARCH_UPDATE=1 those parts are written anew."""

from __future__ import annotations

import ast
import inspect
import os
import re
import tomllib
from pathlib import Path

import click
import pytest
from test_imports import LAYERS, MODULES

import catalog_search
from catalog_search import settings, vocabulary
from catalog_search.cli import main

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
UPDATE = bool(os.environ.get("CATALOG_SEARCH_UPDATE"))
pytestmark = pytest.mark.xdist_group("tour")


def walk(command: click.Command, name: str) -> list[tuple[str, click.Command]]:
    """Return a command and those below it, with their full names, in the order of use."""
    found = [(name, command)]
    if isinstance(command, click.Group):
        for word, one in command.commands.items():
            found += walk(one, f"{name} {word}")
    return found


COMMANDS = walk(main, "catalog-search")


def help_of(name: str, command: click.Command) -> str:
    context = click.Context(command, info_name=name, terminal_width=100, max_content_width=100)
    context.help_option_names = ["-h", "--help"]
    return command.get_help(context)


def first_line(name: str) -> str:
    doc = ast.get_docstring(ast.parse(MODULES[name].read_text("utf-8")))
    assert doc, name
    return doc.splitlines()[0].rstrip(".:")


def commands_text() -> str:
    return "\n\n".join(f"```text\n$ {name} --help\n{help_of(name, command)}\n```" for name, command in COMMANDS)


def modules_text() -> str:
    names = [name for name in LAYERS if name != "__main__"]
    width = max(map(len, names))
    return "```text\n" + "\n".join(f"{name:<{width}}  {first_line(name)}" for name in names) + "\n```"


@pytest.mark.parametrize(("part", "text"), [("commands", commands_text), ("modules", modules_text)])
def test_the_generated_parts_of_the_readme_are_current(part: str, text: object) -> None:
    made = text()  # type: ignore[operator]
    readme = README.read_text("utf-8")
    pattern = re.compile(rf"(<!-- {part}: made by tests/test_docs.py -->\n)(.*?)(<!-- end -->)", re.S)
    (found,) = pattern.findall(readme)
    if UPDATE:
        README.write_text(pattern.sub(lambda match: f"{match[1]}{made}\n{match[3]}", readme), "utf-8")
    else:
        # versions of click break lines in other places
        assert found[1].split() == made.split()


@pytest.mark.parametrize(("name", "command"), COMMANDS)
def test_every_command_and_option_is_in_the_readme(name: str, command: click.Command) -> None:
    readme = README.read_text("utf-8")
    assert name in readme
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert all(option in readme for option in parameter.opts)


def test_every_key_of_the_settings_is_in_the_readme() -> None:
    readme = README.read_text("utf-8")
    for section, keys in settings._KEYS.items():
        for key in keys:
            if key not in ("source", "documents") and section not in ("provenance", "documents.keywords"):
                assert f"`{section}.{key}`" in readme or f"`{key}`" in readme, key
    for key in (*settings._KEYS["provenance"], *settings.DUPLICATES, *settings.ON_BAD_ROW, "split"):
        assert f"`{key}`" in readme, key


def test_every_key_of_a_vocabulary_is_in_the_readme() -> None:
    readme = README.read_text("utf-8")
    for key in {*vocabulary._KEYS, *vocabulary._PAIR_KEYS, *vocabulary._LEFT_OUT_KEYS}:
        assert f"`{key}`" in readme, key


def test_the_readme_says_what_is_not_under_its_licence() -> None:
    readme = README.read_text("utf-8")
    assert "Unidecode](https://pypi.org/project/Unidecode/), which is GPL-2.0-or-later" in readme
    assert "`data/countries-pt` is data of iso-codes under LGPL-2.1-or-later" in readme
    assert "Licence\n\nMIT" in readme


def test_the_readme_names_files_that_exist() -> None:
    text = README.read_text("utf-8")
    for path in re.findall(r"`((?:data|sql|vocab|tests|\.ci)/[\w./-]*)`", text):
        assert (ROOT / path).exists(), path


def test_the_changes_name_the_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert f"## {project['version']}" in (ROOT / "CHANGELOG.md").read_text("utf-8")


@pytest.mark.parametrize("name", catalog_search.__all__)
def test_every_public_name_is_documented(name: str) -> None:
    value = getattr(catalog_search, name)
    assert value.__doc__, name
    assert not value.__doc__.startswith(f"{name}("), "dataclasses write one of their own"
    if not inspect.isclass(value):
        return
    for member, function in vars(value).items():
        if not member.startswith("_") and (
            inspect.isfunction(function) or isinstance(function, (property, classmethod))
        ):
            assert inspect.getdoc(function), f"{name}.{member}"


@pytest.mark.parametrize("name", MODULES)
def test_every_module_says_what_it_holds(name: str) -> None:
    doc = ast.get_docstring(ast.parse(MODULES[name].read_text("utf-8")))
    assert doc
    assert len(doc.splitlines()[0]) <= 118


@pytest.mark.parametrize("path", sorted((ROOT / "sql").rglob("*.sql")), ids=lambda path: path.stem)
def test_every_statement_says_what_it_gives(path: Path) -> None:
    assert re.match(r"-- [A-Z].*[.,:]?", path.read_text("utf-8")), path


WORKING_WORDS = re.compile(r"/work/|/tmp/|issue #?\d|ticket|\bTODO\b|\bFIXME\b|\bXXX\b|as an AI", re.I)


def test_the_files_hold_no_notes_of_how_they_were_made() -> None:
    paths = [*MODULES.values(), *(ROOT / "sql").rglob("*.sql"), README, ROOT / "CHANGELOG.md"]
    for path in paths:
        found = WORKING_WORDS.search(path.read_text("utf-8"))
        assert not found, f"{path}: {found and found[0]}"
