"""What all formats share: streams with signs of life, read by the official client of each API."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import anthropic
import ollama
import openai
import pytest
from helpers.words_model import TOKEN, Words, exchange, running, server_of
from potluck_gateway import streaming
from potluck_gateway.exchange import ChatRequest, ContextLengthError
from potluck_gateway.formats.anthropic import MessageFormat
from potluck_gateway.formats.ollama import OllamaFormat
from potluck_gateway.formats.openai import ChatFormat, CompletionFormat
from potluck_gateway.formats.responses import ResponseFormat
from potluck_gateway.formats.writing import dumps
from potluck_gateway.server import GatewayServer

from potluck.errors import SwarmError
from potluck.sentences import NOTHING, Sentence

HELLO: Any = [{"role": "user", "content": "Hello"}]
FORMATS: list[Any] = [ChatFormat, CompletionFormat, ResponseFormat, MessageFormat, OllamaFormat]
BODIES: dict[str, dict[str, Any]] = {
    "/v1/chat/completions": {"messages": HELLO},
    "/v1/completions": {"prompt": "Hello"},
    "/v1/responses": {"input": "Hello"},
    "/v1/messages": {"model": "words", "max_tokens": 9, "messages": HELLO},
    "/api/chat": {"messages": HELLO},
    "/api/generate": {"prompt": "Hello"},
}


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Words:
    """A model that goes on, before its first step and before its last word, when a sign of life has been written."""
    made = Words("Guten ", "Tag")
    made.may_accept.clear()
    monkeypatch.setattr(streaming, "HEAD_S", 0.01)
    monkeypatch.setattr(streaming, "SILENCE_S", 0.01)

    def going_on(write: Callable[[Any, Sentence], bytes]) -> Callable[[Any, Sentence], bytes]:
        def written(form: Any, sentence: Sentence) -> bytes:
            if not sentence:
                event = made.may_end if made.may_accept.is_set() else made.may_accept
                event.set()
            return write(form, sentence)

        return written

    for one in FORMATS:
        monkeypatch.setattr(one, "wait", going_on(one.wait))
    return made


@pytest.fixture
def server(model: Words) -> Iterator[GatewayServer]:
    with running(server_of(model), model) as made:
        yield made


@pytest.mark.parametrize("path", BODIES)
def test_a_failure_of_a_stream_that_has_begun_is_told_in_it(server: GatewayServer, model: Words, path: str) -> None:
    model.early_failure = SwarmError("nobody serves block 3")
    answer, said = exchange(server, BODIES[path] | {"stream": True}, path=path)
    assert (answer.status, b"nobody serves block 3" in said) == (200, True)
    model.early_failure = ContextLengthError("the prompt has 9 tokens")  # programs shorten their conversation then
    _hold(model)
    _, said = exchange(server, BODIES[path] | {"stream": True}, path=path)
    assert path.startswith("/api/") or b"prompt is too long" in said or b"context_length_exceeded" in said


def test_openais_client_reads_streams_with_signs_of_life(server: GatewayServer, model: Words) -> None:
    direct = openai.DefaultHttpxClient(trust_env=False)
    with openai.OpenAI(base_url=server.url, api_key=TOKEN, max_retries=0, http_client=direct) as client:
        with client.chat.completions.stream(model="words", messages=HELLO) as stream:
            assert stream.get_final_completion().choices[0].message.content == "Guten Tag"
        _hold(model)
        with client.responses.stream(model="words", input="Hello") as events:
            assert events.get_final_response().output_text == "Guten Tag"
        _hold(model)
        parts = client.completions.create(model="words", prompt="Hello", stream=True)
        assert "".join(part.choices[0].text for part in parts) == "Guten Tag"


def test_anthropics_client_reads_a_stream_with_signs_of_life(server: GatewayServer) -> None:
    url, direct = server.url.removesuffix("/v1"), anthropic.DefaultHttpxClient(trust_env=False)
    with (
        anthropic.Anthropic(base_url=url, auth_token=TOKEN, max_retries=0, http_client=direct) as client,
        client.messages.stream(model="words", max_tokens=9, messages=HELLO) as stream,
    ):
        assert stream.get_final_text() == "Guten Tag"


def test_ollamas_client_reads_streams_with_signs_of_life(server: GatewayServer, model: Words) -> None:
    with ollama.Client(f"{server.url.removesuffix('/v1')}/{TOKEN}", trust_env=False) as client:
        parts = list(client.chat("words", HELLO, stream=True))
        assert ("".join(part.message.content or "" for part in parts), parts[-1].done) == ("Guten Tag", True)
        _hold(model)
        assert "".join(part.response for part in client.generate("words", "Hello", stream=True)) == "Guten Tag"


def _hold(model: Words) -> None:
    model.may_accept.clear()
    model.may_end.clear()


def test_half_of_a_surrogate_pair_in_a_call_does_not_break_the_answer() -> None:
    assert dumps({"arguments": '{"x": "\ud83d"}'}) == b'{"arguments":"{\\"x\\": \\"?\\"}"}'


@pytest.mark.parametrize("form", [ChatFormat, CompletionFormat, ResponseFormat, MessageFormat])
def test_a_sign_of_life_in_a_stream_of_events_is_skipped_by_programs(form: Any) -> None:
    said = form("m", ChatRequest(with_details=True)).wait(NOTHING)
    assert said in (b": \n\n", b'event: ping\ndata: {"type":"ping"}\n\n')


def test_ollamas_sign_of_life_is_an_object_that_says_nothing() -> None:
    said = json.loads(OllamaFormat("m", ChatRequest(), is_chat=True).wait(NOTHING))
    assert (said["message"], said["done"]) == ({"role": "assistant", "content": ""}, False)
