"""`members.*`: the people of a swarm, their computers and invites, and what founders and admins may do."""

from __future__ import annotations

from dataclasses import dataclass, field

from potluck_control.method import Method

_MAX_NAME = 64


@dataclass(frozen=True, slots=True)
class SwarmParams:
    """The swarm's name; empty: the one that this machine serves, or would."""

    swarm: str = ""

    def __post_init__(self) -> None:
        if len(self.swarm) > _MAX_NAME:
            raise ValueError("a swarm's name has at most 64 letters")


@dataclass(frozen=True, slots=True)
class MemberMachine:
    name: str
    peer_id: str
    added_at: float


@dataclass(frozen=True, slots=True)
class Member:
    """A person. `id` tells people of the same name apart, `invite` is the id of the invite they joined with.

    `invited_by`: the name of who made that invite; empty: not known any more.
    """

    name: str
    id: str
    rank: str  # founder, admin, enroller or member
    joined_at: float
    invite: str
    is_you: bool
    is_on_probation: bool
    machines: tuple[MemberMachine, ...]
    invited_by: str = ""


@dataclass(frozen=True, slots=True)
class OpenInvite:
    """An invite that nobody withdrew; it has ended if it expired or `used` reached `people`.

    `is_public`: it is the door of a public swarm, for which no invite is needed.
    """

    id: str
    made_at: float
    expires_at: float
    people: int
    used: int
    is_public: bool = False


@dataclass(frozen=True, slots=True)
class SeenServer:
    """A computer that serves, as the swarm's directory has it. `state`: joining, online, or offline: it steps aside."""

    peer_id: str
    start: int  # its blocks are [start, end)
    end: int
    state: str
    steps_per_s: float  # decode steps through its blocks
    ping_s: float | None = None  # a round trip between it and this computer; None: not measured


@dataclass(frozen=True, slots=True)
class MembersList:
    """`may_lead`: you may invite and remove; `is_founder`: this computer has the founder's key.

    `is_open`: the swarm is open to everybody, so it has no members. `has_key`: your own key is on this computer, which
    can therefore add and remove computers of yours, and back the key up. `servers`: those of the swarm that this
    computer serves, as its engine saw them at `servers_at`; None: it has not looked yet.
    """

    swarm: str
    members: tuple[Member, ...]
    invites: tuple[OpenInvite, ...]
    may_lead: bool
    is_founder: bool
    is_open: bool = False
    has_key: bool = True
    servers: tuple[SeenServer, ...] = ()
    servers_at: float | None = None


@dataclass(frozen=True, slots=True)
class MemberParams:
    """A person by name or id, and one of their computers by name or peer id; no computer: the person."""

    name: str
    machine: str = ""
    swarm: str = ""

    def __post_init__(self) -> None:
        if not 1 <= len(self.name) <= _MAX_NAME or len(self.machine) > _MAX_NAME or len(self.swarm) > _MAX_NAME:
            raise ValueError("names have between 1 and 64 letters")


@dataclass(frozen=True, slots=True)
class PromoteParams:
    name: str
    is_admin: bool
    swarm: str = ""
    is_enroller: bool = False  # only lets newcomers into a public swarm


@dataclass(frozen=True, slots=True)
class WithdrawParams:
    """`invite`: an id from the list, or its beginning."""

    invite: str
    swarm: str = ""


@dataclass(frozen=True, slots=True)
class RecoveryCode:
    """The founder's key as letters to write down. Whoever has it is the founder."""

    swarm: str
    code: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class RecoverParams:
    code: str = field(repr=False)
    swarm: str = ""

    def __post_init__(self) -> None:
        if len(self.code) > 256:
            raise ValueError("a recovery code has 14 groups of four letters")


@dataclass(frozen=True, slots=True)
class MembersChanged:
    """What was done; `is_known`: an engine of this machine tells the others now, otherwise when it serves again."""

    swarm: str
    done: str
    is_known: bool


LIST = Method("members.list", SwarmParams, MembersList)
REMOVE = Method("members.remove", MemberParams, MembersChanged)
PROMOTE = Method("members.promote", PromoteParams, MembersChanged)
WITHDRAW = Method("members.withdraw", WithdrawParams, MembersChanged)
RECOVERY_CODE = Method("members.recovery_code", SwarmParams, RecoveryCode)
RECOVER = Method("members.recover", RecoverParams, MembersChanged)
