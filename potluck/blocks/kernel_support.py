"""Finds out whether a device can run Triton kernels, by running one, and says what to do if it can't.

Triton compiles a small launcher in C the first time that it runs. So it needs a C compiler and Python's headers, which
neither torch nor Triton brings.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import torch

_LEAST_CAPABILITY = (7, 5)  # Turing: Triton's compiler has no products for older ones
_WIDTH = 64


@dataclass(frozen=True, slots=True)
class NoKernels:
    """A reason why a device runs no Triton kernels, and what the user can do, for people; `hint` may be empty."""

    reason: str
    hint: str = ""


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
        return NoKernels("GPU older than Turing")
    return _missing_tool() or _try_kernel(device)


def _missing_tool() -> NoKernels | None:
    """Return what Triton lacks on this machine, or None."""
    if find_spec("triton") is None:
        return NoKernels("no Triton", "set up the engine's environment again: potluck setup")
    if not (os.environ.get("CC") or shutil.which("gcc") or shutil.which("clang")):
        return NoKernels("no C compiler", "install one, such as: sudo apt install gcc libc6-dev")
    if not (Path(sysconfig.get_paths()["include"]) / "Python.h").exists():
        version = ".".join(map(str, sys.version_info[:2]))
        return NoKernels("no headers of Python", f"install them, such as: sudo apt install python{version}-dev")
    return None


@cache
def _try_kernel(device: torch.device) -> NoKernels | None:
    from potluck.blocks.block_kernels import add_and_norm  # imports triton

    norm = torch.nn.RMSNorm(_WIDTH, eps=1e-6, device=device)
    norm.variance_epsilon = 1e-6  # type: ignore[assignment]
    hidden = torch.ones((2, _WIDTH), device=device)
    try:
        _, output = add_and_norm(hidden, None, norm)
        is_right = bool(torch.allclose(output, torch.ones_like(output), atol=1e-3))
    except subprocess.CalledProcessError:
        return NoKernels("the C compiler fails", "see whether gcc compiles a program; it may lack libc6-dev")
    except Exception as error:  # compilers, linkers and drivers fail in many ways
        return NoKernels(str(error).strip().partition("\n")[0] or type(error).__name__)
    return None if is_right else NoKernels("a kernel computes wrong numbers", "update the GPU's driver")
