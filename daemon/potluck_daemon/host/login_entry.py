"""The text of the tray app's entry in the desktop's autostart folder, and switching it on and off. Pure.

Whatever a person or their desktop changed in it stays, except the one line that counts.
Source: freedesktop.org's desktop application autostart specification.
"""

from __future__ import annotations

import re

_ENTRY = """\
[Desktop Entry]
Type=Application
Name=Potluck
Comment=Shares spare computing with a swarm of friends
Exec={command}
Icon=potluck
Terminal=false
X-GNOME-Autostart-enabled=true
"""
HIDDEN = "[Desktop Entry]\nType=Application\nName=Potluck\nHidden=true\n"  # outranks an entry for all users
_COMMAND = re.compile(r"(?m)^Exec=.*$")
_GROUP = "[Desktop Entry]\n"
_OFF = (
    (re.compile(r"(?m)^Hidden[ \t]*=[ \t]*true[ \t]*$"), "Hidden=false"),
    (re.compile(r"(?m)^X-GNOME-Autostart-enabled[ \t]*=[ \t]*false[ \t]*$"), "X-GNOME-Autostart-enabled=true"),
)
_ON = (
    (re.compile(r"(?m)^Hidden[ \t]*=[ \t]*false[ \t]*$"), "Hidden=true"),
    (re.compile(r"(?m)^X-GNOME-Autostart-enabled[ \t]*=[ \t]*true[ \t]*$"), "X-GNOME-Autostart-enabled=false"),
)


def is_on(text: str) -> bool:
    """Return whether the entry is on: desktops switch it off by a line in it."""
    return not any(line.search(text) for line, _ in _OFF)


def switched_on(text: str | None, command: str, *, others: tuple[str, ...]) -> str | None:
    """Return the user's own entry, None for no entry; `others` are entries for all users, which count without it."""
    if text is not None and not _is_ours(text):
        for line, other in _OFF:
            text = line.sub(other, text)
        return text
    return None if any(map(is_on, others)) else _ENTRY.format(command=_quoted(command))


def switched_off(text: str | None, *, others: tuple[str, ...]) -> str | None:
    """Return the user's own entry when switched off; ours disappears unless one of `others` would then count."""
    if text is None or _is_ours(text):
        return HIDDEN if any(map(is_on, others)) else None
    if not is_on(text):
        return text
    for line, other in _ON:
        if line.search(text):
            return line.sub(other, text)
    return text.replace(_GROUP, f"{_GROUP}Hidden=true\n", 1) if _GROUP in text else HIDDEN


def _is_ours(text: str) -> bool:
    """Return whether Potluck wrote the text, for this installation or another one."""
    return text == HIDDEN or _COMMAND.sub("Exec={command}", text) == _ENTRY


def _quoted(path: str) -> str:
    """Quote a path for the Exec key."""
    escaped = path.replace("\\", "\\\\").replace('"', '\\"').replace("`", "\\`").replace("$", "\\$")
    return f'"{escaped}"'.replace("%", "%%")
