"""Loads blocks onto the engine's devices, and owns the processes of all devices but the first."""

from __future__ import annotations

import asyncio
from typing import TypeVar

from potluck_control.launch_spec import LaunchSpec
from potluck_control.places import user_places

from potluck.blocks import BlockSpan
from potluck.checkpoint import Checkpoint
from potluck.errors import CheckpointError, PotluckError
from potluck.protocol.blocks import Span
from potluck.tasks import cancel_and_wait
from potluck_engine.loading import load
from potluck_engine.ranks.processes import RankProcesses
from potluck_engine.ranks.ranked import RankedSpan
from potluck_engine.served_weights import ServedWeights, weights_key

T = TypeVar("T")

_REASON_S = 5.0


class BlockLoader:
    """`start` first, `close` last; `load` blocks and is for a thread."""

    def __init__(self, spec: LaunchSpec) -> None:
        self.ranks: RankProcesses | None = None  # None: one device alone
        self._spec = spec
        self._served = ServedWeights(user_places().state / "served-weights.json")

    async def start(self) -> None:
        """Start the processes of the further devices. Raises PotluckError."""
        if len(self._spec.devices) > 1:
            self.ranks = await RankProcesses.start(self._spec)

    async def restart(self) -> None:
        """Replace the processes after one was lost. Raises PotluckError."""
        await self.close()
        await self.start()

    async def close(self) -> None:
        """End the processes. Idempotent."""
        if self.ranks is not None:
            await self.ranks.close()

    def load(self, checkpoint: Checkpoint, span: Span) -> BlockSpan:
        """Raises CheckpointError if the files cannot be used, or are not those that were served in an earlier run."""
        if self.ranks is None:
            blocks = load(checkpoint, span, self._spec)
        else:
            blocks = RankedSpan(self.ranks.load(checkpoint, span), self.ranks)
        try:
            self._served.confirm(weights_key(self._spec), span, blocks.digests)
        except CheckpointError:
            blocks.weights.free()
            raise
        return blocks

    def load_same(self, checkpoint: Checkpoint, before: BlockSpan) -> BlockSpan:
        """Load the blocks of `before` again. Raises CheckpointError if their weights are not those that it had."""
        blocks = self.load(checkpoint, before.span)
        if blocks.digests != before.digests:
            blocks.weights.free()
            raise CheckpointError("the checkpoint's files changed on disk", hint="put the right files back")
        return blocks

    async def wait_lost(self) -> None:
        """Return when a further device failed; never with one device."""
        if self.ranks is None:
            await asyncio.get_running_loop().create_future()
        else:
            await self.ranks.wait_lost()

    async def finish(self, loading: asyncio.Task[T]) -> T:
        """Return the result of `loading`. Raises PotluckError soon after a device failed, not after its time limit."""
        lost = asyncio.create_task(self.wait_lost())
        try:
            await asyncio.wait((loading, lost), return_when=asyncio.FIRST_COMPLETED)
            await asyncio.wait((loading,), timeout=_REASON_S)  # an error of this process says more
            if not loading.done():
                raise PotluckError("the process of a further device ended", hint="the log has its last words")
            return loading.result()
        finally:
            await cancel_and_wait(lost)
            loading.cancel()
