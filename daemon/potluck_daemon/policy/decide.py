"""Decides what the engine should do next and how to explain it: one pure function of what is known.

The first row that applies wins. The rung says how far down the ladder the engine should stand.

    known                                    state      reason                       rung
    the daemon is ending                     draining   shutdown                     ended
    asked to finish open sessions and end   draining   shutdown                     finishing
    paused by the user                       paused     user, timer                  ended
    no swarm joined                          idle       no_swarm                     ended
    removed from the swarm by somebody       idle       removed                      ended
    no environment for the engine            idle       no_engine                    ended
    the computer is about to sleep           yielded    sleep                        ended
    somebody needs the device                yielded    game, full_screen, ...       offloaded, later ended
    outside the schedule, over a day's cap   idle       schedule, cost_cap, ...      ended
    battery, metered network, far too hot    idle       battery, metered, heat       offloaded, later ended
    "only when idle" while somebody is there yielded    user_active                  offloaded, later ended
    that ended less than a quiet time ago    yielded    quiet_time                   as it stands, then prepared
    nobody has let this computer in yet      joining    not_admitted                 online
    its invite is over before that           error      invite_over                  online
    the engine failed and waits              error      engine_failed                ended
    the probes have not looked yet           starting   none                         as it stands
    a file of the weights changed on disk    error      files                        online
    otherwise                                starting, joining, serving              online

While the engine still has to climb down, the state is "draining" with the same reason. Between "online" and "offloaded"
lies throttling: the engine serves, but rests part of the time (`duty` below 1) because somebody uses the computer or
because of heat or power. The reason of the state "serving" then says so. This module does no I/O and reads no clock.
All times are seconds of one monotonic clock.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from enum import Enum, StrEnum

from potluck_control.engine_messages import MIN_DUTY, Waiting
from potluck_control.settings import Settings, YieldSettings
from potluck_control.states import Certainty, Reason, State

from potluck.protocol.codes import INVITE_OVER, Denial
from potluck.sentences import NOTHING, Sentence, sentence

CHECK_INTERVAL_S = 30.0  # between looks at an obstacle whose end is not known
PREPARE_S = 12.0  # that importing takes on a slow machine, so the process starts this long before it is needed
SETTLE_S = 2.0  # that all probes may take for their first look


class Phase(StrEnum):
    """The stage of the engine's life, as its supervisor knows it."""

    ENDED = "ended"
    PREPARING = "preparing"  # the process imports; it holds no device and does not know yet what to serve
    STARTING = "starting"  # the process runs and has not reached the swarm yet
    JOINING = "joining"  # it has reached the swarm and reads the blocks
    ONLINE = "online"
    OFFLOADING = "offloading"
    OFFLOADED = "offloaded"  # the process runs without its weights, and the swarm knows
    RESTORING = "restoring"
    FINISHING = "finishing"  # open sessions go on, new ones are refused, and the swarm knows
    STOPPING = "stopping"


class Rung(Enum):
    ONLINE = 0
    FINISHING = 1
    OFFLOADED = 2
    ENDED = 3


class EngineOrder(Enum):
    """An order to the supervisor."""

    NOTHING = "nothing"
    PREPARE = "prepare"
    START = "start"
    DRAIN = "drain"
    OFFLOAD = "offload"
    RESTORE = "restore"
    STOP = "stop"


@dataclass(frozen=True, slots=True)
class Evidence:
    """A confirmed reason to give the device back, or to spare it."""

    reason: Reason
    who: str | Sentence  # the program or thing, by the name that people know
    certainty: Certainty = Certainty.CERTAIN
    since: float = 0.0
    app: str = ""  # the executable's name
    gpu: str = ""  # PCI address of the GPU it uses; empty: not known
    level: float = 0.0  # of heat and power, from 0 (harmless) to 1 (far too much)


@dataclass(frozen=True, slots=True)
class Over:
    """Evidence that has ended."""

    evidence: Evidence
    ended_at: float


@dataclass(frozen=True, slots=True)
class Presence:
    """What the probes together say; kept by `presence.tracking`."""

    evidence: tuple[Evidence, ...] = ()  # the most certain first
    over: tuple[Over, ...] = ()
    is_away: bool | None = None  # whether keyboard and mouse are at rest; None: nothing can tell
    use_since: float = 0.0  # when `is_away` last changed
    unsure: tuple[Evidence, ...] = ()  # programs to ask the user about; nothing is given back for them


@dataclass(frozen=True, slots=True)
class Obstacle:
    """A reason not to serve that has nothing to do with presence: the schedule or a cap."""

    reason: Reason
    text: Sentence
    ends: Sentence
    left_s: float | None = None  # until it ends by itself
    only_before_start: bool = False  # an engine that is online may stay


@dataclass(frozen=True, slots=True)
class EngineView:
    phase: Phase = Phase.ENDED
    serving: Sentence = NOTHING  # "blocks 0:4 of tiny-llama"
    failure: Sentence = NOTHING  # the last one, kept until the engine serves again
    retry_at: float | None = None  # the engine is not started before this time
    is_outdated: bool = False  # it was started for other settings or another swarm
    sessions: int = 0  # open ones
    gpu: str = ""  # PCI address of the GPU it computes on; empty: none or not known
    lacking: str = ""  # the file without which it cannot serve; empty: it lacks none
    waiting: Waiting = field(default_factory=Waiting)  # why it cannot get online yet
    drains: bool = False  # the swarm changed its model, and sessions with the old one may end in peace
    is_stopped: bool = False  # somebody stopped its process


@dataclass(frozen=True, slots=True)
class Inputs:
    settings: Settings
    engine: EngineView = EngineView()
    presence: Presence = Presence()
    obstacles: tuple[Obstacle, ...] = ()  # the most important first
    is_ending: bool = False
    finish_left_s: float | None = None  # time to finish open sessions before the daemon ends
    is_paused: bool = False
    pause_left_s: float | None = None  # None: until resumed, or until the game ends
    is_pause_of_game: bool = False  # the pause lasts as long as the game
    has_swarm: bool = True
    swarm_name: str = ""
    remover: str | None = None  # who removed this person or computer from the swarm; None: nobody
    is_applicant: bool = False  # nobody has let this computer in yet
    is_ticket_over: bool = False  # and the person's other computer cannot any more
    has_engine: bool = True  # there is an environment to start it in
    is_memory_short: bool = False
    is_settled: bool = True  # every probe has had time for its first look


@dataclass(frozen=True, slots=True)
class Decision:
    """A state to show, and the order that leads the engine towards its rung."""

    state: State
    reason: Reason
    text: Sentence  # without the time it lasts
    rung: Rung
    ends: Sentence = NOTHING  # when this state ends; nothing: it is the normal state
    app: str = ""  # the program it is about, for "never yield for it"
    app_title: str = ""  # that program, by the name that people know
    duty: float = 1.0
    left_s: float | None = None  # until the state ends by itself
    wake_in_s: float | None = None  # until the next decision if nothing happens before
    prepares: bool = False  # start the process now, because it will be needed soon
    order: EngineOrder = EngineOrder.NOTHING


_PRESSURE = (Reason.VRAM_PRESSURE, Reason.RAM_PRESSURE)
_NEEDS_DEVICE = frozenset(
    {
        *(Reason.GAME, Reason.EXCLUSIVE_APP, Reason.FULL_SCREEN, Reason.GPU_BUSY, Reason.OTHER_USER),
        *_PRESSURE,
    }
)
_NOT_NOW = frozenset({Reason.BATTERY, Reason.METERED, Reason.HEAT})
_SPARED = frozenset({Reason.HEAT, Reason.POWER})
_ADMISSION = (Denial.NOBODY_ONLINE, Denial.UNCONFIRMED, *INVITE_OVER)
_ANOTHER_INVITE = sentence("when you enter another invite")
_RESTED = sentence("when you've been away for a while")
_BEFORE_START = (Phase.ENDED, Phase.PREPARING, Phase.STARTING, Phase.JOINING, Phase.STOPPING)


def decide(inputs: Inputs, now: float) -> Decision:
    """Return the state to show and the one order that leads towards it."""
    wish = _wish(inputs, now)
    phase = inputs.engine.phase
    is_draining = wish.rung is not Rung.ONLINE and phase not in (Phase.OFFLOADED, Phase.ENDED, Phase.PREPARING)
    return replace(
        wish,
        state=State.DRAINING if is_draining else wish.state,
        order=_order(wish, inputs.engine),
        wake_in_s=wish.wake_in_s if wish.wake_in_s is not None else wish.left_s,
    )


def is_finished(inputs: Inputs) -> bool:
    """Tell whether a draining daemon may end: no session is open, time is up, or a game needs the device."""
    is_serving = inputs.engine.phase in (Phase.ONLINE, Phase.FINISHING)
    has_time = (inputs.finish_left_s or 0) > 0 and not has_game(inputs.presence)
    return not (is_serving and has_time and inputs.engine.sessions)


def has_game(presence: Presence) -> bool:
    """Tell whether somebody needs the device now."""
    return any(item.reason in _NEEDS_DEVICE for item in presence.evidence)


def _wish(inputs: Inputs, now: float) -> Decision:
    return (
        _as_asked(inputs)
        or _without_engine(inputs)
        or _asleep(inputs.presence.evidence)
        or _climbing_down(inputs, now, _NEEDS_DEVICE)
        or _blocked(inputs)
        or _climbing_down(inputs, now, _NOT_NOW)
        or _unsettled(inputs)
        or _in_use(inputs, now)
        or _quiet(inputs, now)
        or _working(inputs, now)
    )


def _as_asked(inputs: Inputs) -> Decision | None:
    """Follow what the user asked for."""
    if inputs.is_ending:
        return Decision(
            State.DRAINING,
            Reason.SHUTDOWN,
            sentence("Shutting down"),
            Rung.ENDED,
            sentence("when Potluck is started again"),
        )
    if inputs.finish_left_s is not None:
        text = sentence("Finishing the open sessions, then shutting down")
        ends = sentence("when Potluck is started again")
        return Decision(State.DRAINING, Reason.SHUTDOWN, text, Rung.FINISHING, ends, left_s=inputs.finish_left_s)
    if inputs.is_paused:
        return _paused(inputs)
    if not inputs.has_swarm:
        return Decision(
            State.IDLE,
            Reason.NO_SWARM,
            sentence("No swarm joined yet"),
            Rung.ENDED,
            sentence("when you join or create a swarm"),
        )
    if inputs.remover is not None:
        text = sentence(
            "{name} removed this computer from the swarm {what}", name=inputs.remover, what=inputs.swarm_name
        )
        return Decision(State.IDLE, Reason.REMOVED, text, Rung.ENDED, sentence("when you join with a new invite"))
    return None


def _paused(inputs: Inputs) -> Decision:
    if inputs.is_pause_of_game:
        text = sentence("Paused by you until the game ends")
        return Decision(State.PAUSED, Reason.USER, text, Rung.ENDED, sentence("when the game ends, or when you resume"))
    if inputs.pause_left_s is None:
        text = sentence("Paused by you until you resume")
        return Decision(State.PAUSED, Reason.USER, text, Rung.ENDED, sentence("when you resume"))
    ends = sentence("when the time is over, or when you resume")
    return Decision(State.PAUSED, Reason.TIMER, sentence("Paused by you"), Rung.ENDED, ends, left_s=inputs.pause_left_s)


def _without_engine(inputs: Inputs) -> Decision | None:
    if inputs.has_engine:
        return None
    text, ends = (
        sentence("The engine is not set up yet"),
        sentence("when you set it up: in the app, or with `potluck setup`"),
    )
    return Decision(State.IDLE, Reason.NO_ENGINE, text, Rung.ENDED, ends)


def _asleep(evidence: Iterable[Evidence]) -> Decision | None:
    if not any(item.reason is Reason.SLEEP for item in evidence):
        return None
    text = sentence("The computer is going to sleep")
    return Decision(State.YIELDED, Reason.SLEEP, text, Rung.ENDED, sentence("when the computer wakes up"))


def _climbing_down(inputs: Inputs, now: float, reasons: Iterable[Reason]) -> Decision | None:
    """Offload while the evidence lasts. End the engine when it lasts long or memory is short."""
    evidence = next(
        (item for item in inputs.presence.evidence if item.reason in reasons and _counts(item, inputs)), None
    )
    if evidence is None:
        return None
    text, ends = _words(evidence, inputs.settings.yield_)
    state = State.YIELDED if evidence.reason in _NEEDS_DEVICE else State.IDLE
    end_in_s = evidence.since + inputs.settings.yield_.end_engine_after_s - now
    if end_in_s <= 0 or inputs.is_memory_short:
        return Decision(state, evidence.reason, text, Rung.ENDED, ends, *_program(evidence))
    return Decision(state, evidence.reason, text, Rung.OFFLOADED, ends, *_program(evidence), wake_in_s=end_in_s)


def _counts(evidence: Evidence, inputs: Inputs) -> bool:
    """Leave out heat that throttling can still help, and a game on another GPU if the user wants that."""
    if evidence.reason in _SPARED:
        return evidence.level >= 1.0
    gpus = (evidence.gpu, inputs.engine.gpu)
    is_elsewhere = inputs.settings.yield_.same_gpu_only and all(gpus) and gpus[0] != gpus[1]
    return not is_elsewhere


def _program(evidence: Evidence) -> tuple[str, str]:
    """Return its name and title; empty if "never yield for it" would not help, because the always list outranks it."""
    if not evidence.app or evidence.reason is Reason.EXCLUSIVE_APP:
        return "", ""
    return evidence.app, str(evidence.who)


def _words(evidence: Evidence, given: YieldSettings) -> tuple[Sentence, Sentence]:
    """Return what stands in the way, and when that ends."""
    who, time = evidence.who, f"{_quiet_s(evidence, given):g}"
    match evidence.reason:
        case Reason.BATTERY:
            return sentence("Not serving on battery"), sentence("when the computer is plugged in")
        case Reason.METERED:
            text = sentence("Not serving over {who}, which is metered", who=who)
            return text, sentence("when the network is not metered")
        case Reason.HEAT:
            return sentence("Too hot: {who}", who=who), sentence("when it has cooled down")
        case Reason.VRAM_PRESSURE:
            text = sentence("Giving way: other programs need the memory of {who}", who=who)
            return text, sentence("{time} s after there is enough memory again", time=time)
        case Reason.RAM_PRESSURE:
            text = sentence("Giving way: other programs need the memory")
            return text, sentence("{time} s after there is enough memory again", time=time)
        case Reason.OTHER_USER:
            text = sentence("Giving way to {who}, who sits at the computer", who=who)
            return text, sentence("{time} s after you are back at the computer", time=time)
        case Reason.FULL_SCREEN:
            text = sentence("Giving way to {who}, which fills the screen", who=who)
            return text, sentence("{time} s after {who} is done", time=time, who=who)
        case Reason.GPU_BUSY:
            text = sentence("Giving way to {who}, which keeps the GPU busy", who=who)
            return text, sentence("{time} s after {who} is done", time=time, who=who)
        case _:
            text = sentence("Giving way to {who}", who=who)
            return text, sentence("{time} s after {who} has ended", time=time, who=who)


def _over(evidence: Evidence) -> Sentence:
    match evidence.reason:
        case Reason.VRAM_PRESSURE | Reason.RAM_PRESSURE:
            return sentence("There is enough memory again; waiting a moment")
        case Reason.OTHER_USER:
            return sentence("You are back at the computer; waiting a moment")
        case Reason.BATTERY:
            return sentence("Plugged in again; waiting a moment")
        case Reason.METERED:
            return sentence("The network is no longer metered; waiting a moment")
        case Reason.HEAT:
            return sentence("It has cooled down; waiting a moment")
        case _:
            return sentence("{who} has ended; waiting a moment", who=evidence.who)


def _blocked(inputs: Inputs) -> Decision | None:
    is_before_start = inputs.engine.phase in _BEFORE_START
    obstacle = next((item for item in inputs.obstacles if is_before_start or not item.only_before_start), None)
    if obstacle is None:
        return None
    wake_in_s = CHECK_INTERVAL_S if obstacle.left_s is None else obstacle.left_s
    return Decision(
        State.IDLE,
        obstacle.reason,
        obstacle.text,
        Rung.ENDED,
        obstacle.ends,
        left_s=obstacle.left_s,
        wake_in_s=wake_in_s,
    )


def _unsettled(inputs: Inputs) -> Decision | None:
    """Begin nothing before the probes have looked once, because a game may be running."""
    rung = {Phase.ENDED: Rung.ENDED, Phase.STOPPING: Rung.ENDED, Phase.OFFLOADED: Rung.OFFLOADED}.get(
        inputs.engine.phase
    )
    if inputs.is_settled or rung is None:
        return None
    return Decision(
        State.STARTING, Reason.NONE, sentence("Checking whether you need the computer"), rung, wake_in_s=SETTLE_S
    )


def _in_use(inputs: Inputs, now: float) -> Decision | None:
    """Obey "only when idle". Where nothing can tell, the computer counts as in use."""
    if not inputs.settings.when.only_when_idle or inputs.presence.is_away:
        return None
    end_in_s = inputs.presence.use_since + inputs.settings.yield_.end_engine_after_s - now
    is_gone = end_in_s <= 0 or inputs.engine.phase in (Phase.ENDED, Phase.STOPPING)
    rung = Rung.ENDED if is_gone else Rung.OFFLOADED
    wake_in_s = None if is_gone else end_in_s
    if inputs.presence.is_away is None:
        text, ends = (
            sentence("Can't tell whether you're away, so not serving"),
            sentence("when you switch when.only_when_idle off"),
        )
    else:
        text, ends = sentence("Not serving while you use the computer"), _RESTED
    return Decision(State.YIELDED, Reason.USER_ACTIVE, text, rung, ends, wake_in_s=wake_in_s)


def _quiet_s(evidence: Evidence, given: YieldSettings) -> float:
    if evidence.reason is Reason.SLEEP or (evidence.reason in _SPARED and evidence.level < 1.0):
        return 0.0
    return given.quiet_certain_s if evidence.certainty is Certainty.CERTAIN else given.quiet_likely_s


def _quiet(inputs: Inputs, now: float) -> Decision | None:
    waits = [
        (item.ended_at + _quiet_s(item.evidence, inputs.settings.yield_) - now, item.evidence)
        for item in inputs.presence.over
        if _counts(item.evidence, inputs)
    ]
    left_s, evidence = max(waits, key=lambda wait: wait[0], default=(0.0, None))
    if left_s <= 0 or evidence is None:
        return None
    text, ends = _over(evidence), sentence("in a moment, or when you resume")
    wish = Decision(State.YIELDED, Reason.QUIET_TIME, text, Rung.OFFLOADED, ends, *_program(evidence), left_s=left_s)
    if inputs.engine.phase not in (Phase.ENDED, Phase.PREPARING, Phase.STOPPING):
        return wish
    may_prepare = not inputs.is_memory_short and (inputs.engine.retry_at or now) <= now
    wake_in_s = left_s - PREPARE_S if left_s > PREPARE_S else left_s
    prepares = may_prepare and left_s <= PREPARE_S
    return replace(wish, rung=Rung.ENDED, wake_in_s=wake_in_s, prepares=prepares)


def _working(inputs: Inputs, now: float) -> Decision:
    engine = inputs.engine
    match engine.phase:
        case Phase.ENDED if engine.retry_at is not None and engine.retry_at > now:
            text = engine.failure or sentence("The engine failed")
            ends = sentence("with the next try, or when you resume")
            left_s = engine.retry_at - now
            return Decision(State.ERROR, Reason.ENGINE_FAILED, text, Rung.ENDED, ends, left_s=left_s)
        case _ if engine.is_stopped:
            text = sentence("Not serving: somebody stopped the engine's process")
            return Decision(State.ERROR, Reason.ENGINE_FAILED, text, Rung.ONLINE, sentence("when you resume"))
        case Phase.ONLINE if inputs.is_applicant:
            return _unadmitted(inputs, Denial.NOBODY_ONLINE)
        case Phase.ONLINE:
            return _serving(inputs)
        case Phase.STARTING | Phase.JOINING | Phase.RESTORING if engine.waiting.denial in _ADMISSION:
            return _unadmitted(inputs, engine.waiting.denial)
        case Phase.STARTING | Phase.JOINING | Phase.RESTORING if engine.waiting.why:
            text = sentence("Can't join the swarm yet: {why}", why=engine.waiting.why)
            return Decision(State.JOINING, Reason.NONE, text, Rung.ONLINE)
        case Phase.ENDED | Phase.PREPARING | Phase.STARTING | Phase.STOPPING:
            return Decision(State.STARTING, Reason.NONE, sentence("Starting the engine"), Rung.ONLINE)
        case _ if engine.lacking:
            text = sentence("Not serving: {file} changed on disk", file=engine.lacking)
            return Decision(State.ERROR, Reason.FILES, text, Rung.ONLINE, sentence("when the right file is back"))
        case _:
            return Decision(State.JOINING, Reason.NONE, sentence("Loading layers"), Rung.ONLINE)


def _unadmitted(inputs: Inputs, denial: Denial) -> Decision:
    """Say what somebody waits for who was not let in yet, or that only another invite helps."""
    name = inputs.swarm_name
    if denial is Denial.UNCONFIRMED and inputs.is_ticket_over:
        denial = Denial.INVITE_EXPIRED
    match denial:
        case Denial.UNCONFIRMED:
            text = sentence("Waiting for you to confirm this computer on your other one")
        case Denial.INVITE_EXPIRED:
            text = sentence("Your invite to {name} has expired", name=name)
        case Denial.INVITE_USED_UP:
            text = sentence("Your invite to {name} is used up", name=name)
        case Denial.INVITE_ENDED:
            text = sentence("Your invite to {name} was ended", name=name)
        case _:
            text = sentence("Waiting for a member of {name} to let you in", name=name)
    if denial in INVITE_OVER:
        return Decision(State.ERROR, Reason.INVITE_OVER, text, Rung.ONLINE, _ANOTHER_INVITE)
    return Decision(State.JOINING, Reason.NOT_ADMITTED, text, Rung.ONLINE)


def _serving(inputs: Inputs) -> Decision:
    """Serve at full speed, or as slowly as the strictest reason to go slow demands."""
    what = inputs.engine.serving
    asked = [
        (1.0 - item.level, item.reason, *_slowly(what, item))
        for item in inputs.presence.evidence
        if item.reason in _SPARED
    ]
    if inputs.presence.is_away is False:
        text = sentence("Serving {what} slowly, while you use the computer", what=what)
        asked.append((inputs.settings.when.active_percent / 100, Reason.USER_ACTIVE, text, _RESTED))
    duty, reason, text, ends = min(asked, key=lambda item: item[0], default=(1.0, Reason.NONE, NOTHING, NOTHING))
    if duty >= 1.0:
        return Decision(State.SERVING, Reason.NONE, sentence("Serving {what}", what=what), Rung.ONLINE)
    return Decision(State.SERVING, reason, text, Rung.ONLINE, ends, duty=max(duty, MIN_DUTY))


def _slowly(what: Sentence, evidence: Evidence) -> tuple[Sentence, Sentence]:
    """Return how slowly `what` is served, and when that ends."""
    who = evidence.who
    if evidence.reason is Reason.HEAT:
        text = sentence("Serving {what} slowly, because {who} is hot", what=what, who=who)
        return text, sentence("when it has cooled down")
    text = sentence("Serving {what} slowly, to stay below the power cap of {who}", what=what, who=who)
    return text, sentence("when it draws less power")


def _order(wish: Decision, engine: EngineView) -> EngineOrder:
    match wish.rung, engine.phase:
        case _, Phase.STOPPING:
            return EngineOrder.NOTHING  # everything else begins with the end of this process
        case Rung.ONLINE, Phase.ONLINE if engine.drains and engine.sessions:
            return EngineOrder.DRAIN
        case Rung.ONLINE, Phase.FINISHING if engine.drains and engine.sessions:
            return EngineOrder.NOTHING
        case Rung.ONLINE, phase if engine.is_outdated and phase is not Phase.ENDED:
            return EngineOrder.STOP
        case Rung.FINISHING, Phase.ONLINE:
            return EngineOrder.DRAIN
        case Rung.FINISHING, _:
            return EngineOrder.NOTHING
        case Rung.ONLINE, Phase.ENDED | Phase.PREPARING:
            return EngineOrder.START
        case Rung.ONLINE, Phase.OFFLOADED | Phase.FINISHING:
            return EngineOrder.RESTORE
        case Rung.OFFLOADED, Phase.ONLINE | Phase.FINISHING:
            return EngineOrder.OFFLOAD
        case Rung.OFFLOADED, Phase.PREPARING | Phase.STARTING | Phase.JOINING | Phase.RESTORING:
            return EngineOrder.STOP  # nobody uses it yet, and ending frees its memory most surely
        case Rung.ENDED, Phase.ENDED:
            return EngineOrder.PREPARE if wish.prepares else EngineOrder.NOTHING
        case Rung.ENDED, Phase.PREPARING if wish.prepares:
            return EngineOrder.NOTHING
        case Rung.ENDED, _:
            return EngineOrder.STOP
        case _:
            return EngineOrder.NOTHING
