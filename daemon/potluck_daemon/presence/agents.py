"""What helpers in other places report over the control API: a tray on Windows beside a daemon in WSL2, a helper in the
desktop session beside a system service.

Who may report is decided by the control socket's own permissions. A report lasts as long as it says and vanishes then,
so that an agent that died does not stop the daemon for ever; agents repeat theirs.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass

from potluck_control.states import Reason

from potluck.errors import UsageError
from potluck_daemon.presence.probe import Report, Sighting, Situation

MAX_SOURCES = 32
REPEAT_S = 1.0  # a likely report has to be seen twice
REPORTABLE = frozenset(
    {
        *(Reason.GAME, Reason.EXCLUSIVE_APP, Reason.FULL_SCREEN, Reason.GPU_BUSY),
        *(Reason.VRAM_PRESSURE, Reason.RAM_PRESSURE, Reason.OTHER_USER, Reason.USER_ACTIVE, Reason.AWAY),
        *(Reason.BATTERY, Reason.METERED, Reason.SLEEP),
    }
)


@dataclass(frozen=True, slots=True)
class _Told:
    sighting: Sighting
    ends_at: float


class AgentReports:
    """The probe of what agents say; outlives changes of settings."""

    name = "Agents"

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._told: dict[tuple[str, Reason], _Told] = {}
        self._changed = asyncio.Event()

    def tell(self, source: str, sighting: Sighting, lifetime_s: float) -> None:
        """Note a report of `source`; 0 seconds take back what it said of this reason.

        Raises:
            UsageError: agents do not report such a thing, or there are too many of them.
        """
        if sighting.reason not in REPORTABLE:
            raise UsageError(
                f"an agent cannot report {sighting.reason}", hint=f"one of: {', '.join(sorted(REPORTABLE))}"
            )
        self._forget_expired()
        key = (source, sighting.reason)
        if lifetime_s <= 0:
            self._told.pop(key, None)
        elif key not in self._told and len(self._told) >= MAX_SOURCES:
            raise UsageError("too many agents report at once", hint="let some of their reports expire")
        else:
            self._told[key] = _Told(sighting, self._clock() + lifetime_s)
        self._changed.set()

    async def watch(self, report: Report, situation: Situation) -> None:
        while True:
            self._changed.clear()
            self._forget_expired()
            report(tuple(dict.fromkeys(told.sighting for told in self._told.values())))
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(REPEAT_S if self._told else None):
                    await self._changed.wait()

    def _forget_expired(self) -> None:
        now = self._clock()
        self._told = {key: told for key, told in self._told.items() if told.ends_at > now}
