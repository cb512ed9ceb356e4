"""Computes the model's output head on the device for this computer's own gateway, over a Unix socket of its user.

The head is loaded when a gateway has shown that it has the same one. Its memory counts: for a gateway that stays
(`LaunchSpec.keeps_head`) it is kept free, and otherwise the head uses what sessions have left, until the last gateway
leaves. A product runs between two steps in the thread that computes them, so that steps wait for one small product at
most. When the span goes, connections end and the head is freed. A gateway then uses its processor, and tries again
later.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

import torch
from msgspec import Struct
from potluck_control.processes.launch_spec import LaunchSpec
from torch import Tensor, nn

from potluck.blocks.accelerators import trim_memory
from potluck.checkpoint.ends import load_output_head, weight_checksum
from potluck.checkpoint.source import Checkpoint
from potluck.errors import PotluckError
from potluck.p2p.runtime_dir import require_private
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
from potluck.tasks import cancel_and_wait, in_own_thread, run_to_end
from potluck_engine.compute.failures import is_out_of_memory
from potluck_engine.serving.service import Service
from potluck_engine.weights.fitting import room_beside

T = TypeVar("T", bound=Struct)

log = logging.getLogger(__name__)

_MAX_CONNECTIONS = 8  # one for each model of a gateway
_MESSAGE_S = 5.0  # bounds the wait for the rest of a message


class HeadServer:
    """Serves the output head to gateways. Call `start` first, `close` last, and `forget` whenever the span goes."""

    def __init__(self, spec: LaunchSpec, served: Callable[[], Service | None], changing: asyncio.Lock) -> None:
        """Store what it works with.

        Args:
            served: returns the span in service.
            changing: the lock that is held while anything loads or frees weights.
        """
        self._spec = spec
        self._served = served
        self._changing = changing
        self._head: nn.Linear | None = None  # None while it is not on the device
        self._connections: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    async def start(self, checkpoint: Checkpoint, path: Path) -> None:
        """Listen for gateways. If that fails it is logged, and the engine serves without a head."""
        self._checkpoint = checkpoint
        try:
            self._server = await asyncio.start_unix_server(self._serve, sock=_bound(path))
        except (OSError, PotluckError) as error:
            log.warning("gateways compute the head on their processor: %s", error)

    async def forget(self) -> None:
        """End all connections and drop the head; the caller returns the memory to the device."""
        self._head = None
        await cancel_and_wait(*self._connections)

    async def close(self) -> None:
        """Stop listening and drop the head. Idempotent."""
        if self._server is not None:
            self._server.close()
        await self.forget()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one gateway, and free the head after the last one."""
        task = asyncio.current_task()
        assert task is not None
        if len(self._connections) >= _MAX_CONNECTIONS:
            writer.close()
            return
        self._connections.add(task)
        try:
            await self._answer(reader, writer)
        except asyncio.CancelledError:
            return  # `forget` did it; an error that is kept would keep the head
        finally:
            self._connections.discard(task)
            writer.close()
        if not self._connections and not self._spec.keeps_head:
            async with self._changing:
                await self._free()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one gateway until it leaves or breaks the protocol."""
        try:
            async with asyncio.timeout(_MESSAGE_S):
                hello = await _message(reader, GatewayHead)
            head = await self._admit(hello)
            writer.write(framed(Ready()))
            while True:
                rows = (await _message(reader, HeadRows)).rows
                if not 0 < rows <= MAX_ROWS:
                    raise CodecError(f"{rows} rows, not 1 to {MAX_ROWS}")
                async with asyncio.timeout(_MESSAGE_S):
                    data = await reader.readexactly(rows * head.in_features * head.weight.element_size())
                logits = await self._service.compute.run(partial(_product, head, data))
                writer.write(framed(HeadRows(rows)))
                writer.write(logits.view(torch.uint8).numpy().data)
                await writer.drain()
        except (PotluckError, CodecError) as error:
            log.info("a gateway is refused: %s", error)
            writer.write(framed(HeadRefusal(str(error))))
        except (OSError, TimeoutError, asyncio.IncompleteReadError):
            pass  # the gateway left, or fell silent in the middle of a message
        except Exception as error:  # a failure of the device: the gateway goes on with its processor
            log.warning("the head failed on the device", exc_info=not is_out_of_memory(error))
            writer.write(framed(HeadRefusal("it failed")))

    @property
    def _service(self) -> Service:
        """Return the span in service. Raises PotluckError while there is none."""
        service = self._served()
        if service is None or service.is_over or service.admission.leaving:
            raise PotluckError("the engine serves nothing now")
        return service

    async def _admit(self, hello: GatewayHead) -> nn.Linear:
        """Return the head, on the device. Raises PotluckError if the gateway has another one, or without room."""
        dtype = str(self._checkpoint.dtype).removeprefix("torch.")
        if (hello.version, hello.swarm, hello.dtype) != (VERSION, self._spec.swarm.prefix, dtype):
            raise PotluckError("the engine has another head")
        if self._head is None:
            await self._require_room(hello.shape[0] * hello.shape[1] * self._checkpoint.dtype.itemsize)
            # The lock is taken afterwards, so that an offload doesn't wait for the disk.
            loaded = await in_own_thread(partial(load_output_head, self._checkpoint))
            async with self._changing:
                if self._head is None:
                    self._head = await self._place(loaded)
        head, compute = self._head, self._service.compute
        total = await compute.run(lambda: weight_checksum(head.weight))
        if (tuple(head.weight.shape), total) != (hello.shape, hello.checksum):
            raise PotluckError("the engine has another head")
        return head

    async def _place(self, loaded: nn.Linear) -> nn.Linear:
        """Move a head to the device of the service, and return it. Raises PotluckError if it has no room."""
        service = self._service
        num_bytes = sum(parameter.nbytes for parameter in loaded.parameters())
        await self._require_room(num_bytes)
        to_device = partial(loaded.to, service.blocks.whole.device)
        head = await run_to_end(asyncio.to_thread(service.compute.device.run, to_device))
        log.info("the head is on the device for a gateway: %d MiB", num_bytes >> 20)
        return head

    async def _require_room(self, num_bytes: int) -> None:
        """Raise PotluckError if nothing is served, or if the device has no room for so many bytes."""
        service = self._service
        if self._spec.keeps_head:
            return
        room = await asyncio.to_thread(_room, service, self._spec)
        if num_bytes > room:
            raise PotluckError(f"a head of {num_bytes >> 20} MiB has no room in {room >> 20} MiB")

    async def _free(self) -> None:
        if not self._connections and self._head is not None:
            self._head = None
            device = torch.device(self._spec.serve.device)
            with contextlib.suppress(PotluckError):
                await self._service.compute.run(partial(trim_memory, device))
            log.info("no gateway uses the head any more")


def _bound(path: Path) -> socket.socket:
    """Bind a socket that only this user may use, in place of a dead engine's. Raises OSError and NetworkError."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    require_private(path.parent)
    path.unlink(missing_ok=True)
    made = socket.socket(socket.AF_UNIX)
    try:
        made.bind(str(path))
        path.chmod(0o600)
    except OSError:
        made.close()
        raise
    return made


def _room(service: Service, spec: LaunchSpec) -> int:
    """Return the bytes that a head may use although nothing was kept free for it."""
    limits = service.limits
    return room_beside(service.blocks.whole, spec, cache_tokens=limits.cache_tokens, max_blocks=service.max_blocks)


def _product(head: nn.Linear, data: bytes) -> Tensor:
    """Return the logits of hidden states, in RAM. Shapes: data [rows, hidden_size] as bytes -> [rows * vocabulary]."""
    with torch.inference_mode():
        hidden = torch.frombuffer(bytearray(data), dtype=head.weight.dtype).view(-1, head.in_features)
        logits: Tensor = head(hidden.to(head.weight.device))
        return logits.cpu().reshape(-1)


async def _message(reader: asyncio.StreamReader, kind: type[T]) -> T:
    """Return the next message. Raises CodecError if it is of another kind, and OSError."""
    length = length_of(await reader.readexactly(LENGTH_BYTES))
    async with asyncio.timeout(_MESSAGE_S):
        return decode(kind, await reader.readexactly(length))
