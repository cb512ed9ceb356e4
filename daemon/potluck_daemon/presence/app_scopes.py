"""The application that a process belongs to, by the control group that the desktop made for it. Pure.

GNOME, KDE Plasma, Flatpak and uwsm start each application in a group of its own; others leave all in the session's.
Source: https://systemd.io/DESKTOP_ENVIRONMENTS (`app[-<launcher>]-<ApplicationID>-<RANDOM>.scope`).
"""

from __future__ import annotations

import re

_ESCAPE = re.compile(r"\\x([0-9a-f]{2})")


def app_id_of(cgroup: str) -> str:
    """Return an application's id in lower case from the text of /proc/PID/cgroup; empty: it has no group."""
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
