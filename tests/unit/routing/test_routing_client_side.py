"""What a client remembers and guesses: distances, beginnings, and servers that do not keep their pace."""

import pytest
from helpers.server_records import server_of

from potluck.protocol.blocks import PeerId, Span
from potluck.routing.experience import Affinity, Pace, Patience, Slowness
from potluck.routing.latency import estimate_rtts

ROUTE = ((PeerId("a"), Span(0, 4)), (PeerId("b"), Span(4, 8)))
OTHER = ((PeerId("c"), Span(0, 8)),)


@pytest.mark.parametrize(("who", "of_whom"), [("landmark", "far"), ("far", "landmark")])
def test_a_distance_lies_between_the_difference_and_the_sum_of_what_a_landmark_knows(who: str, of_whom: str) -> None:
    servers = [server_of(who, 0, 8, beat={"pings_s": {PeerId(of_whom): 0.10}}), server_of(of_whom, 0, 8)]
    assert estimate_rtts(servers, {PeerId("landmark"): 0.02}) == {"landmark": 0.02, "far": 0.10}


def test_own_measurements_are_never_replaced_by_what_others_say() -> None:
    liar = server_of("liar", 0, 8, beat={"pings_s": {PeerId("landmark"): 0.0}})
    measured = {PeerId("landmark"): 0.02, PeerId("liar"): 0.3}
    assert estimate_rtts([server_of("landmark", 0, 8), liar], measured) == measured


def test_without_a_common_landmark_there_is_no_estimate() -> None:
    servers = [server_of("a", 0, 8, beat={"pings_s": {PeerId("b"): 0.1}}), server_of("b", 0, 8)]
    assert estimate_rtts(servers, {PeerId("elsewhere"): 0.02}) == {"elsewhere": 0.02}


def test_a_beginning_is_known_by_its_longest_part() -> None:
    memory = Affinity()
    memory.remember([b"1", b"12"], ROUTE, now=0.0)
    memory.remember([b"1", b"13", b"134"], OTHER, now=1.0)
    assert memory.find([b"1", b"12", b"125"], now=2.0) == ROUTE
    assert memory.find([b"1", b"13"], now=2.0) == OTHER
    assert memory.find([b"1", b"19"], now=2.0) == OTHER, "the latest one that began so"
    assert memory.find([b"2"], now=2.0) is None
    assert memory.find([], now=2.0) is None


def test_beginnings_are_forgotten_after_a_while_and_when_there_are_too_many() -> None:
    memory = Affinity()
    memory.remember([b"old"], ROUTE, now=0.0)
    assert memory.find([b"old"], now=1e6) is None
    memory.remember([b"first"], ROUTE, now=0.0)
    memory.remember([b"%d" % number for number in range(2000)], OTHER, now=0.0)
    assert memory.find([b"first"], now=0.0) is None
    assert memory.find([b"1999"], now=0.0) == OTHER


def paced(promised_s: float, seen_s: float, steps: int = 10) -> Pace:
    pace = Pace(promised_s)
    for _ in range(steps):
        pace.recent_s.append(seen_s)
    return pace


def test_a_server_that_keeps_its_promise_is_compared_once_a_minute() -> None:
    pace = paced(0.05, 0.06)
    assert not pace.is_slow
    times = [second for second in range(200) if pace.is_due(float(second))]
    assert times == [60, 120, 180]


def test_a_slow_server_is_compared_at_once_and_then_ever_more_rarely() -> None:
    pace = paced(0.05, 0.5)
    assert pace.is_slow
    times = [second for second in range(100) if pace.is_due(float(second))]
    assert times == [0, 5, 15, 35, 75]


def test_a_few_slow_steps_are_no_reason() -> None:
    assert [paced(0.05, 0.5, steps).is_slow for steps in (5, 6)] == [False, True]
    assert not any(paced(0.05, 0.5, steps=5).is_due(float(second)) for second in range(200))
    assert paced(0.05, 0.5, steps=6).is_due(0.0)


def test_the_ratio_of_a_pace_is_bounded_and_1_without_a_promise() -> None:
    assert [paced(promised_s, 0.5).ratio for promised_s in (0.0, 0.01, 0.25)] == [1.0, 16.0, 2.0]


def test_a_few_slow_steps_among_good_ones_are_no_reason() -> None:
    pace = paced(0.05, 0.05)
    for _ in range(3):
        pace.recent_s.append(3.0)
    assert not pace.is_slow
    pace.recent_s.append(3.0)
    assert pace.is_slow


def test_milliseconds_on_a_loopback_are_no_reason() -> None:
    assert not paced(0.002, 0.012).is_slow


def test_a_move_must_be_worth_it() -> None:
    pace = paced(0.05, 0.1)
    assert pace.is_worth(0.06)
    assert not pace.is_worth(0.07)
    assert not paced(0.001, 0.012).is_worth(0.005), "what is won is too little"


def test_two_equally_slow_servers_are_never_exchanged_for_each_other() -> None:
    """Both promise 50 ms and take 200: who was left looks four times as slow from then on."""
    slowness = Slowness()
    first = paced(0.05, 0.2)
    assert first.is_worth(0.05)
    slowness.record(PeerId("a"), first.ratio, now=0.0)
    second = paced(0.05, 0.2)
    moves = [now for now in range(0, 90, 10) if second.is_worth(0.05 * slowness.current(float(now))["a"])]
    assert moves == []


def test_slowness_fades_and_a_good_pace_clears_it() -> None:
    slowness = Slowness()
    slowness.record(PeerId("a"), 4.0, now=10.0)
    assert slowness.current(130.0) == {"a": 2.0}
    assert slowness.current(250.1) == {}
    slowness.record(PeerId("a"), 4.0, now=300.0)
    slowness.record(PeerId("a"), 1.2, now=301.0)
    assert slowness.current(301.0) == {}


MOST = Patience(silence_s=1.0, probe_s=1.0, probes=2)


@pytest.mark.parametrize(
    ("steps_s", "silence_s", "probe_s"),
    [
        pytest.param([], 1.0, 1.0, id="nothing is known"),
        pytest.param([0.01] * 2, 1.0, 1.0, id="little is known"),
        pytest.param([0.01] * 7, 0.2, 0.3, id="fast"),
        pytest.param([0.01] * 6 + [0.1], 0.2, 0.4, id="one slow step"),
        pytest.param([0.05] * 7, 0.4, 0.3, id="rather slow"),
        pytest.param([0.1] + [0.01] * 7, 0.2, 0.3, id="slow a while ago"),
        pytest.param([0.5] * 7, 1.0, 1.0, id="slow"),
    ],
)
def test_a_silence_is_measured_by_the_servers_own_pace(steps_s: list[float], silence_s: float, probe_s: float) -> None:
    pace = Pace(0.01)
    for step_s in steps_s:
        pace.recent_s.append(step_s)
    assert pace.patience(MOST) == Patience(silence_s, probe_s, 2)
