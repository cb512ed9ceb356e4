"""What a hop costs a token, and a swarm beside the local model."""

from __future__ import annotations

import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from benchmarks.figures import Measured, figure
from benchmarks.setup.generation import PROMPT_TOKENS, interleaved, median_ratio, overhead, rounded, step, swarm_model
from benchmarks.setup.local_swarm import LocalSwarm
from benchmarks.setup.models import checkpoint, local_model
from potluck.blocks.span.block_span import BlockSpan, load_span
from potluck.checkpoint.source import open_checkpoint
from potluck.p2p.libp2p import Libp2pHost
from potluck.p2p.network import HostConfig
from potluck.protocol.blocks import PeerId, Span
from tests.helpers import p2p_node

NUM_BLOCKS = 8
NUM_SERVERS = 4
_HIDDEN = 512
_ECHOES, _ECHO_BYTES = 100, 4 * _HIDDEN
_ECHO_TIMEOUT_S = 60.0


@figure("hop_first", unit="ms/token", reach=1.3, shown=True)
def first_hop(soak: bool) -> Measured:
    """What the first hop costs a token: 8 Llama blocks of hidden size 512 on one server, over the same blocks in this
    process.
    """
    folder, whole = checkpoint(_HIDDEN, NUM_BLOCKS), Span(0, NUM_BLOCKS)
    rounds, num_tokens = (30, 256) if soak else (9, 96)
    same = local_model(folder)
    blocks = _Blocks(load_span(open_checkpoint(str(folder)), whole), num_tokens)
    same.model.layers = torch.nn.ModuleList([blocks])
    same.config.num_hidden_layers = 1
    with LocalSwarm(folder, [whole]) as swarm, swarm_model(swarm, folder) as model:
        models = {"swarm": model, "same blocks": same, "local": local_model(folder)}
        times = interleaved(models, rounds=rounds, num_tokens=num_tokens)
        echo_ms = _echo_ms(lambda: blocks(torch.zeros(1, 2, _HIDDEN)))
    detail = {"ms_per_token": rounded(times), "rounds": rounds, "tokens_a_round": num_tokens, "echo_ms": echo_ms}
    return overhead(times["swarm"], times["same blocks"], 1, detail)


@figure("hop_next", unit="ms/token", reach=0.9, shown=True)
def next_hop(soak: bool) -> Measured:
    """What each further hop costs a token: 8 blocks on four servers, over the same blocks on one."""
    folder = checkpoint(_HIDDEN, NUM_BLOCKS)
    rounds, num_tokens = (30, 256) if soak else (9, 96)
    size = NUM_BLOCKS // NUM_SERVERS
    spans = [Span(start, start + size) for start in range(0, NUM_BLOCKS, size)]
    with (
        LocalSwarm(folder, [Span(0, NUM_BLOCKS)]) as one,
        LocalSwarm(folder, spans) as many,
        swarm_model(one, folder) as model_of_one,
        swarm_model(many, folder) as model_of_many,
    ):
        times = interleaved({"many": model_of_many, "one": model_of_one}, rounds=rounds, num_tokens=num_tokens)
    detail = {"ms_per_token": rounded(times), "servers": NUM_SERVERS, "rounds": rounds, "tokens_a_round": num_tokens}
    return overhead(times["many"], times["one"], NUM_SERVERS - 1, detail)


@figure("decode_2048", unit="ratio", reach=1.04, shown=True)
def over_local(soak: bool) -> Measured:
    """Time of a decode step over two servers' 8 blocks of hidden size 2048, over that of the local model."""
    folder, spans = checkpoint(2048, NUM_BLOCKS), (Span(0, 4), Span(4, NUM_BLOCKS))
    rounds, num_tokens = (12, 64) if soak else (5, 20)
    with LocalSwarm(folder, spans) as swarm, swarm_model(swarm, folder) as model:
        times = interleaved({"swarm": model, "local": local_model(folder)}, rounds=rounds, num_tokens=num_tokens)
    detail = {"ms_per_token": rounded(times), "rounds": rounds, "tokens_a_round": num_tokens}
    return Measured(median_ratio(times["swarm"], times["local"]), detail)


def _echo_ms(between: Callable[[], object]) -> float:
    """Return how long an echo of a token's bytes takes through p2pd of both sides, after work that cools the caches."""
    with tempfile.TemporaryDirectory() as scratch:
        command = [sys.executable, p2p_node.__file__, scratch]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as node:
            try:
                assert node.stdout is not None
                found = json.loads(node.stdout.readline())
                return round(asyncio.run(_echo(PeerId(found["peer_id"]), found["addrs"], between)), 3)
            finally:
                node.terminate()


async def _echo(peer: PeerId, addresses: list[str], between: Callable[[], object]) -> float:
    host = await Libp2pHost.start(HostConfig(bootstrap_peers=tuple(addresses)))
    try:
        stream = await host.open_stream(peer, p2p_node.PROTOCOL, timeout_s=_ECHO_TIMEOUT_S, max_frame_bytes=_ECHO_BYTES)
        times = []
        for _ in range(_ECHOES):
            between()
            began = time.perf_counter()
            await stream.send(bytes(_ECHO_BYTES))
            await stream.receive(timeout_s=_ECHO_TIMEOUT_S)
            times.append(1000 * (time.perf_counter() - began))
        return statistics.median(times)
    finally:
        await host.close()


class _Blocks(torch.nn.Module):
    """An engine's blocks as the only layer of a model in this process. Each prompt begins a sequence."""

    def __init__(self, blocks: BlockSpan, num_tokens: int) -> None:
        super().__init__()
        self._blocks = blocks
        self._memory = blocks.new_memory(2 * (PROMPT_TOKENS + num_tokens))
        self._sequence = self._memory.new_sequence()

    @torch.inference_mode()
    def forward(self, hidden: Tensor, **_: Any) -> Tensor:
        """[1, tokens, hidden_size], returns the same."""
        if hidden.shape[1] > 1:
            self._memory.free(self._sequence)
            self._sequence = self._memory.new_sequence()
        return step(self._blocks, self._memory, [self._sequence], hidden[0])[None]
