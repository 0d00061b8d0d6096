"""What is shipped: the wheel and the sdist hold the tree's files, all of them and no others."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
IGNORED = shutil.ignore_patterns(
    ".*", "__pycache__", "*.egg-info", "build", "dist", "node_modules", "*.db", "*.pyc", "*.log"
)
PARTS = {"catalog_search": "catalog_search", "sql": "catalog_search/sql", "vocab": "catalog_search/vocab"}
pytestmark = pytest.mark.skipif(not (ROOT / "catalog_search").is_dir(), reason="the sources are not here")


def files(folder: Path) -> set[str]:
    return {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the tree, so that building leaves nothing in it."""
    copy = tmp_path_factory.mktemp("tree") / "catalog-search"
    shutil.copytree(ROOT, copy, ignore=IGNORED)
    shutil.copytree(ROOT / ".ci", copy / ".ci")
    return copy


@pytest.fixture(scope="module")
def built(tree: Path) -> Path:
    dist = tree.parent / "dist"
    command = [sys.executable, "-m", "build", "--outdir", str(dist), str(tree)]
    said = subprocess.run(command, capture_output=True, text=True)
    assert said.returncode == 0, said.stdout[-3_000:] + said.stderr[-3_000:]
    return dist


def test_the_wheel_holds_exactly_the_files_of_the_package(built: Path, tree: Path) -> None:
    (wheel,) = built.glob("*.whl")
    assert wheel.name.endswith("-py3-none-any.whl")
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
        (top_level,) = (name for name in archive.namelist() if name.endswith(".dist-info/top_level.txt"))
        assert archive.read(top_level).split() == [b"catalog_search"]
        (licence,) = (name for name in archive.namelist() if name.endswith("licenses/LICENSE"))
        assert archive.read(licence).startswith(b"MIT License")
    expected = {f"{inside}/{name}" for part, inside in PARTS.items() for name in files(tree / part)}
    assert held == expected
    assert "catalog_search/py.typed" in held
    assert any(name.startswith("catalog_search/sql/query/") for name in held)
    assert {"catalog_search/vocab/languages/pt-BR.yaml", "catalog_search/vocab/contract.yaml"} <= set(held)


def test_the_sdist_holds_the_tree(built: Path, tree: Path) -> None:
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        held = {member.name.partition("/")[2] for member in archive.getmembers() if member.isfile()}
    generated = {name for name in held if ".egg-info/" in name} | {"PKG-INFO", "setup.cfg"}
    assert held - generated == {name for name in files(tree) if ".egg-info/" not in name}


def test_the_metadata_says_what_is_needed(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        metadata = archive.read(name).decode()
    needed = {
        line.split(":", 1)[1].split(">")[0].strip()
        for line in metadata.splitlines()
        if line.startswith("Requires-Dist") and "extra" not in line
    }
    assert {one.split("<")[0].lower() for one in needed} == {
        "click",
        "jsonschema",
        "markdown-it-py",
        "mcp",
        "pyyaml",
        "sqlite-utils",
        "unidecode",
    }
    assert "License-Expression: MIT" in metadata
    assert "# catalog-search" in metadata
