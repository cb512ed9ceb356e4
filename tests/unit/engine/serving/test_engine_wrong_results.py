"""A leader's engine finds out by itself whether a report of wrong results is right."""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from helpers.members import NOW_S, World, invited, joined, person
from potluck_engine.serving.audits import Rechecks, reports_in
from torch import Tensor

from potluck.audit.choices import WINDOW_TOKENS
from potluck.membership.gate import MembersGate
from potluck.membership.identity import Identity
from potluck.membership.records import Record, Report, WrongResults, read_record, write_report
from potluck.protocol.blocks import PeerId, Span
from potluck.protocol.codes import Code, RemoteError
from potluck.protocol.messages import Caller, ForwardRequest, TensorReply
from potluck.protocol.records import NumberFormat
from potluck.wire.calls import RequestJoiner
from potluck.wire.message import Limits

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
            assert request.last_tokens is not None
            output = self._answer(request.hidden)[:, -request.last_tokens :].contiguous()
            frames = self._joiner.encode_reply(TensorReply((output,)))
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


async def confirmed(
    gate: MembersGate,
    record: bytes,
    accused: Accused,
    compute: Callable[[Tensor], Tensor] = lambda hidden: 2 * hidden,
    form: NumberFormat = FLOAT32,
    by: Identity = BOB,
    **request: Any,
) -> list[bytes]:
    """Return which computers an engine with this gate confirms after `by` gave it the inputs of a report."""
    found: list[Report] = []

    async def computed(asked: ForwardRequest) -> Tensor:
        assert asked.last_tokens is not None
        return compute(asked.hidden)[:, -asked.last_tokens :]

    async def format_of(_: object) -> NumberFormat:
        return form

    async def open_stream(*_: object, **__: object) -> Accused:
        return accused

    host: Any = SimpleNamespace(members=gate, open_stream=open_stream)
    rechecks = Rechecks(host, computed, format_of, found.append)
    for _ in range(2):  # the second time changes nothing
        rechecks.receive(ForwardRequest("p", SPAN, HIDDEN, report=record, **request), PeerId(by.peer_id), FLOAT32)
        await rechecks._background.wait()
    assert all(report.person == person(gate, "Bob").key for report in found)
    return [report.machine for report in found]


async def test_a_computer_that_is_wrong_again_is_confirmed_once(there: World) -> None:
    record, liar = reported(there, BOB, EVE), Accused(lambda hidden: 2.1 * hidden)
    assert await confirmed(there.nodes[ANA.peer_id], record.data, liar) == [EVE.public_key]
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


async def test_a_computer_that_does_not_answer_keeps_others_waiting_once(there: World) -> None:
    def broken(_: Tensor) -> Tensor:
        raise RemoteError(Code.UNREACHABLE, "gone")

    record, silent = reported(there, BOB, EVE), Accused(broken)
    assert await confirmed(there.nodes[ANA.peer_id], record.data, silent) == []
    assert len(silent.asked) == 1


async def test_the_accused_is_asked_for_the_weights_and_the_adapter_that_the_leader_computes_with(there: World) -> None:
    record, honest = reported(there, BOB, EVE), Accused(lambda hidden: 2 * hidden)
    here = Caller("style@" + "1" * 64, "digest")
    assert await confirmed(there.nodes[ANA.peer_id], record.data, honest, caller=here) == []
    assert honest.asked[0].caller == here


async def test_another_number_format_says_nothing_and_asks_nobody(there: World) -> None:
    record, other = reported(there, BOB, EVE), Accused(lambda hidden: 2.1 * hidden)
    form = NumberFormat("bfloat16")
    assert await confirmed(there.nodes[ANA.peer_id], record.data, other, form=form) == []
    assert other.asked == []


async def test_inputs_that_make_honest_servers_differ_confirm_nothing(there: World) -> None:
    def sensitive(hidden: Tensor) -> Tensor:
        return hidden + 1e7 * (hidden - HIDDEN)

    record, honest = reported(there, BOB, EVE), Accused(lambda hidden: 1.5 * hidden)
    assert await confirmed(there.nodes[ANA.peer_id], record.data, honest, sensitive) == []
    assert len(honest.asked) == 1


async def test_an_answer_is_asked_for_as_it_is_computed_whatever_the_reporter_wants(there: World) -> None:
    record, honest = reported(there, BOB, EVE), Accused(lambda hidden: 2 * hidden)
    wanted = {"packs": True, "last_tokens": 1, "choices": torch.zeros((TOKENS, 4, 2), dtype=torch.int16), "margin": 0.1}
    assert await confirmed(there.nodes[ANA.peer_id], record.data, honest, **wanted) == []
    (asked,) = honest.asked
    assert (asked.packs, asked.last_tokens) == (False, WINDOW_TOKENS)
    assert asked.margin > 1e20  # or one of two honest servers might take over a choice that the other one does not


async def test_only_whoever_reports_has_a_computer_rechecked(there: World) -> None:
    record, liar = reported(there, BOB, EVE), Accused(lambda hidden: 2.1 * hidden)
    assert await confirmed(there.nodes[ANA.peer_id], record.data, liar, by=EVE) == []
    assert await confirmed(there.nodes[ANA.peer_id], record.data, liar, by=CEM) == []
    assert liar.asked == []


async def test_one_computer_is_rechecked_at_a_time(there: World) -> None:
    first, second = reported(there, BOB, EVE), reported(there, EVE, BOB)
    started: list[object] = []

    async def format_of(peer: object) -> None:
        started.append(peer)
        await asyncio.sleep(0)

    host: Any = SimpleNamespace(members=there.nodes[ANA.peer_id])
    rechecks = Rechecks(host, lambda _: pytest.fail("computed"), format_of, lambda _: None)
    rechecks.receive(ForwardRequest("p", SPAN, HIDDEN, report=first.data), PeerId(BOB.peer_id), FLOAT32)
    with pytest.raises(RemoteError, match="rechecked"):
        rechecks.receive(ForwardRequest("p", SPAN, HIDDEN, report=second.data), PeerId(EVE.peer_id), FLOAT32)
    await rechecks._background.wait()
    rechecks.receive(ForwardRequest("p", SPAN, HIDDEN, report=second.data), PeerId(EVE.peer_id), FLOAT32)
    await rechecks._background.wait()
    assert started == [EVE.peer_id, BOB.peer_id]


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
