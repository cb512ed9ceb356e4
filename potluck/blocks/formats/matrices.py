"""Matrices held as int8 or int4 codes with scales, and products with them and with matrices in half precision.

int8: one symmetric scale for each row. int4: 16 levels between the least and the greatest of each group of 32 values.
Where GPTQ or AWQ made a checkpoint, int4 is its own codes and groups, value for value.

For few tokens in bfloat16, native kernels multiply on a CPU. Otherwise the matrix is restored for one product, which is
computed in float32 on a CPU whose kernels are fast in float32 alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch
from torch import Tensor, nn
from torch.nn import functional

from potluck.blocks.kernels.native import GROUP, PACKED_ROWS, native_kernels
from potluck.checkpoint.packed import PackedMatrix, PackedRows

_KERNEL_TOKENS = 16  # torch is as fast for more tokens, even with restoring int8 (AVX-512, hidden 2048)
_INT4_KERNEL_TOKENS = 128  # restoring int4 takes longer
_CHUNK_ROWS = 2 * PACKED_ROWS  # converted at a time, which limits the memory needed besides a block and its codes
_HALF = PACKED_ROWS // 2
_WIDE_NUMBERS = 2**20  # numbers of a matrix that are widened at a time, so that their copy stays in a cache
_FEW_TOKENS = 2  # torch takes no longer for so few in half precision


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
        return wide_product(x, codes) * scales

    def product_grad(self, grad: Tensor) -> Tensor:
        """Return the gradient of x [..., columns] from that of the product [..., rows]."""
        return wide_product_grad(grad * self.scales, self.codes)

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
        return wide_product(x, self.rows(start, end))

    def product_grad(self, grad: Tensor) -> Tensor:
        """Return the gradient of x [..., columns] from that of the product [..., rows]."""
        return wide_product_grad(grad, self.rows(0, self.num_rows))

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


def bfloat16_product(x: Tensor, weight: Tensor) -> Tensor:
    """Return x [..., columns] times the transposed weight [rows, columns], whose columns are a multiple of 16."""
    native = native_kernels() if _is_for_kernel(x, _KERNEL_TOKENS) else None
    return wide_product(x, weight) if native is None else native.bfloat16(x, weight)


def wide_product(x: Tensor, weight: Tensor) -> Tensor:
    """Return x [..., columns] times the transposed weight [rows, columns], in x's dtype, without gradients.

    On x86 processors without AVX-512, torch multiplies numbers in half precision one by one: 512 tokens by a matrix of
    2048 x 512 take 390 ms in bfloat16 and 55 in float32 with one thread, and a gradient takes a hundred times as long.
    """
    if not _is_slow(x):
        return functional.linear(x, weight.to(x.dtype))
    wide, output = x.float(), x.new_empty((*x.shape[:-1], weight.shape[0]))
    for rows in _row_pieces(weight):
        output[..., rows] = functional.linear(wide, weight[rows].float())
    return output


def wide_product_grad(grad: Tensor, weight: Tensor) -> Tensor:
    """Return the gradient of x [..., columns] from that of `wide_product`, [..., rows]."""
    if not _is_slow(grad):
        return grad @ weight.to(grad.dtype)
    total = torch.zeros((*grad.shape[:-1], weight.shape[1]))
    for rows in _row_pieces(weight):
        total += grad[..., rows].float() @ weight[rows].float()
    return total.to(grad.dtype)


def _is_slow(x: Tensor) -> bool:
    is_half = x.dtype in (torch.bfloat16, torch.float16) and x.device.type == "cpu"
    return is_half and x.numel() > _FEW_TOKENS * x.shape[-1] and torch.backends.cpu.get_cpu_capability() == "AVX2"


def _row_pieces(weight: Tensor) -> Iterator[slice]:
    count = max(_WIDE_NUMBERS // weight.shape[1], 1)
    return (slice(start, start + count) for start in range(0, weight.shape[0], count))


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
