"""Loads consecutive blocks of a model from a checkpoint, and offers every way to run them."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor, nn

from potluck.blocks.accelerators import NoKernels, trim_memory
from potluck.blocks.adapters import Adapters, misfit
from potluck.blocks.cache.kv_memory import KvLayout, KvMemory, KvSequence
from potluck.blocks.cache.session_cache import KvCache, RememberedShape, keys_and_values
from potluck.blocks.formats.layers import block_size, check_quantization, hold_packed, multiply_natively, quantize_block
from potluck.blocks.kernels.support import Trying, uses_kernels
from potluck.blocks.kernels.whole_blocks import NextTokens
from potluck.blocks.span.family_loop import FamilyLoop
from potluck.blocks.span.implementations import register_attention
from potluck.blocks.span.ragged_runner import RaggedRunner
from potluck.blocks.span.ranks import Ranks, check_alike, keep_local, part_nbytes, shard_layers
from potluck.blocks.span.step_plans import StepPlan
from potluck.blocks.span.trial import hold_int8, try_alone, try_ragged
from potluck.blocks.streaming.placement import BlockSize, Room
from potluck.blocks.streaming.weights import SpanWeights
from potluck.checkpoint.block_files import TensorReader, names_by_block
from potluck.checkpoint.building import Filler, Passthrough, rebuild_buffers
from potluck.checkpoint.families import (
    LAYER_INDEX_NAMES,
    attention_of,
    decoder_class,
    decoder_of,
    layers_in_a_block,
    longest_text,
    refuse_start,
    refuse_unsplittable,
    slice_config,
)
from potluck.checkpoint.packed import Packing
from potluck.checkpoint.shards import digest_tensors
from potluck.checkpoint.source import Checkpoint
from potluck.checkpoint.stored import packing_of, stored_format
from potluck.errors import UsageError
from potluck.protocol.adapters import AdapterLayout, AdapterPlace, LayerPlace
from potluck.protocol.blocks import Span
from potluck.protocol.codes import Code, RemoteError


class BlockSpan:
    """Blocks [start, end) of a model, ready to run. It is not re-entrant: make one call at a time.

    Attributes:
        digests: one for each block, 16 hex digits over the block's tensors in the checkpoint.
        dtype: of weights and of hidden states.
        weights: moves the weights; parts of a loaded span share it.
        adapters: add to the layers what calls name; parts share them, too.
        model_config: configuration of the decoder with all blocks of the model.
        routers: record which experts the layers choose, and make forwards repeat given choices.
        runner: runs steps of rows that share them; None before `try_out`, and where each session runs alone.
        remembered: what each layer keeps of a token, found out by `try_out`.
        repeats_choices: forwards can repeat given choices of experts.
    """

    repeats_choices = True

    def __init__(
        self,
        decoder: Any,
        layers: nn.ModuleList,
        span: Span,
        digests: tuple[str, ...],
        weights: SpanWeights,
        adapters: Adapters | None = None,
        *,
        model_config: Any,
    ) -> None:
        self.model_config = model_config
        self.span = span
        self.digests = digests
        self.decoder = decoder
        self.layers = layers
        self.weights = weights
        self.adapters = adapters or Adapters()
        self.loop = FamilyLoop(decoder, layers, span, weights)
        self.routers = self.loop.routers
        self.hidden_size = self.loop.hidden_size
        self.dtype = self.loop.dtype
        self.device = self.loop.device
        self.runner: RaggedRunner | None = None
        self._trying: Trying = nullcontext
        self.remembered: tuple[RememberedShape | None, ...] = ()  # one for each layer, found out by a trial

    def try_out(
        self, ranks: Ranks | None = None, *, has_int8_cache: bool = False, trying: Trying = nullcontext
    ) -> None:
        """Prove that the blocks run, and find out in which ways. Raises CheckpointError if they do not run.

        Args:
            has_int8_cache: hold keys and values in int8 where rows share steps.
            trying: makes the context of trials of kernels, in which a fault may end the process.
        """
        self._trying = trying
        register_attention()
        cache, heard = try_alone(self.loop)
        self.remembered = keys_and_values(cache)
        agree = bool if ranks is None else ranks.agree
        with trying() if uses_kernels(self.device) else nullcontext() as problem:
            self.runner = try_ragged(self.loop, self.adapters, cache, heard, agree, problem)
            if has_int8_cache and self.runner is not None:
                hold_int8(self.runner, self.decoder.config.model_type, heard, agree)

    def check(self, layout: AdapterLayout) -> None:
        """Raise RemoteError BAD_REQUEST if a private adapter does not fit these blocks."""
        for place in layout.places:
            layer, problem = place.block - self.span.start, None
            if isinstance(place, AdapterPlace):
                sizes = (place.out_features, place.in_features)
                problem = misfit(self.layers[layer], LayerPlace(place.block, place.name), sizes)
            elif len(self.remembered) != len(self.span) or self.remembered[layer] != place.kept:
                asked = f"{place.heads} keys of {place.key_size}"
                problem = f"does not fit block {place.block}, which remembers other things than {asked}"
            if problem is not None:
                raise RemoteError(Code.BAD_REQUEST, f"the adapter {problem}")

    def free(self) -> None:
        """Give the memory of all weights back at once, to the system and to the device.

        Nothing can be computed before `weights.restore`. Parts are freed and restored with the whole.
        """
        self.weights.free()
        self.routers.begin()
        self.adapters.unload()
        trim_memory(self.device)

    def trying(self) -> AbstractContextManager[object]:
        """Return a context for the first steps and graphs after a trial, when kernels may still fail."""
        return self._trying() if self.runner is not None and self.runner.has_kernels else nullcontext()

    @property
    def bytes_per_token(self) -> int:
        """Return what one token of one row adds to a cache; 0 before `try_out`, which parts do not need."""
        if self.layout is not None:
            return self.layout.bytes_per_token(self.layout.stored)
        kept = (kind for kind in self.remembered if kind is not None)
        return self.dtype.itemsize * sum(kind.heads * (kind.key_size + kind.value_size) for kind in kept)

    @property
    def is_ragged(self) -> bool:
        """Tell whether rows of many sessions can share a step; otherwise each session has its own cache and steps."""
        return self.runner is not None

    def digests_of(self, span: Span) -> tuple[str, ...]:
        """Return the digests of blocks within this span."""
        return self.digests[span.within(self.span)]

    @property
    def is_reshapable(self) -> bool:
        """Tell whether `potluck.blocks.span.reshaping` can remove blocks from this span and add others."""
        return self.weights.is_resident and not self.adapters.ids

    @property
    def layout(self) -> KvLayout | None:
        """The KV layout of the layers; None where rows cannot share steps."""
        return self.runner.layout if self.runner is not None else None

    @property
    def is_whole(self) -> bool:
        """Tell whether a CPU runs whole blocks in C for very few tokens."""
        return self.runner is not None and self.runner.is_whole

    @property
    def no_kernels(self) -> NoKernels | None:
        """Return why steps run on plain torch where kernels are expected; None elsewhere."""
        return self.runner.no_kernels if self.runner is not None else None

    @property
    def step_ways(self) -> str:
        """Return for people what `run_step` runs on: "fused, graphs", "native kernels, fused", "plain: no gcc"."""
        return self.runner.ways if self.runner is not None else "each session alone"

    def new_memory(self, num_tokens: int, *, max_blocks: int = 0) -> KvMemory:
        """Return KV memory for `run_step` with room for `num_tokens` tokens, and for `max_blocks` blocks if given."""
        assert self.runner is not None, "sessions of this family run alone"
        return KvMemory(self.runner.layout, num_tokens, max_blocks=max_blocks)

    def run_step(
        self, plan: StepPlan, hidden: Tensor, memory: KvMemory, prompts: Mapping[int, Tensor] | None = None
    ) -> Tensor:
        """Run one step of many rows without gradients. Then `memory.advance` each sequence.

        Shapes: hidden [plan.num_tokens, hidden_size] in `dtype`, the tokens of all rows in order; returns the same.
        prompts: index of a row -> [blocks of the row, prompt_tokens, hidden_size], added to the row's first tokens in
        each block's input; prompt_tokens must not exceed the row's tokens.
        """
        return self.run_decided(self.decided(plan, memory, has_prompts=bool(prompts)), hidden, memory, prompts)

    def decided(self, plan: StepPlan, memory: KvMemory, *, has_prompts: bool) -> StepPlan:
        """Return the plan with all decisions that ranks must share. With several ranks, rank 0 decides for all."""
        assert self.runner is not None, "sessions of this family run alone"
        return self.runner.decided(plan, memory, has_prompts=has_prompts)

    def run_decided(
        self, plan: StepPlan, hidden: Tensor, memory: KvMemory, prompts: Mapping[int, Tensor] | None = None
    ) -> Tensor:
        """Run a step like `run_step`, with the decisions that its plan holds."""
        assert self.runner is not None, "sessions of this family run alone"
        return self.runner.run(plan, hidden, memory, prompts)

    def next_tokens(self, sequences: list[KvSequence], memory: KvMemory) -> NextTokens | None:
        """Prepare more steps of one token of each of these sequences, which have room; None if that gains nothing."""
        return None if self.runner is None else self.runner.next_tokens(sequences, memory)

    def new_cache(self) -> KvCache:
        return KvCache(self.decoder.config)

    def forward(self, hidden: Tensor, cache: KvCache | None = None, prompts: Tensor | None = None) -> Tensor:
        """Run the blocks. With a cache, the tokens continue those it holds and are added to it.

        Shapes: hidden [batch, tokens, hidden_size] in `dtype`; prompts [blocks, batch or 1, prompt_tokens,
        hidden_size], added to the first tokens of each block's input; returns as hidden.

        Raises RemoteError TOO_LONG beyond `longest_text`; sessions that share steps are bounded when they open.
        """
        if hidden.shape[1] == 0:
            return hidden
        length, longest = hidden.shape[1] + (0 if cache is None else cache.length), longest_text(self.model_config)
        if longest is not None and length > longest:
            raise RemoteError(Code.TOO_LONG, f"{length} tokens are too many: texts of this model end at {longest}")
        if self.weights.stream is not None and torch.is_grad_enabled():
            with self.weights.stream.remembering():
                return self.loop.run(hidden, cache, prompts)
        return self.loop.run(hidden, cache, prompts)

    __call__ = forward


def load_span(
    checkpoint: Checkpoint,
    span: Span,
    *,
    dtype: torch.dtype | None = None,
    device: str = "cpu",
    ranks: Ranks | None = None,
    room: Room | None = None,
    quantization: str = "none",
    cache_quantization: str = "none",
    adapters: Adapters | None = None,
    trying: Trying = nullcontext,
) -> BlockSpan:
    """Build the blocks of `span` and load their tensors. Only the shards that hold them are fetched.

    Args:
        dtype: of weights and computation; None takes the checkpoint's.
        ranks: load only this rank's part of each tensor; all ranks must make this call.
        room: limits for weights; blocks beyond it are streamed. None sets no limit.
        quantization: how matrices are held, see `potluck.blocks.formats.layers`.
        cache_quantization: how keys and values of sessions that share steps are held: "none" (as computed) or "int8".
        adapters: what calls may name; the layers get places for them.
        trying: see `BlockSpan.try_out`.

    Raises:
        CheckpointError: the family cannot be split, or not over so many ranks, or files are missing, damaged or of
            another model.
        UsageError: the span is beyond the model, the quantization is unknown, or several ranks were combined with
            quantization or adapters.
    """
    check_quantization(quantization, num_ranks=1 if ranks is None else ranks.size)
    refuse_unsplittable(checkpoint.config)
    stored = stored_format(checkpoint.config)
    if span.end > checkpoint.num_blocks:
        raise UsageError(f"layers {span.layers} are beyond the model, which has layers 1-{checkpoint.num_blocks}")
    refuse_start(checkpoint.text_config, span.start)
    dtype = dtype or checkpoint.dtype
    decoder, layers, stack_name, model_config = build_empty(checkpoint, span, dtype)
    if ranks is not None:
        shard_layers(decoder, stack_name, ranks)
    rebuild_buffers(decoder, device)
    names = names_by_block(checkpoint, stack_name, span)
    checkpoint.fetch({checkpoint.weight_map[name] for block in names for name in block})
    filler = Filler(decoder, dtype, "cpu", stored)
    reader = TensorReader(checkpoint)
    if ranks is None:
        sizes = [block_size(layer, quantization, packing_of(checkpoint.config)) for layer in layers]
    else:
        sizes = [BlockSize(part_nbytes(layer)) for layer in layers]
    weights = SpanWeights(layers, sizes, first_block=span.start, device=torch.device(device), room=room)
    digests = []
    for index, block in enumerate(names):
        read = reader.read(block)
        digests.append(digest_tensors(read))
        tensors = {rest: read[name] for name, rest in block.items()}
        if quantization == "int4" and isinstance(stored, Packing):
            merged = _merged(filler, stored, tensors, f"{stack_name}.{index}.")
            held = hold_packed(layers[index], tensors, stored, dtype, merged)
            tensors = stored.others(tensors, held)
            filler.missing.difference_update(f"{stack_name}.{index}.{name}" for name in held.values())
        filler.fill({f"{stack_name}.{index}.{rest}": tensor for rest, tensor in tensors.items()})
        if ranks is not None:
            keep_local(layers[index])
        quantize_block(layers[index], quantization)
        if torch.device(device).type == "cpu" and ranks is None:
            multiply_natively(layers[index])
        filler.check(f"{stack_name}.{index}.")
        weights.place_block(index, digests[index], read)
        del read, tensors  # freed before the next block is read
    filler.finish()
    weights.finish()
    if ranks is not None:
        check_alike(digests, ranks)
    if adapters is not None:
        if ranks is not None:
            raise UsageError("adapters cannot be served on several devices", hint="serve on one device")
        adapters.attach(layers, span.start, torch.empty(0, dtype=dtype, device=device))
    blocks = BlockSpan(decoder, layers, span, tuple(digests), weights, adapters, model_config=model_config)
    blocks.try_out(ranks, has_int8_cache=cache_quantization == "int8", trying=trying)
    return blocks


def build_empty(checkpoint: Checkpoint, span: Span, dtype: torch.dtype) -> tuple[Any, nn.ModuleList, str, Any]:
    """Build the bare decoder on meta with the layers of `span`, renumbered from 0, and no other weights.

    Returns the decoder, the layers, their name in it, and its configuration for all blocks.
    """
    config = copy.deepcopy(checkpoint.text_config)  # each thread switches the attention of its own layers in it
    model_class = decoder_class(config)
    with torch.device("meta"):
        model = model_class._from_config(config, dtype=dtype, attn_implementation=attention_of(model_class))
    decoder, stack_name = decoder_of(model, checkpoint.num_blocks)
    layers = nn.ModuleList(getattr(decoder, stack_name)[span.start : span.end])
    first_layer = span.start * layers_in_a_block(config)
    for module in layers.modules():
        for name in LAYER_INDEX_NAMES & module.__dict__.keys():
            if isinstance(module.__dict__[name], int):
                module.__dict__[name] -= first_layer
    setattr(decoder, stack_name, layers)
    for name, child in list(decoder.named_children()):
        if name != stack_name and any(True for _ in child.parameters()):
            setattr(decoder, name, Passthrough(config.hidden_size, dtype))
    model_config = decoder.config
    decoder.config = slice_config(model_config, span.start, span.end)
    return decoder, layers, stack_name, model_config


def _merged(filler: Filler, packing: Packing, tensors: Mapping[str, Tensor], prefix: str) -> dict[str, list[list[str]]]:
    """Return a block's parameters of experts and the packed matrices of each expert, all by names within the block."""
    merged = filler.merged(f"{prefix}{path}.weight" for path in packing.paths(tensors))
    return {
        parameter.removeprefix(prefix): [
            [name.removeprefix(prefix).removesuffix(".weight") for name in expert] for expert in experts
        ]
        for parameter, experts in merged.items()
    }
