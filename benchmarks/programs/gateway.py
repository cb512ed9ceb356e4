"""The gateway before the official client, `gateway_conformance` and `gateway_first_token`, and how figures run one.

A gateway runs in this process, or in one of its own, whose processor time can be told from that of its callers. The
servers run in others, as in an installation with one torch thread each.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import openai
import psutil
import torch
from potluck_control.processes.gateway_messages import GatewaySwarm
from potluck_control.resources import DEMO_MODEL, resource
from potluck_control.settings import GatewaySettings
from potluck_gateway.answers.completion import TextTokenizer, silence_transformers
from potluck_gateway.answers.models import LoadedModel, OfferedModels
from potluck_gateway.answers.swarm_chat import SwarmChat
from potluck_gateway.server import GatewayServer
from transformers import AutoTokenizer

from benchmarks.figures import Measured, figure
from benchmarks.programs.cases import CASES, TOOL_CASES, TOOL_TEMPLATE, not_as_documented
from benchmarks.setup.local_swarm import LocalSwarm
from benchmarks.setup.models import checkpoint
from potluck import AutoDistributedModelForCausalLM
from potluck.membership.membership import Membership
from potluck.processes import exit_with_parent
from potluck.protocol.blocks import Span

KEY = "key-of-the-benchmark"
_HIDDEN_SIZE, _NUM_BLOCKS = 512, 8
_TOKENS = 32  # tokens of an answer
_LONG = "The quick brown fox jumps over the lazy dog, and then it rests. "
_LONG_TOKENS = 1000
_ANY_PORT = GatewaySettings(port=0)
_START_S, _END_S = 120.0, 20.0


@figure("gateway_conformance", unit="requests", reach=0, shown=True)
def conformance(soak: bool) -> Measured:
    """Requests over the surface of OpenAI's client that neither answer nor refuse as `docs/gateway.md` says."""
    folder = resource(DEMO_MODEL)
    with LocalSwarm(folder, [Span(0, 12)]) as swarm:
        with gateway(folder, swarm.membership) as url:
            wrong = not_as_documented(url, KEY)
        with tool_tokenizer() as tokenizer, gateway(folder, swarm.membership, tokenizer=tokenizer) as url:
            wrong |= not_as_documented(url, KEY, TOOL_CASES)
    return Measured(float(len(wrong)), {"requests": len(CASES) + len(TOOL_CASES), "wrong": wrong})


@figure("gateway_first_token", unit="ratio", reach=0.2)
def first_token(soak: bool) -> Measured:
    """First token of the second turn of a conversation of 1,000 tokens, over that of the first turn."""
    rounds = 10 if soak else 3
    firsts: list[list[float]] = [[], []]
    prompt_tokens: list[int] = []
    folder = checkpoint(_HIDDEN_SIZE, _NUM_BLOCKS)  # random weights never end an answer early
    with (
        LocalSwarm(folder, [Span(0, _NUM_BLOCKS)]) as swarm,
        gateway(folder, swarm.membership, tokenizer=resource(DEMO_MODEL)) as url,
    ):
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
def gateway(
    folder: Path, membership: Membership, *, tokenizer: Path | None = None, settings: GatewaySettings = _ANY_PORT
) -> Iterator[str]:
    """Run a gateway for the model of `folder` in this process, and yield its address."""
    silence_transformers()
    torch.set_num_threads(1)
    with AutoDistributedModelForCausalLM.from_pretrained(str(folder), swarm=membership) as model:
        chat = SwarmChat(model, TextTokenizer(tokenizer or folder), max_tokens=512)
        with serving(chat, GatewaySwarm(membership, str(folder)), max_tokens=512, settings=settings) as url:
            yield url


@contextmanager
def serving(
    chat: SwarmChat, swarm: GatewaySwarm, *, max_tokens: int, settings: GatewaySettings = _ANY_PORT
) -> Iterator[str]:
    """Run a gateway for a chat model, and yield its address."""
    models = OfferedModels((swarm,), lambda _: LoadedModel(chat, lambda: None))
    server = GatewayServer(models, lambda key: key == KEY, lambda: None, settings, max_tokens=max_tokens)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        yield server.url
    finally:
        server.stop()
        thread.join()


@dataclass(frozen=True, slots=True)
class Gateway:
    """A gateway in a process of its own."""

    url: str
    process: psutil.Process

    @property
    def place(self) -> tuple[str, int]:
        place = urlsplit(self.url)
        return str(place.hostname), int(place.port or 0)

    def cpu_s(self) -> float:
        """Return the processor time of its threads."""
        times = self.process.cpu_times()
        return float(times.user + times.system)


@contextmanager
def gateway_process(folder: Path, membership: Membership, tokenizer: Path, at_once: int) -> Iterator[Gateway]:
    """Run a gateway for the model of `folder` in a process of its own."""
    context = get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_serve, args=(there, os.getpid(), folder, membership, tokenizer, at_once))
    process.start()
    there.close()
    try:
        if not here.poll(_START_S):
            raise RuntimeError("the gateway does not start")
        yield Gateway(here.recv(), psutil.Process(process.pid))
    finally:
        here.close()
        process.join(_END_S)
        process.kill()
        process.join()


def _serve(
    parent: Connection, parent_pid: int, folder: Path, membership: Membership, tokenizer: Path, at_once: int
) -> None:
    """Run a gateway until the parent closes the connection or ends."""
    exit_with_parent(parent_pid)
    settings = GatewaySettings(port=0, at_once=at_once)
    with gateway(folder, membership, tokenizer=tokenizer, settings=settings) as url, suppress(EOFError):
        parent.send(url)
        parent.recv()


@contextmanager
def tool_tokenizer(template: str = TOOL_TEMPLATE) -> Iterator[Path]:
    """Yield a folder with the demo model's tokenizer and a chat template that knows tools."""
    with tempfile.TemporaryDirectory() as folder:
        tokenizer = AutoTokenizer.from_pretrained(resource(DEMO_MODEL))
        tokenizer.chat_template = template
        tokenizer.save_pretrained(folder)
        yield Path(folder)


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
