"""Weights held in fewer bits: a block's matrices as int8 or int4 codes with scales; everything else stays as it is.

For few tokens in bfloat16, `native_kernels` multiply on a CPU. Otherwise the matrix is restored for one product. Codes
and scales are ordinary parameters, so code that moves, shares, frees or counts a block's tensors need not know of them.
docs/decisions/0009 explains why this is not bitsandbytes or torchao.

int8: one symmetric scale for each row. int4: 16 levels between the least and the greatest of each group of 32 values.
Where GPTQ or AWQ made a checkpoint, int4 is its own codes and groups, value for value.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers.pytorch_utils import Conv1D

from potluck.blocks.accelerators import trim_heap
from potluck.blocks.formats import widening
from potluck.blocks.kernels.native import GROUP, PACKED_ROWS, native_kernels
from potluck.blocks.streaming.placement import BlockSize
from potluck.checkpoint.packed import PackedMatrix, PackedRows, Packing
from potluck.errors import CheckpointError, UsageError
from potluck.protocol.records import QUANTIZATIONS

_KERNEL_TOKENS = 16  # for more, torch or `widening` is as fast, even with restoring int8 (AVX-512, hidden 2048)
_INT4_KERNEL_TOKENS = 128  # restoring int4 takes longer
_CHUNK_ROWS = 2 * PACKED_ROWS  # converted at a time, which limits the memory needed besides a block and its codes
_HALF = PACKED_ROWS // 2


class _Numbers:
    """A matrix that is not quantised yet, with the attributes of a `PackedMatrix`."""

    group, order = GROUP, None

    def __init__(self, weight: Tensor) -> None:
        self.shape, self._weight = weight.shape, weight

    def levels(self, start: int, end: int) -> tuple[Tensor, Tensor]:
        return _to_levels(self._weight[start:end].float(), self._weight.dtype)


class Int8Matrix(nn.Module):
    """A matrix [rows, columns] as int8 `codes` of that shape and `scales` [rows] in the original's dtype."""

    def __init__(self, weight: Tensor) -> None:
        super().__init__()
        self.num_rows = weight.shape[0]
        codes = torch.empty(weight.shape, dtype=torch.int8, device=weight.device)
        scales = torch.empty(weight.shape[0], dtype=weight.dtype, device=weight.device)
        for start in range(0, weight.shape[0], _CHUNK_ROWS):
            part = slice(start, start + _CHUNK_ROWS)
            some = weight[part].float()
            scales[part] = (some.abs().amax(dim=1) / 127).clamp(min=torch.finfo(weight.dtype).tiny)
            codes[part] = (some / scales[part, None].float()).round().clamp(-127, 127).to(torch.int8)
        self.codes = nn.Parameter(codes, requires_grad=False)
        self.scales = nn.Parameter(scales, requires_grad=False)

    def product(self, x: Tensor, start: int = 0, end: int | None = None) -> Tensor:
        """Return x [..., columns] times the transposed matrix, or times its rows [start, end): [..., rows]."""
        codes, scales = self.codes[start:end], self.scales[start:end]
        if _is_for_kernel(x, _KERNEL_TOKENS) and (native := native_kernels()) is not None:
            return native.int8(x, codes, scales)
        return widening.product(x, codes) * scales

    def product_grad(self, grad: Tensor) -> Tensor:
        """Return the gradient of x [..., columns] from that of the product [..., rows]."""
        return widening.product_grad(grad * self.scales, self.codes)

    def rows(self, start: int, end: int) -> Tensor:
        """Return rows [start, end) as numbers."""
        return self.codes[start:end].to(self.scales.dtype) * self.scales[start:end, None]


class Int4Matrix(nn.Module):
    """A matrix [rows, columns] in 16 levels for each group of `GROUP` columns, or of a multiple of so many.

    `codes` [row blocks, columns, half of a block's rows] uint8 has the first half of a block's `PACKED_ROWS` rows in
    the low nibbles and the second half in the high ones. The last block is padded with rows of zeros. `levels` [groups,
    rows, 2]: the distance between levels, and the value of code 8. If a checkpoint stored the codes, these are in
    float32, because scales and zero points are exact in nothing less; they are held as int32 then, because modules take
    the dtype of their first number for that of the computation. `order` [columns] int32: which column stands at each
    place; None if all are in their own.

    Args:
        dtype: of numbers; by default that of `weight`.
    """

    def __init__(self, weight: Tensor | PackedMatrix | PackedRows, *, dtype: torch.dtype | None = None) -> None:
        super().__init__()
        self.num_rows, columns = weight.shape
        num_blocks = math.ceil(self.num_rows / PACKED_ROWS)
        source = _Numbers(weight) if isinstance(weight, Tensor) else weight
        device, held = (weight.device, weight.dtype) if isinstance(weight, Tensor) else ("cpu", torch.float32)
        self.group, self.dtype = source.group, dtype or held
        codes = torch.zeros((num_blocks, columns, _HALF), dtype=torch.uint8, device=device)
        levels = torch.zeros((columns // self.group, num_blocks * PACKED_ROWS, 2), dtype=held, device=device)
        for start in range(0, self.num_rows, _CHUNK_ROWS):
            end = min(start + _CHUNK_ROWS, self.num_rows)
            values, levels[:, start:end] = source.levels(start, end)
            values = functional.pad(values, (0, 0, 0, (start - end) % PACKED_ROWS)).view(-1, PACKED_ROWS, columns)
            packed = values[:, :_HALF] | values[:, _HALF:] << 4
            codes[start // PACKED_ROWS :][: len(packed)] = packed.transpose(1, 2)
        self.codes = nn.Parameter(codes, requires_grad=False)
        is_exact = isinstance(weight, PackedMatrix | PackedRows)
        self.levels = nn.Parameter(levels.view(torch.int32) if is_exact else levels, requires_grad=False)
        self.order = None if source.order is None else nn.Parameter(source.order, requires_grad=False)

    @property
    def level_numbers(self) -> Tensor:
        """Return `levels` as numbers, in the memory where they are held."""
        return self.levels.view(torch.float32) if self.levels.dtype is torch.int32 else self.levels

    def arranged(self, x: Tensor) -> Tensor:
        """Return x [..., columns] with its columns in the order of the codes."""
        return x if self.order is None else x.index_select(-1, self.order)

    def product(self, x: Tensor, start: int = 0, end: int | None = None) -> Tensor:
        """Return x [..., columns] times the transposed matrix, or times its rows [start, end): [..., rows].

        `start` must be the first row of a block.
        """
        end = self.num_rows if end is None else end
        if _is_for_kernel(x, _INT4_KERNEL_TOKENS) and (native := native_kernels()) is not None:
            codes = self._blocks_of(start, end)
            levels = self.levels[:, start : start + len(codes) * PACKED_ROWS].contiguous()
            return native.int4(self.arranged(x), codes, levels, end - start)
        return widening.product(x, self.rows(start, end))

    def product_grad(self, grad: Tensor) -> Tensor:
        """Return the gradient of x [..., columns] from that of the product [..., rows]."""
        return widening.product_grad(grad, self.rows(0, self.num_rows))

    def rows(self, start: int, end: int) -> Tensor:
        """Return rows [start, end) as numbers; `start` must be the first row of a block."""
        codes = self._blocks_of(start, end)
        num_blocks, columns, _ = codes.shape
        levels = self.level_numbers[:, start : start + num_blocks * PACKED_ROWS]
        steps, middles = levels.permute(2, 1, 0).unsqueeze(-1)
        values = torch.empty((num_blocks, PACKED_ROWS, columns), dtype=levels.dtype, device=codes.device)
        values[:, :_HALF] = (codes & 15).transpose(1, 2)
        values[:, _HALF:] = (codes >> 4).transpose(1, 2)
        whole = values.view(-1, columns // self.group, self.group).sub_(8).mul_(steps).add_(middles)
        whole = whole.view(-1, columns)[: end - start].to(self.dtype)
        return whole if self.order is None else torch.empty_like(whole).index_copy_(1, self.order.long(), whole)

    def _blocks_of(self, start: int, end: int) -> Tensor:
        return self.codes[start // PACKED_ROWS : math.ceil(end / PACKED_ROWS)]


Matrix = Int8Matrix | Int4Matrix

Kernel = Callable[[Tensor, Sequence["QuantizedLinear"]], tuple[Tensor, ...]]
"""Returns what each of several layers makes of the same tokens, without gradients."""


def wants_gradient(x: Tensor) -> bool:
    """Return whether a backward pass may come to this input."""
    return x.requires_grad and torch.is_grad_enabled()


class QuantizedLinear(nn.Module):
    """A linear layer with a quantised matrix; gradients flow to its input.

    Shapes: [..., in_features] -> [..., out_features].

    Attributes:
        kernel: of the device, if it has one.
    """

    kernel: Kernel | None = None

    def __init__(self, matrix: Matrix, bias: nn.Parameter | None) -> None:
        super().__init__()
        self.matrix = matrix
        self.bias = bias
        self.out_features, self.in_features = matrix.num_rows, matrix.codes.shape[1]

    def forward(self, x: Tensor) -> Tensor:
        if wants_gradient(x):
            output: Tensor = _Product.apply(x, self.matrix)  # type: ignore[no-untyped-call]
        elif self.kernel is not None:
            return self.kernel(x, [self])[0]
        else:
            output = self.matrix.product(x)
        return output if self.bias is None else output + self.bias


class NativeLinear(nn.Linear):
    """A linear layer in bfloat16, whose weight is not trained: `native_kernels` multiply few tokens."""

    def forward(self, x: Tensor) -> Tensor:
        if wants_gradient(x):
            output: Tensor = _Product.apply(x, self)  # type: ignore[no-untyped-call]
        else:
            output = self.product(x)
        return output if self.bias is None else output + self.bias

    def product(self, x: Tensor) -> Tensor:
        """Return x [..., columns] times the transposed matrix: [..., rows]."""
        return bfloat16_product(x, self.weight)

    def product_grad(self, grad: Tensor) -> Tensor:
        """Return the gradient of x [..., columns] from that of the product [..., rows]."""
        return widening.product_grad(grad, self.weight)


def bfloat16_product(x: Tensor, weight: Tensor) -> Tensor:
    """Return x [..., columns] times the transposed weight [rows, columns], whose columns are a multiple of 16."""
    native = native_kernels() if _is_for_kernel(x, _KERNEL_TOKENS) else None
    return widening.product(x, weight) if native is None else native.bfloat16(x, weight)


class QuantizedExperts(nn.Module):
    """Stands for a mixture's parameter [experts, rows, columns]; `experts[i]` restores one matrix."""

    def __init__(self, matrix: Matrix, rows: int) -> None:
        super().__init__()
        self.matrix = matrix
        self.num_rows = rows

    def __getitem__(self, expert: Any) -> Tensor:
        return self.matrix.rows(int(expert) * self.num_rows, (int(expert) + 1) * self.num_rows)

    def product(self, x: Tensor, expert: int) -> Tensor:
        """Return x [..., columns] times the transposed matrix of one expert: [..., rows]."""
        return self.matrix.product(x, expert * self.num_rows, (expert + 1) * self.num_rows)


class _Product(torch.autograd.Function):
    """A product that saves nothing for the backward pass, which restores or widens the matrix again."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, matrix: Matrix | NativeLinear) -> Tensor:
        ctx.matrix = matrix
        return matrix.product(x)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        return ctx.matrix.product_grad(grads[0]), None


def check_quantization(quantization: str, *, num_ranks: int = 1) -> None:
    """Raise UsageError for a name that is not in `QUANTIZATIONS`, or for a format that several ranks cannot share."""
    if quantization not in QUANTIZATIONS:
        raise UsageError(f"unknown quantization {quantization!r}", hint=f"choose one of {', '.join(QUANTIZATIONS)}")
    if quantization != "none" and num_ranks > 1:
        raise UsageError(f"{quantization} weights cannot be split over several devices", hint="serve on one device")


def hold_packed(
    block: nn.Module,
    tensors: Mapping[str, Tensor],
    packing: Packing,
    dtype: torch.dtype,
    merged: Mapping[str, Sequence[Sequence[str]]] = MappingProxyType({}),
) -> dict[str, str]:
    """Let linear layers and experts hold a checkpoint's own codes, value for value.

    Returns which packed matrices are held, and in place of which parameter. Others must be expanded: those with codes
    of 8 bits or with groups that don't have a multiple of `GROUP` columns, experts in act-order or without a multiple
    of `PACKED_ROWS` rows, and what expands latents.

    Args:
        tensors: of the block, by their names in it.
        merged: parameters of experts, and for each expert the names of the matrices that it consists of.

    Raises:
        CheckpointError: a packed matrix is damaged.
    """
    modules = dict(block.named_modules())
    held = {}
    for path in packing.paths(tensors):
        linear = modules.get(path)
        home, _, name = path.rpartition(".")
        if type(linear) is not nn.Linear or expands_latents(modules.get(home), name):
            continue
        packed = packing.matrix(path, tensors)
        if not _can_hold(packed) or packed.shape != linear.weight.shape:
            continue
        matrix = Int4Matrix(packed, dtype=dtype)
        setattr(modules[home], name, QuantizedLinear(matrix, linear.bias))
        held[path] = f"{path}.weight"
    for parameter, experts in merged.items():
        home, _, name = parameter.rpartition(".")
        parent: Any = modules.get(home)
        if getattr(parent, "is_transposed", True):
            continue
        num_experts, rows, columns = getattr(parent, name).shape
        if rows % PACKED_ROWS:
            continue
        paths = [path for expert in experts for path in expert]
        stacked = PackedRows([packing.matrix(path, tensors) for path in paths])
        if _can_hold(stacked) and len(experts) == num_experts and stacked.shape == (num_experts * rows, columns):
            _hold_experts(parent, name, Int4Matrix(stacked, dtype=dtype), rows)
            held |= dict.fromkeys(paths, parameter)
    return held


def quantize_block(block: nn.Module, quantization: str) -> None:
    """Replace the matrices of a filled block in place, freeing each original before the next one is converted.

    Raises:
        CheckpointError: no matrix of the block can be held in this format.
    """
    if quantization == "none":
        return
    targets = list(_targets(block))
    kinds = QuantizedLinear | QuantizedExperts
    if not targets and not any(isinstance(module, kinds) for module in block.modules()):
        raise CheckpointError(
            f"no weights of these blocks can be held in {quantization}", hint="serve without quantization"
        )
    while targets:  # each target keeps its original alive
        _replace(targets.pop(), quantization)
    trim_heap()  # or freed originals stay in gaps between the codes, which doubles the peak


def multiply_natively(block: nn.Module) -> None:
    """Multiply by a block's bfloat16 matrices in the fastest way of this CPU. They stay as they are."""
    for module in block.modules():
        if type(module) is nn.Linear and module.weight.dtype is torch.bfloat16 and module.in_features % 16 == 0:
            module.__class__ = NativeLinear  # others hold the module itself


def block_size(block: nn.Module, quantization: str, packing: Packing | None = None) -> BlockSize:
    """Return the size of a block as `block_nbytes` counts it, and that of the experts that RAM could compute."""
    mixtures = [module for module in block.modules() if are_plain_experts(module)]
    parts = (block_nbytes(module, quantization, packing) for module in (block, *mixtures))
    return BlockSize(next(parts), sum(parts))


def are_plain_experts(module: Any) -> bool:
    """Tell whether a module is a layer's experts that do nothing but multiply, gate and multiply again."""
    is_mixture = hasattr(module, "is_transposed")  # the mark of an experts class of transformers
    return is_mixture and module.has_gate and not module.is_transposed and not module.has_post_expert_norm


def block_nbytes(block: nn.Module, quantization: str, packing: Packing | None = None) -> int:
    """Return the bytes of a block's parameters once quantised, about; the block may be on meta.

    Args:
        packing: of the checkpoint, whose matrices `hold_packed` takes in int4.
    """
    total = sum(int(parameter.nbytes) for parameter in block.parameters())
    if quantization == "none":
        return total
    for target in _targets(block):
        weight = target.weight
        columns = weight.shape[-1]
        row_bytes = columns + weight.itemsize
        if quantization == "int4":
            own = (GROUP, weight.itemsize)
            group, itemsize = own if packing is None else (packing.group or columns, torch.float32.itemsize)
            row_bytes = columns // 2 + 2 * itemsize * columns // group
        total += weight.numel() // columns * row_bytes - weight.nbytes
    return total


class _Target(NamedTuple):
    parent: nn.Module
    name: str  # of a linear layer, or of the experts' parameter
    weight: Tensor  # [rows, columns], or [experts, rows, columns]


def _targets(block: nn.Module) -> Iterator[_Target]:
    for parent in block.modules():
        for name, child in parent.named_children():
            weight = None if expands_latents(parent, name) else _linear_weight(child)
            # Smaller matrices are gates and routers: converting them saves little and changes much.
            if weight is not None and weight.shape[0] >= PACKED_ROWS and weight.shape[1] % GROUP == 0:
                yield _Target(parent, name, weight)
        if hasattr(parent, "is_transposed"):  # an experts class of transformers: it indexes its parameters by expert
            for name, parameter in parent.named_parameters(recurse=False):
                if parameter.dim() == 3 and parameter.shape[2] % GROUP == 0 and parameter.shape[1] % PACKED_ROWS == 0:
                    yield _Target(parent, name, parameter)


def expands_latents(parent: nn.Module | None, name: str) -> bool:
    """Tell whether this layer makes keys and values of latents: its numbers are used one by one (see `latent`)."""
    return name == "kv_b_proj" and hasattr(parent, "expand_kv")


def linear_shape(module: nn.Module) -> tuple[int, int] | None:
    """Return (out_features, in_features) of a linear layer in any format, or None for other modules."""
    if isinstance(module, Conv1D):
        return module.weight.shape[1], module.weight.shape[0]
    if isinstance(module, nn.Linear | QuantizedLinear):
        return module.out_features, module.in_features
    return None


def _linear_weight(module: nn.Module) -> Tensor | None:
    """Return the weight [rows, columns] of a layer that only multiplies and adds a bias, or None."""
    if isinstance(module, Conv1D):
        weight: Tensor = module.weight.T
        return weight
    if isinstance(module, nn.Linear) and type(module).forward is nn.Linear.forward:
        return module.weight
    return None


def _replace(target: _Target, quantization: str) -> None:
    parent, weight = target.parent, target.weight.detach()
    is_expert, (rows, columns) = weight.dim() == 3, weight.shape[-2:]
    flat = weight.reshape(-1, columns)
    matrix = Int8Matrix(flat) if quantization == "int8" else Int4Matrix(flat)
    old: Any = getattr(parent, target.name)
    if not is_expert:
        setattr(parent, target.name, QuantizedLinear(matrix, old.bias))
        old.weight = None
        return
    _hold_experts(parent, target.name, matrix, rows)


def _can_hold(packed: PackedMatrix | PackedRows) -> bool:
    return packed.bits <= 4 and packed.group > 0 and packed.group % GROUP == 0


def _hold_experts(parent: Any, name: str, matrix: Matrix, rows: int) -> None:
    """Put a quantised matrix in place of an experts' parameter; `rows` are those of one expert."""
    delattr(parent, name)
    setattr(parent, name, QuantizedExperts(matrix, rows))
    config: Any = copy.copy(parent.config)
    config._experts_implementation = "eager"  # the family's own loop, which uses one expert's matrix at a time
    parent.config = config


def _to_levels(weight: Tensor, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """Return codes uint8 of weight [rows, columns] float32, and their levels [groups, rows, 2] in `dtype`."""
    groups = weight.view(weight.shape[0], -1, GROUP)
    least, greatest = groups.amin(dim=-1), groups.amax(dim=-1)
    steps = ((greatest - least) / 15).clamp(min=torch.finfo(dtype).tiny).to(dtype)
    middles = (least + 8 * steps.float()).to(dtype)
    codes = (groups - middles.float()[..., None]).div_(steps.float()[..., None]).round_().add_(8).clamp_(0, 15)
    return codes.to(torch.uint8).view_as(weight), torch.stack((steps, middles), dim=-1).transpose(0, 1)


def _is_for_kernel(x: Tensor, max_tokens: int) -> bool:
    return x.dtype is torch.bfloat16 and x.device.type == "cpu" and x.numel() <= max_tokens * x.shape[-1]
