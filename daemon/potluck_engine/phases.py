"""Defines the phases of an engine: what there is of it at a time. A later phase has all that an earlier one has.

Idle -> Announced (the swarm is told what will be served) -> InService (blocks are served, or the device is given back)
"""

from __future__ import annotations

from dataclasses import dataclass

from potluck.blocks import BlockSpan
from potluck.checkpoint import Checkpoint
from potluck_engine.announcing import Announcements
from potluck_engine.rebalancing import Rebalancer
from potluck_engine.span_state import SpanState


@dataclass(frozen=True, slots=True)
class PinnedSpan:
    """Blocks that the user chose, so that nothing moves them. Stands in for a `Rebalancer`."""

    def max_blocks(self, blocks: BlockSpan) -> int:
        return len(blocks.span)

    def start(self, state: SpanState) -> None:
        pass

    async def stop(self) -> None:
        pass

    async def close(self) -> None:
        pass


Mover = Rebalancer | PinnedSpan


@dataclass(frozen=True, slots=True)
class Idle:
    """The engine isn't announced yet, or has ended."""


@dataclass(frozen=True, slots=True)
class Announced:
    """The swarm knows what the engine is going to serve."""

    announcements: Announcements
    mover: Mover


@dataclass(frozen=True, slots=True)
class InService(Announced):
    """The engine serves a span, or keeps it ready while the device is given back."""

    checkpoint: Checkpoint
    state: SpanState
