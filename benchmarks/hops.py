"""What a hop costs a token: `hop_first` and `hop_next`."""

from __future__ import annotations

from benchmarks.figures import Measured
from benchmarks.local_swarm import LocalSwarm
from benchmarks.loops import interleaved, overhead, rounded, swarm_model
from benchmarks.models import checkpoint, local_model
from potluck.protocol.blocks import Span

NUM_BLOCKS = 8
NUM_SERVERS = 4


def first_hop(soak: bool) -> Measured:
    """One server of all blocks, against the model in this process."""
    folder = checkpoint(512, NUM_BLOCKS)
    rounds, num_tokens = (30, 256) if soak else (9, 96)
    with LocalSwarm(folder, [Span(0, NUM_BLOCKS)]) as swarm, swarm_model(swarm, folder) as model:
        times = interleaved({"swarm": model, "local": local_model(folder)}, rounds=rounds, num_tokens=num_tokens)
    detail = {"ms_per_token": rounded(times), "rounds": rounds, "tokens_a_round": num_tokens}
    return overhead(times["swarm"], times["local"], 1, detail)


def next_hop(soak: bool) -> Measured:
    """Four servers of two blocks, against one of eight."""
    folder = checkpoint(512, NUM_BLOCKS)
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
