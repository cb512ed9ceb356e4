"""Engines that choose their blocks themselves, on the fake network: they share a model out, and move while serving."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from helpers.engine_peers import CHECKPOINT, SWARM, Client, hidden_states, is_close, local_steps, opening
from helpers.fake_network import FakeHost, FakeNetwork
from helpers.launches import changed, launch_of
from potluck_control.processes.engine_messages import EngineEvent, Moving, Online, Placed, Reshaped, Settled
from potluck_control.processes.launch_spec import LaunchSpec
from potluck_engine.life import rebalancing
from potluck_engine.life.block_changes import BlockFetching
from potluck_engine.life.engine import Engine
from potluck_engine.life.rebalancing import next_span
from potluck_engine.network import reachability
from potluck_engine.network.reachability import next_in_ring
from potluck_engine.placement.swarm_map import KnownServer, ModelSize, SwarmMap

from potluck.blocks.span.block_span import BlockSpan
from potluck.checkpoint.block_files import BlockFiles
from potluck.checkpoint.source import Checkpoint, open_checkpoint
from potluck.directory.directory import Directory
from potluck.errors import CheckpointError
from potluck.membership.membership import Membership
from potluck.p2p.network import HostConfig
from potluck.protocol.blocks import PeerId, Span
from potluck.protocol.messages import StepRequest
from potluck.protocol.records import ServerState
from potluck.wire.protocols import SESSION

CONFIG = launch_of(CHECKPOINT, Path("unused"), Membership(SWARM), num_blocks=2, heartbeat_s=0.2)


def test_blocks_are_added_while_there_is_room_and_the_others_go_afterwards() -> None:
    """From 0:4 to 3:7 with room for five."""
    live, target, done = Span(0, 4), Span(3, 7), []
    while (step := next_span(live, target, 5, [3, 4, 5, 6])) != live:
        done.append(step)
        live = step
    assert done == [Span(0, 5), Span(3, 5), Span(3, 6), Span(3, 7)]


def test_growth_follows_the_order_that_the_swarm_needs() -> None:
    assert next_span(Span(5, 6), Span(3, 8), 5, [5, 4, 6, 7, 3]) == Span(4, 6)
    assert next_span(Span(5, 6), Span(3, 8), 5, [5, 6, 7, 4, 3]) == Span(5, 7)


def test_where_nothing_stays_the_target_is_begun_anew() -> None:
    assert next_span(Span(0, 2), Span(2, 4), 2, [2, 3]) is None


def test_everybody_is_watched_by_as_many_as_they_watch() -> None:
    peers = [PeerId(name) for name in "adcbefg"]
    watched = [other for peer in peers for other in next_in_ring(peers, peer, 3)]
    assert sorted(watched) == sorted(3 * peers)
    assert next_in_ring(peers[:2], PeerId("a"), 3) == ["d"]


class Swarm:
    """Engines on a fake network, and what they told."""

    def __init__(self) -> None:
        self.network = FakeNetwork()
        self.told: asyncio.Queue[None] = asyncio.Queue()

    @asynccontextmanager
    async def engine(self, config: LaunchSpec = CONFIG) -> AsyncIterator[Told]:
        told = Told(self)
        engine = Engine(config, told.tell, start_host=told.start_host)
        told.engine = engine
        await engine.start()
        try:
            yield told
        finally:
            await engine.stop()

    async def coverage(self) -> list[int]:
        view = await Directory(self.network.start(), SWARM).fetch()
        online = [server for server in view if server.heartbeat.state is ServerState.ONLINE]
        return [sum(block in server.span for server in online) for block in range(SWARM.num_blocks)]

    async def until_covered(self, fewest: int) -> None:
        async with asyncio.timeout(60):
            while min(await self.coverage()) < fewest:
                await self.told.get()


class Told:
    """One engine, its host and its events."""

    engine: Engine
    host: FakeHost

    def __init__(self, swarm: Swarm) -> None:
        self.events: list[EngineEvent] = []
        self._swarm = swarm

    def tell(self, event: EngineEvent) -> None:
        self.events.append(event)
        self._swarm.told.put_nowait(None)

    async def start_host(self, _: HostConfig) -> FakeHost:
        self.host = self._swarm.network.start()
        return self.host

    async def until(self, is_so: Callable[[EngineEvent], bool]) -> None:
        async with asyncio.timeout(60):
            while not any(is_so(event) for event in self.events):
                await self._swarm.told.get()

    @property
    def span(self) -> Span:
        return self.engine.service.blocks.span


@pytest.fixture
def swarm(monkeypatch: pytest.MonkeyPatch) -> Swarm:
    monkeypatch.setattr(rebalancing, "CHECK_S", 0.2)
    monkeypatch.setattr(reachability, "_PING_EVERY_S", 0.05)
    monkeypatch.setattr(rebalancing, "_JOIN_PAUSE_S", (0.0, 0.01))
    return Swarm()


async def test_the_first_block_answers_before_the_others_are_loaded(swarm: Swarm) -> None:
    async with swarm.engine(changed(CONFIG, num_blocks=4)) as told:
        online = next(event for event in told.events if isinstance(event, Online))
        assert len(online.span) == 1
        await told.until(lambda event: isinstance(event, Settled))
        spans = [event.span for event in told.events if isinstance(event, Reshaped)]
        assert [len(span) for span in spans] == [2, 3, 4]
        placed = [event.resident_blocks for event in told.events if isinstance(event, Placed)]
        assert (placed[0], placed[-1]) == (1, 4), "what is loaded is told again when all is"
        assert min(await swarm.coverage()) == 1


async def test_when_a_server_dies_another_slides_there_and_sessions_over_what_stays_never_notice(swarm: Swarm) -> None:
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(swarm.engine(changed(CONFIG, blocks="0:1")))
        dying = await stack.enter_async_context(swarm.engine(changed(CONFIG, blocks="3:4")))
        mover = await stack.enter_async_context(swarm.engine())
        await mover.until(lambda event: isinstance(event, Settled))
        assert mover.span == Span(1, 3)
        await stack.enter_async_context(swarm.engine(changed(CONFIG, blocks="0:2")))
        stream = await swarm.network.start().open_stream(
            mover.host.peer_id, SESSION, timeout_s=120, max_frame_bytes=1 << 26
        )
        session, kept, x = Client(stream), Span(2, 3), hidden_states(1, 300)
        replies = [await session.step(StepRequest(x[:, :1], opening(kept, max_length=300)))]
        dying.host.kill()
        while mover.span != Span(2, 4):
            at = len(replies)
            replies.append(await session.step(StepRequest(x[:, at : at + 1])))
            async with asyncio.timeout(60):
                await swarm.told.get()
        at = len(replies)
        replies.append(await session.step(StepRequest(x[:, at : at + 1])))
        (why,) = {event.why for event in mover.events if isinstance(event, Moving) and event.target == Span(2, 4)}
    assert str(why) == "layers 4 were served by nobody"
    assert not any(reply.timing.is_leaving for reply in replies)
    expected = local_steps(x[:, : len(replies)], span=kept)
    assert is_close(torch.cat([reply.hidden for reply in replies], 1), *expected)


async def test_a_move_to_other_blocks_that_fails_goes_back_and_is_made_later(swarm: Swarm) -> None:
    """None of the blocks stays, so they are loaded anew; who was a client goes on elsewhere or comes back."""
    async with AsyncExitStack() as stack:
        dying = await stack.enter_async_context(swarm.engine(changed(CONFIG, blocks="2:4")))
        mover = await stack.enter_async_context(swarm.engine())
        await mover.until(lambda event: isinstance(event, Settled))
        await stack.enter_async_context(swarm.engine(changed(CONFIG, blocks="0:2")))
        loader = mover.engine.loader
        load = loader.load

        def refuse(checkpoint: Checkpoint, span: Span) -> BlockSpan:
            if span.start >= 2:
                raise CheckpointError("a damaged file")
            return load(checkpoint, span)

        loader.load = refuse  # type: ignore[method-assign]
        dying.host.kill()
        async with asyncio.timeout(60):
            while [type(event) for event in mover.events].count(Moving) < 3:  # the first one was its way to 0:2
                await swarm.told.get()
        assert mover.span == Span(0, 2)
        loader.load = load  # type: ignore[method-assign]
        await mover.until(lambda event: isinstance(event, Settled) and event.span == Span(2, 4))
        await swarm.until_covered(1)


async def test_a_move_is_broken_off_when_the_device_is_wanted_and_gone_on_with_afterwards(swarm: Swarm) -> None:
    async with swarm.engine(changed(CONFIG, num_blocks=4)) as told:
        await told.until(lambda event: isinstance(event, Moving))
        await told.engine.offload()
        told.events.clear()
        await told.engine.restore()
        await told.until(lambda event: isinstance(event, Settled))
        assert told.span == Span(0, 4)


class FakeHub:
    """Has the files that the folder lacks."""

    def __init__(self, folder: Path, source: Path) -> None:
        self.asked: list[str] = []
        self._folder = folder
        self._source = source

    def download(self, file: str) -> None:
        self.asked.append(file)
        shutil.copy(self._source / file, self._folder / file)


async def test_files_of_other_blocks_are_fetched_in_advance_as_far_as_the_disk_may_be_used(tmp_path: Path) -> None:
    """A file a block; block 0 is here and served by us, block 3 by nobody, and there is room for two more."""
    source, folder = tmp_path / "source", tmp_path / "folder"
    for path in (source, folder):
        path.mkdir()
    names = {f"model.layers.{block}.weight": f"{block}.safetensors" for block in range(4)}
    index = {"metadata": {"total_size": 400}, "weight_map": names}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    (folder / "0.safetensors").touch()
    for file in names.values():
        (source / file).touch()
    hub = FakeHub(folder, source)
    checkpoint = Checkpoint("m", "main", folder, open_checkpoint(str(CHECKPOINT)).config, hub)  # type: ignore[arg-type]
    files = BlockFiles.of(checkpoint, "layers")
    told = FakeAnnouncements(files.stored())
    prefetching = BlockFetching(told, files, disk_bytes=300)  # type: ignore[arg-type]
    for _ in range(5):
        own = KnownServer(PeerId("me"), 1, 1.0, told.stored, span=Span(0, 1))
        prefetching.prefetch(SwarmMap.of((), ModelSize(4, files.block_bytes, 1024.0), own))
        if prefetching._in_advance is not None:
            await prefetching._in_advance
    assert hub.asked == ["1.safetensors", "2.safetensors"]
    assert told.stored == {0, 1, 2}
    told.node.speed.may_exchange = False
    BlockFetching(told, files, disk_bytes=400).prefetch(  # type: ignore[arg-type]
        SwarmMap.of((), ModelSize(4, 100.0, 1024.0), KnownServer(PeerId("me"), 1, 1.0, told.stored, span=Span(0, 1)))
    )
    assert len(hub.asked) == 2


class FakeAnnouncements:
    def __init__(self, stored: frozenset[int]) -> None:
        self.stored = stored
        self.node = SimpleNamespace(speed=SimpleNamespace(may_exchange=True))

    async def announce(self) -> None:
        """Nobody listens."""
