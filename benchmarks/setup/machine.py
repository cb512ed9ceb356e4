"""The machine that measures, and its threads."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Any

import psutil

ONE_THREAD = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


def describe_machine() -> dict[str, Any]:
    """Return what a reader must know to compare numbers; nothing that names the machine or its owner."""
    return {
        "cpu": _cpu_name(),
        "cores": os.cpu_count(),
        "memory_gib": round(psutil.virtual_memory().total / 2**30, 1),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "torch": _version_of("torch"),
        "transformers": _version_of("transformers"),
        "threads_a_process": 1,
        "load_average": round(os.getloadavg()[0], 2),
    }


def pss_bytes(pid: int) -> int:
    """Proportional set size: private memory and a fair share of what is shared."""
    return _memory_bytes(pid, "Pss")


def rss_bytes(pid: int) -> int:
    """Resident memory: anonymous, and mapped from files."""
    return _memory_bytes(pid, "Rss")


def cpu_seconds_of(pid: int) -> float:
    """Return the processor time of all threads, to the nanosecond where the kernel counts so (in schedstat)."""
    threads = list(Path(f"/proc/{pid}/task").glob("*/schedstat"))
    if threads:
        return sum(int(thread.read_text().split()[0]) for thread in threads) / 1e9
    times = psutil.Process(pid).cpu_times()
    return float(times.user + times.system)


def _memory_bytes(pid: int, name: str) -> int:
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    raise ValueError(f"no {name} of process {pid}")


def _cpu_name() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _version_of(package: str) -> str:
    from importlib.metadata import version

    return version(package)
