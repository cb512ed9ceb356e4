"""What a probe is, what it reports, and what it is given to look at."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from potluck_control.states import Certainty, Reason


class ProbeUnavailableError(Exception):
    """What the probe would look at is not on this computer; the message is one line for people."""


class ProbeFailedError(Exception):
    """What the probe looks at is there, but does not work; the message is one line for people."""


@dataclass(frozen=True, slots=True)
class Sighting:
    """Something one look of a probe saw. Equal ones in two looks are one thing that lasts."""

    reason: Reason
    who: str  # program or thing, as a person knows it
    certainty: Certainty = Certainty.CERTAIN
    app: str = ""  # name of the executable, in lower case; "never yield for this app" is about it
    gpu: str = ""  # PCI address of the GPU it uses; empty: not known
    level: float = 0.0  # of heat and power, in tenths: 0 harmless, 1 far too much


Report = Callable[[tuple[Sighting, ...]], None]
"""Called with everything seen: by a pushed probe at each change, by a looking probe at each look."""


@dataclass(slots=True)
class Situation:
    """What probes must know of the daemon; changed by the watch while they run."""

    is_relaxed: bool = False  # the device is given back already: nothing is urgent
    engine_pid: int | None = None
    engine_gpu: str = ""  # PCI address; empty: the engine computes on the CPU
    needed_bytes: int = 0  # device memory that the engine lacks to come back; 0 while it has it


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The computer that is looked at. Tests make one with folders and buses of their own."""

    proc: Path = Path("/proc")
    sys: Path = Path("/sys")
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    own_pid: int = field(default_factory=os.getpid)  # it and the processes below it are never evidence

    @property
    def session_bus(self) -> str:
        """A daemon started by hand may lack the variable, but has the socket."""
        runtime = self.environment.get("XDG_RUNTIME_DIR", f"/run/user/{os.getuid()}")
        return self.environment.get("DBUS_SESSION_BUS_ADDRESS") or f"unix:path={runtime}/bus"

    @property
    def system_bus(self) -> str:
        return self.environment.get("DBUS_SYSTEM_BUS_ADDRESS") or "unix:path=/run/dbus/system_bus_socket"


class Probe(Protocol):
    """One source of evidence."""

    @property
    def name(self) -> str: ...

    async def watch(self, report: Report, situation: Situation) -> None:
        """Watch until cancelled, then release everything. Report at least once, also when nothing is seen.

        Raises:
            ProbeUnavailableError: there is nothing to look at (any more).
            ProbeFailedError: it does not answer.
        """
