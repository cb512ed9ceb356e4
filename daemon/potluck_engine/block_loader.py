"""Loads blocks onto the engine's devices, and owns the processes of all devices but the first."""

from __future__ import annotations

from potluck_control.launch_spec import LaunchSpec
from potluck_control.places import user_places

from potluck.blocks import BlockSpan
from potluck.checkpoint import Checkpoint
from potluck.errors import CheckpointError
from potluck.protocol.blocks import Span
from potluck_engine.loading import load
from potluck_engine.ranks.processes import RankProcesses
from potluck_engine.ranks.ranked import RankedSpan
from potluck_engine.served_weights import ServedWeights, weights_key


class BlockLoader:
    """`start` first, `close` last; `load` blocks, needs `checkpoint`, and is for a thread."""

    checkpoint: Checkpoint

    def __init__(self, spec: LaunchSpec) -> None:
        self.ranks: RankProcesses | None = None  # None: one device alone
        self._spec = spec
        self._served = ServedWeights(user_places().state / "served-weights.json")

    async def start(self) -> RankProcesses | None:
        """Start the processes of the further devices, if there are any. Raises PotluckError."""
        if len(self._spec.devices) > 1:
            self.ranks = await RankProcesses.start(self._spec)
        return self.ranks

    async def close(self) -> None:
        """End the processes. Idempotent."""
        if self.ranks is not None:
            await self.ranks.close()

    def load(self, span: Span) -> BlockSpan:
        """Raises CheckpointError if the files cannot be used, or are not those that were served in an earlier run."""
        if self.ranks is None:
            blocks = load(self.checkpoint, span, self._spec)
        else:
            blocks = RankedSpan(self.ranks.load(self.checkpoint, span), self.ranks)
        try:
            self._served.confirm(weights_key(self._spec), span, blocks.digests)
        except CheckpointError:
            blocks.weights.free()
            raise
        return blocks

    def load_same(self, before: BlockSpan) -> BlockSpan:
        """Load the blocks of `before` again. Raises CheckpointError if their weights are not those that it had."""
        blocks = self.load(before.span)
        if blocks.digests != before.digests:
            blocks.weights.free()
            raise CheckpointError("the checkpoint's files changed on disk", hint="put the right files back")
        return blocks
