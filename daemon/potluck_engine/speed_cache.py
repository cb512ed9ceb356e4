"""Keeps measured speeds on the disk, so that an engine knows its speed before it has loaded anything.

One small JSON file in the cache folder. A key names everything that a speed depends on. An unreadable file counts as
empty.
"""

from __future__ import annotations

import contextlib
import json
import logging
import math
from dataclasses import dataclass
from pathlib import Path

import psutil
import torch
from potluck_control.launch_spec import LaunchSpec

from potluck.files import write_atomically
from potluck_engine.measure import Speed

log = logging.getLogger(__name__)

_MAX_ENTRIES = 64  # the oldest go first
_MAX_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class SpeedCache:
    """A file of speeds by key."""

    path: Path

    def find(self, key: str) -> Speed | None:
        return self._read().get(key)

    def remember(self, key: str, speed: Speed) -> None:
        """Write the speed. Never raises: a full disk only costs a measurement at the next start."""
        known = self._read()
        known.pop(key, None)
        entries = [*known.items(), (key, speed)][-_MAX_ENTRIES:]
        data = {name: [entry.inference_tps, entry.forward_tps] for name, entry in entries}
        with contextlib.suppress(OSError):
            write_atomically(self.path, json.dumps(data, indent=1).encode())

    def _read(self) -> dict[str, Speed]:
        try:
            if self.path.stat().st_size > _MAX_BYTES:
                return {}
            data = json.loads(self.path.read_bytes())
            return {str(key): _speed(*rates) for key, rates in data.items()}
        except (OSError, ValueError, TypeError, AttributeError) as error:
            log.debug("no speeds are known from before: %s", error)
            return {}


def speed_key(config: LaunchSpec) -> str:
    """Return a key of the device and its driver, the number of devices or threads, number formats and model."""
    swarm = config.swarm
    count = f"{len(config.devices)} devices" if len(config.devices) > 1 else f"{config.threads} threads"
    formats = (config.dtype, config.quantization, config.cache_quantization)
    parts = (*_device(config.device), count, *formats, swarm.model, swarm.revision)
    return " | ".join(parts)


def _device(device: str) -> tuple[str, str]:
    """Return name and driver."""
    if device.startswith("cuda") and torch.cuda.is_available():
        runtime = torch.version.cuda or torch.version.hip or "unknown"
        name = torch.cuda.get_device_properties(device).name
        return str(name), f"torch {torch.__version__}, runtime {runtime}, {_driver()}"
    return f"{device}, {psutil.cpu_count(logical=False)} cores, {_processor()}", f"torch {torch.__version__}"


def _driver() -> str:
    """Return the version of an NVIDIA driver as the kernel names it, and a fixed text for other devices."""
    with contextlib.suppress(OSError, IndexError):
        return Path("/proc/driver/nvidia/version").read_text().splitlines()[0].strip()
    return "driver unknown"


def _processor() -> str:
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return "processor unknown"


def _speed(inference_tps: object, forward_tps: object) -> Speed:
    """Raises ValueError."""
    rates = [rate for rate in (inference_tps, forward_tps) if isinstance(rate, float | int)]
    if len(rates) != 2 or not all(0 < rate < math.inf for rate in rates):
        raise ValueError("not two rates")
    return Speed(float(rates[0]), float(rates[1]))
