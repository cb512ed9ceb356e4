"""A real daemon that serves, told by agents and by the system that somebody needs the computer."""

import asyncio
import os
from collections.abc import Iterator

import pytest
from helpers.bus_services import Logind
from helpers.daemon_process import LOOPBACK, DaemonProcess
from helpers.desktop import session_bus
from potluck_control import schema
from potluck_control.methods import programs
from potluck_control.methods.programs import PlaceParams, ProgramPlace
from potluck_control.schema import PresenceParams
from potluck_control.states import Reason, State

pytestmark = pytest.mark.bus

SETTINGS = LOOPBACK + "[yield]\nquiet_certain_s = 0.2\nquiet_likely_s = 0.2\nlikely_interval_s = 0.2\n"


@pytest.fixture(scope="module")
def bus() -> Iterator[str]:
    with session_bus() as address:
        yield address


@pytest.fixture(scope="module")
def daemon(bus: str) -> Iterator[DaemonProcess]:
    environment = {"DBUS_SYSTEM_BUS_ADDRESS": bus, "DBUS_SESSION_BUS_ADDRESS": bus}
    with DaemonProcess(SETTINGS, _here() | environment) as made:
        made.client.call(schema.CREATE)
        yield made


@pytest.fixture
def serving(daemon: DaemonProcess) -> DaemonProcess:
    daemon.wait_state(State.SERVING)
    return daemon


def _here() -> dict[str, str]:
    hidden = ("DISPLAY", "WAYLAND_DISPLAY")
    return {name: text for name, text in os.environ.items() if name not in hidden}


def tell(daemon: DaemonProcess, reason: Reason, lifetime_s: float = 120.0, **more: object) -> None:
    params = PresenceParams("test", reason, "Forza", lifetime_s=lifetime_s, **more)  # type: ignore[arg-type]
    daemon.client.call(schema.PRESENCE, params)


def test_a_game_that_an_agent_reports_gets_the_device_until_the_report_expires(serving: DaemonProcess) -> None:
    status = serving.wait_for(
        lambda status: status.state is State.YIELDED,
        after=lambda: tell(serving, Reason.GAME, lifetime_s=3, app="forza.exe"),
    )
    assert (status.reason, status.app) == (Reason.GAME, "forza.exe")
    assert "Forza" in status.text
    assert "Forza has ended" in status.ends
    serving.wait_state(State.SERVING)


def test_somebody_at_the_keyboard_slows_the_engine_down(serving: DaemonProcess) -> None:
    tell(serving, Reason.USER_ACTIVE)
    status = serving.wait_for(lambda status: status.duty < 1)
    assert (status.state, status.reason, status.duty) == (State.SERVING, Reason.USER_ACTIVE, 0.5)
    assert "slowly" in status.text
    tell(serving, Reason.USER_ACTIVE, lifetime_s=0)
    assert serving.wait_for(lambda status: status.duty == 1).reason is Reason.NONE


def test_a_program_that_is_never_given_way_to_is_remembered(serving: DaemonProcess) -> None:
    tell(serving, Reason.GAME, app="forza.exe")
    status = serving.wait_state(State.YIELDED)
    serving.client.call(programs.PLACE, PlaceParams(status.app, ProgramPlace.NEVER))
    serving.wait_state(State.SERVING)
    assert "forza.exe" in serving.settings_file.read_text()
    tell(serving, Reason.GAME, lifetime_s=0)


async def test_the_engine_has_ended_before_the_computer_sleeps(bus: str) -> None:
    environment = _here() | {"DBUS_SYSTEM_BUS_ADDRESS": bus, "DBUS_SESSION_BUS_ADDRESS": bus}
    async with Logind(bus) as logind:
        assert isinstance(logind, Logind)
        with DaemonProcess(SETTINGS, environment) as daemon:
            await asyncio.to_thread(daemon.client.call, schema.CREATE)
            await asyncio.to_thread(daemon.wait_state, State.SERVING)
            assert logind.num_inhibitors == 1
            await logind.prepare_for_sleep(True)
            await logind.until_released()
            status = await asyncio.to_thread(daemon.status)
            assert (status.engine.pid, status.reason) == (None, Reason.SLEEP)
            await logind.prepare_for_sleep(False)
            await asyncio.to_thread(daemon.wait_state, State.SERVING)
        logind.close_pipes()
