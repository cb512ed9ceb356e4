import platform
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from potluck_daemon.environment.machine import Gpu, Hardware, Vendor, look
from potluck_daemon.environment.plan import is_listed
from potluck_daemon.environment.variants import VARIANTS, Choice, choose_variant, fallbacks

MACHINE = Hardware(glibc=(2, 36))
PASCAL = Gpu(Vendor.NVIDIA, "GTX 1080", 8 << 30, (6, 1))
VOLTA = Gpu(Vendor.NVIDIA, "Titan V", 12 << 30, (7, 0))
TURING = Gpu(Vendor.NVIDIA, "T4", 16 << 30, (7, 5))
ADA = Gpu(Vendor.NVIDIA, "RTX 4090", 24 << 30, (8, 9))
BLACKWELL = Gpu(Vendor.NVIDIA, "RTX 5090", 32 << 30, (12, 0))
KEPLER = Gpu(Vendor.NVIDIA, "GTX 780", 3 << 30, (3, 5))
RADEON = Gpu(Vendor.AMD, "AMD GPU (gfx1100)", target="gfx1100")
ARC = Gpu(Vendor.INTEL, "Intel Arc")
APPLE = Gpu(Vendor.APPLE, "Apple M2", 16 << 30)
INSIDE = Gpu(Vendor.INTEL, "Intel graphics", is_integrated=True)


APPLE_MAC = Hardware(gpus=(APPLE,), macos=(15, 1), architecture="arm64", python=(3, 12))


def choice(*gpus: Gpu, driver: str = "") -> Choice:
    return choose_variant(replace(MACHINE, gpus=gpus, driver=driver))


def arm(gpu: Gpu) -> Hardware:
    return replace(MACHINE, gpus=(gpu,), driver="580.65", architecture="aarch64")


def test_driver_and_capability_together_choose_the_build_and_nothing_is_advised() -> None:
    for gpus, driver, variant in (
        ([ADA], "580.65", "cu130"),
        ([ADA, INSIDE], "580.65", "cu130"),
        ([TURING], "595.01", "cu130"),
        ([BLACKWELL], "580.00", "cu130"),
        ([ADA], "535.183", "cu126"),
        ([VOLTA], "580.65", "cu126"),  # the driver alone would say cu130, which has no kernels for it
        ([PASCAL], "550.54", "cu126"),
        ([RADEON], "", "rocm7.2"),
        ([ARC], "", "xpu"),
        ([], "", "cpu"),
    ):
        made = choice(*gpus, driver=driver)
        assert (made.variant.name, str(made.advice)) == (variant, "")


def test_the_processor_narrows_the_choice() -> None:
    for machine, variant, is_advised in (
        (arm(RADEON), "cpu", True),
        (arm(TURING), "cpu", True),  # builds for ARM begin with Ampere
        (arm(ADA), "cu130", False),
        (arm(BLACKWELL), "cu130", False),
        (APPLE_MAC, "mps", False),
    ):
        made = choose_variant(machine)
        assert (made.variant.name, bool(made.advice)) == (variant, is_advised)


def test_a_gpu_that_cannot_be_used_leaves_the_processor_and_says_why() -> None:
    for gpus, driver, advice in (
        ([BLACKWELL], "570.10", "driver 580 or newer"),
        ([ADA], "470.1", "driver 525 or newer to use RTX 4090; this machine has 470"),
        ([KEPLER, ADA], "470.1", "driver 525 or newer"),  # one can follow this advice
        ([ADA], "", "this machine has none"),
        ([KEPLER], "470.1", "older than what torch"),
        ([replace(RADEON, target="gfx1103")], "", "no kernels for gfx1103"),
        ([INSIDE], "", "share its memory"),
    ):
        made = choice(*gpus, driver=driver)
        assert made.variant.name == "cpu"
        assert advice in str(made.advice)


def test_the_build_that_serves_most_gpus_is_taken_and_the_others_are_named() -> None:
    made = choice(PASCAL, VOLTA, BLACKWELL, driver="580.65")
    assert made.variant.name == "cu126"
    assert "RTX 5090 needs another build" in str(made.advice)


def test_amd_and_intel_are_found_in_the_kernels_files(tmp_path: Path) -> None:
    nodes = tmp_path / "class/kfd/kfd/topology/nodes"
    for number, version in enumerate((0, 90010, 110000, 120001)):
        (nodes / str(number)).mkdir(parents=True)
        (nodes / str(number) / "properties").write_text(f"cpu_cores_count 0\ngfx_target_version {version}\n")
    for card, slot in enumerate(("0000:00:02.0", "0000:03:00.0")):
        device = tmp_path / "devices" / slot
        device.mkdir(parents=True)
        (device / "vendor").write_text("0x8086\n")
        (tmp_path / f"class/drm/card{card}").mkdir(parents=True)
        (tmp_path / f"class/drm/card{card}/device").symlink_to(device)
    found = look(tmp_path).gpus
    assert [gpu.target for gpu in found if gpu.vendor is Vendor.AMD] == ["gfx90a", "gfx1100", "gfx1201"]
    assert [gpu.is_integrated for gpu in found if gpu.vendor is Vendor.INTEL] == [True, False]


def test_a_macs_gpu_is_found_where_the_system_is_macos_on_apples_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "mac_ver", lambda: ("15.1", ("", "", ""), "arm64"))
    monkeypatch.setattr(platform, "machine", lambda: "arm64")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: subprocess.CompletedProcess((), 0, "Apple M2\n"))
    found = look(Path("/nowhere"))
    assert found.macos == (15, 1)
    assert [(gpu.vendor, gpu.name) for gpu in found.gpus] == [(Vendor.APPLE, "Apple M2")]
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    assert look(Path("/nowhere")).gpus == ()


def test_packages_for_another_processor_are_not_offered() -> None:
    assert is_listed("mps", APPLE_MAC)
    assert not is_listed("mps", MACHINE)
    assert not is_listed("cpu", APPLE_MAC)


def test_the_driver_that_decided_is_named() -> None:
    assert str(choice(ADA, driver="580.65").why) == "RTX 4090 can be used, with driver 580.65"
    assert str(choice(RADEON).why) == "AMD GPU (gfx1100) can be used"


def test_when_packages_are_missing_the_next_best_build_is_taken_unless_one_was_asked_for() -> None:
    for machine, expected in (
        (Hardware(), ["cu130", "cu126"]),  # no GPU
        (Hardware(gpus=(ADA,), driver="580.65"), ["cu126", "cpu"]),  # any build
        (Hardware(gpus=(ADA,), driver="550.90"), ["cpu", "cu130"]),  # an older driver
        (Hardware(gpus=(RADEON,)), ["cpu", "cu130", "cu126"]),  # AMD
        (APPLE_MAC, []),  # Apple
    ):
        assert [other.variant.name for other in fallbacks(machine, choose_variant(machine))] == expected
        assert fallbacks(machine, Choice(VARIANTS["cpu"], "as you asked", is_asked=True)) == ()


def test_a_fallback_says_what_is_given_up_and_how_to_have_it() -> None:
    machine = Hardware(gpus=(RADEON,))
    first = fallbacks(machine, choose_variant(machine))[0]
    assert "variant rocm7.2 is not to be had here; the processor serves instead" in str(first.why)
    assert "potluck setup --variant rocm7.2" in str(first.advice)
