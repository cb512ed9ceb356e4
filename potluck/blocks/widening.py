"""Copies numbers in half precision to float32 for a CPU whose kernels are fast in float32 alone."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor
from torch.nn import functional

_NUMEL = 2**19  # 2 MiB of keys and of values; smaller pieces were slower
_PIECE = 2**20  # numbers of a matrix at a time, so that their copy stays in a cache
_FEW_TOKENS = 2  # for which torch takes no longer in half precision


class Widener:
    """Copies half-precision keys and values to float32, a few heads at a time, into memory that is reused.

    When decoding on a CPU without `native_kernels`, that is two to four times as fast as the fused kernel in half
    precision (measured in bfloat16 with 32 heads of 64 over 256 tokens: 300 µs instead of 770 µs, most of which is
    reading memory).
    """

    def __init__(self) -> None:
        self._keys = self._values = torch.empty(0, dtype=torch.float32)

    def widen(self, keys: Tensor, values: Tensor) -> Iterator[tuple[int, Tensor, Tensor]]:
        """Yield (first head, keys, values) for groups of heads; each overwrites the one before.

        Shapes: keys [1, heads, tokens, key_dim], values [1, heads, tokens, value_dim].
        """
        heads, tokens, dim = keys.shape[1:]
        at_once = min(max(_NUMEL // (tokens * dim), 1), heads)
        self._keys, self._values = _grown(self._keys, keys, at_once), _grown(self._values, values, at_once)
        for first in range(0, heads, at_once):
            count = min(at_once, heads - first)
            some = keys.narrow(1, first, count), values.narrow(1, first, count)
            yield first, _copied(self._keys, some[0]), _copied(self._values, some[1])


def _grown(kept: Tensor, like: Tensor, heads: int) -> Tensor:
    needed = heads * like.shape[2] * like.shape[3]
    return kept if kept.numel() >= needed else torch.empty(needed, dtype=torch.float32)


def _copied(kept: Tensor, source: Tensor) -> Tensor:
    return kept[: source.numel()].view(source.shape).copy_(source)


def product(x: Tensor, weight: Tensor) -> Tensor:
    """Return x [..., columns] times the transposed weight [rows, columns], in x's dtype, without gradients.

    On x86 processors without AVX-512, torch multiplies numbers in half precision one by one: 512 tokens by a matrix of
    2048 x 512 take 390 ms in bfloat16 and 55 in float32 with one thread, and a gradient takes a hundred times as long.
    """
    if not _is_slow(x):
        return functional.linear(x, weight.to(x.dtype))
    wide, output = x.float(), x.new_empty((*x.shape[:-1], weight.shape[0]))
    for rows in _pieces(weight):
        output[..., rows] = functional.linear(wide, weight[rows].float())
    return output


def product_grad(grad: Tensor, weight: Tensor) -> Tensor:
    """Return the gradient of x [..., columns] from that of `product`, [..., rows]."""
    if not _is_slow(grad):
        return grad @ weight.to(grad.dtype)
    total = torch.zeros((*grad.shape[:-1], weight.shape[1]))
    for rows in _pieces(weight):
        total += grad[..., rows].float() @ weight[rows].float()
    return total.to(grad.dtype)


def _is_slow(x: Tensor) -> bool:
    is_half = x.dtype in (torch.bfloat16, torch.float16) and x.device.type == "cpu"
    return is_half and x.numel() > _FEW_TOKENS * x.shape[-1] and torch.backends.cpu.get_cpu_capability() == "AVX2"


def _pieces(weight: Tensor) -> Iterator[slice]:
    count = max(_PIECE // weight.shape[1], 1)
    return (slice(start, start + count) for start in range(0, weight.shape[0], count))
