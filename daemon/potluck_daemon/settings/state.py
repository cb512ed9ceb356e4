"""What the daemon remembers across restarts: a pause, the last swarm and answers, a port. Nobody edits the file."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from potluck_control.api.schema import ProgramQuestion, SwarmStatus

from potluck.checked_files import state_file
from potluck.errors import PotluckError, explained
from potluck.sentences import NOTHING, Sentence, sentence

log = logging.getLogger(__name__)

STATE_VERSION = 1
SAVE_INTERVAL_S = 60.0
_MAX_ANSWERS = 20
_LEAST_TOKENS = 8  # shorter answers tell more of the moment than of the swarm


@dataclass(frozen=True, slots=True)
class TimedAnswer:
    """An answer that ended at a Unix time; its `tokens` after the first one took `seconds`."""

    swarm: str  # prefix of the swarm and its model
    at: float
    tokens: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Pause:
    """The user's pause, until a Unix time. `until` None: until resumed, or until the game ends."""

    since: float
    until: float | None = None
    until_game_ends: bool = False


@dataclass(frozen=True, slots=True)
class WeightCheck:
    """The engine reloaded its weights because of reports. `damaged`: see `engine_messages.Examined`."""

    at: float
    damaged: str = ""
    swarm: str = ""  # prefix of the one that was served


@dataclass(frozen=True, slots=True)
class Since:
    """Something that has held since a Unix time."""

    what: str
    at: float


@dataclass(frozen=True, slots=True)
class LessMemory:
    """The engine takes less memory, because it ran out with these settings of `serve`."""

    percent: int
    at: float
    settings: str


@dataclass(frozen=True, slots=True)
class RememberedState:
    """All that is remembered."""

    version: int = STATE_VERSION
    pause: Pause | None = None
    answers: tuple[TimedAnswer, ...] = ()  # the last answers of the gateway, oldest first
    swarm: SwarmStatus | None = None
    port: int = 0  # the engine's, chosen once so that invites stay good; 0: not chosen yet
    questions: tuple[ProgramQuestion, ...] = ()  # all that were ever asked
    confirmed: tuple[Since, ...] = ()  # reports (person and computer) that this computer's server confirmed
    dismissed: tuple[Since, ...] = ()  # reports (person and computer) that the user dismissed
    examination: WeightCheck | None = None  # the last one
    less_memory: LessMemory | None = None  # the last time; it holds for a day
    gateway_token: str = field(default="", repr=False)  # programs use it until somebody stops the gateway
    codes_shown: tuple[str, ...] = ()  # keys of swarms whose recovery code was shown here, in hexadecimal


class StateFile:
    """The remembered state and its checked file. Call `load` first."""

    def __init__(self, path: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._file = state_file(path, RememberedState)
        self._clock = clock
        self._saved_at = -math.inf
        self._saved = RememberedState()
        self.state = RememberedState()

    def load(self) -> Sentence:
        """Read the file. Return a notice if it cannot be read."""
        try:
            self.state = self._saved = self._file.read() or RememberedState()
        except OSError as error:
            return sentence("{path} cannot be read: {why}", path=str(self._file.path), why=str(error.strerror))
        return NOTHING

    def update(self, **values: Any) -> None:
        """Change fields of the state to `values`, on the disk, too, if that is possible."""
        self.state = replace(self.state, **values)
        self.try_to_save()

    def add_answer(self, answer: TimedAnswer) -> None:
        """Remember the speed of an answer, unless it is too short to tell one."""
        if answer.tokens >= _LEAST_TOKENS and answer.seconds > 0:
            self.state = replace(self.state, answers=(*self.state.answers, answer)[-_MAX_ANSWERS:])

    def save(self) -> None:
        """Write the file if something changed.

        Raises:
            PotluckError: it cannot be written; the next call tries again.
        """
        if self.state == self._saved:
            return
        self._saved_at = self._clock()
        try:
            self._file.write(self.state)
        except OSError as error:
            raise (explained(error, self._file.path) or error) from error
        self._saved = self.state

    def try_to_save(self) -> None:
        """Save what the user did not ask for. A full disk is logged and does not stop the daemon."""
        try:
            self.save()
        except PotluckError as error:
            log.warning("%s", error.message)

    def save_if_due(self) -> None:
        """Save now and then what changes often: it is not worth a disk write each second."""
        if self._clock() - self._saved_at >= SAVE_INTERVAL_S:
            self.try_to_save()
