"""A month of a donor's life through the real `observe` and `decide`, with a clock that runs as fast as it can.

Events come from a seeded generator: games of every certainty, work at the keyboard, screen locks, nights on battery,
hotspots, heat, users who pause and resume, users who switch, engines that fail, daemons that restart. An engine that
obeys orders with plausible delays stands for the real one. After each step the situation is judged by rules that are
written here again, from what a user was promised, and know nothing of how the policy is made.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from potluck_control.settings import LimitSettings, Settings, WhenSettings
from potluck_control.states import Certainty, Reason, State
from potluck_daemon.accounting.usage import Amounts, ServingHours
from potluck_daemon.policy.decide import decide
from potluck_daemon.policy.hours_and_caps import Disk, obstacles
from potluck_daemon.policy.model import Decision, EngineOrder, EngineView, Inputs, Phase
from potluck_daemon.presence.probe import Sighting
from potluck_daemon.presence.tracking import Track, observe
from potluck_daemon.settings.state import Pause

from benchmarks.figures import Measured, figure
from potluck.sentences import verbatim

DAYS = 30
START = datetime(2026, 11, 2)
FINE_STEP_S, COARSE_STEP_S = 1.0, 15.0  # soon after something happened, and else
FINE_FOR_S = 120.0  # longer than the longest quiet time
SETTINGS = Settings()
WHEN = WhenSettings(hours=("mon-fri 17:00-09:00", "sat+sun 00:00-24:00"))
CAPS = LimitSettings(upload_mb_day=2000)
UPLOAD_BYTES_S = 60_000
_LOADING = (Phase.STARTING, Phase.RESTORING)


@dataclass(frozen=True, slots=True)
class Kind:
    """Something that happens now and then."""

    probe: str
    sighting: Sighting
    mean_gap_s: float
    mean_length_s: float


_LIKELY, _WEAK = Certainty.LIKELY, Certainty.WEAK
KINDS = (
    Kind("gamemode", Sighting(Reason.GAME, "Hades", app="hades"), 30_000, 5_000),
    Kind("steam", Sighting(Reason.GAME, "Celeste", app="steam:504230"), 40_000, 3_000),
    Kind("full screen", Sighting(Reason.FULL_SCREEN, "mystery", _LIKELY, "mystery"), 30_000, 2_000),
    Kind("full screen film", Sighting(Reason.FULL_SCREEN, "film", _WEAK, "film"), 15_000, 5_000),
    Kind("gpu use", Sighting(Reason.GPU_BUSY, "blender", _LIKELY, "blender"), 50_000, 20),
    Kind("gpu blink", Sighting(Reason.GPU_BUSY, "editor", _LIKELY, "editor"), 5_000, 0.4),
    Kind("vram", Sighting(Reason.VRAM_PRESSURE, "the GPU", _LIKELY), 90_000, 300),
    Kind("keyboard", Sighting(Reason.USER_ACTIVE, "keyboard", _LIKELY), 4_000, 2_000),
    Kind("lock", Sighting(Reason.AWAY, "the screen is locked"), 20_000, 10_000),
    Kind("battery", Sighting(Reason.BATTERY, "the battery"), 100_000, 3_000),
    Kind("metered", Sighting(Reason.METERED, "this network"), 200_000, 5_000),
    Kind("warm", Sighting(Reason.HEAT, "the GPU", level=0.4), 20_000, 600),
    Kind("hot", Sighting(Reason.HEAT, "the other GPU", level=1.0), 200_000, 300),
    Kind("seat", Sighting(Reason.OTHER_USER, "anna"), 150_000, 4_000),
    Kind("sleep", Sighting(Reason.SLEEP, "the computer"), 90_000, 30),
)
_WANT_DEVICE = {Reason.GAME, Reason.FULL_SCREEN, Reason.GPU_BUSY, Reason.VRAM_PRESSURE, Reason.OTHER_USER}
_FORBID = _WANT_DEVICE | {Reason.BATTERY, Reason.METERED, Reason.SLEEP, Reason.HEAT}


@dataclass(slots=True)
class Life:
    """What is true in this month; moved by one step at a time."""

    rng: random.Random
    now: float = 1000.0
    step_s: float = FINE_STEP_S
    happened_at: float = 0.0
    running: dict[str, float] = field(default_factory=dict)  # probe -> when it began
    track: Track = field(default_factory=Track)
    phase: Phase = Phase.ENDED
    ready_at: float = 0.0
    paused_until: float | None = None
    hours: ServingHours = field(default_factory=ServingHours)
    sent_bytes: int = 0  # today
    day: str = ""
    counted: frozenset[str] = frozenset()  # probes whose things counted at the step before
    forbidden_until: dict[str, float] = field(default_factory=dict)  # probe -> end of the quiet time it is owed
    blocked_since: float | None = None  # when something began to want the device while it was not free
    free_since: float | None = None  # when the last obstacle to serving went

    @property
    def when(self) -> datetime:
        return START + timedelta(seconds=self.now)

    def happen(self) -> None:
        """Things begin and end; the probes look."""
        for kind in KINDS:
            was = kind.probe in self.running
            mean_s = kind.mean_length_s if was else kind.mean_gap_s
            if self.rng.random() < self.step_s / max(mean_s, self.step_s):
                self.happened_at = self.now
                if was:
                    del self.running[kind.probe]
                    if kind.probe in self.counted:
                        self.forbidden_until[kind.probe] = self.now + _quiet_s(kind)
                else:
                    self.running[kind.probe] = self.now
            began = self.running.get(kind.probe)
            if was or (began is not None and self.now - began < FINE_FOR_S):
                seen = (kind.sighting,) if kind.probe in self.running else ()
                self.track = observe(self.track, verbatim(kind.probe), seen, self.now, likely_interval_s=1.0)
        if self.rng.random() < self.step_s / 80_000:
            self.happened_at = self.now
            self.paused_until = self.now + self.rng.choice([1800, 3600, 7200])
        if self.paused_until is not None and self.paused_until <= self.now:
            self.paused_until = None
        if self.phase is Phase.ONLINE and self.rng.random() < self.step_s / 200_000:
            self.phase, self.happened_at, self.free_since = Phase.ENDED, self.now, None  # it crashed

    def serve(self) -> None:
        """The engine comes along, and sends."""
        if self.phase in _LOADING and self.now >= self.ready_at:
            self.phase = Phase.ONLINE
        elif self.phase in (Phase.STOPPING, Phase.OFFLOADING) and self.now >= self.ready_at:
            self.phase = Phase.ENDED if self.phase is Phase.STOPPING else Phase.OFFLOADED
        day = self.when.strftime("%Y-%m-%d")
        self.sent_bytes, self.day = self.sent_bytes if self.day == day else 0, day
        if self.phase is Phase.ONLINE:
            self.sent_bytes += round(UPLOAD_BYTES_S * self.step_s)
            self.hours.add(self.when.timestamp(), Amounts(sent_bytes=round(UPLOAD_BYTES_S * self.step_s)))

    def obey(self, order: EngineOrder) -> None:
        moves = {
            EngineOrder.PREPARE: (Phase.PREPARING, 0.0),
            EngineOrder.START: (Phase.STARTING, 6.0),
            EngineOrder.RESTORE: (Phase.RESTORING, 2.0),
            EngineOrder.OFFLOAD: (Phase.OFFLOADING, 1.0),
            EngineOrder.STOP: (Phase.STOPPING, 2.0),
        }
        if order in moves:
            self.happened_at = self.now
            self.phase, delay_s = moves[order]
            self.ready_at = self.now + delay_s

    def inputs(self) -> Inputs:
        return Inputs(
            SETTINGS,
            EngineView(self.phase, verbatim("blocks 0:4")),
            self.track.presence,
            obstacles(WHEN, CAPS, self.hours.use(self.when.timestamp()), Disk(), self.when),
            pause=Pause(0.0, self.paused_until) if self.paused_until is not None else None,
            pause_left_s=self.paused_until - self.now if self.paused_until is not None else None,
        )


@figure("simulated_month", unit="violations", reach=0)
def violations(soak: bool) -> Measured:
    """Broken promises in a seeded month of events through the policy, by rules written independently of it."""
    found: Counter[str] = Counter()
    states: Counter[str] = Counter()
    for seed in range(5 if soak else 1):
        for decision, life in live(seed):
            states[decision.state] += 1
            for rule in broken(decision, life):
                found[rule] += 1
    steps = sum(states.values())
    detail = {"steps": steps, "by_state": dict(states), "violations": dict(found)}
    return Measured(sum(found.values()), detail, holds=len(states) >= 5)


def live(seed: int) -> Iterator[tuple[Decision, Life]]:
    life = Life(random.Random(seed))
    while life.now < DAYS * 86400:
        life.step_s = FINE_STEP_S if life.now - life.happened_at < FINE_FOR_S else COARSE_STEP_S
        life.now += life.step_s
        life.happen()
        life.serve()
        _note(life)
        decision = decide(life.inputs(), life.now)
        yield decision, life
        life.obey(decision.order)


# --- the rules, as a user was promised them --------------------------------------------------------------------------


def broken(decision: Decision, life: Life) -> Iterator[str]:
    """The names of the rules that this decision breaks."""
    confirmed = _confirmed(life)
    begins = decision.order in (EngineOrder.START, EngineOrder.RESTORE)
    if begins and confirmed & _FORBID:
        yield "serving begins while something forbids it"
    if begins and (life.paused_until is not None or not _in_hours(life) or _upload_used(life)):
        yield "serving begins against the user's own terms"
    if begins and any(life.now < until for until in life.forbidden_until.values()):
        yield "serving begins before the quiet time is over"
    if decision.state is State.SERVING and confirmed & _FORBID:
        yield "it says that it serves although the device is wanted"
    if life.blocked_since is not None and life.now - life.blocked_since > 5 and life.phase in (Phase.ONLINE, *_LOADING):
        yield "the device is not free after five seconds"
    if Reason.SLEEP in confirmed and decision.order is EngineOrder.OFFLOAD:
        yield "a sleeping computer keeps an engine"
    if life.free_since is not None and life.now - life.free_since > 30 and decision.state is not State.SERVING:
        yield "it does not serve although nothing speaks against it"
    yield from _untrue(decision, life, confirmed)
    if decision.state is State.SERVING and _is_in_use(life) and decision.duty > 0.5:
        yield "somebody at the keyboard is not spared"
    if not decision.state.is_working and not decision.ends:
        yield "a state does not say what ends it"


def _untrue(decision: Decision, life: Life, confirmed: set[Reason]) -> Iterator[str]:
    """The reason that is shown must be the case."""
    reason = decision.reason
    is_true = {
        Reason.TIMER: life.paused_until is not None,
        Reason.SCHEDULE: not _in_hours(life),
        Reason.UPLOAD_CAP: _upload_used(life),
        Reason.USER_ACTIVE: _is_in_use(life),
        Reason.QUIET_TIME: any(life.now < until + FINE_STEP_S for until in life.forbidden_until.values()),
        Reason.HEAT: not life.running.keys().isdisjoint(("warm", "hot")),
        Reason.NONE: not confirmed & _FORBID,
    }.get(reason, reason in confirmed)
    if not is_true:
        yield f"the reason {reason} is not true"


def _confirmed(life: Life) -> set[Reason]:
    """Return the reasons that count by now."""
    return {kind.sighting.reason for kind in KINDS if _counts(kind, life)}


def _counts(kind: Kind, life: Life) -> bool:
    """Certain things at once, likely ones after a second, weak ones alone never; heat when it is far too hot."""
    began = life.running.get(kind.probe)
    if began is None or kind.sighting.certainty is Certainty.WEAK or kind.probe == "warm":
        return False
    return kind.sighting.certainty is Certainty.CERTAIN or life.now - began >= 1.0


def _quiet_s(kind: Kind) -> float:
    """Return the quiet time that is owed after it has ended."""
    if kind.sighting.reason not in _FORBID - {Reason.SLEEP}:
        return 0.0
    return 15.0 if kind.sighting.certainty is Certainty.CERTAIN else 90.0


def _in_hours(life: Life) -> bool:
    """Monday to Friday from five in the afternoon to nine in the morning, Saturday and Sunday all day."""
    when = life.when
    is_night_of_a_weekday = when.weekday() < 5 and when.hour >= 17
    is_morning_after_one = when.hour < 9 and 1 <= when.weekday() <= 5
    return is_night_of_a_weekday or is_morning_after_one or when.weekday() >= 5


def _upload_used(life: Life) -> bool:
    return life.sent_bytes >= 2000 * 2**20


def _is_in_use(life: Life) -> bool:
    return "keyboard" in life.running and "lock" not in life.running


def _note(life: Life) -> None:
    """Remember what the rules need of the past."""
    confirmed = _confirmed(life)
    life.counted = frozenset(kind.probe for kind in KINDS if _counts(kind, life))
    is_wanted = bool(confirmed & _FORBID)
    if not is_wanted:
        life.blocked_since = None
    elif life.blocked_since is None:
        life.blocked_since = life.now
    is_owed = any(life.now < until for until in life.forbidden_until.values())
    speaks_against = is_wanted or is_owed or life.paused_until is not None or life.phase is Phase.STOPPING
    if speaks_against or not _in_hours(life) or _upload_used(life):
        life.free_since = None
    elif life.free_since is None:
        life.free_since = life.now
