"""A real HTTP server that speaks the chat-completions shape and answers as it is told; it keeps what it was asked."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Reply = Callable[["Handler"], None]


class Handler(BaseHTTPRequestHandler):
    server: Chat

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.asked.append({"path": self.path, "headers": dict(self.headers), "body": json.loads(body)})
        replies = self.server.replies
        reply = replies.pop(0) if len(replies) > 1 else replies[0]
        with suppress(BrokenPipeError, ConnectionResetError):
            (text(reply) if isinstance(reply, str) else reply)(self)

    def send(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


def text(content: Any) -> Reply:
    """Answer with a chat completion."""
    message = {"role": "assistant", "content": content}
    whole = {"object": "chat.completion", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
    return raw(json.dumps(whole).encode())


def items(*found: Any) -> Reply:
    """Answer with items, as it was asked for them."""
    return text(json.dumps({"items": found}))


def raw(body: bytes) -> Reply:
    return lambda handler: handler.send(200, body, Content_Type="application/json")


def status(number: int, body: bytes = b"{}", **headers: str) -> Reply:
    return lambda handler: handler.send(number, body, **headers)


def silence(handler: Handler) -> None:
    """Say nothing until the server ends, at most 30 seconds."""
    handler.server.ended.wait(30)


def trickle(handler: Handler) -> None:
    """Send a byte now and then, for ever."""
    handler.send_response(200)
    handler.end_headers()
    while not handler.server.ended.wait(0.02):
        handler.wfile.write(b" ")


def trickle_in_the_head(handler: Handler) -> None:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
    while not handler.server.ended.wait(0.02):
        handler.wfile.write(b"x")


def hang_up(handler: Handler) -> None:
    handler.close_connection = True


class Chat(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, *replies: Reply | str) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.replies = list(replies)
        self.asked: list[dict[str, Any]] = []
        self.ended = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def messages(self, place: int = -1) -> str:
        """Return all that the model was told in a request."""
        return "\n".join(one["content"] for one in self.asked[place]["body"]["messages"])

    def wait(self, count: int, seconds: float = 20) -> None:
        """Wait until so many requests have come."""
        end = time.monotonic() + seconds
        while len(self.asked) < count and time.monotonic() < end:
            time.sleep(0.01)
        assert len(self.asked) >= count


@contextmanager
def chat(*replies: Reply | str) -> Iterator[Chat]:
    """Serve replies, one a request; the last one again and again."""
    server = Chat(*replies)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.ended.set()
        server.shutdown()
        server.server_close()
        thread.join(10)
