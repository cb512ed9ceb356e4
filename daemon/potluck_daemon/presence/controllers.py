"""Game controllers: which devices they are, and whether a program has one open.

The kernel's `joydev` makes a `jsN` for everything with sticks and game buttons. The same device has an `eventN`,
and the common controllers a `hidrawN`; games read those today.
Source: https://docs.kernel.org/input/joydev/joystick.html
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path


def controllers(sys: Path) -> frozenset[str]:
    """Return the device files of all game controllers; empty without one."""
    found = set()
    for stick in (sys / "class/input").glob("js*"):
        device = stick / "device"
        found |= {f"/dev/input/{item.name}" for item in (*device.glob("js*"), *device.glob("event*"))}
        found |= {f"/dev/{item.name}" for item in device.glob("device/hidraw/hidraw*")}
    return frozenset(found)


def has_open(proc: Path, pids: Iterable[int], devices: frozenset[str]) -> bool:
    """Return whether one of these processes has one of `devices` open, as far as we may see."""
    return bool(devices) and any(not devices.isdisjoint(_open_files(proc / str(pid) / "fd")) for pid in pids)


def _open_files(folder: Path) -> set[str]:
    found = set()
    try:
        for handle in os.scandir(folder):
            found.add(os.readlink(handle.path))
    except OSError:  # another user's, or gone
        return found
    return found
