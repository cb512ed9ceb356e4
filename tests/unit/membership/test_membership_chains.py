"""What leaders decided: how it is ordered, what ends it, and that all who hold it agree."""

import hashlib
import os
import random
from dataclasses import dataclass, replace

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from helpers.members import (
    NOW_S,
    among,
    appointed,
    compare,
    decided,
    enrolled,
    founded,
    invited,
    joined,
    people,
    shared,
)

from potluck.errors import UsageError
from potluck.membership import chains as chains_module
from potluck.membership.chains import MAX_CHAINS, Chains
from potluck.membership.identity import Identity
from potluck.membership.invite import Invite
from potluck.membership.leadership import (
    confirm,
    decisions,
    dismiss,
    effects,
    mend,
    promote,
    public_seats,
    remove,
    remove_machine,
    seats,
    tend,
)
from potluck.membership.members import Members
from potluck.membership.membership import Membership
from potluck.membership.records import (
    NOTHING,
    Choose,
    Confirm,
    Content,
    EndInvite,
    Entry,
    Open,
    Rank,
    Record,
    Remove,
    Seats,
    raw_content,
    read_all,
    read_record,
    sign,
)


@dataclass
class Swarm:
    """Ana founded it; Bob is an admin, Cleo a member, and all know of each other."""

    ana: Membership
    bob: Membership
    cleo: Membership
    made: Invite

    @property
    def known(self) -> Members:
        return self.ana.members()

    @property
    def key(self) -> bytes:
        return self.known.swarm_key


@pytest.fixture
def swarm() -> Swarm:
    ana, made = invited(founded(Identity.generate()))
    ana, bob = enrolled(ana, made, "Bob", Identity.generate())
    ana, cleo = enrolled(ana, made, "Cleo", Identity.generate())
    ana, bob = appointed(ana, bob)
    ana, bob, cleo = shared(ana, bob, cleo)
    return Swarm(ana, bob, cleo, made)


def entry(
    members: Members, author: Ed25519PrivateKey | None, chain: bytes, content: Content, place: int | None = None
) -> Record:
    """Return an entry that continues a chain, or takes a place that is taken, without naming any heads."""
    assert author is not None
    entries = next(
        each for key in (NOTHING, *members.chains.appointments) for each in [members.chains.of(key).get(chain)] if each
    )
    number = len(entries) if place is None else place
    return sign(members.swarm_key, Entry(chain, number, entries[number - 1].hash, {}, raw_content(content)), author)


def somebody(invite: bytes, name: str = "Dora") -> Confirm:
    return Confirm(os.urandom(32), name, invite)


def opened(swarm: Swarm, author: Ed25519PrivateKey | None, appointment: bytes, *contents: Content) -> list[Record]:
    """Return a chain of somebody's that nobody has seen and that names no heads."""
    assert author is not None
    start = Entry(b"", 0, appointment, {}, raw_content(Open(os.urandom(16))))
    records = [sign(swarm.key, start, author)]
    for number, content in enumerate(contents, 1):
        body = Entry(records[0].hash, number, records[-1].hash, {}, raw_content(content))
        records.append(sign(swarm.key, body, author))
    return records


def appointment_of(swarm: Swarm, member: Membership) -> bytes:
    (appointment,) = swarm.known.chains.appointments_of(member.person_public)
    return appointment


def invite_of(made: Invite) -> bytes:
    content = read_record(made.proof).content
    assert isinstance(content, Seats)
    return content.invite


def test_an_entry_counts_only_where_it_continues_its_chain(swarm: Swarm) -> None:
    known, founder = swarm.known, swarm.ana.founder_key
    (chain,) = swarm.ana.chains
    digest, invite = known.digest, invite_of(swarm.made)
    good = entry(known, founder, chain, somebody(invite))
    after = sign(swarm.key, Entry(chain, good.body.number + 1, good.hash, {}, raw_content(somebody(invite))), founder)  # type: ignore[union-attr, arg-type]
    envelope = msgspec.msgpack.decode(good.data)
    bad_signature = bytes(64)
    forged = msgspec.msgpack.encode([envelope[0], [[envelope[1][0][0], bad_signature]]])
    elsewhere = sign(bytes(32), good.body, founder)  # type: ignore[arg-type]
    wrong = [
        after,  # its number comes later
        entry(known, swarm.bob.person_key, chain, somebody(invite)),  # not the author of the chain
        read_record(forged),
        elsewhere,  # signed for another swarm
        *opened(swarm, swarm.cleo.person_key, NOTHING),
        *opened(swarm, swarm.cleo.person_key, appointment_of(swarm, swarm.bob)),
    ]
    for record in wrong:
        assert known.learn([record], NOW_S) == []
    assert known.digest == digest
    assert known.learn([after, good], NOW_S) == [good]
    assert known.learn([good, after, after], NOW_S) == [after]


def test_two_entries_with_one_number_close_a_chain_until_the_founder_names_what_counts(swarm: Swarm) -> None:
    invite = invite_of(swarm.made)
    for leader, author in ((swarm.ana, swarm.ana.founder_key), (swarm.bob, swarm.bob.person_key)):
        if leader is swarm.bob:
            leader = decided(swarm.bob, somebody(invite, "Bea"))
            swarm.ana, _ = shared(swarm.ana, leader)
        chain, (one, other) = leader.chains[-1], (swarm.known, swarm.known)
        branches = [
            [entry(node, author, chain, somebody(invite, name))] for node, name in ((one, "Dora"), (other, "Ed"))
        ]
        for node, branch in zip((one, other), branches, strict=True):
            node.learn(branch, NOW_S)
            branch.append(entry(node, author, chain, somebody(invite, "Fay")))
            node.learn(branch, NOW_S)
        compare(one, other)
        for node, name, own in ((one, "Dora", 0), (other, "Ed", 1)):
            assert {name, "Fay"} < set(people(node)), "each node keeps what it holds"
            assert node.learn([entry(node, author, chain, somebody(invite)), *branches[1 - own]], NOW_S) == []
            assert node.chains.next_place(chain) is None
        founder = swarm.ana.knowing(one)
        settled = mend(one) if leader is swarm.ana else dismiss(one, among(one, "Bob"))
        founder, new = founder.writing(settled, NOW_S)
        other.learn(new, NOW_S)
        compare(founder.members(), other)
        assert founder.members().digest == other.digest
        assert "Dora" in people(other)
        assert "Ed" not in people(other)
        swarm.ana = founder


def test_a_dismissal_undoes_what_came_after_the_entry_that_it_names_and_nothing_else(swarm: Swarm) -> None:
    ana, made = swarm.ana, swarm.made
    ana, eve = enrolled(ana, made, "Eve", Identity.generate())
    bob, newcomer = shared(swarm.bob, ana)[0], joined(made, "Dora", Identity.generate())
    dora = Confirm(newcomer.person_public, "Dora", invite_of(made))
    bob = decided(bob, dora)
    bob = decided(bob, *remove(bob, bob.members(), among(bob.members(), "Eve")))
    ana, cleo = shared(ana, bob, swarm.cleo)[::2]
    assert people(ana.members()) == ["Ana", "Bob", "Cleo", "Dora"]
    known = ana.members()
    wrote = decisions(known, among(known, "Bob"))
    assert [type(item.content) for item in wrote] == [Confirm, Remove]
    outcomes = {None: "Ana Bob Cleo Dora", 1: "Ana Bob Cleo Dora Eve", 0: "Ana Bob Cleo Eve"}
    for keep, expected in outcomes.items():
        contents = dismiss(known, among(known, "Bob"), keep=keep)
        lost, back = effects(known, ana, contents)
        after = decided(ana, *contents)
        assert " ".join(people(after.members())) == expected
        assert [each.name for each in lost] == (["Dora"] if "Dora" not in expected else [])
        assert [each.name for each in back] == (["Eve"] if "Eve" in expected else [])
        assert among(after.members(), "Bob").rank is Rank.MEMBER
        late = decided(bob, somebody(invite_of(made), "Late"))
        assert shared(after, late)[0].members().digest == after.members().digest, "it ends here"
        assert shared(cleo, late, after)[0].members().digest == after.members().digest, "also for who heard it first"
        with pytest.raises(UsageError, match="only the founder and admins"):
            decided(shared(late, after)[0], dora)
    guest = decided(ana, *dismiss(known, among(known, "Bob"), keep=0)).members()
    guest.learn(read_all([newcomer.application, newcomer.machines]), NOW_S)
    assert among(guest, "Dora").is_guest
    guest.learn(read_all([eve.machines]), NOW_S)
    assert among(guest, "Eve").machines


def test_a_chain_that_a_dismissed_leader_held_back_counts_for_nothing(swarm: Swarm) -> None:
    invite, appointment = invite_of(swarm.made), appointment_of(swarm, swarm.bob)
    held_back = opened(swarm, swarm.bob.person_key, appointment, somebody(invite), Remove(swarm.cleo.person_public))
    before, accomplice = swarm.known, swarm.known
    accomplice.learn(held_back, NOW_S)
    assert people(accomplice) == ["Ana", "Bob", "Dora"]
    after = decided(swarm.ana, *dismiss(before, among(before, "Bob"))).members()
    again = decided(swarm.ana, *promote(swarm.ana, before, among(before, "Bob"), Rank.ADMIN, seats=7)).members()
    for node in (after, again):
        assert node.learn(held_back, NOW_S) == []
        assert people(node) == ["Ana", "Bob", "Cleo"]
        other = Members(swarm.key, [record.data for record in accomplice])
        compare(node, other)
        assert other.digest == node.digest


def test_an_admin_offers_as_many_seats_at_a_time_as_the_founder_allows(swarm: Swarm) -> None:
    bob, offers = swarm.bob, [seats(NOW_S, people=40)[0] for _ in range(4)]
    bob = decided(bob, *offers[:2])
    invites = decided(bob, offers[2]).members().invites
    assert [each.invite in invites for each in offers[:3]] == [True, True, False]
    bob = decided(bob, EndInvite(offers[0].invite), offers[3])
    assert [each.invite in bob.members().invites for each in offers] == [False, True, False, True]
    bob = decided(bob, *(somebody(offers[1].invite, f"P {number}") for number in range(30)))
    more, _ = seats(NOW_S, people=50)
    assert more.invite in decided(bob, more).members().invites, "seats that were taken are not open"
    ana, bob = appointed(*shared(swarm.ana, bob), seats=1000)
    many, seed = seats(NOW_S, people=900)
    bob = decided(bob, many)
    assert many.invite in shared(ana, bob)[0].members().invites
    assert seed


def test_enrollers_confirm_guests_of_the_public_invite_and_decide_nothing_else(swarm: Swarm) -> None:
    ana = decided(swarm.ana, public_seats(swarm.ana, NOW_S))
    ana, cleo = appointed(ana, swarm.cleo, Rank.ENROLLER)
    public = ana.members().public_invite
    assert public is not None
    own, _ = seats(NOW_S)
    model = Choose("evil", 4, "_home-1-2", "main", b"")
    bad = [
        somebody(invite_of(swarm.made), "Dora"),
        somebody(own.invite, "Ed"),
        somebody(swarm.key, "Another founder"),
        own,
        EndInvite(invite_of(swarm.made)),
        EndInvite(public.invite),
        Remove(swarm.bob.person_public),
        model,
        *promote(ana, ana.members(), among(ana.members(), "Cleo"), Rank.ADMIN),
    ]
    cleo = decided(cleo, *bad, somebody(public.invite, "Fay"))
    ana = shared(ana, cleo)[0]
    assert people(ana.members()) == ["Ana", "Bob", "Cleo", "Fay"]
    assert among(ana.members(), "Cleo").rank is Rank.ENROLLER
    assert set(ana.members().invites) == {invite_of(swarm.made), public.invite}
    assert ana.members().choice is None


def test_only_the_founder_removes_leaders_whatever_else_an_admin_pretends_to_have_seen(swarm: Swarm) -> None:
    ana, cleo = appointed(swarm.ana, swarm.cleo)
    bob = shared(swarm.bob, ana)[0]
    ana_key = among(ana.members(), "Ana").key
    for person in (among(bob.members(), "Ana"), among(bob.members(), "Cleo")):
        with pytest.raises(UsageError, match="the founder"):
            remove(bob, bob.members(), person)
    # An entry that names no heads: Bob pretends not to know that Cleo leads.
    blind = opened(swarm, bob.person_key, appointment_of(swarm, bob), Remove(cleo.person_public), Remove(ana_key))
    node = ana.members()
    node.learn(blind, NOW_S)
    assert people(node) == ["Ana", "Bob", "Cleo"]
    # Cleo leads no more, and Bob removes her from the same chain, again without saying that he knows.
    ended = decided(ana.knowing(node), *dismiss(node, among(node, "Cleo")))
    node = ended.members()
    node.learn([entry(node, bob.person_key, blind[0].hash, Remove(cleo.person_public))], NOW_S)
    assert people(node) == ["Ana", "Bob", "Cleo"]
    bob = decided(shared(bob, ended)[0], Remove(cleo.person_public))
    assert people(shared(ended, bob)[0].members()) == ["Ana", "Bob"], "she is a member like others now"
    # A member's removal that came before stays, although the founder appointed her without having seen it.
    ana, bob = appointed(ended, bob)
    assert people(decided(ana, *remove(ana, ana.members(), among(ana.members(), "Bob"))).members()) == ["Ana", "Cleo"]


def test_a_removal_beats_a_confirmation_and_is_for_ever(swarm: Swarm) -> None:
    cleo = among(swarm.known, "Cleo")
    removing = decided(swarm.bob, *remove(swarm.bob, swarm.bob.members(), cleo))
    again = decided(swarm.ana, confirm(cleo))
    node = shared(again, removing)[0]
    assert people(node.members()) == ["Ana", "Bob"]
    assert people(decided(node, confirm(cleo)).members()) == ["Ana", "Bob"]
    assert node.members().remover(cleo.key) == swarm.bob.person_public
    assert node.members().learn(read_all([swarm.cleo.application, swarm.cleo.machines]), NOW_S) == []


def test_a_confirmation_that_had_not_seen_the_end_of_its_invite_counts(swarm: Swarm) -> None:
    ended = decided(swarm.ana, EndInvite(invite_of(swarm.made)))
    confirming = decided(swarm.bob, somebody(invite_of(swarm.made)))
    assert people(shared(ended, confirming)[0].members()) == ["Ana", "Bob", "Cleo", "Dora"]


def test_of_two_models_the_later_counts_then_the_founders_then_the_smaller_hash(swarm: Swarm) -> None:
    def choosing(leader: Membership, model: str) -> Membership:
        return decided(leader, Choose(model, 4, f"_home-{model}", "main", b""))

    ana, bob = choosing(swarm.ana, "hers"), choosing(swarm.bob, "his")
    assert {each.swarm.model for each in shared(ana, bob)} == {"hers"}, "neither had seen the other"
    bob = choosing(shared(bob, ana)[0], "later")
    assert {each.swarm.model for each in shared(ana, bob, swarm.cleo)} == {"later"}
    ana, cleo = appointed(swarm.ana, swarm.cleo)
    one, other = choosing(shared(swarm.bob, ana)[0], "one"), choosing(cleo, "other")
    last = [each.members().chains.of(NOTHING) for each in (one, other)]
    assert last
    chosen = {each.swarm.model for each in shared(ana, one, other)}
    hashes = {
        item.hash: item.content.model
        for each in (one, other)
        for item in each.members()
        if isinstance(item.content, Choose)
    }
    assert chosen == {hashes[min(hashes)]}


def test_two_computers_of_one_leader_write_at_once_and_nothing_is_lost(swarm: Swarm) -> None:
    invite = invite_of(swarm.made)
    for leader in (swarm.ana, swarm.bob):
        laptop = replace(leader, chains=())  # restored from a backup: it opens a chain of its own
        one, other = decided(leader, somebody(invite, "Dora")), decided(laptop, somebody(invite, "Ed"))
        one, other, node = shared(one, other, swarm.cleo)
        one = decided(one, somebody(invite, "Fay"))
        one, other, node = shared(one, other, node)
        assert people(node.members()) == ["Ana", "Bob", "Cleo", "Dora", "Ed", "Fay"]
        assert len({each.members().digest for each in (one, other, node)}) == 1
    ana = decided(swarm.ana, *dismiss(swarm.known, among(swarm.known, "Bob")))
    other = decided(replace(swarm.ana, chains=()), *dismiss(swarm.known, among(swarm.known, "Bob")))
    assert len({each.members().digest for each in shared(ana, other, swarm.cleo)}) == 1


def test_entries_of_kinds_that_a_later_version_adds_break_no_chain(swarm: Swarm) -> None:
    known, founder, (chain,) = swarm.known, swarm.ana.founder_key, swarm.ana.chains
    assert founder is not None
    number, before, _ = known.chains.next_place(chain) or (0, b"", {})
    body = msgspec.msgpack.encode(Entry(chain, number, before, {}, msgspec.msgpack.encode(["summary", 1])))
    public = founder.public_key().public_bytes_raw()
    signature = founder.sign(b"potluck record 1\0" + swarm.key + body)
    strange = read_record(msgspec.msgpack.encode([body, [[public, signature]]]))
    assert strange.content is None
    assert strange.hash == hashlib.sha256(body).digest()
    assert known.learn([strange], NOW_S) == [strange]
    after = decided(swarm.ana.knowing(known), somebody(invite_of(swarm.made)))
    assert people(shared(swarm.cleo, after)[0].members()) == ["Ana", "Bob", "Cleo", "Dora"]


def test_chains_have_an_end_and_their_author_opens_another(swarm: Swarm, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chains_module, "MAX_ENTRIES", 7)
    invite, bob = invite_of(swarm.made), swarm.bob
    for number in range(6):
        bob = decided(bob, somebody(invite, f"P {number}"))
    assert len(people(bob.members())) == 3 + 6
    with pytest.raises(UsageError, match="one appointment allows"):
        decided(bob, somebody(invite, "Hal"))
    ana, bob = appointed(*shared(swarm.ana, bob), seats=7)
    assert "Hal" in people(shared(ana, decided(bob, somebody(invite, "Hal")))[0].members())
    for number in range(9):  # the founder needs no appointment
        ana = decided(ana, somebody(invite, f"Q {number}"))
    assert len(people(ana.members())) == 3 + 6 + 9


def test_many_chains_keep_nobody_from_deciding(swarm: Swarm) -> None:
    """An entry has room for so many heads; the next ones name the others."""
    ana = swarm.ana
    for number in range(130):
        ana = decided(replace(ana, chains=()), somebody(invite_of(swarm.made), f"Person {number}"))
    ana = decided(ana, *dismiss(ana.members(), among(ana.members(), "Bob")))
    assert among(ana.members(), "Bob").rank is Rank.MEMBER
    heads = set(ana.members().chains.heads) - set(ana.chains[-1:])
    for _ in range(3):
        ana = decided(ana, somebody(invite_of(swarm.made)))
    named = {key for item in ana.members().chains.of(NOTHING)[ana.chains[-1]] for key in item.body.heads}  # type: ignore[union-attr]
    assert heads <= named


def test_all_who_heard_the_same_agree_in_whatever_order_it_came(swarm: Swarm) -> None:
    ana, made, invite = swarm.ana, swarm.made, invite_of(swarm.made)
    bob = decided(swarm.bob, somebody(invite, "Dora"), Remove(swarm.cleo.person_public), seats(NOW_S)[0])
    laptop = decided(replace(ana, chains=()), Choose("m", 4, "_home-1", "main", b""), somebody(invite, "Ed"))
    guest = joined(made, "Guest", Identity.generate())
    ana, bob, laptop = shared(ana, bob, laptop)
    ana = decided(ana, *dismiss(ana.members(), among(ana.members(), "Bob"), keep=1))
    laptop = decided(laptop, *remove_machine(laptop, among(laptop.members(), "Ana"), Identity.generate().public_key))
    everything = [*shared(ana, laptop)[0].members(), *bob.members(), *read_all([guest.application, guest.machines])]
    expected = shared(ana, laptop)[0].members()
    for seed in range(20):
        rng, node = random.Random(seed), Members(swarm.key)
        for _ in range(20):  # what comes too early comes again
            for record in rng.sample(everything, len(everything)):
                node.learn([record] * rng.choice((1, 1, 2)), NOW_S)
        assert node.digest == expected.digest, seed
        assert people(node) == ["Ana", "Bob", "Cleo", "Dora", "Ed"]
        assert [each.name for each in node.guests.values()] == ["Guest"]
        read_anew = Members(swarm.key, [record.data for record in node])
        assert (read_anew.digest, read_anew.people) == (node.digest, node.people)


def test_what_a_leader_decided_is_listed_as_it_became_known_however_chains_are_named(swarm: Swarm) -> None:
    """Else a bad leader opens chains until one comes before the honest decisions, and `keep` counts into it."""
    bob = decided(swarm.bob, somebody(invite_of(swarm.made), "Dora"))
    known = shared(swarm.ana, bob)[0].members()
    for number in range(6):
        chain = opened(swarm, bob.person_key, appointment_of(swarm, bob), somebody(b"\1" * 32, f"Ghost {number}"))
        known.learn(chain, NOW_S)
    listed = [item.content.name for item in decisions(known, among(known, "Bob"))]  # type: ignore[union-attr]
    assert listed == ["Dora", *(f"Ghost {number}" for number in range(6))]
    after = decided(swarm.ana.knowing(known), *dismiss(known, among(known, "Bob"), keep=1))
    assert people(after.members()) == ["Ana", "Bob", "Cleo", "Dora"]


def test_what_came_before_a_fork_reaches_those_who_were_away(swarm: Swarm) -> None:
    bob, away = swarm.bob, swarm.ana.members()
    bob = decided(bob, somebody(invite_of(swarm.made), "Before"), Remove(swarm.cleo.person_public))
    here, there = bob.members(), bob.members()
    for node, name in ((here, "Here"), (there, "There")):
        node.learn(decided(bob, somebody(invite_of(swarm.made), name)).members(), NOW_S)
    compare(here, there)
    for node in (here, there):
        compare(away, node)
    assert "Before" in people(away)
    assert swarm.cleo.person_public in away.removed
    (appointment,) = away.chains.appointments_of(swarm.bob.person_public)
    assert away.chains.forked(appointment)


def test_a_computer_that_may_lag_opens_another_chain_unless_it_has_many(swarm: Swarm) -> None:
    """What a restored disk lacks of its chain is lost otherwise, once the founder's computers settle the fork."""
    old = swarm.ana
    founder = decided(old, somebody(invite_of(swarm.made), "Dora"), Remove(swarm.cleo.person_public))
    others = founder.members()
    restored, new = old.writing([seats(NOW_S)[0]], NOW_S, may_lag=True)
    others.learn(new, NOW_S)
    restored = restored.knowing(others)
    assert not others.chains.forked(NOTHING)
    assert "Dora" in people(restored.members())
    assert swarm.cleo.person_public in restored.members().removed
    for _ in range(5 * MAX_CHAINS):
        restored, _ = restored.writing([EndInvite(os.urandom(32))], NOW_S, may_lag=True)
    assert len(restored.members().chains.of(NOTHING)) == 5 * MAX_CHAINS
    alone = founded(Identity.generate())
    alone, _ = alone.writing([seats(NOW_S)[0]], NOW_S, may_lag=True)
    assert len(alone.chains) == 1, "nobody else holds what it wrote"


def test_settling_a_fork_decides_anew_what_the_other_branch_said(swarm: Swarm) -> None:
    one = decided(swarm.ana, somebody(invite_of(swarm.made), "Here"))
    other = decided(swarm.ana, Remove(swarm.cleo.person_public))
    node = one.members()
    node.learn(other.members(), NOW_S)
    one, new = tend(one.knowing(node), Identity.generate(), "desktop", NOW_S)
    node = other.members()
    node.learn(read_all(one.records), NOW_S)
    compare(node, one.members())
    for known in (node, one.members()):
        assert swarm.cleo.person_public in known.removed
        assert "Here" in people(known)
    assert new


def test_a_person_who_is_confirmed_again_and_again_costs_nothing(swarm: Swarm, monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[int] = []
    first = Chains.first
    monkeypatch.setattr(Chains, "first", lambda self, found: first(self, found, *compared.append(len(found)) or ()))
    twin = Confirm(b"\7" * 32, "Twin", invite_of(swarm.made))
    ana, bob = (decided(leader, *[twin] * 50) for leader in (swarm.ana, swarm.bob))
    shared(ana, bob)
    assert max(compared) <= 3


def test_an_admin_with_many_chains_offers_no_more_seats_than_with_one(swarm: Swarm) -> None:
    bob = swarm.bob
    for _ in range(4):
        bob = decided(replace(bob, chains=()), seats(NOW_S, people=60)[0])
    (appointment,) = bob.members().chains.appointments_of(bob.person_public)
    assert len(bob.members().chains.of(appointment)) >= 4
    offered = [
        seats for key, seats in bob.members().invites.items() if bob.members().inviters[key] == bob.person_public
    ]
    assert sum(each.people for each in offered) == 60


def test_a_founders_new_computer_hears_all_of_a_chain_with_a_fork(swarm: Swarm) -> None:
    """Else its demotion of the admin would end at the little that it knows."""
    assert swarm.bob.person_key is not None
    bob = decided(swarm.bob, *[somebody(invite_of(swarm.made), f"P {number}") for number in range(20)])
    (chain,) = [key for key in bob.chains if key in dict(bob.members().chains)]
    found = bob.members().chains.get(chain)
    assert found is not None
    entry = Entry(chain, 1, found.entries[0].hash, {}, raw_content(somebody(invite_of(swarm.made), "Evil")))
    old, new = bob.members(), swarm.ana.members()
    old.learn([sign(swarm.key, entry, swarm.bob.person_key)], NOW_S)
    compare(new, old)
    assert people(new) == people(old)
    assert len(people(new)) > 20


def test_entries_that_somebody_else_signed_mend_nothing(swarm: Swarm) -> None:
    one = decided(swarm.ana, somebody(invite_of(swarm.made), "Here"))
    other = decided(swarm.ana, Remove(swarm.cleo.person_public), somebody(invite_of(swarm.made), "There"))
    victim, node = one.members(), other.members()
    node.learn(one.members(), NOW_S)
    settled = decided(other.knowing(node), *mend(node))
    thief = Ed25519PrivateKey.generate()
    stolen = [sign(swarm.key, record.body, thief) for record in other.members() if isinstance(record.body, Entry)]
    victim.learn(settled.members(), NOW_S)
    for _ in range(3):
        assert not victim.learn(stolen, NOW_S)
    compare(victim, settled.members())
    anew = Members(swarm.key, [record.data for record in victim])
    assert swarm.cleo.person_public in anew.removed


def test_settling_a_fork_brings_back_no_rank_that_was_ended_since(swarm: Swarm) -> None:
    promoted = decided(swarm.ana, *promote(swarm.ana, swarm.known, among(swarm.known, "Cleo"), Rank.ADMIN))
    laptop = replace(promoted, chains=())
    cleo = among(laptop.members(), "Cleo")
    laptop = decided(laptop, *promote(laptop, laptop.members(), cleo, Rank.MEMBER))
    restored = decided(swarm.ana, somebody(invite_of(swarm.made), "Here"))
    node = restored.members()
    compare(node, laptop.members())
    restored = decided(restored.knowing(node), *mend(node))
    assert among(restored.members(), "Cleo").rank is Rank.MEMBER


def test_a_chain_has_room_for_so_many_bytes(swarm: Swarm, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chains_module, "MAX_BYTES", 2000)
    bob = decided(swarm.bob, *[somebody(invite_of(swarm.made), f"P {number}") for number in range(10)])
    assert len(people(bob.members())) == 13, "what comes at once is taken or not"
    with pytest.raises(UsageError, match="as much as one appointment allows"):
        decided(bob, somebody(invite_of(swarm.made), "One more"))


def test_seats_that_another_leader_filled_are_not_open_any_more(swarm: Swarm) -> None:
    full, _ = seats(NOW_S, people=100)
    bob = decided(swarm.bob, full)
    ana = decided(shared(swarm.ana, bob)[0], *(somebody(full.invite, f"P {number}") for number in range(100)))
    more, _ = seats(NOW_S, people=100)
    bob = decided(shared(bob, ana)[0], more)
    assert more.invite in bob.members().invites
