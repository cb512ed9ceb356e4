"""What the machine can do at best: the speeds that figures are shares of."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable

import torch


def name_of(device: torch.device) -> str:
    return torch.cuda.get_device_name(device) if device.type == "cuda" else device.type


def synchronize(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def held_bytes(device: torch.device) -> int:
    """Free what nothing refers to any more, and return what torch still holds of a GPU besides its context."""
    gc.collect()
    if device.type != "cuda":
        return 0
    torch.cuda.synchronize(device)
    torch._C._cuda_clearCublasWorkspaces()
    torch.cuda.empty_cache()
    return int(torch.cuda.memory_reserved(device))


def median_s(run: Callable[[], object], device: torch.device, *, rounds: int) -> float:
    """Seconds a round until the device is done, after three that do not count."""
    times = []
    for _ in range(rounds + 3):
        synchronize(device)
        start = time.perf_counter()
        run()
        synchronize(device)
        times.append(time.perf_counter() - start)
    return statistics.median(times[3:])


def copy_bps(device: torch.device, num_bytes: int = 4 << 30) -> float:
    """Bytes a second that a copy within the device reads and writes, counted together.

    Args:
        num_bytes: to copy, or as many as fit the free memory of a GPU with room to spare.
    """
    if device.type == "cuda":
        num_bytes = min(num_bytes, torch.cuda.mem_get_info(device)[0] // 3)
    source = torch.randint(0, 255, (num_bytes,), dtype=torch.uint8, device=device)
    target = torch.empty_like(source)
    return 2 * num_bytes / median_s(lambda: target.copy_(source), device, rounds=10)


def pinned_bps(device: torch.device, num_bytes: int = 1 << 30) -> float:
    """Bytes a second from pinned memory to the device."""
    source = torch.ones(num_bytes, dtype=torch.uint8, pin_memory=device.type == "cuda")
    target = torch.empty(num_bytes, dtype=torch.uint8, device=device)
    return num_bytes / median_s(lambda: target.copy_(source, non_blocking=True), device, rounds=5)


def peak_flops(device: torch.device, side: int = 8192) -> float:
    """Operations a second of a product of two square bf16 matrices."""
    matrix = torch.randn(side, side, device=device).to(torch.bfloat16)
    return 2 * side**3 / median_s(lambda: matrix @ matrix, device, rounds=10)
