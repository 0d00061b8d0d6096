"""A model behind a chat endpoint: bounded in time and size, tried twice, and its key goes nowhere else."""

from __future__ import annotations

import json
import logging
import socket
import time
from typing import Any

import pytest
from chat import (
    Reply,
    chat,
    hang_up,
    raw,
    silence,
    status,
    text,
    trickle,
    trickle_in_the_head,
)

from catalog_search.errors import ModelError, SettingsError
from catalog_search.server.model import MOST_BYTES, Model

KEY = "sk-test-0123456789abcdef"
MESSAGES = [{"role": "user", "content": "Frage é"}]


def asked(url: str, seconds: float = 20, key: str = KEY) -> str:
    return Model(url, "m-1", key, seconds).answer(MESSAGES)


def test_a_question_is_sent_as_every_endpoint_takes_it() -> None:
    with chat("Antwort é") as server:
        assert asked(server.url) == "Antwort é"
        assert asked(server.url + "/", key="") == "Antwort é"
    first, second = server.asked
    assert first["path"] == second["path"] == "/v1/chat/completions"
    assert first["body"] == {"model": "m-1", "messages": MESSAGES, "stream": False}
    assert first["headers"]["Authorization"] == f"Bearer {KEY}"
    assert "Authorization" not in second["headers"]


def test_a_text_in_parts_is_one_text() -> None:
    with chat(text([{"type": "text", "text": "a"}, {"type": "image"}, {"type": "text", "text": "b"}])) as server:
        assert asked(server.url) == "ab"


@pytest.mark.parametrize(
    ("first", "reason"),
    [(status(429), "status 429"), (status(500), "status 500"), (status(503), "status 503"), (status(408), "status 408"),
     (hang_up, "connection failed"), (status(429, Retry_After="1"), "status 429")],
)  # fmt: skip
def test_what_may_pass_is_tried_once_more(first: Reply, reason: str) -> None:
    with chat(first, "well") as server:
        assert asked(server.url) == "well"
        assert len(server.asked) == 2
    with chat(first) as server:
        with pytest.raises(ModelError, match=f"the model did not answer: .*{reason}.* Ask again later"):
            asked(server.url)
        assert len(server.asked) == 2


def test_who_asks_for_a_long_pause_is_not_waited_for() -> None:
    with chat(status(429, Retry_After="3600")) as server:
        with pytest.raises(ModelError, match="status 429"):
            asked(server.url)
        assert len(server.asked) == 1


@pytest.mark.parametrize("reply", [silence, trickle, trickle_in_the_head])
def test_an_attempt_ends_in_time_however_it_is_drawn_out(reply: Reply) -> None:
    began = time.monotonic()
    with chat(reply) as server:
        with pytest.raises(ModelError, match=r"more than 0\.3 s"):
            asked(server.url, 0.3)
        assert len(server.asked) == 2
    assert time.monotonic() - began < 20
    with chat(reply, "well") as server:
        assert asked(server.url, 1) == "well"


def test_nobody_there_is_an_error() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
        with pytest.raises(ModelError, match=r"the connection failed \(ConnectionRefusedError\)"):
            asked(url)


def test_an_endpoint_that_does_not_prove_who_it_is_gets_no_key() -> None:
    with chat("well") as server:
        with pytest.raises(ModelError, match=r"the connection failed \(SSL"):
            asked(server.url.replace("http:", "https:"))
        assert server.asked == []


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (status(400, b"no"), "it answered with status 400"),
        (status(401, KEY.encode()), "status 401; see LLM_API_KEY"),
        (status(404), "status 404; see LLM_BASE_URL and LLM_MODEL"),
        (status(302, Location="http://127.0.0.1:1/"), "status 302"),
        (raw(b"not JSON"), "is no chat completion with a text"),
        (raw(b"[" * 200_000), "is no chat completion with a text"),
        (raw(b'{"choices": []}'), "is no chat completion with a text"),
        (raw(b'{"choices": {"0": 1}}'), "is no chat completion with a text"),
        (text(None), "is no chat completion with a text"),
        (text("x" * 2 * MOST_BYTES), "has more than 1,000,000 bytes"),
    ],
)
def test_what_will_not_pass_is_an_error_at_once(reply: Reply, said: str) -> None:
    with chat(reply) as server:
        with pytest.raises(ModelError) as caught:
            asked(server.url)
        assert said in caught.value.message
        assert len(server.asked) == 1


def test_a_redirect_takes_the_key_nowhere() -> None:
    with chat("well") as other:
        moved = status(307, Location=other.url + "/chat/completions")
        with chat(moved) as server, pytest.raises(ModelError, match="status 307"):
            asked(server.url)
    assert other.asked == []


@pytest.mark.parametrize(
    "reply", [status(401, KEY.encode(), X_Key=KEY), status(500, KEY.encode()), raw(KEY.encode()), hang_up, silence]
)
def test_no_error_and_no_log_holds_the_key(reply: Reply, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with chat(reply) as server, pytest.raises(ModelError) as caught:
        asked(server.url, 0.2)
    assert KEY not in f"{caught.value!r} {caught.value} {caplog.text} {caught.value.__cause__}"
    assert KEY not in repr(Model(server.url, "m", KEY))


def test_what_comes_back_is_cleaned_of_the_key() -> None:
    model = Model("http://x.example", "m", KEY)
    value: Any = {KEY: [f"a {KEY} b", 3, None], "b": {"c": KEY}}
    assert KEY not in json.dumps(model.clean(value))
    assert model.clean(f"a {KEY} b") == "a … b"
    assert model.clean('{"a": "\\u0073' + KEY[1:]) == "…"
    # a placeholder is no secret, and may be a word like any other
    assert Model("http://x.example", "m", "ollama").clean("ollama runs") == "ollama runs"


# Settings -----------------------------------------------------------------------------------------------------


def test_the_environment_names_the_model() -> None:
    wanted = {"LLM_BASE_URL": " http://127.0.0.1:1/v1 ", "LLM_MODEL": "m", "LLM_API_KEY": f"{KEY}\n"}
    assert Model.from_environment(wanted, 3) == Model("http://127.0.0.1:1/v1", "m", KEY, 3)
    assert Model.from_environment(wanted | {"LLM_API_KEY": ""}) == Model("http://127.0.0.1:1/v1", "m")
    assert Model.from_environment({"LLM_BASE_URL": "", "OTHER": "x"}) is None


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        ({"LLM_MODEL": "m"}, "key LLM_BASE_URL: it is not set; a model needs LLM_BASE_URL and LLM_MODEL"),
        ({"LLM_BASE_URL": "http://x.example"}, "key LLM_MODEL: it is not set"),
        ({"LLM_API_KEY": KEY}, "key LLM_BASE_URL: it is not set"),
        *(
            ({"LLM_BASE_URL": url, "LLM_MODEL": "m"}, "key LLM_BASE_URL: it must be an address such as")
            for url in ("x.example/v1", "ftp://x.example", "http://", f"https://u:{KEY}@x.example", "http://x.example?a=b",
                        "http://x.example/#a", "http://x.example:99999", "http://x.example/a b", "http://[::1", "http://é/")
        ),
        *(
            (
                {"LLM_BASE_URL": "http://x.example", "LLM_MODEL": "m", "LLM_API_KEY": f"{KEY}{bad}x"},
                "key LLM_API_KEY: it holds",
            )
            for bad in ("\n", "\r\nX-Other: 1", " ", "é", "\0")
        ),
    ],
)  # fmt: skip
def test_a_setting_that_is_wrong_is_said_without_the_key(environment: dict[str, str], said: str) -> None:
    with pytest.raises(SettingsError) as caught:
        Model.from_environment(environment)
    assert said in str(caught.value)
    assert KEY not in str(caught.value)
