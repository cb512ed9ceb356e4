"""The result of a check, and what every check may look at."""

from __future__ import annotations

from dataclasses import dataclass

from potluck_control.methods.health import Finding as Finding
from potluck_control.methods.health import Severity as Severity
from potluck_control.places import Places
from potluck_control.schema import Status

from potluck.errors import PotluckError
from potluck.protocol.swarm import Swarm
from potluck_daemon.settings.store import Loaded


@dataclass(frozen=True, slots=True)
class Scene:
    """The state that all checks start from, read once."""

    places: Places
    loaded: Loaded
    swarm: Swarm | None
    port: int  # the engine's port; 0: not chosen yet
    status: Status | None  # None: no daemon answers
    away: PotluckError | None = None  # why not
