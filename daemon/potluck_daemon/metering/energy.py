"""The power that serving draws, by source: a given wattage, the meters of GPU and processor, or an estimate. Nothing is
counted twice.

The processor's own meter (RAPL) counts all programs, so the engine is charged with its share of the busy time. Since
CVE-2020-8694 only root may read the meter unless somebody allows it; without it each busy core counts with a fixed
number of watts. Source: the kernel's documentation of powercap.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from potluck_control.methods.contribution import EnergySource
from potluck_control.settings import LimitSettings

from potluck.sentences import NOTHING, Sentence, sentence

_ROOT = Path("/sys/class/powercap")
LEAST_W = 0.5  # less is within the error of any meter or estimate, and counts as nothing
_ALLOW = "sudo chmod a+r /sys/class/powercap/intel-rapl:*/energy_uj"


@dataclass(frozen=True, slots=True)
class Reading:
    """The meters' readings over a stretch of time; None: there is no such meter."""

    engine_cores: float = 0.0  # busy with the engine
    all_cores: float = 0.0  # busy with anything
    gpu_w: float | None = None  # the GPU that the engine uses
    processor_w: float | None = None  # the whole package
    processor_problem: Sentence = NOTHING


@dataclass(frozen=True, slots=True)
class Power:
    watts: float = 0.0
    sources: tuple[EnergySource, ...] = ()


def power_of_serving(reading: Reading, limits: LimitSettings, *, is_running: bool) -> Power:
    """Return the power of serving, by source; none without an engine. Pure."""
    is_given = limits.serving_w > 0
    share = min(reading.engine_cores / reading.all_cores, 1.0) if reading.all_cores > 0 else 0.0
    has_meter = reading.processor_w is not None
    gpu_w = _measurable(reading.gpu_w or 0.0)
    metered_w = _measurable((reading.processor_w or 0.0) * share)
    estimated_w = _measurable(reading.engine_cores * limits.cpu_core_w)
    no_wattage = NOTHING if is_given else sentence("limits.serving_w is 0")
    no_gpu = NOTHING if reading.gpu_w is not None else sentence("the engine uses no GPU that reports its power")
    estimate = sentence("{number} W a busy core", number=f"{limits.cpu_core_w:g}")
    no_meter = NOTHING if has_meter else sentence("used because the processor does not report its power")
    sources = (
        EnergySource("given", sentence("given wattage"), is_given, limits.serving_w, no_wattage),
        EnergySource("nvml", sentence("GPU"), not is_given and reading.gpu_w is not None, gpu_w, no_gpu),
        EnergySource("rapl", sentence("processor"), not is_given and has_meter, metered_w, reading.processor_problem),
        EnergySource("estimate", estimate, not is_given and not has_meter, estimated_w, no_meter),
    )
    if not is_running:
        return Power(0.0, tuple(_idle(source) for source in sources))
    return Power(sum(source.watts for source in sources if source.is_used), sources)


class ProcessorMeter:
    """Measures the watts of all processor packages since the last look."""

    def __init__(self, root: Path = _ROOT) -> None:
        zones = sorted(root.glob("intel-rapl:*"))  # AMD's too
        self._packages = [zone for zone in zones if _name(zone).startswith("package")]  # psys would count them twice
        self._last: dict[Path, int] = {}  # microjoules
        self.problem = NOTHING if self._packages else sentence("the kernel knows no power meter of this processor")

    def watts(self, seconds: float) -> float | None:
        joules = 0.0
        for package in self._packages:
            try:
                now = int((package / "energy_uj").read_text())
                ceiling = int((package / "max_energy_range_uj").read_text())
            except PermissionError:
                self.problem = sentence(
                    "only root may read the processor's power meter; {what} allows it until the next start",
                    what=_ALLOW,
                )
                return None
            except (OSError, ValueError):
                self.problem = sentence("the processor's power meter does not answer")
                return None
            before, self._last[package] = self._last.get(package), now
            if before is None:
                return None  # the next look will know
            joules += ((now - before) if now >= before else (now - before + ceiling)) / 1e6
        self.problem = NOTHING if self._packages else self.problem
        return joules / seconds if self._packages and seconds > 0 else None


def _measurable(watts: float) -> float:
    return watts if watts >= LEAST_W else 0.0


def _name(zone: Path) -> str:
    try:
        return (zone / "name").read_text()
    except OSError:
        return ""


def _idle(source: EnergySource) -> EnergySource:
    return EnergySource(source.kind, source.name, source.is_used, 0.0, source.problem)
