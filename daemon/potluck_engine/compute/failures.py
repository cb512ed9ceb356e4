"""Judges errors of a computation: what its caller hears, and whether the GPU can go on.

Notices when weights in memory change, as damaged memory makes them. It says so, and decides nothing.

Weights never change while they are served. So each parameter is added up when it is first seen, and again from time to
time, on the device that holds it. Any single flipped bit changes the sum.

Notices when the files of the served blocks change on disk. It says so, and decides nothing.

Blocks compute with copies in memory, so a change cannot make them wrong; but they could not be loaded again. A file
whose identity changed is read again soon. Besides, all files are read in turn all the time, so slowly that nobody
notices, because a disk or a mapping can change bytes and leave no other sign.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

import torch
from torch import nn

from potluck.blocks.accelerators import is_lost
from potluck.checkpoint.ends import weight_checksum
from potluck.checkpoint.shards import BlockOrigin, FileIdentity
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
        now = weights.data_ptr(), await asyncio.to_thread(self._device.run, partial(weight_checksum, weights))
        self.pause_s = max((time.monotonic() - begin) * (1.0 / _SHARE - 1.0), _PAUSE_S)
        before = self._sums.get(name, now)
        self._sums[name] = now
        return name if weights.numel() and before[0] == now[0] and before[1] != now[1] else ""


INTERVAL_S = 1.0
_SOON_SHARE = 0.25  # of one core, to read files again that may have changed
_SLOW_SHARE = 0.002  # of one core, always: a gigabyte in five minutes


@dataclass(frozen=True, slots=True)
class _Verdict:
    """What was found when the files of a block looked like this; `problem` is empty if they are right."""

    identities: Mapping[Path, FileIdentity | None]
    problem: str = ""


class FileWatch:
    """The files of some blocks. Call `look` every `INTERVAL_S`; `look_slowly` never returns."""

    def __init__(self) -> None:
        self._verdicts: dict[BlockOrigin, _Verdict] = {}

    async def look(self, origins: Sequence[BlockOrigin]) -> str:
        """Return which files do not hold these blocks any more; empty: all do."""
        verdicts = {}
        for origin in origins:
            verdict = self._verdicts.get(origin) or _Verdict(origin.identities)
            now = origin.identities_now()
            if now != verdict.identities:
                verdict = _Verdict(now, await _problem_of(origin, _SOON_SHARE))
            verdicts[origin] = verdict
        self._verdicts = verdicts
        return next((verdict.problem for verdict in verdicts.values() if verdict.problem), "")

    async def look_slowly(self) -> None:
        """Read the files of the blocks that `look` last saw, one block after another, for ever."""
        while True:
            for origin, verdict in list(self._verdicts.items()):
                problem = await _problem_of(origin, _SLOW_SHARE)
                if problem != verdict.problem and self._verdicts.get(origin) is verdict:
                    self._verdicts[origin] = _Verdict(verdict.identities, problem)
            await asyncio.sleep(INTERVAL_S)


async def _problem_of(origin: BlockOrigin, share: float) -> str:
    """Read a block in this share of the time. Return the files' names if they do not hold it."""
    pieces = origin.verify()
    try:
        while True:
            begin = time.monotonic()
            if await asyncio.to_thread(_is_over, pieces):
                return ""
            await asyncio.sleep((time.monotonic() - begin) * (1.0 / share - 1.0))
    except CheckpointError:
        return origin.file_names


def _is_over(pieces: Iterator[None]) -> bool:
    return next(pieces, pieces) is pieces
