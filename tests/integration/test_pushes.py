"""Steps that go around three real servers: the local model's tokens, also when a server dies or a push gets lost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from helpers.golden import CHECKPOINT
from transformers import PreTrainedModel

from benchmarks.local_swarm import LocalEngine, LocalSwarm
from potluck import AutoDistributedModelForCausalLM, ClientConfig
from potluck.client.hop import Hop
from potluck.protocol.blocks import Span
from potluck.protocol.messages import Awaited
from potluck.routing import Pace

GREEDY = {"max_new_tokens": 24, "do_sample": False, "eos_token_id": None, "pad_token_id": 0}
PROMPT = torch.randint(3, 256, (1, 7), generator=torch.Generator().manual_seed(0))
SPANS = (Span(0, 1), Span(1, 2), Span(2, 4), Span(1, 2))


@pytest.fixture(scope="module")
def swarm() -> Iterator[LocalSwarm]:
    with LocalSwarm(CHECKPOINT, SPANS) as made:
        yield made


@pytest.fixture(scope="module")
def model(swarm: LocalSwarm) -> Iterator[Any]:
    config = ClientConfig(silence_before_ping_s=5.0)
    with AutoDistributedModelForCausalLM.from_pretrained(
        str(CHECKPOINT), swarm=swarm.membership, config=config
    ) as made:
        yield made


@pytest.fixture(autouse=True)
def no_pace(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the configuration alone say how long a server may be silent, however busy the machine is."""
    monkeypatch.setattr(Pace, "patience", lambda pace, most: most)


def serving(swarm: LocalSwarm, model: Any, block: int) -> LocalEngine:
    (route,) = model.last_route()
    peer = next(hop.peer_id for hop in route.hops if block in hop.span)
    return next(engine for engine in swarm.engines if engine.is_alive and engine.peer_id == peer)


def generate_while(model: Any, token: int, strike: Callable[[], object]) -> torch.Tensor:
    """Generate, and do something after so many tokens."""
    seen: list[torch.Tensor] = []

    def put(value: torch.Tensor) -> None:
        seen.append(value)
        if len(seen) == token:
            strike()

    generated: torch.Tensor = model.generate(PROMPT, streamer=SimpleNamespace(put=put, end=lambda: None), **GREEDY)
    return generated


def test_most_steps_are_pushed_and_the_tokens_are_the_local_ones(model: Any, local: PreTrainedModel) -> None:
    assert torch.equal(model.generate(PROMPT, **GREEDY), local.generate(PROMPT, **GREEDY))
    (route,) = model.last_route()
    assert [hop.pushed_steps > 8 for hop in route.hops] == [False, True, True]


def test_a_push_that_gets_lost_is_brought_by_the_client(
    model: Any, local: PreTrainedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    lost: list[int] = []
    announce = Hop.announce

    async def expect_another(hop: Hop, awaited: Awaited, position: int) -> None:
        """Announce a number under which nothing is pushed, once."""
        if len(lost) < 1 and awaited.number > 10:
            lost.append(awaited.number)
            awaited = Awaited(awaited.number + 1000, awaited.rows, awaited.tokens)
        await announce(hop, awaited, position)

    monkeypatch.setattr(Hop, "announce", expect_another)
    assert torch.equal(model.generate(PROMPT, **GREEDY), local.generate(PROMPT, **GREEDY))
    (route,) = model.last_route()
    assert not route.replaced
    assert len(lost) == 1


def test_the_middle_server_dies(swarm: LocalSwarm, model: Any, local: PreTrainedModel) -> None:
    generated = generate_while(model, 12, lambda: serving(swarm, model, 1).kill())
    assert torch.equal(generated, local.generate(PROMPT, **GREEDY))
    (route,) = model.last_route()
    assert [hop.span for hop in route.replaced] == [Span(1, 2)]
    assert sum(hop.pushed_steps for hop in (*route.hops, *route.replaced)) > 8


def test_a_server_dies_in_a_packed_session(
    swarm: LocalSwarm, local: PreTrainedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The replacement computes with the decoded values and rounds as the lost one did."""
    swarm.add_engine(Span(2, 4)).wait_online()
    travelled: list[bool] = []
    packed = Hop._packed

    def watch(hop: Hop, piece: torch.Tensor) -> torch.Tensor | None:
        data = packed(hop, piece)
        travelled.append(data is not None)
        return data

    monkeypatch.setattr(Hop, "_packed", watch)
    config = ClientConfig(silence_before_ping_s=5.0, packing="on")
    with AutoDistributedModelForCausalLM.from_pretrained(
        str(CHECKPOINT), swarm=swarm.membership, config=config
    ) as model:
        with model.session(max_length=32) as session, torch.inference_mode():
            rounded, plain = model(PROMPT, past_key_values=session.cache).logits, local(PROMPT).logits
        apart = float((rounded - plain).norm() / plain.norm())
        undisturbed = model.generate(PROMPT, **GREEDY)
        generated = generate_while(model, 12, lambda: serving(swarm, model, 2).kill())
        (route,) = model.last_route()
    assert torch.equal(generated, undisturbed)
    assert [hop.span for hop in route.replaced] == [Span(2, 4)]
    assert sum(hop.pushed_steps for hop in (*route.hops, *route.replaced)) > 8
    assert all(travelled)
    assert 1e-5 < apart < 0.05
