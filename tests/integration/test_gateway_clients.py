"""The gateway as programs use it: a real daemon, a key, the official clients of OpenAI and of Ollama."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import ollama
import openai
import pytest
import torch
from helpers.daemon_process import LOOPBACK, DaemonProcess
from potluck_control import schema
from potluck_control.methods import gateway
from potluck_control.methods.gateway import GatewayState, GatewayStatus, KeyName
from potluck_control.resources import DEMO_MODEL, resource
from potluck_control.states import State
from transformers import AutoModelForCausalLM, AutoTokenizer

from benchmarks.gateway_cases import not_as_documented

_CLOSED = {"additionalProperties": False}
PROMPT = "Count from 7 to 18:"
ASKED = [{"role": "user", "content": PROMPT}]


@pytest.fixture(scope="module")
def daemon() -> Iterator[DaemonProcess]:
    with DaemonProcess(f"{LOOPBACK}[gateway]\nport = 0\n") as made:
        made.client.call(schema.CREATE)
        made.wait_for(lambda status: status.state == State.SERVING)
        yield made


@pytest.fixture(scope="module")
def status(daemon: DaemonProcess) -> GatewayStatus:
    done = daemon.command("gateway", "start", "--stay", "--json")
    assert done.returncode == 0, done.stderr
    found = daemon.client.call(gateway.STATUS)
    assert (found.state, found.ends_at) == (GatewayState.READY, None)
    return found


@pytest.fixture(scope="module")
def key(daemon: DaemonProcess, status: GatewayStatus) -> str:
    return str(json.loads(daemon.command("gateway", "key", "webui", "--json").stdout)["key"])


def test_openais_client_gets_what_the_docs_promise(status: GatewayStatus, key: str) -> None:
    assert not_as_documented(status.url, key) == {}


def test_scores_are_those_of_the_local_model(status: GatewayStatus, key: str) -> None:
    client = openai.OpenAI(base_url=status.url, api_key=key, max_retries=0)
    options: dict[str, Any] = {"model": "", "prompt": PROMPT, "max_tokens": 12}
    folder = resource(DEMO_MODEL)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    local = AutoModelForCausalLM.from_pretrained(folder)
    prompt = tokenizer(PROMPT, return_tensors="pt").input_ids
    with torch.inference_mode():
        ids = local.generate(prompt, max_new_tokens=12, do_sample=False)[0]
        wanted = local(ids[None]).logits[0, prompt.shape[1] - 1 : -1].log_softmax(-1)  # [new tokens, vocabulary]
    chosen = wanted.gather(1, ids[prompt.shape[1] :, None])[:, 0].tolist()
    whole = client.completions.create(**options, logprobs=3).choices[0]
    assert whole.logprobs is not None
    count = len(whole.logprobs.tokens or [])
    assert "".join(whole.logprobs.tokens or []) == whole.text
    assert count >= 10
    assert whole.logprobs.token_logprobs == pytest.approx(chosen[:count], abs=1e-3)
    for found, row in zip(whole.logprobs.top_logprobs or [], wanted.topk(3).values.tolist(), strict=False):
        assert sorted(found.values(), reverse=True) == pytest.approx(row, abs=1e-3)
    streamed = [part.choices[0] for part in client.completions.create(**options, logprobs=3, stream=True)]
    scores = [score for part in streamed if part.logprobs for score in part.logprobs.token_logprobs or []]
    assert scores == pytest.approx(whole.logprobs.token_logprobs, abs=1e-3)
    chat = client.chat.completions.create(model="", messages=ASKED, max_tokens=12, logprobs=True, top_logprobs=2)  # type: ignore[arg-type]
    content = chat.choices[0].logprobs.content if chat.choices[0].logprobs else None
    templated = str(tokenizer.apply_chat_template(ASKED, tokenize=False, add_generation_prompt=True))
    same = client.completions.create(
        model="", prompt=templated.removeprefix(tokenizer.bos_token), max_tokens=12, logprobs=2
    ).choices[0]
    assert same.logprobs is not None
    assert [one.logprob for one in content or []] == pytest.approx(same.logprobs.token_logprobs, abs=1e-3)
    banned = {str(token): -100 for token in ids[prompt.shape[1] :][:1].tolist()}
    other = client.completions.create(**options, logit_bias=banned, logprobs=0).choices[0]
    assert other.text[:3] != whole.text[:3]
    assert other.logprobs is not None
    first = wanted[0].topk(2).values.tolist()[1]
    assert (other.logprobs.token_logprobs or [])[0] == pytest.approx(first, abs=1e-3)


def test_ollamas_client_chats_with_the_key_in_the_address(status: GatewayStatus, key: str) -> None:
    client = ollama.Client(f"{status.url.removesuffix('/v1')}/{key}", trust_env=False)
    model = client.list().models[0].model
    assert model == status.model
    options = {"num_predict": 12, "temperature": 0, "num_ctx": 2048}
    whole = client.chat(model, ASKED, options=options)
    parts = list(client.chat(model, ASKED, options=options, stream=True))
    assert whole.message.content == "".join(part.message.content or "" for part in parts) != ""
    assert (len(parts) > 2, parts[-1].done, whole.eval_count) == (True, True, parts[-1].eval_count)
    assert client.generate(model, "Count from 7 to 18:", options=options).response
    wanted = {"type": "object", "properties": {"even": {"type": "boolean"}}, "required": ["even"]} | _CLOSED
    assert "even" in json.loads(client.generate(model, "Is 7 even?", format=wanted).response)
    assert len(client.embed(model, ["a", "b"]).embeddings) == 2
    assert client.show(model).capabilities
    with pytest.raises(ollama.ResponseError, match="the model here is"):
        client.chat("llama3", ASKED)
    with pytest.raises(ollama.ResponseError, match="not supported"):
        client.chat(model, ASKED, think=True)


def test_a_revoked_key_lets_nobody_in(daemon: DaemonProcess, status: GatewayStatus) -> None:
    made = daemon.client.call(gateway.MAKE_KEY, KeyName("lost"))
    client = openai.OpenAI(base_url=status.url, api_key=made.key, max_retries=0)
    assert client.models.list().data[0].id == status.model
    assert daemon.command("gateway", "revoke", "lost").returncode == 0
    with pytest.raises(openai.AuthenticationError):
        client.models.list()
