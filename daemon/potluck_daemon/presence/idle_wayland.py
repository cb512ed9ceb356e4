"""Idle time from a Wayland compositor: by `ext_idle_notifier_v1` (Plasma 6, wlroots, COSMIC) or its forerunner
`org_kde_kwin_idle`.

The compositor sends "idled" when nothing has been touched for the time asked for, and "resumed" afterwards. A game pad
doesn't count as a touch (swayidle#5), so a detected game must outrank this. The probe speaks the few messages that it
needs itself, which saves a dependency on a client library.
Wire format: https://wayland.freedesktop.org/docs/html/ch04.html
"""

from __future__ import annotations

import asyncio
import contextlib
import struct
from collections.abc import Mapping
from pathlib import Path

from potluck_daemon.presence.idle import use
from potluck_daemon.presence.probe import ProbeFailedError, ProbeUnavailableError, Report, Situation, Surroundings

CALL_TIMEOUT_S = 5.0
_DISPLAY, _REGISTRY, _SYNC, _SEAT, _NOTIFIER, _NOTIFICATION = 1, 2, 3, 4, 5, 6  # our object ids
_MAX_BODY_BYTES = 4096
_EXT, _KDE = "ext_idle_notifier_v1", "org_kde_kwin_idle"


class WaylandIdleProbe:
    name = "Idle time (Wayland)"

    def __init__(self, surroundings: Surroundings, *, idle_after_s: float) -> None:
        self._environment = surroundings.environment
        self._idle_after_s = idle_after_s

    async def watch(self, report: Report, situation: Situation) -> None:
        reader, writer = await _connect(self._environment)
        try:
            async with asyncio.timeout(CALL_TIMEOUT_S):
                await _subscribe(reader, writer, round(self._idle_after_s * 1000))
            report((use(True),))  # until the compositor says otherwise
            while True:
                sender, opcode, _ = await _receive(reader)
                if sender == _NOTIFICATION:
                    report((use(opcode == 1),))  # 0 idled, 1 resumed
        except TimeoutError:
            raise ProbeFailedError("the Wayland compositor does not answer") from None
        except (OSError, EOFError, ValueError, struct.error) as error:
            raise ProbeUnavailableError("the Wayland compositor went away") from error
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()


async def _connect(environment: Mapping[str, str]) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    display = environment.get("WAYLAND_DISPLAY", "")
    if not display:
        raise ProbeUnavailableError("no Wayland session")
    path = Path(environment.get("XDG_RUNTIME_DIR", "/"), display)
    try:
        return await asyncio.open_unix_connection(path)
    except OSError as error:
        raise ProbeUnavailableError(f"no Wayland compositor at {path} ({error.strerror})") from error


async def _subscribe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, timeout_ms: int) -> None:
    """Ask to be notified. Raises ProbeUnavailableError if the compositor cannot."""
    _send(writer, _DISPLAY, 1, struct.pack("=I", _REGISTRY))  # get_registry
    _send(writer, _DISPLAY, 0, struct.pack("=I", _SYNC))  # sync: its answer comes after all globals
    names: dict[str, int] = {}
    while True:
        sender, opcode, body = await _receive(reader)
        if sender == _REGISTRY and opcode == 0:  # global
            number, length = struct.unpack_from("=II", body)
            names.setdefault(body[8 : 8 + length - 1].decode(), number)
        elif sender == _SYNC:
            break
    interface = next((item for item in (_EXT, _KDE) if item in names), None)
    if interface is None or "wl_seat" not in names:
        raise ProbeUnavailableError("the Wayland compositor does not report idle time")
    _bind(writer, names["wl_seat"], "wl_seat", _SEAT)
    _bind(writer, names[interface], interface, _NOTIFIER)
    if interface == _EXT:  # get_idle_notification
        _send(writer, _NOTIFIER, 1, struct.pack("=III", _NOTIFICATION, timeout_ms, _SEAT))
    else:  # get_idle_timeout
        _send(writer, _NOTIFIER, 0, struct.pack("=III", _NOTIFICATION, _SEAT, timeout_ms))
    await writer.drain()


def _bind(writer: asyncio.StreamWriter, number: int, interface: str, new_id: int) -> None:
    text = interface.encode() + b"\0"
    padded = text.ljust(-(-len(text) // 4) * 4, b"\0")
    _send(writer, _REGISTRY, 0, struct.pack("=II", number, len(text)) + padded + struct.pack("=II", 1, new_id))


def _send(writer: asyncio.StreamWriter, sender: int, opcode: int, body: bytes) -> None:
    writer.write(struct.pack("=II", sender, (8 + len(body)) << 16 | opcode) + body)


async def _receive(reader: asyncio.StreamReader) -> tuple[int, int, bytes]:
    """Return sender, opcode and body of the next event. Raises ProbeFailedError for an error event."""
    sender, word = struct.unpack("=II", await reader.readexactly(8))
    size = (word >> 16) - 8
    if not 0 <= size <= _MAX_BODY_BYTES:
        raise ValueError("not a Wayland message")
    body = await reader.readexactly(size)
    if sender == _DISPLAY and word & 0xFFFF == 0:
        raise ProbeFailedError("the Wayland compositor refuses to report idle time")
    return sender, word & 0xFFFF, body
