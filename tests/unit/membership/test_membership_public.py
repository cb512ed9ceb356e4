"""Joining a public swarm: the work, who sets and checks it, and what newcomers may do at first."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest
import pytest_asyncio
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from helpers.members import NOW_S, World, founded, invited, joined, known_by, names, person

from potluck.errors import UsageError
from potluck.membership.enrolling import (
    ANSWERS_OF_A_PLACE,
    LIVES_S,
    EnrolmentDesk,
    place_of,
    read_challenge,
    set_challenge,
)
from potluck.membership.gate import MembersGate
from potluck.membership.identity import Identity
from potluck.membership.invite import Invite, decode_invite, encode_invite
from potluck.membership.leadership import DAY_S, invite, open_door, promote, public_invite, remove, remove_machine
from potluck.membership.leadership import withdraw as withdrawn
from potluck.membership.membership import Membership
from potluck.membership.presentation import WORKING, Presentation, decode_presentation, encode_presentation
from potluck.membership.roster import PROBATION_S
from potluck.membership.statements import Delegation, Rank, sign
from potluck.membership.work import NONCE_BYTES, is_worked, work
from potluck.protocol.blocks import PeerId
from potluck.protocol.codes import Code, RemoteError

ANA, BOB, EVE, LEA = (Identity.generate() for _ in range(4))
BITS = 2
HOME, NET = "192.0.2.0/24", "2001:db8:1::/48"
FOREIGN = set_challenge(LEA.public_key, BOB.public_key, HOME, BITS, NOW_S, LEA.private_key)
Work = Callable[[bytes, int], Awaitable[bytes]]


@pytest_asyncio.fixture
async def there() -> AsyncIterator[World]:
    world = World()
    yield world
    await world.stop()


def public(bits: int = BITS) -> tuple[Membership, Invite]:
    """Return the founder's membership in a public swarm, and the invite that everybody may read."""
    founder = founded(ANA)
    founder = founder.with_statements([open_door(founder, NOW_S, bits=bits)], NOW_S)
    made = public_invite(founder, NOW_S)
    assert made is not None
    return founder, decode_invite(encode_invite(made))


def begun(there: World, **options: object) -> tuple[Membership, Invite, MembersGate]:
    """Return a public swarm, and the gate of its founder."""
    founder, made = public()
    return founder, made, there.node(founder, ANA, **options)


def from_address(address: str) -> dict[str, Callable[[PeerId], object]]:
    async def origin_of(peer: PeerId) -> str:
        return address

    return {"origin_of": origin_of}


async def apply(node: MembersGate, newcomer: MembersGate, identity: Identity, **answer: bytes) -> Presentation:
    """Return the answer of a node to a newcomer that brings an answer to a challenge, or none."""
    shown = replace(newcomer._shown(), **answer)  # type: ignore[arg-type]
    return decode_presentation(await node.answer_present(encode_presentation(shown), identity.peer_id), is_answer=True)


def note_begin(do_work: Work, has_begun: asyncio.Event) -> Work:
    async def noted(challenge: bytes, bits: int) -> bytes:
        has_begun.set()
        return await do_work(challenge, bits)

    return noted


async def solved(node: MembersGate, newcomer: MembersGate, identity: Identity) -> dict[str, bytes]:
    challenge = (await apply(node, newcomer, identity)).challenge
    nonce = work(challenge, BITS)
    assert nonce is not None
    return {"challenge": challenge, "nonce": nonce}


async def test_anybody_joins_a_public_swarm_for_work_and_is_on_probation_for_a_week(there: World) -> None:
    _, made, ana = begun(there)
    told: list[str] = []
    bob = await there.join(made, "Bob", BOB, ANA, on_working=told.append)
    assert names(ana) == names(bob) == ["Ana", "Bob"]
    assert told[-1] == ""
    assert all(text.startswith(WORKING) for text in told[:-1])
    assert ana.is_on_probation(BOB.peer_id)
    assert not bob.is_on_probation(ANA.peer_id)
    there.now_s += PROBATION_S
    assert not ana.is_on_probation(BOB.peer_id)


async def test_a_challenge_lets_nobody_in_before_it_is_answered(there: World) -> None:
    _, made, ana = begun(there)
    bob = there.node(joined(made, "Bob", BOB).for_node(), BOB)
    assert (await apply(ana, bob, BOB)).challenge
    assert names(ana) == ["Ana"]
    assert not ana.may_call(BOB.peer_id, "any")
    answer = await solved(ana, bob, BOB)
    nonces = (bytes([number] * NONCE_BYTES) for number in range(99))
    wrong = next(nonce for nonce in nonces if not is_worked(answer["challenge"], nonce, BITS))
    with pytest.raises(RemoteError, match="price"):
        await apply(ana, bob, BOB, challenge=answer["challenge"], nonce=wrong)


async def test_work_serves_neither_another_person_nor_another_place_nor_later(there: World) -> None:
    _, made, ana = begun(there, **from_address("192.0.2.7"))
    bob = there.node(joined(made, "Bob", BOB).for_node(), BOB)
    eve = there.node(joined(made, "Eve", EVE).for_node(), EVE)
    answer = await solved(ana, bob, BOB)
    with pytest.raises(RemoteError, match="somebody else"):
        await apply(ana, eve, EVE, **answer)
    ana._origin_of = from_address("192.0.3.7")["origin_of"]  # type: ignore[assignment]
    with pytest.raises(RemoteError, match="another part"):
        await apply(ana, bob, BOB, **answer)
    ana._origin_of = from_address("192.0.2.9")["origin_of"]  # type: ignore[assignment]
    there.now_s += LIVES_S + 1
    with pytest.raises(RemoteError, match="expired"):
        await apply(ana, bob, BOB, **answer)
    assert names(ana) == ["Ana"]


async def test_only_an_enrolment_node_sets_challenges(there: World) -> None:
    _, made, ana = begun(there)
    bob = there.node(joined(made, "Bob", BOB).for_node(), BOB)
    key = read_challenge(ana.roster.swarm_key, (await apply(ana, bob, BOB)).challenge).person
    forged = set_challenge(ana.roster.swarm_key, key, place_of(""), BITS, NOW_S, Ed25519PrivateKey.generate())
    with pytest.raises(RemoteError, match="not set by an enrolment node"):
        await apply(ana, bob, BOB, challenge=forged, nonce=work(forged, BITS) or b"")
    cheap = set_challenge(ana.roster.swarm_key, key, place_of(""), BITS - 1, NOW_S, ANA.private_key)
    with pytest.raises(RemoteError, match="today's price"):
        await apply(ana, bob, BOB, challenge=cheap, nonce=work(cheap, BITS - 1) or b"")


async def test_a_newcomer_does_no_more_work_than_the_founder_asks_for(there: World) -> None:
    _, made, ana = begun(there)
    dear = set_challenge(ana.roster.swarm_key, BOB.public_key, HOME, BITS + 1, NOW_S, ANA.private_key)

    async def ask_for_more(body: bytes, peer: PeerId) -> bytes:
        return encode_presentation(Presentation(challenge=dear))

    ana.answer_present = ask_for_more  # type: ignore[method-assign]
    bob = there.node(joined(made, "Bob", BOB).for_node(), BOB)
    with pytest.raises(RemoteError, match="more work"):
        await bob.present(ANA.peer_id)


async def test_a_removed_person_pays_again_to_come_back(there: World) -> None:
    founder, made, ana = begun(there)
    bob = there.node(joined(made, "Bob", BOB).for_node(), BOB)
    answer = await solved(ana, bob, BOB)
    await apply(ana, bob, BOB, **answer)
    ana.publish(remove(known_by(founder, ana), person(ana, "Bob"), NOW_S + 1))
    with pytest.raises(RemoteError, match="removed"):
        await apply(ana, bob, BOB, **answer)
    again = there.node(joined(made, "Bob again", EVE).for_node(), EVE)
    with pytest.raises(RemoteError, match="somebody else"):
        await apply(ana, again, EVE, **answer)
    await again.present(ANA.peer_id)
    assert names(ana) == ["Ana", "Bob again"]


async def test_the_founder_appoints_enrolment_nodes_and_other_members_pass_applications_on(there: World) -> None:
    founder, made, ana = begun(there)
    bob = await there.join(made, "Bob", BOB, ANA)
    lea = await there.join(made, "Lea", LEA, ANA)
    del there.nodes[ANA.peer_id]
    eve = there.node(joined(made, "Eve", EVE).for_node(), EVE)
    await lea.present(BOB.peer_id)
    with pytest.raises(RemoteError) as refused:
        await apply(lea, eve, EVE)
    assert refused.value.code is Code.BUSY
    ana.publish(promote(known_by(founder, ana), person(ana, "Bob"), Rank.ENROLLER, NOW_S + 1))
    for gate in (bob, lea):
        gate.publish(list(ana.roster))
    await eve.present(LEA.peer_id)
    assert names(eve) == names(bob) == ["Ana", "Bob", "Eve", "Lea"]
    assert not bob.roster.may_lead(person(bob, "Bob").key)
    ana.publish(list(bob.roster))
    ana.publish(promote(known_by(founder, ana), person(ana, "Bob"), Rank.MEMBER, NOW_S + 2))
    assert names(ana) == ["Ana", "Bob", "Eve", "Lea"]  # whom he let in stay


async def test_a_meeting_point_says_where_newcomers_come_from_and_a_member_is_not_believed(
    there: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("potluck.membership.gate._ALONE_S", 0.01)  # it is waited for in real time
    founder, made = public()
    outsiders = {"outsiders": [LEA.peer_id]}
    there.node(Membership(founder.swarm), LEA, **from_address("2001:db8:1:2::/64"))
    ana = there.node(founder, ANA, **outsiders)
    await ana.present(LEA.peer_id)
    bob = there.node(joined(made, "Bob", BOB).for_node(), BOB, **outsiders)
    asked = await apply(there.nodes[LEA.peer_id], bob, BOB)
    assert read_challenge(ana.roster.swarm_key, asked.challenge).place == NET
    await bob.present(LEA.peer_id)
    assert names(ana) == names(bob) == ["Ana", "Bob"]
    await bob.present(ANA.peer_id)
    eve = there.node(joined(made, "Eve", EVE).for_node(), EVE)
    bob._origin_of = from_address("198.51.100.1")["origin_of"]  # type: ignore[assignment]
    asked = await apply(bob, eve, EVE)
    assert read_challenge(ana.roster.swarm_key, asked.challenge).place == f"through {person(ana, 'Bob').id}"


async def test_a_closed_door_and_an_old_application_let_nobody_in(there: World) -> None:
    founder, made, ana = begun(there)
    bob = there.node(joined(made, "Bob", BOB).for_node(), BOB)
    there.now_s += DAY_S + 1
    with pytest.raises(RemoteError, match="older than a day"):
        await bob.present(ANA.peer_id)
    there.now_s = NOW_S + 1
    door = ana.roster.door
    assert door
    ana.publish(withdrawn(founder, door.invite, NOW_S))
    with pytest.raises(RemoteError, match="withdrawn"):
        await bob.present(ANA.peer_id)
    assert public_invite(known_by(founder, ana), NOW_S) is None


async def test_a_door_is_the_founders_only(there: World) -> None:
    founder, made = invited(founded(ANA))
    ana = there.node(founder, ANA)
    theirs = joined(made, "Bob", BOB)
    await there.node(theirs.for_node(), BOB).present(ANA.peer_id)
    with pytest.raises(UsageError, match="only a public swarm has enrollers"):
        promote(known_by(founder, ana), person(ana, "Bob"), Rank.ENROLLER, NOW_S + 1)
    ana.publish(promote(known_by(founder, ana), person(ana, "Bob"), Rank.ADMIN, NOW_S + 1))
    admin = known_by(theirs, ana)
    with pytest.raises(UsageError, match="only the founder"):
        open_door(admin, NOW_S)
    assert admin.person_key is not None
    own = sign(ana.roster.swarm_key, Delegation(EVE.public_key, int(NOW_S + 99), 9, int(NOW_S), 1), admin.person_key)
    ana.publish([own])
    assert ana.roster.door is None


def test_an_invite_of_a_public_swarm_holds_no_key_and_older_versions_say_that_it_is_newer() -> None:
    founder, made = public()
    assert made.is_public
    assert made.seed is None
    assert encode_invite(made).startswith("potluck3:")
    _, secret = invite(founder, NOW_S)
    assert encode_invite(secret).startswith("potluck2:")
    disguised = encode_invite(secret).replace("potluck2:", "potluck3:")
    with pytest.raises(UsageError, match="damaged"):
        decode_invite(disguised)


async def test_whoever_was_promoted_or_invited_is_not_on_probation_and_a_removed_computer_begins_it_anew(
    there: World,
) -> None:
    founder, made, ana = begun(there)
    await there.join(made, "Bob", BOB, ANA)
    later = NOW_S + PROBATION_S + 5
    assert not person(ana, "Bob").is_on_probation(later)
    there.now_s = later
    ana.publish(remove_machine(known_by(founder, ana), BOB.public_key, later))
    assert person(ana, "Bob").is_on_probation(later + PROBATION_S - 1)
    ana.publish(promote(founder.with_statements(list(ana.roster), later), person(ana, "Bob"), Rank.MEMBER, later))
    assert not person(ana, "Bob").is_on_probation(later)


@pytest.mark.parametrize(
    ("origin", "place"),
    [
        ("192.0.2.77", HOME),
        ("2001:db8:1:2::/64", "2001:db8:1::/48"),
        ("2001:db8:1:2::7", "2001:db8:1::/48"),
        ("", "unknown"),
    ],
)
def test_a_place_is_a_range_of_addresses(origin: str, place: str) -> None:
    assert place_of(origin) == place


def test_a_flood_from_one_place_costs_few_checks_and_others_still_join() -> None:
    desk, there = EnrolmentDesk(), "198.51.100.0/24"

    def bring(place: str, now_s: float) -> None:
        made = set_challenge(ANA.public_key, EVE.public_key, place, BITS, now_s, ANA.private_key)
        asked: dict[str, Any] = {"person": EVE.public_key, "place": place, "bits": BITS, "now_s": now_s}
        challenge = read_challenge(ANA.public_key, made)
        desk.take(challenge, bytes(NONCE_BYTES), may_set=lambda key: key == ANA.public_key, **asked)

    for _ in range(ANSWERS_OF_A_PLACE):
        bring(HOME, NOW_S)
    with pytest.raises(RemoteError, match="tomorrow"):
        bring(HOME, NOW_S)
    with pytest.raises(RemoteError, match="tomorrow"):
        desk.require_room(HOME, NOW_S)
    bring(there, NOW_S)
    with pytest.raises(RemoteError) as refused:
        [bring(f"10.0.{number}.0/24", NOW_S) for number in range(200)]
    assert refused.value.code is Code.BUSY
    bring(there, NOW_S + 60)
    bring(HOME, NOW_S + DAY_S + 1)


@pytest.mark.parametrize(
    "challenge", [b"", b"\x93\xc4\x00\xc4\x00\xc4\x00", FOREIGN], ids=["empty", "damaged", "of another swarm"]
)
def test_what_is_no_challenge_of_this_swarm_is_refused(challenge: bytes) -> None:
    with pytest.raises(RemoteError) as refused:
        read_challenge(ANA.public_key, challenge)
    assert refused.value.code is Code.NOT_A_MEMBER


async def test_work_ends_when_the_node_stops(there: World) -> None:
    founder, made = public(bits=30)
    there.node(founder, ANA)
    bob = there.node(joined(made, "Bob", BOB).for_node(), BOB)
    has_begun = asyncio.Event()
    bob._work = note_begin(bob._work, has_begun)  # type: ignore[method-assign]
    task = asyncio.create_task(bob.present(ANA.peer_id))
    await has_begun.wait()
    await bob.stop()
    with pytest.raises(asyncio.CancelledError):
        await task
