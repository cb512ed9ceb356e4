"""The rule that chooses blocks for a new server."""

from __future__ import annotations

from potluck_daemon.placement.choose import choose_span

from potluck.protocol.blocks import Span


def test_first_server_takes_the_first_blocks():
    assert choose_span(8, 3, []) == Span(0, 3)


def test_uncovered_blocks_come_first():
    assert choose_span(8, 2, [(Span(0, 3), 5.0), (Span(5, 8), 1.0)]) == Span(3, 5)


def test_weakest_block_is_strengthened_when_all_are_covered():
    assert choose_span(6, 2, [(Span(0, 4), 10.0), (Span(4, 6), 2.0)]) == Span(4, 6)


def test_window_is_cut_to_the_model():
    assert choose_span(4, 9, []) == Span(0, 4)


def test_spans_beyond_the_model_do_not_matter():
    assert choose_span(4, 2, [(Span(0, 2), 1.0), (Span(3, 90), 1.0)]) == Span(1, 3)
