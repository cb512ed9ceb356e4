"""Devices, start at log-in, the doctor and the bundle over the control API."""

import asyncio
import zipfile
from pathlib import Path

import pytest
from helpers.own_daemon import Ask, ask_until
from potluck_control.api.client import ControlError
from potluck_control.methods import health, machine
from potluck_control.methods.health import Finding, Severity
from potluck_control.methods.machine import LoginParams
from potluck_daemon.daemon import Daemon
from potluck_daemon.doctor import checks
from potluck_daemon.environment import hardware, store
from potluck_daemon.environment.hardware import Gpu, Hardware, Vendor
from potluck_daemon.host import login, systemd
from potluck_daemon.topics import machine as topic
from potluck_daemon.topics.topic import Topic
from potluck_daemon.topics.updates import UpdatesTopic

from potluck.errors import PotluckError
from potluck.sentences import verbatim


def gpu(vendor: Vendor, *, is_integrated: bool = False) -> Gpu:
    return Gpu(vendor, f"{vendor} GPU", 24 << 30, is_integrated=is_integrated, free_bytes=20 << 30)


def test_devices_are_named_as_torch_names_them(monkeypatch: pytest.MonkeyPatch) -> None:
    for gpus, names in (
        ([], []),  # none
        ([gpu(Vendor.NVIDIA), gpu(Vendor.NVIDIA)], ["cuda:0", "cuda:1"]),  # nvidia
        ([gpu(Vendor.AMD), gpu(Vendor.INTEL, is_integrated=True)], ["cuda:0"]),  # amd
        ([gpu(Vendor.INTEL)], ["xpu:0"]),  # intel
        ([gpu(Vendor.APPLE)], ["mps"]),  # apple
    ):
        monkeypatch.setattr(topic, "read_hardware", lambda *_, gpus=gpus: Hardware(tuple(gpus)))
        assert [device.name for device in topic.find_devices()] == [*names, "cpu"]


def test_an_amd_card_reports_its_memory_temperature_and_power(tmp_path: Path) -> None:
    node, device = tmp_path / "class/kfd/kfd/topology/nodes/1", tmp_path / "class/drm/renderD129/device"
    files = {
        node / "properties": "gfx_target_version 110000\ndrm_render_minor 129\n",
        device / "mem_info_vram_total": str(24 << 30),
        device / "mem_info_vram_used": str(4 << 30),
        device / "hwmon/hwmon3/temp1_input": "61000",
        device / "hwmon/hwmon3/power1_average": "180000000",
    }
    for path, said in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(said)
    (found,) = hardware.read_hardware(tmp_path).gpus
    assert (found.target, found.memory_bytes, found.free_bytes) == ("gfx1100", 24 << 30, 20 << 30)
    assert (found.temperature_c, found.power_w) == (61.0, 180.0)


async def test_the_best_device_and_a_missing_environment_are_told(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topic, "read_hardware", lambda *_: Hardware((gpu(Vendor.INTEL),)))
    found = await ask(machine.DEVICES)
    assert (found.best, found.has_engine) == ("xpu:0", True)
    monkeypatch.setattr(store, "find_spec", lambda _: None)
    assert not (await ask(machine.DEVICES)).has_engine


# --- log-in ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def units(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether the user's unit is enabled, in place of systemd; a real one is asked in tests/system."""
    enabled = [False]
    monkeypatch.setattr(systemd, "is_enabled", lambda **_: enabled[0])
    monkeypatch.setattr(systemd, "enable", lambda **_: enabled.__setitem__(0, True))
    monkeypatch.setattr(systemd, "program", lambda name: Path(f"/opt/100% $mine/{name}"))
    return enabled


async def test_the_app_and_the_daemon_start_at_log_in_only_when_chosen(
    ask: Ask, units: list[bool], environment: dict[str, str]
) -> None:
    before = await ask(machine.LOGIN)
    assert (before.app, before.daemon) == (False, False)
    after = await ask(machine.SET_LOGIN, LoginParams(app=True))
    assert (after.app, after.daemon) == (True, False)
    entry = login.entry_path(environment).read_text()
    assert 'Exec="/opt/100%% \\$mine/potluck-app"\n' in entry
    after = await ask(machine.SET_LOGIN, LoginParams(app=False, daemon=True))
    assert (after.app, after.daemon) == (False, True)
    assert not login.entry_path(environment).exists()


async def test_what_cannot_be_switched_says_why(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object, **__: object) -> bool:
        raise PotluckError("this machine has no systemctl")

    for name in ("is_enabled", "enable", "program"):
        monkeypatch.setattr(systemd, name, missing)
    now = await ask(machine.LOGIN)
    assert "no systemctl" in str(now.daemon_problem)
    assert "not installed" in str(now.app_problem)
    for params in (LoginParams(daemon=True), LoginParams(app=True)):
        with pytest.raises(ControlError):
            await ask(machine.SET_LOGIN, params)


async def test_findings_come_one_check_after_the_other(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    second, go_on = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    def wait(_: object) -> None:
        loop.call_soon_threadsafe(second.set)
        asyncio.run_coroutine_threadsafe(go_on.wait(), loop).result(60)

    fine = (Severity.OK, verbatim("fine"))
    one, two = (Finding(verbatim(question), *fine) for question in ("One?", "Two?"))
    made = ((one.check, lambda _: None, lambda *_: fine), (two.check, wait, lambda *_: fine))
    monkeypatch.setattr(checks, "CHECKS", made)
    assert await ask(health.FINDINGS) == health.Examination()
    assert (await ask(health.EXAMINE)).is_running
    await second.wait()
    now = await ask(health.EXAMINE)  # one that runs is not begun anew
    assert (now.findings, now.num_checks, now.is_running) == ((one,), 2, True)
    go_on.set()
    done = await ask_until(ask, health.FINDINGS, lambda now: not now.is_running)
    assert done.findings == (one, two)


async def test_the_bundle_is_private_and_overwrites_nothing(
    ask: Ask, daemon: Daemon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checks, "CHECKS", ())
    path = tmp_path / "bundle.zip"
    done = await ask(health.EXPORT, health.BundleParams(str(path)))
    assert path.stat().st_mode & 0o777 == 0o600
    with zipfile.ZipFile(path) as file:
        assert tuple(file.namelist()) == done.parts
        assert "status.json" in done.parts
    with pytest.raises(ControlError, match="already"):
        await ask(health.EXPORT, health.BundleParams(str(path)))
    with pytest.raises(ControlError, match="cannot use"):
        await ask(health.EXPORT, health.BundleParams(str(tmp_path / "none" / "bundle.zip")))


async def test_a_topic_that_fails_in_its_turn_does_not_take_that_of_the_others(
    daemon: Daemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns: list[str] = []

    def fail(self: Topic, now: float) -> None:
        raise OSError("no room")

    monkeypatch.setattr(Topic, "tick", fail)
    monkeypatch.setattr(UpdatesTopic, "tick", lambda self, now: turns.append("updates"))
    with pytest.raises(OSError, match="no room"):
        await daemon._tick()
    assert turns == ["updates"]
