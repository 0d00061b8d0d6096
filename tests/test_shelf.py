"""Several collections asked as one: what is merged how, where an id leads, and what happens when a file is replaced."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import built

from catalog_search import Catalog, DatabaseError, DocumentNotFound, QueryError
from catalog_search.errors import BoundReached
from catalog_search.server.holding import Holding
from catalog_search.server.shelf import Shelf

Rows = list[dict[str, Any]]


@pytest.fixture
def shelf_of(tmp_path: Path) -> Iterator[Callable[..., Shelf]]:
    opened: list[Shelf] = []

    def make(collections: dict[str, Rows], *, qualified_ids: bool = False, **more: Any) -> Shelf:
        paths = []
        for name, rows in collections.items():
            built(rows, to=tmp_path / f"{name}.db", folder=tmp_path, name=name, **more)
            paths.append(tmp_path / f"{name}.db")
        opened.append(Shelf.of_files(paths, qualified_ids=qualified_ids))
        return opened[-1]

    yield make
    for shelf in opened:
        shelf.close()


def wire(shelf: Shelf, question: str, **options: Any) -> list[str]:
    return [found.id for found in shelf.search(question, **options).results]


def rows(*titles: str, prefix: str = "") -> Rows:
    return [{"id": f"{prefix}{n}", "title": title} for n, title in enumerate(titles, 1)]


# Merging ----------------------------------------------------------------------------------------------------


def test_strict_answers_are_merged_by_tier_and_equal_ones_in_turn(shelf_of: Callable[..., Shelf]) -> None:
    shelf = shelf_of(
        {
            "a": rows("Wages", "Wages by sex", "Wages by age", "Minimum wages"),
            "b": rows("Wages by trade", "Wages"),
            "c": rows("Rents"),
        }
    )
    answer = shelf.search("wages")
    # tier 1 (title = question) of both, then tier 2 in turn until one is used up
    assert [found.id for found in answer.results] == ["a:1", "b:2", "a:2", "b:1", "a:3", "a:4"]
    assert answer.total == 6 and answer.exact and not answer.relaxed
    assert [found.collection for found in answer.results[:2]] == ["a", "b"]


def test_a_word_of_its_own_comes_before_one_that_the_vocabulary_brought(shelf_of: Callable[..., Shelf]) -> None:
    pair = [{"asked": "pay", "source": ["wages"]}]
    shelf = shelf_of({"a": rows("Wages survey"), "b": rows("Pay in a survey")}, vocabulary=pair)
    ranks = {found.id: (found.result.tier, found.result.kind) for found in shelf.search("survey pay").results}
    assert ranks == {"b:1": (3, 0), "a:1": (3, 2)}
    assert wire(shelf, "survey pay") == ["b:1", "a:1"]


def test_relaxed_answers_are_given_in_turn_and_only_if_no_collection_has_a_strict_one(
    shelf_of: Callable[..., Shelf],
) -> None:
    shelf = shelf_of({"a": rows("Wages by sex", "Wages by age"), "b": rows("Wages", "Hourly wages zebra", "Zebra")})
    strict = shelf.search("wages zebra")
    assert not strict.relaxed and [found.id for found in strict.results] == ["b:2"] and strict.total == 1
    near = shelf.search("wages of astronauts")
    assert near.relaxed and near.results[0].collection == "a" and near.results[1].collection == "b"
    assert len({found.id for found in near.results}) == len(near.results)


def test_pages_of_a_merged_answer_put_together_are_the_answer(shelf_of: Callable[..., Shelf]) -> None:
    shelf = shelf_of({"a": rows(*(f"Wages {n}" for n in range(9))), "b": rows(*(f"Wages, {n}" for n in range(5)))})
    whole = wire(shelf, "wages", limit=20)
    assert len(whole) == 14
    assert [one for start in range(0, 14, 3) for one in wire(shelf, "wages", limit=3, offset=start)] == whole


def test_a_shelf_of_one_answers_as_its_catalogue(shelf_of: Callable[..., Shelf]) -> None:
    shelf = shelf_of({"a": rows("Wages", "Wages by sex", "Rents")})
    for question in ("wages", "wages of astronauts", "", "???", "xyzzy"):
        one, other = shelf.search(question), shelf.catalog("a").search(question)
        assert [found.id for found in one.results] == [result.id for result in other.results]
        assert (one.relaxed, one.notes, one.reason, one.total) == (
            other.relaxed, other.notes, other.reason, other.total,
        )  # fmt: skip


def test_what_only_some_collections_have_is_asked_only_of_them(shelf_of: Callable[..., Shelf]) -> None:
    shelf = shelf_of({"a": rows("Wages"), "b": rows("Wages"), "c": rows("Wages")})
    assert wire(shelf, "wages", collections=["c", "a"]) == ["c:1", "a:1"]
    with pytest.raises(QueryError, match=r'there is no collection "d"\. Known: a, b, c\.'):
        shelf.search("wages", collections=["a", "d"])


def test_a_filter_asks_the_collections_that_have_its_facet(tmp_path: Path) -> None:
    documents = {"facets": ["year"]}
    with_years = [{"id": "1", "title": "Wages", "year": "2020"}, {"id": "2", "title": "Wages", "year": "2021"}]
    built(with_years, to=tmp_path / "a.db", name="a", documents=documents)
    built(rows("Wages"), to=tmp_path / "b.db", name="b")
    shelf = Shelf.of_files([tmp_path / "a.db", tmp_path / "b.db"])
    assert wire(shelf, "wages", where={"year": "2021"}) == ["a:2"]
    with pytest.raises(QueryError, match=r'there is no facet "yaer"\..* Did you mean "year"\?'):
        shelf.search("wages", where={"yaer": "2021"})
    shelf.close()


def test_a_page_out_of_reach_is_refused(shelf_of: Callable[..., Shelf]) -> None:
    shelf = shelf_of({"a": rows("Wages"), "b": rows("Wages")})
    for limit, offset in ((0, 0), (-1, 0), (10, -1)):
        with pytest.raises(QueryError, match="they must be 1 and 0 or more"):
            shelf.search("wages", limit=limit, offset=offset)
    for limit, offset in ((10, 991), (1_001, 0)):
        with pytest.raises(BoundReached, match="can be read down to 1,000, so ask more narrowly"):
            shelf.search("wages", limit=limit, offset=offset)
    assert wire(shelf, "wages", limit=10, offset=990) == []


def test_a_question_longer_than_allowed_is_refused_with_the_figure(shelf_of: Callable[..., Shelf]) -> None:
    shelf = shelf_of({"a": rows("Wages")})
    assert wire(shelf, "wages" + " " * 9_995) == ["1"]
    with pytest.raises(BoundReached, match="the question has 10,001 characters; 10,000 may be asked at once"):
        shelf.search("wages" + " " * 9_996)


# Ids --------------------------------------------------------------------------------------------------------


def test_both_forms_of_an_id_are_understood(shelf_of: Callable[..., Shelf]) -> None:
    two = shelf_of({"a": rows("Wages"), "b": rows("Rents", "Prices")})
    assert two.fetch("b:1")[0] == "b:1" and two.fetch("b:1")[1].title == "Rents"
    assert two.fetch("2")[0] == "b:2"
    assert two.fetch("1")[0] == "a:1"  # of several, the first
    one = two.only(["b"])
    assert one.fetch("1")[0] == "1" and one.fetch("b:1")[0] == "1"
    assert one.names() == ("b",)
    qualified = shelf_of({"a": rows("Wages")}, qualified_ids=True)
    assert wire(qualified, "wages") == ["a:1"] and qualified.fetch("1")[0] == "a:1"


COLONS = {
    "a": [{"id": "1", "title": "x plain"}, {"id": "a:1", "title": "x colon"}, {"id": "b:1", "title": "x b"}],
    "b": [{"id": "1", "title": "x other"}, {"id": "a:1", "title": "x taken"}, {"id": "urn:x:1", "title": "x urn"}],
}


@pytest.mark.parametrize("names", [["a", "b"], ["a"], ["b"]])
@pytest.mark.parametrize("qualified", [True, False])
def test_every_id_that_was_returned_leads_back_to_its_document(
    shelf_of: Callable[..., Shelf], names: list[str], qualified: bool
) -> None:
    shelf = shelf_of(COLONS, qualified_ids=qualified).only(names)
    answer = shelf.search("x", limit=100)
    assert len(answer.results) == 3 * len(names)
    assert len({found.id for found in answer.results}) == len(answer.results)
    for found in answer.results:
        id, document = shelf.fetch(found.id)
        assert (id, document.title) == (found.id, found.result.title)


@given(st.lists(st.sampled_from("ab1:"), max_size=6).map("".join))
@settings(max_examples=200, deadline=None)
def test_an_id_of_a_hidden_collection_is_as_one_that_never_was(text: str) -> None:
    with_b, without_b = _hidden()
    for ask in ("fetch", "resolve"):
        said = []
        for shelf in (with_b, without_b):
            try:
                said.append(getattr(shelf, ask)(text)[0])
            except DocumentNotFound as problem:
                said.append(str(problem))
        assert said[0] == said[1]


_SHELVES: list[Shelf] = []


def _hidden() -> tuple[Shelf, Shelf]:
    """Return two shelves of the collection a: one from a server that also has b, one from a server that has not."""
    if not _SHELVES:
        import tempfile

        folder = Path(tempfile.mkdtemp())
        for name, ones in COLONS.items():
            built(ones, to=folder / f"{name}.db", name=name)
        both = Shelf.of_files([folder / "a.db", folder / "b.db"])
        _SHELVES.extend([both.only(["a"]), Shelf.of_files([folder / "a.db"])])
    return _SHELVES[0], _SHELVES[1]


def test_an_unknown_id_is_answered_with_the_nearest_as_they_stand_on_the_wire(shelf_of: Callable[..., Shelf]) -> None:
    shelf = shelf_of({"a": rows("Wages", prefix="WAGE"), "b": rows("Rents", prefix="WAGES")})
    with pytest.raises(DocumentNotFound) as raised:
        shelf.fetch("WAGE9")
    assert set(raised.value.nearest) == {"a:WAGE1", "b:WAGES1"}
    assert "“WAGE9”" in str(raised.value) and "a:WAGE1" in str(raised.value)
    with pytest.raises(DocumentNotFound, match="WAGE"):
        shelf.fetch("b:WAGES\ud800")
    with pytest.raises(DocumentNotFound):
        shelf.only([]).fetch("1")


def test_a_lost_collection_keeps_no_other_from_being_read(shelf_of: Callable[..., Shelf], tmp_path: Path) -> None:
    shelf = shelf_of({"a": rows("Wages"), "b": rows("Rents"), "c": rows("Ships")})
    (tmp_path / "b.db").rename(tmp_path / "gone.db")
    assert shelf.fetch("c:1")[1].title == "Ships"
    assert shelf.fetch("a:1")[1].title == "Wages"
    assert shelf.fetch("1")[0] == "a:1"
    for id in ("b:1", "unknown", "https://x.example/unknown"):
        with pytest.raises(DatabaseError, match='the collection "b" cannot be read: the file is gone'):
            shelf.fetch(id)
    with pytest.raises(DatabaseError, match='the collection "b" cannot be read'):
        shelf.search("wages")
    assert wire(shelf, "wages", collections=["a"]) == ["a:1"]


# Files ------------------------------------------------------------------------------------------------------


def test_two_databases_of_one_name_are_refused(tmp_path: Path) -> None:
    for file in ("x.db", "y.db"):
        built(rows("Wages"), to=tmp_path / file, name="same")
    with pytest.raises(DatabaseError, match='its name is "same", as is that of'):
        Shelf.of_files([tmp_path / "x.db", tmp_path / "y.db"])


def replace(path: Path, ones: Rows) -> None:
    built(ones, to=path.with_suffix(".new"), name="a")
    path.with_suffix(".new").rename(path)


def test_a_file_moved_into_its_place_is_answered_from_by_the_next_call(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    built(rows("Wages"), to=path, name="a")
    shelf = Shelf.of_files([path])
    running = shelf.catalog("a").search("wages")
    replace(path, rows("Rents", "Wages and more"))
    assert wire(shelf, "wages") == ["2"] and shelf.fetch("1")[1].title == "Rents"
    # what began on the old file ends on it
    assert running.results[0].matched["title"][0].pattern == "wages"
    shelf.close()


def test_the_old_file_is_closed_with_the_last_call_that_held_it(tmp_path: Path) -> None:
    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("needs /proc to see open files")

    def still_open() -> list[str]:
        links = []
        for one in os.listdir("/proc/self/fd"):
            try:
                links.append(os.readlink(f"/proc/self/fd/{one}"))
            except OSError:
                continue
        return [link for link in links if link.startswith(str(path)) and link.endswith("(deleted)")]

    path = tmp_path / "a.db"
    built(rows("Wages"), to=path, name="a")
    holding = Holding(path)
    held: Catalog | None = holding.catalog()
    replace(path, rows("Rents"))
    assert holding.catalog().fetch("1").title == "Rents"
    assert still_open()
    assert held is not None and held.fetch("1").title == "Wages"
    held = None
    assert still_open() == []
    holding.close()


def test_no_call_fails_while_files_are_moved_into_its_place(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    built(rows("Wages 0"), to=path, name="a")
    shelf = Shelf.of_files([path])
    faults: list[str] = []
    done = threading.Event()

    def ask() -> None:
        seen = 0
        while not done.is_set():
            try:
                answer = shelf.search("wages")
                number = int(answer.results[0].result.title.split()[1])
            except Exception as problem:
                faults.append(repr(problem))
                return
            if number < seen:
                faults.append(f"{number} after {seen}")
            seen = number

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for number in range(1, 15):
        replace(path, rows(f"Wages {number}"))
    done.set()
    for thread in threads:
        thread.join()
    assert faults == []
    assert shelf.search("wages").results[0].result.title == "Wages 14"
    shelf.close()


@pytest.mark.parametrize("damage", ["removed", "no catalogue"])
def test_a_file_that_is_lost_is_an_error_until_it_is_back(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "a.db"
    built(rows("Wages"), to=path, name="a")
    shelf = Shelf.of_files([path])
    content = path.read_bytes()
    path.unlink()
    if damage == "no catalogue":
        path.write_text("not a database\n" * 1_000)
    for _ in range(2):
        with pytest.raises(DatabaseError):
            shelf.search("wages")
        with pytest.raises(DatabaseError):
            shelf.fetch("1")
    path.unlink(missing_ok=True)
    path.write_bytes(content)
    assert wire(shelf, "wages") == ["1"]
    shelf.close()
