"""What rank 0 tells the other ranks: calls, in order, down a pipe each; their tensors lie in memory that all share.

Pickled, because both ends are this program and the pipe is private between a process and its own child. The tensors of
a message may be overwritten by those of the next one: receivers have copied them before, and a message with tensors is
only sent after the ranks met in the work of the one before.
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
    """One call that all ranks make: the name of a method, and its arguments."""

    name: str
    args: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class _InShared:
    """Stands for a tensor in the shared memory."""

    offset: int
    shape: tuple[int, ...]
    dtype: torch.dtype


class SharedMemory:
    """A memory file that grows; each end maps it anew when it did. Gone with the last process that has it open."""

    def __init__(self, handle: int | None = None) -> None:
        self.handle = os.memfd_create("ranks") if handle is None else handle
        self._bytes = torch.empty(0, dtype=torch.uint8)

    def of(self, num_bytes: int) -> Tensor:
        """At least so many bytes, as uint8."""
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
    """Rank 0's end. Calls that ask for nothing at once are posted and travel with the next one that is sent."""

    def __init__(self, memory: SharedMemory) -> None:
        self._pipes: list[Connection] = []
        self._memory = memory
        self._posted: deque[RankCall] = deque()

    def add(self, pipe: socket.socket) -> None:
        """One more rank; it takes the socket over."""
        self._pipes.append(Connection(pipe.detach()))

    def post(self, name: str, *args: Any) -> None:
        """From any thread; without tensors."""
        self._posted.append(RankCall(name, args))

    def send(self, name: str, *args: Any) -> None:
        """From one thread at a time. Raises OSError if a rank is gone."""
        calls = [self._posted.popleft() for _ in range(len(self._posted))]
        message = pickle.dumps([*calls, RankCall(name, self._share(args))], protocol=pickle.HIGHEST_PROTOCOL)
        for pipe in self._pipes:
            pipe.send_bytes(message)

    def close(self) -> None:
        """The ranks read the end and leave. Idempotent."""
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
    """The other end: the calls, one after the other, until rank 0 is gone."""

    def __init__(self, pipe: socket.socket, memory: SharedMemory) -> None:
        self._pipe = Connection(pipe.detach())
        self._memory = memory
        self._waiting: deque[RankCall] = deque()

    def next(self) -> RankCall:
        """Raises EOFError at the end."""
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
