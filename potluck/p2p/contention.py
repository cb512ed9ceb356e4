"""Measures how busy this machine is, so that deadlines for work on it can stretch."""

from __future__ import annotations

import os
from pathlib import Path

MAX_STRETCH = 10.0
_SCHEDSTAT = Path("/proc/self/schedstat")  # of the main thread: ns on a core, ns ready but waiting for one, time slices


def stretched(timeout_s: float) -> float:
    """Return the time to allow for work that takes at most `timeout_s` on an idle machine."""
    ran_s, waited_s = _scheduled()
    # The load average counts the whole machine, whatever part of it this process may use.
    return timeout_s * stretch(ran_s, waited_s, os.getloadavg()[0] / (os.cpu_count() or 1))


def stretch(ran_s: float, waited_s: float, load_per_core: float) -> float:
    """Return by what factor work takes longer than on an idle machine, from 1 to `MAX_STRETCH`.

    Args:
        ran_s: how long this process had a core since it started.
        waited_s: how long it waited for one. It shows a load that has just begun, the average one that lasts.
        load_per_core: the machine's load average over its cores.
    """
    shared = (ran_s + waited_s) / ran_s if ran_s > 0 else 1.0
    return min(max(shared, load_per_core, 1.0), MAX_STRETCH)


def _scheduled() -> tuple[float, float]:
    """Return the seconds that this process ran and waited for a core; zeros where the system does not tell."""
    try:
        ran_ns, waited_ns, _ = _SCHEDSTAT.read_text(encoding="ascii").split()
    except (OSError, ValueError):
        return 0.0, 0.0
    return int(ran_ns) / 1e9, int(waited_ns) / 1e9
