"""The most common block (Llama's and similar ones) in few kernels, for packed rows on a device with Triton.

A block's own code takes some 45 launches, most of them over a few kilobytes. Even in a CUDA graph, launches take most
of a decode step. Here a norm and the sum before it are one kernel, and so are the rotation, and silu with its product.
The block's own modules multiply the matrices, so adapters and quantised or sharded matrices work as usual. Plain
matrices that lie side by side in memory are multiplied as one.

A block qualifies only if its code equals, word for word, the code that is rewritten here, and the trial compares
results with the block's own. Never run on a GPU so far; see docs/decisions/0011-cuda.md.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from typing import Any

import torch
import triton
from torch import Tensor, nn
from torch.nn import functional

from potluck.blocks import kernels

_FAMILIES = {"llama": "Llama", "mistral": "Mistral", "qwen2": "Qwen2", "qwen3": "Qwen3"}
"""Modules and class prefixes in transformers of the code that is rewritten here."""

_ROTATION = ("apply_rotary_pos_emb", "rotate_half")

_ELEMENTS_A_PROGRAM = 1024


class FusedBlock:
    """A layer in few kernels, called like the layer itself, for packed rows without gradients."""

    def __init__(self, layer: Any) -> None:
        self._layer = layer

    def __call__(
        self, hidden: Tensor, *, position_embeddings: tuple[Tensor, Tensor], past_key_values: Any, **others: Any
    ) -> Tensor:
        """Shapes: hidden [1, tokens, hidden_size]; position_embeddings [1, tokens, head_dim] each."""
        layer = self._layer
        _, normed = add_and_norm(hidden, None, layer.input_layernorm)
        attended = self._attention(layer.self_attn, normed, *position_embeddings, past_key_values)
        hidden, normed = add_and_norm(hidden, attended, layer.post_attention_layernorm)
        active = silu_times(*project(normed, layer.mlp.gate_proj, layer.mlp.up_proj))
        result: Tensor = hidden + layer.mlp.down_proj(active)
        return result

    def _attention(self, attention: Any, normed: Tensor, cosines: Tensor, sines: Tensor, cache: Any) -> Tensor:
        tokens, head_dim = normed.shape[1], attention.head_dim
        projected = project(normed, attention.q_proj, attention.k_proj, attention.v_proj)
        query, key, value = (tensor.view(tokens, -1, head_dim) for tensor in projected)
        if hasattr(attention, "q_norm"):
            query, key = query.contiguous(), key.contiguous()
            query, key = add_and_norm(query, None, attention.q_norm)[1], add_and_norm(key, None, attention.k_norm)[1]
        rotate(query, key, cosines[0], sines[0])
        by_head = (tensor.transpose(0, 1)[None] for tensor in (query, key, value))
        query, key, value = by_head
        view, _ = cache.update(key, value, attention.layer_idx)
        output = view.attend(query, attention.scaling)
        result: Tensor = attention.o_proj(output.reshape(1, tokens, -1))
        return result


def can_be_fused(layer: nn.Module) -> bool:
    """Return whether the code of the layer, its attention, norms and rotation equals the code rewritten here."""
    attention, mlp = getattr(layer, "self_attn", None), getattr(layer, "mlp", None)
    norm = getattr(layer, "input_layernorm", None)
    if attention is None or mlp is None or norm is None:
        return False
    home = import_module(type(attention).__module__)
    found = {
        "layer": type(layer).forward,
        "attention": type(attention).forward,
        "mlp": type(mlp).forward,
        "norm": type(norm).forward,
        **{name: getattr(home, name, None) for name in _ROTATION},
    }
    is_silu = type(getattr(mlp, "act_fn", None)).__name__ in ("SiLU", "SiLUActivation")
    return is_silu and all(part is not None and code_of(part) in _known()[name] for name, part in found.items())


def add_and_norm(hidden: Tensor, added: Tensor | None, norm: Any) -> tuple[Tensor, Tensor]:
    """Return hidden + added (or hidden), and its norm. Shapes: [.., width], contiguous, as are the results."""
    width = hidden.shape[-1]
    output = torch.empty_like(hidden)
    total = hidden if added is None else torch.empty_like(hidden)
    kernels.add_and_norm[(hidden.numel() // width,)](
        hidden,
        hidden if added is None else added,
        norm.weight,
        total,
        output,
        norm.variance_epsilon,
        width,
        HAS_ADDED=added is not None,
        PAD=triton.next_power_of_2(width),
        num_warps=8 if width > 1024 else 1,
    )
    return total, output


def rotate(query: Tensor, key: Tensor, cosines: Tensor, sines: Tensor) -> None:
    """Rotate queries and keys in place. Shapes: [tokens, heads, head_dim]; cosines and sines [tokens, head_dim]."""
    tokens, heads, head_dim = query.shape
    kernels.rotate[(tokens, heads + key.shape[1])](
        query,
        key,
        cosines,
        sines,
        heads,
        query.stride(0),
        key.stride(0),
        cosines.stride(0),
        HALF=head_dim // 2,
        PAD=triton.next_power_of_2(head_dim // 2),
        num_warps=2,
    )


def silu_times(gate: Tensor, up: Tensor) -> Tensor:
    """Return silu(gate) * up. Shapes: [1, tokens, width]; the last dimension is contiguous."""
    tokens, width = gate.shape[1:]
    output = torch.empty(gate.shape, dtype=gate.dtype, device=gate.device)
    kernels.silu_times[(tokens, triton.cdiv(width, _ELEMENTS_A_PROGRAM))](
        gate, up, output, gate.stride(1), up.stride(1), width, BLOCK=_ELEMENTS_A_PROGRAM, num_warps=4
    )
    return output


def project(hidden: Tensor, *linears: Any) -> tuple[Tensor, ...]:
    """Apply several modules to the same input, by one product where their weights lie side by side.

    Weights do in blocks that were brought to the device as one piece. Modules that do more than multiply are called
    normally.
    """
    weight = joined_weight(linears)
    if weight is None:
        return tuple(linear(hidden) for linear in linears)
    return torch.split(functional.linear(hidden, weight), [linear.out_features for linear in linears], dim=-1)


def joined_weight(linears: Sequence[Any]) -> Tensor | None:
    """Return one matrix over plain linear modules without bias, or None if they are not neighbours in memory."""
    if any(type(linear) is not nn.Linear or not _is_bare(linear) for linear in linears):
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


def _is_bare(linear: nn.Linear) -> bool:
    is_hooked = bool(linear._forward_hooks or linear._forward_pre_hooks) or "forward" in vars(linear)
    return linear.bias is None and not is_hooked


def _bytes_behind(tensor: Tensor) -> int:
    """Return the bytes of the tensor's storage from its first element on."""
    return tensor.untyped_storage().nbytes() - int(tensor.storage_offset()) * tensor.element_size()


def code_of(function: Callable[..., Any]) -> str:
    """Return a function's source without family names, comments and spaces."""
    code = inspect.getsource(inspect.unwrap(function))
    code = re.sub("|".join(_FAMILIES.values()), "", re.sub(r"#.*", "", code))
    return "".join(code.split())


@cache
def _known() -> dict[str, frozenset[str]]:
    modules = [
        (import_module(f"transformers.models.{name}.modeling_{name}"), prefix) for name, prefix in _FAMILIES.items()
    ]
    classes = {"layer": "DecoderLayer", "attention": "Attention", "mlp": "MLP", "norm": "RMSNorm"}
    known = {
        part: frozenset(code_of(getattr(module, prefix + name).forward) for module, prefix in modules)
        for part, name in classes.items()
    }
    return known | {name: frozenset(code_of(getattr(module, name)) for module, _ in modules) for name in _ROTATION}
