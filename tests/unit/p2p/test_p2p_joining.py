"""How a node joins: through whoever answers, again and again, with a reason."""

import asyncio
from dataclasses import replace
from itertools import islice, pairwise

import pytest

from potluck.allowance import MAX_STRETCH, stretch
from potluck.errors import NetworkError
from potluck.membership.membership import Membership
from potluck.p2p.finding import useful, ways_in
from potluck.p2p.joining import (
    FIRST_DELAY_S,
    MAX_DELAY_S,
    TryAgainError,
    delays_s,
    joining_error,
    until_one_succeeds,
    with_retries,
)
from potluck.p2p.network import HostConfig
from potluck.protocol.codes import Code, Denial, RemoteError
from potluck.protocol.swarm import Swarm

SILENT = TryAgainError("silent", hint="wait")


class Clock:
    """A clock that only sleeping moves."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s

    async def sleep(self, seconds: float) -> None:
        self.now_s += seconds


class Door:
    """Refuses with these errors, one after the other, and then opens."""

    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)
        self.num_asked = 0

    async def __call__(self) -> str:
        self.num_asked += 1
        if self.errors:
            raise self.errors.pop(0)
        return "in"


async def attempt(door: Door, patience_s: float) -> tuple[str, list[str], float]:
    clock, said = Clock(), list[str]()
    result = await with_retries(door, patience_s=patience_s, on_waiting=said.append, clock=clock, sleep=clock.sleep)
    return result, said, clock.now_s


def test_pauses_grow_up_to_a_limit() -> None:
    pauses = list(islice(delays_s(), 8))
    assert pauses[0] == FIRST_DELAY_S
    assert all(later == min(2 * earlier, MAX_DELAY_S) for earlier, later in pairwise(pauses))


async def test_a_node_that_is_let_in_at_once_says_nothing() -> None:
    assert await attempt(Door(), 0.0) == ("in", [], 0.0)


async def test_a_node_with_all_the_patience_tries_again_and_says_why_until_it_is_let_in() -> None:
    reasons = [TryAgainError(str(number)) for number in range(12)]
    result, said, waited_s = await attempt(Door(*reasons), float("inf"))
    assert result == "in"
    assert said == [*reasons, None]
    assert waited_s > 200


@pytest.mark.parametrize(("patience_s", "num_asked"), [(0.0, 1), (1.0, 2), (6.9, 3), (7.0, 4)])
async def test_the_last_reason_is_raised_when_the_next_attempt_would_come_too_late(
    patience_s: float, num_asked: int
) -> None:
    door = Door(*(TryAgainError(str(number)) for number in range(9)))
    with pytest.raises(TryAgainError, match=str(num_asked - 1)):
        await attempt(door, patience_s)
    assert door.num_asked == num_asked


async def test_what_waiting_does_not_help_is_raised_at_once() -> None:
    door = Door(SILENT, NetworkError("a busy port"), SILENT)
    with pytest.raises(NetworkError, match="busy port"):
        await attempt(door, float("inf"))
    assert door.num_asked == 2


async def test_one_peer_that_answers_is_enough_beside_a_frozen_and_a_dead_one_and_nobody_to_ask_is_no_failure() -> None:
    assert await until_one_succeeds([asyncio.Event().wait(), Door(SILENT)(), Door()()], grace_s=0.0) == [SILENT]
    assert await until_one_succeeds([], grace_s=0.0) == []
    with pytest.raises(TryAgainError, match="2 tried") as caught:
        await until_one_succeeds([Door(DEAD)(), Door(DEAD)()], grace_s=0.0)
    assert isinstance(caught.value.__cause__, ExceptionGroup)
    assert caught.value.__cause__.exceptions == (DEAD, DEAD)


REFUSED = RemoteError(Code.NOT_A_MEMBER, Denial.REMOVED)
OVER = RemoteError(Code.NOT_A_MEMBER, Denial.INVITE_EXPIRED)
ALONE = RemoteError(Code.BUSY, Denial.NOBODY_ONLINE)
DEAD = NetworkError("connection refused")


@pytest.mark.parametrize(
    ("failures", "text", "is_hopeful"),
    [
        ([DEAD, ALONE, REFUSED], "does not admit this computer: removed from the swarm", False),
        ([DEAD, ALONE, OVER], "does not admit this computer: the invite has expired", True),
        ([DEAD, SILENT, ALONE], "no member is online", True),
        ([DEAD, SILENT], "silent", True),
        ([DEAD, DEAD, DEAD], "3 tried", True),
    ],
)
def test_an_answer_says_more_than_silence_and_only_a_refusal_is_final(
    failures: list[Exception], text: str, is_hopeful: bool
) -> None:
    error = joining_error(failures)
    assert text in error.message
    assert error.hint
    assert isinstance(error, TryAgainError) is is_hopeful


@pytest.mark.parametrize(
    ("ran_s", "waited_s", "load_per_core", "factor"),
    [
        (0.0, 0.0, 0.1, 1.0),  # an idle machine that tells nothing
        (2.0, 0.0, 0.5, 1.0),
        (2.0, 6.0, 0.5, 4.0),  # a load that has just begun
        (2.0, 1.0, 7.0, 7.0),  # one that lasts
        (1.0, 500.0, 1.0, MAX_STRETCH),
    ],
)
def test_deadlines_stretch_with_the_load(ran_s: float, waited_s: float, load_per_core: float, factor: float) -> None:
    assert stretch(ran_s, waited_s, load_per_core) == factor


MEMBER = Membership(Swarm("s", "m", 4, "s"), met=("/ip4/192.0.2.1/tcp/1/p2p/12D3a", "/ip4/192.0.2.2/tcp/1/p2p/12D3b"))


def test_a_node_joins_through_members_it_met_besides_the_peers_of_its_invite() -> None:
    invited = HostConfig(membership=MEMBER, bootstrap_peers=(MEMBER.met[1],))
    assert ways_in(invited) == (MEMBER.met[1], MEMBER.met[0])


def test_a_founder_needs_nobody_to_start() -> None:
    assert ways_in(HostConfig(membership=MEMBER)) == ()
    assert ways_in(replace(HostConfig(), bootstrap_peers=(MEMBER.met[0],))) == (MEMBER.met[0],)


def test_relayed_addresses_and_those_of_the_machine_itself_are_of_no_use_elsewhere() -> None:
    here, there, relayed = "/ip4/127.0.0.1/tcp/1", "/ip4/192.0.2.1/tcp/1", "/ip4/192.0.2.1/tcp/1/p2p/x/p2p-circuit"
    assert useful([here, there, relayed]) == [there]
    assert useful([here, relayed]) == [here]
