"""Runs whole blocks for a few tokens in one call into C, from the normalised input to the last sum.

Calling a block's operations one by one costs more than they compute when the caches of a processor hold something else:
an engine that waits for its next step finds little of its own there. Weights, shapes and the places of keys and values
are written down once; a step only adds positions, slots and rotary tables.

float32 and bfloat16 blocks qualify, also with matrices in int8 or int4, if `fused.py` knows their code and they have
neither experts, sinks nor caps on scores. The trial compares them with the family's own code.

C trusts its arguments, so this module checks every shape, number format and address first: those of weights when they
are written down and when one of them has moved, those of hidden states, pages and tables at each step. Steps that do
not fit run operation by operation, where torch checks them.
"""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from potluck.blocks.accelerators import NoKernels
from potluck.blocks.adapters import AdaptedLinear
from potluck.blocks.cache.arenas import KvArena, KvShape
from potluck.blocks.cache.kv_memory import KvLayout, KvMemory, KvSequence
from potluck.blocks.cache.pages import PAGE_TOKENS, slots_in
from potluck.blocks.formats.layers import NativeLinear, QuantizedLinear
from potluck.blocks.formats.matrices import Int8Matrix
from potluck.blocks.kernels.fused import attention_form, can_be_fused, has_plain_mlp, is_gelu, layer_form, norm_form
from potluck.blocks.kernels.native import (
    COLUMNS,
    GROUP,
    MOST_DIM,
    PACKED_ROWS,
    NativeKernels,
    native_kernels,
    why_not_native,
)
from potluck.blocks.span.family_loop import Call, LayerCalls
from potluck.blocks.span.step_plans import PlannedRow
from potluck.protocol.blocks import Span

MOST_TOKENS = 16
"""For more tokens, torch is nearly as fast, and matrices in int8 are restored, which is more exact."""

_FORMS = {torch.bfloat16: 0, torch.int8: 1, torch.float32: 2}  # number formats of keys and values
_FLOATS, _HALVES, _EIGHT_BITS, _FOUR_BITS = range(4)  # formats of matrices
_INTEGER, _FLAG = ctypes.c_int64, ctypes.c_int32
_POINTER, _FLOAT = ctypes.c_void_p, ctypes.c_float


class _Matrix(ctypes.Structure):
    _fields_ = (
        *((name, _POINTER) for name in ("weight", "scales", "bias", "order")),
        *((name, _INTEGER) for name in ("rows", "columns", "form", "group", "are_floats")),
    )


class _Norm(ctypes.Structure):
    _fields_ = (("weight", _POINTER), ("epsilon", _FLOAT), ("rounds_first", _FLAG), ("plus_one", _FLAG))


_MATRICES = ("query", "key", "value", "output", "gate", "up", "down")
_NORMS = ("before_attention", "after_attention", "before_mlp", "after_mlp", "query_norm", "key_norm")
_SIZES = ("width", "inner", "heads", "kv_heads", "dim", "rotated", "group", "place", "tables")


class _Block(ctypes.Structure):
    """A block as `native_steps.c` reads it."""

    _fields_ = (
        *((name, _Matrix) for name in _MATRICES),
        *((name, _Norm) for name in _NORMS),
        *((name, _INTEGER) for name in _SIZES),
        *((name, _FLOAT) for name in ("scale", "share")),
        *((name, _FLAG) for name in ("norms_whole", "is_interleaved", "is_gelu")),
    )


_HELD = ("keys", "values", "key_factors", "value_factors")


class _Seen(ctypes.Structure):
    _fields_ = (
        *((name, _POINTER) for name in ("slots", "firsts", "runs", *_HELD)),
        *((name, _INTEGER) for name in ("place_stride", "head_stride", "form")),
    )


class _Tables(ctypes.Structure):
    _fields_ = (("cosines", _POINTER), ("sines", _POINTER), ("stride", _INTEGER), ("is_wide", _INTEGER))


class _Step(ctypes.Structure):
    _fields_ = (
        *((name, _POINTER) for name in ("seen", "tables")),
        *((name, _INTEGER) for name in ("tokens", "most_seen", "is_half", "is_wide", "in_pairs", "threads")),
    )


class CannotRunWhole(Exception):  # noqa: N818 (not an error)
    """These blocks, or this step, must run operation by operation.

    Attributes:
        no_kernels: why, if C could run them here.
    """

    def __init__(self, no_kernels: NoKernels | None = None) -> None:
        super().__init__()
        self.no_kernels = no_kernels


@dataclass(frozen=True, slots=True)
class _Written:
    """The blocks as C reads them, for a KV memory whose layers have these homes.

    Attributes:
        weights: tensors whose addresses C has, and these addresses. A tensor has moved if its address differs.
        homes: of the memory, which replaces them when it is reshaped.
        kinds: layers whose rotary tables differ from one another.
        rotated: numbers of a head that the tables of each kind rotate.
    """

    blocks: ctypes.Array[_Block]
    weights: list[tuple[Tensor, int]]
    homes: object
    kinds: list[int]
    rotated: list[int]
    dtype: torch.dtype
    width: int


@dataclass(slots=True)
class _Places:
    """The places of a step's tokens in the arena of a group, to which `_Seen` points.

    Attributes:
        addresses: of the arena's tensors.
        slots: of the new tokens.
        firsts: index in `runs` of each token's first stretch, and the end.
        runs: first slot and length of each stretch of tokens that a token sees.
    """

    arena: KvArena
    addresses: list[int]
    window: int | None
    slots: array[int]
    firsts: array[int]
    runs: array[int]


@dataclass(slots=True)
class _Numbers:
    """The numbers that C reads for one step besides the hidden states.

    Attributes:
        span: the blocks to run, of those that were written down.
        tables: of the new tokens, and of those of later steps behind them.
    """

    span: slice
    written: _Written
    step: _Step
    places: list[_Places]
    seen: ctypes.Array[_Seen]
    tables: ctypes.Array[_Tables]
    kept_tables: list[Any]


class NextTokens:
    """Runs decode steps of some sequences without a plan: each step is derived from the one before it.

    That ends when one of the sequences needs another page, so most decode steps make no plan and no tables.

    Attributes:
        left: steps that can still follow.
    """

    def __init__(
        self, numbers: _Numbers, sequences: list[KvSequence], memory: KvMemory, kernels: NativeKernels, left: int
    ) -> None:
        """Store the settings. `numbers` holds rotary tables for `left` steps."""
        self._numbers = numbers
        self._sequences = sequences
        self._memory = memory
        self._kernels = kernels
        self.left = left
        self._positions = [sequence.length for sequence in sequences]
        self._pages = [(table, table.runs) for sequence in sequences for table in sequence.tables.values()]

    def run(self, sequences: list[KvSequence], hidden: Tensor) -> Tensor | None:
        """Return the outputs of a token for each of these sequences; None if the step must be planned.

        Everything that C reads must still be where it was, and the sequences must not have changed since the last step:
        every change of a sequence alters its length or its pages.

        Shapes: hidden and result [tokens, hidden_size].
        """
        numbers = self._numbers
        if not self.left or sequences != self._sequences or numbers.written.homes is not self._memory.homes:
            return None
        for sequence, position in zip(sequences, self._positions, strict=True):
            if sequence.length != position or sequence.room <= position:  # its last page may be another's, too
                return None
        for table, runs in self._pages:
            if table.runs is not runs:
                return None
        for place in numbers.places:
            if _addresses_of(place.arena) != place.addresses:
                return None
        if not _are_in_place(numbers.written.weights) or not _fits(numbers, hidden):
            return None
        output = _run(self._kernels, numbers, hidden)
        self._go_on(numbers)
        return output

    def _go_on(self, numbers: _Numbers) -> None:
        self.left -= 1
        self._positions = [position + 1 for position in self._positions]
        numbers.step.most_seen += 1
        for table in numbers.tables:
            passed = len(self._positions) * table.stride * (4 if table.is_wide else 2)
            table.cosines += passed
            table.sines += passed
        for place in numbers.places:
            runs, firsts, window = place.runs, place.firsts, place.window
            for row, position in enumerate(self._positions):
                place.slots[row] += 1
                runs[2 * firsts[row + 1] - 1] += 1
                if window is not None and position >= window:
                    first = 2 * firsts[row]
                    runs[first] += 1
                    runs[first + 1] -= 1
                    if not runs[first + 1]:
                        self.left = 0


def _addresses_of(arena: KvArena) -> list[int]:
    return [tensor.data_ptr() for tensor in arena.tensors]


def _are_in_place(weights: list[tuple[Tensor, int]]) -> bool:
    return all(tensor.data_ptr() == address for tensor, address in weights)


def _fits(numbers: _Numbers, hidden: Tensor) -> bool:
    written = numbers.written
    is_right = hidden.dtype is written.dtype and hidden.device.type == "cpu"
    return is_right and hidden.shape == (numbers.step.tokens, written.width)


def _run(kernels: NativeKernels, numbers: _Numbers, hidden: Tensor) -> Tensor:
    step = numbers.step
    step.threads = torch.get_num_threads()
    output = hidden.clone(memory_format=torch.contiguous_format)
    kernels.run_blocks(numbers.written.blocks, numbers.span, step, output, step.most_seen)
    return output


class WholeBlocks:
    """Runs steps of few tokens through the layers of one span, whose weights are not streamed."""

    def __init__(self, layers: nn.ModuleList, layout: KvLayout, calls: LayerCalls) -> None:
        """Store the layers. Raises CannotRunWhole if C has no code for a part of one."""
        is_right = layout.dtype in (torch.float32, torch.bfloat16) and layout.device.type == "cpu"
        if not is_right:
            raise CannotRunWhole
        self._layers, self._calls = layers, calls
        self._span, self._dtype = layout.span, layout.dtype
        self._shapes = [layer.shape for layer in layout.layers]
        self._written: _Written | None = None
        widths = {_block_of(*each, self._dtype, []).width for each in zip(layers, self._shapes, strict=True)}
        if len(widths) != 1:
            raise CannotRunWhole
        self._width = widths.pop()
        kernels = native_kernels()  # compiled only where they are of use
        if kernels is None:
            raise CannotRunWhole(why_not_native())
        self._kernels: NativeKernels = kernels

    def run(self, span: Span, rows: Sequence[PlannedRow], hidden: Tensor, memory: KvMemory) -> Tensor:
        """Return the outputs of blocks `span` for the tokens of these rows, at most `MOST_TOKENS`, without adapters.

        Shapes: hidden and result [tokens, hidden_size].

        Raises:
            CannotRunWhole: nothing has changed. Run the step operation by operation, where torch checks it.
            ValueError: the pages of a row don't hold its tokens. Nothing has changed.
        """
        numbers = self._numbers(span, rows, memory)
        if not _fits(numbers, hidden):
            raise CannotRunWhole
        return _run(self._kernels, numbers, hidden)

    def next_tokens(self, sequences: list[KvSequence], rows: Sequence[PlannedRow], memory: KvMemory) -> NextTokens:
        """Write down the next step of these sequences, whose plan has `rows`, and those after it. Raises as `run`."""
        steps = min(*(sequence.room - sequence.length for sequence in sequences), PAGE_TOKENS)
        numbers = self._numbers(sequences[0].span, rows, memory, steps)
        return NextTokens(numbers, sequences, memory, self._kernels, steps)

    def _numbers(self, span: Span, rows: Sequence[PlannedRow], memory: KvMemory, steps: int = 1) -> _Numbers:
        """Return the numbers that C reads for a step, with the rotary tables of `steps` such steps.

        Raises: as `run`.
        """
        positions = [position for row in rows for position in range(row.position, row.position + row.tokens)]
        tokens = len(positions)
        if not 0 < tokens <= MOST_TOKENS or memory.layout.span != self._span or not self._span.covers(span):
            raise CannotRunWhole
        any_hidden = torch.empty((1, steps * tokens, self._width), dtype=self._dtype)
        all_positions = torch.tensor([[position + later for later in range(steps) for position in positions]])
        calls = self._calls.make(any_hidden, all_positions, None)
        written = self._written
        if written is None or written.homes is not memory.homes or not _are_in_place(written.weights):
            written = self._written = self._write(calls, memory)
        chosen = slice(span.start - self._span.start, span.end - self._span.start)
        used = {memory.homes[layer][0] for layer in range(chosen.start, chosen.stop)}
        seen = (_Seen * len(memory.used_groups))()
        places = [
            _fill_places(here, memory, group, rows)
            for here, group in zip(seen, memory.used_groups, strict=True)
            if group in used
        ]
        tables = (_Tables * len(written.kinds))()
        kept: list[Any] = []
        for table, layer, rotated in zip(tables, written.kinds, written.rotated, strict=True):
            _fill_tables(table, calls[layer], (1, steps * tokens, rotated), kept)
        most = max(positions) + 1
        most_seen = max(most if each.window is None else min(most, each.window) for each in places)
        step = _Step(
            *(ctypes.addressof(numbers) for numbers in (seen, tables)),
            *(tokens, most_seen, self._dtype is torch.bfloat16),
            *(self._kernels.is_wide, self._kernels.in_pairs, torch.get_num_threads()),
        )
        return _Numbers(chosen, written, step, places, seen, tables, kept)

    def _write(self, calls: Sequence[Call], memory: KvMemory) -> _Written:
        weights: list[tuple[Tensor, int]] = []
        blocks = (_Block * len(self._layers))()
        kinds: list[int] = []
        rotated: list[int] = []
        for index, (layer, shape) in enumerate(zip(self._layers, self._shapes, strict=True)):
            block = _block_of(layer, shape, self._dtype, weights)
            table = calls[index][1]["position_embeddings"]
            same = (kind for kind, other in enumerate(kinds) if calls[other][1]["position_embeddings"] is table)
            block.tables = next(same, len(kinds))
            if block.tables == len(kinds):
                kinds.append(index)
                rotated.append(table[0].shape[-1])
            if block.rotated:
                block.rotated = rotated[block.tables]
            group, block.place = memory.homes[index]
            arena = memory.arena_of(group)
            block.group = memory.used_groups.index(group)
            is_right = arena.shape == shape and 0 <= block.place < arena.depth
            if not is_right or block.rotated % 2 or block.rotated > block.dim:
                raise CannotRunWhole
            blocks[index] = block
        return _Written(blocks, weights, memory.homes, kinds, rotated, self._dtype, self._width)


def _block_of(layer: Any, shape: KvShape, dtype: torch.dtype, held: list[tuple[Tensor, int]]) -> _Block:
    """Return a block without its place in a KV memory. Raises CannotRunWhole for a layer that C has no code for.

    Args:
        shape: of the layer's keys and values.
        held: gets the weights and their addresses.
    """
    _refuse_unknown(layer)
    attention, mlp = layer.self_attn, layer.mlp
    form, how = layer_form(layer), attention_form(attention)
    dim, kv_heads = attention.head_dim, shape.kv_heads
    width, wide, inner = attention.o_proj.out_features, attention.o_proj.in_features, mlp.down_proj.in_features
    heads, narrow = wide // dim, kv_heads * dim
    is_right = heads * dim == wide and kv_heads > 0 and heads % kv_heads == 0
    if not is_right or shape != KvShape(kv_heads, dim, dim) or dim % COLUMNS or not 0 < dim <= MOST_DIM:
        raise CannotRunWhole
    block = _Block(
        width=width,
        inner=inner,
        heads=heads,
        kv_heads=kv_heads,
        dim=dim,
        rotated=int(getattr(attention, "use_rope", True)),
        scale=attention.scaling,
        share=float(getattr(layer, "residual_multiplier", 1.0)),
        norms_whole=how.norms_whole,
        is_interleaved=how.is_interleaved,
        is_gelu=is_gelu(mlp),
    )
    matrices = {"output": (attention.o_proj, width, wide), "down": (mlp.down_proj, width, inner)}
    if hasattr(attention, "qkv_proj"):
        matrices["query"] = (attention.qkv_proj, wide + 2 * narrow, width)
    else:
        matrices["query"] = (attention.q_proj, wide, width)
        matrices["key"], matrices["value"] = (attention.k_proj, narrow, width), (attention.v_proj, narrow, width)
    if hasattr(mlp, "gate_up_proj"):
        matrices["gate"] = (mlp.gate_up_proj, 2 * inner, width)
    else:
        matrices["gate"], matrices["up"] = (mlp.gate_proj, inner, width), (mlp.up_proj, inner, width)
    for name, matrix in matrices.items():
        setattr(block, name, _matrix_of(*matrix, dtype, held))
    names = (form.before_attention, form.after_attention, form.before_mlp, form.after_mlp)
    norms = [(None if name is None else getattr(layer, name), width) for name in names]
    lengths = (wide, narrow) if how.norms_whole else (dim, dim)
    own = [getattr(attention, name, None) for name in ("q_norm", "k_norm")]
    if (own[0] is None) != (own[1] is None):
        raise CannotRunWhole
    for name, (norm, length) in zip(_NORMS, [*norms, *zip(own, lengths, strict=True)], strict=True):
        if norm is not None:
            setattr(block, name, _norm_of(norm, length, dtype, held))
    return block


def _refuse_unknown(layer: nn.Module) -> None:
    """Raise CannotRunWhole for a layer with experts, sinks, caps or other code, or with modules that were changed.

    A part of a layer that is split over devices has another `forward`.
    """
    attention: Any = getattr(layer, "self_attn", None)
    if not can_be_fused(layer) or not has_plain_mlp(layer):
        raise CannotRunWhole
    form = attention_form(attention)
    if form.has_cap or getattr(attention, "sinks", None) is not None or not form.has_whole_tables:
        raise CannotRunWhole
    for module in layer.modules():
        is_wrapped = "forward" in vars(module) and module is not layer  # `FamilyLoop` wraps the layer itself
        if is_wrapped or module._forward_hooks or module._forward_pre_hooks:
            raise CannotRunWhole


def _matrix_of(module: Any, rows: int, columns: int, dtype: torch.dtype, held: list[tuple[Tensor, int]]) -> _Matrix:
    """Return a linear module's matrix, [rows, columns]. Raises CannotRunWhole."""
    if isinstance(module, AdaptedLinear):
        module = module.base
    bias = None if module.bias is None else _address(module.bias, (rows,), dtype, held)
    if type(module) in (nn.Linear, NativeLinear) and columns % COLUMNS == 0:
        form = _HALVES if dtype is torch.bfloat16 else _FLOATS
        return _Matrix(_address(module.weight, (rows, columns), dtype, held), None, bias, None, rows, columns, form)
    if not isinstance(module, QuantizedLinear) or dtype is not torch.bfloat16 or columns % GROUP:
        raise CannotRunWhole
    matrix = module.matrix
    if isinstance(matrix, Int8Matrix):
        codes = _address(matrix.codes, (rows, columns), torch.int8, held)
        scales = _address(matrix.scales, (rows,), dtype, held)
        return _Matrix(codes, scales, bias, None, rows, columns, _EIGHT_BITS)
    group = matrix.group
    if group <= 0 or group % GROUP or columns % group:
        raise CannotRunWhole
    packs = -(-rows // PACKED_ROWS)
    codes = _address(matrix.codes, (packs, columns, PACKED_ROWS // 2), torch.uint8, held)
    are_floats = matrix.levels.dtype is torch.int32
    kind = torch.int32 if are_floats else dtype
    levels = _address(matrix.levels, (columns // group, packs * PACKED_ROWS, 2), kind, held)
    order = None if matrix.order is None else _order_of(matrix.order, columns, held)
    return _Matrix(codes, levels, bias, order, rows, columns, _FOUR_BITS, group, are_floats)


def _order_of(order: Tensor, columns: int, held: list[tuple[Tensor, int]]) -> int:
    """Return where the order of a matrix's columns lies. Raises CannotRunWhole if it has others."""
    address = _address(order, (columns,), torch.int32, held)
    if not 0 <= int(order.min()) <= int(order.max()) < columns:
        raise CannotRunWhole
    return address


def _norm_of(norm: Any, length: int, dtype: torch.dtype, held: list[tuple[Tensor, int]]) -> _Norm:
    """Return an RMS norm of `length` numbers. Raises CannotRunWhole."""
    form = norm_form(type(norm).forward)
    epsilon = norm.variance_epsilon if hasattr(norm, "variance_epsilon") else norm.eps
    return _Norm(_address(norm.weight, (length,), dtype, held), epsilon, form.rounds_first, form.plus_one)


def _address(tensor: Tensor, shape: tuple[int, ...], dtype: torch.dtype, held: list[tuple[Tensor, int]]) -> int:
    """Return the address of a weight, and append it to `held`. Raises CannotRunWhole if C can't read the weight."""
    is_right = tuple(tensor.shape) == shape and tensor.dtype is dtype
    if not is_right or not tensor.is_contiguous() or tensor.device.type != "cpu":
        raise CannotRunWhole
    held.append((tensor, tensor.data_ptr()))
    return tensor.data_ptr()


def _fill_tables(table: _Tables, call: Call, shape: tuple[int, int, int], kept: list[Any]) -> None:
    """Fill in a layer's rotary tables, [1, tokens, rotated] each. Raises CannotRunWhole."""
    cosines, sines = (each.contiguous() for each in call[1]["position_embeddings"])
    is_right = cosines.dtype is sines.dtype and cosines.dtype in (torch.bfloat16, torch.float32)
    if not is_right or tuple(cosines.shape) != shape or sines.shape != cosines.shape or cosines.device.type != "cpu":
        raise CannotRunWhole
    kept.append((cosines, sines))
    table.cosines, table.sines = cosines.data_ptr(), sines.data_ptr()
    table.stride, table.is_wide = cosines.shape[-1], cosines.dtype is torch.float32


def _fill_places(here: _Seen, memory: KvMemory, group: int, rows: Sequence[PlannedRow]) -> _Places:
    """Fill in the places of the rows' tokens in a group's arena.

    Raises:
        CannotRunWhole: C has no code for the number format of the arena.
        ValueError: the pages don't hold the tokens, or are none of the arena's.
    """
    arena, of_group = memory.arena_of(group), memory.groups[group]
    _, kv_heads, capacity, _ = arena.tensors[0].shape
    stored = arena.tensors[0].dtype
    if stored not in _FORMS or not all(tensor.is_contiguous() for tensor in arena.tensors):
        raise CannotRunWhole
    slots, firsts, runs = array("q"), array("q", (0,)), array("q")
    for row in rows:
        first_page, pages = row.tables[group]
        if any(start < 0 or (start + count) * PAGE_TOKENS > capacity for start, count in pages):
            raise ValueError("a row has pages that the memory lacks")
        for position in range(row.position, row.position + row.tokens):
            oldest = of_group.first_visible(position)
            for stretch in slots_in(pages, oldest - first_page * PAGE_TOKENS, position + 1 - oldest):
                runs.extend(stretch)
            slots.append(runs[-2] + runs[-1] - 1)
            firsts.append(len(runs) // 2)
    here.slots, here.firsts, here.runs = (numbers.buffer_info()[0] for numbers in (slots, firsts, runs))
    here.place_stride, here.head_stride, here.form = kv_heads * capacity, capacity, _FORMS[stored]
    addresses = _addresses_of(arena)
    for name, address in zip(_HELD, addresses, strict=False):  # only codes have factors
        setattr(here, name, address)
    return _Places(arena, addresses, of_group.window, slots, firsts, runs)
