"""`machine.*`, `login.*`, `doctor.*` and `diag.export` of the control API."""

from __future__ import annotations

import asyncio
import contextlib
import platform
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from msgspec import structs
from potluck_control.api.method import Empty
from potluck_control.methods import health, machine
from potluck_control.methods.machine import Device

from potluck.allowance import memory
from potluck_daemon.environment.hardware import Gpu, Vendor, read_hardware
from potluck_daemon.environment.store import has_torch
from potluck_daemon.host import login
from potluck_daemon.parts import Parts
from potluck_daemon.presence.sensors import read_temperatures
from potluck_daemon.topics.topic import Topic, answers

_KINDS = {Vendor.NVIDIA: "cuda", Vendor.AMD: "cuda", Vendor.INTEL: "xpu", Vendor.APPLE: "mps"}  # torch's names


class MachineTopic(Topic):
    """This computer: its devices, what starts at log-in, and what the doctor finds.

    The doctor's checks are imported on demand, to keep the daemon small.
    """

    def __init__(self, parts: Parts) -> None:
        super().__init__(parts)
        self._examination = health.Examination()

    @answers(machine.DEVICES)
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

    @answers(health.EXAMINE)
    async def _examine(self, _: Empty) -> health.Examination:
        """Begin an examination, unless one runs already."""
        if not self._examination.is_running:
            from potluck_daemon.doctor.checks import CHECKS

            self._examination = health.Examination(num_checks=len(CHECKS), is_running=True, at=time.time())
            self.tasks.start(self._examine_each())
        return self._examination

    @answers(health.FINDINGS)
    async def _findings(self, _: Empty) -> health.Examination:
        return self._examination

    async def _examine_each(self) -> None:
        from potluck_daemon.doctor.checks import examine, read_scene

        try:
            findings = examine(await asyncio.to_thread(read_scene, self._configuration.places, self._parts.status()))
            while (finding := await asyncio.to_thread(next, findings, None)) is not None:
                now = self._examination
                self._examination = structs.replace(now, findings=(*now.findings, finding))
        finally:
            self._examination = structs.replace(self._examination, is_running=False)

    @answers(health.EXPORT)
    async def _export(self, params: health.BundleParams) -> health.Bundle:
        from potluck_daemon.doctor.bundle import create_bundle, fill_bundle, words_of_person
        from potluck_daemon.doctor.checks import read_scene

        def write() -> health.Bundle:
            handle = create_bundle(path, replaces=False)
            return fill_bundle(handle, path, read_scene(self._configuration.places, status), words_of_person())

        status, path = self._parts.status(), Path(params.path)
        return await asyncio.to_thread(write)


def find_devices(sysfs: Path = Path("/sys")) -> Iterator[Device]:
    """Yield the GPUs, named as torch names them, and the processor. Blocks."""
    numbers: Counter[str] = Counter()
    for gpu in read_hardware().gpus:
        if not gpu.is_integrated:
            name, free = _name(gpu, numbers), gpu.free_bytes
            yield Device(name, gpu.name, gpu.memory_bytes, free, gpu.temperature_c, gpu.power_w)
    ram = memory()
    heat = max((celsius for kind, _, _, celsius in read_temperatures(sysfs) if kind == "cpu"), default=None)
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
