"""Who is let in by a node, and how joins and removals become known."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import msgspec
import pytest
import pytest_asyncio
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from helpers.members import NOW_S, World, appointed, enrolled, founded, invited, joined, known_by, names, person

from potluck.membership.gate import PRESENT, ROSTER, MembersGate
from potluck.membership.identity import Identity
from potluck.membership.invite import accept, machine_invite
from potluck.membership.leadership import DAY_S, dismiss, remove, remove_machine, seats
from potluck.membership.membership import Membership
from potluck.membership.presentation import (
    MAX_NEWS,
    MAX_PRESENTATION_BYTES,
    Exchange,
    Presentation,
    decode,
    encode,
    signer_of,
    write_pass,
)
from potluck.membership.records import (
    Application,
    Confirm,
    EndInvite,
    Entry,
    Record,
    read_all,
    read_record,
    sign,
)
from potluck.protocol.blocks import PeerId
from potluck.protocol.codes import Code, RemoteError

ANA, BOB, CLEO, EVE = (Identity.generate() for _ in range(4))


@pytest_asyncio.fixture
async def there() -> AsyncIterator[World]:
    world = World()
    yield world
    await world.stop()


async def guest(there: World, made: object, name: str, identity: Identity, by: Identity) -> MembersGate:
    """Return the gate of somebody who was let in and not confirmed."""
    gate = there.node(joined(made, name, identity).for_node(), identity)  # type: ignore[arg-type]
    await gate.present(by.peer_id)
    await there.quiet()
    return gate


def guests(gate: MembersGate) -> list[str]:
    return sorted(each.name for each in gate.roster.guests.values())


async def test_any_member_lets_in_a_guest_and_a_leader_confirms_them_for_all(there: World) -> None:
    _, made, ana = there.begin(ANA)
    bob = await there.join(made, "Bob", BOB, ANA)
    there.cut.add(frozenset((ANA.peer_id, CLEO.peer_id)))
    cleo = await guest(there, made, "Cleo", CLEO, BOB)
    for gate in (ana, bob):
        assert (names(gate), guests(gate)) == (["Ana", "Bob"], ["Cleo"])
    assert bob.person_of(CLEO.peer_id) == person(ana, "Cleo").id
    assert bob.is_on_probation(CLEO.peer_id)
    there.confirm(ANA, [person(ana, "Cleo")])
    await there.quiet()
    await cleo.compare(BOB.peer_id)
    assert names(ana) == names(bob) == names(cleo) == ["Ana", "Bob", "Cleo"]
    assert len({gate.roster.digest for gate in (ana, bob, cleo)}) == 1
    assert not bob.is_on_probation(CLEO.peer_id)
    assert cleo.person_of(BOB.peer_id) == person(cleo, "Bob").id


async def test_a_guest_admits_nobody_and_brings_nobody(there: World) -> None:
    _, made, ana = there.begin(ANA)
    bob = await guest(there, made, "Bob", BOB, ANA)
    newcomer = joined(made, "Eve", EVE)
    with pytest.raises(RemoteError, match="no member is online"):
        await bob.answer_present(encode(there.node(newcomer.for_node(), EVE)._shown(is_known=False)), EVE.peer_id)
    bob.roster.learn(read_all([newcomer.application]), NOW_S)  # a changed program lets her in
    await bob.compare(ANA.peer_id)
    await ana.compare(BOB.peer_id)
    await ana.answer_roster(encode(Exchange((newcomer.application,))), BOB.peer_id)
    assert guests(ana) == ["Bob"]


async def test_a_stranger_may_present_itself_and_nothing_else(there: World) -> None:
    ana = there.node(founded(ANA), ANA)
    stranger = there.node(founded(EVE, "Eve"), EVE)
    assert [ana.may_call(EVE.peer_id, name) for name in ("DHTProtocol.rpc_store", ROSTER, "any", PRESENT)] == [
        False, False, False, True,
    ]  # fmt: skip
    with pytest.raises(RemoteError) as refused:
        await stranger.present(ANA.peer_id)
    assert refused.value.code is Code.NOT_A_MEMBER
    assert not ana.may_call(EVE.peer_id, "any")
    for noise in (b"", b"noise", msgspec.msgpack.encode({"entries": ["x"]}), bytes(9000)):
        with pytest.raises(RemoteError, match="not a message"):
            await ana.answer_present(noise, EVE.peer_id)


async def test_nobody_brings_others_along_with_their_own_application(there: World) -> None:
    """Only an application's own person is judged by expiry, range and seats, so the rest of a message holds none."""
    _, made, ana = there.begin(ANA)
    own, *others = (joined(made, f"P {number}", Identity.generate()) for number in range(6))
    bad = Presentation(
        application=own.application,
        machines=others[0].application,
        entries=tuple(each.application for each in others),
    )
    await ana.answer_present(encode(bad), EVE.peer_id)
    assert guests(ana) == ["P 0"]


async def test_invites_that_ended_expired_or_are_used_up_let_nobody_in_and_say_why(there: World) -> None:
    founder, made, ana = there.begin(ANA, people=1)
    _, forged = invited(founded(EVE, "Eve"))
    offer = read_record(made.proof).content
    assert offer is not None

    async def refusal(invite: object, identity: Identity) -> str:
        with pytest.raises(RemoteError) as caught:
            await guest(there, invite, "Somebody", identity, ANA)
        return str(caught.value)

    assert "not made by somebody who may invite" in await refusal(replace(forged, swarm=made.swarm), EVE)
    await there.join(made, "Bob", BOB, ANA)
    assert "used up" in await refusal(made, CLEO)
    short, seed = seats(NOW_S, days=1)
    there.lead(ANA, [short])
    entry = ana.roster.entry_of(short.invite)
    there.now_s += DAY_S + 1
    assert "expired" in await refusal(replace(made, seed=seed, proof=entry), CLEO)
    there.lead(ANA, [EndInvite(short.invite)])
    there.now_s = NOW_S
    assert "ended" in await refusal(replace(made, seed=seed, proof=entry), CLEO)
    assert names(ana) == ["Ana", "Bob"]
    assert founder


async def test_whoever_came_before_an_invite_expired_may_come_again(there: World) -> None:
    founder, made = invited(founded(ANA))
    founder, admin = appointed(*enrolled(founder, made, "Bob", BOB))
    ana, bob = there.node(founder, ANA), there.node(admin, BOB)
    await bob.present(ANA.peer_id)
    cleo = there.node(joined(made, "Cleo", CLEO).for_node(), CLEO)
    await cleo.present(ANA.peer_id)
    await there.quiet()
    there.confirm(BOB, [person(ana, "Cleo")])
    await there.quiet()
    assert names(ana) == ["Ana", "Bob", "Cleo"]
    there.now_s += 30 * DAY_S
    there.lead(ANA, dismiss(ana.roster, person(ana, "Bob"), keep=0))
    await there.quiet()
    assert names(ana) == names(bob) == ["Ana", "Bob"]
    cleo.forget(ANA.peer_id)
    await cleo.present(ANA.peer_id)
    assert guests(ana) == ["Cleo"], "whom a dismissed leader had confirmed"


async def test_a_restored_computer_is_let_in_with_a_pass_of_its_person_until_it_is_listed(there: World) -> None:
    founder = founded(ANA)
    assert founder.person_key is not None
    ticket = write_pass(founder.members().swarm_key, CLEO.public_key, founder.person_key, NOW_S)
    meeting_point = there.node(Membership(founder.swarm), EVE)
    restored = there.node(replace(founder.for_node(), ticket=ticket), CLEO, outsiders=[EVE.peer_id])
    await restored.present(EVE.peer_id)
    assert meeting_point.person_of(CLEO.peer_id) == person(restored, "Ana").id
    restored.publish([founder.certified(CLEO, "restored").machines])
    assert restored.ticket == b""


async def test_a_node_made_for_one_run_shows_a_pass_of_its_person(there: World) -> None:
    founder, made, ana = there.begin(ANA)
    client = there.node(founder.for_client(), EVE)  # another identity, same person
    await client.present(ANA.peer_id)
    assert ana.person_of(EVE.peer_id) == client.person_of(ANA.peer_id) == person(ana, "Ana").id
    assert ana.computers() == []
    key, swarm_key = ANA.private_key, ana.roster.swarm_key
    good = write_pass(swarm_key, EVE.public_key, key, NOW_S)
    assert signer_of(swarm_key, good, EVE.public_key, NOW_S + DAY_S - 1) == ANA.public_key
    bad = [
        (good, CLEO.public_key, NOW_S),  # somebody else shows it
        (good, EVE.public_key, NOW_S + DAY_S),
        (good, EVE.public_key, NOW_S - 2 * DAY_S),
        (write_pass(bytes(32), EVE.public_key, key, NOW_S), EVE.public_key, NOW_S),
        (made.proof, EVE.public_key, NOW_S),
        (b"noise", EVE.public_key, NOW_S),
    ]
    for ticket, node, now_s in bad:
        with pytest.raises(RemoteError, match="pass is not valid"):
            signer_of(swarm_key, ticket, node, now_s)
    for skew_s in (-7200, 7200):  # a clock that is two hours off
        assert signer_of(swarm_key, good, EVE.public_key, NOW_S + skew_s)
    stranger = Presentation(ticket=write_pass(swarm_key, CLEO.public_key, EVE.private_key, NOW_S), machines=b"x")
    with pytest.raises(RemoteError, match="knows nobody"):
        await ana.answer_present(encode(stranger), CLEO.peer_id)


async def test_the_first_call_shows_what_the_other_lacks_and_later_ones_hardly_anything(there: World) -> None:
    founder, made, ana = there.begin(ANA)
    theirs = joined(made, "Bob", BOB)
    bob = there.node(theirs.for_node(), BOB)
    await bob.present(ANA.peer_id)
    for number in range(60):
        there.lead(ANA, [seats(NOW_S)[0], Confirm(Identity.generate().public_key, f"P {number}", b"\1" * 32)])
    there.confirm(ANA, [person(ana, "Bob")])
    await bob.compare(ANA.peer_id)
    shown: list[int] = []

    def weigh(gate: MembersGate) -> None:
        answer = gate.answer_present

        async def note(body: bytes, peer: PeerId) -> bytes:
            shown.append(len(body))
            return await answer(body, peer)

        gate.answer_present = note  # type: ignore[method-assign]

    weigh(ana)
    bob.forget(ANA.peer_id)
    await bob.present(ANA.peer_id)
    away = there.node(founder, ANA)  # it starts anew, with an old list, and Bob is confirmed at its end
    away.roster._applications.clear()
    weigh(away)
    bob.forget(ANA.peer_id)
    await bob.present(ANA.peer_id)
    short, *rest = shown
    assert short < 300
    assert rest[0] == short
    assert 2 <= len(rest) <= 8
    assert all(size <= MAX_PRESENTATION_BYTES for size in rest)
    assert away.roster.digest == bob.roster.digest
    with pytest.raises(RemoteError, match="not a message"):
        decode(msgspec.msgpack.encode({"records": [b""] * (MAX_NEWS + 1)}), Exchange)


async def test_a_removed_member_is_told_by_whom_cut_off_and_refused_by_all(there: World) -> None:
    founder, made, ana = there.begin(ANA)
    theirs = joined(made, "Bob", BOB)
    bob = there.node(theirs.for_node(), BOB)
    await bob.present(ANA.peer_id)
    there.confirm(ANA, [person(ana, "Bob")])
    cleo = await there.join(made, "Cleo", CLEO, ANA)
    await bob.present(CLEO.peer_id)
    old = list(ana.roster)
    there.lead(ANA, remove(founder, ana.roster, person(ana, "Bob")))
    await there.quiet()
    assert names(cleo) == ["Ana", "Cleo"]
    assert all(BOB.peer_id in there.cut_off[node.peer_id] for node in (ANA, CLEO))
    assert not any(gate.may_call(BOB.peer_id, "any") for gate in (ana, cleo))
    known = theirs.with_records(read_all(there.kept[BOB.peer_id]), NOW_S)
    assert known.remover(BOB.public_key) == "Ana"
    for peer in (ANA.peer_id, CLEO.peer_id):
        with pytest.raises(RemoteError, match="removed"):
            await bob.present(peer)
        with pytest.raises(RemoteError, match="removed"):  # also by a program that does not stop by itself
            await there.nodes[peer].answer_present(encode(bob._shown(is_known=False)), BOB.peer_id)
    ana.publish([record.data for record in old])
    assert names(ana) == ["Ana", "Cleo"]
    again = there.node(joined(made, "Bob", BOB).for_node(), BOB)  # with a new key, on the same computer
    assert again.roster.remover(BOB.public_key) is None


async def test_whoever_was_removed_while_away_hears_it_on_coming_back(there: World) -> None:
    founder, made, ana = there.begin(ANA)
    theirs = joined(made, "Bob", BOB)
    await there.node(theirs.for_node(), BOB).present(ANA.peer_id)
    there.confirm(ANA, [person(ana, "Bob")])
    await there.quiet()
    theirs = theirs.with_records(read_all(there.kept[BOB.peer_id]), NOW_S)
    there.kept[BOB.peer_id].clear()
    del there.nodes[BOB.peer_id]
    there.lead(ANA, remove(founder, ana.roster, person(ana, "Bob")))
    bob = there.node(theirs.for_node(), BOB)
    with pytest.raises(RemoteError, match="removed"):
        await bob.present(ANA.peer_id)
    await there.quiet()
    assert theirs.with_records(read_all(there.kept[BOB.peer_id]), NOW_S).remover(BOB.public_key) == "Ana"
    assert [bob.may_call(each.peer_id, ROSTER) for each in (EVE, ANA)] == [False, True]
    answer = await bob.answer_roster(encode(Exchange(heads={})), EVE.peer_id)
    assert decode(answer, Exchange) == Exchange(), "only those who were let in may compare"


async def test_a_computer_that_a_leader_removed_is_cut_off_alone(there: World) -> None:
    founder, made, ana = there.begin(ANA)
    theirs = joined(made, "Bob", BOB)
    bob = there.node(theirs.for_node(), BOB)
    await bob.present(ANA.peer_id)
    there.confirm(ANA, [person(ana, "Bob")])
    there.lead(ANA, remove_machine(founder, person(ana, "Bob"), BOB.public_key))
    await there.quiet()
    assert names(ana) == ["Ana", "Bob"]
    assert there.cut_off[ANA.peer_id] == [BOB.peer_id]
    with pytest.raises(RemoteError, match="removed"):
        await bob.present(ANA.peer_id)
    other = theirs.certified(EVE, "tablet").with_records(ana.roster, NOW_S)
    await there.node(other.for_node(), EVE).present(ANA.peer_id)
    assert ana.person_of(EVE.peer_id) == person(ana, "Bob").id


async def test_a_node_that_was_away_learns_of_removals_before_it_admits_anybody(there: World) -> None:
    founder, made, ana = there.begin(ANA)
    bob = await there.join(made, "Bob", BOB, ANA)
    cleo = await there.join(made, "Cleo", CLEO, ANA)
    await there.quiet()
    seen = [record.data for record in cleo.roster]
    newcomer = replace(joined(made, "Cleo", CLEO).for_node(), records=tuple(seen))
    del there.nodes[CLEO.peer_id]
    there.lead(ANA, remove(founder, ana.roster, person(ana, "Bob")))
    back = there.node(newcomer, CLEO)
    with pytest.raises(RemoteError) as refused:
        await back.answer_present(encode(bob._shown(is_known=True)), BOB.peer_id)
    assert refused.value.code is Code.BUSY
    await back.present(ANA.peer_id)
    with pytest.raises(RemoteError, match="removed"):
        await back.answer_present(encode(bob._shown(is_known=False)), BOB.peer_id)
    assert names(back) == ["Ana", "Cleo"]


async def test_a_node_compares_with_connected_peers_only(there: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("potluck.membership.gate._COMPARE_INTERVAL_S", 0.0)
    connected: set[PeerId] = set()
    asked: list[PeerId] = []
    founder, made = invited(founded(ANA))

    async def list_connected() -> set[PeerId]:
        return connected

    ana = there.node(founder, ANA, connected=list_connected)
    await there.join(made, "Bob", BOB, ANA)
    client = there.node(founder.for_client(), EVE)
    connected |= {BOB.peer_id, EVE.peer_id}
    await client.present(ANA.peer_id)
    await ana.present(BOB.peer_id)

    async def note(peer: PeerId) -> None:
        asked.append(peer)
        await asyncio.sleep(0)

    ana._exchange.compare = note  # type: ignore[assignment]
    await there.quiet()
    assert set(asked) == connected
    connected.clear()
    await there.quiet()
    asked.clear()
    await there.quiet()
    assert asked == []
    assert not ana.may_call(EVE.peer_id, "any") or EVE.peer_id not in ana._owners


async def test_a_meeting_point_lets_members_in_and_is_told_of_newcomers(there: World) -> None:
    founder, made = invited(founded(ANA))
    meeting = there.node(Membership(founder.swarm), CLEO)
    meeting._started_s -= 60  # it has been there for long
    outsiders = {"outsiders": [CLEO.peer_id]}
    bob = there.node(joined(made, "Bob", BOB).for_node(), BOB, **outsiders)
    ana = there.node(founder, ANA, **outsiders)
    await ana.present(CLEO.peer_id)
    await bob.present(CLEO.peer_id)
    await there.quiet()
    assert guests(meeting) == guests(ana) == ["Bob"]
    there.confirm(ANA, [person(ana, "Bob")])
    await there.quiet()
    assert names(meeting) == names(bob) == names(ana) == ["Ana", "Bob"]
    with pytest.raises(RemoteError, match="knows too little"):
        await there.node(founded(EVE, "Eve"), EVE, **outsiders).present(CLEO.peer_id)
    assert [ana.may_call(CLEO.peer_id, name) for name in ("DHTProtocol.rpc_store", ROSTER, "any")] == [
        True,
        True,
        False,
    ]
    assert ana.payer_of(CLEO.peer_id) is not None  # it brings news, which strangers may not
    assert ana.payer_of(EVE.peer_id) is None


async def test_a_further_computer_waits_until_its_owner_lists_it(there: World) -> None:
    founder, _, ana = there.begin(ANA)
    theirs = accept(machine_invite(founder, NOW_S), "", EVE, "laptop", NOW_S)
    laptop = there.node(theirs.for_node(), EVE)
    with pytest.raises(RemoteError, match="waiting for your other computer"):
        await ana.answer_present(encode(laptop._shown(is_known=False)), EVE.peer_id)
    asking = ana.roster.request_to(founder.person_public, NOW_S)
    assert asking is not None
    ana.publish([known_by(founder, ana).with_machine(asking).machines])
    await laptop.present(ANA.peer_id)
    assert laptop.person_of(ANA.peer_id) == ana.person_of(EVE.peer_id) == person(ana, "Ana").id


async def test_what_is_worth_nothing_is_charged_before_a_signature_is_checked(there: World) -> None:
    charged: list[int] = []

    def charge(peer: PeerId, units: int) -> bool:
        charged.append(units)
        return sum(charged) < 1000

    founder, made = invited(founded(ANA))
    founder, theirs = enrolled(founder, made, "Bob", BOB)
    ana = there.node(founder, ANA, charge=charge)
    bob = there.node(theirs.for_node(), BOB)
    await bob.present(ANA.peer_id)
    assert sum(charged) == 0, "what is needed costs nothing"
    digest, swarm_key = ana.roster.digest, ana.roster.swarm_key
    stranger = Ed25519PrivateKey.generate()

    def foreign(number: int) -> Record:
        body = Entry(b"\1" * 32 if number else b"", number, bytes(32), {}, msgspec.msgpack.encode(["x"]))
        return sign_raw(swarm_key, body, stranger)

    known = Exchange(tuple(record.data for record in ana.roster))
    await ana.answer_roster(encode(known), BOB.peer_id)
    assert sum(charged) == 0, "what is known costs a look-up"
    signed = read_record(theirs.machines)
    tampered = signed.data[:-5] + bytes(5)
    worthless = [
        Application(stranger.public_key().public_bytes_raw(), "X", b"\2" * 32),
    ]
    batch = [sign(swarm_key, each, stranger, stranger).data for each in worthless] * 300
    for expected in (315, 630, 945):  # one each, and one of twenty for being read
        await ana.answer_roster(encode(Exchange(tuple(batch))), BOB.peer_id)
        assert sum(charged) == expected
    with pytest.raises(RemoteError, match="worth nothing"):
        await ana.answer_roster(encode(Exchange(tuple(batch))), BOB.peer_id)
    assert ana.roster.digest == digest
    charged.clear()
    newer = sign(swarm_key, msgspec.structs.replace(signed.body, number=9), stranger)  # type: ignore[arg-type]
    await ana.answer_roster(encode(Exchange((newer.data, tampered, foreign(1).data))), BOB.peer_id)
    assert sum(charged) >= 1
    assert ana.roster.digest == digest


def sign_raw(swarm_key: bytes, body: Entry, key: Ed25519PrivateKey) -> Record:
    raw = msgspec.msgpack.encode(body)
    signature = key.sign(b"potluck record 1\0" + swarm_key + raw)
    return read_record(msgspec.msgpack.encode([raw, [[key.public_key().public_bytes_raw(), signature]]]))
