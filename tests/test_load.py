"""Under load: every call that was sent is answered, rightly. Shortly; tests/benchmarks/server.py does it at length."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import Any

import pytest
from load import MODERN, PROTOCOL, Load, assault, call, hostile_lines
from served import Client, Program, program
from support import built
from wires import SERVE, opened, served

CALLS = [
    call("search", {"query": "wages trade 7"}, '"id":"W7"'),
    call("fetch", {"id": "W3"}, '"id":"W3"', MODERN),
    call("search", {"query": "hourly wages of astronauts"}, '"relaxed":true'),
    call("fetch", {"id": "W4"}, '"id":"W4"', PROTOCOL),
    call("fetch", {"id": "nobody"}, '"isError":true'),
]
CONFIG = """\
listen: 127.0.0.1:0
anonymous: true
log_level: error
collections: {{wages: {{path: {path}, public: true}}}}
bounds: {{calls_per_second: 0, body_seconds: 1}}
"""


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("load")
    rows = [{"id": f"W{n}", "title": f"Wages of trade {n}", "text": f"By sex and age, table {n}."} for n in range(400)]
    built(rows, to=folder / "wages.db", name="wages")
    (folder / "serve.yaml").write_text(CONFIG.format(path="wages.db"), "utf-8")
    return folder / "serve.yaml"


@pytest.fixture
def server(config: Path) -> Iterator[Program]:
    with program("--config", config) as started:
        yield started


def test_many_clients_at_once_are_all_answered_rightly(server: Program) -> None:
    tally = asyncio.run(Load(server.port, CALLS, 60).run(2.0))
    assert tally.samples == [] and (tally.wrong, tally.lost, tally.refused) == (0, 0, 0) and tally.right > 60


def test_after_an_assault_it_answers(server: Program) -> None:
    statuses = asyncio.run(assault(server.port, 600))
    assert set(statuses) <= {0, 200, 202, 400, 403, 408, 413, 421}, statuses
    assert statuses[408] == 10 and statuses[413] >= 10
    # without an answer stays only what is no request: a head that does not end
    assert statuses.get(0, 0) <= 20
    tally = asyncio.run(Load(server.port, CALLS, 4).run(0.5))
    assert (tally.wrong, tally.lost) == (0, 0) and tally.right > 4


def test_after_an_assault_over_pipes_it_answers(config: Path) -> None:
    asked = []
    with served(config.parent / "wages.db", [*SERVE, "--tools", "all"]) as child:
        child.handshake()
        for number, message in enumerate(hostile_lines(400)):
            child.send(message)
            asked.append(f"after {number}")
            child.post(asked[-1], "ping", {})
        child.post("last", "tools/call", {"name": "fetch", "arguments": {"id": "W3"}})
        answered: dict[object, dict[str, Any]] = {}
        while not answered.keys() >= {*asked, "last"}:
            answered |= {(message := child.receive())["id"]: message}
        assert opened(answered["last"]["result"])["id"] == "W3"
        status, log = child.end()
        assert status == 0 and "Traceback" not in log


def asked(client: Client) -> int:
    """Send a call and return the status of its answer; 0 if the connection was closed instead."""
    with suppress(OSError):
        client.send(CALLS[0].request)
        return client.receive().status
    return 0


@pytest.mark.skipif(sys.platform == "win32", reason="a socket is no file there")
def test_silent_connections_take_no_place_from_those_who_ask(config: Path) -> None:
    few_files = ["sh", "-c", 'ulimit -n 200; exec "$@"', "serve", *SERVE]
    with program("--config", config, before=few_files) as started, ExitStack() as stack:
        first = stack.enter_context(closing(Client(started.port)))
        assert asked(first) == 200
        for _ in range(400):
            stack.enter_context(closing(Client(started.port)))
        assert asked(first) == 200
        assert asked(stack.enter_context(closing(Client(started.port)))) == 200
        started.process.terminate()
        assert started.wait() == 0
        assert "Traceback" not in started.log() and len(started.log().splitlines()) < 10


def test_connections_beyond_the_bound_are_told_so_until_one_is_free(config: Path) -> None:
    bounded = config.with_name("bounded.yaml")
    bounded.write_text(config.read_text("utf-8").replace("body_seconds: 1", "connections: 3"), "utf-8")
    with program("--config", bounded) as started, ExitStack() as stack:
        held = [stack.enter_context(closing(Client(started.port))) for _ in range(3)]
        assert all(asked(one) == 200 for one in held)
        with closing(Client(started.port)) as one_more:
            refused = one_more.receive()
            assert refused.status == 503 and b"Too many connections" in refused.body
            assert refused.headers["retry-after"] == "1"
        held.pop().close()
        for _ in range(100):  # until the server has seen it
            with closing(Client(started.port)) as next_one:
                if asked(next_one) == 200:
                    break
        else:
            pytest.fail("the place was not given to the next one")
        assert asked(held[0]) == 200


def test_no_call_is_lost_when_it_is_told_to_end(server: Program) -> None:
    async def end() -> Load:
        load = Load(server.port, CALLS, 40)
        running = asyncio.create_task(load.run(30.0))
        await asyncio.sleep(1.5)
        load.ending = True
        server.process.send_signal(signal.SIGTERM)
        await running
        return load

    tally = asyncio.run(end()).tally
    assert server.wait() == 0
    assert (tally.lost, tally.wrong) == (0, 0) and tally.right > 40
