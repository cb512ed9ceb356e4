"""A desktop for tests: a virtual screen with its own session bus, and optionally a window manager.

Everything is started by us, found by pid, and ended with the context, also when a test fails.
"""

import contextlib
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass

_BUS = ["dbus-daemon", "--session", "--nofork", "--nopidfile", "--print-address=1"]


@dataclass(frozen=True, slots=True)
class Desktop:
    """Environment for programs that should appear on it."""

    display: str
    bus_address: str

    @property
    def environment(self) -> dict[str, str]:
        hidden = ("WAYLAND_DISPLAY", "XDG_CURRENT_DESKTOP", "QT_QPA_PLATFORM")
        kept = {name: value for name, value in os.environ.items() if name not in hidden}
        return kept | {"DISPLAY": self.display, "DBUS_SESSION_BUS_ADDRESS": self.bus_address}


@contextlib.contextmanager
def desktop(*, window_manager: bool = False, size: tuple[int, int] = (1280, 800)) -> Iterator[Desktop]:
    """A fresh screen of `size` pixels and a fresh session bus."""
    with contextlib.ExitStack() as running:
        display = ":" + _start_and_read(
            running, ["Xvfb", "-displayfd", "1", "-screen", "0", f"{size[0]}x{size[1]}x24", "-nolisten", "tcp"]
        )
        bus = _start_and_read(running, _BUS)
        made = Desktop(display, bus)
        if window_manager:
            quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
            running.enter_context(ended(subprocess.Popen(["openbox"], env=made.environment, **quiet)))
        yield made


@contextlib.contextmanager
def session_bus() -> Iterator[str]:
    """A bus alone; its address."""
    with contextlib.ExitStack() as running:
        yield _start_and_read(running, _BUS)


@contextlib.contextmanager
def ended(process: subprocess.Popen[bytes]) -> Iterator[subprocess.Popen[bytes]]:
    """`process` for as long as the context lasts: terminated after it, killed if it does not listen."""
    try:
        yield process
    finally:
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def _start_and_read(running: contextlib.ExitStack, command: list[str]) -> str:
    """Start a program that says on its first line where to find it."""
    process = running.enter_context(ended(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)))
    assert process.stdout is not None
    line = process.stdout.readline().decode().strip()
    assert line, f"{command[0]} did not start"
    return line
