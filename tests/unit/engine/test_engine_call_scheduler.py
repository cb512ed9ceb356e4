"""Which piece of a stateless call runs next, and who is refused."""

import pytest
from potluck_engine.compute.call_scheduler import Call, CallScheduler, Priority
from potluck_engine.compute.turns import Shares, equal_shares

from potluck.protocol.blocks import PersonId
from potluck.protocol.codes import Code, RemoteError


def call(priority: Priority, tokens: int = 1, client: str = "c") -> Call:
    return Call(priority, PersonId(client), lambda: iter(()), tokens, submitted_at=0.0)  # type: ignore[arg-type, return-value]


def scheduler(jobs: int = 3, tokens: int = 100, shares: Shares = equal_shares) -> CallScheduler:
    return CallScheduler(max_queued_jobs=jobs, max_queued_tokens=tokens, shares=shares)


def admit(target: CallScheduler, *calls: Call) -> None:
    for each in calls:
        target.admit(each, retry_after_s=2.5)


def test_a_client_that_fills_the_queue_does_not_keep_out_one_with_a_single_call():
    queue = scheduler(jobs=2)
    admit(queue, call(Priority.FORWARD, client="many"), call(Priority.FORWARD, client="many"))
    admit(queue, call(Priority.FORWARD, client="single"), call(Priority.FORWARD, client="another"))
    with pytest.raises(RemoteError):
        admit(queue, call(Priority.FORWARD, client="third"))


def test_forward_goes_before_backward_and_in_order_within():
    queue = scheduler()
    backward, first, second = call(Priority.BACKWARD), call(Priority.FORWARD), call(Priority.FORWARD)
    admit(queue, backward, first, second)
    assert [queue.take() for _ in range(4)] == [first, second, backward, None]


def test_shares_decide_whose_calls_come_first():
    queue = scheduler(100, 1000, lambda clients: {client: {"rich": 4.0, "poor": 1.0}[client] for client in clients})
    admit(queue, *(call(Priority.BACKWARD, client=client) for client in ("poor", "rich") for _ in range(20)))
    taken = [found.client for _ in range(20) if (found := queue.take()) is not None]
    assert taken.count(PersonId("rich")) == 16


def test_calls_that_are_forgotten_leave_the_queue_whether_they_began_or_not():
    queue = scheduler()
    begun, waiting, last = call(Priority.BACKWARD, tokens=5), call(Priority.BACKWARD, tokens=7), call(Priority.BACKWARD)
    admit(queue, begun, waiting, last)
    assert queue.take() is begun
    queue.put_back(begun)
    for gone in (begun, waiting, waiting):
        queue.discard(gone)
    assert queue.queued_tokens == 1
    assert queue.take() is last


def test_backward_finishes_one_job_before_the_next():
    queue = scheduler()
    first, second = call(Priority.BACKWARD, client="a"), call(Priority.BACKWARD, client="b")
    admit(queue, first, second)
    assert queue.take() is first
    queue.put_back(first)
    assert queue.take() is first


def test_full_queue_refuses_with_busy_and_a_time():
    queue = scheduler(jobs=2)
    admit(queue, call(Priority.FORWARD), call(Priority.FORWARD))
    with pytest.raises(RemoteError) as refused:
        admit(queue, call(Priority.FORWARD))
    assert refused.value.code is Code.BUSY
    assert refused.value.retry_after_s == 2.5
    admit(queue, call(Priority.BACKWARD))  # has a queue of its own


@pytest.mark.parametrize("tokens", [(60, 40), (500,)], ids=["to the last token", "a single large one"])
def test_tokens_that_wait_are_bounded(tokens: tuple[int, ...]):
    queue = scheduler(jobs=10, tokens=100)
    admit(queue, *(call(Priority.FORWARD, tokens=each) for each in tokens))
    assert queue.queued_tokens == sum(tokens)
    with pytest.raises(RemoteError):
        admit(queue, call(Priority.FORWARD))
