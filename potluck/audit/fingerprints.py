"""Makes short fingerprints of a window of outputs, from which the distance of two windows can be estimated.

Each token's output is projected onto a few directions of random signs and divided by its length, which is kept apart.
The signs follow from a seed. A server that learns the seed only after it has answered cannot make a wrong output that
lies across all directions. The estimate of a window is within about a tenth of the true difference.

Source: Johnson and Lindenstrauss 1984; Achlioptas 2003 (signs instead of normal numbers); TOPLOC, arXiv 2501.16007,
whose fingerprints of 32 tokens have a similar size.
"""

from __future__ import annotations

import hashlib
import math
import struct
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from potluck.audit.choices import WINDOW_TOKENS

SEED_BYTES: Final = 16
MAX_HIDDEN_SIZE: Final = 1 << 17
_DIRECTIONS: Final = (
    4  # a token; 128 a window, whose mean square is within 12 % of the true one in two of three windows
)
_DROPPED_TOKENS: Final = 8  # the most different ones: rounding makes routers choose other experts for single tokens
_KEPT_SHARE: Final = 0.825
"""Of a difference that is the same for all tokens, what is left without the highest estimates; measured."""

_SCALE: Final = struct.Struct("<d")
FINGERPRINT_BYTES: Final = _SCALE.size + 2 * WINDOW_TOKENS * (_DIRECTIONS + 1)


@dataclass(frozen=True, slots=True, eq=False)
class Fingerprint:
    """Projections and lengths of a window's outputs.

    Shapes: directions [WINDOW_TOKENS, _DIRECTIONS], of outputs of length 1; lengths [WINDOW_TOKENS].
    """

    directions: NDArray[np.float64]
    lengths: NDArray[np.float64]

    def encode(self) -> bytes:
        """Return FINGERPRINT_BYTES: half-precision numbers, and the greatest length in full."""
        scale = float(np.max(self.lengths))
        shares = self.lengths / scale if 0 < scale < math.inf else self.lengths
        with np.errstate(over="ignore"):
            return _SCALE.pack(scale) + shares.astype("<f2").tobytes() + self.directions.astype("<f2").tobytes()

    @classmethod
    def decode(cls, data: bytes) -> Fingerprint:
        """Read what `encode` made. Raises ValueError for another size; numbers may be anything, NaN included."""
        if len(data) != FINGERPRINT_BYTES:
            raise ValueError(f"a fingerprint has {FINGERPRINT_BYTES} bytes, not {len(data)}")
        (scale,) = _SCALE.unpack_from(data)
        numbers = np.frombuffer(data, "<f2", offset=_SCALE.size).astype(np.float64)
        with np.errstate(invalid="ignore", over="ignore"):
            lengths = numbers[:WINDOW_TOKENS] * (scale if 0 < scale < math.inf else 1.0)
        return cls(numbers[WINDOW_TOKENS:].reshape(WINDOW_TOKENS, _DIRECTIONS), lengths)


def fingerprint(outputs: NDArray[np.float32], seed: bytes) -> Fingerprint:
    """Return the fingerprint of `outputs` [WINDOW_TOKENS, hidden_size].

    Numbers that are not finite stay so in the fingerprint, and no window agrees with them.

    Raises:
        ValueError: another number of tokens, an unlikely hidden size, or a seed that has not SEED_BYTES.
    """
    if outputs.ndim != 2 or outputs.shape[0] != WINDOW_TOKENS or not 0 < outputs.shape[1] <= MAX_HIDDEN_SIZE:
        raise ValueError(f"a window has {WINDOW_TOKENS} tokens of one row, not the shape {outputs.shape}")
    if len(seed) != SEED_BYTES:
        raise ValueError(f"a seed has {SEED_BYTES} bytes, not {len(seed)}")
    wide = outputs.astype(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        lengths = np.sqrt(np.square(wide).sum(axis=1))
        units = wide / np.where(lengths > 0, lengths, 1.0)[:, None]
        directions = np.einsum("tdh,th->td", _signs(seed, outputs.shape[1]), units)
    return Fingerprint(directions, lengths)


def difference(one: Fingerprint, other: Fingerprint) -> float:
    """Estimate how far two windows are apart, relative to the longer outputs: 0 is equal, zeros differ by about 1.

    The quarter of the tokens that differ most does not count. Infinite if too many tokens of one are not finite, NaN if
    those of both are.
    """
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        longer = np.maximum(one.lengths, other.lengths)
        longer = np.where(longer > 0, longer, 1.0)
        gaps = one.directions * (one.lengths / longer)[:, None] - other.directions * (other.lengths / longer)[:, None]
        squares = np.square(gaps).mean(axis=1)
    is_broken, is_broken_too = _broken(one), _broken(other)
    squares = np.where(is_broken | is_broken_too | ~np.isfinite(squares), np.inf, squares)
    if np.count_nonzero(is_broken & is_broken_too) > _DROPPED_TOKENS:
        return math.nan
    kept = np.sort(squares)[: WINDOW_TOKENS - _DROPPED_TOKENS]
    return float(np.sqrt(kept.mean())) / _KEPT_SHARE


def _broken(of: Fingerprint) -> NDArray[np.bool_]:
    """Return for each token whether no output can have its numbers."""
    return ~(np.isfinite(of.lengths) & (of.lengths >= 0) & np.isfinite(of.directions).all(axis=1))


def _signs(seed: bytes, hidden_size: int) -> NDArray[np.int8]:
    """Return -1 and 1 [WINDOW_TOKENS, _DIRECTIONS, hidden_size], the same on every computer."""
    count = WINDOW_TOKENS * _DIRECTIONS * hidden_size
    stream = hashlib.shake_256(b"potluck projections 1\0" + seed).digest((count + 7) // 8)
    bits = np.unpackbits(np.frombuffer(stream, np.uint8), count=count)
    return (bits.astype(np.int8) * 2 - 1).reshape(WINDOW_TOKENS, _DIRECTIONS, hidden_size)
