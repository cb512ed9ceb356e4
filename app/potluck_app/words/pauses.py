"""The pauses that a person can choose, for the window and the menu alike."""

from __future__ import annotations

import datetime
from enum import Enum

from potluck_control.schema import PauseParams, Status
from potluck_control.states import Reason, State

from potluck_app.words.language import QT_TRANSLATE_NOOP, tr

HOUR_S = 3600.0
MORNING = datetime.time(8)
_PAUSED = (Reason.USER, Reason.TIMER)
_AT_REST = (Reason.SHUTDOWN, Reason.NO_ENGINE, Reason.INVITE_OVER, Reason.REMOVED)
_GAMES = (Reason.GAME, Reason.EXCLUSIVE_APP, Reason.FULL_SCREEN, Reason.GPU_BUSY)


class PauseChoice(Enum):
    """The value is what is written on it, in English."""

    HOUR = QT_TRANSLATE_NOOP("", "Pause for an hour")
    MORNING = QT_TRANSLATE_NOOP("", "Pause until tomorrow, {time}")
    GAME = QT_TRANSLATE_NOOP("", "Pause until the game ends")
    RESUMED = QT_TRANSLATE_NOOP("", "Pause until I resume")

    def said(self) -> str:
        """Return its text in the user's language."""
        return tr(self.value).format(time=MORNING.strftime("%H:%M"))

    def params(self, now: datetime.datetime) -> PauseParams:
        """Return what the daemon takes. `now`: local time."""
        match self:
            case PauseChoice.HOUR:
                return PauseParams(HOUR_S)
            case PauseChoice.MORNING:
                return PauseParams(_seconds_to_morning(now))
            case PauseChoice.GAME:
                return PauseParams(until_game_ends=True)
            case PauseChoice.RESUMED:
                return PauseParams()


def is_paused(status: Status) -> bool:
    """Tell whether the user paused, also while the engine is still ending."""
    return status.state is State.PAUSED or status.reason in _PAUSED


def offered(status: Status | None) -> tuple[PauseChoice, ...]:
    """Return the pauses that make sense now; a daemon that does not say what `ends` a state cannot wait for a game."""
    if status is None or status.swarm is None or is_paused(status) or status.reason in _AT_REST:
        return ()
    has_game = status.reason in _GAMES and bool(status.ends)
    return tuple(pause for pause in PauseChoice if pause is not PauseChoice.GAME or has_game)


def _seconds_to_morning(now: datetime.datetime) -> float:
    """Return the seconds to tomorrow's morning; `timestamp` takes a time without a zone as local, with summer time."""
    morning = datetime.datetime.combine(now.date() + datetime.timedelta(days=1), MORNING)
    return morning.timestamp() - now.timestamp()
