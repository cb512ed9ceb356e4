"""Who is let in, and how joins and removals become known."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import msgpack
import pytest
import pytest_asyncio
from helpers.members import NOW_S, World, founded, invited, joined, known_by, names, person

from potluck.membership.gate import ROSTER
from potluck.membership.identity import Identity
from potluck.membership.leadership import promote, remove, remove_machine
from potluck.membership.membership import Membership
from potluck.membership.presentation import MAX_PRESENTATION_BYTES, Presentation, encode_presentation
from potluck.membership.statements import Machine, Rank, sign
from potluck.protocol.blocks import PeerId
from potluck.protocol.codes import Code, RemoteError

ANA, BOB, EVE, LEA = (Identity.generate() for _ in range(4))


@pytest_asyncio.fixture
async def there() -> AsyncIterator[World]:
    world = World()
    yield world
    await world.stop()


async def test_who_holds_an_invite_is_enrolled_by_any_member_who_is_online(there: World) -> None:
    _, made, ana = there.begin(ANA)
    bob = await there.join(made, "Bob", BOB, ANA)
    del there.nodes[ANA.peer_id]  # the founder is away
    eve = await there.join(made, "Eve", EVE, BOB)
    assert names(bob) == ["Ana", "Bob", "Eve"]
    assert eve.roster.digest == bob.roster.digest != ana.roster.digest
    assert eve.person_of(BOB.peer_id) == person(eve, "Bob").id
    assert bob.person_of(EVE.peer_id) == person(eve, "Eve").id


async def test_a_stranger_may_present_itself_and_nothing_else(there: World) -> None:
    ana = there.node(founded(ANA), ANA)
    stranger = there.node(founded(EVE, "Eve"), EVE)
    assert [ana.may_call(EVE.peer_id, name) for name in ("DHTProtocol.rpc_store", "any")] == [False, False]
    with pytest.raises(RemoteError) as refused:
        await stranger.present(ANA.peer_id)
    assert refused.value.code is Code.NOT_A_MEMBER
    assert not ana.may_call(EVE.peer_id, "any")


async def test_a_node_made_for_one_run_shows_a_pass_of_its_person_who_may_be_a_witness(there: World) -> None:
    founder, made, ana = there.begin(ANA)
    client = there.node(founder, BOB)  # another identity, same person
    await client.present(ANA.peer_id)
    assert ana.person_of(BOB.peer_id) == client.person_of(ANA.peer_id)
    assert names(await there.join(made, "Eve", EVE, BOB)) == ["Ana", "Eve"]


async def test_a_removed_member_is_refused_by_all_and_what_they_witnessed_stays(there: World) -> None:
    founder, made, ana = there.begin(ANA)
    bob = await there.join(made, "Bob", BOB, ANA)
    eve = await there.join(made, "Eve", EVE, BOB)  # Bob is her witness
    await eve.present(ANA.peer_id)
    ana.publish(remove(known_by(founder, ana), person(ana, "Bob"), NOW_S + 1))
    await eve.compare(ANA.peer_id)
    assert names(eve) == ["Ana", "Eve"]
    assert all(BOB.peer_id in there.cut_off[node.peer_id] for node in (ANA, EVE))
    with pytest.raises(RemoteError, match="removed"):
        await bob.present(EVE.peer_id)
    ana.publish(list(bob.roster))  # an old list brings nobody back
    assert names(ana) == ["Ana", "Eve"]


@pytest.mark.parametrize("is_away", [False, True])
async def test_a_removed_member_is_told_by_whom_at_once_or_on_coming_back(there: World, is_away: bool) -> None:
    founder, made, ana = there.begin(ANA)
    theirs = joined(made, "Bob", BOB)
    bob = there.node(theirs.for_node(), BOB)
    await bob.present(ANA.peer_id)
    kept = there.kept[BOB.peer_id]
    theirs = theirs.with_statements(kept, NOW_S)
    kept.clear()
    if is_away:
        del there.nodes[BOB.peer_id]
    ana.publish(remove(known_by(founder, ana), person(ana, "Bob"), NOW_S + 1))
    if is_away:
        bob = there.node(theirs.for_node(), BOB)
        with pytest.raises(RemoteError, match="removed"):
            await bob.present(ANA.peer_id)
    for _ in range(10):
        await asyncio.sleep(0)
    assert theirs.with_statements(kept, NOW_S).remover(BOB.public_key, NOW_S) == "Ana"
    assert [bob.may_call(each.peer_id, ROSTER) for each in (EVE, ANA)] == [False, True]
    answer = await bob.answer_roster(msgpack.packb({"have": b""}), LEA.peer_id)
    assert msgpack.unpackb(answer) == {}, "only those who were let in may compare"


def test_a_removed_computer_knows_that_its_owner_did_it() -> None:
    membership = founded(ANA).with_machine(BOB, "laptop", NOW_S)
    removal = remove_machine(membership, BOB.public_key, NOW_S)
    laptop = replace(membership.with_statements(removal, NOW_S), person_seed=None, founder_seed=None)
    assert laptop.remover(BOB.public_key, NOW_S) == "Ana"
    assert laptop.remover(ANA.public_key, NOW_S) is None


async def test_a_node_that_was_away_learns_of_removals_before_it_admits_anybody(there: World) -> None:
    founder, made, ana = there.begin(ANA)
    bob = await there.join(made, "Bob", BOB, ANA)
    lea = await there.join(made, "Lea", LEA, ANA)
    await lea.compare(ANA.peer_id)
    seen_by_lea = joined(made, "Lea", LEA).for_node()
    away = there.nodes.pop(LEA.peer_id)
    ana.publish(remove(known_by(founder, ana), person(ana, "Bob"), NOW_S + 1))
    back = there.node(seen_by_lea.with_statements(list(away.roster), NOW_S), LEA)
    with pytest.raises(RemoteError) as refused:
        await back.answer_present(encode_presentation(Presentation()), BOB.peer_id)
    assert refused.value.code is Code.BUSY
    await back.present(ANA.peer_id)
    with pytest.raises(RemoteError, match="removed"):
        await bob.present(LEA.peer_id)


async def test_a_meeting_point_lets_members_in_and_has_one_of_them_witness_who_joins(
    there: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("potluck.membership.gate._ALONE_S", 0.01)  # it is waited for in real time
    founder, made = invited(founded(ANA))
    meeting = there.node(Membership(founder.swarm), LEA)
    outsiders = {"outsiders": [LEA.peer_id]}
    bob = there.node(joined(made, "Bob", BOB).for_node(), BOB, **outsiders)
    with pytest.raises(RemoteError, match="no member is online"):
        await there.nodes[LEA.peer_id].answer_present(encode_presentation(bob._shown()), BOB.peer_id)
    ana = there.node(founder, ANA, **outsiders)
    await ana.present(LEA.peer_id)
    await bob.present(LEA.peer_id)
    assert names(meeting) == names(bob) == names(ana) == ["Ana", "Bob"]
    with pytest.raises(RemoteError, match="proof of membership"):
        await there.node(founded(EVE, "Eve"), EVE, **outsiders).present(LEA.peer_id)
    assert [ana.may_call(LEA.peer_id, name) for name in ("DHTProtocol.rpc_store", ROSTER, "any")] == [True, True, False]
    assert ana.payer_of(LEA.peer_id) is not None  # it brings large rosters, which strangers may not
    assert ana.payer_of(EVE.peer_id) is None


async def test_a_computer_shows_its_proof_only_to_those_who_have_not_heard_of_it(there: World) -> None:
    founder, made, ana = there.begin(ANA)
    bob = await there.join(made, "Bob", BOB, ANA)
    await there.join(made, "Eve", EVE, ANA)
    shown: list[int] = []
    answer = ana.answer_present

    async def note(body: bytes, peer: PeerId) -> bytes:
        shown.append(len(body))
        return await answer(body, peer)

    ana.answer_present = note  # type: ignore[method-assign]
    await bob.present(ANA.peer_id)
    away = there.nodes[ANA.peer_id] = there.node(founder, ANA)  # it starts anew, with an old list
    away.answer_present, answer = note, away.answer_present  # type: ignore[method-assign]
    await bob.present(ANA.peer_id)
    short, first, second = shown
    assert short == first < 300 < second < MAX_PRESENTATION_BYTES


async def test_a_long_line_of_witnesses_is_shown_from_its_end(there: World) -> None:
    _, made, ana = there.begin(ANA, people=12)
    line = [ANA]
    for number in range(12):
        key = Identity.generate()
        newcomer = await there.join(made, f"Person {number}", key, line[-1])
        if number in (3, 7):
            await newcomer.present(ANA.peer_id)
        line.append(key)
    last = there.nodes[line[-1].peer_id]
    assert sum(map(len, last._shown().proof)) > MAX_PRESENTATION_BYTES
    await last.present(ANA.peer_id)
    assert person(ana, "Person 11") == person(last, "Person 11")


async def test_an_invite_ends_when_it_is_used_up_or_expired_and_a_removal_frees_no_place(there: World) -> None:
    founder, made, ana = there.begin(ANA, people=1)
    bob = await there.join(made, "Bob", BOB, ANA)
    ana.publish(remove(known_by(founder, ana), person(ana, "Bob"), NOW_S + 1))
    assert names(ana) == ["Ana"]
    read_anew = known_by(founder, ana).roster(NOW_S)
    assert read_anew.digest == ana.roster.digest
    assert read_anew.num_enrolled(person(bob, "Bob").invite) == 1
    with pytest.raises(RemoteError, match="used up"):
        await there.join(made, "Eve", EVE, ANA)
    there.now_s += 15 * 86_400
    with pytest.raises(RemoteError, match="expired"):
        await there.join(made, "Lea", LEA, ANA)


async def test_an_admin_removes_members_but_no_admin(there: World) -> None:
    founder, made, ana = there.begin(ANA)
    admin = joined(made, "Bob", BOB)
    await there.node(admin.for_node(), BOB).present(ANA.peer_id)
    await there.join(made, "Eve", EVE, ANA)
    bob, eve = person(ana, "Bob"), person(ana, "Eve")
    known = known_by(founder, ana)
    ana.publish(promote(known, bob, Rank.ADMIN, NOW_S))
    admin = known_by(admin, ana)
    ana.publish(remove(admin, eve, NOW_S + 1))
    assert names(ana) == ["Ana", "Bob"]
    ana.publish(promote(known, bob, Rank.MEMBER, NOW_S + 2))
    assert not ana.roster.may_lead(bob.key)


async def test_nobody_certifies_somebody_elses_computer(there: World) -> None:
    _, made, ana = there.begin(ANA)
    await there.join(made, "Bob", BOB, ANA)
    member = joined(made, "Eve", EVE)
    assert member.person_key is not None
    claim = Machine(LEA.public_key, member.person_key.public_key().public_bytes_raw(), "mine", int(NOW_S))
    ana.publish([sign(ana.roster.swarm_key, claim, member.person_key, EVE.private_key)])
    assert ana.roster.owner(LEA.peer_id) is None


async def test_a_lost_laptop_is_removed_by_its_owner_alone(there: World) -> None:
    _, made, ana = there.begin(ANA)
    member = joined(made, "Bob", BOB)
    await there.node(member.for_node(), BOB).present(ANA.peer_id)
    known = known_by(member, ana)
    ana.publish(remove_machine(known, BOB.public_key, NOW_S + 1))
    assert ana.roster.owner(BOB.peer_id) is None
    assert names(ana) == ["Ana", "Bob"]
