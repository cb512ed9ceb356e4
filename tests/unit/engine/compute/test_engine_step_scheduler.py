"""Which steps share a forward, how much prefill goes with them, and who waits for whom."""

from collections import Counter

import pytest
from potluck_engine.compute.step_scheduler import MIN_PIECE_TOKENS, PREFILL_STRETCH, StepScheduler
from potluck_engine.compute.steps import Batch, CostMeter, Hold, StepCost, StepJob
from potluck_engine.compute.turns import Shares, equal_shares

from potluck.protocol.blocks import PersonId

FREE = StepCost()
COST = StepCost(((1, 0.011), (1001, 1.011)))  # 10 ms a step and 1 ms a token
ONE_STEP_LESS_S = 0.010


def job(session: object = "s", client: str = "c", rows: int = 1, tokens: int = 1, *, alone: bool = False) -> StepJob:
    return StepJob(session, PersonId(client), rows, tokens, submitted_at=0.0, deadline=100.0, is_alone=alone)


def scheduler(
    jobs: int = 100,
    tokens: int = 100_000,
    step_tokens: int = 512,
    shares: Shares = equal_shares,
    piece_s: float = 1.0,
) -> StepScheduler:
    return StepScheduler(
        max_queued_jobs=jobs,
        max_queued_tokens=tokens,
        max_step_tokens=step_tokens,
        shares=shares,
        piece_s=piece_s,
    )


@pytest.fixture
def queue() -> StepScheduler:
    return scheduler()


def ready(target: StepScheduler, *jobs: StepJob, now: float = 0.0) -> None:
    for each in jobs:
        target.add(each, now, COST)
        assert target.arrived() == [each]
        target.make_ready(each)


def counts(action: object) -> dict[object, int]:
    assert isinstance(action, Batch)
    return {part.job.session: part.count for part in action.parts}


def tokens_in(action: object) -> int:
    assert isinstance(action, Batch)
    return sum(part.total for part in action.parts)


def run(target: StepScheduler, action: object, now: float) -> list[object]:
    """Do what was said; sessions whose step is done."""
    assert isinstance(action, Batch)
    return [part.job.session for part in action.parts if target.advance(part, now)]


def decode_together(target: StepScheduler, sessions: list[str], now: float) -> float:
    """One round of decode steps of all, so that each has a pace of 2 ms; the time of the next round."""
    for name in sessions:
        ready(target, job(name), now=now)
    run(target, target.next(now, FREE), now + 0.02)
    return now + 0.022


def resting(*sessions: str, rounds: int = 3) -> tuple[StepScheduler, float]:
    """Sessions that decoded together some times, and the time at which they usually come back."""
    queue, now = scheduler(), 0.0
    for _ in range(rounds):
        now = decode_together(queue, [*sessions], now)
    return queue, now


def test_decode_rows_of_all_sessions_share_one_step(queue: StepScheduler):
    ready(queue, job("a"), job("b", rows=4), job("c", client="other"))
    action = queue.next(0.0, COST)
    assert counts(action) == {"a": 1, "b": 1, "c": 1}
    assert tokens_in(action) == 6
    assert sorted(run(queue, action, 1.0)) == ["a", "b", "c"]
    assert queue.next(1.0, COST) is None
    assert queue.queued_tokens == 0


def test_prefill_alone_takes_the_full_budget_and_goes_on_until_it_is_done():
    queue = scheduler(step_tokens=100)
    ready(queue, job(tokens=250))
    taken = []
    while (action := queue.next(0.0, COST)) is not None:
        taken += counts(action).values()
        done = run(queue, action, 0.0)
    assert taken == [100, 100, 50]
    assert done == ["s"]


def test_no_piece_of_a_prefill_is_expected_to_take_longer_than_a_game_may_wait():
    """Nor has it more than twice the tokens that were ever measured. Where the smallest piece takes longer, as through
    streamed blocks, it may take twice as long as that.
    """
    slow = StepCost(((1, 0.2), (1001, 1.2)))
    for cost, taken in ((COST, 90), (slow, 215), (StepCost(((1, 0.01), (64, 0.011))), 128)):
        queue = scheduler(piece_s=0.1)
        ready(queue, job(tokens=500))
        assert counts(queue.next(0.0, cost)) == {"s": taken}
    queue = scheduler(piece_s=0.1)
    ready(queue, job(tokens=500))
    assert counts(queue.next(0.0, FREE)) == {"s": MIN_PIECE_TOKENS}  # its cost is unknown
    queue, now = with_a_decoder_that_pauses(0.2005)
    queue._piece_s = 0.1
    assert counts(queue.next(now, COST)) == {"prefill": 90}


@pytest.mark.parametrize("disturbed", [(3, 0.5), (64, 20.0)])
def test_one_slow_step_does_not_make_later_pieces_small(disturbed: tuple[int, float]):
    meter = CostMeter()
    for tokens in (1, 33):
        meter.add(tokens, 0.02 + 5e-5 * tokens)
    meter.add(*disturbed)
    queue = scheduler(piece_s=0.1)
    ready(queue, job(tokens=5000))
    for _ in range(3):
        action = queue.next(0.0, meter.cost())
        meter.add(tokens_in(action), 0.02 + 5e-5 * tokens_in(action))
        run(queue, action, 0.0)
    assert tokens_in(queue.next(0.0, meter.cost())) == 512


def test_a_piece_of_an_exact_prefill_has_the_same_tokens_whatever_it_costs():
    """Other pieces would compute other numbers, also on the server that replaces this one."""
    queue = scheduler(piece_s=0.1)
    ready(queue, job(tokens=1000, alone=True))
    assert counts(queue.next(0.0, StepCost(((1, 0.2), (1001, 1.2))))) == {"s": 512}


def test_prefill_beside_decode_stretches_the_step_by_no_more_than_allowed(queue: StepScheduler):
    ready(queue, job("decode"), job("prefill", tokens=500))
    action = queue.next(0.0, COST)
    assert counts(action)["decode"] == 1
    assert COST.of(tokens_in(action)) <= PREFILL_STRETCH * COST.of(1)
    assert counts(action)["prefill"] >= MIN_PIECE_TOKENS


def test_prefill_stays_bounded_while_a_decoding_session_is_away_and_not_after_it_left(queue: StepScheduler):
    ready(queue, job("decode"))
    run(queue, queue.next(0.0, COST), 0.0)
    ready(queue, job("prefill", tokens=500))
    assert counts(queue.next(0.1, COST))["prefill"] < 50
    assert counts(queue.next(60.0, COST))["prefill"] == 500
    queue.forget("decode")
    assert counts(queue.next(0.1, COST))["prefill"] == 500


def test_a_session_that_decoded_last_does_not_bound_its_own_prefill(queue: StepScheduler):
    ready(queue, job("chat"))
    run(queue, queue.next(0.0, COST), 0.0)
    ready(queue, job("chat", tokens=500))
    assert counts(queue.next(0.1, COST)) == {"chat": 500}


def test_clients_share_a_prefill_budget_equally_however_many_sessions_they_open():
    queue = scheduler(step_tokens=120)
    ready(queue, *(job(f"greedy {i}", "greedy", tokens=100) for i in range(5)), job("modest", "modest", tokens=100))
    assert counts(queue.next(0.0, COST)) == {"greedy 0": 60, "modest": 60}


def rich_and_poor(clients):
    return {client: {"rich": 15.0, "poor": 1.0}[client] for client in clients}


def test_shares_decide_whose_decode_rows_come_first_when_not_all_fit():
    queue = scheduler(step_tokens=4, shares=rich_and_poor)
    served = {"rich": 0, "poor": 0}
    for _ in range(160):
        for client in ("poor", "rich"):
            if not any(waiting.client == client for waiting in queue._jobs):
                ready(queue, job(client, client, rows=3))
        for session in run(queue, queue.next(0.0, FREE), 0.0):
            served[session] += 1
            queue.forget(session)
    assert served["rich"] / served["poor"] == pytest.approx(15, rel=0.1)


def test_more_clients_than_pieces_take_turns():
    queue = scheduler(step_tokens=2 * MIN_PIECE_TOKENS)
    ready(queue, *(job(name, name, tokens=40) for name in "abc"))
    first = queue.next(0.0, COST)
    run(queue, first, 0.0)
    second = queue.next(0.0, COST)
    assert set(counts(first)) == {"a", "b"}
    assert set(counts(second)) == {"c", "a"}


def test_rows_that_outnumber_the_budget_still_go_on():
    queue = scheduler(step_tokens=4)
    ready(queue, job(rows=9, tokens=2))
    assert counts(queue.next(0.0, COST)) == {"s": 1}


def test_decode_rows_that_do_not_fit_are_taken_from_every_client_in_turn():
    queue = scheduler(step_tokens=3)
    ready(queue, *(job(f"many {i}", "many") for i in range(5)), job("single", "single"))
    assert set(counts(queue.next(0.0, COST))) == {"many 0", "single", "many 1"}


def test_steps_that_run_alone_take_turns_with_batches_and_with_each_other():
    queue = scheduler(step_tokens=10)
    ready(queue, job("batch", tokens=20), job("x", tokens=20, alone=True), job("y", alone=True))
    order = []
    while (action := queue.next(0.0, COST)) is not None:
        order += counts(action)
        run(queue, action, 0.0)
    assert order == ["batch", "y", "batch", "x", "x"]


def tokens_beside(*others: StepJob, seconds: float = 20.0) -> tuple[float, Counter[str]]:
    """What decoding sessions of eight people get a second, and tokens of each other client, who has more at once."""
    queue, now, gone = scheduler(), 0.0, [(0.0, job(f"d{i}", f"p{i}")) for i in range(8)]
    gone += [(0.0, each) for each in others]
    given: Counter[str] = Counter()
    while now < seconds:
        for back in [each for each in gone if each[0] <= now]:
            gone.remove(back)
            like = back[1]
            again = StepJob(like.session, like.client, 1, like.tokens, back[0], 1e9, is_alone=like.is_alone)
            ready(queue, again, now=back[0])
        action = queue.next(now, COST)
        if not isinstance(action, Batch):
            ends = [at for at, _ in gone] + ([] if action is None else [action.until])
            now = max(min(ends), now + 1e-6)
            continue
        now += COST.of(tokens_in(action))
        for part in action.parts:
            given[part.job.client] += part.total
            if queue.advance(part, now):
                gone.append((now + 0.01 * part.job.is_decode, part.job))
    return sum(given.pop(f"p{i}") for i in range(8)) / seconds, given


def test_a_prefill_alone_slows_decoding_sessions_hardly_more_than_an_ordinary_one():
    alone, ordinary = (tokens_beside(job("x", "greedy", tokens=4000, alone=is_alone))[0] for is_alone in (True, False))
    assert alone > 0.8 * ordinary
    both, _ = tokens_beside(job("x", "x", tokens=4000, alone=True), job("y", "y", tokens=4000))
    assert both > 0.8 * ordinary


def test_people_share_prefill_equally_whether_it_runs_alone_or_not():
    _, given = tokens_beside(*(job(name, name[0], tokens=3000, alone=name > "b") for name in ("a", "b", "c", "c2")))
    assert max(given.values()) < 1.3 * min(given.values())


def test_steps_alone_that_decode_are_spared_as_others_are():
    queue = scheduler()
    ready(queue, job("d", "d", alone=True))
    run(queue, queue.next(0.0, COST), 0.01)
    ready(queue, job("x", "x", tokens=4000, alone=True), now=0.01)
    piece = queue.next(0.01, COST)
    ready(queue, job("d", "d", alone=True), now=0.02)
    run(queue, piece, 0.5)
    assert counts(queue.next(0.5, COST)) == {"d": 1}
    ready(queue, job("p", "p", tokens=500), now=0.51)
    assert counts(queue.next(0.52, COST))["p"] < 50, "prefill of others is bounded by it, too"


def test_nobody_is_spared_after_all_that_decoded_have_left():
    queue = scheduler()
    ready(queue, job("d"))
    run(queue, queue.next(0.0, COST), 0.01)
    ready(queue, job("x", tokens=4000, alone=True))
    run(queue, queue.next(0.01, COST), 0.4)
    assert isinstance(queue.next(0.4, COST), Hold)
    queue.forget("d")
    assert counts(queue.next(0.4, COST)) == {"x": 512}


def test_a_step_waits_for_rows_that_are_expected_back_within_what_they_save():
    queue, now = resting("a", "b", "c")
    ready(queue, job("a"), now=now - 0.001)
    action = queue.next(now - 0.001, COST)
    assert isinstance(action, Hold)
    assert now - 0.001 < action.until <= now - 0.001 + ONE_STEP_LESS_S
    ready(queue, job("b"), job("c"), now=now)
    assert set(counts(queue.next(now, COST))) == {"a", "b", "c"}


def test_nobody_need_look_again_before_all_are_back_that_a_step_waits_for():
    queue, now = resting("a", "b", "c", "d")
    ready(queue, job("a"), now=now - 0.001)
    assert isinstance(queue.next(now - 0.001, COST), Hold)
    assert [queue.add(job(name), now, COST) for name in ("b", "c", "d")] == [False, False, True]


def test_a_step_that_comes_while_the_thread_looks_for_others_is_looked_at():
    queue, now = resting("a", "b", "c")
    ready(queue, job("a"), now=now - 0.001)
    assert isinstance(queue.next(now - 0.001, COST), Hold)
    assert not queue.arrived()
    assert queue.add(job("b"), now, COST)


def test_who_is_not_awaited_is_looked_at_at_once():
    queue, now = resting("a", "b", "c")
    ready(queue, job("a"), now=now - 0.001)
    assert isinstance(queue.next(now - 0.001, COST), Hold)
    assert queue.add(job("new"), now, COST)
    assert queue.add(job("b", tokens=5), now, COST)
    assert counts(queue.next(now + 1.0, COST))
    assert queue.add(job("c"), now + 1.0, COST)


def test_a_hold_ends_when_the_others_do_not_come():
    queue, now = resting("a", "b")
    ready(queue, job("a"), now=now - 0.001)
    hold = queue.next(now - 0.001, COST)
    assert isinstance(hold, Hold)
    assert counts(queue.next(hold.until, COST)) == {"a": 1}
    queue.forget("b")  # it ended, so nobody waits for it at all
    assert counts(queue.next(now - 0.001, COST)) == {"a": 1}


def test_rows_that_come_back_later_than_they_save_are_not_waited_for():
    queue, now = resting("a", "b")
    ready(queue, job("a"), now=now)
    assert counts(queue.next(now - 0.001, StepCost(((1, 0.0001), (2, 0.0001))))) == {"a": 1}


@pytest.mark.parametrize(("tokens", "is_alone"), [(1, True), (5, False)], ids=["alone", "prefill"])
def test_only_sessions_that_decode_in_batches_are_waited_for(tokens: int, is_alone: bool, queue: StepScheduler):
    for now in (0.0, 0.002, 0.004):
        ready(queue, job("a", tokens=tokens, alone=is_alone), now=now)
        action = queue.next(now, FREE)
        run(queue, action, now)
    ready(queue, job("b"), now=0.005)
    assert counts(queue.next(0.005, COST)) == {"b": 1}


def test_a_session_that_prefills_again_no_longer_bounds_the_prefill_of_others(queue: StepScheduler):
    for tokens in (1, 5):
        ready(queue, job("a", tokens=tokens))
        run(queue, queue.next(0.0, COST), 0.0)
    ready(queue, job("prefill", tokens=500))
    assert counts(queue.next(0.1, COST)) == {"prefill": 500}


def test_discarded_step_is_forgotten_wherever_it_was(queue: StepScheduler):
    arrived, waiting, alone = job("a", tokens=7), job("b"), job("c", alone=True)
    ready(queue, waiting, alone)
    queue.add(arrived, 0.0, COST)
    for each in (arrived, waiting, alone):
        queue.discard(each)
        queue.discard(each)
        queue.make_ready(each)  # its memory came too late
    assert queue.arrived() == []
    assert queue.next(0.0, COST) is None
    assert (len(queue), queue.queued_tokens) == (0, 0)


def test_the_usual_step_is_found_without_asking_for_anybody_else_s(queue: StepScheduler):
    now = decode_together(queue, ["a"], 0.0)
    ready(queue, job("a"), now=now)
    part = queue.sole_decode(now)
    assert part is not None
    assert queue.next(now, FREE) == Batch((part,))
    queue.advance(part, now + 0.02)
    for jobs in ([job("b")], [job("a"), job("b")], [job("a", tokens=2)], [job("a", alone=True)], [job("a", rows=600)]):
        ready(queue, *jobs, now=now + 0.03)
        assert queue.sole_decode(now + 0.03) is None, "others may be worth waiting for, or it takes several steps"
        for each in jobs:
            queue.discard(each)


def test_steps_past_their_deadline_are_given_up(queue: StepScheduler):
    late, good = job("a"), job("b")
    late.deadline = 5.0
    ready(queue, late, good)
    assert queue.due_at == 5.0
    assert queue.expired(4.9) == []
    assert queue.expired(5.0) == [late]
    assert counts(queue.next(5.0, COST)) == {"b": 1}


def test_cost_is_a_line_between_what_was_measured():
    meter = CostMeter()
    assert meter.cost().of(5) == 0.0
    meter.add(1, 0.010)
    assert (meter.cost().of(1), meter.cost().of(100)) == (0.010, 0.010)
    meter.add(2, 0.020)
    meter.add(102, 0.120)
    cost = meter.cost()
    assert [cost.of(tokens) for tokens in (0, 1, 2)] == [0.0, 0.010, 0.020]
    assert [cost.of(tokens) for tokens in (52, 202)] == pytest.approx([0.070, 0.220])
    assert [cost.tokens_within(0.0705, most) for most in (512, 16)] == [52, 16]
    assert cost.tokens_within(0.005, 16) == 0
    assert cost.saved(1, 1) == 0.0
    assert cost.saved(52, 2) == pytest.approx(0.018)


def test_cost_never_falls_with_more_tokens():
    meter = CostMeter()
    meter.add(1, 0.030)
    meter.add(64, 0.020)
    assert [meter.cost().of(tokens) for tokens in (1, 32, 64)] == [0.030] * 3


def test_cost_of_large_steps_is_remembered_while_only_small_ones_come():
    meter = CostMeter()
    meter.add(512, 0.522)
    for _ in range(1000):
        meter.add(1, 0.011)
    assert meter.cost().of(512) == 0.522


def test_one_long_pause_of_all_does_not_end_the_waiting_for_each_other():
    queue, now = resting("a", "b", rounds=5)
    now = decode_together(queue, ["a", "b"], now + 60.0)
    ready(queue, job("a"), now=now - 0.001)
    assert isinstance(queue.next(now - 0.001, COST), Hold)


def with_a_decoder_that_pauses(pause_s: float) -> tuple[StepScheduler, float]:
    """Prefill waits, and a session was just answered that always makes such a pause; the time of that answer."""
    queue = scheduler()
    now = 0.0
    for _ in range(4):
        ready(queue, job("decode"), now=now)
        run(queue, queue.next(now, COST), now)
        now += pause_s
    ready(queue, job("prefill", tokens=500), now=now - pause_s)
    return queue, now - pause_s


def test_prefill_fills_the_pause_of_a_decoding_session_and_leaves_it_the_next_step():
    queue, now = with_a_decoder_that_pauses(0.2005)
    piece = queue.next(now, COST)
    assert counts(piece) == {"prefill": 190}
    run(queue, piece, now + 0.190)
    hold = queue.next(now + 0.190, COST)
    assert isinstance(hold, Hold)
    assert now + 0.2005 < hold.until <= now + 0.190 + COST.of(MIN_PIECE_TOKENS) + 1e-9
    ready(queue, job("decode"), now=now + 0.200)
    assert counts(queue.next(now + 0.200, COST)) == {"decode": 1}


def test_prefill_that_ran_while_nobody_decoded_owes_no_step(queue: StepScheduler):
    ready(queue, job("first", tokens=100))
    run(queue, queue.next(0.0, COST), 0.1)
    ready(queue, job("decode"), job("prefill", tokens=100))
    assert set(counts(queue.next(0.1, COST))) == {"decode", "prefill"}


def test_prefill_joins_decode_rows_whose_pauses_are_too_short_for_a_piece():
    queue, now = with_a_decoder_that_pauses(0.005)
    assert isinstance(queue.next(now, COST), Hold)
    ready(queue, job("decode"), now=now + 0.005)
    assert set(counts(queue.next(now + 0.005, COST))) == {"decode", "prefill"}


def test_prefill_goes_on_in_small_pieces_when_a_decoding_session_is_later_than_usual():
    queue, now = with_a_decoder_that_pauses(0.020)
    taken = [counts(queue.next(now + late_s, COST))["prefill"] for late_s in (0.021, 0.040)]
    assert taken == [12, 12]  # two times what a decode step takes


def test_who_usually_comes_back_in_time_but_not_always_is_waited_for_no_longer_than_it_saves(queue: StepScheduler):
    now = 0.0
    for pause in (0.002, 0.012, 0.002, 0.012):
        ready(queue, job("a"), job("b"), now=now)
        run(queue, queue.next(now, FREE), now + 0.02)
        now += 0.02 + pause
    ready(queue, job("a"), now=now - 0.011)
    hold = queue.next(now - 0.011, COST)
    assert isinstance(hold, Hold)
    assert hold.until <= now - 0.011 + ONE_STEP_LESS_S
