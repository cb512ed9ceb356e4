"""One token's attention in C: torch's numbers, whatever lies beside the token."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F  # noqa: N812 (the field's name)
from torch import Tensor

from potluck.blocks.native_library import NativeKernels, can_attend
from potluck.blocks.slots import decoded, encoded


def random(*shape: int, seed: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(torch.bfloat16)


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("is_int8", [False, True])
@pytest.mark.parametrize("group", [1, 3, 4, 6])
@pytest.mark.parametrize(("tokens", "key_dim", "value_dim"), [(1, 64, 64), (37, 128, 128), (300, 48, 32)])
def test_it_computes_what_torch_computes(
    group: int, tokens: int, key_dim: int, value_dim: int, is_int8: bool, kernels: NativeKernels
) -> None:
    query = random(1, 3, group, key_dim, seed=0)
    keys, values = random(1, 3, tokens + 5, key_dim, seed=1), random(1, 3, tokens + 9, value_dim, seed=2)
    if is_int8:
        keys, values = encoded(keys), encoded(values)
    keys, values = keys[:, :, 2 : 2 + tokens], values[:, :, 4 : 4 + tokens]  # a part of an arena
    assert can_attend(keys, values)
    output, sums = kernels.attention(query, keys, values, 0.3)
    if is_int8:
        keys, values = decoded(keys, key_dim, torch.float32), decoded(values, value_dim, torch.float32)
    scores = query.float() @ keys.float().transpose(2, 3) * 0.3
    torch.testing.assert_close(sums, scores.logsumexp(-1))
    wanted = F.scaled_dot_product_attention(query.float(), keys.float(), values.float(), scale=0.3)
    torch.testing.assert_close(output, wanted, rtol=1e-4, atol=1e-5)


def test_great_scores_do_not_overflow(kernels: NativeKernels) -> None:
    query, keys, values = (random(1, 1, count, 64, seed=count) for count in (1, 9, 9))
    output, sums = kernels.attention(query, keys, values, 1e4)
    assert sums.isfinite().all()
    best = int((query.float() @ keys.float().transpose(2, 3)).argmax())
    torch.testing.assert_close(output[0, 0, 0], values[0, 0, best].float())


def test_what_is_no_number_stays_visible_and_with_its_head(kernels: NativeKernels) -> None:
    query, keys, values = random(1, 2, 1, 64, seed=0), random(1, 2, 7, 64, seed=1), random(1, 2, 7, 64, seed=2)
    keys[0, 0, 3, 5] = float("nan")
    output, _ = kernels.attention(query, keys, values, 0.1)
    assert output[0, 0].isnan().all()
    assert output[0, 1].isfinite().all()


@pytest.mark.parametrize(
    ("keys", "values"),
    [
        (torch.zeros(1, 1, 2, 64), torch.zeros(1, 1, 2, 64)),
        (torch.zeros(1, 1, 2, 40, dtype=torch.bfloat16), torch.zeros(1, 1, 2, 64, dtype=torch.bfloat16)),
        (torch.zeros(1, 1, 2, 64, dtype=torch.bfloat16), torch.zeros(1, 1, 2, 1024, dtype=torch.bfloat16)),
        (torch.zeros(1, 1, 2, 42, dtype=torch.int8), torch.zeros(1, 1, 2, 66, dtype=torch.int8)),
        (torch.zeros(1, 1, 64, 2, dtype=torch.bfloat16).mT, torch.zeros(1, 1, 2, 64, dtype=torch.bfloat16)),
    ],
    ids=["float32", "40 numbers", "too wide", "40 numbers in int8", "numbers apart"],
)
def test_other_shapes_are_left_to_torch(keys: Tensor, values: Tensor) -> None:
    assert not can_attend(keys, values)
