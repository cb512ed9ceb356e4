"""The desktop's variables, asked of a user manager on a real bus."""

from __future__ import annotations

import pytest
from dbus_fast import Variant
from helpers.bus_services import Service
from helpers.desktop import session_bus
from helpers.probe_reports import watching
from potluck_daemon.presence.probe import Surroundings
from potluck_daemon.presence.session import SessionEnvironment, SessionProbe

pytestmark = pytest.mark.bus

MANAGER = ("/org/freedesktop/systemd1", "org.freedesktop.systemd1.Manager", "Environment")


async def test_a_desktop_that_starts_after_the_daemon_is_found() -> None:
    changes: list[str] = []
    with session_bus() as address:
        own = {"DBUS_SESSION_BUS_ADDRESS": address, "INVOCATION_ID": "1", "DISPLAY": ":0"}
        environment = SessionEnvironment(own, lambda: changes.append("changed"))
        probe = SessionProbe(Surroundings(environment=environment), interval_s=0.05)
        async with Service(address, "org.freedesktop.systemd1") as manager, watching(probe) as reports:
            manager.properties[MANAGER] = Variant("as", ["PATH=/usr/bin"])
            await reports.until_seen()
            assert (environment["DISPLAY"], changes) == (":0", [])
            manager.properties[MANAGER] = Variant("as", ["PATH=/usr/bin", "DISPLAY=:1", "WAYLAND_DISPLAY=wayland-0"])
            while environment["DISPLAY"] != ":1":
                await reports.until_seen()
            assert environment["WAYLAND_DISPLAY"] == "wayland-0"
            assert (environment.get("PATH"), changes) == (None, ["changed"])


async def test_without_a_user_manager_the_own_environment_counts() -> None:
    with session_bus() as address:
        environment = SessionEnvironment({"DBUS_SESSION_BUS_ADDRESS": address, "DISPLAY": ":5"}, lambda: None)
        async with watching(SessionProbe(Surroundings(environment=environment), interval_s=0.05)) as reports:
            await reports.until_seen()
            assert environment["DISPLAY"] == ":5"
