"""Finds this machine's devices, and has their speeds measured by a process that imports torch and then ends."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import platform
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import psutil
from potluck_control.codec import CodecError, from_json, loads
from potluck_control.methods.machine import Device, Machine, SpeedProgress

from potluck.tasks import cancel_and_wait
from potluck_daemon.child import started
from potluck_daemon.environment.machine import ask_nvidia

log = logging.getLogger(__name__)

TIMEOUT_S = 180.0  # importing torch from a cold disk, then some seconds a device


class Measuring:
    """The devices of this machine: `machine` returns what is known, `start` measures their speeds."""

    def __init__(self) -> None:
        self._known: dict[str, Device] = {}
        self._machine = Machine((), "")
        self._task: asyncio.Task[None] | None = None

    def restore(self, known: tuple[Device, ...], measured_at: float) -> None:
        """Go on from the speeds that an earlier daemon measured."""
        self._known = {device.name: device for device in known}
        self._machine = replace(self._machine, measured_at=measured_at)

    @property
    def known(self) -> tuple[Device, ...]:
        """The devices with measured speeds, which should be remembered."""
        return tuple(self._known.values())

    @property
    def measured_at(self) -> float:
        return self._machine.measured_at

    async def machine(self) -> Machine:
        """Return the present devices with their measured speeds."""
        found = await asyncio.to_thread(find_devices)
        names = {device.name for device in found}
        others = [device for device in self._known.values() if device.name not in names and device.name != "cpu"]
        devices = tuple(_with_speed(device, self._known.get(device.name)) for device in (*found, *others))
        best = next((item.name for item in devices if item.name != "cpu" and not item.problem), "cpu")
        return replace(self._machine, devices=devices, best=best)

    def start(self, python: str, environment: Mapping[str, str]) -> None:
        """Begin to measure, unless a measurement is running."""
        if self._task is None or self._task.done():
            self._machine = replace(self._machine, progress=0.0, step="Starting", problem="")
            self._task = asyncio.create_task(self._measure(python, environment))

    async def close(self) -> None:
        await cancel_and_wait(self._task)

    async def _measure(self, python: str, environment: Mapping[str, str]) -> None:
        problem = ""
        try:
            problem = await self._listen(python, environment)
        except OSError as error:
            problem = f"cannot run {python}: {error.strerror}"
        except TimeoutError:
            problem = "measuring took too long"
        except CodecError as error:
            problem = f"the measurement cannot be read: {error}"
        finally:
            at = self._machine.measured_at if problem else time.time()
            self._machine = replace(self._machine, progress=None, step="", problem=problem, measured_at=at)

    async def _listen(self, python: str, environment: Mapping[str, str]) -> str:
        """Follow the measurement and return why it failed; empty if it succeeded."""
        command = (python, "-m", "potluck_engine.speeds")
        async with asyncio.timeout(TIMEOUT_S), started(command, environment) as child:
            while line := await child.line():
                told = from_json(SpeedProgress, loads(line))
                self._machine = replace(self._machine, progress=told.progress, step=told.step)
                if told.device is not None:
                    self._known[told.device.name] = told.device
            code = await child.wait()
            return "" if code == 0 else f"measuring failed: {await child.last_words() or 'no reason'}"


def find_devices() -> tuple[Device, ...]:
    """Find the processor and NVIDIA's GPUs without torch; blocks. Measuring finds GPUs of other makers."""
    memory = psutil.virtual_memory()
    return (*_nvidia(), Device("cpu", _processor(), int(memory.total), int(memory.available)))


def _with_speed(device: Device, known: Device | None) -> Device:
    if known is None:
        return device
    speeds = {"memory_gb_s": known.memory_gb_s, "compute_tflops": known.compute_tflops, "dtype": known.dtype}
    return replace(device, problem=known.problem, **speeds)  # type: ignore[arg-type]


def _nvidia() -> list[Device]:
    asked = ask_nvidia()
    if asked.problem:
        log.debug("cannot list GPUs: %s", asked.problem)
    return [Device(f"cuda:{index}", gpu.name, gpu.memory_bytes, gpu.free_bytes) for index, gpu in enumerate(asked.gpus)]


def _processor() -> str:
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
