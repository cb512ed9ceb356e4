"""Typical computers on which set-up ends with packages that can be had: `machines`.

The computers are made up: distribution, Python, GPU, driver. What set-up would do is decided by its own functions, and
checked against `listings/`: the files that the default index of Python packages had on a day, for each version that
Potluck fixes. torch's own indexes were not reachable from there, so every variant that needs one counts as not to be
had, except the one that Potluck's tests install from a folder. `detail` tells which variant each computer gets with
these indexes, too, and what it falls back to without.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from packaging.markers import Marker
from packaging.tags import Tag, compatible_tags, cpython_tags
from packaging.utils import InvalidWheelFilename, parse_wheel_filename
from potluck_control.methods.health import Subject
from potluck_daemon.environment.hardware import Gpu, Hardware, Vendor
from potluck_daemon.environment.plan import EnvironmentPlan, variant_for
from potluck_daemon.environment.store import Store

from benchmarks.figures import Measured, figure

LISTING = Path(__file__).with_name("packages-2026-11-23.json")
COMPUTED_HERE = ("cpu", (3, 11), "x86_64")  # installed and run by Potluck's tests
_ENTRY = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._-]*)==([^\s;\\]+)(?:\s*;\s*([^\\\n]*))?", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class MadeMachine:
    name: str
    hardware: Hardware


def _linux(name: str, python: tuple[int, int], glibc: tuple[int, int], *gpus: Gpu, driver: str = "") -> MadeMachine:
    return MadeMachine(name, Hardware(gpus, driver, glibc, None, "x86_64", python))


def _nvidia(name: str, gib: int, *capability: int) -> Gpu:
    return Gpu(Vendor.NVIDIA, name, gib << 30, (capability[0], capability[1]))


_RTX3060, _RTX4070 = _nvidia("RTX 3060", 12, 8, 6), _nvidia("RTX 4070", 12, 8, 9)
_RTX4090 = _nvidia("RTX 4090", 24, 8, 9)
_GTX1060, _GTX1080TI = _nvidia("GTX 1060", 6, 6, 1), _nvidia("GTX 1080 Ti", 11, 6, 1)
_RTX2070, _RTX5070 = _nvidia("RTX 2070", 8, 7, 5), _nvidia("RTX 5070", 12, 12, 0)
_RX7900, _RX6700 = Gpu(Vendor.AMD, "RX 7900 XTX", target="gfx1100"), Gpu(Vendor.AMD, "RX 6700 XT", target="gfx1031")
_ARC = Gpu(Vendor.INTEL, "Intel Arc")
_INTEGRATED = Gpu(Vendor.INTEL, "Intel graphics", is_integrated=True)
_MAC = Hardware((Gpu(Vendor.APPLE, "Apple M2", 16 << 30),), "", None, (15, 1), "arm64", (3, 12))

MACHINES = (
    _linux("Debian 12, no GPU", (3, 11), (2, 36)),
    _linux("Debian 13, no GPU", (3, 13), (2, 41)),
    _linux("Ubuntu 24.04, no GPU", (3, 12), (2, 39)),
    _linux("Ubuntu 24.04, graphics of Intel's processor", (3, 12), (2, 39), _INTEGRATED),
    _linux("Debian 13 in WSL, no GPU", (3, 13), (2, 41)),
    _linux("Debian 12, RTX 3060, driver 535", (3, 11), (2, 36), _RTX3060, driver="535.247"),
    _linux("Ubuntu 24.04, RTX 3060, driver 570", (3, 12), (2, 39), _RTX3060, driver="570.133"),
    _linux("Linux Mint 22, RTX 4070, driver 550", (3, 12), (2, 39), _RTX4070, driver="550.120"),
    _linux("Debian 13 in WSL, RTX 4090, driver 581", (3, 13), (2, 41), _RTX4090, driver="581.15"),
    _linux("Fedora 42, RTX 4090, driver 580", (3, 13), (2, 41), _RTX4090, driver="580.65"),
    _linux("Debian 12, GTX 1060, driver 535", (3, 11), (2, 36), _GTX1060, driver="535.247"),
    _linux("Debian 13, GTX 1080 Ti, driver 550", (3, 13), (2, 41), _GTX1080TI, driver="550.163"),
    _linux("Ubuntu 24.04, GTX 1060, driver 580", (3, 12), (2, 39), _GTX1060, driver="580.65"),
    _linux("Arch, RTX 2070, driver 580", (3, 13), (2, 42), _RTX2070, driver="580.82"),
    _linux("Ubuntu 24.04, RTX 5070, driver 570", (3, 12), (2, 39), _RTX5070, driver="570.133"),
    _linux("Ubuntu 24.04, RTX 5070, driver 580", (3, 12), (2, 39), _RTX5070, driver="580.65"),
    _linux("Debian 12, RX 7900 XTX", (3, 11), (2, 36), _RX7900),
    _linux("Fedora 42, RX 6700 XT", (3, 13), (2, 41), _RX6700),
    _linux("Ubuntu 24.04, Intel Arc", (3, 12), (2, 39), _ARC),
    MadeMachine("Mac mini with M2", _MAC),
)


@figure("machines", unit="machines", reach=20, better="higher")
def installable(soak: bool) -> Measured:
    """Of 20 made-up computers: those on which set-up ends with packages that the index has, by a dated listing."""
    files = json.loads(LISTING.read_text())["files"]
    kinds: dict[str, str] = {}
    wanted: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        for machine in MACHINES:
            plan = _plan(machine.hardware, Path(folder) / "engines")
            wanted[machine.name] = plan.choice.variant.name
            ends = (_ends(tried, files) for tried in (plan, plan.fallback) if tried is not None)
            kinds[machine.name] = next(filter(None, ends), "nothing")
    detail = {"machines": kinds, "with_torchs_indexes": wanted, "listing": LISTING.stem}
    return Measured(sum(kind != "nothing" for kind in kinds.values()), detail)


def _plan(machine: Hardware, folder: Path) -> EnvironmentPlan:
    return EnvironmentPlan(Store(folder), machine, variant_for(machine, ""))


def _ends(plan: EnvironmentPlan, files: dict[str, list[str]]) -> str:
    """Return how set-up ends with this plan; empty: its packages are not to be had, or it is refused."""
    machine, name = plan.machine, plan.choice.variant.name
    if not plan.is_listed or any(
        finding.severity == "error" and finding.subject != Subject.ROOM for finding in plan.findings()
    ):
        return ""
    is_computed = (name, machine.python, machine.architecture) == COMPUTED_HERE
    if not is_computed and missing(plan.requirements.read_text(), files, machine):
        return ""
    how = "computed here" if is_computed else "resolved only"
    wanted = variant_for(machine, "").variant
    return f"{name}, {how}" if name == wanted.name else f"{name} instead of {wanted.name}, on the processor, {how}"


def missing(requirements: str, files: dict[str, list[str]], machine: Hardware) -> list[str]:
    """Return the packages of a list for which the listing has no file that fits the machine."""
    tags, environment = frozenset(_tags(machine)), _environment(machine)
    lacking = []
    for match in _ENTRY.finditer(requirements):
        marker = (match[3] or "").strip()
        if marker and not Marker(marker).evaluate(environment):
            continue
        if not any(_fits(file, tags) for file in files.get(f"{match[1]}=={match[2]}", ())):
            lacking.append(f"{match[1]}=={match[2]}")
    return lacking


def _fits(file: str, tags: frozenset[Tag]) -> bool:
    if not file.endswith(".whl"):
        return True  # sources, of the few small packages without wheels
    try:
        return not tags.isdisjoint(parse_wheel_filename(file)[3])
    except InvalidWheelFilename:
        return False


def _tags(machine: Hardware) -> Iterator[Tag]:
    platforms = list(_platforms(machine))
    yield from cpython_tags(machine.python, platforms=platforms)
    yield from compatible_tags(machine.python, f"cp{machine.python[0]}{machine.python[1]}", platforms)


def _platforms(machine: Hardware) -> Iterator[str]:
    if machine.macos is not None:
        yield from (
            f"macosx_{major}_0_{kind}" for major in range(machine.macos[0], 10, -1) for kind in ("arm64", "universal2")
        )
        return
    assert machine.glibc is not None
    yield from (f"manylinux_2_{minor}_{machine.architecture}" for minor in range(machine.glibc[1], 4, -1))
    yield from (f"{name}_{machine.architecture}" for name in ("manylinux2014", "manylinux2010", "manylinux1", "linux"))


def _environment(machine: Hardware) -> dict[str, str]:
    python = ".".join(map(str, machine.python))
    return {
        "python_version": python,
        "python_full_version": f"{python}.5",
        "sys_platform": "linux" if machine.macos is None else "darwin",
        "platform_system": "Linux" if machine.macos is None else "Darwin",
        "platform_machine": machine.architecture,
        "implementation_name": "cpython",
        "platform_python_implementation": "CPython",
        "os_name": "posix",
        "extra": "",
    }
