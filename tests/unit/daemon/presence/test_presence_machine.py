"""Probes of what the kernel writes to /proc and /sys, on made folders."""

import asyncio
import contextlib
import logging
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from helpers.made_processes import Clock, MadeProcesses
from helpers.probe_reports import gives_up, watching
from potluck_control.states import Certainty, Reason
from potluck_daemon.presence import nvml
from potluck_daemon.presence.gpu_use import RELIST_EVERY, GpuUseProbe
from potluck_daemon.presence.nvml import NvidiaGpu, NvmlReader
from potluck_daemon.presence.probe import ProbeFailedError, ProbeUnavailableError, Sighting, Situation
from potluck_daemon.presence.processes import ProcessTable
from potluck_daemon.presence.sensors import (
    HeatProbe,
    PowerProbe,
    RamPressureProbe,
    heat_level,
    is_on_battery,
    power_level,
    read_amd_memory,
    read_temperatures,
)

from potluck.sentences import sentence

PCI = "0000:03:00.0"
SECOND_NS = 1_000_000_000


class DrmLooker:
    def __init__(self, made: MadeProcesses) -> None:
        self.clock = Clock()
        table = ProcessTable(made.surroundings, self.clock)
        (made.sys / "class/drm/renderD128").mkdir(parents=True)
        self.probe = GpuUseProbe(made.surroundings, table, NvmlReader(), busy_percent=25, clock=self.clock)

    def look(self) -> tuple[Sighting, ...]:
        self.clock.now += 2
        return asyncio.run(self.probe.poll(Situation()))


@pytest.fixture
def looker(made: MadeProcesses) -> DrmLooker:
    """Looks at a machine on which a game runs."""
    made.add(500, "game", "/opt/game")
    return DrmLooker(made)


def busy(certainty: Certainty, who: str = "game") -> Sighting:
    return Sighting(Reason.GPU_BUSY, who, certainty, who, PCI)


def test_a_program_counts_by_its_use_of_the_graphics_engine(made: MadeProcesses, looker: DrmLooker) -> None:
    programs = (
        ("engine_gfx", 0.05, None),
        ("engine_gfx", 0.12, Certainty.WEAK),
        ("engine_gfx", 0.5, Certainty.LIKELY),
        ("engine_render", 0.5, Certainty.LIKELY),
        ("engine_gpu", 0.5, Certainty.LIKELY),
        ("engine_panthor", 0.5, Certainty.LIKELY),
        ("engine_compute", 0.9, None),  # computing, as an engine of ours does
        ("engine_video", 0.9, None),
    )
    for look in (0, 1):
        for number, (engine, share, _) in enumerate(programs):
            made.add(600 + number, f"game{number}", f"/opt/game{number}")
            made.open_gpu(600 + number, 7, number, **{engine: f"{round(2 * look * share * SECOND_NS)} ns"})
        seen = looker.look()
        assert look or seen == ()
    expected = [busy(certainty, f"game{number}") for number, (*_, certainty) in enumerate(programs) if certainty]
    assert sorted(seen, key=lambda sighting: sighting.who) == expected


def test_intels_new_driver_tells_cycles(made: MadeProcesses, looker: DrmLooker) -> None:
    made.open_gpu(500, 7, 1, cycles_rcs="1000", total_cycles_rcs="10000")
    looker.look()
    made.open_gpu(500, 7, 1, cycles_rcs="1500", total_cycles_rcs="11000")
    assert looker.look() == (busy(Certainty.LIKELY),)


@pytest.mark.parametrize(
    ("clients", "certainty"), [((1, 1, 1), Certainty.WEAK), ((1, 2), Certainty.LIKELY)], ids=["one client", "two"]
)
def test_a_programs_clients_count_together_and_several_descriptors_of_one_client_once(
    made: MadeProcesses, looker: DrmLooker, clients: tuple[int, ...], certainty: Certainty
) -> None:
    for total in (0, round(0.4 * SECOND_NS)):  # 20 % each
        for handle, client in enumerate(clients, 7):
            made.open_gpu(500, handle, client, engine_gfx=f"{total} ns")
        seen = looker.look()
    assert seen == (busy(certainty),)


def test_the_desktop_itself_is_no_game(made: MadeProcesses, looker: DrmLooker) -> None:
    for total in (0, SECOND_NS):
        for pid, name in enumerate(("gnome-shell", "Xorg", "firefox", "mpv", "kwin_wayland"), 501):
            made.add(pid, name, f"/usr/bin/{name}")
            made.open_gpu(pid, 7, pid, engine_gfx=f"{total} ns")
        assert looker.look() == ()


def test_a_gpu_that_is_opened_late_is_found(made: MadeProcesses, looker: DrmLooker) -> None:
    looker.look()
    found = []
    for number in range(RELIST_EVERY + 2):
        made.open_gpu(500, 7, 1, engine_gfx=f"{number * SECOND_NS} ns")
        found += looker.look()
    assert busy(Certainty.LIKELY) in found


def test_odd_counters_are_nothing(made: MadeProcesses, looker: DrmLooker) -> None:
    for text in ("", "x ns", "-5 ns", "1e9 ns", " ", ""):
        made.open_gpu(500, 7, 1, engine_gfx=text)
        assert looker.look() == ()


async def test_a_computer_without_a_gpu_says_so(made: MadeProcesses) -> None:
    probe = GpuUseProbe(made.surroundings, ProcessTable(made.surroundings), NvmlReader(), busy_percent=25)
    with pytest.raises(ProbeUnavailableError, match="no GPU"):
        await probe.poll(Situation())


class HungReader(NvmlReader):
    """A reader whose driver answers no question until it `goes_on`."""

    def __init__(self) -> None:
        super().__init__()
        self.goes_on = threading.Event()
        self.num_readings = 0

    def read(self, *, for_setup: bool = False) -> tuple[NvidiaGpu, ...]:
        self.num_readings += 1
        self.goes_on.wait()
        return (NvidiaGpu("0000:01:00.0", "NVIDIA", temperature_c=95.0, use_percent={500: 90.0}),)


async def test_a_driver_that_hangs_silences_no_other_source_and_holds_one_thread(
    made: MadeProcesses, looker: DrmLooker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nvml, "READ_TIMEOUT_S", 0.05)
    reader = looker.probe._reader = HungReader()
    heat, power = HeatProbe(made.surroundings, reader, {"cpu": 80, "gpu": 80}), PowerProbe(reader, cap_w=100)
    with contextlib.ExitStack() as stack:
        stack.callback(reader.goes_on.set)
        for number in range(4):
            made.open_gpu(500, 7, 1, engine_gfx=f"{number * 2 * SECOND_NS} ns")
            looker.clock.now += 2
            seen = await looker.probe.poll(Situation())
            assert number == 0 or seen == (busy(Certainty.LIKELY),)
        for probe in (heat, power):
            await gives_up(probe, ProbeFailedError, "does not answer")
        chip(made.sys, 0, "coretemp", 85)
        assert [sighting.level for sighting in await heat.poll(Situation())] == [0.5]
        assert reader.num_readings == 1
        reader.goes_on.set()
        while reader.failure:  # noqa: ASYNC110 (another thread)
            await asyncio.sleep(0.01)
    assert [sighting.level for sighting in await heat.poll(Situation())] == [0.5, 1.0]


HANGS = """
import asyncio, threading
from potluck_daemon.presence import nvml
nvml.READ_TIMEOUT_S = 0.05
reader = nvml.NvmlReader()
reader.read = threading.Event().wait
asyncio.run(reader.gpus())
print(reader.failure)
"""


def test_a_driver_that_hangs_keeps_no_process_from_ending() -> None:
    done = subprocess.run([sys.executable, "-c", HANGS], stdout=subprocess.PIPE, text=True, timeout=30, check=True)
    assert "does not answer" in done.stdout


class OddLibrary:
    """A library that raises what it does not document."""

    NVMLError = OSError

    def nvmlDeviceGetCount(self) -> int:  # noqa: N802 (the library's name)
        raise UnicodeDecodeError("utf-8", b"?", 0, 1, "no name")

    def nvmlShutdown(self) -> None:  # noqa: N802
        pass


async def test_a_failure_that_the_driver_does_not_document_is_no_missing_gpu_and_is_logged_once(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nvml, "NO_DRIVER_S", 0.0)
    monkeypatch.setattr(nvml, "_load", lambda: (OddLibrary(), ""))
    probe = PowerProbe(NvmlReader(), cap_w=100)
    for _ in range(3):
        await gives_up(probe, ProbeFailedError, "no name")
    logged = [record.levelno for record in caplog.records if record.name == nvml.__name__]
    assert logged == [logging.WARNING]


def supply(folder: Path, name: str, **fields: str) -> None:
    (folder / name).mkdir(parents=True)
    for field, text in fields.items():
        (folder / name / field).write_text(text + "\n")


DISCHARGING = {"BAT0": {"type": "Battery", "status": "Discharging"}}


def test_a_laptop_runs_on_battery_when_no_adapter_is_online_or_else_when_the_battery_says_so(tmp_path: Path) -> None:
    for number, (supplies, expected) in enumerate(
        (
            (DISCHARGING | {"AC": {"type": "Mains", "online": "1"}}, False),
            (DISCHARGING | {"AC": {"type": "Mains", "online": "0"}}, True),
            (DISCHARGING | {"AC": {"type": "Mains", "online": "0"}, "ucsi-0": {"type": "USB", "online": "1"}}, False),
            (DISCHARGING, True),
            ({"BAT0": {"type": "Battery", "status": "Full"}}, False),
        )
    ):
        for name, fields in supplies.items():
            supply(tmp_path / str(number), name, **fields)
        assert is_on_battery(tmp_path / str(number)) is expected


def test_the_battery_of_a_mouse_is_none(tmp_path: Path) -> None:
    supply(tmp_path, "mouse", type="Battery", scope="Device", status="Discharging")
    with pytest.raises(ProbeUnavailableError):
        is_on_battery(tmp_path)


async def test_memory_is_short_below_the_reserve_and_until_the_engine_fits_again(made: MadeProcesses) -> None:
    pressed = Sighting(Reason.RAM_PRESSURE, sentence("the memory"))

    def available(mib: int) -> None:
        (made.proc / "meminfo").write_text(f"MemTotal: 9 kB\nMemAvailable: {mib * 1024} kB\n")

    probe, situation = RamPressureProbe(made.surroundings, reserve_bytes=1000 << 20), Situation()
    for mib, needed_mib, seen in ((2000, 0, ()), (999, 0, (pressed,)), (1400, 500, (pressed,)), (1500, 500, ())):
        available(mib)
        situation.needed_bytes = needed_mib << 20
        assert await probe.poll(situation) == seen


def test_an_amd_gpu_tells_its_memory_in_sys(tmp_path: Path) -> None:
    device = tmp_path / "devices" / PCI
    device.mkdir(parents=True)
    (device / "mem_info_vram_total").write_text("8000\n")
    (device / "mem_info_vram_used").write_text("3000\n")
    card = tmp_path / "class/drm/card0"
    card.mkdir(parents=True)
    (card / "device").symlink_to(device)
    assert read_amd_memory(tmp_path) == [(PCI, sentence("the GPU"), 8000, 5000)]


def chip(sys: Path, number: int, name: str, *celsius: float) -> None:
    folder = sys / f"class/hwmon/hwmon{number}"
    folder.mkdir(parents=True)
    (folder / "name").write_text(name + "\n")
    for index, degrees in enumerate(celsius, 1):
        (folder / f"temp{index}_input").write_text(f"{round(degrees * 1000)}\n")


def test_the_hottest_sensor_of_processor_and_gpu_counts(tmp_path: Path) -> None:
    chip(tmp_path, 0, "coretemp", 60, 75)
    chip(tmp_path, 1, "nvme", 99)
    chip(tmp_path, 2, "amdgpu", 70)
    assert [(kind, celsius) for kind, _, _, celsius in read_temperatures(tmp_path)] == [("cpu", 75), ("gpu", 70)]


async def test_a_hot_processor_is_told(made: MadeProcesses) -> None:
    chip(made.sys, 0, "k10temp", 95)
    probe = HeatProbe(made.surroundings, NvmlReader(), {"gpu": 80, "cpu": 90})
    async with watching(probe) as reports:
        await reports.until_seen(Sighting(Reason.HEAT, sentence("the processor"), level=0.5))


def test_heat_rises_in_tenths_and_too_hot_lasts_until_it_is_cool() -> None:
    for celsius, before, level in (
        (79.9, 0, 0),
        (80, 0, 0.1),
        (85, 0, 0.5),
        (90, 0, 1),
        (120, 0, 1),
        (81, 1, 1),
        (79, 1, 0),
        (85, 0.9, 0.5),
    ):
        assert heat_level(celsius, 80, before) == level
        assert heat_level(celsius, 0, 0) == 0, "without a cap nothing is too hot"


def test_power_settles_at_the_cap_and_forgets_it_below() -> None:
    level = 0.0
    for _ in range(50):
        level = power_level(300 * (1 - level), 150, level)
    assert level == pytest.approx(0.5, abs=0.01)
    for _ in range(50):
        level = power_level(100 * (1 - level), 150, level)
    assert level == 0
