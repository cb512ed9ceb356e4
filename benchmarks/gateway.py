"""The gateway before the official clients: `gateway_conformance`, `gateway_16` and `gateway_first_token`.

The gateway runs in this process, the servers in others, as in an installation with one torch thread each.
"""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import openai
import torch
from potluck_control.gateway_messages import GatewaySwarm
from potluck_control.resources import DEMO_MODEL, resource
from potluck_gateway.answers.completion import Text, quiet
from potluck_gateway.answers.model import SwarmChat
from potluck_gateway.answers.models import LoadedModel, Models
from potluck_gateway.server import GatewayServer
from transformers import AutoTokenizer

from benchmarks.figures import Measured
from benchmarks.gateway_cases import CASES, TOOL_CASES, TOOL_TEMPLATE, not_as_documented
from benchmarks.local_swarm import LocalSwarm
from benchmarks.models import checkpoint
from benchmarks.sessions import Decoder, client_of
from potluck import AutoDistributedModelForCausalLM
from potluck.protocol.blocks import Span

KEY = "key-of-the-benchmark"
_HIDDEN_SIZE, _NUM_BLOCKS = 512, 8
_TOKENS = 32  # of an answer
_PROMPT_TOKENS = 18  # about what `together` asks
_TOGETHER = 16
_LONG = "The quick brown fox jumps over the lazy dog, and then it rests. "
_LONG_TOKENS = 1000


def conformance(soak: bool) -> Measured:
    """Requests that neither answer nor refuse as documented."""
    folder = resource(DEMO_MODEL)
    with LocalSwarm(folder, [Span(0, 12)]) as swarm:
        with gateway(folder, swarm) as url:
            wrong = not_as_documented(url, KEY)
        with tool_tokenizer() as tokenizer, gateway(folder, swarm, tokenizer=tokenizer) as url:
            wrong |= not_as_documented(url, KEY, TOOL_CASES)
    return Measured(float(len(wrong)), {"requests": len(CASES) + len(TOOL_CASES), "wrong": wrong})


def together(soak: bool) -> Measured:
    """Tokens a second of 16 requests at once over one."""
    rounds = 10 if soak else 3
    rates: dict[int, list[float]] = {1: [], _TOGETHER: []}
    with _large_gateway() as (swarm, url), ThreadPoolExecutor(_TOGETHER) as threads:
        engine_gain = _gain_of_engine(swarm, rounds)
        client = openai.OpenAI(base_url=url, api_key=KEY, max_retries=0)

        def ask(number: int) -> None:
            _ask(client, [{"role": "user", "content": f"{number}: count from {number} to 18."}])

        for warm_up in range(rounds + 1):
            for count, found in rates.items():
                begin = time.perf_counter()
                list(threads.map(ask, range(100 * warm_up, 100 * warm_up + count)))
                if warm_up:
                    found.append(count * _TOKENS / (time.perf_counter() - begin))
    gains = [many / one for many, one in zip(rates[_TOGETHER], rates[1], strict=True)]
    detail = {
        "tokens_per_s": {str(count): round(statistics.median(found), 1) for count, found in rates.items()},
        "gain_of_engine": round(engine_gain, 2),
    }
    return Measured(statistics.median(gains), detail)


def first_token(soak: bool) -> Measured:
    """First token of the second turn of a long conversation over the first turn's."""
    rounds = 10 if soak else 3
    firsts: list[list[float]] = [[], []]
    prompt_tokens: list[int] = []
    with _large_gateway() as (_, url):
        client = openai.OpenAI(base_url=url, api_key=KEY, max_retries=0)
        _first_token(client, [{"role": "user", "content": "Warm up."}])
        for number in range(rounds):
            text = f"{number}: " + _LONG * (_LONG_TOKENS // 34)
            talk = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": text}]
            for found in firsts:
                first_s, said, tokens = _first_token(client, talk)
                found.append(first_s)
                prompt_tokens.append(tokens)
                talk += [{"role": "assistant", "content": said}, {"role": "user", "content": "Go on."}]
    ratios = [second / first for first, second in zip(*firsts, strict=True)]
    milliseconds = [round(1000 * statistics.median(found), 1) for found in firsts]
    return Measured(statistics.median(ratios), {"first_token_ms": milliseconds, "prompt_tokens": prompt_tokens[:2]})


@contextmanager
def gateway(folder: Path, swarm: LocalSwarm, *, tokenizer: Path | None = None) -> Iterator[str]:
    """Run a gateway for the model of `folder`, and yield its address."""
    quiet()
    torch.set_num_threads(1)
    with AutoDistributedModelForCausalLM.from_pretrained(str(folder), swarm=swarm.membership) as model:
        chat = SwarmChat(folder.name, model, Text(tokenizer or folder), max_tokens=512)
        with serving(chat, GatewaySwarm(swarm.membership, str(folder)), max_tokens=512) as url:
            yield url


@contextmanager
def serving(chat: SwarmChat, swarm: GatewaySwarm, *, max_tokens: int) -> Iterator[str]:
    """Run a gateway for a chat model, and yield its address."""
    models = Models((swarm,), lambda _: LoadedModel(chat, lambda: None))
    server = GatewayServer(models, lambda key: key == KEY, lambda: None, max_tokens=max_tokens)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        yield server.url
    finally:
        server.stop()
        thread.join()


@contextmanager
def tool_tokenizer() -> Iterator[Path]:
    """Yield a folder with the demo model's tokenizer and a chat template that knows tools."""
    with tempfile.TemporaryDirectory() as folder:
        tokenizer = AutoTokenizer.from_pretrained(resource(DEMO_MODEL))
        tokenizer.chat_template = TOOL_TEMPLATE
        tokenizer.save_pretrained(folder)
        yield Path(folder)


@contextmanager
def _large_gateway() -> Iterator[tuple[LocalSwarm, str]]:
    """Run a gateway for a model of random weights, which never ends an answer early."""
    folder = checkpoint(_HIDDEN_SIZE, _NUM_BLOCKS)
    with (
        LocalSwarm(folder, [Span(0, _NUM_BLOCKS)]) as swarm,
        gateway(folder, swarm, tokenizer=resource(DEMO_MODEL)) as url,
    ):
        yield swarm, url


def _gain_of_engine(swarm: LocalSwarm, rounds: int) -> float:
    """Return the gain of 16 sessions at once over one, with the work of a request: what the engine's batching can give.

    The sessions have no text, no tokenizer, no head and no HTTP. Their prompts take most of the time that steps save,
    because a prompt alone keeps the processor busy already.
    """
    times_s: dict[int, list[float]] = {1: [], _TOGETHER: []}
    with client_of(swarm) as client:

        async def answer(seed: int) -> None:
            decoder = Decoder(client, _HIDDEN_SIZE, torch.float32, prompt_tokens=_PROMPT_TOKENS, seed=seed)
            await decoder.start()
            await decoder.decode(_TOKENS - 1)
            await decoder.close()

        async def measure(count: int, seed: int) -> float:
            begin = time.perf_counter()
            await asyncio.gather(*(answer(seed + number) for number in range(count)))
            return time.perf_counter() - begin

        for warm_up in range(rounds + 1):
            for count, found in times_s.items():
                seconds = client.run(measure(count, 100 * warm_up))
                if warm_up:
                    found.append(seconds)
    gains = [_TOGETHER * one / many for one, many in zip(times_s[1], times_s[_TOGETHER], strict=True)]
    return statistics.median(gains)


def _ask(client: openai.OpenAI, talk: list[Any]) -> None:
    answer = client.chat.completions.create(model="", messages=talk, max_tokens=_TOKENS)
    assert answer.usage is not None
    assert answer.usage.completion_tokens == _TOKENS


def _first_token(client: openai.OpenAI, talk: list[Any]) -> tuple[float, str, int]:
    """Return when the first part came, in seconds, the answer, and the tokens of the prompt."""
    begin = time.perf_counter()
    first_s, parts, tokens = 0.0, [], 0
    options: Any = {"stream_options": {"include_usage": True}}
    for chunk in client.chat.completions.create(model="", messages=talk, max_tokens=_TOKENS, stream=True, **options):
        if chunk.usage is not None:
            tokens = chunk.usage.prompt_tokens
        elif chunk.choices[0].delta.content:
            first_s = first_s or time.perf_counter() - begin
            parts.append(chunk.choices[0].delta.content)
    return first_s, "".join(parts), tokens
