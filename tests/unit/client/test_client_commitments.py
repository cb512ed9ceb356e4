"""A client checks what a server signs, and pays for what could be audited."""

import pytest
import torch
from potluck_engine.notary import SessionNotes
from torch import Tensor

from potluck.audit import WINDOW_TOKENS
from potluck.audit.commitments import MAX_LEAVES, Terms, WindowLog
from potluck.client.commitments import Commitments
from potluck.membership.identity import Identity
from potluck.protocol.blocks import Span
from potluck.protocol.codes import Code, RemoteError
from potluck.protocol.messages import StepReply
from potluck.protocol.records import NumberFormat

SERVER = Identity.generate()
TERMS = Terms(bytes(16), Span(0, 2), "0" * 16, NumberFormat("float32"))
ROWS, HIDDEN = 2, 5


class Both:
    """A session as its client and its server see it."""

    def __init__(self, *, pays_unsigned: bool = True) -> None:
        self.server = SessionNotes(TERMS, SERVER, WindowLog())
        self.client = Commitments(TERMS, SERVER.public_key, pays_unsigned=pays_unsigned)
        self.position = 0

    def step(self, tokens: int, *, answer: Tensor | None = None, signs: bool = True) -> None:
        """Take a step; the server answers `answer` instead of what it signs."""
        inputs, outputs = torch.randn(2, ROWS, tokens, HIDDEN)
        signed = self.server.sign(self.position, inputs, outputs, is_plain=True)
        reply = StepReply(outputs if answer is None else answer, commitment=signed if signs else None)
        self.client.note(self.position, inputs, reply)
        self.position += tokens


def test_signed_windows_are_kept_and_paid() -> None:
    both = Both()
    both.step(40)
    assert both.client.held_back == ROWS * 8
    assert both.client.of(0) is not None
    assert both.client.of(1) is None
    both.step(24)
    assert both.client.held_back == 0
    signed = both.client.of(1)
    assert signed is not None
    assert len(signed.leaves) == ROWS


def test_a_server_that_signs_something_else_is_left() -> None:
    both = Both()
    both.step(31)
    with pytest.raises(RemoteError) as refused:
        both.step(1, answer=torch.randn(ROWS, 1, HIDDEN))
    assert refused.value.code is Code.BAD_REPLY


def test_windows_that_a_server_stops_to_sign_are_not_paid() -> None:
    both = Both()
    both.step(32)
    for _ in range(2):
        both.step(32, signs=False)
    assert both.client.held_back == both.client.held_back_at_end == ROWS * 64


def test_the_unfinished_window_is_paid_at_the_end() -> None:
    both = Both()
    both.step(50)
    assert (both.client.held_back, both.client.held_back_at_end) == (ROWS * 18, 0)


def test_servers_of_older_versions_are_paid_as_before() -> None:
    both = Both()
    for _ in range(3):
        both.step(32, signs=False)
    assert both.client.held_back == both.client.held_back_at_end == 0


def test_a_server_that_never_signs_is_not_paid_where_signatures_are_a_must() -> None:
    both = Both(pays_unsigned=False)
    both.step(31, signs=False)
    assert not both.client.owes
    both.step(33, signs=False)
    assert both.client.owes
    assert both.client.held_back == both.client.held_back_at_end == ROWS * 64


def test_more_rows_than_a_signature_covers_are_paid_unsigned() -> None:
    both = Both(pays_unsigned=False)
    both.step(WINDOW_TOKENS * (MAX_LEAVES // ROWS + 1))
    assert (both.client.held_back, both.client.owes) == (0, False)
