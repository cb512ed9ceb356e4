"""How fast the daemon answers when many ask: `control_p99`.

The clients are the real ones, in processes of their own; each calls, waits a tenth of a second, and calls again: an app
that somebody clicks through does less. The daemon serves a model meanwhile.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import threading
import time
from contextlib import ExitStack
from pathlib import Path

from potluck_control.api import schema
from potluck_control.api.client import ControlClient
from potluck_control.states import State

from benchmarks.figures import Measured, figure
from tests.helpers.daemon_process import LOOPBACK, DaemonProcess

NUM_CLIENTS = 20
NUM_PROCESSES = 4
_PAUSE_S = 0.1
_CALL = "import sys; from benchmarks.people.control import call; call(sys.argv[1], *map(int, sys.argv[2:]))"


@figure("control_p99", unit="ms", reach=20)
def p99(soak: bool) -> Measured:
    """99th percentile of a status call while 20 clients call."""
    calls = 1000 if soak else 100
    with ExitStack() as stack:
        daemon = stack.enter_context(DaemonProcess(LOOPBACK))
        daemon.client.call(schema.CREATE)
        daemon.wait_state(State.SERVING)
        share = NUM_CLIENTS // NUM_PROCESSES
        command = [sys.executable, "-c", _CALL, str(daemon.socket), str(share), str(calls)]
        children = [
            stack.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE)) for _ in range(NUM_PROCESSES)
        ]
        times_ms = [time_ms for child in children for time_ms in json.loads(child.communicate()[0])]
    detail = {
        "median_ms": round(statistics.median(times_ms), 2),
        "worst_ms": round(max(times_ms), 2),
        "calls": len(times_ms),
        "clients": NUM_CLIENTS,
    }
    return Measured(statistics.quantiles(times_ms, n=100)[98], detail, holds=len(times_ms) == NUM_CLIENTS * calls)


def call(socket: str, num_clients: int, num_calls: int) -> None:
    """Have `num_clients` threads ask for the status, in a fresh process; print the milliseconds of every call."""
    times_ms: list[float] = []

    def ask() -> None:
        client = ControlClient(Path(socket))
        for _ in range(num_calls):
            began = time.perf_counter()
            client.call(schema.STATUS)
            times_ms.append(1000 * (time.perf_counter() - began))
            time.sleep(_PAUSE_S)

    threads = [threading.Thread(target=ask) for _ in range(num_clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(json.dumps(times_ms))
