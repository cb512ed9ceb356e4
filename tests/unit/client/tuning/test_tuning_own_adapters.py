"""LoRA that peft puts at remote blocks: what is refused, and who is asked to compute with it."""

from typing import Any

import pytest
import torch
from helpers.client_world import HASTY, prompt, world
from peft import IA3Config, LoraConfig, PrefixTuningConfig, PromptTuningConfig, get_peft_model
from transformers import PreTrainedModel

from potluck.errors import SwarmError, UsageError


@pytest.mark.parametrize(
    ("config", "said"),
    [
        (IA3Config(target_modules=["q_proj"], feedforward_modules=[]), "only plain LoRA"),
        (LoraConfig(target_modules=["q_proj"], lora_dropout=0.5), "lora_dropout"),
        (LoraConfig(target_modules=["q_proj"], init_lora_weights="olora"), "init_lora_weights"),
        (LoraConfig(target_modules=["q_proj"], use_dora=True), "at the servers"),
    ],
    ids=["IA3", "dropout", "olora", "DoRA"],
)
def test_what_servers_cannot_compute_is_refused(config: Any, said: str) -> None:
    with world("0:4") as there:
        with pytest.raises(UsageError) as refusal:
            get_peft_model(there.model, config).train()(input_ids=prompt())
        assert said in f"{refusal.value} {refusal.value.hint}"


def test_servers_that_take_no_adapters_are_not_asked_and_it_is_said(local: PreTrainedModel) -> None:
    with world("0:4", config=HASTY) as there:
        model = get_peft_model(there.model, LoraConfig(target_modules=["q_proj"]))
        with pytest.raises(SwarmError, match="takes no adapters that callers bring"):
            model(input_ids=prompt())
        assert not there.servers[0].forwards
        with model.disable_adapter():
            logits = local(input_ids=prompt()).logits
            torch.testing.assert_close(model(input_ids=prompt()).logits, logits, rtol=1e-5, atol=1e-4)


def test_peft_finds_each_linear_layer_whose_weights_are_elsewhere_and_merges_and_saves_nothing_into_them() -> None:
    with world("0:4") as there:
        names = {name for name, module in there.model.named_modules() if isinstance(module, torch.nn.Linear)}
        for block in range(4):
            assert f"model.layers.{block}.self_attn.q_proj" in names
        assert not [name for name in there.model.state_dict() if ".layers." in name]
        assert not [name for name, _ in there.model.named_parameters() if ".layers." in name]
        model = get_peft_model(there.model, LoraConfig(target_modules=["q_proj"]))
        with pytest.raises(UsageError, match="at the servers"):
            model.merge_and_unload()


def test_an_adapter_for_each_row_is_refused_and_leaves_no_trace(local: PreTrainedModel) -> None:
    with world("0:4") as there:
        model = get_peft_model(there.model, LoraConfig(target_modules=["q_proj"])).eval()
        with pytest.raises(UsageError, match="adapter_names=") as refusal:
            model(input_ids=prompt(batch=2), adapter_names=["default", "__base__"])
        assert "set_adapter()" in str(refusal.value.hint)
        with model.disable_adapter():
            logits = local(input_ids=prompt()).logits
            torch.testing.assert_close(model(input_ids=prompt()).logits, logits, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("config", [PromptTuningConfig, PrefixTuningConfig])
def test_rows_of_different_lengths_after_a_trained_prompt_are_refused_with_a_hint_that_helps(config: Any) -> None:
    with world("0:4") as there:
        model = get_peft_model(there.model, config(task_type="CAUSAL_LM", num_virtual_tokens=3)).eval()
        mask = torch.ones(2, 7, dtype=torch.int64)
        mask[0, :2] = 0
        with pytest.raises(UsageError) as refusal:
            model(input_ids=prompt(batch=2), attention_mask=mask)
        assert "pad on the right to train, and generate for rows of equal length" in str(refusal.value.hint)


def test_trained_keys_are_the_same_in_all_rows() -> None:
    with world("0:4") as there:
        model = get_peft_model(there.model, PrefixTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=3))
        cache = model.get_prompt(2)
        cache.layers[1].keys[1] = 0
        with pytest.raises(UsageError, match="differ between rows"):
            there.model(input_ids=prompt(batch=2), past_key_values=cache)
