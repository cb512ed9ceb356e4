"""`machine.*` and `login.*` of the control API."""

from __future__ import annotations

import asyncio
import contextlib
import platform
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from potluck_control.method import Empty
from potluck_control.methods import machine
from potluck_control.methods.machine import Device

from potluck.allowance import memory
from potluck_daemon.environment.interpreter import has_torch
from potluck_daemon.environment.machine import Gpu, Vendor, look
from potluck_daemon.host import login
from potluck_daemon.presence.machine import sensors
from potluck_daemon.topics.topic import Topic, answers

_KINDS = {Vendor.NVIDIA: "cuda", Vendor.AMD: "cuda", Vendor.INTEL: "xpu", Vendor.APPLE: "mps"}  # torch's names


class MachineTopic(Topic):
    @answers(machine.GET)
    async def _get(self, _: Empty) -> machine.DeviceList:
        devices = await asyncio.to_thread(lambda: tuple(find_devices()))
        return machine.DeviceList(devices, devices[0].name, has_torch(self._configuration.engine_python))

    @answers(machine.LOGIN)
    async def _login(self, _: Empty) -> machine.LoginStart:
        configuration = self._configuration
        return await asyncio.to_thread(login.read_login, configuration.environment, configuration.places)

    @answers(machine.SET_LOGIN)
    async def _set_login(self, params: machine.LoginParams) -> machine.LoginStart:
        if params.app is not None:
            await asyncio.to_thread(login.set_app, self._configuration.environment, params.app)
        if params.daemon is not None:
            await asyncio.to_thread(login.set_daemon, self._configuration.places, params.daemon)
        return await self._login(Empty())


def find_devices(sysfs: Path = Path("/sys")) -> Iterator[Device]:
    """Yield the GPUs, named as torch names them, and the processor; blocks."""
    numbers: Counter[str] = Counter()
    for gpu in look().gpus:
        if not gpu.is_integrated:
            name, free = _name(gpu, numbers), gpu.free_bytes
            yield Device(name, gpu.name, gpu.memory_bytes, free, gpu.temperature_c, gpu.power_w)
    ram = memory()
    heat = max((celsius for kind, _, _, celsius in sensors(sysfs) if kind == "cpu"), default=None)
    yield Device("cpu", _processor(), ram.total, ram.available, heat)


def _name(gpu: Gpu, numbers: Counter[str]) -> str:
    kind = _KINDS[gpu.vendor]
    numbers[kind] += 1
    return kind if gpu.vendor is Vendor.APPLE else f"{kind}:{numbers[kind] - 1}"


def _processor() -> str:
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
