"""Loads blocks onto the engine's devices, and owns the processes of all devices but the first.

A load runs in a thread that nothing can stop. If whoever wanted the blocks is cancelled, they are freed once they are
loaded; `settled` waits for that.
"""

from __future__ import annotations

import asyncio
import gc
import traceback
from collections.abc import Callable
from functools import partial

import torch
from potluck_control.launch_spec import LaunchSpec
from potluck_control.places import user_places

from potluck.blocks.accelerators import trim_memory
from potluck.blocks.span import BlockSpan
from potluck.checkpoint.source import Checkpoint
from potluck.errors import CheckpointError
from potluck.protocol.blocks import Span
from potluck.tasks import BackgroundTasks
from potluck_engine.compute.failures import DeviceWatch
from potluck_engine.in_thread import in_thread
from potluck_engine.loading import blocks_folder, check, load
from potluck_engine.ranks.processes import RankProcesses
from potluck_engine.ranks.ranked import RankedSpan
from potluck_engine.served_weights import ServedWeights, weights_key
from potluck_engine.trial_mark import forget_marks


class BlockLoader:
    """`start` first, `close` last; `load` and `load_same` block, need `checkpoint`, and are for `run`."""

    checkpoint: Checkpoint

    def __init__(self, spec: LaunchSpec, device: DeviceWatch) -> None:
        self.ranks: RankProcesses | None = None  # None: one device alone
        self._spec = spec
        self._device = device
        self._unwanted = BackgroundTasks()
        self._served = ServedWeights(user_places().state / "served-weights.json")

    async def start(self) -> RankProcesses | None:
        """Start the processes of the further devices, if there are any. Raises PotluckError."""
        if len(self._spec.serve.devices) > 1:
            self.ranks = await RankProcesses.start(self._spec)
        return self.ranks

    async def close(self) -> None:
        """End the processes. Idempotent."""
        is_loading = len(self._unwanted) > 0
        await self._unwanted.cancel()
        if self.ranks is not None:
            await self.ranks.close()
        if is_loading:
            self._forget_marks()

    async def run(self, load: Callable[[], BlockSpan]) -> BlockSpan:
        """Load in a thread, when nothing else is loaded. Raises what `load` raises, and DeviceLostError."""
        await self.settled()
        loading = asyncio.create_task(in_thread(partial(self._whole, load)))
        try:
            return await asyncio.shield(loading)
        except asyncio.CancelledError:
            self._unwanted.start(_free(loading))
            self._forget_marks()
            raise

    async def settled(self) -> None:
        """Wait until nothing is loaded any more that nobody wants."""
        await self._unwanted.wait()

    async def tried_out(self, span: Span) -> BlockSpan:
        """Return blocks through which a token went. Raises PotluckError."""

        def load() -> BlockSpan:
            blocks = self.load(span)
            try:
                check(blocks)
            except BaseException:
                blocks.free()
                raise
            return blocks

        return await self.run(load)

    def load(self, span: Span) -> BlockSpan:
        """Raises CheckpointError if the files cannot be used, or are not those that were served in an earlier run."""
        if self.ranks is None:
            blocks = load(self.checkpoint, span, self._spec)
        else:
            blocks = RankedSpan(self.ranks.load(self.checkpoint, span), self.ranks)
        try:
            self._served.confirm(weights_key(self._spec), span, blocks.digests)
        except CheckpointError:
            blocks.free()
            raise
        return blocks

    def load_same(self, before: BlockSpan) -> BlockSpan:
        """Load the blocks of `before` again. Raises CheckpointError if their weights are not those that it had."""
        blocks = self.load(before.span)
        if blocks.digests != before.digests:
            blocks.free()
            raise CheckpointError("the checkpoint's files changed on disk", hint="put the right files back")
        return blocks

    def _whole(self, load: Callable[[], BlockSpan]) -> BlockSpan:
        """Load. If that fails, let neither the error's traceback nor cycles keep what had been loaded until then."""
        try:
            return self._device.run(load)
        except Exception as error:
            link: BaseException | None = error
            while link is not None:
                traceback.clear_frames(link.__traceback__)
                link = link.__cause__ or link.__context__
            gc.collect()
            self._device.free(partial(trim_memory, torch.device(self._spec.serve.device)))
            raise

    def _forget_marks(self) -> None:
        """Let the next process try kernels, although a load that is called off may be in the middle of a trial."""
        if not self._device.has_lost:
            forget_marks(blocks_folder())


async def _free(loading: asyncio.Task[BlockSpan]) -> None:
    """Free what is loaded when it is there. A load that fails leaves nothing."""
    try:
        await asyncio.wait({loading})
        if loading.exception() is None:
            await asyncio.to_thread(loading.result().free)
    finally:
        loading.cancel()
