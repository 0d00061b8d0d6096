"""HTTP as bytes, sent to the exported Worker: the tests of the server in Python, on another server."""

# ruff: noqa: F811, F401
from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest
from edge import Edge, exported
from served import Client
from test_http import (
    database,
    test_an_answer_is_json_whatever_was_asked_for,
    test_halves_of_characters_come_back_as_what_can_be_sent,
    test_headers_that_contradict_the_body_are_refused,
    test_healthz_is_read_only,
    test_healthz_says_that_it_is_well_and_which_version,
    test_mcp_takes_posts_only,
    test_several_messages_at_once_are_answered_one_by_one,
    test_what_asks_for_no_answer_is_taken_without_one,
    test_what_is_no_message_is_answered_and_the_next_one_too,
)
from test_http import test_a_version_that_nobody_speaks_is_answered_with_those_that_are as test_an_unknown_version
from test_http import test_every_version_with_a_handshake_is_spoken as test_every_version_with_a_handshake
from test_http import test_the_version_without_a_handshake_is_spoken as test_the_version_without_a_handshake


@pytest.fixture(scope="module")
def edge(database: str) -> Iterator[Edge]:
    with exported(database) as edge:
        yield edge


@pytest.fixture
def client(edge: Edge) -> Iterator[Client]:
    with closing(Client(edge.port)) as client:
        yield client


@pytest.mark.parametrize("path", ["/", "/mcp/", "/sse", "/mcp%2f", "//mcp", "/etc/passwd"])
def test_there_is_nothing_else(client: Client, path: str) -> None:
    assert client.request("POST", path, b"{}").status == 404
