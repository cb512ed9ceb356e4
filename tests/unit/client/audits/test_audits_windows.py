"""What a client keeps of a server's answers for audits."""

import pytest
import torch

from potluck.client.audits.windows import Windows

POSITIONS = torch.arange(200.0).reshape(1, 200, 1).repeat(2, 1, 1)  # each output is its position


def outputs(start: int, end: int) -> torch.Tensor:
    return POSITIONS[:, start:end]


def window(number: int) -> range:
    return range(32 * number, 32 * (number + 1))


def add(windows: Windows, start: int, values: torch.Tensor) -> list[range]:
    """As a session does: it looks for whole windows when one ends."""
    windows.steps.append((start, values))
    return windows.whole() if start // 32 != (start + values.shape[1]) // 32 else []


def taken(windows: Windows, number: int) -> list[float]:
    return windows.outputs(window(number), 1).flatten().tolist()


def test_single_steps_make_a_window() -> None:
    windows = Windows()
    ended = {position: add(windows, position, outputs(position, position + 1)) for position in range(64)}
    assert {position: found for position, found in ended.items() if found} == {31: [window(0)], 63: [window(1)]}
    assert taken(windows, 1) == list(range(32, 64))
    assert windows.pieces(window(1)) == (1,) * 32


def test_a_prompt_makes_several_windows_and_the_rest_begins_the_next() -> None:
    windows = Windows()
    assert add(windows, 0, outputs(0, 70)) == [window(0), window(1)]
    assert taken(windows, 1) == list(range(32, 64))
    assert windows.pieces(window(1)) == (32,)
    assert not add(windows, 70, outputs(70, 71))
    assert add(windows, 71, outputs(71, 100)) == [window(2)]
    assert taken(windows, 2) == list(range(64, 96))
    assert windows.pieces(window(2)) == (6, 1, 25)


def test_a_server_that_came_later_has_only_windows_of_its_own() -> None:
    windows = Windows()
    assert not add(windows, 40, outputs(40, 70))
    assert add(windows, 70, outputs(70, 96)) == [window(2)]
    assert taken(windows, 2) == list(range(64, 96))


@pytest.mark.parametrize("start", [30, 20], ids=["gap", "reordered rows"])
def test_a_gap_and_reordered_rows_begin_anew(start: int) -> None:
    windows = Windows()
    add(windows, 0, outputs(0, 20))
    if start == 20:
        windows.clear()
    assert not add(windows, start, outputs(start, 60))
    assert add(windows, 60, outputs(60, 65)) == [window(1)]
    assert taken(windows, 1) == list(range(32, 64))


def test_after_a_rollback_the_new_outputs_count() -> None:
    windows = Windows()
    add(windows, 0, outputs(0, 20))
    windows.truncate(10)
    assert add(windows, 10, -outputs(10, 32)) == [window(0)]
    assert taken(windows, 0) == [*range(10), *range(-10, -32, -1)]


def test_drafts_that_are_taken_back_leave_the_pieces_before_them() -> None:
    windows = Windows()
    for start, tokens, kept in [(0, 10, 10), (10, 1, 1), (11, 5, 2), (13, 1, 1), (14, 4, 1), (15, 1, 1), (16, 3, 0)]:
        add(windows, start, outputs(start, start + tokens))
        windows.truncate(start + kept)
    assert add(windows, 16, outputs(16, 32)) == [window(0)]
    assert windows.pieces(window(0)) == (10, 1, 2, 1, 1, 1, 16)
    assert taken(windows, 0) == list(range(32))


def test_after_a_rollback_into_a_finished_window_it_is_not_whole_again() -> None:
    windows = Windows()
    add(windows, 0, outputs(0, 40))
    add(windows, 40, outputs(40, 41))
    windows.truncate(10)
    assert not add(windows, 10, outputs(10, 50))
    assert add(windows, 50, outputs(50, 64)) == [window(1)]


def test_of_a_long_prompt_only_the_unfinished_window_is_kept() -> None:
    windows = Windows()
    add(windows, 0, outputs(0, 150))
    add(windows, 150, outputs(150, 200))
    assert sum(kept.untyped_storage().nbytes() for _, kept in windows.steps[:1]) == 2 * 22 * 4


def test_the_rest_is_what_no_whole_window_had() -> None:
    windows = Windows()
    assert not windows.rest()
    add(windows, 0, outputs(0, 5))
    assert windows.rest() == range(5)
    add(windows, 5, outputs(5, 70))
    assert windows.rest() == range(64, 70)
    assert windows.outputs(windows.rest(), 1).flatten().tolist() == list(range(64, 70))
    assert windows.pieces(windows.rest()) == (6,)
    windows.truncate(66)
    assert windows.rest() == range(64, 66)
    windows.clear()
    assert not windows.rest()
    add(windows, 100, outputs(100, 140))  # a server that came in the middle of a window
    assert windows.rest() == range(108, 140)
    late = Windows()
    add(late, 40, outputs(40, 63))
    assert late.rest() == range(40, 63)


def test_a_watch_ends_when_the_tokens_before_it_change() -> None:
    windows = Windows()
    add(windows, 0, outputs(0, 70))
    before, after = windows.watch(32), windows.watch(64)
    windows.truncate(64)
    assert (before.holds, after.holds) == (True, True)
    windows.truncate(40)
    assert (before.holds, after.holds) == (True, False)
    windows.clear()
    assert not before.holds
