"""Real clients, daemons and engines: what is earned is what the client counts."""

import csv
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from helpers.daemon_process import DaemonProcess
from helpers.golden import CHECKPOINT
from potluck_control.daemon_credit import DaemonPurse
from potluck_control.methods import earnings
from potluck_control.states import State

from benchmarks.local_swarm import LocalSwarm
from potluck import AutoDistributedModelForCausalLM, ClientConfig
from potluck.protocol.receipts import Work

SETTINGS = """
[serve]
checkpoint = "{checkpoint}"
blocks = "0:4"
listen = ["/ip4/127.0.0.1/tcp/0"]
threads = 1
"""


@pytest.fixture(autouse=True)
def _patient_goodbyes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that leaves waits for the last receipts as long as it takes: they are counted to the token here."""
    for patience in ("receipts._GOODBYE_S", "swarm_client._GOODBYE_S", "calls._SETTLE_TIMEOUT_S"):
        monkeypatch.setattr(f"potluck.client.{patience}", 60.0)


@pytest.fixture(scope="module")
def swarm() -> Iterator[LocalSwarm]:
    """Only the meeting point: the daemons bring the engines."""
    with LocalSwarm(CHECKPOINT, ()) as made:
        yield made


@pytest.fixture(scope="module")
def daemon(swarm: LocalSwarm) -> Iterator[DaemonProcess]:
    with DaemonProcess(SETTINGS.format(checkpoint=CHECKPOINT)) as made:
        made.become_founder(swarm)
        made.wait_state(State.SERVING)
        yield made


def generate(swarm: LocalSwarm, tokens: int, *, config: ClientConfig | None = None) -> Work:
    """Use the swarm from a new client; all that it counted, settled."""
    prompt = torch.randint(3, 256, (2, 9), generator=torch.Generator().manual_seed(0))
    options = {"max_new_tokens": tokens, "do_sample": False, "eos_token_id": None, "pad_token_id": 0}
    with AutoDistributedModelForCausalLM.from_pretrained(
        str(CHECKPOINT), swarm=swarm.membership, config=config
    ) as model:
        model.generate(prompt, **options)
        signer = model._client.calls.signer
    total: Work = signer.total
    return total


def test_what_is_earned_is_what_the_client_counts_to_the_token_and_what_commands_say(
    daemon: DaemonProcess, swarm: LocalSwarm, tmp_path: Path
) -> None:
    before = daemon.client.call(earnings.SUMMARY).total
    work = generate(swarm, 70)
    after = daemon.client.call(earnings.SUMMARY).total
    assert work.tokens == 2 * (9 + 69)
    assert after.tokens - before.tokens == work.tokens
    assert after.earned - before.earned == work.points > 0
    assert after.people == before.people + 1
    (model,) = json.loads(daemon.command("earnings", "--by", "model", "--json").stdout)["groups"]
    assert (model["name"], model["sums"]["earned"]) == (swarm.swarm.model, after.earned)
    assert f"You have {after.earned:,} points" in daemon.command("earnings").stdout
    assert "all accounts together are zero" in daemon.command("ledger", "check").stdout
    exported = tmp_path / "points.csv"
    assert daemon.command("ledger", "export", str(exported)).returncode == 0
    with exported.open() as file:
        assert sum(int(row["points"]) for row in csv.DictReader(file)) == after.earned
    assert daemon.command("ledger", "backup", str(tmp_path / "backup.tar")).returncode == 0
    refused = daemon.command("ledger", "restore", str(tmp_path / "backup.tar"))
    assert "already running" in refused.stderr


def test_training_is_signed_for_and_backward_counts_double(daemon: DaemonProcess, swarm: LocalSwarm) -> None:
    before = daemon.client.call(earnings.SUMMARY).total
    with AutoDistributedModelForCausalLM.from_pretrained(str(CHECKPOINT), swarm=swarm.membership) as model:
        embedded = model.get_input_embeddings()(torch.arange(3, 53).reshape(2, 25)).detach().requires_grad_()
        model(inputs_embeds=embedded).logits.sum().backward()
        signer = model._client.calls.signer
    work: Work = signer.total
    after = daemon.client.call(earnings.SUMMARY).total
    assert work.backward == work.forward > 0
    assert after.earned - before.earned == work.points
    assert after.tokens - before.tokens == work.tokens == 100


def test_a_donors_own_requests_spend_its_credit_elsewhere_and_earn_nothing_at_home(
    daemon: DaemonProcess, swarm: LocalSwarm
) -> None:
    before = daemon.client.call(earnings.SUMMARY).total
    with DaemonProcess() as donor:
        work = generate(swarm, 20, config=ClientConfig(purse=DaemonPurse(donor.socket)))
        spent = donor.client.call(earnings.SUMMARY)
        assert (spent.total.spent, spent.balance) == (work.points, -work.points)
        (peer,) = donor.client.call(earnings.BY_PEER, earnings.GroupParams()).groups
        swarm_status = daemon.status().swarm
        assert swarm_status is not None
        assert peer.name == swarm_status.peer_id
        assert donor.client.call(earnings.CHECK).problems == ()
    earned = daemon.client.call(earnings.SUMMARY).total
    assert earned.earned - before.earned == work.points
    generate(swarm, 20, config=ClientConfig(purse=DaemonPurse(daemon.socket)))
    assert daemon.client.call(earnings.SUMMARY).total.earned == earned.earned
