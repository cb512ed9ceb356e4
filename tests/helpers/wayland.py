"""A Wayland session for tests: a real compositor without a screen, and the few messages of one with newer protocols."""

import asyncio
import contextlib
import os
import socket
import struct
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

from tests.helpers.desktop import ended

PATIENCE_S = 60.0
_NOBODY = 65534


@contextlib.contextmanager
def sway(config: str = "") -> Iterator[dict[str, str]]:
    """The environment of programs in it; `config`: commands of sway's own.

    It has no input devices; `wtype` types over a protocol of its own.
    """
    with tempfile.TemporaryDirectory(prefix="sway-") as name:
        (Path(name) / "config").write_text(config)
        (Path(name) / "config").chmod(0o644)
        hidden = ("DISPLAY", "WAYLAND_DISPLAY")
        environment = {key: value for key, value in os.environ.items() if key not in hidden}
        environment |= {"XDG_RUNTIME_DIR": name, "WLR_BACKENDS": "headless", "WLR_LIBINPUT_NO_DEVICES": "1"}
        environment |= {"WLR_RENDERER": "pixman", "XDG_CONFIG_HOME": name}
        command = ["sway", "--config", f"{name}/config"]
        if os.getuid() == 0:  # which it refuses to run as
            os.chown(name, _NOBODY, _NOBODY)
            command = ["setpriv", f"--reuid={_NOBODY}", f"--regid={_NOBODY}", "--clear-groups", *command]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        with ended(subprocess.Popen(command, env=environment, **quiet)) as process:
            deadline = time.monotonic() + PATIENCE_S
            while not (sockets := [path for path in Path(name).glob("wayland-*") if _answers(path)]):
                assert process.poll() is None, "sway ended"
                assert time.monotonic() < deadline, "sway does not start"
                time.sleep(0.02)
            yield environment | {"WAYLAND_DISPLAY": sockets[0].name}


def _answers(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as client, contextlib.suppress(OSError):
        client.connect(str(path))
        return True
    return False


def type_text(environment: dict[str, str]) -> None:
    """Somebody types."""
    subprocess.run(["wtype", "x"], env=environment, check=True)


class Compositor:
    """Speaks as much of Wayland as idle notification takes, as a compositor with `globals_` would."""

    def __init__(self, *globals_: str) -> None:
        self._globals = globals_
        self._writer: asyncio.StreamWriter | None = None
        self.asked = asyncio.Event()
        self.timeout_ms = 0
        self._notification = 0

    @contextlib.asynccontextmanager
    async def running(self, folder: Path) -> AsyncIterator[dict[str, str]]:
        server = await asyncio.start_unix_server(self._serve, folder / "wayland-9")
        try:
            yield {"XDG_RUNTIME_DIR": str(folder), "WAYLAND_DISPLAY": "wayland-9"}
        finally:
            server.close()
            self.hang_up()

    def say(self, *, idled: bool) -> None:
        self._event(self._notification, 0 if idled else 1, b"")

    def refuse(self) -> None:
        """wl_display.error: the client did something wrong."""
        text = b"no\0\0"
        self._event(1, 0, struct.pack("=III", 1, 0, 3) + text)

    def hang_up(self) -> None:
        if self._writer is not None:
            self._writer.close()

    def _event(self, sender: int, opcode: int, body: bytes) -> None:
        assert self._writer is not None
        self._writer.write(struct.pack("=II", sender, (8 + len(body)) << 16 | opcode) + body)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writer = writer
        bound: dict[int, str] = {}
        registry = 0
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                target, word = struct.unpack("=II", await reader.readexactly(8))
                body = await reader.readexactly((word >> 16) - 8)
                opcode = word & 0xFFFF
                if (target, opcode) == (1, 1):  # get_registry
                    (registry,) = struct.unpack("=I", body)
                    for number, name in enumerate(self._globals, 1):
                        self._event(registry, 0, struct.pack("=I", number) + _text(name) + struct.pack("=I", 1))
                elif (target, opcode) == (1, 0):  # sync
                    self._event(struct.unpack("=I", body)[0], 0, struct.pack("=I", 0))
                elif target == registry:  # bind
                    bound[struct.unpack("=I", body[-4:])[0]] = self._globals[struct.unpack("=I", body[:4])[0] - 1]
                elif bound.get(target) == "ext_idle_notifier_v1" and opcode == 1:
                    self._notification, self.timeout_ms, seat = struct.unpack("=III", body)
                    assert bound[seat] == "wl_seat"
                    self.asked.set()


def _text(name: str) -> bytes:
    data = name.encode() + b"\0"
    return struct.pack("=I", len(data)) + data.ljust(-(-len(data) // 4) * 4, b"\0")
