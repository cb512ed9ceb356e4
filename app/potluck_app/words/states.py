"""The daemon's state in short texts: its name, the reason, what ends it, and what a button offers."""

from __future__ import annotations

from potluck_control.schema import Status, UseStatus
from potluck_control.states import Reason, State

from potluck_app.words import dates, numbers, sentences
from potluck_app.words.daemon_texts import translated
from potluck_app.words.language import QT_TRANSLATE_NOOP, tr

TITLES = {
    State.IDLE: QT_TRANSLATE_NOOP("", "Not serving"),
    State.STARTING: QT_TRANSLATE_NOOP("", "Starting"),
    State.JOINING: QT_TRANSLATE_NOOP("", "Joining the swarm"),
    State.SERVING: QT_TRANSLATE_NOOP("", "Serving"),
    State.DRAINING: QT_TRANSLATE_NOOP("", "Stepping aside"),
    State.YIELDED: QT_TRANSLATE_NOOP("", "Stepped aside"),
    State.PAUSED: QT_TRANSLATE_NOOP("", "Paused"),
    State.ERROR: QT_TRANSLATE_NOOP("", "Something failed"),
    State.UNKNOWN: QT_TRANSLATE_NOOP("", "Running"),  # a newer daemon's own sentence says the rest
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
    if status.state is State.DRAINING and status.reason is Reason.SHUTDOWN:
        return tr("Finishing") if _is_finishing(status) else tr("Shutting down")
    return tr(TITLES[status.state])


def tooltip(status: Status | None, reason: str = "") -> str:
    """Return lines for the tray: the state with the speed, the reason, and what would end it."""
    if status is None:
        return f"Potluck\n{title(status, reason)}"
    heading = title(status)
    speed = f", {numbers.rate(status.tokens_per_s)}" if status.state is State.SERVING else ""
    lines = (f"Potluck: {heading[0].lower()}{heading[1:]}{speed}", translated(status.text), ending(status))
    return "\n".join(line for line in lines if line)


def ending(status: Status) -> str:
    """Return what would end this state, as a sentence; empty if nothing has to end or the daemon does not say."""
    if status.state is State.DRAINING and status.reason is Reason.SHUTDOWN:
        left = tr("%n session(s) left", "", status.sessions)
        if status.until is None:
            return f"{left}."
        return tr("{left}. Shuts down by {time}.").format(left=left, time=dates.clock(status.until))
    at, when = _ENDINGS.get(status.state, _SERVES_AGAIN)
    if status.until is not None:
        return tr(at).format(time=dates.clock(status.until))
    return tr(when).format(condition=translated(status.ends)) if status.ends else ""


def resume(status: Status) -> str:
    """Return the text of the button that ends this state; empty if the user cannot end it."""
    if status.state is State.PAUSED:
        return tr("Resume")
    if _is_finishing(status):
        return tr("Keep serving")
    match status.reason:
        case Reason.QUIET_TIME:
            return tr("Serve now")
        case Reason.SWITCHED_OFF:
            return tr("Start donating again")
        case Reason.ENGINE_FAILED:
            return tr("Try again now")
        case _:
            return ""


def never(status: Status) -> str:
    return tr("Never step aside for {program}…").format(program=_program(status))


def never_question(status: Status) -> str:
    said = tr("Keep serving whenever {program} runs? You can change this later in Activity.")
    return said.format(program=_program(status))


def use(used: UseStatus) -> str:
    """Return what serving has used today; empty if that is next to nothing."""
    if used.sent_bytes + used.received_bytes < 1000 and used.energy_wh < 0.5:
        return ""
    said = tr("Today: {sent} sent, {received} received, {energy}")
    spent = numbers.energy(used.energy_wh)
    if used.cost is not None and used.cost >= 0.005:
        spent += f" ({numbers.cost(used.cost)})"
    return said.format(sent=numbers.size(used.sent_bytes), received=numbers.size(used.received_bytes), energy=spent)


def speed_tps(status: Status) -> float:
    """Return tokens per second; the daemon's smoothed figure takes a while to reach zero."""
    return status.tokens_per_s if status.state is State.SERVING or _is_finishing(status) else 0.0


def memory(status: Status) -> str:
    load = status.load
    limit = load.memory_limit_bytes or load.memory_total_bytes
    used = numbers.size(load.memory_used_bytes)
    return tr("{used} of {all}").format(used=used, all=numbers.size(limit)) if limit else used


def state(of: State, reason: Reason) -> str:
    """Return the name of a state that is over."""
    return tr("Shutting down") if (of, reason) == (State.DRAINING, Reason.SHUTDOWN) else tr(TITLES[of])


def _is_finishing(status: Status) -> bool:
    """Tell whether open sessions go on for a while; without a limit the daemon ends at once."""
    return status.state is State.DRAINING and status.reason is Reason.SHUTDOWN and status.until is not None


def _program(status: Status) -> str:
    return sentences.short(status.app_title or status.app)
