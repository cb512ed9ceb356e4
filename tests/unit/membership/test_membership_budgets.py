"""What one person and all strangers may take, request by request."""

import pytest

from potluck.membership.budgets import ADDRESS, NEWCOMER, ONE_STRANGER, PERSON, STRANGERS, Budgets, Lease, Refused
from potluck.protocol.blocks import PeerId, PersonId

ANA, ANAS_OTHER, BEN = PeerId("ana-1"), PeerId("ana-2"), PeerId("ben-1")


def person_of(peer: PeerId) -> PersonId | None:
    name, _, _ = peer.partition("-")
    return None if name == "stranger" else PersonId(name)


def stranger(number: int) -> PeerId:
    return PeerId(f"stranger-{number}")


def spend_all(budgets: Budgets, peer: PeerId, now: float = 0.0) -> int:
    served = 0
    while isinstance(lease := budgets.request(peer, 0, now), Lease):
        budgets.end(lease)
        served += 1
    return served


def test_all_peers_of_a_person_share_one_budget_and_others_have_their_own() -> None:
    budgets = Budgets(person_of)
    assert spend_all(budgets, ANA) == PERSON.burst
    assert budgets.request(ANAS_OTHER, 0, 0.0) is Refused.FOR_NOW
    assert isinstance(budgets.request(BEN, 0, 0.0), Lease)
    assert spend_all(budgets, ANA, now=1.0) == PERSON.units_s  # spent units come back with time


def test_what_streams_hold_is_bounded_for_a_person_and_never_holds_up_itself() -> None:
    budgets = Budgets(person_of)
    one, other = budgets.open_stream(ANA, 0.0), budgets.open_stream(ANAS_OTHER, 0.0)
    assert isinstance(one, Lease)
    assert isinstance(other, Lease)
    assert budgets.hold(one, PERSON.held_bytes), "whoever holds nothing has room for any message"
    assert not budgets.hold(other, 1)
    worker = budgets.holder(ANA, 0.0)
    assert budgets.work_on(worker, 2 * PERSON.held_bytes), "work does not wait for the room of input"
    assert not budgets.work_on(budgets.holder(ANAS_OTHER, 0.0), 1)
    assert budgets.work_on(budgets.holder(BEN, 0.0), 1)
    budgets.work_on(worker, -2 * PERSON.held_bytes)
    budgets.end(one)
    assert budgets.hold(other, PERSON.held_bytes // 4)
    assert budgets.hold(other, PERSON.held_bytes // 4)
    assert not budgets.hold(other, 1)


def test_a_large_body_costs_more_than_a_small_one() -> None:
    budgets = Budgets(person_of)
    size = PERSON.held_bytes // 2
    for _ in range(3):
        lease = budgets.request(ANA, size, 0.0)
        assert isinstance(lease, Lease)
        budgets.end(lease)
    assert spend_all(budgets, ANA) == int(PERSON.burst - 3 * (1 + size / PERSON.unit_bytes))


def test_bytes_that_are_being_answered_are_bounded_until_their_lease_ends() -> None:
    budgets = Budgets(person_of)
    lease = budgets.request(ANA, PERSON.held_bytes, 0.0)
    assert isinstance(lease, Lease)
    assert budgets.request(ANA, 1, 0.0) is Refused.FOR_NOW
    budgets.end(lease)
    assert isinstance(budgets.request(ANA, 1, 0.0), Lease)


def test_a_person_has_a_limit_of_open_streams() -> None:
    budgets = Budgets(person_of)
    leases = [budgets.open_stream(ANA, 0.0) for _ in range(PERSON.streams)]
    assert budgets.open_stream(ANAS_OTHER, 0.0) is Refused.FOR_NOW
    assert isinstance(leases[0], Lease)
    budgets.end(leases[0])
    assert isinstance(budgets.open_stream(ANAS_OTHER, 0.0), Lease)


def test_when_all_streams_are_open_a_newcomer_still_gets_some() -> None:
    budgets = Budgets(person_of, max_streams=10)
    for _ in range(10):
        assert isinstance(budgets.open_stream(ANA, 0.0), Lease)
    assert budgets.open_stream(ANA, 0.0) is Refused.FOR_NOW
    assert isinstance(budgets.open_stream(BEN, 0.0), Lease)


def test_a_stranger_that_keeps_asking_is_refused_and_then_thrown_out_for_a_while() -> None:
    budgets = Budgets(person_of)
    assert spend_all(budgets, stranger(0)) == ONE_STRANGER.burst  # and a first refusal
    answers = [budgets.request(stranger(0), 0, 0.0) for _ in range(5)]
    assert answers == [Refused.FOR_NOW] * 3 + [Refused.THROW_OUT] * 2
    assert budgets.request(stranger(0), 0, 20.0) is Refused.THROW_OUT
    assert isinstance(budgets.request(stranger(0), 0, 40.0), Lease)


def test_all_strangers_together_have_one_budget_for_small_requests_that_costs_members_nothing() -> None:
    budgets = Budgets(person_of)
    assert budgets.request(stranger(0), STRANGERS.max_request_bytes + 1, 0.0) is Refused.FOR_NOW
    assert budgets.max_request_bytes(stranger(0)) < budgets.max_request_bytes(ANA)
    assert sum(spend_all(budgets, stranger(number)) for number in range(10)) == STRANGERS.burst
    assert isinstance(budgets.request(ANA, 0, 0.0), Lease)
    streams = [budgets.open_stream(stranger(number), 1000.0) for number in range(200)]
    assert sum(isinstance(lease, Lease) for lease in streams) == STRANGERS.streams


def test_from_one_address_a_few_presentations_are_heard_at_a_time_whatever_the_names() -> None:
    budgets = Budgets(person_of)
    leases = [budgets.present("192.0.2.7", 300, 0.0) for _ in range(ADDRESS.requests)]
    assert budgets.present("192.0.2.7", 300, 0.0) is Refused.FOR_NOW
    assert isinstance(budgets.present("192.0.2.8", 300, 0.0), Lease)
    assert isinstance(leases[0], Lease)
    budgets.end(leases[0])
    assert isinstance(budgets.present("192.0.2.7", 300, 0.0), Lease)


def test_a_stranger_that_becomes_a_member_gives_back_what_it_took_as_a_stranger() -> None:
    members: set[PeerId] = set()
    budgets = Budgets(lambda peer: PersonId(peer) if peer in members else None)
    for number in range(STRANGERS.streams):
        lease = budgets.open_stream(stranger(number), 0.0)
        members.add(stranger(number))
        assert isinstance(lease, Lease)
        budgets.end(lease)
    assert isinstance(budgets.open_stream(stranger(-1), 10.0), Lease)


def test_names_without_number_cost_no_memory_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("potluck.membership.budgets._MAX_REMEMBERED", 40)
    budgets = Budgets(person_of)
    for number in range(100):
        budgets.present(f"192.0.2.{number}", 0, float(number))
        for _ in range(7):
            budgets.request(stranger(number), 1 << 20, float(number))
        budgets.request(PeerId(f"{number}-1"), 0, float(number))
    assert max(len(budgets._addresses), len(budgets._each), len(budgets._persons)) <= 40


def test_a_person_causes_some_log_lines_and_dials_a_minute_and_all_strangers_together_few() -> None:
    budgets = Budgets(person_of)
    assert sum(budgets.may_log(ANA, 1.0) for _ in range(100)) == PERSON.log_lines
    assert budgets.may_log(BEN, 1.0)
    assert budgets.may_log(ANAS_OTHER, 61.0)
    assert sum(budgets.may_log(stranger(number), 1.0) for number in range(100)) == STRANGERS.log_lines

    assert sum(budgets.may_dial(ANA, 1.0) for _ in range(100)) == PERSON.dials
    assert sum(budgets.may_dial(stranger(number), 1.0) for number in range(100)) == STRANGERS.dials


def test_a_newcomer_has_a_small_budget_that_grows_when_the_probation_ends() -> None:
    on_probation = {ANA}
    budgets = Budgets(person_of, on_probation.__contains__)
    assert spend_all(budgets, ANA) == NEWCOMER.burst < PERSON.burst
    assert spend_all(budgets, BEN) == PERSON.burst
    on_probation.clear()
    assert spend_all(budgets, ANA, now=60.0) == PERSON.burst


def test_who_keeps_asking_beyond_the_budget_is_thrown_out_for_a_while() -> None:
    for limits, on_probation in ((PERSON, False), (NEWCOMER, True)):
        budgets = Budgets(person_of, lambda peer, new=on_probation: new)
        while isinstance(lease := budgets.request(PeerId("7-1"), 0, 1.0), Lease):
            budgets.end(lease)
        answers = [budgets.request(PeerId("7-2"), 0, 1.0) for _ in range(limits.refusals)]
        assert answers == [Refused.FOR_NOW] * (limits.refusals - 1) + [Refused.THROW_OUT]
        assert budgets.request(PeerId("8-1"), 0, 1.0) is not Refused.THROW_OUT
        assert budgets.request(PeerId("7-1"), 0, 30.0) is Refused.THROW_OUT
        assert isinstance(budgets.request(PeerId("7-1"), 0, 32.0), Lease)


def test_what_is_worth_nothing_is_charged_to_its_sender_alone() -> None:
    budgets = Budgets(person_of)
    assert budgets.charge(PeerId("7-1"), int(PERSON.burst), 1.0)
    assert not budgets.charge(PeerId("7-2"), 1, 1.0)
    assert not isinstance(budgets.request(PeerId("7-1"), 0, 1.0), Lease)
    assert isinstance(budgets.request(PeerId("8-1"), 0, 1.0), Lease)
