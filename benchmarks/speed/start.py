"""How soon a server answers: `start_online`."""

from __future__ import annotations

import statistics

from benchmarks.figures import Measured, figure
from benchmarks.setup.generation import generate, swarm_model
from benchmarks.setup.local_swarm import LocalSwarm
from benchmarks.setup.models import checkpoint
from potluck.protocol.blocks import Span

NUM_BLOCKS = 4


@figure("start_online", unit="s", reach=1)
def online(soak: bool) -> Measured:
    """Seconds of an engine from its imports to ONLINE and answering.

    The engine reports STARTING once its imports are done; it is asked for tokens as soon as it says ONLINE.
    """
    folder = checkpoint(512, NUM_BLOCKS)
    starts, totals = [], []
    for _ in range(15 if soak else 5):
        with LocalSwarm(folder, []) as swarm:
            engine = swarm.add_engine(Span(0, NUM_BLOCKS))
            engine.wait_online()
            with swarm_model(swarm, folder) as model:
                generate(model, 2)
            starts.append(engine.seconds_to("online") - engine.seconds_to("starting"))
            totals.append(engine.seconds_to("online"))
    detail = {
        "all_s": [round(start, 3) for start in starts],
        "total_s": round(statistics.median(totals), 3),
        "starts": len(starts),
    }
    return Measured(statistics.median(starts), detail)
