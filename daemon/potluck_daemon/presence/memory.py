"""Pressure on memory: the GPU's, so that a game can start, and the machine's.

After the engine has freed its memory, the pressure lasts until the engine fits in beside the other programs again.
Otherwise it would come back only to be stopped again.
"""

from __future__ import annotations

from pathlib import Path

from potluck_control.states import Certainty, Reason

from potluck.allowance import spare_bytes
from potluck.sentences import Sentence, sentence
from potluck_daemon.presence.nvml import NvmlReader
from potluck_daemon.presence.probe import ProbeUnavailableError, Report, Sighting, Situation, Surroundings, next_look

INTERVAL_S, VRAM_INTERVAL_S = 1.0, 2.0  # asking a driver costs more
MIN_SHARE, MAX_SHARE = 0.08, 0.15  # of a GPU's memory, between which the reserve lies; the engine leaves a fifth


class VramPressureProbe:
    """Likely evidence while less than the reserve is free on a GPU that the engine uses or wants back."""

    name = sentence("GPU memory")

    def __init__(self, surroundings: Surroundings, reader: NvmlReader, *, reserve_bytes: int) -> None:
        self._surroundings = surroundings
        self._reader = reader
        self._reserve_bytes = reserve_bytes

    async def watch(self, report: Report, situation: Situation) -> None:
        while True:
            gpus = await self._gpus()
            if not gpus:
                raise ProbeUnavailableError(sentence("no GPU reports its memory"))
            needed = [
                Sighting(Reason.VRAM_PRESSURE, name, Certainty.LIKELY, gpu=pci)
                for pci, name, total, free in gpus
                if pci == situation.engine_gpu and free < self._reserve(total) + situation.needed_bytes
            ]
            report(tuple(needed))
            await next_look(VRAM_INTERVAL_S)

    def _reserve(self, total_bytes: int) -> float:
        return min(max(self._reserve_bytes, MIN_SHARE * total_bytes), MAX_SHARE * total_bytes)

    async def _gpus(self) -> list[tuple[str, str | Sentence, int, int]]:
        """Return PCI address, name, total bytes and free bytes of each GPU."""
        found = amd_memory(self._surroundings.sys)
        try:
            found += [(gpu.pci, gpu.name, gpu.total_bytes, gpu.free_bytes) for gpu in await self._reader.gpus()]
        except ProbeUnavailableError:
            if not found:
                raise
        return [gpu for gpu in found if gpu[2]]


def amd_memory(sys: Path) -> list[tuple[str, str | Sentence, int, int]]:
    """Return PCI address, name, total and free bytes of the GPUs whose driver writes them to /sys."""
    found: list[tuple[str, str | Sentence, int, int]] = []
    for device in sorted(sys.glob("class/drm/card*/device")):
        try:
            total = int((device / "mem_info_vram_total").read_text())
            used = int((device / "mem_info_vram_used").read_text())
        except (OSError, ValueError):
            continue
        found.append((device.resolve().name, sentence("the GPU"), total, total - used))
    return found


class RamPressureProbe:
    """Certain evidence while less than the reserve is available, until the engine fits again."""

    name = sentence("Memory")

    def __init__(self, surroundings: Surroundings, *, reserve_bytes: int) -> None:
        self._proc = surroundings.proc
        self._reserve_bytes = reserve_bytes

    async def watch(self, report: Report, situation: Situation) -> None:
        while True:
            needed_bytes = 0 if situation.engine_gpu else situation.needed_bytes
            is_short = spare_bytes(self._reserve_bytes + needed_bytes, self._proc) < 0
            report((Sighting(Reason.RAM_PRESSURE, sentence("the memory")),) if is_short else ())
            await next_look(INTERVAL_S)
