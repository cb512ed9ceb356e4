"""Runs a model's ends, the parts before and after its blocks, for tokens of one or several texts.

The family's own forward runs for tokens that are packed into one row, each at its own position, with `JointCache` in
the place of the blocks. A trial finds out whether a family's ends compute each token for itself.

The output head may run at this computer's engine, on a device that this process never touches (`NearHead`).
"""

from __future__ import annotations

import contextlib
import logging
import math
import socket
import threading
import time
from collections.abc import Callable, Sequence
from functools import cached_property
from inspect import signature
from pathlib import Path
from typing import Any, TypeVar

import torch
from msgspec import Struct
from torch import Tensor, nn
from transformers import Cache

from potluck.checkpoint.ends import weight_checksum
from potluck.protocol.codec import CodecError, decode
from potluck.protocol.local_messages import (
    LENGTH_BYTES,
    MAX_ROWS,
    VERSION,
    GatewayHead,
    HeadRefusal,
    HeadRows,
    Ready,
    framed,
    length_of,
)

T = TypeVar("T", bound=Struct)

_log = logging.getLogger(__name__)

_ASK_AGAIN_S = 10.0
_LOAD_S = 120.0  # time for the engine to read the head from a slow disk
_PATIENCE = 4.0  # times the own head's time: a piece of a prompt may run at the engine
_LEAST_S = 0.1  # shortest wait; less would take a busy processor for an engine that is gone
_TOKENS, _POSITIONS = (1, 2, 1), (3, 0, 2)  # the trial's tokens and positions; every model has them
_TOLERANCE = 1e-2  # tolerance of the trial's logits in bfloat16, where only the order of sums differs


class JointCache(Cache):  # type: ignore[misc]
    """Stands for the caches of all texts in a packed row. `step` takes the place of the blocks.

    Args:
        step: returns the last block's outputs for inputs [1, tokens, hidden_size]; None: the inputs, for a trial.
    """

    def __init__(self, length: int = 0, step: Callable[[Tensor], Tensor] | None = None) -> None:
        super().__init__(layers=[])
        self._length = length
        self.step = step or (lambda hidden: hidden)

    def get_seq_length(self, layer_idx: int = 0) -> int:
        return self._length

    def get_max_length(self, layer_idx: int | None = None) -> int:
        return -1

    def get_mask_sizes(self, query_length: int, layer_idx: int) -> tuple[int, int]:
        return self._length + query_length, 0

    def has_previous_state(self, layer_idx: int | None = None, state_idx: int | None = None) -> bool:
        return True

    @property
    def is_initialized(self) -> bool:
        return True


class _Entered(BaseException):
    """Raised in place of the blocks to end a forward there."""


class Ends:
    """The two ends of one model. Any thread may use them."""

    def __init__(self, model: Any, decoder: nn.Module, cache_name: str) -> None:
        self._model = model
        self._cache_name = cache_name
        self._takes_positions = "position_ids" in signature(decoder.forward).parameters

    def through(self, tokens: Sequence[int], positions: Sequence[int], step: Callable[[Tensor], Tensor]) -> Tensor:
        """Return the logits [1, tokens, vocabulary], with `step` in the place of the blocks."""
        return self._logits(tokens, positions, JointCache(step=step))

    def enter(self, tokens: Sequence[int], positions: Sequence[int]) -> Tensor:
        """Return the first block's inputs [1, tokens, hidden_size]."""
        entered: list[Tensor] = []

        def step(hidden: Tensor) -> Tensor:
            entered.append(hidden)
            raise _Entered

        with contextlib.suppress(_Entered):
            self.through(tokens, positions, step)
        return entered[0]

    def leave(self, tokens: Sequence[int], positions: Sequence[int], outputs: Tensor) -> Tensor:
        """Return the logits [1, tokens, vocabulary] of the last block's outputs [1, tokens, hidden_size]."""
        return self.through(tokens, positions, lambda hidden: outputs.to(hidden.device))

    @cached_property
    def packs(self) -> bool:
        """Tell whether packed tokens have the same logits as each token alone, with blocks that do nothing."""
        try:
            packed = self._logits(_TOKENS, _POSITIONS, JointCache())
            alone = [self._logits([token], [at], JointCache(at)) for token, at in zip(_TOKENS, _POSITIONS, strict=True)]
        except Exception as error:  # a family's code may raise anything; its texts are then decoded one by one
            _log.debug("tokens of several texts can't share a step: %s", type(error).__name__)
            return False
        expected = torch.cat(alone, dim=1)
        difference = (packed - expected).float().norm() / expected.float().norm()
        return bool(difference < _TOLERANCE)

    def _logits(self, tokens: Sequence[int], positions: Sequence[int], cache: JointCache) -> Tensor:
        device = self._model.device
        given: dict[str, Any] = {self._cache_name: cache, "use_cache": True, "return_dict": True}
        if self._takes_positions:
            given["position_ids"] = torch.tensor([positions], device=device)
        logits: Tensor = self._model(input_ids=torch.tensor([tokens], device=device), **given).logits
        return logits


class NearHead:
    """Computes a model's output head at this computer's engine while that has it, for any number of threads.

        apart -> asking: a call, some seconds after the last try; calls go on with the model's own head meanwhile
        asking -> near: the engine has the same head on its device
        asking, near -> apart: anything else, such as a game that takes the device

    A call whose answer does not come in time, or is none, is repeated by the own head; the wait lasts a few times as
    long as the own head takes. Calls that need gradients have the own head.

    Attributes:
        num_near, num_own: calls that the engine and the own head answered.
    """

    def __init__(self, head: nn.Linear, path: Path, swarm: str, *, again_s: float = _ASK_AGAIN_S) -> None:
        """Replace the forward of `head`. `path`: the engine's socket. `swarm`: the prefix of the swarm's names."""
        self.num_near = self.num_own = 0
        self._head, self._own = head, head.forward
        self._path, self._swarm, self._again_s = path, swarm, again_s
        self._own_s = 0.0  # time of the own head; another thread may get an answer before it is known
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
            self._leave("it is closed")

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
        """Return the engine's logits; None if it gives none."""
        vocabulary, numbers = self._head.weight.shape[0], hidden.detach().reshape(-1).view(torch.uint8)
        with self._lock:
            engine = self._engine
            if engine is None:
                return None
            until = time.monotonic() + max(_PATIENCE * self._own_s, _LEAST_S)
            try:
                engine.settimeout(until - time.monotonic())
                engine.sendall(framed(HeadRows(rows)))
                engine.sendall(numbers.numpy().data)
                if _message(engine, HeadRows, until).rows != rows:
                    raise CodecError("logits of other rows")
                data = _read(engine, rows * vocabulary * hidden.element_size(), until)
            except (OSError, CodecError) as error:
                self._leave(str(error) or type(error).__name__)
                return None
        self.num_near += 1
        return torch.frombuffer(data, dtype=hidden.dtype).view(*hidden.shape[:-1], vocabulary)

    def _ask(self) -> None:
        """Begin to connect to the engine, unless that was tried a moment ago."""
        with self._lock:
            now = time.monotonic()
            if now < self._ask_at or not self._path.exists():
                return
            self._ask_at = now + _LOAD_S + self._again_s  # no second attempt during this one
        threading.Thread(target=self._connect, daemon=True).start()

    def _connect(self) -> None:
        weight, until = self._head.weight, time.monotonic() + _LOAD_S
        shape, dtype = (weight.shape[0], weight.shape[1]), str(weight.dtype).removeprefix("torch.")
        engine = socket.socket(socket.AF_UNIX)
        try:
            engine.settimeout(_LOAD_S)
            engine.connect(str(self._path))
            if self._checksum is None:
                self._checksum = weight_checksum(weight.detach())
            engine.sendall(framed(GatewayHead(VERSION, self._swarm, dtype, shape, self._checksum)))
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
        _log.info("this computer's engine computes the head")

    def _leave(self, reason: str) -> None:
        """Drop the connection, and try again later. The caller holds the lock."""
        if self._engine is not None:
            self._engine.close()
        self._engine = None
        if self._ask_at != math.inf:
            self._ask_at = time.monotonic() + self._again_s
        if reason != self._reason:
            _log.info("the head runs on the processor: %s", reason)
        self._reason = reason


def _message(engine: socket.socket, kind: type[T], until: float) -> T:
    """Return the next message. Raises CodecError if it is another one, and OSError."""
    data = bytes(_read(engine, length_of(bytes(_read(engine, LENGTH_BYTES, until))), until))
    message: T | HeadRefusal = decode(kind | HeadRefusal, data)  # type: ignore[arg-type]
    if isinstance(message, HeadRefusal):
        raise CodecError(message.reason)
    return message


def _read(engine: socket.socket, count: int, until: float) -> bytearray:
    """Return `count` bytes. Raises OSError if they don't come by `until`, a monotonic time."""
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
