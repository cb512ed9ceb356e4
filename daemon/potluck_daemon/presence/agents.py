"""The probe for evidence that agents report over the control API.

An agent is a tray on Windows beside a daemon in WSL2, or a helper in the desktop session beside a system service. The
permissions of the control socket decide who may report. A report expires after the time that it names, so that an
agent that died doesn't stop the daemon for ever; agents repeat their reports.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable

from potluck_control.states import Reason

from potluck.errors import UsageError
from potluck.sentences import sentence
from potluck_daemon.presence.probe import Report, Sighting, Situation

MAX_SOURCES = 32
REPORTABLE = frozenset(
    {
        *(Reason.GAME, Reason.EXCLUSIVE_APP, Reason.FULL_SCREEN, Reason.GPU_BUSY),
        *(Reason.VRAM_PRESSURE, Reason.RAM_PRESSURE, Reason.OTHER_USER, Reason.USER_ACTIVE, Reason.AWAY),
        *(Reason.BATTERY, Reason.METERED, Reason.SLEEP),
    }
)


class AgentReports:
    """The probe that passes on what agents report. It outlives changes of the settings."""

    name = sentence("Agents")

    def __init__(self, clock: Callable[[], float] = time.monotonic, *, repeat_s: float = 1.0) -> None:
        """`repeat_s`: reports are passed on again after so long, because a likely one has to be seen twice."""
        self._clock = clock
        self._repeat_s = repeat_s
        self._reports: dict[
            tuple[str, Reason], tuple[Sighting, float]
        ] = {}  # (source, reason) -> sighting and when it expires
        self._changed = asyncio.Event()

    def add(self, source: str, sighting: Sighting, lifetime_s: float) -> None:
        """Add a report of `source`; a lifetime of 0 seconds withdraws its report for this reason.

        Raises:
            UsageError: agents cannot report this reason, or too many agents report at once.
        """
        if sighting.reason not in REPORTABLE:
            raise UsageError(
                f"an agent cannot report {sighting.reason}", hint=f"one of: {', '.join(sorted(REPORTABLE))}"
            )
        self._forget_expired()
        key = (source, sighting.reason)
        if lifetime_s <= 0:
            self._reports.pop(key, None)
        elif key not in self._reports and len(self._reports) >= MAX_SOURCES:
            raise UsageError("too many agents report at once", hint="let some of their reports expire")
        else:
            self._reports[key] = sighting, self._clock() + lifetime_s
        self._changed.set()

    async def watch(self, report: Report, situation: Situation) -> None:
        while True:
            self._changed.clear()
            self._forget_expired()
            report(tuple(dict.fromkeys(sighting for sighting, _ in self._reports.values())))
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._repeat_s if self._reports else None):
                    await self._changed.wait()

    def _forget_expired(self) -> None:
        now = self._clock()
        self._reports = {key: report for key, report in self._reports.items() if report[1] > now}
