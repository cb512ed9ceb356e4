"""A real server that computes wrongly is found by other people's servers, named, left, proven wrong and excluded."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
from helpers import lying_engine
from helpers.golden import CHECKPOINT
from transformers import PreTrainedModel

from benchmarks.local_swarm import LocalSwarm
from potluck import AutoDistributedModelForCausalLM, ClientConfig
from potluck.audit import Opinion, Outsider
from potluck.audit.accusations import Finding
from potluck.protocol.blocks import PersonId, Span
from potluck.routing import Needs

GREEDY = {"max_new_tokens": 40, "do_sample": False, "eos_token_id": None, "pad_token_id": 0}
PROMPT = torch.randint(3, 256, (1, 7), generator=torch.Generator().manual_seed(0))
WHOLE = Span(0, 4)
PATIENCE_S = 60.0
ANSWERS = 12  # the auditor is drawn, so a few may pass before the liar is asked


@pytest.fixture
def swarm() -> Iterator[LocalSwarm]:
    """A swarm of three people with a server each, of whom Eve lies."""
    with LocalSwarm(CHECKPOINT, ()) as made:
        own_key = ("--identity", str(made.folder / "founder.key"))  # a key of one run can't be accused
        made.add_engine(WHOLE, name="Ana", options=own_key).wait_online()
        for person in ("Bob", "Eve"):
            made.join(person)
        bob = made.add_engine_of("Bob", WHOLE)
        eve = made.add_engine_of("Eve", WHOLE, before=(sys.executable, str(Path(lying_engine.__file__))))
        bob.wait_online()
        eve.wait_online()
        yield made


def test_a_server_that_computes_wrongly_is_found_named_and_left(
    swarm: LocalSwarm, local: PreTrainedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("potluck.client.audits.audit_chance", lambda clean: 1.0)
    said: list[str] = []
    config = ClientConfig(on_wrong=said.append)
    with AutoDistributedModelForCausalLM.from_pretrained(
        str(CHECKPOINT), swarm=swarm.membership, config=config
    ) as model:
        for _ in range(ANSWERS):
            model.generate(PROMPT, **GREEDY)
            model._client.run(model._client.audits._background.wait())
            if said:
                break
        assert model.audits().wrong == ["Eve"]
        assert "computed blocks 0:4 wrongly" in said[0]
        assert torch.equal(model.generate(PROMPT, **GREEDY), local.generate(PROMPT, **GREEDY))


def test_a_proof_takes_a_liar_off_everybodys_map_and_a_false_accusation_costs_the_accuser(
    swarm: LocalSwarm, monkeypatch: pytest.MonkeyPatch
) -> None:
    swarm.join("Cem")
    swarm.add_engine_of("Cem", WHOLE).wait_online()
    ann, _ = swarm.join("Ann")
    said: list[str] = []
    config = ClientConfig(on_wrong=said.append)
    monkeypatch.setattr("potluck.client.audits.audit_chance", lambda clean: 1.0)
    with AutoDistributedModelForCausalLM.from_pretrained(str(CHECKPOINT), swarm=ann, config=config) as model:
        _generate_until(model, lambda: bool(said))
        assert model.audits().proven == ["Eve"]
        assert "2 other people repeated what Eve computed" in said[-1]
        with monkeypatch.context() as lying:
            lying.setattr("potluck.client.audits.compare", lambda apart, limit: Opinion.DISAGREES)
            lying.setattr("potluck.client.audits.settle", lambda found, limit: Outsider.AUDITED)
            lying.setattr("potluck.client.audits.judge_window", lambda *found: Finding.WRONG)
            _generate_until(model, lambda: len(model.audits().wrong) > 1)
        assert len(model.audits().refuted) == 1
    dan, _ = swarm.join("Dan")
    with AutoDistributedModelForCausalLM.from_pretrained(str(CHECKPOINT), swarm=dan) as model:
        servers = model._client.servers

        def others() -> set[str]:
            model._client.run(servers.refresh())
            return {hop.server.record.public_name for hop in servers.replicas(WHOLE, Needs())}

        deadline = time.monotonic() + PATIENCE_S
        while others() != {"Ana", "Bob", "Cem"}:  # the verdict may come after the map
            assert time.monotonic() < deadline
            time.sleep(0.5)
        assert model.audits().audited == 0
        assert ann.person_key is not None
        liar = PersonId(ann.person_key.public_key().public_bytes_raw().hex())
        assert servers._directory.exclusions.is_unpaid(liar)
        assert servers._directory.exclusions.judgement.of(liar).is_silenced(time.time())


def test_packed_windows_of_honest_servers_are_clean_and_a_false_accusation_is_refuted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("potluck.client.audits.audit_chance", lambda clean: 1.0)
    with LocalSwarm(CHECKPOINT, ()) as swarm:
        own_key = ("--identity", str(swarm.folder / "founder.key"))
        swarm.add_engine(WHOLE, name="Ana", options=own_key).wait_online()
        for person in ("Bob", "Cem"):
            swarm.join(person)
        for engine in [swarm.add_engine_of(person, WHOLE) for person in ("Bob", "Cem")]:
            engine.wait_online()
        ann, _ = swarm.join("Ann")
        config = ClientConfig(packing="on")
        with AutoDistributedModelForCausalLM.from_pretrained(str(CHECKPOINT), swarm=ann, config=config) as model:
            _generate_until(model, lambda: model.audits().audited > 1)
            report = model.audits()
            assert report.audited > 1
            assert (report.wrong, report.undecided) == ([], 0)
            monkeypatch.setattr("potluck.client.audits.compare", lambda apart, limit: Opinion.DISAGREES)
            monkeypatch.setattr("potluck.client.audits.settle", lambda found, limit: Outsider.AUDITED)
            monkeypatch.setattr("potluck.client.audits.judge_window", lambda *found: Finding.WRONG)
            _generate_until(model, lambda: bool(model.audits().wrong))
            assert len(model.audits().refuted) == 1


def _generate_until(model: PreTrainedModel, is_over: Callable[[], bool]) -> None:
    for _ in range(ANSWERS):
        model.generate(PROMPT, **GREEDY)
        model._client.run(model._client.audits._background.wait())
        if is_over():
            return
