"""A local swarm with a proxy before each engine, and a clock and a copy of the checkpoint for each."""

import contextlib
import itertools
import random
import shutil
import socket
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from benchmarks.setup.local_swarm import LocalEngine, LocalSwarm
from potluck.protocol.blocks import PeerId, Span
from tests.faults.proxy import Proxy
from tests.faults.surroundings import Clock

_PORTS = range(20_000, 32_000)  # below those that the system gives to connections
_WRONG_S = (0.0, 1.4, -1.4)  # of servers' clocks: the DHT admits no node that is off by more than 3 s from another one
_IN_TIME_NAMESPACE = ("unshare", "--time", "--monotonic", "1000000")  # s by which a monotonic clock is ahead


@dataclass(frozen=True, slots=True)
class Server:
    """An engine, the only way to it, its clock, and its own files, if it has them."""

    engine: LocalEngine
    proxy: Proxy
    clock: Clock
    files: tuple[Path, ...] = ()

    @property
    def span(self) -> Span:
        return self.engine.span

    @property
    def peer_id(self) -> PeerId:
        return self.engine.peer_id


class ProxiedSwarm:
    """A swarm on loopback; inside the context its first servers are online."""

    def __init__(
        self, folder: Path, spans: Sequence[Span], options: Sequence[str] = (), *, is_varied: bool = False
    ) -> None:
        """Choose who serves what; `is_varied` gives each server files and a clock of its own."""
        self.servers: list[Server] = []
        self.local = LocalSwarm(folder, spans=(), serve_options=options)
        self.folder, self._spans, self._is_varied = folder, spans, is_varied
        self._has_time_namespaces = is_varied and _works((*_IN_TIME_NAMESPACE, "true"))
        self._ports = iter(random.sample(_PORTS, len(_PORTS)))  # none twice: servers' files are named after them
        self._variants = itertools.cycle(itertools.product(_WRONG_S, (True, False)))

    def __enter__(self) -> Self:
        self.local.__enter__()
        try:
            for server in [self.add_server(span) for span in self._spans]:
                server.engine.wait_online()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for server in self.servers:
            server.proxy.heal()  # an engine that cannot be heard takes long to leave
        self.local.close()
        while self.servers:
            self.drop(self.servers[0])

    def add_server(self, span: Span) -> Server:
        """Start one more server, without waiting until it is online."""
        port = _next_free(self._ports)
        proxy = Proxy(port)
        proxy.start()
        way = ("--port", str(port), "--announce", f"/ip4/127.0.0.1/tcp/{proxy.port}")
        wrong_s, is_later = next(self._variants) if self._is_varied else (0.0, False)
        if self._is_varied:
            copy = self.local.folder / f"files-{port}" / self.folder.name
            self.local.checkpoint = Path(shutil.copytree(self.folder, copy))
        files = tuple(self.local.checkpoint.glob("*.safetensors")) if self._is_varied else ()
        clock = Clock(self.local.folder / f"clock-{port}", wrong_s)
        before = _IN_TIME_NAMESPACE if is_later and self._has_time_namespaces else ()
        engine = self.local.add_engine(span, options=way, environment=clock.environment(), before=before)
        server = Server(engine, proxy, clock, files)
        self.servers.append(server)
        return server

    def drop(self, server: Server) -> None:
        """Forget a server that has ended."""
        self.servers.remove(server)
        server.proxy.close()

    def server_of(self, peer: str) -> Server:
        return next(server for server in self.servers if server.engine.is_alive and server.peer_id == peer)

    def serving(self, model: object, block: int) -> Server:
        """Return who serves `block` in the latest session of `model`."""
        (route,) = model.last_route()  # type: ignore[attr-defined]
        return self.server_of(next(hop.peer_id for hop in route.hops if block in hop.span))


def _next_free(ports: Iterator[int]) -> int:
    """Return a port that nobody has and no connection gets by itself before the server starts."""
    for port in ports:
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise AssertionError("no port is free")


def _works(command: Sequence[str]) -> bool:
    """Return whether this system has the command and this user may do so."""
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False
