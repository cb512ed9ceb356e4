"""The pauses that a person can choose, for the window and the menu alike."""

from __future__ import annotations

import datetime
from enum import Enum

from potluck_daemon.control.schema import PauseParams, Status
from potluck_daemon.states import Reason, State

HOUR_S = 3600.0
MORNING = datetime.time(8)
_GAMES = (Reason.GAME, Reason.EXCLUSIVE_APP, Reason.FULL_SCREEN, Reason.GPU_BUSY)


class Pause(Enum):
    """The value is what is written on it."""

    HOUR = "Pause for an hour"
    MORNING = "Pause until the morning, 08:00"
    GAME = "Pause until the game ends"
    RESUMED = "Pause until I resume"

    def params(self, now: datetime.datetime) -> PauseParams:
        """As the daemon takes it. `now`: local time."""
        match self:
            case Pause.HOUR:
                return PauseParams(HOUR_S)
            case Pause.MORNING:
                return PauseParams(_seconds_to_morning(now))
            case Pause.GAME:
                return PauseParams(until_game_ends=True)
            case Pause.RESUMED:
                return PauseParams()


def offered(status: Status | None) -> tuple[Pause, ...]:
    """Those that make sense now. A daemon that does not say what `ends` a state cannot wait for the end of a game."""
    if status is None or status.swarm is None or status.state is State.PAUSED or status.reason is Reason.SHUTDOWN:
        return ()
    has_game = status.reason in _GAMES and bool(status.ends)
    return tuple(pause for pause in Pause if pause is not Pause.GAME or has_game)


def _seconds_to_morning(now: datetime.datetime) -> float:
    """To the next one; a time without a zone is local, and `timestamp` knows of summer time."""
    morning = datetime.datetime.combine(now.date(), MORNING)
    if morning <= now + datetime.timedelta(minutes=1):
        morning += datetime.timedelta(days=1)
    return morning.timestamp() - now.timestamp()
