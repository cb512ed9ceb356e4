"""Batches are cut so that every server of a route has work, and no row is ever cut."""

import pytest
import torch

from potluck.client.rows import RowGroup, group_rows
from potluck.client.tuning.passes import cut_micro_batches


def sizes(batch: int, tokens: int, num_servers: int, most: int = 1024) -> list[int]:
    """Return the rows of each micro-batch."""
    pieces = cut_micro_batches(group_rows(None, batch, tokens), batch, num_servers, most)
    return [batch if piece.rows is None else len(piece.rows) for piece in pieces]


@pytest.mark.parametrize(
    ("batch", "tokens", "num_servers", "rows"),
    [
        (8, 128, 2, [1] * 8),
        (8, 128, 1, [2] * 4),
        (8, 16, 2, [8]),  # not worth it
        (9, 64, 4, [2, 2, 2, 2, 1]),
        (2, 5000, 3, [1, 1]),
        (64, 256, 2, [4] * 16),  # no more than 1024 tokens
        (1, 128, 2, [1]),
    ],
)
def test_a_batch_gives_four_micro_batches_a_server_unless_they_get_small(
    batch: int, tokens: int, num_servers: int, rows: list[int]
) -> None:
    assert sizes(batch, tokens, num_servers) == rows


def test_every_row_is_in_one_micro_batch_with_its_own_bounds() -> None:
    mask = torch.ones(6, 300, dtype=torch.int64)
    mask[:4, :100], mask[5, 250:] = 0, 0
    pieces = cut_micro_batches(group_rows(mask, 6, 300), 6, 2, 1024)
    found = {int(row): (piece.start, piece.end) for piece in pieces for row in piece.rows}
    assert found == {**dict.fromkeys(range(4), (100, 300)), 4: (0, 300), 5: (0, 250)}
    assert sum(len(piece.rows) for piece in pieces) == 6
    assert [len(piece.rows) for piece in pieces] == [1] * 6


def test_a_whole_group_is_not_copied() -> None:
    whole = RowGroup(None, 0, 10)
    assert cut_micro_batches((whole,), 4, 3, 1024) == [whole]
