"""Sends calls from rank 0 to the other ranks, in order, over a pipe each.

Messages are pickled, because both ends are this program and the pipe is private between a process and its own child.
Tensors travel as bytes: torch's own pickling of one takes as long as a hop.
"""

from __future__ import annotations

import pickle
import socket
import struct
from collections import deque
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor

Call = tuple[str, tuple[Any, ...]]
"""A call that all ranks make: the name of a method of `Mirror` and its arguments."""


@dataclass(frozen=True, slots=True)
class _Packed:
    """A tensor in a message."""

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
        self._posted: deque[Call] = deque()

    def add(self, pipe: socket.socket, *, timeout_s: int) -> None:
        """Add a rank and take over the socket to it. A message fails if the rank reads nothing for `timeout_s`."""
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
    """A rank's end of its pipe: the calls of rank 0, one after the other."""

    def __init__(self, pipe: socket.socket) -> None:
        self._pipe = Connection(pipe.detach())
        self._waiting: deque[Call] = deque()

    def next(self) -> Call:
        """Wait for the next call. Raises EOFError when rank 0 is gone."""
        if not self._waiting:
            self._waiting.extend(pickle.loads(self._pipe.recv_bytes()))
        name, args = self._waiting.popleft()
        return name, tuple(arg.tensor() if isinstance(arg, _Packed) else arg for arg in args)
