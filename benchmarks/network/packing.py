"""Figure `wire_bytes`: bytes of packed hidden states on the wire, over the same in bfloat16.

Takes whole messages of a prompt's piece: what a client sends, what a server answers, and what it pushes. The values are
made up as activations of large models look: a few channels are hundreds of times larger than the others, at ten scales
within an octave, because a scale is a power of two.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import torch
from torch import Tensor

from benchmarks.figures import Measured, figure
from potluck.protocol.messages import Pushed, StepReply, StepRequest
from potluck.protocol.values import Buffer
from potluck.wire.packing import pack, pack_exactly, relative_error, unpack
from potluck.wire.tensors import encode_tensors

_HIDDEN_SIZE = 4096
_TOKENS = 128
_OUTLIER_CHANNELS, _OUTLIER_SIZE = 8, 300.0
_SCALES = tuple(2.0 ** (step / 10) for step in range(10))
_WORST_ERROR = 0.01
_REPEATS = 9


@figure("wire_bytes", unit="ratio", reach=0.52)
def wire_bytes(soak: bool) -> Measured:
    """Bytes of packed hidden states over bfloat16, hidden size 4096: the mean of steps, answers and pushes.

    Made-up activations with outliers must change by at most 0.01 of what is no outlier, and be packed again without
    loss.
    """
    ratios, errors = [], []
    exact = True
    for seed, scale in enumerate(_SCALES):
        hidden = _activations(seed, scale)
        values, data = pack(hidden)
        again = pack_exactly(values)
        exact &= data is not None and again is not None and torch.equal(unpack(again, _HIDDEN_SIZE).bfloat16(), values)
        ratios += [_bytes(encode(values, data)) / _bytes(encode(hidden, None)) for encode in _MESSAGES]
        errors.append(relative_error(hidden))
    value, error = sum(ratios) / len(ratios), max(errors)
    hidden = _activations(0, 1.0)
    data = pack(hidden).data
    assert data is not None
    detail = {
        "error_worst": round(error, 5),
        "error_mean": round(sum(errors) / len(errors), 5),
        "packed_again_without_loss": exact,
        "pack_ms": round(_best_ms(lambda: pack(hidden)), 2),
        "unpack_ms": round(_best_ms(lambda: unpack(data, _HIDDEN_SIZE)), 2),
        "tokens": _TOKENS,
        "plain_ms_at_100_mbps": round(hidden.nbytes * 8e-5, 1),
    }
    return Measured(value, detail, holds=exact and error <= _WORST_ERROR)


def _activations(seed: int, scale: float) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    hidden = torch.randn(1, _TOKENS, _HIDDEN_SIZE, generator=generator) * scale
    hidden[..., torch.randperm(_HIDDEN_SIZE, generator=generator)[:_OUTLIER_CHANNELS]] *= _OUTLIER_SIZE
    return hidden.bfloat16()


_MESSAGES: tuple[Callable[[Tensor, Tensor | None], tuple[Buffer, ...]], ...] = (
    lambda values, data: encode_tensors(StepRequest(values, start_from_position=0, packed=(data,))),
    lambda values, data: encode_tensors(StepReply(values, packed=(data,))),
    lambda values, data: encode_tensors(Pushed(0, values, (data,))),
)


def _bytes(pieces: tuple[Buffer, ...]) -> int:
    return sum(map(len, pieces))


def _best_ms(run: Callable[[], object]) -> float:
    times = []
    for _ in range(_REPEATS):
        began = time.perf_counter()
        run()
        times.append(time.perf_counter() - began)
    return 1000 * min(times)
