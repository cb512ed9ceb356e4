"""Blocks that do not fit: `stream_share`, `stream_accelerate_1` and `stream_accelerate_32`.

Weights may take a quarter of what they need; the files are in the system's cache for everybody. Accelerate's
`disk_offload` is used as its documentation says, on the inner decoder of the same checkpoint: the same number format,
threads and hidden states.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from transformers import DynamicCache

from benchmarks.figures import Measured
from benchmarks.models import checkpoint, local_model
from potluck.blocks.span.block_span import BlockSpan, load_span
from potluck.blocks.streaming.placement import Room
from potluck.checkpoint.source import open_checkpoint
from potluck.protocol.blocks import Span

HIDDEN_SIZE = 2048
NUM_BLOCKS = 8
LARGE_BATCH = (64, 8)  # rows and tokens of each
PROMPT_TOKENS = 8
_ROUNDS, _SOAK_ROUNDS = 5, 15

Step = Callable[[], object]


def share(soak: bool) -> Measured:
    """A forward of many rows, streamed and resident in turn."""
    folder = checkpoint(HIDDEN_SIZE, NUM_BLOCKS)
    resident, streamed = _resident(folder), _streamed(folder)
    hidden = torch.randn(*LARGE_BATCH, HIDDEN_SIZE)
    with torch.inference_mode():
        assert torch.allclose(resident(hidden), streamed(hidden), rtol=1e-4, atol=1e-4)
        times = _in_turn((lambda: resident(hidden), lambda: streamed(hidden)), _SOAK_ROUNDS if soak else _ROUNDS)
    detail = {
        "rows": LARGE_BATCH[0],
        "tokens_a_row": LARGE_BATCH[1],
        "placement": str(streamed.weights.placement),
        "resident_s": round(statistics.median(times[0]), 4),
        "streamed_s": round(statistics.median(times[1]), 4),
    }
    return Measured(_ratio(times), detail)


def accelerate_1(soak: bool) -> Measured:
    return _over_accelerate(1, soak)


def accelerate_32(soak: bool) -> Measured:
    return _over_accelerate(32, soak)


def _over_accelerate(rows: int, soak: bool) -> Measured:
    """Decode steps of `rows` rows, ours and Accelerate's in turn."""
    folder = checkpoint(HIDDEN_SIZE, NUM_BLOCKS)
    streamed = _streamed(folder)
    prompt = torch.randn(rows, PROMPT_TOKENS, HIDDEN_SIZE)
    with torch.inference_mode(), _disk_offloaded(folder) as theirs:
        ours = _decoder(lambda hidden, cache: streamed(hidden, cache), streamed.new_cache(), prompt)
        other = _decoder(_call_accelerate(theirs), DynamicCache(config=theirs.config), prompt)
        times = _in_turn((other, ours), _SOAK_ROUNDS if soak else _ROUNDS)
    tokens_s = [rows / statistics.median(each) for each in times]
    detail = {
        "rows": rows,
        "placement": str(streamed.weights.placement),
        "tokens_s": round(tokens_s[1], 2),
        "accelerate_tokens_s": round(tokens_s[0], 2),
    }
    return Measured(_ratio(times), detail)


def _resident(folder: Path) -> BlockSpan:
    return load_span(open_checkpoint(str(folder)), Span(0, NUM_BLOCKS))


def _streamed(folder: Path) -> BlockSpan:
    whole = sum(_resident(folder).weights.placement.sizes)
    room = Room(device_bytes=whole // 4, ram_bytes=whole, disk_bytes=0, folder=folder)
    return load_span(open_checkpoint(str(folder)), Span(0, NUM_BLOCKS), room=room)


@contextmanager
def _disk_offloaded(folder: Path) -> Iterator[Any]:
    from accelerate import disk_offload

    model = local_model(folder).model
    with tempfile.TemporaryDirectory(dir=folder.parent) as offload_folder:
        yield disk_offload(model, offload_folder, execution_device=torch.device("cpu"))


def _call_accelerate(model: Any) -> Callable[[Tensor, Any], object]:
    return lambda hidden, cache: model(inputs_embeds=hidden, past_key_values=cache, use_cache=True)


def _decoder(call: Callable[[Tensor, Any], object], cache: Any, prompt: Tensor) -> Step:
    """A step of one token a row, after the prompt and one step to warm up."""
    call(prompt, cache)
    token = prompt[:, :1]
    call(token, cache)
    return lambda: call(token, cache)


def _in_turn(steps: tuple[Step, Step], rounds: int) -> tuple[list[float], list[float]]:
    """Seconds of each step, one after the other, so that whatever else the machine does meets both."""
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        for step, taken in zip(steps, times, strict=True):
            begin = time.perf_counter()
            step()
            taken.append(time.perf_counter() - begin)
    return times


def _ratio(times: tuple[list[float], list[float]]) -> float:
    """The first one's time over the second's: the median of the rounds."""
    return statistics.median(first / second for first, second in zip(*times, strict=True))
