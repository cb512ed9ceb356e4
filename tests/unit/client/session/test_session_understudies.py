"""A long session feeds an understudies, which takes over without a full replay."""

import asyncio
from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from helpers.block_server import BlockServer
from helpers.client_world import PATIENT, World, prompt, world
from helpers.misdeeds import kill
from helpers.server_records import server_of
from transformers import PreTrainedModel

from potluck.client.config import ClientConfig
from potluck.client.session import understudies
from potluck.client.session.replacements import choose_idle, replay_s
from potluck.protocol.blocks import PeerId, PersonId, Span
from potluck.protocol.codes import Code, RemoteError
from potluck.protocol.messages import StepRequest
from potluck.routing.experience import Pace
from potluck.routing.route import RouteHop

LONG = 400  # tokens, whose replay takes more than a second at the speed that these servers announce
ONE = {"max_new_tokens": 1, "do_sample": False}


def loaded_server(name: str = "a", *, free: int = 10_000, digest: str = "d", **load: float) -> RouteHop:
    beat, known = {"cache_tokens_left": free} | load, (digest,) * 2
    server = server_of(name, 0, 2, forward_tps=1000.0, network_tps=1000.0, block_digests=known, beat=beat)
    return RouteHop(server, Span(0, 2))


def test_the_nearest_server_that_is_idle_and_has_room_is_chosen() -> None:
    near, far = loaded_server("near"), loaded_server("far")
    rtts_s = {PeerId("near"): 0.01, PeerId("far"): 0.05}
    assert choose_idle([far, near], LONG, rtts_s) is near
    for why in ({"free": LONG}, {"batch": 9}, {"queue_ms": 100.0}, {"digest": ""}):
        unfit = loaded_server("near", **why)
        assert choose_idle([unfit, far], LONG, rtts_s) is far
        assert choose_idle([unfit], LONG, rtts_s) is None


def test_a_session_whose_replay_is_quick_has_none() -> None:
    assert replay_s(loaded_server(), 100) == pytest.approx(0.3)
    assert choose_idle([loaded_server()], 100, {}) is None


def spare_of(there: World) -> BlockServer | None:
    return next((server for server in there.servers if any(step.is_spare for step in server.steps)), None)


def decode_until(there: World, session: object, text: torch.Tensor, holds: Callable[[int], bool]) -> torch.Tensor:
    """One token after another until `holds` of the length of the text."""
    for _ in range(400):
        text = there.model.generate(text, session=session, **ONE)
        if holds(text.shape[1]):
            return text
        there.client.run(asyncio.sleep(0.02))
    raise AssertionError("it does not come")


def decode_until_fed(there: World, session: object) -> torch.Tensor:
    """One token after another until a spare server has all but a few."""

    def is_fed(length: int) -> bool:
        spare = spare_of(there)
        return spare is not None and spare.steps[-1].start_from_position + 192 >= length

    return decode_until(there, session, prompt(tokens=LONG), is_fed)


def test_an_understudy_takes_over_with_what_it_has(local: PreTrainedModel) -> None:
    with world("0:2", "2:4", "2:4") as there, there.model.session(max_length=500) as session:
        text = decode_until_fed(there, session)
        spare, lost = spare_of(there), there.serving()[1]
        assert spare is not None
        assert spare is not lost
        before = sum(step.hidden.shape[1] for step in spare.steps)
        lost.on_step = kill
        got = there.model.generate(text, session=session, max_new_tokens=5, do_sample=False)
        assert there.serving()[1] is spare
        taken = spare.steps[-5:]
        assert not any(step.is_spare for step in taken)
        assert sum(step.hidden.shape[1] for step in spare.steps) - before < 200, "and not all"
        assert torch.equal(
            got, local.generate(prompt(tokens=LONG), max_new_tokens=got.shape[1] - LONG, do_sample=False)
        )


def test_a_comparison_that_finds_nothing_else_keeps_what_the_understudy_has(
    local: PreTrainedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "potluck.client.audits.auditing.audit_chance", lambda *_: 0.0
    )  # an audit may open a session, too
    with world("0:4", "0:4") as there, there.model.session(max_length=500) as session:
        text = decode_until_fed(there, session)
        spare, (lost,) = spare_of(there), there.serving()
        assert spare is not None
        monkeypatch.setattr(Pace, "is_due", lambda pace, now: True)
        text = there.model.generate(text, session=session, max_new_tokens=20, do_sample=False)
        lost.on_step = kill
        text = there.model.generate(text, session=session, max_new_tokens=3, do_sample=False)
        assert there.serving() == [spare]
        assert sum(step.opening is not None for step in spare.steps) == 1, "it was given everything again"
    assert torch.equal(text, local.generate(prompt(tokens=LONG), max_new_tokens=text.shape[1] - LONG, do_sample=False))


def test_an_understudy_takes_over_from_a_leaving_one_before_that_is_gone(local: PreTrainedModel) -> None:
    with world("0:4", "0:4", "0:4", inference_tps=1.0) as there, there.model.session(max_length=500) as session:
        text = decode_until_fed(there, session)
        spare, (leaving,) = spare_of(there), there.serving()
        assert spare is not None
        leaving.is_leaving = True
        text = decode_until(there, session, text, lambda _: bool(there.replaced()))
        assert there.serving() == [spare]
        (route,) = there.model.last_route()
        assert 0 < route.hops[0].replayed_tokens <= 20, "it was fed before, and nobody waited for a replay"
        there.client.run(leaving.wait_idle())
    assert torch.equal(text, local.generate(prompt(tokens=LONG), max_new_tokens=text.shape[1] - LONG, do_sample=False))


def test_an_understudy_that_leaves_too_is_left(local: PreTrainedModel) -> None:
    with world("0:4", "0:4", "0:4", inference_tps=1.0) as there, there.model.session(max_length=500) as session:
        text = decode_until_fed(there, session)
        spare, (leaving,) = spare_of(there), there.serving()
        assert spare is not None
        leaving.is_leaving = spare.is_leaving = True
        (third,) = [server for server in there.servers if server not in (spare, leaving)]
        text = decode_until(there, session, text, lambda _: there.serving() == [third])
    assert torch.equal(text, local.generate(prompt(tokens=LONG), max_new_tokens=text.shape[1] - LONG, do_sample=False))


def test_what_a_session_takes_back_is_given_again(local: PreTrainedModel) -> None:
    with world("0:4", "0:4") as there, there.model.session(max_length=500) as session:
        text = decode_until_fed(there, session)
        there.serving()[0].on_step = kill
        other = torch.cat([text[:, : LONG - 50], prompt(tokens=20, seed=3)], 1)
        session.rewind(LONG - 50)
        got = there.model.generate(other, session=session, max_new_tokens=5, do_sample=False)
        assert torch.equal(got, local.generate(other, max_new_tokens=5, do_sample=False))


def test_an_understudy_of_a_person_who_was_found_wrong_is_left(
    local: PreTrainedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("potluck.client.audits.auditing.audit_chance", lambda *_: 0.0)
    with world("0:2", "2:4", "2:4", "2:4") as there, there.model.session(max_length=500) as session:
        text = decode_until_fed(there, session)
        spare = spare_of(there)
        assert spare is not None
        there.client.servers.distrust(PersonId(spare.peer_id))
        spare.tamper = torch.neg
        there.serving()[1].on_step = kill
        text = there.model.generate(text, session=session, max_new_tokens=5, do_sample=False)
        assert all(step.is_spare for step in spare.steps)  # one that was sent before may come only now
    assert torch.equal(text, local.generate(prompt(tokens=LONG), max_new_tokens=text.shape[1] - LONG, do_sample=False))


def test_an_understudy_is_fed_on_after_a_step_that_wanted_it_was_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("potluck.client.audits.auditing.audit_chance", lambda *_: 0.0)
    with world("0:4", "0:4") as there, there.model.session(max_length=500) as session:
        text = decode_until_fed(there, session)
        (inner,) = session.cache._sessions
        (each,) = inner._understudies._of.values()
        each.is_wanted.set()
        decode_until(there, session, text, lambda length: each.fed >= text.shape[1])


@pytest.mark.parametrize("why", ["the same person's", "exact", "nobody else is to see the text"])
def test_no_server_stands_by_that_cannot_or_must_not(why: str, local: PreTrainedModel) -> None:
    def person_of(peer: PeerId, ticket: bytes = b"", /) -> PersonId | None:
        return PersonId("ana" if why == "the same person's" else peer)

    configs = {"exact": replace(PATIENT, exact=True), "nobody else is to see the text": replace(PATIENT, audits="off")}
    config: ClientConfig = configs.get(why, PATIENT)
    with world("0:4", "0:4", config=config, person_of=person_of) as there:
        with there.model.session(max_length=500) as session:
            text = there.model.generate(prompt(tokens=LONG), session=session, max_new_tokens=8, do_sample=False)
            assert spare_of(there) is None
        assert torch.equal(text, local.generate(prompt(tokens=LONG), max_new_tokens=8, do_sample=False))


def test_a_server_that_refuses_to_stand_by_is_not_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(understudies, "_RETRY_TOKENS", 1)
    refusals = []

    def refuse_spares(server: BlockServer, request: StepRequest) -> None:
        if request.is_spare:
            refusals.append(server.peer_id)
            raise RemoteError(Code.TOO_LONG, "not for this session")

    with world("0:2", "2:4", "2:4") as there, there.model.session(max_length=500) as session:
        for server in there.servers:
            server.on_step = refuse_spares
        text = decode_until(there, session, prompt(tokens=LONG), lambda length: bool(refusals))
        decode_until(there, session, text, lambda length: length > text.shape[1] + 40)
    assert len(refusals) == 1
