"""The counts that a vocabulary's file states are brought up to date, and no other byte of it changes."""

from __future__ import annotations

import datetime
import os
import random
import re
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from support import built

from catalog_search import Vocabulary, VocabularyError, build, scratch
from catalog_search.cli import main
from catalog_search.measure import measure
from catalog_search.recount import Recount, recount
from catalog_search.trial import Trial

ROOT = Path(__file__).parent.parent
TODAY = datetime.date(2026, 11, 30)
TITLES = ["Labour force", "Labour costs", "Labours", "Labor", "Cost of living", "Toil", "Employment", "Job"]
TEXT = """\
# counts are documents: {asked: 9, source: 9}
language: en
source_name: 'the Bureau'   # 35, 9
pairs:
  - {asked: labor, source: [labour, toil], measured: {asked: 9, source: 9, gain: 9}}   # asked: 9, source: 9
  - asked: "price"   # 人口 𝒜
    source: >-
      cost
    measured:
      "source":   "9"     # nine
      asked: '9'
      on: 2020-01-31
      purity: 9
    note: 9
  - {measured: {labour: 9, toil: 1, on: "2020-01-31"}, asked: work, source: [Labour, toil]}
  - {asked: 9, source: employment}
  - {asked: rent, source: costs, measured: {asked: 0, source: 1}}
left_out:
  - {asked: job, source: employment, reason: "9", measured: {asked: 9, source: 0_9}}
"""
AFTER = """\
# counts are documents: {asked: 9, source: 9}
language: en
source_name: 'the Bureau'   # 35, 9
pairs:
  - {asked: labor, source: [labour, toil], measured: {asked: 1, source: 4, gain: 4}}   # asked: 9, source: 9
  - asked: "price"   # 人口 𝒜
    source: >-
      cost
    measured:
      "source":   "2"     # nine
      asked: '0'
      on: 2026-11-30
      purity: 9
    note: 9
  - {measured: {labour: 3, toil: 1, on: "2026-11-30"}, asked: work, source: [Labour, toil]}
  - {asked: 9, source: employment}
  - {asked: rent, source: costs, measured: {asked: 0, source: 1}}
left_out:
  - {asked: job, source: employment, reason: "9", measured: {asked: 1, source: 1}}
"""


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("recount") / "a.db"
    built([{"id": f"d{place}", "title": title} for place, title in enumerate(TITLES)], to=path)
    return path


@pytest.fixture(scope="module")
def catalog(database: Path) -> Iterator[Trial]:
    with Trial.open(database) as opened:
        yield opened


def write(catalog: Trial, path: Path) -> list[Recount]:
    return recount(catalog.connection(), path, "en", TODAY)


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_nothing_but_the_numbers_changes(catalog: Trial, tmp_path: Path, mark: bytes, end: str) -> None:
    path = tmp_path / "v.yaml"
    path.write_bytes(mark + TEXT.replace("\n", end).encode())
    changed = write(catalog, path)
    assert path.read_bytes() == mark + AFTER.replace("\n", end).encode()
    assert len(changed) == 10
    assert changed[0] == Recount(5, "labor", "asked", "9", "1")
    before = path.stat()
    assert write(catalog, path) == []
    assert path.stat() == before, "a file without a change is not written"


def test_the_counts_are_those_of_measure(catalog: Trial, tmp_path: Path) -> None:
    path = tmp_path / "v.yaml"
    path.write_text(TEXT, "utf-8")
    write(catalog, path)
    one = measure(catalog.connection(), Vocabulary.load(path))[0]
    assert (one.asked_documents, one.source_documents, one.gain) == (1, 4, 4)


@pytest.mark.parametrize("name", ["oecd", "icd10cm", "countries-pt"])
def test_the_shipped_counts_are_written_back_byte_for_byte(name: str, tmp_path: Path) -> None:
    """Every count is spoilt, and recounting gives the shipped file again: what it states is true."""
    build(ROOT / "data" / name / "catalog.yaml", tmp_path / "a.db")
    shipped = (ROOT / "vocab" / "catalogs" / f"{name}.yaml").read_text("utf-8")
    draw = random.Random(1)
    path = tmp_path / "v.yaml"
    path.write_text(re.sub(r"(?<=(?:asked|ource): )\d+", lambda _: str(draw.randrange(10**6)), shipped), "utf-8")
    spoilt = path.read_text("utf-8")
    with Trial.open(tmp_path / "a.db") as catalog:
        changed = recount(catalog.connection(), path)
    assert len(changed) > 60
    assert spoilt != shipped
    assert path.read_text("utf-8") == shipped


@pytest.mark.parametrize(
    ("measured", "says"),
    [
        ("{asked: many}", "line 3, key asked: what is measured must be a number"),
        ("{asked: -1}", "must be a number"),
        ("{asked: [1]}", "must be a number"),
        ("{asked: }", "must be a number"),
        ("{on: yesterday}", "line 3, key on: what is measured must be a date such as 2026-11-30"),
        ('{asked: "\\x31"}', "written plainly"),
        ("{asked: !!int &a31 '1 '}", "must be a number"),
        ("{asked: |\n      1\n    }", "not YAML"),
    ],
)
def test_a_count_that_is_none_is_named_and_nothing_written(
    catalog: Trial, tmp_path: Path, measured: str, says: str
) -> None:
    path = tmp_path / "v.yaml"
    text = f"language: en\npairs:\n  - {{asked: labor, source: labour, measured: {measured}}}\n"
    path.write_text(text, "utf-8")
    with pytest.raises(VocabularyError) as caught:
        write(catalog, path)
    assert says in str(caught.value)
    assert path.read_text("utf-8") == text


def test_one_count_for_two_pairs_is_refused_where_they_differ(catalog: Trial, tmp_path: Path) -> None:
    path = tmp_path / "v.yaml"
    text = (
        "language: en\npairs:\n  - {asked: labor, source: labour, measured: &m {asked: &n 9}}\n"
        "  - {asked: job, source: toil, measured: *m}\n"
    )
    path.write_text(text, "utf-8")
    write(catalog, path)
    assert path.read_text("utf-8") == text.replace("9", "1")
    path.write_text(text.replace("job", "toil"), "utf-8")
    write(catalog, path)
    path.write_text(text.replace("job", "cost"), "utf-8")
    with pytest.raises(VocabularyError, match="lines 3 and 3 state one count together"):
        write(catalog, path)


@pytest.mark.skipif(sys.platform == "win32", reason="symbolic links and permissions of POSIX")
def test_a_link_stays_a_link_and_permissions_stay(catalog: Trial, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    real = tmp_path / "real" / "v.yaml"
    real.write_text(TEXT, "utf-8")
    real.chmod(0o640)
    link = tmp_path / "v.yaml"
    link.symlink_to("real/v.yaml")
    write(catalog, link)
    assert os.readlink(link) == "real/v.yaml"
    assert real.read_text("utf-8") == AFTER
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert [path.name for path in (tmp_path / "real").iterdir()] == ["v.yaml"]


def test_a_file_saved_by_somebody_else_meanwhile_is_not_written_over(
    catalog: Trial, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "v.yaml"
    path.write_text(TEXT, "utf-8")
    append = scratch.Scratch.write

    def saved_meanwhile(self: scratch.Scratch, content: bytes) -> None:
        append(self, content)
        path.write_text(TEXT + "# saved\n", "utf-8")

    monkeypatch.setattr(scratch.Scratch, "write", saved_meanwhile)
    with pytest.raises(VocabularyError, match=r"v\.yaml: cannot be written: it was changed by somebody else"):
        write(catalog, path)
    assert path.read_text("utf-8") == TEXT + "# saved\n"
    assert [one.name for one in tmp_path.iterdir()] == ["v.yaml"]


def test_an_error_while_writing_leaves_the_file(
    catalog: Trial, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "v.yaml"
    path.write_text(TEXT, "utf-8")

    def full(self: scratch.Scratch, file: int) -> None:
        os.write(file, b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(scratch.Scratch, "_fill", full)
    with pytest.raises(VocabularyError, match="cannot be written: No space left on device"):
        write(catalog, path)
    assert path.read_text("utf-8") == TEXT
    assert [one.name for one in tmp_path.iterdir()] == ["v.yaml"]


def test_the_command_says_what_it_wrote(database: Path, tmp_path: Path) -> None:
    path = tmp_path / "v.yaml"
    path.write_text(TEXT, "utf-8")
    done = CliRunner().invoke(main, ["vocab", "measure", str(database), "--write", str(path)])
    assert done.exit_code == 0
    assert done.output.splitlines()[0] == f"{path}:5: “labor” asked: 9 → 1"
    assert done.output.splitlines()[-1] == "5 pairs, 10 numbers written"
    done = CliRunner().invoke(main, ["vocab", "measure", str(database), "--write"])
    assert done.exit_code == 2
    assert "--write goes with VOCAB.yaml" in done.output


def test_a_damaged_file_is_refused_or_written_with_nothing_but_numbers_changed(catalog: Trial, tmp_path: Path) -> None:
    draw = random.Random(1)
    pieces = [
        *"{}[]'\"#|>?,9~\t\r\n",
        ": ",
        "- ",
        "&a ",
        "*a",
        "!!int ",
        "asked",
        "null",
        "\u2028",
        "\ufeff",
        "\x85",
        "<<: ",
    ]
    path = tmp_path / "v.yaml"
    numbers = re.compile(r"[0-9_,]*\d(?:-\d\d-\d\d)?")
    written = 0
    for _ in range(150):
        place = draw.randrange(len(TEXT))
        text = TEXT[:place] + draw.choice(pieces) + TEXT[place + draw.randrange(3) :]
        path.write_bytes(text.encode())
        try:
            changed = write(catalog, path)
        except VocabularyError as problem:
            assert "v.yaml" in str(problem)
            assert path.read_bytes() == text.encode()
            continue
        after = path.read_bytes().decode()
        written += 1
        assert changed
        assert numbers.sub("#", after) == numbers.sub("#", text)
        assert write(catalog, path) == []
    assert written > 30
