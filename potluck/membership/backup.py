"""A backup of a person's keys: all memberships whose person's key is on this computer, sealed with a password."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import msgspec

from potluck.errors import UsageError
from potluck.membership.membership import Membership, decode_membership, encode_membership
from potluck.membership.sealing import seal, unseal
from potluck.sentences import sentence

MAX_BACKUP_BYTES = 256 * 1024
_MAX_RECORDS_BYTES = 16 * 1024  # of a small swarm, whose founder may be its only member
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
