"""A connection to a D-Bus for probes, which ask services and wait for their signals.

Probes must not start a service. A plain method call would make the bus do so, therefore the service's name must have an
owner first, and every call carries the flag against auto-start.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

from jeepney import DBusAddress, HeaderFields, Message, MessageFlag, MessageType, new_method_call
from jeepney.auth import AuthenticationError
from jeepney.bus_messages import message_bus
from jeepney.io.asyncio import DBusConnection, open_dbus_connection
from jeepney.wrappers import DBusErrorResponse

from potluck.sentences import sentence
from potluck_daemon.presence.probe import ProbeFailedError, ProbeUnavailableError

CALL_TIMEOUT_S = 5.0
_PROPERTIES = "org.freedesktop.DBus.Properties"


@contextlib.asynccontextmanager
async def bus(address: str, kind: str) -> AsyncIterator[Bus]:
    """Connect to a bus; `kind` is what people call it, "session" or "system".

    Raises:
        ProbeUnavailableError: there is no such bus, or it went away during the body.
        ProbeFailedError: it does not answer.
    """
    try:
        async with asyncio.timeout(CALL_TIMEOUT_S):
            connection = await open_dbus_connection(address)
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
    """One connection: calls, one at a time, and signals."""

    def __init__(self, connection: DBusConnection) -> None:
        self._connection = connection
        self._has_news = False

    async def changes(self, *rules: str) -> AsyncIterator[None]:
        """Yield now, and after every signal that matches one of the rules."""
        for rule in rules:
            await self.ask(message_bus, "AddMatch", "s", (rule,))
        while True:
            self._has_news = False
            yield
            while not self._has_news:
                self._note(await self._connection.receive())

    async def news(self, timeout_s: float) -> bool:
        """Wait for a signal at most so long; return whether one came."""
        self._has_news = False
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                while not self._has_news:
                    self._note(await self._connection.receive())
        return self._has_news

    async def has_owner(self, name: str) -> bool:
        return await self.ask(message_bus, "NameHasOwner", "s", (name,)) == (True,)

    async def require(self, name: str, service: str) -> None:
        """Raise ProbeUnavailableError unless `name` has an owner; `service` is what people call it."""
        if not await self.has_owner(name):
            raise ProbeUnavailableError(sentence("{name} does not run", name=service))

    async def get(self, address: DBusAddress, name: str) -> Any:
        """Return a property's value; None if there is no such property."""
        properties = DBusAddress(address.object_path, address.bus_name, _PROPERTIES)
        answer = await self.ask(properties, "Get", "ss", (address.interface, name))
        return answer[0][1] if answer else None

    async def ask(
        self, address: DBusAddress, method: str, signature: str | None = None, body: tuple[object, ...] = ()
    ) -> tuple[Any, ...] | None:
        """Call a method and return the body of its answer; None for an error: services may end between two calls."""
        call = new_method_call(address, method, signature, body)
        call.header.flags |= MessageFlag.no_auto_start
        serial = next(self._connection.outgoing_serial)
        async with asyncio.timeout(CALL_TIMEOUT_S):
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


def owner_rule(name: str) -> str:
    """Return the rule that matches when a service comes or goes."""
    return f"type='signal',sender='org.freedesktop.DBus',member='NameOwnerChanged',arg0='{name}'"


def signal_rule(address: DBusAddress, interface: str = "") -> str:
    """Return the rule that matches the signals of one object; `interface` defaults to the address's own."""
    return f"type='signal',interface='{interface or address.interface}',path='{address.object_path}'"


def properties_rule(address: DBusAddress) -> str:
    """Return the rule that matches a change of one object's properties."""
    return signal_rule(address, _PROPERTIES)
