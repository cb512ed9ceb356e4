"""NVIDIA GPUs for probes and the doctor: the real nvidia-ml-py over a library that says what a driver would."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.command_line import CommandLine
from helpers.nvml_stub import Driver, nvidia_driver
from helpers.probe_reports import gives_up, watching
from potluck_control.states import Certainty, Reason
from potluck_daemon.environment.hardware import read_hardware
from potluck_daemon.presence import nvml
from potluck_daemon.presence.gpu_use import GpuUseProbe
from potluck_daemon.presence.nvml import NvmlReader
from potluck_daemon.presence.probe import ProbeFailedError, ProbeUnavailableError, Sighting, Surroundings
from potluck_daemon.presence.processes import ProcessTable
from potluck_daemon.presence.sensors import HeatProbe, PowerProbe, VramPressureProbe

pytestmark = pytest.mark.compiler

GIB = 1 << 30
FIRST, SECOND = "0000:01:00.0", "0000:02:00.0"
AT = Surroundings(own_pid=1 << 30)


@pytest.fixture(scope="module")
def loaded() -> Iterator[Driver]:
    with nvidia_driver() as made:
        made.load_here()
        yield made


@pytest.fixture
def driver(loaded: Driver, monkeypatch: pytest.MonkeyPatch) -> Driver:
    for probe in (GpuUseProbe, HeatProbe, PowerProbe, VramPressureProbe):
        monkeypatch.setattr(probe, "interval_s", 0.02)
    monkeypatch.setattr(nvml, "MAX_AGE_S", 0.0)
    monkeypatch.setattr(nvml, "NO_DRIVER_S", 0.0)
    loaded.say()
    return loaded


@pytest.fixture
def program() -> Iterator[int]:
    process = subprocess.Popen(["sleep", "600"])
    yield process.pid
    process.kill()
    process.wait()


def use_probe(at: Surroundings = AT) -> GpuUseProbe:
    return GpuUseProbe(at, ProcessTable(at), NvmlReader(), busy_percent=25)


def use(certainty: Certainty, gpu: str = FIRST) -> Sighting:
    return Sighting(Reason.GPU_BUSY, "sleep", certainty, "sleep", gpu)


async def test_a_program_counts_by_how_much_of_which_gpu_it_uses(driver: Driver, program: int) -> None:
    async with watching(use_probe()) as reports:
        for said, seen in (
            ((f"use 1 {program} 10",), [use(Certainty.WEAK, SECOND)]),
            ((f"use 1 {program} 5",), []),
            ((f"use 1 {program} 25",), [use(Certainty.LIKELY, SECOND)]),
            ((f"use 0 {program} 90",), [use(Certainty.LIKELY)]),
            (("no-processes",), []),
        ):
            driver.say("gpu 0 NVIDIA A", "gpu 1 NVIDIA B", *said)
            await reports.until_seen(*seen)


async def test_our_own_engine_is_not_evidence(driver: Driver, program: int) -> None:
    driver.say("gpu 0 NVIDIA A", f"use 0 {program} 90")
    async with watching(use_probe(Surroundings())) as reports:
        for _ in range(3):
            assert await reports.next() == ()


async def test_a_lost_gpu_is_said_and_the_next_try_works(driver: Driver, program: int) -> None:
    driver.say("gpu 0 NVIDIA A", "lost 0")
    probe = use_probe()
    await gives_up(probe, ProbeFailedError, "NVIDIA driver")
    driver.say("gpu 0 NVIDIA A", f"use 0 {program} 90")
    async with watching(probe) as reports:
        await reports.until_seen(use(Certainty.LIKELY))


async def test_memory_that_others_take_is_pressure_until_the_engine_fits_again(driver: Driver, tmp_path: Path) -> None:
    pressed = Sighting(Reason.VRAM_PRESSURE, "NVIDIA A", Certainty.LIKELY, gpu=FIRST)
    full = f"memory 0 {16 * GIB} {15 * GIB}"
    probe = VramPressureProbe(Surroundings(tmp_path, tmp_path, {}), NvmlReader(), reserve_bytes=GIB)
    async with watching(probe) as reports:
        reports.situation.engine_gpu = FIRST
        driver.say("gpu 0 NVIDIA A", f"memory 0 {16 * GIB} {14 * GIB}")
        await reports.until_seen()
        driver.say("gpu 0 NVIDIA A", full)
        await reports.until_seen(pressed)
        reports.situation.needed_bytes = 8 * GIB  # it has given them back, and a game has taken half of them
        driver.say("gpu 0 NVIDIA A", f"memory 0 {16 * GIB} {11 * GIB}")
        for _ in range(4):
            assert await reports.next() == (pressed,)
        driver.say("gpu 0 NVIDIA A", f"memory 0 {16 * GIB} {1 * GIB}")
        await reports.until_seen()
        driver.say("gpu 0 NVIDIA A", full, "gpu 1 NVIDIA B", f"memory 1 {16 * GIB} 0")
        await reports.until_seen(pressed)
        reports.situation.engine_gpu = SECOND  # the other one is nobody's business
        await reports.until_seen()


async def test_heat_is_told_in_tenths_and_lasts_until_it_is_below_the_cap(driver: Driver, tmp_path: Path) -> None:
    probe = HeatProbe(Surroundings(tmp_path, tmp_path, {}), NvmlReader(), {"gpu": 80, "cpu": 90})
    async with watching(probe) as reports:
        for celsius, level in ((83, 0.3), (90, 1.0), (84, 1.0), (79, None)):
            driver.say("gpu 0 NVIDIA A", f"celsius 0 {celsius}")
            await reports.until_seen(*([Sighting(Reason.HEAT, "NVIDIA A", gpu=FIRST, level=level)] if level else []))


async def test_a_draw_above_the_cap_slows_the_engine_down_until_it_is_below(driver: Driver) -> None:
    probe = PowerProbe(NvmlReader(), cap_w=150)
    await gives_up(probe, ProbeUnavailableError, "power")
    driver.say("gpu 0 NVIDIA A", "milliwatts 0 300000")
    async with watching(probe) as reports:
        reports.situation.engine_gpu = FIRST
        await reports.until_seen(Sighting(Reason.POWER, "NVIDIA A", gpu=FIRST, level=0.2))
        driver.say("gpu 0 NVIDIA A", "milliwatts 0 0")
        await reports.until_seen()


def test_only_set_up_asks_for_the_compute_capability(driver: Driver) -> None:
    driver.say("gpu 0 NVIDIA A")
    assert [gpu.capability for gpu in NvmlReader().read()] == [None]
    assert [gpu.capability for gpu in read_hardware().gpus] == [(9, 0)]


def test_the_doctor_names_gpus_and_driver(loaded: Driver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded.say("gpu 0 NVIDIA Test 9000", f"memory 0 {24 * GIB} 0")
    for name, value in loaded.environment.items():
        monkeypatch.setenv(name, value)
    outcome = CommandLine(tmp_path).run("doctor", "--json")
    found = {item["check"]["text"]: item["text"]["text"] for item in json.loads(outcome.out)["findings"]}
    assert found["Can a GPU be used?"] == "NVIDIA Test 9000 can be used, with driver 580.65.06"


@pytest.mark.parametrize(
    ("written", "address"),
    [("00000000:0A:00.0", "0000:0a:00.0"), ("0000:0a:00.0", "0000:0a:00.0"), ("00010000:65:00.1", "0000:65:00.1")],
)
def test_addresses_are_written_as_the_kernel_does(written: str, address: str) -> None:
    assert nvml.pci_address(written) == address
