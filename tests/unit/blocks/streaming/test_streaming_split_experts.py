"""Experts in RAM, apart from the rest of their layer, compute what they compute beside it; the most used are copied."""

from pathlib import Path
from typing import Any

import pytest
import torch
from helpers.spans import FolderOf, error, random, span_of, step
from torch import Tensor

from potluck.blocks.span.block_span import BlockSpan
from potluck.blocks.span.reshaping import part_of
from potluck.blocks.streaming import split_experts
from potluck.blocks.streaming.placement import Room
from potluck.blocks.streaming.split_experts import ExpertUses, SplitExperts
from potluck.protocol.blocks import Span

WHOLE = Span(0, 6)


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(split_experts, "_FIRST_CHOICES", 0)


def split_of(folder: Path, plain: BlockSpan, *, hot: float, **options: Any) -> BlockSpan:
    """The span with all experts in RAM and copies of this share of them."""
    homes = [(home.size, size) for home, size in zip(plain.weights.placement.homes, experts_of(plain), strict=True)]
    device_bytes = sum(size - int((1 - hot) * experts) for size, experts in homes)
    room = Room(device_bytes, 1 << 30, 1 << 24, folder / "blocks", takes_experts=True)
    blocks = span_of(folder, WHOLE, room=room, **options)
    assert len(blocks.weights.placement.split) == sum(size > 0 for size in experts_of(plain))
    return blocks


def experts_of(blocks: BlockSpan) -> list[int]:
    return [
        sum(each.nbytes for name, each in layer.named_parameters() if ".experts." in name) for layer in blocks.layers
    ]


def splits(blocks: BlockSpan) -> list[SplitExperts]:
    return blocks.weights._split


def outputs(blocks: BlockSpan, *, lengths: tuple[int, ...] = (5, 1, 1, 3)) -> Tensor:
    cache = blocks.new_cache()
    with torch.inference_mode():
        rows = [blocks.forward(random(2, tokens, 64, seed=tokens, dtype=blocks.dtype), cache) for tokens in lengths]
    return torch.cat(rows, dim=1)


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("hot", [0.0, 0.6])
@pytest.mark.parametrize(
    ("family", "quantization"),
    [("qwen3_moe", "none"), ("mixtral", "int4"), ("mixtral", "int8"), ("deepseek_v3", "none")],
)
def test_split_blocks_compute_what_whole_ones_do(
    family: str, quantization: str, hot: float, family_folder: FolderOf
) -> None:
    options = {"dtype": torch.bfloat16 if quantization != "none" else torch.float32, "quantization": quantization}
    folder = family_folder(family)
    plain = span_of(folder, WHOLE, **options)
    split = split_of(folder, plain, hot=hot, **options)
    tolerance = 1e-5 if quantization == "none" else 2e-2
    assert error(outputs(split), outputs(plain)) < tolerance
    assert all(bool(each._uses.hot) == bool(hot) for each in splits(split))
    rows = random(7, 64).to(plain.dtype)
    found = []
    for blocks in (plain, split):
        memory = blocks.new_memory(64)
        sequence = memory.new_sequence()
        found.append(
            torch.cat([*step(blocks, memory, [(sequence, rows[:5])]), *step(blocks, memory, [(sequence, rows[5:])])])
        )
    assert error(found[1], found[0]) < 2 * tolerance
    assert split.routers.chosen is not None
    assert torch.equal(split.routers.chosen, plain.routers.chosen)
    leaves = [random(2, 4, 64).to(plain.dtype).requires_grad_() for _ in range(2)]
    grads = [
        torch.autograd.grad(blocks.forward(leaf).float().square().sum(), leaf)[0]
        for blocks, leaf in zip((plain, split), leaves, strict=True)
    ]
    assert error(grads[1], grads[0]) < tolerance


@pytest.mark.usefixtures("at_once")
def test_what_was_given_back_can_be_taken_again_and_experts_stay_in_ram(family_folder: FolderOf) -> None:
    folder = family_folder("mixtral")
    split = split_of(folder, span_of(folder, WHOLE), hot=0.6)
    expected = outputs(split)
    held = sum(experts_of(split))
    split.weights.free()
    assert sum(each.nbytes for each in split.decoder.parameters()) == held
    assert not any(parameter.numel() for each in splits(split) for parameter in each._hot.parameters())
    assert split.weights.is_restorable
    split.weights.restore()
    assert error(outputs(split), expected) < 1e-5


@pytest.mark.usefixtures("at_once")
def test_a_device_without_room_for_copies_costs_no_step_and_they_are_made_later(
    family_folder: FolderOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = family_folder("mixtral")
    plain = span_of(folder, WHOLE)
    split = split_of(folder, plain, hot=0.6)
    move = split_experts.move_to

    def fails(*given: Any, **others: Any) -> Tensor:
        if "into" in others and others["into"].numel() == plain.layers[0].mlp.experts.down_proj[0].numel():
            raise torch.OutOfMemoryError
        return move(*given, **others)

    with monkeypatch.context() as full:
        full.setattr(split_experts, "move_to", fails)
        assert error(outputs(split), outputs(plain)) < 1e-5
        assert not any(each._slots for each in splits(split)[1:])  # loading tries the first
    assert error(outputs(split), outputs(plain)) < 1e-5
    assert all(each._slots for each in splits(split))


def test_other_mixtures_stream_and_split_blocks_have_parts_but_are_not_reshaped(
    family_folder: FolderOf, tmp_path: Path
) -> None:
    room = Room(1, 1 << 30, 1 << 24, tmp_path, is_guess=True, takes_experts=True)
    blocks = span_of(family_folder("gpt_oss"), WHOLE, room=room)
    assert (len(blocks.weights.placement.split), blocks.weights.placement.num_streamed) == (0, 6)
    folder = family_folder("mixtral")
    plain = span_of(folder, WHOLE)
    split = split_of(folder, plain, hot=0.6)
    assert not split.is_reshapable
    parts = [part_of(whole, Span(1, 3)).forward(random(2, 5, 64)) for whole in (split, plain)]
    assert error(*parts) < 1e-5


def test_copies_are_made_once_there_is_something_to_tell_and_swapped_only_for_a_clear_reason() -> None:
    uses = ExpertUses(torch.zeros(4, dtype=torch.int64), num_slots=2, swap_bytes=100)
    uses.note(torch.tensor([[3, 1]]), 10)
    assert uses.change() is None
    uses.note(torch.tensor([[3, 1]] * 9), 90)
    assert [uses.change() for _ in range(3)] == [(0, 1), (1, 3), None]
    uses.note(torch.tensor([[0, 3]] * 15), 100)
    assert uses.change() is None  # which chance could do
    uses.note(torch.tensor([[0, 3]] * 60), 99)
    assert uses.change() is None  # too soon
    uses.note(torch.tensor([[0, 3]]), 1)
    assert uses.change() == (0, 0)
    assert uses.hot == [0, 3]
