"""Every kind of fault of a vocabulary is found, at its line, and nothing in a vocabulary that is in order."""

from __future__ import annotations

import json
import random
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from support import CASES, built, write_vocabulary

from catalog_search import build
from catalog_search.cli import main
from catalog_search.lint import Fault, lint
from catalog_search.trial import Trial

ROOT = Path(__file__).parent.parent
FAULTY = CASES / "faulty_vocabulary.yaml"
TITLES = """
Labour force · Employment by sector · Earnings of women · Gross domestic product · Toll charge · Cinema · Film ·
Motion picture prices · Vehicle · Car · Autistic spectrum · Septal defect · Myocardial infarction ·
Silent ischaemia · Consumer prices rise · Wages and salaries · Price of goods and cost index · Price of bread ·
Equine health · Cat and dog · Category A · Category B · Category C · Category D · Categories ·
Disk drives · Disks · Diskette sales
"""
ROWS = [{"id": str(place), "title": title.strip()} for place, title in enumerate(TITLES.split("·"))]
MARK = re.compile(r"# ((?:[a-z_]+\*? ?)+)$")


def marked(catalogue: bool) -> list[tuple[int, str]]:
    """Return line and kind of each fault that the file says it has."""
    found = []
    for line, text in enumerate(FAULTY.read_text("utf-8").splitlines(), 1):
        mark = MARK.search(text) if line > 2 else None
        kinds = mark[1].split() if mark else []
        found += [(line, kind.rstrip("*")) for kind in kinds if catalogue or not kind.endswith("*")]
    return found


@pytest.fixture(scope="module")
def catalog() -> Iterator[Trial]:
    with Trial.open(built(ROWS).image) as opened:  # type: ignore[arg-type]
        yield opened


def faults(path: Path, catalog: Trial | None = None) -> list[Fault]:
    return lint(path, catalog)[1]


def placed(faults: list[Fault]) -> list[tuple[int, str]]:
    return sorted((one.line, one.kind) for one in faults)


def test_every_fault_of_a_file_is_found_at_its_line() -> None:
    assert placed(faults(FAULTY)) == sorted(marked(catalogue=False))


def test_a_catalogue_shows_more_faults(catalog: Trial) -> None:
    found = faults(FAULTY, catalog)
    assert placed(found) == sorted(marked(catalogue=True))
    stems = [one for one in found if one.kind == "stem"]
    assert [(one.severity, set(one.titles) <= {row["title"] for row in ROWS}) for one in stems] == [
        ("error", True),
        ("warning", True),
    ]
    assert all("Categor" in title for title in stems[0].titles)
    assert len(stems[0].titles) == 3
    assert stems[1].titles == ("Diskette sales",)


def test_every_kind_that_the_module_names_is_in_the_file() -> None:
    module = sys.modules["catalog_search.lint"]
    named = set(re.findall(r"^    ([a-z_]+)  +\S", module.__doc__ or "", re.M))
    assert named == {kind for _, kind in marked(catalogue=True)}


@pytest.mark.parametrize("name", ["oecd", "icd10cm", "countries-pt"])
def test_the_shipped_vocabularies_have_no_fault(name: str, tmp_path: Path) -> None:
    build(ROOT / "data" / name / "catalog.yaml", tmp_path / "a.db")
    path = ROOT / "vocab" / "catalogs" / f"{name}.yaml"
    assert faults(path) == []
    with Trial.open(tmp_path / "a.db") as catalog:
        assert faults(path, catalog) == []


@pytest.mark.parametrize(
    ("text", "kind", "line"),
    [
        ("language: en\npairs: [\n", "malformed", 3),
        ("language: en\nlanguage: en\npairs: []\n", "malformed", 2),
        ("", "malformed", 1),
        ("language: xx\npairs: []\n", "malformed", 1),
        ("pairs: []\n", "malformed", 1),
        ("language: en\n", "malformed", 1),
        ("language: en\nsource_name: [a]\npairs: []\n", "malformed", 2),
        ("language: en\npairs: []\nleft_out: none\n", "malformed", 3),
    ],
)
def test_a_file_that_is_no_vocabulary_is_one_fault(tmp_path: Path, text: str, kind: str, line: int) -> None:
    path = tmp_path / "v.yaml"
    path.write_text(text, "utf-8")
    (fault,) = faults(path)
    assert (fault.kind, fault.line, fault.severity) == (kind, line, "error")


def test_a_pair_that_gains_on_its_way_back_is_not_needless(tmp_path: Path) -> None:
    rows = [{"id": str(place), "title": title} for place, title in enumerate(["Big cost index"] * 2 + ["Index"] * 3)]
    pairs: list[dict[str, Any]] = [{"asked": "index", "source": "big cost", "both": True}]
    path = write_vocabulary(tmp_path / "v.yaml", pairs)
    with Trial.open(built(rows).image) as catalog:  # type: ignore[arg-type]
        assert faults(path, catalog) == []
        write_vocabulary(path, [{**pairs[0], "both": False}])
        assert placed(faults(path, catalog)) == [(4, "needless")]


def test_a_damaged_file_is_linted_to_its_end(tmp_path: Path, catalog: Trial) -> None:
    draw = random.Random(1)
    text = FAULTY.read_bytes()
    pieces = [bytes([one]) for one in b"{}[]'\"#|>?,~\t\r\n\xff"] + [
        b": ",
        b"- ",
        b"&a ",
        b"*a",
        b"null",
        b"\xc2\x85",
        b"<<: ",
    ]
    path = tmp_path / "v.yaml"
    found = []
    for _ in range(80):
        place = draw.randrange(len(text))
        path.write_bytes(text[:place] + draw.choice(pieces) + text[place + draw.randrange(3) :])
        found.append(faults(path, catalog))
        assert all(1 <= one.line <= text.count(b"\n") + 3 for one in found[-1])
        assert found[-1]
    assert any(len(one) > 20 for one in found)


def run(*arguments: object) -> Any:
    return CliRunner().invoke(main, ["vocab", "lint", *map(str, arguments)])


def test_errors_end_with_status_1_and_warnings_with_0(tmp_path: Path) -> None:
    pairs = [{"asked": "asd", "source": "autistic spectrum"}, {"asked": "asd", "source": "septal defect"}]
    path = write_vocabulary(tmp_path / "v.yaml", pairs)
    done = run(path)
    assert done.exit_code == 0
    assert done.output.startswith(f"{path}:4: warning: ambiguous: line 6 leads “asd” to “septal defect” as well")
    write_vocabulary(path, [*pairs, {"asked": "a", "source": "A"}])
    assert run(path).exit_code == 1
    write_vocabulary(path, pairs[:1])
    assert (run(path).exit_code, run(path).output) == (0, "1 pair, no fault\n")


def test_json_has_every_fault(tmp_path: Path) -> None:
    built(ROWS, to=tmp_path / "a.db")
    done = run(FAULTY, "--db", tmp_path / "a.db", "--json")
    found = json.loads(done.output)
    assert done.exit_code == 1
    assert sorted((one["line"], one["kind"]) for one in found["faults"]) == sorted(marked(catalogue=True))
    assert found["errors"] + found["warnings"] == len(found["faults"])
    assert {one["file"] for one in found["faults"]} == {str(FAULTY)}


def test_a_missing_file_is_an_error_and_not_a_fault(tmp_path: Path) -> None:
    done = run(tmp_path / "none.yaml")
    assert done.exit_code == 1
    assert "no such file" in done.output
