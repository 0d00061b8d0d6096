"""The thin MCP adapter: a catalogue as two tools, search and fetch."""

from __future__ import annotations


def serve_stdio(path: str) -> None:
    """Serve a catalogue's database over standard input and output until the input ends."""
    raise NotImplementedError(path)
