"""Probes that listen to desktop and system services, against services that own the real names on a real bus."""

import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from dbus_fast import Variant
from helpers.bus_services import Login, Logind, Service
from helpers.desktop import session_bus
from helpers.probe_reports import gives_up, watching
from potluck_control.states import Certainty, Reason
from potluck_daemon.presence.battery import BatteryProbe
from potluck_daemon.presence.idle import GNOME as GNOME_IDLE
from potluck_daemon.presence.idle import KDE as KDE_IDLE
from potluck_daemon.presence.idle import DesktopIdleProbe, ScreenSaverProbe
from potluck_daemon.presence.logind import LogindProbe, LoginJudge, idle_hint, lock_hint, other_screens, other_users
from potluck_daemon.presence.metered import MeteredProbe
from potluck_daemon.presence.probe import Probe, ProbeFailedError, ProbeUnavailableError, Surroundings
from potluck_daemon.presence.session import SessionEnvironment, SessionProbe
from potluck_daemon.presence.sleep import SleepProbe

from potluck.sentences import verbatim

pytestmark = pytest.mark.bus

UPOWER, NETWORK = "org.freedesktop.UPower", "org.freedesktop.NetworkManager"
GNOME, KDE, SAVER = "org.gnome.Mutter.IdleMonitor", "org.kde.screensaver", "org.freedesktop.ScreenSaver"
OTHER = os.getuid() + 1
USER_MANAGER = ("/org/freedesktop/systemd1", "org.freedesktop.systemd1.Manager", "Environment")


@pytest.fixture
def at(tmp_path: Path) -> Iterator[Surroundings]:
    """Session bus and system bus are one here; nothing cares."""
    with session_bus() as address:
        yield Surroundings(
            tmp_path,
            tmp_path,
            environment={"DBUS_SESSION_BUS_ADDRESS": address, "DBUS_SYSTEM_BUS_ADDRESS": address},
        )


@asynccontextmanager
async def logind(at: Surroundings, **logins: Login) -> AsyncIterator[Logind]:
    async with Logind(at.system_bus) as service:
        assert isinstance(service, Logind)
        for name, login in logins.items():
            service.login(name, login)
        yield service
        service.close_pipes()


async def test_battery_is_told_by_upower_as_it_changes(at: Surroundings) -> None:
    async with Service(at.system_bus, UPOWER) as upower:
        await upower.set("/org/freedesktop/UPower", UPOWER, "OnBattery", Variant("b", False))
        async with watching(BatteryProbe(at)) as reports:
            await reports.until_named()
            await upower.set("/org/freedesktop/UPower", UPOWER, "OnBattery", Variant("b", True))
            (seen,) = await reports.until_named("the battery")
            assert (seen.reason, seen.certainty) == (Reason.BATTERY, Certainty.CERTAIN)
            await upower.set("/org/freedesktop/UPower", UPOWER, "OnBattery", Variant("b", False))
            await reports.until_named()


async def test_without_upower_the_kernel_tells_of_the_battery(at: Surroundings) -> None:
    for name, fields in {"BAT0": {"type": "Battery"}, "AC": {"type": "Mains", "online": "0"}}.items():
        folder = at.sys / "class/power_supply" / name
        folder.mkdir(parents=True)
        for field, text in fields.items():
            (folder / field).write_text(text + "\n")
    async with watching(BatteryProbe(at)) as reports:
        await reports.until_named("the battery")


async def test_metered_is_what_network_manager_knows_or_guesses(at: Surroundings) -> None:
    async with Service(at.system_bus, NETWORK) as manager:
        await manager.set("/org/freedesktop/NetworkManager", NETWORK, "Metered", Variant("u", 0))
        async with watching(MeteredProbe(at)) as reports:
            await reports.until_named()
            for value, seen in ((1, ("this network",)), (2, ()), (3, ("this network",)), (4, ())):
                await manager.set("/org/freedesktop/NetworkManager", NETWORK, "Metered", Variant("u", value))
                await reports.until_named(*seen)


async def test_gnome_tells_idle_time_in_milliseconds(at: Surroundings) -> None:
    idle_ms = 0
    async with Service(at.session_bus, GNOME) as gnome:
        gnome.methods[GNOME, "GetIdletime"] = lambda: ("t", [idle_ms])
        async with watching(DesktopIdleProbe(at, GNOME_IDLE, idle_after_s=0.3)) as reports:
            await reports.until_named("keyboard or mouse")
            idle_ms = 300
            await reports.until_named("nobody")
            idle_ms = 10
            (seen,) = await reports.until_named("keyboard or mouse")
            assert seen.reason is Reason.USER_ACTIVE


async def test_kde_tells_idle_time_in_seconds(at: Surroundings) -> None:
    async with Service(at.session_bus, KDE, SAVER) as kde:
        kde.methods[SAVER, "GetSessionIdleTime"] = lambda: ("u", [200])
        async with watching(DesktopIdleProbe(at, KDE_IDLE, idle_after_s=180)) as reports:
            await reports.until_named("nobody")


async def test_a_screen_saver_service_that_is_not_kdes_is_not_asked_for_idle_time(at: Surroundings) -> None:
    """It may answer, and means something else."""
    async with Service(at.session_bus, SAVER) as saver:
        saver.methods[SAVER, "GetSessionIdleTime"] = lambda: ("u", [200])
        await gives_up(DesktopIdleProbe(at, KDE_IDLE, idle_after_s=180), ProbeUnavailableError, "KDE")


async def test_a_lock_is_heard_from_the_screen_saver_service(at: Surroundings) -> None:
    is_active = False
    async with Service(at.session_bus, SAVER) as saver:
        saver.methods[SAVER, "GetActive"] = lambda: ("b", [is_active])
        async with watching(ScreenSaverProbe(at)) as reports:
            await reports.until_named()
            is_active = True
            await saver.signal("/org/freedesktop/ScreenSaver", SAVER, "ActiveChanged", "b", [True])
            (seen,) = await reports.until_named("the screen is locked")
            assert (seen.reason, seen.certainty) == (Reason.AWAY, Certainty.CERTAIN)


async def test_logind_tells_lock_and_idle_hint(at: Surroundings) -> None:
    async with (
        logind(at, c1=Login()) as service,
        watching(LogindProbe(verbatim("lock"), at, lock_hint)) as lock,
        watching(LogindProbe(verbatim("hint"), at, idle_hint)) as idle,
    ):
        await lock.until_named()
        (active,) = await idle.until_named("keyboard or mouse")
        assert active.certainty is Certainty.WEAK  # some desktops never set the hint
        await service.change("c1", Login(locked=True, idle=True))
        await lock.until_named("the screen is locked")
        (away,) = await idle.until_named("nobody")
        assert away.certainty is Certainty.LIKELY
        await service.change("c2", Login())  # one that is not locked is enough
        await lock.until_named()


@pytest.mark.parametrize("judge", [lock_hint, idle_hint])
async def test_a_service_without_a_graphical_session_says_so(at: Surroundings, judge: LoginJudge) -> None:
    async with logind(at, c1=Login(kind="tty"), c2=Login(uid=OTHER)):
        await gives_up(LogindProbe(verbatim("of ours"), at, judge), ProbeUnavailableError, "no graphical session")


async def test_a_switch_of_users_gives_the_machine_to_the_other_one(at: Surroundings) -> None:
    theirs, greeter = Login(uid=OTHER, user="anna", active=False), Login(uid=OTHER + 1, login_class="greeter")
    async with (
        logind(at, c1=Login(), c2=theirs, greeter=greeter) as service,
        watching(LogindProbe(verbatim("switch"), at, other_screens)) as reports,
    ):
        await reports.until_named()
        service.login("c1", Login(active=False))
        await service.change("c2", replace(theirs, active=True))
        (seen,) = await reports.until_named("anna")
        assert (seen.reason, seen.certainty) == (Reason.OTHER_USER, Certainty.CERTAIN)
        await service.change("c2", theirs)
        await reports.until_named()


async def test_somebody_logged_in_by_network_uses_the_computer(at: Surroundings) -> None:
    remote = Login(uid=OTHER, user="anna", seat="", kind="tty")
    async with (
        logind(at, c1=Login()) as service,
        watching(LogindProbe(verbatim("users"), at, other_users)) as reports,
    ):
        await reports.until_named()
        await service.change("c2", remote)
        (seen,) = await reports.until_named("keyboard or mouse")
        assert seen.reason is Reason.USER_ACTIVE
        await service.change("c2", replace(remote, idle=True))
        await reports.until_named()


async def test_sleep_waits_for_the_engine_and_no_longer(at: Surroundings) -> None:
    async with logind(at) as service:
        async with watching(SleepProbe(at)) as reports:
            reports.situation.engine_pid = 123
            await reports.until_named()
            assert service.num_inhibitors == 1
            await service.prepare_for_sleep(True)
            (seen,) = await reports.until_named("the computer")
            assert (seen.reason, seen.certainty) == (Reason.SLEEP, Certainty.CERTAIN)
            assert service.num_inhibitors == 1, "the computer sleeps before the engine has ended"
            reports.situation.engine_pid = None
            await service.until_released()
            await service.prepare_for_sleep(False)
            await reports.until_named()
            assert service.num_inhibitors == 1, "the next sleep would not wait"
        await service.until_released()


async def test_a_logind_that_refuses_an_inhibitor_is_said(at: Surroundings) -> None:
    async with logind(at) as service:
        del service.methods["org.freedesktop.login1.Manager", "Inhibit"]
        await gives_up(SleepProbe(at), ProbeFailedError, "does not let us finish")


async def test_a_service_that_hangs_is_said(at: Surroundings, monkeypatch: pytest.MonkeyPatch) -> None:
    async with Service(at.session_bus, GNOME) as gnome:
        gnome.methods[GNOME, "GetIdletime"] = lambda: ("t", [0])
        async with watching(DesktopIdleProbe(at, GNOME_IDLE, idle_after_s=0.1)) as reports:
            await reports.next()
            monkeypatch.setattr("potluck_daemon.presence.bus.CALL_TIMEOUT_S", 0.2)
            gnome.is_silent = True
            with pytest.raises(ProbeFailedError, match="does not answer"):
                await reports.until_seen()


@pytest.mark.parametrize(
    "make",
    [
        MeteredProbe,
        SleepProbe,
        lambda at: LogindProbe(verbatim("logind"), at, other_users),
        ScreenSaverProbe,
        lambda at: DesktopIdleProbe(at, GNOME_IDLE, idle_after_s=1),
    ],
)
async def test_a_service_that_is_not_there_is_said_and_not_started(at: Surroundings, make: type[Probe]) -> None:
    await gives_up(make(at), ProbeUnavailableError, "does not run|runs")  # type: ignore[call-arg]


async def test_a_desktop_that_starts_after_the_daemon_is_found(at: Surroundings) -> None:
    changes: list[str] = []
    own = {"DBUS_SESSION_BUS_ADDRESS": at.session_bus, "INVOCATION_ID": "1", "DISPLAY": ":0"}
    environment = SessionEnvironment(own, lambda: changes.append("changed"))
    probe = SessionProbe(Surroundings(environment=environment), interval_s=0.05)
    async with watching(probe) as reports:
        await reports.until_seen()
        assert environment["DISPLAY"] == ":0"  # no user manager says anything else
        async with Service(at.session_bus, "org.freedesktop.systemd1") as manager:
            manager.properties[USER_MANAGER] = Variant("as", ["PATH=/usr/bin"])
            await reports.until_seen()
            assert (environment["DISPLAY"], changes) == (":0", [])
            told = ["PATH=/usr/bin", "DISPLAY=:1", "WAYLAND_DISPLAY=wayland-0"]
            manager.properties[USER_MANAGER] = Variant("as", told)
            while environment["DISPLAY"] != ":1":
                await reports.until_seen()
            assert environment["WAYLAND_DISPLAY"] == "wayland-0"
            assert (environment.get("PATH"), changes) == (None, ["changed"])
