"""Checks the clock: announcements carry the time at which they expire, so a wrong clock makes them worthless.

The kernel knows whether its clock is synchronised (adjtimex); no other machine is asked.
"""

from __future__ import annotations

import ctypes
import sys
import time
from dataclasses import dataclass

from potluck.sentences import sentence
from potluck_daemon.doctor.finding import Finding, Scene, Severity

NAME = sentence("clock")
EARLIEST = 1_780_000_000  # 2026-05-28: this program is newer
_UNSYNCHRONISED = 0x40  # STA_UNSYNC of <sys/timex.h>
_STATUS_OFFSET = 40  # of `status` in struct timex where long has 64 bits
_TIMEX_BYTES = 512  # larger than the structure on any platform


@dataclass(frozen=True, slots=True)
class ClockFacts:
    now: float  # Unix
    is_kept: bool | None  # None: the kernel does not report it


def gather(_: Scene) -> ClockFacts:
    return ClockFacts(time.time(), _is_kept())


def judge(facts: ClockFacts) -> list[Finding]:
    shown = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(facts.now))
    if facts.now < EARLIEST:
        advice = sentence("set the clock: others ignore announcements from the past")
        return [
            Finding(NAME, Severity.ERROR, sentence("the clock says {time}, which is in the past", time=shown), advice)
        ]
    if facts.is_kept is False:
        advice = sentence("timedatectl set-ntp true, and compare with another clock now")
        return [
            Finding(
                NAME, Severity.WARNING, sentence("the clock is not synchronised; it says {time}", time=shown), advice
            )
        ]
    return [Finding(NAME, Severity.OK, sentence("it says {time}", time=shown))]


def _is_kept() -> bool | None:
    if sys.platform != "linux" or sys.maxsize < 1 << 32:
        return None
    timex = ctypes.create_string_buffer(_TIMEX_BYTES)  # modes 0: only look
    try:
        failed = ctypes.CDLL(None).adjtimex(timex) < 0
    except (OSError, AttributeError):
        return None
    status = ctypes.c_int.from_buffer(timex, _STATUS_OFFSET).value
    return None if failed else not status & _UNSYNCHRONISED
