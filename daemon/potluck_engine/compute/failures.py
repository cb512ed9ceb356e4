"""What went wrong in a computation, as the one who waits for it is told."""

from __future__ import annotations

import logging

import torch

from potluck.errors import CheckpointError, PotluckError
from potluck.protocol.codes import Code, RemoteError

log = logging.getLogger(__name__)


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
