"""Finds out whether a device can run Triton kernels, by running one, and says what to do if it can't."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import cache
from importlib.util import find_spec

import torch

from potluck.blocks.accelerators import NoKernels, made_current

_LEAST_CAPABILITY = (8, 0)  # Ampere: on Turing, Triton uses no tensor cores and spills kilobytes of registers
_WIDTH = 64


Trying = Callable[[], AbstractContextManager[NoKernels | None]]
"""Makes a context in which kernels are tried; it gives the reason if they should not be, else None."""


def uses_kernels(device: torch.device) -> bool:
    """Return whether kernels are expected on this kind of device, so that their absence is worth a word."""
    return device.type == "cuda"


def why_no_kernels(device: torch.device) -> NoKernels | None:
    """Run a kernel on a GPU and return None, or why that is impossible. It never raises."""
    if torch.version.hip is not None:
        return NoKernels("kernels not tried on AMD GPUs")
    if torch.cuda.get_device_capability(device) < _LEAST_CAPABILITY:
        return NoKernels("GPU older than Ampere")
    if find_spec("triton") is None:
        return NoKernels("no Triton", "set up the engine's environment again: potluck setup")
    return _try_kernel(device)


@cache
def _try_kernel(device: torch.device) -> NoKernels | None:
    try:
        with made_current(device):
            from potluck.blocks.kernels.block_operations import add_and_norm  # imports triton

            norm = torch.nn.RMSNorm(_WIDTH, eps=1e-6, device=device)
            norm.variance_epsilon = 1e-6  # type: ignore[assignment]
            _, output = add_and_norm(torch.ones((2, _WIDTH), device=device), None, norm)
            is_right = bool(torch.allclose(output, torch.ones_like(output), atol=1e-3))
    except Exception as error:  # compilers and drivers fail in many ways
        return NoKernels(str(error).strip().partition("\n")[0] or type(error).__name__)
    return None if is_right else NoKernels("a kernel computes wrong numbers", "update the GPU's driver")
