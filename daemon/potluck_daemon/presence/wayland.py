"""Asks a Wayland compositor for its active window, and whether somebody touches keyboard or mouse.

Sway, Hyprland, labwc, Wayfire, niri and river show windows to programs, by `wlr-foreign-toplevel-management`. GNOME and
KDE Plasma do not; there, `windows.game_groups` looks at control groups. The compositor names a window's application,
not its process, which has to be found among the running programs.

`ext_idle_notifier_v1` (Plasma 6, wlroots, COSMIC) or its forerunner `org_kde_kwin_idle` sends "idled" when nothing has
been touched for the time asked for, and "resumed" afterwards. A game pad doesn't count as a touch (swayidle#5), so a
detected game must outrank this.

This module writes the four messages itself, which saves a dependency on a client library.
Sources: https://wayland.freedesktop.org/docs/html/ch04.html (wire format);
https://wayland.app/protocols/wlr-foreign-toplevel-management-unstable-v1
"""

from __future__ import annotations

import asyncio
import contextlib
import struct
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from potluck.sentences import sentence
from potluck_daemon.presence.active_window import ActiveWindow
from potluck_daemon.presence.applications import app_of_process
from potluck_daemon.presence.idle import use_sighting
from potluck_daemon.presence.probe import (
    ProbeFailedError,
    ProbeUnavailableError,
    Reading,
    Report,
    Situation,
    Surroundings,
)
from potluck_daemon.presence.processes import ProcessTable

CALL_TIMEOUT_S = 5.0
_DISPLAY, _REGISTRY, _SYNC = 1, 2, 3  # object ids
_MANAGER = 4  # object id on the connection for windows
_SEAT, _NOTIFIER, _NOTIFICATION = 4, 5, 6  # object ids on the connection for idle time; a connection's ids have no gaps
_WINDOWS, _EXT, _KDE = "zwlr_foreign_toplevel_manager_v1", "ext_idle_notifier_v1", "org_kde_kwin_idle"
_APP_ID, _STATE, _CLOSED, _DESTROY = 1, 4, 6, 7  # events of a window, and the request
_ACTIVATED, _FULL_SCREEN = 2, 3
MAX_WINDOWS = 1000
_MAX_BODY_BYTES = 4096


@contextlib.asynccontextmanager
async def _compositor(
    environment: Mapping[str, str],
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter, dict[str, int]]]:
    """Connect to the compositor, and yield the connection and the number of each of its interfaces.

    Raises:
        ProbeUnavailableError: there is none, or it went away during the body.
        ProbeFailedError: it does not answer.
    """
    display = environment.get("WAYLAND_DISPLAY", "")
    if not display:
        raise ProbeUnavailableError(sentence("no Wayland session"))
    path = Path(environment.get("XDG_RUNTIME_DIR", "/"), display)
    try:
        reader, writer = await asyncio.open_unix_connection(path)
    except OSError as error:
        raise ProbeUnavailableError(
            sentence("no Wayland compositor at {path} ({why})", path=str(path), why=str(error.strerror))
        ) from error
    try:
        async with asyncio.timeout(CALL_TIMEOUT_S):
            numbers = await _read_globals(reader, writer)
        yield reader, writer, numbers
    except TimeoutError:
        raise ProbeFailedError(sentence("the Wayland compositor does not answer")) from None
    except (OSError, EOFError, ValueError, struct.error) as error:
        raise ProbeUnavailableError(sentence("the Wayland compositor went away")) from error
    finally:
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()


async def _read_globals(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> dict[str, int]:
    _send(writer, _DISPLAY, 1, struct.pack("=I", _REGISTRY))  # get_registry
    _send(writer, _DISPLAY, 0, struct.pack("=I", _SYNC))  # sync: its answer comes after all globals
    numbers: dict[str, int] = {}
    while True:
        sender, opcode, body = await _receive(reader)
        if sender == _REGISTRY and opcode == 0:  # global
            (number,) = struct.unpack_from("=I", body)
            numbers.setdefault(_text_at(body, 4), number)
        elif sender == _SYNC:
            return numbers


def _text_at(body: bytes, start: int) -> str:
    """Return the string that begins here in a message. Raises struct.error if there is none."""
    (length,) = struct.unpack_from("=I", body, start)
    return body[start + 4 : start + 4 + max(0, length - 1)].decode(errors="replace")


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
        raise ProbeFailedError(sentence("the Wayland compositor refuses to answer"))
    return sender, word & 0xFFFF, body


@dataclass(slots=True)
class Toplevels:
    """All windows by their object id, as the compositor's events describe them."""

    app_ids: dict[int, str] = field(default_factory=dict)
    states: dict[int, frozenset[int]] = field(default_factory=dict)

    def apply(self, sender: int, opcode: int, body: bytes) -> int | None:
        """Apply one event. Return the id of a window that was closed, else None.

        Raises:
            struct.error, ValueError: the event violates the protocol.
        """
        if sender == _MANAGER:
            if opcode != 0:
                raise ValueError("the compositor tells no more windows")
            if len(self.app_ids) < MAX_WINDOWS:
                self.app_ids[struct.unpack("=I", body)[0]] = ""
        elif sender in self.app_ids and opcode == _APP_ID:
            self.app_ids[sender] = _text_at(body, 0)
        elif sender in self.app_ids and opcode == _STATE:
            (size,) = struct.unpack_from("=I", body)
            self.states[sender] = frozenset(struct.unpack_from(f"={size // 4}I", body, 4))
        elif sender in self.app_ids and opcode == _CLOSED:
            del self.app_ids[sender]
            self.states.pop(sender, None)
            return sender
        return None

    @property
    def active(self) -> tuple[str, bool]:
        """The application of the active window, empty without one, and whether it fills the screen."""
        active = next((window for window, states in self.states.items() if _ACTIVATED in states), 0)
        return self.app_ids.get(active, ""), _FULL_SCREEN in self.states.get(active, ())


@contextlib.asynccontextmanager
async def wayland_windows(at: Surroundings, table: ProcessTable) -> AsyncIterator[Reading[ActiveWindow | None]]:
    """Follow the windows of the compositor, and yield a function that returns the active one."""
    windows, pids = Toplevels(), dict[str, int | None]()

    async def follow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            closed = windows.apply(*await _receive(reader))
            if closed is not None:
                _send(writer, closed, _DESTROY, b"")

    async def active_window() -> ActiveWindow | None:
        if following.done():
            following.result()
        app_id, is_full_screen = windows.active
        if not app_id:
            return None
        if pids.get(app_id) not in table.refresh():
            pids.clear()
            pids[app_id] = process_of(table, app_id)
        return ActiveWindow(pids[app_id], app_id, is_full_screen)

    async with _compositor(at.environment) as (reader, writer, numbers):
        if _WINDOWS not in numbers:
            raise ProbeUnavailableError(sentence("this desktop tells no program about its windows"))
        _bind(writer, numbers[_WINDOWS], _WINDOWS, _MANAGER)
        following = asyncio.create_task(follow(reader, writer))
        try:
            yield active_window
        finally:
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)


def process_of(table: ProcessTable, app_id: str) -> int | None:
    """Return the first process of an application: by its control group, else by its name; None: not found."""
    wanted = app_id.lower()
    names = {wanted, wanted.rpartition(".")[2]}
    by_name = None
    for pid, program in sorted(table.refresh().items()):
        if app_of_process(table.proc, pid) == wanted:
            return pid
        if by_name is None and not names.isdisjoint(program.own_names):
            by_name = pid
    return by_name


@dataclass(frozen=True, slots=True)
class WaylandIdleProbe:
    """The probe for use or absence, by the compositor's reports of keyboard and mouse."""

    name = sentence("Idle time ({name})", name="Wayland")

    at: Surroundings
    idle_after_s: float

    async def watch(self, report: Report, situation: Situation) -> None:
        async with _compositor(self.at.environment) as (reader, writer, numbers):
            interface = next((item for item in (_EXT, _KDE) if item in numbers), None)
            if interface is None or "wl_seat" not in numbers:
                raise ProbeUnavailableError(sentence("the Wayland compositor does not report idle time"))
            _bind(writer, numbers["wl_seat"], "wl_seat", _SEAT)
            _bind(writer, numbers[interface], interface, _NOTIFIER)
            timeout_ms = round(self.idle_after_s * 1000)
            if interface == _EXT:  # get_idle_notification
                _send(writer, _NOTIFIER, 1, struct.pack("=III", _NOTIFICATION, timeout_ms, _SEAT))
            else:  # get_idle_timeout
                _send(writer, _NOTIFIER, 0, struct.pack("=III", _NOTIFICATION, _SEAT, timeout_ms))
            report((use_sighting(True),))  # somebody counts as present until the compositor says otherwise
            while True:
                sender, opcode, _ = await _receive(reader)
                if sender == _NOTIFICATION:
                    report((use_sighting(opcode == 1),))  # 0 idled, 1 resumed
