"""Spans made of loaded blocks: a part of a span, or a span that lost blocks at one end and gained others.

Modules are copied and tensors are shared, so nothing is read or moved, and callers that still compute with the old span
are not disturbed. A copy costs about 50 KB of module objects for each block.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from torch import nn

from potluck.blocks.span.block_span import BlockSpan
from potluck.blocks.span.ragged_runner import RaggedRunner
from potluck.blocks.span.trial import NotRaggedError, joined_runner
from potluck.blocks.streaming.weights import SpanWeights
from potluck.checkpoint.families import LAYER_INDEX_NAMES, slice_config
from potluck.errors import PotluckError
from potluck.protocol.blocks import Span


class NotReshapableError(PotluckError):
    """These blocks cannot be served together unless the whole span is loaded again."""


def part_of(whole: BlockSpan, span: Span) -> BlockSpan:
    """Return a span within `whole` that shares its weights."""
    decoder, layers, config = _assembled([(whole, span)], span)
    return BlockSpan(decoder, layers, span, whole.digests_of(span), whole.weights, whole.adapters, model_config=config)


def reshape_span(pieces: Sequence[BlockSpan], span: Span) -> BlockSpan:
    """Return the blocks `span` of adjacent loaded spans as one span, ready to replace them.

    Raises:
        NotReshapableError: blocks are streamed, split over devices or changed by adapters, or the pieces run in
            different ways.
    """
    for piece in pieces:
        if not piece.is_reshapable:
            raise NotReshapableError(f"blocks {piece.span} are streamed, split over devices or changed by adapters")
    common = [(piece, piece.span & span) for piece in pieces]
    chosen = [(piece, part) for piece, part in common if part is not None]
    decoder, layers, config = _assembled(chosen, span)
    weights = SpanWeights.gathered(layers, [(piece.weights, part) for piece, part in chosen])
    digests = tuple(digest for piece, part in chosen for digest in piece.digests_of(part))
    blocks = BlockSpan(decoder, layers, span, digests, weights, model_config=config)
    blocks.remembered = tuple(kind for piece, part in chosen for kind in piece.remembered[part.within(piece.span)])
    runners = [(piece.runner, part) for piece, part in chosen if piece.runner is not None]
    if runners:
        blocks.runner = _joined(blocks, runners)
    return blocks


def _assembled(pieces: Sequence[tuple[BlockSpan, Span]], span: Span) -> tuple[Any, nn.ModuleList, Any]:
    """Return a decoder with copies of these layers, renumbered from 0, and the configuration that all of them share.

    Modules that are no layers come from the first piece.
    """
    shell = pieces[0][0]
    name = next(name for name, child in shell.decoder.named_children() if child is shell.layers)
    config = copy.deepcopy(shell.model_config)  # each thread switches the attention of its own layers in it
    memo = _shared(shell, config)
    decoder = copy.deepcopy(shell.decoder, memo | {id(shell.layers): nn.ModuleList()})
    layers = nn.ModuleList()
    for piece, part in pieces:
        some = [piece.layers[block - piece.span.start] for block in part]
        for layer in copy.deepcopy(some, _shared(piece, config)):
            del layer.forward  # the wrapper of the piece
            _renumber(layer, piece.span.start - span.start)
            layers.append(layer)
    setattr(decoder, name, layers)
    decoder.config = slice_config(config, span.start, span.end)
    return decoder, layers, config


def _shared(piece: BlockSpan, config: Any) -> dict[int, Any]:
    """Return what copies of the modules share: tensors, and one configuration."""
    tensors = itertools.chain(piece.decoder.parameters(), piece.decoder.buffers())
    return {id(tensor): tensor for tensor in tensors} | {id(piece.model_config): config}


def _renumber(layer: nn.Module, shift: int) -> None:
    for module in layer.modules():
        for name in LAYER_INDEX_NAMES:
            index = getattr(module, name, None)
            if isinstance(index, int):
                setattr(module, name, index + shift)


def _joined(blocks: BlockSpan, parts: Sequence[tuple[RaggedRunner, Span]]) -> RaggedRunner:
    """Return a runner for all blocks of these parts. Raises NotReshapableError."""
    layers = tuple(runner.layout.layers[block - runner.layout.span.start] for runner, part in parts for block in part)
    if len(layers) < len(blocks.span):
        raise NotReshapableError(f"sessions in some of blocks {blocks.span} run alone, but those in others share steps")
    runners = [runner for runner, _ in parts]
    layout = replace(runners[0].layout, span=blocks.span, layers=layers)
    try:
        return joined_runner(blocks.loop, blocks.adapters, layout, runners)
    except (NotRaggedError, LookupError) as error:
        raise NotReshapableError(f"blocks {blocks.span} run differently together than apart: {error}") from error
