"""What membership costs members' requests: `join_proof`.

Two swarms of one engine each: one has members, the other is open, where nobody shows anything. A client of each takes
turns. Compared is the CPU time of all processes, with p2pd: this one, the engines, and their children.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from benchmarks.figures import Measured, figure
from benchmarks.setup.generation import cpu_ratio, generate, swarm_model
from benchmarks.setup.local_swarm import LocalSwarm
from benchmarks.setup.models import checkpoint
from potluck.protocol.blocks import Span

_NUM_BLOCKS = 2
_HIDDEN = 64  # whatever is computed beside the opening hides what it costs
_SESSIONS, _TOKENS = 10, 64  # sessions and tokens of one turn
_TURNS = 10  # turns of each side in a pair
_ALLOWED = 0.01  # the interval's upper end may be so far above the target
_REACH = 1.02


@figure("join_proof", unit="ratio", reach=1.02)
def join_proof(soak: bool) -> Measured:
    """CPU time of opening a session in a swarm of members, over that in an open one, all processes, 30 pairs.

    With the first token; a decode step is in `detail`.
    """
    pairs = 100 if soak else 30
    folder = checkpoint(_HIDDEN, _NUM_BLOCKS)
    with ExitStack() as stack:
        models = []
        for is_open in (False, True):
            swarm = stack.enter_context(LocalSwarm(folder, [Span(0, _NUM_BLOCKS)], is_open=is_open))
            models.append(stack.enter_context(swarm_model(swarm, folder)))
        opening = cpu_ratio(models, pairs, _open_sessions, turns=_TURNS)
        step = cpu_ratio(models, pairs // 3, lambda model: generate(model, _TOKENS), turns=_TURNS)
    value, upper, ms = opening
    detail = {
        "upper_end": round(upper, 4),
        "cpu_ms_a_session": round(ms / _SESSIONS / _TURNS, 2),
        "decode_step": round(step[0], 4),
        "decode_step_upper_end": round(step[1], 4),
        "pairs": pairs,
    }
    return Measured(value, detail, holds=upper <= _REACH + _ALLOWED)


def _open_sessions(model: Any) -> None:
    for _ in range(_SESSIONS):
        generate(model, 1)
