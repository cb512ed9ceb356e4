"""The figure `codecs`: it sees a codec written by hand, and what is listed is still there."""

import ast

import pytest

from benchmarks.code.codecs import FOREIGN, NO_FIELDS, codec_calls, codecs, hand_codecs
from benchmarks.code.house import product_trees

MUST = {"potluck.protocol.receipts", "potluck.wire.message"}
"""Receipts are signed as bytes of one length; the head of a message lets a step's tensors be found without a copy."""


@pytest.mark.parametrize(
    ("source", "calls"),
    [
        ("import json\ndef read(data): return json.loads(data)['at']", ["json.loads"]),
        ("import json as plain\ntext = plain.dumps({})", ["json.dumps"]),
        ("from struct import Struct\nHEAD = Struct('>HB')", ["struct.Struct"]),
        ("import msgspec\ndata = msgspec.json.encode(1)", ["msgspec.json.encode"]),
        ("import pickle\ndata = pickle.dumps(1)", ["pickle.dumps"]),
        ("head = (1 | size << 8).to_bytes(8, 'little')", ["to_bytes"]),
        ("size = int.from_bytes(data[:8])", ["from_bytes"]),
        ("import json\ntry: ...\nexcept json.JSONDecodeError: ...", []),
        ("from potluck.protocol.codec import decode\nvalue = decode(int, b'1')", []),
        ("data = identity.to_bytes(), self.to_bytes(value)", []),
    ],
)
def test_a_planted_codec_is_counted(source: str, calls: list[str]) -> None:
    assert hand_codecs({"planted": ast.parse(source)}) == ({"planted": calls} if calls else {})


def test_listed_modules_exist_and_still_do_what_the_list_says() -> None:
    modules = product_trees()
    assert [module for module in (*FOREIGN, *NO_FIELDS) if not list(codec_calls(modules[module]))] == []
    assert not FOREIGN.keys() & NO_FIELDS.keys()


def test_the_modules_that_must_have_a_codec_of_their_own_are_counted() -> None:
    assert codecs(False).detail["modules"].keys() >= MUST
