"""The p2pd process: its arguments, and a process that is started beside one node and never outlives it."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import logging
import os
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from potluck.errors import NetworkError
from potluck.p2p.joining import TryAgainError
from potluck.p2p.network import HostConfig
from potluck.processes import tied_to_parent
from potluck.sentences import sentence
from potluck.tasks import start_task

log = logging.getLogger(__name__)

_STOP_TIMEOUT_S = 2.0
_SPAWN_POLL_S = 0.01
_GOGC = "50"  # percent of garbage beside what lives, instead of 100: many connections leave some
_spawning = threading.Lock()
_RELAY_LIMITS = {  # The defaults end a relayed connection after 4 GiB or 30 minutes, and hold 32 MiB for it.
    "relayMaxCircuits": 512,
    "relayDataLimit": 1 << 50,
    "relayTimeLimit": "24h",
    "relayBufferSize": 1 << 18,
}


class DaemonProcess:
    """A running p2pd; `exited` is done when it has ended, for whatever reason."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._first_line = "nothing"
        self._reader = start_task(self._read_output())
        self.exited = start_task(process.wait())

    @classmethod
    async def start(cls, arguments: Sequence[str], *, timeout_s: float) -> DaemonProcess:
        """Start p2pd and wait until it listens. Raises NetworkError with what p2pd said."""
        environment = {"GOLOG_LOG_LEVEL": "error", "GOGC": _GOGC} | os.environ
        try:
            process = await _spawn(tied_to_parent([str(binary_path()), *arguments], has_pipe=True), environment)
        except OSError as error:
            raise NetworkError(
                sentence("the peer-to-peer process does not start: {why}", why=error.strerror),
                hint=sentence("reinstall the `hivemind` package for this kind of machine"),
            ) from error
        self = cls(process)
        try:
            await asyncio.wait_for(self._ready, timeout_s)
        except TimeoutError as error:
            await self.stop()
            raise TryAgainError(
                sentence("the peer-to-peer process did not start within {number} s", number=f"{timeout_s:.0f}"),
                hint=sentence("close programs that keep this computer busy"),
            ) from error
        except BaseException:
            await self.stop()
            raise
        return self

    @property
    def pid(self) -> int:
        return self._process.pid

    async def stop(self) -> None:
        """End p2pd: politely, then not. Idempotent."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self._process.terminate()
            done, _ = await asyncio.wait({self.exited}, timeout=_STOP_TIMEOUT_S)
            if not done:
                with contextlib.suppress(ProcessLookupError):
                    self._process.kill()
        await self.exited
        await self._reader

    async def _read_output(self) -> None:
        assert self._process.stdout is not None
        async for line in self._process.stdout:
            text = line.decode(errors="replace").rstrip()
            log.debug("p2pd: %s", text)
            if self._first_line == "nothing":
                self._first_line = text  # the first line tells why; a panic's others are its stack
            if text.startswith("Peer ID:") and not self._ready.done():
                self._ready.set_result(None)
        if not self._ready.done():
            text = f"the peer-to-peer process ended at once: {self._first_line[:200]}"
            self._ready.set_exception(NetworkError(text, hint="install Potluck again if its files are not whole"))


def p2pd_arguments(config: HostConfig, identity_path: Path) -> list[str]:
    """Return the arguments with which p2pd serves a node."""
    nat = not config.is_alone
    serves = nat and not config.dht_client
    relays = serves and config.relays_for_others and not config.relays
    arguments: dict[str, object] = {
        "id": identity_path.absolute(),
        "connManager": 1,
        "connGrace": "20s",  # p2pd closes older connections of strangers when it has 512, see `keep_connected`
        "idleTimeout": "30s",
        "relay": int(nat),
        "relayService": int(relays),
        "autonat": int(serves),  # AutoNAT also makes p2pd try to punch holes
        "natPortMap": int(serves),
    }
    if config.is_open:  # stock peers find each other by p2pd's own DHT
        arguments["dhtClient" if config.is_client else "dhtServer"] = 1
    elif config.relays:  # p2pd takes relays only with a DHT; a client serves nobody
        arguments["dhtClient"] = 1
    if relays:
        arguments |= _RELAY_LIMITS
    if config.listen_addrs:
        arguments["hostAddrs"] = ",".join(config.listen_addrs)
    else:
        arguments["noListenAddrs"] = 1
    if config.announce_addrs:
        arguments["announceAddrs"] = ",".join(config.announce_addrs)
    if config.relays:  # p2pd's own search for relays takes three minutes when few are known
        arguments |= {"autoRelay": 1, "relayDiscovery": 0, "forceReachabilityPrivate": 1}
        arguments["trustedRelays"] = ",".join(config.relays)
    return [f"-{name}={value}" for name, value in arguments.items()]


def binary_path() -> Path:
    """Return the path of the p2pd that comes with hivemind."""
    spec = importlib.util.find_spec("hivemind")
    if spec is None or spec.origin is None:
        raise NetworkError(
            sentence("the peer-to-peer library is not installed"),
            hint=sentence("install potluck with the extra `client`"),
        )
    return Path(spec.origin).parent / "hivemind_cli" / "p2pd"


async def _spawn(command: Sequence[str], environment: Mapping[str, str]) -> asyncio.subprocess.Process:
    """Start a process, one at a time in all loops.

    WORKAROUND: uvloop does not start two at once in different threads (https://github.com/MagicStack/uvloop/issues/508).
    """
    while not _spawning.acquire(blocking=False):  # noqa: ASYNC110 (an event belongs to one loop)
        await asyncio.sleep(_SPAWN_POLL_S)
    try:
        return await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env=environment,
            cwd="/",  # p2pd must not keep the folder of its user from being unmounted
        )
    finally:
        _spawning.release()
