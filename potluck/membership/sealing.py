"""Seals bytes with a password: scrypt (RFC 7914) makes the key, ChaCha20-Poly1305 (RFC 8439) encrypts.

The file begins with a header that names its version and cost. The header is authenticated, and a cost that would take
gigabytes or that a guesser would like is refused before anything is computed.
"""

from __future__ import annotations

import os
import struct

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

from potluck.errors import UsageError
from potluck.sentences import sentence

MIN_PASSWORD_CHARS = 10
MAX_PASSWORD_CHARS = 1024
_MAGIC = b"potluck backup\0"
_VERSION = 1
_HEADER = struct.Struct(">15sBB16s12s")  # magic, version, cost, salt, nonce
_COST = 17  # 2^17 * 8 * 128 bytes = 128 MiB and half a second, what OWASP's password storage sheet advises for scrypt
_LEAST_COST, _MOST_COST = 14, 20  # at most 1 GiB
_BLOCK_SIZE = 8
_DAMAGED = sentence("this is not a backup of Potluck, or it is damaged")


def seal(data: bytes, password: str) -> bytes:
    """Return `data` encrypted; takes half a second. Raises UsageError for a password that is too short or too long."""
    if not MIN_PASSWORD_CHARS <= len(password) <= MAX_PASSWORD_CHARS:
        raise UsageError(
            sentence("the password needs at least {number} letters", number=MIN_PASSWORD_CHARS),
            hint=sentence("four random words are good"),
        )
    header = _HEADER.pack(_MAGIC, _VERSION, _COST, os.urandom(16), os.urandom(12))
    return header + _cipher(header, password).encrypt(header[-12:], data, header)


def unseal(sealed: bytes, password: str) -> bytes:
    """Return the bytes that `seal` encrypted. Raises UsageError: no backup, a newer one, or another password."""
    header = sealed[: _HEADER.size]
    if len(header) < _HEADER.size:
        raise UsageError(_DAMAGED)
    magic, version, cost, _, _ = _HEADER.unpack(header)
    if magic != _MAGIC or not version >= 1 or not _LEAST_COST <= cost <= _MOST_COST:
        raise UsageError(_DAMAGED)
    if version > _VERSION:
        raise UsageError(
            sentence("this backup was made by a newer version"), hint=sentence("update Potluck, then try again")
        )
    if len(password) > MAX_PASSWORD_CHARS:
        raise UsageError(sentence("this password does not open the backup"))
    try:
        return _cipher(header, password).decrypt(header[-12:], sealed[_HEADER.size :], header)
    except InvalidTag:
        raise UsageError(
            sentence("this password does not open the backup"), hint=sentence("or the file is damaged")
        ) from None


def _cipher(header: bytes, password: str) -> ChaCha20Poly1305:
    _, _, cost, salt, _ = _HEADER.unpack(header)
    kdf = Scrypt(salt=salt, length=32, n=1 << cost, r=_BLOCK_SIZE, p=1)
    return ChaCha20Poly1305(kdf.derive(password.encode("utf-8", "surrogatepass")))
