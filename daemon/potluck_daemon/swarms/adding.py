"""Lets a further computer of the user into a swarm: waits for it with a code, or goes to where a code leads.

One TCP connection carries the exchange of `potluck.membership.pairing`; each message has its length in front.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import struct
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from potluck.errors import UsageError
from potluck.membership.identity import Identity
from potluck.membership.membership import Membership
from potluck.membership.pairing import (
    MAX_MESSAGE_BYTES,
    PUBLIC_BYTES,
    NewComputer,
    OldComputer,
    PairingCode,
    PairingError,
)
from potluck.membership.statements import Machine, Statement

log = logging.getLogger(__name__)

LIVES_S = 600.0
MAX_WRONG = 5
_MAX_CALLERS = 4  # at a time
_PATIENCE_S = 10.0  # for one exchange
_LENGTH = struct.Struct(">I")
_PUBLIC_ADDRESS = ("192.0.2.1", 9)  # of documentation (RFC 5737); nothing is sent to it


@dataclass(slots=True)
class Waiting:
    """A code, and what came of it.

    Attributes:
        added: name of the computer that used it; empty: none so far.
        problem: why the code has ended without one.
    """

    swarm: str
    code: PairingCode
    expires_at: float  # Unix
    added: str = ""
    problem: str = ""


class Adding:
    """Waits for one computer at a time.

    Args:
        on_added: called with the certificate of a computer that knew the code.
    """

    def __init__(self, on_added: Callable[[Membership, Statement], None]) -> None:
        self.waiting: Waiting | None = None
        self._on_added = on_added
        self._server: asyncio.Server | None = None
        self._end: asyncio.TimerHandle | None = None
        self._num_wrong = 0
        self._num_callers = 0

    async def start(self, membership: Membership, host: str = "") -> Waiting:
        """Wait for a computer, and no longer for an earlier one. Raises UsageError.

        Args:
            host: IPv4 address of this computer, by which the other one reaches it; empty: the usual one.
        """
        person = membership.person_key
        if person is None:
            raise UsageError(
                "this computer cannot add others to your name", hint="do it on the computer that joined the swarm first"
            )
        if membership.roster(time.time()).person(person.public_key().public_bytes_raw()) is None:
            raise UsageError("no member has let you in yet", hint="try again when another member is online")
        await self.stop()
        host = host or own_address()
        try:
            self._server = await asyncio.start_server(lambda *ends: self._meet(membership, *ends), host, 0)
        except OSError as error:
            raise UsageError(f"cannot wait at {host}: {error.strerror}", hint="name another address") from error
        port = self._server.sockets[0].getsockname()[1]
        self._num_wrong = 0
        self.waiting = Waiting(membership.swarm.name, PairingCode.generate(host, port), time.time() + LIVES_S)
        loop = asyncio.get_running_loop()
        self._end = loop.call_later(LIVES_S, lambda: self._give_up("nobody used the code in time"))
        return self.waiting

    async def stop(self) -> None:
        """Wait no longer. Idempotent."""
        self._close()
        self.waiting = None

    async def _meet(self, membership: Membership, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._num_callers >= _MAX_CALLERS:
            writer.close()
            return
        self._num_callers += 1
        try:
            async with asyncio.timeout(_PATIENCE_S):
                await self._certify(membership, reader, writer)
        except PairingError as error:
            log.warning("a computer that wanted to be added failed: %s", error.message)
            self._num_wrong += 1
            if self._num_wrong >= MAX_WRONG:
                self._give_up("somebody tried wrong codes")
        except (OSError, EOFError, TimeoutError) as error:
            log.info("a computer that wanted to be added went away: %s", type(error).__name__)
        finally:
            self._num_callers -= 1
            writer.close()

    async def _certify(
        self, membership: Membership, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        waiting = self.waiting
        public = await _receive(reader)
        if waiting is None or waiting.added or waiting.problem or len(public) != PUBLIC_BYTES:
            return
        side = OldComputer(waiting.code, membership)
        await _send(writer, side.public)
        answer = await asyncio.to_thread(side.certify, public, await _receive(reader), time.time())
        if self.waiting is not waiting or waiting.added or waiting.problem:
            return  # another one was quicker
        await _send(writer, answer)
        statement = side.finish(await _receive(reader))
        assert isinstance(statement.content, Machine)
        waiting.added = statement.content.name
        self._close()
        self._on_added(membership, statement)

    def _give_up(self, because: str) -> None:
        if self.waiting is not None and not self.waiting.added:
            self.waiting.problem = because
        self._close()

    def _close(self) -> None:
        if self._end is not None:
            self._end.cancel()
        if self._server is not None:
            self._server.close()
        self._server = self._end = None


async def go_to(code: PairingCode, machine: Identity, machine_name: str) -> Membership:
    """Return this computer's membership as one of the person who shows the code. Raises UsageError."""
    try:
        async with asyncio.timeout(_PATIENCE_S):
            reader, writer = await asyncio.open_connection(code.host, code.port)
            try:
                side = NewComputer(code, machine, machine_name)
                await _send(writer, side.public)
                proof = await asyncio.to_thread(side.prove, await _receive(reader))
                await _send(writer, proof)
                membership, answer = side.accept(await _receive(reader), time.time())
                await _send(writer, answer)
                return membership
            finally:
                writer.close()
    except EOFError:
        raise UsageError(
            "the computer that showed the code refuses it",
            hint="the code is wrong, or it was used already: get a new one",
        ) from None
    except (OSError, TimeoutError):
        hint = "both computers have to be in one network; otherwise use a backup: potluck members backup"
        raise UsageError("the computer that showed the code cannot be reached", hint=hint) from None


def own_address() -> str:
    """Return the IPv4 address by which this computer's network knows it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe, suppress(OSError):
        probe.connect(_PUBLIC_ADDRESS)
        return str(probe.getsockname()[0])
    return "127.0.0.1"


async def _send(writer: asyncio.StreamWriter, message: bytes) -> None:
    writer.write(_LENGTH.pack(len(message)) + message)
    await writer.drain()


async def _receive(reader: asyncio.StreamReader) -> bytes:
    """Return one message. Raises EOFError and PairingError."""
    (length,) = _LENGTH.unpack(await reader.readexactly(_LENGTH.size))
    if length > MAX_MESSAGE_BYTES:
        raise PairingError("a message is too long")
    return await reader.readexactly(length)
