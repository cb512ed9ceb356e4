"""Defines the messages between the daemon and its engine: one JSON object a line over a pipe.

The engine speaks first (`Hello`), the daemon answers with a `Launch`. After that the daemon sends commands, and the
engine sends events and, every `REPORT_INTERVAL_S`, an `EngineReport`, which is also its sign of life. The engine may
run another version of this file: the daemon refuses a `Hello` with a different `PIPE_VERSION`, so `Hello` keeps its
name and fields for ever.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from potluck.protocol import codec
from potluck.protocol.blocks import Span
from potluck.protocol.codes import Denial
from potluck.sentences import NOTHING, Sentence
from potluck_control.api.schema import OneMore
from potluck_control.methods.members import SeenServer
from potluck_control.processes.engine_report import EngineMetrics, NetworkCaps, NetworkReport
from potluck_control.processes.launch_spec import LaunchSpec

PIPE_VERSION = 6
REPORT_INTERVAL_S = 1.0
MAX_LINE_BYTES = 32 * 1024 * 1024  # a roster of 10,000 people
MIN_DUTY = 0.1  # the least `Throttle.duty`: a step has to end
MAX_SERVERS = 500  # most servers in one message; a page shows no more


class Said(Struct, frozen=True, tag=True, tag_field="kind"):
    """A message of one end to the other. `kind` is its tag."""


class Command(Said, frozen=True):
    """A message of the daemon to its engine."""


class EngineEvent(Said, frozen=True):
    """An event in the life of an engine; `potluck serve` shows it, too."""


class SelfTest(Struct, frozen=True):
    """The output of the self-test of an engine's environment. `devices`: those it computes on, by name."""

    devices: tuple[str, ...]
    problem: str = ""


# --- daemon to engine ------------------------------------------------------------------------------------------------


class Launch(Command, frozen=True):
    """The launch specification, as the answer to the engine's Hello."""

    spec: LaunchSpec


class Throttle(Command, frozen=True):
    """Compute in this share of the time and rest in between; 1 means without rest."""

    duty: float


class Network(Command, frozen=True):
    """Obey these caps on the use of the network."""

    caps: NetworkCaps


class Offload(Command, frozen=True):
    """Announce to serve nothing, move sessions to other servers, and free the weights, but keep the process."""


class Drain(Command, frozen=True):
    """Announce to serve nothing and accept no new sessions; open ones go on until Stop."""


class Worth(Command, frozen=True):
    """Points of work that people did for this computer's owner: pairs of a person and points, the most first."""

    people: tuple[tuple[str, int], ...]


class Restore(Command, frozen=True):
    """Load the weights again and return to the swarm."""


class Stop(Command, frozen=True):
    """Leave the swarm and exit with 0."""


# --- engine to daemon ------------------------------------------------------------------------------------------------


class Hello(Said, frozen=True):
    """The engine's process is ready for its launch specification."""

    pid: int
    version: int = PIPE_VERSION


class Starting(EngineEvent, frozen=True):
    """The engine begins to start."""

    model: str


class Waiting(EngineEvent, frozen=True):
    """The engine cannot get online yet and tries again; `why` is empty once it goes on.

    Attributes:
        denial: why the swarm does not let it in; None: another reason, or one of an older peer's.
    """

    why: Sentence = NOTHING
    denial: Denial | None = None


class Joining(EngineEvent, frozen=True):
    """The engine has reached the swarm, announced what it will serve, and loads it."""

    peer_id: str
    span: Span


class Nearby(EngineEvent, frozen=True):
    """The members heard lately on the local network. A node that looks there sends every change."""

    found: tuple[str, ...]  # host:port


class Placed(EngineEvent, frozen=True):
    """The weights are in place: their format, and how many blocks stay on the device or are streamed to it."""

    device: str
    dtype: str
    quantization: str
    resident_blocks: int
    streamed_blocks: int
    device_bytes: int
    streamed_bytes: int  # bytes read in one pass through the span
    summary: Sentence
    ram_bytes: int = 0  # experts that are held and computed in RAM


class Measured(EngineEvent, frozen=True):
    """Rates through one block: steps of one token a second, and tokens of a long prompt a second."""

    inference_tps: float
    forward_tps: float
    packing_error: float | None = None  # relative difference of packed outputs; None: they can't be packed


class Online(EngineEvent, frozen=True):
    """The engine serves the span, `seconds` after it began to start or to come back."""

    peer_id: str
    addresses: tuple[str, ...]
    span: Span
    seconds: float


class StandbyOnline(Said, frozen=True, tag="Reachable"):
    """A standby node is in the swarm: it serves nothing, and others find it at these addresses."""

    peer_id: str
    addresses: tuple[str, ...]


class Moving(EngineEvent, frozen=True):
    """The engine begins to move from `span` to `target`."""

    span: Span
    target: Span
    why: Sentence


class Reshaped(EngineEvent, frozen=True):
    """The engine now serves `span`, on its way to `target`."""

    span: Span
    target: Span


class Settled(EngineEvent, frozen=True):
    """The engine has arrived at the blocks it was moving to."""

    span: Span


class Offline(EngineEvent, frozen=True):
    """The swarm knows that this engine serves nothing more."""


class Freed(EngineEvent, frozen=True):
    """The memory of the weights is given back; the engine stays in the network."""


class FilesChanged(EngineEvent, frozen=True):
    """A checkpoint's file is no longer what was loaded from it; empty: all are right again.

    With `is_served`, its blocks are served on from memory. Without, the engine serves nothing until it is Online again.
    """

    file: str
    is_served: bool


class Confirmed(EngineEvent, frozen=True):
    """A leader's engine found that a computer returns wrong results, as somebody reports.

    Attributes:
        person: who reports, by id.
    """

    peer_id: str
    person: str


class Examined(EngineEvent, frozen=True):
    """The engine has reloaded its weights, because others got wrong results from it.

    Attributes:
        damaged: a weight that was not in memory as it is in the files; empty: all were right.
    """

    damaged: str = ""


class Failed(EngineEvent, frozen=True):
    """The engine could not start or go on, and exits."""

    error: Sentence
    advice: Sentence = NOTHING


class SignedReceipt(Said, frozen=True):
    """A receipt for work done here: the client, which belongs to `person`, signed it."""

    receipt: bytes
    person: str


class MemberRecords(Said, frozen=True, tag="Members"):
    """Records of the served swarm's members. The engine sends those of peers, and gets those signed here.

    Attributes:
        leader_heard: the engine has just compared its records with a leader's computer.
    """

    records: tuple[bytes, ...]
    leader_heard: bool = False


class Met(Said, frozen=True):
    """Addresses at which the engine met members of the swarm."""

    addresses: tuple[str, ...]


class SwarmServers(Said, frozen=True, tag="Servers"):
    """The swarm's servers as the engine last read them: at most `MAX_SERVERS`, itself first."""

    servers: tuple[SeenServer, ...]


class EngineReport(Said, frozen=True):
    """State of the engine, sent every `REPORT_INTERVAL_S`."""

    sessions: int = 0
    total_tokens: int = 0  # tokens of the work for others since the process started
    memory_used_bytes: int = 0  # memory on the device that computes
    memory_limit_bytes: int = 0  # 0: not limited
    memory_total_bytes: int = 0
    gpu_percent: float | None = None  # None: the engine computes elsewhere, or the driver does not say
    coverage: tuple[int, ...] = ()  # live replicas of each block; empty: not known yet
    coverage_age_s: float = 0.0
    one_more: OneMore | None = None  # has the age of the coverage, like `expected_tps`
    expected_tps: float = 0.0  # tokens a second of one answer; 0: some blocks have no server
    metrics: EngineMetrics = EngineMetrics()
    fetched_bytes: int = 0  # bytes fetched of the files that are being downloaded
    fetch_total_bytes: int = 0  # 0: nothing is downloaded
    network: NetworkReport = NetworkReport()
    gpu: str = ""  # PCI address of the GPU that computes; empty: none, or not known
    runs_on: Sentence = NOTHING  # what steps run on, such as "fused, graphs" or "plain: no gcc"; empty: not known yet
    slow_why: Sentence = NOTHING  # why steps run without the fast kernels that are expected; empty: they have them
    runs_on_hint: Sentence = NOTHING  # how to make them faster; empty: nothing to do
    failing: tuple[Sentence, ...] = ()  # tasks that fail again and again


OnEvent = Callable[[EngineEvent], None]


def _kinds(base: type[Said]) -> dict[str, type[Said]]:
    """Return the messages below a class by their tags."""
    below = [name for kind in base.__subclasses__() for name in _kinds(kind).items()]
    return dict(below) or {str(base.__struct_config__.tag): base}


_KINDS = _kinds(Said)


class _Head(Struct):
    kind: str


def encode(message: Said) -> bytes:
    """Return the message as one line, with its newline."""
    return codec.encode(message) + b"\n"


def decode(line: bytes) -> Said | None:
    """Return the message in a line, or None for a kind that this version does not know.

    Raises:
        CodecError: it is not a message.
    """
    kind = _KINDS.get(codec.decode(_Head, line).kind)
    return None if kind is None else codec.decode(kind, line)
