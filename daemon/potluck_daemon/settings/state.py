"""Remembers across restarts: a pause, today's tokens, the last swarm, a port. The file is not for editing."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from potluck_control.codec import CodecError, dumps, from_json, loads
from potluck_control.methods.machine import Device
from potluck_control.schema import SwarmStatus

from potluck.files import keep_aside, write_atomically
from potluck_daemon.metering.usage import DayUse

log = logging.getLogger(__name__)

STATE_VERSION = 1
SAVE_INTERVAL_S = 60.0


@dataclass(frozen=True, slots=True)
class Pause:
    """The user's pause. `until` None: until resumed, or until the game ends."""

    since: float
    until: float | None = None
    until_game_ends: bool = False


@dataclass(frozen=True, slots=True)
class RememberedState:
    version: int = STATE_VERSION
    pause: Pause | None = None
    tokens_day: str = ""  # local date of the count
    tokens: int = 0
    use: DayUse = field(default_factory=DayUse)
    swarm: SwarmStatus | None = None
    devices: tuple[Device, ...] = ()  # with their measured speeds
    measured_at: float = 0.0  # Unix; 0: never
    port: int = 0  # the engine's, chosen once so that invites stay good; 0: not chosen yet


class StateFile:
    """The remembered state and its file. Call `load` first."""

    def __init__(self, path: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._path = path
        self._clock = clock
        self._saved_at = -math.inf
        self._saved = RememberedState()
        self.state = RememberedState()

    def load(self) -> str | None:
        """Read the file. Keep a broken one aside and return a notice that says so. Never raises."""
        try:
            self.state = self._saved = from_json(RememberedState, loads(self._path.read_bytes()), self._path.name)
        except FileNotFoundError:
            return None
        except OSError as error:
            return f"{self._path} cannot be read: {error.strerror}"
        except CodecError as error:
            return f"{self._path.name} is damaged ({error}); {_put_aside(self._path)}, starting afresh"
        return None

    def save(self) -> None:
        """Write the file if something changed. A full disk is logged and does not stop the daemon."""
        if self.state == self._saved:
            return
        self._saved, self._saved_at = self.state, self._clock()
        try:
            write_atomically(self._path, dumps(self.state))
        except OSError as error:
            log.warning("cannot remember the state in %s: %s", self._path, error.strerror)

    def save_if_due(self) -> None:
        """Save counters now and then, because they are not worth a disk write each second."""
        if self._clock() - self._saved_at >= SAVE_INTERVAL_S:
            self.save()


def _put_aside(path: Path) -> str:
    try:
        return f"kept as {keep_aside(path).name}"
    except OSError as error:
        return f"it cannot be kept aside ({error.strerror})"
