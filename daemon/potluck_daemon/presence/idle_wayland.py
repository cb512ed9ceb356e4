"""Idle time from a Wayland compositor: by `ext_idle_notifier_v1` (Plasma 6, wlroots, COSMIC) or its forerunner
`org_kde_kwin_idle`.

The compositor sends "idled" when nothing has been touched for the time asked for, and "resumed" afterwards. A game pad
doesn't count as a touch (swayidle#5), so a detected game must outrank this.
"""

from __future__ import annotations

import asyncio
import struct

from potluck.sentences import sentence
from potluck_daemon.presence.idle import use
from potluck_daemon.presence.probe import ProbeUnavailableError, Report, Situation, Surroundings
from potluck_daemon.presence.wayland import CALL_TIMEOUT_S, FIRST_FREE, bind, compositor, read_globals, receive, send

_SEAT, _NOTIFIER, _NOTIFICATION = FIRST_FREE, FIRST_FREE + 1, FIRST_FREE + 2  # our object ids
_EXT, _KDE = "ext_idle_notifier_v1", "org_kde_kwin_idle"


class WaylandIdleProbe:
    name = sentence("Idle time ({name})", name="Wayland")

    def __init__(self, surroundings: Surroundings, *, idle_after_s: float) -> None:
        self._environment = surroundings.environment
        self._idle_after_s = idle_after_s

    async def watch(self, report: Report, situation: Situation) -> None:
        async with compositor(self._environment) as (reader, writer):
            async with asyncio.timeout(CALL_TIMEOUT_S):
                await _subscribe(reader, writer, round(self._idle_after_s * 1000))
            report((use(True),))  # until the compositor says otherwise
            while True:
                sender, opcode, _ = await receive(reader)
                if sender == _NOTIFICATION:
                    report((use(opcode == 1),))  # 0 idled, 1 resumed


async def _subscribe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, timeout_ms: int) -> None:
    """Ask to be notified. Raises ProbeUnavailableError if the compositor cannot."""
    names = await read_globals(reader, writer)
    interface = next((item for item in (_EXT, _KDE) if item in names), None)
    if interface is None or "wl_seat" not in names:
        raise ProbeUnavailableError(sentence("the Wayland compositor does not report idle time"))
    bind(writer, names["wl_seat"], "wl_seat", _SEAT)
    bind(writer, names[interface], interface, _NOTIFIER)
    if interface == _EXT:  # get_idle_notification
        send(writer, _NOTIFIER, 1, struct.pack("=III", _NOTIFICATION, timeout_ms, _SEAT))
    else:  # get_idle_timeout
        send(writer, _NOTIFIER, 0, struct.pack("=III", _NOTIFICATION, _SEAT, timeout_ms))
    await writer.drain()
