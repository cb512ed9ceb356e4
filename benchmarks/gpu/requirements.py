"""Whether there is a GPU, and what measuring on one needs. Imports nothing heavy before it must."""

from __future__ import annotations

import shutil
import sys
from importlib import import_module


def has_gpu() -> bool:
    """Return whether this machine has an NVIDIA GPU and its driver."""
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
