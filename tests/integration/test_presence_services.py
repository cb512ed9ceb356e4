"""Probes that listen to desktop and system services, against services that own the real names on a real bus."""

import asyncio
import os
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from dbus_fast import Variant
from helpers.bus_services import Login, Logind, Service
from helpers.desktop import session_bus
from helpers.probe_reports import WAIT_S, gives_up, watching
from potluck_control.api.schema import ProbeState
from potluck_control.states import Certainty, Reason
from potluck_daemon.presence.idle import IdleProbe, gnome_idle
from potluck_daemon.presence.lookout import Lookout, SessionProbe
from potluck_daemon.presence.nvml import NvmlReader
from potluck_daemon.presence.probe import Probe, ProbeFailedError, ProbeUnavailableError, Situation, Surroundings
from potluck_daemon.presence.services import (
    SleepProbe,
    logins,
    metered_network,
    other_screens,
    other_users,
    screen_lock,
)

from potluck.sentences import verbatim

pytestmark = pytest.mark.bus

NETWORK = "org.freedesktop.NetworkManager"
GNOME = "org.gnome.Mutter.IdleMonitor"
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


def gnome(at: Surroundings, idle_after_s: float = 1.0) -> IdleProbe:
    return IdleProbe(verbatim("GNOME"), partial(gnome_idle, at), idle_after_s)


@asynccontextmanager
async def logind(at: Surroundings, **logins: Login) -> AsyncIterator[Logind]:
    async with Logind(at.system_bus) as service:
        assert isinstance(service, Logind)
        for name, login in logins.items():
            service.login(name, login)
        yield service
        service.close_pipes()


async def test_metered_is_what_network_manager_knows_or_guesses(at: Surroundings) -> None:
    async with Service(at.system_bus, NETWORK) as manager:
        await manager.set("/org/freedesktop/NetworkManager", NETWORK, "Metered", Variant("u", 0))
        async with watching(metered_network(at)) as reports:
            await reports.until_named()
            for value, seen in ((1, ("this network",)), (2, ()), (3, ("this network",)), (4, ())):
                await manager.set("/org/freedesktop/NetworkManager", NETWORK, "Metered", Variant("u", value))
                await reports.until_named(*seen)


async def test_gnome_tells_idle_time_in_milliseconds(at: Surroundings) -> None:
    idle_ms = 0
    async with Service(at.session_bus, GNOME) as shell:
        shell.methods[GNOME, "GetIdletime"] = lambda: ("t", [idle_ms])
        async with watching(gnome(at, 0.3)) as reports:
            await reports.until_named("keyboard or mouse")
            idle_ms = 300
            await reports.until_named("nobody")
            idle_ms = 10
            (seen,) = await reports.until_named("keyboard or mouse")
            assert seen.reason is Reason.USER_ACTIVE


async def test_logind_tells_that_all_of_ones_screens_are_locked(at: Surroundings) -> None:
    async with (
        logind(at, c1=Login(), c2=Login(kind="tty"), c3=Login(uid=OTHER)) as service,
        watching(logins(at, screen_lock)) as lock,
    ):
        await lock.until_named()
        await service.change("c1", Login(locked=True))
        (seen,) = await lock.until_named("the screen is locked")
        assert (seen.reason, seen.certainty) == (Reason.AWAY, Certainty.CERTAIN)
        await service.change("c4", Login())  # one that is not locked is enough
        await lock.until_named()


async def test_a_switch_of_users_gives_the_machine_to_the_other_one(at: Surroundings) -> None:
    theirs, greeter = Login(uid=OTHER, user="anna", active=False), Login(uid=OTHER + 1, login_class="greeter")
    async with (
        logind(at, c1=Login(), c2=theirs, greeter=greeter) as service,
        watching(logins(at, other_screens, screen_lock)) as reports,
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
        watching(logins(at, other_users)) as reports,
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
    async with Service(at.session_bus, GNOME) as shell:
        shell.methods[GNOME, "GetIdletime"] = lambda: ("t", [0])
        async with watching(gnome(at, 0.1)) as reports:
            await reports.next()
            monkeypatch.setattr("potluck_daemon.presence.bus.CALL_TIMEOUT_S", 0.2)
            shell.is_silent = True
            with pytest.raises(ProbeFailedError, match="does not answer"):
                await reports.until_seen()


@pytest.mark.parametrize(
    "make",
    [
        metered_network,
        SleepProbe,
        lambda at: logins(at, other_users),
        gnome,
    ],
)
async def test_a_service_that_is_not_there_is_said_and_not_started(at: Surroundings, make: type[Probe]) -> None:
    await gives_up(make(at), ProbeUnavailableError, "does not run|runs")  # type: ignore[call-arg]


async def test_a_desktop_that_starts_after_the_daemon_is_found(
    at: Surroundings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SessionProbe, "interval_s", 0.05)
    changed = asyncio.Event()
    lookout = Lookout(dict(at.environment) | {"INVOCATION_ID": "1"}, NvmlReader(), changed.set)
    before = lookout.watch
    async with Service(at.session_bus, "org.freedesktop.systemd1") as manager:
        manager.properties[USER_MANAGER] = Variant("as", ["PATH=/usr/bin", "WAYLAND_DISPLAY=wayland-9"])
        before.set_awake(True)
        async with asyncio.timeout(WAIT_S):
            while lookout.watch is before:
                changed.clear()
                await changed.wait()
        lookout.watch.set_awake(True)
        session = {str(status.name): status.state for status in lookout.watch.statuses()}["Desktop session"]
        assert session is ProbeState.WATCHING
    await lookout.watch.close()


async def test_a_user_manager_that_does_not_answer_takes_no_desktop_away(at: Surroundings) -> None:
    told: list[Mapping[str, str]] = []
    probe = SessionProbe(replace(at, environment={**at.environment, "DISPLAY": ":9"}), told.append)
    await probe.poll(Situation())
    async with Service(at.session_bus, "org.freedesktop.systemd1") as manager:
        await probe.poll(Situation())
        assert told == []
        manager.properties[USER_MANAGER] = Variant("as", ["PATH=/usr/bin"])
        await probe.poll(Situation())
        assert told == [{}]
