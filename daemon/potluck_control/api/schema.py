"""The control API: the methods about the daemon itself with their parameters and results, and every event.

Server, command line and app share this file and the topics in `potluck_control.methods`; `all_methods` lists them all.
`messages` says how they travel. A new optional field, method, topic, state, reason or probe state keeps `API_VERSION`.
Any other change raises it. Times are Unix seconds, because they cross processes and are shown to people.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from potluck.protocol.codec import Confidential
from potluck.sentences import NOTHING, Sentence
from potluck_control.api.method import Empty as Empty
from potluck_control.api.method import GivenName, Limit, ModelName, Name
from potluck_control.api.method import Method as Method
from potluck_control.methods import installation
from potluck_control.methods.models import Progress
from potluck_control.processes.engine_report import EngineMetrics, NetworkReport
from potluck_control.states import Certainty, OpenEnum, Reason, State

API_VERSION = 2


# --- what is shown ---------------------------------------------------------------------------------------------------


class EngineStatus(Struct, frozen=True):
    """The process that owns the device; `pid` is None while it is ended."""

    pid: int | None = None
    uptime_s: float = 0.0
    restarts: int = 0  # restarts after failures since the daemon started
    last_failure: Sentence = NOTHING  # the error with its advice; empty: the engine has not failed
    runs_on: Sentence = NOTHING  # what steps run on, such as "fused, graphs" or "plain: no C compiler"
    runs_on_hint: Sentence = NOTHING  # how to make them faster; nothing: there is no need
    slow_why: Sentence = NOTHING  # why they run without the fast kernels that are expected; nothing: they don't


class SpeedForYou(Struct, frozen=True):
    """The speed of an answer for the people of this computer."""

    tokens_per_s: float
    is_measured: bool  # measured on their last answers; False: expected from the times of the best route's servers


class OneMore(Struct, frozen=True):
    """What one more server like the median one would bring."""

    span: tuple[int, int]  # the blocks [start, end) that it would take
    gain: float  # how much more all people together would get at once: 0.5 is half as much again; 0: it is a spare


class SwarmStatus(Struct, frozen=True):
    """The swarm that this machine serves, as its engine last reported it."""

    name: str
    model: str
    num_blocks: int
    span: tuple[int, int] | None = None  # blocks [start, end) served here now
    coverage: tuple[int, ...] = ()  # live replicas of each block, this machine included; empty: not known yet
    coverage_at: float | None = None  # when the coverage was read
    is_live: bool = False  # the engine that runs now read it
    peer_id: str | None = None
    one_more: OneMore | None = None  # None: not known
    speed_for_you: SpeedForYou | None = None  # None: not known, or some blocks have no server
    prefix: str = ""  # names the swarm and its model: another swarm, or model, has another one
    draft: str = ""  # the small model that drafts for it; empty: none


class LoadStatus(Struct, frozen=True):
    """The load of the machine and the engine's share. Percentages are of the whole machine."""

    cpu_percent: float = 0.0
    engine_cpu_percent: float = 0.0
    gpu_percent: float | None = None  # None: no GPU reports it
    memory_used_bytes: int = 0  # memory that the engine uses on the device it serves from
    memory_limit_bytes: int = 0  # what the engine may use; 0: not limited
    memory_total_bytes: int = 0  # the device's memory


class UseStatus(Struct, frozen=True):
    """Traffic and energy of serving since midnight, and traffic since the month began."""

    sent_bytes: int = 0
    received_bytes: int = 0
    energy_wh: float = 0.0
    cost: float | None = None  # None: no price of electricity is set
    month_sent_bytes: int = 0
    month_received_bytes: int = 0


class AuditStatus(Struct, frozen=True):
    """What this computer's own requests found about servers, through the gateway and since the daemon started."""

    checked: int = 0  # pieces of answers that another person's server computed again
    undecided: int = 0  # pieces whose results differed without a way to tell who is right
    wrong: tuple[str, ...] = ()  # servers that returned wrong results and are no longer used, by name; oldest first


class ProbeState(OpenEnum):
    """The state of a detector."""

    WATCHING = "watching"  # works, sees nothing
    SEEN = "seen"  # sees a reason to yield
    ASLEEP = "asleep"  # not needed in this state
    UNAVAILABLE = "unavailable"  # not on this computer; `detail` says what is missing
    FAILED = "failed"  # it is here but does not work; `detail` says why
    OFF = "off"  # switched off in the settings
    UNKNOWN = "unknown"  # a word of a newer daemon


class ProbeStatus(Struct, frozen=True):
    """A detector of reasons to step aside."""

    name: Sentence
    state: ProbeState
    detail: Sentence = NOTHING


class ProgramQuestion(Struct, frozen=True):
    """Is this program a game? `programs.place` answers: always or never."""

    app: str
    title: str  # the name that people know
    is_open: bool = True  # False: answered, and never asked again


class Status(Struct, frozen=True):
    """Everything that a status page shows. `text` is the state and its reason in one sentence."""

    state: State
    reason: Reason
    text: Sentence
    since: float
    version: str
    until: float | None = None  # when this state ends by itself; None: not known
    engine: EngineStatus = EngineStatus()
    swarm: SwarmStatus | None = None
    load: LoadStatus = LoadStatus()
    tokens_per_s: float = 0.0  # speed of the work for others in the last seconds
    sessions: int = 0
    tokens_today: int = 0  # tokens that others signed for, as in `earnings`
    ends: Sentence = NOTHING  # when this state ends; nothing: it is the normal state
    app: str = ""  # the program that it gives way to, for `programs.place`; empty if that would not help
    app_title: str = ""  # the program's name as people know it
    duty: float = 1.0  # share of the time in which the engine computes
    use: UseStatus = UseStatus()
    probes: tuple[ProbeStatus, ...] = ()
    notices: tuple[Sentence, ...] = ()  # e.g. that the settings file cannot be read
    loading: Progress | None = (
        None  # progress of reading blocks from the hub or the disk; None: nothing is being loaded
    )
    network: NetworkReport = NetworkReport()  # the engine's last report
    questions: tuple[ProgramQuestion, ...] = ()  # open questions, the oldest first
    nearby: tuple[str, ...] | None = None  # host:port of members on the local network; None: no node runs here
    ports: tuple[int, ...] = ()  # TCP, at which others find this computer now
    audits: AuditStatus = AuditStatus()
    is_confirmed: bool = True  # False: a guest of the swarm, until a leader's computer was online
    leader_heard_at: float | None = None  # when a leader's computer was last heard; None: not since the start


class Transition(Struct, frozen=True):
    """One line of the history. `app` and `app_title`: as in Status, for "never yield for this program"."""

    at: float
    before: State
    state: State
    reason: Reason
    text: Sentence
    app: str = ""
    app_title: str = ""


# --- methods ---------------------------------------------------------------------------------------------------------


class HelloParams(Struct, frozen=True):
    """A client's greeting."""

    client: str = ""  # name, for the log
    api: int = API_VERSION
    version: str = ""  # version of the client's program


class DaemonHello(Struct, frozen=True):
    """The daemon's greeting. `methods`: all that it answers; empty: it is too old to list them. See `versions`."""

    api: int
    version: str
    pid: int
    started_at: float
    methods: tuple[str, ...] = ()


class PauseParams(Struct, frozen=True):
    """The length of a pause. `seconds` None: until resumed, or until the running game ends."""

    seconds: float | None = None
    until_game_ends: bool = False

    def __post_init__(self) -> None:
        if self.seconds is not None and not 1 <= self.seconds <= 366 * 86400:
            raise ValueError("a pause lasts between a second and a year")


class DrainParams(Struct, frozen=True):
    """The limit of a drain. `seconds`: how long open sessions may take; the rest continue on other servers."""

    seconds: float = 600.0

    def __post_init__(self) -> None:
        if not 0 <= self.seconds <= 7 * 86400:
            raise ValueError("draining lasts at most a week")


class PresenceParams(Struct, frozen=True):
    """A sighting by an agent outside the daemon. The agent repeats it before it expires; 0 seconds withdraw it."""

    source: GivenName  # the agent's name
    reason: Reason
    who: Annotated[str, Meta(max_length=128)] = ""  # the program or thing, by the name that people know
    certainty: Certainty = Certainty.CERTAIN
    lifetime_s: Annotated[float, Meta(ge=0, le=600)] = 10.0
    app: Annotated[str, Meta(max_length=255)] = ""


class JoinParams(Confidential, frozen=True):
    """An invite, or any text with one in it, see `pasted.find_invite`. Whoever reads it may apply.

    `moves`: this computer serves the swarm from now on, even if it serves another one. `person`, `computer`: what
    others call the user and this computer; empty: as in the other swarms, or a guess.
    """

    invite: Annotated[str, Meta(min_length=1, max_length=1 << 18)]
    moves: bool = False
    person: Name = ""
    computer: Name = ""


class CreateParams(Struct, frozen=True):
    """A new swarm that is found through this machine.

    `name` empty: home, home-2 and so on. `model`: a checkpoint's folder or a name on the hub; empty: the demo model.
    `is_public`: anybody may join it without being invited. `moves`, `person`, `computer`: as in JoinParams.
    """

    name: Name = ""
    model: ModelName = ""
    is_public: bool = False
    moves: bool = False
    person: Name = ""
    computer: Name = ""


class Joined(Struct, frozen=True):
    """A swarm that was joined or created."""

    name: str
    model: str


class SwarmInvite(Confidential, frozen=True):
    """An invite to the served swarm: whoever has it may join until `expires_at`, up to `people` of them.

    `used`: how many of them have joined. That of an open or public swarm is no secret. `link` names the swarm and its
    key, and lets nobody in.
    """

    name: str
    invite: str
    expires_at: float = 0.0  # 0: of an open or public swarm
    people: int = 0
    link: str = ""  # empty: of an open swarm
    used: int = 0


class InviteParams(Struct, frozen=True, omit_defaults=True):  # an older daemon takes no null
    """Asks for the invite that this computer made last and that still lets people in, or for a new one.

    `people`, `days`: how many may join with it, and for how long; an open invite with other numbers won't do. null:
    as they are, or the usual ones. `is_new`: make another one in any case. `is_public`: anybody may join from now on,
    another 10,000 people.
    """

    people: Annotated[int, Meta(ge=1, le=10_000)] | None = None
    days: Annotated[float, Meta(gt=0, le=3650)] | None = None
    is_public: bool = False
    is_new: bool = False


class HistoryParams(Struct, frozen=True):
    """The newest `limit` transitions that pass all filters. An empty filter passes everything."""

    limit: Limit = 50
    since: float | None = None
    states: tuple[State, ...] = ()
    words: Annotated[str, Meta(max_length=200)] = ""  # all of them in the text or in the program's name, in any case


class HistoryPage(Struct, frozen=True):
    """Changes of state, as many as were asked for."""

    transitions: tuple[Transition, ...]  # oldest first


class LogsParams(Struct, frozen=True):
    """The number of lines to read."""

    lines: Annotated[int, Meta(ge=1, le=2000)] = 100


class Logs(Struct, frozen=True):
    """The last lines of the daemon's log."""

    path: str
    lines: tuple[str, ...]


class Metrics(Struct, frozen=True):
    """The engine's counters since it started or was restored."""

    engine: EngineMetrics
    age_s: float | None = None  # age of the engine's report; None: there is none
    page: str = ""  # address of the page for Prometheus; empty: switched off
    problem: Sentence = NOTHING  # why the page could not be opened


HELLO = Method("hello", HelloParams, DaemonHello)
STATUS = Method("status", Empty, Status)
PAUSE = Method("pause", PauseParams, Status)
RESUME = Method("resume", Empty, Status)
JOIN = Method("join", JoinParams, Joined)
CREATE = Method("create", CreateParams, Joined)
INVITE = Method("invite", InviteParams, SwarmInvite)
HISTORY = Method("history", HistoryParams, HistoryPage)
LOGS = Method("logs", LogsParams, Logs)
PRESENCE = Method("presence", PresenceParams, Empty)
METRICS = Method("metrics", Empty, Metrics)
RELOAD = Method("reload", Empty, Status)  # reads settings and swarms again
DRAIN = Method("drain", DrainParams, Status)  # take no new work, finish open sessions, then shut down
SHUTDOWN = Method("shutdown", Empty, Empty)

# --- events ----------------------------------------------------------------------------------------------------------

STATUS_EVENT = "status"  # Status: when connected, and whenever it changes, at most twice a second
TRANSITION_EVENT = "transition"  # Transition
Event = Status | Transition | installation.SetupState | installation.UpdatesState
EVENT_TYPES: dict[str, type[Event]] = {
    STATUS_EVENT: Status,
    TRANSITION_EVENT: Transition,
    installation.SETUP_EVENT: installation.SetupState,
    installation.UPDATES_EVENT: installation.UpdatesState,
}
