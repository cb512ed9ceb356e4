"""Messages with tensors to and from bytes.

Sizes, dtype and number of bytes of a tensor are checked against each other before memory is touched, and no NaN or
infinity gets through. A decoded tensor owns its memory (one copy out of the message), so it is aligned and may be
written to. Whether it has the shape that its message needs is checked by the functions further below.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Annotated, Final

import msgspec
import torch
from msgspec import Meta, Struct
from torch import Tensor

from potluck.protocol.codes import Code
from potluck.protocol.values import Buffer
from potluck.wire.errors import WireError
from potluck.wire.message import Limits, M, read_fields, read_message, split, write_message
from potluck.wire.packing import CODEC, can_pack, packed_bytes, unpack

_MAX_CHOICES: Final = 16  # experts of one token in one layer
_MAX_VALUES: Final = 1 << 40  # values of a tensor, also if some of its dimensions are zero

_DTYPES: Final = {0: torch.float32, 1: torch.bfloat16, 2: torch.float16, 16: torch.int64, 17: torch.int16}
_NUMBERS: Final = {dtype: number for number, dtype in _DTYPES.items()}
_U32 = Annotated[int, Meta(ge=0, lt=1 << 32)]


class WireTensor(Struct, frozen=True, array_like=True):
    """A tensor among the fields of a message; its bytes are `size` ones of the values from `start` on."""

    dtype: Annotated[int, Meta(ge=0, lt=256)]
    codec: Annotated[int, Meta(ge=0, lt=256)]  # 0: plain values, 1: `potluck.wire.packing`; others are reserved
    shape: Annotated[tuple[_U32, ...], Meta(max_length=4)]
    start: _U32
    size: _U32


def encode_tensors(message: Struct) -> tuple[Buffer, ...]:
    """Return a message in pieces. Tensors are on the CPU; float64 travels as float32.

    The pieces refer to the tensors' memory, so these must not change until the message is sent.
    """
    values: list[Buffer] = []
    packed: tuple[Tensor | None, ...] = getattr(message, "packed", ())
    if packed:
        message = msgspec.structs.replace(message, packed=())
    size = 0

    def place(tensor: Tensor) -> WireTensor:
        nonlocal size
        if tensor.requires_grad:
            tensor = tensor.detach()
        if tensor.dtype is torch.float64:
            tensor = tensor.to(torch.float32)
        number = _NUMBERS.get(tensor.dtype)
        if number is None:
            raise TypeError(f"{tensor.dtype} cannot be sent")
        instead = packed[len(values)] if len(values) < len(packed) else None
        values.append(values_of(tensor if instead is None else instead))
        start, size = size, size + len(values[-1])
        return WireTensor(number, 0 if instead is None else CODEC, tuple(tensor.shape), start, size - start)

    fields = msgspec.msgpack.encode(message, enc_hook=place)
    return write_message(fields, size), *values


def encode_parts(message: Struct) -> Iterator[tuple[Buffer, ...]]:
    """Yield the frames of a message of any size, each in pieces."""
    return split(encode_tensors(message))


def decode_tensors(body: Buffer, kind: type[M], *, most_packed: int = 0) -> M:
    """Read a message with tensors, of which packed ones may have so many values. Raises WireError."""
    fields, values = read_message(body)
    end = 0

    def read(_: type, placed: object) -> Tensor:
        nonlocal end
        tensor = msgspec.convert(placed, WireTensor)
        if tensor.start < end:
            raise WireError("two tensors with the same values")
        end = tensor.start + tensor.size
        return _read(tensor, values[tensor.start : end], most_packed)

    return read_fields(fields, kind, read)


def _read(tensor: WireTensor, values: Buffer, most_packed: int) -> Tensor:
    dtype, shape = _DTYPES.get(tensor.dtype), tensor.shape
    if dtype is None or (0 in shape and math.prod(filter(None, shape)) > _MAX_VALUES):
        raise WireError(f"a tensor of an unknown dtype {tensor.dtype} or of shape {list(shape)}")
    if tensor.codec == 0:
        return plain_tensor(values, dtype, shape)
    if tensor.codec != CODEC or not shape or not can_pack(shape[-1]) or not dtype.is_floating_point:
        raise WireError(f"{dtype} of shape {list(shape)} with codec {tensor.codec}")
    if math.prod(shape) > most_packed:
        raise WireError(f"more than {most_packed} packed values", Code.TOO_LONG)
    packed = plain_tensor(values, torch.uint8, (*shape[:-1], packed_bytes(shape[-1])))
    floats = unpack(packed, shape[-1]).to(dtype)
    if not is_finite(floats):
        raise WireError("a packed tensor holds NaN or infinity")
    return floats


def values_of(tensor: Tensor) -> Buffer:
    """Return a tensor's values as bytes, without a copy where it is contiguous."""
    if tensor.dtype is torch.bfloat16 or not tensor.numel():  # numpy has no bfloat16, and no bytes of nothing
        return tensor.reshape(-1).view(torch.uint8).numpy().data
    whole = tensor if tensor.is_contiguous() else tensor.contiguous()
    return whole.numpy().data.cast("B")


def plain_tensor(values: Buffer, dtype: torch.dtype, size: tuple[int, ...]) -> Tensor:
    """Decode plain values. Raises WireError for another number of bytes, NaN or infinity."""
    count = math.prod(size)
    if len(values) != count * dtype.itemsize:
        raise WireError(f"{len(values)} bytes cannot be {list(size)} of {dtype}")
    if not count:
        return torch.empty(size, dtype=dtype)
    data = values if isinstance(values, bytearray) else bytearray(values)
    tensor = torch.frombuffer(data, dtype=dtype).view(size)
    if dtype.is_floating_point and not is_finite(tensor):
        raise WireError("a tensor holds NaN or infinity")
    return tensor


def is_finite(tensor: Tensor) -> bool:
    """Return whether all values are finite. If their sum is finite they are; an overflow needs a second look."""
    return math.isfinite(tensor.sum().item()) or bool(torch.isfinite(tensor).all())


def check_floats(tensor: Tensor, shape: tuple[int, ...]) -> None:
    """Raise WireError unless these are floats of that shape."""
    if tensor.shape != shape or not tensor.is_floating_point():
        raise WireError(f"{tensor.dtype} of shape {list(tensor.shape)}, expected floats of {list(shape)}")


def check_order(order: Tensor, rows: int) -> None:
    """Raise WireError unless this is int64 [rows] of row numbers."""
    is_fit = order.dtype is torch.int64 and order.shape == (rows,)
    if not is_fit or bool(((order < 0) | (order >= rows)).any()):
        raise WireError(f"the order of rows must be {rows} integers from 0 to {rows - 1}")


def check_choices(choices: Tensor, tokens: int, layers: int) -> None:
    """Raise WireError unless this is int16 [tokens, layers, choices] of experts; -1 stands for none."""
    is_fit = choices.dtype is torch.int16 and choices.ndim == 3 and choices.shape[:2] == (tokens, layers)
    if not is_fit or not 0 < choices.shape[2] <= _MAX_CHOICES or bool((choices < -1).any()):
        raise WireError(f"choices of experts must be numbers for each of {tokens} tokens in {layers} layers")


def check_inputs(hidden: Tensor, prompts: Tensor | None, num_blocks: int | None, limits: Limits) -> None:
    """Raise WireError unless hidden states and prompts are as `hidden_shape` and `prompts_shape` say."""
    check_floats(hidden, hidden_shape(hidden.shape, limits))
    if prompts is not None:
        check_floats(prompts, prompts_shape(prompts.shape, hidden, num_blocks=num_blocks, limits=limits))


def hidden_shape(shape: tuple[int, ...], limits: Limits) -> tuple[int, ...]:
    """Return the shape [batch >= 1, tokens, hidden_size] that hidden states must have.

    Raises WireError for too many tokens or no rows.
    """
    if len(shape) != 3:
        raise WireError(f"hidden states of shape {list(shape)}, expected [batch, tokens, {limits.hidden_size}]")
    batch, tokens, _ = shape
    if batch < 1:
        raise WireError("an empty batch")
    if batch * max(tokens, 1) > limits.max_batch_tokens:
        text = f"{batch} x {tokens} tokens in one message, at most {limits.max_batch_tokens} allowed"
        raise WireError(text, Code.TOO_LONG)
    return (batch, tokens, limits.hidden_size)


def prompts_shape(shape: tuple[int, ...], hidden: Tensor, *, num_blocks: int | None, limits: Limits) -> tuple[int, ...]:
    """Return the shape [num_blocks, batch or 1, prompt_tokens <= tokens, hidden_size] that prompts must have.

    Args:
        num_blocks: how many there must be; None if the session knows and checks.

    Raises:
        WireError: they do not fit the hidden states.
    """
    if len(shape) != 4:
        raise WireError(f"prompts of shape {list(shape)}, expected 4 dimensions")
    batch, tokens, _ = hidden.shape
    if shape[1] not in (1, batch) or shape[2] > tokens or shape[0] > limits.num_blocks:
        raise WireError(f"prompts of shape {list(shape)} do not fit hidden states of {list(hidden.shape)}")
    return (shape[0] if num_blocks is None else num_blocks, shape[1], shape[2], limits.hidden_size)
