"""A backup of a person's keys: all memberships whose person's key is on this computer, encrypted with a password.

scrypt (RFC 7914) makes the key, ChaCha20-Poly1305 (RFC 8439) encrypts. A file begins with its version, the cost of its
key, and random bytes. All are authenticated. A file with a cost that would take gigabytes, or that makes guessing easy,
is refused before anything is computed.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

from potluck.errors import UsageError
from potluck.membership.membership import Membership, decode_membership, encode_membership
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


MAX_BACKUP_BYTES = 256 * 1024
_MAX_RECORDS_BYTES = 16 * 1024  # enough for a small swarm, whose founder may be its only member
_DAMAGED = sentence("this is not a backup of Potluck, or it is damaged")


def back_up(memberships: Iterable[Membership], password: str) -> bytes:
    """Return the sealed keys of a person, with what proves their membership. Raises UsageError."""
    own = [each for each in memberships if each.person_seed is not None]
    if not own:
        raise UsageError(
            sentence("no key of yours is on this computer"),
            hint=sentence("make the backup on the computer that joined the swarm first"),
        )
    sealed = seal(msgspec.msgpack.encode([encode_membership(_short(each)) for each in own]), password)
    if len(sealed) > MAX_BACKUP_BYTES:
        raise UsageError(
            sentence("you are in too many swarms for one backup"), hint=sentence("leave those that you don't use")
        )
    return sealed


def read_backup(sealed: bytes, password: str) -> list[Membership]:
    """Return the memberships of a backup. Raises UsageError: no backup, or another password."""
    if len(sealed) > MAX_BACKUP_BYTES:
        raise UsageError(_DAMAGED)
    try:
        kept = msgspec.msgpack.decode(unseal(sealed, password), type=list[bytes])
        return [decode_membership(data) for data in kept]
    except (ValueError, msgspec.MsgspecError) as error:
        raise UsageError(_DAMAGED) from error


def _short(membership: Membership) -> Membership:
    """Leave out what members will tell anew. Where it is restored, leaders open chains of their own."""
    size = sum(map(len, membership.records))
    records = membership.records if size <= _MAX_RECORDS_BYTES else ()
    return replace(membership, records=records, reports=(), chains=())
