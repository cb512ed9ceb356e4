"""Judges errors of a computation: what its caller hears, and whether the GPU can go on."""

from __future__ import annotations

import logging
from collections.abc import Callable

import torch

from potluck.blocks.accelerators import synchronize
from potluck.errors import CheckpointError, PotluckError
from potluck.protocol.codes import Code, RemoteError

log = logging.getLogger(__name__)

IsLost = Callable[[Exception], bool]
"""Returns whether after this error the device can compute nothing any more in this process."""


def never_lost(_: Exception) -> bool:
    return False


class DeviceWatch:
    """Tells `on_lost` once, with the error, when an error has made a GPU unusable for this process.

    After an illegal access or a fault of the driver, each call of a CUDA context fails until the process ends.
    """

    def __init__(self, device: torch.device, on_lost: Callable[[Exception], None]) -> None:
        self._device = device
        self._on_lost = on_lost
        self._has_told = False

    def is_lost(self, error: Exception) -> bool:
        if isinstance(error, PotluckError) or is_out_of_memory(error):
            return False
        try:
            synchronize(self._device)
        except Exception:  # the context returns the first error, of whatever class, for ever
            if not self._has_told:
                self._has_told = True
                log.error("the GPU is lost to this process", exc_info=error)
                self._on_lost(error)
            return True
        return False


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
