"""What a check finds, and what every check may look at."""

from __future__ import annotations

from dataclasses import dataclass

from potluck_control.methods.health import Finding as Finding
from potluck_control.methods.health import Severity as Severity
from potluck_control.places import Places
from potluck_control.schema import Status

from potluck.protocol.swarm import Swarm
from potluck_daemon.settings.store import Loaded


@dataclass(frozen=True, slots=True)
class Scene:
    """What is known before any check: read once, for all of them."""

    places: Places
    loaded: Loaded
    swarm: Swarm | None
    port: int  # the engine's; 0: not chosen yet
    status: Status | None  # None: no daemon answers
