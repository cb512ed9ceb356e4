"""The variables of the desktop's session, which a daemon does not have that started before the desktop.

Desktops tell systemd's user manager where their displays are, so the manager is asked now and then. A daemon that
systemd started believes it more than its own environment, which may be that of an earlier session; one that a person
started in a terminal believes its own.
Source: https://systemd.io/DESKTOP_ENVIRONMENTS and org.freedesktop.systemd1(5).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from jeepney import DBusAddress

from potluck.sentences import sentence
from potluck_daemon.presence.bus import bus
from potluck_daemon.presence.probe import (
    ProbeFailedError,
    ProbeUnavailableError,
    Report,
    Situation,
    Surroundings,
)

INTERVAL_S = 20.0
_NAME = "org.freedesktop.systemd1"
_MANAGER = DBusAddress("/org/freedesktop/systemd1", _NAME, f"{_NAME}.Manager")
_DISPLAYS = ("DISPLAY", "WAYLAND_DISPLAY")
_OF_SESSION = (*_DISPLAYS, "XAUTHORITY", "XDG_CURRENT_DESKTOP", "XDG_SESSION_TYPE")
_STARTED_BY_SYSTEMD = "INVOCATION_ID"


class SessionEnvironment(Mapping[str, str]):
    """The daemon's environment with what the session told later. `on_change` is called when that changes."""

    def __init__(self, own: Mapping[str, str], on_change: Callable[[], None]) -> None:
        self._own = dict(own)
        self._on_change = on_change
        self._now = self._own

    def tell(self, variables: Mapping[str, str]) -> None:
        """Take over the session's variables."""
        now = with_session(self._own, variables)
        if now != self._now:
            self._now = now
            self._on_change()

    def __getitem__(self, name: str) -> str:
        return self._now[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._now)

    def __len__(self) -> int:
        return len(self._now)


class SessionProbe:
    """Keeps the environment up to date; fails where a desktop runs that nothing shows us."""

    name = sentence("Desktop session")

    def __init__(self, surroundings: Surroundings, *, interval_s: float = INTERVAL_S) -> None:
        self._surroundings = surroundings
        self._interval_s = interval_s

    async def watch(self, report: Report, situation: Situation) -> None:
        environment = self._surroundings.environment
        while True:
            if isinstance(environment, SessionEnvironment):
                environment.tell(await self._told())
            judge_session(environment, _has_desktop(environment))
            report(())
            await asyncio.sleep(self._interval_s)

    async def _told(self) -> Mapping[str, str]:
        try:
            async with bus(self._surroundings.session_bus, "session") as session:
                if not await session.has_owner(_NAME):
                    return {}
                told = await session.get(_MANAGER, "Environment")
        except (ProbeUnavailableError, ProbeFailedError):
            return {}
        return variables_in(told if isinstance(told, list) else ())


def variables_in(told: Iterable[str]) -> dict[str, str]:
    """Return the variables that matter from texts like `DISPLAY=:0`."""
    pairs = (item.partition("=") for item in told)
    return {name: value for name, _, value in pairs if name in _OF_SESSION and value}


def with_session(own: Mapping[str, str], session: Mapping[str, str]) -> dict[str, str]:
    """Return the environment to look with."""
    if not any(session.get(name) for name in _DISPLAYS):
        return dict(own)
    has_own = any(own.get(name) for name in _DISPLAYS)
    if has_own and _STARTED_BY_SYSTEMD not in own:
        return dict(own)
    return {name: value for name, value in own.items() if name not in _OF_SESSION} | dict(session)


def judge_session(environment: Mapping[str, str], has_desktop: bool) -> None:
    """Return if there are windows to see.

    Raises:
        ProbeFailedError: a desktop runs, and its windows cannot be seen.
        ProbeUnavailableError: no desktop runs.
    """
    if any(environment.get(name) for name in _DISPLAYS):
        return
    if has_desktop:
        raise ProbeFailedError(sentence("a desktop runs, but Potluck was not told where its windows are"))
    raise ProbeUnavailableError(sentence("no desktop runs"))


def _has_desktop(environment: Mapping[str, str]) -> bool:
    runtime = Path(environment.get("XDG_RUNTIME_DIR") or "/nonexistent")
    return any(path.is_socket() for path in runtime.glob("wayland-*"))
