"""Torch tensors to and from Petals' messages, with its compressions and placeholders.

As in `potluck.wire.tensors`, sizes are checked before memory is touched, and no NaN or infinity gets through.
"""

from __future__ import annotations

import math
from enum import IntEnum
from typing import Final

import torch
from torch import Tensor

from potluck.petals.envelopes import RawTensor
from potluck.wire.errors import WireError
from potluck.wire.tensors import check_order, is_finite, plain_tensor, values_of


class Compression(IntEnum):
    """The encodings of a tensor's buffer, by their numbers in Petals."""

    NONE = 0
    MEANSTD_16BIT = 1  # read only, as FLOAT16
    FLOAT16 = 2
    QUANTILE_8BIT = 3  # refused: stock decoders of 3 and 4 fail with numpy 2 and on empty tensors
    UNIFORM_8BIT = 4  # refused
    BLOCKWISE_8BIT = 5  # refused: needs bitsandbytes on both ends


_FLOATS: Final = {
    "float32": torch.float32,
    "bfloat16": torch.bfloat16,
    "float16": torch.float16,
    "float64": torch.float64,
}
_DTYPES: Final = {**_FLOATS, "int64": torch.int64}
_NAMES: Final = {dtype: name for name, dtype in _DTYPES.items()}
_HALF: Final = (torch.float32, torch.float16, torch.float64)

EMPTY_FLOATS: Final = RawTensor((0,), "float32")
"""Stands for "no prompts"."""
EMPTY_INTS: Final = RawTensor((0,), "int64")
"""Stands for "no hypo_ids"."""


def to_raw(tensor: Tensor) -> RawTensor:
    """Encode a CPU tensor, whose memory the result refers to: it must not change until the message is sent."""
    name = _NAMES.get(tensor.dtype)
    if name is None:
        raise TypeError(f"{tensor.dtype} cannot be sent")
    return RawTensor(tuple(tensor.shape), name, buffer=values_of(tensor.detach()))


def float_tensor(raw: RawTensor, shape: tuple[int, ...]) -> Tensor:
    """Decode a tensor of finite floats whose shape must match.

    float64 is narrowed to float32, the widest type that blocks compute in.

    Raises:
        WireError: wrong shape, dtype, length of buffer or compression; NaN or infinity.
    """
    dtype = _FLOATS.get(raw.dtype)
    if dtype is None:
        raise WireError(f"expected floats, not {raw.dtype!r}")
    if raw.size != shape:
        raise WireError(f"a tensor of shape {list(raw.size)}, expected {list(shape)}")
    tensor = _decode_floats(raw, dtype)
    return tensor.to(torch.float32) if dtype is torch.float64 else tensor


def order_of_rows(raw: RawTensor, rows: int) -> Tensor | None:
    """Decode which row each row continues, None for a placeholder. Raises WireError."""
    if raw.dtype != "int64" or raw.compression != Compression.NONE:
        raise WireError(f"hypo_ids must be uncompressed int64, not {raw.dtype!r}")
    if is_empty(raw):
        return None
    order = plain_tensor(raw.buffer, torch.int64, raw.size)
    check_order(order, rows)
    return order


def is_empty(raw: RawTensor) -> bool:
    """Return whether this is a placeholder for "not given"."""
    return 0 in raw.size and not len(raw.buffer)


def _decode_floats(raw: RawTensor, dtype: torch.dtype) -> Tensor:
    size, length = raw.size, len(raw.buffer)
    count = math.prod(size)
    if raw.compression == Compression.NONE:
        if dtype is torch.bfloat16 and length == count * 4:  # the older encoding: widened to float32
            return plain_tensor(raw.buffer, torch.float32, size).to(dtype)
        return plain_tensor(raw.buffer, dtype, size)
    if raw.compression == Compression.FLOAT16 and dtype in _HALF:
        return plain_tensor(raw.buffer, torch.float16, size).to(dtype)
    if raw.compression == Compression.MEANSTD_16BIT and dtype in _HALF:
        if not size or length != 2 * count + 8 * math.prod(size[:-1]):
            raise WireError(f"{length} bytes cannot be {list(size)} with compression {raw.compression}")
        return _decode_meanstd(raw, count).to(dtype)
    raise WireError(f"compression {raw.compression} of {raw.dtype} is not supported here; send NONE or FLOAT16")


def _decode_meanstd(raw: RawTensor, count: int) -> Tensor:
    """Decode float16 values, then one float32 mean and one float32 deviation for each row of the last axis."""
    if not count:
        return torch.empty(raw.size)
    rows, data = count // raw.size[-1], bytes(raw.buffer)
    values = plain_tensor(data[: 2 * count], torch.float16, (rows, raw.size[-1])).to(torch.float32)
    means, deviations = plain_tensor(data[2 * count :], torch.float32, (2, rows, 1))
    restored: Tensor = (values * deviations + means).view(raw.size)
    if not is_finite(restored):
        raise WireError("a tensor holds NaN or infinity")
    return restored
