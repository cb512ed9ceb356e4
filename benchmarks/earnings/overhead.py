"""What receipts cost a session: `receipt_overhead`.

A daemon's engine keeps tabs; one client signs, the other has no key to sign with, as stock ones. They take turns on the
same engine. Compared is the CPU time of client and engine for each token: a receipt costs one step in 64 a little more,
which the median of a step's wall time would not show and its mean not find among the noise. What the tab itself costs a
step is measured beside and added.
"""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psutil
from potluck_control.methods import earnings
from potluck_control.states import State
from potluck_engine.serving.receipts import Tabs

from benchmarks.figures import Measured
from benchmarks.local_swarm import LocalSwarm
from benchmarks.loops import generate, rounded, swarm_model
from benchmarks.models import checkpoint
from potluck.membership.identity import Identity
from potluck.protocol.blocks import PeerId, Span
from potluck.protocol.messages import Timing
from potluck.protocol.swarm import Swarm
from potluck.wire.message import encode
from tests.helpers.daemon_process import LOOPBACK, DaemonProcess
from tests.helpers.fake_network import FakeNetwork

_NUM_BLOCKS = 8


def decode_512(soak: bool) -> Measured:
    rounds, num_tokens = (60, 256) if soak else (12, 128)
    folder = checkpoint(512, _NUM_BLOCKS)
    settings = f'{LOOPBACK}checkpoint = "{folder}"\nblocks = "0:{_NUM_BLOCKS}"\n'
    with ExitStack() as stack:
        swarm = stack.enter_context(LocalSwarm(folder, ()))
        daemon = stack.enter_context(DaemonProcess(settings))
        daemon.become_founder(swarm)
        daemon.wait_state(State.SERVING)
        guest, _ = swarm.join("guest")  # the founder's own clients keep no tab
        signing = stack.enter_context(swarm_model(swarm, folder, membership=guest))
        silent = stack.enter_context(swarm_model(swarm, folder, membership=guest))
        silent._client.calls.signer._parameters = ()  # signs nothing
        engine_pid = daemon.status().engine.pid
        assert engine_pid is not None
        costs = _cpu_ms({"with": signing, "without": silent}, psutil.Process(engine_pid), rounds, num_tokens)
        tokens = daemon.client.call(earnings.SUMMARY).total.tokens
    tab_us = asyncio.run(_tab_us())
    ratio = sum(costs["with"]) / sum(costs["without"])
    detail = {"cpu_ms_per_token": rounded(costs), "ratio_of_clients": round(ratio, 4), "tab_us": round(tab_us, 1)}
    value = ratio + tab_us / 1000 / statistics.mean(costs["without"])
    return Measured(value, {**detail, "signed_tokens": tokens, "rounds": rounds}, holds=tokens > 0)


def _cpu_ms(models: Mapping[str, Any], engine: psutil.Process, rounds: int, num_tokens: int) -> dict[str, list[float]]:
    """CPU time a token of client and engine together, one value a round; the models take turns."""
    found: dict[str, list[float]] = {name: [] for name in models}
    order = list(models.items())
    for _ in range(rounds + 1):
        for name, model in order:
            began = _cpu_s(engine)
            generate(model, num_tokens)
            found[name].append(1000 * (_cpu_s(engine) - began) / num_tokens)
        order.reverse()
    return {name: times[1:] for name, times in found.items()}  # the first warms up


def _cpu_s(engine: psutil.Process) -> float:
    spent = engine.cpu_times()
    return spent.user + spent.system + time.process_time()


async def _tab_us() -> float:
    """CPU time a step of keeping a tab for a client that does not sign."""
    swarm = Swarm(name="x", model="x", num_blocks=_NUM_BLOCKS, prefix="x")
    with tempfile.TemporaryDirectory() as folder:
        tabs = Tabs(Path(folder))
        tabs.begin(FakeNetwork().start(), swarm, (1_000_000,) * _NUM_BLOCKS)
        tab = tabs.open(PeerId(Identity.generate().peer_id), Span(0, _NUM_BLOCKS))
        timing, count = Timing(0.1, 5.0, 1000), 5000
        began = time.process_time()
        for _ in range(count):
            encode(timing)
        plain_s = time.process_time() - began
        began = time.process_time()
        for _ in range(count):
            tab.forward_tokens += 1
            encode(timing)
        kept_s = time.process_time() - began
        tabs.close()
    return max(kept_s - plain_s, 0.0) / count * 1e6
