"""Judges errors of a computation: what its caller hears, and whether the GPU can go on."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable
from typing import TypeVar

import torch

from potluck.blocks.accelerators import is_lost
from potluck.errors import CheckpointError, PotluckError
from potluck.protocol.codes import Code, RemoteError

log = logging.getLogger(__name__)

T = TypeVar("T")


class DeviceLostError(PotluckError):
    """The GPU can compute nothing any more in this process."""

    def __init__(self, error: Exception) -> None:
        reason = str(error).strip().partition("\n")[0]
        super().__init__(f"the GPU failed: {reason}", hint="if it happens again, update its driver")


class DeviceWatch:
    """Tells `on_lost` once, when an error has made a GPU unusable for this process.

    Whatever uses the device outside a step does so through `run` or `free`, in any thread.

    Attributes:
        has_lost: a device of this engine is lost, or the process that computed with it.
    """

    def __init__(self, device: torch.device, on_lost: Callable[[DeviceLostError], None] = lambda _: None) -> None:
        self.has_lost = False
        self.kind = device.type
        self._device = device
        self._on_lost = on_lost

    def is_lost(self, error: Exception) -> bool:
        """Return whether the device can compute nothing any more after this error."""
        if isinstance(error, PotluckError) or is_out_of_memory(error) or not is_lost(self._device):
            return False
        if not self.has_lost:
            self.has_lost = True
            log.error("the GPU is lost to this process", exc_info=error)
            self._on_lost(DeviceLostError(error))
        return True

    def run(self, work: Callable[[], T]) -> T:
        """Return what `work` returns. Raises its errors, and DeviceLostError in place of one that lost the device."""
        try:
            return work()
        except Exception as error:
            if self.is_lost(error):
                raise DeviceLostError(error) from error
            raise

    def free(self, work: Callable[[], object]) -> None:
        """Call `work`, which frees memory of the device. If the device is lost, the end of the process frees it."""
        with contextlib.suppress(DeviceLostError):
            self.run(work)


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether memory ran out; torch's allocator for the CPU raises a plain RuntimeError."""
    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return True
    return isinstance(error, RuntimeError) and "allocate memory" in str(error)


def refusal_of(error: Exception, what: str) -> PotluckError:
    """Return the answer for `error`, which happened in `what`; log unforeseen errors once, with their trace."""
    if isinstance(error, CheckpointError):  # of weights that stream from files
        return RemoteError(Code.DRAINING, "the weights of this server changed on disk")
    if isinstance(error, PotluckError):
        return error
    if is_out_of_memory(error):
        log.warning("out of memory in %s: %s", what, str(error).splitlines()[0] if str(error) else "no details")
        return RemoteError(Code.NO_MEMORY, "out of memory")
    log.error("%s failed", what, exc_info=error)
    return RemoteError(Code.INTERNAL, "the computation failed")
