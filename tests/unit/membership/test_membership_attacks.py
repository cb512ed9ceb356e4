"""What an attacker with the source tried, against gates that exchange real messages."""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from helpers.members import NOW_S, World, appointed, decided, enrolled, founded, invited, joined, names, person, shared

from potluck.membership.gate import MembersGate
from potluck.membership.identity import Identity
from potluck.membership.invite import Invite, accept, machine_invite
from potluck.membership.leadership import dismiss, promote, remove, seats
from potluck.membership.membership import Membership
from potluck.membership.presentation import Exchange, Presentation, decode, encode, write_pass
from potluck.membership.records import (
    Confirm,
    Entry,
    Rank,
    Record,
    RecordError,
    Remove,
    consent_to_listing,
    raw_content,
    read_all,
    read_record,
    sign,
)
from potluck.protocol.blocks import PeerId
from potluck.protocol.codes import RemoteError

ANA, BOB, CLEO, MAL, EVE = (Identity.generate() for _ in range(5))
_NESTED = b"\x81\xa1x" + b"\x91" * 50_000 + b"\xc0"


class Pretender:
    """A node that answers every message with what it likes and keeps what it is told."""

    def __init__(self, answer: bytes = encode(Exchange(heads={}, has_more=True))) -> None:
        self.answer = answer
        self.got: list[Record] = []
        self.calls = 0

    def may_call(self, peer: PeerId, protocol: str) -> bool:
        return True

    async def answer_present(self, body: bytes, peer: PeerId) -> bytes:
        return encode(Presentation(digest=b"x" * 16))

    async def answer_roster(self, body: bytes, peer: PeerId) -> bytes:
        self.calls += 1
        self.got += read_all(decode(body, Exchange).records)
        return self.answer

    async def stop(self) -> None: ...


@pytest_asyncio.fixture
async def there() -> AsyncIterator[World]:
    world = World()
    yield world
    await world.stop()


async def with_admin(there: World) -> tuple[Invite, MembersGate, MembersGate, Membership]:
    """Return an invite, the gates of Ana, who founded, and of Bob; and Mal, an admin."""
    _, made, ana = there.begin(ANA)
    bob = await there.join(made, "Bob", BOB, ANA)
    mal = joined(made, "Mal", MAL)
    gate = there.node(mal.for_node(), MAL)
    await gate.present(ANA.peer_id)
    there.confirm(ANA, ana.roster.guests.values())
    founder = there.memberships[ANA.peer_id].knowing(ana.roster)
    there.lead(ANA, promote(founder, ana.roster, person(ana, "Mal"), Rank.ADMIN))
    await there.quiet()
    for each in (bob, gate):
        await each.compare(ANA.peer_id)
    return made, ana, bob, shared(mal, there.memberships[ANA.peer_id].knowing(ana.roster))[0]


async def test_who_was_removed_by_a_dismissed_admin_is_let_in_again(there: World) -> None:
    _, ana, bob, mal = await with_admin(there)
    _, new = mal.writing([Remove(person(ana, "Bob").key)], NOW_S)
    ana.publish(record.data for record in new)
    await there.quiet()
    assert not ana.may_call(BOB.peer_id, "Any.rpc")
    there.lead(ANA, dismiss(ana.roster, person(ana, "Mal"), keep=0))
    await there.quiet()
    await bob.present(ANA.peer_id)
    assert names(bob) == names(ana) == ["Ana", "Bob", "Mal"]
    assert ana.may_call(BOB.peer_id, "Any.rpc")


async def test_nobody_who_is_not_admitted_hears_of_members(there: World) -> None:
    made, ana, _, _ = await with_admin(there)
    bob_key = person(ana, "Bob").key
    there.lead(ANA, remove(there.memberships[ANA.peer_id], ana.roster, person(ana, "Bob")))
    await there.quiet()
    await there.join(made, "Later", CLEO, ANA)
    application = joined(made, "x", EVE)
    for identity in (EVE, BOB):
        stranger = Pretender()
        there.nodes[identity.peer_id] = stranger  # type: ignore[assignment]
        ana.forget(identity.peer_id)
        with pytest.raises(RemoteError):
            await ana.present(identity.peer_id)
        with pytest.raises(RemoteError):
            await ana.answer_present(encode(Presentation(machines=application.machines)), identity.peer_id)
        await there.quiet()
        told = [item.content for item in stranger.got]
        assert stranger.calls <= 3, "it gains nothing by having more"
        assert "Later" not in {each.name for each in told if isinstance(each, Confirm)}
        assert (Remove(bob_key) in told) is (identity is BOB), "whoever was removed learns just that"


async def test_a_stranger_keeps_no_node_on_a_branch_that_the_founder_disowned(there: World) -> None:
    made, ana, bob, mal = await with_admin(there)
    await there.join(made, "Cleo", CLEO, ANA)
    await bob.compare(ANA.peer_id)
    _, (opening, good) = mal.writing([Remove(os.urandom(32))], NOW_S)
    body = good.body
    assert isinstance(body, Entry)
    assert mal.person_key is not None
    other = Entry(body.chain, 1, body.before, {}, raw_content(Remove(person(ana, "Cleo").key)))
    evil = sign(ana.roster.swarm_key, other, mal.person_key)
    there.cut |= {frozenset((each.peer_id, BOB.peer_id)) for each in (ANA, CLEO, MAL)}
    ana.publish([opening.data, good.data])
    bob.publish([opening.data, evil.data])
    there.lead(ANA, remove(there.memberships[ANA.peer_id].knowing(ana.roster), ana.roster, person(ana, "Mal")))
    await there.quiet()
    assert "Cleo" not in names(bob)
    there.cut.clear()
    poison = encode(Presentation(entries=(opening.data, evil.data)))
    await bob.present(ANA.peer_id)
    for _ in range(2):
        await bob.answer_present(poison, EVE.peer_id)
        await bob.compare(ANA.peer_id)
    assert names(bob) == names(ana) == ["Ana", "Bob", "Cleo"]


async def test_nodes_on_two_branches_of_a_chain_send_each_other_nothing_more(there: World) -> None:
    _, ana, bob, mal = await with_admin(there)
    _, first = mal.writing([Remove(os.urandom(32)) for _ in range(30)], NOW_S)
    body = first[1].body
    assert isinstance(body, Entry)
    assert mal.person_key is not None
    there.cut.add(frozenset((ANA.peer_id, BOB.peer_id)))
    ana.publish(record.data for record in first)
    other = Entry(body.chain, 1, body.before, {}, raw_content(Remove(os.urandom(32))))
    bob.publish([first[0].data, sign(ana.roster.swarm_key, other, mal.person_key).data])
    await there.quiet()
    there.cut.clear()
    await bob.compare(ANA.peer_id)
    await ana.compare(BOB.peer_id)
    one, other = ana.roster.chains, bob.roster.chains
    assert one.lacking(other.heads) == other.lacking(one.heads) == []


async def test_a_message_that_nests_without_end_is_refused_and_ends_nothing(there: World) -> None:
    _, ana, _, _ = await with_admin(there)
    for answer in (ana.answer_present, ana.answer_roster):
        with pytest.raises(RemoteError):
            await answer(_NESTED, BOB.peer_id)
    with pytest.raises(RecordError):
        read_record(b"\x91" * 4000)
    there.nodes[BOB.peer_id] = Pretender(_NESTED)  # type: ignore[assignment]
    with pytest.raises(RemoteError):
        await ana.compare(BOB.peer_id)


async def test_a_removed_machine_takes_its_runs_along_and_returns_by_no_pass(there: World) -> None:
    made, ana, _, _ = await with_admin(there)
    laptop, run = Identity.generate(), Identity.generate()
    key = ana.roster.swarm_key
    cleo = joined(made, "Cleo", CLEO)
    gate = there.node(cleo.for_node(), CLEO)
    await gate.present(ANA.peer_id)
    there.confirm(ANA, ana.roster.guests.values())
    cleo = cleo.knowing(ana.roster)
    assert cleo.person_key is not None
    cleo = cleo.with_machine(consent_to_listing(key, cleo.person_public, laptop.private_key, "laptop"))
    ana.publish([cleo.machines])
    ticket = write_pass(key, run.public_key, laptop.private_key, there.now_s)
    await ana.answer_present(encode(Presentation(ticket=ticket)), run.peer_id)
    assert ana.may_call(run.peer_id, "Any.rpc")
    there.lead(ANA, [Remove(cleo.person_public, laptop.public_key), Remove(cleo.person_public, CLEO.public_key)])
    await there.quiet()
    assert not ana.may_call(run.peer_id, "Any.rpc")
    assert run.peer_id in there.cut_off[ANA.peer_id]
    ticket = write_pass(key, CLEO.public_key, cleo.person_key, there.now_s)
    with pytest.raises(RemoteError, match="removed"):
        await ana.answer_present(encode(Presentation(ticket=ticket)), CLEO.peer_id)


async def test_an_invite_beyond_an_admins_seats_lets_nobody_in_ahead_of_its_chain(there: World) -> None:
    _, ana, _, mal = await with_admin(there)
    for people, lets_in in ((101, False), (60, True), (60, False)):
        offer, seed = seats(NOW_S, people=people)
        mal, entries = mal.writing([offer], NOW_S)
        made = Invite(mal.swarm, seed, entries[-1].data)
        eve = joined(made, "Eve", identity := Identity.generate())
        shown = Presentation(machines=eve.machines, application=eve.application, invite=eve.invite)
        if lets_in:
            await ana.answer_present(encode(shown), identity.peer_id)
        else:
            with pytest.raises(RemoteError, match="may invite"):
                await ana.answer_present(encode(shown), identity.peer_id)


async def test_requests_come_only_so_often_and_no_ticket_lives_long(there: World) -> None:
    _, ana, _, _ = await with_admin(there)
    bob = there.memberships[ANA.peer_id]  # the founder's own tickets
    taken = []
    for number in range(8):
        there.now_s += 1300 if number == 7 else 1
        laptop = Identity.generate()
        asked = accept(machine_invite(bob, there.now_s), "", laptop, f"laptop {number}", there.now_s)
        taken.append(len(ana.roster.learn(read_all([asked.application]), there.now_s)))
    assert taken == [1, 0, 0, 0, 0, 0, 0, 1], "one at a time"


def test_a_second_confirmation_renames_nobody_and_a_dismissal_ends_whom_it_unseats() -> None:
    ana, made = invited(founded(ANA))
    ana, bob = enrolled(ana, made, "Bob", BOB)
    ana, mal = enrolled(ana, made, "Mal", MAL)
    ana, bob = appointed(ana, bob)
    ana, mal = appointed(ana, mal)
    ana, bob, mal = shared(ana, bob, mal)
    bob, cleo = enrolled(bob, made, "Cleo", CLEO)
    ana, bob, mal = shared(ana, bob, mal)
    mal = decided(mal, Confirm(cleo.person_public, "Ana", os.urandom(32)))
    ana, mal = shared(ana, mal)
    assert ana.members().people[cleo.person_public].name == "Cleo"

    mal, eve = enrolled(mal, made, "Eve", EVE)
    ana, mal, eve = shared(ana, mal, eve)
    ana, eve = appointed(ana, eve)
    eve = decided(shared(eve, ana)[0], Confirm(eve.person_public, "Eve", os.urandom(32)))
    ana, eve = shared(ana, eve)
    assert "Eve" in {each.name for each in ana.members().people.values()}
    unseating = dismiss(ana.members(), ana.members().people[mal.person_public], keep=0)
    ana = decided(ana, *unseating)
    assert "Eve" not in {each.name for each in ana.members().people.values()}
    assert ana.members().chains.appointments_of(eve.person_public) == {}


async def test_comparing_goes_on_whatever_one_peer_answers(there: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("potluck.membership.gate._COMPARE_INTERVAL_S", 0.01)
    _, _, ana = there.begin(ANA)
    pretender = there.nodes[BOB.peer_id] = Pretender(b"")  # type: ignore[assignment]
    ana._presented.add(BOB.peer_id)

    async def fail(peer: PeerId, **_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(ana, "compare", fail)
    await asyncio.sleep(0.1)
    monkeypatch.undo()
    await asyncio.sleep(0.1)
    assert pretender.calls


async def gives_nothing(gate: MembersGate, identity: Identity) -> bool:
    """Return whether a node tells another one nothing of what it knows."""
    return decode(await gate.answer_roster(encode(Exchange(heads={})), identity.peer_id), Exchange) == Exchange()


async def test_whoever_pretends_to_know_too_little_is_shown_no_chains(there: World) -> None:
    made, ana, _, _ = await with_admin(there)
    there.lead(ANA, remove(there.memberships[ANA.peer_id], ana.roster, person(ana, "Bob")))
    await there.quiet()
    await there.join(made, "Later", CLEO, ANA)
    shown: list[bytes] = []

    class Ignorant(Pretender):
        async def answer_present(self, body: bytes, peer: PeerId) -> bytes:
            shown.extend(decode(body, Presentation).entries)
            return encode(Presentation(is_unknown=True))

    for identity in (EVE, BOB):
        there.nodes[identity.peer_id] = Ignorant()  # type: ignore[assignment]
        ana.forget(identity.peer_id)
        with pytest.raises(RemoteError, match="other"):
            await ana.present(identity.peer_id)
    assert not shown


async def test_a_removed_meeting_point_hears_nothing_even_if_nobody_lists_it_any_more(there: World) -> None:
    _, made, ana = there.begin(ANA)
    mal = joined(made, "Mal", MAL)
    theirs = there.node(mal.for_node(), MAL)
    await theirs.present(ANA.peer_id)
    there.confirm(ANA, ana.roster.guests.values())
    bob = await there.join(made, "Bob", BOB, ANA, outsiders=[MAL.peer_id])
    await theirs.compare(ANA.peer_id)
    await bob.present(MAL.peer_id)
    ana.publish([mal.knowing(ana.roster).without_machine(MAL.public_key).machines])
    there.lead(ANA, remove(there.memberships[ANA.peer_id], ana.roster, person(ana, "Mal")))
    await there.quiet()
    await bob.compare(ANA.peer_id)
    there.nodes[MAL.peer_id] = Pretender()  # type: ignore[assignment]
    for known in (bob.roster, there.memberships[BOB.peer_id].knowing(bob.roster).members()):  # and after a restart
        again = there.node(there.memberships[BOB.peer_id].knowing(known), BOB, outsiders=[MAL.peer_id])
        with pytest.raises(RemoteError, match="does not show"):
            await again.present(MAL.peer_id)
        assert await gives_nothing(again, MAL)


async def test_a_meeting_point_whose_person_is_removed_loses_what_it_was_allowed(there: World) -> None:
    _, made, ana = there.begin(ANA)
    there.nodes[MAL.peer_id] = Pretender()  # type: ignore[assignment]
    bob = await there.join(made, "Bob", BOB, ANA, outsiders=[MAL.peer_id])
    await bob.present(MAL.peer_id)
    assert not await gives_nothing(bob, MAL)
    ana.publish([(mal := joined(made, "Mal", MAL)).application, mal.machines])
    there.confirm(ANA, ana.roster.guests.values())
    there.lead(ANA, remove(there.memberships[ANA.peer_id], ana.roster, person(ana, "Mal")))
    await there.quiet()
    await bob.compare(ANA.peer_id)
    assert await gives_nothing(bob, MAL)


@pytest.mark.parametrize("is_removed", [True, False])
async def test_whoever_joins_anew_on_the_same_computer_is_heard_as_somebody_new(there: World, is_removed: bool) -> None:
    _, made, ana = there.begin(ANA)
    await there.join(made, "Bob", BOB, ANA)
    await there.nodes.pop(BOB.peer_id).stop()
    if is_removed:
        there.lead(ANA, remove(there.memberships[ANA.peer_id], ana.roster, person(ana, "Bob")))
    anew = there.node(joined(made, "Bob anew", BOB).for_node(), BOB)
    await anew.present(ANA.peer_id)
    assert [guest.name for guest in ana.roster.guests.values()] == ["Bob anew"]
    there.confirm(ANA, ana.roster.guests.values())
    await there.quiet()
    assert "Bob anew" in names(ana)
    assert ana.may_call(BOB.peer_id, "Any.rpc")


async def test_a_removed_person_is_told_once_however_many_nodes_ask(there: World) -> None:
    _, made, ana = there.begin(ANA)
    mal = joined(made, "Mal", MAL)
    await there.node(mal.for_node(), MAL).present(ANA.peer_id)
    there.confirm(ANA, ana.roster.guests.values())
    there.lead(ANA, remove(there.memberships[ANA.peer_id], ana.roster, person(ana, "Mal")))
    await there.quiet()
    assert mal.person_key is not None
    told = 0
    for _ in range(5):
        run = Identity.generate()
        spy = Pretender()
        there.nodes[run.peer_id] = spy  # type: ignore[assignment]
        ticket = write_pass(ana.roster.swarm_key, run.public_key, mal.person_key, there.now_s)
        with pytest.raises(RemoteError, match="removed"):
            await ana.answer_present(encode(Presentation(ticket=ticket)), run.peer_id)
        await there.quiet()
        told += spy.calls > 0
    assert told == 1


async def test_what_one_brings_is_paid_for_even_if_it_is_known(there: World) -> None:
    charged: list[int] = []
    founder, made = invited(founded(ANA))
    founder, theirs = enrolled(founder, made, "Bob", BOB)
    ana = there.node(founder, ANA, charge=lambda peer, units: charged.append(units) is None and sum(charged) < 400)
    bob = there.node(theirs.for_node(), BOB)
    await bob.present(ANA.peer_id)
    known = tuple(record.data for record in ana.roster) * 300
    message = encode(Exchange(known[:2000], heads={}, others=os.urandom(8 * 2000)))
    while sum(charged) < 400:
        spent = sum(charged)
        with contextlib.suppress(RemoteError):
            await ana.answer_roster(message, BOB.peer_id)
        assert sum(charged) > spent
    with pytest.raises(RemoteError, match="worth nothing"):
        await ana.answer_roster(message, BOB.peer_id)


async def test_all_that_is_known_is_handed_on_now_and_then_in_case_it_was_not_kept(
    there: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("potluck.membership.gate._COMPARE_INTERVAL_S", 0.01)
    monkeypatch.setattr("potluck.membership.gate._ALL_S", 0.05)
    handed: asyncio.Queue[list[bytes]] = asyncio.Queue()
    ana = there.node(founded(ANA), ANA, on_news=handed.put_nowait)
    for _ in range(2):
        assert await handed.get() == [record.data for record in ana.roster]
