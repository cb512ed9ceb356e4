"""Which servers a client goes to, with what they quote, what it remembers, and how they keep their pace."""

from typing import Any

import pytest
import torch
from helpers.block_server import BlockServer
from helpers.client_world import World, prompt, world
from msgspec.structs import replace
from transformers import PreTrainedModel

from potluck.audit.choices import CLEAN_AUDITS
from potluck.client.session import hop
from potluck.client.session.pieces import page_fingerprints
from potluck.directory.directory import Directory
from potluck.membership.identity import Identity
from potluck.protocol.blocks import PeerId, PersonId
from potluck.protocol.codes import Code, RemoteError
from potluck.protocol.messages import Quote
from potluck.protocol.records import Heartbeat, ServerState
from potluck.routing import experience
from potluck.routing.experience import opening_silence_s

ONE = {"max_new_tokens": 1, "do_sample": False}
SLOW_S = 0.2  # a step; 4 blocks at 100 steps a second are promised: 41 ms


def greedy(tokens: int) -> dict[str, object]:
    return {"max_new_tokens": tokens, "do_sample": False}


def busy(server: BlockServer) -> Quote:
    return Quote(batch=50, step_ms=400.0, queue_ms=200.0, free_tokens=100_000)


def full(server: BlockServer) -> Quote:
    return Quote(batch=0, step_ms=0.0, queue_ms=0.0, free_tokens=0)


def refusing(server: BlockServer) -> Quote:
    raise RemoteError(Code.BUSY, "too much to do", retry_after_s=60.0)


@pytest.fixture(autouse=True)
def calm(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let servers be slow here, but not late with their first answers."""
    monkeypatch.setattr(hop, "opening_silence_s", lambda *_: 600.0)


def look_around(there: World) -> None:
    """Let the client know all servers and how far away they are."""

    async def look() -> None:
        servers = there.client.servers
        await servers.refresh()
        assert servers._pinging is not None
        await servers._pinging

    there.client.run(look())
    there.client.run(look())  # a look that was under way before knew less


def serving(there: World) -> BlockServer:
    (server,) = there.serving()
    return server


def test_a_server_of_somebody_on_probation_serves_only_where_there_is_no_other(local: PreTrainedModel) -> None:
    with world("0:4", "0:4") as there:
        newcomer, other = there.servers
        there.network.on_probation = {newcomer.record.peer_id}
        other.on_quote = busy
        there.model.generate(prompt(), **ONE)
        assert serving(there) is other
        for _ in range(CLEAN_AUDITS):
            there.client.servers.record_clean_audit(PersonId(newcomer.peer_id))
        there.model.generate(prompt(), **ONE)
        assert serving(there) is newcomer
    with world("0:4", "0:2") as there:
        newcomer, _ = there.servers
        there.network.on_probation = {newcomer.record.peer_id}
        assert torch.equal(there.model.generate(prompt(), **greedy(3)), local.generate(prompt(), **greedy(3)))


@pytest.mark.parametrize("on_quote", [busy, full, refusing])
def test_who_quotes_less_gets_the_session_whatever_the_records_say(on_quote: Any) -> None:
    for loaded in (0, 1):
        with world("0:4", "0:4") as there:
            there.servers[loaded].on_quote = on_quote
            there.model.generate(prompt(), **ONE)
            assert serving(there) is there.servers[1 - loaded]


def test_invented_servers_neither_serve_nor_choose_the_weights_nor_cost_time(local: PreTrainedModel) -> None:
    ghosts = [Identity.generate() for _ in range(40)]
    names = {identity.peer_id for identity in ghosts}

    def person_of(peer: PeerId, ticket: bytes = b"", /) -> PersonId | None:
        return PersonId("mallory" if peer in names else peer)

    with world("0:4", "0:4", person_of=person_of) as there:

        async def invent() -> None:
            for identity in ghosts:
                host = there.network.start(identity)
                directory = Directory(host, there.swarm, identity)
                record = replace(there.servers[0].record, peer_id=host.peer_id, inference_tps=1e9)
                await directory.announce(replace(record, block_digests=("f" * 16,) * 4))
                await directory.heartbeat(Heartbeat(host.peer_id, ServerState.ONLINE, cache_tokens_left=100_000))
                host.freeze()
            await there.client.servers.refresh()

        there.client.run(invent())
        assert torch.equal(there.model.generate(prompt(), **greedy(3)), local.generate(prompt(), **greedy(3)))
        assert serving(there) in there.servers


def test_a_quote_is_about_the_sessions_own_rows_and_tokens() -> None:
    with world("0:3", "1:4") as there:  # every route needs both; they differ in where one follows the other
        there.model.generate(prompt(batch=2), **ONE)
        asked = {str(server.blocks.span): server.quotes for server in there.servers}
    for span, (quote,) in asked.items():
        assert (str(quote.span), quote.rows, quote.tokens) == (span, 2, 8)
        assert quote.caller.revision_digest is not None


def test_where_there_is_no_choice_nobody_is_asked() -> None:
    with world("0:2", "2:4") as there:
        there.model.generate(prompt(), **ONE)
        assert [server.quotes for server in there.servers] == [[], []]


def test_a_prompt_that_begins_like_an_earlier_one_goes_to_the_same_server() -> None:
    text = prompt(tokens=40)
    with world("0:4", "0:4", "0:4") as there:
        there.model.generate(text, **ONE)
        first = serving(there)
        first.on_quote = lambda server: Quote(0, 48.0, 5.0, 100_000)  # a little worse than the others
        for seed in range(4):
            there.model.generate(torch.cat([text, prompt(tokens=3, seed=seed)], 1), **ONE)
            assert serving(there) is first
        there.model.generate(prompt(tokens=40, seed=9), **ONE)
        assert serving(there) is not first, "another prompt goes where it is better"
        first.on_quote = busy
        there.model.generate(text, **ONE)
        assert serving(there) is not first, "and a known one too if that is much better"


def test_fingerprints_are_one_a_full_page_and_tell_texts_apart() -> None:
    hidden = torch.arange(2 * 40 * 64, dtype=torch.float32).view(2, 40, 64)
    chain = page_fingerprints(hidden)
    assert len(chain) == len(set(chain)) == 2
    assert page_fingerprints(hidden[:, :39]) == chain
    assert page_fingerprints(hidden[:, :15]) == ()
    other = hidden.clone()
    other[1, 20, 0] += 1
    assert page_fingerprints(other)[0] == chain[0]
    assert page_fingerprints(other)[1] != chain[1]


def test_how_late_a_first_answer_may_be_follows_from_the_way_the_work_and_the_bytes() -> None:
    near = opening_silence_s(0.01, 0.0, 10_000)
    assert near == opening_silence_s(0.001, 0.0, 10_000) < 0.5
    assert opening_silence_s(0.3, 0.0, 10_000) > 1.2
    assert opening_silence_s(0.01, 2.0, 10_000) > 8
    assert opening_silence_s(0.01, 0.0, 5_000_000) > 8


def test_a_server_that_becomes_slow_is_left_in_mid_session_with_the_same_tokens(local: PreTrainedModel) -> None:
    with world("0:4", "0:4") as there, there.model.session(max_length=120) as session:
        look_around(there)
        text = there.model.generate(prompt(), session=session, **greedy(10))
        slow = serving(there)
        slow.delay_s = lambda server: SLOW_S
        for _ in range(60):
            text = there.model.generate(text, session=session, **ONE)
            if serving(there) is not slow:
                break
        left = there.replaced()[-1]  # and perhaps others before, on a busy machine
        assert left.peer_id == slow.peer_id
        assert "slow" in str(left.replaced_because)
        text = there.model.generate(text, session=session, **greedy(10))
        assert there.client.run(is_idle(slow))
        starts = [step.start_from_position for step in serving(there).steps]
        assert starts == sorted(set(starts)), "nothing was given twice, nobody waited for a replay"
    assert torch.equal(text, local.generate(prompt(), **greedy(text.shape[1] - 7)))


async def is_idle(server: BlockServer) -> bool:
    await server.wait_idle()
    return True


def test_a_session_moves_to_a_much_better_server_that_came_later(
    local: PreTrainedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(experience, "_LOOK_EVERY_S", 0.0)
    with world("0:4", inference_tps=50.0) as there, there.model.session(max_length=120) as session:
        (first,) = there.servers
        first.delay_s = lambda server: 0.08  # as it promised
        text = there.model.generate(prompt(), session=session, **greedy(2))
        better = there.add_server(first.blocks.span, inference_tps=1000.0)
        look_around(there)
        for _ in range(60):
            text = there.model.generate(text, session=session, **ONE)
            if serving(there) is better:
                break
        assert serving(there) is better
    assert torch.equal(text, local.generate(prompt(), **greedy(text.shape[1] - 7)))
