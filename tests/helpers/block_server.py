"""A small server of blocks on the fake network: it computes for real, and misbehaves when it is told to.

Speaks `potluck.wire` with nothing of the engine, so that the client is tested against the protocol and not against one
implementation of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import torch
from helpers.fake_network import FakeHost, FakeNetwork
from torch import Tensor

from potluck.blocks.span.block_span import BlockSpan, load_span
from potluck.checkpoint.source import open_checkpoint
from potluck.directory.directory import HEARTBEAT_INTERVAL_S, Directory
from potluck.p2p.network import Stream
from potluck.protocol.blocks import PeerId, Span
from potluck.protocol.codes import Code, RemoteError
from potluck.protocol.messages import (
    BackwardRequest,
    ForwardRequest,
    Quote,
    QuoteRequest,
    StepReply,
    StepRequest,
    TensorReply,
    Timing,
)
from potluck.protocol.records import Heartbeat, NumberFormat, ServerRecord, ServerState
from potluck.protocol.swarm import Swarm
from potluck.wire import protocols, sessions
from potluck.wire.calls import RequestJoiner, decode_quote_request
from potluck.wire.message import Limits, encode
from potluck.wire.packing import pack, pack_gradient

_MAX_FRAME_BYTES = 64 << 20
_spans: dict[tuple[Path, Span, str], BlockSpan] = {}


@dataclass
class BlockServer:
    """Blocks `span` of a checkpoint; `on_step` and `on_call` may raise, or kill or freeze `host`, before the work."""

    host: FakeHost
    swarm: Swarm
    folder: Path
    blocks: BlockSpan
    max_batch_tokens: int = 2048
    max_length: int = 512
    inference_tps: float = 100.0  # that it promises
    steps: list[StepRequest] = field(default_factory=list)  # all that came, of all sessions
    forwards: list[ForwardRequest] = field(default_factory=list)
    backwards: list[BackwardRequest] = field(default_factory=list)
    state: ServerState = ServerState.ONLINE
    is_idle: asyncio.Event = field(default_factory=asyncio.Event)  # no session is open
    open_sessions: int = 0
    on_step: Callable[[BlockServer, StepRequest], None] = lambda server, request: None
    on_call: Callable[[BlockServer, object], None] = lambda server, request: None
    delay_s: Callable[[BlockServer], float] = lambda server: 0.0  # of the present step
    call_delay_s: float = 0.0  # of stateless forwards
    is_leaving: bool = False  # what it tells its clients
    quotes: list[QuoteRequest] = field(default_factory=list)  # that were asked for
    on_quote: Callable[[BlockServer], Quote] = lambda server: Quote(0, 0.0, 0.0, 100_000)  # may raise
    digests: tuple[str, ...] | None = None  # announced instead of the true ones
    tamper: Callable[[Tensor], Tensor] = lambda output: output
    packing_error: float | None = None  # it packs if it says so
    dtype: str = "float32"
    rounding: torch.Generator = field(default_factory=torch.Generator)  # of gradients
    cache: str = "none"  # what it announces of its keys and values

    @classmethod
    async def start(
        cls, network: FakeNetwork, swarm: Swarm, folder: Path, span: Span, **options: object
    ) -> BlockServer:
        blocks = _load(folder, span, str(options.get("dtype", "float32")))
        server = cls(network.start(), swarm, folder, blocks, **options)  # type: ignore[arg-type]
        for protocol, handler in (
            (protocols.SESSION, server._session),
            (protocols.FORWARD, server._forward),
            (protocols.BACKWARD, server._backward),
        ):
            await server.host.serve_stream(protocol, handler, max_frame_bytes=_MAX_FRAME_BYTES)
        await server.host.serve_unary(protocols.QUOTE, server._quote)
        await server.announce()
        server.host.spawn(server._stay_listed())
        return server

    @property
    def peer_id(self) -> PeerId:
        return self.host.peer_id

    @property
    def record(self) -> ServerRecord:
        return ServerRecord(
            peer_id=self.peer_id,
            span=self.blocks.span,
            revision="main",
            format=NumberFormat(self.dtype, cache=self.cache),
            block_digests=self.digests or self.blocks.digests,
            max_batch_tokens=self.max_batch_tokens,
            max_length=self.max_length,
            inference_tps=self.inference_tps,
            forward_tps=1000.0,
            network_tps=1000.0,
            throughput_tps=100.0,
            version="test",
            packing_error=self.packing_error,
        )

    async def announce(self, state: ServerState = ServerState.ONLINE) -> None:
        self.state = state
        directory = Directory(self.host, self.swarm, self.host.identity)
        await directory.announce(self.record)
        await directory.heartbeat(Heartbeat(self.peer_id, state, cache_tokens_left=100_000))

    async def _stay_listed(self) -> None:
        """Announce it again before its heartbeat expires, however long the test takes."""
        while self.state is ServerState.ONLINE:
            await asyncio.sleep(HEARTBEAT_INTERVAL_S)
            await self.host.thawed()
            await self.announce(self.state)

    async def keep(self, span: Span) -> None:
        """Serve fewer blocks, and announce them; sessions that use others are told that this server leaves."""
        self.blocks, self.is_leaving = _load(self.folder, span, self.dtype), True
        await self.announce()

    async def wait_idle(self) -> None:
        """Until no session is open any more, and there was one."""
        async with asyncio.timeout(60):
            await self.is_idle.wait()

    @property
    def _limits(self) -> Limits:
        return Limits(
            hidden_size=self.blocks.hidden_size,
            num_blocks=self.swarm.num_blocks,
            max_batch_tokens=self.max_batch_tokens,
            max_length=self.max_length,
            max_frame_bytes=_MAX_FRAME_BYTES,
        )

    async def _session(self, stream: Stream, peer: PeerId) -> None:
        self.open_sessions += 1
        self.is_idle.clear()
        try:
            await self._steps(stream)
        finally:
            self.open_sessions -= 1
            if not self.open_sessions:
                self.is_idle.set()

    async def _steps(self, stream: Stream) -> None:
        opening = blocks = cache = None
        while (body := await stream.receive()) is not None:
            request = sessions.decode_step(body, limits=self._limits, first=opening is None)
            if request.hidden is None:
                return
            opening = opening or request.opening
            assert opening is not None
            blocks = blocks or self._part(opening.span)
            cache = cache or blocks.new_cache()
            self.steps.append(request)
            self.on_step(self, request)
            await asyncio.sleep(self.delay_s(self))
            await self.host.thawed()
            if request.start_from_position is not None and request.start_from_position < cache.length:
                cache.crop(request.start_from_position)
            if request.hypo_ids is not None:
                cache.reorder_cache(request.hypo_ids)
            with torch.inference_mode():
                output = blocks.forward(request.hidden.to(blocks.dtype), cache, request.prompts)
            timing = Timing(compute_ms=0.5, is_leaving=self.is_leaving)
            output, packed = self.tamper(output), None
            if opening.packs and self.packing_error is not None:
                output, packed = pack(output)
            if request.answer_tokens is not None:
                wanted = slice(output.shape[1] - request.answer_tokens, None)
                output, packed = output[:, wanted], None if packed is None else packed[:, wanted]
            reply = StepReply(output, timing, packed=(packed,))
            await stream.send(*sessions.encode_step_reply(reply))

    async def _quote(self, body: bytes, peer: PeerId) -> bytes:
        self.quotes.append(decode_quote_request(body, limits=self._limits))
        return encode(self.on_quote(self))

    async def _forward(self, stream: Stream, peer: PeerId) -> None:
        await self._answer(stream, RequestJoiner(ForwardRequest, self._limits))

    async def _backward(self, stream: Stream, peer: PeerId) -> None:
        await self._answer(stream, RequestJoiner(BackwardRequest, self._limits))

    async def _answer(self, stream: Stream, joiner: RequestJoiner) -> None:
        while (body := await stream.receive()) is not None:
            if joiner.add(body):
                break
        request = joiner.request()
        run = self._run_forward if isinstance(request, ForwardRequest) else self._run_backward
        for frame in joiner.encode_reply(await run(request)):  # type: ignore[operator]
            await stream.send(*frame)

    async def _run_forward(self, request: ForwardRequest) -> TensorReply:
        self.forwards.append(request)
        self.on_call(self, request)
        await asyncio.sleep(self.call_delay_s)  # a killed server gets no further
        with torch.no_grad():
            blocks = self._part(request.span)
            output = blocks.forward(request.hidden.to(blocks.dtype), None, request.prompts)
        if request.last_tokens is not None:
            output = output[:, output.shape[1] - request.last_tokens :]
        output, packed = self.tamper(output), None
        if request.packs:
            output, packed = pack(output)
        return TensorReply((output,), packed=(packed,))

    async def _run_backward(self, request: BackwardRequest) -> TensorReply:
        self.backwards.append(request)
        self.on_call(self, request)
        await asyncio.sleep(0)  # a killed server gets no further
        inputs = [request.hidden.requires_grad_()]
        if request.prompts is not None:
            inputs.append(request.prompts.requires_grad_())
        with torch.enable_grad():
            blocks = self._part(request.span)
            output = blocks.forward(request.hidden.to(blocks.dtype), None, request.prompts)
            hidden, *others = torch.autograd.grad(output, inputs, request.grad)
        packed = None
        if request.packs:
            hidden, packed = pack_gradient(hidden, self.rounding)
        return TensorReply((hidden, *others), packed=(packed,))

    def _part(self, span: Span) -> BlockSpan:
        if not self.blocks.span.covers(span):
            raise RemoteError(Code.NOT_SERVED, f"only {self.blocks.span} is served here")
        return _load(self.folder, span, self.dtype)


def _load(folder: Path, span: Span, dtype: str) -> BlockSpan:
    if (folder, span, dtype) not in _spans:
        _spans[folder, span, dtype] = load_span(open_checkpoint(str(folder)), span, dtype=getattr(torch, dtype))
    return _spans[folder, span, dtype]


def make_swarm(num_blocks: int, *, key: bytes | None = bytes(32)) -> Swarm:
    """A swarm for tests; a private one unless the key is None."""
    return Swarm(name="test", model="test", num_blocks=num_blocks, prefix="test")
