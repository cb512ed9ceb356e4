"""The control API in one place: every method with its parameters and result, and every event.

Server, command line and app all import this file and the topics in `methods`, and nothing else of the wire. Requests of
JSON-RPC 2.0 go to `POST /rpc`, events come as Server-Sent Events from `GET /events`; each event's data is one JSON
object of the class named here.
Rule for changes: adding an optional field, a method, a state, a reason or a state of a probe keeps `API_VERSION`;
anything else raises it.
Times are Unix seconds, because they cross processes and are shown to people.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from potluck_control.engine_metrics import EngineMetrics
from potluck_control.method import Empty as Empty
from potluck_control.method import Method as Method
from potluck_control.methods import (
    contribution,
    earnings,
    gateway,
    health,
    machine,
    models,
    programs,
    settings,
    setup,
    swarms,
    updates,
)
from potluck_control.methods.models import Progress
from potluck_control.methods.programs import check_app
from potluck_control.network_report import NetworkReport
from potluck_control.states import Certainty, OpenEnum, Reason, State

API_VERSION = 1
HOST = "potluckd.local"  # the only Host header that is answered
RPC_PATH = "/rpc"
EVENTS_PATH = "/events"


# --- what is shown ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class EngineStatus:
    """The process that owns the device; `pid` is None while it is ended."""

    pid: int | None = None
    uptime_s: float = 0.0
    restarts: int = 0  # after failures, since the daemon started
    last_failure: str | None = None  # one sentence, with the advice if there is any


@dataclass(frozen=True, slots=True)
class SwarmOutlook:
    """What the swarm bears as a whole, and what one more server like its usual ones would add."""

    tokens_per_s: float  # that pass through all blocks; 0: a block is not served
    bottlenecks: tuple[tuple[int, int], ...]  # blocks [start, end) where it bears no more than that
    one_more_tokens_per_s: float
    one_more_span: tuple[int, int]  # which blocks that server would take


@dataclass(frozen=True, slots=True)
class SwarmStatus:
    """The swarm this machine serves, as far as the engine last told."""

    name: str
    model: str
    num_blocks: int
    span: tuple[int, int] | None = None  # blocks [start, end) served here; kept while yielded
    coverage: tuple[int, ...] = ()  # live replicas of each block, this machine included; empty: not known yet
    coverage_at: float | None = None  # when the coverage was read
    peer_id: str | None = None
    outlook: SwarmOutlook | None = None  # None: not known


@dataclass(frozen=True, slots=True)
class LoadStatus:
    """The machine and our share of it. Percentages are of the whole machine, 0 to 100."""

    cpu_percent: float = 0.0
    engine_cpu_percent: float = 0.0
    gpu_percent: float | None = None  # None: no GPU that can be asked
    memory_used_bytes: int = 0  # by the engine, on the device it serves from
    memory_limit_bytes: int = 0  # what the engine may use; 0: not limited
    memory_total_bytes: int = 0  # of that device


@dataclass(frozen=True, slots=True)
class UseStatus:
    """What serving has used since midnight."""

    sent_bytes: int = 0
    received_bytes: int = 0
    energy_wh: float = 0.0
    cost: float | None = None  # None: no price of electricity is set


class ProbeState(OpenEnum):
    WATCHING = "watching"  # works, sees nothing
    SEEN = "seen"  # sees a reason to yield
    ASLEEP = "asleep"  # not needed in this state
    UNAVAILABLE = "unavailable"  # not on this computer; `detail` says what is missing
    FAILED = "failed"  # it is here but does not work; `detail` says why
    OFF = "off"  # switched off in the settings
    UNKNOWN = "unknown"  # what a newer daemon says


@dataclass(frozen=True, slots=True)
class ProbeStatus:
    name: str
    state: ProbeState
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Status:
    """Everything a status page shows. `text` is the state and its reason as one sentence for people."""

    state: State
    reason: Reason
    text: str
    since: float
    version: str
    until: float | None = None  # when this state ends by itself, if that is known
    engine: EngineStatus = field(default_factory=EngineStatus)
    swarm: SwarmStatus | None = None
    load: LoadStatus = field(default_factory=LoadStatus)
    tokens_per_s: float = 0.0
    sessions: int = 0
    tokens_today: int = 0
    ends: str = ""  # what would end this state, for people; empty: it is as it should be
    app: str = ""  # the program it gives way to, as `never_yield` takes it; empty if that would not help
    app_title: str = ""  # the same program, as a person knows it
    duty: float = 1.0  # share of the time in which the engine computes
    use: UseStatus = field(default_factory=UseStatus)
    probes: tuple[ProbeStatus, ...] = ()
    notices: tuple[str, ...] = ()  # things to know, e.g. a settings file that could not be read
    loading: Progress | None = None  # of blocks from the hub or the disk; None: nothing is being loaded
    network: NetworkReport = field(default_factory=NetworkReport)  # as the engine last told


@dataclass(frozen=True, slots=True)
class Transition:
    """One line of the history. `app` and `app_title`: as in Status, for "never yield for this program"."""

    at: float
    before: State
    state: State
    reason: Reason
    text: str
    app: str = ""
    app_title: str = ""


# --- methods ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class HelloParams:
    client: str = ""  # name, for the log
    api: int = API_VERSION
    version: str = ""  # of the client's program


@dataclass(frozen=True, slots=True)
class DaemonHello:
    """`methods`: all that this daemon has; empty: it is older than the list. `control.agreement` compares versions."""

    api: int
    version: str
    pid: int
    started_at: float
    methods: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PauseParams:
    """`seconds` None: until resumed, or as long as the game that runs now."""

    seconds: float | None = None
    until_game_ends: bool = False

    def __post_init__(self) -> None:
        if self.seconds is not None and not 1 <= self.seconds <= 366 * 86400:
            raise ValueError("a pause lasts between a second and a year")


@dataclass(frozen=True, slots=True)
class OffloadParams:
    """Free the device's memory at once, and serve again after `seconds` or when resumed."""

    seconds: float = 900.0

    def __post_init__(self) -> None:
        if not 1 <= self.seconds <= 366 * 86400:
            raise ValueError("memory stays free between a second and a year")


@dataclass(frozen=True, slots=True)
class DrainParams:
    """`seconds`: how long open sessions may take; what is open then goes on elsewhere."""

    seconds: float = 600.0

    def __post_init__(self) -> None:
        if not 0 <= self.seconds <= 7 * 86400:
            raise ValueError("draining lasts at most a week")


@dataclass(frozen=True, slots=True)
class NeverYieldParams:
    """`app`: an executable's name, as `Status.app` tells it."""

    app: str

    def __post_init__(self) -> None:
        check_app(self.app)


@dataclass(frozen=True, slots=True)
class PresenceParams:
    """What an agent in another place sees; 0 seconds take it back. Agents repeat theirs before it expires."""

    source: str  # the agent's name
    reason: Reason
    who: str = ""  # program or thing, as a person knows it
    certainty: Certainty = Certainty.CERTAIN
    lifetime_s: float = 10.0
    app: str = ""

    def __post_init__(self) -> None:
        if not 1 <= len(self.source) <= 64 or len(self.who) > 128 or len(self.app) > 255:
            raise ValueError("names are too long, or the source has none")
        if not 0 <= self.lifetime_s <= 600:
            raise ValueError("a report lasts at most 10 minutes")


@dataclass(frozen=True, slots=True)
class JoinParams:
    invite: str = field(repr=False)  # holds the membership key

    def __post_init__(self) -> None:
        if not 1 <= len(self.invite) <= 16384:
            raise ValueError("an invite has between 1 and 16384 characters")


@dataclass(frozen=True, slots=True)
class CreateParams:
    """A new private swarm that is found through this machine.

    `name` empty: home, or home-2 and so on. `model`: a checkpoint's folder or a name on the hub; empty: the small model
    that comes with Potluck.
    """

    name: str = ""
    model: str = ""

    def __post_init__(self) -> None:
        if len(self.name) > 64 or len(self.model) > 4096:
            raise ValueError("the name has at most 64 letters, the model 4096")


@dataclass(frozen=True, slots=True)
class Joined:
    name: str
    model: str


@dataclass(frozen=True, slots=True)
class Invite:
    """For others to join the swarm that is served; whoever has it is a member."""

    name: str
    invite: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class HistoryParams:
    """The newest `limit` that fit all filters; an empty filter fits everything. `since` and `until`: Unix seconds."""

    limit: int = 50
    since: float | None = None
    until: float | None = None
    states: tuple[State, ...] = ()
    reasons: tuple[Reason, ...] = ()
    words: str = ""  # all of them in the text or in the program's name, in any case

    def __post_init__(self) -> None:
        if not 1 <= self.limit <= 1000:
            raise ValueError("limit is between 1 and 1000")
        if len(self.words) > 200:
            raise ValueError("at most 200 letters to look for")


@dataclass(frozen=True, slots=True)
class HistoryPage:
    transitions: tuple[Transition, ...]  # oldest first


@dataclass(frozen=True, slots=True)
class LogsParams:
    lines: int = 100

    def __post_init__(self) -> None:
        if not 1 <= self.lines <= 2000:
            raise ValueError("lines is between 1 and 2000")


@dataclass(frozen=True, slots=True)
class Logs:
    path: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Metrics:
    """What the engine counts since it started or came back."""

    engine: EngineMetrics
    age_s: float | None = None  # since the engine told; None: it never did
    page: str = ""  # where the page for Prometheus is; empty: switched off
    problem: str = ""  # why the page that is wanted is not there


HELLO = Method("hello", HelloParams, DaemonHello)
STATUS = Method("status", Empty, Status)
PAUSE = Method("pause", PauseParams, Status)
RESUME = Method("resume", Empty, Status)
OFFLOAD = Method(
    "offload", OffloadParams, Status
)  # "free my memory now": a pause that begins in a fraction of a second
JOIN = Method("join", JoinParams, Joined)
CREATE = Method("create", CreateParams, Joined)
INVITE = Method("invite", Empty, Invite)
HISTORY = Method("history", HistoryParams, HistoryPage)
LOGS = Method("logs", LogsParams, Logs)
NEVER_YIELD = Method("never_yield", NeverYieldParams, Status)  # adds to the setting yield.never
PRESENCE = Method("presence", PresenceParams, Empty)
METRICS = Method("metrics", Empty, Metrics)
RELOAD = Method("reload", Empty, Status)  # read settings and swarms again
DRAIN = Method("drain", DrainParams, Status)  # take no new work, finish what is open, then shut down
SHUTDOWN = Method("shutdown", Empty, Empty)

_ALL: tuple[Method[Any, Any], ...] = (
    *(HELLO, STATUS, PAUSE, RESUME, JOIN, CREATE, INVITE),
    *(NEVER_YIELD, PRESENCE),
    *(HISTORY, LOGS, METRICS, RELOAD, DRAIN, SHUTDOWN),
    *(OFFLOAD, settings.GET, settings.SET, programs.RUNNING, programs.PLACE, swarms.LIST, swarms.LEAVE),
    *(health.EXAMINE, health.FINDINGS, health.EXPORT),
    *(machine.GET, machine.MEASURE, machine.LOGIN, machine.SET_LOGIN),
    *(contribution.NOW, contribution.SERIES, models.LIST, models.DELETE, models.MOVE),
    *(gateway.START, gateway.STOP, gateway.STATUS),
    *(setup.STATE, setup.BEGIN, setup.CANCEL, setup.ROLL_BACK),
    *(updates.STATE, updates.CHECK, updates.INSTALL),
    *earnings.ALL,
)
METHODS: dict[str, Method[Any, Any]] = {method.name: method for method in _ALL}

# --- events ----------------------------------------------------------------------------------------------------------

STATUS_EVENT = "status"  # Status: at once when connected, then whenever it changes, at most twice a second
TRANSITION_EVENT = "transition"  # Transition
Event = Status | Transition | setup.SetupState | updates.UpdatesState
EVENT_TYPES: dict[str, type[Event]] = {
    STATUS_EVENT: Status,
    TRANSITION_EVENT: Transition,
    setup.EVENT: setup.SetupState,
    updates.EVENT: updates.UpdatesState,
}


# --- JSON-RPC's own numbers ------------------------------------------------------------------------------------------

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
REFUSED = -32000  # a PotluckError: `message` for people, `data.hint` says what to do
