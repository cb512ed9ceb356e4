"""Chooses the build of torch for a machine by its driver and by what each of its GPUs can run. Pure.

The table is what torch 2.13 ships (RELEASE.md of pytorch, its compatibility and CUDA support matrices: CUDA 12.6 for
Maxwell to Hopper, 13.0 for Turing to Blackwell, 12.8 dropped, 13.2 experimental, ROCm 7.2, whose list of instruction
sets lacks gfx1103 and gfx1031 to gfx1036). uv knows the index of each build by its name. Its own choice
(`--torch-backend auto`) is not used, because it knows neither compute capabilities nor whether graphics are a part of
the processor; see decision 0024. The self-test asks torch itself, once it is installed, which kernels it really has.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from potluck.sentences import NOTHING, Sentence, sentence
from potluck_daemon.environment.hardware import Gpu, Hardware, Vendor

TORCH = "2.13.0"
CPU = "cpu"
_GB = 10**9
_ANY_DRIVER = 10**6
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
    architectures: tuple[str, ...] = ("x86_64",)
    oldest: tuple[int, int] = (0, 0)  # compute capability
    newest: tuple[int, int] = (99, 0)
    min_driver: int = 0
    is_usual: bool = False  # the default index of packages has it; torch's own index has the others
    is_verified: bool = False  # Potluck's own tests install and run it

    def exists_for(self, machine: Hardware) -> bool:
        """Return whether torch has this build for the machine's processor and system."""
        is_for_mac = self.vendor is Vendor.APPLE
        return machine.architecture in self.architectures and (machine.macos is not None) is is_for_mac

    def runs_on(self, gpu: Gpu, machine: Hardware, driver: int) -> bool:
        """Return whether this build computes on the GPU with a driver of this major version."""
        if gpu.vendor is not self.vendor or gpu.is_integrated or not self.exists_for(machine):
            return False
        if gpu.vendor is Vendor.NVIDIA:
            fits = gpu.capability is not None and self.oldest <= gpu.capability <= self.newest
            return fits and driver >= self.min_driver
        return gpu.vendor is not Vendor.AMD or gpu.target in _ROCM_TARGETS


_BOTH = ("x86_64", "aarch64")
_TABLE = (
    TorchVariant(CPU, None, _GB // 2, 2 * _GB, _BOTH, is_verified=True),
    TorchVariant("cu130", Vendor.NVIDIA, 3 * _GB, 7 * _GB, _BOTH, (7, 5), (12, 9), min_driver=580, is_usual=True),
    TorchVariant("cu126", Vendor.NVIDIA, 3 * _GB, 7 * _GB, _BOTH, (5, 0), (9, 0), min_driver=525),
    TorchVariant("rocm7.2", Vendor.AMD, 5 * _GB, 18 * _GB),
    TorchVariant("xpu", Vendor.INTEL, 2 * _GB, 6 * _GB),
    TorchVariant("mps", Vendor.APPLE, _GB // 2, 2 * _GB, ("arm64",), is_usual=True),
)
VARIANTS = {variant.name: variant for variant in _TABLE}
"""The builds; of two that run on as many GPUs the first one is better."""


def offered_variants(machine: Hardware) -> tuple[str, ...]:
    """Return the names of the variants that can be installed on the machine."""
    return tuple(name for name, variant in VARIANTS.items() if variant.exists_for(machine))


@dataclass(frozen=True, slots=True)
class Choice:
    """The chosen variant, and why. `advice`: how to have more of the hardware used; empty if nothing helps."""

    variant: TorchVariant
    why: Sentence
    advice: Sentence = NOTHING
    is_asked: bool = False  # somebody named the variant: no other one will do


def choose_variant(machine: Hardware) -> Choice:
    """Return the build that runs on most of the machine's GPUs, or the processor's if none does."""
    driver = _major(machine.driver)
    gpus = [gpu for gpu in machine.gpus if not gpu.is_integrated]
    if not gpus:
        return Choice(VARIANTS[CPU], sentence("no GPU found; the processor serves instead, which is slow but works"))
    best = max(_TABLE, key=lambda variant: sum(variant.runs_on(gpu, machine, driver) for gpu in gpus))
    used = [gpu for gpu in gpus if best.runs_on(gpu, machine, driver)]
    left_out = [gpu for gpu in gpus if gpu not in used]
    if not used:
        why = sentence("{who} cannot be used by torch {version}", who=_names(gpus), version=TORCH)
    elif best.vendor is Vendor.NVIDIA:
        why = sentence("{who} can be used, with driver {driver}", who=_names(used), driver=machine.driver)
    else:
        why = sentence("{who} can be used", who=_names(used))
    advice = next(filter(None, (_better_driver(gpu, machine, driver) for gpu in left_out)), NOTHING)
    if used and left_out and not advice:
        advice = sentence("{who} cannot be used by torch {version}", who=_names(left_out), version=TORCH)
    return Choice(best, why, advice)


def fallback(machine: Hardware, choice: Choice) -> Choice | None:
    """Return the build of the default index, which computes on processors too, if torch's own index lacks `choice`."""
    wanted = choice.variant
    other = next((variant for variant in _TABLE if variant.is_usual and variant.exists_for(machine)), None)
    if other is None or choice.is_asked or wanted.is_usual:
        return None
    why = sentence(
        "variant {what} is not to be had here; this one computes on the processor too, and takes more room",
        what=wanted.name,
    )
    retry = sentence("try again later to use the GPU: potluck setup --variant {what}", what=wanted.name)
    return Choice(other, why, NOTHING if wanted.vendor is None else retry)


def _better_driver(gpu: Gpu, machine: Hardware, driver: int) -> Sentence:
    """Return advice on the driver that makes the GPU usable; empty if no driver does."""
    needed = min((v.min_driver for v in _TABLE if v.runs_on(gpu, machine, _ANY_DRIVER)), default=0)
    if driver >= needed:
        return NOTHING
    return sentence(
        "install NVIDIA's driver {number} or newer to use {who}; this machine has {driver}",
        number=needed,
        who=gpu.name,
        driver=driver,
    )


def _names(gpus: Iterable[Gpu]) -> str:
    return ", ".join(dict.fromkeys(gpu.name for gpu in gpus))


def _major(version: str) -> int:
    first = version.partition(".")[0]
    return int(first) if first.isdecimal() else 0
