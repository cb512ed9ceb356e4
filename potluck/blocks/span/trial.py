"""Finds out by trials what a loaded span can do: bytes for each token, windows, and whether packed rows are correct.

Nothing is decided by a family's name. At positions near and far beyond the model's length, the family's own loop must
pass its layers the same for packed rows as for each row alone. Its masks say which tokens a layer sees. Layers of each
kind must compute for packed rows what they compute for rows alone. If any of this fails, each session runs alone, by
the family's own loop and cache, which is always correct.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

from potluck.blocks.accelerators import NoKernels, is_lost
from potluck.blocks.adapters import Adapters
from potluck.blocks.cache.arenas import KvShape
from potluck.blocks.cache.kv_memory import KvLayout, KvMemory, LayerKv
from potluck.blocks.cache.pages import PAGE_TOKENS
from potluck.blocks.cache.session_cache import GrowingLayer, GrowingWindowLayer, KvCache
from potluck.blocks.formats.layers import QuantizedExperts, QuantizedLinear
from potluck.blocks.kernels.decode_graphs import Agree
from potluck.blocks.kernels.native import runs_natively, why_not_native
from potluck.blocks.kernels.support import uses_kernels, why_no_kernels
from potluck.blocks.span.expert_choices import NotedChoices
from potluck.blocks.span.family_loop import FamilyLoop, LayerCalls, are_equal, learn_calls
from potluck.blocks.span.implementations import RAGGED, AttentionSwitch
from potluck.blocks.span.ragged_runner import RaggedRunner
from potluck.blocks.span.step_plans import StepRow, plan_step
from potluck.checkpoint.families import LAYER_INDEX_NAMES
from potluck.errors import CheckpointError
from potluck.protocol.blocks import Span
from potluck.sentences import sentence

_TOKENS = 4
_FARTHEST_POSITION = 2**20  # making masks of so many tokens takes only a few milliseconds
_TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-5}
_HALF_TOLERANCE = 2e-2
_CODES_TOLERANCE = 4e-2  # tolerance of half precision where products also round their input to int8
_INT8_TOLERANCE = 0.1  # tolerance with keys and values in int8

_OTHER_GPU = NoKernels("no kernels on another GPU of this span")

log = logging.getLogger(__name__)


class NotRaggedError(Exception):
    """A family's sessions cannot share steps, for the reason given."""


@dataclass(frozen=True, slots=True)
class LoneRun:
    """The run of `try_alone`: the input and output of each layer, and the experts that each layer chose."""

    layers: list[tuple[Tensor, Tensor]]
    routing: NotedChoices


@torch.inference_mode()
def try_alone(loop: FamilyLoop) -> tuple[KvCache, LoneRun]:
    """Run a few tokens in the family's own loop; return the cache and a record of the layers.

    Shapes: two rows of `_TOKENS` tokens, so that values that depend on the batch do not look constant.

    Raises:
        CheckpointError: the layers cannot run alone, or do not keep their state in the cache.
    """
    cache = KvCache(loop.decoder.config)
    generator = torch.Generator().manual_seed(0)
    hidden = torch.randn((2, _TOKENS, loop.hidden_size), generator=generator).mul_(0.1).to(loop.device, loop.dtype)
    heard = LoneRun([], NotedChoices())
    try:
        with heard.routing.noted(loop.routers, tokens=2 * _TOKENS):
            loop.run(hidden, cache, heard=heard.layers)
    except (AttributeError, IndexError, KeyError, RuntimeError, TypeError, ValueError) as error:
        if isinstance(error, torch.OutOfMemoryError | torch.AcceleratorError) or is_lost(loop.device):
            raise  # a fault of the device says nothing about the family
        raise _not_splittable(loop, "their layers do not run alone") from error
    if not cache.nbytes and not cache.is_needless:
        raise _not_splittable(loop, "their layers share no usual cache")
    return cache, heard


def _not_splittable(loop: FamilyLoop, why: str) -> CheckpointError:
    family = loop.decoder.config.model_type
    what = sentence("models of the family {family} cannot be split: {why}", family=family, why=why)
    return CheckpointError(what, hint=sentence("choose a model of another family"))


@torch.inference_mode()
def try_ragged(
    loop: FamilyLoop,
    adapters: Adapters,
    cache: KvCache,
    heard: LoneRun,
    agree: Agree = bool,
    problem: NoKernels | None = None,
) -> RaggedRunner | None:
    """Return the runner of packed rows; log the reason and return None if sessions must run alone.

    Args:
        agree: for several ranks, which use kernels and graphs only if all of them can.
        problem: a reason not to try kernels, if there is one.
    """
    try:
        return _try_ragged(loop, adapters, cache, heard, agree, problem)
    except (NotRaggedError, AttributeError, LookupError, RuntimeError, TypeError, ValueError) as error:
        if is_lost(loop.device):
            raise
        reason = str(error).partition("\n")[0] or type(error).__name__
        log.info("sessions of %s run alone: %s", loop.decoder.config.model_type, reason)
        return None


def _try_ragged(
    loop: FamilyLoop, adapters: Adapters, cache: KvCache, heard: LoneRun, agree: Agree, problem: NoKernels | None
) -> RaggedRunner:
    if not all(type(layer) in (GrowingLayer, GrowingWindowLayer) for layer in cache.layers):
        raise NotRaggedError("not all layers keep keys and values")
    if len(cache.layers) != len(loop.layers):
        raise NotRaggedError("a block has several layers with keys and values")
    if not all(torch.equal(output, hidden) for (_, output), (hidden, _) in pairwise(heard.layers)):
        raise NotRaggedError("its loop changes the hidden state between layers")
    layers = tuple(
        LayerKv(KvShape(layer.keys.shape[1], layer.keys.shape[3], layer.values.shape[3]), window)
        for layer, window in zip(cache.layers, _windows(loop), strict=True)
    )
    layout = KvLayout(loop.span, layers, cache.layers[0].keys.dtype, loop.device)
    runner = RaggedRunner(loop, layout, _try_calls(loop), adapters)
    if uses_kernels(loop.device):
        runner.no_kernels = _try_kernels(runner, loop, heard, agree, problem)
        if runner.no_kernels is None:
            return runner
    _compare(runner, heard)
    if runs_natively(loop.device, loop.dtype):
        runner.no_kernels = _try_whole(runner, loop, heard)
    return runner


@torch.inference_mode()
def hold_int8(runner: RaggedRunner, family: str, heard: LoneRun, agree: Agree = bool) -> None:
    """Hold keys and values in int8 from now on, without the device's kernels if they compute other numbers with them.

    Args:
        agree: see `try_ragged`.
    """
    runner.layout = replace(runner.layout, is_int8=True)
    if not runner.has_kernels:
        return
    runner.no_kernels = _warned(family, _checked_kernels(runner, heard, agree, _INT8_TOLERANCE))


@torch.inference_mode()
def joined_runner(
    loop: FamilyLoop, adapters: Adapters, layout: KvLayout, parts: Sequence[RaggedRunner]
) -> RaggedRunner:
    """Return the runner for blocks that passed a trial in other spans. It is cheap: no layer computes.

    Args:
        parts: runners of these spans. The new one uses only what all of them use.

    Raises:
        NotRaggedError: the layers are called differently together than alone.
    """
    runner = RaggedRunner(loop, layout, _try_calls(loop), adapters)
    if all(part.has_kernels for part in parts):
        runner.use_kernels(loop.weights)
    if all(part.is_whole for part in parts):
        runner.use_whole(loop.weights)
    runner.no_kernels = next((part.no_kernels for part in parts if part.no_kernels), None)
    return runner


def _try_kernels(
    runner: RaggedRunner, loop: FamilyLoop, heard: LoneRun, agree: Agree, problem: NoKernels | None
) -> NoKernels | None:
    """Use the device's kernels if they run and compute the family's numbers; if not, log and return the reason."""
    problem = problem or why_no_kernels(loop.device)
    if not agree(problem is None):  # ranks agree before the layers run, which exchange data
        problem = problem or _OTHER_GPU
    else:
        runner.use_kernels(loop.weights, agree)
        problem = _checked_kernels(runner, heard, agree)
    return _warned(loop.decoder.config.model_type, problem)


def _checked_kernels(
    runner: RaggedRunner, heard: LoneRun, agree: Agree, tolerance: float | None = None
) -> NoKernels | None:
    """Return None if the kernels in use compute the family's numbers; if not, stop using them and return why."""
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
    """Log why kernels are not used, if there is a reason, and return it."""
    if problem is not None:
        log.warning("blocks of %s run without Triton kernels: %s", family, problem.reason)
    return problem


def _try_whole(runner: RaggedRunner, loop: FamilyLoop, heard: LoneRun) -> NoKernels | None:
    """Run whole blocks in C if that gives the family's numbers; return why these blocks have no native kernels."""
    lacking = runner.use_whole(loop.weights)
    if loop.dtype is torch.bfloat16:  # C multiplies its matrices in any case
        lacking = why_not_native()
    if not runner.is_whole:
        return lacking
    try:
        _compare(runner, heard)
    except (NotRaggedError, ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError) as error:
        runner.use_plain()
        log.warning("blocks of %s do not run whole: %s", loop.decoder.config.model_type, error)
        return None if loop.dtype is torch.bfloat16 else NoKernels(f"whole blocks fail: {error}")
    return None


def _farthest_position(loop: FamilyLoop) -> int:
    """Return a position beyond every length at which a family might change its behaviour."""
    longest = getattr(loop.decoder.config, "max_position_embeddings", None) or 2**15
    return min(2 * int(longest) + 7, _FARTHEST_POSITION)


class _PretendCache(KvCache):
    """An empty cache that claims to hold `length` tokens in every layer."""

    def get_mask_sizes(self, query_length: int, layer_idx: int) -> tuple[int, int]:
        return self.length + query_length, 0


def _windows(loop: FamilyLoop) -> list[int | None]:
    """Return how many tokens each layer sees, according to the family's masks at two neighbouring positions.

    A configuration may name a window that the family's masks ignore.
    """
    farthest = _farthest_position(loop)
    windows: list[int | None] = []
    for at_end, before in zip(_visible(loop, farthest), _visible(loop, farthest - 1), strict=True):
        if at_end != before and (at_end, before) != (farthest + 1, farthest):
            raise NotRaggedError("a layer sees neither all tokens nor a sliding window")
        windows.append(at_end if at_end == before else None)
    return windows


def _visible(loop: FamilyLoop, position: int) -> list[int]:
    """Return how many of the newest tokens each layer's token at `position` sees."""
    cache = _PretendCache(loop.decoder.config)
    cache.length = position
    hidden = torch.zeros((1, 1, loop.hidden_size), dtype=loop.dtype, device=loop.device)
    with AttentionSwitch(loop.decoder).use("eager"):  # makes Transformers compute every mask in full
        calls = loop.watch(hidden, None, cache)
    found = []
    for args, kwargs in calls:
        values = [value for value in (*args, *kwargs.values()) if isinstance(value, Tensor)]
        masks = [mask for mask in values if mask.numel() == mask.shape[-1] == position + 1]
        if len(masks) != 1:
            raise NotRaggedError("a layer receives no mask, or several")
        is_seen = masks[0].flatten() == 0  # other scores are lowered
        found.append(int(is_seen.sum()))
        if not bool(is_seen[-found[-1] :].all()):
            raise NotRaggedError("a layer does not see its newest tokens")
    return found


def _try_calls(loop: FamilyLoop) -> LayerCalls:
    """Return how the layers are called for packed rows, checked against each row alone."""
    config, numbers = loop.decoder.config, (5, 6, _farthest_position(loop), 1)
    hidden = torch.zeros((1, len(numbers), loop.hidden_size), dtype=loop.dtype, device=loop.device)
    positions = torch.tensor([numbers], device=loop.device)
    cache = KvCache(config)  # empty, but it claims to hold tokens
    with AttentionSwitch(loop.decoder).use(RAGGED):
        calls = learn_calls(loop.decoder, loop.watch, hidden, positions, cache)
        is_right = calls.has_a_row_for_each_token(hidden, positions)
        for cache.length in numbers:
            position = torch.tensor([[cache.length]], device=loop.device)
            alone = loop.watch(hidden[:, :1], None, cache)
            is_right = is_right and are_equal(alone, calls.make(hidden[:, :1], position, cache))
    if not is_right:
        raise NotRaggedError("layers receive other arguments for several rows than for each row alone")
    return calls


def _compare(runner: RaggedRunner, heard: LoneRun, tolerance: float | None = None) -> None:
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
            numbers: list[int] = []  # indices of the tokens in the run of `try_alone`
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
        shapes = [tuple(parameter.shape) for parameter in layer.parameters()]
        found.setdefault(repr((modules, shapes, runner.layout.layers[index])), index)
    return list(found.values())


def _settings(module: nn.Module) -> dict[str, Any]:
    own = vars(module).items()
    return {key: each for key, each in own if isinstance(each, str | int | float) and key not in LAYER_INDEX_NAMES}
