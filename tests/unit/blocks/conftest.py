from collections.abc import Iterator

import pytest
import torch
from helpers.family_fixtures import family_folder

from potluck.blocks.kernels.native import NativeKernels, native_kernels

__all__ = ["family_folder"]


@pytest.fixture
def kernels() -> NativeKernels:
    """The native kernels; without a compiler the test is skipped."""
    found = native_kernels()
    if found is None:
        pytest.skip("no kernels can be compiled here")
    return found


@pytest.fixture(params=[1, 2])
def threads(request: pytest.FixtureRequest) -> Iterator[int]:
    """Let torch compute with so many threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)
