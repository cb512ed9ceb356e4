"""The variables of the desktop's session, which a daemon does not have that started before the desktop.

Desktops tell systemd's user manager where their displays are, so the manager is asked now and then. A daemon that
systemd started believes it more than its own environment, which may be that of an earlier session; one that a person
started in a terminal believes its own.
Source: https://systemd.io/DESKTOP_ENVIRONMENTS and org.freedesktop.systemd1(5).
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from jeepney import DBusAddress

from potluck.sentences import sentence
from potluck_daemon.presence.bus import bus
from potluck_daemon.presence.probe import (
    PollingProbe,
    ProbeFailedError,
    ProbeUnavailableError,
    Sighting,
    Situation,
    Surroundings,
)

INTERVAL_S = 20.0
_NAME = "org.freedesktop.systemd1"
_MANAGER = DBusAddress("/org/freedesktop/systemd1", _NAME, f"{_NAME}.Manager")
_DISPLAYS = ("DISPLAY", "WAYLAND_DISPLAY")
_OF_SESSION = (*_DISPLAYS, "XAUTHORITY", "XDG_CURRENT_DESKTOP", "XDG_SESSION_TYPE")
_STARTED_BY_SYSTEMD = "INVOCATION_ID"


@dataclass
class SessionProbe(PollingProbe):
    """Passes the session's variables on; fails where a desktop runs that nothing shows us."""

    name, interval_s = sentence("Desktop session"), INTERVAL_S

    at: Surroundings
    pass_on: Callable[[Mapping[str, str]], None]

    async def look(self, situation: Situation) -> tuple[Sighting, ...]:
        told = None
        with contextlib.suppress(ProbeUnavailableError, ProbeFailedError):  # what the manager told before still holds
            async with bus(self.at, "session") as session:
                told = await session.get(_MANAGER, "Environment") if await session.has_owner(_NAME) else None
        if isinstance(told, list):
            self.pass_on(variables_in(told))
        judge_session(self.at.environment)
        return ()


def variables_in(told: Iterable[str]) -> dict[str, str]:
    """Return the variables that matter from texts like `DISPLAY=:0`."""
    pairs = (item.partition("=") for item in told)
    return {name: value for name, _, value in pairs if name in _OF_SESSION and value}


def with_session(own: Mapping[str, str], session: Mapping[str, str]) -> dict[str, str]:
    """Return the environment to look with."""
    is_of_terminal = _STARTED_BY_SYSTEMD not in own and any(own.get(name) for name in _DISPLAYS)
    if is_of_terminal or not any(session.get(name) for name in _DISPLAYS):
        return dict(own)
    return {name: value for name, value in own.items() if name not in _OF_SESSION} | dict(session)


def judge_session(environment: Mapping[str, str]) -> None:
    """Return if there are windows to see.

    Raises:
        ProbeFailedError: a desktop runs, and its windows cannot be seen.
        ProbeUnavailableError: no desktop runs.
    """
    if any(environment.get(name) for name in _DISPLAYS):
        return
    runtime = Path(environment.get("XDG_RUNTIME_DIR") or "/nonexistent")
    if any(path.is_socket() for path in runtime.glob("wayland-*")):
        raise ProbeFailedError(sentence("a desktop runs, but Potluck was not told where its windows are"))
    raise ProbeUnavailableError(sentence("no desktop runs"))
