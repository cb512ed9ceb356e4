"""Keys and values in int8: how far the numbers of a slot may be off."""

import pytest
import torch

from potluck.blocks.slots import decoded, encoded, slot_size


@pytest.mark.parametrize("dim", [1, 12, 15, 64, 128])
@pytest.mark.parametrize("size", [1e-20, 1e-3, 1.0, 1e30])
def test_each_number_is_off_by_half_a_step_of_its_slot(dim: int, size: float) -> None:
    numbers = torch.randn((3, 2, 7, dim), generator=torch.Generator().manual_seed(dim)) * size
    slots = encoded(numbers)
    assert slots.dtype is torch.int8
    assert slots.shape == (3, 2, 7, slot_size(dim))
    steps = numbers.abs().amax(-1, keepdim=True) / 127
    off = (decoded(slots, dim, torch.float32) - numbers).abs()
    assert bool(
        (off <= 0.76 * steps).all()
    )  # a factor that was rounded down cuts the greatest number by a quarter step


def test_zeros_stay_zeros_and_no_slot_counts_for_another() -> None:
    numbers = torch.zeros(2, 16)
    numbers[1] = 1e20
    found = decoded(encoded(numbers), 16, torch.float32)
    assert bool((found[0] == 0).all())
    assert torch.allclose(found[1], numbers[1], rtol=0.01)


@pytest.mark.parametrize("wrong", [float("nan"), float("inf")])
def test_what_is_no_number_stays_visible_in_its_slot_alone(wrong: float) -> None:
    numbers = torch.ones(2, 16)
    numbers[0, 3] = wrong
    found = decoded(encoded(numbers), 16, torch.float32)
    assert not bool(torch.isfinite(found[0]).any())
    assert bool(torch.isfinite(found[1]).all())
