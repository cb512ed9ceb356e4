"""Which piece of a stateless call runs next, and who is refused."""

from collections import Counter

import pytest
from potluck_engine.compute.step_scheduler import StepScheduler
from potluck_engine.compute.steps import Batch, Call, StepCost, StepJob
from potluck_engine.compute.turns import Shares, equal_shares

from potluck.protocol.blocks import PersonId
from potluck.protocol.codes import Code, RemoteError

FORWARD, BACKWARD = False, True
COST = StepCost(((1, 0.5), (2, 1.0)))


def call(is_backward: bool, tokens: int = 1, client: str = "c") -> Call:
    return Call(None, PersonId(client), 1, tokens, 0.0, 100.0, pieces=None, is_backward=is_backward)


def scheduler(jobs: int = 3, tokens: int = 100, shares: Shares = equal_shares) -> StepScheduler:
    return StepScheduler(max_queued_jobs=jobs, max_queued_tokens=tokens, max_step_tokens=10, shares=shares)


def admit(target: StepScheduler, *calls: StepJob) -> None:
    for each in calls:
        target.add(each, 0.0, COST)


def take(target: StepScheduler, *, ends: bool = True) -> StepJob:
    """The call whose next piece runs, which is its last one if it `ends`."""
    part = target.next_call()
    assert part is not None
    if ends:
        target.discard(part.job)
    return part.job


def test_a_client_that_fills_the_queue_does_not_keep_out_one_with_a_single_call():
    queue = scheduler(jobs=2)
    admit(queue, call(FORWARD, client="many"), call(BACKWARD, client="many"))
    with pytest.raises(RemoteError):
        admit(queue, call(FORWARD, client="many"))
    admit(queue, call(FORWARD, client="single"), call(FORWARD, client="another"))
    with pytest.raises(RemoteError):
        admit(queue, call(FORWARD, client="third"))


def test_a_full_queue_takes_as_much_from_a_client_as_is_its_share():
    queue = scheduler(jobs=10)
    admit(queue, *(call(FORWARD, client="many") for _ in range(10)))
    admit(queue, *(call(FORWARD, client="modest") for _ in range(5)))
    with pytest.raises(RemoteError):
        admit(queue, call(FORWARD, client="modest"))


def test_calls_of_a_client_run_in_order_and_both_kinds_in_turns():
    queue = scheduler(jobs=10)
    calls = [call(kind) for kind in (BACKWARD, BACKWARD, FORWARD, FORWARD, FORWARD)]
    admit(queue, *calls)
    assert [take(queue) for _ in calls] == [calls[index] for index in (2, 0, 3, 1, 4)]
    assert queue.next_call() is None


def test_forwards_without_end_starve_no_backward_of_others():
    queue, computed = scheduler(), Counter[str]()
    backward = call(BACKWARD, 60, "ann")
    admit(queue, backward)
    while backward.left > 0:
        if not any(waiting.client == "eve" for waiting in queue._jobs):
            admit(queue, call(FORWARD, 10, "eve"))
        taken = take(queue, ends=False)
        computed[taken.client] += 10
        if taken.left <= 0:
            queue.discard(taken)
    assert computed["ann"] == 60
    assert computed["eve"] <= 70


def test_shares_decide_whose_calls_come_first():
    queue = scheduler(100, 1000, lambda clients: {client: {"rich": 4.0, "poor": 1.0}[client] for client in clients})
    admit(queue, *(call(BACKWARD, client=client) for client in ("poor", "rich") for _ in range(20)))
    taken = [take(queue).client for _ in range(20)]
    assert taken.count(PersonId("rich")) == 16


def test_what_a_client_computes_with_calls_counts_in_its_turns_with_steps():
    queue = scheduler(tokens=1000)
    admit(queue, call(BACKWARD, 100, "trainer"))
    for _ in range(10):
        take(queue, ends=False)
    for client in ("trainer", "other"):
        step = StepJob(client, PersonId(client), 1, 200, 0.0, 100.0)
        admit(queue, step)
        queue.make_ready(step)
    given = Counter[str]()
    for _ in range(20):
        action = queue.next(0.0, StepCost())
        assert isinstance(action, Batch)
        for part in action.parts:
            given[part.job.client] += part.count
            queue.advance(part, 0.0)
    assert given["other"] - given["trainer"] == pytest.approx(100, abs=10)


def test_calls_that_are_forgotten_leave_the_queue_whether_they_began_or_not():
    queue = scheduler()
    begun, waiting, last = call(BACKWARD, tokens=50), call(BACKWARD, tokens=7), call(BACKWARD)
    admit(queue, begun, waiting, last)
    assert take(queue, ends=False) is begun
    for gone in (begun, waiting, waiting):
        queue.discard(gone)
    assert queue.queued_tokens == 1
    assert take(queue) is last


def test_backward_finishes_one_job_before_the_next():
    queue = scheduler()
    first, second = call(BACKWARD, client="a"), call(BACKWARD, client="b")
    admit(queue, first, second)
    assert [take(queue, ends=False) for _ in range(3)] == [first] * 3
    queue.discard(first)
    assert take(queue) is second


def test_full_queue_refuses_with_busy_and_a_time():
    queue = scheduler(jobs=2)
    admit(queue, call(FORWARD), call(FORWARD, 4))
    with pytest.raises(RemoteError) as refused:
        admit(queue, call(FORWARD))
    assert refused.value.code is Code.BUSY
    assert refused.value.retry_after_s == 2.5


@pytest.mark.parametrize("tokens", [(60, 40), (500,)], ids=["to the last token", "a single large one"])
def test_tokens_that_wait_are_bounded(tokens: tuple[int, ...]):
    queue = scheduler(jobs=10, tokens=100)
    admit(queue, *(call(FORWARD, tokens=each) for each in tokens))
    assert queue.queued_tokens == sum(tokens)
    with pytest.raises(RemoteError):
        admit(queue, call(FORWARD))
