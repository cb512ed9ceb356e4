"""Identities: libp2p's own form, private files, and signatures checked by the peer id alone."""

import contextlib
import random
import stat
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from potluck.checked_files import copy_of
from potluck.errors import UsageError
from potluck.membership.identity import Identity, base58_decode, base58_encode, is_signed_by, public_key_of

SEED = bytes(range(32))


def test_a_peer_id_holds_its_public_key() -> None:
    public = Ed25519PrivateKey.from_private_bytes(SEED).public_key().public_bytes_raw()
    identity = Identity.from_bytes(bytes.fromhex("08011240") + SEED + public)
    assert identity.peer_id.startswith("12D3Koo")
    assert public_key_of(identity.peer_id) == identity.private_key.public_key().public_bytes_raw()


def test_a_signature_counts_for_its_author_and_text_only() -> None:
    one, other = Identity.generate(), Identity.generate()
    signature = one.sign(b"text")
    assert is_signed_by(one.peer_id, b"text", signature)
    assert not is_signed_by(one.peer_id, b"text!", signature)
    assert not is_signed_by(other.peer_id, b"text", signature)
    assert not is_signed_by(one.peer_id, b"text", signature[:-1])
    assert not is_signed_by(one.peer_id, b"text", bytes(64))


@pytest.mark.parametrize(
    "peer_id", ["", "x", "QmYyQSo1c1Ym7orWxLYvCrM2EmxFTANf8wXmmE7DWjhx5N", "0OIl", "1" * 60, "é" * 52]
)
def test_ids_without_an_ed25519_key_sign_nothing(peer_id: str) -> None:
    assert public_key_of(peer_id) is None
    assert not is_signed_by(peer_id, b"", bytes(64))


def test_a_key_file_is_made_once_and_private(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "identity"
    first = Identity.load_or_create(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert Identity.load_or_create(path).peer_id == first.peer_id
    assert sorted(entry.name for entry in path.parent.iterdir()) == ["identity", "identity.copy"]
    assert stat.S_IMODE(copy_of(path).stat().st_mode) == 0o600
    path.write_bytes(b"")
    assert Identity.load_or_create(path).peer_id == first.peer_id


@pytest.mark.parametrize("content", [b"", b"junk", bytes(68), bytes.fromhex("08011240") + bytes(64)])
def test_a_file_that_is_no_key_is_refused_and_kept(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "identity"
    path.write_bytes(content)
    with pytest.raises(UsageError) as caught:
        Identity.load_or_create(path)
    assert caught.value.hint
    assert path.read_bytes() == content


def test_base58_reads_what_it_wrote_and_other_text_is_a_value_error() -> None:
    rng = random.Random(1)
    for size in range(1, 45):
        data = bytes(rng.randrange(2)) + rng.randbytes(size)
        assert base58_decode(base58_encode(data)) == data
        with contextlib.suppress(ValueError):
            base58_decode("".join(chr(rng.choice([*range(32, 127), 0x3B1, 0])) for _ in range(size)))
