"""The state that every check starts from, and the answer of a check."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from potluck_control.api.schema import Status
from potluck_control.methods.health import Severity
from potluck_control.places import Places

from potluck.errors import PotluckError
from potluck.protocol.swarm import Swarm
from potluck.sentences import NOTHING, Sentence
from potluck_daemon.settings.store import Loaded

OK, NOTE, WARNING, ERROR = Severity.OK, Severity.NOTE, Severity.WARNING, Severity.ERROR


@dataclass(frozen=True, slots=True)
class Scene:
    """The state that all checks start from, read once."""

    places: Places
    loaded: Loaded
    swarm: Swarm | None
    port: int  # the engine's port; 0: not chosen yet
    status: Status | None  # None: no daemon answers
    away: PotluckError | None = None  # why no daemon answers


class Diagnosis(NamedTuple):
    """The answer to a check's question, and what to do about it; `remedy` is empty where nothing is wrong."""

    severity: Severity
    text: Sentence
    remedy: Sentence = NOTHING
