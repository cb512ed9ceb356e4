"""Feral GameMode on the session bus: the surest sign there is, pushed the moment a game starts.

GameMode is only listened to, never started: a plain method call would make the bus start gamemoded, so its name must
have an owner first, and every call carries the flag against auto-start.
Interface: https://github.com/FeralInteractive/gamemode (daemon/gamemode-dbus.c).
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from pathlib import Path

from jeepney import DBusAddress, HeaderFields, Message, MessageFlag, MessageType, new_method_call
from jeepney.auth import AuthenticationError
from jeepney.bus_messages import message_bus
from jeepney.io.asyncio import DBusConnection, open_dbus_connection
from jeepney.wrappers import DBusErrorResponse

from potluck_daemon.presence.probe import ProbeUnavailableError, Report, Sighting, Vigilance
from potluck_daemon.presence.processes import program_names
from potluck_daemon.states import Reason

_NAME = "com.feralinteractive.GameMode"
_GAMEMODE = DBusAddress("/com/feralinteractive/GameMode", _NAME, _NAME)
_RULES = (
    f"type='signal',interface='{_NAME}',path='{_GAMEMODE.object_path}'",
    f"type='signal',sender='org.freedesktop.DBus',member='NameOwnerChanged',arg0='{_NAME}'",
)
_CALL_TIMEOUT_S = 5.0


class GameModeProbe:
    """Certain evidence for every game registered with gamemoded."""

    @property
    def name(self) -> str:
        return "GameMode"

    async def watch(self, report: Report, vigilance: Vigilance) -> None:
        try:
            async with asyncio.timeout(_CALL_TIMEOUT_S):
                connection = await open_dbus_connection(_session_bus())
        except (OSError, AuthenticationError, DBusErrorResponse, EOFError, TimeoutError, RuntimeError) as error:
            raise ProbeUnavailableError(f"no session bus ({error or 'no answer'})") from error
        try:
            await _Listener(connection).follow(report)
        except (OSError, EOFError, TimeoutError) as error:
            raise ProbeUnavailableError("the session bus went away") from error
        finally:
            with contextlib.suppress(OSError):
                await connection.close()


class _Listener:
    """Calls and signals over one connection, one question at a time."""

    def __init__(self, connection: DBusConnection) -> None:
        self._connection = connection
        self._has_news = False

    async def follow(self, report: Report) -> None:
        """Report the games now and after every signal."""
        for rule in _RULES:
            await self._ask(message_bus, "AddMatch", "s", (rule,))
        while True:
            self._has_news = False
            report(await self._games())
            while not self._has_news:
                self._note(await self._connection.receive())

    async def _games(self) -> tuple[Sighting, ...]:
        if await self._ask(message_bus, "NameHasOwner", "s", (_NAME,)) != (True,):
            return ()
        answer = await self._ask(_GAMEMODE, "ListGames")
        games = answer[0] if answer and isinstance(answer[0], list) else []
        return tuple(Sighting(Reason.GAME, _program(pid), is_certain=True) for pid, _ in games)

    async def _ask(
        self, address: DBusAddress, method: str, signature: str | None = None, body: tuple[object, ...] = ()
    ) -> tuple[object, ...] | None:
        """The answer's body, or None for an error answer: the service may end between two calls."""
        call = new_method_call(address, method, signature, body)
        call.header.flags |= MessageFlag.no_auto_start
        serial = next(self._connection.outgoing_serial)
        async with asyncio.timeout(_CALL_TIMEOUT_S):
            await self._connection.send(call, serial=serial)
            while True:
                message = await self._connection.receive()
                if message.header.fields.get(HeaderFields.reply_serial) == serial:
                    is_answer = message.header.message_type is MessageType.method_return
                    return tuple(message.body) if is_answer else None
                self._note(message)

    def _note(self, message: Message) -> None:
        if message.header.message_type is MessageType.signal:
            self._has_news = True


def _program(pid: int) -> str:
    names = program_names(Path("/proc") / str(pid))
    return names[0] if names else f"process {pid}"


def _session_bus() -> str:
    """A daemon started by hand may lack the variable, but has the socket."""
    address = os.environ.get("DBUS_SESSION_BUS_ADDRESS")
    if address:
        return address
    return f"unix:path={os.environ.get('XDG_RUNTIME_DIR', f'/run/user/{os.getuid()}')}/bus"
