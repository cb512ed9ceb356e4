"""Knows how kinds of devices differ apart from computing: waiting, memory, and copies in the background.

An Apple GPU (`mps`) computes in the machine's own memory and has one queue of work. It may read the source of an
asynchronous copy so late that the source already holds something else (pytorch#189690). This module knows nothing of
blocks.
"""

from __future__ import annotations

import ctypes
import gc
import weakref
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from functools import cache
from typing import Any

import psutil
import torch
from torch import Tensor

from potluck.allowance import cores, memory

_kept: list[Any] = []  # functions that `keep_until_release` returned


@dataclass(frozen=True, slots=True)
class DeviceMemory:
    """A device's memory in bytes.

    Attributes:
        used: by this process, including what torch caches.
        is_own: the device has memory of its own, which programs do not share with it.
    """

    total: int
    free: int
    used: int
    is_own: bool


@dataclass(frozen=True, slots=True)
class NoKernels:
    """A reason why a device runs no Triton kernels, and what the user can do, for people; `hint` may be empty."""

    reason: str
    hint: str = ""


def memory_of(device: torch.device) -> DeviceMemory:
    """Return the memory of a device that exists. For a CPU, `used` is the process's whole resident memory."""
    match device.type:
        case "cuda" | "xpu":
            backend = getattr(torch, device.type)
            free, total = backend.mem_get_info(device)
            return DeviceMemory(int(total), int(free), int(backend.memory_reserved(device)), is_own=True)
        case "mps":
            return apple_memory(
                limit=int(torch.mps.recommended_max_memory()),
                used=int(torch.mps.driver_allocated_memory()),
                available=memory().available,
            )
        case _:
            ram = memory()
            return DeviceMemory(ram.total, ram.available, psutil.Process().memory_info().rss, is_own=False)


def apple_memory(*, limit: int, used: int, available: int) -> DeviceMemory:
    """Return an Apple GPU's memory: the system grants it `limit` of the machine's memory, as far as other programs
    leave it.
    """
    return DeviceMemory(limit, max(min(limit - used, available), 0), used, is_own=False)


@cache
def num_processors(device: torch.device) -> int | None:
    """Return how many multiprocessors a GPU of CUDA has; None for other devices."""
    return int(torch.cuda.get_device_properties(device).multi_processor_count) if device.type == "cuda" else None


def limit_threads() -> None:
    """Compute in no more threads than this process has cores; torch knows of its affinity alone."""
    torch.set_num_threads(min(torch.get_num_threads(), cores()))


def made_current(device: torch.device) -> AbstractContextManager[object]:
    """Make this the thread's device within the context. Callers that run layers need it: Triton launches kernels on the
    current device, which is the first in a new thread, while torch's own kernels run where their tensors are.
    """
    return torch.cuda.device(device) if device.type == "cuda" else nullcontext()


def synchronize(device: torch.device) -> None:
    """Wait until the device has finished all its work."""
    if device.type == "mps":
        torch.mps.synchronize()
    elif device.type != "cpu":
        getattr(torch, device.type).synchronize(device)


def is_lost(device: torch.device) -> bool:
    """Return whether the device can compute nothing any more in this process, after what this thread gave it.

    After an illegal access or a fault of the driver, each call of a CUDA context fails until the process ends. To wait
    for the whole GPU is an error, too, while another thread records a graph.
    """
    try:
        if device.type == "cuda":
            torch.cuda.current_stream(device).synchronize()
        else:
            synchronize(device)
    except Exception:  # the context returns its first error, of any class, for ever
        return True
    return False


def trim_heap() -> None:
    """Return freed memory, which the C library caches, to the system."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc only
    if trim is not None:
        trim(0)


def trim_memory(device: torch.device) -> None:
    """Return freed memory to the system; torch and the C library both keep some for later."""
    empty_cache(device)
    trim_heap()


def release_memory(device: torch.device) -> None:
    """Return all unused memory of a device, with everything that libraries and caches keep of it for later.

    Nothing may compute there meanwhile, and no CUDA graph may be kept: graphs use such memory without holding it.
    """
    for kept in _kept:
        kept.cache_clear()
    gc.collect()  # finished and failed work may hold tensors in cycles
    if device.type == "cuda":
        torch._C._cuda_clearCublasWorkspaces()  # 32 MiB on Hopper for each thread and stream that multiplied
        torch._C._host_emptyCache()
    trim_memory(device)


def keep_until_release(make: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Make a function keep all tensors that it returns until `release_memory`, because CUDA graphs read them."""
    kept = cache(make)
    _kept.append(kept)
    return kept


def empty_cache(device: torch.device) -> None:
    """Return the memory that torch caches to the system."""
    if device.type != "cpu":
        getattr(torch, device.type).empty_cache()


def copies_in_background(device: torch.device) -> bool:
    """Return whether a copy to the device may continue while the caller goes on and leaves the source unchanged."""
    return device.type == "cuda"


def pin(memory: Tensor, device: torch.device) -> None:
    """Have a GPU copy from memory on the host in the background for as long as that exists; the system may refuse.

    Memory that torch allocates pinned has a power of two of bytes, and never goes back to the system.
    """
    cudart: Any = torch.cuda.cudart()  # type: ignore[no-untyped-call]
    with made_current(device):  # otherwise a context on another GPU may be made
        if int(cudart.cudaHostRegister(memory.data_ptr(), memory.nbytes, 0)) == 0:
            weakref.finalize(memory.untyped_storage(), _unpin, cudart, memory.data_ptr(), device).atexit = False
            return
        with suppress(RuntimeError):
            torch.ones(1, device=device)  # the next launch reports the refusal again, and then CUDA forgets it


def _unpin(cudart: Any, address: int, device: torch.device) -> None:
    with made_current(device):
        cudart.cudaHostUnregister(address)


def takes_one_thread(device: torch.device) -> bool:
    """Return whether only one thread should use the device: an Apple GPU's one queue serialises all work anyway."""
    return device.type == "mps"
