"""Compiles what blocks compute for few tokens, for this processor: products, attention, and the rest.

The code is `native_kernels.c` and `native_steps.c`. It is compiled when it is first needed, in a few seconds, and kept
with a checksum in this user's cache for the next process. It is loaded from a folder that only this user can write to
and that is removed at once. Without a compiler, and on processors other than x86 with AVX2, there are no such kernels.
docs/decisions/0009 has the measurements.
"""

from __future__ import annotations

import ctypes
import hashlib
import logging
import os
import platform
import shutil
import subprocess
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path

import torch

from potluck.blocks.kernel_support import NoKernels
from potluck.blocks.native_check import wrong_kernel
from potluck.blocks.native_library import NativeKernels
from potluck.checked_files import read_copy, write_copy

_SOURCES = [Path(__file__).with_name(name) for name in ("native_kernels.c", "native_steps.c")]
_HEADERS = [Path(__file__).with_name("native_kernels.h")]
_FLAGS = ("-O3", "-shared", "-fPIC", "-fopenmp", "-fvisibility=hidden")
_COMPILER_TIMEOUT_S = 120.0  # it takes five seconds of a processor's time

log = logging.getLogger(__name__)


def runs_natively(device: torch.device, dtype: torch.dtype) -> bool:
    """Return whether native kernels are expected for blocks of this kind, so that their absence is worth a word."""
    return device.type == "cpu" and dtype in (torch.bfloat16, torch.float32)


def native_kernels() -> NativeKernels | None:
    """Return the kernels for this processor, or None where they cannot be compiled, do not run or are wrong."""
    found = _found()
    return found if isinstance(found, NativeKernels) else None


def why_not_native() -> NoKernels | None:
    """Return why there are no native kernels here, or None if there are."""
    found = _found()
    return found if isinstance(found, NoKernels) else None


@cache
def _found() -> NativeKernels | NoKernels:
    found = _find()
    if isinstance(found, NoKernels):
        log.warning("blocks run slower, without native kernels: %s", found.reason)
    return found


def _find() -> NativeKernels | NoKernels:
    """Compile and check the kernels."""
    if platform.machine() not in ("x86_64", "AMD64"):
        return NoKernels(f"no kernels for {platform.machine()} processors")
    compiler = os.environ.get("CC") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        return NoKernels("no C compiler", "install one, such as: sudo apt install gcc libc6-dev")
    try:
        library = _compiled(compiler)
    except (OSError, subprocess.SubprocessError) as error:
        log.warning("%s does not compile the native kernels: %s", compiler, error)
        return NoKernels("the C compiler fails", "see whether gcc compiles a program; it may lack libc6-dev")
    if not library.potluck_kernels_run_here():
        return NoKernels("the processor lacks AVX2")
    kernels = NativeKernels(library)
    wrong = wrong_kernel(kernels)
    return kernels if wrong is None else NoKernels(f"the native kernel {wrong} computes wrong numbers")


def _compiled(compiler: str) -> ctypes.CDLL:
    kept = _kept(compiler)
    with tempfile.TemporaryDirectory(prefix="potluck-") as folder:  # mode 0700
        target = Path(folder) / "native_kernels.so"
        library = read_copy(kept)
        if library is not None:
            target.write_bytes(library)
        else:
            command = [compiler, *_FLAGS, "-o", str(target), *map(str, _SOURCES), "-lm"]
            subprocess.run(command, check=True, capture_output=True, timeout=_COMPILER_TIMEOUT_S)
            with suppress(OSError):  # then the next process compiles it again
                write_copy(kept, target.read_bytes())
        return ctypes.CDLL(str(target))  # it stays mapped after its file is removed


def _kept(compiler: str) -> Path:
    """Return where what this compiler makes of this code is kept. Raises OSError and CalledProcessError."""
    version = subprocess.run([compiler, "--version"], check=True, capture_output=True, timeout=_COMPILER_TIMEOUT_S)
    made_of = (" ".join(_FLAGS).encode(), version.stdout, *(source.read_bytes() for source in _HEADERS + _SOURCES))
    name = hashlib.sha256(b"".join(hashlib.sha256(each).digest() for each in made_of)).hexdigest()
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(cache, "potluck", "kernels", name)
