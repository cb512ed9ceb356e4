"""One screen and one daemon that serves, for all tests of a file: starting costs more than most tests."""

from collections.abc import Iterator

import pytest
from helpers.daemon_process import DaemonProcess
from helpers.desk import AT_FULL_SPEED, SETTINGS
from helpers.desktop import Desktop, desktop
from potluck_control import schema
from potluck_control.schema import Status
from potluck_control.states import State


@pytest.fixture(scope="module")
def screen() -> Iterator[Desktop]:
    """With a window manager."""
    with desktop(window_manager=True) as made:
        yield made


@pytest.fixture(scope="module")
def daemon(screen: Desktop) -> Iterator[DaemonProcess]:
    """One that serves the demo model in a swarm of its own; each test leaves it serving."""
    with DaemonProcess(AT_FULL_SPEED, environment=screen.environment | SETTINGS) as made:
        made.client.call(schema.CREATE)
        made.wait_for(_serves_everything)
        yield made


def _serves_everything(status: Status) -> bool:
    swarm = status.swarm
    return status.state is State.SERVING and swarm is not None and swarm.span == (0, swarm.num_blocks)
