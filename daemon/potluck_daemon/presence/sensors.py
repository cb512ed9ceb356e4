"""Probes of the machine itself: heat and power, compared with the user's caps; pressure on memory; the battery.

Heat and power report how much to slow down as a `level` in tenths: heat in proportion to how far it is above its cap,
power by the share that brings the draw back below it. At `STOP_ABOVE_C` over the cap slowing down hasn't helped, so the
level stays 1 until the temperature is below the cap.

After the engine has freed its memory, the pressure lasts until the engine fits in beside the other programs again.
Otherwise it would come back only to be stopped again.

A laptop whose mains adapter is offline runs on battery. A desktop with a UPS behind USB doesn't, because the kernel's
list of power supplies has the machine's own.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import psutil
from potluck_control.states import Certainty, Reason

from potluck.allowance import spare_bytes
from potluck.sentences import Sentence, sentence
from potluck_daemon.presence.nvml import NvmlReader
from potluck_daemon.presence.probe import PollingProbe, ProbeUnavailableError, Sighting, Situation, Surroundings

MEMORY_INTERVAL_S, HEAT_INTERVAL_S = 2.0, 6.0  # a multiple, so that one reading of the GPUs serves all
STOP_ABOVE_C = 10.0
_CPU_SENSORS = ("coretemp", "k10temp", "zenpower", "cpu_thermal")
_GPU_SENSORS = ("amdgpu", "i915", "xe")
_POWER_GAIN = 0.25  # share of the excess corrected at each look; a smaller one swings less
_MAX_POWER_LEVEL = 0.9
MIN_SHARE, MAX_SHARE = 0.08, 0.15  # bounds of the reserve as shares of a GPU's memory; the engine leaves a fifth


@dataclass
class HeatProbe(PollingProbe):
    """The probe with certain evidence for everything hotter than its cap; 0 degrees means no cap."""

    name, interval_s = sentence("Temperature"), HEAT_INTERVAL_S

    at: Surroundings
    reader: NvmlReader
    caps_c: Mapping[str, float]  # has "cpu" and "gpu"
    _levels: dict[str, float] = field(default_factory=dict)

    async def poll(self, situation: Situation) -> tuple[Sighting, ...]:
        readings = read_temperatures(self.at.sys)
        for gpu in await self.reader.gpus():
            if gpu.temperature_c is not None:
                readings.append(("gpu", gpu.name, gpu.pci, gpu.temperature_c))
        if not readings:
            raise self.reader.lacking(sentence("no sensor reports a temperature"))
        found = []
        for kind, who, pci, celsius in readings:
            key = f"{who} {pci}"
            self._levels[key] = heat_level(celsius, self.caps_c[kind], self._levels.get(key, 0.0))
            is_ours = kind == "cpu" or not situation.engine_gpu or pci == situation.engine_gpu
            if self._levels[key] and is_ours:
                found.append(Sighting(Reason.HEAT, who, gpu=pci, level=self._levels[key]))
        return tuple(dict.fromkeys(found))


def heat_level(celsius: float, cap_c: float, before: float) -> float:
    """Return 0 below the cap, rising in tenths to 1 at `STOP_ABOVE_C` above it; a 1 lasts until it is below the cap."""
    if cap_c <= 0 or celsius < cap_c:
        return 0.0
    if before >= 1.0:
        return 1.0
    return min(max(round((celsius - cap_c) / STOP_ABOVE_C, 1), 0.1), 1.0)


def read_temperatures(folder: Path) -> list[tuple[str, str | Sentence, str, float]]:
    """Return kind, name, PCI address and degrees of the hottest sensor of each chip of the processor or a GPU."""
    found: list[tuple[str, str | Sentence, str, float]] = []
    for chip in sorted(folder.glob("class/hwmon/hwmon*")):
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


@dataclass
class PowerProbe(PollingProbe):
    """The probe with certain evidence while the engine must slow down to keep its GPU below the cap."""

    name, interval_s = sentence("Power"), HEAT_INTERVAL_S

    reader: NvmlReader
    cap_w: float
    _level: float = 0.0

    async def poll(self, situation: Situation) -> tuple[Sighting, ...]:
        powers = {gpu.pci: (gpu.name, gpu.power_w) for gpu in await self.reader.gpus() if gpu.power_w is not None}
        if not powers:
            raise self.reader.lacking(sentence("no GPU reports its power"))
        if situation.engine_gpu not in powers:
            return ()
        name, watts = powers[situation.engine_gpu]
        self._level = power_level(watts, self.cap_w, self._level)
        shown = round(self._level, 1)
        return (Sighting(Reason.POWER, name, gpu=situation.engine_gpu, level=shown),) if shown else ()


def power_level(watts: float, cap_w: float, before: float) -> float:
    """Return how much to rest so that the draw approaches the cap: each look corrects a part of the error."""
    excess = (watts - cap_w) / cap_w
    return min(max(before + _POWER_GAIN * excess, 0.0), _MAX_POWER_LEVEL)


@dataclass
class VramPressureProbe(PollingProbe):
    """The probe with likely evidence while less than the reserve is free on a GPU that the engine uses or needs."""

    name, interval_s = sentence("GPU memory"), MEMORY_INTERVAL_S

    at: Surroundings
    reader: NvmlReader
    reserve_bytes: int

    async def poll(self, situation: Situation) -> tuple[Sighting, ...]:
        nvidia = [(gpu.pci, gpu.name, gpu.total_bytes, gpu.free_bytes) for gpu in await self.reader.gpus()]
        gpus = [*read_amd_memory(self.at.sys), *(gpu for gpu in nvidia if gpu[2])]
        if not gpus:
            raise self.reader.lacking(sentence("no GPU reports its memory"))
        return tuple(
            Sighting(Reason.VRAM_PRESSURE, name, Certainty.LIKELY, gpu=pci)
            for pci, name, total, free in gpus
            if pci == situation.engine_gpu and free < self._reserve(total) + situation.needed_bytes
        )

    def _reserve(self, total_bytes: int) -> float:
        return min(max(self.reserve_bytes, MIN_SHARE * total_bytes), MAX_SHARE * total_bytes)


def read_amd_memory(folder: Path) -> list[tuple[str, str | Sentence, int, int]]:
    """Return PCI address, name, total and free bytes of the GPUs whose driver writes them to /sys."""
    found: list[tuple[str, str | Sentence, int, int]] = []
    for device in sorted(folder.glob("class/drm/card*/device")):
        try:
            total = int((device / "mem_info_vram_total").read_text())
            used = int((device / "mem_info_vram_used").read_text())
        except (OSError, ValueError):
            continue
        found.append((device.resolve().name, sentence("the GPU"), total, total - used))
    return found


@dataclass
class RamPressureProbe(PollingProbe):
    """The probe with certain evidence while less RAM than the reserve is available, until the engine fits again."""

    name, interval_s = sentence("Memory"), MEMORY_INTERVAL_S

    at: Surroundings
    reserve_bytes: int

    async def poll(self, situation: Situation) -> tuple[Sighting, ...]:
        needed_bytes = 0 if situation.engine_gpu else situation.needed_bytes
        is_short = spare_bytes(self.reserve_bytes + needed_bytes, self.at.proc) < 0
        return (Sighting(Reason.RAM_PRESSURE, sentence("the memory")),) if is_short else ()


@dataclass
class BatteryProbe(PollingProbe):
    """The probe with certain evidence while the computer runs on its battery."""

    name, interval_s = sentence("Battery"), 5.0

    at: Surroundings

    async def poll(self, situation: Situation) -> tuple[Sighting, ...]:
        folder = self.at.sys / "class/power_supply"
        is_seen = is_mac_on_battery() if sys.platform == "darwin" else is_on_battery(folder)
        return (Sighting(Reason.BATTERY, sentence("the battery")),) if is_seen else ()


def is_on_battery(folder: Path) -> bool:
    """Return whether the computer runs on battery by its power supplies. Raises ProbeUnavailableError without one."""
    kinds: dict[str, list[Path]] = {}
    for supply in sorted(folder.glob("*")):
        if kernel_text(supply / "scope") != "Device":  # a mouse or another device with a battery of its own
            kinds.setdefault(kernel_text(supply / "type"), []).append(supply)
    if "Battery" not in kinds:
        raise ProbeUnavailableError(sentence("no battery"))
    adapters = kinds.get("Mains", []) + kinds.get("USB", [])
    if adapters:
        return not any(kernel_text(adapter / "online") == "1" for adapter in adapters)
    return any(kernel_text(battery / "status") == "Discharging" for battery in kinds["Battery"])


def is_mac_on_battery() -> bool:
    """Return whether a Mac runs on battery. Raises ProbeUnavailableError without a battery."""
    battery = psutil.sensors_battery()
    if battery is None:
        raise ProbeUnavailableError(sentence("no battery"))
    return not battery.power_plugged


def kernel_text(path: Path) -> str:
    """Return a small file of the kernel; empty if it cannot be read."""
    try:
        return path.read_text().strip()
    except OSError:
        return ""
