"""Blocks that do not fit.

Weights may take a quarter of what they need; the files are in the system's cache for everybody. Accelerate's
`disk_offload` is used as its documentation says, on the inner decoder of the same checkpoint: the same number format,
threads and hidden states.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from transformers import DynamicCache

from benchmarks.figures import Measured, figure
from benchmarks.setup.generation import in_turn, median_ratio, rounded
from benchmarks.setup.models import checkpoint, local_model
from potluck.blocks.span.block_span import BlockSpan, load_span
from potluck.blocks.streaming.placement import Room
from potluck.checkpoint.source import open_checkpoint
from potluck.protocol.blocks import Span

_HIDDEN_SIZE, _WHOLE = 2048, Span(0, 8)
_PROMPT_TOKENS = 8


@figure("stream_accelerate_1", unit="ratio", reach=3, better="higher", shown=True)
def over_accelerate(soak: bool) -> Measured:
    """Tokens a second of streamed blocks four times what memory may hold, over Accelerate's `disk_offload`, one row."""
    folder = checkpoint(_HIDDEN_SIZE, len(_WHOLE))
    streamed = _streamed(folder)
    prompt = torch.randn(1, _PROMPT_TOKENS, _HIDDEN_SIZE)
    with torch.inference_mode(), _disk_offloaded(folder) as theirs:

        def call_theirs(hidden: Tensor, cache: Any) -> object:
            return theirs(inputs_embeds=hidden, past_key_values=cache, use_cache=True)

        steps = {
            "accelerate": _decoder(call_theirs, DynamicCache(config=theirs.config), prompt),
            "ours": _decoder(streamed, streamed.new_cache(), prompt),
        }
        times = in_turn(steps, 15 if soak else 5)
    detail = {"ms": rounded(times), "placement": str(streamed.weights.placement)}
    return Measured(median_ratio(times["accelerate"], times["ours"]), detail)


def _streamed(folder: Path) -> BlockSpan:
    source = open_checkpoint(str(folder))
    whole = sum(load_span(source, _WHOLE).weights.placement.sizes)
    room = Room(device_bytes=whole // 4, ram_bytes=whole, disk_bytes=0, folder=folder)
    return load_span(source, _WHOLE, room=room)


@contextmanager
def _disk_offloaded(folder: Path) -> Iterator[Any]:
    from accelerate import disk_offload

    model = local_model(folder).model
    with tempfile.TemporaryDirectory(dir=folder.parent) as offload_folder:
        yield disk_offload(model, offload_folder, execution_device=torch.device("cpu"))


def _decoder(call: Callable[[Tensor, Any], object], cache: Any, prompt: Tensor) -> Callable[[], object]:
    """Return a step of one token a row, after the prompt and one step to warm up."""
    call(prompt, cache)
    token = prompt[:, :1]
    call(token, cache)
    return lambda: call(token, cache)
