"""How long a generation stands still when a server fails: `stall_killed`, `stall_silent` and `outage_survived`."""

from __future__ import annotations

import os
import signal
import statistics
import threading
import time
from collections.abc import Callable, Mapping
from functools import partial

from potluck_gateway.answers.completion import Completion

from benchmarks.figures import Measured, figure
from benchmarks.setup.generation import generate, longest_wait_s, swarm_model
from benchmarks.setup.models import checkpoint, local_model
from potluck.errors import PotluckError
from potluck.protocol.blocks import Span
from tests.faults.swarm import ProxiedSwarm, Server

NUM_BLOCKS = 8
NUM_TOKENS = 48
_STRIKE_AT = 16  # tokens
_SPANS = (Span(0, 4), Span(4, 8), Span(4, 8))
_LAST_BLOCK = NUM_BLOCKS - 1
_OUTAGE_S = 60.0
Strike = Callable[[Server], None]


@figure("stall_killed", unit="s", reach=0.3, shown=True)
def killed(soak: bool) -> Measured:
    """95th percentile of the wait for a token when the server in use is killed; the tokens must be the same."""

    def kill(server: Server) -> None:  # Nobody waits for its end, because the client does not either.
        os.kill(server.engine.pid, signal.SIGKILL)

    return _waits({"killed": kill}, 40 if soak else 5)


@figure("stall_silent", unit="s", reach=1.5)
def silent(soak: bool) -> Measured:
    """95th percentile of the wait for a token when the server in use is frozen, half disconnected or its connection
    stalls.
    """
    strikes: dict[str, Strike] = {
        "frozen": lambda server: server.engine.freeze(),
        "frozen with its p2pd": lambda server: _signal_all(server, signal.SIGSTOP),
        "not heard": lambda server: server.proxy.stall(to_server=False),
        "not hearing": lambda server: server.proxy.stall(to_client=False),
        "stalled": lambda server: server.proxy.stall(),
    }
    return _waits(strikes, 12 if soak else 2)


@figure("outage_survived", unit="share", reach=1, better="higher")
def outage_survived(soak: bool) -> Measured:
    """Sessions that continue with the same tokens when the only server of some blocks is gone for 60 s."""
    folder, sessions = checkpoint(512, NUM_BLOCKS), 8 if soak else 3
    expected = generate(local_model(folder), NUM_TOKENS).tokens
    with ProxiedSwarm(folder, (Span(0, 4), Span(4, 8))) as swarm:
        running = [_Session(swarm, expected) for _ in range(sessions)]
        for session in running:
            session.is_under_way.wait()
        began = time.monotonic()
        swarm.servers[1].engine.kill()
        for session in running:
            session.may_continue.set()
        time.sleep(_OUTAGE_S)
        swarm.add_server(Span(4, 8)).engine.wait_online()
        gone_s = time.monotonic() - began
        for session in running:
            session.thread.join()
    told = [session.told for session in running]
    detail = {"sessions": sessions, "gone_s": round(gone_s, 1), "told": told, "ends": [each.end for each in running]}
    survived = sum(session.end == "same tokens" for session in running)
    return Measured(survived / sessions, detail, holds=all(told))


def _waits(strikes: Mapping[str, Strike], rounds: int) -> Measured:
    """Each round strikes the replica in use, and afterwards heals it or puts another one in its place."""
    folder = checkpoint(512, NUM_BLOCKS)
    waits: dict[str, list[float]] = {name: [] for name in strikes}
    replaced, are_equal = 0, True
    with ProxiedSwarm(folder, _SPANS) as swarm:
        expected = generate(local_model(folder), NUM_TOKENS).tokens
        for name, strike in [each for each in strikes.items() for _ in range(rounds)]:
            with swarm_model(swarm.local, folder) as model:
                victims: list[Server] = []

                watch = partial(_strike_at, swarm, model, strike, victims)
                completion = generate(model, NUM_TOKENS, watch)
                replaced += sum(len(report.replaced) for report in model.last_route())
            waits[name].append(longest_wait_s(completion))
            are_equal &= completion.tokens == expected
            _restore(swarm, victims[0])
    every = sorted(wait for each in waits.values() for wait in each)
    detail = {
        "all_s": {name: [round(wait, 3) for wait in each] for name, each in waits.items()},
        "median_s": round(statistics.median(every), 3),
        "worst_s": round(every[-1], 3),
        "same_tokens": are_equal,
        "replaced": replaced,
        "rounds": len(every),
    }
    value = statistics.quantiles(every, n=20, method="inclusive")[-1]
    return Measured(value, detail, holds=are_equal and replaced == len(every))


def _strike_at(
    swarm: ProxiedSwarm, model: object, strike: Strike, victims: list[Server], completion: Completion
) -> None:
    if len(completion.tokens) == _STRIKE_AT:
        victims.append(swarm.serving(model, _LAST_BLOCK))
        strike(victims[0])


def _restore(swarm: ProxiedSwarm, victim: Server) -> None:
    """Let two servers hold the last blocks again, both of them well."""
    victim.proxy.heal()
    if victim.engine.is_alive:
        _signal_all(victim, signal.SIGCONT)
    else:
        swarm.add_server(victim.span).engine.wait_online()


def _signal_all(server: Server, number: int) -> None:
    for process in server.engine.processes():
        os.kill(process.pid, number)


class _Session:
    """A generation in a thread that stops halfway until it may continue."""

    def __init__(self, swarm: ProxiedSwarm, expected: list[int]) -> None:
        self.is_under_way, self.may_continue = threading.Event(), threading.Event()
        self.told: list[str] = []
        self.end = "lost"
        self._swarm, self._expected = swarm, expected
        self.thread = threading.Thread(target=self._run)
        self.thread.start()

    def _run(self) -> None:
        try:
            with swarm_model(self._swarm.local, self._swarm.local.checkpoint) as model:
                model.tell_waits(lambda missing: self.told.append(" ".join(map(str, missing)) or "continues"))
                tokens = generate(model, NUM_TOKENS, self._watch).tokens
            self.end = "same tokens" if tokens == self._expected else "other tokens"
        except PotluckError as error:
            self.end = error.message
        finally:
            self.is_under_way.set()

    def _watch(self, completion: Completion) -> None:
        if len(completion.tokens) == _STRIKE_AT:
            self.is_under_way.set()
            self.may_continue.wait()
