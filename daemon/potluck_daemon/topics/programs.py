"""`programs.*` of the control API: this user's running programs, one entry a name, for people to choose from."""

from __future__ import annotations

import asyncio
import os
from collections import defaultdict
from collections.abc import Iterable, Mapping

from potluck_control.api.method import Empty
from potluck_control.methods import machine
from potluck_control.methods.machine import ProgramPlace, RunningProgram

from potluck.errors import PotluckError
from potluck.sentences import sentence
from potluck_daemon.presence.applications import MenuEntry, read_menu
from potluck_daemon.presence.probe import ProbeUnavailableError, Surroundings
from potluck_daemon.presence.processes import ProcessTable
from potluck_daemon.topics.topic import Topic, answers

MAX_SHOWN = 200
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_NOT_CHOOSABLE = frozenset({"sh", "bash", "zsh", "fish", "dash", "systemd", "(sd-pam)", "dbus-daemon", "dbus-broker"})


def memory_by_program(table: ProcessTable, uid: int) -> dict[str, int]:
    """Return how much memory each of a user's programs takes, in bytes by name, without our own.

    Raises ProbeUnavailableError if there is no list of processes.
    """
    found: dict[str, int] = defaultdict(int)
    for pid, program in table.refresh().items():
        folder = table.proc / str(pid)
        try:
            if program.arguments and folder.stat().st_uid == uid:  # threads of the kernel have no arguments
                found[program.app] += int((folder / "statm").read_text().split()[1]) * _PAGE_BYTES
        except (OSError, IndexError, ValueError):
            continue
    return found


def choosable_programs(
    memory: Mapping[str, int], menu: Mapping[str, MenuEntry], always: Iterable[str], never: Iterable[str]
) -> tuple[RunningProgram, ...]:
    """Return one entry a name: programs of the menu first, then by memory."""
    shown = []
    for app, memory_bytes in memory.items():
        if app and app.isprintable() and "," not in app and app not in _NOT_CHOOSABLE:
            entry = menu.get(app)
            title, icon = (entry.title, entry.icon) if entry is not None else (app, "")
            place = place_of(app, always, never)
            shown.append(RunningProgram(app, title, icon, entry is not None, memory_bytes, place))
    shown.sort(key=lambda item: (not item.is_desktop, -item.memory_bytes, item.app))
    return tuple(shown[:MAX_SHOWN])


def place_of(app: str, always: Iterable[str], never: Iterable[str]) -> ProgramPlace:
    """Return which list names the program. The always list outranks the never list, as it does for probes."""
    if app.lower() in (name.lower() for name in always):
        return ProgramPlace.ALWAYS
    return ProgramPlace.NEVER if app.lower() in (name.lower() for name in never) else ProgramPlace.NONE


def lists_after_placing(
    app: str, place: ProgramPlace, always: Iterable[str], never: Iterable[str]
) -> dict[str, tuple[str, ...]]:
    """Return both lists after a program was moved to `place`; it is on one of them at most."""
    lists = {"yield.always": (always, ProgramPlace.ALWAYS), "yield.never": (never, ProgramPlace.NEVER)}
    return {
        key: (*(name for name in names if name.lower() != app.lower()), *((app,) if place is wanted else ()))
        for key, (names, wanted) in lists.items()
    }


class ProgramsTopic(Topic):
    """The programs that run, and the lists of those that always or never count as games."""

    @answers(machine.PROGRAMS)
    async def _running(self, _: Empty) -> machine.Programs:
        given = self._configuration.settings.yield_
        seen, menu = await asyncio.to_thread(self._list_running)
        return machine.Programs(choosable_programs(seen, menu, given.always, given.never), given.always, given.never)

    @answers(machine.PLACE_PROGRAM)
    async def _place(self, params: machine.PlaceParams) -> machine.PlacedProgram:
        given = self._configuration.settings.yield_
        before = place_of(params.app, given.always, given.never)
        if before is not params.place:
            await self._configuration.change(lists_after_placing(params.app, params.place, given.always, given.never))
            self._parts.loop.decide_anew()
        return machine.PlacedProgram(params.app, params.place, before)

    def _list_running(self) -> tuple[dict[str, int], Mapping[str, MenuEntry]]:
        try:
            menu = read_menu(self._configuration.environment)
            return memory_by_program(ProcessTable(Surroundings()), os.getuid()), menu.by_executable
        except (OSError, ProbeUnavailableError) as error:
            raise PotluckError(
                sentence("the programs that run cannot be listed here"), hint=sentence("type a name instead")
            ) from error
