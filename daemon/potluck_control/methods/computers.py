"""`computers.*`: a person's own computers: adding one with a code, and a backup of the person's keys."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field

from potluck_control.method import Empty, Method

MIN_PASSWORD_CHARS = 10  # as `potluck.membership.sealing` demands
_MAX_NAME, _MAX_CODE, _MAX_PASSWORD, _MAX_DATA = 64, 64, 1024, 56 * 1024


@dataclass(frozen=True, slots=True)
class AddParams:
    """The swarm (empty: the served one), and this computer's IPv4 address for the other one (empty: the usual)."""

    swarm: str = ""
    address: str = ""

    def __post_init__(self) -> None:
        if len(self.swarm) > _MAX_NAME:
            raise ValueError("a swarm's name has at most 64 letters")
        if self.address:
            ipaddress.IPv4Address(self.address)


@dataclass(frozen=True, slots=True)
class Adding:
    """A code that another computer can use once, and what came of it.

    Attributes:
        code: empty: none is in use.
        added: name of the computer that used it; empty: none so far.
        problem: why the code has ended; empty: it has not.
    """

    swarm: str = ""
    code: str = field(default="", repr=False)
    expires_at: float = 0.0
    added: str = ""
    problem: str = ""


@dataclass(frozen=True, slots=True)
class CodeParams:
    code: str = field(repr=False)

    def __post_init__(self) -> None:
        if not 1 <= len(self.code) <= _MAX_CODE:
            raise ValueError("a code has five groups of four letters")


@dataclass(frozen=True, slots=True)
class Added:
    """The swarm in which this computer is now one of `person`'s."""

    swarm: str
    model: str
    person: str


@dataclass(frozen=True, slots=True)
class BackupParams:
    password: str = field(repr=False)

    def __post_init__(self) -> None:
        if len(self.password) > _MAX_PASSWORD:
            raise ValueError("a password has at most 1024 letters")


@dataclass(frozen=True, slots=True)
class Backup:
    """The keys of a person, encrypted with a password, in base64."""

    data: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class RestoreParams:
    data: str = field(repr=False)
    password: str = field(repr=False)

    def __post_init__(self) -> None:
        if len(self.data) > _MAX_DATA or len(self.password) > _MAX_PASSWORD:
            raise ValueError("this is not a backup of Potluck")


@dataclass(frozen=True, slots=True)
class Restored:
    swarms: tuple[str, ...]


ADD = Method("computers.add", AddParams, Adding)
ADDING = Method("computers.adding", Empty, Adding)
CANCEL = Method("computers.cancel", Empty, Adding)
JOIN = Method("computers.join", CodeParams, Added)
BACK_UP = Method("computers.back_up", BackupParams, Backup)
RESTORE = Method("computers.restore", RestoreParams, Restored)
