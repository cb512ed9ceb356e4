"""A real daemon that serves, told by the system that the computer goes to sleep."""

import asyncio
import os

import pytest
from helpers.bus_services import Logind
from helpers.daemon_process import LOOPBACK, DaemonProcess
from helpers.desktop import session_bus
from potluck_control.api import schema
from potluck_control.states import Reason, State


@pytest.mark.bus
async def test_the_engine_ends_when_the_computer_goes_to_sleep_and_is_back_when_it_wakes_up() -> None:
    kept = {name: text for name, text in os.environ.items() if name not in ("DISPLAY", "WAYLAND_DISPLAY")}
    with session_bus() as bus:
        environment = kept | {"DBUS_SYSTEM_BUS_ADDRESS": bus, "DBUS_SESSION_BUS_ADDRESS": bus}
        async with Logind(bus) as logind:
            assert isinstance(logind, Logind)
            with DaemonProcess(LOOPBACK, environment) as daemon:
                await asyncio.to_thread(daemon.client.call, schema.CREATE)
                await asyncio.to_thread(daemon.wait_state, State.SERVING)
                assert logind.num_inhibitors
                await logind.prepare_for_sleep(True)
                ended = await asyncio.to_thread(daemon.wait_for, lambda status: status.engine.pid is None)
                assert ended.reason is Reason.SLEEP
                await logind.until_released()
                await logind.prepare_for_sleep(False)
                await asyncio.to_thread(daemon.wait_for, lambda status: status.engine.pid is not None)
            logind.close_pipes()
