"""Encodings that no recorded exchange has, and bytes that no stock peer sends."""

import pytest
import torch

from potluck.petals.envelopes import read_envelope
from potluck.petals.metadata import pack, unpack
from potluck.petals.tensors import float_tensor, to_raw
from potluck.wire.errors import WireError

MEANSTD = bytes.fromhex("0a1ce6bc0000e63ca8b9a8b9a83d000000400000c040ec05513ff404354012030102032207666c6f617433322801")
VALUES = torch.arange(6.0).view(1, 2, 3)


def in_envelope(tensor: bytes) -> bytes:
    return b"\x12" + bytes([len(tensor)]) + tensor


def test_mean_and_deviation_compression_is_read_as_the_stock_library_writes_it() -> None:
    decoded = float_tensor(read_envelope(in_envelope(MEANSTD)).tensors[0], (1, 2, 3))
    expected = torch.tensor([[[1.0, 2.0, 3.0], [4.0, 4.0, 10.0]]])
    torch.testing.assert_close(decoded, expected, rtol=0, atol=1e-3)


def test_legacy_bfloat16_of_four_bytes_a_value_is_read() -> None:
    raw = to_raw(VALUES)
    raw.dtype = "bfloat16"
    decoded = float_tensor(raw, (1, 2, 3))
    assert decoded.dtype == torch.bfloat16
    assert torch.equal(decoded, VALUES.to(torch.bfloat16))


def test_an_unknown_extension_is_kept_as_its_payload() -> None:
    assert unpack(bytes.fromhex("d4 33 07"), object) == b"\x07"


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\xc1",
        b"\x92\x01",
        b"\x01\x02",  # several values
        b"\x81\x80\x01",  # a map as key
        b"\xa2\xff\xfe",  # not UTF-8
        b"\xdd\xff\xff\xff\xff",  # a list of 4 billion
        b"\xc6\xff\xff\xff\xff",  # 4 GiB of bytes
        b"\x91" * 60_000,  # nested lists
        b"\xd4\x40\x01",  # a tuple that is a number
        b"\xc0" * 70_000,
    ],
    ids=lambda body: body[:6].hex(),
)
def test_bad_msgpack_is_refused(body: bytes) -> None:
    with pytest.raises(WireError):
        unpack(body, object)


def test_extensions_nested_too_deeply_are_refused() -> None:
    value: object = 0
    for _ in range(20):
        value = (value,)
    with pytest.raises(WireError, match="nested"):
        unpack(pack(value), object)
