"""How soon the model answers once the daemon keeps a client warm: `second_generate`."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager

from potluck_control import schema
from potluck_control.schema import Status
from potluck_control.states import State

from benchmarks.figures import Measured
from tests.helpers.daemon_process import LOOPBACK, DaemonProcess

_GENERATE = ("generate", "--json", "--max-new-tokens", "8", "Count from 3 to 9:")


def second_generate(soak: bool) -> Measured:
    """Return the median of the calls after the first, each a process of its own."""
    with _demo() as daemon:
        seconds = [_generate_s(daemon) for _ in range(21 if soak else 6)]
    first, *later = seconds
    detail = {"first_s": round(first, 2), "all_s": [round(value, 2) for value in later]}
    return Measured(statistics.median(later), detail | {"load": round(os.getloadavg()[0], 1)})


def _generate_s(daemon: DaemonProcess) -> float:
    began = time.monotonic()
    done = daemon.command(*_GENERATE)
    assert done.returncode == 0, done.stderr
    return time.monotonic() - began


@contextmanager
def _demo() -> Iterator[DaemonProcess]:
    """A daemon that serves all blocks of the demo model."""
    with DaemonProcess(LOOPBACK) as daemon:
        daemon.client.call(schema.CREATE)
        daemon.wait_for(_serves_everything)
        yield daemon


def _serves_everything(status: Status) -> bool:
    coverage = status.swarm.coverage if status.swarm is not None else ()
    return status.state is State.SERVING and bool(coverage) and 0 not in coverage
