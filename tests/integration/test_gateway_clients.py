"""The gateway as programs use it: a real swarm, and the official clients of OpenAI, Ollama and Anthropic."""

import json
from collections.abc import Iterator
from typing import Any

import anthropic
import ollama
import pytest
from potluck_control.resources import DEMO_MODEL, resource

from benchmarks.programs.agent_turns import replayed
from benchmarks.programs.cases import TOOL_CASES, not_as_documented
from benchmarks.programs.gateway import KEY, gateway, tool_tokenizer
from benchmarks.setup.local_swarm import LocalSwarm
from potluck.protocol.blocks import Span

_CLOSED = {"additionalProperties": False}
FOLDER = resource(DEMO_MODEL)
PROMPT = "Count from 7 to 18:"
ASKED = [{"role": "user", "content": PROMPT}]


@pytest.fixture(scope="module")
def swarm() -> Iterator[LocalSwarm]:
    with LocalSwarm(FOLDER, [Span(0, 12)]) as made:
        yield made


@pytest.fixture(scope="module")
def url(swarm: LocalSwarm) -> Iterator[str]:
    with gateway(FOLDER, swarm.membership) as address:
        yield address


@pytest.fixture(scope="module")
def tool_url(swarm: LocalSwarm) -> Iterator[str]:
    with tool_tokenizer() as tokenizer, gateway(FOLDER, swarm.membership, tokenizer=tokenizer) as address:
        yield address


def test_openais_client_gets_what_the_docs_promise(url: str) -> None:
    assert not_as_documented(url, KEY) == {}


def test_openais_client_offers_tools_and_gets_calls_of_a_model_whose_template_knows_them(tool_url: str) -> None:
    assert not_as_documented(tool_url, KEY, TOOL_CASES) == {}


@pytest.fixture
def client(url: str) -> Iterator[ollama.Client]:
    with ollama.Client(f"{url.removesuffix('/v1')}/{KEY}", trust_env=False) as made:
        yield made


def test_ollamas_client_chats_with_the_key_in_the_address(client: ollama.Client) -> None:
    model = client.list().models[0].model
    assert model == FOLDER.name
    options = {"num_predict": 12, "temperature": 0, "num_ctx": 2048}
    whole = client.chat(model, ASKED, options=options)
    parts = list(client.chat(model, ASKED, options=options, stream=True))
    assert whole.message.content == "".join(part.message.content or "" for part in parts) != ""
    assert (len(parts) > 2, parts[-1].done, whole.eval_count) == (True, True, parts[-1].eval_count)
    assert client.generate(model, PROMPT, options=options).response
    wanted = {"type": "object", "properties": {"even": {"type": "boolean"}}, "required": ["even"]} | _CLOSED
    assert "even" in json.loads(client.generate(model, "Is 7 even?", format=wanted).response)
    assert len(client.embed(model, ["a", "b"]).embeddings) == 2
    assert len(client.embed(model, "a", dimensions=8).embeddings[0]) == 8
    assert client.embeddings(model, "a").embedding == pytest.approx(client.embed(model, "a").embeddings[0])
    shown, (running,) = client.show(model), client.ps().models
    assert shown.capabilities == ["completion", "tools", "embedding"]  # the demo model doesn't think
    assert shown.modelinfo is not None
    assert running.context_length == shown.modelinfo[f"{shown.modelinfo['general.architecture']}.context_length"] > 0
    with pytest.raises(ollama.ResponseError, match="the model here is"):
        client.chat("llama3", ASKED)
    assert client.chat(model, ASKED, options=options, think=False).message.content == whole.message.content


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def test_ollamas_client_offers_tools_and_sends_calls_back(tool_url: str) -> None:
    call = {"function": {"name": "add", "arguments": {"a": 1, "b": 2}}}
    result = {"role": "tool", "tool_name": "add", "content": "3"}
    history = [*ASKED, {"role": "assistant", "tool_calls": [call]}, result]
    with ollama.Client(f"{tool_url.removesuffix('/v1')}/{KEY}", trust_env=False) as client:
        assert client.chat(FOLDER.name, history, tools=[add], options={"num_predict": 12}).eval_count


@pytest.mark.parametrize("is_streamed", [False, True])
def test_anthropics_client_gets_an_answer_and_a_call(tool_url: str, is_streamed: bool) -> None:
    numbers = {"type": "object", "properties": {"a": {"enum": [1, 2]}}, "required": ["a"], **_CLOSED}
    tools = {"tools": [{"name": "add", "input_schema": numbers}], "tool_choice": {"type": "any"}}
    asked: dict[str, Any] = {"model": FOLDER.name, "max_tokens": 200, "messages": ASKED}
    url, direct = tool_url.removesuffix("/v1"), anthropic.DefaultHttpxClient(trust_env=False)
    with anthropic.Anthropic(base_url=url, auth_token=KEY, http_client=direct) as client:

        def answer(**more: Any) -> anthropic.types.Message:
            if not is_streamed:
                return client.messages.create(**asked | more)
            with client.messages.stream(**asked | more) as stream:
                return stream.get_final_message()

        text, called = answer(max_tokens=1), answer(**tools)
        counted = client.messages.count_tokens(model=FOLDER.name, messages=ASKED)
    assert ([block.type for block in text.content], text.stop_reason) == (["text"], "max_tokens")
    assert counted.input_tokens == text.usage.input_tokens + (text.usage.cache_read_input_tokens or 0)
    (block,) = called.content
    assert block.type == "tool_use"
    assert (block.name, set(block.input), called.stop_reason) == ("add", {"a"}, "tool_use")


def test_agents_go_on_after_failures_before_a_model_that_knows_neither_tools_nor_the_system() -> None:
    found = replayed(["knows neither tools nor the system"], turns=5)
    assert {name: problem for name, problem in found.items() if problem} == {}
