"""Reads NVIDIA's management library at most once a second, for all probes that need it.

Calls may take long (while a GPU wakes up) or never return, so only one reading runs at a time. A driver that fails has
no GPU; those that the kernel counts still count. The library is loaded only where there is one. What a driver leaves
out is absent here: in WSL and in containers the list of processes is empty, and with MIG there is no use by process.
Process ids are the host's.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import logging
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from potluck.errors import PotluckError
from potluck.sentences import NOTHING, Sentence, sentence
from potluck.tasks import in_own_thread, start_task
from potluck_daemon.presence.probe import ProbeFailedError, ProbeUnavailableError

MAX_AGE_S, NO_DRIVER_S = 1.0, 30.0
READ_TIMEOUT_S = 10.0
_LIBRARY = "libnvidia-ml.so.1"

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class NvidiaGpu:
    """The readings of one GPU."""

    pci: str  # "0000:01:00.0"
    name: str
    total_bytes: int = 0  # the size of its memory; 0: unknown
    free_bytes: int = 0
    temperature_c: float | None = None
    power_w: float | None = None
    capability: tuple[int, int] | None = None  # the version of its instruction set; None: unknown, or not asked for
    use_percent: Mapping[int, float] = field(default_factory=dict)  # pid -> of the GPU since the last reading


class NvmlReader:
    """The readings of all GPUs, shared by those who need them.

    Attributes:
        driver: its version; empty: none has answered a reading for set-up.
        problem: why no driver starts, which is normal on a machine without such a GPU.
        failure: why the driver does not answer at present; empty if it does, or if there is none.
    """

    driver = problem = ""
    failure = NOTHING

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._gpus: tuple[NvidiaGpu, ...] = ()
        self._next_at = -math.inf
        self._reading: asyncio.Task[None] | None = None  # None: none runs
        self._logged = NOTHING  # the last failure, until a reading succeeds
        self._nvml: Any = None
        self._last_sample: dict[int, int] = {}  # GPU -> time stamp of the newest sample of use, in its own us

    async def gpus(self) -> tuple[NvidiaGpu, ...]:
        """Return the latest reading; empty without a driver that answers. A driver that hangs delays only one call."""
        if self._reading is None and self._clock() >= self._next_at:
            self._gpus, self.failure = (), NOTHING
            self._reading = start_task(self._renew())
        if self._reading is not None and not self.failure:
            _, late = await asyncio.wait({self._reading}, timeout=READ_TIMEOUT_S)
            if late:
                self._fail(sentence("the NVIDIA driver does not answer"))
        return self._gpus

    def lacking(self, what: Sentence) -> PotluckError:
        """Return the error for a probe that lacks `what`: the driver's failure if there is one."""
        return ProbeFailedError(self.failure) if self.failure else ProbeUnavailableError(what)

    async def _renew(self) -> None:
        try:
            self._gpus = await in_own_thread(self.read)
            self.failure = self._logged = NOTHING
        except ProbeFailedError as error:
            self._fail(error.sentence)
        finally:
            self._next_at = self._clock() + (MAX_AGE_S if self._nvml is not None else NO_DRIVER_S)
            self._reading = None

    def _fail(self, why: Sentence) -> None:
        """Keep a failure, and log it if it is new: probes that have other sources say nothing about it."""
        self.failure = why
        if why != self._logged:
            self._logged = why
            log.warning("%s", why)

    def read(self, *, for_setup: bool = False) -> tuple[NvidiaGpu, ...]:
        """Read now, which blocks. Empty without a driver that starts. Raises ProbeFailedError.

        Args:
            for_setup: ask for the driver's version and compute capabilities, too, which no probe needs.
        """
        if self._nvml is None:
            self._nvml, self.problem = _load()
        nvml = self._nvml
        if nvml is None:
            return ()
        try:
            if for_setup:
                self.driver = str(self._query(nvml.nvmlSystemGetDriverVersion) or "")
            return tuple(self._gpu(index, for_setup) for index in range(nvml.nvmlDeviceGetCount()))
        except Exception as error:  # a GPU fell off the bus, the driver was updated, or what nobody documents
            self.close()  # the next reading opens it anew
            raise ProbeFailedError(sentence("the NVIDIA driver says: {why}", why=str(error))) from error

    def close(self) -> None:
        """Close the driver; the next reading opens it again."""
        nvml, self._nvml = self._nvml, None
        if nvml is not None:
            with contextlib.suppress(nvml.NVMLError):
                nvml.nvmlShutdown()

    def _gpu(self, index: int, for_setup: bool) -> NvidiaGpu:
        nvml = self._nvml
        handle = nvml.nvmlDeviceGetHandleByIndex(index)
        memory = self._query(nvml.nvmlDeviceGetMemoryInfo, handle)
        power_mw = self._query(nvml.nvmlDeviceGetPowerUsage, handle)
        return NvidiaGpu(
            pci=pci_address(nvml.nvmlDeviceGetPciInfo(handle).busId),
            name=self._query(nvml.nvmlDeviceGetName, handle) or f"GPU {index}",
            total_bytes=int(memory.total) if memory is not None else 0,
            free_bytes=int(memory.free) if memory is not None else 0,
            temperature_c=self._query(nvml.nvmlDeviceGetTemperature, handle, nvml.NVML_TEMPERATURE_GPU),
            power_w=power_mw / 1000 if power_mw is not None else None,
            capability=self._query(nvml.nvmlDeviceGetCudaComputeCapability, handle) if for_setup else None,
            use_percent=self._use(index, handle),
        )

    def _use(self, index: int, handle: Any) -> dict[int, float]:
        """Return the use by process since the last reading; the driver samples six times a second."""
        since = self._last_sample.get(index, 0)
        samples = self._query(self._nvml.nvmlDeviceGetProcessUtilization, handle, since) or ()
        shares: dict[int, list[float]] = {}
        for sample in samples:
            shares.setdefault(sample.pid, []).append(float(sample.smUtil))
            self._last_sample[index] = max(self._last_sample.get(index, 0), sample.timeStamp)
        return {pid: sum(values) / len(values) for pid, values in shares.items()}

    def _query(self, query: Callable[..., Any], *arguments: Any) -> Any:
        """Return the answer, or None where this driver or GPU has none. A lost GPU is an error."""
        try:
            return query(*arguments)
        except self._nvml.NVMLError as error:
            if error.value in (self._nvml.NVML_ERROR_GPU_IS_LOST, self._nvml.NVML_ERROR_UNINITIALIZED):
                raise
            return None


def pci_address(bus_id: str) -> str:
    """Return the address as the kernel writes it: in lower case, with four digits for the domain."""
    domain, _, rest = bus_id.lower().partition(":")
    return f"{domain[-4:].rjust(4, '0')}:{rest}"


def _load() -> tuple[Any, str]:
    """Return the library, ready; None and the reason without a driver that starts."""
    try:
        ctypes.CDLL(_LIBRARY)
    except OSError as error:
        return None, str(error)
    import pynvml  # 3 MB of memory: only where there is a driver

    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        return None, str(error)
    return pynvml, ""
