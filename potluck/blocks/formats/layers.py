"""Layers that hold their matrices in fewer bits, and the choice of the matrices of a block that do.

Codes and scales are ordinary parameters, so code that moves, shares, frees or counts a block's tensors need not know of
them. docs/decisions/0009 explains why this is not bitsandbytes or torchao.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from transformers.pytorch_utils import Conv1D

from potluck.blocks.accelerators import trim_heap
from potluck.blocks.formats.matrices import Int4Matrix, Int8Matrix, Matrix, bfloat16_product, wide_product_grad
from potluck.blocks.kernels.native import GROUP, PACKED_ROWS
from potluck.blocks.streaming.placement import BlockSize
from potluck.checkpoint.packed import PackedMatrix, PackedRows, Packing
from potluck.errors import CheckpointError, UsageError
from potluck.protocol.records import QUANTIZATIONS

Kernel = Callable[[Tensor, Sequence["QuantizedLinear"]], tuple[Tensor, ...]]
"""Returns the outputs of several layers for the same tokens, without gradients."""


def wants_gradient(x: Tensor) -> bool:
    """Return whether a backward pass may come to this input."""
    return x.requires_grad and torch.is_grad_enabled()


class QuantizedLinear(nn.Module):
    """A linear layer with a quantised matrix; gradients flow to its input.

    Shapes: [..., in_features] -> [..., out_features].

    Attributes:
        kernel: the device's, if it has one.
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
        return wide_product_grad(grad, self.weight)


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
    trim_heap()  # freed originals would stay in gaps between the codes, which doubles the peak


def multiply_natively(block: nn.Module) -> None:
    """Make a block's bfloat16 layers multiply in this CPU's fastest way. Their matrices stay as they are."""
    for module in block.modules():
        if type(module) is nn.Linear and module.weight.dtype is torch.bfloat16 and module.in_features % 16 == 0:
            module.__class__ = NativeLinear  # others hold the module itself


def multiply_quantised(layers: nn.ModuleList, kernel: Kernel | None) -> None:
    """Let the layers' quantised matrices be multiplied by this kernel; None: by none."""
    for module in layers.modules():
        if isinstance(module, QuantizedLinear):
            module.kernel = kernel


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
    """Return about how many bytes a block's parameters take once quantised; the block may be on meta.

    Args:
        packing: the checkpoint's, if `hold_packed` holds its matrices in int4.
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
    name: str  # name of a linear layer, or of the experts' parameter
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
