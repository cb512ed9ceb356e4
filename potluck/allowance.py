"""Says which cores and how much memory this process may use, and how busy the computer is.

Affinity and control groups limit a process: a container or a service has less than its computer, and a group's parents
limit it, too. Linux has one tree of control groups (version 2), or one for each controller (version 1); on other
systems the whole computer counts. Deadlines stretch on a busy computer (`stretched`).
Sources: cgroups(7), Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/memory.rst of the kernel.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import psutil

PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class Memory:
    """Total and available bytes of the computer, or of one control group."""

    total: int
    available: int  # free memory and the kernel's cache of files, which can be had without swapping


@dataclass(frozen=True, slots=True)
class _Files:
    """The names of a group's files in one version of control groups."""

    limits: tuple[str, ...]
    used: str
    reclaimable: tuple[str, ...]  # fields of memory.stat
    kills: str  # file with the line "oom_kill N"


_VERSION_1 = _Files(
    ("memory.limit_in_bytes",),
    "memory.usage_in_bytes",
    ("total_inactive_file", "total_active_file"),
    "memory.oom_control",
)
_VERSION_2 = _Files(
    ("memory.max", "memory.high"),
    "memory.current",
    ("inactive_file", "active_file", "slab_reclaimable"),
    "memory.events",
)


def cores(proc: Path = PROC) -> int:
    """Return how many threads can compute at the same time; at least one."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(min([usable, *_quotas(proc)]), 1)


def memory(proc: Path = PROC) -> Memory:
    """Return the memory that this process and others like it may use."""
    bounds = _bounds(proc)
    return Memory(min(each.total for each in bounds), max(min(each.available for each in bounds), 0))


def spare_bytes(reserve_bytes: int, proc: Path = PROC) -> int:
    """Return how much is available beyond a reserve for other programs; negative: memory is short.

    The programs share the computer. A control group is a limit for us, which may be smaller than the whole reserve.
    """
    machine, *groups = _bounds(proc)
    return min([machine.available - reserve_bytes, *(each.available for each in groups)])


def memory_kills(proc: Path = PROC) -> int | None:
    """Return how many processes of this one's group the kernel has killed because memory ran out; None: unknown.

    A process that is in no group learns of those of the whole computer.
    """
    for files, folder in list(_groups("memory", proc))[:1]:
        with suppress(OSError, KeyError, ValueError):
            return int(_fields(folder / files.kills)["oom_kill"])
    with suppress(OSError, KeyError, ValueError):
        return int(_fields(proc / "vmstat")["oom_kill"])
    return None


def _bounds(proc: Path) -> list[Memory]:
    """Return the computer's memory, and that of each group which limits it further."""
    machine = _machine_memory(proc)
    bounds = [machine]
    for files, folder in _groups("memory", proc):
        with suppress(OSError, KeyError, ValueError):
            limit = min(_limit(folder / name) for name in files.limits)
            if limit < machine.total:
                counts = _fields(folder / "memory.stat")
                reclaimable = sum(int(counts.get(name, 0)) for name in files.reclaimable)
                used = int((folder / files.used).read_text()) - reclaimable
                bounds.append(Memory(int(limit), int(limit) - used))
    return bounds


def _machine_memory(proc: Path) -> Memory:
    try:
        fields = _fields(proc / "meminfo")
        total, available = (int(fields[name].split()[0]) << 10 for name in ("MemTotal:", "MemAvailable:"))
        return Memory(total, available)
    except (OSError, KeyError, ValueError):  # another system, or a kernel before 3.14
        ram = psutil.virtual_memory()
        return Memory(int(ram.total), int(ram.available))


def _quotas(proc: Path) -> Iterator[int]:
    """Yield how many whole cores' time each group may use; less than one is zero."""
    for files, folder in _groups("cpu", proc):
        with suppress(OSError, ValueError):
            if files is _VERSION_2:
                quota, period = (folder / "cpu.max").read_text().split()
            else:
                quota, period = ((folder / f"cpu.cfs_{name}_us").read_text().strip() for name in ("quota", "period"))
            if quota not in ("max", "-1"):
                yield int(quota) // int(period)


def _groups(controller: str, proc: Path) -> list[tuple[_Files, Path]]:
    """Return the folder of this process's group and those of its parents, for one controller."""
    try:
        return _found_groups((proc / "self/cgroup").read_text(errors="surrogateescape"), controller, proc)
    except OSError:
        return []


@lru_cache(maxsize=8)
def _found_groups(own: str, controller: str, proc: Path) -> list[tuple[_Files, Path]]:
    """Return the folders for the text of /proc/self/cgroup, which changes when the process is moved.

    Raises OSError.
    """
    paths = {controllers: path for _, controllers, path in (line.split(":", 2) for line in own.splitlines())}
    named = next((path for controllers, path in paths.items() if controller in controllers.split(",")), None)
    files, kind, path = (_VERSION_2, "cgroup2", paths.get("", "/")) if named is None else (_VERSION_1, "cgroup", named)
    for line in (proc / "self/mountinfo").read_text(errors="surrogateescape").splitlines():
        before, _, after = line.partition(" - ")
        fields, (found, _, options) = before.split(), after.split(" ", 2)
        if found == kind and (named is None or controller in options.split(",")):
            root, mount = (_unescaped(field) for field in fields[3:5])
            inside = os.path.relpath(path, root)
            # If the group lies outside the mount, the mount shows a parent or the container itself.
            folder = mount if inside.startswith("..") else os.path.normpath(os.path.join(mount, inside))
            return [(files, each) for each in (Path(folder), *Path(folder).parents) if each.is_relative_to(mount)]
    return []


def _unescaped(path: str) -> str:
    """Return a path of mountinfo, in which spaces are written in octal."""
    return path.replace(r"\040", " ")


def _limit(path: Path) -> float:
    """Return a limit in bytes. Raises OSError or ValueError."""
    try:
        return float(path.read_text())
    except ValueError:  # "max"
        return float("inf")
    except FileNotFoundError:  # the root of the tree has none
        return float("inf")


def _fields(path: Path) -> dict[str, str]:
    """Return the lines of a file by their first word. Raises OSError."""
    return dict(line.split(maxsplit=1) for line in path.read_text().splitlines() if " " in line)


MAX_STRETCH = 10.0
_SCHEDSTAT = Path("/proc/self/schedstat")  # main thread: ns on a core, ns ready but waiting for one, time slices


def stretched(timeout_s: float) -> float:
    """Return the time to allow for work that takes at most `timeout_s` on an idle machine."""
    ran_s, waited_s = _scheduled()
    # The load average counts the whole machine, whatever part of it this process may use.
    return timeout_s * stretch(ran_s, waited_s, os.getloadavg()[0] / (os.cpu_count() or 1))


def stretch(ran_s: float, waited_s: float, load_per_core: float) -> float:
    """Return by what factor work takes longer than on an idle machine, from 1 to `MAX_STRETCH`.

    Args:
        ran_s: how long this process had a core since it started.
        waited_s: how long it waited for one. It shows a load that has just begun, the average one that lasts.
        load_per_core: the machine's load average over its cores.
    """
    shared = (ran_s + waited_s) / ran_s if ran_s > 0 else 1.0
    return min(max(shared, load_per_core, 1.0), MAX_STRETCH)


def _scheduled() -> tuple[float, float]:
    """Return the seconds that this process ran and waited for a core; zeros where the system does not tell."""
    try:
        ran_ns, waited_ns, _ = _SCHEDSTAT.read_text(encoding="ascii").split()
    except (OSError, ValueError):
        return 0.0, 0.0
    return int(ran_ns) / 1e9, int(waited_ns) / 1e9
