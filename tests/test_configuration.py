"""serve.yaml: what it says, and what each mistake in it is told."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest
from click.testing import CliRunner
from support import built

from catalog_search.cli import main
from catalog_search.errors import SettingsError
from catalog_search.server.access import Token, digest
from catalog_search.server.bounds import Bounds
from catalog_search.server.configuration import Collection, Configuration, load_configuration

SHA = digest("x" * 40)
A = "collections: {a: a.db}\n"
WHOLE = f"""\
listen: 127.0.0.1:9000
anonymous: true
allow_hosts: [mcp.example.org]
allow_origins: https://app.example.org
collections:
  oecd: {{path: data/oecd.db, public: true}}
  internal: /srv/internal.db
tokens:
  reader: {{sha256: {SHA}, collections: oecd}}
  analyst: {{env: ANALYST, collections: [internal, oecd]}}
qualified_ids: true
tools: [search_evidence]
locale: pt-BR
strict: true
aliases:
  tools: {{search: [procurar]}}
  keys: {{query: [pergunta, busca]}}
  fields: {{agency: [publisher]}}
bounds: {{calls_per_second: 0, body_bytes: 1_000, query_seconds: 0.5}}
log_level: warning
log_queries: questions.jsonl
"""


def load(folder: Path, text: str, **environment: str) -> Configuration:
    (folder / "serve.yaml").write_text(text, "utf-8")
    return load_configuration(folder / "serve.yaml", environment)


def test_every_key_is_read(tmp_path: Path) -> None:
    found = load(tmp_path, WHOLE, ANALYST="y" * 40)
    assert found == Configuration(
        collections=(
            Collection(str(tmp_path / "data/oecd.db"), "oecd", True),
            Collection("/srv/internal.db", "internal", False),
        ),
        listen="127.0.0.1:9000",
        anonymous=True,
        allow_hosts=("mcp.example.org",),
        allow_origins=("https://app.example.org",),
        tokens=(Token("reader", SHA, ("oecd",)), Token("analyst", digest("y" * 40), ("internal", "oecd"))),
        qualified_ids=True,
        tools=("search_evidence",),
        locale="pt-BR",
        strict=True,
        tool_aliases={"search": ("procurar",)},
        key_aliases={"query": ("pergunta", "busca")},
        field_aliases={"agency": ("publisher",)},
        bounds=Bounds(calls_per_second=0, body_bytes=1_000, query_seconds=0.5),
        log_level="warning",
        log_queries=str(tmp_path / "questions.jsonl"),
    )
    assert all(getattr(found, one.name) != getattr(Configuration(), one.name) for one in fields(Configuration))


def test_what_is_not_said_is_as_without_a_file(tmp_path: Path) -> None:
    assert load(tmp_path, "strict: false\nlocale:\n") == Configuration()


@pytest.mark.parametrize("bound", [one.name for one in fields(Bounds)])
def test_every_bound_can_be_set(tmp_path: Path, bound: str) -> None:
    assert getattr(load(tmp_path, f"bounds: {{{bound}: 17}}").bounds, bound) == 17


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("listn: x", 'line 1, key listn: unknown key. Did you mean "listen"?'),
        (
            "bounds:\n  calls_per_secnd: 5",
            'line 2, key bounds.calls_per_secnd: unknown key. Did you mean "calls_per_second"',
        ),
        ("bounds: {terms: -1}", "key bounds.terms: must be a whole number, 0 or more"),
        ("bounds: {terms: many}", "must be a whole number"),
        ("bounds: {query_seconds: inf}", "must be a number, 0 or more"),
        ("bounds: {query_seconds: nan}", "must be a number, 0 or more"),
        ("bounds: {body_bytes: 0}", "key bounds.body_bytes: must be more than 0"),
        ("bounds: 5", "key bounds: must be a mapping"),
        ("strict: perhaps", "key strict: must be true or false"),
        ("log_level: loud", "there is no level “loud”"),
        ("log_level: warnin", 'Did you mean "warning"?'),
        ("listen: [a, b]", "key listen: must be one value"),
        ("allow_hosts: {a: b}", "must be a list of words"),
        ("collections: [a.db]", "key collections: must be a mapping"),
        ("collections: {A B: a.db}", "key collections.A B: a name is made of a-z"),
        ("collections: {'a:b': a.db}", "a name is made of a-z"),
        ("collections: {a: {public: true}}", "key collections.a.path: is missing"),
        ("collections: {a: {path: a.db, pubic: true}}", 'Did you mean "public"?'),
        ("collections: {a: [x]}", "must be one value"),
        ("tokens: {t: {collections: [a]}}", "key tokens.t: needs sha256, the SHA-256 of the token, or env"),
        (f"tokens: {{t: {{sha256: {SHA}, env: X, collections: [a]}}}}", "not both"),
        (f"{A}tokens: {{t: {{sha256: hunter2, collections: [a]}}}}", "the token itself does not belong here"),
        (f"{A}tokens: {{t: {{env: NOT_SET, collections: [a]}}}}", "the variable NOT_SET of the environment is not set"),
        (f"{A}tokens: {{t: {{env: SHORT, collections: [a]}}}}", "has 5 characters; a token needs 20"),
        (
            f"collections: {{oecd: a.db}}\ntokens:\n  t: {{sha256: {SHA}, collections: [oedc]}}",
            'line 3, key tokens.t.collections: there is no collection "oedc". Did you mean "oecd"?',
        ),
        (f"collections: {{a: a.db}}\ntokens: {{t: {{sha256: {SHA}}}}}", "key tokens.t.collections: is missing"),
        (f"tokens: {{t: {{sha512: {SHA}, collections: [a]}}}}", 'Did you mean "sha256"?'),
        ("aliases: {words: {}}", "key aliases.words: unknown key. Known: tools, keys, fields."),
        ("aliases: {fields: {agency: {a: b}}}", "key aliases.fields.agency: must be a list of words"),
        ("aliases: {tools: {serch: [x]}}", 'key aliases.tools.serch: unknown key. Did you mean "search"?'),
        ("aliases: {keys: {qery: [x]}}", 'key aliases.keys.qery: unknown key. Did you mean "query"?'),
        ("a: [", "not YAML"),
        ("collections: {oecd: oecd.db, guide: }", "key collections.guide: is missing"),
        ("collections: {oecd: {path: }}", "key collections.oecd.path: is missing"),
        (A + "tokens: {reader: }", "key tokens.reader: is missing"),
        (A + "tokens: {reader: {env: }}", "key tokens.reader: needs sha256"),
        ("bounds: {candidates: 9}", "key bounds.candidates: must be 10 or more"),
        ("", "the file is empty"),
    ],
)
def test_each_mistake_is_told_with_its_place(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(SettingsError) as raised:
        load(tmp_path, text, SHORT="short")
    assert said in str(raised.value)
    assert str(tmp_path / "serve.yaml") in str(raised.value)


def test_the_command_line_comes_first_and_adds_databases() -> None:
    file = Configuration((Collection("a.db", "a", True),), listen="127.0.0.1:1", log_level="error", allow_hosts=("x",))
    found = file.over(["b.db"], http="127.0.0.1:2", hosts=["y"], log_level="info")
    assert found.collections == (Collection("a.db", "a", True), Collection("b.db"))
    assert (found.listen, found.log_level, found.allow_hosts) == ("127.0.0.1:2", "info", ("x", "y"))
    assert file.over() == file
    assert file.over(["b.db"], anonymous=True).collections[1].public


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "there is nothing to serve; name a database"),
        (["{db}", "--http", "127.0.0.1:0"], "needs tokens, or --anonymous"),
        (["{db}", "--http", "nowhere:", "--anonymous"], "is no address to listen at"),
        (["{db}", "--http", "127.0.0.1:0", "--anonymous", "--allow-host", "https://x"], "is no host"),
        (["{db}", "--http", "127.0.0.1:0", "--anonymous", "--allow-origin", "x"], "is no origin"),
        (["--config", "{tmp}/missing.yaml"], "missing.yaml: no such file"),
        (["{db}", "{db}"], 'its name is "tested", as is that of'),
        (["{db}", "--log-queries", "{tmp}/no/such/folder/x"], "questions cannot be written there"),
        (["{db}", "--locale", "tlh"], "tlh"),
        (["{db}", "--tools", "serch"], "serch"),
    ],
)
def test_what_cannot_be_served_is_said_before_it_serves(tmp_path: Path, arguments: list[str], said: str) -> None:
    built([{"id": "1", "title": "Wages"}], to=tmp_path / "tested.db")
    given = [one.format(db=tmp_path / "tested.db", tmp=tmp_path) for one in arguments]
    done = CliRunner().invoke(main, ["serve", *given])
    assert done.exit_code == 1 and said in done.output and "Traceback" not in done.output


def test_the_example_of_the_readme_is_sound_but_for_its_digest(tmp_path: Path) -> None:
    readme = (Path(__file__).parent.parent / "README.md").read_text("utf-8")
    (text,) = (block for block in re.findall(r"^```yaml\n(.*?)^```", readme, re.M | re.S) if "sha256:" in block)
    with pytest.raises(SettingsError, match="64 hexadecimal digits, as sha256sum prints them"):
        load(tmp_path, text)
    assert load(tmp_path, re.sub(r"sha256: \S+", f"sha256: {SHA}", text)).tokens[0].digest == SHA


def test_the_readme_names_every_bound_with_its_default() -> None:
    readme = (Path(__file__).parent.parent / "README.md").read_text("utf-8")
    rows = dict(re.findall(r"^\| `(\w+)` \| ([\d,.]+)", readme, re.M))
    assert {name: float(value.replace(",", "")) for name, value in rows.items()} == {
        one.name: float(getattr(Bounds(), one.name)) for one in fields(Bounds)
    }
