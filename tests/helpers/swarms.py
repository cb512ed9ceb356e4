"""How tests start the processes of swarms and the commands beside daemons."""

import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from helpers.daemon_process import DaemonProcess, run_command

from benchmarks.setup.local_swarm import LocalProcess
from tests.helpers.fork_server import run_python, start_python


@pytest.fixture(scope="session", autouse=True)
def _forked_processes() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LocalProcess, "start_python", staticmethod(start_python))
        patch.setattr(DaemonProcess, "run_command", staticmethod(_run_command))
        yield


def _run_command(command: Sequence[str | Path], **options: Any) -> subprocess.CompletedProcess[str]:
    program, *arguments = command
    return run_python(arguments, **options) if program == sys.executable else run_command(command, **options)
