"""The desktop's menu, read from `.desktop` files: title and icon of each executable.

Titles are not translated, because they are mostly names of programs.
Source: freedesktop.org's desktop entry and base directory specifications.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from potluck_daemon.presence.processes import base_name

MAX_ENTRIES = 3000  # a large desktop has some hundreds
_MAX_BYTES = 64 * 1024
_RUNNERS = {"env", "flatpak", "snap", "sh", "bash", "python", "python3", "wine", "java", "mono", "node", "gjs", "perl"}


@dataclass(frozen=True, slots=True)
class MenuEntry:
    title: str
    icon: str  # a name of the icon theme, or a path; empty: none


def read_menu(environment: Mapping[str, str]) -> dict[str, MenuEntry]:
    """Return entries by executable in lower case; the user's own come first. Never raises for what files hold."""
    found: dict[str, MenuEntry] = {}
    for number, path in enumerate(_files(environment)):
        if number >= MAX_ENTRIES:
            break
        entry = _entry(path)
        if entry is not None:
            found.setdefault(*entry)
    return found


def _files(environment: Mapping[str, str]) -> Iterator[Path]:
    home = environment.get("XDG_DATA_HOME") or Path(environment.get("HOME") or Path.home(), ".local/share")
    shared = (environment.get("XDG_DATA_DIRS") or "/usr/local/share:/usr/share").split(":")
    for folder in (home, *shared):
        yield from sorted(Path(folder, "applications").glob("*.desktop"))


def _entry(path: Path) -> tuple[str, MenuEntry] | None:
    try:
        with path.open("rb") as file:
            text = file.read(_MAX_BYTES).decode(errors="replace")
    except OSError:
        return None
    fields = _fields(text)
    app = _executable(fields.get("Exec", ""))
    title = "".join(letter for letter in fields.get("Name", "") if letter.isprintable())[:128]
    if not app or not title or fields.get("Type", "Application") != "Application":
        return None
    return app, MenuEntry(title, fields.get("Icon", "")[:512])


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
