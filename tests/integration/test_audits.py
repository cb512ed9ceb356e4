"""A client finds a real server that computes wrongly and leaves it at once; nobody else does for that.

It is the server of a daemon, which goes on serving others. Leaders and the accused hear of it and decide.
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
from helpers.tiny_models import NUM_BLOCKS, save_random
from potluck_control.api import schema
from potluck_control.methods import members
from potluck_control.states import State
from transformers import PreTrainedModel

from benchmarks.setup.local_swarm import LocalSwarm
from potluck import AutoDistributedModelForCausalLM, ClientConfig
from potluck.membership.joined import JoinedSwarms
from potluck.membership.membership import Membership
from potluck.membership.records import Application, Confirm, read_record
from potluck.protocol.blocks import Span
from potluck.routing.route import Needs

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
        model.generate(PROMPT % model.config.vocab_size, **GREEDY)
        model._client.run(model._client.audits._background.wait())


def serving(model: Any) -> set[str]:
    """Return the names of the servers that this client may use."""
    model._client.run(model._client.servers.refresh())
    return {hop.server.record.public_name for hop in model._client.servers.replicas(WHOLE, Needs())}


@pytest.fixture
def swarm() -> Iterator[LocalSwarm]:
    """Three people with an honest server each: to audit the liar, and to give the third and fourth opinions."""
    with LocalSwarm(CHECKPOINT, ()) as made:
        servers = [made.add_engine(WHOLE, name="Ana")]
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
        joined = JoinedSwarms(made.settings_file.with_name("swarms.json"), made.state_folder / "identity.key")
        application = read_record(joined.find(swarm.swarm.name).application).body
        assert isinstance(application, Application)
        swarm.lead([Confirm(application.person, "Eve", application.invite)])  # a guest serves where nobody else does
        yield made


def test_a_client_leaves_a_liar_and_takes_it_off_nobody_elses_map(
    swarm: LocalSwarm, eve: DaemonProcess, local: PreTrainedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("potluck.client.audits.auditing.audit_chance", lambda *_: 1.0)
    eve.wait_state(State.SERVING)
    ann, _ = swarm.join("Ann")
    said: list[str] = []
    with join(ann, on_wrong=said.append) as model:
        generate_until(model, lambda: model.audits().wrong)
        assert model.audits().wrong == ["Eve"]
        assert "returned wrong results for layers 1-4" in said[0]
        assert torch.equal(model.generate(PROMPT, **GREEDY), local.generate(PROMPT, **GREEDY))
        assert serving(model) == {"Ana", "Bob", "Cem"}
        liars = frozenset(model.audits().wrong_people)
    with join(ann, packing="on", distrusted=liars) as model:  # rounded hidden states don't make honest servers differ
        generate_until(model, lambda: model.audits().audited > 1)
        assert (model.audits().wrong, model.audits().undecided) == ([], 0)
    dan, _ = swarm.join("Dan")
    with join(dan, audits="off") as model:
        assert serving(model) == {"Ana", "Bob", "Cem", "Eve"}
    assert eve.status().state is State.SERVING


def test_a_leader_who_comes_later_confirms_what_a_client_found_and_the_accused_looks_at_its_weights(
    swarm: LocalSwarm, eve: DaemonProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("potluck.client.audits.auditing.audit_chance", lambda *_: 1.0)
    eve.wait_state(State.SERVING)
    ann, _ = swarm.join("Ann")

    def reported(daemon: DaemonProcess) -> list[members.WrongResultsReport]:
        return list(daemon.client.call(members.LIST).wrong_results)

    with join(ann) as model:
        generate_until(model, lambda: model.audits().wrong)
        eve.wait_for(lambda _: reported(eve) and reported(eve)[0].checked_at is not None)
        assert (reported(eve)[0].is_here, reported(eve)[0].found_by, reported(eve)[0].damaged) == (True, ("Ann",), "")
        said = eve.wait_for(
            lambda status: any(
                "This computer returned wrong results: found by Ann" in each.text for each in status.notices
            )
        )
        assert said.state is State.SERVING
        settings = f'checkpoint = "{CHECKPOINT}"\nblocks = "0:4"\n'
        with DaemonProcess(LOOPBACK + settings) as leader:
            leader.become_founder(swarm)
            leader.wait_for(lambda _: any(each.is_confirmed for each in reported(leader)))
            (found,) = reported(leader)
            assert (found.name, found.found_by) == ("Eve", ("Ann",))
            done = leader.client.call(members.DISMISS, members.MemberParams(found.member, found.peer_id))
            assert done.is_known
            assert not reported(leader)
            assert reported(eve)


def test_a_liar_among_servers_of_a_model_with_experts_is_found_and_the_others_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Real servers say which experts they chose, so that others can repeat it in bfloat16."""
    monkeypatch.setattr("potluck.client.audits.auditing.audit_chance", lambda *_: 1.0)
    folder = save_random("mixtral", tmp_path / "mixture")
    whole = Span(0, NUM_BLOCKS)
    with LocalSwarm(folder, (), serve_options=("--dtype", "bfloat16")) as swarm:
        people = {person: swarm.join(person)[0] for person in ("Ana", "Bob", "Cem", "Eve")}
        liar = (sys.executable, lying_engine.__file__)
        for person in people:
            swarm.add_engine_of(person, whole, before=liar if person == "Eve" else ())
        for engine in swarm.engines:
            engine.wait_online()
        config = ClientConfig()
        with AutoDistributedModelForCausalLM.from_pretrained(str(folder), swarm=people["Ana"], config=config) as model:
            generate_until(model, lambda: model.audits().wrong and model.audits().audited > 5)
            report = model.audits()
            assert report.wrong == ["Eve"]
            assert report.withheld == 0
            assert report.unanswered <= 2  # such as by Eve's server, if it reloads its weights meanwhile
