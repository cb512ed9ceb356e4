"""The loop that the sources of idle time share: ask now and then, more often when the answer may matter soon."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from potluck_control.states import Certainty, Reason

from potluck_daemon.presence.probe import Report, Sighting

RETURN_INTERVAL_S = 1.0  # while nobody is there: how soon a return is noticed
LONGEST_WAIT_S = 15.0


async def poll_idle(read_idle_s: Callable[[], Awaitable[float]], report: Report, *, idle_after_s: float) -> None:
    """Report use or absence until cancelled; `read_idle_s` tells for how long nobody has touched anything."""
    while True:
        idle_s = await read_idle_s()
        report((use(idle_s < idle_after_s),))
        left_s = idle_after_s - idle_s
        await asyncio.sleep(RETURN_INTERVAL_S if left_s <= 0 else min(max(left_s, 0.1), LONGEST_WAIT_S))


def use(is_active: bool, certainty: Certainty = Certainty.LIKELY) -> Sighting:
    """Somebody uses the computer, or nobody does."""
    if is_active:
        return Sighting(Reason.USER_ACTIVE, "keyboard or mouse", certainty)
    return Sighting(Reason.AWAY, "nobody", certainty)
