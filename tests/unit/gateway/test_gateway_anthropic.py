"""Anthropic's messages: what a request says to the model, and what Anthropic's own client reads of the answers."""

import json
from collections.abc import Iterator
from typing import Any

import anthropic
import httpx2
import pytest
from helpers.words_model import TOKEN, Words
from potluck_gateway.exchange import (
    ANY_OBJECT,
    Answer,
    AnswerBegun,
    AnswerPart,
    BadRequestError,
    ChatMessage,
    ChatRequest,
    ContextLengthError,
    ToolCall,
)
from potluck_gateway.formats.anthropic import MessageFormat, parse_message_request
from potluck_gateway.server import GatewayServer

from potluck.errors import PotluckError, SwarmError
from potluck.sentences import NOTHING

HELLO: Any = [{"role": "user", "content": "Hello"}]
THINKS: Any = {"type": "enabled", "budget_tokens": 1024}
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA=="}}
ADD = {"name": "add", "description": "Add.", "input_schema": {"type": "object", "properties": {"a": {}}}}
SEARCH = {"type": "web_search_20250305", "name": "web_search"}


@pytest.fixture
def client(server: GatewayServer) -> Iterator[anthropic.Anthropic]:
    url, direct = server.url.removesuffix("/v1"), anthropic.DefaultHttpxClient(trust_env=False)
    with anthropic.Anthropic(base_url=url, auth_token=TOKEN, max_retries=0, http_client=direct) as made:
        yield made


def parse(**fields: Any) -> ChatRequest:
    return parse_message_request(json.dumps({"model": "m", "max_tokens": 9, "messages": HELLO} | fields).encode())


@pytest.mark.parametrize("is_streamed", [False, True])
@pytest.mark.parametrize("thinking", [THINKS, {"type": "disabled"}])
def test_anthropics_client_reads_thinking_text_and_calls(
    client: anthropic.Anthropic, thinking: Any, is_streamed: bool
) -> None:
    asked: Any = {"model": "words", "max_tokens": 9, "messages": HELLO, "thinking": thinking}
    if is_streamed:
        with client.messages.stream(**asked) as stream:
            answer: Any = stream.get_final_message()
    else:
        answer = client.messages.create(**asked)
    thoughts = [("thinking", "Hm.")] if thinking is THINKS else []
    found = [(block.type, getattr(block, "thinking", getattr(block, "text", None))) for block in answer.content]
    assert found == [*thoughts, ("text", "Guten Tag"), ("tool_use", None), ("tool_use", None)]
    calls = [(block.id, block.name, block.input) for block in answer.content if block.type == "tool_use"]
    assert calls == [("call_1", "add", {"a": 1}), ("call_2", "clock", {})]
    assert (answer.stop_reason, answer.usage.input_tokens, answer.usage.output_tokens) == ("tool_use", 1, 3)


def test_signs_of_life_come_first_then_the_prompts_tokens_and_last_how_many_were_known() -> None:
    written = MessageFormat("m", parse())
    said = written.begin() + written.wait(NOTHING) + written.begun(AnswerBegun(7)) + written.part(AnswerPart("Hi"))
    said += written.end((Answer("Hi", "stop", 7, 1, cached_tokens=4),))
    answer = httpx2.Response(200, headers={"Content-Type": written.media_type}, content=said)
    fake = httpx2.Client(transport=httpx2.MockTransport(lambda _: answer))
    with (
        anthropic.Anthropic(base_url="http://gateway", api_key=TOKEN, http_client=fake) as client,
        client.messages.stream(model="m", max_tokens=9, messages=HELLO) as stream,
    ):
        first: Any = next(stream)
        begun, ended = first.message.usage.input_tokens, stream.get_final_message()
    assert (first.type, begun, ended.content[0].type) == ("message_start", 7, "text")
    assert (ended.usage.input_tokens, ended.usage.cache_read_input_tokens) == (3, 4)


def test_the_tokens_of_a_request_are_counted(client: anthropic.Anthropic) -> None:
    counted = client.messages.count_tokens(model="words", messages=HELLO, system="Be kind.")
    assert counted.input_tokens == 2  # `Words` counts messages


@pytest.mark.parametrize(
    ("failure", "status", "kind", "said"),
    [
        (ContextLengthError("it has 9 tokens"), 400, "invalid_request_error", "prompt is too long"),
        (SwarmError("nobody serves block 3"), 503, "overloaded_error", "nobody serves block 3"),
    ],
)
@pytest.mark.parametrize("is_early", [False, True])
def test_a_failure_has_anthropics_shape_before_and_in_a_stream(
    client: anthropic.Anthropic, model: Words, failure: PotluckError, status: int, kind: str, said: str, is_early: bool
) -> None:
    model.early_failure, model.failure = (failure, None) if is_early else (None, failure)
    with (
        pytest.raises(anthropic.APIStatusError) as raised,
        client.messages.stream(model="words", max_tokens=9, messages=HELLO) as stream,
    ):
        stream.get_final_message()
    body: Any = raised.value.body
    assert (body["type"], body["error"]["type"], said in body["error"]["message"]) == ("error", kind, True)
    assert not is_early or raised.value.status_code == status


def test_an_unknown_model_is_refused_in_anthropics_shape(client: anthropic.Anthropic) -> None:
    with pytest.raises(anthropic.NotFoundError) as raised:
        client.messages.create(model="claude", max_tokens=9, messages=HELLO)
    assert isinstance(raised.value.body, dict)
    assert raised.value.body["error"]["type"] == "not_found_error"


def test_models_have_the_fields_that_anthropics_client_reads(client: anthropic.Anthropic) -> None:
    (found,) = client.models.list().data
    assert (found.id, found.type, found.display_name, bool(found.created_at)) == ("words", "model", "words", True)


def test_a_turn_of_an_agent_arrives_whole() -> None:
    uses = {"type": "tool_use", "id": "toolu_1", "name": "add", "input": {"a": 1}}
    result = [{"type": "text", "text": "3"}, IMAGE]
    asked = parse(
        system=[{"type": "text", "text": "x-anthropic-billing-header: cch=1;"}, {"type": "text", "text": "Be kind."}],
        messages=[
            {"role": "user", "content": [IMAGE, {"type": "text", "text": "Add."}]},
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "Hm.", "signature": "x"},
                    {"type": "redacted_thinking", "data": "x"},
                    {"type": "text", "text": "I add.", "cache_control": {"type": "ephemeral"}},
                    uses,
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "toolu_1", "content": result},
                    {"type": "tool_result", "tool_use_id": "toolu_2", "content": "gone", "is_error": True},
                    {"type": "tool_result", "tool_use_id": "toolu_3"},
                    {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "A page."}},
                    {"type": "text", "text": "Go on."},
                ],
            },
            {"role": "system", "content": "9 tokens left"},
        ],
    )
    assert asked.messages == (
        ChatMessage("system", "Be kind."),
        ChatMessage("user", "Add."),
        ChatMessage("assistant", "I add.", (ToolCall("toolu_1", "add", '{"a": 1}'),), thinking="Hm."),
        ChatMessage("tool", "3\n(not shown: this model takes only text)", call_id="toolu_1"),
        ChatMessage("tool", "Error:\ngone", call_id="toolu_2"),
        ChatMessage("tool", "", call_id="toolu_3"),
        ChatMessage("user", "A page.\nGo on."),
        ChatMessage("system", "9 tokens left"),
    )
    assert asked.ignored == ("messages[1].content[0]", "messages[2].content[1]")
    assert not asked.continues


def test_an_answer_that_was_begun_goes_on() -> None:
    assert parse(messages=[*HELLO, {"role": "assistant", "content": "I think"}]).continues


@pytest.mark.parametrize(
    ("choice", "must_call", "is_parallel"),
    [
        ({"type": "auto"}, [], True),
        ({"type": "auto", "disable_parallel_tool_use": True}, [], False),
        ({"type": "any"}, ["add"], False),
        ({"type": "tool", "name": "add"}, ["add"], False),
    ],
)
def test_tools_are_offered_and_those_of_a_server_are_left_out(choice: Any, must_call: Any, is_parallel: bool) -> None:
    asked = parse(tools=[SEARCH, ADD], tool_choice=choice)
    assert asked.tools is not None
    assert [tool.name for tool in asked.tools.offered] == ["add"]
    assert ([tool.name for tool in asked.tools.must_call], asked.tools.is_parallel) == (must_call, is_parallel)
    assert asked.ignored == ("tools[0]",)
    assert parse(tools=[ADD], tool_choice={"type": "none"}).tools is None


def test_the_fields_of_a_request_are_read() -> None:
    asked = parse(
        stop_sequences=["END"],
        temperature=0.5,
        top_k=5,
        thinking={"type": "adaptive"},
        output_config={"effort": "high", "format": {"type": "json_schema", "schema": {"type": "object"}}},
        metadata={"user_id": "me"},
        stream=True,
    )
    assert (asked.max_tokens, asked.stop, asked.sampling.temperature, asked.sampling.top_k) == (9, ("END",), 0.5, 5)
    assert asked.template_kwargs == {"enable_thinking": True, "thinking": True, "reasoning_effort": "high"}
    assert (asked.schema, asked.is_streamed, asked.ignored) == (ANY_OBJECT, True, ("metadata",))
    assert parse().template_kwargs == {"enable_thinking": False, "thinking": False}


@pytest.mark.parametrize(
    "fields", [{"messages": []}, {"messages": [{"role": "user", "content": [IMAGE]}]}, {"max_tokens": "many"}]
)
def test_what_the_model_cannot_take_is_refused(fields: Any) -> None:
    with pytest.raises(BadRequestError):
        parse(**fields)
