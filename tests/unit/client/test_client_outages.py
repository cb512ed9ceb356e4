"""What a caller is told while blocks are missing."""

from potluck.client.servers import Wait
from potluck.client.session.reports import Outages, wait_text
from potluck.protocol.blocks import Span
from potluck.protocol.codes import Code, RemoteError


def test_layers_are_counted_from_one() -> None:
    assert str(wait_text((Span(4, 5),))) == "Layer 5 is gone. Waiting for a server."
    assert str(wait_text((Span(0, 2), Span(4, 5)))) == "Layers 1-2 and 5 are gone. Waiting for a server."


def test_sessions_that_miss_the_same_blocks_are_told_once_and_the_end_when_none_waits() -> None:
    told: list[tuple[Span, ...]] = []
    outages = Outages()
    outages.on_wait = told.append
    outages.update("one", (Span(4, 6),))
    outages.update("other", (Span(4, 6),))
    outages.update("other", (Span(6, 8),))
    outages.update("one", ())
    outages.update("other", ())
    outages.update("other", ())
    assert told == [(Span(4, 6),), (Span(4, 8),), (Span(6, 8),), ()]


def test_a_wait_lasts_from_its_first_failure_without_the_time_of_a_suspended_client() -> None:
    wait = Wait(120.0, since_s=0.0)
    for now in (100.0, 130.0):
        wait.record_failure(RemoteError(Code.UNREACHABLE, "gone"), now)
    assert wait.left_s(150.0) == 70.0
    wait.exclude_pause(took_s=15.0, longest_s=16.0)
    assert wait.left_s(150.0) == 70.0
    wait.exclude_pause(took_s=78.0, longest_s=16.0)
    assert wait.left_s(150.0) == 130.0
