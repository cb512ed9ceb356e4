"""A daemon that hangs, and ones that only seem to."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from potluck_control.api.liveness import LOOK_S, HangWatch, Pulse, is_hung, peer_of, read_pulse


def test_how_long_a_silence_may_last() -> None:
    for state, active_s, hung_after_s in (
        ("T", 0.0, 1.5),  # stopped by a signal
        ("t", 0.0, 1.5),  # held by a debugger
        ("S", 0.0, 2.0),  # waits for something that does not come
        ("S", 2.0, 20.0),  # was busy a moment ago
        ("R", 0.0, 20.0),  # waits for a processor
        ("R", 9.0, 20.0),  # computes
        ("D", 0.0, 20.0),  # waits for the disk
        (None, 0.0, 10.0),  # the kernel does not tell
    ):
        before = Pulse("S", 5.0)
        now = Pulse(state, 5.0 + active_s) if state is not None else None
        assert not is_hung(hung_after_s - 0.01, before, now)
        assert is_hung(hung_after_s, before, now)


def looks(watch: HangWatch, start: float, end: float) -> float | None:
    """Look as a program does; return when it first says that the daemon hangs."""
    now = start
    while now <= end:
        if watch.look(now):
            return now
        now += LOOK_S
    return None


def test_a_stopped_daemon_is_noticed_within_three_seconds_of_its_last_word_and_forgotten_at_the_next() -> None:
    pulse = Pulse("S", 1.0)
    watch = HangWatch(lambda: pulse, 0.0)
    watch.heard(0.9)
    assert looks(watch, 0.5, 2.0) is None
    pulse = Pulse("T", 1.0)
    found = looks(watch, 2.5, 9.0)
    assert found <= 0.9 + 3.0
    pulse = Pulse("S", 1.0)
    watch.heard(9.2)
    assert looks(watch, 9.5, 11.0) is None


def test_a_daemon_that_waits_for_a_processor_is_not_hung() -> None:
    active_s = 0.0

    def pulse() -> Pulse:
        nonlocal active_s
        active_s += 0.1
        return Pulse("S", active_s)

    assert looks(HangWatch(pulse, 0.0), 0.5, 15.0) is None


def test_a_program_that_was_held_up_itself_begins_its_watch_anew() -> None:
    watch = HangWatch(lambda: Pulse("T", 1.0), 0.0)
    assert not watch.look(0.5)
    assert not watch.look(60.0)
    assert not watch.look(60.5)
    found = looks(watch, 61.0, 70.0)
    assert found >= 61.5


@pytest.mark.skipif(sys.platform != "linux", reason="/proc")
def test_the_pulse_of_a_process_is_that_of_the_kernel(tmp_path: Path) -> None:
    listen = "import socket, sys, time; s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen()"
    code = f"{listen}; print(flush=True); time.sleep(600)"
    process = subprocess.Popen([sys.executable, "-c", code, tmp_path / "s"], stdout=subprocess.PIPE)
    try:
        process.stdout.readline()
        os.kill(process.pid, signal.SIGSTOP)
        os.waitpid(process.pid, os.WUNTRACED)
        pulse = read_pulse(process.pid)
        assert (pulse.state, pulse.active_s > 0) == ("T", True)
        assert peer_of(tmp_path / "s") == process.pid  # although it cannot answer
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
    assert read_pulse(process.pid) is None
    assert peer_of(tmp_path / "s") is None


def test_without_a_kernel_that_tells_there_is_no_pulse(tmp_path: Path) -> None:
    assert read_pulse(None) is None
    assert read_pulse(1, tmp_path) is None
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "s"))
        assert peer_of(tmp_path / "s") is None
