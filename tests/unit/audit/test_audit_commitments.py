"""The bytes that a server signs about a window."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from potluck.audit import Commitment
from potluck.audit.fingerprint import FINGERPRINT_BYTES
from potluck.protocol.blocks import Span
from potluck.protocol.records import NumberFormat

STATED = Commitment(
    swarm=bytes(16),
    server=bytes(32),
    tab=bytes(16),
    span=Span(2, 6),
    row=0,
    window=3,
    weights="0123456789abcdef",
    format=NumberFormat("bfloat16"),
    inputs=bytes(32),
    seed=bytes(16),
    fingerprint=bytes(FINGERPRINT_BYTES),
)
OTHERS: dict[str, Any] = {
    "swarm": b"x" * 16,
    "server": b"x" * 32,
    "tab": b"x" * 16,
    "span": Span(2, 7),
    "row": 1,
    "window": 4,
    "weights": "1123456789abcdef",
    "format": NumberFormat("bfloat16", "int8"),
    "inputs": b"x" * 32,
    "seed": b"x" * 16,
    "fingerprint": b"x" * FINGERPRINT_BYTES,
}


@pytest.mark.parametrize("name", OTHERS)
def test_every_field_is_signed(name: str) -> None:
    assert replace(STATED, **{name: OTHERS[name]}).to_sign() != STATED.to_sign()


def test_texts_cannot_be_moved_between_fields() -> None:
    one = replace(STATED, format=NumberFormat("bfloat16", "int8"))
    other = replace(STATED, weights=STATED.weights + "bfloat16", format=NumberFormat("", "int8"))
    assert one.to_sign() != other.to_sign()


@pytest.mark.parametrize("name", ["swarm", "server", "tab", "inputs", "seed", "fingerprint"])
@pytest.mark.parametrize("size", [0, 15, 10_000])
def test_fields_of_another_size_are_refused(name: str, size: int) -> None:
    with pytest.raises(ValueError, match=name):
        replace(STATED, **{name: bytes(size)})


@pytest.mark.parametrize("wrong", [{"window": -1}, {"window": 1 << 40}, {"row": 1 << 16}, {"span": Span(0, 1 << 20)}])
def test_places_that_no_session_has_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="no session"):
        replace(STATED, **wrong)
