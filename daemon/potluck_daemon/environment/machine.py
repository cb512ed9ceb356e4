"""The hardware that decides which build of torch fits: GPUs, drivers, C library, processor, interpreter.

It is read from NVIDIA's library, the kernel's files and macOS, without torch. This module decides nothing.
"""

from __future__ import annotations

import platform
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import psutil

_INTEL = "0x8086"
_INTEGRATED = "0000:00:02.0"  # where graphics inside Intel's processors are on the bus


class Vendor(StrEnum):
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


@dataclass(frozen=True, slots=True)
class NvidiaState:
    """The answer of NVIDIA's library, or the `problem` with it, which is normal on a machine without such a GPU."""

    gpus: tuple[Gpu, ...] = ()
    driver: str = ""
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Hardware:
    gpus: tuple[Gpu, ...] = ()
    driver: str = ""  # the version of NVIDIA's driver; empty: none
    glibc: tuple[int, int] | None = None  # None: another C library, or another system than Linux
    macos: tuple[int, int] | None = None  # None: another system
    architecture: str = "x86_64"
    python: tuple[int, int] = (3, 11)


def look(sysfs: Path = Path("/sys")) -> Hardware:
    """Look at this machine."""
    nvidia = ask_nvidia()
    others = () if nvidia.gpus else (*_from_kernel(sysfs), *apple_gpus())
    return Hardware(
        gpus=(*nvidia.gpus, *others),
        driver=nvidia.driver,
        glibc=_glibc(),
        macos=_macos(),
        architecture=platform.machine(),
        python=sys.version_info[:2],
    )


def ask_nvidia() -> NvidiaState:
    import pynvml

    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        return NvidiaState(problem=str(error))
    try:
        handles = [pynvml.nvmlDeviceGetHandleByIndex(index) for index in range(pynvml.nvmlDeviceGetCount())]
        return NvidiaState(tuple(_nvidia_gpu(handle) for handle in handles), str(pynvml.nvmlSystemGetDriverVersion()))
    except pynvml.NVMLError as error:
        return NvidiaState(problem=str(error))
    finally:
        pynvml.nvmlShutdown()


def apple_gpus() -> tuple[Gpu, ...]:
    """Return the GPU in a Mac's own processor, which shares the machine's memory. Intel Macs have none for torch."""
    if _macos() is None or platform.machine() != "arm64":
        return ()
    memory = psutil.virtual_memory()
    return (Gpu(Vendor.APPLE, _chip(), int(memory.total), free_bytes=int(memory.available)),)


def _nvidia_gpu(handle: object) -> Gpu:
    import pynvml

    try:
        capability = tuple(pynvml.nvmlDeviceGetCudaComputeCapability(handle))
    except pynvml.NVMLError:
        capability = None
    memory = pynvml.nvmlDeviceGetMemoryInfo(handle)
    name = str(pynvml.nvmlDeviceGetName(handle))
    return Gpu(Vendor.NVIDIA, name, int(memory.total), capability, free_bytes=int(memory.free))


def _from_kernel(sysfs: Path) -> Iterator[Gpu]:
    """Yield AMD's compute nodes and Intel's display adapters."""
    for properties in sorted(sysfs.glob("class/kfd/kfd/topology/nodes/*/properties")):
        target = _target(properties)
        if target:
            yield Gpu(Vendor.AMD, f"AMD GPU ({target})", target=target)
    for vendor in sorted(sysfs.glob("class/drm/card?/device/vendor")):
        if _text(vendor) == _INTEL:
            is_integrated = vendor.parent.resolve().name == _INTEGRATED
            yield Gpu(Vendor.INTEL, "Intel graphics" if is_integrated else "Intel Arc", is_integrated=is_integrated)


def _target(properties: Path) -> str:
    """Return `gfx90a` for 90010: minor and stepping have two decimal digits there, hexadecimal ones in the name."""
    for line in _text(properties).splitlines():
        key, _, value = line.partition(" ")
        if key == "gfx_target_version" and value.isdecimal() and int(value) > 0:
            number = int(value)
            return f"gfx{number // 10000}{number // 100 % 100:x}{number % 100:x}"
    return ""


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def _chip() -> str:
    """Return the chip's name, like `Apple M2 Pro`."""
    command = ("sysctl", "-n", "machdep.cpu.brand_string")
    try:
        said = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        said = ""
    return said or "Apple GPU"


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
