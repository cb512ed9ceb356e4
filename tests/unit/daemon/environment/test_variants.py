import platform
from dataclasses import replace
from pathlib import Path

import pytest
from potluck_daemon.environment.hardware import Gpu, Hardware, Vendor, read_hardware
from potluck_daemon.environment.variants import VARIANTS, Choice, choose_variant, fallback

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
    for machine, variant in (
        (arm(RADEON), "cpu"),
        (arm(ADA), "cu130"),
        (arm(BLACKWELL), "cu130"),
        (APPLE_MAC, "mps"),
    ):
        assert choose_variant(machine).variant.name == variant


def test_a_gpu_that_cannot_be_used_leaves_the_processor_and_says_why() -> None:
    for gpus, driver, why, advice in (
        ([BLACKWELL], "570.10", "RTX 5090 cannot be used", "driver 580 or newer"),
        ([ADA], "470.1", "RTX 4090 cannot be used", "driver 525 or newer to use RTX 4090; this machine has 470"),
        ([KEPLER, ADA], "470.1", "GTX 780, RTX 4090 cannot be used", "driver 525 or newer"),  # one can follow this
        ([KEPLER], "470.1", "GTX 780 cannot be used", ""),
        ([replace(RADEON, target="gfx1103")], "", "cannot be used", ""),
        ([INSIDE], "", "no GPU found", ""),  # uv's own choice would be Intel's build
    ):
        made = choice(*gpus, driver=driver)
        assert made.variant.name == "cpu"
        assert why in str(made.why)
        assert advice in str(made.advice)
        assert bool(advice) == bool(made.advice)


def test_the_build_that_serves_most_gpus_is_taken_and_the_others_are_named() -> None:
    made = choice(PASCAL, VOLTA, BLACKWELL, driver="580.65")
    assert made.variant.name == "cu126"
    assert "RTX 5090 cannot be used" in str(made.advice)


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
    found = read_hardware(tmp_path).gpus
    assert [gpu.target for gpu in found if gpu.vendor is Vendor.AMD] == ["gfx90a", "gfx1100", "gfx1201"]
    assert [gpu.is_integrated for gpu in found if gpu.vendor is Vendor.INTEL] == [True, False]


def test_a_macs_gpu_is_found_where_the_system_is_macos_on_apples_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "mac_ver", lambda: ("15.1", ("", "", ""), "arm64"))
    monkeypatch.setattr(platform, "machine", lambda: "arm64")
    found = read_hardware(Path("/nowhere"))
    assert found.macos == (15, 1)
    assert [(gpu.vendor, gpu.name) for gpu in found.gpus] == [(Vendor.APPLE, "Apple GPU")]
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    assert read_hardware(Path("/nowhere")).gpus == ()


def test_the_driver_that_decided_is_named() -> None:
    assert str(choice(ADA, driver="580.65").why) == "RTX 4090 can be used, with driver 580.65"
    assert str(choice(RADEON).why) == "AMD GPU (gfx1100) can be used"


def test_when_packages_are_missing_the_default_index_has_a_build_unless_one_was_asked_for() -> None:
    for machine, expected, is_retried in (
        (Hardware(), "cu130", False),  # no GPU
        (Hardware(gpus=(ADA,), driver="550.90"), "cu130", True),  # an older driver
        (Hardware(gpus=(RADEON,)), "cu130", True),
        (Hardware(gpus=(ADA,), driver="580.65"), "", False),  # the default index has it
        (APPLE_MAC, "", False),
    ):
        chosen = choose_variant(machine)
        other = fallback(machine, chosen)
        assert (other.variant.name if other is not None else "") == expected
        assert fallback(machine, Choice(VARIANTS["cpu"], "as you asked", is_asked=True)) is None
        if other is not None:
            assert f"variant {chosen.variant.name} is not to be had here" in str(other.why)
            assert (f"potluck setup --variant {chosen.variant.name}" in str(other.advice)) is is_retried
