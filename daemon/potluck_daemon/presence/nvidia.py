"""Programs that keep an NVIDIA GPU busy.

The driver reports the use of shader cores without telling drawing from computing, so the amount alone counts. Where it
doesn't report single processes, a process that draws is a weak sign.
"""

from __future__ import annotations

from potluck.sentences import sentence
from potluck_daemon.presence.desktop_programs import WEAK_SHARE, gpu_use
from potluck_daemon.presence.nvml import NvidiaGpu, NvmlReader
from potluck_daemon.presence.probe import Report, Sighting, Situation, next_look
from potluck_daemon.presence.processes import ProcessTable

INTERVAL_S = 2.0


class NvidiaUseProbe:
    """Likely evidence for a program that uses at least `busy_percent` of a GPU, weak evidence for less."""

    name = sentence("GPU use ({name})", name="NVIDIA")

    def __init__(self, table: ProcessTable, reader: NvmlReader, *, busy_percent: float) -> None:
        self._table = table
        self._reader = reader
        self._busy_percent = busy_percent

    async def watch(self, report: Report, situation: Situation) -> None:
        while True:
            gpus = await self._reader.gpus()
            programs = self._table.look()
            found = (self._judge(gpu, pid) for gpu in gpus for pid in _pids(gpu) if pid in programs)
            report(tuple(dict.fromkeys(sighting for sighting in found if sighting is not None)))
            await next_look(INTERVAL_S)

    def _judge(self, gpu: NvidiaGpu, pid: int) -> Sighting | None:
        is_drawing = not gpu.use_percent and pid in gpu.graphics_pids  # all that this driver tells
        percent = self._busy_percent * WEAK_SHARE if is_drawing else gpu.use_percent.get(pid, 0.0)
        return gpu_use(self._table.programs[pid], percent, busy_percent=self._busy_percent, pci=gpu.pci)


def _pids(gpu: NvidiaGpu) -> list[int]:
    return sorted(gpu.graphics_pids | gpu.compute_pids | gpu.use_percent.keys())
