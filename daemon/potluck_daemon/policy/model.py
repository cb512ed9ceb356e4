"""The values that decisions are made of: phases of the engine, evidence of the probes, inputs and decisions."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, StrEnum

from potluck_control.processes.engine_messages import Waiting
from potluck_control.settings import Settings
from potluck_control.states import Certainty, Reason, State

from potluck.sentences import NOTHING, Sentence
from potluck_daemon.settings.state import Pause

PASSING_S = 2.0  # the time between decisions while an engine is offloaded or a state soon passes
LONGEST_WAIT_S = 60.0  # the clock of timers stands still while the computer sleeps, and a pause may end meanwhile
PREPARE_S = 12.0  # imports take so long on a slow machine, so the process starts this long before it is needed
SETTLE_S = 2.0  # the longest that the first looks of all probes take


class Phase(StrEnum):
    """The stage of the engine's life, as its supervisor knows it. `supervisor` has the transitions."""

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
    """The steps of the ladder that the engine climbs down. Each leaves the computer more of its memory."""

    ONLINE = 0
    FINISHING = 1
    OFFLOADED = 2
    PREPARED = 3  # a process that imports, because it is needed soon
    ENDED = 4


class EngineOrder(Enum):
    """An order to the supervisor that brings the engine towards its rung."""

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
    level: float = 0.0  # heat and power only: 0 is harmless, 1 far too much


@dataclass(frozen=True, slots=True)
class EndedEvidence:
    """Evidence that has ended."""

    evidence: Evidence
    ended_at: float


@dataclass(frozen=True, slots=True)
class Presence:
    """What all probes together report, as `presence.tracking` keeps it."""

    evidence: tuple[Evidence, ...] = ()  # the most certain first
    over: tuple[EndedEvidence, ...] = ()
    is_away: bool | None = None  # whether keyboard and mouse are at rest; None: nothing can tell
    use_since: float = 0.0  # when `is_away` last changed
    unsure: tuple[Evidence, ...] = ()  # programs to ask the user about; nothing is given back for them


@dataclass(frozen=True, slots=True)
class EngineView:
    """What the supervisor knows of the engine."""

    phase: Phase = Phase.ENDED
    serving: Sentence = NOTHING  # "blocks 0:4 of tiny-llama"
    failure: Sentence = NOTHING  # the last one, kept until the engine serves again
    retry_at: float | None = None  # the engine is not started before this time
    is_outdated: bool = False  # it was started for other settings or another swarm
    sessions: int = 0  # open ones
    gpu: str = ""  # PCI address of the GPU it computes on; empty: none or not known
    lacking: str = ""  # the file without which it cannot serve; empty: it lacks none
    waiting: Waiting = field(default_factory=Waiting)  # why it cannot get online yet
    drains: bool = False  # the swarm changed its model, and sessions with the old one may still finish
    is_stopped: bool = False  # somebody stopped its process


@dataclass(frozen=True, slots=True)
class Decision:
    """A state to show, and the order that leads the engine towards its rung."""

    state: State
    reason: Reason
    text: Sentence  # says nothing about how long it lasts
    rung: Rung
    ends: Sentence = NOTHING  # when this state ends; nothing: it is the normal state
    app: str = ""  # the program it is about, for "never yield for it"
    app_title: str = ""  # the name by which people know that program
    duty: float = 1.0
    left_s: float | None = None  # time until the state ends by itself
    order: EngineOrder = EngineOrder.NOTHING

    @property
    def wait_s(self) -> float:
        """The time until the next decision if nothing happens before."""
        is_passing = self.rung is Rung.OFFLOADED or self.reason is Reason.QUIET_TIME or self.state is State.STARTING
        left_s = LONGEST_WAIT_S if self.left_s is None else self.left_s
        if self.reason is Reason.QUIET_TIME and left_s > PREPARE_S:
            left_s -= PREPARE_S
        return min(PASSING_S if is_passing else LONGEST_WAIT_S, left_s)


@dataclass(frozen=True, slots=True)
class Inputs:
    """All that a decision depends on, besides the time."""

    settings: Settings
    engine: EngineView = EngineView()
    presence: Presence = Presence()
    obstacles: tuple[Decision, ...] = ()  # the schedule and caps; the most important first
    is_ending: bool = False
    finish_left_s: float | None = None  # time to finish open sessions before the daemon ends
    pause: Pause | None = None
    pause_left_s: float | None = None  # None: until resumed, or until the game ends
    swarm: str | None = ""  # its name; None: no swarm joined
    remover: str | None = None  # who removed this person or computer from the swarm; None: nobody
    is_applicant: bool = False  # nobody has let this computer in yet
    is_ticket_over: bool = False  # it is too late for the person's other computer to let this one in
    has_engine: bool = True  # there is an environment to start it in
    is_memory_short: bool = False
    is_settled: bool = True  # every probe has had time for its first looks
