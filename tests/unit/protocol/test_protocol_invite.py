"""Swarms, invites and membership proofs."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import random
from dataclasses import replace

import msgpack
import pytest

from potluck.errors import UsageError
from potluck.protocol.blocks import PeerId
from potluck.protocol.invite import decode_invite, encode_invite, new_swarm
from potluck.protocol.membership import call_proof, is_call_allowed, is_record_of_member, record_proof

PEER = "/ip4/192.0.2.7/tcp/31330/p2p/12D3KooWPjceQrSwdWXPyLLeABRXmuqt69Rg3sBYbU1Nft9HyQ6X"
PRIVATE = replace(new_swarm("home", "org/model-1.5B", 24, "v2"), bootstrap_peers=(PEER,))
OPEN = new_swarm("all", "org/model", 80, open=True, prefix="model-hf")
ALICE, BOB = PeerId("12D3KooAlice"), PeerId("12D3KooBob")


def packed(fields: object, version: int = 1) -> str:
    """An invite with a right checksum around anything."""
    body = msgpack.packb(fields)
    raw = hashlib.sha256(body).digest()[:4] + body
    return f"potluck{version}:" + base64.urlsafe_b64encode(raw).decode().rstrip("=")


def fields() -> dict[str, object]:
    return {
        "name": "home", "model": "m", "blocks": 8, "prefix": "_home-1",
        "revision": "main", "peers": [PEER], "key": bytes(32),
    }  # fmt: skip


@pytest.mark.parametrize("swarm", [PRIVATE, OPEN])
def test_an_invite_holds_the_whole_swarm(swarm: object) -> None:
    assert decode_invite(encode_invite(swarm)) == swarm  # type: ignore[arg-type]


def test_an_invite_survives_line_breaks_and_spaces() -> None:
    text = encode_invite(PRIVATE)
    assert decode_invite("  " + "\n ".join(text[i : i + 30] for i in range(0, len(text), 30)) + "\n") == PRIVATE


def test_every_truncated_invite_is_refused_with_a_hint() -> None:
    text = encode_invite(PRIVATE)
    for length in range(len(text)):
        with pytest.raises(UsageError) as caught:
            decode_invite(text[:length])
        assert caught.value.hint


def test_every_wrong_letter_is_noticed() -> None:
    text = encode_invite(PRIVATE)
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    rng = random.Random(5)
    start = text.index(":") + 1
    for index in range(start, len(text) - 1):  # the last letter may hold padding bits that nobody reads
        wrong = rng.choice([letter for letter in letters if letter != text[index]])
        with pytest.raises(UsageError):
            decode_invite(text[:index] + wrong + text[index + 1 :])


def test_an_invite_of_a_newer_version_asks_to_update() -> None:
    with pytest.raises(UsageError) as caught:
        decode_invite(packed(fields(), version=2))
    assert caught.value.hint is not None
    assert "update" in caught.value.hint


def test_unknown_fields_of_a_newer_program_are_ignored() -> None:
    assert decode_invite(packed({**fields(), "motto": "eat together"})).name == "home"


@pytest.mark.parametrize(
    "change",
    [
        {"name": 5}, {"name": "a b"}, {"name": ""}, {"model": ""}, {"model": "x" * 301}, {"model": "a\nb"},
        {"blocks": 0}, {"blocks": True}, {"blocks": 1e3}, {"blocks": 10**9}, {"prefix": "a.b"}, {"prefix": "a b"},
        {"prefix": None},
        {"revision": None}, {"peers": PEER}, {"peers": [5]}, {"peers": ["/ip4/1.2.3.4/tcp/5"]}, {"peers": [PEER] * 17},
        {"peers": ["-evil=1/p2p/" + "1" * 46]}, {"peers": [PEER + "," + PEER]}, {"key": b"short"}, {"key": "x" * 32},
    ],
)  # fmt: skip
def test_impossible_fields_are_refused(change: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        decode_invite(packed({**fields(), **change}))


@pytest.mark.parametrize("content", [[], 1, None, b"", "text", {1: 2}, {}])
def test_other_content_is_refused(content: object) -> None:
    with pytest.raises(UsageError):
        decode_invite(packed(content))


def test_any_text_is_an_invite_or_a_usage_error() -> None:
    rng = random.Random(6)
    good = encode_invite(PRIVATE)
    for _ in range(2000):
        text = bytearray(good, "ascii")
        for _ in range(rng.randrange(1, 6)):
            text[rng.randrange(len(text))] = rng.randrange(32, 127)
        noise = rng.randbytes(rng.randrange(200)).decode("latin-1")
        for candidate in (text.decode(), noise, "potluck1:" + noise, packed(rng.randbytes(20)), good * 200):
            with contextlib.suppress(UsageError):
                assert decode_invite(candidate) in (PRIVATE, OPEN)


def test_private_swarms_have_keys_and_prefixes_of_their_own() -> None:
    one, other = new_swarm("home", "m", 4), new_swarm("home", "m", 4)
    assert one.prefix != other.prefix
    assert one.prefix.startswith("_home-")
    assert one.membership_key != other.membership_key
    assert not one.is_open


def test_an_open_swarm_uses_the_stock_prefix_and_no_key() -> None:
    assert OPEN.is_open
    assert OPEN.prefix == "model-hf"
    with pytest.raises(UsageError):
        new_swarm("all", "m", 4, open=True)


@pytest.mark.parametrize("name", ["", "-x", "a b", "ü", "x" * 41, "a.b", "a/b"])
def test_bad_names_are_refused_with_a_hint(name: str) -> None:
    with pytest.raises(UsageError) as caught:
        new_swarm(name, "m", 4)
    assert caught.value.hint


def test_the_key_is_not_in_the_repr() -> None:
    assert PRIVATE.membership_key is not None
    assert "membership_key" not in repr(PRIVATE)
    assert "membership_key" not in str(PRIVATE)


def test_a_call_proof_counts_for_one_pair_and_one_swarm() -> None:
    proof = call_proof(PRIVATE, caller=ALICE, callee=BOB)
    assert is_call_allowed(PRIVATE, caller=ALICE, callee=BOB, proof=proof)
    assert not is_call_allowed(PRIVATE, caller=BOB, callee=ALICE, proof=proof)
    assert not is_call_allowed(PRIVATE, caller=PeerId("x"), callee=BOB, proof=proof)
    assert not is_call_allowed(PRIVATE, caller=ALICE, callee=BOB, proof=None)
    assert not is_call_allowed(new_swarm("home", "m", 24), caller=ALICE, callee=BOB, proof=proof)


def test_an_open_swarm_allows_every_call() -> None:
    assert call_proof(OPEN, caller=ALICE, callee=BOB) is None
    assert is_call_allowed(OPEN, caller=ALICE, callee=BOB, proof=None)
    assert is_call_allowed(OPEN, caller=ALICE, callee=BOB, proof=b"anything")


def test_a_record_proof_covers_the_signed_bytes() -> None:
    proof = record_proof(PRIVATE, b"record")
    assert is_record_of_member(PRIVATE, b"record", proof)
    assert not is_record_of_member(PRIVATE, b"record!", proof)
    assert not is_record_of_member(PRIVATE, b"record", None)
    assert proof != call_proof(PRIVATE, caller=ALICE, callee=BOB)
