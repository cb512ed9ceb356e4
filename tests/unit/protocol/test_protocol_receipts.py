"""Receipts: what is believed, and what is not."""

import struct
from dataclasses import replace

import pytest
from helpers.receipts import NOW, Session

from potluck.membership.identity import Identity
from potluck.protocol.receipts import (
    MAX_WORK,
    POINT,
    ReceiptError,
    Work,
    new_tab,
    opened_at,
    read_receipt,
    sign_receipt,
)


@pytest.fixture
def session() -> Session:
    return Session(Identity.generate())


def test_a_receipt_is_read_as_it_was_signed(session: Session) -> None:
    receipt = session.receipt(5)
    assert read_receipt(sign_receipt(receipt, session.client.sign)) == receipt
    assert receipt.work.points == 5


def test_backward_counts_double_and_parts_of_a_microcredit_add_up() -> None:
    assert Work(forward=POINT // 2, backward=POINT // 4).points == 1
    assert Work(forward=POINT - 1).points == 0


def test_every_changed_bit_of_a_receipt_is_noticed(session: Session) -> None:
    data = session.signed(5)
    for bit in range(8 * len(data)):
        changed = bytearray(data)
        changed[bit // 8] ^= 1 << bit % 8
        with pytest.raises(ReceiptError):
            read_receipt(bytes(changed))


def test_cut_padded_and_forged_receipts_are_refused(session: Session) -> None:
    data, forged = session.signed(5), sign_receipt(session.receipt(5), Identity.generate().sign)
    for bad, why in ((data[:-1], "bytes"), (data + b"\0", "bytes"), (b"", "bytes"), (forged, "not signed")):
        with pytest.raises(ReceiptError, match=why):
            read_receipt(bad)


def test_absurd_work_is_refused_though_it_is_signed(session: Session) -> None:
    receipt = replace(session.receipt(5), work=Work(tokens=MAX_WORK + 1))
    with pytest.raises(ReceiptError, match="more work"):
        read_receipt(sign_receipt(receipt, session.client.sign))
    with pytest.raises(struct.error):
        sign_receipt(replace(receipt, work=Work(tokens=1 << 64)), session.client.sign)


def test_tabs_know_when_they_were_opened_and_differ() -> None:
    assert opened_at(new_tab(NOW)) == NOW
    assert new_tab(NOW) != new_tab(NOW)
