"""Who a node is: an Ed25519 key in libp2p's own form, and signatures that a peer id alone can verify.

The peer id of an Ed25519 key contains the public key (libp2p peer id specification, "identity" multihash), so a signed
record needs no certificate beside it. Imports neither hivemind nor torch.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from potluck.checked_files import CheckedFile, DamagedError, copy_of
from potluck.errors import UsageError
from potluck.protocol.blocks import PeerId
from potluck.protocol.signatures import is_by
from potluck.sentences import sentence

SIGNATURE_BYTES = 64
_PRIVATE_HEADER = bytes.fromhex(
    "08011240"
)  # protobuf PrivateKey {type: Ed25519, data: 64 bytes of seed and public key}
_PUBLIC_HEADER = bytes.fromhex(
    "002408011220"
)  # identity multihash of protobuf PublicKey {type: Ed25519, data: 32 bytes}
_BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_BASE58_DIGITS = {letter: digit for digit, letter in enumerate(_BASE58)}
_MAX_PEER_ID_LETTERS = 64  # Ed25519 ids have 52, RSA ones 46
_MAX_VERDICTS = 8192  # verdicts kept, about 1 MB
_verdicts: dict[bytes, bool] = {}


@dataclass(frozen=True, slots=True)
class Identity:
    """A private key and the peer id that belongs to it."""

    peer_id: PeerId
    private_key: Ed25519PrivateKey = field(repr=False)

    @classmethod
    def generate(cls) -> Identity:
        return cls._of(Ed25519PrivateKey.generate())

    @classmethod
    def from_bytes(cls, data: bytes) -> Identity:
        """Read libp2p's PrivateKey protobuf; raises ValueError if it is not an Ed25519 key with its own public half."""
        if len(data) != len(_PRIVATE_HEADER) + 64 or not data.startswith(_PRIVATE_HEADER):
            raise ValueError("not an Ed25519 libp2p private key")
        identity = cls._of(Ed25519PrivateKey.from_private_bytes(data[4:36]))
        if identity.to_bytes() != data:
            raise ValueError("the public half does not belong to the private half")
        return identity

    @classmethod
    def load_or_create(cls, path: Path) -> Identity:
        """Read the key at `path`, or make one there, readable by its owner only.

        Raises:
            UsageError: the file cannot be read or written, or holds something else.
        """
        try:
            return cls.file(path).read_or_create(cls.generate)
        except OSError as error:
            raise UsageError(
                sentence("cannot use the identity file {path}: {why}", path=path, why=error.strerror)
            ) from error
        except DamagedError as error:
            hint = f"restore it from a backup, or move it and {copy_of(path).name} away to get a new identity"
            raise UsageError(error.sentence, hint=hint) from error

    @classmethod
    def file(cls, path: Path) -> CheckedFile[Identity]:
        """Return the file of the key at `path`, with its checked copy."""
        return CheckedFile(path, cls.from_bytes, cls.to_bytes)

    def to_bytes(self) -> bytes:
        return _PRIVATE_HEADER + self.private_key.private_bytes_raw() + self.private_key.public_key().public_bytes_raw()

    @property
    def public_key(self) -> bytes:
        """Return the 32 bytes of the public key."""
        return self.private_key.public_key().public_bytes_raw()

    def sign(self, data: bytes) -> bytes:
        return self.private_key.sign(data)

    @classmethod
    def _of(cls, key: Ed25519PrivateKey) -> Identity:
        return cls(peer_id_of(key.public_key().public_bytes_raw()), key)


def is_signed_by(peer_id: str, data: bytes, signature: bytes) -> bool:
    """Return whether `signature` over `data` is by the key inside `peer_id`; False for ids that hold no Ed25519 key.

    Verdicts are remembered: the same record comes from several replicas, and again at every reading.
    """
    question = hashlib.sha256(b"%d:%b%b%b" % (len(data), data, signature, peer_id.encode())).digest()
    verdict = _verdicts.get(question)
    if verdict is None:
        if len(_verdicts) >= _MAX_VERDICTS:
            _verdicts.clear()
        key = public_key_of(peer_id)
        verdict = _verdicts[question] = key is not None and is_by(key, data, signature)
    return verdict


@lru_cache(maxsize=4096)  # every call and stream looks up its payer, and decoding takes longer than the rest of that
def public_key_of(peer_id: str) -> bytes | None:
    """Return the 32 bytes of the Ed25519 key inside a peer id, or None (RSA ids hold only a hash)."""
    try:
        raw = base58_decode(peer_id)
    except ValueError:
        return None
    if len(raw) != len(_PUBLIC_HEADER) + 32 or not raw.startswith(_PUBLIC_HEADER):
        return None
    return raw[len(_PUBLIC_HEADER) :]


def peer_id_of(key: bytes) -> PeerId:
    """Return the peer id that holds this Ed25519 public key."""
    return PeerId(base58_encode(_PUBLIC_HEADER + key))


def base58_encode(data: bytes) -> str:
    zeros = len(data) - len(data.lstrip(b"\0"))
    number = int.from_bytes(data, "big")
    letters = []
    while number:
        number, digit = divmod(number, 58)
        letters.append(_BASE58[digit])
    return "1" * zeros + "".join(reversed(letters))


def base58_decode(text: str) -> bytes:
    """Return the bytes of a base58 text. Raises ValueError for anything that cannot be a peer id."""
    if not 0 < len(text) <= _MAX_PEER_ID_LETTERS:
        raise ValueError("not a peer id: wrong length")
    number = 0
    for letter in text:
        if letter not in _BASE58_DIGITS:
            raise ValueError("not a peer id: a letter outside base58")
        number = number * 58 + _BASE58_DIGITS[letter]
    zeros = len(text) - len(text.lstrip("1"))
    return b"\0" * zeros + number.to_bytes((number.bit_length() + 7) // 8, "big")
