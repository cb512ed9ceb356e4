"""Real clients, daemons and engines: what is earned is what the client counts."""

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import astuple
from functools import partial
from pathlib import Path

import pytest
import torch
from helpers.daemon_process import DaemonProcess
from helpers.golden import CHECKPOINT
from potluck_control.methods import earnings
from potluck_control.methods.earnings import Earned
from potluck_control.record_work import record_work
from potluck_control.states import State

from benchmarks.setup.local_swarm import LocalSwarm
from potluck import AutoDistributedModelForCausalLM, ClientConfig
from potluck.client.receipts import Record
from potluck.membership.membership import Membership
from potluck.protocol.blocks import Booking
from potluck.protocol.receipts import Receipt, Work, read_receipt

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
    for patience in ("receipts._GOODBYE_S", "swarm_client._GOODBYE_S", "receipts._SETTLE_TIMEOUT_S"):
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


@pytest.fixture(scope="module")
def guest(swarm: LocalSwarm) -> Membership:
    """Another person's than the daemon's."""
    return swarm.join("Ana")[0]


class Counted:
    """What a client counted, by the last receipt of each tab; they are passed on to `record`."""

    def __init__(self, record: Record | None = None) -> None:
        self._record = record
        self._receipts: dict[bytes, Receipt] = {}

    def __call__(self, bookings: Sequence[Booking], model: str) -> None:
        for receipt in (read_receipt(booking.receipt) for booking in bookings):
            self._receipts[receipt.tab] = receipt
        if self._record is not None:
            self._record(bookings, model)

    @property
    def work(self) -> Work:
        works = [astuple(receipt.work) for receipt in self._receipts.values()]
        return Work(*(sum(part) for part in zip(*works, strict=True)))


def generate(membership: Membership, tokens: int, *, record: Record | None = None) -> Work:
    """Use the swarm from a new client; all that it counted, settled."""
    prompt = torch.randint(3, 256, (2, 9), generator=torch.Generator().manual_seed(0))
    options = {"max_new_tokens": tokens, "do_sample": False, "eos_token_id": None, "pad_token_id": 0}
    counted = Counted(record)
    config = ClientConfig(record=counted)
    with AutoDistributedModelForCausalLM.from_pretrained(str(CHECKPOINT), swarm=membership, config=config) as model:
        model.generate(prompt, **options)
    return counted.work


def booked(daemon: DaemonProcess, tokens: int) -> Earned:
    """What was earned altogether, once so many tokens are in the ledger: the daemon books a moment later."""
    deadline = time.monotonic() + 30
    while (total := daemon.client.call(earnings.SUMMARY).total).tokens < tokens:
        assert time.monotonic() < deadline, f"{total.tokens} of {tokens} tokens were booked"
        time.sleep(0.05)
    return total


def test_what_is_earned_is_what_the_client_counts_to_the_token_and_what_commands_say(
    daemon: DaemonProcess, guest: Membership, tmp_path: Path
) -> None:
    before = daemon.client.call(earnings.SUMMARY).total
    work = generate(guest, 70)
    after = booked(daemon, before.tokens + work.tokens)
    assert work.tokens == 2 * (9 + 69)
    assert after.tokens - before.tokens == work.tokens
    assert after.earned - before.earned == work.points > 0
    assert after.people == before.people + 1
    (model,) = json.loads(daemon.command("earnings", "--by", "model", "--json").stdout)["groups"]
    assert (model["name"], model["sums"]["earned"]) == (guest.swarm.model, after.earned)
    assert f"{after.earned:,}" in daemon.command("earnings").stdout
    assert "Every entry follows from its receipt" in daemon.command("ledger", "check").stdout
    days = json.loads(daemon.command("earnings", "--by", "day", "--json").stdout)["periods"]
    assert sum(day["earned"] for day in days) == after.earned
    assert daemon.command("ledger", "backup", str(tmp_path / "backup.tar")).returncode == 0
    refused = daemon.command("ledger", "restore", str(tmp_path / "backup.tar"))
    assert "already running" in refused.stderr


def test_training_is_signed_for_and_backward_counts_double(daemon: DaemonProcess, guest: Membership) -> None:
    before = daemon.client.call(earnings.SUMMARY).total
    config = ClientConfig(record=(counted := Counted()))
    with AutoDistributedModelForCausalLM.from_pretrained(str(CHECKPOINT), swarm=guest, config=config) as model:
        embedded = model.get_input_embeddings()(torch.arange(3, 53).reshape(2, 25)).detach().requires_grad_()
        model(inputs_embeds=embedded).logits.sum().backward()
    work = counted.work
    after = booked(daemon, before.tokens + work.tokens)
    assert work.backward == work.forward > 0
    assert after.earned - before.earned == work.points
    assert after.tokens - before.tokens == work.tokens == 100


def test_a_clients_user_knows_whose_servers_worked_for_it(
    daemon: DaemonProcess, swarm: LocalSwarm, guest: Membership
) -> None:
    before = daemon.client.call(earnings.SUMMARY).total
    with DaemonProcess() as mine:
        work = generate(guest, 20, record=partial(record_work, socket=mine.socket))
        total = mine.client.call(earnings.SUMMARY).total
        assert (total.received, total.earned) == (work.points, 0)
        (group,) = mine.client.call(earnings.BY_PERSON, earnings.GroupParams()).groups
        founder = swarm.membership.signing_key
        assert founder is not None
        assert group.name == founder.public_key().public_bytes_raw().hex()
        assert mine.client.call(earnings.CHECK).problems == ()
    assert booked(daemon, before.tokens + work.tokens).earned - before.earned == work.points


def test_own_computers_earn_nothing_from_each_other(daemon: DaemonProcess, swarm: LocalSwarm) -> None:
    before = daemon.client.call(earnings.SUMMARY).total
    assert generate(swarm.membership, 20, record=partial(record_work, socket=daemon.socket)) == Work()
    after = daemon.client.call(earnings.SUMMARY).total
    assert (after.earned, after.received, after.tokens) == (before.earned, before.received, before.tokens)
