"""An engine remembers which experts it chose, for the session's own client and within bounds."""

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from potluck_engine.serving.audits import ChoiceBook
from torch import Tensor

from potluck.protocol.blocks import PeerId, Span
from potluck.protocol.codes import RemoteError
from potluck.protocol.messages import choice_tokens

ANA, EVE = PeerId("ana"), PeerId("eve")
SPAN = Span(0, 2)


def step(start: int, chosen: list[list[int]] | None, order: list[int] | None = None, span: Span = SPAN) -> Any:
    """Return a step of as many rows as there are lists; each layer chose the number of a token, twice."""
    made = None if chosen is None else torch.tensor(chosen, dtype=torch.int16)[:, :, None].repeat(1, 1, 2 * len(span))
    return SimpleNamespace(
        memory=SimpleNamespace(span=span),
        start=start,
        tokens=0 if made is None else made.shape[1],
        order=None if order is None else torch.tensor(order),
        all_chosen=lambda: made,
    )


def first(found: Tensor) -> list[int]:
    assert found.shape[1:] == (2, 2)
    return found[:, 0, 0].tolist()


def test_choices_follow_the_session_through_steps_rollbacks_and_new_orders() -> None:
    book = ChoiceBook()
    book.record(ANA, "s", step(0, [[1, 2, 3], [4, 5, 6]]))
    book.record(ANA, "s", step(3, [[7], [8]]))
    assert first(book.choices_of(ANA, "s", 0, 4)) == [1, 2, 3, 7]
    assert first(book.choices_of(ANA, "s", 1, 2)) == [4, 5]
    book.record(ANA, "s", step(2, [[9], [10]], order=[1, 0]))
    assert first(book.choices_of(ANA, "s", 0, 3)) == [4, 5, 9]
    book.record(ANA, "s", step(3, None, order=[1, 0]))
    assert first(book.choices_of(ANA, "s", 0, 3)) == [1, 2, 10]
    book.record(ANA, "s", step(0, [[3], [3]]))
    assert first(book.choices_of(ANA, "s", 0, 1)) == [3]


def test_only_the_sessions_client_is_told_and_only_what_is_known() -> None:
    book = ChoiceBook()
    book.record(ANA, "s", step(0, [[1, 2]]))
    for client, session, row, tokens in ((EVE, "s", 0, 2), (ANA, "t", 0, 2), (ANA, "s", 1, 2), (ANA, "s", 0, 3)):
        with pytest.raises(RemoteError, match="not known any more"):
            book.choices_of(client, session, row, tokens)


def test_a_session_of_which_a_part_is_missing_is_not_told() -> None:
    book = ChoiceBook()
    book.record(ANA, "s", step(0, [[1, 2]]))
    book.record(ANA, "s", step(5, [[3]]))
    with pytest.raises(RemoteError):
        book.choices_of(ANA, "s", 0, 1)


def test_sessions_that_are_too_long_and_those_that_nobody_used_make_room() -> None:
    book = ChoiceBook(max_bytes=100)
    book.record(ANA, "long", step(0, [list(range(choice_tokens(2) + 1))]))
    with pytest.raises(RemoteError):
        book.choices_of(ANA, "long", 0, 1)
    for name in ("first", "second", "third"):
        book.record(ANA, name, step(0, [[1, 2, 3, 4, 5, 6]]))  # 48 bytes
    with pytest.raises(RemoteError):
        book.choices_of(ANA, "first", 0, 1)
    assert first(book.choices_of(ANA, "third", 0, 1)) == [1]


def test_ended_sessions_are_told_for_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = 1000.0
    monkeypatch.setattr("potluck_engine.serving.audits.time.monotonic", lambda: now_s)
    book = ChoiceBook()
    book.record(ANA, "s", step(0, [[1, 2]]))
    book.mark_ended(ANA, "s")
    now_s += 59.0
    book.mark_ended(ANA, "other")
    assert first(book.choices_of(ANA, "s", 0, 2)) == [1, 2]
    now_s += 2.0
    book.mark_ended(ANA, "other")
    with pytest.raises(RemoteError):
        book.choices_of(ANA, "s", 0, 2)


@pytest.mark.parametrize("layers", [1, 4, 48, 100])
def test_all_that_is_kept_of_a_row_fits_in_one_message(layers: int) -> None:
    assert choice_tokens(layers) * layers * 16 * 2 <= 4 << 20
