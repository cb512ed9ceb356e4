"""Servers of different number formats and with different adapters in one swarm: a client gets what it demands."""

from __future__ import annotations

import json
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest
import torch
from helpers.adapters import save_adapter
from helpers.golden import CHECKPOINT
from helpers.packed_files import Layout, pack_checkpoint
from helpers.streamers import At
from peft import PeftModel
from transformers import AutoModelForCausalLM

from benchmarks.local_swarm import LocalSwarm
from potluck import AutoDistributedModelForCausalLM, ClientConfig, SwarmError
from potluck.protocol.blocks import Span
from potluck.protocol.records import NumberFormat

GREEDY = {"max_new_tokens": 12, "do_sample": False, "eos_token_id": None, "pad_token_id": 0}
PROMPT = torch.randint(3, 256, (1, 7), generator=torch.Generator().manual_seed(0))
IMPATIENT = ClientConfig(max_wait_s=3.0)
WHOLE = Span(0, 4)
PLAIN, PACKED = NumberFormat("float32"), NumberFormat("bfloat16", "int8")


def join(swarm: LocalSwarm, **demands: Any) -> Any:
    return AutoDistributedModelForCausalLM.from_pretrained(
        str(CHECKPOINT), swarm=swarm.membership, config=IMPATIENT, **demands
    )


def formats_of(model: Any) -> list[NumberFormat]:
    (route,) = model.last_route()
    return [hop.format for hop in route.hops]


def local(adapter: Path | None = None) -> torch.Tensor:
    model = AutoModelForCausalLM.from_pretrained(CHECKPOINT, dtype=torch.float32).eval()
    model = model if adapter is None else PeftModel.from_pretrained(model, adapter)
    return model.generate(input_ids=PROMPT, **GREEDY)


def test_a_client_chooses_the_format_and_a_session_never_changes_it() -> None:
    with LocalSwarm(CHECKPOINT, [WHOLE]) as swarm:
        swarm.add_engine(WHOLE, options=("--quantization", "int8")).wait_online()
        with join(swarm, quantization="int8") as packed:
            packed.generate(PROMPT, **GREEDY)
            assert formats_of(packed) == [PACKED]
        with join(swarm, quantization="int4") as impossible, pytest.raises(SwarmError, match="holds its weights in"):
            impossible.generate(PROMPT, **GREEDY)
        with join(swarm, quantization="none", compute_dtype=torch.float32) as plain:
            assert torch.equal(plain.generate(PROMPT, **GREEDY), local())
            assert formats_of(plain) == [PLAIN]
        with join(swarm) as anything:
            anything.generate(PROMPT, **GREEDY)
            (chosen,) = formats_of(anything)
            (route,) = anything.last_route()
            kill = At(4, next(engine for engine in swarm.engines if engine.peer_id == route.hops[0].peer_id).kill)
            with pytest.raises(SwarmError, match="other weights or number formats"):
                anything.generate(PROMPT, streamer=kill, **GREEDY)
            anything.generate(PROMPT, **GREEDY)  # a session that begins may take what is left
            assert formats_of(anything) == [PACKED if chosen == PLAIN else PLAIN]


def test_a_gptq_checkpoint_is_served_in_its_own_four_bits_and_as_numbers(tmp_path: Path) -> None:
    folder, whole = copytree(CHECKPOINT, tmp_path / "packed"), tmp_path / "whole"
    pack_checkpoint(folder, Layout(acts_in_order=True), whole=whole)
    spans = (Span(0, 2), Span(2, 4))
    with LocalSwarm(folder, [WHOLE]) as swarm:
        for span in spans:
            swarm.add_engine(span, options=("--quantization", "int4", "--dtype", "float32")).wait_online()
        model = AutoModelForCausalLM.from_pretrained(whole, dtype=torch.float32).eval()
        wanted = model.generate(input_ids=PROMPT, **GREEDY)
        for quantization, hops in (("int4", 2), ("none", 1)):
            demands = {"config": IMPATIENT, "quantization": quantization}
            with AutoDistributedModelForCausalLM.from_pretrained(
                str(folder), swarm=swarm.membership, **demands
            ) as client:
                assert torch.equal(client.generate(PROMPT, **GREEDY), wanted)
                assert formats_of(client) == [NumberFormat("float32", quantization)] * hops


def test_an_adapter_is_found_used_and_never_mistaken_for_another_of_its_name(tmp_path: Path) -> None:
    ours, theirs = (save_adapter(tmp_path / folder / "poet", seed) for seed, folder in enumerate(("ours", "theirs")))
    for folder in (ours, theirs):
        config = folder / "adapter_config.json"  # as peft wants to know it
        config.write_text(json.dumps({**json.loads(config.read_text()), "task_type": "CAUSAL_LM"}))
    spans = (("--adapter", str(ours)), Span(0, 2)), (("--adapter", str(ours)), Span(2, 4))
    with LocalSwarm(CHECKPOINT, [WHOLE]) as swarm:
        engines = [swarm.add_engine(span, options=options) for options, span in spans]
        engines.append(swarm.add_engine(Span(2, 4), options=("--adapter", str(theirs))))
        for engine in engines:
            engine.wait_online()
        with join(swarm, adapter="poet") as model:
            assert torch.equal(model.generate(PROMPT, **GREEDY), local(ours))
            embeddings = model.get_input_embeddings()(PROMPT).detach().requires_grad_()
            assert bool(torch.autograd.grad(model(inputs_embeds=embeddings, labels=PROMPT).loss, embeddings)[0].any())
            engines[1].kill()
            with pytest.raises(SwarmError, match="does not have the adapter poet@"):
                model.generate(PROMPT, **GREEDY)
        with join(swarm) as plain:
            assert torch.equal(plain.generate(PROMPT, **GREEDY), local())
