"""Routes through real engines on loopback: quotes before a session, and a move in mid-session."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
from helpers.golden import CHECKPOINT
from potluck_cli.local_swarm import LocalEngine, LocalSwarm
from transformers import PreTrainedModel

from potluck import AutoDistributedModelForCausalLM
from potluck.client.quoting import Quotes, Quoting
from potluck.client.remote import RemoteBlocks
from potluck.protocol.blocks import Span
from potluck.protocol.codes import Code
from potluck.protocol.messages import Caller

GREEDY = {"do_sample": False, "eos_token_id": None, "pad_token_id": 0}
ALL = Span(0, 4)
STOPPED_S, RUNNING_S = 0.3, 0.003  # a step of so small a model takes about as long as the engine runs at a time
MOST_TOKENS = 200


@pytest.fixture(scope="module")
def swarm() -> Iterator[LocalSwarm]:
    with LocalSwarm(CHECKPOINT, (ALL, ALL)) as made:
        yield made


@pytest.fixture(scope="module")
def model(swarm: LocalSwarm) -> Iterator[Any]:
    with AutoDistributedModelForCausalLM.from_pretrained(str(CHECKPOINT), swarm=swarm.invite) as made:
        yield made


@contextmanager
def slowed(engine: LocalEngine) -> Iterator[None]:
    """An engine that others keep from its processor nearly all the time."""
    is_over = threading.Event()

    def work() -> None:
        while not is_over.wait(RUNNING_S):
            engine.freeze()
            is_over.wait(STOPPED_S)
            engine.thaw()

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


def serving(swarm: LocalSwarm, model: Any) -> LocalEngine:
    (route,) = model.last_route()
    (hop,) = route.hops
    return next(engine for engine in swarm.engines if engine.peer_id == hop.peer_id)


def test_a_server_that_becomes_slow_is_left_in_mid_session_with_the_same_tokens(
    swarm: LocalSwarm, model: Any, local: PreTrainedModel
) -> None:
    text = torch.arange(5, 12)[None]
    with model.session(max_length=MOST_TOKENS + 20) as session:
        text = model.generate(text, session=session, max_new_tokens=12, **GREEDY)
        slow = serving(swarm, model)
        with slowed(slow):
            while serving(swarm, model) is slow and text.shape[1] < MOST_TOKENS:
                text = model.generate(text, session=session, max_new_tokens=1, **GREEDY)
        assert serving(swarm, model) is not slow
        text = model.generate(text, session=session, max_new_tokens=5, **GREEDY)
        (route,) = model.last_route()
        (left,) = route.replaced
        assert left.peer_id == slow.peer_id
        assert "slow" in str(left.replaced_because)
    assert torch.equal(text, local.generate(text[:, :7], max_new_tokens=text.shape[1] - 7, **GREEDY))


def test_engines_quote_their_load_to_members_and_refuse_what_they_do_not_serve(swarm: LocalSwarm, model: Any) -> None:
    client = next(module for module in model.modules() if isinstance(module, RemoteBlocks)).client
    servers = client.servers._roster.servers
    peers = {engine.peer_id for engine in swarm.engines}

    def ask(prefix: str, caller_for: Any) -> Quotes:
        return client.run(Quoting(client.calls._host, prefix, caller_for).ask(servers, ALL, rows=2, tokens=32))

    quotes = ask(client.swarm.prefix, client.calls.caller_for)
    assert set(quotes.rtts_s) == {server.peer_id for server in quotes.servers} == peers
    assert all(server.heartbeat.cache_tokens_left > 0 for server in quotes.servers)
    refused = ask("another-model", client.calls.caller_for).refused
    assert {peer: error.code for peer, error in refused.items()} == dict.fromkeys(peers, Code.NOT_SERVED)
    refused = ask(client.swarm.prefix, lambda record, span: Caller()).refused
    assert {peer: error.code for peer, error in refused.items()} == dict.fromkeys(peers, Code.NOT_A_MEMBER)
