"""What a caller is told while blocks are missing."""

from __future__ import annotations

import pytest

from potluck.client.outages import Outages, wait_text
from potluck.protocol.blocks import Span


@pytest.mark.parametrize(
    ("missing", "text"),
    [
        pytest.param((Span(4, 8),), "Layers 5-8 are gone. Waiting for a server.", id="several"),
        pytest.param((Span(4, 5),), "Layer 5 is gone. Waiting for a server.", id="one"),
        pytest.param((Span(0, 2), Span(4, 5)), "Layers 1-2 and 5 are gone. Waiting for a server.", id="gaps"),
    ],
)
def test_layers_are_counted_from_one(missing: tuple[Span, ...], text: str) -> None:
    assert wait_text(missing) == text


def test_sessions_that_miss_the_same_blocks_are_told_once_and_the_end_when_none_waits() -> None:
    told: list[tuple[Span, ...]] = []
    outages = Outages()
    outages.on_wait = told.append
    outages.note("one", (Span(4, 6),))
    outages.note("other", (Span(4, 6),))
    outages.note("other", (Span(6, 8),))
    outages.note("one", ())
    outages.note("other", ())
    outages.note("other", ())
    assert told == [(Span(4, 6),), (Span(4, 8),), (Span(6, 8),), ()]
