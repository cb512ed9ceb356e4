"""Notices what fails under an engine: the device, weights in memory, and the files that blocks were loaded from.

`DeviceWatch` and `refusal_of` judge the errors of computations: whether the device can go on, and what the caller gets.

`MemoryWatch` notices damaged memory. Weights never change while they are served, so each parameter is added up when it
is first seen, and again from time to time, on the device that holds it. Any single flipped bit changes the sum.

`FileWatch` notices files that changed on disk. Blocks compute with copies in memory, so a change cannot make them
wrong, but they could not be loaded again. A file whose identity changed is read again soon. All files are also read in
turn all the time, so slowly that nobody notices, because a disk can change bytes and leave no other sign.

The watches only report; the engine decides.
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
_SUMMING_SHARE = 0.002  # the share of a core's or the device's time: a gigabyte in a few minutes
_SUMMING_PAUSE_S = 1.0
FILE_CHECK_S = 1.0
_REREADING_SHARE = 0.25  # the share of a core's time for files that may have changed
_SLOW_SHARE = 0.002  # the share of a core's time for all files in turn: a gigabyte in five minutes


class DeviceLostError(PotluckError):
    """The GPU can compute nothing any more in this process."""

    def __init__(self, error: Exception) -> None:
        reason = str(error).strip().partition("\n")[0]
        super().__init__(f"the GPU failed: {reason}", hint="if it happens again, update its driver")


class DeviceWatch:
    """Calls `on_lost` once when an error has made a GPU unusable for this process.

    Everything that uses the device outside a step does so through `run` or `free`, in any thread.

    Attributes:
        has_lost: whether a device of this engine is lost, or a process that computed with one.
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
        """Return what `work` returns. Raises its errors, but DeviceLostError in place of one that lost the device."""
        try:
            return work()
        except Exception as error:
            if self.is_lost(error):
                raise DeviceLostError(error) from error
            raise

    def free(self, work: Callable[[], object]) -> None:
        """Call `work`, which frees memory of the device. The memory of a lost device is freed by the process's end."""
        with contextlib.suppress(DeviceLostError):
            self.run(work)


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether memory ran out; torch's allocator for the CPU raises a plain RuntimeError."""
    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return True
    return isinstance(error, RuntimeError) and "allocate memory" in str(error)


def refusal_of(error: Exception, what: str) -> PotluckError:
    """Return the error to answer with after `error` in `what`. Log an unforeseen one with its trace."""
    if isinstance(error, CheckpointError):  # raised by weights that stream from files
        return RemoteError(Code.DRAINING, "the weights of this server changed on disk")
    if isinstance(error, PotluckError):
        return error
    if is_out_of_memory(error):
        log.warning("out of memory in %s: %s", what, str(error).splitlines()[0] if str(error) else "no details")
        return RemoteError(Code.NO_MEMORY, "out of memory")
    log.error("%s failed", what, exc_info=error)
    return RemoteError(Code.INTERNAL, "the computation failed")


class MemoryWatch:
    """Watches the resident weights of one module at a time.

    Attributes:
        pause_s: how long to wait before the next check.
    """

    def __init__(self, device: DeviceWatch) -> None:
        self.pause_s = _SUMMING_PAUSE_S
        self._device = device
        self._module: nn.Module | None = None
        self._sums: dict[str, tuple[int, int]] = {}  # address and sum, by the parameter's name
        self._round: Iterator[tuple[str, nn.Parameter]] = iter(())

    async def check_next(self, module: nn.Module) -> str:
        """Check the next parameter. Return its name if it changed, and "" otherwise. Raises DeviceLostError."""
        if module is not self._module:
            self._module, self._sums, self._round = module, {}, iter(())
        name, parameter = next(self._round, ("", None))
        self.pause_s = _SUMMING_PAUSE_S
        if parameter is None:
            self._round = module.named_parameters()
            return ""
        begin = time.monotonic()
        weights = parameter.detach()
        now = weights.data_ptr(), await asyncio.to_thread(self._device.run, partial(weight_checksum, weights))
        self.pause_s = max((time.monotonic() - begin) * (1.0 / _SUMMING_SHARE - 1.0), _SUMMING_PAUSE_S)
        before = self._sums.get(name, now)
        self._sums[name] = now
        return name if weights.numel() and before[0] == now[0] and before[1] != now[1] else ""


@dataclass(frozen=True, slots=True)
class _Verdict:
    """The result of the last check of a block's files."""

    identities: Mapping[Path, FileIdentity | None]  # what the files looked like then
    problem: str = ""  # the names of wrong files; empty: all are right


class FileWatch:
    """Watches the files of some blocks. Call `check` every `FILE_CHECK_S`, and run `reread` beside it."""

    def __init__(self) -> None:
        self._verdicts: dict[BlockOrigin, _Verdict] = {}

    async def check(self, origins: Sequence[BlockOrigin]) -> str:
        """Return the names of files that do not hold these blocks any more; "" if all do."""
        verdicts = {}
        for origin in origins:
            verdict = self._verdicts.get(origin) or _Verdict(origin.identities)
            now = origin.identities_now()
            if now != verdict.identities:
                verdict = _Verdict(now, await _problem_of(origin, _REREADING_SHARE))
            verdicts[origin] = verdict
        self._verdicts = verdicts
        return next((verdict.problem for verdict in verdicts.values() if verdict.problem), "")

    async def reread(self) -> None:
        """Read the files of the blocks that were last checked, one block after another, for ever."""
        while True:
            for origin, verdict in list(self._verdicts.items()):
                problem = await _problem_of(origin, _SLOW_SHARE)
                if problem != verdict.problem and self._verdicts.get(origin) is verdict:
                    self._verdicts[origin] = _Verdict(verdict.identities, problem)
            await asyncio.sleep(FILE_CHECK_S)


async def _problem_of(origin: BlockOrigin, share: float) -> str:
    """Read a block during this share of the time. Return the files' names if they do not hold it."""
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
