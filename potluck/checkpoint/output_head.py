"""Loads the output head of a model alone, onto any device: the matrix that makes logits of the last hidden states."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from potluck.checkpoint.building import Filler
from potluck.checkpoint.ends import build_empty_ends, names_of_ends
from potluck.checkpoint.shards import Shard
from potluck.checkpoint.source import Checkpoint
from potluck.checkpoint.stored import refuse_packed_ends, stored_format
from potluck.errors import CheckpointError
from potluck.sentences import sentence


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


def checksum(weights: Tensor) -> int:
    """Return a sum over all bytes of a tensor, computed where it is."""
    if not weights.numel():
        return 0
    flat = weights.contiguous().reshape(-1).view(torch.uint8)
    words = flat.view(torch.int32) if flat.numel() % 4 == 0 and flat.storage_offset() % 4 == 0 else flat
    return int(words.sum(dtype=torch.int64))
