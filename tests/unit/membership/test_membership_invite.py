"""Invites as text: what they hold, and what is refused."""

import base64
import hashlib
import random
from dataclasses import replace

import msgpack
import pytest
from helpers.members import NOW_S, founded, invited, joined

from potluck.errors import UsageError
from potluck.membership.identity import Identity
from potluck.membership.invite import Invite, accept, decode_invite, encode_invite, link_of, read_link
from potluck.protocol.swarm import new_swarm

PEER = "/ip4/192.0.2.7/tcp/31330/p2p/12D3KooWPjceQrSwdWXPyLLeABRXmuqt69Rg3sBYbU1Nft9HyQ6X"
ANA, BOB = Identity.generate(), Identity.generate()
FOUNDER, MADE = invited(founded(ANA))
PRIVATE = replace(MADE, swarm=replace(MADE.swarm, bootstrap_peers=(PEER,)))
OPEN = Invite(new_swarm("all", "org/model", 80, prefix="model-hf"))
TEXT = encode_invite(PRIVATE)


def packed(fields: object, version: int = 2) -> str:
    """An invite with a right checksum around anything."""
    body = msgpack.packb(fields)
    raw = hashlib.sha256(body).digest()[:4] + body
    return f"potluck{version}:" + base64.urlsafe_b64encode(raw).decode().rstrip("=")


def fields(**changes: object) -> list[object]:
    swarm = {
        "name": "home", "model": "m", "num_blocks": 8, "prefix": "_home-1",
        "revision": "main", "bootstrap_peers": [PEER], "founder_key": bytes(32), **changes,
    }  # fmt: skip
    seed, proof = swarm.pop("seed", bytes(32)), swarm.pop("proof", [])
    return [list(swarm.values()), seed, proof]


@pytest.mark.parametrize("invite", [PRIVATE, OPEN], ids=["private", "open"])
def test_an_invite_holds_the_whole_swarm(invite: Invite) -> None:
    assert decode_invite(encode_invite(invite)) == invite


def test_an_invite_survives_line_breaks_and_spaces() -> None:
    copied = "  " + "\n ".join(TEXT[start : start + 30] for start in range(0, len(TEXT), 30)) + "\n"
    assert decode_invite(copied) == PRIVATE


def test_every_truncated_or_mistyped_invite_is_refused_with_a_hint() -> None:
    rng = random.Random(0)
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    broken = [TEXT[:length] for length in range(len(TEXT))]
    broken += [TEXT[:-1] + letter for letter in letters.replace(TEXT[-1], "")]
    for _ in range(200):
        place = rng.randrange(len("potluck2:"), len(TEXT))
        broken.append(TEXT[:place] + rng.choice(letters.replace(TEXT[place], "")) + TEXT[place + 1 :])
    for text in broken:
        with pytest.raises(UsageError) as caught:
            decode_invite(text)
        assert caught.value.hint


@pytest.mark.parametrize(("version", "word"), [(1, "older"), (4, "newer")])
def test_an_invite_of_another_version_says_what_to_do(version: int, word: str) -> None:
    with pytest.raises(UsageError, match=word) as caught:
        decode_invite(packed(fields(), version=version))
    assert "update" in (caught.value.hint or "")


@pytest.mark.parametrize(
    "change",
    [
        {"name": "two words"}, {"name": 3}, {"model": ""}, {"model": "a\nb"}, {"num_blocks": 0}, {"num_blocks": True},
        {"num_blocks": 10**9}, {"prefix": "a.b"}, {"revision": ""}, {"bootstrap_peers": ["here"]},
        {"bootstrap_peers": [PEER] * 17}, {"founder_key": b"short"}, {"seed": b"short"}, {"seed": None},
        {"proof": [1]}, {"proof": [b""] * 17},
    ],
    ids=lambda change: "-".join(change),
)  # fmt: skip
def test_impossible_fields_are_refused(change: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        decode_invite(packed(fields(**change)))


@pytest.mark.parametrize("content", [None, 1, [], {}, [1, 2, 3], b"x"], ids=repr)
def test_other_content_is_refused(content: object) -> None:
    with pytest.raises(UsageError):
        decode_invite(packed(content))


def test_an_invite_that_nobody_was_allowed_to_make_is_refused_at_once() -> None:
    with pytest.raises(UsageError, match="may invite"):
        joined(replace(MADE, seed=bytes(32)), "Bob", BOB)
    with pytest.raises(UsageError, match="expired"):
        accept(MADE, "Bob", BOB, "laptop", NOW_S + 15 * 86_400)


def test_a_link_names_the_swarm_and_its_public_key_only() -> None:
    assert read_link(link_of(FOUNDER.swarm)) == ("home", FOUNDER.swarm.founder_key)


@pytest.mark.parametrize("text", ["", "home", "potluck:home", "potluck:home:abc", "potluck:a b:" + "0" * 64])
def test_what_is_no_link_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="not the link"):
        read_link(text)


def test_secrets_do_not_show_in_logs() -> None:
    assert "private_key" not in repr(ANA)
    member = joined(MADE, "Bob", BOB)
    for value in (MADE, FOUNDER, member):
        text = repr(value) + str(value)
        for secret in (MADE.seed, FOUNDER.founder_seed, FOUNDER.person_seed, member.person_seed):
            assert repr(secret) not in text
