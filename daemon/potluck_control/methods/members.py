"""`members.*`: the people of a swarm, their computers and invites, and what founders and admins may do.

`computers.*`: a person's own computers: adding one, and a backup of the person's keys.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from potluck.protocol.codec import Confidential
from potluck_control.api.method import GivenName, Method, Name


class SwarmParams(Struct, frozen=True):
    """The swarm's name; empty: the one that this machine serves, or would."""

    swarm: Name = ""


class MemberMachine(Struct, frozen=True):
    """A person's computer."""

    name: str
    peer_id: str


class Member(Struct, frozen=True):
    """A person. `id` tells people of the same name apart, `invite` is the id of the invite they joined with.

    Attributes:
        rank: founder, admin, enroller, member, or guest: no leader has confirmed them yet.
        heard_at: when this computer first heard of them.
        waits: a guest about whom a leader has to decide with a click.
        invited_by: the name of who made that invite; empty: not known any more.
    """

    name: str
    id: str
    rank: str
    heard_at: float
    invite: str
    is_you: bool
    is_on_probation: bool
    machines: tuple[MemberMachine, ...]
    invited_by: str = ""
    waits: bool = False


class OpenInvite(Struct, frozen=True):
    """An invite that nobody ended; it is over if it expired or `used` reached `people`.

    `is_public`: it is that of a public swarm, which anybody may read.
    """

    id: str
    expires_at: float
    people: int
    used: int
    is_public: bool = False


class SeenServer(Struct, frozen=True):
    """A computer that serves blocks [start, end), as the swarm's directory has it.

    `state`: joining, online, or offline: it steps aside.
    """

    peer_id: str
    start: int
    end: int
    state: str
    steps_per_s: float  # decode steps through its blocks
    ping_s: float | None = None  # a round trip between it and this computer; None: not measured
    name: str | None = None
    throughput_tps: float = 0.0
    step_ms: float = 0.0
    cache_tokens_left: int = 0
    queued_tokens: int = 0
    dtype: str = ""
    version: str = ""
    using_relay: bool = False


class WrongResultsReport(Struct, frozen=True):
    """A computer that returned wrong results, as programs of other people report.

    Attributes:
        member, name: id and name of the person whose it is.
        machine, peer_id: name and peer id of the computer.
        found_by: names of the people who report it.
        is_confirmed: this computer's own server repeated such a piece of work, and the other one was wrong again.
        is_here: it is this computer.
        checked_at: when this computer reloaded its weights for that reason; None: not yet, or it is another one.
        damaged: the weights that were damaged in its memory then; empty: none.
    """

    member: str
    name: str
    machine: str
    peer_id: str
    found_by: tuple[str, ...]
    is_confirmed: bool = False
    is_here: bool = False
    checked_at: float | None = None
    damaged: str = ""


class MembersList(Struct, frozen=True):
    """The people of a swarm, and what the user may do.

    `may_lead`: you may invite and remove. `is_founder`: this computer has the founder's key.

    `is_open`: the swarm is open to everybody, so it has no members. `has_key`: your own key is on this computer, which
    can therefore add and remove computers of yours, and back the key up. `asking`: a computer with an invite for one
    machine of yours, whose name you have to confirm (`computers.confirm`); empty: none. `leader_heard_at`: when this
    computer last compared with one of the founder's or an admin's; None: not since it started. `servers`: those of the
    swarm that this computer serves, as its engine saw them at `servers_at`; None: it has not looked yet.
    `wrong_results`: what leaders, and owners, should know of computers. It changes nothing until a leader removes one.
    """

    swarm: str
    members: tuple[Member, ...]
    invites: tuple[OpenInvite, ...]
    may_lead: bool
    is_founder: bool
    is_open: bool = False
    has_key: bool = True
    asking: str = ""
    leader_heard_at: float | None = None
    servers: tuple[SeenServer, ...] = ()
    servers_at: float | None = None
    wrong_results: tuple[WrongResultsReport, ...] = ()


class MemberParams(Struct, frozen=True):
    """A person by name or id, and one of their computers by name or peer id; no computer: the person."""

    name: GivenName
    machine: Name = ""
    swarm: Name = ""


class PromoteParams(Struct, frozen=True):
    """A person's new rank: an admin, an enroller, or an ordinary member.

    Attributes:
        is_enroller: only lets newcomers into a public swarm.
        seats: how many people an admin's open invites may let in.
        keep: how many of a former leader's decisions go on to count, see `members.decisions`; None: all.
        is_trial: change nothing; the answer says what would follow.
    """

    name: str
    is_admin: bool
    swarm: str = ""
    is_enroller: bool = False
    seats: Annotated[int, Meta(ge=0, le=10_000)] = 100
    keep: Annotated[int, Meta(ge=0)] | None = None
    is_trial: bool = False


class EndInviteParams(Struct, frozen=True):
    """The invite to end. `invite`: an id from the list, or its beginning."""

    invite: str
    swarm: str = ""


class RecoveryCode(Confidential, frozen=True):
    """The founder's key as letters to write down. Whoever has it is the founder."""

    code: Annotated[str, Meta(max_length=256)]
    swarm: str = ""


class MembersChanged(Struct, frozen=True):
    """What was done; `is_known`: an engine of this machine tells the others now, otherwise when it serves again.

    `lost`, `returned`: who lost their place by it (they are guests again), and who has it again.
    """

    swarm: str
    done: str
    is_known: bool
    lost: tuple[str, ...] = ()
    returned: tuple[str, ...] = ()


class LeaderDecision(Struct, frozen=True):
    """What a leader decided, and about whom or what.

    `kind`: confirm, remove, remove_machine, invite, end_invite or model; other: this version doesn't know it.
    """

    kind: str
    about: str


class Decisions(Struct, frozen=True):
    """A leader's decisions in order, so that the founder can choose up to which they count."""

    swarm: str
    name: str
    decisions: tuple[LeaderDecision, ...]


LIST = Method("members.list", SwarmParams, MembersList)
REMOVE = Method("members.remove", MemberParams, MembersChanged)
PROMOTE = Method("members.promote", PromoteParams, MembersChanged)
DISMISS = Method("members.dismiss", MemberParams, MembersChanged)
CONFIRM = Method("members.confirm", MemberParams, MembersChanged)
DECISIONS = Method("members.decisions", MemberParams, Decisions)
END_INVITE = Method("members.end_invite", EndInviteParams, MembersChanged)
RECOVERY_CODE = Method("members.recovery_code", SwarmParams, RecoveryCode)
RECOVER = Method("members.recover", RecoveryCode, MembersChanged)


MIN_PASSWORD_CHARS = 10  # the minimum of `potluck.membership.backup`
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
    """The password of a backup to make."""

    password: _Password


class Backup(Confidential, frozen=True):
    """The keys of a person, encrypted with a password, in base64."""

    data: str


class RestoreParams(Confidential, frozen=True):
    """A backup and its password."""

    data: str
    password: _Password

    def __post_init__(self) -> None:
        if len(self.data) > _MAX_DATA:
            raise ValueError("this is not a backup of Potluck")


class Restored(Struct, frozen=True):
    """The swarms whose keys were restored."""

    swarms: tuple[str, ...]


ADD_COMPUTER = Method("computers.add", SwarmParams, MachineInvite)
CONFIRM_COMPUTER = Method("computers.confirm", ConfirmParams, MembersChanged)
BACK_UP = Method("computers.back_up", BackupParams, Backup)
RESTORE = Method("computers.restore", RestoreParams, Restored)
