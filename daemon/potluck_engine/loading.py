"""Opens checkpoints, loads blocks and checks that they compute. Everything here blocks; run it in threads."""

from __future__ import annotations

import torch
from potluck_control.launch_spec import LaunchSpec
from potluck_control.places import user_places

from potluck.blocks import BlockSpan, load_span
from potluck.blocks.adapters import Adapters
from potluck.blocks.parallel import Ranks
from potluck.checkpoint import Checkpoint, open_checkpoint
from potluck.checkpoint.adapter_files import open_adapter
from potluck.errors import CheckpointError, UsageError
from potluck.protocol.blocks import Span
from potluck_engine import fitting
from potluck_engine.measure import Speed, measure_speed

_DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


def open_for_swarm(config: LaunchSpec) -> Checkpoint:
    """Open the checkpoint and check that it is the swarm's model, as far as that can be seen.

    Raises:
        CheckpointError: missing, damaged, or of another depth than the swarm's model.
        UsageError: the span does not exist.
    """
    swarm = config.swarm
    revision = None if swarm.revision in ("main", "local") else swarm.revision
    checkpoint = open_checkpoint(str(config.checkpoint), revision=revision)
    if checkpoint.num_blocks != swarm.num_blocks:
        raise CheckpointError(
            f"{config.checkpoint} has {checkpoint.num_blocks} blocks, the swarm's model {swarm.num_blocks}",
            hint=f"serve the checkpoint of {swarm.model}",
        )
    if config.span is not None and config.span.end > checkpoint.num_blocks:
        raise UsageError(f"blocks {config.span} do not exist: the model has blocks 0:{checkpoint.num_blocks}")
    return checkpoint


def load(checkpoint: Checkpoint, span: Span, config: LaunchSpec, ranks: Ranks | None = None) -> BlockSpan:
    """Load the span, or this rank's part. Raises CheckpointError, and UsageError for a missing dtype or device."""
    dtype = _DTYPES.get(config.dtype)
    if dtype is None:
        raise UsageError(f"unknown number format {config.dtype!r}", hint=f"one of {', '.join(_DTYPES)}")
    try:
        torch.empty(0, device=config.device)
    except (RuntimeError, AssertionError) as error:
        raise UsageError(f"the device {config.device!r} cannot be used", hint="try --device cpu") from error
    torch.set_num_threads(config.threads)
    opened = [open_adapter(name, num_blocks=checkpoint.num_blocks) for name in config.adapters]
    room = fitting.weight_room(checkpoint, span, config, folder=user_places().cache / "blocks")
    if ranks is not None:
        room = fitting.share_of_room(room, ranks.rank, ranks.size, is_shared=config.device == "cpu")
    return load_span(
        checkpoint,
        span,
        room=room,
        dtype=dtype,
        device=config.device,
        ranks=ranks,
        quantization=config.quantization,
        cache_quantization=config.cache_quantization,
        adapters=Adapters(opened) if opened else None,
    )


def check(blocks: BlockSpan) -> None:
    """Run a real token through all blocks. Raises CheckpointError unless it comes out finite."""
    token = torch.ones((1, 1, blocks.hidden_size), dtype=blocks.dtype, device=blocks.device)
    with torch.inference_mode():
        output = blocks.forward(token, blocks.new_cache())
        if not bool(torch.isfinite(output).all()):
            raise CheckpointError("the blocks do not compute finite numbers", hint="download the checkpoint again")


def check_and_measure(blocks: BlockSpan) -> Speed:
    """Run `check`, then measure the speed; for the compute thread. Raises CheckpointError."""
    check(blocks)
    return measure_speed(blocks)
