"""Idle time on a Mac: what the registry of its devices notes of keyboard, mouse and trackpad, asked of `ioreg`.

Written from the manual ioreg(8) and recorded answers; no Mac has run it yet.
"""

from __future__ import annotations

import asyncio
import re

from potluck_daemon.presence.idle import poll_idle
from potluck_daemon.presence.probe import ProbeFailedError, ProbeUnavailableError, Report, Situation

_COMMAND = ("ioreg", "-r", "-c", "IOHIDSystem", "-d", "1")
_IDLE_NS = re.compile(rb'"HIDIdleTime" = (\d+)')
_TIMEOUT_S = 10.0


class MacIdleProbe:
    def __init__(self, *, idle_after_s: float) -> None:
        self._idle_after_s = idle_after_s

    @property
    def name(self) -> str:
        return "Idle time (macOS)"

    async def watch(self, report: Report, situation: Situation) -> None:
        await poll_idle(_idle_s, report, idle_after_s=self._idle_after_s)


async def _idle_s() -> float:
    try:
        process = await asyncio.create_subprocess_exec(
            *_COMMAND, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE
        )
    except OSError as error:
        raise ProbeUnavailableError(f"no ioreg ({error.strerror})") from error
    try:
        async with asyncio.timeout(_TIMEOUT_S):
            said, _ = await process.communicate()
    except TimeoutError:
        raise ProbeFailedError("ioreg does not answer") from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return idle_s(said)


def idle_s(said: bytes) -> float:
    """The shortest of the times that `ioreg` names, which are in nanoseconds. Raises ProbeUnavailableError."""
    times = [int(time) for time in _IDLE_NS.findall(said)]
    if not times:
        raise ProbeUnavailableError("no keyboard or mouse is noted")
    return min(times) / 1e9
