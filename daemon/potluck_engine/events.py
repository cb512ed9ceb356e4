"""What an engine tells whoever started it, in the order it happens."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from potluck.protocol.blocks import PeerId, Span


@dataclass(frozen=True, slots=True)
class Starting:
    model: str


@dataclass(frozen=True, slots=True)
class Joining:
    """The swarm is reached and told what will be served."""

    peer_id: PeerId
    span: Span


@dataclass(frozen=True, slots=True)
class Loading:
    """Bytes of the span read so far; `total_bytes` 0 while it is not known."""

    done_bytes: int
    total_bytes: int


@dataclass(frozen=True, slots=True)
class Placed:
    """Where the weights are: how many blocks stay on the device, and what a step has to fetch for the others."""

    resident_blocks: int
    streamed_blocks: int
    device_bytes: int
    streamed_bytes: int  # in one pass through the span
    summary: str


@dataclass(frozen=True, slots=True)
class Measured:
    """The blocks were tried: steps of one token a second, and tokens of a long prompt a second, through one block."""

    inference_tps: float
    forward_tps: float


@dataclass(frozen=True, slots=True)
class Online:
    """The span answers; `seconds` since Starting."""

    peer_id: PeerId
    addresses: tuple[str, ...]
    span: Span
    seconds: float


@dataclass(frozen=True, slots=True)
class Moving:
    """The swarm needs other blocks, or more of them: `target` will be served; `why`, for people."""

    span: Span
    target: Span
    why: str


@dataclass(frozen=True, slots=True)
class Reshaped:
    """Other blocks answer than before, on the way to `target`."""

    span: Span
    target: Span


@dataclass(frozen=True, slots=True)
class Settled:
    """What it was moving to is served."""

    span: Span


@dataclass(frozen=True, slots=True)
class Offline:
    """Out of the swarm, everything closed; follows a stop and a failed start alike."""


@dataclass(frozen=True, slots=True)
class Freed:
    """Stepping aside: the memory of the weights is given back; the node stays in the network."""


@dataclass(frozen=True, slots=True)
class Failed:
    """Could not start or had to stop."""

    message: str
    hint: str | None


EngineEvent = (
    Starting | Joining | Loading | Placed | Measured | Online | Moving | Reshaped | Settled | Offline | Freed | Failed
)
OnEvent = Callable[[EngineEvent], None]
