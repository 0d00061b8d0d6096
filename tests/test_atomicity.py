"""Built or not built: however a build ends, the file at its target is the old one or the new one, whole and alone."""

from __future__ import annotations

import hashlib
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from catalog_search import Catalog, build
from catalog_search.errors import DatabaseError, SourceError
from catalog_search.scratch import Scratch

pytestmark = pytest.mark.skipif(
    bool(os.environ.get("CATALOG_SEARCH_SQLITE")), reason="a child process has the system's SQLite"
)

ROOT = Path(__file__).parent.parent
OECD = ROOT / "data" / "oecd" / "catalog.yaml"
COUNTRIES = ROOT / "data" / "countries-pt" / "catalog.yaml"
SETTINGS = {"name": "tested", "language": "en", "documents": {"id": "{id}", "title": "{title}"}}
COMMAND = [sys.executable, "-m", "catalog_search", "build"]


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture(scope="module")
def databases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """An old database, and the new one that a whole build of the OECD's dataflows writes."""
    folder = tmp_path_factory.mktemp("databases")
    build(SETTINGS, folder / "old.db", records=[{"id": "1", "title": "Old"}])
    build(OECD, folder / "new.db")
    return {"old": folder / "old.db", "new": folder / "new.db"}


@pytest.fixture
def target(databases: dict[str, Path], tmp_path: Path) -> Path:
    """A copy of the old database, alone in its folder."""
    (tmp_path / "out").mkdir()
    return Path(shutil.copy(databases["old"], tmp_path / "out" / "a.db"))


def rows(path: Path, count: int) -> Path:
    path.write_text("id,title\n" + "".join(f"{number},Wages of sector {number}\n" for number in range(count)))
    return path


# --- SIGKILL --------------------------------------------------------------------------------------------


def test_a_build_killed_at_any_moment_leaves_the_old_file_alone(databases: dict[str, Path], target: Path) -> None:
    old, new = sha256(databases["old"]), sha256(databases["new"])
    began = time.monotonic()
    subprocess.run([*COMMAND, OECD, "-o", target], check=True, stdout=subprocess.DEVNULL)
    duration = time.monotonic() - began
    assert sha256(target) == new
    chance = random.Random(2026)
    killed = 0
    left: list[str] = []
    for part in range(20):
        shutil.copy(databases["old"], target)
        child = subprocess.Popen([*COMMAND, OECD, "-o", target], stdout=subprocess.DEVNULL)
        try:
            child.wait((part + chance.random()) / 20 * duration)
        except subprocess.TimeoutExpired:
            child.kill()
        killed += child.wait() == -signal.SIGKILL
        # A machine that is faster this time has the new file in place before the moment comes; a whole file it is.
        assert sha256(target) in {old, new}, part
        left += [name for name in names(target.parent) if name != target.name]
    assert killed >= 5
    # Twice there is a name for less than a thousandth of a second, see catalog_search/scratch.py: a moment that
    # chance hits once in a hundred runs, and never twice.
    assert left in ([], [".a.db.build"])


# Where a build kills itself: the function of catalog_search.scratch or os that it is about to call, at which call.
STEPS = {
    "before its file is made": ("Scratch._take_name", 1, "old"),
    "before its file loses its name": ("Scratch.forget_name", 1, "old"),
    "before it is copied": ("Scratch._fill", 1, "old"),
    "before the copy has a name": ("Scratch._link", 1, "old"),
    "before the copy takes the old one's place": ("os.replace", 1, "old"),
    "after it": ("Scratch.close", 1, "new"),
}
KILLED = """
import os, signal, sys
from catalog_search import build, scratch
owner, _, name = sys.argv[3].partition(".")
owner = getattr(scratch, owner)
def kill(*args, **keys):
    os.kill(os.getpid(), signal.SIGKILL)
setattr(owner, name, kill)
build(sys.argv[1], sys.argv[2])
"""


@pytest.mark.parametrize("step", STEPS)
def test_a_build_killed_at_a_step_leaves_a_whole_file(step: str, databases: dict[str, Path], target: Path) -> None:
    function, _, left = STEPS[step]
    child = subprocess.run([sys.executable, "-c", KILLED, OECD, target, function])
    assert child.returncode == -signal.SIGKILL
    assert sha256(target) == sha256(databases[left])
    # Its name is there for two moments only, and is known; the next build takes it over.
    assert set(names(target.parent)) <= {"a.db", ".a.db.build"}
    build(OECD, target)
    assert sha256(target) == sha256(databases["new"])
    assert names(target.parent) == ["a.db"]


def test_what_an_unlucky_moment_left_is_taken_over(databases: dict[str, Path], target: Path) -> None:
    leftover = target.with_name(".a.db.build")
    leftover.write_bytes(os.urandom(50_000))
    build(OECD, target)
    assert sha256(target) == sha256(databases["new"])
    assert names(target.parent) == ["a.db"]


# --- disks ----------------------------------------------------------------------------------------------


def unshare(script: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run a script of the shell where it may mount."""
    command = ["unshare", "-rm", "sh", "-c", script, "sh", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, encoding="utf-8")


@pytest.fixture
def mounts(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    try:
        refused = unshare('mount -t tmpfs -o size=1m none "$1"', tmp_path / "disk").returncode
    except FileNotFoundError:
        refused = 1
    if refused:
        pytest.skip("unshare -rm with a mount is refused here; the limit on a file's size stands in for a full disk")


FULL = """
set -e
mount -t tmpfs -o size=1m none "$1"
cp "$2" "$1/a.db"
before=$(sha256sum <"$1/a.db")
status=0
export SQLITE_TMPDIR=${5:-$SQLITE_TMPDIR}
"$3" -m catalog_search build "$4" -o "${6:-$1/a.db}" || status=$?
echo "status $status"
[ "$before" = "$(sha256sum <"$1/a.db")" ] && echo unchanged
ls -A "$1"
"""


@pytest.mark.usefixtures("mounts")
def test_a_full_disk_leaves_the_old_file_alone(databases: dict[str, Path], tmp_path: Path) -> None:
    said = unshare(FULL, tmp_path / "disk", databases["old"], sys.executable, OECD)
    assert said.stdout.splitlines() == ["status 1", "unchanged", "a.db"], said
    assert "the disk is full; the old file is untouched" in said.stderr
    assert "Traceback" not in said.stderr


@pytest.mark.usefixtures("mounts")
def test_a_full_disk_of_temporary_files_leaves_the_old_file_alone(
    databases: dict[str, Path], target: Path, tmp_path: Path
) -> None:
    settings = tmp_path / "catalog.yaml"
    settings.write_text('name: a\nlanguage: en\nsource: {path: a.csv}\ndocuments: {id: "{id}", title: "{title}"}\n')
    rows(tmp_path / "a.csv", 60_000)
    said = unshare(FULL, tmp_path / "disk", databases["old"], sys.executable, settings, tmp_path / "disk", target)
    assert said.stdout.splitlines() == ["status 1", "unchanged", "a.db"], said
    assert "the disk is full; the old file is untouched" in said.stderr
    assert sha256(target) == sha256(databases["old"])
    assert names(target.parent) == ["a.db"]


LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[3]), int(sys.argv[3])))
from catalog_search.cli import main
main(["build", sys.argv[1], "-o", sys.argv[2]])
"""


@pytest.mark.parametrize("limit", [4_096, 100_000, 1_000_000, 3_000_000])
def test_a_limit_on_the_size_of_a_file_leaves_the_old_one_alone(
    limit: int, databases: dict[str, Path], target: Path
) -> None:
    command = [sys.executable, "-c", LIMITED, OECD, target, str(limit)]
    said = subprocess.run(command, capture_output=True, text=True, encoding="utf-8")
    assert said.returncode == 1, said
    assert said.stderr.startswith("Error: ")
    assert "the old file is untouched" in said.stderr
    assert sha256(target) == sha256(databases["old"])
    assert names(target.parent) == ["a.db"]


@pytest.mark.usefixtures("mounts")
def test_a_read_only_disk_is_one_message(databases: dict[str, Path], tmp_path: Path) -> None:
    script = FULL.replace("before=", 'mount -o remount,ro "$1"\nbefore=')
    said = unshare(script, tmp_path / "disk", databases["old"], sys.executable, OECD)
    assert said.stdout.splitlines() == ["status 1", "unchanged", "a.db"], said
    assert "a.db: cannot be written: Read-only file system" in said.stderr


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write to any folder")
def test_a_read_only_folder_is_one_message(databases: dict[str, Path], target: Path) -> None:
    target.parent.chmod(0o500)
    try:
        with pytest.raises(DatabaseError, match="cannot be written: Permission denied"):
            build(OECD, target)
        assert sha256(target) == sha256(databases["old"])
    finally:
        target.parent.chmod(0o700)


def test_a_folder_that_does_not_exist_is_one_message(tmp_path: Path) -> None:
    with pytest.raises(DatabaseError, match="cannot be written: No such file or directory"):
        build(OECD, tmp_path / "nowhere" / "a.db")
    assert names(tmp_path) == []


# --- targets --------------------------------------------------------------------------------------------


def test_a_folder_as_target_is_one_message(tmp_path: Path) -> None:
    (tmp_path / "a.db").mkdir()
    with pytest.raises(DatabaseError, match="is a folder; name the file"):
        build(OECD, tmp_path / "a.db")
    assert names(tmp_path) == ["a.db"]


def test_a_symbolic_link_stays_and_what_it_points_to_is_replaced(databases: dict[str, Path], target: Path) -> None:
    link = target.parent.parent / "link.db"
    link.symlink_to("out/a.db")
    build(OECD, link)
    assert os.readlink(link) == "out/a.db"
    assert sha256(target) == sha256(databases["new"])
    assert names(target.parent) == ["a.db"]


def test_a_link_to_nothing_makes_what_it_points_to(databases: dict[str, Path], tmp_path: Path) -> None:
    (tmp_path / "link.db").symlink_to("a.db")
    build(OECD, tmp_path / "link.db")
    assert names(tmp_path) == ["a.db", "link.db"]
    assert sha256(tmp_path / "a.db") == sha256(databases["new"])


def test_a_file_that_is_replaced_keeps_its_permissions(target: Path) -> None:
    target.chmod(0o640)
    build(OECD, target)
    assert target.stat().st_mode & 0o777 == 0o640


def test_readers_of_the_old_file_go_on_reading_it(target: Path) -> None:
    with Catalog.open(target) as catalog:
        build(OECD, target)
        assert catalog.fetch("1").title == "Old"
        assert catalog.search("labour").reason == "no_match"
    with Catalog.open(target) as catalog:
        assert catalog.search("labour").total


# --- errors in Python -----------------------------------------------------------------------------------


def broken_rows(error: Exception) -> Iterator[dict[str, str]]:
    yield {"id": "1", "title": "a"}
    raise error


@pytest.mark.parametrize("error", [ZeroDivisionError("a bug"), OSError("a network that is down")], ids=repr)
def test_an_error_of_the_records_is_the_callers_and_leaves_the_old_file(
    error: Exception, databases: dict[str, Path], target: Path
) -> None:
    with pytest.raises(type(error), match=str(error)):
        build(SETTINGS, target, records=broken_rows(error))
    assert sha256(target) == sha256(databases["old"])
    assert names(target.parent) == ["a.db"]


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_an_error_of_the_progress_leaves_the_old_file(
    error: type[BaseException], databases: dict[str, Path], target: Path
) -> None:
    def progress(share: float | None, count: int) -> None:
        raise error

    with pytest.raises(error):
        build(OECD, target, progress=progress)
    assert sha256(target) == sha256(databases["old"])
    assert names(target.parent) == ["a.db"]


@pytest.mark.parametrize("change", ["grows", "is replaced", "is removed"])
def test_a_source_that_changes_while_it_is_read_stops_the_build(
    change: str, databases: dict[str, Path], target: Path, tmp_path: Path
) -> None:
    source = rows(tmp_path / "a.csv", 5_000)

    def progress(share: float | None, count: int) -> None:
        if count != 2_000:
            return
        if change == "grows":
            with source.open("a") as file:
                file.write("x,More\n")
        elif change == "is replaced":
            os.replace(rows(tmp_path / "b.csv", 5_000), source)
        else:
            source.unlink()

    with pytest.raises(SourceError, match="no such file" if change == "is removed" else "changed while it was read"):
        build(SETTINGS | {"source": {"path": str(source)}}, target, progress=progress)
    assert sha256(target) == sha256(databases["old"])
    assert names(target.parent) == ["a.db"]


# --- two at once ----------------------------------------------------------------------------------------


def test_builds_at_once_to_one_target_leave_one_of_them_whole(target: Path, tmp_path: Path) -> None:
    expected = set()
    for settings in (OECD, COUNTRIES):
        build(settings, tmp_path / "expected.db")
        expected.add(sha256(tmp_path / "expected.db"))
    children = [
        subprocess.Popen([*COMMAND, one, "-o", target], stdout=subprocess.DEVNULL) for one in (OECD, COUNTRIES) * 2
    ]
    assert [child.wait() for child in children] == [0] * 4
    assert sha256(target) in expected
    assert names(target.parent) == ["a.db"]


def test_threads_that_build_at_once_leave_one_of_them_whole(target: Path) -> None:
    def work(number: int) -> None:
        build(SETTINGS, target, records=[{"id": str(number), "title": "Wages"}])

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with Catalog.open(target) as catalog:
        assert catalog.search("wage").results[0].id in set("01234567")
    assert names(target.parent) == ["a.db"]


def test_a_scratch_waits_for_the_moment_in_which_another_has_the_name(tmp_path: Path) -> None:
    target = tmp_path / "a.db"
    first = Scratch(target)
    made: list[Scratch] = []
    thread = threading.Thread(target=lambda: made.append(Scratch(target)))
    thread.start()
    thread.join(0.2)
    assert not made
    os.write(first._file, b"first")
    first.forget_name()
    thread.join()
    (second,) = made
    os.write(second._file, b"second")
    second.forget_name()
    for scratch, content in ((second, b"second"), (first, b"first")):
        scratch.publish()
        scratch.close()
        assert target.read_bytes() == content
        assert names(tmp_path) == ["a.db"]


def test_without_unnamed_files_the_copy_is_named_and_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    build(SETTINGS, tmp_path / "a.db", records=[{"id": "1", "title": "Wages"}])
    assert names(tmp_path) == ["a.db"]

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    before = sha256(tmp_path / "a.db")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(DatabaseError, match="No space left on device; the old file is untouched"):
        build(SETTINGS, tmp_path / "a.db", records=[{"id": "2", "title": "Pay"}])
    assert sha256(tmp_path / "a.db") == before
    assert names(tmp_path) == ["a.db"]
