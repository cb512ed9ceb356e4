"""A gateway under load: `gateway_64`, `gateway_16`, `gateway_cpu`, `long_answer` and `first_byte`.

The gateway and the servers are processes of their own, with one torch thread each. The programs that ask are threads
here.
"""

from __future__ import annotations

import asyncio
import random
import socket
import statistics
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

import torch

from benchmarks.figures import Measured, figure
from benchmarks.programs.gateway import Gateway, gateway_process, tool_tokenizer
from benchmarks.programs.requests import (
    CHAT,
    COMPLETIONS,
    TEMPLATE,
    Body,
    Caller,
    Heard,
    chat,
    forced_call,
    hear,
    prompt,
)
from benchmarks.setup.local_swarm import LocalSwarm
from benchmarks.setup.models import LONG_POSITIONS, checkpoint
from benchmarks.setup.sessions import Decoder, client_of
from potluck.client.swarm_client import SwarmClient
from potluck.protocol.blocks import Span

_HIDDEN, _BLOCKS = 512, 8
_AT_ONCE, _OVERFLOW = 64, 200
_STRANGERS = 100  # connections before the requests, and as many during them
_PATIENCE_S = 120.0
_TOGETHER = 16
_TOKENS = 32
_CPU_TOKENS = 200
_PROMPT_TOKENS = 18  # what `_ask` asks, roughly
_SMALL_HIDDEN, _SMALL_BLOCKS = 64, 1
_THOUSAND, _LONG_TOKENS = 1000, 16_000
_LONG_S = 80.0  # limit of one long answer
_LONG_STOPS = [" the " * 20, "\n</end of the answer>" * 4]
_PREFILL_TOKENS = 10_000
_LISTEN_S = 20.0  # limit of listening to a stream


@figure("gateway_64", unit="requests", reach=0)
def many(soak: bool) -> Measured:
    """Of 64 requests at once with a key, beside 200 connections that show none: those that get no whole answer.

    Of 200 at once, those beyond the queue must be refused with `Retry-After`, and none may be reset. Ten times in
    soak.
    """
    lost: Counter[str] = Counter()
    with _served(at_once=_AT_ONCE) as (_, gateway):
        strangers = [socket.create_connection(gateway.place) for _ in range(_STRANGERS)]
        try:
            for _ in range(10 if soak else 1):
                lost += Counter(_fate(heard) for heard in _rush(gateway, _AT_ONCE))
            answered = lost.pop("answered", 0)
            overflow = Counter(_fate(heard) for heard in _rush(gateway, _OVERFLOW))
        finally:
            for stranger in strangers:
                stranger.close()
    holds = overflow.total() == overflow["answered"] + overflow["refused, said when to come again"]
    return Measured(float(lost.total()), {"answered": answered, "lost": lost, f"{_OVERFLOW}_at_once": overflow}, holds)


@figure("gateway_16", unit="share", reach=0.95, better="higher", shown=True)
def together(soak: bool) -> Measured:
    """Tokens a second of 16 requests at once over one, as a share of what the engine alone gains: 8 blocks of hidden
    size 512.

    The median of 15 rounds, each of which asks the engine and the gateway.
    """
    seconds: dict[str, list[float]] = {}
    with _served() as (swarm, gateway), client_of(swarm) as client, ThreadPoolExecutor(_TOGETHER) as threads:
        for number in range((40 if soak else 15) + 1):
            for count in (1, _TOGETHER):
                for side, work in (("engine", partial(_step, client)), ("gateway", partial(_ask, gateway, threads))):
                    begin = time.perf_counter()
                    work(count, 100 * number)
                    if number:  # the first round is a warm-up
                        seconds.setdefault(f"{side}_{count}", []).append(time.perf_counter() - begin)
    gains = {
        side: [
            _TOGETHER * one / all_
            for one, all_ in zip(seconds[side + "_1"], seconds[f"{side}_{_TOGETHER}"], strict=True)
        ]
        for side in ("engine", "gateway")
    }
    shares = [ours / engines for ours, engines in zip(gains["gateway"], gains["engine"], strict=True)]
    fastest = {name: min(found) for name, found in seconds.items()}  # what others on this machine disturb least
    best = fastest["gateway_1"] * fastest["engine_16"] / fastest["gateway_16"] / fastest["engine_1"]
    detail = {
        "share_of_fastest": round(best, 3),
        "gains": {side: round(statistics.median(found), 2) for side, found in gains.items()},
        "tokens_per_s": {
            name: round(int(name.rpartition("_")[2]) * _TOKENS / statistics.median(found), 1)
            for name, found in seconds.items()
        },
        "shares": [round(share, 3) for share in sorted(shares)],
    }
    return Measured(statistics.median(shares), detail)


@figure("gateway_cpu", unit="ratio", reach=0.4)
def processor(soak: bool) -> Measured:
    """Processor time of the gateway's process for a token of 16 answers of 200 tokens at once, over one alone."""
    used: dict[int, list[float]] = {1: [], _TOGETHER: []}
    with _served() as (_, gateway), ThreadPoolExecutor(_TOGETHER) as threads:
        _ask(gateway, threads, _TOGETHER, 0)
        for number in range(10 if soak else 3):
            for count, found in used.items():
                before = gateway.cpu_s()
                _ask(gateway, threads, count, 100 * (number + 1), _CPU_TOKENS)
                found.append((gateway.cpu_s() - before) / (count * _CPU_TOKENS))
    ratios = [all_ / one for one, all_ in zip(used[1], used[_TOGETHER], strict=True)]
    detail = {"ms_per_token": {str(count): round(1000 * statistics.median(found), 3) for count, found in used.items()}}
    return Measured(statistics.median(ratios), detail)


@figure("long_answer", unit="ratio", reach=1.5)
def long_answer(soak: bool) -> Measured:
    """Processor time of the gateway for tokens 15,000 to 16,000 of a streamed answer, over tokens 0 to 1,000.

    The worst of a text with two long stop strings, the arguments of a call and thinking, with one block of hidden
    size 64. Drawn, because greedy answers of random weights go round in circles, which drafts make cheap.
    """
    detail: dict[str, Any] = {}
    with _served(_SMALL_HIDDEN, _SMALL_BLOCKS) as (_, gateway):
        drawn: Body = {"temperature": 1.0, "seed": 1, "stop": _LONG_STOPS}
        ask = {
            "text": chat("Go.", _LONG_TOKENS, **drawn),
            "call": forced_call("Go.", _LONG_TOKENS, **drawn),
            "thinking": chat("Go.", _LONG_TOKENS, **drawn, chat_template_kwargs={"enable_thinking": True}),
        }
        hear(gateway.url, CHAT, chat("Warm up.", 100))
        for kind, body in ask.items():
            detail[kind] = _growth(gateway, body, _LONG_S * (4 if soak else 1))
            print(kind, detail[kind], flush=True)
    ratios = [found["ratio"] for found in detail.values() if found["ratio"] is not None]
    is_whole = all(found["tokens"] >= _LONG_TOKENS * 0.99 for found in detail.values())
    return Measured(max(ratios), detail, is_whole and len(ratios) == len(detail))


@figure("first_byte", unit="s", reach=1)
def first_byte(soak: bool) -> Measured:
    """Seconds to the first byte of a stream: the worst of a prompt of 10,000 tokens, a forced call, a wait for others,
    and missing layers.
    """
    heard: dict[str, Heard] = {}
    with _served(at_once=1) as (_, gateway):
        hear(gateway.url, CHAT, chat("Warm up.", 4))
        heard["prefill"] = hear(gateway.url, COMPLETIONS, prompt(_PREFILL_TOKENS, 4, 1), at_most_s=_LISTEN_S)
        other = Caller(gateway.url, CHAT, chat("Go.", _LONG_TOKENS))
        other.send()
        pieces = other.pieces()
        next(pieces)
        heard["queue"] = hear(gateway.url, CHAT, chat("Hello.", 4), at_most_s=_LISTEN_S)
        other.leave()
        heard["call"] = hear(gateway.url, CHAT, forced_call("Go.", _LONG_TOKENS), at_most_s=_LISTEN_S)
    with _served(spans=(Span(0, _BLOCKS // 2),)) as (_, gateway):
        heard["layers"] = hear(gateway.url, CHAT, chat("Hello.", 4), at_most_s=_LISTEN_S)
    firsts = {kind: one.times_s[0] if one.times_s else _LISTEN_S for kind, one in heard.items()}
    detail = {
        kind: {
            "first_byte_s": round(firsts[kind], 2),
            "longest_silence_s": round(one.longest_silence_s(_LISTEN_S), 2),
            "status": one.status,
            "problem": one.problem,
        }
        for kind, one in heard.items()
    }
    return Measured(max(firsts.values()), detail, all(one.status in (0, 200) for one in heard.values()))


@contextmanager
def _served(
    hidden_size: int = _HIDDEN,
    num_blocks: int = _BLOCKS,
    *,
    spans: Sequence[Span] = (),
    at_once: int = _TOGETHER,
) -> Iterator[tuple[LocalSwarm, Gateway]]:
    """Run a swarm and a gateway for a model of random weights, in processes of their own."""
    folder = checkpoint(hidden_size, num_blocks, positions=LONG_POSITIONS)
    with (
        tool_tokenizer(TEMPLATE) as tokenizer,
        LocalSwarm(folder, spans or [Span(0, num_blocks)]) as swarm,
        gateway_process(folder, swarm.membership, tokenizer, at_once) as gateway,
    ):
        yield swarm, gateway


def _rush(gateway: Gateway, count: int) -> list[Heard]:
    """Return what `count` programs hear that connect and ask at the same time, and strangers among them."""
    is_caller = [True] * count + [False] * _STRANGERS
    random.Random(count).shuffle(is_caller)
    sockets = [socket.socket() for _ in is_caller]
    for one in sockets:
        one.setblocking(False)
        one.connect_ex(gateway.place)
    asking = []
    for number, one in enumerate(one for one, asks in zip(sockets, is_caller, strict=True) if asks):
        one.settimeout(_PATIENCE_S)
        asking.append(Caller(gateway.url, CHAT, chat(f"{number}: count.", _TOKENS), connecting=one))
        with suppress(OSError):
            asking[-1].send()
    with ThreadPoolExecutor(count) as threads:
        heard = list(threads.map(lambda caller: caller.listen(_PATIENCE_S), asking))
    for one in sockets:
        one.close()
    return heard


def _fate(heard: Heard) -> str:
    if heard.is_whole:
        return "answered"
    if heard.status == 429 and "retry-after" in heard.headers:
        return "refused, said when to come again"
    return heard.problem or f"status {heard.status}, {len(heard.body)} bytes"


def _step(client: SwarmClient, count: int, seed: int) -> None:
    """Have the engine do the work of as many requests, without text, tokenizer, head and HTTP."""

    async def answer(number: int) -> None:
        decoder = Decoder(client, _HIDDEN, torch.float32, prompt_tokens=_PROMPT_TOKENS, seed=seed + number)
        await decoder.start()
        await decoder.decode(_TOKENS - 1)
        await decoder.close()

    async def together() -> None:
        await asyncio.gather(*map(answer, range(count)))

    client.run(together())


def _ask(gateway: Gateway, threads: ThreadPoolExecutor, count: int, seed: int, tokens: int = _TOKENS) -> None:
    """Have the gateway answer as many requests at once."""
    bodies = [chat(f"{number}: count from {number} to 18.", tokens) for number in range(seed, seed + count)]
    for heard in threads.map(partial(hear, gateway.url, CHAT), bodies):
        if not heard.is_whole or heard.answer_tokens() != tokens:
            raise RuntimeError(f"not answered: {_fate(heard)}")


def _growth(gateway: Gateway, body: Body, at_most_s: float) -> dict[str, Any]:
    """Return what the last thousand tokens that come in time cost over the first, by the events of their stream."""
    caller, until = Caller(gateway.url, CHAT, body, patience_s=at_most_s), time.monotonic() + at_most_s
    begun_s = gateway.cpu_s()
    cpu_s: list[float] = []  # when each event had come
    caller.send()
    with suppress(TimeoutError):
        for piece in caller.pieces():
            cpu_s += [gateway.cpu_s()] * piece.count(b"data: ")
            if time.monotonic() > until:
                break
    caller.leave()
    tokens = caller.heard.answer_tokens() if caller.heard.is_whole else len(cpu_s)
    detail: dict[str, Any] = {"tokens": tokens, "ratio": None}
    detail["mean_ms"] = round(1000 * (gateway.cpu_s() - begun_s) / max(tokens, 1), 3)
    events = round(_THOUSAND * len(cpu_s) / max(tokens, 1))  # some tokens are only a part of a letter
    if 0 < 2 * events < len(cpu_s):
        first_s, last_s = cpu_s[events] - cpu_s[0], cpu_s[-1] - cpu_s[-1 - events]
        detail |= {"ratio": round(last_s / first_s, 2), "first_ms": round(first_s, 3), "last_ms": round(last_s, 3)}
    return detail
