"""A real server that computes wrongly is found by other people's servers, named, left, proven wrong and excluded.

It is the server of a daemon, which says so.
"""

import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from helpers import lying_engine
from helpers.daemon_process import LOOPBACK, DaemonProcess
from helpers.golden import CHECKPOINT
from potluck_control import schema
from potluck_control.states import Reason, State
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
PATIENCE_S = 120.0


def join(membership: Membership, **options: Any) -> Any:
    config = ClientConfig(**options)
    return AutoDistributedModelForCausalLM.from_pretrained(str(CHECKPOINT), swarm=membership, config=config)


def generate_until(model: Any, is_over: Callable[[], object]) -> None:
    """Generate until audits have led somewhere: auditors are drawn, so some answers pass before the liar is asked."""
    deadline = time.monotonic() + PATIENCE_S
    while not is_over():
        assert time.monotonic() < deadline
        model.generate(PROMPT, **GREEDY)
        model._client.run(model._client.audits._background.wait())


@pytest.fixture
def swarm() -> Iterator[LocalSwarm]:
    """Three people with an honest server each: one to audit, and two more for a proof."""
    with LocalSwarm(CHECKPOINT, ()) as made:
        own_key = ("--identity", str(made.folder / "founder.key"))  # a key of one run can't be accused
        servers = [made.add_engine(WHOLE, name="Ana", options=own_key)]
        for person in ("Bob", "Cem"):
            made.join(person)
            servers.append(made.add_engine_of(person, WHOLE))
        for server in servers:
            server.wait_online()
        yield made


@pytest.fixture
def eve(swarm: LocalSwarm, tmp_path: Path) -> Iterator[DaemonProcess]:
    """A daemon whose engine computes wrongly, as with a broken GPU."""
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} {lying_engine.__file__} {sys.executable} "$@"\n')
    python.chmod(0o755)
    settings = f'checkpoint = "{CHECKPOINT}"\nblocks = "0:4"\nname = "Eve"\npython = "{python}"\n'
    with DaemonProcess(LOOPBACK + settings) as made:
        made.client.call(schema.JOIN, schema.JoinParams(swarm.invite))
        yield made


def test_a_proof_takes_a_liar_off_everybodys_map_and_a_false_accusation_costs_the_accuser(
    swarm: LocalSwarm, eve: DaemonProcess, local: PreTrainedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("potluck.client.audits.audit_chance", lambda clean: 1.0)
    serving = eve.wait_state(State.SERVING)
    ann, _ = swarm.join("Ann")
    said: list[str] = []
    with join(ann, on_wrong=said.append) as model:
        generate_until(model, lambda: model.audits().proven and eve.status().reason is Reason.FOUND_WRONG)
        assert model.audits().proven == model.audits().wrong == ["Eve"]
        assert "computed blocks 0:4 wrongly" in said[0]
        assert "2 other people repeated what Eve computed" in said[-1]
        assert torch.equal(model.generate(PROMPT, **GREEDY), local.generate(PROMPT, **GREEDY))
    found = eve.status()
    assert (found.state, found.engine.pid) == (State.ERROR, serving.engine.pid)  # it stopped by itself
    assert any("2 people repeated what this computer computed" in notice for notice in found.notices)
    assert "Not serving" in eve.command("status").stdout
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
