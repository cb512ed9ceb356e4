"""What credit is worth: bilateral first, then by those who are trusted; rings gain nothing."""

import random

from potluck_daemon.ledger.trust import worths


def test_credit_is_what_was_received_less_what_was_given() -> None:
    assert worths("me", {"a": 10, "b": 3}, {"a": 4, "b": 5}, {}, ["a", "b", "c"]) == {"a": 6, "b": 0, "c": 0}
    assert worths("me", {"a": 1, "b": 1}, {}, {("a", "c"): 1}, ["b", "c"]) == {"b": 1, "c": 1}


def test_a_voucher_about_what_we_received_or_gave_ourselves_counts_for_nothing() -> None:
    vouched = {("me", "thief"): 10**6, ("a", "me"): 10**6}
    assert worths("me", {"a": 10}, {}, vouched, ["thief", "me"]) == {"thief": 0, "me": 0}


def test_those_who_helped_our_helpers_are_worth_something() -> None:
    vouched = {("a", "friend"): 50, ("stranger", "other"): 50}
    assert worths("me", {"a": 10}, {}, vouched, ["friend", "other"]) == {"friend": 10, "other": 0}


def test_a_path_is_no_wider_than_its_narrowest_part_and_no_longer_than_three() -> None:
    vouched = {("a", "b"): 4, ("b", "c"): 9, ("c", "d"): 9}
    assert worths("me", {"a": 10}, {}, vouched, ["c"]) == {"c": 4}
    assert worths("me", {"a": 10}, {}, vouched, ["d"]) == {"d": 0}


def test_what_was_done_for_a_friends_friend_is_paid_by_the_same_path() -> None:
    vouched = {("a", "b"): 50, ("a", "c"): 50}
    assert worths("me", {"a": 10}, {"b": 7}, vouched, ["b", "c"]) == {"b": 2, "c": 1}


def test_a_payment_over_several_paths_takes_no_more_than_its_amount() -> None:
    vouched = {("a", "b"): 10, ("c", "b"): 10}
    assert worths("me", {"a": 10, "c": 10}, {"b": 12}, vouched, ["b"]) == {"b": 8}


def test_those_who_share_a_path_share_it_evenly() -> None:
    vouched = {("a", name): 1000 for name in "bcde"}
    found = worths("me", {"a": 100}, {}, vouched, list("bcde"))
    assert sum(found.values()) <= 100
    assert min(found.values()) >= 20


def test_a_ring_has_no_more_than_its_members_really_did() -> None:
    ring = [f"ring-{index}" for index in range(100)]
    dealing = {(one, other): 10**9 for one in ring[:20] for other in ring if one != other}
    alone = worths("me", {"ring-0": 10, "honest": 10}, {}, {}, ["ring-0", "honest"])
    together = worths("me", {"ring-0": 10, "honest": 10}, {}, dealing, [*ring, "honest"])
    assert together["honest"] == alone["honest"] == 10
    assert sum(together[name] for name in ring) == alone["ring-0"] == 10


def test_one_name_of_a_ring_cannot_spend_what_another_has_spent() -> None:
    dealing = {("ring-0", "ring-1"): 10**9}
    assert worths("me", {"ring-0": 10}, {"ring-0": 10}, dealing, ["ring-1"]) == {"ring-1": 0}


def test_nobody_makes_more_out_of_what_was_received() -> None:
    rng = random.Random(7)
    names = [f"peer-{index}" for index in range(12)]
    for _ in range(100):
        received = {name: rng.randrange(100) for name in names if rng.random() < 0.5}
        given = {name: rng.randrange(100) for name in names if rng.random() < 0.5}
        vouched = {(rng.choice(names), rng.choice(names)): rng.randrange(1000) for _ in range(30)}
        found = worths("me", received, given, vouched, names)
        assert all(amount >= 0 for amount in found.values())
        assert sum(found.values()) <= sum(received.values())
