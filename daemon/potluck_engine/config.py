"""What an engine is told when it starts. Plain values only: picklable, no I/O, no torch."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from potluck.protocol.blocks import Span
from potluck.protocol.swarm import Swarm


@dataclass(frozen=True, slots=True)
class Limits:
    """Ceilings that keep one caller from taking everything. Tokens count every row of a batch."""

    max_batch_tokens: int = 2048  # in one call or step
    max_length: int = 8192  # tokens of a session
    cache_tokens: int = 16384  # KV cache of all sessions, tokens through the whole span; see `grows_cache`
    max_sessions: int = 256
    piece_tokens: int = 512  # tokens through the span that run before a waiting decode step gets its turn
    max_queued_jobs: int = 256  # of one priority
    max_queued_tokens: int = 65536  # of one priority
    step_timeout_s: float = 300.0  # silence of a session before it is closed; any step, even an empty one, counts
    session_timeout_s: float = 12 * 3600.0  # age of a session; stock servers allow 1800 s
    request_timeout_s: float = 180.0  # a whole forward or backward call, or the compute of one step
    alloc_timeout_s: float = 600.0  # longest wait for cache that a caller may ask for
    send_timeout_s: float = 30.0  # for a peer that does not read


@dataclass(frozen=True, slots=True)
class EngineConfig:
    """Everything one engine needs; `span` None means: choose `num_blocks` blocks that the swarm lacks most."""

    swarm: Swarm
    checkpoint: str | Path  # folder or hub name
    runtime_dir: Path  # sockets and other files that die with the engine
    span: Span | None = None
    num_blocks: int | None = None
    dtype: str = "float32"
    quantization: str = "none"  # of the weights, see potluck.blocks.formats
    adapters: tuple[str, ...] = ()  # LoRA: folders or hub names
    device: str = "cpu"
    devices: tuple[str, ...] = ()  # that hold the span together, `device` first; empty: that one alone
    max_memory: tuple[tuple[str, int], ...] = ()  # bytes of a device, "cpu" or "disk"; not named: what fits
    threads: int = 1
    listen: tuple[str, ...] = ("/ip4/0.0.0.0/tcp/0",)
    announce: tuple[str, ...] = ()
    identity_path: Path | None = None  # None: a new identity each time
    public_name: str | None = None
    disk_bytes: int = 0  # that files of the model may take; 0: only what is served is downloaded
    grows_cache: bool = True  # sessions may have more than `limits.cache_tokens` where memory is free
    link_mbps: float = 0.0  # of the network link, until it is measured; 0: what stock servers assume
    relay_for_others: bool = True  # carry the traffic of peers that nobody can dial
    heartbeat_s: float = 10.0
    stop_timeout_s: float = 5.0  # for open sessions to finish their step when the engine leaves
    parent_pid: int | None = None  # end when this process, which started the engine, dies
    limits: Limits = field(default_factory=Limits)
