"""What a daemon costs that its user has paused, and whether it serves again.

It has served the bundled model before, so everything is imported and has been used. Probes are on and have a desktop.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager

from potluck_control.api import schema
from potluck_control.states import State

from benchmarks.faults.kills import within
from benchmarks.figures import Measured, figure
from benchmarks.setup.machine import cpu_seconds_of, pss_bytes, rss_bytes
from tests.helpers.daemon_process import LOOPBACK, DaemonProcess
from tests.helpers.desktop import desktop
from tests.helpers.games import gamemoded

_SETTLE_S = 5.0
_SEED = 36
_LONGEST_PAUSE_S = 2.0
_LONGEST_START_S = 5.0  # most engines start within it, so that pauses strike starts at every moment
_SERVES_EVERY = 4  # pauses after which it has to serve
_SERVES_WITHIN_S = 60.0


@figure("paused_cpu", unit="%", reach=0.2)
def cpu(soak: bool) -> Measured:
    """Share of a core that a paused daemon takes."""
    seconds = 600.0 if soak else 60.0
    with _paused() as daemon:
        used_before, began = cpu_seconds_of(daemon.pid), time.monotonic()
        time.sleep(seconds)
        percent = 100 * (cpu_seconds_of(daemon.pid) - used_before) / (time.monotonic() - began)
    return Measured(percent, {"over_s": seconds})


@figure("paused_memory", unit="MB", reach=45)
def memory(soak: bool) -> Measured:
    """Memory (PSS) of a paused daemon that has served before."""
    with _paused() as daemon:
        detail = {"rss_mb": round(rss_bytes(daemon.pid) / 1e6, 1), "pages": "shared ones count by their share"}
        return Measured(pss_bytes(daemon.pid) / 1e6, detail)


@figure("pause_resume", unit="failures", reach=0)
def resumes(soak: bool) -> Measured:
    """Of 40 pauses and resumes at random moments (200 in soak): engines that failed, and resumes that never served."""
    rng, rounds, never_served = random.Random(_SEED), 200 if soak else 40, 0
    with DaemonProcess(LOOPBACK) as daemon:
        daemon.client.call(schema.CREATE)
        for number in range(rounds):
            if number % _SERVES_EVERY == 0:
                never_served += not within(_SERVES_WITHIN_S, lambda: daemon.status().state is State.SERVING)
            else:
                time.sleep(rng.uniform(0.0, _LONGEST_START_S))
            daemon.client.call(schema.PAUSE, schema.PauseParams(None))
            time.sleep(rng.uniform(0.0, _LONGEST_PAUSE_S))
            daemon.client.call(schema.RESUME)
        never_served += not within(_SERVES_WITHIN_S, lambda: daemon.status().state is State.SERVING)
        ends = [line for line in daemon.log().splitlines() if "next try in" in line]
    detail = {"pauses": rounds, "ends": ends, "never_served": never_served, "seed": _SEED}
    return Measured(len(ends) + never_served, detail)


@contextmanager
def _paused() -> Iterator[DaemonProcess]:
    with desktop() as screen, gamemoded(screen), DaemonProcess(LOOPBACK, environment=screen.environment) as daemon:
        daemon.client.call(schema.CREATE)
        daemon.wait_state(State.SERVING)
        daemon.client.call(schema.PAUSE, schema.PauseParams(None))
        daemon.wait_for(lambda status: status.state is State.PAUSED and status.engine.pid is None)
        time.sleep(_SETTLE_S)
        yield daemon
