"""How model families differ: which cannot be split and why, which class is the decoder, and where its layers are.

It has no forward code, because a span runs the family's own (see `potluck.blocks.span.block_span`).
"""

from __future__ import annotations

import copy
from importlib import import_module
from inspect import signature
from typing import Any

from torch import nn
from transformers import PreTrainedModel
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING, MODEL_MAPPING

from potluck.errors import CheckpointError
from potluck.sentences import sentence

_SHARED_KV = sentence("its layers share keys and values across the whole depth")
_STREAMS = sentence("its layers exchange several hidden states for each token")
_SHARED_BLOCK = sentence("one block's weights are shared between many layers")
NOT_SPLITTABLE = {
    "deepseek_v4": _STREAMS,
    "gemma3n_text": _SHARED_KV,
    "gemma4_assistant": _SHARED_KV,
    "gemma4_unified_assistant": _SHARED_KV,
    "hy_v4": _STREAMS,
    "mistral_large4": _SHARED_KV,
    "zamba": _SHARED_BLOCK,
    "zamba2": _SHARED_BLOCK,
}
"""model_type -> why its blocks cannot run on different machines."""

_NOT_IN_LAYERS = {
    "num_kv_shared_layers": _SHARED_KV,
    "hidden_size_per_layer_input": sentence("its layers need the tokens besides the hidden states"),
}
"""A number in the configuration of some checkpoints of a family -> why those cannot be split."""

SAME_LAYERS = {"kimi_k2": "deepseek_v3", "mimo": "qwen2"}
"""A model_type that Transformers does not know -> the family whose layers and names its checkpoints have.

Sources: the configurations beside Kimi-K2-Instruct and MiMo-7B-RL, which say so by their classes.
"""

NEEDS_A_MASK = frozenset({"mpt"})
"""Families whose loop computes with the mask itself, even if no layer uses it."""

NEEDS_POSITIONS = frozenset({"bamba"})
"""Families whose loop counts each step's positions from 0 unless it is given them."""

MASKS_ONCE = frozenset({"falcon_mamba", "mamba", "mamba2", "xlstm"})
"""Families that mask padding once: their generation passes no mask later."""

CACHE_NAMES = ("cache", "cache_params", "past_key_values")
"""Under which names decoders and layers take their cache: the first from Transformers 5.24 on, the second Mamba's."""

LAYER_INDEX_NAMES = frozenset({"layer_idx", "layer_id"})
"""Under which names a layer's parts know their place in the cache."""

_STACK_NAMES = ("layers", "h", "blocks", "decoder_layers")


def longest_text(text_config: Any) -> int | None:
    """Return after how many tokens the family encodes a position by the length of the text; None: never.

    Longer texts are refused: keys would depend on the steps in which they were computed, which no replay can repeat.
    """
    found = getattr(text_config, "rope_parameters", None) or {}
    parts = [found, *(part for part in found.values() if isinstance(part, dict))]
    ends = [part["original_max_position_embeddings"] for part in parts if part.get("rope_type") == "longrope"]
    if any(part.get("rope_type") == "dynamic" for part in parts):
        ends.append(text_config.max_position_embeddings)
    return min(ends, default=None)


def accepts_choices(kind: type) -> bool:
    """Return whether modules of this class are a layer's experts, which are given each token's choices."""
    names = tuple(signature(kind.forward).parameters) if kind.__name__.endswith("Experts") else ()  # type: ignore[attr-defined]
    return len(names) == 4 and any(part in names[2] for part in ("index", "indices", "experts"))


def reports_choices(text_config: Any) -> bool:
    """Return whether it is known which experts the layers of a family choose, so that others can repeat it."""
    if text_config.model_type == "phimoe":  # its routers choose by other ways than `topk`, which nobody can repeat
        return False
    family = import_module(decoder_class(text_config).__module__)
    kinds = (value for value in vars(family).values() if isinstance(value, type))
    return any(accepts_choices(kind) for kind in kinds if kind.__module__ == family.__name__)


def can_audit(text_config: Any) -> bool:
    """Return whether a prefill of the family computes what its steps do, if it repeats their choices of experts."""
    return not has_experts(text_config) or reports_choices(text_config)


def has_experts(text_config: Any) -> bool:
    """Return whether the model sends tokens to some of its experts, whose number each family names otherwise."""
    numbers = (value for name, value in text_config.to_dict().items() if "expert" in name)
    return any(type(value) is int and value > 1 for value in numbers)


def refuse_unsplittable(config: Any) -> None:
    """Raise CheckpointError with the reason if the family of `config` cannot be split into spans."""
    text = config.get_text_config(decoder=True)
    for model_type in (config.model_type, text.model_type):
        if model_type in NOT_SPLITTABLE:
            raise CheckpointError(
                sentence(
                    "models of the family {family} cannot be split: {why}",
                    family=model_type,
                    why=NOT_SPLITTABLE[model_type],
                ),
                hint=sentence("choose a model of another family"),
            )
    for name, reason in _NOT_IN_LAYERS.items():
        if getattr(text, name, None):
            raise CheckpointError(
                sentence("this model cannot be split: {why} ({what})", why=reason, what=name),
                hint=sentence("choose another model"),
            )
    if config.is_encoder_decoder or text.is_encoder_decoder:
        raise CheckpointError(
            sentence(
                "models of the family {family} cannot be split: they have an encoder and a decoder",
                family=config.model_type,
            ),
            hint=sentence("choose a decoder-only model"),
        )


def refuse_start(text_config: Any, start: int) -> None:
    """Raise CheckpointError if block `start` takes a choice of tokens from the block before it."""
    kinds = getattr(text_config, "indexer_types", None) or ()
    own = [index for index, kind in enumerate(kinds) if kind != "shared"]
    if not own or start in own:
        return
    before = max((index for index in own if index < start), default=own[0])
    after = next((index for index in own if index > start), None)
    hint = sentence("start at layer {number}", number=before + 1)
    if after is not None:
        hint = sentence("start at layer {number} or {other}", number=before + 1, other=after + 1)
    raise CheckpointError(
        sentence(
            "no span of this model can start at layer {number}, which uses the tokens that the layer before it chose",
            number=start + 1,
        ),
        hint=hint,
    )


def layers_in_a_block(text_config: Any) -> int:
    """Return how many of the layers that the configuration counts are one block."""
    return 2 if text_config.model_type == "longcat_flash" else 1  # it counts attentions, of which a block has two


def decoder_class(text_config: Any) -> Any:
    """Return the class of the bare decoder, without a head, for a text configuration."""
    config_class = type(text_config)
    if config_class in MODEL_MAPPING:
        found = MODEL_MAPPING[config_class]
        return found[0] if isinstance(found, list | tuple) else found
    if config_class in MODEL_FOR_CAUSAL_LM_MAPPING:  # such as Llama 4, registered only with its head
        with_head = MODEL_FOR_CAUSAL_LM_MAPPING[config_class]
        module = import_module(with_head.__module__)
        stem = with_head.__name__.replace("ForCausalLM", "")
        for name in (f"{stem}TextModel", f"{stem}Model"):
            if hasattr(module, name):
                return getattr(module, name)
    raise CheckpointError(
        sentence("no decoder is known for models of the family {family}", family=text_config.model_type)
    )


def cache_name(decoder: nn.Module) -> str:
    """Return under which name a decoder takes its cache."""
    taken = signature(decoder.forward).parameters
    return next((name for name in CACHE_NAMES if name in taken), CACHE_NAMES[-1])


def accepts_use_cache(config: Any) -> bool:
    """Return whether a decoder accepts `use_cache` together with a cache."""
    return bool(config.model_type != "minimax")  # its loop refuses caches of other classes if it gets this


def decoder_of(model: nn.Module, num_blocks: int) -> tuple[nn.Module, str]:
    """Return the module that holds the decoder's layers, and their name in it.

    It looks through wrappers such as `model.model` or OPT's `model.decoder`, breadth first, so the outermost stack
    wins.
    """
    queue = [model]
    while queue:
        module = queue.pop(0)
        stacks = [
            name
            for name, child in module.named_children()
            if isinstance(child, nn.ModuleList) and len(child) == num_blocks
        ]
        named = [name for name in stacks if name in _STACK_NAMES]
        if isinstance(module, PreTrainedModel) and len(named or stacks) == 1:
            return module, (named or stacks)[0]
        queue.extend(child for child in module.children() if not isinstance(child, nn.ModuleList))
    raise CheckpointError(
        sentence(
            "no part of {what} is a stack of {number} layers that is known",
            what=type(model).__name__,
            number=num_blocks,
        )
    )


def slice_config(config: Any, start: int, end: int) -> Any:
    """Return a copy of a text configuration for blocks [start, end), with what it says of single layers."""
    start, end = start * layers_in_a_block(config), end * layers_in_a_block(config)
    depth = config.num_hidden_layers
    sliced = copy.deepcopy(config)
    for key, value in vars(config).items():
        if isinstance(value, list | tuple) and len(value) == depth and key not in ("architectures",):
            setattr(sliced, key, type(value)(value[start:end]))
        elif key.endswith("_layer_indices") and value is not None:
            setattr(sliced, key, [index - start for index in value if start <= index < end])
        elif key.endswith("_layer_offset"):  # every n-th layer from this one on
            period = getattr(config, key.replace("_offset", "_period"))
            setattr(sliced, key, (value - start) % period)
    sliced.num_hidden_layers = end - start
    if config.is_heterogeneous:
        overrides = config._heterogeneity_spec.per_layer_overrides
        sliced.per_layer_config = {index - start: overrides[index] for index in overrides if start <= index < end}
    return sliced


def attention_of(model_class: Any) -> str:
    """Return `sdpa` unless the family refuses it."""
    return "sdpa" if getattr(model_class, "_supports_sdpa", False) else "eager"
