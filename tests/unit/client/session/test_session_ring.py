"""Steps that go around a ring of real engines on the fake network: the same tokens, whatever fails."""

import asyncio
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from helpers.client_world import PATIENT, prompt
from helpers.ringed import WATCHFUL, ringed
from helpers.streamers import At
from msgspec import structs
from potluck_engine.serving import session_stream
from potluck_engine.serving.pushing import Pusher
from transformers import PreTrainedModel

from potluck.client.calls import StepStream
from potluck.client.session import hop, pieces
from potluck.client.session.hop import HopLinks, open_links
from potluck.client.session.ring import Ring
from potluck.protocol.blocks import PeerId, Span
from potluck.protocol.messages import PushLink, StepRequest
from potluck.routing.experience import Pace

GREEDY = {"max_new_tokens": 12, "do_sample": False, "eos_token_id": None, "pad_token_id": 0}
ROUTE = ("0:1", "1:2", "2:4")


class Seen:
    """Counts, by server, the steps that came with hidden states of the client and those that were pushed."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.sent: list[StepRequest] = []
        self.pushed = self.packed = 0
        real_send, real_push = StepStream.send, Pusher.push

        async def send(stream: StepStream, request: StepRequest, *, has_reader: bool = False) -> None:
            if request.hidden is not None:
                self.sent.append(request)
            await real_send(stream, request, has_reader=has_reader)

        def push(pusher: Pusher, number: int, output: torch.Tensor, packed: torch.Tensor | None) -> bool:
            was_pushed = real_push(pusher, number, output, packed)
            self.pushed += was_pushed
            self.packed += was_pushed and packed is not None
            return was_pushed

        monkeypatch.setattr(StepStream, "send", send)
        monkeypatch.setattr(Pusher, "push", push)


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> Seen:
    return Seen(monkeypatch)


def test_once_the_links_are_open_the_client_sends_hidden_states_to_the_first_server_only(
    local: PreTrainedModel, seen: Seen
) -> None:
    with ringed(*ROUTE) as there:
        assert torch.equal(there.model.generate(prompt(), **GREEDY), local.generate(prompt(), **GREEDY))
    steps = GREEDY["max_new_tokens"]
    assert seen.pushed >= 2 * (steps - 5)
    assert len(seen.sent) == 3 * steps - seen.pushed


def test_prompts_of_later_turns_rewinds_and_rows_are_pushed_too(local: PreTrainedModel, seen: Seen) -> None:
    text = prompt(batch=2)
    with ringed(*ROUTE) as there, there.model.session(max_length=80) as session:
        first = there.model.generate(text, session=session, **GREEDY)
        longer = torch.cat([first, prompt(batch=2, tokens=9, seed=1)], dim=1)
        assert torch.equal(there.model.generate(longer, session=session, **GREEDY), local.generate(longer, **GREEDY))
        assert any(request.hidden.shape[1] == 10 for request in seen.sent)
        session.rewind(5)
        other = torch.cat([text[:, :5], prompt(batch=2, tokens=4, seed=2)], dim=1)
        before = len(seen.sent)
        assert torch.equal(there.model.generate(other, session=session, **GREEDY), local.generate(other, **GREEDY))
    assert len(seen.sent) - before == GREEDY["max_new_tokens"]


@pytest.mark.parametrize("lost", [None, 40])
def test_pieces_of_a_long_prompt_are_pushed(
    local: PreTrainedModel, seen: Seen, monkeypatch: pytest.MonkeyPatch, lost: int | None
) -> None:
    """A piece that gets lost, and those after it, come from the client."""
    monkeypatch.setattr(pieces, "_LEAST_TOKENS", 16)
    count = 0
    push = Pusher.push

    def lose(pusher: Pusher, number: int, output: torch.Tensor, packed: torch.Tensor | None) -> bool:
        nonlocal count
        count += output.shape[1] == 16
        return push(pusher, number, output, packed) if lost is None or count != 5 or output.shape[1] != 16 else True

    monkeypatch.setattr(Pusher, "push", lose)
    with ringed(*ROUTE, config=PATIENT if lost is None else WATCHFUL) as there:
        with there.model.session(max_length=200) as session:
            first = there.model.generate(prompt(), session=session, **GREEDY)
            before, brought = seen.pushed, len(seen.sent)
            text = torch.cat([first, prompt(tokens=100, seed=4)], dim=1)
            assert torch.equal(there.model.generate(text, session=session, **GREEDY), local.generate(text, **GREEDY))
        assert not there.replaced()
    if lost is None:
        steps = GREEDY["max_new_tokens"] - 1 + 7
        assert seen.pushed - before == 2 * steps
        assert len(seen.sent) - brought == steps
    else:
        assert seen.pushed - before >= 8


@pytest.fixture
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nobody be late, and make small pieces worth it."""
    monkeypatch.setattr(pieces, "_LEAST_TOKENS", 16)
    monkeypatch.setattr(hop, "opening_silence_s", lambda *_: 600.0)
    monkeypatch.setattr(Pace, "patience", lambda pace, most: most)
    monkeypatch.setattr(Pace, "is_due", lambda pace, now: False)


@pytest.mark.timeout(60)
@pytest.mark.usefixtures("unhurried")
def test_answers_that_come_all_together_keep_no_flow_waiting(
    local: PreTrainedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    has_held, answer = False, StepStream.answer

    async def hold_first(stream: StepStream, like: tuple[int, ...], *args: Any, **options: Any) -> Any:
        nonlocal has_held
        if stream._peer == last and like[1] == 16 and not has_held:
            has_held = True
            while len(stream._stream._frames) < 3:  # type: ignore[attr-defined]  # noqa: ASYNC110 (nobody is told)
                await asyncio.sleep(0)
            await asyncio.sleep(0.3)  # the server before has computed and pushed all
        return await answer(stream, like, *args, **options)

    with ringed("0:2", "2:4") as there, there.model.session(max_length=200) as session:
        first = there.model.generate(prompt(), session=session, **GREEDY)
        last = there.serving()[1].host.peer_id
        text = torch.cat([first, prompt(tokens=100, seed=4)], dim=1)
        monkeypatch.setattr(StepStream, "answer", hold_first)
        assert torch.equal(there.model.generate(text, session=session, **GREEDY), local.generate(text, **GREEDY))
    assert has_held


@pytest.mark.timeout(60)
@pytest.mark.usefixtures("unhurried")
def test_a_server_that_keeps_announced_pieces_is_sent_no_more_than_it_reads(
    local: PreTrainedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server in the middle dies, and the one behind it, which is slow, has its announcements still."""
    begin, answered, lost = session_stream.ServedSession._begin, session_stream.ServedSession._on_done, False

    def die(session: session_stream.ServedSession, asked: Any, hidden: torch.Tensor) -> None:
        nonlocal lost
        if hidden.shape[1] > 1 and session.memory.span == Span(1, 2) and is_long and not lost:
            lost = True
            asyncio.get_running_loop().call_later(0.1, middle.host.kill)  # type: ignore[attr-defined]
        else:
            begin(session, asked, hidden)

    def answer_slowly(session: session_stream.ServedSession, step: Any, error: Any) -> None:
        delay_s = 0.1 if is_long and step.tokens > 1 and session.memory.span == Span(2, 4) else 0.0
        asyncio.get_running_loop().call_later(delay_s, answered, session, step, error)

    monkeypatch.setattr(session_stream.ServedSession, "_begin", die)
    monkeypatch.setattr(session_stream.ServedSession, "_on_done", answer_slowly)
    is_long = False
    with ringed("0:1", "1:2", "1:2", "2:4", config=WATCHFUL) as there:
        with there.model.session(max_length=400) as session:
            first = there.model.generate(prompt(), session=session, **GREEDY)
            middle = there.serving()[1]
            text, is_long = torch.cat([first, prompt(tokens=200, seed=4)], dim=1), True
            assert torch.equal(there.model.generate(text, session=session, **GREEDY), local.generate(text, **GREEDY))
        assert [report.span for report in there.replaced()] == [Span(1, 2)]


def test_beam_search_gives_the_local_tokens(local: PreTrainedModel) -> None:
    beams = {**GREEDY, "num_beams": 3}
    with ringed(*ROUTE) as there:
        assert torch.equal(there.model.generate(prompt(), **beams), local.generate(prompt(), **beams))


@pytest.mark.parametrize(
    ("position", "packing", "is_large"),
    [(0, "on", False), (1, "off", False), (2, "on", True)],
)
def test_a_server_that_dies_between_pushing_servers_changes_no_token(
    position: int, packing: str, is_large: bool, seen: Seen, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor in a packed session, also where hidden states are packed in a thread."""
    monkeypatch.setattr(session_stream, "LARGE_BYTES", 0 if is_large else 1 << 30)

    config, generated = replace(PATIENT, packing=packing), []
    for is_killed in (False, True):
        streamer = At(7 if is_killed else (), lambda: there.client.run(there.kill(position)))
        spare = ROUTE[position : position + 1] if is_killed else ()
        with ringed(*ROUTE, *spare, config=config) as there:
            generated.append(there.model.generate(prompt(), streamer=streamer, **GREEDY))
            assert len(there.replaced()) == is_killed
    assert torch.equal(*generated)
    assert seen.pushed > 10
    assert seen.packed == (seen.pushed if packing == "on" else 0)
    assert all(bool(request.packed) == (packing == "on") for request in seen.sent)


def test_a_push_that_does_not_come_is_brought_by_the_client_and_its_link_rests(
    local: PreTrainedModel, seen: Seen, monkeypatch: pytest.MonkeyPatch
) -> None:
    lost: list[int] = []

    def lose(pusher: Pusher, number: int, output: torch.Tensor, packed: torch.Tensor | None) -> bool:
        lost.append(number)
        return True

    monkeypatch.setattr(Pusher, "push", lose)
    with ringed(*ROUTE, config=WATCHFUL) as there:
        assert torch.equal(there.model.generate(prompt(), **GREEDY), local.generate(prompt(), **GREEDY))
        assert not there.replaced()
    assert 1 <= len(lost) <= 2
    assert [request.awaited is not None for request in seen.sent].count(True) == len(lost)


def test_a_server_that_pushes_other_values_than_it_answers_is_found_out(
    local: PreTrainedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    lies: list[int] = []
    real = Pusher.push

    def lie(pusher: Pusher, number: int, output: torch.Tensor, packed: torch.Tensor | None) -> bool:
        lies.append(number)
        return real(pusher, number, output + 1, packed)

    monkeypatch.setattr(Pusher, "push", lie)
    with ringed("0:2", "2:4") as there:
        assert torch.equal(there.model.generate(prompt(), **GREEDY), local.generate(prompt(), **GREEDY))
        assert not there.replaced()
    assert len(lies) == 1


def test_an_older_server_in_the_middle_costs_only_its_own_neighbours(
    local: PreTrainedModel, seen: Seen, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = session_stream.ServedSession._begin

    def begin(session: session_stream.ServedSession, asked: Any, hidden: torch.Tensor) -> None:
        if session.memory.span == Span(0, 1):
            asked.request = structs.replace(asked.request, push_to=None, pushed_by=None)
        real(session, asked, hidden)

    monkeypatch.setattr(session_stream.ServedSession, "_begin", begin)
    with ringed(*ROUTE) as there:
        assert torch.equal(there.model.generate(prompt(), **GREEDY), local.generate(prompt(), **GREEDY))
    assert GREEDY["max_new_tokens"] - 5 <= seen.pushed < GREEDY["max_new_tokens"]


# -- decisions ---------------------------------------------------------------------------------------------------------


class Told:
    """A hop as a ring sees it."""

    def __init__(self, name: str) -> None:
        self.peer_id = PeerId(name)
        self.links = HopLinks()
        self.speaks_packed, self.opening = False, SimpleNamespace(packs=False)

    def can_take_whole(self, position: int, num_tokens: int) -> bool:
        return num_tokens < 10


def told(ring: Ring, one: Any, other: Any, now: float) -> dict[str, PushLink]:
    """What the two are told."""
    ring.connect(one, other, now)
    said = one.links.pending | other.links.pending
    one.links.pending.clear()
    other.links.pending.clear()
    return said


def test_the_receiver_is_told_first_and_both_with_one_secret() -> None:
    ring, one, other = Ring(), Told("a"), Told("b")
    first = told(ring, one, other, now=0)
    assert other.links.awaits is not None
    assert first == {"pushed_by": PushLink(PeerId("a"), other.links.awaits.secret)}
    assert told(ring, one, other, now=1) == {"push_to": PushLink(PeerId("b"), other.links.awaits.secret)}
    hops: list[Any] = [one, other]
    assert open_links(hops, 5, 1) == []
    one.links.can_push = True
    assert open_links(hops, 5, 1) == [(one, other)]
    assert open_links(hops, 5, 10) == []
    other.links = HopLinks()  # its stream has ended
    assert open_links(hops, 5, 1) == []


def test_a_link_that_fails_or_does_not_open_rests_twice_as_long_each_time_and_gets_another_secret() -> None:
    ring, one, other = Ring(), Told("a"), Told("b")
    told(ring, one, other, now=0)
    first = other.links.awaits
    told(ring, one, other, now=0)
    told(ring, one, other, now=10)
    assert one.links.receiver is other.links
    told(ring, one, other, now=11)  # it has not opened
    assert (one.links.receiver, other.links.awaits) == (None, None)
    told(ring, one, other, now=40)
    assert other.links.awaits is None
    told(ring, one, other, now=42)
    assert other.links.awaits not in (None, first)
    ring.record_failure(one, other, 50)  # type: ignore[arg-type]
    told(ring, one, other, now=109)
    assert other.links.awaits is None
    told(ring, one, other, now=110)
    assert other.links.awaits is not None


def test_a_link_that_carried_other_values_is_never_used_again() -> None:
    ring, one, other = Ring(), Told("a"), Told("b")
    told(ring, one, other, now=0)
    ring.distrust(one, other)  # type: ignore[arg-type]
    told(ring, one, other, now=1e9)
    assert other.links.awaits is None
