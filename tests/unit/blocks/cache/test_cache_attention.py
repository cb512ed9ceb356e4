"""Ragged attention on a CPU against one softmax a row, for all that families ask of it."""

import pytest
import torch
from torch import Tensor, nn

from potluck.blocks.cache.arenas import KvShape
from potluck.blocks.cache.attention import attend
from potluck.blocks.cache.kv_memory import KvLayout, KvMemory, KvSequence, LayerKv
from potluck.blocks.cache.step_caches import RaggedCache
from potluck.blocks.span.step_plans import StepRow, plan_step
from potluck.protocol.blocks import Span

KEY_DIM, HEADS, KV_HEADS = 16, 8, 2
STEPS = [(20, 3, 50), (1, 30, 1), (1, 1, 1), (7, 1, 40)]  # new tokens of three rows in each step
SPAN = Span(0, 1)


class Rows:
    """Random queries, keys and values of three rows, through a memory in which every run is one page long."""

    def __init__(
        self, *, value_dim: int, window: int | None, dtype: torch.dtype, is_scattered: bool, is_int8: bool = False
    ) -> None:
        layers = (LayerKv(KvShape(KV_HEADS, KEY_DIM, value_dim), window),)
        self.memory = KvMemory(KvLayout(SPAN, layers, dtype, torch.device("cpu"), is_int8), 1000)
        if is_scattered:
            fillers = [self.memory.new_sequence() for _ in range(self.memory.num_pages)]
            for filler in fillers:
                self.memory.reserve(filler, 1)
            for filler in sorted(fillers, key=lambda filler: filler.tables[0].runs)[::2]:
                self.memory.free(filler)
        self.sequences: list[KvSequence] = [self.memory.new_sequence() for _ in range(3)]
        generator = torch.Generator().manual_seed(0)
        totals = [sum(step[row] for step in STEPS) for row in range(3)]
        self.query, self.key, self.value = (
            [torch.randn((1, heads, total, dim), generator=generator).to(dtype) for total in totals]
            for heads, dim in ((HEADS, KEY_DIM), (KV_HEADS, KEY_DIM), (KV_HEADS, value_dim))
        )

    def run(self, softcap: float | None, sinks: Tensor | None) -> list[Tensor]:
        """Attention of each row, [tokens, heads, value_dim]."""
        found: list[list[Tensor]] = [[], [], []]
        for step in STEPS:
            for sequence, tokens in zip(self.sequences, step, strict=True):
                self.memory.reserve(sequence, sequence.length + tokens)
            rows = [StepRow(sequence, tokens) for sequence, tokens in zip(self.sequences, step, strict=True)]
            cache = RaggedCache(self.memory, plan_step(self.memory, rows).rows, SPAN)
            key, value = cache.update(self._packed(self.key, step), self._packed(self.value, step), 0)
            query = self._packed(self.query, step)
            output, _ = attend(nn.Identity(), query, key, value, None, scaling=0.3, softcap=softcap, s_aux=sinks)
            for row, part in enumerate(output[0].split(list(step))):
                found[row].append(part)
            for sequence, tokens in zip(self.sequences, step, strict=True):
                self.memory.advance(sequence, tokens)
        return [torch.cat(parts) for parts in found]

    def _packed(self, tensors: list[Tensor], step: tuple[int, ...]) -> Tensor:
        parts = zip(self.sequences, tensors, step, strict=True)
        return torch.cat([tensor[:, :, row.length : row.length + tokens] for row, tensor, tokens in parts], dim=2)


def by_whole_rows(
    query: Tensor, key: Tensor, value: Tensor, window: int | None, softcap: float | None, sinks: Tensor | None
) -> Tensor:
    """Attention of one row in float64 over all of its keys, [tokens, heads, value_dim]."""
    tokens = query.shape[2]
    query, key, value = (tensor[0].double() for tensor in (query, key, value))
    key, value = (tensor.repeat_interleave(HEADS // KV_HEADS, 0) for tensor in (key, value))
    scores = query @ key.mT * 0.3
    if softcap is not None:
        scores = softcap * torch.tanh(scores / softcap)
    ages = torch.arange(tokens)[:, None] - torch.arange(tokens)
    scores = scores.masked_fill((ages < 0) | (ages >= (window or tokens)), -torch.inf)
    if sinks is not None:
        scores = torch.cat([scores, sinks.double()[:, None, None].expand(-1, tokens, 1)], dim=-1)
    return (scores.softmax(-1)[..., :tokens] @ value).transpose(0, 1)


@pytest.mark.parametrize(
    ("window", "value_dim", "softcap", "has_sinks", "is_scattered", "is_int8"),
    [
        (None, KEY_DIM, None, False, False, False),
        (None, 12, 2.0, True, True, True),
        (1, KEY_DIM, None, True, True, False),
        (10, KEY_DIM, 2.0, True, False, True),
        (10, 12, None, False, True, True),
        (33, 12, 2.0, False, True, False),
    ],
)
def test_each_token_attends_to_what_it_may_see(
    window: int | None, value_dim: int, softcap: float | None, has_sinks: bool, is_scattered: bool, is_int8: bool
) -> None:
    """Keys and values in int8 change it by their rounding alone."""
    sinks = torch.linspace(-2, 2, HEADS) if has_sinks else None
    for dtype, tolerance in ((torch.float32, 1e-5), (torch.bfloat16, 2e-2), (torch.float16, 1e-2)):
        rows = Rows(value_dim=value_dim, window=window, dtype=dtype, is_scattered=is_scattered, is_int8=is_int8)
        for row, found in enumerate(rows.run(softcap, sinks)):
            wanted = by_whole_rows(rows.query[row], rows.key[row], rows.value[row], window, softcap, sinks)
            off = found.double() - wanted
            assert found.dtype is dtype
            if is_int8:
                assert 1e-4 < off.norm() / wanted.norm() <= 1.5e-2
            else:
                assert off.abs().max() <= tolerance * wanted.abs().max()


def test_what_is_not_known_here_is_refused() -> None:
    rows = Rows(value_dim=16, window=None, dtype=torch.float32, is_scattered=False)
    tensor = rows.query[0]
    with pytest.raises(TypeError, match="cannot be given packed rows"):
        attend(nn.Identity(), tensor, tensor, tensor, None)
