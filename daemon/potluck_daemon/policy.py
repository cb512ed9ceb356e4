"""What to do next, and what to call it: one pure function from what is known to a decision.

The first row that applies wins. "Rung" is how far down the ladder the engine should stand.

    known                                    state      reason                       rung
    the daemon is ending                     draining   shutdown                     ended
    paused by the user                       paused     user, timer                  ended
    no swarm joined / serving switched off   idle       no_swarm, switched_off       ended
    a game or a listed program runs          yielded    game, exclusive_app, ...     offloaded, later ended
    it ended less than the quiet time ago    yielded    quiet_time                   as it stands
    the engine failed and waits              error      engine_failed                ended
    otherwise                                starting, joining, serving              online

While the engine still has to climb down, the state is "draining" with the same reason. No I/O, no clock: times are
seconds of one monotonic clock.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, StrEnum

from potluck_daemon.states import Reason, State


class Phase(StrEnum):
    """Where the engine is, as its supervisor knows it."""

    ENDED = "ended"
    STARTING = "starting"  # the process runs, it has not reached the swarm yet
    JOINING = "joining"  # it has; the blocks are being read
    ONLINE = "online"
    OFFLOADING = "offloading"
    OFFLOADED = "offloaded"  # the process runs, its weights are freed, the swarm knows
    RESTORING = "restoring"
    STOPPING = "stopping"


class Rung(Enum):
    ONLINE = 0
    OFFLOADED = 1
    ENDED = 2


class Order(Enum):
    """What the supervisor is told."""

    NOTHING = "nothing"
    START = "start"
    OFFLOAD = "offload"
    RESTORE = "restore"
    STOP = "stop"


@dataclass(frozen=True, slots=True)
class Evidence:
    """A confirmed reason to give the device back."""

    reason: Reason
    who: str  # program, as a person knows it
    is_certain: bool  # pushed or listed, not guessed


@dataclass(frozen=True, slots=True)
class Presence:
    """What the probes together say; kept by `presence.tracking`."""

    evidence: Evidence | None = None
    since: float = 0.0  # when `evidence` began
    last: Evidence | None = None  # the one before, over since `ended_at`
    ended_at: float = 0.0


@dataclass(frozen=True, slots=True)
class EngineView:
    phase: Phase = Phase.ENDED
    serving: str = ""  # "blocks 0:4 of tiny-llama"
    failure: str | None = None  # the last one, until it serves again
    retry_at: float | None = None  # not to be started before
    is_outdated: bool = False  # started for other settings or another swarm than are wanted now


@dataclass(frozen=True, slots=True)
class Limits:
    """The settings that decide."""

    quiet_certain_s: float
    quiet_likely_s: float
    end_engine_after_s: float


@dataclass(frozen=True, slots=True)
class Inputs:
    limits: Limits
    engine: EngineView = EngineView()
    presence: Presence = Presence()
    is_ending: bool = False
    is_paused: bool = False
    pause_left_s: float | None = None  # None: until resumed
    is_enabled: bool = True
    has_swarm: bool = True
    is_memory_short: bool = False


@dataclass(frozen=True, slots=True)
class Decision:
    state: State
    reason: Reason
    text: str  # for people, without the time it lasts
    order: Order
    left_s: float | None = None  # until the state ends by itself
    wake_in_s: float | None = None  # when to decide again, if nothing happens before


@dataclass(frozen=True, slots=True)
class _Wish:
    state: State
    reason: Reason
    text: str
    rung: Rung
    left_s: float | None = None
    wake_in_s: float | None = None


def decide(inputs: Inputs, now: float) -> Decision:
    """The state to show and the one order that leads towards it."""
    wish = _wish(inputs, now)
    phase = inputs.engine.phase
    is_draining = wish.rung is not Rung.ONLINE and phase not in (Phase.OFFLOADED, Phase.ENDED)
    return Decision(
        state=State.DRAINING if is_draining else wish.state,
        reason=wish.reason,
        text=wish.text,
        order=_order(wish.rung, inputs.engine),
        left_s=wish.left_s,
        wake_in_s=wish.wake_in_s if wish.wake_in_s is not None else wish.left_s,
    )


def _wish(inputs: Inputs, now: float) -> _Wish:
    if inputs.is_ending:
        return _Wish(State.DRAINING, Reason.SHUTDOWN, "Shutting down", Rung.ENDED)
    if inputs.is_paused:
        reason = Reason.USER if inputs.pause_left_s is None else Reason.TIMER
        return _Wish(State.PAUSED, reason, "Paused by you", Rung.ENDED, inputs.pause_left_s)
    if not inputs.has_swarm:
        return _Wish(State.IDLE, Reason.NO_SWARM, "No swarm joined yet", Rung.ENDED)
    if not inputs.is_enabled:
        return _Wish(State.IDLE, Reason.SWITCHED_OFF, "Serving is switched off in the settings", Rung.ENDED)
    if inputs.presence.evidence is not None:
        return _yielded(inputs, inputs.presence.evidence, now)
    quiet_left_s = _quiet_left_s(inputs, now)
    if quiet_left_s > 0:
        return _quiet(inputs, quiet_left_s)
    return _working(inputs.engine, now)


def _yielded(inputs: Inputs, evidence: Evidence, now: float) -> _Wish:
    text = f"Giving way to {evidence.who}"
    end_in_s = inputs.presence.since + inputs.limits.end_engine_after_s - now
    if end_in_s <= 0 or inputs.is_memory_short:
        return _Wish(State.YIELDED, evidence.reason, text, Rung.ENDED)
    return _Wish(State.YIELDED, evidence.reason, text, Rung.OFFLOADED, wake_in_s=end_in_s)


def _quiet_left_s(inputs: Inputs, now: float) -> float:
    last = inputs.presence.last
    if last is None:
        return 0.0
    quiet_s = inputs.limits.quiet_certain_s if last.is_certain else inputs.limits.quiet_likely_s
    return inputs.presence.ended_at + quiet_s - now


def _quiet(inputs: Inputs, left_s: float) -> _Wish:
    assert inputs.presence.last is not None
    text = f"{inputs.presence.last.who} is over; waiting a moment in case it comes back"
    is_gone = inputs.engine.phase in (Phase.ENDED, Phase.STOPPING)
    return _Wish(State.YIELDED, Reason.QUIET_TIME, text, Rung.ENDED if is_gone else Rung.OFFLOADED, left_s)


def _working(engine: EngineView, now: float) -> _Wish:
    match engine.phase:
        case Phase.ENDED if engine.retry_at is not None and engine.retry_at > now:
            text = engine.failure or "The engine failed"
            return _Wish(State.ERROR, Reason.ENGINE_FAILED, text, Rung.ENDED, engine.retry_at - now)
        case Phase.ONLINE:
            return _Wish(State.SERVING, Reason.NONE, f"Serving {engine.serving}", Rung.ONLINE)
        case Phase.ENDED | Phase.STARTING | Phase.STOPPING:
            return _Wish(State.STARTING, Reason.NONE, "Starting the engine", Rung.ONLINE)
        case _:
            return _Wish(State.JOINING, Reason.NONE, "Loading blocks", Rung.ONLINE)


def _order(rung: Rung, engine: EngineView) -> Order:
    match rung, engine.phase:
        case _, Phase.STOPPING:
            return Order.NOTHING  # whatever is wanted, it begins with the end of this process
        case Rung.ONLINE, phase if engine.is_outdated and phase is not Phase.ENDED:
            return Order.STOP
        case Rung.ONLINE, Phase.ENDED:
            return Order.START
        case Rung.ONLINE, Phase.OFFLOADED:
            return Order.RESTORE
        case Rung.OFFLOADED, Phase.ONLINE:
            return Order.OFFLOAD
        case Rung.OFFLOADED, Phase.STARTING | Phase.JOINING | Phase.RESTORING:
            return Order.STOP  # nobody uses it yet, and ending is the surest way to free what it has taken so far
        case Rung.ENDED, Phase.ENDED:
            return Order.NOTHING
        case Rung.ENDED, _:
            return Order.STOP
        case _:
            return Order.NOTHING
