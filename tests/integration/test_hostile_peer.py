"""A hostile peer speaks to a live engine: it is refused or dropped, and nobody else notices.

After each attack a well-behaved client generates the same tokens as before, the engine's cache is free again, and its
files, threads and memory have not grown.
"""

import asyncio
import contextlib
import itertools
import os
import signal
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Any

import psutil
import pytest
import pytest_asyncio
import torch
from helpers.client_world import local_model, prompt
from helpers.golden import CHECKPOINT
from helpers.host_contract import PATIENCE_S, outcome
from helpers.hostile_directory import DHT_LIES, answer_finds
from helpers.hostile_peer import BAD_FRAMES, WAIT_S, HostilePeer, free_cache, hidden_states
from helpers.hostile_server import MISDEEDS, HostileServer
from potluck_cli.swarm.overview import live_servers
from transformers.utils import logging

from benchmarks.setup.local_swarm import LocalEngine, LocalSwarm
from potluck import AutoDistributedModelForCausalLM
from potluck.client import ClientConfig
from potluck.directory.seal import record_checks
from potluck.membership.budgets import PERSON
from potluck.p2p.control import MAX_REFUSED
from potluck.p2p.libp2p import Libp2pHost
from potluck.p2p.network import HostConfig
from potluck.protocol.blocks import PeerId, Span
from potluck.protocol.codes import Code
from potluck.protocol.messages import StepRequest
from potluck.protocol.swarm import Swarm
from potluck.wire import protocols, sessions

pytestmark = pytest.mark.asyncio(loop_scope="module")

GREEDY = {"max_new_tokens": 8, "do_sample": False}
CLIENT = ClientConfig(request_timeout_s=60.0, max_wait_s=90.0)  # a busy machine is no failure
IMPATIENT = ClientConfig(request_timeout_s=2.0, max_wait_s=90.0)
MOST_CLIENTS = 20  # that are tried until one meets the impostor
MAX_NEW_FILES, MAX_NEW_THREADS = 32, 12  # for caches and pools; a leak would take more
MAX_NEW_BYTES = 6 * PERSON.held_bytes  # requests, their tensors, answers, and what the allocator keeps of them


@dataclass
class Witness:
    """A well-behaved client beside the attack, and an eye on the engine's process."""

    model: Any
    expected: torch.Tensor
    engine: LocalEngine
    node: Libp2pHost
    swarm: Swarm
    free_before: int = 0
    files_before: int = 0
    threads_before: int = 0
    bytes_before: int = 0

    async def note(self) -> None:
        """Remember how the engine is before anything happens."""
        process = psutil.Process(self.engine.pid)
        await self.generates_the_same()
        self.free_before = await free_cache(self.node, self.swarm, self.engine.peer_id)
        self.files_before, self.threads_before = process.num_fds(), process.num_threads()
        self.bytes_before = process.memory_info().rss

    async def generates_the_same(self) -> None:
        tokens = await asyncio.to_thread(self.model.generate, prompt(), **GREEDY)
        assert torch.equal(tokens, self.expected)

    async def finds_nothing_changed(self) -> None:
        assert self.engine.is_alive
        await self.generates_the_same()
        process = psutil.Process(self.engine.pid)
        async with asyncio.timeout(WAIT_S):
            while await self.holds(process):  # noqa: ASYNC110 (another process)
                await asyncio.sleep(0.05)
        assert process.num_threads() <= self.threads_before + MAX_NEW_THREADS
        assert process.memory_info().rss <= self.bytes_before + MAX_NEW_BYTES
        assert len(self.engine.processes()) == 2, "the engine and its p2pd"

    async def holds(self, process: psutil.Process) -> bool:
        """Whether the attack still holds cache or files; the engine learns a moment later that it is over."""
        cache = self.free_before - await free_cache(self.node, self.swarm, self.engine.peer_id)
        return cache > 0 or process.num_fds() > self.files_before + MAX_NEW_FILES


@pytest.fixture(scope="module")
def swarm() -> Iterator[LocalSwarm]:
    with LocalSwarm(CHECKPOINT, [Span(0, 4)]) as swarm:
        yield swarm
        (log,) = swarm.folder.glob("*-engine-0.log")
        assert "Traceback" not in log.read_text(), log.read_text()


async def start_node(swarm: LocalSwarm, person: str = "", **options: Any) -> Libp2pHost:
    """Start a node of the founder, or of somebody else who joins."""
    config = HostConfig(
        membership=swarm.join(person)[0] if person else swarm.membership,
        bootstrap_peers=swarm.swarm.bootstrap_peers,
        runtime_dir=swarm.folder / "nodes",
        patience_s=PATIENCE_S,
        **options,
    )
    return await Libp2pHost.start(config)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def witness(swarm: LocalSwarm) -> AsyncIterator[Witness]:
    logging.disable_progress_bar()
    (engine,) = swarm.engines
    expected = local_model().generate(prompt(), **GREEDY)
    node = await start_node(swarm, dht_client=True)
    model = AutoDistributedModelForCausalLM.from_pretrained(str(CHECKPOINT), swarm=swarm.membership, config=CLIENT)
    witness = Witness(model, expected, engine, node, swarm.swarm)
    await witness.note()
    yield witness
    await asyncio.to_thread(model.close)
    await node.close()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def node(swarm: LocalSwarm) -> AsyncIterator[Libp2pHost]:
    host = await start_node(swarm, "Mallory", dht_client=True)
    yield host
    await host.close()


@pytest_asyncio.fixture(loop_scope="module")
async def hostile(swarm: LocalSwarm, node: Libp2pHost, witness: Witness) -> AsyncIterator[HostilePeer]:
    """Attacks as a member; when its test is over, everything has to be as before."""
    peer = HostilePeer(node, swarm.swarm, witness.engine.peer_id)
    await (await peer.session(tokens=1)).close()  # a member: strangers are thrown out before they can do anything
    yield peer
    await peer.hang_up()
    await witness.finds_nothing_changed()


STREAMS = (protocols.SESSION, protocols.FORWARD, protocols.BACKWARD)


@pytest.mark.parametrize(("name", "protocol"), zip(BAD_FRAMES, itertools.cycle(STREAMS)))
async def test_frames_that_are_none_end_at_most_their_own_stream(
    hostile: HostilePeer, witness: Witness, name: str, protocol: str
) -> None:
    stream = await hostile.open(protocol)
    stream.write_raw(BAD_FRAMES[name])
    await witness.generates_the_same()


async def test_streams_that_never_send_hold_up_nobody(hostile: HostilePeer, witness: Witness) -> None:
    for protocol in STREAMS * 30:
        await hostile.open(protocol)
    await witness.generates_the_same()


async def test_a_peer_that_never_reads_piles_up_results_only_to_a_limit(hostile: HostilePeer, witness: Witness) -> None:
    stream = await hostile.session(tokens=2000)
    step = sessions.encode_step(StepRequest(hidden_states(1, 2000), start_from_position=0))  # half a megabyte each way

    async def flood() -> None:
        for _ in range(400):
            await stream.send(*step, timeout_s=0.5)

    with pytest.raises(TimeoutError):  # else all of it was taken, though no answer was read
        await flood()
    await witness.generates_the_same()
    with contextlib.suppress(TimeoutError):  # else the engine holds its session for as long as it waits for readers
        while await stream.receive(timeout_s=2.0):
            pass


async def test_a_flood_of_sessions_is_refused_with_a_time_to_come_back(hostile: HostilePeer) -> None:
    opened = [await hostile.open() for _ in range(300)]
    for stream in opened:
        await outcome(stream.send(hostile.opening()))
    answers = await asyncio.gather(*(outcome(stream.receive(timeout_s=WAIT_S)) for stream in opened))
    assert Code.BUSY in answers, f"all of {set(answers)}"


async def test_a_flood_of_large_calls_is_answered_one_by_one(hostile: HostilePeer, witness: Witness) -> None:
    body = hostile.forward(tokens=2000)  # half a megabyte
    flood = [asyncio.create_task(hostile.ask(protocols.FORWARD, body)) for _ in range(150)]
    await witness.generates_the_same()
    answers = Counter(await asyncio.gather(*flood))
    assert answers.pop(Code.UNREACHABLE, 0) <= 5, "who is refused has a second to read why; this process computes then"
    assert answers.keys() <= {None, Code.BUSY}


async def test_open_streams_of_several_people_take_no_more_than_their_share(
    swarm: LocalSwarm, hostile: HostilePeer, witness: Witness
) -> None:
    helper = await start_node(swarm, "Trudy", dht_client=True)
    try:
        accomplice = HostilePeer(helper, swarm.swarm, hostile.victim)
        for peer in (hostile, accomplice):
            for _ in range(600):
                await outcome(peer.open())
        engine, most = psutil.Process(witness.engine.pid), 2 * PERSON.streams + MAX_NEW_FILES
        opened = engine.num_fds() - witness.files_before
        assert PERSON.streams < opened <= most + MAX_REFUSED  # the refused ones stay until their callers hang up
        await witness.generates_the_same()
        async with asyncio.timeout(WAIT_S):  # refused streams do not stay open
            while engine.num_fds() - witness.files_before > most:  # noqa: ASYNC110 (another process)
                await asyncio.sleep(0.05)
    finally:
        await helper.close()


async def test_a_client_whose_node_is_killed_holds_nothing_any_more(
    swarm: LocalSwarm, hostile: HostilePeer, witness: Witness
) -> None:
    node = await start_node(swarm, "Oscar", dht_client=True)
    await HostilePeer(node, swarm.swarm, hostile.victim).session(tokens=600)
    assert await free_cache(witness.node, swarm.swarm, hostile.victim) < witness.free_before
    os.kill(node._running().process.pid, signal.SIGKILL)
    await node.close()


# -- the directory -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lie", DHT_LIES)
async def test_a_node_that_lies_about_the_directory_hides_nobody(
    swarm: LocalSwarm, hostile: HostilePeer, witness: Witness, lie: str
) -> None:
    liar = await start_node(swarm)
    asked = answer_finds(liar, DHT_LIES[lie])
    try:
        servers = await live_servers(swarm.membership)
    finally:
        await liar.close()
    assert asked
    assert [server.peer_id for server in servers] == [witness.engine.peer_id]


# -- hostile servers ---------------------------------------------------------------------------------------------------


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def impostor(swarm: LocalSwarm, witness: Witness) -> AsyncIterator[HostileServer]:
    host = await start_node(swarm, record_checks=record_checks(swarm.swarm, time.time))
    try:
        yield await HostileServer.start(host, swarm.swarm, CHECKPOINT)
    finally:
        await host.close()


@pytest.fixture
def far_engine(witness: Witness, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let pings to the honest engine seem to travel far, so that clients choose the impostor."""
    ping = Libp2pHost.ping

    async def slow(host: Libp2pHost, peer: PeerId, *, timeout_s: float) -> float:
        away_s = 0.2 if peer == witness.engine.peer_id else 0.0
        return await ping(host, peer, timeout_s=timeout_s) + away_s

    monkeypatch.setattr(Libp2pHost, "ping", slow)


async def generate_through(impostor: HostileServer, swarm: LocalSwarm) -> tuple[torch.Tensor, list[PeerId]]:
    """What a fresh client that meets the impostor generates, and which servers it replaced."""

    def work() -> tuple[torch.Tensor, list[PeerId]]:
        with AutoDistributedModelForCausalLM.from_pretrained(
            str(CHECKPOINT), swarm=swarm.membership, config=IMPATIENT
        ) as model:
            tokens = model.generate(prompt(), **GREEDY)
            (route,) = model.last_route()
            return tokens, [hop.peer_id for hop in route.replaced]

    impostor.visits = 0
    for _ in range(MOST_CLIENTS):
        await impostor.announce()
        found = await asyncio.to_thread(work)
        if impostor.visits:  # a client whose first pings are late knows no distances, and may never meet it
            return found
    raise AssertionError("no client met the impostor")


@pytest.mark.usefixtures("far_engine")
@pytest.mark.parametrize("misdeed", MISDEEDS)
async def test_a_hostile_server_is_replaced_and_the_same_tokens_come_out(
    swarm: LocalSwarm, witness: Witness, impostor: HostileServer, misdeed: str
) -> None:
    impostor.misdeed = MISDEEDS[misdeed]
    tokens, replaced = await generate_through(impostor, swarm)
    assert impostor.peer_id in replaced
    assert torch.equal(tokens, witness.expected)
