"""A local swarm with a proxy before each engine, and a clock and a copy of the checkpoint for each."""

from __future__ import annotations

import shutil
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from benchmarks.local_swarm import LocalEngine, LocalSwarm
from potluck.protocol.blocks import PeerId, Span
from tests.faults.proxy import Proxy
from tests.faults.surroundings import Clock


@dataclass(frozen=True, slots=True)
class Server:
    """An engine, the only way to it, its clock, and the files of its model, if they are its own."""

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
        self, folder: Path, spans: Sequence[Span], options: Sequence[str] = (), *, own_files: bool = False
    ) -> None:
        self.servers: list[Server] = []
        self.local = LocalSwarm(folder, spans=(), serve_options=options)
        self.folder, self._spans, self._own_files = folder, spans, own_files

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
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        proxy = Proxy(port)
        proxy.start()
        way = ("--port", str(port), "--announce", f"/ip4/127.0.0.1/tcp/{proxy.port}")
        if self._own_files:
            copy = self.local.folder / f"files-{port}" / self.folder.name
            self.local.checkpoint = Path(shutil.copytree(self.folder, copy))
        files = tuple(self.local.checkpoint.glob("*.safetensors")) if self._own_files else ()
        clock = Clock(self.local.folder / f"clock-{port}")
        engine = self.local.add_engine(span, options=way, environment=clock.environment())
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
