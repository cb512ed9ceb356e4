"""Probes where Python says that this is a Mac: what only Linux has is missing, nothing fails."""

import json
import os
import subprocess
import sys
from pathlib import Path

from helpers import made_mac

LOOK = """
import asyncio, dataclasses, json, sys
from helpers.made_mac import become_mac
become_mac()
from pathlib import Path
from potluck_daemon.presence.agents import AgentReports
from potluck_daemon.presence.lookout import probes_for
from potluck_daemon.presence.nvml import NvmlReader
from potluck_daemon.presence.probe import Surroundings
from potluck_daemon.presence.watch import Watch
from potluck_control.settings import Settings

usual, nothing = Settings(), Path(sys.argv[1])
settings = dataclasses.replace(
    usual,
    when=dataclasses.replace(usual.when, only_when_idle=True),
    yield_=dataclasses.replace(usual.yield_, always=("blender",)),
    limits=dataclasses.replace(usual.limits, gpu_power_w=100),
)

async def main():
    told = asyncio.Event()
    probes, off = probes_for(settings, Surroundings(nothing, nothing, {"HOME": "/"}), AgentReports(), NvmlReader())
    watch = Watch(probes, told.set, likely_interval_s=1.0)
    watch.set_awake(True)
    everywhere = ("Agents", "Memory")
    while any(status.state == "watching" and status.name.text not in everywhere for status in watch.statuses()):
        told.clear()
        await told.wait()
    print(json.dumps({"off": off, "states": {status.name.text: status.state for status in watch.statuses()}}))
    await watch.close()

asyncio.run(main())
"""


def environment(home: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "DBUS_"))}
    return kept | {"HOME": str(home), "PYTHONPATH": str(Path(made_mac.__file__).parents[1])}


def test_every_source_of_evidence_that_a_mac_lacks_is_shown_as_missing_and_none_fails(tmp_path: Path) -> None:
    command = [sys.executable, "-c", LOOK, str(tmp_path / "nothing")]
    done = subprocess.run(command, env=environment(tmp_path), capture_output=True, text=True, timeout=250, check=True)
    found = json.loads(done.stdout)
    assert found["off"] == []
    assert {found["states"].pop(name) for name in ("Agents", "Memory")} == {"watching"}
    assert set(found["states"].values()) == {"unavailable"}
    assert len(found["states"]) > 15
