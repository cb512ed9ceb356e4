"""Files of memberships: a decision is stored before it is sent, by one process at a time; members found lately."""

import multiprocessing
import os
import time
from pathlib import Path

import pytest
from helpers.members import people

from potluck.errors import UsageError
from potluck.membership.identity import Identity
from potluck.membership.invite import Invite, encode_invite
from potluck.membership.joined import MAX_ADDRESSES, MAX_PEERS, JoinedSwarms, MetPeers, chosen_swarm, merged
from potluck.membership.leadership import seats
from potluck.membership.membership import Membership
from potluck.membership.records import Confirm, Remove, Seats, read_all
from potluck.protocol.swarm import new_swarm

_SPAWN = multiprocessing.get_context("spawn")


def at(path: Path, name: str = "swarms") -> JoinedSwarms:
    return JoinedSwarms(path / f"{name}.json", path / f"{name}.key")


def inviting(joined: JoinedSwarms, name: str = "home") -> str:
    """Have the founder make an invite; return its text."""
    offer, seed = seats(time.time())
    membership, (*_, record) = joined.lead(name, lambda membership: [offer])
    return encode_invite(Invite(membership.swarm, seed, record.data))


def confirm_many(path: Path, label: str, count: int) -> None:
    for number in range(count):
        at(path).lead(
            "home", lambda membership, number=number: [Confirm(os.urandom(32), f"{label} {number}", b"\1" * 32)]
        )  # type: ignore[misc]


def test_what_a_leader_decides_is_in_the_file_before_anybody_hears_of_it(tmp_path: Path) -> None:
    ana = at(tmp_path)
    ana.create(new_swarm("home", "model", 4), name="Ana")
    text = inviting(ana)
    membership, nothing = ana.lead("home", lambda membership: [])
    assert nothing == []
    assert len(membership.members().invites) == 1
    bob = at(tmp_path, "bob")
    theirs = bob.join(text, name="Bob")
    assert bob.join(text) == theirs, "joining again is no second person"
    ana.learn("home", [theirs.application, theirs.machines])
    _, new = ana.tend("home")
    assert new
    assert ana.tend("home")[1] == []
    assert people(at(tmp_path).load()["home"].members()) == ["Ana", "Bob"]
    with pytest.raises(UsageError, match="only the founder and admins"):
        bob.lead("home", lambda membership: [seats(time.time())[0]])
    with pytest.raises(UsageError, match="did not join a swarm named"):
        ana.lead("work", lambda membership: [])
    bob.learn("home", [record.data for record in ana.load()["home"].members()])
    assert bob.load()["home"].is_confirmed(bob.machine().public_key)


def test_a_removed_person_applies_anew_and_a_removed_computer_keeps_its_persons_key(tmp_path: Path) -> None:
    ana, bob = at(tmp_path), at(tmp_path, "bob")
    ana.create(new_swarm("home", "model", 4), name="Ana")
    before = bob.join(inviting(ana), name="Bob")
    ana.learn("home", [before.application, before.machines])
    ana.tend("home")
    person = before.person_public

    def remove(*what: bytes) -> None:
        ana.lead("home", lambda membership: [Remove(*what)])
        bob.learn("home", [record.data for record in ana.load()["home"].members()])

    remove(person, bob.machine().public_key)
    with pytest.raises(UsageError, match="was removed from home, but holds your key") as refused:
        bob.join(inviting(ana))
    assert "members backup" in str(refused.value.hint)
    assert bob.load()["home"].person_public == person
    remove(person)
    assert bob.join(inviting(ana), name="Bob").person_public != person


def test_two_processes_write_one_chain_without_a_fork(tmp_path: Path) -> None:
    ana = at(tmp_path)
    ana.create(new_swarm("home", "model", 4), name="Ana")
    before = ana.load()["home"].members()
    other = _SPAWN.Process(target=confirm_many, args=(tmp_path, "other", 15))
    other.start()
    confirm_many(tmp_path, "own", 15)
    other.join()
    assert other.exitcode == 0
    members = ana.load()["home"].members()
    assert len(members.people) == 1 + 30
    assert len(members.chains.of(bytes(32))) == 1
    assert len(before.learn(members, time.time())) == 30, "others take all of them"


def test_a_restart_in_the_middle_of_a_write_leaves_all_or_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The computer stops at each step of a write; afterwards the chain goes on where it was or where it came to."""
    for step in range(8):
        folder = tmp_path / str(step)
        ana = at(folder)
        ana.create(new_swarm("home", "model", 4), name="Ana")
        told = ana.load()["home"].members()
        with monkeypatch.context() as patched:
            left = [step]

            def stop(work: object, left: list[int] = left) -> object:
                def stopping(*args: object, **options: object) -> object:
                    if left[0] == 0:
                        raise KeyboardInterrupt
                    left[0] -= 1
                    return work(*args, **options)  # type: ignore[operator]

                return stopping

            for name in ("fsync", "replace", "write"):
                patched.setattr(os, name, stop(getattr(os, name)))
            try:
                _, new = ana.lead("home", lambda membership: [seats(time.time())[0]])
            except KeyboardInterrupt:
                new = []
        told.learn(new, time.time())
        ana = at(folder)
        _, new = ana.lead("home", lambda membership: [seats(time.time())[0]])
        members = ana.load()["home"].members()
        told.learn(members, time.time())
        assert told.digest == members.digest, step
        assert not told.chains.forked(bytes(32))
        assert set(told.invites) >= {record.content.invite for record in new if isinstance(record.content, Seats)}


def test_a_file_that_is_damaged_or_of_another_version_is_moved_aside(tmp_path: Path) -> None:
    for text in ('{"version": 3, "memberships": ["!"]}', '{"version": 2, "memberships": []}'):
        damaged = at(tmp_path, f"damaged-{len(text)}")
        damaged.path.write_text(text)
        _, (notice,) = chosen_swarm(damaged.path, "")
        assert "is now called" in str(notice)
        assert "join again" in str(notice)
        damaged.create(new_swarm("home", "model", 4))
        assert list(damaged.load()) == ["home"]


def test_a_further_computer_signs_with_its_own_key_which_is_never_in_the_file(tmp_path: Path) -> None:
    ana, laptop = at(tmp_path), at(tmp_path, "laptop")
    ana.create(new_swarm("home", "model", 4), name="Ana")
    laptop.adopt(ana.load()["home"].for_node())
    loaded = laptop.load()["home"]
    assert loaded.machine_seed == laptop.machine().private_key.private_bytes_raw()
    laptop.learn("home", ())
    assert laptop.read()["home"].machine_seed is None
    assert isinstance(loaded, Membership)
    assert read_all(loaded.records)


PEERS = [Identity.generate().peer_id for _ in range(MAX_PEERS + 2)]


def address_of(peer: int, port: int = 1) -> str:
    return f"/ip4/192.0.2.{peer}/tcp/{port}/p2p/{PEERS[peer]}"


def test_the_newest_come_first_and_a_peer_is_known_by_its_new_addresses() -> None:
    assert merged([address_of(1, 7)], [address_of(0), address_of(1)]) == (address_of(1, 7), address_of(0))


def test_few_addresses_of_few_peers_are_kept_and_nothing_that_is_no_address() -> None:
    many = [address_of(peer, port) for peer in range(MAX_PEERS + 2) for port in (1, 2, 3)]
    kept = merged(["nonsense", *many], ())
    assert len(kept) == MAX_PEERS * MAX_ADDRESSES
    assert kept[:2] == (address_of(0, 1), address_of(0, 2))


def test_what_was_met_is_found_again_until_the_swarm_is_left(tmp_path: Path) -> None:
    met = MetPeers(tmp_path / "met.json")
    met.remember("home", [address_of(0)])
    met.remember("work", [address_of(1)])
    met.remember("home", [address_of(2)])
    assert MetPeers(tmp_path / "met.json").load() == {"home": (address_of(2), address_of(0)), "work": (address_of(1),)}
    met.forget("home")
    assert met.load() == {"work": (address_of(1),)}


def test_a_damaged_file_is_repaired_from_its_copy_or_begins_anew(tmp_path: Path) -> None:
    path = tmp_path / "met.json"
    met = MetPeers(path)
    met.remember("home", [address_of(0)])
    path.write_bytes(b"")
    assert met.load() == {"home": (address_of(0),)}
    path.write_bytes(b"{}x")
    path.with_name("met.json.copy").write_bytes(b"")
    assert met.load() == {}
    met.remember("home", [address_of(1)])
    assert met.load() == {"home": (address_of(1),)}
