"""`computers.*`: a person's own computers: adding one, and a backup of the person's keys."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from potluck.protocol.codec import Confidential
from potluck_control.method import GivenName, Method, Name
from potluck_control.methods.members import MembersChanged, SwarmParams

MIN_PASSWORD_CHARS = 10  # as `potluck.membership.sealing` demands
_MAX_DATA = 352 * 1024
_Password = Annotated[str, Meta(max_length=1024)]


class MachineInvite(Confidential, frozen=True):
    """An invite with which one more computer of yours may ask to be listed, once, until `expires_at`."""

    swarm: str
    invite: str
    expires_at: float = 0.0


class ConfirmParams(Struct, frozen=True):
    """The name of the computer that asks, as `members.list` shows it."""

    name: GivenName
    swarm: Name = ""


class BackupParams(Confidential, frozen=True):
    password: _Password


class Backup(Confidential, frozen=True):
    """The keys of a person, encrypted with a password, in base64."""

    data: str


class RestoreParams(Confidential, frozen=True):
    data: str
    password: _Password

    def __post_init__(self) -> None:
        if len(self.data) > _MAX_DATA:
            raise ValueError("this is not a backup of Potluck")


class Restored(Struct, frozen=True):
    swarms: tuple[str, ...]


ADD = Method("computers.add", SwarmParams, MachineInvite)
CONFIRM = Method("computers.confirm", ConfirmParams, MembersChanged)
BACK_UP = Method("computers.back_up", BackupParams, Backup)
RESTORE = Method("computers.restore", RestoreParams, Restored)
