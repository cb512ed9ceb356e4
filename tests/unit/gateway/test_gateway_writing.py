"""What all formats share when they write."""

from __future__ import annotations

import json
from typing import Any

import pytest
from potluck_gateway.exchange import ChatRequest
from potluck_gateway.formats.anthropic import MessageFormat
from potluck_gateway.formats.ollama import OllamaFormat
from potluck_gateway.formats.openai import ChatFormat, CompletionFormat
from potluck_gateway.formats.responses import ResponseFormat
from potluck_gateway.formats.writing import dumps

from potluck.sentences import NOTHING


def test_half_of_a_surrogate_pair_in_a_call_does_not_break_the_answer() -> None:
    assert dumps({"arguments": '{"x": "\ud83d"}'}) == b'{"arguments":"{\\"x\\": \\"?\\"}"}'


@pytest.mark.parametrize("form", [ChatFormat, CompletionFormat, ResponseFormat, MessageFormat])
def test_a_sign_of_life_in_a_stream_of_events_is_skipped_by_programs(form: Any) -> None:
    said = form("m", ChatRequest(with_details=True)).wait(NOTHING)
    assert said in (b": \n\n", b'event: ping\ndata: {"type":"ping"}\n\n')


def test_ollamas_sign_of_life_is_an_object_that_says_nothing() -> None:
    said = json.loads(OllamaFormat("m", ChatRequest(), is_chat=True).wait(NOTHING))
    assert (said["message"], said["done"]) == ({"role": "assistant", "content": ""}, False)
