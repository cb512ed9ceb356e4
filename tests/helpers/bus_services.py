"""Desktop services on a private D-Bus: the interfaces as their projects define them, with a state that tests change.

They are real services on a real bus: they own their names, answer calls and properties, and send signals. Each test
gets a bus of its own, so nothing of the machine is touched.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from dbus_fast import BusType, Message, MessageType, Variant
from dbus_fast.aio import MessageBus
from helpers.probe_reports import WAIT_S

LOGIN1 = "org.freedesktop.login1"
MANAGER = f"{LOGIN1}.Manager"
LOGIN1_PATH = "/org/freedesktop/login1"
_PROPERTIES = "org.freedesktop.DBus.Properties"

Answer = tuple[str, list[Any]]  # signature and body


class Service:
    """One name on a bus with objects, properties and methods; use as an async context manager."""

    def __init__(self, address: str, *names: str) -> None:
        self._address = address
        self._names = names
        self._bus: MessageBus
        self.properties: dict[tuple[str, str, str], Variant] = {}  # path, interface, name
        self.methods: dict[tuple[str, str], Callable[..., Answer]] = {}  # interface, method
        self.is_silent = False  # no method gets an answer

    async def __aenter__(self) -> Service:
        self._bus = await MessageBus(self._address, bus_type=BusType.SESSION, negotiate_unix_fd=True).connect()
        self._bus.add_message_handler(self._handle)
        for name in self._names:
            await self._bus.request_name(name)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._bus.disconnect()
        await self._bus.wait_for_disconnect()

    async def set(self, path: str, interface: str, name: str, value: Variant) -> None:
        """Change a property and tell those who listen."""
        self.properties[path, interface, name] = value
        await self.signal(path, _PROPERTIES, "PropertiesChanged", "sa{sv}as", [interface, {name: value}, []])

    async def signal(self, path: str, interface: str, member: str, signature: str = "", body: Any = ()) -> None:
        await self._bus.send(Message.new_signal(path, interface, member, signature, list(body)))

    def _handle(self, message: Message) -> Message | None:
        if message.message_type is not MessageType.METHOD_CALL or message.interface is None:
            return None
        if (message.interface, message.member) == (_PROPERTIES, "Get"):
            found = self.properties.get((message.path or "", *message.body))
            if found is None:
                return Message.new_error(message, "org.freedesktop.DBus.Error.UnknownProperty", "no such property")
            return Message.new_method_return(message, "v", [found])
        method = self.methods.get((message.interface, message.member or ""))
        if method is None or self.is_silent:
            return Message.new_signal("/nothing", "no.answer", "Nothing") if self.is_silent else None
        signature, body = method(*message.body)
        if signature == "h":
            return Message.new_method_return(message, "h", [0], unix_fds=body)
        return Message.new_method_return(message, signature, body)


@dataclass(slots=True)
class Login:
    """One session that logind knows."""

    uid: int = field(default_factory=os.getuid)
    user: str = "me"
    seat: str = "seat0"
    kind: str = "wayland"
    active: bool = True
    locked: bool = False
    idle: bool = False
    login_class: str = "user"


class Logind(Service):
    """systemd-logind: sessions, sleep and inhibitors."""

    def __init__(self, address: str) -> None:
        super().__init__(address, LOGIN1)
        self.logins: dict[str, Login] = {}
        self.inhibitors: list[int] = []  # our ends of the pipes that were handed out
        self._given: int | None = None  # our copy of the end that was sent last
        self.methods[MANAGER, "ListSessions"] = self._list
        self.methods[MANAGER, "Inhibit"] = self._inhibit
        self.properties[LOGIN1_PATH, MANAGER, "PreparingForSleep"] = Variant("b", False)

    def login(self, name: str, login: Login) -> str:
        """Add or replace a session; returns its object's path."""
        path = f"{LOGIN1_PATH}/session/{name}"
        self.logins[name] = login
        texts = {"Class": login.login_class, "Type": login.kind}
        flags = {"Active": login.active, "LockedHint": login.locked, "IdleHint": login.idle}
        values = {name: Variant("s", text) for name, text in texts.items()}
        values |= {name: Variant("b", flag) for name, flag in flags.items()}
        for name, value in values.items():
            self.properties[path, f"{LOGIN1}.Session", name] = value
        return path

    async def change(self, name: str, login: Login) -> None:
        """As `login`, and tell those who listen."""
        path = self.login(name, login)
        await self.set(path, f"{LOGIN1}.Session", "IdleHint", Variant("b", login.idle))

    async def prepare_for_sleep(self, starts: bool) -> None:
        self.properties[LOGIN1_PATH, MANAGER, "PreparingForSleep"] = Variant("b", starts)
        await self.signal(LOGIN1_PATH, MANAGER, "PrepareForSleep", "b", [starts])

    @property
    def num_inhibitors(self) -> int:
        """How many are held: their other end is open."""
        if self._given is not None:
            os.close(self._given)
            self._given = None
        return sum(_is_open(handle) for handle in self.inhibitors)

    async def until_released(self) -> None:
        """No inhibitor is held. The bus itself may hold one a moment longer than the program that closed it."""
        async with asyncio.timeout(WAIT_S):
            while self.num_inhibitors:  # noqa: ASYNC110 - a pipe that is closed tells nobody
                await asyncio.sleep(0.01)

    def close_pipes(self) -> None:
        while self.inhibitors:
            os.close(self.inhibitors.pop())

    def _list(self) -> Answer:
        rows = [
            [name, login.uid, login.user, login.seat, f"{LOGIN1_PATH}/session/{name}"]
            for name, login in self.logins.items()
        ]
        return "a(susso)", [rows]

    def _inhibit(self, *_: str) -> Answer:
        ours, theirs = os.pipe()
        os.set_blocking(ours, False)
        self.inhibitors.append(ours)
        self._given = theirs
        return "h", [theirs]


def _is_open(handle: int) -> bool:
    try:
        return os.read(handle, 1) != b""
    except BlockingIOError:
        return True
