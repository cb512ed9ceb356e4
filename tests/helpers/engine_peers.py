"""An engine's handlers on the fake network, and the client's side of its calls."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch
from helpers.fake_network import FakeHost, FakeNetwork
from helpers.golden import CHECKPOINT
from potluck_control.processes.launch_spec import ServingLimits
from potluck_engine.compute.threads import Threads
from potluck_engine.serving.handlers import Handlers
from potluck_engine.serving.service import Service

from potluck.blocks.span.block_span import BlockSpan, load_span
from potluck.checkpoint.source import open_checkpoint
from potluck.foreign import adapter_for
from potluck.p2p.network import Host, Stream
from potluck.protocol.blocks import PeerId, Span
from potluck.protocol.codes import Code, RemoteError
from potluck.protocol.messages import Caller, ForwardRequest, SessionOpening, StepReply, StepRequest, TensorReply
from potluck.protocol.records import NumberFormat
from potluck.protocol.swarm import Swarm
from potluck.wire import protocols, sessions
from potluck.wire.calls import CallRequest, ReplyJoiner
from potluck.wire.tensors import encode_parts

HIDDEN = 64
SWARM = Swarm(name="golden", model="golden", num_blocks=4, prefix="golden")


def load(span: Span, dtype: torch.dtype = torch.float32) -> BlockSpan:
    return load_span(open_checkpoint(str(CHECKPOINT)), span, dtype=dtype)


def local_steps(
    *steps: torch.Tensor,
    span: Span = Span(0, 2),  # noqa: B008 (frozen)
    prompts: torch.Tensor | None = None,
) -> list[torch.Tensor]:
    """What the blocks of `span` answer to the steps of one session."""
    blocks = load(span)
    cache = blocks.new_cache()
    with torch.inference_mode():
        return [blocks.forward(hidden, cache, prompts) for hidden in steps]


@dataclass(slots=True)
class Server:
    """Handlers of one span on a node of the fake network."""

    host: FakeHost
    serving: Service
    handlers: Handlers

    @property
    def used_pages(self) -> int:
        """Without those of kept beginnings."""
        return self.serving.compute.page_counts.used


@asynccontextmanager
async def serve(
    network: FakeNetwork,
    span: Span = Span(0, 2),  # noqa: B008 (frozen)
    *,
    blocks: BlockSpan | None = None,
    swarm: Swarm = SWARM,
    limits: ServingLimits | None = None,
    spill_folder: Path | None = None,
    max_blocks: int = 0,
    private_adapter_bytes: int = 0,
) -> AsyncIterator[Server]:
    limits = limits or ServingLimits()
    threads = Threads.of(limits, threads=1)
    host = network.start()
    loaded = blocks or load(span)
    serving = Service(
        loaded,
        swarm,
        limits,
        threads,
        spill_folder=spill_folder,
        max_blocks=max_blocks,
        private_adapter_bytes=private_adapter_bytes,
    )

    async def format_of(_: PeerId) -> NumberFormat | None:
        return None  # nobody's reports are looked at here

    handlers = Handlers(serving, host, "0", adapter_for(swarm), format_of, lambda _: None)
    threads.start()
    await threads.compute.serve(serving.stage)
    await handlers.register()
    try:
        yield Server(host, serving, handlers)
    finally:
        await host.close()
        await threads.stop()


class Client:
    """One inference stream, spoken to in typed messages."""

    def __init__(self, stream: Stream) -> None:
        self.stream = stream

    @classmethod
    async def open(cls, host: FakeHost, server: Server) -> Client:
        stream = await host.open_stream(server.host.peer_id, protocols.SESSION, timeout_s=120, max_frame_bytes=1 << 26)
        return cls(stream)

    async def send(self, request: StepRequest) -> None:
        await self.stream.send(*sessions.encode_step(request))

    async def answer(self, like: tuple[int, ...]) -> StepReply:
        body = await self.stream.receive(timeout_s=120)
        assert body is not None, "the server closed the stream"
        return sessions.decode_step_reply(body, like=like)

    async def step(self, request: StepRequest) -> StepReply:
        await self.send(request)
        assert request.hidden is not None
        return await self.answer(tuple(request.hidden.shape))

    async def close(self) -> None:
        """Say goodbye; the server closes, and only then its cache is known to be free."""
        await self.send(StepRequest(hidden=None))
        assert await self.stream.receive(timeout_s=120) is None


async def call(host: Host, peer: PeerId, request: CallRequest) -> TensorReply:
    """The answer to a stateless call. Raises RemoteError."""
    protocol = protocols.FORWARD if isinstance(request, ForwardRequest) else protocols.BACKWARD
    stream = await host.open_stream(peer, protocol, timeout_s=120, max_frame_bytes=1 << 26)
    joiner, is_whole = ReplyJoiner(request), False
    try:
        for frame in encode_parts(request):
            await stream.send(*frame)
        while not is_whole:
            body = await stream.receive(timeout_s=120)
            assert body is not None, "the server closed the stream"
            is_whole = joiner.add(body)
    finally:
        await stream.close()
    return joiner.reply()


@contextmanager
def refused_with(code: Code) -> Iterator[None]:
    """What is done meanwhile must be refused with this code."""
    with pytest.raises(RemoteError) as refusal:
        yield
    assert refusal.value.code is code


def opening(
    span: Span = Span(0, 2),  # noqa: B008 (frozen)
    *,
    max_length: int = 64,
    session_id: str | None = None,
    alloc_timeout_s: float = 0.0,
    caller: Caller | None = None,
    prefix: str = "golden",
    exact: bool = False,
) -> SessionOpening:
    return SessionOpening(
        prefix,
        span,
        max_length,
        session_id,
        alloc_timeout_s=alloc_timeout_s,
        exact=exact,
        caller=caller or Caller(),
    )


def hidden_states(batch: int, tokens: int, seed: int = 0) -> torch.Tensor:
    """[batch, tokens, HIDDEN] float32."""
    return torch.randn((batch, tokens, HIDDEN), generator=torch.Generator().manual_seed(seed))


def is_close(one: torch.Tensor, other: torch.Tensor) -> bool:
    """As close as numbers of a shared step are promised to be to those of a session alone."""
    return bool((one - other).abs().max() <= 1e-5 * other.abs().max())


async def until(condition: Callable[[], bool]) -> None:
    """Let the loop run until something is so, as other threads may have to make it; a minute only ends a hang."""
    async with asyncio.timeout(60):
        while not condition():  # noqa: ASYNC110 (whatever it is)
            await asyncio.sleep(0)


async def settle(turns: int = 50) -> None:
    """Let everything that is ready to run, run."""
    for _ in range(turns):
        await asyncio.sleep(0)
