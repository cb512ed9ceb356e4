"""The computer's sleep: the engine must end first, because a device context doesn't survive it.

A delay inhibitor makes logind wait (5 s by default) until the probe closes its descriptor, which it does as soon as the
engine has ended. jeepney's asyncio connection can't pass descriptors, so a thread takes the inhibitor over a connection
of its own.
"""

from __future__ import annotations

import asyncio
import contextlib
import os

from jeepney import MessageFlag, MessageType, new_method_call
from jeepney.io.blocking import open_dbus_connection
from potluck_control.states import Reason

from potluck.sentences import sentence
from potluck_daemon.presence.bus import CALL_TIMEOUT_S, bus
from potluck_daemon.presence.logind import MANAGER, NAME
from potluck_daemon.presence.probe import ProbeFailedError, Report, Sighting, Situation, Surroundings

LONGEST_DELAY_S = 4.5  # below logind's InhibitDelayMaxSec
_LOOK_S = 0.05
_RULE = f"type='signal',sender='{NAME}',interface='{MANAGER.interface}',member='PrepareForSleep'"


class SleepProbe:
    """Certain evidence from the announcement of sleep until the computer wakes up."""

    name = sentence("Sleep")

    def __init__(self, surroundings: Surroundings) -> None:
        self._surroundings = surroundings

    async def watch(self, report: Report, situation: Situation) -> None:
        async with bus(self._surroundings.system_bus, "system") as system:
            await system.require(NAME, "logind")
            with _Inhibitor(self._surroundings.system_bus) as inhibitor:
                async for _ in system.changes(_RULE):
                    if await system.get(MANAGER, "PreparingForSleep"):
                        report((Sighting(Reason.SLEEP, sentence("the computer")),))
                        await _until_ended(situation)
                        inhibitor.release()
                    else:
                        await inhibitor.take()
                        report(())


async def _until_ended(situation: Situation) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(LONGEST_DELAY_S):
            while situation.engine_pid is not None:  # noqa: ASYNC110 - nothing but this field tells
                await asyncio.sleep(_LOOK_S)


class _Inhibitor:
    """A lock that delays sleep while it is taken."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._handle: int | None = None

    def __enter__(self) -> _Inhibitor:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    async def take(self) -> None:
        if self._handle is None:
            self._handle = await asyncio.to_thread(_inhibit, self._address)

    def release(self) -> None:
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None


def _inhibit(address: str) -> int:
    body = ("sleep", "Potluck", "the GPU has to be left in order", "delay")
    call = new_method_call(MANAGER, "Inhibit", "ssss", body)
    call.header.flags |= MessageFlag.no_auto_start
    try:
        with open_dbus_connection(address, enable_fds=True) as connection:
            answer = connection.send_and_get_reply(call, timeout=CALL_TIMEOUT_S)
            if answer.header.message_type is not MessageType.method_return:
                raise ProbeFailedError(sentence("logind does not let us finish before sleep"))
            return int(answer.body[0].to_raw_fd())
    except (OSError, TimeoutError) as error:
        raise ProbeFailedError(sentence("{name} does not answer", name="logind")) from error
