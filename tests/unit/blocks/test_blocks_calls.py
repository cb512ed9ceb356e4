"""Arguments of layers: tables of positions that were seen are looked up, and come out as if they were made."""

import pytest
import torch
from torch import Tensor
from transformers import LlamaConfig
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

from potluck.blocks import calls
from potluck.blocks.calls import KeptTables, same

HIDDEN = torch.zeros((1, 5, 64))


class Rotary:
    """A family's own tables, which count how often they are made."""

    def __init__(self) -> None:
        self.made = 0
        self._own = LlamaRotaryEmbedding(LlamaConfig(hidden_size=64, num_attention_heads=4))

    def __call__(self, hidden: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
        self.made += 1
        cos, sin = self._own(hidden, positions)
        return cos, sin


def positions(*numbers: int) -> Tensor:
    return torch.tensor([numbers])


def test_tables_that_are_looked_up_are_those_that_would_be_made() -> None:
    rotary = Rotary()
    kept = KeptTables(rotary)
    for numbers in ((0, 7, 3, 511, 7), (512, 0, 1, 2, 3), (9000, 8191, 8192, 5, 6)):
        assert same(kept(HIDDEN, positions(*numbers)), Rotary()(HIDDEN, positions(*numbers)))


def test_tables_are_made_again_only_when_a_sequence_has_twice_the_length() -> None:
    rotary = Rotary()
    kept = KeptTables(rotary)
    for position in range(1025):
        kept(HIDDEN[:, :1], positions(position))
    assert rotary.made == 3  # of 512, 1024 and 2048 positions


def test_no_more_is_kept_than_is_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "_KEPT_POSITIONS", 512)
    rotary = Rotary()
    kept = KeptTables(rotary)
    for _ in range(3):
        kept(HIDDEN[:, :2], positions(512, 4))
    assert rotary.made == 3


def test_tables_without_a_row_for_each_position_are_not_kept() -> None:
    def all_alike(hidden: Tensor, positions: Tensor) -> Tensor:
        return positions.max() * torch.ones((1, positions.shape[1], 4))

    def one_for_all(hidden: Tensor, positions: Tensor) -> Tensor:
        return torch.ones((4, 4))

    for tables in (all_alike, one_for_all):
        assert calls._kept_if_by_position(tables, HIDDEN) is tables
    assert isinstance(calls._kept_if_by_position(Rotary(), HIDDEN), KeptTables)
