"""Computes a model's output head on the device of this computer's engine, as long as that has it for us.

    apart -> asking: a call, some seconds after the last try; calls go on with the model's own head meanwhile
    asking -> near: the engine has the same head on its device
    asking, near -> apart: whatever else happens, such as a game that takes the device

This process never touches the device. An answer that doesn't come in time, or isn't one, costs the call that waited
for it the time of the own head, and no more than some times that. Calls that need gradients have the own head.
"""

from __future__ import annotations

import logging
import math
import socket
import threading
import time
from pathlib import Path
from typing import TypeVar

import torch
from msgspec import Struct
from torch import Tensor, nn

from potluck.checkpoint.output_head import checksum
from potluck.protocol.codec import CodecError, decode
from potluck.protocol.near_head import LENGTH_BYTES, MAX_ROWS, VERSION, Hello, Ready, Refused, Rows, framed, length_of

T = TypeVar("T", bound=Struct)

log = logging.getLogger(__name__)

_ASK_AGAIN_S = 10.0
_LOAD_S = 120.0  # for the engine to read the head from a slow disk
_PATIENCE = 4.0  # times what the own head took: a piece of a prompt may run at the engine
_LEAST_S = 0.1  # below that, a processor that is busy counts as an engine that is gone


class NearHead:
    """Stands in front of one model's head from when it is made, for any number of threads.

    Attributes:
        num_near, num_own: calls that the engine answered, and those that the own head did.
    """

    def __init__(self, head: nn.Linear, path: Path, swarm: str, *, again_s: float = _ASK_AGAIN_S) -> None:
        """`path`: of the engine's socket. `swarm`: the prefix of its names."""
        self.num_near = self.num_own = 0
        self._head, self._own = head, head.forward
        self._path, self._swarm, self._again_s = path, swarm, again_s
        self._own_s = 0.0  # what the own head took; another thread may get an answer before that is known
        self._checksum: int | None = None  # computed once: a second for a gigabyte, and some engines refuse for ever
        self._ask_at = 0.0  # monotonic
        self._engine: socket.socket | None = None
        self._reason = ""  # why it was apart last
        self._lock = threading.Lock()  # held to use or exchange the connection
        head.forward = self._forward  # type: ignore[method-assign, assignment]

    def close(self) -> None:
        """Compute with the own head from now on."""
        self._ask_at = math.inf
        with self._lock:
            self._leave("it is over")

    def _forward(self, hidden: Tensor) -> Tensor:
        """Return the logits [..., vocabulary] of hidden states [..., hidden_size]."""
        rows, weight = hidden.numel() // hidden.shape[-1], self._head.weight
        learns = torch.is_grad_enabled() and (hidden.requires_grad or weight.requires_grad)
        is_for_engine = 0 < rows <= MAX_ROWS and hidden.dtype is weight.dtype and not learns
        if is_for_engine:
            if self._engine is None:
                self._ask()
            elif (logits := self._near(hidden, rows)) is not None:
                return logits
        begin = time.monotonic()
        logits = self._own(hidden)
        if is_for_engine:
            self._own_s = time.monotonic() - begin  # others take much longer
        self.num_own += 1
        return logits

    def _near(self, hidden: Tensor, rows: int) -> Tensor | None:
        """Return the engine's logits; None if it has none to give."""
        vocabulary, numbers = self._head.weight.shape[0], hidden.detach().reshape(-1).view(torch.uint8)
        with self._lock:
            engine = self._engine
            if engine is None:
                return None
            until = time.monotonic() + max(_PATIENCE * self._own_s, _LEAST_S)
            try:
                engine.settimeout(until - time.monotonic())
                engine.sendall(framed(Rows(rows)))
                engine.sendall(numbers.numpy().data)
                if _message(engine, Rows, until).rows != rows:
                    raise CodecError("logits of other rows")
                data = _read(engine, rows * vocabulary * hidden.element_size(), until)
            except (OSError, CodecError) as error:
                self._leave(str(error) or type(error).__name__)
                return None
        self.num_near += 1
        return torch.frombuffer(data, dtype=hidden.dtype).view(*hidden.shape[:-1], vocabulary)

    def _ask(self) -> None:
        """Begin to ask the engine, unless that was tried a moment ago."""
        with self._lock:
            now = time.monotonic()
            if now < self._ask_at or not self._path.exists():
                return
            self._ask_at = now + _LOAD_S + self._again_s  # while it is asked
        threading.Thread(target=self._connect, daemon=True).start()

    def _connect(self) -> None:
        weight, until = self._head.weight, time.monotonic() + _LOAD_S
        shape, dtype = (weight.shape[0], weight.shape[1]), str(weight.dtype).removeprefix("torch.")
        engine = socket.socket(socket.AF_UNIX)
        try:
            engine.settimeout(_LOAD_S)
            engine.connect(str(self._path))
            if self._checksum is None:
                self._checksum = checksum(weight.detach())
            engine.sendall(framed(Hello(VERSION, self._swarm, dtype, shape, self._checksum)))
            _message(engine, Ready, until)
        except (OSError, CodecError) as error:
            engine.close()
            with self._lock:
                self._leave(str(error) or type(error).__name__)
            return
        with self._lock:
            if self._ask_at == math.inf:  # closed meanwhile
                engine.close()
                return
            self._engine, self._reason = engine, ""
        log.info("this computer's engine computes the head")

    def _leave(self, reason: str) -> None:
        """Be apart, and ask again later. The lock is held."""
        if self._engine is not None:
            self._engine.close()
        self._engine = None
        if self._ask_at != math.inf:
            self._ask_at = time.monotonic() + self._again_s
        if reason != self._reason:
            log.info("the head runs on the processor: %s", reason)
        self._reason = reason


def _message(engine: socket.socket, kind: type[T], until: float) -> T:
    """Return the next message. Raises CodecError if it is another one, and OSError."""
    data = bytes(_read(engine, length_of(bytes(_read(engine, LENGTH_BYTES, until))), until))
    message: T | Refused = decode(kind | Refused, data)  # type: ignore[arg-type]
    if isinstance(message, Refused):
        raise CodecError(message.reason)
    return message


def _read(engine: socket.socket, count: int, until: float) -> bytearray:
    """Return `count` bytes. Raises OSError if they don't come until then, monotonic."""
    data = bytearray(count)
    view = memoryview(data)
    while view:
        engine.settimeout(max(until - time.monotonic(), 1e-3))
        received = engine.recv_into(view)
        if not received:
            raise ConnectionError("the engine has left")
        view = view[received:]
        if time.monotonic() > until and view:
            raise TimeoutError("the engine takes too long")
    return data
