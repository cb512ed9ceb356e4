"""A backup of a person's keys: all memberships whose person's key is on this computer, sealed with a password."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import replace

import msgpack

from potluck.errors import UsageError
from potluck.membership.membership import Membership, decode_membership, encode_membership
from potluck.membership.sealing import seal, unseal

MAX_BACKUP_BYTES = 40 * 1024
_DAMAGED = "this is not a backup of Potluck, or it is damaged"


def back_up(memberships: Iterable[Membership], password: str) -> bytes:
    """Return the sealed keys of a person, with what proves their membership. Raises UsageError."""
    own = [each for each in memberships if each.person_seed is not None]
    if not own:
        raise UsageError(
            "no key of yours is on this computer", hint="make the backup on the computer that joined the swarm first"
        )
    sealed = seal(msgpack.packb([encode_membership(_short(each)) for each in own]), password)
    if len(sealed) > MAX_BACKUP_BYTES:
        raise UsageError("you are in too many swarms for one backup", hint="leave those that you don't use")
    return sealed


def read_backup(sealed: bytes, password: str) -> list[Membership]:
    """Return the memberships of a backup. Raises UsageError: no backup, or another password."""
    if len(sealed) > MAX_BACKUP_BYTES:
        raise UsageError(_DAMAGED)
    try:
        return [decode_membership(data) for data in msgpack.unpackb(unseal(sealed, password))]
    except (ValueError, TypeError, msgpack.UnpackException) as error:
        raise UsageError(_DAMAGED) from error


def _short(membership: Membership) -> Membership:
    """Leave out what members will tell anew."""
    person = membership.person_key
    if membership.application or person is None:
        return membership
    roster = membership.roster(time.time())
    proof = roster.proof_of(person.public_key().public_bytes_raw())
    return replace(membership, statements=tuple(item.data for item in proof))
