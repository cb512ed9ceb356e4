"""What a check finds, and what every check may look at."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from potluck.protocol.swarm import Swarm
from potluck_daemon.control.schema import Status
from potluck_daemon.settings.places import Places
from potluck_daemon.settings.store import Loaded


class Severity(StrEnum):
    OK = "ok"
    NOTE = "note"  # good to know
    WARNING = "warning"  # it works, but worse than it could
    ERROR = "error"  # it does not work


@dataclass(frozen=True, slots=True)
class Finding:
    """One sentence about one thing; `advice` says what to do if there is anything to do."""

    check: str
    severity: Severity
    text: str
    advice: str = ""


@dataclass(frozen=True, slots=True)
class Scene:
    """What is known before any check: read once, for all of them."""

    places: Places
    loaded: Loaded
    swarm: Swarm | None
    port: int  # the engine's; 0: not chosen yet
    status: Status | None  # None: no daemon answers
