"""Measures the devices of this machine: `python -m potluck_engine.speeds` prints one JSON line a step.

Decoding depends on how fast weights are read, prefill on how fast matrices are multiplied. Half a second of each is
enough to choose a device; speeds that are announced to a swarm are measured with real blocks (`measure`). The process
ends when its standard input does, because nobody waits any more.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator

import torch
from potluck_control.codec import dumps
from potluck_control.methods.machine import Device, SpeedProgress

from potluck.blocks.accelerators import memory_of, synchronize
from potluck_engine.fitting import choose_dtype, choose_threads

_MEASURE_S = 0.5
_CPU_SIZE = (1024, 64 << 20)  # rows of a square matrix, and bytes that no cache holds
_GPU_SIZE = (4096, 512 << 20)


def main() -> None:
    threading.Thread(target=_end_with_stdin, daemon=True).start()
    torch.set_num_threads(choose_threads(0))
    names = device_names()
    for number, name in enumerate(names):
        _tell(SpeedProgress((number + 0.2) / len(names), f"Measuring {name}"))
        _tell(SpeedProgress((number + 1) / len(names), f"Measured {name}", measure(name)))


def device_names() -> tuple[str, ...]:
    """Return every device that torch can compute on, the processor last."""
    cuda = tuple(f"cuda:{index}" for index in range(torch.cuda.device_count()))
    return (*cuda, *(("mps",) if torch.backends.mps.is_available() else ()), "cpu")


def measure(name: str) -> Device:
    """Measure one device, for about a second; `problem` says why it does not compute."""
    dtype = choose_dtype("auto", name, "none")
    title, total, free = _describe(name)
    try:
        rows, num_bytes = _CPU_SIZE if name == "cpu" else _GPU_SIZE
        memory = 2 * num_bytes / _best_s(name, _copying(name, min(num_bytes, max(free // 8, 1 << 20)))) / 1e9
        compute = 2 * rows**3 / _best_s(name, _multiplying(name, rows, getattr(torch, dtype))) / 1e12
    except RuntimeError as error:  # an old GPU without kernels in this build, or one whose memory others use
        return Device(name, title, total, free, problem=str(error).splitlines()[0][:300])
    reads, computes = (float(f"{speed:.3g}") for speed in (memory, compute))  # never 0, which means not known
    return Device(name, title, total, free, memory_gb_s=reads, compute_tflops=computes, dtype=dtype)


def _describe(name: str) -> tuple[str, int, int]:
    if name.startswith("cuda"):
        free, total = torch.cuda.mem_get_info(name)
        return str(torch.cuda.get_device_properties(name).name), int(total), int(free)
    memory = memory_of(torch.device(name))
    return name, memory.total, memory.free


def _copying(name: str, num_bytes: int) -> Callable[[], object]:
    """Return a function that reads and writes so many bytes."""
    source = torch.zeros(num_bytes, dtype=torch.uint8, device=name)
    target = torch.empty_like(source)
    return lambda: target.copy_(source)


def _multiplying(name: str, rows: int, dtype: torch.dtype) -> Callable[[], object]:
    left = torch.ones((rows, rows), dtype=dtype, device=name)
    return lambda: left @ left


def _best_s(name: str, work: Callable[[], object]) -> float:
    """Return the time of the fastest run, because disturbances only make runs slower."""
    return min(_runs(name, work))


def _runs(name: str, work: Callable[[], object]) -> Iterator[float]:
    for _ in range(2):  # warm
        work()
    deadline = time.perf_counter() + _MEASURE_S
    while True:
        synchronize(torch.device(name))
        began = time.perf_counter()
        work()
        synchronize(torch.device(name))
        now = time.perf_counter()
        yield now - began
        if now > deadline:
            return


def _tell(progress: SpeedProgress) -> None:
    sys.stdout.buffer.write(dumps(progress) + b"\n")
    sys.stdout.buffer.flush()


def _end_with_stdin() -> None:
    while os.read(0, 1):  # not sys.stdin, whose lock would be held at the end
        pass
    os._exit(1)


if __name__ == "__main__":
    main()
