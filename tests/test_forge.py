"""forge: the demonstration forges, counts, and would show it if a forgery came through."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from support import built

from catalog_search.cli import main
from catalog_search.server import verified
from catalog_search.server.forge import KINDS


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("forge") / "jobs.db"
    rows = [{"id": f"{n}", "title": f"Wages of group{n}", "url": f"https://x.example/{n}"} for n in range(9)]
    built(rows, to=path, name="jobs")
    return str(path)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["forge", *arguments])


def test_no_forgery_survives_and_every_true_item_does(database: str) -> None:
    found = json.loads(run(database, "wages", "--count", "150", "--json").output)
    assert (found["forged"], found["survived"]) == (150, 0)
    assert found["true"] == found["true_kept"] > 10
    assert [kind["name"] for kind in found["kinds"]] == list(KINDS)
    assert all(kind["forged"] >= 12 and len(kind["reasons"]) == 1 for kind in found["kinds"])
    assert {kind["reasons"][0] for kind in found["kinds"]} == {"unknown_source", "no_source", "not_supported", "schema"}


def test_it_says_what_was_forged_and_the_question_can_be_left_out(database: str) -> None:
    said = run(database, "--count", "24")
    assert said.exit_code == 0
    assert "a url that was made up" in said.output
    assert "0 of 24 forged items survived; 5 of 5 true ones among them were kept." in said.output
    assert "One of them: {" in said.output


def test_equal_seeds_forge_equally(database: str) -> None:
    one, two, other = (
        run(database, "wages", "--count", "40", "--json", "--seed", seed).output for seed in ("1", "1", "2")
    )
    assert one == two != other


def test_a_verification_that_lets_a_forgery_through_is_shown(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def blind(claimed: Any, schema: Any, sources: Any, wanted: Any) -> dict[str, Any]:
        kept = [one for one in claimed if isinstance(one, dict)]
        return {"items": kept, "items_extracted": len(kept), "items_dropped": 0, "dropped": [], "sources": [],
                "guarantees": {}}  # fmt: skip

    monkeypatch.setattr(verified, "verify", blind)
    said = run(database, "wages", "--count", "24")
    assert said.exit_code == 1
    assert "24 of 24 forged items survived" in said.output
    assert "verified_search let a forgery through" in said.output


def test_where_nothing_can_be_forged_it_says_so(database: str, tmp_path: Path) -> None:
    said = run(database, "xylophone")
    assert said.exit_code == 1
    assert "finds too little to forge from: two documents with a url are needed" in said.output
    built([{"id": "1", "title": "Wages"}], to=tmp_path / "a.db")
    assert "two documents with a url are needed" in run(str(tmp_path / "a.db"), "wages").output
    assert run(database, "wages", "--count", "0").exit_code == 2
    assert run(str(tmp_path / "none.db")).exit_code == 1
