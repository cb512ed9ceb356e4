"""A leader's engine finds out by itself whether a report of wrong results is right."""

from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from helpers.members import NOW_S, World, invited, joined, person
from potluck_engine.wrong_results import Trials, reports_in
from torch import Tensor

from potluck.membership.gate import MembersGate
from potluck.membership.identity import Identity
from potluck.membership.records import Record, read_record
from potluck.membership.reports import WrongResults, write_report
from potluck.protocol.blocks import Span
from potluck.protocol.messages import ForwardRequest, TensorReply
from potluck.protocol.records import NumberFormat
from potluck.wire.calls import RequestJoiner
from potluck.wire.limits import Limits

ANA, BOB, EVE, CEM = (Identity.generate() for _ in range(4))
SPAN, TOKENS = Span(0, 4), 40
HIDDEN = torch.randn((1, TOKENS, 32), generator=torch.Generator().manual_seed(0))
FLOAT32 = NumberFormat("float32")
LIMITS = Limits(32, 4, max_batch_tokens=64, max_length=64, max_frame_bytes=1 << 20)


class Accused:
    """A stream to a computer that answers each call with what `answer` makes of its inputs."""

    def __init__(self, answer: Callable[[Tensor], Tensor]) -> None:
        self._answer = answer
        self._joiner = RequestJoiner(ForwardRequest, LIMITS)
        self._reply: list[bytes] = []
        self.asked: list[ForwardRequest] = []

    async def send(self, *pieces: bytes) -> None:
        if self._joiner.add(b"".join(pieces)):
            request = self._joiner.request()
            assert isinstance(request, ForwardRequest)
            self.asked.append(request)
            frames = self._joiner.encode_reply(TensorReply((self._answer(request.hidden),)))
            self._reply = [b"".join(map(bytes, frame)) for frame in frames]

    async def receive(self) -> bytes | None:
        return self._reply.pop(0) if self._reply else None

    async def close(self) -> None:
        """There is nothing to close."""


@pytest.fixture
async def there() -> AsyncIterator[World]:
    world = World()
    _, made, _ = world.begin(ANA, people=5)
    for name, identity in (("Bob", BOB), ("Eve", EVE)):
        await world.join(made, name, identity, ANA)
    yield world
    await world.stop()


def reported(there: World, by: Identity, machine: Identity) -> Record:
    """Return a report that its author has sent to nobody yet."""
    found = WrongResults(machine.peer_id, (SPAN.start, SPAN.end), (8, TOKENS), (), 0.5, 0.002)
    return read_record(there.nodes[by.peer_id].report(found))


async def confirmed(gate: MembersGate, record: bytes, accused: Accused, **request: Any) -> list[bytes]:
    """Return what an engine with this gate confirms after it was given the inputs of a report."""
    found: list[bytes] = []

    async def open_stream(*_: object, **__: object) -> Accused:
        return accused

    trials = Trials(SimpleNamespace(members=gate, open_stream=open_stream), found.append)  # type: ignore[arg-type]
    for _ in range(2):  # the second time changes nothing
        trials.hear(ForwardRequest("p", SPAN, HIDDEN, report=record, **request), 2 * HIDDEN, FLOAT32)
        await trials._background.wait()
    return found


async def test_a_computer_that_is_wrong_again_is_confirmed_once(there: World) -> None:
    record, liar = reported(there, BOB, EVE), Accused(lambda hidden: 2.1 * hidden)
    assert await confirmed(there.nodes[ANA.peer_id], record.data, liar) == [record.hash]
    assert len(liar.asked) == 1
    assert liar.asked[0].report == b""
    assert reports_in([record.data], EVE.public_key)
    assert not reports_in([record.data], BOB.public_key)


async def test_invented_reports_are_not_confirmed_and_ordinary_members_try_nobody(there: World) -> None:
    record, honest = reported(there, BOB, EVE), Accused(lambda hidden: 2 * hidden)
    assert await confirmed(there.nodes[ANA.peer_id], record.data, honest) == []
    assert len(honest.asked) == 1
    nobody = Accused(lambda hidden: 2.1 * hidden)
    assert await confirmed(there.nodes[BOB.peer_id], record.data, nobody) == []
    assert nobody.asked == []


async def test_what_is_no_report_of_these_blocks_asks_nobody(there: World) -> None:
    gate, liar = there.nodes[ANA.peer_id], Accused(lambda hidden: 2.1 * hidden)
    found = WrongResults(EVE.peer_id, (SPAN.start, SPAN.end), (8, TOKENS), (), 0.5, 0.002)
    other = there.nodes[BOB.peer_id].report(replace(found, blocks=(0, 2)))
    named = gate.roster.swarm_key, person(gate, "Bob").key, EVE.public_key
    forged = write_report(*named, replace(found, tokens=(0, TOKENS)), CEM.private_key, NOW_S + 1)
    for record in (b"", b"junk", other, forged.data):
        assert await confirmed(gate, record, liar) == []
    assert liar.asked == []


async def test_guests_report_nobody(there: World) -> None:
    made = invited(there.memberships[ANA.peer_id])[1]
    guest = there.node(joined(made, "Gus", CEM).for_node(), CEM)
    assert guest.report(WrongResults(EVE.peer_id, (0, 4), (8, TOKENS), (), 0.5, 0.002)) == b""
