"""Runs the daemon's children, an engine or a standby node, and carries their messages over a pipe. Loads no torch.

A child ends when its work is done or when the daemon ends: on SIGTERM, which the kernel sends then, at the end of the
pipe, or, if its event loop hangs, by a thread that watches the daemon. Only the daemon judges whether a child hangs.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Coroutine
from typing import Any

from potluck_control.processes import engine_messages
from potluck_control.processes.launch_spec import LaunchSpec

from potluck.errors import PotluckError
from potluck.p2p.network import HostConfig
from potluck.protocol.codec import CodecError
from potluck.tasks import run_until_first_ends

log = logging.getLogger(__name__)

_STOP_TIMEOUT_S = 7.0  # shorter than the daemon's, so that a stubborn engine still ends with the right code
_PARENT_CHECK_S = 5.0


async def serve_daemon(handle: int, work: Callable[[DaemonPipe], Coroutine[Any, Any, None]]) -> int:
    """Do `work` for the daemon at the other end of `handle` until it returns or a signal comes. Return the exit code.

    Args:
        work: what the child does; a PotluckError that it raises is sent to the daemon.
    """
    must_end = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, must_end.set)
    threading.Thread(target=_end_with_parent, args=(os.getppid(),), name="daemon", daemon=True).start()
    pipe = await DaemonPipe.open(handle)
    pipe.send(engine_messages.Hello(pid=os.getpid()))
    try:
        await run_until_first_ends(work(pipe), must_end.wait(), on_end=exit_soon)
        return 0
    except PotluckError as error:
        pipe.send(engine_messages.Failed(error.sentence, error.advice))
        return 1
    finally:
        pipe.close()


def _end_with_parent(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_PARENT_CHECK_S)
    exit_soon()


def exit_soon(timeout_s: float = _STOP_TIMEOUT_S) -> None:
    """End the process after `timeout_s` even if something hangs, because somebody may be waiting for its memory."""
    timer = threading.Timer(timeout_s, os._exit, args=(1,))
    timer.daemon = True
    timer.start()


def exit_now() -> None:
    """End the process now. The kernel frees its memory and ends the processes that are tied to it, such as p2pd."""
    os._exit(0)


class DaemonPipe:
    """A child's end of the pipe to the daemon. Make it with `open`, and `close` it at the end."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def open(cls, handle: int) -> DaemonPipe:
        """Return a pipe over the socket with this file descriptor, which the pipe owns from now on."""
        sock = socket.socket(fileno=handle)
        return cls(*await asyncio.open_connection(sock=sock, limit=engine_messages.MAX_LINE_BYTES))

    def close(self) -> None:
        self._writer.close()

    def send(self, message: engine_messages.Said) -> None:
        """Queue a message. It is dropped if the daemon is gone."""
        if not self._writer.is_closing():
            self._writer.write(engine_messages.encode(message))

    def callbacks(self) -> HostConfig:
        """Return callbacks that send the daemon what a host learns about members."""
        return HostConfig(
            on_news=lambda news: self.send(engine_messages.MemberRecords(tuple(news))),
            on_leader=lambda: self.send(engine_messages.MemberRecords((), leader_heard=True)),
            on_met=lambda addresses: self.send(engine_messages.Met(addresses)),
            on_nearby=lambda found: self.send(engine_messages.Nearby(found)),
        )

    async def launch(self) -> LaunchSpec | None:
        """Wait for the launch specification; None if the daemon says Stop or is gone.

        Other messages are dropped, because the daemon repeats them after the launch.
        """
        while not isinstance(message := await self.read(), engine_messages.Launch):
            if message is None or isinstance(message, engine_messages.Stop):
                return None
        return message.spec

    async def read(self) -> engine_messages.Said | None:
        """Return the next message of a known kind; None when the daemon is gone."""
        while True:
            try:
                line = await self._reader.readline()
                message = engine_messages.decode(line) if line else None
            except (CodecError, ValueError, ConnectionError) as error:
                log.error("cannot read what the daemon sent: %s", error)
                return None
            if message is not None or not line:
                return message
