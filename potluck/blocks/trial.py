"""What a loaded span can do, found out by trying: bytes a token, windows, and whether packed rows come out right.

Never decided by a family's name. The family's own loop, asked at positions near and far beyond the model's length, must
hand its layers for packed rows just what it hands them for each row alone; its masks say which tokens a layer sees; and
layers of each kind must give for packed rows what they give for rows alone. A family that fails any of this runs each
session alone, by its own loop and cache, which is always right.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn
from transformers.cache_utils import CacheLayerMixin

from potluck.blocks.adapters import Adapters
from potluck.blocks.arenas import KvShape
from potluck.blocks.cache import GrowingLayer, GrowingWindowLayer, KvCache
from potluck.blocks.calls import LayerCalls, learn_calls, same
from potluck.blocks.kv import KvLayout, KvMemory, LayerKv
from potluck.blocks.loop import FamilyLoop
from potluck.blocks.paged import has_kernels
from potluck.blocks.pages import PAGE_TOKENS
from potluck.blocks.plans import StepRow, plan_step
from potluck.blocks.ragged import RaggedRunner
from potluck.blocks.switching import RAGGED, WHOLE_MASKS, AttentionSwitch
from potluck.errors import CheckpointError
from potluck.protocol.blocks import Span

_TOKENS = 4
_FARTHEST_POSITION = 2**20  # masks of so many tokens are still made in a few milliseconds
_TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-5}
_HALF_TOLERANCE = 2e-2
_LEAST_SHARE = 0.75  # of the tokens; in half precision a router may send a token to another expert

log = logging.getLogger(__name__)


class NotRaggedError(Exception):
    """Why a family's sessions run alone."""


@torch.inference_mode()
def try_alone(loop: FamilyLoop) -> tuple[KvCache, list[tuple[Tensor, Tensor]]]:
    """A few tokens through the span by the family's own way: its cache, and what went into and came out of each layer.

    Shapes: two rows of `_TOKENS` tokens, so that what depends on the batch does not look like a constant.

    Raises:
        CheckpointError: by family, if layers cannot run alone or do not keep their state in the cache.
    """
    cache = KvCache(loop.decoder.config)
    generator = torch.Generator().manual_seed(0)
    hidden = torch.randn((2, _TOKENS, loop.hidden_size), generator=generator).mul_(0.1).to(loop.device, loop.dtype)
    family = loop.decoder.config.model_type
    hint = "choose a model of another family"
    try:
        heard = loop.listen(hidden, cache)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise CheckpointError(
            f"models of the family {family} cannot be split: their layers do not run alone", hint=hint
        ) from error
    if not cache.nbytes:
        raise CheckpointError(
            f"models of the family {family} cannot be split: their layers share no usual cache", hint=hint
        )
    return cache, heard


def bytes_per_token(cache: KvCache) -> int:
    """Of one row, read off the cache of `try_alone`; states of fixed size do not count."""
    attending = [layer for layer in cache.layers if isinstance(layer, CacheLayerMixin) and layer.keys is not None]
    return sum(int(layer.keys.nbytes + layer.values.nbytes) for layer in attending) // (2 * _TOKENS)


@torch.inference_mode()
def try_ragged(
    loop: FamilyLoop, adapters: Adapters, cache: KvCache, heard: list[tuple[Tensor, Tensor]]
) -> RaggedRunner | None:
    """The runner of packed rows, or None with a line in the log where sessions have to run alone."""
    try:
        return _try_ragged(loop, adapters, cache, heard)
    except (AttributeError, LookupError, NotImplementedError, RuntimeError, TypeError, ValueError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
    except NotRaggedError as error:
        reason = str(error)
    log.info("sessions of %s run one by one: %s", loop.decoder.config.model_type, reason)
    return None


def _try_ragged(
    loop: FamilyLoop, adapters: Adapters, cache: KvCache, heard: list[tuple[Tensor, Tensor]]
) -> RaggedRunner:
    if not all(type(layer) in (GrowingLayer, GrowingWindowLayer) for layer in cache.layers):
        raise NotRaggedError("not all layers keep keys and values")
    if not all(torch.equal(output, hidden) for (_, output), (hidden, _) in pairwise(heard)):
        raise NotRaggedError("its loop changes the hidden state between layers")
    switch = AttentionSwitch(loop.decoder)
    farthest = _farthest_position(loop)
    with switch.use(WHOLE_MASKS):
        windows = _windows(loop, farthest)
    layers = tuple(
        LayerKv(KvShape(layer.keys.shape[1], layer.keys.shape[3], layer.values.shape[3]), window)
        for layer, window in zip(cache.layers, windows, strict=True)
    )
    layout = KvLayout(loop.span, layers, cache.layers[0].keys.dtype, loop.device)
    with switch.use(RAGGED):
        calls = _try_calls(loop, farthest)
    runner = RaggedRunner(loop.layers, layout, calls, lambda: switch.use(RAGGED), adapters)
    if has_kernels(loop.device) and _agrees_with_kernels(runner, loop, heard):
        return runner
    _compare(runner, heard)
    return runner


@torch.inference_mode()
def runner_of(loop: FamilyLoop, adapters: Adapters, layout: KvLayout, *, has_kernels: bool) -> RaggedRunner:
    """The runner for blocks that were all tried before, in spans of their own; cheap: no layer computes.

    Raises:
        NotRaggedError: together they are called otherwise than alone.
    """
    switch = AttentionSwitch(loop.decoder)
    with switch.use(RAGGED):
        calls = _try_calls(loop, _farthest_position(loop))
    runner = RaggedRunner(loop.layers, layout, calls, lambda: switch.use(RAGGED), adapters)
    if has_kernels:
        runner.use_kernels(loop.weights)
    return runner


def _agrees_with_kernels(runner: RaggedRunner, loop: FamilyLoop, heard: list[tuple[Tensor, Tensor]]) -> bool:
    """Whether the device's kernels run and give the family's numbers; a line in the log says why not."""
    runner.use_kernels(loop.weights)
    try:
        _compare(runner, heard)
    except Exception as error:  # whatever a compiler, a linker or a driver of some machine has to say
        reason = str(error).strip().partition("\n")[0] or type(error).__name__
        log.warning("blocks of %s run without kernels of their own: %s", loop.decoder.config.model_type, reason)
        runner.use_plain()
        return False
    return True


def _farthest_position(loop: FamilyLoop) -> int:
    """Beyond every length at which a family might begin to do something else."""
    longest = getattr(loop.decoder.config, "max_position_embeddings", None) or 2**15
    return min(2 * int(longest) + 7, _FARTHEST_POSITION)


class _PretendCache(KvCache):
    """An empty cache that says it holds `length` tokens, in every layer."""

    def __init__(self, config: Any, length: int) -> None:
        super().__init__(config)
        self.length = length

    def get_mask_sizes(self, query_length: int, layer_idx: int) -> tuple[int, int]:
        return self.length + query_length, 0


def _windows(loop: FamilyLoop, farthest: int) -> list[int | None]:
    """How many tokens each layer sees, by the masks that its family makes at two neighbouring positions."""
    visible = [_visible(loop, position) for position in (farthest, farthest - 1)]
    windows: list[int | None] = []
    for at_end, before in zip(*visible, strict=True):
        if at_end == farthest + 1 and before == farthest:
            windows.append(None)
        elif at_end == before:
            windows.append(at_end)
        else:
            raise NotRaggedError("a layer sees neither all tokens nor a sliding window")
    return windows


def _visible(loop: FamilyLoop, position: int) -> list[int]:
    cache = _PretendCache(loop.decoder.config, position)
    hidden = torch.zeros((1, 1, loop.hidden_size), dtype=loop.dtype, device=loop.device)
    counts: dict[int, int] = {}  # by the identity of the mask: most layers share one
    found = []
    calls = loop.watch(hidden, None, cache)
    for args, kwargs in calls:
        masks = [value for value in (*args, *kwargs.values()) if _is_mask(value, position + 1)]
        if len(masks) != 1:
            raise NotRaggedError("the mask of a layer is not known")
        mask = masks[0]
        if id(mask) not in counts:
            counts[id(mask)] = count = int(mask.sum())
            if not bool(mask[..., -count:].all()):
                raise NotRaggedError("a layer does not see its newest tokens")
        found.append(counts[id(mask)])
    return found


def _is_mask(value: Any, length: int) -> bool:
    return isinstance(value, Tensor) and value.dtype is torch.bool and value.numel() == value.shape[-1] == length


def _try_calls(loop: FamilyLoop, farthest: int) -> LayerCalls:
    """How the layers are called for packed rows; checked against each row alone."""
    starts = (5, farthest, 0)
    lengths = (2, 1, 1)
    hidden = torch.zeros((1, sum(lengths), loop.hidden_size), dtype=loop.dtype, device=loop.device)
    alone = []
    for start, length in zip(starts, lengths, strict=True):
        cache: Any = _PretendCache(loop.decoder.config, start)
        alone.append([dict(_leaves(call, cache)) for call in loop.watch(hidden[:, :length], None, cache)])
    numbers = [start + i for start, length in zip(starts, lengths, strict=True) for i in range(length)]
    positions = torch.tensor([numbers], device=loop.device)
    cache = _PretendCache(loop.decoder.config, 0)
    calls = learn_calls(loop.decoder, loop.watch, hidden, positions, cache)
    for packed, *rows in zip(calls.make(hidden, positions, cache), *alone, strict=True):
        leaves = dict(_leaves(packed, cache))
        are_alike = all(row.keys() == leaves.keys() for row in rows)
        if not are_alike or not all(_is_joined([row[path] for row in rows], leaf) for path, leaf in leaves.items()):
            raise NotRaggedError("what layers are handed for several rows is not what each row needs")
    return calls


def _leaves(value: Any, cache: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """What is in nested arguments, by its path; a word stands for the cache."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _leaves(item, cache, f"{path}.{key}")
    elif isinstance(value, tuple | list):
        for index, item in enumerate(value):
            yield from _leaves(item, cache, f"{path}.{index}")
    else:
        yield path, "cache" if value is cache else value


def _is_joined(rows: list[Any], packed: Any) -> bool:
    """Whether a packed argument is that of the rows side by side: joined in some dimension, or equal."""
    if isinstance(packed, Tensor):
        if not all(isinstance(row, Tensor) and row.dim() == packed.dim() for row in rows):
            return False
        joinable = [dim for dim in range(packed.dim()) if _can_join(rows, packed, dim)]
        if any(same(torch.cat(rows, dim), packed) for dim in joinable):
            return True
    return all(same(row, packed) for row in rows)


def _can_join(rows: list[Tensor], packed: Tensor, dim: int) -> bool:
    others = [size for index, size in enumerate(packed.shape) if index != dim]
    shapes = [[size for index, size in enumerate(row.shape) if index != dim] for row in rows]
    return all(shape == others for shape in shapes) and sum(row.shape[dim] for row in rows) == packed.shape[dim]


def _compare(runner: RaggedRunner, heard: list[tuple[Tensor, Tensor]]) -> None:
    """One layer of each kind, with rows of different lengths in three steps, against what it gave for rows alone."""
    first = runner.layout.span.start
    memory = KvMemory(runner.layout, 2 * PAGE_TOKENS)
    for layer in _one_of_each_kind(runner):
        inputs, outputs = heard[layer]
        span = Span(first + layer, first + layer + 1)
        rows = [memory.new_sequence(span) for _ in range(2)]
        done = [0, 0]
        for order in (((0, _TOKENS - 1), (1, 1)), ((1, 2), (0, 1)), ((1, 1),)):
            packed, expected, steps = [], [], []
            for row, tokens in order:
                memory.reserve(rows[row], done[row] + tokens)
                steps.append(StepRow(rows[row], tokens))
                packed.append(inputs[row, done[row] : done[row] + tokens])
                expected.append(outputs[row, done[row] : done[row] + tokens])
                done[row] += tokens
            result = runner.run(plan_step(memory, steps), torch.cat(packed), memory)
            for step in steps:
                memory.advance(step.sequence, step.tokens)
            _check_equal(result, torch.cat(expected))
        for sequence in rows:
            memory.free(sequence)


def _check_equal(result: Tensor, expected: Tensor) -> None:
    """Raises NotRaggedError. Shapes: [tokens, hidden_size]."""
    tolerance = _TOLERANCE.get(expected.dtype, _HALF_TOLERANCE)
    least_share = 1.0 if expected.dtype in _TOLERANCE else _LEAST_SHARE
    error = (result.double() - expected.double()).abs().amax(-1) / expected.double().abs().amax(-1).clamp_min(1e-9)
    share = (error <= tolerance).double().mean().item()
    if not share >= least_share:
        raise NotRaggedError(f"several rows in one step differ from each alone by {error.max().item():.1e}")


def _one_of_each_kind(runner: RaggedRunner) -> list[int]:
    """Layers that differ in modules, sizes, settings, window or how they are called; the first of each."""
    found: dict[str, int] = {}
    for index, layer in enumerate(runner.layers):
        modules = [(name, type(module).__qualname__, _settings(module)) for name, module in layer.named_modules()]
        shapes = [(name, tuple(parameter.shape)) for name, parameter in layer.named_parameters()]
        found.setdefault(repr((modules, shapes, runner.layout.layers[index])), index)
    return list(found.values())


def _settings(module: nn.Module) -> list[tuple[str, Any]]:
    return [
        (key, value)
        for key, value in vars(module).items()
        if isinstance(value, str | int | float) and key not in ("layer_idx", "layer_index")
    ]
