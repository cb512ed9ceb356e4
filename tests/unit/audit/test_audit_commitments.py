"""Tests that both sides of a session hash the same windows, and that a signature binds every value of them."""

import numpy as np
import pytest

from potluck.audit import WINDOW_TOKENS
from potluck.audit.commitments import COMMITMENT_BYTES, Commitment, Terms, Values, WindowLog, chain_of, commit, leaf
from potluck.membership.identity import Identity
from potluck.protocol.blocks import Span
from potluck.protocol.records import NumberFormat

HIDDEN = 5
TERMS = Terms(bytes(16), Span(0, 2), "0" * 16, NumberFormat("float32"))
DTYPES = ("float32", "float32")
RNG = np.random.default_rng(0)


def values(tokens: int, rows: int = 1) -> Values:
    return Values("float32", rows, tokens, RNG.standard_normal((rows, tokens, HIDDEN)).astype("<f4").tobytes())


def test_a_window_is_hashed_as_it_was_computed_in_whatever_steps() -> None:
    inputs, outputs = values(2 * WINDOW_TOKENS, rows=3), values(2 * WINDOW_TOKENS, rows=3)
    log = WindowLog()
    found, position = [], 0
    for tokens in (7, 1, 30, 26):
        parts = [
            Values("float32", 3, tokens, b"".join(each.row(row, position, position + tokens) for row in range(3)))
            for each in (inputs, outputs)
        ]
        windows = log.note(position, *parts)
        found += log.leaves(windows)[1] if windows else []
        position += tokens
    row = 1
    chain = chain_of(inputs.row(row, 0, 2 * WINDOW_TOKENS), 2)
    second = leaf(chain, [outputs.row(row, WINDOW_TOKENS, 2 * WINDOW_TOKENS)], (6, 26), DTYPES)
    assert found[3 + row] == second
    assert found[3 + row] != leaf(chain, [outputs.row(0, WINDOW_TOKENS, 2 * WINDOW_TOKENS)], (6, 26), DTYPES)


def test_drafts_that_are_rejected_are_hashed_again() -> None:
    log, other = WindowLog(), WindowLog()
    head, tail = (values(30), values(30)), (values(2), values(2))
    log.note(0, *head)
    first = log.leaves(log.note(30, values(6), values(6)))
    again = log.leaves(log.note(30, *tail))
    other.note(0, *head)
    assert again == other.leaves(other.note(30, *tail))
    assert again != first


@pytest.mark.parametrize(("before", "position", "windows"), [(320, 0, range(1)), (320, 7, range(0)), (0, 8, range(0))])
def test_a_session_begins_anew_at_its_first_token_and_nothing_is_signed_after_a_long_way_back_or_a_gap(
    before: int, position: int, windows: range
) -> None:
    log = WindowLog()
    if before:
        log.leaves(log.note(0, values(before), values(before)))
    assert log.note(position, values(60), values(60)) == windows
    assert log.is_broken is not bool(windows)


def test_a_commitment_binds_terms_time_windows_and_values() -> None:
    server, other = Identity.generate(), Identity.generate()
    leaves = [bytes([number]) * 32 for number in range(4)]
    made = commit(TERMS, 3, 4, leaves, 1000, server.sign)
    data = made.encode()
    assert len(data) == COMMITMENT_BYTES == 76
    read = Commitment.decode(data)
    assert read.is_signed(TERMS, leaves, server.public_key)
    assert not read.is_signed(TERMS, leaves[::-1], server.public_key)
    assert not read.is_signed(TERMS, leaves, other.public_key)
    assert not Commitment(1001, 3, 4, read.signature).is_signed(TERMS, leaves, server.public_key)
    assert not Commitment(1000, 4, 4, read.signature).is_signed(TERMS, leaves, server.public_key)
    quantized = Terms(bytes(16), Span(0, 2), "0" * 16, NumberFormat("float32", "int8"))
    assert not read.is_signed(quantized, leaves, server.public_key)


def test_windows_whose_outputs_nobody_asked_for_are_not_signed() -> None:
    log, whole = WindowLog(), WindowLog()
    inputs, outputs = values(96), values(96)
    last = Values("float32", 1, 40, bytes(outputs.row(0, 56, 96)))
    signed, leaves = log.leaves(log.note(0, inputs, last))
    assert signed == range(2, 3)
    assert leaves == whole.leaves(whole.note(0, inputs, outputs))[1][2:]
    more = values(32), values(32)
    assert log.leaves(log.note(96, *more)) == whole.leaves(whole.note(96, *more))
