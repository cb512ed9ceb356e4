"""The daemon's state in short texts: its name, the reason, what ends it, and the pauses that a person can choose."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from enum import Enum

from potluck_control.api.schema import PauseParams, ProbeState, ProbeStatus, Status, UseStatus
from potluck_control.states import Reason, State

from potluck_app.words import formats, sentences
from potluck_app.words.language import QT_TRANSLATE_NOOP, tr

HOUR_S = 3600.0
MORNING = datetime.time(8)
_PAUSED = (Reason.USER, Reason.TIMER)
_AT_REST = (Reason.SHUTDOWN, Reason.NO_ENGINE, Reason.INVITE_OVER, Reason.REMOVED)
_GAMES = (Reason.GAME, Reason.EXCLUSIVE_APP, Reason.FULL_SCREEN, Reason.GPU_BUSY)
TITLES = {
    State.IDLE: QT_TRANSLATE_NOOP("", "Not serving"),
    State.STARTING: QT_TRANSLATE_NOOP("", "Starting"),
    State.JOINING: QT_TRANSLATE_NOOP("", "Joining the swarm"),
    State.SERVING: QT_TRANSLATE_NOOP("", "Serving"),
    State.DRAINING: QT_TRANSLATE_NOOP("", "Stepping aside"),
    State.YIELDED: QT_TRANSLATE_NOOP("", "Stepped aside"),
    State.PAUSED: QT_TRANSLATE_NOOP("", "Paused"),
    State.ERROR: QT_TRANSLATE_NOOP("", "Something failed"),
    State.UNKNOWN: QT_TRANSLATE_NOOP("", "Running"),  # the sentence of a newer daemon says more
}
_SERVES_AGAIN = (
    QT_TRANSLATE_NOOP("", "Serves again at {time}."),
    QT_TRANSLATE_NOOP("", "Serves again {condition}."),
)
_ENDINGS = {
    State.SERVING: (
        QT_TRANSLATE_NOOP("", "Full speed again at {time}."),
        QT_TRANSLATE_NOOP("", "Full speed again {condition}."),
    ),
    State.ERROR: (
        QT_TRANSLATE_NOOP("", "Tries again at {time}."),
        QT_TRANSLATE_NOOP("", "Tries again {condition}."),
    ),
}
_RULES = (
    *(Reason.SCHEDULE, Reason.USER_ACTIVE, Reason.OTHER_USER, Reason.BATTERY, Reason.METERED, Reason.HEAT),
    *(Reason.UPLOAD_CAP, Reason.DOWNLOAD_CAP, Reason.COST_CAP, Reason.DISK),
)


class PauseChoice(Enum):
    """A pause that a person can choose. The value is its text in English."""

    HOUR = QT_TRANSLATE_NOOP("", "Pause for an hour")
    MORNING = QT_TRANSLATE_NOOP("", "Pause until tomorrow, {time}")
    GAME = QT_TRANSLATE_NOOP("", "Pause until the game ends")
    RESUMED = QT_TRANSLATE_NOOP("", "Pause until I resume")

    def label(self) -> str:
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


def offered_pauses(status: Status | None) -> tuple[PauseChoice, ...]:
    """Return the pauses that make sense now; a daemon that does not say what `ends` a state cannot wait for a game."""
    if status is None or status.swarm is None or is_paused(status) or status.reason in _AT_REST:
        return ()
    has_game = status.reason in _GAMES and bool(status.ends)
    return tuple(pause for pause in PauseChoice if pause is not PauseChoice.GAME or has_game)


def _seconds_to_morning(now: datetime.datetime) -> float:
    """Return the seconds to tomorrow's morning; `timestamp` takes a time without a zone as local, with summer time."""
    morning = datetime.datetime.combine(now.date() + datetime.timedelta(days=1), MORNING)
    return morning.timestamp() - now.timestamp()


def away() -> str:
    return tr("Potluck is not running")


def absent() -> str:
    """Return a heading and a sentence for a daemon that does not run."""
    return "\n".join((away(), tr("Your settings and points are safe.")))


def killed() -> str:
    """Return the same for a daemon that did not end in order."""
    return "\n".join((tr("Potluck ended unexpectedly"), tr("Your settings and points are safe.")))


def unresponsive() -> str:
    """Return the same for a daemon that runs but does not answer."""
    return "\n".join((tr("Potluck stopped responding"), tr("It may come back by itself.")))


def title(status: Status | None, reason: str = "") -> str:
    """Return the state's name; without a status the heading of the `reason` why there is none."""
    if status is None:
        return reason.partition("\n")[0] or away()
    if status.state is State.SERVING and status.duty < 1.0:
        return tr("Serving at {percent} %").format(percent=f"{100 * status.duty:.0f}")
    if status.reason is Reason.REMOVED:
        return tr("Removed from the swarm")
    if status.reason is Reason.NOT_ADMITTED:
        return tr("Waiting to be let in")
    if status.reason is Reason.INVITE_OVER:
        return tr("Your invite is over")
    if status.state is State.DRAINING and status.reason is Reason.SHUTDOWN:
        return tr("Finishing") if _is_finishing(status) else tr("Shutting down")
    return tr(TITLES[status.state])


def tooltip(status: Status | None, reason: str = "") -> str:
    """Return lines for the tray: the state with the speed, the reason, and what would end it."""
    if status is None:
        return f"Potluck\n{title(status, reason)}"
    heading = title(status)
    gives = status.state is State.SERVING and status.tokens_per_s >= 0.05
    speed = f", {formats.rate(status.tokens_per_s)}" if gives else ""
    lines = (f"Potluck: {heading[0].lower()}{heading[1:]}{speed}", sentences.translated(status.text), ending(status))
    return "\n".join(line for line in lines if line)


def ending(status: Status) -> str:
    """Return what would end this state, as a sentence, or "" if nothing has to end or the daemon does not say."""
    if status.state is State.DRAINING and status.reason is Reason.SHUTDOWN:
        left = tr("%n session(s) left", "", status.sessions)
        if status.until is None:
            return f"{left}."
        return tr("{left}. Shuts down by {time}.").format(left=left, time=formats.clock(status.until))
    if is_paused(status):  # its text says what else would end it
        return "" if status.until is None else tr("The pause ends at {time}.").format(time=formats.clock(status.until))
    at, when = _ENDINGS.get(status.state, _SERVES_AGAIN)
    if status.until is not None:
        return tr(at).format(time=formats.clock(status.until))
    return tr(when).format(condition=sentences.translated(status.ends)) if status.ends else ""


def resume(status: Status) -> str:
    """Return the text of the button that ends this state, or "" if the user cannot end it."""
    if is_paused(status):
        return tr("Resume")
    if _is_finishing(status):
        return tr("Keep serving")
    match status.reason:
        case Reason.QUIET_TIME:
            return tr("Serve now")
        case Reason.ENGINE_FAILED:
            return tr("Try again now")
        case _:
            return ""


def is_held_by_rules(status: Status) -> bool:
    """Tell whether a choice of the user, on the page Rules, keeps this computer from serving."""
    return status.state is not State.SERVING and status.reason in _RULES


def ignore_program(status: Status) -> str:
    """Return the text of what makes Potluck ignore the program that it steps aside for, or "" without one."""
    name = sentences.short(status.app_title or status.app)
    return tr("Never step aside for {program}").format(program=name) if name else ""


def detector_summary(probes: Sequence[ProbeStatus]) -> str:
    """Return all detectors, which the daemon calls probes, in one line, or "" if it has none to show."""
    if not probes:
        return ""
    failed = sum(probe.state is ProbeState.FAILED for probe in probes)
    if failed:
        return tr("Watching for games and activity (%n detector(s) not working)", "", failed)
    if any(probe.state in (ProbeState.WATCHING, ProbeState.SEEN) for probe in probes):
        return tr("Watching for games and activity")
    return tr("Detectors are resting")


def traffic_today(used: UseStatus) -> str:
    """Return the traffic of serving today, or "" if that is next to nothing."""
    if used.sent_bytes + used.received_bytes < 1000:
        return ""
    text = tr("Today: {sent} sent, {received} received")
    return text.format(sent=formats.size(used.sent_bytes), received=formats.size(used.received_bytes))


def memory(status: Status) -> str:
    load = status.load
    limit = load.memory_limit_bytes or load.memory_total_bytes
    used = formats.size(load.memory_used_bytes)
    return tr("{used} of {all}").format(used=used, all=formats.size(limit)) if limit else used


def past_state(of: State, reason: Reason) -> str:
    """Return the name of a state that is over."""
    return tr("Shutting down") if (of, reason) == (State.DRAINING, Reason.SHUTDOWN) else tr(TITLES[of])


def _is_finishing(status: Status) -> bool:
    """Tell whether open sessions go on for a while; without a limit the daemon ends at once."""
    return status.state is State.DRAINING and status.reason is Reason.SHUTDOWN and status.until is not None
