"""In which order a node tries servers after some of them did not answer it."""

import pytest
from helpers.server_records import record_of

from potluck.directory.fairness import MAX_CANDIDATES, choose_candidates, in_turns
from potluck.directory.suspicion import MAX_SILENT, Attempts
from potluck.protocol.blocks import PeerId, PersonId


def peers(person: str, count: int) -> list[PeerId]:
    return [PeerId(f"{person} {number}") for number in range(count)]


def person_of(peer: PeerId) -> PersonId | None:
    return None if peer == "stranger" else PersonId(peer.split()[0])


ANA, MALLORY = peers("ana", 3), peers("mallory", 9)


def silent(*those: PeerId, now: float = 0.0) -> Attempts:
    attempts = Attempts(person_of)
    for peer in those:
        attempts.record(peer, now, answered=False)
    return attempts


def test_people_take_turns_and_strangers_get_none() -> None:
    assert in_turns([*MALLORY[:3], PeerId("stranger"), *ANA], person_of) == [
        MALLORY[0], ANA[0], MALLORY[1], ANA[1], MALLORY[2], ANA[2],
    ]  # fmt: skip


@pytest.mark.parametrize(("num_silent", "is_doubtful"), [(MAX_SILENT - 1, False), (MAX_SILENT, True)], ids=["2", "3"])
def test_several_silent_servers_make_the_others_of_their_person_doubtful(num_silent: int, is_doubtful: bool) -> None:
    attempts = silent(*MALLORY[:num_silent])
    assert attempts.is_doubtful(MALLORY[0], 1.0)
    assert attempts.is_doubtful(MALLORY[8], 1.0) is is_doubtful
    assert not attempts.is_doubtful(ANA[0], 1.0)
    attempts.record(MALLORY[8], 1.0, answered=True)
    assert not attempts.is_doubtful(MALLORY[8], 1.0)
    assert attempts.is_doubtful(MALLORY[7], 1.0) is is_doubtful


def test_doubtful_servers_come_last() -> None:
    assert silent(*MALLORY[:3]).order([*MALLORY[:5], *ANA], 1.0) == [*ANA, *MALLORY[:5]]


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
    attempts.record(ANA[0], 599.0, answered=False)
    attempts.record(ANA[1], 660.0, answered=True)
    assert attempts._outcomes == {"ana": {ANA[0]: (599.0, False), ANA[1]: (660.0, True)}}


def test_a_client_follows_servers_of_all_people_first() -> None:
    fast = [record_of(peer, 0, 4, throughput_tps=1e9) for peer in peers("mallory", 2 * MAX_CANDIDATES)]
    slow = [record_of(peer, 0, 4) for peer in ANA]
    followed = choose_candidates([*fast, *slow], b"taste", 8, person_of)
    assert len(followed) == MAX_CANDIDATES
    assert set(ANA) <= set(followed)
