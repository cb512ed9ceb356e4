"""One engine on the fake network, with a client that has sessions with it, or in the world of a client."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from helpers.client_world import World
from helpers.engine_peers import CHECKPOINT, SWARM, Client, hidden_states, opening
from helpers.fake_network import FakeHost, FakeNetwork
from helpers.launches import changed, launch_of
from msgspec import structs
from potluck_control.processes.engine_messages import EngineEvent
from potluck_engine.life.engine import Engine
from torch import Tensor

from potluck.membership.membership import Membership
from potluck.p2p.network import HostConfig
from potluck.protocol.blocks import Span
from potluck.protocol.messages import StepRequest
from potluck.wire.protocols import SESSION

SPAN = Span(1, 3)
INPUTS = hidden_states(2, 12)  # 2 rows


class Machine:
    """An engine with peers around it; `changes` are fields of its launch specification.

    Attributes:
        output: of the first step of the last session that began.
    """

    output: Tensor

    def __init__(
        self,
        folder: Path,
        dtype: str = "float32",
        *,
        checkpoint: Path = CHECKPOINT,
        span: Span = SPAN,
        memory: str = "",
        **changes: Any,
    ) -> None:
        self.span = span
        self.network = FakeNetwork()
        self.events: list[EngineEvent] = []
        spec = launch_of(checkpoint, folder, Membership(SWARM), heartbeat_s=0.05)
        spec = changed(spec, blocks=str(span), dtype=dtype, max_memory=memory)
        self.engine = Engine(changed(spec, **changes), self.events.append, start_host=self._start_host)
        self.client = self.network.start()

    async def _start_host(self, _: HostConfig) -> FakeHost:
        self.host = self.network.start()
        return self.host

    async def connect(self, client: FakeHost | None = None) -> Client:
        peer = self.host.peer_id
        return Client(await (client or self.client).open_stream(peer, SESSION, timeout_s=120, max_frame_bytes=1 << 26))

    async def begin(self, session_id: str | None = "s", tokens: int = 8, *, exact: bool = False) -> Client:
        """A session that has `tokens` tokens."""
        client = await self.connect()
        first = structs.replace(opening(self.span, session_id=session_id), exact=exact)
        self.output = (await client.step(StepRequest(INPUTS[:, :tokens], first))).hidden
        return client


async def start_engine(
    there: World, folder: Path, span: Span, on_event: Callable[[EngineEvent], None] = lambda _: None
) -> Engine:
    """Start an engine that serves the swarm of `there`."""

    async def start_host(_: HostConfig) -> FakeHost:
        return there.network.start()

    spec = launch_of(CHECKPOINT, folder, Membership(there.swarm), blocks=str(span))
    engine = Engine(spec, on_event, start_host=start_host)
    await engine.start()
    return engine
