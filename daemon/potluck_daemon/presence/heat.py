"""Temperature and power of GPUs and processor, compared with the user's caps.

Each reports how much to slow down as a `level` in tenths: heat in proportion to how far it is above its cap, power by
the share that brings the draw back below it. At `STOP_ABOVE_C` over the cap slowing down hasn't helped, so the level
stays 1 until the temperature is below the cap.
"""

from __future__ import annotations

from pathlib import Path

from potluck_control.states import Reason

from potluck.sentences import Sentence, sentence
from potluck_daemon.presence.nvml import NvmlReader
from potluck_daemon.presence.probe import ProbeUnavailableError, Report, Sighting, Situation, Surroundings, next_look

INTERVAL_S = 5.0
STOP_ABOVE_C = 10.0
_CPU_SENSORS = ("coretemp", "k10temp", "zenpower", "cpu_thermal")
_GPU_SENSORS = ("amdgpu", "i915", "xe")
_POWER_GAIN = 0.25  # share of the excess corrected at each look; a smaller one swings less
_MAX_POWER_LEVEL = 0.9


class HeatProbe:
    """Certain evidence for everything hotter than its cap; 0 degrees means no cap."""

    name = sentence("Temperature")

    def __init__(self, surroundings: Surroundings, reader: NvmlReader, *, gpu_cap_c: float, cpu_cap_c: float) -> None:
        self._sys = surroundings.sys
        self._reader = reader
        self._caps = {"gpu": gpu_cap_c, "cpu": cpu_cap_c}
        self._levels: dict[str, float] = {}

    async def watch(self, report: Report, situation: Situation) -> None:
        while True:
            readings = await self._readings()
            if not readings:
                raise ProbeUnavailableError(sentence("no sensor reports a temperature"))
            found = []
            for kind, who, pci, celsius in readings:
                key = f"{who} {pci}"
                self._levels[key] = heat_level(celsius, self._caps[kind], self._levels.get(key, 0.0))
                is_ours = kind == "cpu" or not situation.engine_gpu or pci == situation.engine_gpu
                if self._levels[key] and is_ours:
                    found.append(Sighting(Reason.HEAT, who, gpu=pci, level=self._levels[key]))
            report(tuple(dict.fromkeys(found)))
            await next_look(INTERVAL_S)

    async def _readings(self) -> list[tuple[str, str | Sentence, str, float]]:
        """Return kind, name, PCI address and degrees Celsius of each sensor."""
        found = sensors(self._sys)
        try:
            gpus = await self._reader.gpus()
        except ProbeUnavailableError:
            return found
        return found + [("gpu", gpu.name, gpu.pci, gpu.temperature_c) for gpu in gpus if gpu.temperature_c is not None]


def heat_level(celsius: float, cap_c: float, before: float) -> float:
    """Return 0 below the cap, rising in tenths to 1 at `STOP_ABOVE_C` above it; a 1 lasts until it is below the cap."""
    if cap_c <= 0 or celsius < cap_c:
        return 0.0
    if before >= 1.0:
        return 1.0
    return min(max(round((celsius - cap_c) / STOP_ABOVE_C, 1), 0.1), 1.0)


def sensors(sys: Path) -> list[tuple[str, str | Sentence, str, float]]:
    """Return the hottest sensor of each chip that belongs to the processor or to a GPU."""
    found: list[tuple[str, str | Sentence, str, float]] = []
    for chip in sorted(sys.glob("class/hwmon/hwmon*")):
        try:
            name = (chip / "name").read_text().strip()
            degrees = [int(path.read_text()) / 1000 for path in chip.glob("temp*_input")]
        except (OSError, ValueError):
            continue
        if degrees and name in _CPU_SENSORS:
            found.append(("cpu", sentence("the processor"), "", max(degrees)))
        elif degrees and name in _GPU_SENSORS:
            found.append(("gpu", sentence("the GPU"), (chip / "device").resolve().name, max(degrees)))
    return found


class PowerProbe:
    """Certain evidence while the engine must slow down to keep its GPU below the cap."""

    name = sentence("Power")

    def __init__(self, reader: NvmlReader, *, cap_w: float) -> None:
        self._reader = reader
        self._cap_w = cap_w
        self._level = 0.0

    async def watch(self, report: Report, situation: Situation) -> None:
        while True:
            gpus = [gpu for gpu in await self._reader.gpus() if gpu.power_w is not None]
            if not gpus:
                raise ProbeUnavailableError(sentence("no GPU reports its power"))
            found = []
            for gpu in gpus:
                if gpu.pci == situation.engine_gpu and gpu.power_w is not None:
                    self._level = power_level(gpu.power_w, self._cap_w, self._level)
                    shown = round(self._level, 1)
                    if shown:
                        found.append(Sighting(Reason.POWER, gpu.name, gpu=gpu.pci, level=shown))
            report(tuple(found))
            await next_look(INTERVAL_S)


def power_level(watts: float, cap_w: float, before: float) -> float:
    """Return how much to rest so that the draw approaches the cap: each look corrects a part of the error."""
    excess = (watts - cap_w) / cap_w
    return min(max(before + _POWER_GAIN * excess, 0.0), _MAX_POWER_LEVEL)
