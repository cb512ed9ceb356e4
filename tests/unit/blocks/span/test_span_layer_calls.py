"""Arguments of layers: rotary tables that depend on other tokens are not made for packed rows."""

import pytest
import torch
from torch import Tensor, nn
from transformers import LlamaConfig
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

from potluck.blocks.span.family_loop import Call, LayerCalls, Tables, are_equal, learn_calls

HIDDEN = torch.zeros((1, 4, 64))
POSITIONS = torch.tensor([[7, 3, 900, 0]])
CONFIG = LlamaConfig(hidden_size=64, num_attention_heads=4)
ROTARY = LlamaRotaryEmbedding(CONFIG)


def by_the_longest(hidden: Tensor, positions: Tensor) -> Tensor:
    return positions.max() * torch.ones((1, positions.shape[1], 4))


def one_for_all(hidden: Tensor, positions: Tensor) -> Tensor:
    return torch.ones((4, 4))


@pytest.mark.parametrize(("tables", "wanted"), [(ROTARY, True), (by_the_longest, False), (one_for_all, False)])
def test_tables_have_a_row_for_each_position_or_are_told_apart(tables: Tables, wanted: bool) -> None:
    assert LayerCalls([], [ROTARY, tables]).has_a_row_for_each_token(HIDDEN, POSITIONS) is wanted


class Decoder(nn.Module):
    """A family whose layers get `more` besides the cache and tables."""

    def __init__(self, more: object) -> None:
        super().__init__()
        self.config, self.rotary_emb, self.more = CONFIG, ROTARY, more

    def watch(self, hidden: Tensor, positions: Tensor | None, cache: object) -> list[Call]:
        assert positions is not None
        more = self.more(positions) if callable(self.more) else self.more
        return [((cache,), {"tables": ROTARY(hidden, positions), "more": more})] * 2


@pytest.mark.parametrize("more", [None, True, "full", {}, lambda positions: positions])
def test_learnt_arguments_are_those_of_the_family_at_other_positions(more: object) -> None:
    decoder, cache, other = Decoder(more), object(), object()
    calls = learn_calls(decoder, decoder.watch, HIDDEN, POSITIONS, cache)
    positions = torch.tensor([[1, 2000]])
    assert are_equal(calls.make(HIDDEN[:, :2], positions, other), decoder.watch(HIDDEN[:, :2], positions, other))


@pytest.mark.parametrize("more", [4, {"kept": 1}, torch.ones(4), lambda positions: positions.max()])
def test_other_arguments_cannot_be_learnt(more: object) -> None:
    decoder = Decoder(more)
    with pytest.raises(LookupError, match="don't explain"):
        learn_calls(decoder, decoder.watch, HIDDEN, POSITIONS, object())
