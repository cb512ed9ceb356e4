"""The interface of a probe: what it looks at, and what it reports."""

from __future__ import annotations

import asyncio
import os
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, TypeVar

from potluck_control.states import Certainty, Reason

from potluck.errors import PotluckError
from potluck.sentences import Sentence

WEAK_SHARE = 0.4  # a program that uses this share of `busy_percent` gives a weak sign of a game
_LEAST_SHARE = 0.1  # a look that comes within this share of an interval is skipped


class ProbeUnavailableError(PotluckError):
    """The computer lacks what the probe looks at."""


class ProbeFailedError(PotluckError):
    """The thing that the probe looks at does not work."""


@dataclass(frozen=True, slots=True)
class Sighting:
    """Something that a probe saw in one look. Equal sightings in two looks are one thing that lasts."""

    reason: Reason
    who: str | Sentence  # the program or thing by the name that people know
    certainty: Certainty = Certainty.CERTAIN
    app: str = ""  # the executable in lower case, as the list "never step aside for" names it
    gpu: str = ""  # PCI address of the GPU it uses; empty: not known
    level: float = 0.0  # heat and power only, in tenths: 0 harmless, 1 far too much
    is_unsure: bool = False  # True: this is no evidence, and the user is asked about the program


async def next_poll(interval_s: float) -> None:
    """Sleep until the next multiple of the interval on the loop's clock, so that probes wake the process together.

    A multiple that comes almost at once, because the last look took long, is skipped.
    """
    left_s = interval_s - asyncio.get_running_loop().time() % interval_s
    await asyncio.sleep(left_s if left_s > interval_s * _LEAST_SHARE else left_s + interval_s)


T = TypeVar("T")
Reading = Callable[[], Awaitable[T]]
"""Returns what is there now; raises what `Probe.watch` raises."""
Source = Callable[[], AbstractAsyncContextManager[Reading[T]]]
"""Connects to something that can be looked at; raises the same."""

Report = Callable[[tuple[Sighting, ...]], None]
"""Called with everything that is seen: at each change by a probe that is notified, at each look by one that polls."""


@dataclass(slots=True)
class Situation:
    """The daemon's state that probes depend on; the watch changes it while they run."""

    engine_pid: int | None = None
    engine_gpu: str = ""  # PCI address; empty: the engine computes on the CPU
    needed_bytes: int = 0  # device memory that the engine needs to come back; 0 while it holds it


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The computer that probes look at. Tests pass folders and buses of their own."""

    proc: Path = Path("/proc")
    sys: Path = Path("/sys")
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    own_pid: int = field(default_factory=os.getpid)  # this process and those below it are never evidence

    @property
    def session_bus(self) -> str:
        """The address of the session bus; a daemon started by hand may lack the variable, but has the socket."""
        runtime = self.environment.get("XDG_RUNTIME_DIR", f"/run/user/{os.getuid()}")
        return self.environment.get("DBUS_SESSION_BUS_ADDRESS") or f"unix:path={runtime}/bus"

    @property
    def system_bus(self) -> str:
        return self.environment.get("DBUS_SYSTEM_BUS_ADDRESS") or "unix:path=/run/dbus/system_bus_socket"


class Probe(Protocol):
    """One source of evidence."""

    @property
    def name(self) -> Sentence: ...

    async def watch(self, report: Report, situation: Situation) -> None:
        """Watch until cancelled, then release everything. Report at least once, even if nothing is seen.

        Raises:
            ProbeUnavailableError: there is nothing to look at (any more).
            ProbeFailedError: it does not answer.
        """


class PollingProbe(ABC):
    """A probe that looks at each interval."""

    name: Sentence
    interval_s: float

    @abstractmethod
    async def poll(self, situation: Situation) -> tuple[Sighting, ...]:
        """Return what is seen now. Raises what `Probe.watch` raises."""

    async def watch(self, report: Report, situation: Situation) -> None:
        """Report each look, until cancelled."""
        while True:
            report(await self.poll(situation))
            await next_poll(self.interval_s)
