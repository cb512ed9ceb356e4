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
    outside the schedule, over a cap         idle       schedule, cost_cap, ...      ended
    battery, metered network, far too hot    idle       battery, metered, heat       offloaded, later ended
    the probes have not looked yet           starting   none                         as it stands
    "only when idle" while somebody is there yielded    user_active                  offloaded, later ended
    that ended less than a quiet time ago    yielded    quiet_time                   as it stands, then prepared
    nobody has let this computer in yet      joining    not_admitted                 online
    its invite is over before that           error      invite_over                  online
    the engine failed and waits              error      engine_failed                ended
    a file of the weights changed on disk    error      files                        online
    otherwise                                starting, joining, serving              online

While the engine still has to climb down, the state is "draining" with the same reason. Between "online" and "offloaded"
lies throttling: the engine serves, but rests part of the time (`duty` below 1) because somebody uses the computer or
because of heat or power. The reason of the state "serving" then says so. This module does no I/O and reads no clock.
All times are seconds of one monotonic clock.

While no engine runs, a standby node may keep this computer's place in the swarm: see `stands_by`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from potluck_control.processes.engine_messages import MIN_DUTY, Waiting
from potluck_control.settings import YieldSettings
from potluck_control.states import Certainty, Reason, State

from potluck.protocol.codes import DENIALS, INVITE_OVER, Denial
from potluck.sentences import NOTHING, Sentence, sentence
from potluck_daemon.policy.model import (
    PREPARE_S,
    Decision,
    EngineOrder,
    EngineView,
    Evidence,
    Inputs,
    Phase,
    Presence,
    Rung,
)
from potluck_daemon.settings.state import Pause

_PROGRAMS = frozenset({Reason.GAME, Reason.EXCLUSIVE_APP, Reason.FULL_SCREEN, Reason.GPU_BUSY})
_NEEDS_DEVICE = _PROGRAMS | {Reason.OTHER_USER, Reason.VRAM_PRESSURE, Reason.RAM_PRESSURE}
_NOT_NOW = frozenset({Reason.BATTERY, Reason.METERED, Reason.HEAT})
_SPARED = frozenset({Reason.HEAT, Reason.POWER})  # throttling helps, unless they are extreme
_ADMISSION = (Denial.NOBODY_ONLINE, Denial.UNCONFIRMED, *INVITE_OVER)
_ENDED = (Phase.ENDED, Phase.PREPARING, Phase.STOPPING)  # the engine holds no device, or soon holds none
_RESTED = sentence("when you've been away for a while")
RETURN_FACTOR = 2  # a node that left because memory was short returns once twice the reserve is free
# Reasons to leave the swarm: nobody could use this computer, or bytes cost something.
_LEAVES = (
    *(Reason.SHUTDOWN, Reason.SLEEP, Reason.NO_SWARM, Reason.NO_ENGINE),
    *(Reason.METERED, Reason.BATTERY, Reason.UPLOAD_CAP, Reason.DOWNLOAD_CAP, Reason.COST_CAP),
)


def decide(inputs: Inputs, now: float) -> Decision:
    """Return the state to show and the one order that leads towards it."""
    wish = _wish(inputs, now)
    phase = inputs.engine.phase
    is_draining = wish.rung is not Rung.ONLINE and phase not in (Phase.OFFLOADED, Phase.ENDED, Phase.PREPARING)
    return replace(wish, state=State.DRAINING if is_draining else wish.state, order=_order(wish.rung, inputs.engine))


def is_device_needed(presence: Presence) -> bool:
    """Return whether somebody needs the device now."""
    return any(item.reason in _NEEDS_DEVICE for item in presence.evidence)


def stands_by(decision: Decision, *, is_memory_short: bool) -> bool:
    """Return whether to stay in the swarm without an engine: yes in a pause or a game, no where bytes cost something.

    While an engine is on its way, the answer is yes too, so that the node stays until the engine takes over.
    """
    has_engine = decision.rung in (Rung.FINISHING, Rung.OFFLOADED)
    return not has_engine and decision.reason not in _LEAVES and not is_memory_short


def is_worth_a_start(decision: Decision) -> bool:
    """Return whether a node should begin: not while an engine starts, or if it would have to leave again at once."""
    return decision.state is not State.STARTING and (decision.left_s is None or decision.left_s > PREPARE_S)


def _wish(inputs: Inputs, now: float) -> Decision:
    return (
        _as_asked(inputs)
        or _giving_way(inputs, now, (Reason.SLEEP,))
        or _giving_way(inputs, now, _NEEDS_DEVICE)
        or next(iter(inputs.obstacles), None)
        or _giving_way(inputs, now, _NOT_NOW)
        or _unsettled(inputs)
        or _in_use(inputs, now)
        or _quiet(inputs, now)
        or _working(inputs, now)
    )


def _as_asked(inputs: Inputs) -> Decision | None:
    """Obey the user and leaders who removed this computer, and name what is missing before anything can be served."""
    if inputs.is_ending or inputs.finish_left_s is not None:
        return _ending(inputs)
    if inputs.pause is not None:
        return _paused(inputs.pause, inputs.pause_left_s)
    if inputs.swarm is None:
        text, ends = sentence("No swarm joined yet"), sentence("when you join or create a swarm")
        return Decision(State.IDLE, Reason.NO_SWARM, text, Rung.ENDED, ends)
    if inputs.remover is not None:
        text = sentence("{name} removed this computer from the swarm {what}", name=inputs.remover, what=inputs.swarm)
        return Decision(State.IDLE, Reason.REMOVED, text, Rung.ENDED, sentence("when you join with a new invite"))
    if not inputs.has_engine:
        ends = sentence("when you set it up: in the app, or with `potluck setup`")
        return Decision(State.IDLE, Reason.NO_ENGINE, sentence("The engine is not set up yet"), Rung.ENDED, ends)
    return None


def _ending(inputs: Inputs) -> Decision:
    """End once no session is open, time is up, a game needs the device, or the computer goes to sleep."""
    ends = sentence("when Potluck is started again")
    is_serving = inputs.engine.phase in (Phase.ONLINE, Phase.FINISHING) and inputs.engine.sessions > 0
    is_needed = any(item.reason in _NEEDS_DEVICE | {Reason.SLEEP} for item in inputs.presence.evidence)
    if inputs.is_ending or not is_serving or not inputs.finish_left_s or is_needed:
        return Decision(State.DRAINING, Reason.SHUTDOWN, sentence("Shutting down"), Rung.ENDED, ends)
    text = sentence("Finishing the open sessions, then shutting down")
    return Decision(State.DRAINING, Reason.SHUTDOWN, text, Rung.FINISHING, ends, left_s=inputs.finish_left_s)


def _paused(pause: Pause, left_s: float | None) -> Decision:
    if pause.until_game_ends:
        text, ends = sentence("Paused by you until the game ends"), sentence("when the game ends, or when you resume")
    elif pause.until is None:
        text, ends = sentence("Paused by you until you resume"), sentence("when you resume")
    else:
        ends = sentence("when the time is over, or when you resume")
        return Decision(State.PAUSED, Reason.TIMER, sentence("Paused by you"), Rung.ENDED, ends, left_s=left_s)
    return Decision(State.PAUSED, Reason.USER, text, Rung.ENDED, ends)


def _giving_way(inputs: Inputs, now: float, reasons: Iterable[Reason]) -> Decision | None:
    found = (item for item in inputs.presence.evidence if item.reason in reasons and _counts(item, inputs))
    evidence = next(found, None)
    if evidence is None:
        return None
    state = State.IDLE if evidence.reason in _NOT_NOW else State.YIELDED
    rung = Rung.ENDED if evidence.reason is Reason.SLEEP else _rung(inputs, evidence.since, now)
    text, ends = _texts(evidence, _quiet_s(evidence, inputs.settings.yield_))
    return Decision(state, evidence.reason, text, rung, ends, *_program(evidence))


def _rung(inputs: Inputs, since: float, now: float) -> Rung:
    """Offload while something lasts. End the engine when it lasts long or memory is short."""
    is_long = now >= since + inputs.settings.yield_.end_engine_after_s
    return Rung.ENDED if is_long or inputs.is_memory_short or inputs.engine.phase in _ENDED else Rung.OFFLOADED


def _counts(evidence: Evidence, inputs: Inputs) -> bool:
    """Return whether evidence counts: not heat that throttling still helps, nor, if so set, games on other GPUs."""
    if evidence.reason in _SPARED:
        return evidence.level >= 1.0
    gpus = (evidence.gpu, inputs.engine.gpu)
    return not inputs.settings.yield_.same_gpu_only or not all(gpus) or gpus[0] == gpus[1]


def _program(evidence: Evidence) -> tuple[str, str]:
    """Return the program's name and title; empty if it is on the list "always", which outranks "never"."""
    if not evidence.app or evidence.reason is Reason.EXCLUSIVE_APP:
        return "", ""
    return evidence.app, str(evidence.who)


def _texts(evidence: Evidence, quiet_s: float) -> tuple[Sentence, Sentence]:
    """Return what prevents serving, and when that ends."""
    who, time = evidence.who, f"{quiet_s:g}"
    memory_ends = sentence("{time} s after there is enough memory again", time=time)
    program_ends = sentence("{time} s after {who} is done", time=time, who=who)
    match evidence.reason:
        case Reason.SLEEP:
            return sentence("The computer is going to sleep"), sentence("when the computer wakes up")
        case Reason.BATTERY:
            return sentence("Not serving on battery"), sentence("when the computer is plugged in")
        case Reason.METERED:
            text = sentence("Not serving over {who}, which is metered", who=who)
            return text, sentence("when the network is not metered")
        case Reason.HEAT:
            return sentence("Too hot: {who}", who=who), sentence("when it has cooled down")
        case Reason.VRAM_PRESSURE:
            return sentence("Giving way: other programs need the memory of {who}", who=who), memory_ends
        case Reason.RAM_PRESSURE:
            return sentence("Giving way: other programs need the memory"), memory_ends
        case Reason.OTHER_USER:
            text = sentence("Giving way to {who}, who sits at the computer", who=who)
            return text, sentence("{time} s after you are back at the computer", time=time)
        case Reason.FULL_SCREEN:
            return sentence("Giving way to {who}, which fills the screen", who=who), program_ends
        case Reason.GPU_BUSY:
            return sentence("Giving way to {who}, which keeps the GPU busy", who=who), program_ends
        case _:
            return sentence("Giving way to {who}", who=who), program_ends


def _unsettled(inputs: Inputs) -> Decision | None:
    """Begin nothing before the probes have looked once, because a game may be running."""
    if inputs.is_settled or inputs.engine.phase not in (Phase.ENDED, Phase.STOPPING, Phase.OFFLOADED):
        return None
    rung = Rung.OFFLOADED if inputs.engine.phase is Phase.OFFLOADED else Rung.ENDED
    return Decision(State.STARTING, Reason.NONE, sentence("Checking whether you need the computer"), rung)


def _in_use(inputs: Inputs, now: float) -> Decision | None:
    """Obey "only when idle". Where nothing can tell, the computer counts as in use."""
    if not inputs.settings.when.only_when_idle or inputs.presence.is_away:
        return None
    text, ends = sentence("Not serving while you use the computer"), _RESTED
    if inputs.presence.is_away is None:
        text = sentence("Can't tell whether you're away, so not serving")
        ends = sentence("when you switch when.only_when_idle off")
    return Decision(State.YIELDED, Reason.USER_ACTIVE, text, _rung(inputs, inputs.presence.use_since, now), ends)


def _quiet_s(evidence: Evidence, given: YieldSettings) -> float:
    if evidence.reason is Reason.SLEEP:
        return 0.0
    return given.quiet_certain_s if evidence.certainty is Certainty.CERTAIN else given.quiet_likely_s


def _quiet(inputs: Inputs, now: float) -> Decision | None:
    """Wait a moment after something has ended, with a process that will soon be needed."""
    waits = [
        (item.ended_at + _quiet_s(item.evidence, inputs.settings.yield_) - now, item.evidence)
        for item in inputs.presence.over
        if _counts(item.evidence, inputs)
    ]
    left_s, evidence = max(waits, key=lambda wait: wait[0], default=(0.0, None))
    if left_s <= 0 or evidence is None:
        return None
    text = sentence("Nothing is in the way any more; waiting a moment")
    if evidence.reason in _PROGRAMS:
        text = sentence("{who} has ended; waiting a moment", who=evidence.who)
    is_soon = left_s <= PREPARE_S and not inputs.is_memory_short and (inputs.engine.retry_at or now) <= now
    rung = Rung.OFFLOADED
    if inputs.engine.phase in _ENDED:
        rung = Rung.PREPARED if is_soon else Rung.ENDED
    ends = sentence("in a moment, or when you resume")
    return Decision(State.YIELDED, Reason.QUIET_TIME, text, rung, ends, *_program(evidence), left_s=left_s)


def _working(inputs: Inputs, now: float) -> Decision:
    engine = inputs.engine
    waits = engine.waiting if engine.phase in (Phase.STARTING, Phase.JOINING, Phase.RESTORING) else Waiting()
    match engine.phase:
        case Phase.ENDED if engine.retry_at is not None and engine.retry_at > now:
            text = engine.failure or sentence("The engine failed")
            ends = sentence("with the next try, or when you resume")
            left_s = engine.retry_at - now
            return Decision(State.ERROR, Reason.ENGINE_FAILED, text, Rung.ENDED, ends, left_s=left_s)
        case _ if engine.is_stopped:
            text = sentence("Not serving: somebody stopped the engine's process")
            return Decision(State.ERROR, Reason.ENGINE_FAILED, text, Rung.ONLINE, sentence("when you resume"))
        case Phase.ONLINE:
            return _unadmitted(inputs, Denial.NOBODY_ONLINE) if inputs.is_applicant else _serving(inputs)
        case _ if waits.denial in _ADMISSION:
            return _unadmitted(inputs, waits.denial)
        case _ if waits.why:
            text = sentence("Can't join the swarm yet: {why}", why=waits.why)
            return Decision(State.JOINING, Reason.NONE, text, Rung.ONLINE)
        case Phase.ENDED | Phase.PREPARING | Phase.STARTING | Phase.STOPPING:
            return Decision(State.STARTING, Reason.NONE, sentence("Starting the engine"), Rung.ONLINE)
        case _ if engine.lacking:
            text = sentence("Not serving: {file} changed on disk", file=engine.lacking)
            return Decision(State.ERROR, Reason.FILES, text, Rung.ONLINE, sentence("when the right file is back"))
        case _:
            return Decision(State.JOINING, Reason.NONE, sentence("Loading layers"), Rung.ONLINE)


def _unadmitted(inputs: Inputs, denial: Denial) -> Decision:
    """Return what a computer waits for that nobody has let in yet, or that it needs another invite."""
    name = inputs.swarm
    if denial is Denial.UNCONFIRMED and inputs.is_ticket_over:
        denial = Denial.INVITE_EXPIRED
    if denial in INVITE_OVER:
        text = sentence("Can't join {name}: {why}", name=name, why=DENIALS[denial])
        ends = sentence("when you enter another invite")
        return Decision(State.ERROR, Reason.INVITE_OVER, text, Rung.ONLINE, ends)
    text = sentence("Waiting for a member of {name} to let you in", name=name)
    if denial is Denial.UNCONFIRMED:
        text = sentence("Waiting for you to confirm this computer on your other one")
    return Decision(State.JOINING, Reason.NOT_ADMITTED, text, Rung.ONLINE)


def _serving(inputs: Inputs) -> Decision:
    """Serve at full speed, or as slowly as the strictest reason to go slow demands."""
    what = inputs.engine.serving
    asked = [(1.0, Reason.NONE, sentence("Serving {what}", what=what), NOTHING)]
    if inputs.presence.is_away is False:
        text = sentence("Serving {what} slowly, while you use the computer", what=what)
        asked.append((inputs.settings.when.active_percent / 100, Reason.USER_ACTIVE, text, _RESTED))
    for item in inputs.presence.evidence:
        if item.reason is Reason.HEAT:
            text = sentence("Serving {what} slowly, because {who} is hot", what=what, who=item.who)
            asked.append((1.0 - item.level, item.reason, text, sentence("when it has cooled down")))
        elif item.reason is Reason.POWER:
            text = sentence("Serving {what} slowly, to stay below the power cap of {who}", what=what, who=item.who)
            asked.append((1.0 - item.level, item.reason, text, sentence("when it draws less power")))
    duty, reason, text, ends = min(asked, key=lambda each: each[0])
    return Decision(State.SERVING, reason, text, Rung.ONLINE, ends, duty=max(duty, MIN_DUTY))


def _order(rung: Rung, engine: EngineView) -> EngineOrder:
    if rung is Rung.ONLINE and engine.drains and engine.sessions and engine.phase in (Phase.ONLINE, Phase.FINISHING):
        rung = Rung.FINISHING
    match rung, engine.phase:
        case _, Phase.STOPPING:
            return EngineOrder.NOTHING  # the next order waits for the end of this process
        case Rung.FINISHING, Phase.ONLINE:
            return EngineOrder.DRAIN
        case Rung.ONLINE, phase if engine.is_outdated and phase is not Phase.ENDED:
            return EngineOrder.STOP
        case Rung.ONLINE, Phase.ENDED | Phase.PREPARING:
            return EngineOrder.START
        case Rung.ONLINE, Phase.OFFLOADED | Phase.FINISHING:
            return EngineOrder.RESTORE
        case Rung.OFFLOADED, Phase.ONLINE | Phase.FINISHING:
            return EngineOrder.OFFLOAD
        case Rung.OFFLOADED, Phase.STARTING | Phase.JOINING | Phase.RESTORING:
            return EngineOrder.STOP  # it has no users yet, and its end frees the memory most surely
        case Rung.PREPARED, Phase.ENDED:
            return EngineOrder.PREPARE
        case Rung.ENDED, phase if phase is not Phase.ENDED:
            return EngineOrder.STOP
        case _:
            return EngineOrder.NOTHING
