"""Describes one engine: what it serves, on which devices, and within which limits.

The daemon makes it from the settings, `potluck serve` from its options, and the engine works with it as it is. It holds
the settings themselves, and beside them what is no setting. Plain values, no I/O, no torch.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from potluck.errors import UsageError
from potluck.membership.membership import Membership
from potluck.p2p.listening import everywhere
from potluck.protocol.blocks import Span
from potluck.protocol.swarm import Swarm
from potluck_control.settings import ServeSettings, Settings

_CPU_SHARE = 0.5  # share of the free memory: this is somebody's own computer
_GPU_SHARE = 0.8
_GPU_CONTEXT_BYTES = 700 << 20  # what a CUDA context takes besides tensors


def usual_memory_bytes(free_bytes: int, *, is_gpu: bool) -> int:
    """Return how much of a device's free memory an engine may use for weights, sessions and activations by default."""
    if is_gpu:
        return max(int(free_bytes * _GPU_SHARE) - _GPU_CONTEXT_BYTES, 0)
    return int(free_bytes * _CPU_SHARE)


@dataclass(frozen=True, slots=True)
class ServingLimits:
    """Ceilings that keep one caller from using up the server. Tokens count every row of a batch."""

    max_batch_tokens: int = 2048  # rows in one call or step; more where `max_call_bytes` and the session limit allow
    max_call_bytes: int = 256 << 20  # hidden states in one call or step, 4 bytes a value
    max_length: int = 1 << 20  # tokens of a session, where the model's positions and the pages reach so far
    cache_tokens: int = 16384  # KV cache of all sessions, tokens through the whole span; see `grows_cache`
    max_sessions: int = 256
    piece_tokens: int = 512  # most tokens through the span that run before a waiting decode step gets its turn
    max_queued_jobs: int = 256  # steps and calls that wait, or run
    max_queued_tokens: int = 65536  # tokens of these steps and calls; a call counts by its work
    opening_timeout_s: float = 10.0  # silence of a stream before its first message is whole
    step_timeout_s: float = 300.0  # silence of a session before it is closed; any step, even an empty one, counts
    session_timeout_s: float = 12 * 3600.0  # age of a session; stock servers allow 1800 s
    request_timeout_s: float = 180.0  # a whole forward or backward call, or the compute of one step
    alloc_timeout_s: float = 600.0  # longest wait for cache that a caller may ask for


@dataclass(frozen=True, slots=True)
class LaunchSpec:
    """Everything that one engine needs to know. The engine chooses what its settings leave open."""

    membership: Membership
    checkpoint: str  # folder or hub name
    runtime_dir: Path  # sockets and other files that are removed with the engine
    settings: Settings = field(default_factory=Settings)  # those that act in the engine, see `for_engine`
    memory_percent: int = field(
        default=100, compare=False
    )  # share of the limits after memory ran out; a change restarts no engine
    listen: tuple[str, ...] = everywhere(0)
    may_move_port: bool = False  # listen at another port while another program has this one
    announce: tuple[str, ...] = ()
    identity_path: Path | None = None  # None: a new identity each time
    outbox: Path | None = None  # folder for receipts on their way to the ledger; None: no receipts are kept
    head_socket: Path | None = None  # where gateways of this computer find the head; None: it isn't on the device
    keeps_head: bool = field(default=False, compare=False)  # memory for it, as one stays; no engine restarts
    grows_cache: bool = True  # sessions may have more than `limits.cache_tokens` where memory is free
    heartbeat_s: float = 10.0
    stop_timeout_s: float = 5.0  # time for open sessions to finish their step when the engine leaves
    limits: ServingLimits = field(default_factory=ServingLimits)

    @property
    def serve(self) -> ServeSettings:
        return self.settings.serve

    def with_serve(self, **changes: Any) -> LaunchSpec:
        """Return the specification with other values of settings of `serve`."""
        return replace(self, settings=replace(self.settings, serve=replace(self.serve, **changes)))

    @property
    def swarm(self) -> Swarm:
        return self.membership.swarm

    @property
    def span(self) -> Span | None:
        """Return the blocks to serve; None lets the engine choose and change them. Raises UsageError."""
        try:
            return Span.parse(self.serve.blocks) if self.serve.blocks else None
        except ValueError as error:
            raise UsageError(f"serve.blocks: {error}") from None
