"""What a client keeps of a server's answers for audits."""

import pytest
import torch

from potluck.client.windows import Windows

POSITIONS = torch.arange(200.0).reshape(1, 200, 1).repeat(2, 1, 1)  # each output is its position


def outputs(start: int, end: int) -> torch.Tensor:
    return POSITIONS[:, start:end]


def taken(windows: Windows, window: int) -> list[float]:
    return windows.take(window, 1).flatten().tolist()


def test_single_steps_make_a_window() -> None:
    windows = Windows()
    ended = {position: list(windows.add(position, outputs(position, position + 1))) for position in range(64)}
    assert {position: found for position, found in ended.items() if found} == {31: [0], 63: [1]}
    assert taken(windows, 1) == list(range(32, 64))
    assert windows.pieces(1) == (1,) * 32


def test_a_prompt_makes_several_windows_and_the_rest_begins_the_next() -> None:
    windows = Windows()
    assert list(windows.add(0, outputs(0, 70))) == [0, 1]
    assert taken(windows, 1) == list(range(32, 64))
    assert windows.pieces(1) == (32,)
    assert not windows.add(70, outputs(70, 71))
    assert list(windows.add(71, outputs(71, 100))) == [2]
    assert taken(windows, 2) == list(range(64, 96))
    assert windows.pieces(2) == (6, 1, 25)


def test_a_server_that_came_later_has_only_windows_of_its_own() -> None:
    windows = Windows()
    assert not windows.add(40, outputs(40, 70))
    assert list(windows.add(70, outputs(70, 96))) == [2]
    assert taken(windows, 2) == list(range(64, 96))


@pytest.mark.parametrize("start", [30, 20], ids=["gap", "reordered rows"])
def test_a_gap_and_reordered_rows_begin_anew(start: int) -> None:
    windows = Windows()
    windows.add(0, outputs(0, 20))
    if start == 20:
        windows.clear()
    assert not windows.add(start, outputs(start, 60))
    assert list(windows.add(60, outputs(60, 65))) == [1]
    assert taken(windows, 1) == list(range(32, 64))


def test_after_a_rollback_the_new_outputs_count() -> None:
    windows = Windows()
    windows.add(0, outputs(0, 20))
    windows.truncate(10)
    assert list(windows.add(10, -outputs(10, 32))) == [0]
    assert taken(windows, 0) == [*range(10), *range(-10, -32, -1)]


def test_drafts_that_are_taken_back_leave_the_pieces_before_them() -> None:
    windows = Windows()
    for start, tokens, kept in [(0, 10, 10), (10, 1, 1), (11, 5, 2), (13, 1, 1), (14, 4, 1), (15, 1, 1), (16, 3, 0)]:
        windows.add(start, outputs(start, start + tokens))
        windows.truncate(start + kept)
    assert list(windows.add(16, outputs(16, 32))) == [0]
    assert windows.pieces(0) == (10, 1, 2, 1, 1, 1, 16)
    assert taken(windows, 0) == list(range(32))


def test_after_a_rollback_into_a_finished_window_it_is_not_whole_again() -> None:
    windows = Windows()
    windows.add(0, outputs(0, 40))
    windows.add(40, outputs(40, 41))
    windows.truncate(10)
    assert not windows.add(10, outputs(10, 50))
    assert list(windows.add(50, outputs(50, 64))) == [1]


def test_of_a_long_prompt_only_the_unfinished_window_is_kept() -> None:
    windows = Windows()
    windows.add(0, outputs(0, 199))
    windows.add(199, outputs(199, 200))
    assert sum(chunk.untyped_storage().nbytes() for chunk in windows._chunks[:1]) == 2 * 7 * 4
