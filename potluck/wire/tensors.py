"""Torch tensors to and from their bytes on the wire.

Sizes, dtype and number of bytes are checked against each other before memory is touched, and no NaN or infinity gets
through. A decoded tensor owns its memory (one copy out of the message), so it is aligned and may be written to.
"""

from __future__ import annotations

import math
from typing import Final

import torch
from torch import Tensor

from potluck.protocol.buffers import Buffer
from potluck.protocol.codes import Code
from potluck.wire.errors import WireError
from potluck.wire.limits import Limits
from potluck.wire.message import Role, WireTensor
from potluck.wire.packing import CODEC, can_pack, packed_bytes, unpack

_MAX_CHOICES: Final = 16  # experts of one token in one layer

Shape = tuple[int | None, ...]
"""None matches any size."""

_FLOATS: Final = (torch.float32, torch.bfloat16, torch.float16)  # by their numbers on the wire
_INT64, _INT16 = 16, 17
_NUMBERS: Final = {
    **{dtype: number for number, dtype in enumerate(_FLOATS)},
    torch.int64: _INT64,
    torch.int16: _INT16,
}


def to_wire(role: Role, tensor: Tensor, packed: Tensor | None = None) -> WireTensor:
    """Encode a CPU tensor; float64 travels as float32.

    Args:
        packed: what decodes to the same values, and travels instead.

    The result refers to the tensor's memory, so the tensor must not change until the message is sent.
    """
    if tensor.requires_grad:
        tensor = tensor.detach()
    if tensor.dtype is torch.float64:
        tensor = tensor.to(torch.float32)
    number = _NUMBERS.get(tensor.dtype)
    if number is None:
        raise TypeError(f"{tensor.dtype} cannot be sent")
    if packed is not None:
        return WireTensor(role, number, tuple(tensor.shape), values_of(packed), CODEC)
    return WireTensor(role, number, tuple(tensor.shape), values_of(tensor))


def values_of(tensor: Tensor) -> Buffer:
    """Return a tensor's values as bytes, without a copy where it is contiguous."""
    if tensor.dtype is torch.bfloat16 or not tensor.numel():  # numpy has no bfloat16, and no bytes of nothing
        return tensor.reshape(-1).view(torch.uint8).numpy().data
    whole = tensor if tensor.is_contiguous() else tensor.contiguous()
    return whole.numpy().data.cast("B")


def read_floats(tensor: WireTensor, shape: Shape) -> Tensor:
    """Decode a tensor of finite floats whose shape must match. Raises WireError."""
    size = tensor.shape
    if size != shape and not matches(size, shape):
        raise WireError(f"a tensor of shape {list(size)}, expected {spell(shape)}")
    if tensor.codec not in (0, CODEC) or tensor.dtype >= len(_FLOATS):
        raise WireError(f"floats of an unknown dtype {tensor.dtype} or codec {tensor.codec}")
    if tensor.codec == CODEC:
        return _packed_floats(tensor.values, _FLOATS[tensor.dtype], size)
    return finite_floats(tensor.values, _FLOATS[tensor.dtype], size)


def _packed_floats(values: Buffer, dtype: torch.dtype, size: tuple[int, ...]) -> Tensor:
    """Decode packed values. Raises WireError for another number of bytes, or what packing does not produce."""
    if not can_pack(size[-1]):
        raise WireError(f"packed tokens of {size[-1]} values")
    packed = (*size[:-1], packed_bytes(size[-1]))
    if len(values) != math.prod(packed):
        raise WireError(f"{len(values)} bytes cannot be {list(size)} packed values")
    tensor = unpack(plain_values(values, torch.uint8, len(values)).view(packed), size[-1]).to(dtype)
    if not is_finite(tensor):
        raise WireError("a packed tensor holds NaN or infinity")
    return tensor


def finite_floats(values: Buffer, dtype: torch.dtype, size: tuple[int, ...]) -> Tensor:
    """Decode plain values. Raises WireError for another number of bytes, NaN or infinity."""
    count = math.prod(size)
    if len(values) != count * dtype.itemsize:
        raise WireError(f"{len(values)} bytes cannot be {list(size)} of {dtype}")
    tensor = plain_values(values, dtype, count).view(size)
    if not is_finite(tensor):
        raise WireError("a tensor holds NaN or infinity")
    return tensor


def plain_values(values: Buffer, dtype: torch.dtype, count: int) -> Tensor:
    if not count:
        return torch.empty(0, dtype=dtype)
    return torch.frombuffer(values if isinstance(values, bytearray) else bytearray(values), dtype=dtype)


def is_finite(tensor: Tensor) -> bool:
    """Return whether all values are finite. If their sum is finite they are; an overflow needs a second look."""
    return math.isfinite(tensor.sum().item()) or bool(torch.isfinite(tensor).all())


def read_order(tensor: WireTensor | None, rows: int) -> Tensor | None:
    """Decode int64 [rows] of row numbers. Raises WireError."""
    if tensor is None:
        return None
    if tensor.dtype != _INT64 or tensor.codec or tensor.shape != (rows,):
        raise WireError(f"the order of rows must be {rows} integers")
    return row_numbers(tensor.values, rows)


def row_numbers(values: Buffer, rows: int) -> Tensor:
    """Decode as many row numbers as there are rows. Raises WireError."""
    if len(values) != 8 * rows:
        raise WireError(f"{len(values)} bytes cannot be {rows} integers")
    order = plain_values(values, torch.int64, rows)
    if bool(((order < 0) | (order >= rows)).any()):
        raise WireError(f"a row number outside 0..{rows - 1}")
    return order


def read_choices(tensor: WireTensor | None, tokens: int, *, most_layers: int) -> Tensor | None:
    """Decode int16 [tokens, layers, choices] of experts; -1 stands for none. Raises WireError."""
    if tensor is None:
        return None
    shape = tensor.shape
    if tensor.dtype != _INT16 or tensor.codec or len(shape) != 3 or shape[0] != tokens:
        raise WireError(f"choices of experts must be integers for each of {tokens} tokens")
    if not 0 < shape[1] <= most_layers or not 0 < shape[2] <= _MAX_CHOICES:
        raise WireError(f"choices of experts of shape {list(shape)}")
    if len(tensor.values) != 2 * math.prod(shape):
        raise WireError(f"{len(tensor.values)} bytes cannot be {list(shape)} choices of experts")
    choices = plain_values(tensor.values, torch.int16, math.prod(shape)).view(shape)
    if bool((choices < -1).any()):
        raise WireError("a choice below -1")
    return choices


def read_hidden(tensor: WireTensor | None, limits: Limits) -> Tensor:
    """Decode [batch >= 1, tokens, hidden_size] within the token limit. Raises WireError."""
    if tensor is None:
        raise WireError("hidden states are missing")
    return read_floats(tensor, hidden_shape(tensor.shape, limits))


def hidden_shape(shape: tuple[int, ...], limits: Limits) -> Shape:
    """Return the shape that such hidden states must have. Raises WireError for too many tokens or no rows."""
    if len(shape) != 3:
        raise WireError(f"hidden states of shape {list(shape)}, expected [batch, tokens, {limits.hidden_size}]")
    batch, tokens, _ = shape
    if batch < 1:
        raise WireError("an empty batch")
    if batch * max(tokens, 1) > limits.max_batch_tokens:
        text = f"{batch} x {tokens} tokens in one message, at most {limits.max_batch_tokens} allowed"
        raise WireError(text, Code.TOO_LONG)
    return (batch, tokens, limits.hidden_size)


def read_prompts(tensor: WireTensor | None, hidden: Tensor, *, num_blocks: int | None, limits: Limits) -> Tensor | None:
    """Decode [num_blocks, batch or 1, prompt_tokens <= tokens, hidden_size]. Raises WireError.

    Args:
        num_blocks: how many there must be; None if the session knows and checks.
    """
    if tensor is None:
        return None
    return read_floats(tensor, prompts_shape(tensor.shape, hidden, num_blocks=num_blocks, limits=limits))


def prompts_shape(shape: tuple[int, ...], hidden: Tensor, *, num_blocks: int | None, limits: Limits) -> Shape:
    """Return the shape that such prompts must have. Raises WireError if they do not fit the hidden states."""
    if len(shape) != 4:
        raise WireError(f"prompts of shape {list(shape)}, expected 4 dimensions")
    batch, tokens, _ = hidden.shape
    if shape[1] not in (1, batch) or shape[2] > tokens or shape[0] > limits.num_blocks:
        raise WireError(f"prompts of shape {list(shape)} do not fit hidden states of {list(hidden.shape)}")
    return (num_blocks, shape[1], shape[2], limits.hidden_size)


def matches(size: tuple[int, ...], shape: Shape) -> bool:
    return len(size) == len(shape) and all(want in (None, have) for have, want in zip(size, shape, strict=True))


def spell(shape: Shape) -> str:
    return "[" + ", ".join("any" if dim is None else str(dim) for dim in shape) + "]"
