"""Defines the messages between the daemon and its engine: one JSON object a line over a pipe.

The engine speaks first (`Hello`), the daemon answers with a `LaunchSpec`. After that the daemon sends commands, and the
engine sends events and, every `REPORT_INTERVAL_S`, an `EngineReport`, which is also its sign of life. The engine may
run another version of this file: the daemon refuses a `Hello` with a different `PIPE_VERSION`, so `Hello` keeps its
name and fields for ever.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import get_args

from potluck.protocol.blocks import Span
from potluck_control.codec import CodecError, from_json, loads, to_json
from potluck_control.engine_metrics import EngineMetrics
from potluck_control.launch_spec import LaunchSpec
from potluck_control.methods.members import SeenServer
from potluck_control.network_report import Nearby as Nearby
from potluck_control.network_report import NetworkCaps, NetworkReport
from potluck_control.schema import SwarmOutlook

PIPE_VERSION = 6
REPORT_INTERVAL_S = 1.0
MAX_LINE_BYTES = 32 * 1024 * 1024  # a roster of 10,000 people
MIN_DUTY = 0.1  # of `Throttle`, so that a step ends
MAX_SERVERS = 500  # in one message; a page shows no more


# --- daemon to engine ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Throttle:
    """Compute in this share of the time and rest in between; 1 means without rest."""

    duty: float


@dataclass(frozen=True, slots=True)
class Network:
    """Keep to these caps on the use of the network from now on."""

    caps: NetworkCaps


@dataclass(frozen=True, slots=True)
class Offload:
    """Tell the swarm, end sessions so that they continue elsewhere, and free the weights, but keep the process."""


@dataclass(frozen=True, slots=True)
class Drain:
    """Tell the swarm and take no new sessions; open ones go on until Stop."""


@dataclass(frozen=True, slots=True)
class Worth:
    """Points of work that people did for this computer's owner: pairs of a person and what they did, the most first."""

    people: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Restore:
    """Load the weights again and return to the swarm."""


@dataclass(frozen=True, slots=True)
class Stop:
    """Leave the swarm and exit with 0."""


# --- engine to daemon ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Hello:
    """The engine's process is ready for its launch specification."""

    pid: int
    version: int = PIPE_VERSION


@dataclass(frozen=True, slots=True)
class Starting:
    """The engine begins to start."""

    model: str


@dataclass(frozen=True, slots=True)
class Waiting:
    """The engine cannot get online yet and tries again; `why` is for people, and empty once it goes on."""

    why: str


@dataclass(frozen=True, slots=True)
class Joining:
    """The engine has reached the swarm, announced what it will serve, and loads it."""

    peer_id: str
    span: Span


@dataclass(frozen=True, slots=True)
class Placed:
    """The weights are in place: their format, and how many blocks stay on the device or are streamed to it."""

    device: str
    dtype: str
    quantization: str
    resident_blocks: int
    streamed_blocks: int
    device_bytes: int
    streamed_bytes: int  # in one pass through the span
    summary: str  # for people


@dataclass(frozen=True, slots=True)
class Measured:
    """Rates through one block: steps of one token a second, and tokens of a long prompt a second."""

    inference_tps: float
    forward_tps: float
    packing_error: float | None = None  # by how much packed outputs differ, relative; None: they can't be packed


@dataclass(frozen=True, slots=True)
class Online:
    """The engine serves the span, `seconds` after it began to start or to come back."""

    peer_id: str
    addresses: tuple[str, ...]
    span: Span
    seconds: float


@dataclass(frozen=True, slots=True)
class Reachable:
    """A standby node is in the swarm: it serves nothing, and others find it at these addresses."""

    peer_id: str
    addresses: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Moving:
    """The engine begins to move from `span` to `target`; `why` is for people."""

    span: Span
    target: Span
    why: str


@dataclass(frozen=True, slots=True)
class Reshaped:
    """The engine now serves `span`, on its way to `target`."""

    span: Span
    target: Span


@dataclass(frozen=True, slots=True)
class Settled:
    """The engine has arrived at the blocks it was moving to."""

    span: Span


@dataclass(frozen=True, slots=True)
class Offline:
    """The swarm knows that this engine serves nothing more."""


@dataclass(frozen=True, slots=True)
class Freed:
    """The memory of the weights is given back; the engine stays in the network."""


@dataclass(frozen=True, slots=True)
class FilesChanged:
    """A checkpoint's file is no longer what was loaded from it; empty: all are right again.

    With `is_served`, its blocks are served on from memory. Without, the engine serves nothing until it is Online again.
    """

    file: str
    is_served: bool


@dataclass(frozen=True, slots=True)
class Confirmed:
    """A leader's engine found that a computer returns wrong results, as somebody reports.

    Attributes:
        person: who reports, by id.
    """

    peer_id: str
    person: str


@dataclass(frozen=True, slots=True)
class Examined:
    """The engine has reloaded its weights, because others got wrong results from it.

    Attributes:
        damaged: a weight that was not in memory as it is in the files; empty: all were right.
    """

    damaged: str = ""


@dataclass(frozen=True, slots=True)
class Failed:
    """The engine could not start or go on, and exits."""

    message: str
    hint: str | None = None


@dataclass(frozen=True, slots=True)
class SignedReceipt:
    """A receipt for work done here: the client, which belongs to `person`, signed it."""

    receipt: bytes
    person: str


@dataclass(frozen=True, slots=True)
class Members:
    """Records of the served swarm's members: from the engine what peers brought, to it what was signed here.

    Attributes:
        leader_heard: from the engine: it just compared with a leader's computer.
    """

    records: tuple[bytes, ...]
    leader_heard: bool = False


@dataclass(frozen=True, slots=True)
class Met:
    """The addresses at which members of the swarm were found."""

    addresses: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Servers:
    """Who serves the swarm, sent when the engine has looked: at most `MAX_SERVERS`, itself first."""

    servers: tuple[SeenServer, ...]


@dataclass(frozen=True, slots=True)
class EngineReport:
    """State of the engine, sent every `REPORT_INTERVAL_S`."""

    sessions: int = 0
    total_tokens: int = 0  # tokens through the span since the process started
    memory_used_bytes: int = 0  # on the device that computes
    memory_limit_bytes: int = 0  # 0: not limited
    memory_total_bytes: int = 0
    gpu_percent: float | None = None  # None: the engine computes elsewhere, or the driver does not say
    coverage: tuple[int, ...] = ()  # live replicas of each block; empty: not known yet
    coverage_age_s: float = 0.0
    outlook: SwarmOutlook | None = None  # as old as the coverage
    metrics: EngineMetrics = field(default_factory=EngineMetrics)
    fetched_bytes: int = 0  # of the files that are being downloaded
    fetch_total_bytes: int = 0  # 0: nothing is downloaded
    network: NetworkReport = field(default_factory=NetworkReport)
    gpu: str = ""  # PCI address of the GPU that computes; empty: none, or not known
    runs_on: str = ""  # what steps run on, such as "fused, graphs" or "plain: no C compiler"; empty: not known yet
    runs_on_hint: str = ""  # how to make them faster; empty: nothing to do
    failing: tuple[str, ...] = ()  # what it should do but fails at again and again


EngineEvent = (
    Starting
    | Waiting
    | Nearby
    | Joining
    | Placed
    | Measured
    | Online
    | Moving
    | Reshaped
    | Settled
    | Offline
    | Freed
    | FilesChanged
    | Confirmed
    | Examined
    | Failed
)
OnEvent = Callable[[EngineEvent], None]

Command = LaunchSpec | Worth | Throttle | Network | Drain | Offload | Restore | Stop | Members
Message = Command | EngineEvent | Reachable | Hello | SignedReceipt | Met | Servers | EngineReport
_KINDS: dict[str, type] = {kind.__name__: kind for kind in get_args(Message)}


def encode(message: Message) -> bytes:
    """Return the message as one line, with its newline."""
    text = json.dumps({"kind": type(message).__name__, **to_json(message)}, separators=(",", ":"), allow_nan=False)
    return text.encode() + b"\n"


def decode(line: bytes) -> Message | None:
    """Return the message in a line, or None for a kind that this version does not know.

    Raises:
        CodecError: it is not a message.
    """
    data = loads(line)
    if not isinstance(data, dict) or not isinstance(data.get("kind"), str):
        raise CodecError("a message has a kind")
    kind = _KINDS.get(data["kind"])
    if kind is None:
        return None
    message: Message = from_json(kind, data, data["kind"])
    return message
