"""Sends calls from rank 0 to the other ranks, in order, over a pipe each; tensors travel in shared memory.

Messages are pickled, because both ends are this program and the pipe is private between a process and its own child.
The tensors of a message may overwrite those of the one before: receivers have copied them by then, because a message
with tensors is only sent after the ranks met in the work of the one before.
"""

from __future__ import annotations

import mmap
import os
import pickle
import socket
from collections import deque
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

import torch
from torch import Tensor

_FIRST_BYTES = 1 << 20
_ALIGN = 64


@dataclass(frozen=True, slots=True)
class RankCall:
    """A call that all ranks make: the name of a method and its arguments."""

    name: str
    args: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class _InShared:
    """Stands for a tensor in the shared memory."""

    offset: int
    shape: tuple[int, ...]
    dtype: torch.dtype


class SharedMemory:
    """A memory file that grows, and that each end maps anew then. It is gone with the last process that has it open."""

    def __init__(self, handle: int | None = None) -> None:
        self.handle = os.memfd_create("ranks") if handle is None else handle
        self._bytes = torch.empty(0, dtype=torch.uint8)

    def of(self, num_bytes: int) -> Tensor:
        """Return at least so many bytes, as uint8."""
        if num_bytes > len(self._bytes):
            size = max(num_bytes, 2 * len(self._bytes), _FIRST_BYTES)
            if os.fstat(self.handle).st_size < size:
                os.ftruncate(self.handle, size)
            self._bytes = torch.frombuffer(mmap.mmap(self.handle, size), dtype=torch.uint8)
        return self._bytes

    def close(self) -> None:
        self._bytes = torch.empty(0, dtype=torch.uint8)
        os.close(self.handle)


class Mailbox:
    """Rank 0's end of the pipes. Posted calls travel with the next call that is sent."""

    def __init__(self, memory: SharedMemory) -> None:
        self._pipes: list[Connection] = []
        self._memory = memory
        self._posted: deque[RankCall] = deque()

    def add(self, pipe: socket.socket) -> None:
        """Add a rank and take over the socket to it."""
        self._pipes.append(Connection(pipe.detach()))

    def post(self, name: str, *args: Any) -> None:
        """Queue a call without tensors; any thread may do so."""
        self._posted.append(RankCall(name, args))

    def send(self, name: str, *args: Any) -> None:
        """Send a call and all posted ones, from one thread at a time. Raises OSError if a rank is gone."""
        calls = [self._posted.popleft() for _ in range(len(self._posted))]
        message = pickle.dumps([*calls, RankCall(name, self._share(args))], protocol=pickle.HIGHEST_PROTOCOL)
        for pipe in self._pipes:
            pipe.send_bytes(message)

    def close(self) -> None:
        """Close the pipes, which ends the ranks. Idempotent."""
        for pipe in self._pipes:
            pipe.close()
        self._pipes = []

    def _share(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        places, end = [], 0
        for arg in args:
            if isinstance(arg, Tensor):
                places.append(_InShared(end, tuple(arg.shape), arg.dtype))
                end += -(-arg.nbytes // _ALIGN) * _ALIGN
            else:
                places.append(arg)
        shared = self._memory.of(end)
        for arg, place in zip(args, places, strict=True):
            if isinstance(place, _InShared):
                _view(shared, place).copy_(arg.detach())
        return tuple(places)


class RankInbox:
    """A rank's end of its pipe: the calls of rank 0, one after the other."""

    def __init__(self, pipe: socket.socket, memory: SharedMemory) -> None:
        self._pipe = Connection(pipe.detach())
        self._memory = memory
        self._waiting: deque[RankCall] = deque()

    def next(self) -> RankCall:
        """Wait for the next call. Raises EOFError when rank 0 is gone."""
        if not self._waiting:
            self._waiting.extend(pickle.loads(self._pipe.recv_bytes()))
        call = self._waiting.popleft()
        return RankCall(call.name, tuple(self._taken(arg) for arg in call.args))

    def _taken(self, arg: Any) -> Any:
        if not isinstance(arg, _InShared):
            return arg
        size = torch.Size(arg.shape).numel() * arg.dtype.itemsize
        return _view(self._memory.of(arg.offset + size), arg).clone()


def _view(shared: Tensor, place: _InShared) -> Tensor:
    size = torch.Size(place.shape).numel() * place.dtype.itemsize
    return shared[place.offset : place.offset + size].view(place.dtype).view(place.shape)
