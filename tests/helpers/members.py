"""Founders, members and their gates without a network: gates call each other directly."""

from dataclasses import dataclass, field

from potluck.membership.gate import PRESENT, ROSTER, MembersGate
from potluck.membership.identity import Identity
from potluck.membership.invite import Invite, accept
from potluck.membership.leadership import found, invite
from potluck.membership.membership import Membership
from potluck.membership.presentation import Presentation, read_application, witness
from potluck.membership.roster import Person
from potluck.membership.statements import Statement
from potluck.protocol.blocks import PeerId
from potluck.protocol.codes import Code, RemoteError
from potluck.protocol.swarm import new_swarm

NOW_S = 1_800_000_000.0


def founded(machine: Identity, name: str = "Ana", now_s: float = NOW_S) -> Membership:
    return found(new_swarm("home", "model", 12), name, machine, f"{name}'s desktop", now_s)


def invited(founder: Membership, **limits: object) -> tuple[Membership, Invite]:
    """Return the founder's membership with a new invite, and the invite."""
    statement, made = invite(founder, NOW_S, **limits)  # type: ignore[arg-type]
    return founder.with_statements([statement], NOW_S), made


def joined(made: Invite, name: str, machine: Identity) -> Membership:
    return accept(made, name, machine, f"{name}'s laptop", NOW_S)


def enrolled(founder: Membership, made: Invite, name: str, machine: Identity) -> tuple[Membership, Membership]:
    """Let somebody in as the founder does; return both memberships, which know of it."""
    newcomer, roster = joined(made, name, machine), founder.roster(NOW_S)
    shown = Presentation(proof=newcomer.statements, application=newcomer.application)
    application = read_application(roster, shown, NOW_S)
    assert founder.founder_key is not None
    statement = witness(roster, application, founder.founder_key, NOW_S)
    founder = founder.with_statements([*application.known, statement], NOW_S)
    return founder, newcomer.with_statements(founder.roster(NOW_S), NOW_S)


def known_by(membership: Membership, gate: MembersGate) -> Membership:
    """Return the membership with all that the gate knows."""
    return membership.with_statements(list(gate.roster), NOW_S)


def names(gate: MembersGate) -> list[str]:
    return sorted(person.name for person in gate.roster.people)


def person(gate: MembersGate, name: str) -> Person:
    return next(each for each in gate.roster.people if each.name == name)


@dataclass
class World:
    """Nodes that reach each other, at a time that tests move."""

    now_s: float = NOW_S
    nodes: dict[PeerId, MembersGate] = field(default_factory=dict)
    kept: dict[PeerId, list[Statement]] = field(default_factory=dict)
    cut_off: dict[PeerId, list[PeerId]] = field(default_factory=dict)  # removed peers each node dropped

    def node(self, membership: Membership, identity: Identity, **options: object) -> MembersGate:
        """Return a started gate of a computer, or with another identity of a node that runs on it."""
        me = identity.peer_id

        async def call(peer: PeerId, protocol: str, body: bytes) -> bytes:
            other = self.nodes.get(peer)
            if other is None:
                raise RemoteError(Code.UNREACHABLE, "nobody there")
            if not other.may_call(me, protocol):
                raise RemoteError(Code.NOT_A_MEMBER, "not presented")
            return await {PRESENT: other.answer_present, ROSTER: other.answer_roster}[protocol](body, me)

        gate = self.nodes[me] = MembersGate(
            membership,
            identity,
            call,
            clock=lambda: self.now_s,
            on_news=self.kept.setdefault(me, []).extend,
            on_removed=self.cut_off.setdefault(me, []).extend,
            **options,  # type: ignore[arg-type]
        )
        gate.start()
        return gate

    def begin(self, identity: Identity, **limits: object) -> tuple[Membership, Invite, MembersGate]:
        """Return the founder's membership, an invite, and the founder's gate."""
        founder, made = invited(founded(identity), **limits)
        return founder, made, self.node(founder, identity)

    async def join(self, made: Invite, name: str, identity: Identity, by: Identity, **options: object) -> MembersGate:
        """Return the gate of a newcomer whom the node `by` let in."""
        gate = self.node(joined(made, name, identity).for_node(), identity, **options)
        await gate.present(by.peer_id)
        return gate

    async def stop(self) -> None:
        for gate in self.nodes.values():
            await gate.stop()
