"""Packs hidden states into 8.25 bits a value: the largest values of a token as they are, the others in int8.

    a token    the largest exponent e (int8), the upper halves of 16 outliers (int16), their places in ascending order
               (int16), how much smaller the exponent of each 32 values is (4 bits), and int8 for each value
    value      its int8 times 2 to the power of its block's exponent
    outlier    a float32 without its last byte: two bytes are the upper half, one is in the place of its int8

A few values of a token are a hundred times larger than the others; a scale that they share with others would cost these
all their digits. Everything is a power of two times a small integer, so decoding rounds nothing: it gives the same bits
on every machine, in float32, bfloat16 and float16. What was packed once is packed again without loss. So both ends of a
link take the decoded values for the output, and code that keeps, signs, repeats or forwards hidden states needs to
know nothing of how they travelled.

Gradients are rounded up or down by chance (`pack_gradient`), so that on the average nothing is lost: training adds up
many of them, and what always rounds the same way would add up, too. They need not be packed again without loss.

Sources: blockwise int8 as in Dettmers et al. 2022 (8-bit optimizers); outliers kept apart as in LLM.int8().
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import torch
from torch import Tensor

from potluck.wire.errors import WireError

CODEC: Final = 1
"""Its number on the wire. A number's meaning never changes."""

_BLOCK: Final = 32
_OUTLIERS: Final = 16
_HEAD_BYTES: Final = 1 + 4 * _OUTLIERS
_MAX_CODE: Final = 15
_LEAST, _MOST = -24, 9  # exponents: those with which float16 holds 127 multiples
_LARGEST: Final = 2.0**15  # the largest value that is no outlier
_LARGEST_OUTLIER: Final = 2.0**100
_LEAST_GRADIENT: Final = 2.0**-10
_ROUNDED_UP: Final = 1.008  # times the largest of a block, whose int8 is 127 at most even if it is rounded up
_BITS: Final = {4: torch.int32, 2: torch.int16}


class Packed(NamedTuple):
    """Hidden states as packing leaves them, and their packed form.

    Shapes: values [..., hidden_size]; data uint8 [..., packed_bytes(hidden_size)], None if they cannot be packed.
    """

    values: Tensor
    data: Tensor | None


def can_pack(hidden_size: int) -> bool:
    """Return whether tokens of this size have whole blocks, and more values than outliers."""
    return hidden_size % (2 * _BLOCK) == 0 and 0 < hidden_size <= 1 << 15


def packed_bytes(hidden_size: int) -> int:
    """Return the bytes of one token."""
    return _HEAD_BYTES + hidden_size // (2 * _BLOCK) + hidden_size


def pack(hidden: Tensor) -> Packed:
    """Round hidden states to values that can be packed, and pack them.

    Values of 32,768 and more that are no outliers leave them as they are; hidden states of no tokens are not packed.

    Shapes: hidden [..., hidden_size], finite.
    """
    return _pack(hidden, None)


def pack_gradient(grad: Tensor, generator: torch.Generator) -> Packed:
    """Round a gradient so that each value is the right one on the average, and pack it.

    A value is off by less than a 63rd of the largest of its 32. A gradient whose largest value is below 2^-10 or
    above 32,768 is left as it is, because exponents only reach 2^-24; `scaled` brings it there.

    Args:
        generator: decides in which direction values are rounded.

    Shapes: grad [..., hidden_size], finite.
    """
    if grad.numel() == 0 or not _LEAST_GRADIENT <= float(grad.detach().abs().max()) <= _LARGEST:
        return Packed(grad, None)
    return _pack(grad, generator)


def scaled(grad: Tensor) -> tuple[Tensor, int]:
    """Return a gradient over the power of two that its largest value is just below, and that power; exact."""
    _, power = math.frexp(float(grad.detach().abs().max()))
    power = min(max(power, -100), 100)  # otherwise the factor would be no normal float32
    return torch.ldexp(grad, torch.tensor(-power)), power


def _pack(hidden: Tensor, generator: torch.Generator | None) -> Packed:
    """Pack hidden states, or a gradient with a generator that rounds it by chance."""
    if hidden.numel() == 0:
        return Packed(hidden, None)
    size = hidden.shape[-1]
    values = hidden.detach().reshape(-1, size).to(torch.float32, copy=True)
    tokens = len(values)
    places = _places_of_outliers(values)
    outliers = values.gather(-1, places)
    up = 0x80 if generator is None else torch.randint(0x100, outliers.shape, generator=generator, dtype=torch.int32)
    bits = (outliers.view(torch.int32) + up) & -0x100
    bits[outliers == 0] = 0  # there is one zero only
    blocks = values.scatter_(-1, places, 0.0).view(tokens, -1, _BLOCK)
    largest = _largest(blocks)
    if not ((largest <= _LARGEST).all() and (outliers.abs() <= _LARGEST_OUTLIER).all()):
        return Packed(hidden, None)
    if generator is not None:
        largest = largest * _ROUNDED_UP
    exponents = ((largest.view(torch.int32) >> 23) - (127 + 6)).clamp_(min=_LEAST)  # 64 to 128 of them fit then
    top = exponents.amax(-1, keepdim=True)
    codes = (top - exponents).clamp_(max=_MAX_CODE)
    inverse = _power(codes - top)
    blocks.mul_(inverse[..., None])
    if generator is not None:
        blocks.add_(torch.rand(blocks.shape, generator=generator)).floor_().clamp_(max=127)
    else:
        # Keep values below every outlier, so that the same values are outliers when this is packed again.
        least = bits.view(torch.float32).abs().amin(-1, keepdim=True)
        below = (least * inverse).ceil_().sub_(1).clamp_(0, 127)[..., None]
        blocks.round_()
        torch.maximum(torch.minimum(blocks, below, out=blocks), -below, out=blocks)  # clamp is slow with tensors
    values.scatter_(-1, places, (bits << 16 >> 24).to(torch.float32))
    data = torch.empty(tokens, packed_bytes(size), dtype=torch.uint8)
    data[:, :1] = top.to(torch.int8).view(torch.uint8)
    data[:, 1:_HEAD_BYTES] = torch.cat((bits >> 16, places), dim=-1).to(torch.int16).view(torch.uint8)
    data[:, _HEAD_BYTES:-size] = (codes[:, ::2] | codes[:, 1::2] << 4).to(torch.uint8)
    data[:, -size:].view(torch.int8).copy_(values)
    data = data.view(*hidden.shape[:-1], -1)
    return Packed(unpack(data, size).to(hidden.dtype), data)


def pack_exactly(hidden: Tensor) -> Tensor | None:
    """Return the packed form of hidden states if it decodes to the same bits; None if it does not."""
    packed = pack(hidden)
    kind = _BITS.get(hidden.dtype.itemsize)
    if kind is None or packed.data is None:
        return None
    return packed.data if torch.equal(packed.values.view(kind), hidden.detach().contiguous().view(kind)) else None


def unpack(data: Tensor, size: int) -> Tensor:
    """Return the values in float32.

    Shapes: data uint8 [..., packed_bytes(size)] -> [..., size].

    Raises:
        WireError: no token, or exponents, places or outliers that packing does not produce.
    """
    if data.numel() == 0:
        raise WireError("no packed token")
    rows = data.reshape(-1, data.shape[-1])
    top = rows[:, :1].view(torch.int8).to(torch.int32)
    upper, places = _int16(rows[:, 1:_HEAD_BYTES]).chunk(2, dim=-1)
    if not ((top >= _LEAST) & (top <= _MOST)).all():
        raise WireError("an exponent that no packed token has")
    if (places[:, 0] < 0).any() or (places[:, -1] >= size).any() or (places.diff(dim=-1) <= 0).any():
        raise WireError("outliers that are not in order within their token")
    codes = rows[:, _HEAD_BYTES:-size].to(torch.int32)
    exponents = (top - torch.stack((codes & _MAX_CODE, codes >> 4), dim=-1).flatten(-2)).clamp_(min=_LEAST)
    values = rows[:, -size:].view(torch.int8).to(torch.float32)
    lower = values.gather(-1, places).to(torch.int32) & 0xFF
    outliers = (upper.to(torch.int32) << 16 | lower << 8).view(torch.float32)
    if not (outliers.abs() <= _LARGEST_OUTLIER).all():
        raise WireError("an outlier that is not finite")
    values.view(len(rows), -1, _BLOCK).mul_(_power(exponents)[..., None])
    return values.scatter_(-1, places, outliers).view(*data.shape[:-1], size)


def relative_error(hidden: Tensor) -> float:
    """Return by how much packing changes values, relative to those that are no outliers; root mean squares.

    Shapes: hidden [..., hidden_size].
    """
    values = hidden.detach().to(torch.float32).reshape(-1, hidden.shape[-1])
    rest = values.scatter(-1, _places_of_outliers(values), 0.0)
    norm = float(rest.norm())
    return float((pack(values).values - values).norm()) / norm if norm else 0.0


def _places_of_outliers(values: Tensor) -> Tensor:
    """Return where the largest values of each token are, in ascending order, [tokens, 16] int64.

    They are within the blocks with the 16 largest values, so most values need not be ranked.
    """
    whole = values.view(len(values), -1, _BLOCK)
    blocks = _largest(whole).topk(min(_OUTLIERS, whole.shape[1]), dim=-1, sorted=False).indices
    candidates = whole.gather(1, blocks[..., None].expand(-1, -1, _BLOCK)).flatten(1)
    found = candidates.abs_().topk(_OUTLIERS, dim=-1, sorted=False).indices
    return (blocks.gather(-1, found // _BLOCK) * _BLOCK + found % _BLOCK).sort(dim=-1).values


def _largest(blocks: Tensor) -> Tensor:
    """Return the largest magnitude of each block."""
    return torch.maximum(blocks.amax(-1), blocks.amin(-1).neg_())


def _power(exponents: Tensor) -> Tensor:
    """Return 2 to these powers, of which none is too large or too small for a normal float32."""
    return ((exponents + 127) << 23).view(torch.float32)


def _int16(rows: Tensor) -> Tensor:
    """Read int16, [tokens, n] int64, from bytes that may lie at odd addresses."""
    return rows.clone(memory_format=torch.contiguous_format).view(torch.int16).to(torch.int64)
