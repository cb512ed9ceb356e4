"""The ways of calling `forward` and `generate`: in each, a model in a swarm equals the local one or refuses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from torch import Tensor
from transformers import (
    DynamicCache,
    GenerationConfig,
    LogitsProcessorList,
    MaxTimeCriteria,
    PreTrainedTokenizerFast,
    StoppingCriteriaList,
    TemperatureLogitsWarper,
    WatermarkingConfig,
    set_seed,
)
from transformers.generation.streamers import BaseStreamer

from benchmarks.figures import Measured, figure
from benchmarks.setup.generation import swarm_model
from benchmarks.setup.local_swarm import LocalSwarm
from benchmarks.setup.models import checkpoint, local_model
from potluck.client.model import SwarmModel
from potluck.errors import UsageError
from potluck.protocol.blocks import Span

_HIDDEN_SIZE = 64
Mode = Callable[[Any], Any]
IDS = torch.tensor([[3, 14, 15, 92, 65, 35, 89, 79, 3, 14, 15]])
BATCH = torch.tensor([[3, 14, 15, 92], [65, 35, 89, 79], [2, 71, 82, 81]])
LEFT = torch.tensor([[0, 0, 1, 1], [1, 1, 1, 1], [0, 1, 1, 1]])
RIGHT = torch.tensor([[1, 1, 0, 0], [1, 1, 1, 1], [1, 1, 1, 0]])
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_BIAS = {(5,): 4.0, (7, 9): -3.0}
_PENALTIES: dict[str, dict[str, Any]] = {
    "greedy": {},
    "min_new_tokens": {"min_new_tokens": 6},
    "min_length": {"min_length": 16},
    "max_length": {"max_length": 16, "max_new_tokens": None},
    "max_time": {"max_time": 3600.0},
    "remove_invalid_values": {"remove_invalid_values": True},
    "encoder_no_repeat_ngram_size": {"encoder_no_repeat_ngram_size": 2},
    "penalty_alpha": {"penalty_alpha": 0.6, "top_k": 4},
    "dola_layers": {"dola_layers": "low"},
    "num_beam_groups": {"num_beams": 4, "num_beam_groups": 2, "diversity_penalty": 0.5},
    "force_words_ids": {"num_beams": 3, "force_words_ids": [[17]]},
    "use_mtp": {"use_mtp": True},
    "repetition_penalty": {"repetition_penalty": 1.7},
    "encoder_repetition_penalty": {"encoder_repetition_penalty": 1.7},
    "no_repeat_ngram_size": {"no_repeat_ngram_size": 2},
    "bad_words_ids": {"bad_words_ids": [[17], [3, 14]]},
    "sequence_bias": {"sequence_bias": _BIAS},
    "suppress_tokens": {"suppress_tokens": [1, 2, 3, 5, 8]},
    "begin_suppress_tokens": {"begin_suppress_tokens": [1, 2, 3, 5, 8]},
    "forced_bos_token_id": {"forced_bos_token_id": 9},
    "forced_eos_token_id": {"forced_eos_token_id": 9},
    "exponential_decay_length_penalty": {"exponential_decay_length_penalty": (3, 1.5), "eos_token_id": 7},
    "prefix_allowed_tokens_fn": {"prefix_allowed_tokens_fn": lambda batch, ids: list(range(20, 60))},
    "logits_processor": {"logits_processor": LogitsProcessorList([TemperatureLogitsWarper(0.5)])},
    "stopping_criteria": {"stopping_criteria": StoppingCriteriaList([MaxTimeCriteria(3600.0)])},
    "watermarking_config": {"watermarking_config": WatermarkingConfig(bias=2.5, seeding_scheme="selfhash")},
    "guidance_scale": {"guidance_scale": 1.5},
    "guidance_scale without a cache": {"guidance_scale": 1.5, "use_cache": False},
    "negative_prompt_ids": {"guidance_scale": 1.5, "negative_prompt_ids": IDS[:, :4]},
    "negative_prompt_attention_mask": {
        "guidance_scale": 1.5,
        "negative_prompt_ids": IDS[:, :4],
        "negative_prompt_attention_mask": torch.tensor([[0, 1, 1, 1]]),
    },
    "prompt_lookup_num_tokens": {"prompt_lookup_num_tokens": 3},
    "max_matching_ngram_size": {"prompt_lookup_num_tokens": 3, "max_matching_ngram_size": 1},
    "prefill_chunk_size": {"prefill_chunk_size": 4},
    "generation_config": {"generation_config": GenerationConfig(repetition_penalty=1.5)},
    "custom_generate": {"custom_generate": lambda model, *given, **more: type(model)._sample(model, *given, **more)},
    "assistant_early_exit": {"assistant_early_exit": 2},
    "speculation_type": {"speculation_type": "dflash"},
    "constraints": {"num_beams": 2, "constraints": [1]},
    "max_cache_len": {"max_cache_len": 64},
    "low_memory": {"low_memory": True},
    "a typing error": {"frobnicate": 1},
    "no cache": {"use_cache": False},
    "cache_implementation": {"cache_implementation": "static"},
    "quantized cache": {"cache_implementation": "quantized"},
    "a cache of its own": {"past_key_values": DynamicCache},
    "beams": {"num_beams": 4},
    "beams that return several": {"num_beams": 4, "num_return_sequences": 3, "length_penalty": 2.0},
    "beams that stop early": {"num_beams": 3, "early_stopping": True, "eos_token_id": 7},
    "output_scores": {"output_scores": True, "return_dict_in_generate": True},
    "output_logits": {"output_logits": True, "return_dict_in_generate": True},
    "output_hidden_states": {"output_hidden_states": True, "return_dict_in_generate": True},
    "output_attentions": {"output_attentions": True, "return_dict_in_generate": True},
}
_DRAWS: dict[str, dict[str, Any]] = {
    "sampling": {},
    "top_k": {"top_k": 5},
    "top_p": {"top_p": 0.6},
    "min_p": {"min_p": 0.05},
    "top_h": {"top_h": 0.5},
    "typical_p": {"typical_p": 0.6},
    "epsilon_cutoff": {"epsilon_cutoff": 3e-4},
    "eta_cutoff": {"eta_cutoff": 3e-4},
    "temperature": {"temperature": 0.3, "renormalize_logits": True},
    "several sequences": {"num_return_sequences": 3},
    "beam sampling": {"num_beams": 3},
}


def modes(assistant: Any) -> dict[str, Mode]:
    """Return each mode by its name, as a function of a model. `assistant`: a small local model of the same tokens."""
    options = _PENALTIES | _with_tokenizer() | _with_assistant(assistant)
    named = {f"generate: {name}": _generating(each) for name, each in options.items()}
    named |= {f"generate: {name}": _generating({"do_sample": True} | options) for name, options in _DRAWS.items()}
    return named | {
        "generate: a padded batch": lambda m: m.generate(BATCH, attention_mask=LEFT, max_new_tokens=6, pad_token_id=0),
        "generate: a padded batch with beams": lambda m: m.generate(
            BATCH, attention_mask=LEFT, max_new_tokens=6, pad_token_id=0, num_beams=2
        ),
        "generate: padding on the right": lambda m: m.generate(
            BATCH, attention_mask=RIGHT, max_new_tokens=4, pad_token_id=0
        ),
        "generate: inputs_embeds": lambda m: m.generate(
            inputs_embeds=m.get_input_embeddings()(IDS), max_new_tokens=6, pad_token_id=0
        ),
        "generate: no prompt": lambda m: m.generate(max_new_tokens=5, bos_token_id=3, pad_token_id=0),
        "generate: streamer": _streaming,
        "generate: prompt lookup with sampling": _drawing_with_drafts,
        "generate: going on": _going_on,
        "generate: going on from a forward": _going_on_from_a_forward,
        "forward: input_ids": lambda m: m(BATCH).logits,
        "forward: inputs_embeds": lambda m: m(inputs_embeds=m.get_input_embeddings()(IDS)).logits,
        "forward: labels": lambda m: m(BATCH, labels=BATCH).loss,
        "forward: logits_to_keep": lambda m: m(BATCH, logits_to_keep=2).logits,
        "forward: return_dict": lambda m: m(BATCH, return_dict=False)[0],
        "forward: padding on the left": lambda m: m(BATCH, attention_mask=LEFT).logits[LEFT.bool()],
        "forward: padding on the right": lambda m: m(BATCH, attention_mask=RIGHT).logits[RIGHT.bool()],
        "forward: a mask of every pair": lambda m: m(BATCH, attention_mask=torch.ones(3, 1, 4, 4)).logits,
        "forward: a mask with holes": lambda m: m(IDS[:, :4], attention_mask=torch.tensor([[1, 0, 1, 1]])).logits,
        "forward: usual position_ids": lambda m: m(BATCH, position_ids=torch.arange(4)[None]).logits,
        "forward: packed position_ids": lambda m: m(BATCH, position_ids=torch.tensor([[0, 1, 0, 1]])).logits,
        "forward: shifted position_ids": lambda m: m(BATCH, position_ids=torch.tensor([[0, 2, 4, 6]])).logits,
        "forward: output_hidden_states": lambda m: m(BATCH, output_hidden_states=True).hidden_states[1],
        "forward: output_attentions": lambda m: m(BATCH, output_attentions=True).attentions[0],
        "forward: a cache of its own": lambda m: m(BATCH, past_key_values=DynamicCache(config=m.config)).logits,
        "forward: use_cache": lambda m: _token_by_token(m, use_cache=True),
        "forward: a cache that nobody asked for": _token_by_token,
        "forward: use_cache without gradients": torch.no_grad()(lambda m: _token_by_token(m, use_cache=True)),
        "forward: no cache": lambda m: m(BATCH, use_cache=False).logits,
        "forward: no tokens": lambda m: m(BATCH[:, :0]).logits,
        "forward: is_causal": lambda m: m(BATCH, is_causal=False).logits,
        "forward: ends of packed rows": lambda m: m(BATCH, cu_seq_lens_q=torch.tensor([0, 2, 4])).logits,
        "forward: use_cache and padding": lambda m: _padded_loop(m, LEFT),
        "forward: use_cache and a forgotten mask": lambda m: _padded_loop(m, None),
    }


@figure("generate_matrix", unit="modes", reach=0, shown=True)
def measure(soak: bool) -> Measured:
    """Ways of calling `generate` and `forward` that neither equal the local model nor are refused with a reason."""
    folder = checkpoint(_HIDDEN_SIZE, num_blocks=4)
    local = local_model(folder)
    with LocalSwarm(folder, [Span(0, 2), Span(2, 4)]) as swarm, swarm_model(swarm, folder) as remote:
        found = {name: judge(mode, local, remote) for name, mode in modes(local).items()}
    wrong = {name: what for name, what in found.items() if what not in ("equal", "refused")}
    refused = [name for name, what in found.items() if what == "refused"]
    return Measured(len(wrong), {"modes": len(found), "refused": refused, "wrong": wrong})


def judge(mode: Mode, local: Any, remote: Any) -> str:
    """Return "equal", "refused", or what is wrong."""
    expected = _outcome(mode, local)
    got = _outcome(mode, remote)
    if isinstance(got, UsageError):
        return "refused"
    if isinstance(got, Exception):
        return "refused" if type(got) is type(expected) else f"{type(got).__name__}: {got}"
    if isinstance(expected, Exception):
        return f"the local model says {expected}"
    return "equal" if len(expected) == len(got) and all(map(_is_equal, expected, got)) else "different"


def _outcome(mode: Mode, model: Any) -> tuple[Tensor, ...] | Exception:
    set_seed(0)
    try:
        answer = mode(model)
    except Exception as error:
        return error
    if isinstance(answer, Tensor):
        return (answer,)
    return (answer.sequences, *(answer.get("scores") or ()), *(answer.get("logits") or ()))


def _is_equal(expected: Tensor, got: Tensor) -> bool:
    if expected.shape != got.shape:
        return False
    return bool(
        torch.allclose(expected, got, atol=2e-5, rtol=1e-4) if expected.is_floating_point() else (expected == got).all()
    )


def _with_tokenizer() -> dict[str, dict[str, Any]]:
    """Return the options that need a tokenizer, with one that has a token for each byte."""
    vocabulary = {letter: number for number, letter in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    bytewise = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    bytewise.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bytewise.decoder = decoders.ByteLevel()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=bytewise, pad_token="!", bos_token='"')
    return {
        "stop_strings": {"stop_strings": list(_LETTERS), "tokenizer": tokenizer},
        "stop_strings without a tokenizer": {"stop_strings": list(_LETTERS)},
        "token_healing": {"token_healing": True, "tokenizer": tokenizer},
    }


def _with_assistant(assistant: Any) -> dict[str, dict[str, Any]]:
    ensemble = {"assistant_model": assistant, "assistant_ensemble_weight": 0.5}
    few = {"num_assistant_tokens": 2, "num_assistant_tokens_schedule": "constant"}
    back = {"assistant_lookbehind": 3, "target_lookbehind": 3}
    return {
        "assistant_model": {"assistant_model": assistant},
        "num_assistant_tokens": {"assistant_model": assistant} | few,
        "assistant_confidence_threshold": {"assistant_model": assistant, "assistant_confidence_threshold": 0.3},
        "assistant_lookbehind": {"assistant_model": assistant} | back,
        "assistant_ensemble_weight": ensemble,
        "assistant_ensemble_weight with sampling": ensemble | {"do_sample": True},
    }


def _generating(options: dict[str, Any]) -> Mode:
    def generate(model: Any) -> Any:
        given = {name: value() if value is DynamicCache else value for name, value in options.items()}
        if "guidance_scale" in given:
            given.setdefault("max_new_tokens", 6)
        return model.generate(IDS, **{"max_new_tokens": 12, "pad_token_id": 0, "do_sample": False} | given)

    return generate


def _drawing_with_drafts(model: Any) -> Any:
    """Compare draws with drafts to draws without.

    Transformers draws after all drafted tokens at once, so it draws others.
    """
    drafts = {"prompt_lookup_num_tokens": 3} if isinstance(model, SwarmModel) else {}
    return model.generate(IDS, max_new_tokens=12, pad_token_id=0, do_sample=True, **drafts)


def _streaming(model: Any) -> Tensor:
    streamer = _Streamer()
    model.generate(IDS, max_new_tokens=6, pad_token_id=0, streamer=streamer)
    return torch.cat(streamer.parts)


class _Streamer(BaseStreamer):  # type: ignore[misc]
    """Keeps what it is given."""

    def __init__(self) -> None:
        self.parts: list[Tensor] = []

    def put(self, value: Tensor) -> None:
        self.parts.append(value.flatten())

    def end(self) -> None:
        self.parts.append(torch.tensor([-1]))


def _going_on(model: Any) -> Any:
    first = model.generate(IDS, max_new_tokens=4, pad_token_id=0, return_dict_in_generate=True)
    more = torch.cat([first.sequences, IDS[:, :3]], dim=1)
    return model.generate(more, max_new_tokens=40, pad_token_id=0, past_key_values=first.past_key_values)


def _going_on_from_a_forward(model: Any) -> Any:
    seen = model(IDS)
    return model.generate(
        torch.cat([IDS, IDS], dim=1), max_new_tokens=4, pad_token_id=0, past_key_values=seen.past_key_values
    )


def _token_by_token(model: Any, **options: Any) -> Tensor:
    """Run the loop of the textbooks past the room that a first step leaves."""
    out = model(IDS, **options)
    logits = [out.logits]
    for _ in range(3):
        out = model(out.logits[:, -1:].argmax(-1), past_key_values=out.past_key_values, **options)
        logits.append(out.logits)
    return torch.cat(logits, dim=1)


def _padded_loop(model: Any, mask: Tensor | None) -> Tensor:
    out = model(BATCH, attention_mask=LEFT, use_cache=True)
    grown = None if mask is None else torch.cat([mask, torch.ones(3, 1, dtype=mask.dtype)], dim=1)
    return model(BATCH[:, :1], attention_mask=grown, past_key_values=out.past_key_values).logits  # type: ignore[no-any-return]
