"""How soon the model answers once the daemon keeps a client warm: `second_generate` and `chat_ready`."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from potluck_control.api import schema
from potluck_control.api.schema import Status
from potluck_control.methods import gateway
from potluck_control.states import State

from benchmarks.figures import Measured, figure
from tests.helpers.daemon_process import LOOPBACK, DaemonProcess
from tests.helpers.desktop import desktop

_WINDOW_S = 20.0  # how long the window has been open when somebody opens the chat
_GENERATE = ("generate", "--json", "--max-new-tokens", "8", "Count from 3 to 9:")


@figure("second_generate", unit="s", reach=1.5)
def second_generate(soak: bool) -> Measured:
    """Seconds of the second `potluck generate` of 8 tokens while the daemon runs; the first is in `detail`.

    The median of the calls after the first, each a process of its own.
    """
    with _demo() as daemon:
        seconds = [_generate_s(daemon) for _ in range(21 if soak else 6)]
    first, *later = seconds
    detail = {"first_s": round(first, 2), "all_s": [round(value, 2) for value in later]}
    return Measured(statistics.median(later), detail | {"load": round(os.getloadavg()[0], 1)})


@figure("chat_ready", unit="s", reach=3)
def chat_ready(soak: bool) -> Measured:
    """Seconds from opening the chat to its first token, the window having been open for 20 s; cold in `detail`."""
    with desktop(window_manager=True) as screen, _demo(screen.environment) as daemon:
        seconds = [_chat_s(daemon, _WINDOW_S) for _ in range(5 if soak else 3)]
        cold_s = _chat_s(daemon, 0.0)
    detail = {"all_s": [round(value, 2) for value in seconds], "cold_s": round(cold_s, 2)}
    return Measured(statistics.median(seconds), detail | {"load": round(os.getloadavg()[0], 1)})


def _chat_s(daemon: DaemonProcess, window_s: float) -> float:
    daemon.client.call(gateway.STOP)
    command = [sys.executable, "-m", "benchmarks.people.chat_window", str(window_s)]
    done = subprocess.run(command, env=daemon.environment, capture_output=True, text=True, check=False, timeout=120.0)
    assert done.returncode == 0, done.stderr
    return float(done.stdout)


def _generate_s(daemon: DaemonProcess) -> float:
    began = time.monotonic()
    done = daemon.command(*_GENERATE)
    assert done.returncode == 0, done.stderr
    return time.monotonic() - began


@contextmanager
def _demo(environment: Mapping[str, str] = os.environ) -> Iterator[DaemonProcess]:
    """A daemon that serves all blocks of the demo model."""
    with DaemonProcess(LOOPBACK, environment=environment) as daemon:
        daemon.client.call(schema.CREATE)
        daemon.wait_for(_serves_everything)
        yield daemon


def _serves_everything(status: Status) -> bool:
    coverage = status.swarm.coverage if status.swarm is not None else ()
    return status.state is State.SERVING and bool(coverage) and 0 not in coverage
