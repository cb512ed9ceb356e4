"""Spans made of loaded blocks: a part of one, or a span that lost some blocks at an end and was given others.

Modules are copied, tensors are shared: nothing is read or moved, and whoever still computes with the old span goes on
undisturbed. A copy costs some 50 KB of module objects a block.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Sequence
from typing import Any

from torch import nn

from potluck.blocks.kv import KvLayout
from potluck.blocks.span import BlockSpan
from potluck.blocks.trial import NotRaggedError
from potluck.blocks.weights import SpanWeights
from potluck.checkpoint.families import slice_config
from potluck.errors import PotluckError
from potluck.protocol.blocks import Span


class NotReshapableError(PotluckError):
    """These blocks cannot be served together without loading the whole span anew."""


def part_of(whole: BlockSpan, span: Span) -> BlockSpan:
    """A span within `whole` that shares its weights."""
    decoder, layers, config = _assembled([(whole, span)], span)
    return BlockSpan(decoder, layers, span, whole.digests_of(span), whole.weights, whole.adapters, model_config=config)


def reshaped(pieces: Sequence[BlockSpan], span: Span) -> BlockSpan:
    """The blocks `span` of loaded spans that follow each other, ready to be served in their stead.

    Raises:
        NotReshapableError: blocks are streamed, shared between devices, or changed by adapters, or those of one piece
            run in another way than those of the next.
    """
    for piece in pieces:
        if not piece.is_reshapable:
            raise NotReshapableError(f"blocks {piece.span} are streamed, on several devices, or have adapters")
    common = [(piece, piece.span & span) for piece in pieces]
    chosen = [(piece, part) for piece, part in common if part is not None]
    decoder, layers, config = _assembled(chosen, span)
    weights = SpanWeights.gathered(layers, [(piece.weights, part) for piece, part in chosen])
    digests = tuple(digest for piece, part in chosen for digest in piece.digests_of(part))
    blocks = BlockSpan(decoder, layers, span, digests, weights, model_config=config)
    try:
        blocks.take_over(
            _layout(chosen, span),
            has_kernels=all(piece.has_kernels for piece, _ in chosen),
            bytes_per_token=sum(piece.bytes_per_token * len(part) // len(piece.span) for piece, part in chosen),
        )
    except NotRaggedError as error:
        raise NotReshapableError(f"blocks {span} run otherwise together than apart: {error}") from error
    return blocks


def _assembled(pieces: Sequence[tuple[BlockSpan, Span]], span: Span) -> tuple[Any, nn.ModuleList, Any]:
    """A decoder with copies of these layers, renumbered from 0, and the configuration that all of them refer to.

    What is not a layer comes from the first piece.
    """
    shell = pieces[0][0]
    name = next(name for name, child in shell.decoder.named_children() if child is shell.layers)
    config = copy.deepcopy(shell.model_config)  # threads switch the attention of their own layers in it
    memo = _shared(shell, config)
    decoder = copy.deepcopy(shell.decoder, memo | {id(shell.layers): nn.ModuleList()})
    layers = nn.ModuleList()
    for piece, part in pieces:
        some = [piece.layers[block - piece.span.start] for block in part]
        for layer in copy.deepcopy(some, _shared(piece, config)):
            del layer.forward  # the wrapper that belongs to the piece
            _renumber(layer, piece.span.start - span.start)
            layers.append(layer)
    setattr(decoder, name, layers)
    decoder.config = slice_config(config, span.start, span.end)
    return decoder, layers, config


def _shared(piece: BlockSpan, config: Any) -> dict[int, Any]:
    """What a copy of some of its modules takes instead of copies: tensors, and one configuration for all."""
    tensors = itertools.chain(piece.decoder.parameters(), piece.decoder.buffers())
    return {id(tensor): tensor for tensor in tensors} | {id(piece.model_config): config}


def _renumber(layer: nn.Module, shift: int) -> None:
    for module in layer.modules():
        index = getattr(module, "layer_idx", None)
        if isinstance(index, int):
            setattr(module, "layer_idx", index + shift)  # noqa: B010 (nn.Module types its attributes as modules)


def _layout(pieces: Sequence[tuple[BlockSpan, Span]], span: Span) -> KvLayout | None:
    layouts = [piece.layout for piece, _ in pieces]
    if all(layout is None for layout in layouts):
        return None
    found = []
    for (_, part), layout in zip(pieces, layouts, strict=True):
        if layout is None:
            raise NotReshapableError(f"sessions over blocks {part} run alone, those over others do not")
        found += [layout.layers[block - layout.span.start] for block in part]
    assert layouts[0] is not None
    return KvLayout(span, tuple(found), layouts[0].dtype, layouts[0].device)
