"""Notices when weights in memory change, as damaged memory makes them. It says so, and decides nothing.

Weights never change while they are served. So each parameter is added up when it is first seen, and again from time to
time, on the device that holds it. Any single flipped bit changes the sum.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from functools import partial

from torch import nn

from potluck.checkpoint.output_head import checksum
from potluck_engine.compute.failures import DeviceWatch

_SHARE = 0.002  # of one core, or of the device: a gigabyte in a few minutes
_PAUSE_S = 1.0


class MemoryWatch:
    """The resident weights of one module at a time.

    Attributes:
        pause_s: until the next `look`.
    """

    def __init__(self, device: DeviceWatch) -> None:
        self.pause_s = _PAUSE_S
        self._device = device
        self._module: nn.Module | None = None
        self._sums: dict[str, tuple[int, int]] = {}  # address and sum, by the parameter's name
        self._round: Iterator[tuple[str, nn.Parameter]] = iter(())

    async def look(self, module: nn.Module) -> str:
        """Check the next parameter. Return its name if it changed; empty: all is well. Raises DeviceLostError."""
        if module is not self._module:
            self._module, self._sums, self._round = module, {}, iter(())
        name, parameter = next(self._round, ("", None))
        self.pause_s = _PAUSE_S
        if parameter is None:
            self._round = module.named_parameters()
            return ""
        begin = time.monotonic()
        weights = parameter.detach()
        now = weights.data_ptr(), await asyncio.to_thread(self._device.run, partial(checksum, weights))
        self.pause_s = max((time.monotonic() - begin) * (1.0 / _SHARE - 1.0), _PAUSE_S)
        before = self._sums.get(name, now)
        self._sums[name] = now
        return name if weights.numel() and before[0] == now[0] and before[1] != now[1] else ""
