"""Seals bytes with a password: scrypt (RFC 7914) makes the key, ChaCha20-Poly1305 (RFC 8439) encrypts.

A file begins with its version, the cost of its key, and random bytes. All are authenticated. A file with a cost that
would take gigabytes or that a guesser would like is refused before anything is computed.
"""

from __future__ import annotations

import os

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

from potluck.errors import UsageError
from potluck.sentences import sentence

MIN_PASSWORD_CHARS = 10
MAX_PASSWORD_CHARS = 1024
_MAGIC = b"potluck backup\0"
_SALT_BYTES, _NONCE_BYTES = 16, 12
_COST = 17  # 2^17 * 8 * 128 bytes = 128 MiB and half a second, what OWASP's password storage sheet advises for scrypt
_STARTS = {_MAGIC + bytes((1, cost)): cost for cost in range(14, 21)}  # version 1; at most 1 GiB
_START_BYTES = len(_MAGIC) + 2
_BLOCK_SIZE = 8


def seal(data: bytes, password: str) -> bytes:
    """Return `data` encrypted; takes half a second. Raises UsageError for a password that is too short or too long."""
    if not MIN_PASSWORD_CHARS <= len(password) <= MAX_PASSWORD_CHARS:
        raise UsageError(
            sentence("the password needs at least {number} letters", number=MIN_PASSWORD_CHARS),
            hint=sentence("four random words are good"),
        )
    header = _MAGIC + bytes((1, _COST)) + os.urandom(_SALT_BYTES + _NONCE_BYTES)
    return header + _cipher(header, password).encrypt(header[-_NONCE_BYTES:], data, header)


def unseal(sealed: bytes, password: str) -> bytes:
    """Return the bytes that `seal` encrypted. Raises UsageError: no backup, a newer one, or another password."""
    size = _START_BYTES + _SALT_BYTES + _NONCE_BYTES
    header, data = sealed[:size], sealed[size:]
    if len(header) == size and header.startswith(_MAGIC) and header[len(_MAGIC) :] >= b"\2":
        raise UsageError(
            sentence("this backup was made by a newer version"), hint=sentence("update Potluck, then try again")
        )
    if len(header) < size or header[:_START_BYTES] not in _STARTS:
        raise UsageError(sentence("this is not a backup of Potluck, or it is damaged"))
    if len(password) > MAX_PASSWORD_CHARS:
        raise UsageError(sentence("this password does not open the backup"))
    try:
        return _cipher(header, password).decrypt(header[-_NONCE_BYTES:], data, header)
    except InvalidTag:
        raise UsageError(
            sentence("this password does not open the backup"), hint=sentence("or the file is damaged")
        ) from None


def _cipher(header: bytes, password: str) -> ChaCha20Poly1305:
    salt, cost = header[_START_BYTES:-_NONCE_BYTES], _STARTS[header[:_START_BYTES]]
    kdf = Scrypt(salt=salt, length=32, n=1 << cost, r=_BLOCK_SIZE, p=1)
    return ChaCha20Poly1305(kdf.derive(password.encode("utf-8", "surrogatepass")))
