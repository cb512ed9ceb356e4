"""`swarms.*`: the swarms of this user, the one that is served, leaving one, and changing its model."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from potluck.sentences import NOTHING, Sentence
from potluck_control.api.method import Empty, GivenName, Method, ModelName, Name


class JoinedSwarm(Struct, frozen=True):
    """A swarm that the user joined."""

    name: str
    model: str
    num_blocks: int
    is_open: bool  # open to Petals peers, without members
    is_served: bool  # the one that this machine serves, or would
    may_lead: bool = False  # the user founded it or is an admin, and may change its model
    draft: str = ""  # the small model that drafts for it; empty: none


class Swarms(Struct, frozen=True):
    """The joined swarms, oldest first. To serve another one, set serve.swarm to its name."""

    swarms: tuple[JoinedSwarm, ...]


class UserNames(Struct, frozen=True):
    """What others call the user and this computer. `is_chosen`: the user chose both; otherwise they are guesses."""

    person: str
    computer: str
    is_chosen: bool = False


class LeaveParams(Struct, frozen=True):
    """The swarm to leave. `is_sure`: leave it even if the founder's key is lost by it."""

    name: GivenName
    is_sure: bool = False


class Left(Struct, frozen=True):
    """The swarm that was forgotten with the keys to it, so only a new invite brings it back. Its points stay."""

    name: str


class InviteReach(StrEnum):
    """The best way in which newcomers with an invite can reach the served swarm."""

    DIRECT = "direct"  # members that tried reached this computer
    UNTRIED = "untried"  # it has a public address, and no member has tried yet
    RELAYED = "relayed"  # this computer is reached through a member's relay
    OTHERS = "others"  # only other computers that the invite names have public addresses
    NEARBY = "nearby"  # all addresses are of the local network
    HERE = "here"  # all addresses are of this computer alone, as they should be
    NOWHERE = "nowhere"  # all addresses are of this computer, because it has no network


class Contact(Struct, frozen=True):
    """The addresses of members at which the served swarm is found, this machine included."""

    name: str
    prefix: str
    peers: tuple[str, ...]
    reach: InviteReach = InviteReach.UNTRIED


class ChooseModelParams(Struct, frozen=True):
    """What a swarm is to have; an empty `swarm` is the served one.

    `model`: an absolute folder, a name on the hub, or nothing for the demo model; null: the present one. `draft`: the
    name on the hub of a small model that drafts for it, or "none"; empty: one that is known to fit.
    """

    model: ModelName | None
    swarm: Name = ""
    draft: ModelName = ""


class ModelChange(Struct, frozen=True):
    """The last change of a swarm's model that was asked for here; an empty `swarm`: none.

    `is_pinned`: the files are known by their SHA-256, so members get them from each other. `problem`: why it failed.
    """

    swarm: str = ""
    model: str = ""
    is_done: bool = True
    is_pinned: bool = False
    draft: str = ""  # the small model that drafts for it; empty: none
    problem: Sentence = NOTHING


LIST = Method("swarms.list", Empty, Swarms)
OWN_NAMES = Method("swarms.own_names", Empty, UserNames)
LEAVE = Method("swarms.leave", LeaveParams, Left)
CHOOSE_MODEL = Method("swarms.choose_model", ChooseModelParams, ModelChange)  # goes on in the background
MODEL_CHANGE = Method("swarms.model_change", Empty, ModelChange)
CONTACT = Method("swarms.contact", Empty, Contact)
