"""How kinds of devices differ apart from computing: how to wait for them, their memory, and copies in the background.

An Apple GPU (`mps`) computes in the machine's own memory and has one queue of work. It may read the source of an
asynchronous copy so late that the source already holds something else (pytorch#189690). This module knows nothing of
blocks.
"""

from __future__ import annotations

from dataclasses import dataclass

import psutil
import torch

from potluck.blocks.heap import trim_heap


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


def memory_of(device: torch.device) -> DeviceMemory:
    """Return the memory of a device that exists. For a CPU, `used` is the process's whole resident memory."""
    ram = psutil.virtual_memory()
    match device.type:
        case "cuda" | "xpu":
            backend = getattr(torch, device.type)
            free, total = backend.mem_get_info(device)
            return DeviceMemory(int(total), int(free), int(backend.memory_reserved(device)), is_own=True)
        case "mps":
            return apple_memory(
                limit=int(torch.mps.recommended_max_memory()),
                used=int(torch.mps.driver_allocated_memory()),
                available=int(ram.available),
            )
        case _:
            return DeviceMemory(int(ram.total), int(ram.available), psutil.Process().memory_info().rss, is_own=False)


def apple_memory(*, limit: int, used: int, available: int) -> DeviceMemory:
    """Return an Apple GPU's memory: the system grants it `limit` of the machine's memory, as far as other programs
    leave it.
    """
    return DeviceMemory(limit, max(min(limit - used, available), 0), used, is_own=False)


def synchronize(device: torch.device) -> None:
    """Wait until the device has finished all its work."""
    if device.type == "mps":
        torch.mps.synchronize()
    elif device.type != "cpu":
        getattr(torch, device.type).synchronize(device)


def trim_memory(device: torch.device) -> None:
    """Return freed memory to the system; torch and the C library both keep some for later."""
    empty_cache(device)
    trim_heap()


def empty_cache(device: torch.device) -> None:
    """Return the memory that torch caches to the system."""
    if device.type != "cpu":
        getattr(torch, device.type).empty_cache()


def copies_in_background(device: torch.device) -> bool:
    """Return whether a copy to the device may continue while the caller goes on and leaves the source unchanged."""
    return device.type == "cuda"


def takes_one_thread(device: torch.device) -> bool:
    """Return whether only one thread should use the device: an Apple GPU's one queue serialises all work anyway."""
    return device.type == "mps"
