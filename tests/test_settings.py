"""Settings: what a settings file may say, and how each mistake is named."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from catalog_search.errors import SettingsError
from catalog_search.settings import KeywordColumn, Settings, load_settings
from catalog_search.template import Template, url_problem

CASES = Path(__file__).parent / "cases"

GOOD = """\
name: oecd                      # the collection's name
title: OECD dataflows
language: en
source: {path: dataflows.csv}
documents:
  id: "{id}"
  title: "{title}"
  url: "https://example.org/dataflow/{id}"
  keywords: [categories, {column: synonyms, split: "|"}]
  text: "{description}"
  metadata: [agency, version, meta.unit]
  facets: [agency]
  priority: -views
vocabulary: ../../vocab/catalogs/oecd.yaml
provenance:
  publisher: OECD
  licence: CC BY 4.0
  source_url: https://oecd.org
  retrieved_at: 2026-10-01
  revision: 1.10
duplicates: merge
on_bad_row: skip
"""


def cases(name: str) -> list[Any]:
    return yaml.safe_load((CASES / f"{name}.yaml").read_text("utf-8"))


def changed(changes: dict[str, Any]) -> dict[str, Any]:
    """Return the good settings with keys replaced."""
    settings = yaml.load(GOOD, Loader=yaml.BaseLoader)
    for dotted, value in changes.items():
        *outer, key = dotted.split(".")
        inside = settings
        for name in outer:
            inside = inside[name]
        if value is None:
            del inside[key]
        else:
            inside[key] = value
    return settings


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "catalog.yaml").write_text(GOOD, "utf-8")
    return tmp_path


def test_every_key_arrives(folder: Path) -> None:
    settings = load_settings(folder / "catalog.yaml")
    assert (settings.name, settings.title, settings.language) == ("oecd", "OECD dataflows", "en")
    assert (settings.duplicates, settings.on_bad_row) == ("merge", "skip")
    assert settings.documents.keywords == (KeywordColumn("categories"), KeywordColumn("synonyms", "|"))
    assert [(entry.name, entry.column) for entry in settings.documents.metadata] == [
        ("agency", "agency"),
        ("version", "version"),
        ("unit", "meta.unit"),
    ]
    assert settings.documents.facets == ("agency",)
    assert settings.documents.priority is not None
    assert (settings.documents.priority.column, settings.documents.priority.descending) == ("views", True)
    assert settings.provenance.licence == "CC BY 4.0"
    assert (settings.provenance.retrieved_at, settings.provenance.revision) == ("2026-10-01", "1.10")


def test_relative_paths_start_from_the_settings_file(folder: Path) -> None:
    settings = load_settings(folder / "catalog.yaml")
    assert settings.source is not None
    assert settings.source.path == folder / "dataflows.csv"
    assert settings.vocabulary == folder / "../../vocab/catalogs/oecd.yaml"


def test_what_is_optional_has_a_default() -> None:
    documents = {"id": "{a}", "title": "{b}"}
    settings = Settings.from_mapping({"name": "x", "language": "en", "documents": documents})
    assert (settings.title, settings.duplicates, settings.on_bad_row) == ("x", "error", "stop")
    assert settings.source is None and settings.vocabulary is None
    assert settings.documents.url is None and settings.documents.keywords == ()


def test_columns_name_the_key_and_line_that_needs_them(folder: Path) -> None:
    uses = {use.column: (use.key, use.line) for use in load_settings(folder / "catalog.yaml").columns()}
    assert uses == {
        "id": ("documents.id", 6),
        "title": ("documents.title", 7),
        "description": ("documents.text", 10),
        "categories": ("documents.keywords", 9),
        "synonyms": ("documents.keywords", 9),
        "agency": ("documents.metadata", 11),
        "version": ("documents.metadata", 11),
        "meta.unit": ("documents.metadata", 11),
        "views": ("documents.priority", 13),
    }


@pytest.mark.parametrize("case", cases("settings_errors"), ids=lambda case: str(case["change"]))
def test_a_mistake_names_its_key_and_remedy(case: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "catalog.yaml"
    path.write_text(yaml.safe_dump(changed(case["change"])), "utf-8")
    for read in (lambda: load_settings(path), lambda: Settings.from_mapping(changed(case["change"]))):
        with pytest.raises(SettingsError) as caught:
            read()
        assert caught.value.key == case["key"]
        for words in case["says"]:
            assert words in str(caught.value)


def test_a_mistake_names_file_and_line(folder: Path) -> None:
    path = folder / "catalog.yaml"
    path.write_text(GOOD.replace("  priority: -views", "  priorty: -views"), "utf-8")
    with pytest.raises(SettingsError) as caught:
        load_settings(path)
    assert str(caught.value) == (f'{path}, line 13, key documents.priorty: unknown key. Did you mean "priority"?')


def test_python_values_are_taken_as_their_text() -> None:
    settings = Settings.from_mapping(
        changed({"name": 2026, "provenance.retrieved_at": datetime.date(2026, 10, 1)}), base=Path("somewhere")
    )
    assert (settings.name, settings.provenance.retrieved_at) == ("2026", "2026-10-01")
    assert settings.source is not None and settings.source.path == Path("somewhere/dataflows.csv")


@pytest.mark.parametrize("given", ["tab", "\\t", "\t"])
def test_a_tab_can_be_written_as_a_word(given: str) -> None:
    settings = Settings.from_mapping(changed({"source.delimiter": given}))
    assert settings.source is not None and settings.source.delimiter == "\t"


def test_metadata_can_be_given_names() -> None:
    metadata = [{"currency": "a.unit"}, "b.unit"]
    changes = {"documents.metadata": metadata, "documents.facets": "currency"}
    settings = Settings.from_mapping(changed(changes))
    assert [entry.name for entry in settings.documents.metadata] == ["currency", "unit"]
    assert settings.documents.facets == ("currency",)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("pay | wage||", ["pay", "wage"]),
        (["pay", " gross [euro] ", None, ["net|tax"]], ["pay", "gross [euro]", "net", "tax"]),
        (None, []),
        ({"a": "b"}, []),
    ],
)
def test_keywords_are_split_and_stripped(value: object, expected: list[str]) -> None:
    assert KeywordColumn("c", "|").keywords(value) == expected


@pytest.mark.parametrize("case", cases("templates"), ids=lambda case: case["template"])
def test_templates(case: dict[str, Any]) -> None:
    if "error" in case:
        with pytest.raises(ValueError) as caught:
            Template.parse(case["template"])
        assert all(words in str(caught.value) for words in case["error"])
    else:
        assert Template.parse(case["template"]).render(case["row"].__getitem__) == case["text"]


@pytest.mark.parametrize("case", cases("urls"), ids=lambda case: str(case["row"]))
def test_urls(case: dict[str, Any]) -> None:
    url = Template.parse(case["template"]).render_url(case["row"].__getitem__)
    assert url == case["url"]
    assert (url_problem(url) is not None) == case.get("problem", False)


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="{}|\0"), min_size=1), st.text())
def test_any_column_name_can_stand_in_a_template(name: str, value: str) -> None:
    if name.strip():
        assert Template.parse(f"<{{{name}}}>").render({name.strip(): value}.__getitem__) == f"<{value}>"


@given(st.text())
def test_any_text_is_a_template_or_a_plain_error(text: str) -> None:
    try:
        template = Template.parse(text)
    except ValueError:
        return
    assert isinstance(template.render(lambda column: column), str)


def test_aliases_that_mean_millions_of_values_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "catalog.yaml"
    levels = ["a0: &a0 [x, x, x, x, x, x, x, x]"]
    levels += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 8)}]" for n in range(1, 20)]
    path.write_text("\n".join(levels), "utf-8")
    with pytest.raises(SettingsError, match="aliases"):
        load_settings(path)
