"""Every causal family of the installed Transformers as a tiny random model: is it exact in three parts, or refused?

`python -m benchmarks.equality.families` judges all of them and writes docs/families.md.
"""

from __future__ import annotations

import math
import signal
import tempfile
import warnings
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
import transformers
from torch import Tensor, nn
from transformers import AutoModelForCausalLM, DynamicCache, logging
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING

from benchmarks.figures import Measured, figure
from potluck.blocks.cache.session_cache import KvCache
from potluck.blocks.span.block_span import BlockSpan, load_span
from potluck.checkpoint.ends import load_ends
from potluck.checkpoint.families import cache_name, decoder_of
from potluck.checkpoint.source import open_checkpoint
from potluck.errors import PotluckError
from potluck.protocol.blocks import Span

NUM_BLOCKS = 4
SPANS = (Span(0, 1), Span(1, 3), Span(3, 4))
_SAMPLE = 24  # families by default, evenly over their names
_PATIENCE_S = 60  # limit for one family
_MOST_PARAMETERS = 20_000_000
_SPREAD = 0.2  # spread of weights at this hidden size: wide enough that a wrong mask changes the output
_SIZES: dict[str, Any] = {
    **dict.fromkeys(("num_hidden_layers", "n_layer", "n_layers", "num_layers"), NUM_BLOCKS),
    **dict.fromkeys(("hidden_size", "n_embd", "d_model", "embedding_size", "attention_hidden_size"), 64),
    **dict.fromkeys(("num_attention_heads", "n_head", "n_heads", "num_heads"), 4),
    **dict.fromkeys(("num_key_value_heads", "num_kv_heads"), 2),
    **dict.fromkeys(("intermediate_size", "ffn_dim", "n_inner", "ffn_hidden_size", "moe_intermediate_size"), 96),
    **dict.fromkeys(("shared_expert_intermediate_size", "shared_intermediate_size", "dense_intermediate_size"), 96),
    **dict.fromkeys(("num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts"), 4),
    **dict.fromkeys(("num_experts_per_tok", "moe_k", "moe_topk", "top_k_experts"), 2),
    "head_dim": 16,
    "vocab_size": 128,
    "word_embed_proj_dim": 64,
    "rotary_dim": 8,
    "n_group": 1,
    "topk_group": 1,
    "first_k_dense_replace": 1,
    "kv_lora_rank": 16,
    "q_lora_rank": 16,
    "qk_nope_head_dim": 16,
    "v_head_dim": 16,
    "qk_rope_head_dim": 8,
    "max_position_embeddings": 256,
    "n_positions": 256,
    "sliding_window": 8,
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 4,
    "linear_key_head_dim": 16,
    "linear_value_head_dim": 16,
    "vocab_size_per_layer_input": 128,
    "hidden_size_per_layer_input": 8,
    "pad_token_id": 0,
    **dict.fromkeys(("mamba_d_state", "state_size", "mamba_chunk_size", "chunk_size", "mamba_dt_rank"), 16),
    **dict.fromkeys(("mamba_n_heads", "linear_num_heads"), 8),
    "mamba_d_head": 16,
    "linear_head_dim": 16,
    "num_experts_per_token": 2,
}
_WHERE_NONE: dict[str, Any] = {  # some defaults leave out what every checkpoint of the family has
    "head_dim": 16,
    "num_key_value_heads": 2,
    "num_experts_per_tok": 2,
    "n_routed_experts": 4,
    "n_shared_experts": 1,
}
_ROPE = {"rope_type": "default", "rope_theta": 10000.0}
_GEMMA_4 = {  # like its larger models
    "layer_types": ["sliding_attention", "full_attention"] * 2,
    "num_kv_shared_layers": 0,
    "hidden_size_per_layer_input": 0,
    "per_layer_config": {1: {"head_dim": 32}, 3: {"head_dim": 32}},
}
_FITTING: dict[str, dict[str, Any]] = {  # what single families need besides
    "bailing_hybrid": {"num_expert_group": 1},
    "bamba": {"attn_layer_indices": [1, 3]},
    "cohere_compass_text": {"rope_parameters": {"full_attention": _ROPE, "sliding_attention": _ROPE}},
    "dots3_note_text": {"head_dim": 24},
    "falcon_h1": {"mamba_d_ssm": 128},
    "gemma4_text": _GEMMA_4,
    "gemma4_unified_text": _GEMMA_4,
    "granitemoehybrid": {"layer_types": ["linear_attention", "full_attention"] * 2},
    "gemma3n_text": {
        "layer_types": ["sliding_attention", "full_attention"] * 2,
        "num_kv_shared_layers": 2,
        "intermediate_size": [96] * NUM_BLOCKS,
        "activation_sparsity_pattern": [0.0] * NUM_BLOCKS,
    },
    "glm_moe_dsa": {"indexer_types": ["full", "full", "shared", "full"]},
    "hy_v4": {"indexer_types": ["full", "shared"] * 2},
    "jamba": {"attn_layer_period": 2, "attn_layer_offset": 1},
    "lfm2_moe": {"layer_types": ["conv", "full_attention"] * 2},
    "longcat_flash": {
        "num_layers": NUM_BLOCKS,
        "qk_head_dim": 24,
        "head_dim": 8,
        "num_key_value_heads": 4,
        "ffn_hidden_size": 96,
        "expert_ffn_hidden_size": 32,
        "n_routed_experts": 4,
        "zero_expert_num": 2,
        "moe_topk": 2,
    },
    "mamba2": {"num_heads": 8},
    "qwen4_exp_text": {
        "indexer_n_heads": 4,
        "indexer_kv_heads": 2,
        "indexer_head_dim": 16,
        "indexer_budget": 8,
        "indexer_compress_ratio": 2,
    },
    "xlstm": {"embedding_dim": 64},
    "zamba": {
        "layers_block_type": ["linear_attention", "hybrid"] * 2,
        "attention_head_dim": 32,
        "attention_hidden_size": 128,
    },
    "zamba2": {"mamba_headdim": 16, "attention_head_dim": 32, "attention_hidden_size": 128, "hybrid_layer_ids": [1, 3]},
    "zaya": {"num_experts_per_tok": 1},
}
_INTRODUCTION = """\
# Which families of models work

`python -m benchmarks.equality.families` wrote this page. It makes a tiny random model of every causal family of
Transformers {version}, cuts it into three parts as servers would, and compares logits and generated tokens with the
whole model's.

- *exact, shared*: every number is equal, and steps of many sessions are computed together.
- *exact, alone*: every number is equal, and each session has steps of its own.
- *refused*: such a model is refused when it is loaded, with this reason.
- *not judged*: the family is no causal language model, or no sizes are known here with which its own code runs.

Gemma 4 is exact for models whose layers neither share keys and values nor take the tokens themselves, as its larger
ones; others are refused. In GLM-MoE-DSA some blocks use the tokens that an earlier one chose: no span can start at
them. Sharing steps is found out for each checkpoint when it is loaded.

Dynamic NTK and LongRoPE encode positions by the length of the text beyond a limit (`max_position_embeddings`, and
`original_max_position_embeddings`). Keys would then depend on the steps in which they were computed, and another server
could not repeat them. Such models take texts up to that limit, and longer sessions are refused.

| Result | Families |
| --- | --- |
"""
_HALF = "not judged: it is one half of an encoder and a decoder"


@figure("families", unit="share", reach=0.9, better="higher", shown=True)
def measure(soak: bool) -> Measured:
    """Share of the causal families of Transformers that give the whole model's logits and tokens when split in three
    (24; all in soak).

    Tiny random models. Families that are not causal, and those that no sizes here suit, are not judged; none may be
    wrong or crash.
    """
    _quieten()
    names = all_families()
    chosen = names if soak else names[:: max(len(names) // _SAMPLE, 1)]
    found = judge_all(chosen)
    judged = {name: what for name, what in found.items() if not what.startswith("not judged")}
    bad = {name: what for name, what in judged.items() if what.startswith(("crashed", "wrong"))}
    exact = sum(what.startswith("exact") for what in judged.values())
    return Measured(exact / max(len(judged), 1), _by_outcome(found), holds=not bad)


def _by_outcome(found: dict[str, str]) -> dict[str, list[str]]:
    by_outcome = defaultdict(list)
    for name, what in found.items():
        by_outcome[what].append(name)
    return dict(sorted(by_outcome.items()))


def _quieten() -> None:
    logging.set_verbosity(logging.CRITICAL)
    logging.disable_progress_bar()
    warnings.simplefilter("ignore")


def all_families() -> list[str]:
    return sorted(config.model_type for config in MODEL_FOR_CAUSAL_LM_MAPPING)


def page(found: dict[str, str]) -> str:
    """Return docs/families.md, which says what each family gave."""
    rows = "\n".join(f"| {what} | {', '.join(names)} |" for what, names in _by_outcome(found).items())
    return f"{_INTRODUCTION.format(version=transformers.__version__)}{rows}\n"


def judge_all(names: list[str]) -> dict[str, str]:
    """Return for each family "exact, shared", "exact, alone", or why not."""
    classes = {config.model_type: config for config in MODEL_FOR_CAUSAL_LM_MAPPING}
    found = {}
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            try:
                with _patience(_PATIENCE_S):
                    found[name] = _judge(classes[name], Path(folder))
            except TimeoutError:
                found[name] = "not judged: it takes too long here"
    return found


def _judge(config_class: Any, folder: Path) -> str:
    try:
        if config_class().is_encoder_decoder:
            return _HALF
        whole = _saved(config_class, folder, {})
        ids = torch.randint(3, 120, (2, 14), generator=torch.Generator().manual_seed(1))
        with torch.inference_mode():
            wanted = whole(ids, use_cache=False).logits
            if not torch.allclose(whole(ids[:, :7], use_cache=False).logits, wanted[:, :7], rtol=1e-3, atol=1e-3):
                return "not judged: it is no causal model, earlier tokens see later ones"
            tokens = whole.generate(ids, max_new_tokens=6, do_sample=False)
    except TimeoutError:
        raise
    except Exception as error:  # what a family's own code raises for sizes that do not suit it
        return f"not judged: {_first_line(error)}"
    try:
        checkpoint = open_checkpoint(str(folder))
        parts = [load_span(checkpoint, span) for span in SPANS]
        with torch.inference_mode():
            ends = load_ends(checkpoint, _Parts(parts))
            logits = ends(ids, use_cache=False).logits
            cache = {cache_name(decoder_of(ends, NUM_BLOCKS)[0]): _Length(config=ends.config)}
            again = ends.generate(ids, max_new_tokens=6, do_sample=False, **cache)
    except TimeoutError:
        raise
    except PotluckError as error:
        return f"refused: {_first_line(error)}"
    except Exception as error:
        return f"crashed: {_first_line(error)}"
    if not torch.equal(logits, wanted) or not torch.equal(again, tokens):
        return f"wrong: {float((logits - wanted).abs().max()):.1e} off"
    return "exact, shared" if all(part.is_ragged for part in parts) else "exact, alone"


def save_random(name: str, folder: Path, sizes: Mapping[str, Any] | None = None) -> Path:
    """Write a random model of a family, tiny but for the `sizes` that are given."""
    _quieten()
    classes = {config.model_type: config for config in MODEL_FOR_CAUSAL_LM_MAPPING}
    _saved(classes[name], folder, sizes or {})
    return folder


def _saved(config_class: Any, folder: Path, sizes: Mapping[str, Any]) -> Any:
    """Write a random model of the family and return it as Transformers loads it."""
    config = config_class()
    for each in (config, *(getattr(config, name) for name in config.sub_configs if getattr(config, name, None))):
        _shrink(each)
    for name, size in sizes.items():
        setattr(config, name, size)
    with torch.device("meta"):
        size = sum(each.numel() for each in AutoModelForCausalLM.from_config(config).parameters())
    if size > _MOST_PARAMETERS and not sizes:
        raise ValueError(f"its smallest model here has {size:,} parameters")
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    spread = _SPREAD * math.sqrt(_SIZES["hidden_size"] / sizes.get("hidden_size", _SIZES["hidden_size"]))
    for parameter in model.parameters():
        if parameter.dim() > 1:
            parameter.data.normal_(0, spread)
        else:
            parameter.data.add_(torch.randn_like(parameter) * 0.1)
    model.save_pretrained(folder)
    whole = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    return whole.requires_grad_(False)  # because torch multiplies some weights otherwise if they are trained


def _shrink(config: Any) -> None:
    """Set the sizes that this configuration has, and cut its lists with one entry a layer."""
    depth = getattr(config, "num_hidden_layers", None)
    if config.is_heterogeneous:
        config.per_layer_config = {}
    for name, value in list(vars(config).items()):
        if isinstance(value, list) and len(value) == depth:
            setattr(config, name, value[-NUM_BLOCKS:])
    for name, size in _SIZES.items():
        is_computed = isinstance(getattr(type(config), name, None), property)
        if not is_computed and type(getattr(config, name, None)) is int:
            setattr(config, name, size)
    for name, size in _WHERE_NONE.items():
        if name in vars(config) and vars(config)[name] is None:
            setattr(config, name, size)
    if getattr(config, "kv_lora_rank", None) is not None:  # latent attention has as many heads of each kind
        config.num_key_value_heads = config.num_attention_heads
        config.head_dim = config.qk_rope_head_dim
    for name, value in _FITTING.get(config.model_type, {}).items():
        setattr(config, name, value)
    for name in ("bos_token_id", "eos_token_id"):
        if getattr(config, name, None) is not None:
            setattr(config, name, 1)


class _Length(DynamicCache):  # type: ignore[misc]
    """Stands for the client's cache: it counts tokens, and the parts have caches of their own."""

    length = 0

    def get_seq_length(self, layer_idx: int = 0) -> int:
        return self.length

    def get_mask_sizes(self, query_length: int, layer_idx: int) -> tuple[int, int]:
        return self.length + query_length, 0


class _Parts(nn.Module):
    """The parts one after another."""

    def __init__(self, parts: list[BlockSpan]) -> None:
        super().__init__()
        self._parts = parts
        self._caches: list[KvCache] = []

    def forward(self, hidden_states: Tensor, past_key_values: _Length | None = None) -> Tensor:
        caches: list[KvCache | None] = [None] * len(self._parts)
        if past_key_values is not None:
            if past_key_values.length == 0:
                self._caches = [part.new_cache() for part in self._parts]
            caches = list(self._caches)
            past_key_values.length += hidden_states.shape[1]
        for part, cache in zip(self._parts, caches, strict=True):
            hidden_states = part.forward(hidden_states, cache)
        return hidden_states


@contextmanager
def _patience(seconds: int) -> Iterator[None]:
    """Raise TimeoutError in the block after `seconds`."""

    def give_up(signum: int, frame: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0][:120]


if __name__ == "__main__":
    _quieten()
    Path("docs/families.md").write_text(page(judge_all(all_families())))
