"""Which servers are doubted: complaints of other people, and attempts of this node that failed."""

import pytest
from helpers.server_records import record_of

from potluck.directory.fairness import MAX_CANDIDATES, choose_candidates, in_turns
from potluck.directory.suspicion import (
    COMPLAINT_LIVES_S,
    MAX_OPEN,
    MAX_PEOPLE,
    MAX_SILENT,
    NUM_WATCHERS,
    Attempts,
    Complaints,
    people_needed,
    watchers_of,
)
from potluck.protocol.blocks import PeerId, PersonId, each_peer_a_person

ANA, OMAR, ZOE = (PersonId(name) for name in ("ana", "omar", "zoe"))
DEAD = PeerId("dead")


def add(heard: Complaints, person: PersonId, now: float, suspect: PeerId = DEAD, *, num_people: int = 2) -> bool:
    return heard.add(person, suspect, now, num_people=num_people)


@pytest.mark.parametrize(
    ("num_people", "needed"), [(1, 2), (9, 2), (10, 3), (99, 3), (100, 4)], ids=["1", "9", "10", "99", "100"]
)
def test_as_many_people_must_complain_as_the_swarm_is_large(num_people: int, needed: int) -> None:
    assert people_needed(num_people) == needed
    heard = Complaints()
    answers = [add(heard, PersonId(f"{number}"), 0.0, num_people=num_people) for number in range(needed)]
    assert answers == [False] * (needed - 1) + [True]


def test_one_person_alone_has_nobody_pinged_and_two_do() -> None:
    heard = Complaints()
    assert [add(heard, ANA, now) for now in (0.0, 1.0, 2.0)] == [False, False, False]
    assert add(heard, OMAR, 3.0)
    assert not add(heard, OMAR, 4.0)  # the ping is under way; what led to it is used up


def test_a_complaint_counts_for_a_minute() -> None:
    for age_s, is_heard in ((COMPLAINT_LIVES_S, True), (COMPLAINT_LIVES_S + 1.0, False)):
        heard = Complaints()
        add(heard, ANA, 0.0)
        assert add(heard, OMAR, age_s) is is_heard
        assert add(heard, ANA, age_s + 1.0) is not is_heard


def test_a_heartbeat_of_the_accused_ends_all_complaints_about_it_and_no_others() -> None:
    heard, other = Complaints(), PeerId("other")
    for suspect in (DEAD, other):
        add(heard, ANA, 0.0, suspect)
    heard.clear(DEAD)
    assert [add(heard, OMAR, 1.0, suspect) for suspect in (DEAD, other)] == [False, True]


def test_a_person_who_complains_of_everybody_displaces_only_their_own_complaints() -> None:
    heard = Complaints()
    add(heard, ZOE, 0.0)
    add(heard, ANA, 0.0, num_people=10)
    for number in range(MAX_OPEN):
        add(heard, ANA, 0.0, PeerId(f"server {number}"))
    assert not add(heard, OMAR, 1.0, num_people=10)  # Ana's first one is forgotten, Zoe's is not
    assert add(heard, ANA, 1.0, num_people=10)
    assert not add(heard, OMAR, 1.0, PeerId("server 0"))  # displaced by the last one
    assert add(heard, OMAR, 1.0, PeerId(f"server {MAX_OPEN - 1}"))


def test_a_complaint_that_is_repeated_is_the_persons_latest() -> None:
    heard, servers = Complaints(), [PeerId(f"server {number}") for number in range(MAX_OPEN)]
    for suspect in (*servers, servers[0], PeerId("one more")):
        add(heard, ANA, 0.0, suspect)
    assert [add(heard, OMAR, 1.0, suspect) for suspect in servers[:2]] == [True, False]


def test_people_without_number_fill_no_memory() -> None:
    heard = Complaints()
    add(heard, ANA, 0.0)
    add(heard, OMAR, 0.0, PeerId("other"))
    for number in range(MAX_PEOPLE - 2):
        add(heard, PersonId(f"{number}"), 0.0, PeerId(f"server {number}"))
    assert not add(heard, ZOE, 1.0)  # the one who complained first is forgotten
    assert add(heard, ZOE, 1.0, PeerId("other"))


def test_all_clients_tell_the_same_few_and_never_the_suspect() -> None:
    servers = [PeerId(f"server {number}") for number in range(20)]
    chosen = watchers_of(servers[3], servers, each_peer_a_person)
    assert chosen == watchers_of(servers[3], reversed(servers), each_peer_a_person)
    assert len(set(chosen)) == NUM_WATCHERS
    assert servers[3] not in chosen


def test_one_person_watches_once_and_never_their_own_server() -> None:
    servers = [PeerId(f"{owner} {number}") for owner in ("ana", "omar", "zoe") for number in range(9)]
    servers.append(PeerId("nobody"))

    def person_of(peer: PeerId) -> PersonId | None:
        return None if peer == "nobody" else PersonId(peer.split()[0])

    chosen = watchers_of(servers[0], servers, person_of)
    assert sorted(person_of(peer) or "" for peer in chosen) == ["omar", "zoe"]


def peers(person: str, count: int) -> list[PeerId]:
    return [PeerId(f"{person} {number}") for number in range(count)]


def person_of(peer: PeerId) -> PersonId | None:
    return None if peer == "stranger" else PersonId(peer.split()[0])


ANAS, MALLORY = peers("ana", 3), peers("mallory", 9)


def silent(*those: PeerId, now: float = 0.0) -> Attempts:
    attempts = Attempts(person_of)
    for peer in those:
        attempts.record(peer, now, answered=False)
    return attempts


def test_people_take_turns_and_strangers_get_none() -> None:
    assert in_turns([*MALLORY[:3], PeerId("stranger"), *ANAS], person_of) == [
        MALLORY[0], ANAS[0], MALLORY[1], ANAS[1], MALLORY[2], ANAS[2],
    ]  # fmt: skip


@pytest.mark.parametrize(("num_silent", "is_doubtful"), [(MAX_SILENT - 1, False), (MAX_SILENT, True)], ids=["2", "3"])
def test_several_silent_servers_make_the_others_of_their_person_doubtful(num_silent: int, is_doubtful: bool) -> None:
    attempts = silent(*MALLORY[:num_silent])
    assert attempts.is_doubtful(MALLORY[0], 1.0)
    assert attempts.is_doubtful(MALLORY[8], 1.0) is is_doubtful
    assert not attempts.is_doubtful(ANAS[0], 1.0)
    attempts.record(MALLORY[8], 1.0, answered=True)
    assert not attempts.is_doubtful(MALLORY[8], 1.0)
    assert attempts.is_doubtful(MALLORY[7], 1.0) is is_doubtful


def test_doubtful_servers_come_last() -> None:
    assert silent(*MALLORY[:3]).order([*MALLORY[:5], *ANAS], 1.0) == [*ANAS, *MALLORY[:5]]


def test_a_failure_counts_for_ten_minutes_and_is_tried_again_after_one() -> None:
    attempts = silent(*MALLORY[:3])
    assert [attempts.is_due(MALLORY[0], now) for now in (59.9, 60.0)] == [False, True]
    assert attempts.is_due(MALLORY[8], 0.0)
    assert not attempts.is_due(PeerId("stranger"), 0.0)
    assert [attempts.is_doubtful(MALLORY[8], now) for now in (599.9, 600.0)] == [True, False]
    attempts.record(MALLORY[0], 60.0, answered=True)
    assert attempts.is_due(MALLORY[0], 60.0)


def test_old_outcomes_fill_no_memory() -> None:
    attempts = silent(*(PeerId(f"{number} x") for number in range(100)))
    attempts.record(ANAS[0], 599.0, answered=False)
    attempts.record(ANAS[1], 660.0, answered=True)
    assert attempts._outcomes == {"ana": {ANAS[0]: (599.0, False), ANAS[1]: (660.0, True)}}


def test_a_client_follows_servers_of_all_people_first() -> None:
    fast = [record_of(peer, 0, 4, throughput_tps=1e9) for peer in peers("mallory", 2 * MAX_CANDIDATES)]
    slow = [record_of(peer, 0, 4) for peer in ANAS]
    followed = choose_candidates([*fast, *slow], b"taste", 8, person_of)
    assert len(followed) == MAX_CANDIDATES
    assert set(ANAS) <= set(followed)
