"""A server with a valid signed record that promises much and then misbehaves."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

import msgspec
import torch
from msgspec.structs import replace

from potluck.blocks.span.block_span import load_span
from potluck.checkpoint.source import open_checkpoint
from potluck.directory.directory import Directory
from potluck.p2p.frames import MESSAGE, FrameStream
from potluck.p2p.libp2p import Libp2pHost
from potluck.p2p.network import Stream
from potluck.protocol.blocks import PeerId, Span
from potluck.protocol.codes import Code, RemoteError
from potluck.protocol.messages import StepReply
from potluck.protocol.records import Heartbeat, ServerRecord, ServerState
from potluck.protocol.swarm import Swarm
from potluck.wire import protocols, sessions
from potluck.wire.errors import encode_refusal
from potluck.wire.message import Limits, write_message
from potluck.wire.tensors import WireTensor

_MAX_FRAME_BYTES = 64 << 20

Misdeed = Callable[[FrameStream, torch.Tensor], Awaitable[None]]
"""What is done instead of answering a session's first step, given the true answer [batch, tokens, hidden_size]."""


class HostileServer:
    """Announces the same blocks with the same digests as the honest server, only much faster."""

    misdeed: Misdeed

    def __init__(self, host: Libp2pHost, swarm: Swarm, folder: Path, record: ServerRecord) -> None:
        self.visits = 0
        self._host = host
        self._record = record
        self._directory = Directory(host, swarm, host.identity)
        self._blocks = load_span(open_checkpoint(str(folder)), Span(0, swarm.num_blocks))
        self._limits = Limits(
            hidden_size=self._blocks.hidden_size,
            num_blocks=swarm.num_blocks,
            max_batch_tokens=record.max_batch_tokens,
            max_length=record.max_length,
            max_frame_bytes=_MAX_FRAME_BYTES,
        )

    @classmethod
    async def start(cls, host: Libp2pHost, swarm: Swarm, folder: Path) -> HostileServer:
        (honest,) = await Directory(host, swarm).fetch()
        fast = {"inference_tps": 1e9, "forward_tps": 1e9, "network_tps": 1e9, "throughput_tps": 1e9}
        record = replace(honest.record, peer_id=host.peer_id, public_name="trust me", **fast)
        self = cls(host, swarm, folder, record)
        # The honest server may have been busy a moment ago, and nobody would come to a server that stays busy.
        self._heartbeat = Heartbeat(host.peer_id, ServerState.ONLINE, record.max_length)
        await host.serve_stream(protocols.SESSION, self._session, max_frame_bytes=_MAX_FRAME_BYTES)
        return self

    @property
    def peer_id(self) -> PeerId:
        return self._host.peer_id

    async def announce(self) -> None:
        await self._directory.announce(self._record)
        await self._directory.heartbeat(self._heartbeat)

    async def _session(self, stream: Stream, peer: PeerId) -> None:
        assert isinstance(stream, FrameStream)
        body = await stream.receive()
        if body is None:
            return
        self.visits += 1
        request = sessions.decode_step(body, limits=self._limits, first=True)
        assert request.hidden is not None
        with torch.inference_mode():
            truth = self._blocks.forward(request.hidden, self._blocks.new_cache())
        await self.misdeed(stream, truth)


def refuse(code: Code, *, retry_after_s: float | None = None) -> Misdeed:
    return _send_error(encode_refusal(RemoteError(code, "no", retry_after_s=retry_after_s)))


def _send_error(body: bytes) -> Misdeed:
    async def misdeed(stream: FrameStream, truth: torch.Tensor) -> None:
        await stream.send_error(body)
        await stream.receive()

    return misdeed


def _answer(make: Callable[[torch.Tensor], torch.Tensor]) -> Misdeed:
    async def misdeed(stream: FrameStream, truth: torch.Tensor) -> None:
        await stream.send(*sessions.encode_step_reply(StepReply(make(truth))))
        await stream.receive()

    return misdeed


def _send(*frames: bytes) -> Misdeed:
    async def misdeed(stream: FrameStream, truth: torch.Tensor) -> None:
        for frame in frames:
            await stream.send(frame)
        await stream.receive()

    return misdeed


def _write(data: bytes) -> Misdeed:
    async def misdeed(stream: FrameStream, truth: torch.Tensor) -> None:
        stream.write_raw(data)
        await stream.receive()

    return misdeed


_GIGABYTES = WireTensor(0, 0, (1, 2**31 - 1, 64), 0, 16)


async def _nothing(stream: FrameStream, truth: torch.Tensor) -> None:
    await stream.receive()


async def _hang_up(stream: FrameStream, truth: torch.Tensor) -> None:
    """Returning closes the stream."""


async def _twice(stream: FrameStream, truth: torch.Tensor) -> None:
    for _ in range(2):
        await stream.send(*sessions.encode_step_reply(StepReply(truth)))
    await stream.receive()
    await asyncio.Event().wait()


async def _endless(stream: FrameStream, truth: torch.Tensor) -> None:
    while True:
        await stream.send(*sessions.encode_step_reply(StepReply(truth)))


async def _drip(stream: FrameStream, truth: torch.Tensor) -> None:
    stream.write_raw(bytes((MESSAGE,)) + (1 << 20).to_bytes(8, "big"))
    while not stream.lost.done():
        stream.write_raw(b"x")
        await asyncio.sleep(0.05)


MISDEEDS: Mapping[str, Misdeed] = {
    "another hidden size": _answer(lambda truth: truth[:, :, :-1]),
    "NaN": _answer(lambda truth: truth * float("nan")),
    "a claim of gigabytes": _send(write_message(msgspec.msgpack.encode({"hidden": _GIGABYTES}), 16) + bytes(16)),
    "garbage": _send(b"\xff" * 100),
    "an endless frame": _write(bytes((MESSAGE,)) + (2**63).to_bytes(8, "big")),
    "nothing": _nothing,
    "byte by byte": _drip,
    "hanging up": _hang_up,
    "two answers": _twice,
    "answers without end": _endless,
    "a long failure": _send_error(b"x" * 16_000),
    "busy for ever": refuse(Code.BUSY, retry_after_s=999_999.0),
    "replay, always": refuse(Code.ROLLBACK),
    "an unknown code": _send_error(encode_refusal(RemoteError(Code.BUSY, "no")).replace(b"busy", b"what")),
}
