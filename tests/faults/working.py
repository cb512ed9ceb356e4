"""A client in its own process, a piece of work in which something is struck, and what came of all the work of a run."""

import contextlib
import json
import queue
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import psutil

from benchmarks.setup.local_swarm import LocalSwarm
from potluck.errors import PotluckError
from potluck.processes import tied_to_parent
from tests.faults.plan import PASSING_KINDS, Injection
from tests.faults.surroundings import Clock

END_S = 200.0  # longer than a client waits for servers
_PREFILL_DELAYS_S = 0.05  # from the order to the first token, about
_ROOT = Path(__file__).parents[2]


@dataclass(slots=True)
class Outcome:
    """What happened in a run."""

    kinds: Counter[str] = field(default_factory=Counter)
    lost: list[str] = field(default_factory=list)
    differing: list[str] = field(default_factory=list)
    silent: list[str] = field(default_factory=list)  # state that a daemon lost without a word
    orphans: list[str] = field(default_factory=list)
    failed_starts: list[str] = field(default_factory=list)  # no fault of a session
    waits_s: list[float] = field(default_factory=list)  # from the strike to the end of the work
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def faults(self) -> int:
        return len(self.lost) + len(self.differing) + len(self.silent) + len(self.orphans)


class Client:
    """The process of `tests.faults.client`."""

    def __init__(self, local: LocalSwarm, folder: Path, name: str) -> None:
        self.clock = Clock(local.folder / f"clock-{name}")
        self.news: queue.Queue[dict[str, Any]] = queue.Queue()
        local.join(name)  # as somebody else than the founder, whose servers keep no tab for the own person
        home = dict.fromkeys(("XDG_CONFIG_HOME", "XDG_STATE_HOME"), str(local.folder / name))
        self._process = subprocess.Popen(
            tied_to_parent([sys.executable, "-m", "tests.faults.client", local.invite, str(folder)]),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=_ROOT,
            env={**local.environment(), **home, **self.clock.environment(_ROOT)},
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
            heard = self.news.get(timeout=END_S)
        except queue.Empty:
            raise PotluckError(f"the client says nothing for {END_S:g} s") from None
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


@contextlib.contextmanager
def client_of(local: LocalSwarm, folder: Path, name: str, outcome: Outcome, room: threading.Lock) -> Iterator[Client]:
    """Yield a client of the swarm, and tell the outcome which of its processes outlive it.

    Args:
        room: is held while the client starts, because it needs room on the disk.
    """
    with contextlib.ExitStack() as stack:
        with room:
            client = stack.enter_context(Client(local, folder, name))
        yield client
        family = client.family()
    _, alive = psutil.wait_procs(family, timeout=10)
    outcome.orphans += [f"{process.name()} of the client" for process in alive]


def work(
    client: Client,
    outcome: Outcome,
    number: int,
    injection: Injection,
    strike: Callable[[Mapping[str, str]], None],
    heal: Callable[[], None],
) -> bool:
    """Let a client do a piece of work, and tell the outcome what came of it.

    Args:
        strike: is called in the middle with the peers that serve each block, none while they are unknown.
        heal: is called when the work is done, and before if the fault is one that passes.

    Returns:
        Whether it struck: not if the work was lost before.
    """
    with outcome.lock:
        outcome.kinds[injection.kind] += 1
    client.tell(json.dumps({"seed": number, "work": injection.work, "strike_at": injection.strike_at}))
    if injection.strike_at:
        heard = client.hear("paused", "lost")
        if heard["event"] == "lost":
            outcome.lost.append(f"{number}: {injection}: before anything happened: {heard['why']}")
            return False
    else:
        time.sleep(_PREFILL_DELAYS_S)
        heard = {"serving": {}}
    began = time.monotonic()
    strike(heard["serving"])
    if injection.strike_at:
        client.tell("go")
    if injection.kind in PASSING_KINDS:
        time.sleep(injection.hold_s)
        heal()
    heard = client.hear("done", "lost")
    outcome.waits_s.append(time.monotonic() - began)
    if heard["event"] == "lost":
        outcome.lost.append(f"{number}: {injection}: {heard['why']}")
    elif heard["difference"]:
        outcome.differing.append(f"{number}: {injection}: {heard['difference']}")
    heal()
    return True
