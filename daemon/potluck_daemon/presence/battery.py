"""Whether the computer runs on its battery: from UPower if it runs, else from /sys, on a Mac from psutil.

A laptop whose mains adapter is offline runs on battery. A desktop with a UPS behind USB doesn't, because UPower's
OnBattery is about the machine's own supply.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import psutil
from jeepney import DBusAddress
from potluck_control.states import Reason

from potluck.sentences import sentence
from potluck_daemon.presence.bus import Bus, bus, owner_rule, properties_rule
from potluck_daemon.presence.probe import ProbeUnavailableError, Report, Sighting, Situation, Surroundings

INTERVAL_S = 10.0
_NAME = "org.freedesktop.UPower"
_UPOWER = DBusAddress("/org/freedesktop/UPower", _NAME, _NAME)
_SEEN = (Sighting(Reason.BATTERY, sentence("the battery")),)


class BatteryProbe:
    """Certain evidence while the computer runs on its battery."""

    name = sentence("Battery")

    def __init__(self, surroundings: Surroundings) -> None:
        self._surroundings = surroundings

    async def watch(self, report: Report, situation: Situation) -> None:
        try:
            async with bus(self._surroundings.system_bus, "system") as system:
                await self._listen(system, report)
        except ProbeUnavailableError:
            await self._look(report)

    async def _listen(self, system: Bus, report: Report) -> None:
        async for _ in system.changes(properties_rule(_UPOWER), owner_rule(_NAME)):
            await system.require(_NAME, "UPower")
            report(_SEEN if await system.get(_UPOWER, "OnBattery") else ())

    async def _look(self, report: Report) -> None:
        folder = self._surroundings.sys / "class/power_supply"
        while True:
            is_seen = is_mac_on_battery() if sys.platform == "darwin" else is_on_battery(folder)
            report(_SEEN if is_seen else ())
            await asyncio.sleep(INTERVAL_S)


def is_on_battery(folder: Path) -> bool:
    """Return whether the kernel's list of power supplies says so. Raises ProbeUnavailableError without a battery."""
    kinds: dict[str, list[Path]] = {}
    for supply in sorted(folder.glob("*")):
        if _text(supply / "scope") != "Device":  # a mouse or another device with a battery of its own
            kinds.setdefault(_text(supply / "type"), []).append(supply)
    if "Battery" not in kinds:
        raise ProbeUnavailableError(sentence("no battery"))
    adapters = kinds.get("Mains", []) + kinds.get("USB", [])
    if adapters:
        return not any(_text(adapter / "online") == "1" for adapter in adapters)
    return any(_text(battery / "status") == "Discharging" for battery in kinds["Battery"])


def is_mac_on_battery() -> bool:
    """Raises ProbeUnavailableError without a battery."""
    battery = psutil.sensors_battery()
    if battery is None:
        raise ProbeUnavailableError(sentence("no battery"))
    return not battery.power_plugged


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""
