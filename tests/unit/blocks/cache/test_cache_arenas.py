"""Keys and values in int8: how far the numbers may be off; and where an arena holds what."""

import pytest
import torch

from potluck.blocks.cache.arenas import KvArena, KvShape, decoded, encoded
from potluck.blocks.cache.pages import PAGE_TOKENS


@pytest.mark.parametrize("dims", [(1, 12), (15, 64), (128, 31)])
@pytest.mark.parametrize("size", [1e-20, 1e-3, 1.0, 1e30])
def test_each_number_is_off_by_half_a_step_of_its_vector(dims: tuple[int, int], size: float) -> None:
    generator = torch.Generator().manual_seed(dims[0])
    numbers = [torch.randn((3, 2, 7, dim), generator=generator) * size for dim in dims]
    held = encoded(*numbers)
    assert [each.dtype for each in held] == [torch.int8, torch.int8, torch.bfloat16, torch.bfloat16]
    assert [each.shape[3] for each in held] == [*dims, 1, 1]
    for found, wanted in zip(decoded(held, torch.float32), numbers, strict=True):
        steps = wanted.abs().amax(-1, keepdim=True) / 127
        most = 0.76 * steps  # a factor that was rounded down cuts the greatest number by a quarter step
        assert bool(((found - wanted).abs() <= most).all())


def test_zeros_stay_zeros_and_no_vector_counts_for_another() -> None:
    numbers = torch.zeros(2, 16)
    numbers[1] = 1e20
    found, other = decoded(encoded(numbers, numbers.flip(0)), torch.float32)
    assert bool((found[0] == 0).all())
    assert torch.allclose(found[1], numbers[1], rtol=0.01)
    assert torch.equal(other, found.flip(0))


@pytest.mark.parametrize("wrong", [float("nan"), float("inf")])
def test_what_is_no_number_stays_visible_in_its_vector_alone(wrong: float) -> None:
    numbers = torch.ones(2, 16)
    numbers[0, 3] = wrong
    found, other = decoded(encoded(numbers, torch.ones(2, 8)), torch.float32)
    assert not bool(torch.isfinite(found[0]).any())
    assert bool(torch.isfinite(found[1]).all())
    assert bool(torch.isfinite(other).all())


@pytest.mark.parametrize("stored", [torch.int8, torch.bfloat16, torch.float32])
@pytest.mark.parametrize("dim", [8, 31, 48, 64, 80, 96, 100, 112, 128, 192, 256])
def test_every_access_of_the_gpu_kernel_is_aligned_to_its_width(dim: int, stored: torch.dtype) -> None:
    """The kernel takes at once what fits into 16 bytes and has one mask: a power of two of numbers that divides `dim`.

    It reckons with heads as many slots apart as the arena has, and slots as far apart as their numbers are many.
    """
    arena = KvArena(KvShape(3, dim, 2 * dim), 2, 3 * PAGE_TOKENS, stored, torch.device("cpu"))
    for tensor in arena.tensors:
        assert tensor.is_contiguous()
        for place in tensor.unbind(0):
            assert place.data_ptr() % 16 == 0  # triton compiles another variant for other addresses
            assert place.stride(0) * place.itemsize % 16 == 0
            width = min(place.shape[2] & -place.shape[2], 16 // place.itemsize)
            assert place.stride(1) % width == 0
