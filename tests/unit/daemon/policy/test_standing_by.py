import pytest
from potluck_control.states import Reason, State
from potluck_daemon.policy.decide import Decision, Rung
from potluck_daemon.policy.standing_by import is_short, stands_by


def decided(reason: Reason, rung: Rung = Rung.ENDED) -> Decision:
    return Decision(State.PAUSED, reason, "", rung)


@pytest.mark.parametrize("reason", [Reason.USER, Reason.TIMER, Reason.GAME, Reason.SCHEDULE, Reason.ENGINE_FAILED])
def test_a_member_who_pauses_or_plays_stays_in_the_swarm(reason: Reason) -> None:
    assert stands_by(decided(reason), is_memory_short=False)
    assert not stands_by(decided(reason), is_memory_short=True)


@pytest.mark.parametrize("reason", [Reason.SHUTDOWN, Reason.SLEEP, Reason.SWITCHED_OFF, Reason.METERED, Reason.BATTERY])
def test_nobody_stays_whose_computer_leaves_or_whose_bytes_cost_something(reason: Reason) -> None:
    assert not stands_by(decided(reason), is_memory_short=False)


def test_an_engine_keeps_its_own_node_while_it_gives_back_the_device() -> None:
    assert not stands_by(decided(Reason.GAME, Rung.OFFLOADED), is_memory_short=False)
    assert stands_by(decided(Reason.NONE, Rung.ONLINE), is_memory_short=False)  # until the engine takes over


def test_memory_that_was_short_must_be_plenty_before_it_counts() -> None:
    assert is_short(99, 100, was_short=False)
    assert not is_short(101, 100, was_short=False)
    assert is_short(199, 100, was_short=True)
    assert not is_short(201, 100, was_short=True)
