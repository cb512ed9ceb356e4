"""What all formats share when they write."""

from __future__ import annotations

from potluck_gateway.formats.writing import dumps


def test_half_of_a_surrogate_pair_in_a_call_does_not_break_the_answer() -> None:
    assert dumps({"arguments": '{"x": "\ud83d"}'}) == b'{"arguments":"{\\"x\\": \\"?\\"}"}'
