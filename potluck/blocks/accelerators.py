"""What differs between kinds of devices outside of the computing itself: waiting, memory, copies in the background.

Asked here, so that the rest goes one way for all of them. An Apple GPU (`mps`) computes in the machine's own memory,
has one queue of work, and reads the source of a copy that nobody waits for too late: when it may hold something else
(pytorch#189690). Knows nothing of blocks.
"""

from __future__ import annotations

from dataclasses import dataclass

import psutil
import torch


@dataclass(frozen=True, slots=True)
class DeviceMemory:
    """In bytes. `used`: by this process, what torch keeps for later included; `is_own`: programs do not share it."""

    total: int
    free: int
    used: int
    is_own: bool


def memory_of(device: torch.device) -> DeviceMemory:
    """Of a device that is there. On a CPU `used` is all that the process has."""
    ram = psutil.virtual_memory()
    match device.type:
        case "cuda":
            free, total = torch.cuda.mem_get_info(device)
            return DeviceMemory(int(total), int(free), int(torch.cuda.memory_reserved(device)), is_own=True)
        case "mps":
            return apple_memory(
                limit=int(torch.mps.recommended_max_memory()),
                used=int(torch.mps.driver_allocated_memory()),
                available=int(ram.available),
            )
        case _:
            return DeviceMemory(int(ram.total), int(ram.available), psutil.Process().memory_info().rss, is_own=False)


def apple_memory(*, limit: int, used: int, available: int) -> DeviceMemory:
    """Of the machine's memory the system lets a GPU have a part; what other programs took of that is gone, too."""
    return DeviceMemory(limit, max(min(limit - used, available), 0), used, is_own=False)


def synchronize(device: torch.device) -> None:
    """Wait until the device has done all it was given."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    elif device.type == "mps":
        torch.mps.synchronize()


def empty_cache(device: torch.device) -> None:
    """Return memory that torch keeps for later to the system."""
    if device.type == "cuda":
        torch.cuda.empty_cache()
    elif device.type == "mps":
        torch.mps.empty_cache()


def copies_in_background(device: torch.device) -> bool:
    """Whether a copy to it may go on while its source stays as it is."""
    return device.type == "cuda"


def takes_one_thread(device: torch.device) -> bool:
    """Whether threads take turns at it: an Apple GPU has one queue, and does them one after the other anyway."""
    return device.type == "mps"
