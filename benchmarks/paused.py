"""What a daemon costs that its user has paused, and whether it serves again: `paused_cpu`, `paused_memory`,
`paused_wakeups` and `pause_resume`.

It has served the bundled model before, so everything is imported and has been used. Probes are on and have a desktop.
"""

from __future__ import annotations

import contextlib
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
from potluck_control.api import schema
from potluck_control.states import State

from benchmarks.figures import Measured
from benchmarks.kills import within
from benchmarks.machine import pss_bytes, rss_bytes
from tests.helpers.daemon_process import LOOPBACK, DaemonProcess
from tests.helpers.desktop import desktop
from tests.helpers.games import gamemoded

_SETTLE_S = 5.0
_SEED = 36
_LONGEST_PAUSE_S = 2.0
_LONGEST_START_S = 5.0  # before a pause: most engines start within it, so that starts are struck at every moment
_SERVES_EVERY = 4  # pauses after which it has to serve
_SERVES_WITHIN_S = 60.0


def cpu(soak: bool) -> Measured:
    seconds = 600.0 if soak else 60.0
    with _paused() as daemon:
        used_before, began = cpu_seconds(daemon.pid), time.monotonic()
        wakes_before = _wakes(daemon.pid)
        time.sleep(seconds)
        percent = 100 * (cpu_seconds(daemon.pid) - used_before) / (time.monotonic() - began)
        wakes = (_wakes(daemon.pid) - wakes_before) / seconds
    return Measured(percent, {"over_s": seconds, "wakes_a_second": round(wakes, 2)})


def wakeups(soak: bool) -> Measured:
    """Of all threads: each wait that ends is one."""
    seconds = 600.0 if soak else 60.0
    with _paused() as daemon:
        before = _wakes(daemon.pid)
        time.sleep(seconds)
        return Measured((_wakes(daemon.pid) - before) / seconds, {"over_s": seconds})


def memory(soak: bool) -> Measured:
    with _paused() as daemon:
        detail = {"rss_mb": round(rss_bytes(daemon.pid) / 1e6, 1), "pages": "shared ones count by their share"}
        return Measured(pss_bytes(daemon.pid) / 1e6, detail)


def resumes(soak: bool) -> Measured:
    """Engines that ended although nobody asked, and resumes after which none served."""
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


def cpu_seconds(pid: int) -> float:
    """Of all threads, to the nanosecond where the kernel counts so (the first field of schedstat)."""
    threads = list(Path(f"/proc/{pid}/task").glob("*/schedstat"))
    if threads:
        return sum(int(thread.read_text().split()[0]) for thread in threads) / 1e9
    times = psutil.Process(pid).cpu_times()
    return float(times.user + times.system)


def _wakes(pid: int) -> int:
    """Voluntary switches of context of all threads."""
    total = 0
    for status in Path(f"/proc/{pid}/task").glob("*/status"):
        with contextlib.suppress(FileNotFoundError):  # the thread has ended
            lines = dict(line.split(":", 1) for line in status.read_text().splitlines())
            total += int(lines["voluntary_ctxt_switches"])
    return total
