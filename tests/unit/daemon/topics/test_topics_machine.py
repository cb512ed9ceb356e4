"""Devices, their measuring, and what starts at log-in."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from helpers.own_daemon import Ask, own_daemon
from potluck_control.client import ControlError
from potluck_control.codec import dumps
from potluck_control.methods import machine, settings
from potluck_control.methods.machine import Device, LoginParams, SpeedProgress
from potluck_control.methods.settings import Change, SetParams
from potluck_control.places import Places
from potluck_daemon.daemon import Daemon
from potluck_daemon.environment import interpreter as interpreter_of_engine
from potluck_daemon.host import login, units
from potluck_daemon.metering import measuring

from potluck.errors import PotluckError

CPU = Device("cpu", "Good Processor", 8 << 30, 4 << 30)
GPU = Device("cuda:0", "Good GPU", 24 << 30, 20 << 30)


@pytest.fixture(autouse=True)
def _devices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measuring, "find_devices", lambda: (GPU, CPU))


def interpreter(folder: Path, *told: SpeedProgress, code: int = 0) -> str:
    """A program that says what a measuring process says."""
    lines = "\n".join(f"echo '{dumps(item).decode()}'" for item in told)
    path = folder / "python"
    path.write_text(f"#!/bin/sh\n{lines}\necho 'RuntimeError: no' >&2\nexit {code}\n")
    path.chmod(0o755)
    return str(path)


async def measured(ask: Ask) -> machine.Machine:
    async with asyncio.timeout(60):
        while (now := await ask(machine.GET)).progress is not None:
            pass
    return now


async def test_what_was_measured_is_told(ask: Ask, daemon: Daemon, tmp_path: Path) -> None:
    fast = Device("cuda:0", "x", 1, 1, memory_gb_s=900.0, compute_tflops=70.0, dtype="bfloat16")
    python = interpreter(tmp_path, SpeedProgress(0.5, "Measuring cuda:0"), SpeedProgress(1.0, "done", fast))
    await ask(settings.SET, SetParams((Change("serve.python", python),)))
    assert (await ask(machine.GET)).measured_at == 0
    assert (await ask(machine.MEASURE)).progress is not None
    now = await measured(ask)
    gpu, cpu = now.devices
    assert (gpu.title, gpu.memory_gb_s, gpu.compute_tflops, gpu.free_bytes) == ("Good GPU", 900.0, 70.0, 20 << 30)
    assert (cpu, now.best, now.problem) == (CPU, "cuda:0", "")
    assert now.measured_at > 0
    assert daemon.measuring.known == (fast,)


async def test_speeds_are_known_after_a_restart(places: Places, environment: dict[str, str]) -> None:
    async with own_daemon(places, environment) as daemon:
        daemon.measuring._known["cuda:0"] = Device("cuda:0", "x", 1, 1, memory_gb_s=900.0)
    async with own_daemon(places, environment) as again:
        assert (await again.measuring.machine()).devices[0].memory_gb_s == 900.0


async def test_a_measurement_that_fails_says_why_and_keeps_the_old_one(ask: Ask, tmp_path: Path) -> None:
    await ask(settings.SET, SetParams((Change("serve.python", interpreter(tmp_path, code=1)),)))
    await ask(machine.MEASURE)
    now = await measured(ask)
    assert "RuntimeError: no" in now.problem
    assert now.measured_at == 0
    await ask(settings.SET, SetParams((Change("serve.python", "/nowhere/python"),)))
    await ask(machine.MEASURE)
    assert "cannot run /nowhere/python" in (await measured(ask)).problem


async def test_without_an_environment_nothing_is_measured_and_that_is_told(
    ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (await ask(machine.GET)).has_engine
    monkeypatch.setattr(interpreter_of_engine, "find_spec", lambda _: None)
    assert not (await ask(machine.GET)).has_engine
    with pytest.raises(ControlError, match="environment is missing"):
        await ask(machine.MEASURE)
    assert (await ask(machine.GET)).progress is None


async def test_a_gpu_that_does_not_compute_is_not_the_best(daemon: Daemon) -> None:
    daemon.measuring._known["cuda:0"] = Device("cuda:0", "x", 1, 1, problem="no kernel image")
    found = await daemon.measuring.machine()
    assert (found.best, found.devices[0].problem) == ("cpu", "no kernel image")


# --- log-in ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def systemd(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether the user's unit is enabled, in place of systemd; a real one is asked in tests/system."""
    enabled = [False]
    monkeypatch.setattr(units, "starts_at_login", lambda: enabled[0])
    monkeypatch.setattr(units, "set_start_at_login", lambda is_wanted: enabled.__setitem__(0, is_wanted))
    monkeypatch.setattr(units, "program", lambda name: Path(f"/opt/100% $mine/{name}"))
    return enabled


async def test_the_app_and_the_daemon_start_at_log_in_only_when_chosen(
    ask: Ask, systemd: list[bool], environment: dict[str, str]
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


@pytest.mark.parametrize("line", ["Hidden=true", "X-GNOME-Autostart-enabled = false"])
async def test_an_entry_that_the_desktop_switched_off_is_off(
    ask: Ask, systemd: list[bool], environment: dict[str, str], line: str
) -> None:
    await ask(machine.SET_LOGIN, LoginParams(app=True))
    path = login.entry_path(environment)
    path.write_text(path.read_text().replace("X-GNOME-Autostart-enabled=true", line))
    assert not (await ask(machine.LOGIN)).app


async def test_an_entry_for_all_users_is_on_and_each_user_can_switch_it_off(
    ask: Ask, systemd: list[bool], environment: dict[str, str], tmp_path: Path
) -> None:
    environment["XDG_CONFIG_DIRS"] = str(tmp_path / "xdg")
    for_all = tmp_path / "xdg" / "autostart" / login.ENTRY
    for_all.parent.mkdir(parents=True)
    for_all.write_text("[Desktop Entry]\nExec=potluck-app\n")
    now = await ask(machine.LOGIN)
    assert (now.app, now.app_by) == (True, str(for_all))
    assert not (await ask(machine.SET_LOGIN, LoginParams(app=False))).app
    now = await ask(machine.SET_LOGIN, LoginParams(app=True))
    assert (now.app, now.app_by) == (True, str(for_all))
    for_all.unlink()
    now = await ask(machine.SET_LOGIN, LoginParams(app=False))
    assert (now.app, now.app_by) == (False, "")


async def test_who_has_the_daemon_started_is_told(
    ask: Ask, systemd: list[bool], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own, for_all, unit = tmp_path / "own", tmp_path / "all", tmp_path / units.UNIT
    unit.touch()
    monkeypatch.setattr(units, "_user_folder", lambda: own)
    monkeypatch.setattr(units, "_ALL_USERS", for_all)
    systemd[0] = True
    for folder, problem in ((for_all, "an administrator starts it for all users"), (own, "")):
        link = folder / "default.target.wants" / units.UNIT
        link.parent.mkdir(parents=True)
        link.symlink_to(unit)
        now = await ask(machine.LOGIN)
        assert (now.daemon, now.daemon_by, now.daemon_problem) == (True, str(link), problem)


async def test_what_cannot_be_switched_says_why(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object) -> bool:
        raise PotluckError("this machine has no systemd")

    monkeypatch.setattr(units, "starts_at_login", missing)
    monkeypatch.setattr(units, "set_start_at_login", missing)
    monkeypatch.setattr(units, "program", missing)
    now = await ask(machine.LOGIN)
    assert "no systemd" in now.daemon_problem
    assert "not installed" in now.app_problem
    for params in (LoginParams(daemon=True), LoginParams(app=True)):
        with pytest.raises(ControlError):
            await ask(machine.SET_LOGIN, params)


def test_a_real_processor_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    from potluck_engine import speeds

    monkeypatch.setattr(speeds, "_MEASURE_S", 0.01)
    cpu = speeds.measure("cpu")
    assert cpu.memory_gb_s > 0
    assert cpu.compute_tflops > 0
