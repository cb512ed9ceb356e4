"""The child's end of the pipe to its daemon: messages both ways. No torch."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Sequence

from potluck_control import engine_messages as messages
from potluck_control.codec import CodecError
from potluck_control.launch_spec import LaunchSpec

log = logging.getLogger(__name__)

LAUNCH_TIMEOUT_S = 30.0


class DaemonPipe:
    """Made by `open`; call `close` in the end."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def open(cls, handle: int) -> DaemonPipe:
        """Take over the socket with this file descriptor."""
        sock = socket.socket(fileno=handle)
        return cls(*await asyncio.open_connection(sock=sock, limit=messages.MAX_LINE_BYTES))

    def close(self) -> None:
        self._writer.close()

    def send(self, message: messages.Message) -> None:
        """Queue a message. It is dropped if the daemon is gone."""
        if not self._writer.is_closing():
            self._writer.write(messages.encode(message))

    def tell_news(self, news: Sequence[bytes]) -> None:
        """Tell the daemon what is new of the members."""
        self.send(messages.Members(tuple(news)))

    def tell_leader(self) -> None:
        """Tell the daemon that a leader's computer was heard."""
        self.send(messages.Members((), leader_heard=True))

    def tell_met(self, addresses: tuple[str, ...]) -> None:
        """Tell the daemon where members were found."""
        self.send(messages.Met(addresses))

    def tell_nearby(self, why_not: str, found: tuple[str, ...]) -> None:
        """Tell the daemon about the search for members on the local network."""
        self.send(messages.Nearby(why_not, found))

    async def launch(self) -> LaunchSpec | None:
        """Wait for the launch; None: the daemon says Stop or is gone. It says everything else again later.

        Raises:
            TimeoutError: no launch came within `LAUNCH_TIMEOUT_S`.
        """
        async with asyncio.timeout(LAUNCH_TIMEOUT_S):
            while not isinstance(message := await self.read(), LaunchSpec):
                if message is None or isinstance(message, messages.Stop):
                    return None
        return message

    async def read(self) -> messages.Message | None:
        """Return the next known message; None when the daemon is gone."""
        while True:
            try:
                line = await self._reader.readline()
                message = messages.decode(line) if line else None
            except (CodecError, ValueError, ConnectionError) as error:
                log.error("cannot read what the daemon sent: %s", error)
                return None
            if message is not None or not line:
                return message
