"""A real swarm that logs everything: none of what people write, and nothing that opens a door, is in any log."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from helpers.daemon_process import LOOPBACK, DaemonProcess
from potluck_control import schema
from potluck_control.resources import DEMO_MODEL, resource
from potluck_control.states import State
from potluck_gateway.completion import Text

from benchmarks.local_swarm import LocalSwarm
from potluck import AutoDistributedModelForCausalLM
from potluck.membership.membership import Membership
from potluck.protocol.blocks import Span

PROMPT = "On Sunday, Ana asked Omar and Gina to a potluck. Omar brought the corn pasta. At the end Ana said:"
WORDS = ("Sunday", "Omar", "Gina", "pasta", "brought")


@pytest.fixture(scope="module")
def logs() -> Iterator[dict[str, object]]:
    """The logs of a daemon with its engine, and of an engine in the foreground, after a generation through both."""
    folder = resource(DEMO_MODEL)
    with LocalSwarm(folder, [Span(0, 6)], serve_options=("--verbose",)) as swarm:
        settings = LOOPBACK.replace("[serve]", f'[serve]\ncheckpoint = "{folder}"\nblocks = "6:12"')
        with DaemonProcess(settings, options=["--verbose"]) as daemon:
            daemon.client.call(schema.JOIN, schema.JoinParams(swarm.invite))
            daemon.wait_state(State.SERVING)
            with AutoDistributedModelForCausalLM.from_pretrained(str(folder), swarm=swarm.membership) as model:
                tokens = Text(folder).encode(PROMPT)
                done = model.generate(tokens, max_new_tokens=12, do_sample=False)
            addresses = [*swarm.swarm.bootstrap_peers]
            peers = {engine.peer_id for engine in swarm.engines} | {daemon.status().swarm.peer_id}  # type: ignore[union-attr]
            daemon.stop()
            text = daemon.log()
        texts = [path.read_text(errors="replace") for path in swarm.folder.glob("*.log")]
        yield {
            "daemon": text,
            "all": "\n".join([text, *texts]),
            "tokens": done[0].tolist(),
            "completion": Text(folder).decode(done[0, tokens.shape[1] :].tolist()),
            "membership": swarm.membership,
            "invite": swarm.invite,
            "addresses": addresses,
            "peers": peers,
        }


def test_the_logs_are_there_and_say_what_happens(logs: dict[str, object]) -> None:
    assert "DEBUG" in str(logs["daemon"])
    assert "serving" in str(logs["daemon"])
    assert re.search(r"engine: .*online with blocks", str(logs["daemon"]))


def test_nothing_of_prompt_or_completion_is_in_a_log(logs: dict[str, object]) -> None:
    text = str(logs["all"])
    words = str(logs["completion"]).split()
    assert len(words) > 5
    # The logs have words of their own that the model may say too, but no three of them in the same order.
    for piece in (*WORDS, *(" ".join(words[start : start + 3]) for start in range(len(words) - 2))):
        assert piece not in text, piece


def test_no_token_ids_and_no_hidden_values_are_in_a_log(logs: dict[str, object]) -> None:
    text = str(logs["all"])
    tokens = logs["tokens"]
    assert isinstance(tokens, list)
    for start in range(len(tokens) - 2):
        three = r"\D+".join(map(str, tokens[start : start + 3]))
        assert not re.search(rf"(?<!\d)[\[(]{three}", text)
    assert "tensor(" not in text
    assert not re.search(r"-?\d\.\d{3,}(e-\d+)?, -?\d\.\d{3,}", text)


def test_neither_key_nor_invite_nor_full_address_is_in_a_log(logs: dict[str, object]) -> None:
    text, membership = str(logs["all"]), logs["membership"]
    assert isinstance(membership, Membership)
    assert str(logs["invite"])[10:60] not in text
    for seed in (membership.person_seed, membership.founder_seed):
        assert seed is not None
        assert seed.hex() not in text
    for peer in logs["peers"]:  # type: ignore[attr-defined]
        assert str(peer) not in text
    for address in logs["addresses"]:  # type: ignore[attr-defined]
        assert str(address) not in text
    assert "127.0.0.1" not in text
    assert not re.search(r"/ip4/\d", text)


def test_a_line_that_holds_it_all_would_be_noticed(tmp_path: Path) -> None:
    assert re.search(r"-?\d\.\d{3,}(e-\d+)?, -?\d\.\d{3,}", str(torch.tensor([0.12345, -1.5431])))
