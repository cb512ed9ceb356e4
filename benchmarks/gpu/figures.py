"""The figures that need a GPU, and whether there is one. Imports nothing heavy before it must."""

from __future__ import annotations

import shutil
import sys
from importlib import import_module

from benchmarks.figures import Figure

GPU_FIGURES = {
    figure.name: figure
    for figure in (
        Figure(
            "gpu_decode_1",
            "share",
            "higher",
            0.8,
            "gpu.decode:one_row",
            "decode of 1 session through 32 blocks shaped as Llama 8B's, bf16: share of the measured copy bandwidth",
        ),
        Figure(
            "gpu_decode_32",
            "share",
            "higher",
            0.75,
            "gpu.decode:many_rows",
            "the same for 32 sessions in one step",
        ),
        Figure(
            "gpu_int4_1",
            "share",
            "higher",
            0.6,
            "gpu.decode:int4_one_row",
            "decode of 1 session through the same blocks in int4: share of the copy bandwidth, over bytes as held",
        ),
        Figure(
            "gpu_experts_1",
            "share",
            "higher",
            0.5,
            "gpu.decode:experts_one_row",
            "decode of 1 session through blocks shaped as Qwen3-30B-A3B's: share of the copy bandwidth",
        ),
        Figure(
            "gpu_prefill",
            "share",
            "higher",
            0.5,
            "gpu.passes:prefill",
            "prefills of 512, 2048 and 8192 tokens in pieces: share of a large product's speed, the worst counts",
        ),
        Figure(
            "gpu_stream",
            "share",
            "higher",
            0.9,
            "gpu.passes:stream",
            "passes through streamed blocks: share of the speed of pinned memory, measured in the same run",
        ),
        Figure(
            "gpu_offload",
            "s",
            "lower",
            0.3,
            "gpu.offload:offload",
            "40 GB of blocks given back",
        ),
        Figure(
            "gpu_restore",
            "share",
            "higher",
            0.9,
            "gpu.offload:restore",
            "40 GB of blocks taken again: share of the speed of pinned memory, measured in the same run",
        ),
    )
}


def has_gpu() -> bool:
    """Whether this machine has an NVIDIA GPU and its driver."""
    return shutil.which("nvidia-smi") is not None


def what_lacks(*, needs_gpu: bool = True) -> str | None:
    """Return in a sentence what this Python lacks for a run on a GPU, or None.

    Args:
        needs_gpu: False where Triton's interpreter replaces the GPU.
    """
    try:
        torch, _ = import_module("torch"), import_module("triton")
    except ImportError as error:
        return f"{sys.executable} has no torch for CUDA with Triton: {error}"
    return "there is no GPU: nothing was run" if needs_gpu and not torch.cuda.is_available() else None
