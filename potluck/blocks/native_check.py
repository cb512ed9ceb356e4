"""Compares each native kernel with torch, once after it was compiled: a compiler or a processor can be wrong.

Numbers are of a few tokens, so it takes milliseconds. `native_kernels` uses no kernel if one of them is wrong.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor
from torch.nn import functional

from potluck.blocks.arenas import encoded
from potluck.blocks.native_library import GROUP, PACKED_ROWS, NativeKernels

_TOKENS, _ROWS, _COLUMNS, _HEADS, _DIM = 3, 2 * PACKED_ROWS, 96, 2, 32
_TOLERANCE = 0.02
"""Of the error's norm over the right numbers' norm. bfloat16 alone costs 0.003, and rounding x to int8 0.007."""


def wrong_kernel(kernels: NativeKernels) -> str | None:
    """Return the name of a kernel whose results differ from torch's by more than the tolerance, or None."""
    with torch.inference_mode():
        for name, found, wanted in _results(kernels):
            error = (found.float() - wanted.float()).norm() / wanted.float().norm()
            if not float(error) <= _TOLERANCE:  # also if it is no number
                return name
    return None


def _results(kernels: NativeKernels) -> Iterator[tuple[str, Tensor, Tensor]]:
    """Yield each kernel's name, its result and torch's."""
    generator = torch.Generator().manual_seed(0)

    def random(*shape: int) -> Tensor:
        return torch.randn(shape, generator=generator).to(torch.bfloat16)

    x, weight = random(_TOKENS, _COLUMNS), random(_ROWS, _COLUMNS)
    yield "bfloat16", kernels.bfloat16(x, weight), x.float() @ weight.float().T
    eight = torch.randint(-127, 128, (_ROWS, _COLUMNS), generator=generator, dtype=torch.int8)
    scales = weight[:, 0].abs() / 127
    yield "int8", kernels.int8(x, eight, scales), x.float() @ (eight * scales.float()[:, None]).T
    shape = (_ROWS // PACKED_ROWS, _COLUMNS, PACKED_ROWS // 2)
    four = torch.randint(0, 256, shape, generator=generator, dtype=torch.uint8)
    for levels in (random(_COLUMNS // GROUP, _ROWS, 2), random(1, _ROWS, 2).float()):
        held = levels.view(torch.int32) if levels.dtype is torch.float32 else levels
        yield "int4", kernels.int4(x, four, held, _ROWS), x.float() @ _int4_matrix(four, levels).T
    query, keys, values = random(1, _HEADS, 1, _DIM), random(1, _HEADS, 9, _DIM), random(1, _HEADS, 9, _DIM)
    wanted = functional.scaled_dot_product_attention(query.float(), keys.float(), values.float(), scale=0.2)
    yield "attention", kernels.attention(query, (keys, values), 0.2)[0], wanted
    yield "attention in int8", kernels.attention(query, encoded(keys, values), 0.2)[0], wanted


def _int4_matrix(codes: Tensor, levels: Tensor) -> Tensor:
    """Return the numbers of a matrix, [rows, columns]. Shapes: see `potluck.blocks.formats.Int4Matrix`."""
    values = torch.cat((codes & 15, codes >> 4), dim=2).transpose(1, 2).float() - 8
    steps, middles = levels.float().permute(2, 1, 0).unsqueeze(-1)
    whole: Tensor = values.reshape(_ROWS, len(levels), -1) * steps + middles
    return whole.view(_ROWS, -1)
