"""Plans as tensors: what is written for rows, for fillers, and again for the step after."""

import pytest
import torch

from potluck.blocks.cache.arenas import KvShape
from potluck.blocks.cache.kv_memory import KvLayout, KvMemory, LayerKv
from potluck.blocks.cache.pages import PAGE_TOKENS, Run
from potluck.blocks.kernels.decode_graphs import MAX_BUCKET, bucket_of, pad_rows
from potluck.blocks.span.step_plans import PlannedRow, StepMemory, num_pages_of, tiles_of
from potluck.protocol.blocks import Span

CPU = torch.device("cpu")
BLOCKS = Span(0, 2)


def row(position: int, tokens: int, tables: dict[int, tuple[int, tuple[Run, ...]]]) -> PlannedRow:
    return PlannedRow(BLOCKS, position, tokens, tables)


def memory_for(rows: list[PlannedRow], windows: dict[int, int | None]) -> StepMemory:
    return StepMemory([row.tokens for row in rows], windows, num_pages=num_pages_of(rows), device=CPU)


def test_each_token_has_its_position_and_the_slot_that_its_page_table_gives() -> None:
    rows = [
        row(position=30, tokens=4, tables={0: (0, ((5, 1), (9, 2)))}),  # pages 5, 9, 10
        row(position=0, tokens=1, tables={0: (0, ((2, 1),))}),
    ]
    memory = memory_for(rows, {0: None})

    memory.write(rows)

    tensors = memory.tensors
    assert tensors.positions.tolist() == [[30, 31, 32, 33, 0]]
    assert tensors.slots[0].tolist() == [9 * 16 + 14, 9 * 16 + 15, 10 * 16, 10 * 16 + 1, 2 * 16]
    assert tensors.paged[0].rows.tolist() == [[0, 4, 34, 0], [4, 1, 1, 3]]
    assert tensors.paged[0].tables.tolist() == [5, 9, 10, 2]


def test_a_table_whose_first_pages_are_gone_is_found_by_the_page_it_begins_with() -> None:
    rows = [row(position=100, tokens=1, tables={0: (5, ((7, 2),)), 3: (0, ((20, 7),))})]
    memory = memory_for(rows, {0: 20, 3: None})

    memory.write(rows)

    windowed, whole = memory.tensors.paged[0], memory.tensors.paged[3]
    assert memory.tensors.slots[0].tolist() == [8 * 16 + 4]
    assert (windowed.window, windowed.rows.tolist()) == (20, [[0, 1, 101, -5]])
    assert (whole.window, whole.rows.tolist()) == (None, [[0, 1, 101, 2]])
    assert whole.tables.tolist() == [7, 8, 20, 21, 22, 23, 24, 25, 26]


def test_memory_of_single_tokens_takes_a_row_of_several_which_share_its_table() -> None:
    rows = [
        row(position=100, tokens=1, tables={0: (5, ((7, 2),))}),
        row(position=31, tokens=3, tables={0: (1, ((20, 2),))}),
    ]
    memory = StepMemory([1] * 4, {0: 8}, num_pages=num_pages_of(rows), device=CPU)

    memory.write(rows)

    paged = memory.tensors.paged[0]
    assert memory.tensors.positions.tolist() == [[100, 31, 32, 33]]
    assert memory.tensors.slots[0].tolist() == [8 * 16 + 4, 20 * 16 + 15, 21 * 16, 21 * 16 + 1]
    assert paged.tables.tolist() == [7, 8, 20, 21]
    assert (paged.tile_tokens, paged.tiles.tolist()) == (1, [[token, 0] for token in range(4)])
    assert paged.rows.tolist() == [[0, 1, 101, -5], [1, 1, 32, 1], [2, 1, 33, 1], [3, 1, 34, 1]]


def test_the_same_memory_is_written_again_for_the_next_step() -> None:
    rows = [row(position=15, tokens=1, tables={0: (0, ((5, 2),))})]
    memory = memory_for(rows, {0: None})
    memory.write(rows)
    slots = memory.tensors.slots[0]

    memory.write([row(position=16, tokens=1, tables={0: (0, ((5, 2),))})])

    assert memory.tensors.slots[0] is slots
    assert slots.tolist() == [6 * 16]


@pytest.mark.parametrize("num_rows", [1, 2, 3])
def test_every_pointer_is_aligned_whatever_the_number_of_rows(num_rows: int) -> None:
    """Or Triton compiles its kernels again while a session waits."""
    windows: dict[int, int | None] = {0: None, 1: 8}
    tensors = StepMemory([1] * num_rows, windows, num_pages=4, device=CPU).tensors
    parts = [part for paged in tensors.paged.values() for part in (paged.rows, paged.tiles, paged.tables)]
    first = tensors.positions.data_ptr()
    assert not any((part.data_ptr() - first) % 16 for part in (*parts, *tensors.slots.values()))


def test_prefill_is_cut_into_tiles_and_decode_takes_one_a_row() -> None:
    assert tiles_of([20, 1], 16) == [(0, 0), (0, 16), (1, 0)]
    rows = [row(position, 1, {0: (0, ((position, 1),))}) for position in range(3)]
    memory = memory_for(rows, {0: None})
    memory.write(rows)
    assert memory.tensors.paged[0].tile_tokens == 1
    assert memory.tensors.paged[0].tiles.tolist() == [[0, 0], [1, 0], [2, 0]]


def test_tokens_go_into_the_smallest_bucket_that_holds_them() -> None:
    assert [bucket_of(tokens) for tokens in (1, 2, 3, 17, MAX_BUCKET)] == [1, 2, 4, 32, MAX_BUCKET]
    assert bucket_of(MAX_BUCKET + 1) is None


def test_fillers_write_to_a_page_that_no_sequence_can_get_and_attend_to_nothing() -> None:
    first = row(position=15, tokens=1, tables={0: (0, ((5, 1),)), 1: (0, ((6, 1),))})
    kinds = LayerKv(KvShape(1, 2, 2)), LayerKv(KvShape(1, 2, 2), 8)
    kept = KvMemory(KvLayout(BLOCKS, kinds, torch.float32, CPU), 64)
    held = kept.pool.allocate(kept.num_pages)  # a full pool changes nothing
    assert all(kept.spare_page not in range(start, start + count) for start, count in held)
    assert kept.arenas[0].tensors[0].shape[2] == (kept.spare_page + 1) * PAGE_TOKENS
    rows = pad_rows([first], 4, kept)
    memory = memory_for(rows, {0: None, 1: 8})

    memory.write(rows)

    assert memory.tensors.positions.tolist() == [[15, 0, 0, 0]]
    for group, page in ((0, 5), (1, 6)):
        assert memory.tensors.slots[group].tolist() == [page * 16 + 15, *[kept.spare_page * 16] * 3]
        lengths = memory.tensors.paged[group].rows[:, 2].tolist()
        assert lengths == [16, 0, 0, 0]
