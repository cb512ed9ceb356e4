"""The figures that need a GPU, and whether there is one. Imports nothing heavy."""

from __future__ import annotations

import shutil

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
