"""Reads the hardware that decides which build of torch fits: GPUs, drivers, C library, processor, interpreter.

The sources are NVIDIA's library, the kernel's files and macOS; torch is not needed. This module decides nothing.
"""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from potluck.allowance import memory
from potluck_daemon.presence.nvml import NvidiaGpu, NvmlReader
from potluck_daemon.presence.probe import ProbeFailedError
from potluck_daemon.presence.sensors import kernel_text

_INTEL = "0x8086"
_INTEGRATED = "0000:00:02.0"  # where graphics inside Intel's processors are on the bus


class Vendor(StrEnum):
    """The makers of GPUs for which torch has builds."""

    NVIDIA = "NVIDIA"
    AMD = "AMD"
    INTEL = "Intel"
    APPLE = "Apple"


@dataclass(frozen=True, slots=True)
class Gpu:
    """A GPU. NVIDIA's have a `capability`, AMD's a `target`: the name of the instruction set, like `gfx1100`."""

    vendor: Vendor
    name: str
    memory_bytes: int = 0
    capability: tuple[int, int] | None = None
    target: str = ""
    is_integrated: bool = False
    free_bytes: int = 0
    temperature_c: float | None = None  # None: the driver doesn't say
    power_w: float | None = None


@dataclass(frozen=True, slots=True)
class Hardware:
    """What a machine has, as far as it matters for torch."""

    gpus: tuple[Gpu, ...] = ()
    driver: str = ""  # the version of NVIDIA's driver; empty: none
    glibc: tuple[int, int] | None = None  # None: another C library, or another system than Linux
    macos: tuple[int, int] | None = None  # None: another system
    architecture: str = "x86_64"
    python: tuple[int, int] = (3, 11)
    driver_problem: str = ""  # why NVIDIA's driver does not answer although there is a device


def read_hardware(sysfs: Path = Path("/sys")) -> Hardware:
    """Return what this machine has."""
    reader = NvmlReader()
    try:
        nvidia, problem = tuple(map(_nvidia_gpu, reader.read(for_setup=True))), reader.problem
    except ProbeFailedError as error:
        nvidia, problem = (), str(error)
    finally:
        reader.close()
    has_device = Path("/dev/nvidiactl").exists() or Path("/dev/dxg").exists()
    return Hardware(
        gpus=nvidia or (*_from_kernel(sysfs), *apple_gpus()),
        driver=reader.driver,
        driver_problem=problem if has_device else "",
        glibc=_glibc(),
        macos=_macos(),
        architecture=platform.machine(),
        python=sys.version_info[:2],
    )


def apple_gpus() -> tuple[Gpu, ...]:
    """Return the GPU in a Mac's own processor, which shares the machine's memory. Intel Macs have none for torch."""
    if _macos() is None or platform.machine() != "arm64":
        return ()
    ram = memory()
    return (Gpu(Vendor.APPLE, "Apple GPU", ram.total, free_bytes=ram.available),)


def _nvidia_gpu(found: NvidiaGpu) -> Gpu:
    return Gpu(
        Vendor.NVIDIA,
        found.name,
        found.total_bytes,
        found.capability,
        free_bytes=found.free_bytes,
        temperature_c=found.temperature_c,
        power_w=found.power_w,
    )


def _from_kernel(sysfs: Path) -> Iterator[Gpu]:
    """Yield AMD's compute nodes and Intel's display adapters."""
    for properties in sorted(sysfs.glob("class/kfd/kfd/topology/nodes/*/properties")):
        target = _target(properties)
        if target:
            device = sysfs / "class/drm" / f"renderD{_property(properties, 'drm_render_minor')}" / "device"
            total, used = (_number(device / f"mem_info_vram_{kind}") or 0.0 for kind in ("total", "used"))
            yield Gpu(
                Vendor.AMD,
                f"AMD GPU ({target})",
                int(total),
                target=target,
                free_bytes=int(max(total - used, 0.0)),
                temperature_c=_sensor(device, "temp1_input", 1000),
                power_w=_sensor(device, "power1_average", 1_000_000) or _sensor(device, "power1_input", 1_000_000),
            )
    for vendor in sorted(sysfs.glob("class/drm/card?/device/vendor")):
        if kernel_text(vendor) == _INTEL:
            is_integrated = vendor.parent.resolve().name == _INTEGRATED
            yield Gpu(
                Vendor.INTEL,
                "Intel graphics" if is_integrated else "Intel Arc",
                is_integrated=is_integrated,
                temperature_c=_sensor(vendor.parent, "temp1_input", 1000),
            )


def _target(properties: Path) -> str:
    """Return `gfx90a` for 90010: minor and stepping have two decimal digits there, hexadecimal ones in the name."""
    number = _property(properties, "gfx_target_version")
    return f"gfx{number // 10000}{number // 100 % 100:x}{number % 100:x}" if number else ""


def _property(properties: Path, name: str) -> int:
    """Return a number from a file of lines like `name 42`; 0 if it has none."""
    for line in kernel_text(properties).splitlines():
        key, _, value = line.partition(" ")
        if key == name and value.isdecimal():
            return int(value)
    return 0


def _sensor(device: Path, name: str, units: int) -> float | None:
    """Return the reading of a device's own sensor, which the kernel multiplies by `units`."""
    found = (_number(path) for path in sorted(device.glob(f"hwmon/hwmon*/{name}")))
    return next((value / units for value in found if value is not None), None)


def _number(path: Path) -> float | None:
    text = kernel_text(path)
    return float(text) if text.isdecimal() else None


def _macos() -> tuple[int, int] | None:
    major, _, rest = platform.mac_ver()[0].partition(".")
    minor = rest.partition(".")[0]
    return (int(major), int(minor) if minor.isdecimal() else 0) if major.isdecimal() else None


def _glibc() -> tuple[int, int] | None:
    name, text = platform.libc_ver()
    parts = text.split(".")
    if name != "glibc" or len(parts) < 2 or not (parts[0].isdecimal() and parts[1].isdecimal()):
        return None
    return int(parts[0]), int(parts[1])
