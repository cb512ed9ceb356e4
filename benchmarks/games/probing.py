"""What watching costs: `probe_cpu`, the share of a core that the daemon takes while it serves with all probes on.

The daemon has a desktop, gamemoded, logind and a driver to look at. Its own work beside the probes (reports of the
engine, chores) is part of the number, so the number is an upper bound. No machine without a GPU has DRM counters, so
that probe is measured by itself, on a folder like /proc with as many processes and descriptors as a desktop has, and
added.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from potluck_control.api import schema
from potluck_control.states import State
from potluck_daemon.presence.gpu_use import INTERVAL_S, DrmUse
from potluck_daemon.presence.processes import ProcessTable

from benchmarks.figures import Measured, figure
from benchmarks.setup.machine import cpu_seconds_of
from tests.helpers.bus_services import Login, Logind
from tests.helpers.daemon_process import LOOPBACK, DaemonProcess
from tests.helpers.desktop import desktop
from tests.helpers.games import gamemoded
from tests.helpers.made_processes import MadeProcesses
from tests.helpers.nvml_stub import nvidia_driver

_SETTLE_S = 10.0
_DESKTOP = (143, 3441)  # processes and descriptors of a desktop
_GPU_PROGRAMS = 12
_SETTINGS = (
    LOOPBACK + '[yield]\nalways = ["some-game", "Other.exe"]\n[limits]\ngpu_power_w = 200\n[when]\nidle_after_s = 30\n'
)


@figure("probe_cpu", unit="%", reach=0.5, shown=True)
def cpu(soak: bool) -> Measured:
    """Share of a core that the daemon takes while it serves with all probes on."""
    seconds = 600.0 if soak else 60.0
    daemon_percent, probes = asyncio.run(_daemon_percent(seconds))
    drm_percent = _drm_percent()
    detail = {"over_s": seconds, "daemon": round(daemon_percent, 3), "drm": round(drm_percent, 3), "probes": probes}
    return Measured(daemon_percent + drm_percent, detail)


async def _daemon_percent(seconds: float) -> tuple[float, dict[str, str]]:
    with ExitStack() as stack:
        screen = stack.enter_context(desktop(window_manager=True))
        stack.enter_context(gamemoded(screen))
        driver = stack.enter_context(nvidia_driver())
        driver.say("gpu 0 NVIDIA A", f"memory 0 {16 << 30} {8 << 30}", "celsius 0 60", "milliwatts 0 90000")
        environment = screen.environment | driver.environment | {"DBUS_SYSTEM_BUS_ADDRESS": screen.bus_address}
        async with Logind(screen.bus_address) as logind:
            assert isinstance(logind, Logind)
            logind.login("c1", Login(kind="x11"))
            with DaemonProcess(_SETTINGS, environment=environment) as daemon:
                await asyncio.to_thread(daemon.client.call, schema.CREATE)
                await asyncio.to_thread(daemon.wait_state, State.SERVING)
                await asyncio.sleep(_SETTLE_S)
                used_s, began = cpu_seconds_of(daemon.pid), time.monotonic()
                await asyncio.sleep(seconds)
                percent = 100 * (cpu_seconds_of(daemon.pid) - used_s) / (time.monotonic() - began)
                status = await asyncio.to_thread(daemon.status)
            logind.close_pipes()
    return percent, {str(probe.name): probe.state for probe in status.probes}


def _drm_percent() -> float:
    with _desktop_processes() as made:
        programs, use = ProcessTable(made.surroundings).refresh(), DrmUse(made.proc)
        use.measure(programs)
        rounds = 20
        began = time.process_time()
        for _ in range(rounds):
            use.measure(programs)
        return 100 * (time.process_time() - began) / rounds / INTERVAL_S


@contextmanager
def _desktop_processes() -> Iterator[MadeProcesses]:
    num_processes, num_handles = _DESKTOP
    with tempfile.TemporaryDirectory() as folder:
        made = MadeProcesses(Path(folder))
        for pid in range(100, 100 + num_processes):
            made.add(pid, f"program {pid}", f"/usr/bin/program-{pid}")
            fd = made.proc / str(pid) / "fd"
            fd.mkdir()
            for handle in range(num_handles // num_processes):
                (fd / str(handle)).symlink_to(f"socket:[{handle}]")
        for pid in range(100, 100 + _GPU_PROGRAMS):
            for handle in range(100, 103):
                made.open_gpu(pid, handle, pid, engine_gfx="12345 ns")
        yield made
