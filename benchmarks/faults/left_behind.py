"""How long an engine works on for a client that was killed: `left_behind`.

    prefill   a long prompt, all of whose pieces are under way
    wait      a step that waits for pages, which a session of somebody else keeps
    push      a step whose hidden states nobody pushes
    forward   a long call without a session

For a program that closes its connection to a gateway, which answers one request at a time:

    gateway prefill     a long prompt
    gateway queue       a request that waits while another one is answered
    gateway embedding   a long text
    gateway embeddings  many texts
    gateway call        a forced call, nothing of which may have been sent
    gateway stream      an answer that is sent token by token

The engine, the gateway and each client are processes of their own. The work has ended when engine and gateway count
nothing of it any more and their processors rest. The gateway may keep the session of a conversation.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import tempfile
import threading
import time
from dataclasses import replace
from pathlib import Path
from urllib.request import Request, urlopen

import psutil
import torch
from potluck_control.processes.launch_spec import ServingLimits
from potluck_engine.life.engine import Engine
from potluck_engine.weights.fitting import resolve_spec

from benchmarks.figures import Measured, figure
from benchmarks.programs.gateway import KEY, Gateway, gateway_process, tool_tokenizer
from benchmarks.programs.requests import CHAT, COMPLETIONS, EMBEDDINGS, Caller, chat, forced_call, prompt, tokens
from benchmarks.setup.children import Child, child, founder_of
from benchmarks.setup.models import LONG_POSITIONS, checkpoint
from benchmarks.setup.sessions import random_states
from potluck.p2p.encoding import split_peer
from potluck.p2p.libp2p import Libp2pHost
from potluck.p2p.network import LOOPBACK, HostConfig, Stream
from potluck.processes import exit_with_parent
from potluck.protocol.blocks import Span
from potluck.protocol.messages import Awaited, ForwardRequest, SessionOpening, StepRequest
from potluck.protocol.swarm import new_swarm
from potluck.wire import protocols, sessions
from potluck.wire.tensors import encode_parts
from tests.helpers.launches import launch_of

KINDS = ("prefill", "wait", "push", "forward")
GATEWAY_KINDS = ("prefill", "queue", "embedding", "embeddings", "call", "stream")
_HIDDEN, _BLOCKS = 512, 8
_CACHE_TOKENS = 6_144
_KEPT_TOKENS = 1_024  # kept by a session that runs alone, so that it is never spilled
_PIECE_TOKENS, _PIECES = 512, 8  # the pieces of a prompt
_LARGE_TOKENS = 6_000  # more than what is left
_CALL_TOKENS = 4_096
_LONG_PROMPT, _LONG_ANSWER = 3_500, 3_000
_TEXTS, _TEXT_TOKENS = 200, 500
_AMIDST_S = 0.5  # time from a request until its caller leaves
_PIECES_HEARD = 10  # pieces of a stream
_WAITING = "potluck_gateway_waiting "
_LOOK_S = 0.02
_REST_S = 0.6
_RESTS_BELOW = 0.1  # share of one core
_GIVE_UP_S = 60.0
_QUEUE_S = 15.0  # a place in the queue counts as taken for ever after this time
_MAX_FRAME_BYTES = 1 << 26


@figure("left_behind", unit="s", reach=1)
def worst(soak: bool) -> Measured:
    """Seconds until engine and gateway have ended the work of a client that was killed or a caller who left, the worst.

    A long prefill, a wait for pages, for a push or in the queue, a forward, embeddings, a forced call and a stream,
    each twice (ten times in soak).
    """
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory(prefix="pl-") as place:
        return asyncio.run(_worst(Path(place), 10 if soak else 2))


async def _worst(place: Path, rounds: int) -> Measured:
    folder = checkpoint(_HIDDEN, _BLOCKS, positions=LONG_POSITIONS)
    swarm = founder_of(place).create(new_swarm("figures", folder.name, _BLOCKS, "local")).swarm
    name, prefix = swarm.name, swarm.prefix
    found: dict[str, list[float]] = {}
    with child("faults.left_behind", "engine", name, str(place), str(folder)) as engine:
        address = await asyncio.to_thread(engine.wait_for, "online")
        held = _Held(engine)
        host = await _host(place, name, address)
        try:
            keeping = await _stream(host, address, protocols.SESSION)
            await _say(keeping, StepRequest(_states(_KEPT_TOKENS), _opening(prefix, is_exact=True)))
            await keeping.receive()
            for kind in KINDS * rounds:
                left_s = await asyncio.to_thread(_left, held, kind, (name, str(place), address))
                found.setdefault(kind, []).append(round(left_s, 2))
            await asyncio.to_thread(_leave_gateway, held, place, name, address, found, rounds)
        finally:
            await host.close()
    return Measured(max(map(max, found.values())), {"left_s": found, "rounds": rounds})


class _Held:
    """What an engine says that it holds, whenever that changes.

    Attributes:
        gateway: a process that works for callers, too.
    """

    def __init__(self, engine: Child) -> None:
        self.gateway: Gateway | None = None
        self._process = psutil.Process(engine.process.pid)
        self._engine = engine
        self._now = ""
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        with contextlib.suppress(RuntimeError):  # the engine has ended
            while True:
                self._now = self._engine.wait_for("holds")

    @property
    def is_working(self) -> bool:
        """Tell whether it has more than the session that keeps pages, or those that the gateway keeps."""
        sessions, _, others = self._now.partition(" ")
        return others != "0 0 0 0" or (self.gateway is None and sessions != "1")

    def begins(self) -> bool:
        """Return whether it works at a time soon after a client has sent what is to be done."""
        return any(not self._rests() for _ in range(5))

    def wait_over(self) -> float:
        """Return when it began to hold nothing and to compute nothing."""
        deadline = time.monotonic() + _GIVE_UP_S
        while (since := time.monotonic()) < deadline:
            if self._rests():
                return since
        return deadline

    def _rests(self) -> bool:
        """Look for a moment whether it has nothing to do."""
        before, since, is_idle = self._cpu_s(), time.monotonic(), not self.is_working
        while is_idle and time.monotonic() - since < _REST_S:
            time.sleep(_LOOK_S)
            is_idle = not self.is_working
        if not is_idle:
            time.sleep(_LOOK_S)
        return is_idle and self._cpu_s() - before < _RESTS_BELOW * (time.monotonic() - since)

    def _cpu_s(self) -> float:
        times = self._process.cpu_times()
        return float(times.user + times.system) + (0.0 if self.gateway is None else self.gateway.cpu_s())


def _left(held: _Held, kind: str, place: tuple[str, str, str]) -> float:
    """Kill a client in the midst of its work. Return how many seconds that work goes on."""
    held.wait_over()
    with child("faults.left_behind", kind, *place) as client:
        client.wait_for("sent")
        if not held.begins():
            raise RuntimeError(f"the work of a {kind} was over before its client was killed")
        client.process.kill()
        killed = time.monotonic()
    return max(held.wait_over() - killed, 0.0)


def _leave_gateway(
    held: _Held, place: Path, name: str, address: str, found: dict[str, list[float]], rounds: int
) -> None:
    """Measure what a gateway of the swarm leaves behind."""
    membership = founder_of(place).find(name).for_client()
    membership = replace(membership, swarm=replace(membership.swarm, bootstrap_peers=(address,)))
    folder = checkpoint(_HIDDEN, _BLOCKS, positions=LONG_POSITIONS)
    with tool_tokenizer() as tokenizer, gateway_process(folder, membership, tokenizer, 1) as gateway:
        held.gateway = gateway
        Caller(gateway.url, CHAT, chat("Warm up.", 4)).listen(_GIVE_UP_S)
        for number, kind in enumerate(GATEWAY_KINDS * rounds):
            left_s = (_queue_left if kind == "queue" else _request_left)(held, gateway, kind, number)
            found.setdefault(f"gateway {kind}", []).append(round(left_s, 2))


def _request_left(held: _Held, gateway: Gateway, kind: str, number: int) -> float:
    """Leave in the midst of a request. Return how many seconds its work goes on."""
    held.wait_over()
    texts = [tokens(_TEXT_TOKENS, 1000 * number + text) for text in range(_TEXTS)]
    path, body = {
        "prefill": (COMPLETIONS, prompt(_LONG_PROMPT, _LONG_ANSWER, number)),
        "embedding": (EMBEDDINGS, {"model": "", "input": [tokens(_LARGE_TOKENS, number)]}),
        "embeddings": (EMBEDDINGS, {"model": "", "input": texts}),
        "call": (CHAT, forced_call(f"{number}.", _LONG_ANSWER)),
        "stream": (CHAT, chat(f"{number}.", _LONG_ANSWER)),
    }[kind]
    caller = Caller(gateway.url, path, body)
    caller.send()
    if kind == "stream":
        pieces = caller.pieces()
        for _ in range(_PIECES_HEARD):
            next(pieces)
    time.sleep(_AMIDST_S)
    if not held.begins():
        raise RuntimeError(f"the work of a {kind} was over before its caller left")
    caller.leave()
    left = time.monotonic()
    return max(held.wait_over() - left, 0.0)


def _queue_left(held: _Held, gateway: Gateway, _: str, number: int) -> float:
    """Leave the queue. Return for how many seconds the gateway counts that request among those that wait."""
    held.wait_over()
    callers = [Caller(gateway.url, CHAT, chat(f"{number}, {one}.", _LONG_ANSWER)) for one in range(2)]
    for caller in callers:
        caller.send()
    for is_waiting in (True, False):
        if not is_waiting:
            callers[1].leave()
        begun = time.monotonic()
        while _has_waiting(gateway) is not is_waiting and time.monotonic() - begun < _QUEUE_S:
            time.sleep(_LOOK_S)
    left_s = time.monotonic() - begun
    callers[0].leave()
    return left_s


def _has_waiting(gateway: Gateway) -> bool:
    page = Request(f"{gateway.url.removesuffix('/v1')}/metrics", headers={"Authorization": f"Bearer {KEY}"})
    with urlopen(page) as answer:
        lines = answer.read().decode().splitlines()
    return any(line.startswith(_WAITING) and float(line.removeprefix(_WAITING)) > 0 for line in lines)


async def _host(place: Path, name: str, address: str) -> Libp2pHost:
    membership = founder_of(place).find(name).for_client()
    config = HostConfig(membership=membership, bootstrap_peers=(address,), dht_client=True, patience_s=60.0)
    return await Libp2pHost.start(config)


async def _stream(host: Libp2pHost, address: str, protocol: str) -> Stream:
    peer, _ = split_peer(address)
    return await host.open_stream(peer, protocol, timeout_s=60.0, max_frame_bytes=_MAX_FRAME_BYTES)


async def _say(stream: Stream, request: StepRequest) -> None:
    await stream.send(*sessions.encode_step(request))


def _opening(prefix: str, *, is_exact: bool = False) -> SessionOpening:
    return SessionOpening(prefix, Span(0, _BLOCKS), _LARGE_TOKENS, alloc_timeout_s=60.0, exact=is_exact)


def _states(tokens: int) -> torch.Tensor:
    return random_states(tokens, _HIDDEN, torch.float32)


async def _work(kind: str, name: str, place: str, address: str) -> None:
    """Begin a kind of work and wait to be killed."""
    host, prefix = await _host(Path(place), name, address), founder_of(Path(place)).find(name).swarm.prefix
    stream = await _stream(host, address, protocols.FORWARD if kind == "forward" else protocols.SESSION)
    if kind == "prefill":
        await _say(stream, StepRequest(_states(_PIECE_TOKENS), _opening(prefix)))
        for _ in range(_PIECES - 1):
            await _say(stream, StepRequest(_states(_PIECE_TOKENS)))
    elif kind == "wait":
        await _say(stream, StepRequest(_states(_LARGE_TOKENS), _opening(prefix)))
    elif kind == "push":
        await _say(stream, StepRequest(_states(1), _opening(prefix)))
        await stream.receive()
        await _say(stream, StepRequest(None, start_from_position=1, awaited=Awaited(1, 1, 1)))
    else:
        call = ForwardRequest(prefix, Span(0, _BLOCKS), _states(_CALL_TOKENS))
        for frame in encode_parts(call):
            await stream.send(*frame)
    print("sent", flush=True)
    await asyncio.Event().wait()


async def _serve(name: str, place: Path, folder: str) -> None:
    """Run an engine that says what it holds."""
    spec = launch_of(
        folder,
        place,
        founder_of(place).find(name).for_client(),
        blocks=f"0:{_BLOCKS}",
        listen=LOOPBACK,
        limits=ServingLimits(cache_tokens=_CACHE_TOKENS, max_batch_tokens=_LARGE_TOKENS, max_length=_LARGE_TOKENS),
    )
    engine, before = Engine(resolve_spec(spec), lambda _: None), ""
    await engine.start()
    print("online", (await engine.node.host.addresses())[0], flush=True)
    while True:
        found, calls = engine.metrics(), 0 if engine.service is None else engine.service.sessions._calls.total()
        now = f"{found.sessions} {calls} {found.queued_steps} {found.queued_tokens} {found.waiting_for_pages}"
        if now != before:
            print("holds", now, flush=True)
        before = now
        await asyncio.sleep(_LOOK_S)


if __name__ == "__main__":
    exit_with_parent(os.getppid())
    torch.set_num_threads(1)
    if sys.argv[1] == "engine":
        asyncio.run(_serve(sys.argv[2], Path(sys.argv[3]), sys.argv[4]))
    else:
        asyncio.run(_work(*sys.argv[1:]))
