"""Pushes between the sessions of two engines, as their client and hostile peers see them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest
import torch
from helpers.engine_peers import Client, Server, hidden_states, load, opening, refused_with, serve, settle, until
from helpers.fake_network import FakeHost, FakeNetwork
from potluck_engine.serving.pushing import TAKES_AHEAD, SessionPushes

from potluck.p2p.network import Stream
from potluck.protocol.blocks import PeerId, Span
from potluck.protocol.codes import Code, RemoteError
from potluck.protocol.messages import Awaited, Pushed, PushLink, PushOpening, StepRequest
from potluck.wire import protocols
from potluck.wire.message import encode
from potluck.wire.sessions import digest_of
from potluck.wire.tensors import encode_tensors

SECRET, OTHER_SECRET = b"s" * 16, b"t" * 16
PROMPT, TOKEN = hidden_states(1, 5), hidden_states(1, 1, seed=3)


def pushed(number: int, *, tokens: int = 1) -> Pushed:
    return Pushed(number, hidden_states(1, tokens))


@pytest.fixture
async def inbox(server: Server) -> SessionPushes:
    return SessionPushes(server.handlers._pushes, lambda: None)


async def test_an_output_is_taken_once_for_its_number_and_size_only(inbox: SessionPushes) -> None:
    assert inbox.pop(Awaited(3, 1, 1)) is None
    assert inbox.put(pushed(3))
    assert inbox.pop(Awaited(4, 1, 1)) is None
    assert inbox.pop(Awaited(3, 1, 1)) is not None
    assert inbox.pop(Awaited(3, 1, 1)) is None
    assert inbox.put(pushed(4, tokens=2))
    assert inbox.pop(Awaited(4, 1, 1)) is None


@pytest.mark.parametrize(("tokens", "most"), [(1, TAKES_AHEAD), (300, 4)])
async def test_an_output_that_comes_too_late_is_dropped_and_one_of_too_many_has_to_wait(
    inbox: SessionPushes, tokens: int, most: int
) -> None:
    inbox.drop_until(3)
    assert inbox.put(pushed(3))
    assert not inbox.early
    assert all(inbox.put(pushed(number, tokens=tokens)) for number in range(4, 4 + most))
    assert [inbox.put(pushed(number)) for number in (3, 4 + most)] == [True, False]
    inbox.drop_until(3 + most)
    assert inbox.put(pushed(4 + most))
    assert list(inbox.early) == [4 + most]


@dataclass
class Two:
    """Two servers of four blocks, and a client with a session at each."""

    network: FakeNetwork
    host: FakeHost
    servers: tuple[Server, Server]
    first: Client
    second: Client

    async def open(self) -> torch.Tensor:
        """Run the prompt through both and tell them of each other; return what the second answered."""
        first, second = (server.host.peer_id for server in self.servers)
        there = await self.first.step(StepRequest(PROMPT, opening(Span(0, 2))))
        answer = await self.second.step(
            StepRequest(there.hidden, opening(Span(2, 4)), pushed_by=PushLink(first, SECRET))
        )
        await self.first.step(StepRequest(PROMPT[:, :1], start_from_position=5, push_to=PushLink(second, SECRET)))
        await until(self.is_joined)
        return answer.hidden

    def is_joined(self) -> bool:
        """Whether the second server has accepted the stream of the first."""
        return self.servers[1].handlers._pushes.expected[SECRET].receiving is not None

    async def announce(self, number: int, position: int, tokens: int = 1) -> None:
        awaited = Awaited(number, 1, tokens)
        await self.second.send(StepRequest(None, start_from_position=position, awaited=awaited))

    async def push_as(self, host: FakeHost, secret: bytes = SECRET) -> Stream:
        stream = await host.open_stream(
            self.servers[1].host.peer_id, protocols.PUSH, timeout_s=60, max_frame_bytes=1 << 20
        )
        await stream.send(encode(PushOpening(secret)))
        return stream


@asynccontextmanager
async def two(network: FakeNetwork, **options: object) -> AsyncIterator[Two]:
    async with serve(network, Span(0, 2)) as one, serve(network, blocks=load(Span(2, 4))) as other:
        host = network.start()
        yield Two(network, host, (one, other), await Client.open(host, one), await Client.open(host, other))


@pytest.fixture
async def both(network: FakeNetwork) -> AsyncIterator[Two]:
    async with two(network) as made:
        yield made


async def expected(both: Two) -> torch.Tensor:
    """What sessions whose hidden states all pass through the client answer to TOKEN."""
    one, other = await Client.open(both.host, both.servers[0]), await Client.open(both.host, both.servers[1])
    there = await one.step(StepRequest(PROMPT, opening(Span(0, 2))))
    await other.step(StepRequest(there.hidden, opening(Span(2, 4))))
    there = await one.step(StepRequest(TOKEN))
    return (await other.step(StepRequest(there.hidden))).hidden


async def test_a_pushed_step_gives_what_the_clients_own_copy_gives(both: Two) -> None:
    await both.open()
    await both.announce(1, 5)
    reply = await both.first.step(StepRequest(TOKEN, start_from_position=5, push_number=1))
    assert reply.can_push
    assert reply.was_pushed
    answer = await both.second.answer((1, 1, 64))
    assert answer.input_digest == digest_of(reply.hidden)
    assert torch.equal(answer.hidden, await expected(both))


async def test_a_push_before_its_announcement_is_kept(both: Two) -> None:
    await both.open()
    await both.first.step(StepRequest(TOKEN, start_from_position=5, push_number=1))
    await settle()
    await both.announce(1, 5)
    assert torch.equal((await both.second.answer((1, 1, 64))).hidden, await expected(both))


async def test_one_step_gets_one_answer_though_its_inputs_come_twice(both: Two) -> None:
    await both.open()
    await both.announce(1, 5)
    reply = await both.first.step(StepRequest(TOKEN, start_from_position=5, push_number=1))
    await settle()
    await both.second.send(StepRequest(reply.hidden, awaited=Awaited(1, 1, 1)))
    await both.announce(2, 6)
    reply = await both.first.step(StepRequest(TOKEN, start_from_position=6, push_number=2))
    answers = [await both.second.answer((1, 1, 64)) for _ in range(2)]
    assert answers[1].input_digest == digest_of(reply.hidden)
    await both.second.send(StepRequest(None))
    assert await both.second.stream.receive(timeout_s=60) is None


async def test_the_clients_copy_of_a_later_step_gives_no_earlier_push_up(both: Two) -> None:
    await both.open()
    await both.announce(1, 5)
    await both.announce(2, 6)
    await both.second.send(StepRequest(TOKEN, awaited=Awaited(2, 1, 1)))
    await settle()
    reply = await both.first.step(StepRequest(TOKEN, start_from_position=5, push_number=1))
    answers = [await both.second.answer((1, 1, 64)) for _ in range(2)]
    assert [answer.input_digest for answer in answers] == [digest_of(reply.hidden), None]


async def test_a_step_that_was_taken_back_awaits_no_push_and_a_late_one_is_ignored(both: Two) -> None:
    await both.open()
    for number, position in enumerate((5, 6, 5)):
        await both.announce(number, position)
    answers = [await both.second.answer((1, 1, 64)) for _ in range(2)]
    assert all(answer.is_dropped for answer in answers)
    for number in (0, 2):
        reply = await both.first.step(StepRequest(TOKEN, start_from_position=5, push_number=number))
    answer = await both.second.answer((1, 1, 64))
    assert answer.input_digest == digest_of(reply.hidden)
    assert torch.equal(answer.hidden, await expected(both))
    assert not both.servers[1].handlers._pushes.expected[SECRET].early


async def test_the_links_of_a_step_that_was_taken_back_hold(both: Two) -> None:
    first, second = (server.host.peer_id for server in both.servers)
    there = await both.first.step(StepRequest(PROMPT, opening(Span(0, 2)), push_to=PushLink(second, SECRET)))
    await both.second.step(StepRequest(there.hidden, opening(Span(2, 4))))
    await both.announce(1, 5)
    await both.second.send(StepRequest(TOKEN, pushed_by=PushLink(first, SECRET), push_to=PushLink(first, OTHER_SECRET)))
    await both.second.send(StepRequest(None, start_from_position=5))
    answers = [await both.second.answer((1, 1, 64)) for _ in range(2)]
    assert all(answer.is_dropped for answer in answers)
    session = both.servers[1].handlers._pushes.expected[SECRET]
    assert session.expects(first)
    assert session.pusher is not None


async def test_only_the_announced_peer_with_the_secret_may_push_and_one_stream_at_a_time(both: Two) -> None:
    await both.open()
    for host, secret in (
        (both.network.start(), SECRET),
        (both.servers[0].host, OTHER_SECRET),
        (both.servers[0].host, SECRET),
    ):
        with refused_with(Code.NOT_SERVED):
            await (await both.push_as(host, secret)).receive(timeout_s=60)


async def test_the_clients_copy_replaces_a_push_of_another_size_and_a_malformed_one_ends_the_stream(both: Two) -> None:
    first = both.servers[0].host
    there = await both.first.step(StepRequest(PROMPT, opening(Span(0, 2))))
    link = PushLink(first.peer_id, SECRET)
    await both.second.step(StepRequest(there.hidden, opening(Span(2, 4)), pushed_by=link))
    stream = await both.push_as(first)
    assert await stream.receive(timeout_s=60) is not None
    await both.announce(1, 5)
    await stream.send(*encode_tensors(Pushed(1, hidden_states(1, 2))))
    await stream.send(b"nonsense")
    with refused_with(Code.BAD_REQUEST):
        await stream.receive(timeout_s=60)
    reply = await both.first.step(StepRequest(TOKEN))
    await both.second.send(StepRequest(reply.hidden, awaited=Awaited(1, 1, 1)))
    answer = await both.second.answer((1, 1, 64))
    assert answer.input_digest is None
    assert torch.equal(answer.hidden, await expected(both))


async def test_a_session_that_ends_while_it_awaits_a_push_frees_everything(both: Two) -> None:
    await both.open()
    await both.announce(1, 5)
    await both.second.close()
    await until(lambda: both.servers[1].used_pages == 0)
    assert not both.servers[1].handlers._pushes.expected
    await settle()
    reply = await both.first.step(StepRequest(hidden_states(1, 1), start_from_position=5, push_number=1))
    assert not reply.can_push
    assert not reply.was_pushed


async def test_a_server_never_dials_strangers_for_a_client(network: FakeNetwork) -> None:
    network.person_of = lambda peer, ticket=b"": None if peer == stranger.peer_id else "somebody"  # type: ignore[assignment,return-value]
    stranger = network.start()
    dialled = asyncio.Event()

    async def listen(stream: Stream, peer: PeerId) -> None:
        dialled.set()

    await stranger.serve_stream(protocols.PUSH, listen, max_frame_bytes=100)
    async with two(network) as both:
        link = PushLink(stranger.peer_id, SECRET)
        await both.first.step(StepRequest(PROMPT, opening(Span(0, 2)), push_to=link))
        await settle(200)
        reply = await both.first.step(StepRequest(PROMPT[:, :1], push_number=1))
    assert not reply.can_push
    assert not reply.was_pushed
    assert not dialled.is_set()


async def test_a_secret_in_use_is_refused(both: Two) -> None:
    await both.open()
    third = await Client.open(both.host, both.servers[1])
    link = PushLink(both.servers[0].host.peer_id, SECRET)
    await third.send(StepRequest(hidden_states(1, 1), opening(Span(2, 4)), pushed_by=link))
    with pytest.raises(RemoteError, match="another session has this secret"):
        await third.stream.receive(timeout_s=60)


async def test_a_pusher_that_runs_ahead_is_dropped_with_the_session_it_pushes_to(both: Two) -> None:
    await both.open()
    host, second = both.servers[0].host, both.servers[1]
    link = PushLink(host.peer_id, OTHER_SECRET)
    await both.second.step(StepRequest(TOKEN, start_from_position=5, pushed_by=link))
    stream = await both.push_as(host, OTHER_SECRET)
    assert await stream.receive(timeout_s=60) is not None
    for number in range(TAKES_AHEAD + 4):  # of steps that the client never announces
        await stream.send(*encode_tensors(Pushed(number, TOKEN)))
    await settle()
    assert len(second.host._tasks) == 2  # the session and the pushes
    await both.second.close()
    await until(lambda: not second.host._tasks)
    assert await stream.receive(timeout_s=60) is None


async def test_what_a_closed_session_pushes_is_dropped_at_once(both: Two) -> None:
    await both.open()
    both.servers[1].host.freeze()
    for number in range(4):
        await both.first.step(StepRequest(TOKEN, start_from_position=5, push_number=number))
    await both.first.close()
    await until(lambda: not both.servers[0].host._tasks)
    await until(lambda: not [each for each in asyncio.all_tasks() if "Pusher" in repr(each) or "Outbox" in repr(each)])
    both.servers[1].host.thaw()
