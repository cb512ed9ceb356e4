"""A daemon that has no engine yet: it says so, makes one when asked, and serves with it."""

import itertools
import os
import shutil
from pathlib import Path

import psutil
from potluck_control.api import schema
from potluck_control.api.schema import CreateParams
from potluck_control.methods import installation as setup
from potluck_control.methods.installation import SetupState
from potluck_control.states import Reason

from tests.helpers.daemon_process import LOOPBACK, DaemonProcess
from tests.helpers.torchless import install_without_torch


def followed_to_its_end(daemon: DaemonProcess) -> SetupState:
    """The first state in which nothing runs any more."""
    events = daemon.client.events()
    next(events)  # from now on nothing is missed
    for event in itertools.chain([daemon.client.call(setup.SETUP_STATE)], events):
        if isinstance(event, SetupState):
            assert event.error is None, event.error
            if event.progress is None:
                return event
    raise AssertionError(daemon.log())


def test_a_daemon_without_an_engine_makes_one_and_serves(tmp_path: Path) -> None:
    installation = install_without_torch(tmp_path)
    with DaemonProcess(LOOPBACK, {**os.environ, **installation.environment}, python=installation.python) as daemon:
        daemon.client.call(schema.CREATE, CreateParams())
        status = daemon.wait_state("idle")
        assert (status.reason, status.text.text) == (Reason.NO_ENGINE, "The engine is not set up yet")
        assert "potluck setup" in status.ends.text
        assert not daemon.client.call(setup.SETUP_STATE).ready

        daemon.client.call(setup.BEGIN_SETUP)
        state = followed_to_its_end(daemon)
        assert (state.ready, state.error, state.devices) == (True, None, ("cpu",))
        status = daemon.wait_state("serving")
        engines = daemon.state_folder / "engines"
        assert status.engine.pid is not None
        assert psutil.Process(status.engine.pid).cmdline()[0].startswith(str(engines))

        (environment,) = (path for path in engines.iterdir() if path.is_dir() and not path.is_symlink())
        shutil.rmtree(environment)
        psutil.Process(status.engine.pid).kill()
        daemon.wait_for(lambda status: status.reason is Reason.NO_ENGINE)
        assert not daemon.client.call(setup.SETUP_STATE).ready
