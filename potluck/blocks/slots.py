"""Keys and values in int8: the form of one token's slot, and the way into it and back.

A slot holds one head's key or value of one token: a code for each number, then the factor that all codes are multiplied
by, in bfloat16, whose range is that of the numbers. Rounding adds an error of about 0.6 % of the vector.

Source: per-token scales of each head, as in vLLM's and LMDeploy's caches in int8.
"""

from __future__ import annotations

import torch
from torch import Tensor

SCALE_BYTES = 2
_MOST = 127
_LEAST_SCALE = 1e-30  # of zeros; dividing by it stays finite


def slot_size(dim: int) -> int:
    """Return the bytes of a slot for so many numbers. The factor lies at an even place."""
    return dim + dim % 2 + SCALE_BYTES


def encoded(numbers: Tensor) -> Tensor:
    """Return slots, int8 [.., slot_size(dim)], of numbers [.., dim]."""
    dim = numbers.shape[-1]
    wide = numbers.float()
    scales = (wide.abs().amax(-1, keepdim=True) / _MOST).clamp_(min=_LEAST_SCALE).to(torch.bfloat16)
    codes = (wide / scales).round_().clamp_(-_MOST, _MOST)  # a factor may have been rounded down
    slots = torch.zeros((*numbers.shape[:-1], slot_size(dim)), dtype=torch.int8, device=numbers.device)
    slots[..., :dim] = codes
    slots[..., -SCALE_BYTES:] = scales.view(torch.int8)
    return slots


def factors_of(slots: Tensor) -> Tensor:
    """Return the factors bfloat16 [..] of slots [.., slot size], in the memory where they are held."""
    return slots.view(torch.bfloat16)[..., -1]


def decoded(slots: Tensor, dim: int, dtype: torch.dtype) -> Tensor:
    """Return the numbers [.., dim] of slots [.., slot_size(dim)]."""
    return slots[..., :dim].to(dtype).mul_(factors_of(slots)[..., None])
