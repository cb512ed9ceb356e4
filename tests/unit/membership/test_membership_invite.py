"""Invites as text: what they hold, and what is refused."""

import base64
import contextlib
import hashlib
import random
from dataclasses import replace

import msgspec
import pytest
from helpers.members import NOW_S, decided, enrolled, founded, invited, joined

from potluck.errors import UsageError
from potluck.membership.identity import Identity
from potluck.membership.invite import (
    Invite,
    accept,
    decode_invite,
    encode_invite,
    link_of,
    machine_invite,
    public_invite,
    read_link,
    renewed,
)
from potluck.membership.leadership import invite_made_before, public_seats, with_seed
from potluck.membership.membership import decode_membership, encode_membership
from potluck.membership.records import EndInvite, public_key, read_all
from potluck.protocol.swarm import new_swarm

PEER = "/ip4/192.0.2.7/tcp/31330/p2p/12D3KooWPjceQrSwdWXPyLLeABRXmuqt69Rg3sBYbU1Nft9HyQ6X"
ANA, BOB = Identity.generate(), Identity.generate()
FOUNDER, MADE = invited(founded(ANA))
PRIVATE = replace(MADE, swarm=replace(MADE.swarm, bootstrap_peers=(PEER,)))
OPEN = Invite(new_swarm("all", "org/model", 80, prefix="model-hf"))
TEXT = encode_invite(PRIVATE)


def packed(fields: object, version: int = 4) -> str:
    """Return an invite with a right checksum around anything."""
    body = msgspec.msgpack.encode(fields)
    raw = hashlib.sha256(body).digest()[:4] + body
    return f"potluck{version}:" + base64.urlsafe_b64encode(raw).decode().rstrip("=")


def fields(**changes: object) -> list[object]:
    swarm, seed, proof = PRIVATE.swarm.fields, changes.pop("seed", MADE.seed), changes.pop("proof", MADE.proof)
    names = ("name", "model", "num_blocks", "prefix", "revision", "bootstrap_peers", "founder_key", "weights")
    return [[changes.get(name, value) for name, value in zip(names, swarm, strict=True)], seed, proof]


@pytest.mark.parametrize("invite", [PRIVATE, OPEN], ids=["private", "open"])
def test_an_invite_holds_the_whole_swarm(invite: Invite) -> None:
    assert decode_invite(encode_invite(invite)) == invite


def test_every_truncated_or_mistyped_invite_is_refused_with_a_hint() -> None:
    rng = random.Random(0)
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    broken = [TEXT[:length] for length in range(len(TEXT))]
    broken += [TEXT[:-1] + letter for letter in letters.replace(TEXT[-1], "")]
    for _ in range(200):
        place = rng.randrange(len("potluck4:"), len(TEXT))
        broken.append(TEXT[:place] + rng.choice(letters.replace(TEXT[place], "")) + TEXT[place + 1 :])
    for text in broken:
        with pytest.raises(UsageError) as caught:
            decode_invite(text)
        assert caught.value.hint


def test_an_invite_of_another_version_says_what_to_do() -> None:
    assert decode_invite(packed(fields())).swarm.name == "home"
    for version, word, hint in ((2, "older", "create the swarm anew"), (3, "older", "anew"), (5, "newer", "update")):
        with pytest.raises(UsageError, match=word) as caught:
            decode_invite(packed(fields(), version=version))
        assert hint in (caught.value.hint or "")


def test_impossible_fields_are_refused() -> None:
    _, other = invited(founded(ANA))
    changes: list[dict[str, object]] = [
        {"name": "two words"}, {"name": 3}, {"model": ""}, {"model": "a\nb"}, {"num_blocks": 0}, {"num_blocks": True},
        {"num_blocks": 10**9}, {"prefix": "a.b"}, {"revision": ""}, {"bootstrap_peers": ["here"]},
        {"bootstrap_peers": [PEER] * 17}, {"founder_key": b"short"}, {"seed": b"short"}, {"seed": None},
        {"seed": bytes(32)}, {"proof": b""}, {"proof": [1]}, {"proof": b"noise"}, {"proof": bytes(9000)},
        {"proof": other.proof}, {"proof": FOUNDER.records[0]}, {"founder_key": other.swarm.founder_key},
        {"founder_key": None},
    ]  # fmt: skip
    for change in changes:
        with pytest.raises(UsageError):
            decode_invite(packed(fields(**change)))
    for content in (None, 1, [], {}, [1, 2, 3], b"x"):
        with pytest.raises(UsageError):
            decode_invite(packed(content))


def test_changed_bytes_with_a_right_checksum_never_do_more_than_a_usage_error() -> None:
    rng, body = random.Random(0), base64.urlsafe_b64decode(TEXT.partition(":")[2] + "==")[4:]
    for _ in range(500):
        changed = bytearray(body)
        for _ in range(rng.randrange(1, 4)):
            changed[rng.randrange(len(changed))] = rng.randrange(256)
        raw = hashlib.sha256(changed).digest()[:4] + changed
        with contextlib.suppress(UsageError):
            invite = decode_invite("potluck4:" + base64.urlsafe_b64encode(raw).decode().rstrip("="))
            assert (invite.seed, invite.proof) == (MADE.seed, MADE.proof), "only the swarm's own fields may differ"


def test_an_invite_that_has_expired_is_refused_at_once() -> None:
    with pytest.raises(UsageError, match="expired"):
        accept(MADE, "Bob", BOB, "laptop", NOW_S + 15 * 86_400)


def test_an_invite_for_one_machine_and_a_public_one_are_told_apart() -> None:
    machine = decode_invite(encode_invite(machine_invite(FOUNDER, NOW_S)))
    assert machine.ticket is not None
    assert machine.ticket.person == FOUNDER.person_public
    public = public_invite(decided(FOUNDER, public_seats(FOUNDER, NOW_S)))
    assert public is not None
    assert [each.is_public for each in (public, MADE, machine)] == [True, False, False]
    assert MADE.ticket is None


def test_somebody_whose_invite_ended_applies_with_another_one_and_stays_the_same_person() -> None:
    bob, (_, other) = joined(MADE, "Bob", BOB), invited(FOUNDER)
    again = renewed(bob, other, Identity.generate(), "laptop", NOW_S)
    assert again.person_public == bob.person_public
    assert (again.invite, bob.invite) == (other.proof, MADE.proof)
    assert again != bob, "so that its node starts anew and applies"
    with pytest.raises(UsageError, match="expired"):
        renewed(bob, other, BOB, "laptop", NOW_S + 15 * 86_400)
    assert renewed(FOUNDER, other, Identity.generate(), "laptop", NOW_S) == FOUNDER
    assert FOUNDER.with_records(read_all([again.application]), NOW_S).members().guests == {}, "it needs that invite"


def test_the_newest_open_invite_that_was_made_here_is_shown_again_unless_it_is_over_or_made_for_other_numbers() -> None:
    leader = with_seed(FOUNDER, MADE.seed or b"")
    assert invite_made_before(leader, NOW_S) == MADE
    assert decode_membership(encode_membership(leader)).invite_seeds == leader.invite_seeds
    assert (leader.for_node().invite_seeds, leader.for_client().invite_seeds) == ((), ())
    second, other = invited(leader, people=1, days=2)
    second = with_seed(second, other.seed or b"")
    assert invite_made_before(second, NOW_S) == replace(other, swarm=second.swarm)
    for numbers, found in (
        ({"people": 10}, MADE.seed), ({"people": 1}, other.seed), ({"days": 14}, MADE.seed), ({"people": 3}, None),
        ({"people": 10, "days": 2}, None), ({"people": 1, "days": 1.5}, None), ({"days": 0.1}, None),
    ):  # fmt: skip
        again = invite_made_before(second, NOW_S + 3600, **numbers)
        assert (again and again.seed) == found
    full, _ = enrolled(second, other, "Bob", BOB)
    ended = decided(full, EndInvite(public_key(MADE.seed or b"")))
    expired = 15 * 86_400
    assert [invite_made_before(each, NOW_S + late) for each, late in ((ended, 0), (full, expired))] == [None, None]
    assert with_seed(ended, b"3" * 32).invite_seeds == (other.seed, b"3" * 32), "those that are over are forgotten"


def test_a_link_names_the_swarm_and_its_public_key_only() -> None:
    assert read_link(link_of(FOUNDER.swarm)) == ("home", FOUNDER.swarm.founder_key)
    for text in ("", "home", "potluck:home", "potluck:home:abc", "potluck:a b:" + "0" * 64):
        with pytest.raises(UsageError, match="not the link"):
            read_link(text)


def test_secrets_do_not_show_in_logs() -> None:
    assert "private_key" not in repr(ANA)
    member = joined(MADE, "Bob", BOB)
    for value in (MADE, FOUNDER, member):
        text = repr(value) + str(value)
        for secret in (MADE.seed, FOUNDER.founder_seed, FOUNDER.person_seed, member.person_seed):
            assert repr(secret) not in text


def test_a_computer_that_waits_asks_anew_with_another_invite_for_one_machine() -> None:
    machine = Identity.generate()
    waiting = accept(machine_invite(FOUNDER, NOW_S), "", machine, "Laptop", NOW_S)
    other = machine_invite(FOUNDER, NOW_S + 900)
    again = renewed(waiting, other, machine, "Laptop", NOW_S + 900)
    founder = FOUNDER.with_records(read_all([again.application]), NOW_S + 900)
    asking = founder.members().request_to(FOUNDER.person_public, NOW_S + 900)
    assert asking is not None
    assert (asking.name, asking.key) == ("Laptop", machine.public_key)
