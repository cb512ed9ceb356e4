"""Identifies applications: by the desktop's menu, the control group that the desktop made, and a list of no games.

The menu is read from `.desktop` files: title, icon and categories of each program. Titles are not translated, because
they are mostly names of programs. Programs that are no games although they use the GPU or fill the screen are data,
`resources/programs/not-games.toml`; only the guesses (windows, use of the GPU, inherited environments) look there.
Sources: freedesktop.org's desktop entry, menu and base directory specifications; of the groups' names,
`app[-<launcher>]-<ApplicationID>-<RANDOM>.scope`, https://systemd.io/DESKTOP_ENVIRONMENTS
"""

from __future__ import annotations

import functools
import itertools
import os
import re
import shlex
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from potluck_control.resources import resource

from potluck_daemon.presence.processes import Program, base_name

MAX_ENTRIES = 3000  # a large desktop has some hundreds
_MAX_BYTES = 64 * 1024
_SHARED = "/usr/local/share:/usr/share"
_FLATPAK = ("/var/lib/flatpak/exports/share",)  # a service's environment lacks it
_SUFFIXES = (
    ".real",
    ".bin",
    "-bin",
    ".x86_64",
    ".sh",
)  # endings of programs that a script in the menu executes: armagetronad.real
_RUNNERS = {"env", "flatpak", "snap", "sh", "bash", "python", "python3", "wine", "java", "mono", "node", "gjs", "perl"}
_ESCAPE = re.compile(r"\\x([0-9a-f]{2})")  # systemd's escapes in the name of a control group


@dataclass(frozen=True, slots=True)
class MenuEntry:
    """What the menu says of one application."""

    title: str
    icon: str  # a name of the icon theme, or a path; empty: none
    categories: frozenset[str] = frozenset()

    @property
    def is_game(self) -> bool:
        return "Game" in self.categories

    @property
    def is_other(self) -> bool:
        """True if the entry has categories, and Game is none of them."""
        return bool(self.categories) and not self.is_game


@dataclass(frozen=True, slots=True)
class Menu:
    """All entries, by executable in lower case and by the id of their file, e.g. `org.gnome.Mines`."""

    by_executable: Mapping[str, MenuEntry] = field(default_factory=dict)
    by_id: Mapping[str, MenuEntry] = field(default_factory=dict)  # ids in lower case

    def entry(self, names: Iterable[str]) -> MenuEntry | None:
        """Return the entry of the first of a program's names that has one."""
        for name in names:
            for known in (name, *(name.removesuffix(suffix) for suffix in _SUFFIXES)):
                entry = self.by_executable.get(known) or self.by_id.get(known)
                if entry is not None:
                    return entry
        return None


def read_menu(environment: Mapping[str, str]) -> Menu:
    """Return the menu. This takes some milliseconds after something was installed or removed."""
    folders = tuple(_folders(environment))
    return _menu(folders, tuple(map(_changed_ns, folders)))


@functools.lru_cache(maxsize=2)
def _menu(folders: tuple[Path, ...], changed_at: tuple[int, ...]) -> Menu:
    """Read the menu; the user's own entries come first. Never raises for what files hold."""
    by_executable: dict[str, MenuEntry] = {}
    by_id: dict[str, MenuEntry] = {}
    files = (path for folder in folders for path in sorted(folder.glob("*.desktop")))
    for path in itertools.islice(files, MAX_ENTRIES):
        found = _entry(path)
        if found is not None:
            app, entry = found
            by_id.setdefault(path.stem.lower(), entry)
            if app:
                by_executable.setdefault(app, entry)
    return Menu(by_executable, by_id)


def _folders(environment: Mapping[str, str]) -> list[Path]:
    home = environment.get("XDG_DATA_HOME") or str(Path(environment.get("HOME") or Path.home(), ".local/share"))
    shared = (environment.get("XDG_DATA_DIRS") or _SHARED).split(":")
    flatpak = (f"{home}/flatpak/exports/share", *_FLATPAK)
    return [Path(folder, "applications") for folder in dict.fromkeys((home, *shared, *flatpak)) if folder]


def _changed_ns(folder: Path) -> int:
    try:
        return folder.stat().st_mtime_ns
    except OSError:
        return 0


def _entry(path: Path) -> tuple[str, MenuEntry] | None:
    try:
        with path.open("rb") as file:
            text = file.read(_MAX_BYTES).decode(errors="replace")
    except OSError:
        return None
    fields = _fields(text)
    app = _executable(fields.get("Exec", ""))
    title = "".join(letter for letter in fields.get("Name", "") if letter.isprintable())[:128]
    if not title or fields.get("Type", "Application") != "Application":
        return None
    categories = frozenset(item.strip() for item in fields.get("Categories", "").split(";") if item.strip())
    return app, MenuEntry(title, fields.get("Icon", "")[:512], categories)


def _fields(text: str) -> dict[str, str]:
    """Return the fields of the group `[Desktop Entry]`."""
    fields: dict[str, str] = {}
    is_inside = False
    for line in text.splitlines():
        if line.startswith("["):
            is_inside = line.strip() == "[Desktop Entry]"
        elif is_inside and "=" in line:
            key, _, value = line.partition("=")
            fields.setdefault(key.strip(), value.strip())
    return fields


def _executable(command: str) -> str:
    """Return the name that the program of a command runs under; empty for a program that only starts others."""
    try:
        words = shlex.split(command)
    except ValueError:
        return ""
    named = next((word.partition("=")[2] for word in words if word.startswith("--command=")), "")
    words = [word for word in words if not (word.startswith("-") or (os.sep not in word and "=" in word))]
    programs = [base_name(word) for word in (named, *words) if word]
    first = programs[0] if programs else ""
    return "" if first in _RUNNERS else first


def app_id_of(cgroup: str) -> str:
    """Return an application's id in lower case from the text of /proc/PID/cgroup; empty: it has no group.

    GNOME, KDE Plasma, Flatpak and uwsm start each application in a group of its own; others leave all in the session's.
    """
    unit = next((part for part in reversed(cgroup.strip().split("/")) if part.startswith("app-")), "")
    name, _, kind = unit.rpartition(".")
    if kind == "scope":
        name = name.rpartition("-")[0]
    elif kind == "service":
        name = name.partition("@")[0]
    else:
        return ""
    last = name.removeprefix("app-").rpartition("-")[2] if name.startswith("app-") else ""
    return _ESCAPE.sub(lambda match: chr(int(match[1], 16)), last).lower()


def app_of_process(proc: Path, pid: int) -> str:
    """Return the id of the application that a process belongs to; empty: not known."""
    try:
        return app_id_of((proc / str(pid) / "cgroup").read_text())
    except OSError:  # it ended
        return ""


@functools.cache
def not_games() -> frozenset[str]:
    """Return the names of programs that are no games, in lower case."""
    groups = tomllib.loads(resource("programs/not-games.toml").read_text()).values()
    return frozenset(name for group in groups for name in group["programs"])


def is_desktop_program(program: Program) -> bool:
    """Return whether the program is no game by its own name. Its arguments do not count."""
    return not not_games().isdisjoint(program.own_names)
