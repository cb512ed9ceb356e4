"""The gateway as programs use it: a real swarm, and the official clients of OpenAI and of Ollama."""

import json
from collections.abc import Iterator

import ollama
import pytest
from potluck_control.resources import DEMO_MODEL, resource

from benchmarks.gateway import KEY, gateway, tool_tokenizer
from benchmarks.gateway_cases import TOOL_CASES, not_as_documented
from benchmarks.local_swarm import LocalSwarm
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
    with gateway(FOLDER, swarm) as address:
        yield address


def test_openais_client_gets_what_the_docs_promise(url: str) -> None:
    assert not_as_documented(url, KEY) == {}


def test_openais_client_offers_tools_and_gets_calls_of_a_model_whose_template_knows_them(swarm: LocalSwarm) -> None:
    with tool_tokenizer() as tokenizer, gateway(FOLDER, swarm, tokenizer=tokenizer) as url:
        assert not_as_documented(url, KEY, TOOL_CASES) == {}


def test_ollamas_client_chats_with_the_key_in_the_address(url: str) -> None:
    client = ollama.Client(f"{url.removesuffix('/v1')}/{KEY}", trust_env=False)
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
    assert client.show(model).capabilities
    with pytest.raises(ollama.ResponseError, match="the model here is"):
        client.chat("llama3", ASKED)
    with pytest.raises(ollama.ResponseError, match="not supported"):
        client.chat(model, ASKED, think=True)
