"""What a Mac tells of its user and its battery, from answers as its own programs give them."""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
from helpers.probe_reports import watching
from potluck_control.states import Reason
from potluck_daemon.presence import idle
from potluck_daemon.presence.idle import IdleProbe, mac_idle, mac_idle_s
from potluck_daemon.presence.probe import Probe, ProbeFailedError, ProbeUnavailableError, Sighting, Surroundings
from potluck_daemon.presence.sensors import BatteryProbe

from potluck.sentences import verbatim

PROBE = IdleProbe(verbatim("macOS"), mac_idle, 300)
SAID = """\
+-o IOHIDSystem  <class IOHIDSystem, id 0x100000523, registered, matched, active, busy 0 (0 ms), retain 22>
    {
      "HIDIdleTime" = {idle}
      "HIDParameters" = {"HIDClickTime"=500000000,"HIDIdleTimeOld"=1}
    }
"""


@pytest.fixture
def ioreg(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Puts a script in the place of Apple's program."""
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")

    def write(script: str) -> None:
        (tmp_path / "ioreg").write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / "ioreg").chmod(0o755)

    return write


async def first_report(probe: Probe) -> tuple[Sighting, ...]:
    async with watching(probe) as reports:
        return await reports.next()


async def test_who_touches_nothing_for_long_is_away(ioreg: Callable[[str], None]) -> None:
    for idle_ns, reason in ((2_000_000_000, Reason.USER_ACTIVE), (700_000_000_000, Reason.AWAY)):
        ioreg(f"cat <<END\n{SAID.replace('{idle}', str(idle_ns))}END")
        (seen,) = await first_report(PROBE)
        assert seen.reason is reason


def test_the_shortest_time_counts_and_without_any_it_is_not_known() -> None:
    assert mac_idle_s(b'"HIDIdleTime" = 5000000000\n"HIDIdleTime" = 1500000000\n') == 1.5
    with pytest.raises(ProbeUnavailableError):
        mac_idle_s(b"")


async def test_where_there_is_no_ioreg_idle_time_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(ProbeUnavailableError, match="no ioreg"):
        await first_report(PROBE)


async def test_an_ioreg_that_hangs_is_ended_and_told(
    ioreg: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(idle, "IOREG_TIMEOUT_S", 0.05)
    ioreg("exec sleep 600")
    with pytest.raises(ProbeFailedError):
        await first_report(PROBE)


async def test_a_mac_on_its_battery_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for battery, reasons in (
        (SimpleNamespace(power_plugged=True), []),  # plugged in
        (SimpleNamespace(power_plugged=False), [Reason.BATTERY]),  # not
        (None, None),  # none
    ):
        monkeypatch.setattr(sys, "platform", "darwin")
        monkeypatch.setattr(psutil, "sensors_battery", lambda battery=battery: battery)
        probe = BatteryProbe(Surroundings(tmp_path, tmp_path, {}))
        if reasons is None:
            with pytest.raises(ProbeUnavailableError, match="no battery"):
                await first_report(probe)
        else:
            assert [sighting.reason for sighting in await first_report(probe)] == reasons
