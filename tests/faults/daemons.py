"""Two daemons that serve the same blocks to a client, and what happens to one of them while its engine is in use.

One is killed, hung, restarted, or its state is damaged while it runs. The client's work has to survive that, and the
daemon has to come back: with everything that it knew, or with a notice that says what is damaged.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import psutil
from potluck_control.methods import earnings, swarms
from potluck_control.states import State

from benchmarks.faults.damage import damage
from benchmarks.setup.local_swarm import LocalSwarm
from tests.faults.plan import Injection
from tests.faults.surroundings import send
from tests.faults.working import Client, Outcome, client_of, work
from tests.helpers.daemon_process import LOOPBACK, DaemonProcess

_DAEMONS = 2
_END_S = 10.0  # in which everything of a killed daemon has ended
_SETTINGS = f'{LOOPBACK}checkpoint = "{{checkpoint}}"\n[limits]\ndisk_free_mb = 0\n'  # the disk is a small one
_STATE_SUFFIXES = {".json", ".jsonl", ".toml", ".sqlite", ".key", ".copy"}


@dataclass(frozen=True, slots=True)
class _Known:
    """What a daemon knows and may not forget."""

    swarms: tuple[str, ...]
    peer_id: str
    settings: str
    earned_tokens: int
    served_s: float
    notices: frozenset[str]

    def is_lost_in(self, later: _Known, *, is_saved: bool) -> bool:
        """Compare what it knows with a later state; the time served is on disk only if it ended in peace."""
        return (
            (self.swarms, self.peer_id, self.settings) != (later.swarms, later.peer_id, later.settings)
            or later.earned_tokens < self.earned_tokens
            or (is_saved and later.served_s < self.served_s)
        )


class Daemons:
    """The daemons of one swarm; inside the context they serve."""

    def __init__(self, folder: Path) -> None:
        self.local = LocalSwarm(folder, spans=())
        self.folder = folder
        self.all: list[DaemonProcess] = []
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> Daemons:
        with contextlib.ExitStack() as stack:
            stack.enter_context(self.local)
            for _ in range(_DAEMONS):
                daemon = stack.enter_context(DaemonProcess(_SETTINGS.format(checkpoint=self.folder)))
                daemon.become_founder(self.local)
                self.all.append(daemon)
            for daemon in self.all:
                daemon.wait_state(State.SERVING)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def stop(self) -> Iterator[str]:
        """Stop the daemons, and yield the processes that outlive theirs."""
        for daemon in self.all:
            daemon.stop()
            yield from (f"{process.name()} of a stopped daemon" for process in daemon.processes())


def work_off(
    folder: Path,
    injections: Iterable[tuple[int, Injection]],
    outcome: Outcome,
    until: float,
    room: threading.Lock,
) -> None:
    """Carry out injections into daemons, as many as can be begun `until` then (monotonic).

    Args:
        room: is held while a daemon or the client starts, because they need room on the disk.
    """
    with contextlib.ExitStack() as stack:
        with room:
            daemons = stack.enter_context(Daemons(folder))
        with client_of(daemons.local, folder, "of-daemons", outcome, room) as client:
            for number, injection in injections:
                if time.monotonic() > until:
                    break
                _Run(daemons, client, injection, outcome, room).carry_out(number)
        outcome.orphans += daemons.stop()


class _Run:
    """Carries out one injection into the daemon whose engine the client uses."""

    def __init__(
        self, daemons: Daemons, client: Client, injection: Injection, outcome: Outcome, room: threading.Lock
    ) -> None:
        self._daemons, self._client, self._injection = daemons, client, injection
        self._outcome, self._room = outcome, room
        self._victim = daemons.all[0]
        self._family: list[psutil.Process] = []
        self._damaged = ""
        self._rng = random.Random()

    def carry_out(self, number: int) -> None:
        self._rng = random.Random(number)
        before = {daemon: _known(daemon) for daemon in self._daemons.all}
        if not work(self._client, self._outcome, number, self._injection, self._strike, self._heal):
            return
        self._bring_back()
        what = f"{number}: {self._injection.kind} {self._damaged}"
        self._outcome.silent += [f"{what}: {found}" for found in self._forgotten(before[self._victim])]

    def _strike(self, serving: Mapping[str, str]) -> None:
        peers = set(serving.values())
        self._victim = next((each for each in self._daemons.all if _peer_id(each) in peers), self._daemons.all[0])
        self._family = psutil.Process(self._victim.pid).children(recursive=True)
        match self._injection.kind:
            case "daemon killed":
                self._victim.kill()
            case "daemon hung":
                os.kill(self._victim.pid, signal.SIGSTOP)
            case "daemon restarted":
                os.kill(self._victim.pid, signal.SIGTERM)
            case "state of the daemon damaged":
                path = self._rng.choice(_state_files(self._victim))
                self._damaged = f"({path.name}: {damage(path, self._rng)})"
            case kind:
                raise AssertionError(kind)

    def _heal(self) -> None:
        if self._injection.kind == "daemon hung":
            send([psutil.Process(self._victim.pid)], signal.SIGCONT)

    def _bring_back(self) -> None:
        """Start the daemon again, as a person or the service manager does, unless it still runs."""
        match self._injection.kind:
            case "daemon hung":
                return
            case "daemon restarted" | "state of the daemon damaged":
                self._victim.stop()
        _, alive = psutil.wait_procs(self._family, timeout=_END_S)
        self._outcome.orphans += [f"{process.name()} after {self._injection.kind}" for process in alive]
        with self._room:
            self._victim.start()

    def _forgotten(self, before: _Known) -> Iterator[str]:
        """Yield what the daemon lost without a word. One that lost something gets it back for the next injection."""
        now: _Known | None = None
        try:
            self._victim.wait_state(State.SERVING)
            now = _known(self._victim)
            is_lost = before.is_lost_in(now, is_saved=self._injection.kind != "daemon killed")
        except AssertionError:
            self._victim.start()
            is_lost = True
        if not is_lost:
            return
        if set(map(str, self._victim.status().notices)) <= before.notices:
            yield f"{before} became {now}, and no notice says so"
        self._victim.write_settings(before.settings)
        self._victim.become_founder(self._daemons.local)
        self._victim.wait_state(State.SERVING)


def _known(daemon: DaemonProcess) -> _Known:
    client = daemon.client
    total = client.call(earnings.SUMMARY).total
    return _Known(
        tuple(swarm.name for swarm in client.call(swarms.LIST).swarms),
        _peer_id(daemon),
        daemon.settings_file.read_text(errors="replace") if daemon.settings_file.exists() else "",
        total.tokens,
        total.served_s,
        frozenset(map(str, daemon.status().notices)),
    )


def _peer_id(daemon: DaemonProcess) -> str:
    swarm = daemon.status().swarm
    return swarm.peer_id if swarm is not None else ""


def _state_files(daemon: DaemonProcess) -> list[Path]:
    folders = (daemon.state_folder, daemon.settings_file.parent)
    return [path for folder in folders for path in sorted(folder.iterdir()) if path.suffix in _STATE_SUFFIXES]
