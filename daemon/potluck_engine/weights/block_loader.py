"""Loads blocks onto the engine's devices, and owns the processes of all devices but the first.

A load runs in a thread that nothing can stop. If its caller is cancelled, the blocks are freed once they are loaded;
`wait_settled` waits for that.

The digests of weights that this computer has announced are remembered in a small JSON file of the state folder (key ->
block -> digest). Without it, an engine that starts with damaged weights for the same swarm, revision and files would
announce them as if they were right.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import traceback
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import torch
from potluck_control.places import user_places
from potluck_control.processes.launch_spec import LaunchSpec

from potluck.blocks.accelerators import trim_memory
from potluck.blocks.span.block_span import BlockSpan
from potluck.checked_files import state_file
from potluck.checkpoint.source import Checkpoint
from potluck.errors import CheckpointError
from potluck.protocol.blocks import Span
from potluck.sentences import sentence
from potluck.tasks import BackgroundTasks, in_own_thread
from potluck_engine.compute.failures import DeviceWatch
from potluck_engine.ranks.processes import RankProcesses
from potluck_engine.ranks.ranked import RankedSpan
from potluck_engine.weights.loading import blocks_folder, check_blocks, forget_marks, load_blocks

log = logging.getLogger(__name__)

_MAX_MODELS = 64  # the oldest are dropped first

KnownDigests = dict[str, dict[str, str]]


def confirm_digests(path: Path, key: str, span: Span, digests: Sequence[str]) -> None:
    """Compare the digests of `span` with those in a file, which engines may share, and add those of new blocks.

    Raises:
        CheckpointError: some differ.
    """
    file = state_file(path, KnownDigests)
    known: KnownDigests = {}
    try:
        known = file.read() or {}
    except OSError as error:
        log.warning("cannot read which weights were served: %s", error)
    before = known.pop(key, {})
    now = {str(block): digest for block, digest in zip(span, digests, strict=True)}
    changed = [str(int(block) + 1) for block, digest in now.items() if before.get(block, digest) != digest]
    if changed:
        raise CheckpointError(
            sentence("the files of layer {number} have changed since they were served", number=", ".join(changed)),
            hint=sentence(
                "put the right files back; if the new ones are right, delete {path} and {file}",
                path=path,
                file=file.copy,
            ),
        )
    if now.items() <= before.items():
        return
    entries = [*known.items(), (key, before | now)][-_MAX_MODELS:]
    try:
        file.write(dict(entries))
    except OSError as error:
        log.warning("cannot remember which weights are served: %s", error)


class BlockLoader:
    """Loads blocks for one engine. Call `start` first and `close` last.

    `load` and `load_same` block and need `checkpoint`; call them through `run`.
    """

    checkpoint: Checkpoint

    def __init__(self, spec: LaunchSpec, device: DeviceWatch) -> None:
        self.ranks: RankProcesses | None = None  # None: one device alone
        self._spec = spec
        self._device = device
        self._unwanted = BackgroundTasks()
        self._digests_path = user_places().state / "served-weights.json"

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
        """Run `load` in a thread once no other load runs. Raises the errors of `load`, and DeviceLostError."""
        await self.wait_settled()
        loading = asyncio.create_task(in_own_thread(partial(self._whole, load)))
        try:
            return await asyncio.shield(loading)
        except asyncio.CancelledError:
            self._unwanted.start(_free(loading))
            self._forget_marks()
            raise

    async def wait_settled(self) -> None:
        """Wait until the blocks of cancelled loads are freed."""
        await self._unwanted.wait()

    async def load_tried(self, span: Span) -> BlockSpan:
        """Load blocks, and run a token through them. Raises PotluckError."""

        def load() -> BlockSpan:
            blocks = self.load(span)
            try:
                check_blocks(blocks)
            except BaseException:
                blocks.free()
                raise
            return blocks

        return await self.run(load)

    def load(self, span: Span) -> BlockSpan:
        """Load blocks. Raises CheckpointError if the files cannot be used or differ from those of an earlier run."""
        if self.ranks is None:
            blocks = load_blocks(self.checkpoint, span, self._spec)
        else:
            blocks = RankedSpan(self.ranks.load(self.checkpoint, span), self.ranks)
        try:
            spec = self._spec
            key = " | ".join((spec.swarm.prefix, spec.swarm.revision, spec.checkpoint))
            confirm_digests(self._digests_path, key, span, blocks.digests)
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
        """Run `load`. After an error, neither its traceback nor cycles may keep tensors that were loaded before."""
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
        """Let the next process try kernels, although a cancelled load may be in the middle of a trial."""
        if not self._device.has_lost:
            forget_marks(blocks_folder())


async def _free(loading: asyncio.Task[BlockSpan]) -> None:
    """Free blocks once they are loaded. A load that fails leaves none."""
    try:
        await asyncio.wait({loading})
        if loading.exception() is None:
            await asyncio.to_thread(loading.result().free)
    finally:
        loading.cancel()
