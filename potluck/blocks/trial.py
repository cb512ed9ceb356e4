"""Finds out by trying what a loaded span can do: bytes for each token, windows, and whether packed rows are correct.

Nothing is decided by a family's name. At positions near and far beyond the model's length, the family's own loop must
pass its layers the same for packed rows as for each row alone. Its masks say which tokens a layer sees. Layers of each
kind must compute for packed rows what they compute for rows alone. If any of this fails, each session runs alone, by
the family's own loop and cache, which is always correct.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn
from transformers.cache_utils import CacheLayerMixin

from potluck.blocks.accelerators import is_lost
from potluck.blocks.adapters import Adapters
from potluck.blocks.arenas import KvShape
from potluck.blocks.cache import GrowingLayer, GrowingWindowLayer, KvCache
from potluck.blocks.calls import LayerCalls, learn_calls, same
from potluck.blocks.decode_graphs import Agree
from potluck.blocks.formats import QuantizedExperts, QuantizedLinear
from potluck.blocks.kernel_support import NoKernels, uses_kernels, why_no_kernels
from potluck.blocks.kv import KvLayout, KvMemory, LayerKv
from potluck.blocks.loop import FamilyLoop
from potluck.blocks.native_kernels import native_kernels, runs_natively, why_not_native
from potluck.blocks.pages import PAGE_TOKENS
from potluck.blocks.plans import StepRow, plan_step
from potluck.blocks.ragged import RaggedRunner
from potluck.blocks.routing import Routing
from potluck.blocks.switching import RAGGED, WHOLE_MASKS, AttentionSwitch
from potluck.errors import CheckpointError
from potluck.protocol.blocks import Span

_TOKENS = 4
_FARTHEST_POSITION = 2**20  # making masks of so many tokens takes only a few milliseconds
_TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-5}
_HALF_TOLERANCE = 2e-2
_CODES_TOLERANCE = 4e-2  # of half precision where products round their input to int8 besides
_INT8_TOLERANCE = 0.1  # with keys and values in int8

_OTHER_GPU = NoKernels("no kernels on another GPU of this span")

log = logging.getLogger(__name__)


class NotRaggedError(Exception):
    """A family's sessions cannot share steps, for the reason given."""


@dataclass(frozen=True, slots=True)
class Heard:
    """What `try_alone` heard: the input and output of each layer, and the experts that each layer chose."""

    layers: list[tuple[Tensor, Tensor]]
    routing: Routing


@torch.inference_mode()
def try_alone(loop: FamilyLoop) -> tuple[KvCache, Heard]:
    """Run a few tokens in the family's own way; return its cache and what the layers did.

    Shapes: two rows of `_TOKENS` tokens, so that values that depend on the batch do not look constant.

    Raises:
        CheckpointError: the layers cannot run alone, or do not keep their state in the cache.
    """
    cache = KvCache(loop.decoder.config)
    generator = torch.Generator().manual_seed(0)
    hidden = torch.randn((2, _TOKENS, loop.hidden_size), generator=generator).mul_(0.1).to(loop.device, loop.dtype)
    family = loop.decoder.config.model_type
    hint = "choose a model of another family"
    routing = Routing()
    try:
        with routing.noted(loop.layers, tokens=2 * _TOKENS):
            heard = loop.listen(hidden, cache)
    except (AttributeError, IndexError, KeyError, RuntimeError, TypeError, ValueError) as error:
        if isinstance(error, torch.OutOfMemoryError | torch.AcceleratorError) or is_lost(loop.device):
            raise  # which says nothing about the family
        raise CheckpointError(
            f"models of the family {family} cannot be split: their layers do not run alone", hint=hint
        ) from error
    if not cache.nbytes and not cache.is_needless:
        raise CheckpointError(
            f"models of the family {family} cannot be split: their layers share no usual cache", hint=hint
        )
    return cache, Heard(heard, routing)


def bytes_per_token(cache: KvCache) -> int:
    """Return what one token of one row adds to the cache of `try_alone`; states of fixed size do not count."""
    attending = [layer for layer in cache.layers if isinstance(layer, CacheLayerMixin) and layer.keys is not None]
    return sum(int(layer.keys.nbytes + layer.values.nbytes) for layer in attending) // (2 * _TOKENS)


@torch.inference_mode()
def try_ragged(
    loop: FamilyLoop,
    adapters: Adapters,
    cache: KvCache,
    heard: Heard,
    agree: Agree = bool,
    problem: NoKernels | None = None,
) -> RaggedRunner | None:
    """Return the runner of packed rows; log the reason and return None if sessions must run alone.

    Args:
        agree: for several ranks, which use kernels and graphs only if all of them can.
        problem: why no kernels should be tried; None: nothing is known against it.
    """
    try:
        return _try_ragged(loop, adapters, cache, heard, agree, problem)
    except (AttributeError, LookupError, NotImplementedError, RuntimeError, TypeError, ValueError) as error:
        if is_lost(loop.device):
            raise
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
    except NotRaggedError as error:
        reason = str(error)
    log.info("sessions of %s run alone: %s", loop.decoder.config.model_type, reason)
    return None


def _try_ragged(
    loop: FamilyLoop, adapters: Adapters, cache: KvCache, heard: Heard, agree: Agree, problem: NoKernels | None
) -> RaggedRunner:
    if not all(type(layer) in (GrowingLayer, GrowingWindowLayer) for layer in cache.layers):
        raise NotRaggedError("not all layers keep keys and values")
    if not all(torch.equal(output, hidden) for (_, output), (hidden, _) in pairwise(heard.layers)):
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
    runner = RaggedRunner(loop.layers, layout, calls, switch, adapters, loop.routers)
    if uses_kernels(loop.device):
        runner.no_kernels = _try_kernels(runner, loop, heard, agree, problem)
        if runner.no_kernels is None:
            return runner
    _compare(runner, heard)
    if runs_natively(loop.device, loop.dtype):
        runner.no_kernels = _try_native(runner, loop, heard)
    return runner


@torch.inference_mode()
def hold_int8(runner: RaggedRunner, family: str, heard: Heard, agree: Agree = bool) -> None:
    """Hold keys and values in int8 from now on, without the device's kernels if they compute other numbers with them.

    Args:
        agree: see `try_ragged`.
    """
    runner.layout = replace(runner.layout, is_int8=True)
    if not runner.has_kernels:
        return
    runner.no_kernels = _warned(family, _checked_kernels(runner, heard, agree, _INT8_TOLERANCE))


@torch.inference_mode()
def runner_of(
    loop: FamilyLoop, adapters: Adapters, layout: KvLayout, *, has_kernels: bool, is_native: bool, is_whole: bool
) -> RaggedRunner:
    """Return the runner for blocks that passed a trial in other spans. It is cheap: no layer computes.

    Raises:
        NotRaggedError: the layers are called differently together than alone.
    """
    switch = AttentionSwitch(loop.decoder)
    with switch.use(RAGGED):
        calls = _try_calls(loop, _farthest_position(loop))
    runner = RaggedRunner(loop.layers, layout, calls, switch, adapters, loop.routers)
    if has_kernels:
        runner.use_kernels(loop.weights)
    if is_native:
        runner.use_native(loop.weights)
    if is_whole:
        runner.use_whole(loop.weights)
    return runner


def _try_kernels(
    runner: RaggedRunner, loop: FamilyLoop, heard: Heard, agree: Agree, problem: NoKernels | None
) -> NoKernels | None:
    """Use the device's kernels if they run and compute the family's numbers; if not, log and return the reason."""
    problem = problem or why_no_kernels(loop.device)
    if not agree(problem is None):  # asked before the layers run, in which ranks exchange data
        problem = problem or _OTHER_GPU
    else:
        runner.use_kernels(loop.weights, agree)
        problem = _checked_kernels(runner, heard, agree)
    return _warned(loop.decoder.config.model_type, problem)


def _checked_kernels(
    runner: RaggedRunner, heard: Heard, agree: Agree, tolerance: float | None = None
) -> NoKernels | None:
    """Return why the kernels in use do not compute the family's numbers, and use them no more; None: they do."""
    problem = None
    try:
        _compare(runner, heard, tolerance)
    except Exception as error:  # compilers, linkers and drivers fail in many ways
        if is_lost(runner.layout.device):
            raise  # nothing computes in this process any more, neither kernels nor plain torch
        problem = NoKernels(str(error).strip().partition("\n")[0] or type(error).__name__)
    if agree(problem is None):
        return None
    runner.use_plain()
    return problem or _OTHER_GPU


def _warned(family: str, problem: NoKernels | None) -> NoKernels | None:
    """Log what keeps kernels from being used, if anything does."""
    if problem is not None:
        log.warning("blocks of %s run without Triton kernels: %s", family, problem.reason)
    return problem


def _try_native(runner: RaggedRunner, loop: FamilyLoop, heard: Heard) -> NoKernels | None:
    """Compute few tokens in C if that gives the family's numbers; if not, log and return the reason."""
    if loop.dtype is torch.bfloat16:
        if native_kernels() is None:
            return why_not_native()
        runner.use_native(loop.weights)
        failure = _why_wrong(runner, heard)
        if failure is not None:
            runner.use_plain()
            log.warning("blocks of %s run their own code: fused, %s", loop.decoder.config.model_type, failure)
            return NoKernels(f"fused blocks fail: {failure}")
    problem = runner.use_whole(loop.weights)
    failure = _why_wrong(runner, heard) if runner.is_whole else None
    if failure is not None:
        runner.use_parts()
        log.warning("blocks of %s do not run whole: %s", loop.decoder.config.model_type, failure)
        return None if runner.is_native else NoKernels(f"whole blocks fail: {failure}")
    return problem


def _why_wrong(runner: RaggedRunner, heard: Heard) -> Exception | None:
    """Return why the runner does not compute the family's numbers in C, or None."""
    try:
        _compare(runner, heard)
    except (NotRaggedError, ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError) as error:
        return error
    return None


def _farthest_position(loop: FamilyLoop) -> int:
    """Return a position beyond every length at which a family might change its behaviour."""
    longest = getattr(loop.decoder.config, "max_position_embeddings", None) or 2**15
    return min(2 * int(longest) + 7, _FARTHEST_POSITION)


class _PretendCache(KvCache):
    """An empty cache that claims to hold `length` tokens in every layer."""

    def __init__(self, config: Any, length: int) -> None:
        super().__init__(config)
        self.length = length

    def get_mask_sizes(self, query_length: int, layer_idx: int) -> tuple[int, int]:
        return self.length + query_length, 0


def _windows(loop: FamilyLoop, farthest: int) -> list[int | None]:
    """Return how many tokens each layer sees, according to the family's masks at two neighbouring positions."""
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
    counts: dict[int, int] = {}  # by the id of the mask, because most layers share one
    found = []
    calls = loop.watch(hidden, None, cache)
    for args, kwargs in calls:
        masks = [value for value in (*args, *kwargs.values()) if _is_mask(value, position + 1)]
        if len(masks) != 1:
            raise NotRaggedError("a layer receives no mask, or several")
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
    """Return how the layers are called for packed rows, checked against each row alone."""
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
            raise NotRaggedError("layers receive other arguments for several rows than for each row alone")
    return calls


def _leaves(value: Any, cache: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the leaves of nested arguments with their paths; a word replaces the cache."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _leaves(item, cache, f"{path}.{key}")
    elif isinstance(value, tuple | list):
        for index, item in enumerate(value):
            yield from _leaves(item, cache, f"{path}.{index}")
    else:
        yield path, "cache" if value is cache else value


def _is_joined(rows: list[Any], packed: Any) -> bool:
    """Return whether a packed argument joins those of the rows in some dimension, or equals them."""
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


def _compare(runner: RaggedRunner, heard: Heard, tolerance: float | None = None) -> None:
    """Compare one layer of each kind, for rows of different lengths in three steps, with its results for rows alone."""
    first = runner.layout.span.start
    tolerance = tolerance or _tolerance_of(runner.layers, runner.layout.dtype)
    memory = KvMemory(runner.layout, 2 * PAGE_TOKENS)
    for layer in _one_of_each_kind(runner):
        inputs, outputs = heard.layers[layer]
        span = Span(first + layer, first + layer + 1)
        rows = [memory.new_sequence(span) for _ in range(2)]
        done = [0, 0]
        for order in (((0, _TOKENS - 1), (1, 1)), ((1, 2), (0, 1)), ((1, 1),)):
            packed, expected, steps = [], [], []
            numbers: list[int] = []  # of the tokens in the run of `try_alone`
            for row, tokens in order:
                memory.reserve(rows[row], done[row] + tokens)
                steps.append(StepRow(rows[row], tokens))
                packed.append(inputs[row, done[row] : done[row] + tokens])
                expected.append(outputs[row, done[row] : done[row] + tokens])
                numbers += range(row * _TOKENS + done[row], row * _TOKENS + done[row] + tokens)
                done[row] += tokens
            with heard.routing.repeated(layer, numbers):
                result = runner.run(plan_step(memory, steps), torch.cat(packed), memory)
            for step in steps:
                memory.advance(step.sequence, step.tokens)
            _check_equal(result, torch.cat(expected), tolerance)
        for sequence in rows:
            memory.free(sequence)


def _tolerance_of(layers: nn.ModuleList, dtype: torch.dtype) -> float:
    has_codes = any(isinstance(module, QuantizedLinear | QuantizedExperts) for module in layers.modules())
    return _TOLERANCE.get(dtype, _CODES_TOLERANCE if has_codes else _HALF_TOLERANCE)


def _check_equal(result: Tensor, expected: Tensor, tolerance: float) -> None:
    """Raise NotRaggedError if results differ too much. Shapes: [tokens, hidden_size]."""
    error = (result.double() - expected.double()).abs().amax(-1) / expected.double().abs().amax(-1).clamp_min(1e-9)
    if not bool((error <= tolerance).all()):  # also if it is no number
        raise NotRaggedError(f"rows in one step differ from each row alone by {error.max().item():.1e}")


def _one_of_each_kind(runner: RaggedRunner) -> list[int]:
    """Return the first of all layers with equal modules, sizes, settings and windows."""
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
