"""Injects the faults of a plan into a real swarm with a real client, and counts what went wrong.

Several clients work at the same time, each struck by a fault of its own. Engines that a fault ended are replaced; every
other fault is healed. A client's own process compares tokens, logits and gradients with the local model.
"""

import contextlib
import math
import os
import signal
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from benchmarks.setup.local_swarm import LocalProcess
from potluck.errors import NetworkError, PotluckError
from potluck.protocol.blocks import Span
from tests.faults.daemons import work_off
from tests.faults.plan import DAEMON_KINDS, ENDING_KINDS, Injection
from tests.faults.surroundings import Disk, Starvation, send
from tests.faults.swarm import ProxiedSwarm, Server
from tests.faults.working import END_S, Client, Outcome, client_of, work

SPANS = (Span(0, 2), Span(2, 4))
_REPLICAS = 3  # one may be struck while another one still starts
_CLIENTS = 2
_OF_ALL = {"client cut off", "everything suspended"}
_CACHE_TOKENS = 240  # a full session takes 232


def inject(folder: Path, plan: Sequence[Injection], *, within_s: float | None = None) -> Outcome:
    """Carry out `plan` on the checkpoint in `folder`, as much of it as can be begun `within_s`."""
    outcome, until = Outcome(), time.monotonic() + (math.inf if within_s is None else within_s)
    options = ("--cache-tokens", str(_CLIENTS * _CACHE_TOKENS))
    with Disk.mounted() as disk:
        with ProxiedSwarm(folder, SPANS * _REPLICAS, options, is_varied=True) as swarm:
            impossible = set() if disk else {"disk full"}
            of_daemons = [each for each in enumerate(plan) if each[1].kind in DAEMON_KINDS]
            others = (each for each in enumerate(plan) if each[1].kind not in DAEMON_KINDS)
            world = _World(swarm, disk, outcome, until, others, impossible)
            with ThreadPoolExecutor(_CLIENTS + 1) as threads:
                daemons = threads.submit(work_off, folder, of_daemons, outcome, until, world.room)
                list(threads.map(world.work_off, range(_CLIENTS)))
                daemons.result()
        outcome.orphans += swarm.local.leftovers()
    return outcome


@dataclass(slots=True)
class _World:
    """What the clients of one run share.

    Attributes:
        disk: on which all files lie; None if this user may not mount one, and then none gets full.
        until: the time (monotonic) after which no injection begins.
        rest: the injections that nobody has begun.
        impossible: kinds for which this user or this system lacks something.
    """

    swarm: ProxiedSwarm
    disk: Disk | None
    outcome: Outcome
    until: float
    rest: Iterator[tuple[int, Injection]]
    impossible: set[str]
    lock: threading.Lock = field(default_factory=threading.Lock)  # on all of it
    room: threading.Lock = field(default_factory=threading.Lock)  # on the disk, for the files of a new process
    waiting: threading.Lock = field(default_factory=threading.Lock)  # for engines, whose events one thread may read

    def work_off(self, number: int) -> None:
        """Carry out injections with one client until there are no more or the time is up."""
        with client_of(self.swarm.local, self.swarm.folder, str(number), self.outcome, self.room) as client:
            while (following := self._next()) is not None:
                _Run(self, client, following[1]).carry_out(following[0])

    def replace(self, ended: Server) -> None:
        """Put another server in the place of one that ended, unless another client's run has done so."""
        with self.lock:
            if ended not in self.swarm.servers:
                return
            self.swarm.drop(ended)
            with self.room:
                self.swarm.add_server(ended.span)

    def wait_online(self, server: Server) -> None:
        """Wait until a server is online; one that gives up is replaced and noted."""
        with self.waiting:
            try:
                server.engine.wait_online()
            except PotluckError as error:
                self.outcome.failed_starts.append(error.message)
                self.replace(server)

    def _next(self) -> tuple[int, Injection] | None:
        with self.lock:
            while time.monotonic() < self.until and (following := next(self.rest, None)) is not None:
                if following[1].kind not in self.impossible:
                    return following
        return None


class _Run:
    """Carries out one injection: a piece of work, the fault in it, and the repair."""

    def __init__(self, world: _World, client: Client, injection: Injection) -> None:
        self._world, self._client, self._injection = world, client, injection
        self._swarm, self._outcome = world.swarm, world.outcome
        self._victims: list[Server] = []
        self._starvation: Starvation | None = None

    def carry_out(self, number: int) -> None:
        if work(self._client, self._outcome, number, self._injection, self._strike, self._heal):
            self._tend()

    def _blocks(self) -> list[int]:
        if self._injection.kind == "both drained":
            return [span.start for span in SPANS]
        return [self._injection.block]

    def _server_of(self, block: int, serving: Mapping[str, str]) -> Server:
        """Return the server that the client uses for `block`, or any other one while that is unknown."""
        servers = [each for each in self._swarm.servers if block in each.span and "online" in each.engine.events]
        return next((each for each in servers if each.peer_id == serving.get(str(block))), servers[0])

    def _strike(self, serving: Mapping[str, str]) -> None:
        injection = self._injection
        with self._world.lock:
            self._victims = [self._server_of(block, serving) for block in self._blocks()]
        match injection.kind:
            case "client suspended":
                send(self._client.family(), signal.SIGSTOP)
            case "p2pd of the client killed":
                send([each for each in self._client.family() if each.name() == "p2pd"], signal.SIGKILL)
            case "client cut off":
                for server in self._servers():
                    with contextlib.suppress(NetworkError):  # as in `_heal`
                        server.proxy.stall()
            case "clock of the client jumps" | "clock of the client wrong":
                self._client.clock.jump(injection.jump_s)
            case "bootstrap frozen":
                send(_family(self._swarm.local.bootstrap), signal.SIGSTOP)
            case "everything suspended":
                for one in (self._swarm.local.bootstrap, *(server.engine for server in self._servers())):
                    send(_family(one), signal.SIGSTOP)
                send(self._client.family(), signal.SIGSTOP)
            case "disk full":
                assert self._world.disk is not None
                self._world.room.acquire()
                self._world.disk.fill()
            case _:
                for victim in self._victims:
                    with contextlib.suppress(NetworkError):  # as in `_heal`
                        self._strike_server(victim)

    def _strike_server(self, victim: Server) -> None:
        match self._injection.kind:
            case "killed":
                victim.engine.kill()
            case "drained" | "both drained":
                victim.engine.ask_to_stop()
            case "frozen" | "frozen for a moment":
                victim.engine.freeze()
            case "machine frozen":
                send(_family(victim.engine), signal.SIGSTOP)
            case "starved":
                self._starvation = Starvation(_family(victim.engine))
            case "p2pd killed":
                send(_p2pds_of(victim), signal.SIGKILL)
            case "p2pd frozen":
                send(_p2pds_of(victim), signal.SIGSTOP)
            case "connections cut":
                victim.proxy.cut()
            case "connections refused":
                victim.proxy.refuse()
            case "lossy":
                victim.proxy.lose()
            case "stalled":
                victim.proxy.stall()
            case "not heard":
                victim.proxy.stall(to_server=False)
            case "not hearing":
                victim.proxy.stall(to_client=False)
            case "clock of the server jumps" | "clock of the server wrong":
                victim.clock.jump(self._injection.jump_s)
            case "files rewritten":
                _rewrite(victim.files)
            case "files truncated":
                for path in victim.files:
                    os.truncate(path, path.stat().st_size // 2)
            case kind:
                raise AssertionError(kind)

    def _heal(self) -> None:
        if self._starvation is not None:
            self._starvation.end()
            self._starvation = None
        if self._injection.kind == "disk full":
            assert self._world.disk is not None
            self._world.disk.heal()
            self._world.room.release()
        self._client.clock.jump(0.0)
        send([*self._client.family(), *_family(self._swarm.local.bootstrap)], signal.SIGCONT)
        for server in self._servers() if self._injection.kind in _OF_ALL else self._victims:
            send(_family(server.engine), signal.SIGCONT)
            server.clock.jump(0.0)
            with contextlib.suppress(NetworkError):  # its proxy has ended: another client's run replaced it
                server.proxy.heal()

    def _tend(self) -> None:
        """Replace servers that have ended, and wait until two of each span are well."""
        if self._injection.kind in ENDING_KINDS:
            for victim in self._victims:
                victim.engine.ask_to_stop()
                victim.engine.wait_stopped(time.monotonic() + END_S)
                self._world.replace(victim)
        for span in SPANS:
            for server in [each for each in self._servers() if each.span == span][: _REPLICAS - 1]:
                self._world.wait_online(server)

    def _servers(self) -> list[Server]:
        with self._world.lock:
            return list(self._swarm.servers)


def _rewrite(files: Sequence[Path]) -> None:
    """Write other weights over a checkpoint, in place, as `cp` does."""
    for path in files:
        with path.open("r+b") as file:
            file.seek(path.stat().st_size // 4)
            file.write(bytes(path.stat().st_size // 2))


def _p2pds_of(server: Server) -> list[psutil.Process]:
    return [process for process in _family(server.engine) if process.name() == "p2pd"]


def _family(ancestor: LocalProcess | None) -> list[psutil.Process]:
    """Return a process of the swarm and its descendants, or none if it has ended."""
    assert ancestor is not None
    with contextlib.suppress(psutil.NoSuchProcess):
        own = psutil.Process(ancestor.pid)
        return [own, *own.children(recursive=True)]
    return []
