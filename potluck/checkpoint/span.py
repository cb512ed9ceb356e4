"""A contiguous range of a model's blocks, run by the family's own code.

The bare decoder keeps only the span's layers; its own inner forward makes masks, positions and whatever else the family
needs. The first layer is handed the incoming hidden state in place of what the (absent) embeddings made, and the last
layer's output is taken before the (absent) final norm. Both happen in the layers' `forward`: cheaper than hooks.

Knows nothing of networks, sessions or scheduling.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from potluck.checkpoint.building import Filler, Passthrough, rebuild_buffers
from potluck.checkpoint.cache import KvCache
from potluck.checkpoint.decode import DecodePath, fits, watch_decode
from potluck.checkpoint.families import attention_of, decoder_class, decoder_of, refuse_unsplittable, slice_config
from potluck.checkpoint.parallel import Ranks, keep_local, shard_layers, shared_digests
from potluck.checkpoint.source import Checkpoint
from potluck.checkpoint.tensors import digest_tensors, map_tensors
from potluck.errors import CheckpointError, UsageError
from potluck.protocol.blocks import Span


class BlockSpan:
    """Blocks [start, end) of a model, ready to run. One call at a time: it is not re-entrant.

    Attributes:
        digests: one a block, 16 hex digits of the block's tensors as they are in the checkpoint.
        dtype: of the weights and of the hidden states that go in and out.
        bytes_per_token: what one token of one row adds to a cache.
        decode_path: the short way for one-token steps, None where the family's own has to be taken.
    """

    def __init__(self, decoder: Any, layers: nn.ModuleList, span: Span, digests: tuple[str, ...]) -> None:
        self.span = span
        self.digests = digests
        self.decoder = decoder
        self.layers = layers
        self.hidden_size: int = decoder.config.hidden_size
        self.dtype: torch.dtype = decoder.dtype
        self.device: torch.device = next(decoder.parameters()).device
        self._input: Tensor | None = None
        self._output: Tensor | None = None
        self._prompts: Tensor | None = None
        for index, layer in enumerate(layers):
            layer.forward = self._wrapped(index, layer.forward)
        self._watched: list[dict[str, Any]] | None = None
        self.decode_path: DecodePath | None = None
        self.bytes_per_token = self._try_out()

    def new_cache(self) -> KvCache:
        return KvCache(self.decoder.config)

    def forward(self, hidden: Tensor, cache: KvCache | None = None, prompts: Tensor | None = None) -> Tensor:
        """Run the blocks; with a cache, the tokens continue those it holds and are added to it.

        Shapes: hidden [batch, tokens, hidden_size] in `dtype`; prompts [blocks, batch or 1, prompt_tokens,
        hidden_size], added to the first positions of each block's input; returns as hidden.
        """
        if hidden.shape[1] == 0:
            return hidden
        self._input, self._prompts = hidden, prompts
        try:
            if self.decode_path is not None and hidden.shape[1] == 1 and cache is not None and cache.length:
                output: Tensor | None = self.decode_path(hidden, cache)
            else:
                # Some families scale their embeddings in place; the layers are to get the original.
                self.decoder(inputs_embeds=hidden.clone(), past_key_values=cache, use_cache=cache is not None)
                output = self._output
        finally:
            self._input = self._output = self._prompts = None
        if cache is not None:
            cache.length += hidden.shape[1]
        assert output is not None
        return output

    __call__ = forward

    def _wrapped(self, index: int, own_forward: Callable[..., Any]) -> Callable[..., Any]:
        is_first, is_last = index == 0, index == len(self.layers) - 1

        def forward(*args: Any, **kwargs: Any) -> Any:
            hidden: Any = self._input if is_first else (args[0] if args else kwargs["hidden_states"])
            if self._watched is not None and len(args) <= 1:
                self._watched.append({key: value for key, value in kwargs.items() if key != "hidden_states"})
            if self._prompts is not None:
                hidden = _add_prompt(hidden, self._prompts[index])
            if args:
                output = own_forward(hidden, *args[1:], **kwargs)
            else:
                kwargs["hidden_states"] = hidden
                output = own_forward(**kwargs)
            if is_last:
                self._output = output[0] if isinstance(output, tuple) else output
            return output

        return forward

    def _try_out(self) -> int:
        """Two tokens through the span: proof that the blocks run, bytes a token, and whether the short way fits.

        Two rows, so that what depends on the batch does not look like a constant.
        """
        cache = self.new_cache()
        hidden = torch.zeros((2, 1, self.hidden_size), dtype=self.dtype, device=self.device)
        with torch.inference_mode():
            self._first_step(hidden, cache)
            bytes_per_token = cache.one_token_nbytes // 2
            self._watched = []
            self.forward(hidden, cache)
            calls, self._watched = self._watched, None
            if len(calls) == len(self.layers) and fits(cache):
                self.decode_path = watch_decode(self.decoder, list(self.layers), calls, cache, hidden, length=1)
        return bytes_per_token

    def _first_step(self, hidden: Tensor, cache: KvCache) -> None:
        """Raises CheckpointError, by family, if layers cannot run alone or do not keep their state in `cache`."""
        family = self.decoder.config.model_type
        hint = "choose a model of another family"
        try:
            self.forward(hidden, cache)
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            raise CheckpointError(
                f"models of the family {family} cannot be split: their layers do not run alone", hint=hint
            ) from error
        if not cache.nbytes:
            raise CheckpointError(
                f"models of the family {family} cannot be split: their layers share no usual cache", hint=hint
            )


def load_span(
    checkpoint: Checkpoint,
    span: Span,
    *,
    dtype: torch.dtype | None = None,
    device: str = "cpu",
    attention: str | None = None,
    ranks: Ranks | None = None,
) -> BlockSpan:
    """Build the blocks of `span` and load just their tensors; fetches the shards that hold them, and no others.

    Args:
        dtype: of weights and computation; None takes the checkpoint's.
        attention: a transformers attention implementation; None takes sdpa, or eager where the family refuses sdpa.
        ranks: load this rank's part of each tensor only; all ranks make this call.

    Raises:
        CheckpointError: the family cannot be split, or not by so many ranks, or files are missing, damaged or of
            another model.
        UsageError: the span is beyond the model.
    """
    refuse_unsplittable(checkpoint.config)
    if span.end > checkpoint.num_blocks:
        raise UsageError(f"blocks {span} are beyond the model, which has blocks 0:{checkpoint.num_blocks}")
    dtype = dtype or checkpoint.dtype
    decoder, layers, stack_name = _build_empty(checkpoint, span, dtype, attention)
    if ranks is not None:
        shard_layers(decoder, stack_name, ranks)
    rebuild_buffers(decoder, checkpoint.text_config, device)
    names = _names_by_block(checkpoint, stack_name, span)
    checkpoint.fetch({checkpoint.weight_map[name] for block in names for name in block})
    filler = Filler(decoder, dtype, device)
    digests = []
    for index, block in enumerate(names):
        tensors = _map_block(checkpoint, block)
        if ranks is None:
            digests.append(digest_tensors(tensors))
        filler.fill({f"{stack_name}.{index}.{rest}": tensors[name] for name, rest in block.items()})
    filler.finish()
    if ranks is not None:
        keep_local(decoder)
        digests = shared_digests(len(names), lambda index: digest_tensors(_map_block(checkpoint, names[index])), ranks)
    return BlockSpan(decoder, layers, span, tuple(digests))


def _build_empty(
    checkpoint: Checkpoint, span: Span, dtype: torch.dtype, attention: str | None
) -> tuple[Any, nn.ModuleList, str]:
    """The bare decoder on meta with the layers of `span`, renumbered from 0, and nothing else that has weights."""
    config = checkpoint.text_config
    model_class = decoder_class(config)
    with torch.device("meta"):
        model = model_class._from_config(config, dtype=dtype, attn_implementation=attention_of(model_class, attention))
    decoder, stack_name = decoder_of(model, checkpoint.num_blocks)
    layers = nn.ModuleList(getattr(decoder, stack_name)[span.start : span.end])
    for module in layers.modules():
        if isinstance(module.__dict__.get("layer_idx"), int):
            module.__dict__["layer_idx"] -= span.start
    setattr(decoder, stack_name, layers)
    for name, child in list(decoder.named_children()):
        if name != stack_name and any(True for _ in child.parameters()):
            setattr(decoder, name, Passthrough(config.hidden_size, dtype))
    decoder.config = slice_config(decoder.config, span.start, span.end)
    return decoder, layers, stack_name


def _names_by_block(checkpoint: Checkpoint, stack_name: str, span: Span) -> list[dict[str, str]]:
    """For each block of the span: checkpoint name -> name within the block."""
    pattern = re.compile(rf"^(?P<prefix>(?:.*\.)?){re.escape(stack_name)}\.(?P<block>\d+)\.(?P<rest>.+)$")
    stacks: dict[str, dict[int, dict[str, str]]] = {}
    for name in checkpoint.weight_map:
        match = pattern.match(name)
        if match:
            stack = stacks.setdefault(match["prefix"], {})
            stack.setdefault(int(match["block"]), {})[name] = match["rest"]
    whole = {prefix: stack for prefix, stack in stacks.items() if all(block in stack for block in span)}
    if len(whole) > 1:  # a model that also sees or hears has towers with layers of their own
        whole = {prefix: stack for prefix, stack in whole.items() if not _TOWER.search(prefix)}
    if len(whole) != 1:
        raise CheckpointError(
            f"the checkpoint lacks tensors of the blocks {span}", hint="download it again, or ask whoever made it"
        )
    (stack,) = whole.values()
    return [stack[block] for block in span]


_TOWER = re.compile(r"vision|visual|audio|image|speech|encoder")


def _map_block(checkpoint: Checkpoint, names: dict[str, str]) -> dict[str, Tensor]:
    files: dict[str, list[str]] = {}
    for name in names:
        files.setdefault(checkpoint.weight_map[name], []).append(name)
    tensors: dict[str, Tensor] = {}
    for file, wanted in files.items():
        tensors.update(map_tensors(checkpoint.path_of(file), wanted))
    return tensors


def _add_prompt(hidden: Tensor, prompt: Tensor) -> Tensor:
    """hidden [batch, tokens, hidden_size] with prompt [batch or 1, p, hidden_size] added to its first p positions."""
    tokens = prompt.shape[1]
    return torch.cat((hidden[:, :tokens] + prompt, hidden[:, tokens:]), dim=1)
