"""The running programs of this user, one entry a name, for people to choose from."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from potluck_control.methods.programs import ProgramPlace, RunningProgram

from potluck_daemon.presence.menu import MenuEntry
from potluck_daemon.presence.processes import is_below, program_of

MAX_SHOWN = 200
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_NOT_CHOOSABLE = frozenset({"sh", "bash", "zsh", "fish", "dash", "systemd", "(sd-pam)", "dbus-daemon", "dbus-broker"})


@dataclass(frozen=True, slots=True)
class UserProcess:
    """One process of the user."""

    app: str
    memory_bytes: int


def look(proc: Path, uid: int, ours: Collection[int]) -> list[UserProcess]:
    """Return a user's processes without `ours` and their children."""
    parents: dict[int, int] = {}
    found: dict[int, UserProcess] = {}
    for folder in proc.iterdir():
        if not folder.name.isdecimal():
            continue
        try:
            if folder.stat().st_uid != uid:
                continue
            resident = int((folder / "statm").read_text().split()[1])
        except (OSError, IndexError, ValueError):
            continue
        program = program_of(proc, int(folder.name))
        if program is not None and program.arguments:  # threads of the kernel have none
            parents[program.pid] = program.parent
            found[program.pid] = UserProcess(program.app, resident * _PAGE_BYTES)
    return [seen for pid, seen in found.items() if not is_below(pid, ours, parents)]


def choose(
    seen: Iterable[UserProcess], menu: Mapping[str, MenuEntry], always: Iterable[str], never: Iterable[str]
) -> tuple[RunningProgram, ...]:
    """Return one entry a name: programs of the menu first, then those that use the most memory."""
    memory: dict[str, int] = defaultdict(int)
    for item in seen:
        memory[item.app] += item.memory_bytes
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
    lists = {}
    for key, names, wanted in (
        ("yield.always", always, ProgramPlace.ALWAYS),
        ("yield.never", never, ProgramPlace.NEVER),
    ):
        kept = tuple(name for name in names if name.lower() != app.lower() or place is wanted)
        is_new = place is wanted and app.lower() not in (name.lower() for name in kept)
        lists[key] = (*kept, app) if is_new else kept
    return lists
