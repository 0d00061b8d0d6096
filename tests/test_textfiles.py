"""Documentation as a catalogue: a document for each section, from the files that are named and no others."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from catalog_search import Catalog
from catalog_search.builder import BuildReport, build
from catalog_search.errors import SettingsError, SourceError
from catalog_search.settings import Settings, load_settings

ROOT = Path(__file__).parent.parent


def write(folder: Path, files: dict[str, str | bytes]) -> None:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())


def settings(folder: Path, *patterns: str, documents: dict[str, Any] | None = None, **more: Any) -> Settings:
    source = {"path": str(folder), "files": list(patterns or ["**/*.md"])} | more.pop("source", {})
    return Settings.from_mapping(
        {"name": "docs", "language": "en", "source": source, **({"documents": documents} if documents else {}), **more}
    )


def built(folder: Path, *patterns: str, to: str | Path = ":memory:", **more: Any) -> BuildReport:
    return build(settings(folder, *patterns, **more), to)


def ids(report: BuildReport) -> list[str]:
    with report.catalog as catalog, catalog._database.errors():
        rows = catalog._database.connection().execute("SELECT id FROM documents ORDER BY path, first_line")
        return [id for (id,) in rows]


def git(folder: Path, *arguments: str) -> str:
    who = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    said = subprocess.run(["git", *who, *arguments], cwd=folder, capture_output=True, text=True, check=True)
    return said.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    write(
        folder, {"docs/guide.md": "# Guide\nWages.\n\n## Install\nRents.\n", "docs/notes.txt": "One.\n\nTwo\nlines.\n"}
    )
    git(folder.parent, "init", "-q", str(folder))
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "first")
    return folder


# documents --------------------------------------------------------------------------------------------------


def test_a_heading_is_a_document_and_so_is_a_paragraph(repository: Path) -> None:
    report = built(
        repository, "docs/**/*.md", "docs/*.txt", source={"revision": "git"},
        documents={"url": "https://example.org/blob/{revision}/{path}?plain=1#L{line}"},
    )  # fmt: skip
    assert ids(report) == ["docs/guide.md#guide", "docs/guide.md#install", "docs/notes.txt#L1", "docs/notes.txt#L3"]
    commit = git(repository, "rev-parse", "HEAD")
    with report.catalog as catalog:
        assert catalog.info["revision"] == commit
        document = catalog.fetch("docs/guide.md#install")
        assert (document.title, document.text) == ("Install", "## Install\nRents.")
        assert (document.path, document.heading) == ("docs/guide.md", "Guide › Install")
        assert (document.first_line, document.last_line) == (4, 5)
        assert document.url == f"https://example.org/blob/{commit}/docs/guide.md?plain=1#L4"
        assert document.provenance["revision"] == commit
        assert document.as_json()["metadata"] == {
            "keywords": ["Guide"], "path": "docs/guide.md", "heading": "Guide › Install",
            "first_line": 4, "last_line": 5,
        }  # fmt: skip
        assert "- File: `docs/guide.md:4-5`\n" in document.markdown()
        # the heading above counts as a keyword
        assert [one.id for one in catalog.search("guide install").results] == ["docs/guide.md#install"]
        paragraph = catalog.fetch("docs/notes.txt#L3")
        assert (paragraph.title, paragraph.heading, paragraph.text) == ("Two", None, "Two\nlines.")


def test_the_documentation_of_this_project_is_a_catalogue(tmp_path: Path) -> None:
    report = built(ROOT, "README.md", "CHANGELOG.md", "data/*/README.md", to=tmp_path / "own.db")
    with Catalog.open(tmp_path / "own.db") as catalog, catalog._database.errors():
        answer = catalog.search("set up a client")
        assert answer.results[0].id == "README.md#setting-up-a-client"
        places = catalog._database.connection().execute("SELECT path, first_line, last_line, text FROM documents")
        count = 0
        for path, first, last, text in places:
            count += 1
            assert text.split("\n") == (ROOT / path).read_text("utf-8").split("\n")[first - 1 : last]
    assert count == report.documents > 20
    before = (tmp_path / "own.db").read_bytes()
    built(ROOT, "README.md", "CHANGELOG.md", "data/*/README.md", to=tmp_path / "own.db")
    assert (tmp_path / "own.db").read_bytes() == before


def test_the_order_of_patterns_and_of_the_folder_does_not_matter(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {f"{name}.md": f"# {name}" for name in "zayb"}
    write(tmp_path / "one", files)
    write(tmp_path / "two", dict(reversed(files.items())))
    first, second = built(tmp_path / "one", "z.md", "*.md"), built(tmp_path / "two", "*.md", "z.md", "*.md")
    assert first.image == second.image
    assert ids(first) == ["a.md#a", "b.md#b", "y.md#y", "z.md#z"]


def test_text_before_the_first_heading_is_a_document_of_the_file(tmp_path: Path) -> None:
    write(tmp_path, {"a b.md": "Words.\n# One\n"})
    report = built(tmp_path, documents={"url": "https://example.org/{path}#{slug}"})
    assert ids(report) == ["a b.md", "a b.md#one"]
    with report.catalog as catalog:
        assert catalog.fetch("a b.md").url == "https://example.org/a%20b.md"
        assert catalog.fetch("a b.md").heading is None
        assert catalog.fetch("a b.md#one").url == "https://example.org/a%20b.md#one"


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize(
    ("encoding", "stated"), [("utf-8", None), ("utf-8-sig", None), ("utf-16", None), ("cp1252", "cp1252")]
)
def test_encodings_and_line_ends_make_no_difference(
    tmp_path: Path, end: str, encoding: str, stated: str | None
) -> None:
    text = "---\ntitle: x\n---\n# Ação\n\n```\n# no\n```\n".replace("\n", end)
    write(tmp_path, {"a.md": text.encode(encoding)})
    report = built(tmp_path, source={"encoding": stated} if stated else {})
    assert ids(report) == ["a.md#ação"]
    with report.catalog as catalog:
        document = catalog.fetch("a.md#ação")
        assert document.text == "# Ação\n\n```\n# no\n```"
        assert (document.first_line, document.last_line) == (4, 8)


def test_columns_of_a_section_can_be_metadata_and_facets(tmp_path: Path) -> None:
    write(tmp_path, {"a.md": "# Wages\n## Wages by sector", "b.md": "# Wages"})
    documents = {"id": "{path}:{line}", "title": "{heading}", "metadata": [{"file": "path"}], "facets": ["file"]}
    with built(tmp_path, documents=documents).catalog as catalog:
        answer = catalog.search("wages", where={"file": "a.md"})
        assert {(one.id, one.title) for one in answer.results} == {
            ("a.md:1", "Wages"), ("a.md:2", "Wages › Wages by sector"),
        }  # fmt: skip


# which files ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("**/*.md", ["a.md", "d/b.md", "d/e/c.md"]),
        ("*.md", ["a.md"]),
        ("d/*.md", ["d/b.md"]),
        ("d/**", ["d/b.md", "d/e/c.md", "d/e/c.txt"]),
        ("**/e/*", ["d/e/c.md", "d/e/c.txt"]),
        ("d/?.md", ["d/b.md"]),
        (".h/*.md", [".h/g.md"]),
        ("d/[b].md", ["d/[b].md"]),
        ("a.md", ["a.md"]),
    ],
)
def test_patterns(tmp_path: Path, pattern: str, found: list[str]) -> None:
    names = ["a.md", "d/b.md", "d/e/c.md", "d/e/c.txt", ".h/g.md", "d/.i.md", ".git/j.md"]
    write(tmp_path, dict.fromkeys([*names, *(["d/[b].md"] if "[" in pattern else [])], "text"))
    with built(tmp_path, pattern).catalog as catalog, catalog._database.errors():
        paths = catalog._database.connection().execute("SELECT DISTINCT path FROM documents ORDER BY path")
        assert [path for (path,) in paths] == found


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
def test_links_are_not_followed_and_are_named(tmp_path: Path) -> None:
    write(tmp_path, {"out/secret.md": "# Secret", "docs/a.md": "# A"})
    (tmp_path / "docs/link.md").symlink_to(tmp_path / "out/secret.md")
    (tmp_path / "docs/folder").symlink_to(tmp_path / "out", target_is_directory=True)
    (tmp_path / "docs/self").symlink_to(tmp_path / "docs", target_is_directory=True)
    report = built(tmp_path / "docs")
    assert ids(report) == ["a.md#a"]
    assert report.notes == ["Symbolic links are not followed: link.md."]


def test_a_pattern_without_a_file_is_an_error(tmp_path: Path) -> None:
    write(tmp_path, {"a.md": "# A"})
    with pytest.raises(SourceError, match=r'no file matches "docs/\*\*" \(source.files\)'):
        built(tmp_path, "a.md", "docs/**")


def test_a_folder_that_is_none_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"nothing: no such folder; source\.path is relative"):
        built(tmp_path / "nothing")
    write(tmp_path, {"a.md": "# A"})
    with pytest.raises(SourceError, match=r"a\.md: is no folder"):
        built(tmp_path / "a.md")


def test_folders_that_no_pattern_leads_into_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, {"docs/a.md": "# A", "docs/deep/er/b.md": "# B", "node_modules/x/c.md": "# C", ".venv/d.md": "# D"})
    read: list[str] = []
    scandir = os.scandir

    def watched(path: Any) -> Any:
        read.append(Path(os.fspath(path)).relative_to(tmp_path).as_posix())
        return scandir(path)

    monkeypatch.setattr(os, "scandir", watched)
    for patterns, folders in (
        (["docs/*.md"], [".", "docs"]),
        (["docs/**/*.md"], [".", "docs", "docs/deep", "docs/deep/er"]),
        (["docs/*/*/b.md"], [".", "docs", "docs/deep", "docs/deep/er"]),
        (["**/a.md"], [".", "docs", "docs/deep", "docs/deep/er", "node_modules", "node_modules/x"]),
        ([".venv/*.md"], [".", ".venv"]),
    ):
        read.clear()
        built(tmp_path, *patterns)
        assert sorted(read) == sorted(folders)


def test_files_without_text_are_named_and_nothing_but_those_is_an_error(tmp_path: Path) -> None:
    write(tmp_path, {"a.md": "# A", "b.md": "\n\n", "c.md": "---\ntitle: x\n---\n"})
    assert built(tmp_path).notes == ["Without any text: b.md, c.md."]
    with pytest.raises(SourceError, match="holds no document"):
        built(tmp_path, "b.md")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"# A\n\nCaf\xe9\n", "b.md, line 3: byte 0xe9 at offset 8 is not utf-8.*likely cp1252.*encoding: cp1252"),
        (b"# A\n\nPart\0\n", "b.md, line 3: holds a zero byte"),
    ],
)
def test_a_file_that_is_no_text_is_named_with_its_line(tmp_path: Path, content: bytes, said: str) -> None:
    write(tmp_path, {"a.md": "# A", "b.md": content})
    with pytest.raises(SourceError, match=said):
        built(tmp_path)


def test_a_file_that_changes_meanwhile_ends_the_build(tmp_path: Path) -> None:
    write(tmp_path, {"a.md": "# A\n" * 2_000, "b.md": "# B\n" * 2_000})

    def change(share: float | None, rows: int) -> None:
        write(tmp_path, {"b.md": "# C"})

    with pytest.raises(SourceError, match=r"b\.md: changed while it was read"):
        build(settings(tmp_path), ":memory:", progress=change)

    def remove(share: float | None, rows: int) -> None:
        (tmp_path / "a.md").unlink(missing_ok=True)

    with pytest.raises(SourceError, match=r"a\.md: changed while it was read"):
        build(settings(tmp_path), ":memory:", progress=remove)


def test_bad_and_repeated_rows_are_named_with_their_file(tmp_path: Path) -> None:
    write(tmp_path, {"a.md": "# One\n# Two", "b.md": "\n# One"})
    with pytest.raises(SourceError, match=r"id “one”: lines a\.md:1, b\.md:2"):
        built(tmp_path, documents={"id": "{slug}"})
    documents = {"url": "https://example.org/{title}", "priority": "title"}
    with pytest.raises(SourceError, match=r'b\.md, line 2: the priority "One"'):
        built(tmp_path, documents=documents)
    skipping = built(tmp_path, documents=documents | {"priority": "line"}, on_bad_row="skip")
    assert skipping.documents == 3


# revision ---------------------------------------------------------------------------------------------------


def test_changes_that_are_not_committed_are_said_and_mark_the_revision(repository: Path) -> None:
    commit = git(repository, "rev-parse", "HEAD")
    write(repository, {"other.txt": "new", "docs/new.md": "# New"})
    options: dict[str, Any] = {
        "source": {"revision": "git"},
        "documents": {"url": "https://example.org/{revision}/{path}"},
    }
    report = built(repository, "docs/*.md", **options)
    assert report.notes == ["Left out, because git does not track it: docs/new.md."]
    with report.catalog as catalog:
        assert catalog.info["revision"] == commit
    write(repository, {"docs/guide.md": "# Guide\nOther.\n"})
    report = built(repository, "docs/guide.md", "docs/notes.txt", **options)
    assert report.notes == ["Not as it was committed: docs/guide.md. The revision is marked “-dirty”."]
    with report.catalog as catalog:
        assert catalog.info["revision"] == f"{commit}-dirty"
        assert catalog.fetch("docs/guide.md#guide").url == f"https://example.org/{commit}/docs/guide.md"
    # a change of a file that the catalogue does not hold is none of its
    with built(repository, "docs/notes.txt", **options).catalog as catalog:
        assert catalog.info["revision"] == commit
    git(repository, "add", "docs/new.md")
    with built(repository, "docs/new.md", **options).catalog as catalog:
        assert catalog.info["revision"] == f"{commit}-dirty"


def test_a_folder_inside_a_work_tree_and_a_linked_work_tree_have_their_commit(repository: Path, tmp_path: Path) -> None:
    git(repository, "worktree", "add", "-q", str(tmp_path / "linked"), "-b", "other")
    commit = git(repository, "rev-parse", "HEAD")
    for folder in (repository / "docs", tmp_path / "linked/docs"):
        report = built(folder, "*.md", source={"revision": "git"})
        assert report.notes == []
        with report.catalog as catalog:
            assert catalog.info["revision"] == commit


def test_a_hook_s_environment_does_not_lead_to_another_repository(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    with built(repository, "docs/*.md", source={"revision": "git"}).catalog as catalog:
        assert len(catalog.info["revision"]) == 40


def test_no_work_tree_no_commit_and_no_git_are_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, {"docs/a.md": "# A"})
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    for said in ("is in no work tree of git", "git has no commit yet"):
        with pytest.raises(SourceError, match=rf"{said}.*provenance: \{{revision: …\}}"):
            built(tmp_path / "docs", source={"revision": "git"})
        git(tmp_path, "init", "-q")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SourceError, match="there is no command git"):
        built(tmp_path / "docs", source={"revision": "git"})


def test_only_files_that_git_does_not_track_are_an_error(repository: Path) -> None:
    write(repository, {"x.md": "# X"})
    with pytest.raises(SourceError, match="git tracks none of the files"):
        built(repository, "x.md", source={"revision": "git"})


# settings ---------------------------------------------------------------------------------------------------


def test_files_are_relative_to_the_settings_file(tmp_path: Path) -> None:
    write(tmp_path, {"docs/a.md": "# A", "catalog.yaml": 'name: a\nlanguage: en\nsource: {files: "docs/**/*.md"}\n'})
    read = load_settings(tmp_path / "catalog.yaml")
    assert read.source is not None
    assert (read.source.path, read.source.files) == (tmp_path, ("docs/**/*.md",))
    assert ids(build(read, ":memory:")) == ["docs/a.md#a"]


@pytest.mark.parametrize(
    ("change", "key", "said"),
    [
        ({"source": {"files": "../*.md"}}, "source.files", "below the folder"),
        ({"source": {"files": "/etc/*.md"}}, "source.files", "below the folder"),
        ({"source": {"files": ["a.md", "docs\\*.md"]}}, "source.files", "joined by /"),
        ({"source": {"files": "a.md", "delimiter": ";"}}, "source.delimiter", "does not go with files"),
        ({"source": {"files": "a.md", "revision": "v1"}}, "source.revision", "must be git"),
        (
            {"source": {"path": "a.csv", "revision": "git"}, "documents": {"id": "{a}", "title": "{b}"}},
            "source.revision",
            "goes with files",
        ),
        ({"source": {"files": "a.md", "revision": "git"}, "provenance": {"revision": "1"}}, "source.revision", "take"),
        ({"documents": {"text": "{title}"}}, "documents.text", "is its lines"),
        ({"duplicates": "merge"}, "duplicates", "must not be merge"),
    ],
)
def test_settings_that_do_not_go_together_are_named(change: dict[str, Any], key: str, said: str) -> None:
    mapping = {"name": "a", "language": "en", "source": {"files": "a.md"}} | change
    with pytest.raises(SettingsError, match=said) as caught:
        Settings.from_mapping(mapping)
    assert caught.value.key == key


def test_columns_that_no_section_has_are_named(tmp_path: Path) -> None:
    write(tmp_path, {"a.md": "# A"})
    with pytest.raises(SourceError, match=r'no column "slugs", which documents\.id needs\. Did you mean "slug"\?'):
        built(tmp_path, documents={"id": "{path}#{slugs}"})


def test_an_address_with_a_revision_that_nobody_states_is_an_error(tmp_path: Path) -> None:
    write(tmp_path, {"a.md": "# A"})
    documents = {"url": "https://example.org/{revision}/{path}"}
    with pytest.raises(SettingsError, match="none is stated"):
        built(tmp_path, documents=documents)
    with built(tmp_path, documents=documents, provenance={"revision": "v1/2"}).catalog as catalog:
        assert catalog.fetch("a.md#a").url == "https://example.org/v1/2/a.md"
