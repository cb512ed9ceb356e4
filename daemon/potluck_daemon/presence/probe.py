"""What a probe is, and what it reports."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from potluck_daemon.states import Reason


class ProbeUnavailableError(Exception):
    """The probe cannot work here and now; the message is one line for people. It is tried again later."""


@dataclass(frozen=True, slots=True)
class Sighting:
    """Something one look of a probe saw."""

    reason: Reason
    who: str  # program, as a person knows it
    is_certain: bool


Report = Callable[[tuple[Sighting, ...]], None]
"""Called with everything seen: by a pushed probe at each change, by a looking probe at each look."""


@dataclass(slots=True)
class Vigilance:
    """How fast a probe that has to look should look; changed by the watch while probes run."""

    is_relaxed: bool = False  # the device is given back already: nothing is urgent


class Probe(Protocol):
    """One source of evidence."""

    @property
    def name(self) -> str: ...

    async def watch(self, report: Report, vigilance: Vigilance) -> None:
        """Watch until cancelled, then release everything.

        Raises:
            ProbeUnavailableError: it cannot work (any more).
        """
