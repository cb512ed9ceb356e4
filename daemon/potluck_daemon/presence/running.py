"""The running programs of this user, one entry a name, for people to choose from."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Mapping

from potluck_control.methods.programs import ProgramPlace, RunningProgram

from potluck_daemon.presence.applications import MenuEntry
from potluck_daemon.presence.processes import ProcessTable

MAX_SHOWN = 200
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_NOT_CHOOSABLE = frozenset({"sh", "bash", "zsh", "fish", "dash", "systemd", "(sd-pam)", "dbus-daemon", "dbus-broker"})


def memory_by_program(table: ProcessTable, uid: int) -> dict[str, int]:
    """Return the bytes of memory of a user's programs but ours, by name.

    Raises ProbeUnavailableError if there is no list of processes.
    """
    found: dict[str, int] = defaultdict(int)
    for pid, program in table.look().items():
        folder = table.proc / str(pid)
        try:
            if program.arguments and folder.stat().st_uid == uid:  # threads of the kernel have no arguments
                found[program.app] += int((folder / "statm").read_text().split()[1]) * _PAGE_BYTES
        except (OSError, IndexError, ValueError):
            continue
    return found


def choose(
    memory: Mapping[str, int], menu: Mapping[str, MenuEntry], always: Iterable[str], never: Iterable[str]
) -> tuple[RunningProgram, ...]:
    """Return one entry a name: programs of the menu first, then those that use the most memory."""
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
    """Return the list that names the program; the always list outranks the never list, as it does for probes."""
    if app.lower() in (name.lower() for name in always):
        return ProgramPlace.ALWAYS
    return ProgramPlace.NEVER if app.lower() in (name.lower() for name in never) else ProgramPlace.NONE


def placed(app: str, place: ProgramPlace, always: Iterable[str], never: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Return both lists after a program was moved to its place: it is on one of them at most."""
    lists = {"yield.always": (always, ProgramPlace.ALWAYS), "yield.never": (never, ProgramPlace.NEVER)}
    return {
        key: (*(name for name in names if name.lower() != app.lower()), *((app,) if place is wanted else ()))
        for key, (names, wanted) in lists.items()
    }
