"""An invite is found in whatever was pasted; what is no invite gets an error that says what it is."""

import random

import pytest
from helpers.members import founded, invited

from benchmarks.people.pasted_invites import WAYS, is_found
from potluck.errors import UsageError
from potluck.membership.identity import Identity
from potluck.membership.invite import decode_invite, encode_invite, link_of
from potluck.membership.pasted import MAX_PASTED_CHARS, find_invite, is_pasted

FOUNDER, FIRST = invited(founded(Identity.generate()))
INVITE, OTHER = encode_invite(FIRST), encode_invite(invited(FOUNDER)[1])


@pytest.mark.parametrize("way", WAYS)
def test_an_invite_is_found_however_it_was_pasted(way: str) -> None:
    assert is_found(WAYS[way](INVITE), FIRST)


@pytest.mark.parametrize(
    ("text", "what", "hint"),
    [
        ("", "no invite", "from `potluck4:`"),
        ("Hi Bob, the invite begins with potluck4: as always.", "no invite", "from `potluck4:`"),
        (f"{INVITE}\n{OTHER}", "2 different invites in this text: home", "only the one"),
        (
            f"See {link_of(FOUNDER.swarm)}.",
            "the link of the swarm home, which lets nobody in",
            "ask one of its members",
        ),
        (f"> {INVITE[:-1]}", "incomplete or has a wrong letter", "from `potluck4:`"),
        (INVITE.replace("potluck4", "potluck5"), "newer version", "update"),
        (INVITE.replace("potluck4", "potluck3"), "older version", "anew"),
        ("potluck4:" * (MAX_PASTED_CHARS // 8), "too long", "only the invite"),
    ],
    ids=["nothing", "a word", "two", "a link", "cut", "newer", "older", "too long"],
)
def test_what_is_no_invite_gets_an_error_that_says_what_it_is(text: str, what: str, hint: str) -> None:
    with pytest.raises(UsageError, match=what) as caught:
        find_invite(text)
    assert hint in str(caught.value.hint)


def test_a_broken_copy_beside_a_whole_one_does_no_harm() -> None:
    assert decode_invite(find_invite(f"[{INVITE[:60]}\u2026]({INVITE}) {INVITE[:-3]}")) == FIRST


def test_no_text_does_more_than_a_usage_error() -> None:
    rng = random.Random(0)
    pieces = ["potluck4:", "potluck:", INVITE[9:40], "%", "=", "&#", "<a ", ">", "-\n", "\ud800", "\u00ad", " ", "A"]
    for _ in range(300):
        text = "".join(rng.choices(pieces, k=rng.randrange(200)))
        with pytest.raises(UsageError):
            find_invite(text)


@pytest.mark.parametrize(("text", "is_one"), [(INVITE, True), (f" <{INVITE}>", True), ("friends", False), ("", False)])
def test_a_name_is_no_invite(text: str, is_one: bool) -> None:
    assert is_pasted(text) == is_one
