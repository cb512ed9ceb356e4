"""Torch tensors to and from their bytes on the wire.

Sizes, dtype and buffer length are checked against each other before memory is touched, and no NaN or infinity gets
through. A decoded tensor owns its memory (one copy out of the message), so it is aligned and may be written to.
"""

from __future__ import annotations

import math
from enum import IntEnum
from typing import Final

import torch
from torch import Tensor

from potluck.protocol.buffers import Buffer
from potluck.wire.envelopes import RawTensor
from potluck.wire.errors import WireError


class Compression(IntEnum):
    """How the buffer of a tensor is encoded; the numbers are the stock wire's."""

    NONE = 0
    MEANSTD_16BIT = 1  # read only
    FLOAT16 = 2
    QUANTILE_8BIT = 3  # refused: stock decoders of 3 and 4 fail with numpy 2 and on empty tensors
    UNIFORM_8BIT = 4  # refused
    BLOCKWISE_8BIT = 5  # refused: needs bitsandbytes on both ends


ENCODABLE: Final = (Compression.NONE, Compression.FLOAT16)
"""What `output_compression` of a request may ask for."""

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


def to_raw(tensor: Tensor, compression: int = Compression.NONE) -> RawTensor:
    """Encode a CPU tensor.

    FLOAT16 is applied where it can be (float32, float16, float64) and left out elsewhere; the reader sees which. The
    result refers to the tensor's memory, so the tensor must not change until the message is sent.
    """
    name = _NAMES.get(tensor.dtype)
    if name is None:
        raise TypeError(f"{tensor.dtype} cannot be sent")
    if tensor.requires_grad:
        tensor = tensor.detach()
    if compression == Compression.NONE and tensor.dtype is not torch.bfloat16 and tensor.numel():
        whole = tensor if tensor.is_contiguous() else tensor.contiguous()
        return RawTensor(tuple(tensor.shape), name, 0, 0, whole.numpy().data.cast("B"))
    flat = tensor.reshape(-1)
    if compression == Compression.FLOAT16 and tensor.dtype in _HALF:
        top = torch.finfo(torch.float16).max
        flat = flat.clamp(-top, top).to(torch.float16)
    else:
        compression = Compression.NONE
    buffer = flat.view(torch.uint8).numpy().data
    return RawTensor(tuple(tensor.shape), name, int(compression), 0, buffer)


def float_tensor(raw: RawTensor, shape: tuple[int | None, ...]) -> Tensor:
    """Decode a tensor of finite floats whose shape must match; None in `shape` matches any size.

    float64 is narrowed to float32, the widest type that blocks compute in.

    Raises:
        WireError: wrong shape, dtype, length of buffer or compression; NaN or infinity.
    """
    dtype = _FLOATS.get(raw.dtype)
    if dtype is None:
        raise WireError(f"expected floats, not {raw.dtype!r}")
    size = raw.size
    if size != shape and not _fits(size, shape):
        raise WireError(f"a tensor of shape {list(size)}, expected {_spell(shape)}")
    tensor = _decode_floats(raw, dtype).view(size)
    if tensor.dtype is torch.float64:
        tensor = tensor.to(torch.float32)
    if not _is_finite(tensor):
        raise WireError("a tensor holds NaN or infinity")
    return tensor


def index_tensor(raw: RawTensor, *, size: int, below: int) -> Tensor:
    """Decode int64 [size] with 0 <= values < below; raises WireError."""
    if raw.dtype != "int64":
        raise WireError(f"expected int64, not {raw.dtype!r}")
    if raw.size != (size,) or raw.compression != Compression.NONE or len(raw.buffer) != 8 * size:
        raise WireError(f"expected {size} uncompressed integers")
    tensor = torch.frombuffer(_owned(raw.buffer), dtype=torch.int64)
    if bool(((tensor < 0) | (tensor >= below)).any()):
        raise WireError(f"an index outside 0..{below - 1}")
    return tensor


def is_empty(raw: RawTensor) -> bool:
    """Whether this is a placeholder for "not given"."""
    return 0 in raw.size and not len(raw.buffer)


def _decode_floats(raw: RawTensor, dtype: torch.dtype) -> Tensor:
    """The values as one row, in `dtype`."""
    count, length = math.prod(raw.size), len(raw.buffer)
    if raw.compression == Compression.NONE:
        if length == count * dtype.itemsize:
            return _values(raw.buffer, dtype, count)
        if dtype is torch.bfloat16 and length == count * 4:  # the older encoding: widened to float32
            return _values(raw.buffer, torch.float32, count).to(dtype)
    elif raw.compression == Compression.FLOAT16:
        if dtype in _HALF and length == count * 2:
            return _values(raw.buffer, torch.float16, count).to(dtype)
    elif raw.compression == Compression.MEANSTD_16BIT:
        if dtype in _HALF and raw.size and length == _meanstd_bytes(raw.size):
            return _decode_meanstd(raw, count).to(dtype)
    else:
        raise WireError(f"compression {raw.compression} is not supported here; send NONE or FLOAT16")
    raise WireError(f"{length} bytes cannot be {list(raw.size)} of {raw.dtype} with compression {raw.compression}")


def _meanstd_bytes(size: tuple[int, ...]) -> int:
    """float16 values, then one float32 mean and one float32 deviation for each row of the last axis."""
    return 2 * math.prod(size) + 8 * math.prod(size[:-1])


def _decode_meanstd(raw: RawTensor, count: int) -> Tensor:
    if not count:
        return torch.empty(0)
    rows = count // raw.size[-1]
    data = bytes(raw.buffer)
    values = _values(data[: 2 * count], torch.float16, count).view(rows, -1).to(torch.float32)
    means, deviations = _values(data[2 * count :], torch.float32, 2 * rows).view(2, rows, 1)
    restored: Tensor = values * deviations + means
    return restored.view(-1)


def _values(buffer: Buffer, dtype: torch.dtype, count: int) -> Tensor:
    if not count:
        return torch.empty(0, dtype=dtype)
    return torch.frombuffer(_owned(buffer), dtype=dtype)


def _owned(buffer: Buffer) -> bytearray:
    return buffer if isinstance(buffer, bytearray) else bytearray(buffer)


def _is_finite(tensor: Tensor) -> bool:
    """A finite sum has only finite terms; a sum that merely overflowed gets the slower look at each value."""
    return math.isfinite(tensor.sum().item()) or bool(torch.isfinite(tensor).all())


def _fits(size: tuple[int, ...], shape: tuple[int | None, ...]) -> bool:
    return len(size) == len(shape) and all(want in (None, have) for have, want in zip(size, shape, strict=True))


def _spell(shape: tuple[int | None, ...]) -> str:
    return "[" + ", ".join("any" if dim is None else str(dim) for dim in shape) + "]"
