"""`swarms.*`: the swarms of this user, the one that is served, and leaving one."""

from __future__ import annotations

from dataclasses import dataclass

from potluck_control.method import Empty, Method


@dataclass(frozen=True, slots=True)
class JoinedSwarm:
    name: str
    model: str
    num_blocks: int
    is_open: bool  # open to Petals peers, without members
    is_served: bool  # the one that this machine serves, or would


@dataclass(frozen=True, slots=True)
class Swarms:
    """The joined swarms, oldest first. To serve another one, set serve.swarm to its name."""

    swarms: tuple[JoinedSwarm, ...]


@dataclass(frozen=True, slots=True)
class LeaveParams:
    name: str

    def __post_init__(self) -> None:
        if not 1 <= len(self.name) <= 64:
            raise ValueError("a swarm's name has between 1 and 64 letters")


@dataclass(frozen=True, slots=True)
class Left:
    """The swarm that was forgotten with the keys to it, so only a new invite brings it back. Its points stay."""

    name: str


@dataclass(frozen=True, slots=True)
class Contact:
    """Tells where the served swarm is found: addresses of members, this machine included."""

    name: str
    prefix: str
    peers: tuple[str, ...]


LIST = Method("swarms.list", Empty, Swarms)
LEAVE = Method("swarms.leave", LeaveParams, Left)
CONTACT = Method("swarms.contact", Empty, Contact)
