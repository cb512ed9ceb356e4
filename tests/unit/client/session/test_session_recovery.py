"""Lost, hung and unwilling servers are replaced in mid-generation, and the same tokens come out."""

import pytest
import torch
from helpers.block_server import BlockServer
from helpers.client_world import HASTY, PATIENT, QUICK, World, prompt, world
from helpers.misdeeds import Misdeed, Once, freeze, kill, refuse
from transformers import PreTrainedModel

from potluck.errors import SwarmError
from potluck.protocol.blocks import Span
from potluck.protocol.codes import Code, RemoteError
from potluck.protocol.messages import StepRequest
from potluck.protocol.records import ServerState

GREEDY = {"max_new_tokens": 8, "do_sample": False}


def disturb(there: World, span: str, nth: int, misdeed: Misdeed) -> Once:
    """Let the servers of `span` misbehave, together once."""
    disturbance = Once(misdeed, nth=nth)
    for server in there.servers:
        if str(server.blocks.span) == span:
            server.on_step = disturbance
    return disturbance


MISDEEDS: dict[str, Misdeed] = {
    "killed": kill,
    "frozen": freeze,
    "failing": refuse(Code.INTERNAL),
    "draining": refuse(Code.DRAINING),
    "no numbers": lambda server, request: setattr(server, "tamper", lambda output: output * float("nan")),
    "another shape": lambda server, request: setattr(server, "tamper", lambda output: output[:, :, 1:]),
}


@pytest.mark.parametrize(("misdeed", "nth"), [*((misdeed, 2) for misdeed in MISDEEDS), ("killed", 1)])
def test_a_server_that_is_lost_in_mid_generation_is_replaced(local: PreTrainedModel, misdeed: str, nth: int) -> None:
    with world("0:1", "1:3", "1:3", "3:4", config=QUICK if misdeed == "frozen" else PATIENT) as there:
        lost = disturb(there, "1:3", nth, MISDEEDS[misdeed])
        assert torch.equal(there.model.generate(prompt(), **GREEDY), local.generate(prompt(), **GREEDY))
        assert lost.culprit is not None
        assert [hop.peer_id for hop in there.replaced()] == [lost.culprit.peer_id]
        for healthy in (there.servers[0], there.servers[3]):  # kept its cache: each token came once
            assert sum(step.hidden.shape[1] for step in healthy.steps) == prompt().shape[1] + 7


def test_a_session_goes_on_when_the_clients_own_node_ends_and_is_restarted(local: PreTrainedModel) -> None:
    with world("0:2", "2:4") as there:

        def misdeed(server: BlockServer, request: StepRequest) -> None:
            (mine,) = there.network.nodes.keys() - {each.peer_id for each in there.servers}
            there.network.nodes[mine].kill()

        disturb(there, "2:4", 3, misdeed)
        assert torch.equal(there.model.generate(prompt(), **GREEDY), local.generate(prompt(), **GREEDY))


def test_history_is_replayed_in_pieces_that_the_replacement_takes(local: PreTrainedModel) -> None:
    with world("0:4", max_batch_tokens=64) as there:
        small = there.add_server(there.servers[0].blocks.span, max_batch_tokens=4)
        there.servers[0].on_step = Once(kill, nth=6)
        small.on_step = Once(refuse(Code.NO_MEMORY, 0.0))  # if it should come first
        text = prompt(tokens=11)
        assert torch.equal(there.model.generate(text, **GREEDY), local.generate(text, **GREEDY))
        assert max(step.hidden.shape[1] for step in small.steps) <= 4


def test_beams_are_replayed_in_their_present_order(local: PreTrainedModel) -> None:
    options = {"max_new_tokens": 10, "num_beams": 3, "do_sample": False}
    with world("0:2", "2:4", "2:4") as there:
        disturb(there, "2:4", 7, kill)
        got = there.model.generate(prompt(batch=2), **options)
        assert torch.equal(got, local.generate(prompt(batch=2), **options))


def test_deep_prompts_go_along_to_several_replacement_servers() -> None:
    hidden, prompts = torch.rand(1, 9, 64), torch.rand(4, 1, 3, 64)
    outputs = []
    for is_lost in (False, True):
        with world("0:4") as there:
            session = there.client.new_session(40)
            there.client.run(session.step(hidden[:, :6], 0, prompts=prompts))
            for lost, spans in (("0:4", ("0:1", "1:4")), ("1:4", ("1:2", "2:4"))) if is_lost else ():
                disturb(there, lost, 1, kill)
                for span in spans:
                    there.add_server(Span.parse(span))
                there.client.run(session.step(hidden[:, 6:7], 6))
            outputs.append(there.client.run(session.step(hidden[:, 6:], 6)))
            assert len(session.route.hops) == (3 if is_lost else 1)
            there.client.run(session.close())
    torch.testing.assert_close(*outputs, rtol=1e-5, atol=1e-5)


def test_a_rollback_that_a_cache_cannot_do_is_replayed_at_the_same_server(local: PreTrainedModel) -> None:
    def refuse_rollbacks(server: BlockServer, request: StepRequest) -> None:
        before = server.steps[-2] if len(server.steps) > 1 else None
        if before is None or request.opening is not None:
            return
        if request.start_from_position < before.start_from_position + before.hidden.shape[1]:
            raise RemoteError(Code.ROLLBACK, "cannot go back")

    text = prompt(tokens=4).repeat(1, 3)
    with world("0:4") as there:
        there.servers[0].on_step = refuse_rollbacks
        got = there.model.generate(text, **GREEDY, prompt_lookup_num_tokens=3)
        assert torch.equal(got, local.generate(text, **GREEDY))
        assert not there.replaced()


def test_a_slow_server_that_answers_pings_is_waited_for(local: PreTrainedModel) -> None:
    with world("0:4", config=QUICK) as there:
        there.servers[0].delay_s = lambda server: 10 * QUICK.silence_before_ping_s if len(server.steps) == 3 else 0.0
        assert torch.equal(there.model.generate(prompt(), **GREEDY), local.generate(prompt(), **GREEDY))
        assert not there.replaced()


def test_a_full_server_is_waited_for_if_there_is_no_other(local: PreTrainedModel) -> None:
    with world("0:2", "2:4") as there:
        disturb(there, "2:4", 3, refuse(Code.BUSY, 0.1))
        assert torch.equal(there.model.generate(prompt(), **GREEDY), local.generate(prompt(), **GREEDY))


def test_one_server_that_calls_the_request_wrong_is_not_believed(local: PreTrainedModel) -> None:
    with world("0:4", "0:4") as there:
        disturb(there, "0:4", 2, refuse(Code.BAD_REQUEST))
        assert torch.equal(there.model.generate(prompt(), **GREEDY), local.generate(prompt(), **GREEDY))
        assert len(there.replaced()) == 1


@pytest.mark.parametrize("spans", [("0:4",), ("0:4", "0:4", "0:4")])
def test_two_servers_that_call_the_request_wrong_are_believed_and_so_is_the_only_one(spans: tuple[str, ...]) -> None:
    with world(*spans) as there:
        for server in there.servers:
            server.on_step = refuse(Code.BAD_REQUEST)
        with pytest.raises(RemoteError, match="not now"):
            there.model.generate(prompt(), **GREEDY)
        assert sum(len(server.steps) for server in there.servers) == min(len(spans), 2)


def test_blocks_that_nobody_serves_are_named_within_the_time_limit() -> None:
    with world("0:1", "2:3", config=HASTY) as there, pytest.raises(SwarmError, match="layers 2, 4"):
        there.model.generate(prompt(), **GREEDY)


def test_a_session_may_be_less_patient_than_its_model() -> None:
    with (
        world("0:2") as there,
        there.model.session(max_length=40, max_wait_s=0.1) as session,
        pytest.raises(SwarmError, match="layers 3-4"),
    ):
        there.model.generate(prompt(), session=session, **GREEDY)


def test_only_who_never_met_a_server_is_told_that_the_invite_may_be_old() -> None:
    with world(config=HASTY) as there, pytest.raises(SwarmError) as caught:
        there.model.generate(prompt(), **GREEDY)
    assert "your invite is out of date" in str(caught.value.hint)
    with world("0:4", config=HASTY) as there:
        there.model.generate(prompt(), **GREEDY)
        there.client.run(there.servers[0].announce(ServerState.OFFLINE))
        there.client.run(there.client.servers.refresh())
        with pytest.raises(SwarmError) as caught:
            there.model.generate(prompt(), **GREEDY)
    assert "invite" not in str(caught.value.hint)


def test_a_server_that_comes_while_one_waits_is_used(local: PreTrainedModel) -> None:
    with world("0:2", "2:4") as there:

        async def later() -> None:
            made = await BlockServer.start(there.network, there.swarm, there.folder, there.servers[1].blocks.span)
            there.servers.append(made)

        told: list[tuple[Span, ...]] = []

        def tell(missing: tuple[Span, ...]) -> None:
            told.append(missing)
            if missing:
                there.servers[0].host.spawn(later())

        there.model.tell_waits(tell)
        disturb(there, "2:4", 3, kill)
        assert torch.equal(there.model.generate(prompt(), **GREEDY), local.generate(prompt(), **GREEDY))
        assert told == [(Span(2, 4),), ()]


def test_the_only_server_that_leaves_and_comes_back_is_given_everything_again(local: PreTrainedModel) -> None:
    with world("0:2", "2:4") as there:
        disturb(there, "2:4", 4, refuse(Code.DRAINING))
        assert torch.equal(there.model.generate(prompt(), **GREEDY), local.generate(prompt(), **GREEDY))
        (route,) = there.model.last_route()
        assert [hop.replayed_tokens for hop in route.hops] == [0, 7 + 3]
        tokens = [step.hidden.shape[1] for step in there.servers[1].steps]
        assert tokens == [7, 1, 1, 1, 7 + 3, 1, 1, 1, 1]
