"""The gateway as programs use it: a real swarm, and the official clients of OpenAI and of Ollama."""

import json
from collections.abc import Iterator
from typing import Any

import ollama
import openai
import pytest
import torch
from potluck_control.resources import DEMO_MODEL, resource
from transformers import AutoModelForCausalLM, AutoTokenizer

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


def test_scores_are_those_of_the_local_model(url: str) -> None:
    client = openai.OpenAI(base_url=url, api_key=KEY, max_retries=0)
    tokenizer, local = AutoTokenizer.from_pretrained(FOLDER), AutoModelForCausalLM.from_pretrained(FOLDER)
    prompt = tokenizer(PROMPT, return_tensors="pt").input_ids
    with torch.inference_mode():
        ids = local.generate(prompt, max_new_tokens=12, do_sample=False)[0]
        wanted = local(ids[None]).logits[0, prompt.shape[1] - 1 : -1].log_softmax(-1)  # [new tokens, vocabulary]
    chosen = wanted.gather(1, ids[prompt.shape[1] :, None])[:, 0].tolist()

    def complete(prompt: str = PROMPT, **options: Any) -> Any:
        return client.completions.create(model="", prompt=prompt, max_tokens=12, **options)

    whole = complete(logprobs=3).choices[0]
    count = len(whole.logprobs.tokens)
    assert "".join(whole.logprobs.tokens) == whole.text
    assert count >= 10
    assert whole.logprobs.token_logprobs == pytest.approx(chosen[:count], abs=1e-3)
    for found, row in zip(whole.logprobs.top_logprobs, wanted.topk(3).values.tolist(), strict=False):
        assert sorted(found.values(), reverse=True) == pytest.approx(row, abs=1e-3)
    streamed = [part.choices[0].logprobs for part in complete(logprobs=3, stream=True)]
    scores = [score for part in streamed if part for score in part.token_logprobs]
    assert scores == pytest.approx(whole.logprobs.token_logprobs, abs=1e-3)
    chat: Any = client.chat.completions.create(model="", messages=ASKED, max_tokens=12, logprobs=True, top_logprobs=2)
    templated = str(tokenizer.apply_chat_template(ASKED, tokenize=False, add_generation_prompt=True))
    same = complete(templated.removeprefix(tokenizer.bos_token), logprobs=2).choices[0].logprobs.token_logprobs
    assert [one.logprob for one in chat.choices[0].logprobs.content] == pytest.approx(same, abs=1e-3)
    other = complete(logit_bias={str(ids[prompt.shape[1]].item()): -100}, logprobs=0).choices[0]
    assert other.text[:3] != whole.text[:3]
    assert other.logprobs.token_logprobs[0] == pytest.approx(wanted[0].topk(2).values[1].item(), abs=1e-3)


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
