"""Starts, directs, watches and ends the processes that hold a span on several devices. Rank 0 is the engine itself.

    start:  a process for each further device, each with a pipe
    work:   `together` sends the other ranks a call that rank 0 makes
    lost:   a rank ended, or an exchange failed or took too long: all ranks are killed, `wait_lost` returns, and later
            calls are refused; the engine ends, and its successor starts others

Calls go from rank 0 to the other ranks in order, over one pipe each. Messages are pickled, because both ends are this
program and the pipe is private between a process and its own child. Tensors travel as bytes, because torch's own
pickling of one takes as long as a hop.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import os
import pickle
import signal
import socket
import struct
import sys
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import torch
from numpy.typing import NDArray
from potluck_control.processes.launch_spec import LaunchSpec
from potluck_control.processes.python_command import python_command
from torch import Tensor

from potluck.blocks.span.block_span import BlockSpan
from potluck.blocks.span.ranks import Ranks, abort_ranks, join_ranks, leave_ranks
from potluck.checkpoint.source import Checkpoint
from potluck.errors import PotluckError, UsageError
from potluck.protocol.blocks import Span
from potluck.protocol.codes import Code, RemoteError
from potluck_engine.weights.loading import load_blocks

RankCall = tuple[str, tuple[Any, ...]]
"""A call that all ranks make: the name of a method of `Mirror` and its arguments."""

MEETING_TIMEOUT_S = 1800.0  # imports, and weights from a slow disk, until all ranks have loaded
EXCHANGE_TIMEOUT_S = 60.0  # bounds every exchange after that; ranks that work are milliseconds apart
_END_TIMEOUT_S = 2.0


@dataclass(frozen=True, slots=True)
class _Packed:
    """A tensor as bytes in a message."""

    data: NDArray[Any]
    dtype: torch.dtype
    shape: tuple[int, ...]

    @classmethod
    def of(cls, tensor: Tensor) -> _Packed:
        flat = tensor.detach().cpu().reshape(-1)
        return cls(flat.view(torch.uint8).numpy(), tensor.dtype, tuple(tensor.shape))

    def tensor(self) -> Tensor:
        return torch.from_numpy(self.data).view(self.dtype).view(self.shape)


class Mailbox:
    """Rank 0's end of the pipes. Posted calls travel with the next call that is sent."""

    def __init__(self) -> None:
        self._pipes: list[Connection] = []
        self._posted: deque[RankCall] = deque()

    def add(self, pipe: socket.socket, *, timeout_s: int) -> None:
        """Add a rank, whose socket the mailbox owns from now on. Sending fails if it reads nothing for `timeout_s`."""
        pipe.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("@ll", timeout_s, 0))
        self._pipes.append(Connection(pipe.detach()))

    def post(self, name: str, *args: Any) -> None:
        """Queue a call without tensors; any thread may do so."""
        self._posted.append((name, args))

    def send(self, name: str, *args: Any) -> None:
        """Send a call and all posted ones, from one thread at a time. Raises OSError if a rank is gone or hangs."""
        calls = [self._posted.popleft() for _ in range(len(self._posted))]
        packed = tuple(_Packed.of(arg) if isinstance(arg, Tensor) else arg for arg in args)
        message = pickle.dumps([*calls, (name, packed)], protocol=pickle.HIGHEST_PROTOCOL)
        for pipe in self._pipes:
            pipe.send_bytes(message)

    def close(self) -> None:
        """Close the pipes, which ends the ranks. Idempotent."""
        for pipe in self._pipes:
            pipe.close()
        self._pipes = []


class RankInbox:
    """A rank's end of its pipe, from which it gets the calls of rank 0 in order."""

    def __init__(self, pipe: socket.socket) -> None:
        self._pipe = Connection(pipe.detach())
        self._waiting: deque[RankCall] = deque()

    def next(self) -> RankCall:
        """Wait for the next call. Raises EOFError when rank 0 is gone."""
        if not self._waiting:
            self._waiting.extend(pickle.loads(self._pipe.recv_bytes()))
        name, args = self._waiting.popleft()
        return name, tuple(arg.tensor() if isinstance(arg, _Packed) else arg for arg in args)


log = logging.getLogger(__name__)

_numbers = itertools.count()


class RankProcesses:
    """The processes of one engine's further devices. Call `load` and `together` outside the event loop's thread."""

    def __init__(self, config: LaunchSpec) -> None:
        self._config = config
        self._meeting: Path | None = None  # the last group's meeting file; None before the first group
        self._processes: list[asyncio.subprocess.Process] = []
        self._mailbox = Mailbox()
        self._group: Ranks | None = None
        self._is_lost = False
        self._lock = threading.Lock()  # one exchange at a time, because steps and calls have threads of their own

    @classmethod
    async def start(cls, config: LaunchSpec) -> RankProcesses:
        """Start a process for each device but the first.

        Call it on a thread that lives as long as this process, because the kernel ends the ranks with that thread.

        Raises:
            PotluckError: they cannot be started; UsageError for a device that is not there.
        """
        _refuse_missing(config.serve.devices)
        config.runtime_dir.mkdir(parents=True, exist_ok=True)
        ranks = cls(config)
        try:
            for rank in range(1, len(config.serve.devices)):
                await ranks._start_one(rank)
        except OSError as error:
            await ranks.close()
            device = config.serve.devices[rank]
            raise PotluckError(f"a process for {device} cannot be started: {error.strerror}") from error
        ranks._mailbox.send("config", config)
        return ranks

    @property
    def size(self) -> int:
        """The number of ranks, including this one."""
        return len(self._config.serve.devices)

    @property
    def pids(self) -> tuple[int, ...]:
        """The process ids of the other ranks, rank 1 first."""
        return tuple(process.pid for process in self._processes)

    def load(self, checkpoint: Checkpoint, span: Span) -> BlockSpan:
        """Load the span on all ranks and return rank 0's part. Blocks. Raises PotluckError, as `loading.load`."""
        config, size = self._config, self.size
        self._meeting = meeting = config.runtime_dir / f"ranks-{os.getpid()}-{next(_numbers)}"
        with self.together("load", span, meeting):
            self._group = join_ranks(0, size, device=config.serve.device, meeting=meeting, timeout_s=MEETING_TIMEOUT_S)
            blocks = load_blocks(checkpoint, span, config, self._group)
            self._group.expect_within(EXCHANGE_TIMEOUT_S)
        return blocks

    def free(self) -> None:
        """Have all ranks free their parts and leave the group, whose buffers are on the devices.

        Raises RemoteError, as `together`; ranks that were lost have freed everything.
        """
        if self._group is None:
            return
        with self.together("free"):
            self._group.agree(True)
            self._group = None
            leave_ranks()

    @contextmanager
    def together(self, name: str, *args: Any) -> Iterator[None]:
        """Have the other ranks make this call (see `mirror.py`) while the body does the same here.

        Raises:
            RemoteError: DRAINING if a rank is lost. Any error of the body ends the ranks, which would wait for ever.
        """
        if self._is_lost:
            raise _lost()
        try:
            with self._lock:
                self._mailbox.send(name, *args)
                yield
        except PotluckError:
            self._lose()
            raise
        except Exception as error:
            log.warning("an exchange between devices failed: %s", str(error).partition("\n")[0])
            self._lose()
            raise _lost() from error

    def post(self, name: str, *args: Any) -> None:
        """Queue a call without tensors, which the other ranks make before the next one. Any thread may call it."""
        self._mailbox.post(name, *args)

    async def wait_lost(self) -> None:
        """Wait until a rank has ended, or all were killed because an exchange failed."""
        watching = [asyncio.create_task(process.wait()) for process in self._processes]
        try:
            await asyncio.wait(watching, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in watching:
                task.cancel()
        self._lose()
        if self._group is not None:
            await asyncio.to_thread(abort_ranks, self._group)  # otherwise rank 0 would wait for ever

    async def close(self) -> None:
        """End the other ranks and leave their group. Nothing may compute any more. Idempotent."""
        self._is_lost = True
        self._mailbox.close()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_END_TIMEOUT_S):
                await asyncio.gather(*(process.wait() for process in self._processes))
        self._kill()
        await asyncio.gather(*(process.wait() for process in self._processes))
        await asyncio.to_thread(leave_ranks)
        if self._meeting is not None:
            self._meeting.unlink(missing_ok=True)

    async def _start_one(self, rank: int) -> None:
        ours, theirs = socket.socketpair()
        try:
            process = await asyncio.create_subprocess_exec(
                *python_command(sys.executable, "-m", "potluck_engine.ranks.rank"),
                *(str(number) for number in (rank, theirs.fileno(), os.getpid())),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
            )
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        self._mailbox.add(ours, timeout_s=int(EXCHANGE_TIMEOUT_S))
        self._processes.append(process)

    def _lose(self) -> None:
        self._is_lost = True
        self._kill()

    def _kill(self) -> None:
        for process in self._processes:
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process.pid, signal.SIGKILL)


def _lost() -> RemoteError:
    return RemoteError(Code.DRAINING, "a device of this server failed")


def _refuse_missing(devices: Sequence[str]) -> None:
    """Raise UsageError for missing devices. They are not used for that, which would take memory in this process."""
    count = torch.cuda.device_count() if any(device.startswith("cuda") for device in devices) else 0
    for device in devices:
        if device.startswith("cuda") and int(device.partition(":")[2]) >= count:
            raise UsageError(f"there is no device {device}", hint=f"CUDA devices of this machine: {count}")
