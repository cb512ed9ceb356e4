"""Joining a public swarm: who lets newcomers in, from where, and what they may do at first."""

from collections.abc import AsyncIterator, Callable

import pytest
import pytest_asyncio
from helpers.members import NOW_S, World, decided, founded, invited, joined, names, person

from potluck.errors import UsageError
from potluck.membership.budgets import NEWCOMERS_OF_A_PLACE, Newcomers, place_of
from potluck.membership.gate import MembersGate
from potluck.membership.identity import Identity
from potluck.membership.invite import Invite, decode_invite, encode_invite, public_invite
from potluck.membership.leadership import DAY_S, promote, public_seats
from potluck.membership.members import PROBATION_S
from potluck.membership.membership import Membership
from potluck.membership.presentation import Exchange, encode
from potluck.membership.records import EndInvite, Rank, read_all
from potluck.protocol.blocks import PeerId
from potluck.protocol.codes import Code, RemoteError

ANA, BOB, CLEO, EVE = (Identity.generate() for _ in range(4))


@pytest_asyncio.fixture
async def there() -> AsyncIterator[World]:
    world = World()
    yield world
    await world.stop()


def public() -> tuple[Membership, Invite]:
    """Return the founder's membership in a public swarm, and the invite that everybody may read."""
    founder = decided(founded(ANA), public_seats(founded(ANA), NOW_S))
    made = public_invite(founder)
    assert made is not None
    return founder, decode_invite(encode_invite(made))


def origin(address: str) -> dict[str, Callable[[PeerId], object]]:
    async def origin_of(peer: PeerId) -> str:
        return address

    return {"origin_of": origin_of}


def guests(gate: MembersGate) -> list[str]:
    return sorted(each.name for each in gate.roster.guests.values())


async def applied(there: World, gate: MembersGate, made: Invite, identity: Identity) -> None:
    """Have somebody unknown apply at a node."""
    newcomer = there.node(joined(made, "Somebody", identity).for_node(), identity)
    await gate.answer_present(encode(newcomer._shown(is_known=False)), identity.peer_id)


async def test_anybody_joins_a_public_swarm_and_is_on_probation_for_a_week(there: World) -> None:
    founder, made = public()
    assert made.is_public
    ana = there.node(founder, ANA)
    bob = await there.join(made, "Bob", BOB, ANA)
    assert names(ana) == names(bob) == ["Ana", "Bob"]
    for since_s, is_new in ((0, True), (PROBATION_S - 1, True), (PROBATION_S, False)):
        there.now_s = NOW_S + since_s
        assert ana.is_on_probation(BOB.peer_id) is is_new
    assert not bob.is_on_probation(ANA.peer_id)


async def test_an_enroller_takes_so_many_from_one_part_of_the_network_a_day(there: World) -> None:
    founder, made = public()
    ana = there.node(founder, ANA, **origin("192.0.2.7"))
    for _ in range(NEWCOMERS_OF_A_PLACE):
        await applied(there, ana, made, Identity.generate())
    with pytest.raises(RemoteError, match="too many people joined"):
        await applied(there, ana, made, Identity.generate())
    there.now_s += DAY_S
    await applied(there, ana, made, Identity.generate())
    assert len(ana.roster.guests) == NEWCOMERS_OF_A_PLACE + 1
    newcomers = Newcomers()
    for address, place in (("192.0.2.7", "192.0.2.0/24"), ("2001:db8:1:2::9", "2001:db8:1::/48"), ("x", "unknown")):
        assert place_of(address) == place
        assert newcomers.admit(place, NOW_S)


async def test_members_carry_newcomers_to_an_enroller_and_let_nobody_in_themselves(there: World) -> None:
    founder, made = public()
    ana = there.node(founder, ANA)
    bob = await there.join(made, "Bob", BOB, ANA)
    cleo = await there.join(made, "Cleo", CLEO, ANA)
    there.now_s += PROBATION_S
    del there.nodes[ANA.peer_id]
    await cleo.present(BOB.peer_id)
    with pytest.raises(RemoteError) as refused:
        await applied(there, cleo, made, EVE)
    assert refused.value.code is Code.BUSY
    there.nodes[ANA.peer_id] = ana
    there.lead(ANA, promote(founder, ana.roster, person(ana, "Bob"), Rank.ENROLLER))
    await there.quiet()
    await cleo.compare(ANA.peer_id)
    del there.nodes[ANA.peer_id]
    assert person(cleo, "Bob").may_enrol
    assert not person(cleo, "Bob").may_lead
    with pytest.raises(RemoteError, match="lets you in in a moment"):
        await applied(there, cleo, made, EVE)
    await there.quiet()
    assert guests(bob) == guests(cleo) == ["Somebody"]
    await there.nodes[EVE.peer_id].present(CLEO.peer_id)
    assert cleo.person_of(EVE.peer_id) is not None


async def test_members_who_are_no_enrollers_bring_no_guests(there: World) -> None:
    founder, made = public()
    ana = there.node(founder, ANA)
    bob = await there.join(made, "Bob", BOB, ANA)
    newcomer = joined(made, "Eve", EVE)
    await ana.answer_roster(encode(Exchange((newcomer.application,))), BOB.peer_id)
    bob.roster.learn(read_all([newcomer.application]), NOW_S)  # a changed program lets her in
    await ana.present(BOB.peer_id)
    await ana.compare(BOB.peer_id)
    await bob.compare(ANA.peer_id)
    assert guests(ana) == []
    await there.nodes[ANA.peer_id].present(BOB.peer_id)
    with pytest.raises(RemoteError, match="on probation brings nobody"):
        await ana.answer_roster(encode(Exchange(newcomer=b"x", place="192.0.2.0/24")), BOB.peer_id)


async def test_a_meeting_point_is_believed_where_a_newcomer_comes_from_and_a_member_is_not(there: World) -> None:
    founder, made = public()
    outsiders = {"outsiders": [CLEO.peer_id]}
    meeting = there.node(Membership(founder.swarm), CLEO, **origin("2001:db8:1:2::/64"))
    meeting._started_s -= 60  # it has been there for long
    ana = there.node(founder, ANA, **outsiders)
    await ana.present(CLEO.peer_id)
    bob = there.node(joined(made, "Bob", BOB).for_node(), BOB, **outsiders)
    await bob.present(CLEO.peer_id)
    await there.quiet()
    assert guests(ana) == guests(meeting) == ["Bob"]
    there.confirm(ANA, [person(ana, "Bob")])
    await bob.present(ANA.peer_id)
    there.now_s += PROBATION_S
    newcomer = there.node(joined(made, "Eve", EVE).for_node(), EVE)
    shown = encode(newcomer._shown(is_known=False))
    await ana.answer_roster(encode(Exchange(newcomer=shown, place="198.51.100.0/24")), BOB.peer_id)
    assert [*ana._newcomers._times] == ["2001:db8:1::/48", f"through {person(ana, 'Bob').id}"]
    assert guests(ana) == ["Eve"]


async def test_the_founder_opens_and_closes_a_public_swarm(there: World) -> None:
    founder, made = public()
    ana = there.node(founder, ANA)
    await applied(there, ana, made, BOB)
    door = ana.roster.public_invite
    assert door is not None
    there.lead(ANA, [EndInvite(door.invite)])
    assert guests(ana) == []
    assert public_invite(there.memberships[ANA.peer_id]) is None
    with pytest.raises(RemoteError, match="ended"):
        await applied(there, ana, made, EVE)
    private, secret = invited(founded(CLEO))
    assert not secret.is_public
    assert public_invite(private) is None
    with pytest.raises(UsageError, match="only the founder"):
        public_seats(joined(secret, "Bob", BOB), NOW_S)
    with pytest.raises(UsageError, match="has no members"):
        public_seats(Membership(private.swarm.__class__("all", "m", 4, "m-hf")), NOW_S)
