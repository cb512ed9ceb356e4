"""Launches Triton's kernels for the operations of a block that are no products with matrices (see `fused.py`).

It imports triton, so import it only where triton was found. See docs/decisions/0011-cuda.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import triton
from torch import Tensor, nn
from torch.nn import functional

from potluck.blocks.cache.arenas import Held
from potluck.blocks.formats.layers import QuantizedLinear
from potluck.blocks.kernels import triton_kernels
from potluck.blocks.kernels.fused import NormForm, is_hooked, norm_form

_ELEMENTS_A_PROGRAM = 1024


def add_and_norm(hidden: Tensor, added: Tensor | None, norm: Any) -> tuple[Tensor, Tensor]:
    """Return hidden + added (or hidden), and its norm. Shapes: [.., width], contiguous, as are the results."""
    width = hidden.shape[-1]
    output = torch.empty_like(hidden)
    total = hidden if added is None else torch.empty_like(hidden)
    form = norm_form(type(norm).forward)
    triton_kernels.add_and_norm[(hidden.numel() // width,)](
        hidden,
        hidden if added is None else added,
        norm.weight,
        total,
        output,
        _epsilon_of(norm),
        width,
        HAS_ADDED=added is not None,
        ROUNDS_FIRST=form.rounds_first,
        PLUS_ONE=form.plus_one,
        PAD=triton.next_power_of_2(width),
        num_warps=8 if width > 1024 else 1,
    )
    return total, output


def rotate_and_keep(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    held: Held,
    slots: Tensor,
    *,
    tables: tuple[Tensor, Tensor] | None = None,
    rotated: int = 0,
    is_interleaved: bool = False,
    norms: tuple[Any, Any] | None = None,
) -> Tensor:
    """Write keys and values into their slots, and return the queries; queries and keys are normalised and rotated.

    Shapes: query [tokens, heads, key_dim], contiguous in the last two, without heads where nobody wants any; key and
    value [tokens, kv_heads, dim], contiguous in the last; held [kv_heads, capacity, dim]; slots [tokens]; tables, which
    are cosines and sines, [tokens, at least rotated / 2] each.

    Args:
        rotated: how many of a head's dimensions turn, by halves (NeoX), or by neighbours (GPT-J) if `is_interleaved`.
        norms: RMS norms over each head, of queries and of keys.
    """
    tokens, heads, key_dim = query.shape
    output = torch.empty(query.shape, dtype=query.dtype, device=query.device)
    held_keys, held_values, *factors = held
    cosines, sines = tables or (key, key)
    form = norm_form(type(norms[0]).forward) if norms else NormForm()
    triton_kernels.rotate_and_keep[(tokens, heads + 2 * key.shape[1])](
        query,
        key,
        value,
        *(norm.weight for norm in norms) if norms else (key, key),
        cosines,
        sines,
        output,
        held_keys,
        held_values,
        *(factors or held),
        slots,
        heads,
        key.shape[1],
        query.stride(0),
        *key.stride()[:2],
        *value.stride()[:2],
        cosines.stride(0),
        held_keys.shape[1],
        _epsilon_of(norms[0]) if norms else 0.0,
        KEY_DIM=key_dim,
        VALUE_DIM=value.shape[2],
        HALF=rotated // 2,
        PAD=triton.next_power_of_2(max(key_dim, value.shape[2])),
        IS_INTERLEAVED=is_interleaved,
        HAS_NORMS=norms is not None,
        ROUNDS_FIRST=form.rounds_first,
        PLUS_ONE=form.plus_one,
        IS_INT8=bool(factors),
        num_warps=1,
    )
    return output


def activate_times(gate: Tensor, up: Tensor, *, is_gelu: bool = False) -> Tensor:
    """Return silu(gate) * up, or gelu(gate) * up by tanh. Shapes: [1, tokens, width]; contiguous in the last."""
    tokens, width = gate.shape[1:]
    output = torch.empty(gate.shape, dtype=gate.dtype, device=gate.device)
    triton_kernels.activate_times[(tokens, triton.cdiv(width, _ELEMENTS_A_PROGRAM))](
        gate,
        up,
        output,
        gate.stride(1),
        up.stride(1),
        width,
        IS_GELU=is_gelu,
        BLOCK=_ELEMENTS_A_PROGRAM,
        num_warps=4,
    )
    return output


def add_product(total: Tensor, x: Tensor, linear: Any) -> bool:
    """Add the module's product with x to `total` in place; return False where the module does more than multiply.

    Shapes: total [1, tokens, out_features], contiguous; x [1, tokens, in_features].
    """
    if type(linear) is not nn.Linear or linear.bias is not None or is_hooked(linear):
        return False
    total[0].addmm_(x[0], linear.weight.T)
    return True


def project(hidden: Tensor, *linears: Any) -> tuple[Tensor, ...]:
    """Apply several modules to the same input, by one product where their weights lie side by side or are quantised.

    Weights lie so in blocks that were moved to the device as one piece. Modules that do more than multiply are called
    normally.
    """
    kernel = getattr(linears[0], "kernel", None)
    if kernel is not None and all(type(linear) is QuantizedLinear and not is_hooked(linear) for linear in linears):
        made: tuple[Tensor, ...] = kernel(hidden, linears)
        return made
    weight = joined_weight(linears)
    if weight is None:
        return tuple(linear(hidden) for linear in linears)
    return torch.split(functional.linear(hidden, weight), [linear.out_features for linear in linears], dim=-1)


def joined_weight(linears: Sequence[Any]) -> Tensor | None:
    """Return one matrix over plain linear modules without bias, or None if they are not neighbours in memory."""
    if any(type(each) is not nn.Linear or each.bias is not None or is_hooked(each) for each in linears):
        return None
    weights = [linear.weight for linear in linears]
    end = weights[0].data_ptr()
    for weight in weights:
        if weight.data_ptr() != end or not weight.is_contiguous():
            return None
        end += weight.nbytes
    if end - weights[0].data_ptr() > _bytes_behind(weights[0]):  # neighbours by chance, in separate allocations
        return None
    first: Tensor = weights[0]
    return first.as_strided((sum(weight.shape[0] for weight in weights), first.shape[1]), first.stride())


def _epsilon_of(norm: Any) -> float:
    return float(norm.variance_epsilon if hasattr(norm, "variance_epsilon") else norm.eps)


def _bytes_behind(tensor: Tensor) -> int:
    """Return the bytes of the tensor's storage from its first element on."""
    return tensor.untyped_storage().nbytes() - int(tensor.storage_offset()) * tensor.element_size()
