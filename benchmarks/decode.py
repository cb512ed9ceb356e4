"""Decode speed of the local model over the swarm's: `decode_512` and `decode_2048`."""

from __future__ import annotations

from benchmarks.figures import Measured
from benchmarks.local_swarm import LocalSwarm
from benchmarks.loops import interleaved, median_ratio, rounded, swarm_model
from benchmarks.models import checkpoint, local_model
from potluck.protocol.blocks import Span

NUM_BLOCKS = 8
NUM_SERVERS = 2


def hidden_512(soak: bool) -> Measured:
    return _ratio(512, *((30, 256) if soak else (9, 96)))


def hidden_2048(soak: bool) -> Measured:
    return _ratio(2048, *((12, 64) if soak else (5, 20)))


def _ratio(hidden_size: int, rounds: int, num_tokens: int) -> Measured:
    folder = checkpoint(hidden_size, NUM_BLOCKS)
    size = NUM_BLOCKS // NUM_SERVERS
    spans = [Span(start, start + size) for start in range(0, NUM_BLOCKS, size)]
    with LocalSwarm(folder, spans) as swarm, swarm_model(swarm, folder) as model:
        times = interleaved({"swarm": model, "local": local_model(folder)}, rounds=rounds, num_tokens=num_tokens)
    detail = {"ms_per_token": rounded(times), "servers": NUM_SERVERS, "rounds": rounds, "tokens_a_round": num_tokens}
    return Measured(median_ratio(times["swarm"], times["local"]), detail)
