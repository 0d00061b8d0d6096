"""What a command writes over: a file is replaced at once, what is no file or not of its kind stays as it is."""

from __future__ import annotations

import os
import socket
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from support import built

from catalog_search import DatabaseError, build
from catalog_search.cli import main
from catalog_search.export import export_d1
from catalog_search.worker import MARKS, export_worker

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="links, pipes and permissions of POSIX")
SETTINGS = {"name": "tested", "language": "en", "documents": {"id": "{id}", "title": "{title}"}}


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(built([{"id": "1", "title": "Wages"}], to=tmp_path_factory.mktemp("written") / "a.db").path)


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder with a short path, as sockets need it."""
    with tempfile.TemporaryDirectory() as made:
        yield Path(made)


# Each writes to a folder; the name is of a file that it writes there.
WRITERS: dict[str, tuple[Callable[[Path, Path], object], str]] = {
    "build": (lambda _, folder: build(SETTINGS, folder / "x.db", records=[{"id": "1", "title": "A"}]), "x.db"),
    "export d1": (lambda database, folder: export_d1(database, folder / "x.sql"), "x.sql"),
    "export d1 --parts": (lambda database, folder: export_d1(database, folder / "x.sql", parts=True), "x.data.sql"),
    "export d1 --since": (lambda database, folder: export_d1(database, folder / "x.sql", since=database), "x.sql"),
    **{f"export worker, {name}": (export_worker, name) for name in MARKS},
}


def pipe(path: Path) -> None:
    os.mkfifo(path)


def link_to_a_pipe(path: Path) -> None:
    os.mkfifo(path.with_name("pipe"))
    path.symlink_to("pipe")


def listening(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(path))


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("make", [pipe, link_to_a_pipe, listening, Path.mkdir])
def test_what_is_no_file_is_refused_and_stays(
    database: Path, folder: Path, writer: str, make: Callable[[Path], None]
) -> None:
    write, name = WRITERS[writer]
    make(folder / name)
    before = {path.name: os.lstat(path).st_mode for path in folder.iterdir()}
    with pytest.raises(DatabaseError):
        write(database, folder)
    assert {path.name: os.lstat(path).st_mode for path in folder.iterdir()} == before


@pytest.mark.parametrize("writer", WRITERS)
def test_a_link_stays_one_permissions_stay_and_nothing_else_is_touched(
    database: Path, folder: Path, writer: str
) -> None:
    write, name = WRITERS[writer]
    write(database, folder)
    (folder / "elsewhere").mkdir()
    real = folder / "elsewhere" / "real"
    (folder / name).rename(real)
    wanted = real.read_bytes()
    real.write_bytes(wanted + b"\n")
    real.chmod(0o640)
    (folder / name).symlink_to(real)
    for path in (folder / f"{name}.part", folder / "elsewhere" / "real.part"):
        path.write_text("the user's")
    if writer == "build":
        real.write_bytes(wanted)
    write(database, folder)
    assert (folder / name).is_symlink()
    assert real.read_bytes() == wanted
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert sorted(path.name for path in real.parent.iterdir()) == ["real", "real.part"]
    assert {path.read_text() for path in folder.rglob("*.part")} == {"the user's"}


@pytest.mark.parametrize("name", MARKS)
@pytest.mark.parametrize("content", [b"", b"# My own\n", b"\xff\xfe\x00", b"SQLite format 3\0"])
def test_a_folder_with_files_of_others_gets_no_worker(database: Path, folder: Path, name: str, content: bytes) -> None:
    (folder / name).write_bytes(content)
    with pytest.raises(DatabaseError, match=rf"{name} there: not of “catalog-search export worker”"):
        export_worker(database, folder)
    assert [(path.name, path.read_bytes()) for path in folder.iterdir()] == [(name, content)]


def test_a_worker_is_written_over_one_of_an_older_edition(database: Path, folder: Path) -> None:
    export_worker(database, folder)
    (folder / "wrangler.jsonc").write_text("mine")
    newer = built([{"id": "2", "title": "Prices"}], to=folder / "newer.db", name="newer")
    export_worker(newer.path, folder)
    assert "Prices" in (folder / "seed.sql").read_text()
    assert (folder / "wrangler.jsonc").read_text() == "mine"


@pytest.mark.parametrize("command", ["d1", "worker"])
def test_standard_output_is_refused_as_a_target(
    database: Path, tmp_path: Path, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(main, ["export", command, str(database), "-o", "-"])
    assert done.exit_code == 2
    assert "nothing is written to standard output" in done.stderr
    assert list(tmp_path.iterdir()) == []
