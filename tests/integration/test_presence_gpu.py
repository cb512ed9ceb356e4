"""Probes of NVIDIA GPUs: the real nvidia-ml-py over a library that says what a driver would."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.nvml_stub import Driver, nvidia_driver
from helpers.probe_reports import watching
from potluck_control.states import Certainty, Reason
from potluck_daemon.presence import heat, memory, nvidia, nvml
from potluck_daemon.presence.heat import HeatProbe, PowerProbe
from potluck_daemon.presence.memory import VramPressureProbe
from potluck_daemon.presence.nvidia import NvidiaUseProbe
from potluck_daemon.presence.nvml import NvmlReader
from potluck_daemon.presence.probe import ProbeFailedError, ProbeUnavailableError, Sighting, Situation, Surroundings
from potluck_daemon.presence.processes import ProcessTable

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
    for module in (heat, memory, nvidia):
        monkeypatch.setattr(module, "INTERVAL_S", 0.02)
    monkeypatch.setattr(memory, "VRAM_INTERVAL_S", 0.02)
    monkeypatch.setattr(nvml, "MAX_AGE_S", 0.0)
    loaded.say()
    return loaded


@pytest.fixture
def program() -> Iterator[int]:
    process = subprocess.Popen(["sleep", "600"])
    yield process.pid
    process.kill()
    process.wait()


def use_probe() -> NvidiaUseProbe:
    return NvidiaUseProbe(ProcessTable(AT), NvmlReader(), busy_percent=25)


def use(certainty: Certainty, gpu: str = FIRST) -> Sighting:
    return Sighting(Reason.GPU_BUSY, "sleep", certainty, "sleep", gpu)


async def test_a_program_counts_by_how_much_of_which_gpu_it_uses(driver: Driver, program: int) -> None:
    gpus = ("gpu 0 NVIDIA A", "gpu 1 NVIDIA B", f"graphics 1 {program}")
    async with watching(use_probe()) as reports:
        for percent, expected in (
            (5, ()),
            (10, (use(Certainty.WEAK, SECOND),)),
            (25, (use(Certainty.LIKELY, SECOND),)),
        ):
            driver.say(*gpus, f"use 1 {program} {percent}")
            await reports.until_seen(*expected)


async def test_a_program_that_computes_counts_like_one_that_draws(driver: Driver, program: int) -> None:
    driver.say("gpu 0 NVIDIA A", f"compute 0 {program}", f"use 0 {program} 90")
    async with watching(use_probe()) as reports:
        await reports.until_seen(use(Certainty.LIKELY))


async def test_where_use_is_not_told_one_that_draws_is_a_weak_sign(driver: Driver, program: int) -> None:
    driver.say("gpu 0 NVIDIA A", f"graphics 0 {program}")
    async with watching(use_probe()) as reports:
        await reports.until_seen(use(Certainty.WEAK))


async def test_our_own_engine_is_not_evidence(driver: Driver, program: int) -> None:
    driver.say("gpu 0 NVIDIA A", f"compute 0 {program}", f"use 0 {program} 90")
    ours = NvidiaUseProbe(ProcessTable(Surroundings()), NvmlReader(), busy_percent=25)
    async with watching(ours) as reports:
        for _ in range(3):
            assert await reports.next() == ()


async def test_a_driver_that_tells_no_processes_is_no_problem(driver: Driver) -> None:
    driver.say("gpu 0 NVIDIA A", "no-processes")
    async with watching(use_probe()) as reports:
        assert await reports.next() == ()


async def test_a_lost_gpu_is_said_and_the_next_try_works(driver: Driver, program: int) -> None:
    driver.say("gpu 0 NVIDIA A", "lost 0")
    probe = use_probe()
    with pytest.raises(ProbeFailedError, match="NVIDIA driver"):
        await probe.watch(lambda _: None, Situation())
    driver.say("gpu 0 NVIDIA A", f"use 0 {program} 90")
    async with watching(probe) as reports:
        await reports.until_seen(use(Certainty.LIKELY))


def vram_probe(tmp_path: Path) -> VramPressureProbe:
    return VramPressureProbe(Surroundings(tmp_path, tmp_path, {}), NvmlReader(), reserve_bytes=GIB)


async def test_memory_that_others_take_is_pressure_until_the_engine_fits_again(driver: Driver, tmp_path: Path) -> None:
    pressed = Sighting(Reason.VRAM_PRESSURE, "NVIDIA A", Certainty.LIKELY, gpu=FIRST)
    async with watching(vram_probe(tmp_path)) as reports:
        reports.situation.engine_gpu = FIRST
        driver.say("gpu 0 NVIDIA A", f"memory 0 {16 * GIB} {14 * GIB}")
        await reports.until_seen()
        driver.say("gpu 0 NVIDIA A", f"memory 0 {16 * GIB} {15 * GIB}")
        await reports.until_seen(pressed)
        reports.situation.needed_bytes = 8 * GIB  # it has given them back, and a game has taken half of them
        driver.say("gpu 0 NVIDIA A", f"memory 0 {16 * GIB} {11 * GIB}")
        for _ in range(3):
            await reports.next()
        assert await reports.next() == (pressed,)
        driver.say("gpu 0 NVIDIA A", f"memory 0 {16 * GIB} {1 * GIB}")
        await reports.until_seen()


async def test_the_memory_of_a_gpu_that_the_engine_does_not_use_is_nobodys_business(
    driver: Driver, tmp_path: Path
) -> None:
    driver.say("gpu 0 NVIDIA A", f"memory 0 {GIB} {GIB}", "gpu 1 NVIDIA B", f"memory 1 {GIB} 0")
    async with watching(vram_probe(tmp_path)) as reports:
        reports.situation.engine_gpu = SECOND
        for _ in range(3):
            assert await reports.next() == ()


async def test_heat_is_told_in_tenths_and_lasts_until_it_is_below_the_cap(driver: Driver, tmp_path: Path) -> None:
    probe = HeatProbe(Surroundings(tmp_path, tmp_path, {}), NvmlReader(), gpu_cap_c=80, cpu_cap_c=90)
    async with watching(probe) as reports:
        for celsius, level in ((79, None), (83, 0.3), (90, 1.0), (84, 1.0), (79, None)):
            driver.say("gpu 0 NVIDIA A", f"celsius 0 {celsius}")
            await reports.until_seen(*([Sighting(Reason.HEAT, "NVIDIA A", gpu=FIRST, level=level)] if level else []))


async def test_power_is_brought_down_to_the_cap(driver: Driver) -> None:
    """A GPU whose draw is in proportion to the time it computes."""
    async with watching(PowerProbe(NvmlReader(), cap_w=150)) as reports:
        reports.situation.engine_gpu = FIRST
        level = 0.0
        for _ in range(30):
            driver.say("gpu 0 NVIDIA A", f"milliwatts 0 {round(300_000 * (1 - level))}")
            while not reports.queue.empty():
                reports.queue.get_nowait()
            await reports.next()
            seen = await reports.next()
            level = seen[0].level if seen else 0.0
        assert level == pytest.approx(0.5, abs=0.1)


async def test_a_driver_without_gpus_is_said(driver: Driver) -> None:
    with pytest.raises(ProbeUnavailableError, match="power"):
        await PowerProbe(NvmlReader(), cap_w=150).watch(lambda _: None, Situation())


@pytest.mark.parametrize(
    ("written", "address"),
    [("00000000:0A:00.0", "0000:0a:00.0"), ("0000:0a:00.0", "0000:0a:00.0"), ("00010000:65:00.1", "0000:65:00.1")],
)
def test_addresses_are_written_as_the_kernel_does(written: str, address: str) -> None:
    assert nvml.pci_address(written) == address
