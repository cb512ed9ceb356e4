"""The desktop's menu, read from `.desktop` files: title, icon and categories of each program.

Titles are not translated, because they are mostly names of programs.
Source: freedesktop.org's desktop entry, menu and base directory specifications.
"""

from __future__ import annotations

import math
import os
import shlex
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from potluck_daemon.presence.processes import base_name

MAX_ENTRIES = 3000  # a large desktop has some hundreds
_MAX_BYTES = 64 * 1024
_RECHECK_S = 60.0
_SHARED = "/usr/local/share:/usr/share"
_FLATPAK = ("/var/lib/flatpak/exports/share",)  # a service's environment lacks it
_SUFFIXES = (".real", ".bin", "-bin", ".x86_64", ".sh")  # of what a script in the menu executes: armagetronad.real
_RUNNERS = {"env", "flatpak", "snap", "sh", "bash", "python", "python3", "wine", "java", "mono", "node", "gjs", "perl"}


@dataclass(frozen=True, slots=True)
class MenuEntry:
    title: str
    icon: str  # a name of the icon theme, or a path; empty: none
    categories: frozenset[str] = frozenset()

    @property
    def is_game(self) -> bool:
        return "Game" in self.categories

    @property
    def is_other(self) -> bool:
        """Return whether the entry says what the program is, and that it is no game."""
        return bool(self.categories) and not self.is_game


@dataclass(frozen=True, slots=True)
class Menu:
    """All entries, by executable in lower case and by the id of their file, e.g. `org.gnome.Mines`."""

    by_executable: Mapping[str, MenuEntry] = field(default_factory=dict)
    by_id: Mapping[str, MenuEntry] = field(default_factory=dict)  # in lower case

    def entry(self, names: Iterable[str]) -> MenuEntry | None:
        """Return the entry of the first of a program's names that has one."""
        for name in names:
            for known in (name, *(name.removesuffix(suffix) for suffix in _SUFFIXES)):
                entry = self.by_executable.get(known) or self.by_id.get(known)
                if entry is not None:
                    return entry
        return None


class MenuReader:
    """Keeps the menu and reads it again when something was installed or removed."""

    def __init__(self, environment: Mapping[str, str], clock: Callable[[], float] = time.monotonic) -> None:
        self._environment = environment
        self._clock = clock
        self._checked_at = -math.inf
        self._changed_at: tuple[int, ...] = ()
        self._menu = Menu()

    def read(self) -> Menu:
        """Return the menu; it takes some milliseconds when folders have changed."""
        now = self._clock()
        if now - self._checked_at >= _RECHECK_S:
            self._checked_at = now
            changed_at = tuple(map(_changed_ns, _folders(self._environment)))
            if changed_at != self._changed_at:
                self._changed_at, self._menu = changed_at, read_menu(self._environment)
        return self._menu


def read_menu(environment: Mapping[str, str]) -> Menu:
    """Return the menu; the user's own entries come first. Never raises for what files hold."""
    by_executable: dict[str, MenuEntry] = {}
    by_id: dict[str, MenuEntry] = {}
    for number, path in enumerate(_files(environment)):
        if number >= MAX_ENTRIES:
            break
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


def _files(environment: Mapping[str, str]) -> Iterator[Path]:
    for folder in _folders(environment):
        yield from sorted(folder.glob("*.desktop"))


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
    """Return the name that the program runs under; empty for a program that only starts others."""
    try:
        words = shlex.split(command)
    except ValueError:
        return ""
    named = next((word.partition("=")[2] for word in words if word.startswith("--command=")), "")
    words = [word for word in words if not (word.startswith("-") or (os.sep not in word and "=" in word))]
    programs = [base_name(word) for word in (named, *words) if word]
    first = programs[0] if programs else ""
    return "" if first in _RUNNERS else first
