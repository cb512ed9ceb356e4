"""A description of this installation to paste into a message: versions and devices, nothing that names the user."""

from __future__ import annotations

import platform
from importlib.metadata import version
from pathlib import Path

from potluck_control.schema import Status
from PySide6.QtCore import QSysInfo, qVersion
from PySide6.QtGui import QGuiApplication

from potluck_app.words import states


def describe(status: Status) -> str:
    """Describe the installation in English, for people who read many such reports."""
    swarm = status.swarm
    lines = {
        "Potluck": f"app {version('potluck')}, daemon {status.version}",
        "System": f"{QSysInfo.prettyProductName()}, {QSysInfo.kernelVersion()}, {QSysInfo.currentCpuArchitecture()}",
        "Python, Qt": f"{platform.python_version()}, {qVersion()} on {QGuiApplication.platformName()}",
        "State": f"{status.state}, {status.reason}: {status.text}",
        "Engine": f"{'running' if status.engine.pid else 'ended'}, restarts {status.engine.restarts}",
        "Last failure": status.engine.last_failure or "none",
        "Model": "none" if swarm is None else f"{swarm.model}, blocks {swarm.span} of {swarm.num_blocks}",
        "Memory": states.memory(status),
        "Watching": "; ".join(f"{probe.name}: {probe.state}" for probe in status.probes) or "not told",
        "Notices": "; ".join(map(str, status.notices)) or "none",
    }
    return "\n".join(f"{name}: {said}" for name, said in lines.items()).replace(str(Path.home()), "~")
