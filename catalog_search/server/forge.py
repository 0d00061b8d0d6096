"""A model that lies, on purpose: forged items sent through the whole of verified_search, to see what becomes of them.

A real chat endpoint is opened on loopback. It answers with items that were forged from true ones, in every way that is
known here, and with the true ones among them; verified_search retrieves, asks it, and verifies, as it does with any
model.
"""

from __future__ import annotations

import json
import random
import re
import threading
from collections import Counter
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from itertools import cycle, islice
from typing import TYPE_CHECKING, Any, NamedTuple

from catalog_search.errors import QueryError
from catalog_search.server.corpus import Corpora
from catalog_search.server.model import Model
from catalog_search.server.shelf import Shelf
from catalog_search.server.texts import Texts
from catalog_search.server.verified import VerifiedSearch
from catalog_search.verification import MOST_ITEMS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

SOURCES = 5
"""Documents that are fetched; others of the same answer are not, and forgeries cite them too."""
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"title": {"type": "string"}, "figure": {"type": "number"}},
    "required": ["title"],
    "additionalProperties": False,
}
URL = "source_url"
Item = dict[str, Any]


class Kind(NamedTuple):
    """A way to forge, and what came of it."""

    name: str
    forged: int
    survived: int
    reasons: tuple[str, ...]
    """Why they were dropped."""


class Forgeries(NamedTuple):
    """What became of forged items, and of the true ones among them."""

    question: str
    sources: int
    kinds: list[Kind]
    true: int
    true_kept: int
    example: dict[str, Any]
    """One that was dropped: index, item, reason, path, message."""

    @property
    def forged(self) -> int:
        """How many items were forged."""
        return sum(kind.forged for kind in self.kinds)

    @property
    def survived(self) -> int:
        """How many of them came through."""
        return sum(kind.survived for kind in self.kinds)

    def as_json(self) -> dict[str, Any]:
        """Return it as `forge --json` prints it."""
        kinds = [kind._asdict() | {"reasons": list(kind.reasons)} for kind in self.kinds]
        return {**self._asdict(), "forged": self.forged, "survived": self.survived, "kinds": kinds}


def _one_sign_more(dice: random.Random, url: str) -> str:
    place = dice.randrange(len("https://"), len(url) + 1)
    return url[:place] + dice.choice("abcxyz0123456789-") + url[place:]


def _figure(dice: random.Random) -> float:
    return dice.randrange(10**11, 10**12) + 0.5  # so long that no source has it by chance


# From the dice, a true item, another true item, and the url of a document that was not fetched.
KINDS: dict[str, Callable[[random.Random, Item, Item, str], Item]] = {
    "a url that was made up": lambda dice, one, _other, _far: {
        **one, URL: f"https://{dice.choice(('data', 'stats', 'www'))}.example.org/{dice.getrandbits(40):x}"
    },
    "the url of a page that was not fetched": lambda _dice, one, _other, far: {**one, URL: far},
    "a url with a slash more": lambda _dice, one, _other, _far: {**one, URL: f"{one[URL]}/"},
    "a url in other case": lambda _dice, one, _other, _far: {**one, URL: one[URL].swapcase()},
    "a url with a fragment": lambda dice, one, _other, _far: {**one, URL: f"{one[URL]}#{dice.randrange(100)}"},
    "a url with one sign more": lambda dice, one, _other, _far: {**one, URL: _one_sign_more(dice, one[URL])},
    "no url": lambda dice, one, _other, _far: {**one, URL: dice.choice((None, "", 7, [one[URL]]))},
    "a right url, a wrong number": lambda dice, one, _other, _far: {**one, "figure": _figure(dice)},
    "a right url, invented words": lambda dice, one, _other, _far: {
        **one, "title": f"{one['title']} qx{dice.getrandbits(32):x}"
    },
    "a right url, another document's title": lambda _dice, one, other, _far: {**one, "title": other["title"]},
    "a value of another type": lambda dice, one, _other, _far: {**one, "title": dice.randrange(1000)},
    "a member that nobody asked for": lambda _dice, one, _other, _far: {**one, "verified": True},
}  # fmt: skip


def forge(path: str, question: str | None = None, *, count: int = 1_000, seed: int = 0) -> Forgeries:
    """Send forged items through verified_search, and count what comes through.

    Args:
        path: a catalogue's database.
        question: with an answer in it; one that the catalogue itself suggests when None.
        count: how many items are forged.
        seed: equal seeds forge equally.

    Raises:
        QueryError: fewer than two documents that have a url answer the question.
        DatabaseError: the database cannot be read.
    """
    shelf = Shelf.of_files([path])
    try:
        example = Corpora.of(shelf).example
        questions = [question] if question is not None else [example, *sorted(example.split(), key=len, reverse=True)]
        for asked in questions:
            arguments = {"query": asked, "schema": SCHEMA, "require": ["all"]}
            near, words = _true(shelf, arguments, SOURCES)
            # What the source holds all the same would be no forgery: a title that stands in the other's text.
            pairs = [(one, other) for one in near for other in near if _words(other["title"]) not in words[one[URL]]]
            if pairs:
                far = [item[URL] for item in _true(shelf, arguments, MOST_ITEMS)[0] if item[URL] not in words]
                return _counted(shelf, arguments | {"limit": SOURCES}, near, pairs, far, random.Random(seed), count)
        raise QueryError(f"“{questions[0][:60]}” finds too little to forge from: two documents with a url are needed")
    finally:
        shelf.close()


def _true(shelf: Shelf, arguments: Item, limit: int) -> tuple[list[Item], dict[str, str]]:
    """Return true items, and the words of each source by its url."""
    search = VerifiedSearch(Texts())
    job = search.retrieved(shelf, arguments | {"limit": limit})
    words = {one["url"]: _words(f"{one['title']} {one['text']} {one['keywords']}") for one in job.sources}
    return [{"title": item["title"], URL: item[URL]} for item in search.answer(job)["items"]], words


def _words(text: str) -> str:
    words = re.findall(r"[^\W_]+", text.casefold())
    return f" {' '.join(words)} "


def _counted(
    shelf: Shelf,
    arguments: Item,
    near: Sequence[Item],
    pairs: Sequence[tuple[Item, Item]],
    far: Sequence[str],
    dice: random.Random,
    count: int,
) -> Forgeries:
    names = [name for name in KINDS if far or "not fetched" not in name]
    claims: list[tuple[str, Item]] = []
    for name in islice(cycle(names), count):
        claims.append((name, KINDS[name](dice, *dice.choice(pairs), dice.choice(far) if far else "")))
    forged, survived, reasons = Counter[str](), Counter[str](), {name: Counter[str]() for name in names}
    true = true_kept = 0
    example: dict[str, Any] = {}
    with liar() as (url, say):
        search = VerifiedSearch(Texts(), Model(url, "liar"))
        step = MOST_ITEMS - len(near)
        for start in range(0, len(claims), step):
            batch = [*claims[start : start + step], *(("", item) for item in near)]
            dice.shuffle(batch)
            say([item for _, item in batch])
            answer = search.answer(search.retrieved(shelf, arguments))
            gone = {one["index"]: one for one in answer["dropped"]}
            for index, (name, _) in enumerate(batch):
                if not name:
                    true, true_kept = true + 1, true_kept + (index not in gone)
                    continue
                forged[name] += 1
                survived[name] += index not in gone
                if index in gone:
                    reasons[name][gone[index]["reason"]] += 1
                    example = example or gone[index]
    kinds = [Kind(name, forged[name], survived[name], tuple(sorted(reasons[name]))) for name in names]
    return Forgeries(arguments["query"], len(near), kinds, true, true_kept, example)


@contextmanager
def liar() -> Iterator[tuple[str, Callable[[list[Item]], None]]]:
    """Open a chat endpoint on loopback that answers every request with the items it was last told.

    Yields:
        Its address for LLM_BASE_URL, and the function that tells it what to say.
    """
    said: list[Item] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            content = f"Here is what you asked for:\n```json\n{json.dumps({'items': said})}\n```"
            message = {"role": "assistant", "content": content}
            body = json.dumps({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    def say(items: list[Item]) -> None:
        said[:] = items

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/v1", say
        finally:
            server.shutdown()
            thread.join()
