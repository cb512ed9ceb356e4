"""What certificates cost those who open a session: `join_proof`.

Two swarms of one engine each, alike but for one thing: in one of them nodes show certificates, and every call and
stream passes the gate; the other one is open. Sessions are opened in both in turn by clients that are there already,
then by clients that have just started.
"""

from __future__ import annotations

import statistics
import time
from contextlib import ExitStack

import torch

from benchmarks.figures import Measured
from benchmarks.local_swarm import LocalSwarm
from benchmarks.models import checkpoint
from benchmarks.sessions import Decoder, client_of
from potluck.client.swarm_client import SwarmClient
from potluck.protocol.blocks import Span

_HIDDEN_SIZE, _NUM_BLOCKS = 512, 4
_ROUNDS, _SOAK_ROUNDS = 80, 800
_WARM_UP_ROUNDS = 5
_STEPS = 20
_NEWCOMERS = 5


def overhead(soak: bool) -> Measured:
    """Return the median time to open a session with certificates over that without."""
    folder = checkpoint(_HIDDEN_SIZE, _NUM_BLOCKS)
    opening: tuple[list[float], list[float]] = ([], [])
    steps: tuple[list[float], list[float]] = ([], [])
    newcomers: tuple[list[float], list[float]] = ([], [])
    with ExitStack() as stack:
        swarms = [
            stack.enter_context(LocalSwarm(folder, [Span(0, _NUM_BLOCKS)], is_open=is_open))
            for is_open in (False, True)
        ]
        clients = [stack.enter_context(client_of(swarm)) for swarm in swarms]
        for number in range(-_WARM_UP_ROUNDS, _SOAK_ROUNDS if soak else _ROUNDS):
            for which in _in_turn(number):
                open_s, decode_s = _session(clients[which])
                if number >= 0:
                    opening[which].append(open_s)
                    steps[which].extend(decode_s)
        for number in range(_NEWCOMERS):
            for which in _in_turn(number):
                newcomers[which].append(_newcomer(swarms[which]))
    detail = {
        "open_ms": [round(1000 * statistics.median(times), 3) for times in opening],
        "step_ratio": round(_ratio(steps), 3),
        "newcomer_ratio": round(_ratio(newcomers), 3),
        "newcomer_s": [round(statistics.median(times), 2) for times in newcomers],
    }
    return Measured(_ratio(opening), detail)


def _in_turn(number: int) -> tuple[int, int]:
    return (0, 1) if number % 2 else (1, 0)


def _session(client: SwarmClient) -> tuple[float, list[float]]:
    """Return the seconds until the first step of a new session was answered, and those of the steps after it."""
    decoder = Decoder(client, _HIDDEN_SIZE, torch.float32, prompt_tokens=1, seed=0)
    began = time.perf_counter()
    client.run(decoder.start())
    open_s = time.perf_counter() - began
    client.run(decoder.decode(_STEPS))
    client.run(decoder.close())
    return open_s, decoder.times_s


def _newcomer(swarm: LocalSwarm) -> float:
    """Return the seconds from the start of a client to the first step of its first session."""
    began = time.perf_counter()
    with client_of(swarm) as client:
        _, steps = _session(client)
        return time.perf_counter() - began - sum(steps)


def _ratio(times: tuple[list[float], list[float]]) -> float:
    return statistics.median(times[0]) / statistics.median(times[1])
