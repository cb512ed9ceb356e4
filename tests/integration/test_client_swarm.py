"""The client against real engines on loopback: the local model's tokens and gradients, also when an engine hangs."""

import contextlib
import copy
import re
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
import torch
from helpers.golden import CHECKPOINT
from peft import PrefixTuningConfig, get_peft_model
from transformers import PreTrainedModel

from benchmarks.setup.local_swarm import LocalSwarm
from potluck import AutoDistributedModelForCausalLM
from potluck.protocol.blocks import Span
from tests.helpers.fork_server import run_python

ROOT = Path(__file__).parents[2]
GREEDY = {"max_new_tokens": 16, "do_sample": False, "eos_token_id": None, "pad_token_id": 0}


@pytest.fixture(scope="module")
def model(shared_swarm: LocalSwarm) -> Iterator[Any]:
    with AutoDistributedModelForCausalLM.from_pretrained(str(CHECKPOINT), swarm=shared_swarm.membership) as made:
        yield made


def prompt(batch: int = 1, tokens: int = 7) -> torch.Tensor:
    return torch.randint(3, 256, (batch, tokens), generator=torch.Generator().manual_seed(0))


def test_greedy_tokens_equal_the_local_model_and_servers_push_steps_to_each_other(
    model: Any, local: PreTrainedModel
) -> None:
    for _ in range(20):  # a link that opens late is used by a later session
        assert torch.equal(model.generate(prompt(), **GREEDY), local.generate(prompt(), **GREEDY))
        (route,) = model.last_route()
        assert [hop.span for hop in route.hops] == [Span(0, 2), Span(2, 4)]
        assert [hop.steps for hop in route.hops] == [16, 16]
        assert all(hop.compute_ms > 0 for hop in route.hops)
        assert route.hops[0].pushed_steps == 0
        if route.hops[1].pushed_steps >= 8:
            return
    raise AssertionError("no session had its steps pushed")


def test_prefix_tuning_trains_and_generates_as_on_a_local_model(
    shared_swarm: LocalSwarm, local: PreTrainedModel
) -> None:
    ids = prompt(batch=6, tokens=40)
    mask = torch.ones_like(ids)
    mask[1, 30:] = 0
    gradients, tokens = [], []
    with AutoDistributedModelForCausalLM.from_pretrained(str(CHECKPOINT), swarm=shared_swarm.membership) as model:
        plain = model.generate(input_ids=ids[:2, :9], **GREEDY)
        for each in (model, copy.deepcopy(local)):
            torch.manual_seed(0)
            prefixed = get_peft_model(each, PrefixTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=5)).train()
            prefixed.zero_grad()
            prefixed(input_ids=ids, attention_mask=mask, labels=ids.masked_fill(mask == 0, -100)).loss.backward()
            gradients += [parameter.grad for parameter in prefixed.parameters() if parameter.grad is not None]
            tokens.append(prefixed.generate(input_ids=ids[:2, :9], **GREEDY))
    got, wanted = gradients
    assert wanted.abs().max() > 1e-3
    torch.testing.assert_close(got, wanted, rtol=1e-5, atol=1e-7)
    assert torch.equal(*tokens)
    assert not torch.equal(plain, tokens[0])


def run_script(swarm: LocalSwarm, *arguments: str) -> str:
    """Output of a Python process that must end by itself, well, and leave no process behind."""
    mark = uuid.uuid4().hex
    environment = {**swarm.environment(), "POTLUCK_TEST_MARK": mark}
    run = run_python(arguments, text=True, timeout=250, env=environment)
    assert run.returncode == 0, run.stderr
    left = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):  # gone, or somebody else's
            if process.environ().get("POTLUCK_TEST_MARK") == mark:
                left.append(process)
    assert psutil.wait_procs(left, timeout=60)[1] == []  # what is on its way out may go
    return str(run.stdout)


def test_the_prompt_tuning_example_lowers_its_loss(shared_swarm: LocalSwarm) -> None:
    script = ROOT / "docs" / "examples" / "prompt_tuning.py"
    options = ("--invite-file", str(shared_swarm.invite_file), "--model", str(CHECKPOINT), "--steps", "8", "--deep")
    losses = [float(loss) for loss in re.findall(r"loss ([0-9.]+)", run_script(shared_swarm, str(script), *options))]
    assert len(losses) == 8
    assert losses[-1] < 0.8 * losses[0]


def test_a_script_that_never_closes_its_model_ends_by_itself(shared_swarm: LocalSwarm, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import sys, torch\n"
        "from potluck import AutoDistributedModelForCausalLM as Auto\n"
        "model = Auto.from_pretrained(sys.argv[1], swarm=sys.argv[2])\n"
        "print(model.generate(torch.tensor([[5, 6, 7]]), max_new_tokens=2, eos_token_id=None, pad_token_id=0).shape)\n"
    )
    assert "[1, 5]" in run_script(shared_swarm, str(script), str(CHECKPOINT), shared_swarm.invite)
