"""How soon a machine serves again after a game: `return_time`.

Over the quiet time that is configured. Two games: a short one, after which the engine still waits with its weights
freed, and a long one, after which its process has ended and has to be started anew. The slower one counts.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path

from potluck_control.api import schema
from potluck_control.states import State

from benchmarks.figures import Measured, figure
from tests.helpers.daemon_process import GAME, LOOPBACK, DaemonProcess, scripted_game
from tests.helpers.desktop import desktop

QUIET_S = 15.0  # the default
END_AFTER_S = 5.0


@figure("return_time", unit="s", reach=5, shown=True)
def over_quiet_time(soak: bool) -> Measured:
    """Seconds from the end of a game to serving again, over the quiet time; the engine offloaded, and ended."""
    rounds = 10 if soak else 2
    settings = f'{LOOPBACK}[yield]\nalways = ["{GAME}"]\nquiet_certain_s = {QUIET_S}\n'
    settings += f"end_engine_after_s = {END_AFTER_S}\n"
    with (
        desktop() as screen,
        DaemonProcess(settings, environment=screen.environment) as daemon,
        tempfile.TemporaryDirectory() as folder,
    ):
        daemon.client.call(schema.CREATE)
        daemon.wait_state(State.SERVING)
        times = {
            name: [_return_s(daemon, Path(folder), is_long=name == "long") for _ in range(rounds)]
            for name in ("short", "long")
        }
    medians = {name: round(statistics.median(values), 2) for name, values in times.items()}
    return Measured(max(medians.values()), {"median_s": medians, "quiet_s": QUIET_S})


def _return_s(daemon: DaemonProcess, folder: Path, *, is_long: bool) -> float:
    """Seconds from the end of a game to serving, without the quiet time."""
    with scripted_game(folder):
        daemon.wait_for(lambda status: status.state is State.YIELDED and (status.engine.pid is None or not is_long))
    began = time.monotonic()
    daemon.wait_for(lambda status: status.state is State.YIELDED and status.until is not None)
    daemon.wait_state(State.SERVING)
    return time.monotonic() - began - QUIET_S
