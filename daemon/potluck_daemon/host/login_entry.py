"""The text of the tray app's entry in the desktop's autostart folder: whether it is on, and how to switch it.

Pure. What a person or their desktop changed in it stays as it is, but for the one line that counts. Source:
freedesktop.org's desktop application autostart specification.
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
    """A desktop's own settings switch an entry off by a line in it."""
    return not any(line.search(text) for line, _ in _OFF)


def switched_on(text: str | None, command: str, *, others: tuple[str, ...]) -> str | None:
    """The user's own entry from now on; None: none. `others`: entries for all users, which count without it."""
    if text is not None and not _is_ours(text):
        for line, other in _OFF:
            text = line.sub(other, text)
        return text
    return None if any(map(is_on, others)) else _ENTRY.format(command=_quoted(command))


def switched_off(text: str | None, *, others: tuple[str, ...]) -> str | None:
    """As `switched_on`; one of ours goes without a trace, unless another one would come to count."""
    if text is None or _is_ours(text):
        return HIDDEN if any(map(is_on, others)) else None
    if not is_on(text):
        return text
    for line, other in _ON:
        if line.search(text):
            return line.sub(other, text)
    return text.replace(_GROUP, f"{_GROUP}Hidden=true\n", 1) if _GROUP in text else HIDDEN


def _is_ours(text: str) -> bool:
    """As it was written here, for this installation's program or another one's."""
    return text == HIDDEN or _COMMAND.sub("Exec={command}", text) == _ENTRY


def _quoted(path: str) -> str:
    """As the Exec key wants it."""
    escaped = path.replace("\\", "\\\\").replace('"', '\\"').replace("`", "\\`").replace("$", "\\$")
    return f'"{escaped}"'.replace("%", "%%")
