"""What the handlers share while an engine serves."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from potluck import wire
from potluck.checkpoint import BlockSpan
from potluck.protocol.blocks import PeerId
from potluck.protocol.swarm import Swarm
from potluck_daemon.engine.admission import Admission
from potluck_daemon.engine.blocks import ServedBlocks
from potluck_daemon.engine.cache import CacheBudget
from potluck_daemon.engine.compute import ComputeThread
from potluck_daemon.engine.config import Limits
from potluck_daemon.engine.measure import StepMeter
from potluck_daemon.engine.sessions import SessionTable

T = TypeVar("T")

_OFFLOAD_BYTES = 256 * 1024
"""Messages above this are coded in a helper thread: half a millisecond of the loop is what other sessions may lose."""
_FRAME_SLACK_BYTES = 256 * 1024  # metadata and names of blocks


@dataclass(frozen=True, slots=True)
class Serving:
    """Made once the span is loaded."""

    admission: Admission
    blocks: ServedBlocks
    compute: ComputeThread
    budget: CacheBudget
    sessions: SessionTable
    meter: StepMeter
    limits: Limits
    wire_limits: wire.Limits

    @classmethod
    def of(cls, loaded: BlockSpan, swarm: Swarm, peer_id: PeerId, limits: Limits, compute: ComputeThread) -> Serving:
        """Everything that serving `loaded` needs, nothing of it started."""
        span = loaded.span
        return cls(
            admission=Admission(swarm, peer_id, span, loaded.digests),
            blocks=ServedBlocks(loaded, piece_tokens=limits.piece_tokens),
            compute=compute,
            budget=CacheBudget(cache_tokens=limits.cache_tokens, num_blocks=len(span)),
            sessions=SessionTable(max_sessions=limits.max_sessions),
            meter=StepMeter(),
            limits=limits,
            wire_limits=_wire_limits(limits, loaded.hidden_size, swarm.num_blocks, len(span)),
        )

    @staticmethod
    async def offload(num_bytes: int, code: Callable[[], T]) -> T:
        """Run `code`, in a helper thread if it has many bytes to go through."""
        if num_bytes <= _OFFLOAD_BYTES:
            return code()
        return await asyncio.to_thread(code)


def _wire_limits(limits: Limits, hidden_size: int, num_blocks: int, span_blocks: int) -> wire.Limits:
    """What one message may be; a frame holds hidden states, gradients and prompts for each block, 4 bytes a value."""
    tensor_bytes = 4 * limits.max_batch_tokens * hidden_size
    return wire.Limits(
        hidden_size=hidden_size,
        num_blocks=num_blocks,
        max_batch_tokens=limits.max_batch_tokens,
        max_length=limits.max_length,
        max_frame_bytes=tensor_bytes * (2 + span_blocks) + _FRAME_SLACK_BYTES,
    )
