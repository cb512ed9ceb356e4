"""Chooses the build of torch for a machine by its driver and by what each of its GPUs can run. Pure.

The table is what torch 2.13 ships (RELEASE.md of pytorch, its compatibility and CUDA support matrices: CUDA 12.6 for
Maxwell to Hopper, 13.0 for Turing to Blackwell, 12.8 dropped, 13.2 experimental, ROCm 7.2; both CUDA builds for ARM
begin with Ampere; ROCm's list of instruction sets lacks gfx1103 and gfx1031 to gfx1036). The self-test asks torch
itself, once it is installed, which kernels it really has.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from potluck.sentences import NOTHING, Sentence, sentence
from potluck_daemon.environment.machine import Gpu, Hardware, Vendor

TORCH = "2.13.0"
CPU = "cpu"
_ARM = "aarch64"
_ARM_OLDEST = (8, 0)
_ROCM_TARGETS = frozenset(
    f"gfx{number}"
    for numbers in ("900 906 908 90a 942 950", "1030 1100 1101 1102 1150 1151", "1200 1201")
    for number in numbers.split()
)


@dataclass(frozen=True, slots=True)
class TorchVariant:
    """One build of torch. `download_bytes` and `disk_bytes` are those of the whole environment, rounded up."""

    name: str
    vendor: Vendor | None  # None: it computes on the processor
    download_bytes: int
    disk_bytes: int
    is_verified: bool = False  # whether Potluck's own tests install and run it
    oldest: tuple[int, int] = (0, 0)  # compute capability
    newest: tuple[int, int] = (99, 0)
    min_driver: int = 0
    architectures: tuple[str, ...] = ("x86_64",)

    def runs_on(self, gpu: Gpu, driver: int) -> bool:
        if gpu.vendor is not self.vendor:
            return False
        match gpu.vendor:
            case Vendor.NVIDIA:
                fits = gpu.capability is not None and self.oldest <= gpu.capability <= self.newest
                return fits and driver >= self.min_driver
            case Vendor.AMD:
                return gpu.target in _ROCM_TARGETS
            case Vendor.INTEL:
                return not gpu.is_integrated
            case Vendor.APPLE:
                return True


_BOTH = ("x86_64", "aarch64")
VARIANTS = {
    variant.name: variant
    for variant in (
        TorchVariant(
            "cu130",
            Vendor.NVIDIA,
            3_000_000_000,
            7_000_000_000,
            oldest=(7, 5),
            newest=(12, 9),
            min_driver=580,
            architectures=_BOTH,
        ),
        TorchVariant(
            "cu126",
            Vendor.NVIDIA,
            3_000_000_000,
            7_000_000_000,
            oldest=(5, 0),
            newest=(9, 0),
            min_driver=525,
            architectures=_BOTH,
        ),
        TorchVariant("rocm7.2", Vendor.AMD, 5_000_000_000, 18_000_000_000),
        TorchVariant("xpu", Vendor.INTEL, 2_000_000_000, 6_000_000_000),
        TorchVariant("mps", Vendor.APPLE, 300_000_000, 2_000_000_000, architectures=("arm64",)),
        TorchVariant(CPU, None, 400_000_000, 2_000_000_000, is_verified=True, architectures=_BOTH),
    )
}
"""The builds, better ones first."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The chosen variant and, for people, `why`; `advice` says how to have more of the hardware used, if one can."""

    variant: TorchVariant
    why: Sentence
    advice: Sentence = NOTHING
    is_asked: bool = False  # somebody named the variant: no other one will do


def choose_variant(machine: Hardware) -> Choice:
    """Return the build that runs on most of the machine's GPUs, or the processor's if none does."""
    driver = _major(machine.driver)
    available = _available(machine.architecture)

    def count(variant: TorchVariant) -> int:
        return sum(variant.runs_on(gpu, driver) for gpu in machine.gpus)

    best = max(available, key=count, default=None)
    if best is None or count(best) == 0:
        return _without_gpu(machine, driver, available)
    used = [gpu for gpu in machine.gpus if best.runs_on(gpu, driver)]
    left_out = [gpu for gpu in machine.gpus if gpu not in used and not gpu.is_integrated]
    if best.vendor is Vendor.NVIDIA:
        why = sentence("{who} can be used, with driver {driver}", who=_names(used), driver=machine.driver)
    else:
        why = sentence("{who} can be used", who=_names(used))
    return Choice(best, why, _why_not(left_out, driver, available))


def fallbacks(machine: Hardware, choice: Choice) -> tuple[Choice, ...]:
    """Return what to take when the packages of `choice` are not to be had, and what is given up by that.

    First come other builds for the GPU, then the processor's, then builds for GPUs, which compute on a processor too.
    """
    if choice.is_asked:
        return ()
    driver, wanted = _major(machine.driver), choice.variant
    others = [v for v in _available(machine.architecture) if v.name != wanted.name]
    for_gpu = [v for v in others if any(v.runs_on(gpu, driver) for gpu in machine.gpus)]
    found = []
    for variant in for_gpu:
        why = sentence(
            "variant {what} is not to be had here; {other} runs on {who} too",
            what=wanted.name,
            other=variant.name,
            who=_names(machine.gpus),
        )
        found.append(Choice(variant, why))
    slow = sentence(
        "variant {what} is not to be had here; the processor serves instead, which is slow but works",
        what=wanted.name,
    )
    advice = (
        NOTHING
        if wanted.vendor is None
        else sentence("try again later to use the GPU: potluck setup --variant {what}", what=wanted.name)
    )
    if wanted.vendor is not None and machine.architecture in VARIANTS[CPU].architectures:
        found.append(Choice(VARIANTS[CPU], slow, advice))
    larger = sentence(
        "variant {what} is not to be had here; this one computes on the processor too, and takes more room",
        what=wanted.name,
    )
    for_nvidia = [v for v in others if v.vendor is Vendor.NVIDIA and v not in for_gpu]
    found += [Choice(variant, larger, advice) for variant in for_nvidia]
    return tuple(found)


def _available(architecture: str) -> list[TorchVariant]:
    """Return the builds for GPUs that exist for this kind of processor."""
    found = [v for v in VARIANTS.values() if v.vendor is not None and architecture in v.architectures]
    return [replace(v, oldest=max(v.oldest, _ARM_OLDEST)) for v in found] if architecture == _ARM else found


def _without_gpu(machine: Hardware, driver: int, available: list[TorchVariant]) -> Choice:
    cpu = VARIANTS[CPU]
    if not machine.gpus:
        return Choice(cpu, sentence("no GPU found; the processor serves instead, which is slow but works"))
    return Choice(
        cpu,
        sentence("{who} cannot be used by torch {version}", who=_names(machine.gpus), version=TORCH),
        _why_not(machine.gpus, driver, available),
    )


def _why_not(gpus: tuple[Gpu, ...] | list[Gpu], driver: int, available: list[TorchVariant]) -> Sentence:
    """Return the first reason that the user can do something about, or else the first one."""
    better = [_better_driver(gpu, driver, available) for gpu in gpus]
    reasons = [*filter(None, better), *(_reason(gpu, available) for gpu in gpus)]
    return reasons[0] if reasons else NOTHING


def _better_driver(gpu: Gpu, driver: int, available: list[TorchVariant]) -> Sentence:
    """Return which driver makes the GPU usable; nothing if no driver does."""
    needed = min((v.min_driver for v in available if v.runs_on(gpu, driver=10**6)), default=0)
    if gpu.vendor is not Vendor.NVIDIA or driver >= needed:
        return NOTHING
    if not driver:
        return sentence(
            "install NVIDIA's driver {number} or newer to use {who}; this machine has none", number=needed, who=gpu.name
        )
    return sentence(
        "install NVIDIA's driver {number} or newer to use {who}; this machine has {driver}",
        number=needed,
        who=gpu.name,
        driver=driver,
    )


def _reason(gpu: Gpu, available: list[TorchVariant]) -> Sentence:
    match gpu.vendor:
        case Vendor.NVIDIA if gpu.capability is None:
            return sentence("{who} does not report its compute capability", who=gpu.name)
        case Vendor.NVIDIA:
            if not any(v.runs_on(gpu, driver=10**6) for v in available):
                return sentence("{who} is older than what torch {version} has kernels for", who=gpu.name, version=TORCH)
            return sentence("{who} needs another build of torch than the machine's other GPUs", who=gpu.name)
        case Vendor.AMD:
            return sentence("torch's build for AMD has no kernels for {who}", who=gpu.target or gpu.name)
        case Vendor.INTEL:
            return sentence("graphics inside the processor share its memory; computing on them gains nothing")
        case Vendor.APPLE:
            return sentence("torch {version} has no build for this kind of Mac", version=TORCH)


def _names(gpus: tuple[Gpu, ...] | list[Gpu]) -> str:
    return ", ".join(dict.fromkeys(gpu.name for gpu in gpus))


def _major(version: str) -> int:
    first = version.partition(".")[0]
    return int(first) if first.isdecimal() else 0
