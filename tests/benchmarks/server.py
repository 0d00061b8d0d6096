"""The server under load: calls a second beside a bare Starlette application, and what many and hostile clients get.

    python tests/benchmarks/server.py                       # the whole: some four minutes
    python tests/benchmarks/server.py --seconds 10          # each load for ten seconds

Everything is measured in one run on one machine, client and servers on the same processors; what else runs there
counts too. The bare application reads the same requests as JSON, asks the same catalogue and sends what it finds: what
is beside it is what MCP, the checks and the bounds cost. One that always sends the same answer is shown as well. Exit
status 1 if a requirement is not met.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from load import MODERN, PROTOCOL, Call, Load, Tally, assault, call, resident
from report import ROOT

from catalog_search import Catalog, build

CLIENTS = 16
ROUNDS = 3
BARE = """\
import json, socket, sys
import anyio.to_thread
import uvicorn
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route
from catalog_search import Catalog

catalog = Catalog.open(sys.argv[1])
constant = json.loads(sys.stdin.readline().strip() or "null")

def looked_up(name, arguments):
    if name == "search":
        found = catalog.search(arguments["query"]).results
        return {"results": [{"id": one.id, "title": one.title, "url": one.url} for one in found]}
    document = catalog.fetch(arguments["id"])
    return {"id": document.id, "title": document.title, "text": document.markdown(), "url": document.url}

async def mcp(request):
    message = await request.json()
    if sys.argv[2] == "constant":
        return JSONResponse(constant)
    params = message["params"]
    found = await anyio.to_thread.run_sync(looked_up, params["name"], params["arguments"])
    return JSONResponse({"jsonrpc": "2.0", "id": message["id"], "result": found})

app = Starlette(routes=[Route("/mcp", mcp, methods=["POST"])])
opened = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
opened.bind(("127.0.0.1", 0))
opened.listen(1024)
print(f"Serving at http://127.0.0.1:{opened.getsockname()[1]}/mcp", file=sys.stderr, flush=True)
config = uvicorn.Config(app, log_level="error", access_log=False, lifespan="off", http="h11", loop="asyncio")
uvicorn.Server(config).run(sockets=[opened])
"""
CONFIG = """\
listen: 127.0.0.1:0
anonymous: true
log_level: {level}
collections: {{oecd: {{path: oecd.db, public: true}}}}
bounds: {{calls_per_second: 0}}
"""


class Server:
    """A server in a process of its own."""

    def __init__(self, command: Sequence[str], said: str = "") -> None:
        self._log = tempfile.TemporaryFile()  # noqa: SIM115
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=self._log, text=True)
        assert self.process.stdin is not None
        self.process.stdin.write(said + "\n")
        self.process.stdin.flush()
        self.port = self._port()

    def _port(self) -> int:
        for _ in range(600):
            time.sleep(0.05)
            log = os.pread(self._log.fileno(), 100_000, 0).decode()
            if found := re.search(r"at http://.*?:(\d+)/mcp", log):
                return int(found[1])
            if self.process.poll() is not None:
                break
        raise SystemExit(f"a server did not start: {log}")

    def end(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(30)


def calls(database: Path, version: str) -> list[Call]:
    """Return searches and fetches of the catalogue of the OECD, with what their answers must hold."""
    questions = [
        "labor force",
        "inflation",
        "hourly wages of nurses",
        "co2 emissions",
        "house prices",
        "gdp per capita",
    ]
    found = []
    with Catalog.open(database) as catalog:
        for question in questions:
            first = catalog.search(question).results[0].id
            found.append(call("search", {"query": question}, f'"id":{json.dumps(first)}', version))
            found.append(call("fetch", {"id": first}, f'"id":{json.dumps(first)}', version))
    return found


def cpu_seconds(process: int) -> float:
    """Return the processor time that a process has taken; 0 where that cannot be known."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def rate(port: int, made: Sequence[Call], seconds: float) -> tuple[float, Tally]:
    tally = asyncio.run(Load(port, made, CLIENTS).run(seconds))
    return tally.right / seconds, tally


class Report:
    """Prints each requirement with what was measured, and remembers whether one was not met."""

    def __init__(self) -> None:
        self.failed = False

    def say(self, met: bool, what: str) -> None:
        self.failed |= not met
        print(f"{'ok  ' if met else 'FAIL'}  {what}", flush=True)


def beside_bare(folder: Path, seconds: float, report: Report) -> None:
    database = folder / "oecd.db"
    modern, handshake = calls(database, MODERN), calls(database, PROTOCOL)
    with Catalog.open(database) as catalog:
        results = [{"id": r.id, "title": r.title, "url": r.url} for r in catalog.search("labor force").results]
    text = json.dumps({"results": results})
    result = {"content": [{"type": "text", "text": text}], "structuredContent": {"results": results}}
    answer = {"jsonrpc": "2.0", "id": 1, "result": result}
    ours = Server([sys.executable, "-m", "catalog_search", "serve", "--config", str(folder / "quiet.yaml")])
    bare = Server([sys.executable, "-c", BARE, str(database), "catalogue"])
    constant = Server([sys.executable, "-c", BARE, str(database), "constant"], json.dumps(answer))
    anything = [Call(one.request, b'"results"') for one in modern]
    base = "bare Starlette app with the same look-ups"
    ceiling = "bare Starlette app with a constant answer"
    figures: dict[str, list[float]] = {}
    taken: dict[str, list[float]] = {}
    try:
        for _ in range(ROUNDS):  # in turn, so that whatever else the machine does weighs on all of them
            for name, server, made in (
                (ceiling, constant, anything),
                (base, bare, modern),
                (f"catalog-search, {MODERN}", ours, modern),
                (f"catalog-search, {PROTOCOL}", ours, handshake),
            ):
                before = cpu_seconds(server.process.pid)
                found, tally = rate(server.port, made, seconds)
                taken.setdefault(name, []).append((cpu_seconds(server.process.pid) - before) / max(1, tally.all))
                figures.setdefault(name, []).append(found)
                if tally.wrong or tally.lost:
                    report.say(False, f"{name}: {tally.wrong} wrong, {tally.lost} lost: {tally.samples}")
    finally:
        ours.end()
        for server in (bare, constant):
            server.process.kill()
            server.process.wait()
    best = {name: sorted(ones)[len(ones) // 2] for name, ones in figures.items()}
    for name, found in best.items():
        print(
            f"      {name}: {found:,.0f} calls/s (median of {ROUNDS}; {CLIENTS} clients), "
            f"{sorted(taken[name])[ROUNDS // 2] * 1_000:.2f} ms of the server's processor a call"
        )
    for name in (f"catalog-search, {MODERN}", f"catalog-search, {PROTOCOL}"):
        share = best[name] / best[base]
        report.say(share >= 0.5, f"{name}: {share:.2f} of the {base}; 0.50 is wanted")
        print(f"      {name}: {best[name] / best[ceiling]:.2f} of the {ceiling}, which looks nothing up")


def under_load(folder: Path, clients: int, seconds: float, report: Report) -> None:
    made = calls(folder / "oecd.db", PROTOCOL) + calls(folder / "oecd.db", MODERN)
    server = Server([sys.executable, "-m", "catalog_search", "serve", "--config", str(folder / "quiet.yaml")])
    try:
        half(server, made, clients // 2, seconds / 2, report)
        whole(server, made, clients, seconds, report)
        hostile(server, made, clients // 4, report)
        told_to_end(server, made, clients, report)
    finally:
        server.process.kill()
        server.process.wait()


def counted(tally: Tally) -> str:
    share = tally.right / max(1, tally.all)
    said = f"{tally.right:,} right ({share:.2%}), {tally.refused} refused, {tally.wrong} wrong, {tally.lost} lost"
    return said + (f": {tally.samples}" if tally.samples else "")


def half(server: Server, made: Sequence[Call], clients: int, seconds: float, report: Report) -> None:
    tally = asyncio.run(Load(server.port, made, clients).run(seconds))
    middle, slow = tally.quantile(0.5), tally.quantile(0.99)
    report.say(tally.right == tally.all, f"{clients} clients: {counted(tally)}; no refusal is wanted")
    report.say(slow <= 10 * middle, f"{clients} clients: p50 {middle:.0f} ms, p99 {slow:.0f} ms; 10 × is allowed")


def whole(server: Server, made: Sequence[Call], clients: int, seconds: float, report: Report) -> None:
    early_at, late_at = seconds / 6, seconds - 0.5

    async def measured() -> tuple[Tally, int, int]:
        running = asyncio.create_task(Load(server.port, made, clients).run(seconds))
        await asyncio.sleep(early_at)
        early = resident(server.process.pid)
        await asyncio.sleep(late_at - early_at)
        late = resident(server.process.pid)
        return await running, early, late

    tally, early, late = asyncio.run(measured())
    right = tally.right >= 0.99 * tally.all and not (tally.wrong or tally.lost)
    speed = f"{tally.right / seconds:,.0f} calls/s, p50 {tally.quantile(0.5):.0f} ms, p99 {tally.quantile(0.99):.0f} ms"
    report.say(right, f"{clients} clients for {seconds:g} s: {counted(tally)}; {speed}; 99% right is wanted")
    memory = f"memory {early / 2**20:.1f} MB at {early_at:g} s, {late / 2**20:.1f} MB at {late_at:g} s"
    report.say(late <= 1.1 * early, f"{memory} ({late / max(1, early):.2f} ×); 1.10 × is allowed")


def hostile(server: Server, made: Sequence[Call], clients: int, report: Report) -> None:
    statuses = asyncio.run(assault(server.port, 10_000))
    print(f"      10,000 hostile messages, answered with {dict(sorted(statuses.items()))}; 0: a head that never ended")
    tally = asyncio.run(Load(server.port, made, clients).run(3.0))
    memory = f"memory {resident(server.process.pid) / 2**20:.1f} MB"
    report.say(tally.right > 0 and tally.right == tally.all, f"after them: {counted(tally)}; {memory}")


def told_to_end(server: Server, made: Sequence[Call], clients: int, report: Report) -> None:
    async def measured() -> Tally:
        load = Load(server.port, made, clients)
        running = asyncio.create_task(load.run(30.0))
        await asyncio.sleep(3.0)
        load.ending = True
        server.process.send_signal(signal.SIGTERM)
        return await running

    tally = asyncio.run(measured())
    status = server.process.wait(30)
    met = status == 0 and not (tally.lost or tally.wrong)
    report.say(met, f"SIGTERM under {clients} clients: {counted(tally)}; exit status {status}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=60.0, help="how long the clients go on")
    parser.add_argument("--clients", type=int, default=200, help="how many at once")
    options = parser.parse_args()
    report = Report()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        build(ROOT / "data" / "oecd" / "catalog.yaml", folder / "oecd.db")
        (folder / "quiet.yaml").write_text(CONFIG.format(level="error"), "utf-8")
        print(f"{os.cpu_count()} processors, load average before {os.getloadavg()[0]:.1f}")
        beside_bare(folder, min(5.0, options.seconds / 4), report)
        under_load(folder, options.clients, options.seconds, report)
        print(f"load average after {os.getloadavg()[0]:.1f}")
    raise SystemExit(1 if report.failed else 0)


if __name__ == "__main__":
    main()
