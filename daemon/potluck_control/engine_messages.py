"""What the daemon and its engine say to each other over their pipe: one JSON object a line.

The engine speaks first (`Hello`), the daemon answers with `Launch`; after that the daemon sends commands and the
engine tells events and, every `REPORT_INTERVAL_S`, a `Report`, which is also its sign of life. The engine may run under
another interpreter with another version of this file: a different `PIPE_VERSION` is refused at once, with a sentence.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from potluck_control.codec import CodecError, from_json, loads, to_json
from potluck_control.engine_metrics import EngineMetrics
from potluck_control.network_report import NetworkCaps, NetworkReport
from potluck_control.schema import SwarmOutlook

PIPE_VERSION = 1
REPORT_INTERVAL_S = 1.0
MAX_LINE_BYTES = 256 * 1024
MIN_DUTY = 0.1  # of `Throttle`: a step must not take for ever
MAX_ACCOUNTS = 64  # whose credit is looked up: more than compete at a time


# --- daemon to engine ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Launch:
    """What to serve. Empty and 0 mean: choose."""

    invite: str = field(repr=False)  # holds the membership key; that is why it does not travel on the command line
    checkpoint: str  # folder or hub name
    runtime_dir: str
    identity_path: str
    blocks: str = ""  # START:END
    num_blocks: int = 0
    device: str = "auto"
    devices: tuple[str, ...] = ()  # that hold the blocks together; empty: `device` alone
    dtype: str = "auto"
    quantization: str = "none"
    adapters: tuple[str, ...] = ()
    memory_limit_mb: int = 0
    max_memory: str = ""
    threads: int = 0
    public_name: str = ""
    listen: tuple[str, ...] = ()
    link_mbps: float = 0.0
    relay_for_others: bool = True
    outbox: str = ""  # folder for receipts on their way to the ledger; empty: nothing is booked
    disk_mb: int = 0  # that downloads may take, those of blocks that are not served yet included
    models_folder: str = ""  # of downloads; the process is started with it in HF_HUB_CACHE


@dataclass(frozen=True, slots=True)
class Throttle:
    """Compute in this share of the time and rest in between; 1: never rest."""

    duty: float


@dataclass(frozen=True, slots=True)
class Network:
    """What the network may be used for from now on."""

    caps: NetworkCaps


@dataclass(frozen=True, slots=True)
class Offload:
    """Tell the swarm, end sessions so that they continue elsewhere, free the weights; stay ready to come back."""


@dataclass(frozen=True, slots=True)
class Drain:
    """Tell the swarm, take no new sessions; those that are open go on until Stop."""


@dataclass(frozen=True, slots=True)
class Booked:
    """These receipts are on disk: the tab in hexadecimal, and the number of its receipt."""

    tabs: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Worth:
    """What the credit of those who are served is worth here: account (a peer id) and microcredits."""

    accounts: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Restore:
    """Load the weights again and return to the swarm."""


@dataclass(frozen=True, slots=True)
class Stop:
    """Leave the swarm and exit with 0."""


# --- engine to daemon ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Hello:
    pid: int
    version: int = PIPE_VERSION


@dataclass(frozen=True, slots=True)
class Joining:
    """The swarm is reached; the blocks are being read."""

    peer_id: str
    span: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Placed:
    """Where the weights of the span are, and in which number format; sizes are bytes."""

    device: str
    dtype: str
    quantization: str
    resident_blocks: int
    streamed_blocks: int
    device_bytes: int
    streamed_bytes: int  # in one pass through the span


@dataclass(frozen=True, slots=True)
class Online:
    peer_id: str
    span: tuple[int, int]
    addresses: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Moving:
    """The swarm needs other blocks, or more of them; `target` is going to be served. `why`, for people."""

    span: tuple[int, int]
    target: tuple[int, int]
    why: str


@dataclass(frozen=True, slots=True)
class Reshaped:
    """Other blocks answer than before; `is_settled`: and that is where it wanted to be."""

    span: tuple[int, int]
    is_settled: bool


@dataclass(frozen=True, slots=True)
class Leaving:
    """The swarm has been told that this server gives nothing more; sent when the announcement is out."""


@dataclass(frozen=True, slots=True)
class Offloaded:
    """The weights are freed."""

    memory_used_bytes: int


@dataclass(frozen=True, slots=True)
class Failed:
    """The engine cannot go on and exits."""

    message: str
    hint: str | None = None


@dataclass(frozen=True, slots=True)
class Signed:
    """A receipt that a client signed for work done here, and for whom it spends; hexadecimal. Told until Booked."""

    receipt: str
    delegation: str = ""


@dataclass(frozen=True, slots=True)
class Vouched:
    """What clients show of what their donors did for others; hexadecimal."""

    vouchers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """How it goes, every `REPORT_INTERVAL_S`."""

    sessions: int = 0
    total_tokens: int = 0  # tokens through the span since the process started
    memory_used_bytes: int = 0  # on the device that computes
    memory_limit_bytes: int = 0  # 0: not limited
    memory_total_bytes: int = 0
    gpu_percent: float | None = None  # None: it computes elsewhere
    coverage: tuple[int, ...] = ()  # live replicas of each block; empty: not known yet
    coverage_age_s: float = 0.0
    outlook: SwarmOutlook | None = None  # as old as the coverage
    metrics: EngineMetrics = field(default_factory=EngineMetrics)
    fetched_bytes: int = 0  # of the files that are being downloaded
    fetch_total_bytes: int = 0  # 0: nothing is downloaded
    accounts: tuple[str, ...] = ()  # peer ids of donors who are being served
    network: NetworkReport = field(default_factory=NetworkReport)
    gpu: str = ""  # PCI address of the GPU that computes; empty: none, or not known


Command = Booked | Worth | Launch | Throttle | Network | Drain | Offload | Restore | Stop
Event = Signed | Vouched | Hello | Joining | Placed | Online | Moving | Reshaped | Leaving | Offloaded | Failed | Report
Message = Command | Event
_KINDS: dict[str, type] = {
    kind.__name__: kind
    for kind in (
        Booked,
        Worth,
        Signed,
        Vouched,
        Launch,
        Throttle,
        Network,
        Drain,
        Offload,
        Restore,
        Stop,
        Hello,
        Joining,
        Placed,
        Online,
        Moving,
        Reshaped,
        Leaving,
        Offloaded,
        Failed,
        Report,
    )
}


def encode(message: Message) -> bytes:
    """One line, its newline included."""
    text = json.dumps({"kind": type(message).__name__, **to_json(message)}, separators=(",", ":"), allow_nan=False)
    return text.encode() + b"\n"


def decode(line: bytes) -> Message | None:
    """The message in a line; None if a newer version sent a kind that is not known here.

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
