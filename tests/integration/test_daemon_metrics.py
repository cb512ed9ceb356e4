"""A real daemon whose engine is on two devices: what it counts, by the control API and as Prometheus scrapes it."""

from __future__ import annotations

import socket
import urllib.request
from collections.abc import Iterator

import pytest
import torch
from helpers.daemon_process import DaemonProcess
from helpers.golden import CHECKPOINT
from potluck_control import schema
from potluck_control.states import State
from prometheus_client.parser import text_string_to_metric_families

from benchmarks.local_swarm import LocalSwarm
from potluck import AutoDistributedModelForCausalLM

NUM_TOKENS = 8
SETTINGS = f"""
[serve]
checkpoint = "{CHECKPOINT}"
blocks = "0:4"
devices = ["cpu", "cpu"]
listen = ["/ip4/127.0.0.1/tcp/0"]
threads = 1
"""


@pytest.fixture(scope="module")
def swarm() -> Iterator[LocalSwarm]:
    """Only the meeting point: the daemon brings the engine."""
    with LocalSwarm(CHECKPOINT, ()) as made:
        yield made


@pytest.fixture(scope="module")
def daemon(swarm: LocalSwarm) -> Iterator[DaemonProcess]:
    with DaemonProcess(SETTINGS) as made:
        made.client.call(schema.JOIN, schema.JoinParams(swarm.invite))
        made.wait_state(State.SERVING)
        yield made


def test_metrics_are_counted_shown_and_scraped_once_a_port_is_set(daemon: DaemonProcess, swarm: LocalSwarm) -> None:
    assert daemon.client.call(schema.METRICS).page == ""
    prompt = torch.randint(3, 256, (1, 7), generator=torch.Generator().manual_seed(0))
    with AutoDistributedModelForCausalLM.from_pretrained(str(CHECKPOINT), swarm=swarm.invite) as model:
        model.generate(prompt, max_new_tokens=NUM_TOKENS, do_sample=False, eos_token_id=None, pad_token_id=0)
    engine = _metrics_after(daemon, NUM_TOKENS - 1).engine
    assert engine.decode_tokens == NUM_TOKENS - 1
    assert engine.prefill_tokens == 7
    assert sum(engine.step_times) == engine.steps >= NUM_TOKENS

    daemon.write_settings(f"{SETTINGS}[metrics]\nport = {_free_port()}\n")
    daemon.client.call(schema.RELOAD)
    page = _page_of(daemon)
    with urllib.request.urlopen(page, timeout=60) as answer:
        families = {family.name: family for family in text_string_to_metric_families(answer.read().decode())}
    tokens = {sample.labels["kind"]: sample.value for sample in families["potluck_tokens"].samples}
    assert tokens["decode"] == NUM_TOKENS - 1
    assert families["potluck_step_seconds"].type == "histogram"
    assert families["potluck_engine_up"].samples[0].value == 1


def _metrics_after(daemon: DaemonProcess, decode_tokens: int) -> schema.Metrics:
    """The engine reports every second."""
    daemon.wait_for(lambda _: daemon.client.call(schema.METRICS).engine.decode_tokens >= decode_tokens)
    return daemon.client.call(schema.METRICS)


def _page_of(daemon: DaemonProcess) -> str:
    daemon.wait_for(lambda _: daemon.client.call(schema.METRICS).page != "")
    return daemon.client.call(schema.METRICS).page


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])
