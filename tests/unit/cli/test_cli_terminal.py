"""Ctrl-C in the first moments of a command: real processes, interrupted while they import."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

COMMAND = [sys.executable, "-m", "potluck_cli.entry", "doctor", "--json"]


@pytest.fixture(autouse=True)
def as_in_a_terminal() -> Iterator[None]:
    """Let commands notice Ctrl-C: what a script starts in the background ignores it, and so do its children."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def interrupted_at(library: str, *before: str) -> tuple[int, str]:
    """Returns the exit code and what was said after SIGINT, sent when the command says that it imports `library`."""
    with subprocess.Popen(
        [*before, *COMMAND],
        env={**os.environ, "PYTHONVERBOSE": "1"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as command:
        while not (line := command.stderr.readline()).startswith(f"import '{library}'"):
            assert line, "it ended by itself"
        command.send_signal(signal.SIGINT)
        said = command.stderr.read()
    return command.returncode, said


def test_ctrl_c_ends_a_command_without_a_traceback_from_its_first_import_on() -> None:
    for library in ("argparse", "potluck.protocol.codec", "potluck_cli.upkeep.diagnosis"):
        code, said = interrupted_at(library)
        assert code in (-signal.SIGINT, 130)
        assert "Traceback" not in said


def test_a_command_that_a_script_runs_in_the_background_goes_on_ignoring_ctrl_c() -> None:
    code, said = interrupted_at("argparse", "sh", "-c", "trap '' INT; exec \"$@\"", "sh")
    assert code in (0, 1)
    assert "Traceback" not in said
