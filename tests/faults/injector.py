"""Injects the faults of a plan into a real swarm with a real client, and counts what went wrong.

Engines that a fault ended are replaced; every other fault is healed. The client's own process compares tokens, logits
and gradients with the local model.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import psutil

from potluck.errors import PotluckError
from potluck.processes import tied_to_parent
from potluck.protocol.blocks import Span
from tests.faults.plan import Injection
from tests.faults.swarm import ProxiedSwarm, Server

SPANS = (Span(0, 2), Span(2, 4))
_REPLICAS = 3  # one may be struck while another one still starts
_CACHE_TOKENS = 240  # a full session takes 232
_PREFILL_DELAYS_S = 0.05  # from the order to the first token, about
# The engine, or the use of it.
_ENDS = {"drained", "both drained", "killed", "p2pd killed", "files rewritten", "files truncated"}
_END_S = 200.0  # longer than a client waits for servers
_ROOT = Path(__file__).parents[2]


@dataclass(slots=True)
class Outcome:
    """What happened in a run."""

    kinds: Counter[str] = field(default_factory=Counter)
    lost: list[str] = field(default_factory=list)
    differing: list[str] = field(default_factory=list)
    orphans: list[str] = field(default_factory=list)
    waits_s: list[float] = field(default_factory=list)  # from the strike to the end of the work

    @property
    def faults(self) -> int:
        return len(self.lost) + len(self.differing) + len(self.orphans)


def inject(folder: Path, plan: Sequence[Injection], *, within_s: float | None = None) -> Outcome:
    """Carry out `plan` on the checkpoint in `folder`, as much of it as can be begun `within_s`."""
    outcome, began = Outcome(), time.monotonic()
    with ProxiedSwarm(folder, SPANS * _REPLICAS, ("--cache-tokens", str(_CACHE_TOKENS)), own_files=True) as swarm:
        with Client(swarm.local.invite, folder, swarm.local.environment()) as client:
            for number, injection in enumerate(plan):
                if within_s is not None and time.monotonic() - began > within_s:
                    break
                _Run(swarm, client, injection, outcome).carry_out(number)
            family = client.family()
        _, alive = psutil.wait_procs(family, timeout=10)
        outcome.orphans += [f"{process.name()} of the client" for process in alive]
    outcome.orphans += swarm.local.leftovers()
    return outcome


class Client:
    """The process of `tests.faults.client`."""

    def __init__(self, invite: str, folder: Path, environment: dict[str, str]) -> None:
        self.news: queue.Queue[dict[str, Any]] = queue.Queue()
        self._process = subprocess.Popen(
            tied_to_parent([sys.executable, "-m", "tests.faults.client", invite, str(folder)]),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=_ROOT,
            env={**environment, "PYTHONPATH": str(_ROOT)},
        )
        self._reader = threading.Thread(target=self._read, daemon=True)

    def __enter__(self) -> Self:
        self._reader.start()
        self.hear("ready")
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(30)
        self._process.kill()
        self._process.wait()
        self._reader.join()
        assert self._process.stdout is not None
        self._process.stdout.close()

    def tell(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()

    def hear(self, *events: str) -> dict[str, Any]:
        """Wait for one of these events. Raises PotluckError if it does not come."""
        try:
            heard = self.news.get(timeout=_END_S)
        except queue.Empty:
            raise PotluckError(f"the client says nothing for {_END_S:g} s") from None
        if heard["event"] not in events:
            raise PotluckError(f"the client said {heard} instead of {' or '.join(events)}")
        return heard

    def family(self) -> list[psutil.Process]:
        own = psutil.Process(self._process.pid)
        return [own, *own.children(recursive=True)]

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.news.put(json.loads(line))
        self.news.put({"event": "ended"})


class _Run:
    """One injection."""

    def __init__(self, swarm: ProxiedSwarm, client: Client, injection: Injection, outcome: Outcome) -> None:
        self._swarm, self._client, self._injection, self._outcome = swarm, client, injection, outcome
        self._victims: list[Server] = []

    def carry_out(self, number: int) -> None:
        injection = self._injection
        self._outcome.kinds[injection.kind] += 1
        self._client.tell(json.dumps({"seed": number, "work": injection.work, "strike_at": injection.strike_at}))
        if injection.strike_at:
            heard = self._client.hear("paused", "lost")
            if heard["event"] == "lost":
                self._outcome.lost.append(f"{number}: {injection}: before anything happened: {heard['why']}")
                return
            self._victims = [self._swarm.server_of(heard["serving"][str(block)]) for block in self._blocks()]
        else:
            time.sleep(_PREFILL_DELAYS_S)
            self._victims = [
                next(each for each in self._swarm.servers if block in each.span) for block in self._blocks()
            ]
        began = time.monotonic()
        self._strike()
        if injection.strike_at:
            self._client.tell("go")
        if injection.kind in ("frozen for a moment", "client suspended"):
            time.sleep(injection.hold_s)
            self._heal()
        heard = self._client.hear("done", "lost")
        self._outcome.waits_s.append(time.monotonic() - began)
        if heard["event"] == "lost":
            self._outcome.lost.append(f"{number}: {injection}: {heard['why']}")
        elif heard["difference"]:
            self._outcome.differing.append(f"{number}: {injection}: {heard['difference']}")
        self._heal()
        self._tend()

    def _blocks(self) -> list[int]:
        if self._injection.kind == "both drained":
            return [span.start for span in SPANS]
        return [self._injection.block]

    def _strike(self) -> None:
        for victim in self._victims:
            match self._injection.kind:
                case "killed":
                    victim.engine.kill()
                case "drained" | "both drained":
                    victim.engine.ask_to_stop()
                case "frozen" | "frozen for a moment":
                    victim.engine.freeze()
                case "p2pd killed":
                    _signal([_p2pd_of(victim)], signal.SIGKILL)
                case "p2pd frozen":
                    _signal([_p2pd_of(victim)], signal.SIGSTOP)
                case "connections cut":
                    victim.proxy.cut()
                case "stalled":
                    victim.proxy.stall()
                case "not heard":
                    victim.proxy.stall(to_server=False)
                case "not hearing":
                    victim.proxy.stall(to_client=False)
                case "files rewritten":
                    _rewrite(victim.files)
                case "files truncated":
                    for path in victim.files:
                        os.truncate(path, path.stat().st_size // 2)
                case "client suspended":
                    _signal(self._client.family(), signal.SIGSTOP)

    def _heal(self) -> None:
        _signal(self._client.family(), signal.SIGCONT)
        for victim in self._victims:
            victim.proxy.heal()
            if victim.engine.is_alive:
                _signal(victim.engine.processes(), signal.SIGCONT)

    def _tend(self) -> None:
        """Start as many servers as have ended, and wait until two of each span are well."""
        if self._injection.kind in _ENDS:
            for victim in self._victims:
                victim.engine.ask_to_stop()
                victim.engine.wait_stopped(time.monotonic() + _END_S)
                self._swarm.drop(victim)
                self._swarm.add_server(victim.span)
        for span in SPANS:
            for server in [each for each in self._swarm.servers if each.span == span][: _REPLICAS - 1]:
                server.engine.wait_online()


def _rewrite(files: Sequence[Path]) -> None:
    """Write other weights over a checkpoint, in place, as `cp` does."""
    for path in files:
        with path.open("r+b") as file:
            file.seek(path.stat().st_size // 4)
            file.write(bytes(path.stat().st_size // 2))


def _p2pd_of(server: Server) -> psutil.Process:
    return next(process for process in server.engine.processes() if process.name() == "p2pd")


def _signal(processes: Sequence[psutil.Process], number: int) -> None:
    for process in processes:
        with contextlib.suppress(psutil.Error, ProcessLookupError):
            os.kill(process.pid, number)
