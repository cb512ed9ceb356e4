"""Connects to the D-Bus, for probes that ask a service and wait for its signals.

Probes must not start a service, which the bus does for a plain method call. So the service's name must have an owner
first, and every call carries the flag against auto-start.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Literal

from jeepney import DBusAddress, HeaderFields, Message, MessageFlag, MessageType, new_method_call
from jeepney.auth import AuthenticationError
from jeepney.bus_messages import message_bus
from jeepney.io.asyncio import DBusConnection, open_dbus_connection
from jeepney.wrappers import DBusErrorResponse

from potluck.sentences import Sentence, sentence
from potluck_daemon.presence.probe import (
    ProbeFailedError,
    ProbeUnavailableError,
    Report,
    Sighting,
    Situation,
    Surroundings,
)

CALL_TIMEOUT_S = 5.0
PROPERTIES = "org.freedesktop.DBus.Properties"
BusKind = Literal["session", "system"]


@contextlib.asynccontextmanager
async def bus(at: Surroundings, kind: BusKind) -> AsyncIterator[Bus]:
    """Connect to a bus.

    Raises:
        ProbeUnavailableError: there is no such bus, or it went away during the body.
        ProbeFailedError: it does not answer.
    """
    try:
        async with asyncio.timeout(CALL_TIMEOUT_S):
            connection = await open_dbus_connection(at.session_bus if kind == "session" else at.system_bus)
    except (OSError, AuthenticationError, DBusErrorResponse, EOFError, TimeoutError, RuntimeError) as error:
        why = getattr(error, "strerror", None) or str(error) or "no answer"
        raise ProbeUnavailableError(sentence("no {what} bus ({why})", what=kind, why=why)) from error
    try:
        yield Bus(connection)
    except TimeoutError as error:
        raise ProbeFailedError(sentence("a service on the {what} bus does not answer", what=kind)) from error
    except (OSError, EOFError) as error:
        raise ProbeUnavailableError(sentence("the {what} bus went away", what=kind)) from error
    finally:
        with contextlib.suppress(OSError):
            await connection.close()


class Bus:
    """One connection. It makes one call at a time, and waits for signals."""

    def __init__(self, connection: DBusConnection) -> None:
        self._connection = connection
        self._has_signal = False

    async def changes(self, *rules: str) -> AsyncIterator[None]:
        """Yield now, and after every signal that matches one of the rules."""
        for rule in rules:
            await self.call(message_bus, "AddMatch", "s", (rule,))
        while True:
            self._has_signal = False
            yield
            while not self._has_signal:
                self._notice_signal(await self._connection.receive())

    async def has_owner(self, name: str) -> bool:
        """Return whether a service has this name now."""
        return await self.call(message_bus, "NameHasOwner", "s", (name,)) == (True,)

    async def require(self, name: str, service: str) -> None:
        """Raise ProbeUnavailableError unless `name` has an owner; `service` is what people call it."""
        if not await self.has_owner(name):
            raise ProbeUnavailableError(sentence("{name} does not run", name=service))

    async def get(self, address: DBusAddress, name: str) -> Any:
        """Return a property's value; None if there is no such property."""
        properties = DBusAddress(address.object_path, address.bus_name, PROPERTIES)
        answer = await self.call(properties, "Get", "ss", (address.interface, name))
        return answer[0][1] if answer else None

    async def call(
        self, address: DBusAddress, method: str, signature: str | None = None, body: tuple[object, ...] = ()
    ) -> tuple[Any, ...] | None:
        """Call a method and return the body of its answer; None for an error: services may end between two calls."""
        message = new_method_call(address, method, signature, body)
        message.header.flags |= MessageFlag.no_auto_start
        serial = next(self._connection.outgoing_serial)
        async with asyncio.timeout(CALL_TIMEOUT_S):
            await self._connection.send(message, serial=serial)
            while True:
                received = await self._connection.receive()
                if received.header.fields.get(HeaderFields.reply_serial) == serial:
                    is_answer = received.header.message_type is MessageType.method_return
                    return tuple(received.body) if is_answer else None
                self._notice_signal(received)

    def _notice_signal(self, message: Message) -> None:
        if message.header.message_type is MessageType.signal:
            self._has_signal = True


@dataclass(frozen=True, slots=True)
class ServiceProbe:
    """A probe that reports what `read` finds at a service, now and after each signal that matches a rule."""

    name: Sentence
    at: Surroundings
    kind: BusKind
    rules: tuple[str, ...]
    read: Callable[[Bus], Awaitable[tuple[Sighting, ...]]]

    async def watch(self, report: Report, situation: Situation) -> None:
        async with bus(self.at, self.kind) as connection:
            async for _ in connection.changes(*self.rules):
                report(await self.read(connection))


def signal_rule(address: DBusAddress, interface: str = "") -> str:
    """Return the rule that matches the signals of one object; `interface` defaults to the address's own."""
    return f"type='signal',interface='{interface or address.interface}',path='{address.object_path}'"
