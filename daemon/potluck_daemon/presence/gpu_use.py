"""Finds programs that keep a GPU busy, by the kernel's counters in /proc/PID/fdinfo and NVIDIA's driver.

The drivers of AMD, Intel, Qualcomm and ARM count the nanoseconds (or cycles) of each engine for each open device. Games
use the graphics engine; computing doesn't count there. Reading one descriptor costs 7 us (24 ms for 3,400 of them), so
`DrmUse` remembers which ones are no GPU. Only processes of the same user are visible.
NVIDIA's driver reports the use of shader cores without telling drawing from computing, so the amount alone counts.
Source: https://docs.kernel.org/gpu/drm-usage-stats.html, and nvtop for the names of the engines.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from potluck_control.states import Certainty, Reason

from potluck.sentences import sentence
from potluck_daemon.presence.applications import is_desktop_program
from potluck_daemon.presence.nvml import NvmlReader
from potluck_daemon.presence.probe import WEAK_SHARE, PollingProbe, Sighting, Situation, Surroundings
from potluck_daemon.presence.processes import ProcessTable, Program, contents

INTERVAL_S = 2.0
_MAX_FDINFO_BYTES = 8192
RELIST_EVERY = 5  # looks after which the descriptors of a process are listed again
_ENGINES_NS = ("drm-engine-gfx", "drm-engine-render", "drm-engine-gpu", "drm-engine-panthor")
_CYCLES, _TOTAL_CYCLES = "drm-cycles-rcs", "drm-total-cycles-rcs"


@dataclass(frozen=True, slots=True)
class DrmClient:
    """One open GPU device of one process, and how much of the engine's time it has used."""

    pid: int
    pci: str
    busy: int
    total: int  # same unit as `busy`: nanoseconds, or cycles of the engine

    def percent_since(self, before: DrmClient) -> float:
        total = self.total - before.total
        return 100.0 * (self.busy - before.busy) / total if total > 0 else 0.0


_Handles = tuple[
    int, tuple[str, ...]
]  # a process's descriptors: a hash of all numbers, and the numbers that are a GPU's


class DrmUse:
    """Measures the use of GPUs by process, and remembers which descriptors are worth reading."""

    def __init__(self, proc: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._proc = proc
        self._clock = clock
        self._handles: dict[int, _Handles] = {}  # process id -> descriptors
        self._look = 0
        self._clients: dict[tuple[str, str], DrmClient] = {}  # (PCI address, client id) -> counters

    def measure(self, pids: Mapping[int, object]) -> dict[tuple[int, str], float]:
        """Return the percentage of a graphics engine since the last look, by process and PCI address."""
        self._look += 1
        self._handles = {pid: self._gpu_handles(pid) for pid in pids}
        before, self._clients = self._clients, {}
        now_ns = round(self._clock() * 1e9)
        for pid, (_, handles) in self._handles.items():
            for handle in handles:  # several descriptors of one client count once
                self._clients |= _read(f"{self._proc}/{pid}/fdinfo/{handle}", pid, now_ns)
        percent: dict[tuple[int, str], float] = {}
        for key in self._clients.keys() & before.keys():
            client = self._clients[key]
            of = client.pid, client.pci
            percent[of] = percent.get(of, 0.0) + client.percent_since(before[key])
        return percent

    def _gpu_handles(self, pid: int) -> _Handles:
        """Return the descriptors of a process. They are examined only if they differ from those before."""
        known, folder = self._handles.get(pid), f"{self._proc}/{pid}/fd"
        if known is not None and (self._look + pid) % RELIST_EVERY:  # spread over the looks
            return known
        try:
            handles = os.listdir(folder)
        except OSError:  # another user's, or gone
            return 0, ()
        numbers = hash(tuple(handles))
        if known is not None and known[0] == numbers:
            return known
        return numbers, tuple(handle for handle in handles if _is_gpu(f"{folder}/{handle}"))


class GpuUseProbe(PollingProbe):
    """The probe for programs on a GPU: likely evidence from `busy_percent` on, weak evidence for less."""

    name, interval_s = sentence("GPU use"), INTERVAL_S

    def __init__(
        self,
        surroundings: Surroundings,
        table: ProcessTable,
        reader: NvmlReader,
        *,
        busy_percent: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._has_drm = any((surroundings.sys / "class/drm").glob("renderD*"))
        self._table = table
        self._reader = reader
        self._busy_percent = busy_percent
        self._drm = DrmUse(surroundings.proc, clock)

    async def poll(self, situation: Situation) -> tuple[Sighting, ...]:
        gpus = await self._reader.gpus()
        if not gpus and not self._has_drm:
            raise self._reader.lacking(sentence("no GPU reports its use by program"))
        programs = self._table.refresh()
        percent = self._drm.measure(programs) if self._has_drm else {}
        percent |= {(pid, gpu.pci): share for gpu in gpus for pid, share in gpu.use_percent.items()}
        found = (self._judge(programs[pid], share, pci) for (pid, pci), share in percent.items() if pid in programs)
        return tuple(dict.fromkeys(sighting for sighting in found if sighting is not None))

    def _judge(self, program: Program, percent: float, pci: str) -> Sighting | None:
        if percent < self._busy_percent * WEAK_SHARE or is_desktop_program(program):
            return None
        certainty = Certainty.LIKELY if percent >= self._busy_percent else Certainty.WEAK
        return Sighting(Reason.GPU_BUSY, program.app, certainty, program.app, pci)


def _is_gpu(handle: str) -> bool:
    try:
        return os.readlink(handle).startswith("/dev/dri/")
    except OSError:
        return False


def _read(path: str, pid: int, now_ns: int) -> dict[tuple[str, str], DrmClient]:
    """Return the client of a descriptor by PCI address and client id; empty if it is closed, or none."""
    try:
        text = contents(path, _MAX_FDINFO_BYTES).decode(errors="replace")
    except OSError:
        return {}
    fields = dict(line.split(":", 1) for line in text.splitlines() if line.startswith("drm-") and ":" in line)
    if "drm-pdev" not in fields and "drm-client-id" not in fields:
        return {}
    pci, client_id = (fields.get(name, "").strip().lower() for name in ("drm-pdev", "drm-client-id"))
    total = _number(fields.get(_TOTAL_CYCLES))
    busy_ns = max((_number(fields.get(engine)) for engine in _ENGINES_NS), default=0)
    client = DrmClient(pid, pci, _number(fields.get(_CYCLES)), total) if total else DrmClient(pid, pci, busy_ns, now_ns)
    return {(pci, client_id): client}


def _number(text: str | None) -> int:
    """Return the number in "12345 ns"; 0 if there is none."""
    first = text.split()[0] if text and text.strip() else "0"
    return int(first) if first.isdecimal() else 0
