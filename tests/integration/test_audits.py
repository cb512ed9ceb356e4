"""A real server that computes wrongly is found by other people's servers, named, left, proven wrong and excluded."""

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from helpers import lying_engine
from helpers.golden import CHECKPOINT
from transformers import PreTrainedModel

from benchmarks.local_swarm import LocalSwarm
from potluck import AutoDistributedModelForCausalLM, ClientConfig
from potluck.audit import Opinion, Outsider
from potluck.audit.accusations import Finding
from potluck.membership.membership import Membership
from potluck.protocol.blocks import PersonId, Span
from potluck.routing import Needs

GREEDY = {"max_new_tokens": 40, "do_sample": False, "eos_token_id": None, "pad_token_id": 0}
PROMPT = torch.randint(3, 256, (1, 7), generator=torch.Generator().manual_seed(0))
WHOLE = Span(0, 4)
PATIENCE_S = 60.0


def join(membership: Membership, **options: Any) -> Any:
    config = ClientConfig(**options)
    return AutoDistributedModelForCausalLM.from_pretrained(str(CHECKPOINT), swarm=membership, config=config)


def generate_until(model: Any, is_over: Callable[[], bool]) -> None:
    """Generate until audits have led somewhere: auditors are drawn, so some answers pass before the liar is asked."""
    deadline = time.monotonic() + PATIENCE_S
    while not is_over():
        assert time.monotonic() < deadline
        model.generate(PROMPT, **GREEDY)
        model._client.run(model._client.audits._background.wait())


def test_a_proof_takes_a_liar_off_everybodys_map_and_a_false_accusation_costs_the_accuser(
    local: PreTrainedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("potluck.client.audits.audit_chance", lambda clean: 1.0)
    with LocalSwarm(CHECKPOINT, ()) as swarm:
        own_key = ("--identity", str(swarm.folder / "founder.key"))  # a key of one run can't be accused
        servers = [swarm.add_engine(WHOLE, name="Ana", options=own_key)]
        for person, before in ("Bob", ()), ("Cem", ()), ("Eve", (sys.executable, str(Path(lying_engine.__file__)))):
            swarm.join(person)
            servers.append(swarm.add_engine_of(person, WHOLE, before=before))
        for server in servers:
            server.wait_online()
        ann, _ = swarm.join("Ann")
        said: list[str] = []
        with join(ann, on_wrong=said.append) as model:
            generate_until(model, lambda: bool(model.audits().proven))
            assert model.audits().proven == model.audits().wrong == ["Eve"]
            assert "computed blocks 0:4 wrongly" in said[0]
            assert "2 other people repeated what Eve computed" in said[-1]
            assert torch.equal(model.generate(PROMPT, **GREEDY), local.generate(PROMPT, **GREEDY))
        with join(ann, packing="on") as model:  # honest servers differ no more when hidden states are rounded
            generate_until(model, lambda: model.audits().audited > 1)
            assert (model.audits().wrong, model.audits().undecided) == ([], 0)
            monkeypatch.setattr("potluck.client.audits.compare", lambda apart, limit: Opinion.DISAGREES)
            monkeypatch.setattr("potluck.client.audits.settle", lambda found, limit: Outsider.AUDITED)
            monkeypatch.setattr("potluck.client.audits.judge_window", lambda *found: Finding.WRONG)
            generate_until(model, lambda: bool(model.audits().wrong))
            assert len(model.audits().refuted) == 1
        dan, _ = swarm.join("Dan")
        with join(dan) as model:
            assert_only_ann_is_not_believed(model, ann)


def assert_only_ann_is_not_believed(model: Any, ann: Membership) -> None:
    """Dan, who has seen nothing of it, hears the verdicts from others."""
    servers = model._client.servers

    def serving() -> set[str]:
        model._client.run(servers.refresh())
        return {hop.server.record.public_name for hop in servers.replicas(WHOLE, Needs())}

    deadline = time.monotonic() + PATIENCE_S
    while serving() != {"Ana", "Bob", "Cem"}:  # the verdict may come after the map
        assert time.monotonic() < deadline
    assert model.audits().audited == 0
    assert ann.person_key is not None
    accuser = PersonId(ann.person_key.public_key().public_bytes_raw().hex())
    assert servers._directory.exclusions.is_unpaid(accuser)
    assert servers._directory.exclusions.judgement.of(accuser).is_silenced(time.time())
