"""Distinguishes a daemon that hangs from one that is busy or gone, without its help.

A daemon sends its status every second to those who read its events. On a machine under load its silence alone proves
little, so the kernel is asked what the daemon's main thread did meanwhile: it was stopped, it slept, or it ran or
waited for a processor or the disk. Where there is no `/proc`, and across a pipe, only a long silence counts.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

LOOK_S = 0.5  # the interval between two checks of a `HangWatch`
STOPPED = "Tt"  # states of a process that a signal or a debugger stopped

_STOPPED_S = 1.5  # the last status may be a little late
_ASLEEP_S = 2.0
_BUSY_S = 20.0
_UNKNOWN_S = 10.0
_ASLEEP_SHARE = 0.05  # the largest share of its time that a sleeping thread was active


@dataclass(frozen=True, slots=True)
class Pulse:
    """What the kernel knows of a process's main thread; `active_s`: it ran or waited for a processor."""

    state: str  # the letter of proc(5)
    active_s: float


def read_pulse(pid: int | None, proc: Path = Path("/proc")) -> Pulse | None:
    """Return the pulse of a process, or None if the kernel does not show it."""
    if pid is None:
        return None
    with suppress(OSError, ValueError, IndexError):
        state = (proc / str(pid) / "stat").read_text().rpartition(")")[2].split()[0]
        ran_ns, waited_ns = (proc / str(pid) / "schedstat").read_text().split()[:2]
        return Pulse(state, (int(ran_ns) + int(waited_ns)) / 1e9)
    return None


def is_hung(silent_s: float, before: Pulse | None, now: Pulse | None) -> bool:
    """Return whether a process that has been silent for `silent_s` hangs. `before`: its pulse at the last message."""
    if before is None or now is None:
        return silent_s >= _UNKNOWN_S
    if now.state in STOPPED:
        return silent_s >= _STOPPED_S
    is_asleep = now.state in "SI" and now.active_s - before.active_s <= _ASLEEP_SHARE * silent_s
    return silent_s >= (_ASLEEP_S if is_asleep else _BUSY_S)


class HangWatch:
    """Watches one daemon: call `heard` for each of its messages, and `look` every `LOOK_S`. Times are monotonic."""

    def __init__(self, pulse: Callable[[], Pulse | None], now: float) -> None:
        self._pulse = pulse
        self._looked_at = self._heard_at = self._since = now
        self._before = pulse()
        self._is_suspect = False

    def heard(self, now: float) -> None:
        """Record a sign of life. Another thread may call this."""
        self._heard_at = now

    def look(self, now: float) -> bool:
        """Return whether the daemon hangs, after two checks: a message may have come but not been read yet."""
        is_late = now - self._looked_at > 3 * LOOK_S  # this program did not run itself, so it may have missed something
        self._looked_at = now
        pulse = self._pulse()
        if is_late:
            self._heard_at = now
        if self._heard_at != self._since:
            self._since, self._before, self._is_suspect = self._heard_at, pulse, False
            return False
        was_suspect, self._is_suspect = self._is_suspect, is_hung(now - self._since, self._before, pulse)
        return was_suspect and self._is_suspect


def peer_of(place: Path, timeout_s: float = 1.0) -> int | None:
    """Return the process that listens at a Unix socket, even if it hangs, or None if the system does not show it."""
    with suppress(OSError, AttributeError), socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(timeout_s)
        connection.connect(str(place))
        credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        pid, _, _ = struct.unpack("3i", credentials)
        return int(pid) or None
    return None
