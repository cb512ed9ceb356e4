"""The two ends of a model, by the family's own code: embeddings before the blocks, final norm and head after them.

One module that calls `blocks` replaces the layers of the family's causal model, so `generate()` and everything else in
transformers works unchanged. Parts that only layers use (rotary tables, masks) are left out. `load_output_head` loads
the matrix that makes logits alone, onto any device.
"""

from __future__ import annotations

import re
from copy import deepcopy
from typing import Any

import torch
from torch import Tensor, nn
from transformers import GenerationConfig
from transformers.conversion_mapping import get_model_conversion_mapping
from transformers.core_model_loading import WeightRenaming, rename_source_key
from transformers.models.auto.modeling_auto import (
    MODEL_FOR_CAUSAL_LM_MAPPING,
    MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING,
)

from potluck.checkpoint.building import Filler, rebuild_buffers
from potluck.checkpoint.families import NEEDS_A_MASK, accepts_use_cache, decoder_of, refuse_unsplittable
from potluck.checkpoint.packed import is_packed_weight
from potluck.checkpoint.remote_layers import RemoteLayers, RemoteStack, no_tables
from potluck.checkpoint.shards import Shard
from potluck.checkpoint.source import Checkpoint
from potluck.checkpoint.stored import refuse_packed_ends, stored_format
from potluck.errors import CheckpointError
from potluck.sentences import sentence

NO_MASKS = "potluck_blocks"
"""An unknown attention implementation, for which transformers makes no masks."""


def load_ends(
    checkpoint: Checkpoint,
    blocks: nn.Module,
    *,
    dtype: torch.dtype | None = None,
    num_labels: int | None = None,
) -> Any:
    """Return the family's own model with `blocks` in place of its layers; fetch only the shards of the ends.

    Args:
        blocks: called as `blocks(hidden_states, past_key_values=cache_or_None)` with hidden_states [batch, tokens,
            hidden_size]; returns the same shape.
        dtype: None takes the checkpoint's.
        num_labels: makes it a classifier of sequences instead of a causal model. Its head can be trained, and begins as
            the family initialises it if the checkpoint has none of that shape.

    Raises:
        CheckpointError: the family cannot be split, or files are missing, damaged or of another model.
    """
    refuse_unsplittable(checkpoint.config)
    dtype = dtype or checkpoint.dtype
    stored = stored_format(checkpoint.config)
    model, inner, stack_name = build_empty_ends(checkpoint, dtype, num_labels)
    rebuild_buffers(model, "cpu")
    names = names_of_ends(checkpoint, model, stack_name)
    head = [] if num_labels is None else _head_of(model)
    if num_labels is not None and checkpoint.text_config.num_labels != num_labels:
        names = {name: plain for name, plain in names.items() if plain not in head}
    checkpoint.fetch({checkpoint.weight_map[name] for name in names})
    filler = Filler(model, dtype, "cpu", stored)
    for file in sorted({checkpoint.weight_map[name] for name in names}):
        tensors = Shard(checkpoint.path_of(file)).read(n for n in names if checkpoint.weight_map[n] == file)
        refuse_packed_ends(tensors)
        filler.fill({names[name]: tensor for name, tensor in tensors.items()})
    model.tie_weights(missing_keys=filler.missing, recompute_mapping=False)
    new = head if filler.missing.issuperset(head) else []
    _initialise(model, new)
    filler.missing -= set(new)
    filler.finish()
    for name in head:
        model.get_parameter(name).requires_grad_()
    embedding = model.get_input_embeddings().weight
    _insert_blocks(inner, getattr(inner, stack_name).stack, blocks, embedding.new_ones(checkpoint.hidden_size))
    if not accepts_use_cache(inner.config):
        inner.register_forward_pre_hook(lambda _, args, given: (args, given | {"use_cache": False}), with_kwargs=True)
    if num_labels is None:
        if checkpoint.path_of("generation_config.json").is_file():
            model.generation_config = GenerationConfig.from_pretrained(checkpoint.folder, local_files_only=True)
        model.generation_config.use_cache = True  # servers keep a cache, whatever the checkpoint prefers
    return model


def build_empty_ends(checkpoint: Checkpoint, dtype: torch.dtype, num_labels: int | None) -> tuple[Any, nn.Module, str]:
    """Return the model on meta with an empty `RemoteStack`, the module that holds the stack, and its name."""
    config = deepcopy(checkpoint.text_config)  # the model keeps and changes this copy
    known, kind = MODEL_FOR_CAUSAL_LM_MAPPING, "causal language model"
    if num_labels is not None:
        known, kind = MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING, "classifier of sequences"
        config.num_labels = num_labels
    if type(config) not in known:
        raise CheckpointError(
            sentence("models of the family {family} have no {what}", family=config.model_type, what=kind)
        )
    with torch.device("meta"):
        model = known[type(config)]._from_config(config, dtype=dtype)
    inner, stack_name = decoder_of(model, checkpoint.num_blocks)
    setattr(inner, stack_name, RemoteLayers(getattr(inner, stack_name), dtype))
    for name, child in list(inner.named_children()):
        if ("rotary" in name or "rope" in name) and not isinstance(child, nn.ModuleList):
            delattr(inner, name)  # a module can't be replaced by a function unless it is deleted first
            setattr(inner, name, no_tables(child))
    if config.model_type not in NEEDS_A_MASK:
        config._attn_implementation = NO_MASKS
    return model, inner, stack_name


def _head_of(model: Any) -> list[str]:
    """Return the names of the parameters outside of the bare decoder."""
    return [name for name, _ in model.named_parameters() if not name.startswith(f"{model.base_model_prefix}.")]


def _initialise(model: Any, names: list[str]) -> None:
    """Give these parameters the values with which the family begins to train."""
    for parent in dict.fromkeys(name.rpartition(".")[0] for name in names):
        module = model.get_submodule(parent).to_empty(device="cpu", recurse=False)
        model._init_weights(module)


def _insert_blocks(inner: Any, stack: RemoteStack, blocks: nn.Module, like: Tensor) -> None:
    """Put `blocks` in place after trying what the family's loop expects its layers to return.

    Args:
        like: an embedding [hidden_size], for size, dtype and device.
    """
    hidden = like.detach().expand(2, 1, -1).clone()
    for beside in (None, (), (None,)):
        stack.blocks, stack.beside = _Unchanged(), beside
        try:
            with torch.inference_mode():
                output = inner(inputs_embeds=hidden.clone(), use_cache=False)[0]
        except (AttributeError, TypeError, ValueError, IndexError, RuntimeError):
            continue
        if isinstance(output, Tensor) and output.shape == hidden.shape and stack.blocks.calls == 1:
            stack.blocks = blocks
            return
    raise CheckpointError(
        sentence(
            "models of the family {family} cannot be split: their loop over layers is unknown",
            family=inner.config.model_type,
        )
    )


class _Unchanged(nn.Module):
    """A stand-in for blocks that counts its calls."""

    calls = 0

    def forward(self, hidden_states: Tensor, **kwargs: object) -> Tensor:
        self.calls += 1
        return hidden_states


def names_of_ends(checkpoint: Checkpoint, model: Any, stack_name: str) -> dict[str, str]:
    """Map checkpoint names of the ends to names without the wrapper that models for images or sound have."""
    wanted = model.state_dict()
    modules = {name.rpartition(".")[0] for name in wanted}
    mapping = get_model_conversion_mapping(model)
    renamings = [entry for entry in mapping if isinstance(entry, WeightRenaming)]
    of_a_block = re.compile(rf"(?:^|\.){re.escape(stack_name)}\.\d+\.")
    names = {}
    for name in checkpoint.weight_map:
        if of_a_block.search(name):
            continue
        plain = _WRAPPER.sub(r"\1", name)
        whole = f"{plain.rpartition('.')[0]}.weight" if is_packed_weight(plain) else plain
        renamed, _ = rename_source_key(whole, renamings, [], model.base_model_prefix, wanted)
        if renamed in wanted or renamed.rpartition(".")[0] in modules:  # the filler judges those it does not know
            names[name] = plain
    return names


_WRAPPER = re.compile(r"(^|\.)(?:language_model|text_model)\.")


def load_output_head(checkpoint: Checkpoint) -> nn.Linear:
    """Return the head in the checkpoint's own number format, in RAM; it may be the embeddings.

    Raises:
        CheckpointError: the family has another kind of head, or files are missing or damaged.
    """
    model, _, stack_name = build_empty_ends(checkpoint, checkpoint.dtype, None)
    head = model.get_output_embeddings()
    if type(head) is not nn.Linear:
        raise CheckpointError(sentence("the model's output head is no plain matrix"))
    names = names_of_ends(checkpoint, model, stack_name)
    places = {module: name for name, module in model.named_modules()}
    for module in (head, model.get_input_embeddings()):
        wanted = {name: plain for name, plain in names.items() if plain.startswith(f"{places[module]}.")}
        if wanted:
            break
    checkpoint.fetch({checkpoint.weight_map[name] for name in wanted})
    filler = Filler(model, checkpoint.dtype, "cpu", stored_format(checkpoint.config))
    for file in sorted({checkpoint.weight_map[name] for name in wanted}):
        tensors = Shard(checkpoint.path_of(file)).read(n for n in wanted if checkpoint.weight_map[n] == file)
        refuse_packed_ends(tensors)
        filler.fill({wanted[name]: tensor for name, tensor in tensors.items()})
    model.tie_weights(missing_keys=filler.missing, recompute_mapping=False)
    if any(parameter.is_meta for parameter in head.parameters()):
        raise CheckpointError(sentence("the checkpoint has no output head"))
    return head.requires_grad_(False)


def weight_checksum(weights: Tensor) -> int:
    """Return a sum over all bytes of a tensor, computed where it is."""
    if not weights.numel():
        return 0
    flat = weights.contiguous().reshape(-1).view(torch.uint8)
    words = flat.view(torch.int32) if flat.numel() % 4 == 0 and flat.storage_offset() % 4 == 0 else flat
    return int(words.sum(dtype=torch.int64))
