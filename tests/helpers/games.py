"""What a game does to a desktop: it registers with GameMode, or it fills the screen and is busy."""

import os
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from jeepney import DBusAddress, MessageFlag, new_method_call
from jeepney.io.blocking import open_dbus_connection

from tests.helpers.desktop import Desktop, ended

WINDOW = Path(__file__).with_name("game_window.py")
_GAMEMODE = "com.feralinteractive.GameMode"


@contextmanager
def gamemoded(screen: Desktop) -> Iterator[subprocess.Popen[bytes]]:
    """Feral's service, once it answers."""
    with ended(subprocess.Popen(["gamemoded"], env=screen.environment, stderr=subprocess.DEVNULL)) as service:
        while not isinstance(ask_gamemode(screen, "QueryStatus", os.getpid()), int):
            time.sleep(0.01)
        yield service


def ask_gamemode(screen: Desktop, method: str, pid: int) -> object:
    """What a game does through libgamemode; the text of an error if that is the answer."""
    call = new_method_call(DBusAddress("/com/feralinteractive/GameMode", _GAMEMODE, _GAMEMODE), method, "i", (pid,))
    call.header.flags |= MessageFlag.no_auto_start
    with open_dbus_connection(screen.bus_address) as connection:
        return connection.send_and_get_reply(call).body[0]


def window(
    screen: Desktop, *options: str, name: str = "MyGame", wrapper: Sequence[str] = (), path: str = ""
) -> subprocess.Popen[bytes]:
    """A window of its own program, below `wrapper` or going by `path` if there is one; returns when it is mapped."""
    command = [*wrapper, path or sys.executable, str(WINDOW), name, *options]
    executable = sys.executable if path else None
    found_by_path = {"PYTHONHOME": sys.base_prefix, "PYTHONPATH": sysconfig.get_path("purelib")} if path else {}
    environment = screen.environment | found_by_path
    process = subprocess.Popen(command, executable=executable, env=environment, stdout=subprocess.PIPE)
    assert process.stdout is not None
    line = process.stdout.readline()
    if line != b"mapped\n":
        with ended(process):
            raise AssertionError(f"the window did not come up: {line!r}")
    return process
