"""Who gets pages: the small pass the large, nobody starves, clients share, the idle make room."""

from dataclasses import dataclass
from typing import Any

import pytest
from potluck_engine.memory.page_admission import (
    HELD_S,
    IDLE_S,
    MAX_PASSES,
    Grant,
    Holder,
    PageAdmission,
    PageRequest,
    Refuse,
    Reservations,
    Spill,
)

from potluck.protocol.blocks import PeerId

ANNA, BOB = PeerId("anna"), PeerId("bob")


@dataclass(slots=True, eq=False)
class Named(Holder):
    name: str = ""


class World:
    """Ten pages, and what `paging.py` would do with what is said."""

    def __init__(self, num_pages: int = 10) -> None:
        self.line = PageAdmission(num_pages)
        self.named: dict[str, Named] = {}
        self.refused: list[str] = []
        self.granted: list[str] = []
        self.spilled: list[str] = []

    def holder(self, name: str, client: str = "c", **facts: Any) -> Holder:
        made = self.named[name] = Named(PeerId(client), name=name, **facts)
        self.line.holders[made] = None
        return made

    def ask(self, name: str, pages: int, *, client: str = "c", deadline: float = 1e9) -> None:
        holder = self.named.get(name) or self.holder(name, client)
        self.line.enqueue(PageRequest(holder, pages, deadline))

    @property
    def free(self) -> int:
        return self.line.num_pages - sum(holder.pages for holder in self.line.holders)

    def settle(self, now: float = 0.0) -> None:
        while (action := self.line.next(now, self.free)) is not None:
            if isinstance(action, Grant):
                holder = action.request.holder
                holder.pages += action.request.pages
                holder.is_running, holder.used_at = True, now
                self.granted.append(holder.name)
            elif isinstance(action, Refuse):
                self.refused.append(action.request.holder.name)
            else:
                assert isinstance(action, Spill)
                assert action.holder.pages
                self.spilled.append(action.holder.name)
                for request in self.line._line:
                    request.pages += action.holder.pages * (request.holder is action.holder)
                action.holder.pages = 0

    def end(self, name: str) -> None:
        holder = self.named.pop(name)
        del self.line.holders[holder]
        self.line.withdraw(holder)


@pytest.fixture
def world() -> World:
    return World()


def test_what_fits_is_granted_at_once_and_in_order_if_need_be_all_to_one_client(world: World):
    world.ask("a", 4)
    world.ask("b", 6)
    world.settle()
    assert world.granted == ["a", "b"]
    assert world.free == 0


def test_more_than_there_is_at_all_is_refused_without_waiting(world: World):
    world.ask("a", 11)
    world.settle()
    assert world.refused == ["a"]
    assert world.line.num_waiting == 0


def test_a_session_that_would_outgrow_all_pages_is_refused_without_waiting(world: World):
    world.holder("a", pages=6, is_running=True)
    world.ask("a", 4, deadline=5.0)
    world.settle()
    assert world.granted == ["a"]
    world.ask("a", 1)
    world.settle()
    assert world.refused == ["a"]


def test_a_client_may_take_exactly_its_share(world: World):
    world.holder("greedy", "greedy", pages=5, is_running=True)
    world.ask("greedy too", 1, client="greedy")
    world.ask("modest", 5, client="modest")
    world.settle()
    assert world.granted == ["modest"]


def test_a_session_that_could_not_be_spilled_is_left_alone_for_a_while(world: World):
    world.holder("idle", pages=8).pinned_until = 30.0
    world.ask("new", 5)
    world.settle(29.9)
    assert world.spilled == []
    world.settle(30.0)
    assert world.spilled == ["idle"]


def test_waiter_is_refused_at_its_deadline(world: World):
    world.holder("holder", pages=8, is_running=True)
    world.ask("waiter", 5, deadline=3.0)
    world.settle(2.9)
    assert world.line.wake_at(2.9) == 3.0
    assert world.refused == []
    world.settle(3.0)
    assert world.refused == ["waiter"]


def test_the_small_pass_the_large_but_not_for_ever(world: World):
    world.holder("holder", pages=4, is_running=True)
    world.ask("large", 8)
    for i in range(MAX_PASSES + 5):
        name = f"small {i}"
        world.ask(name, 1)
        world.settle()
        if name in world.granted:
            world.end(name)
    assert len(world.granted) == MAX_PASSES
    world.end("holder")
    world.settle()
    assert world.granted[MAX_PASSES] == "large"


def test_a_client_beyond_its_share_waits_while_another_within_its_share_does(world: World):
    world.holder("greedy", "greedy", pages=8, is_running=True)
    world.ask("modest", 4, client="modest")
    world.ask("greedy too", 1, client="greedy")
    world.settle()
    assert world.granted == []  # not even what is free
    world.end("greedy")
    world.settle()
    assert world.granted == ["modest", "greedy too"]


def test_idle_sessions_are_spilled_longest_idle_first_and_no_more_than_needed(world: World):
    world.holder("recent", pages=3, used_at=10.0)
    world.holder("old", pages=3, used_at=5.0)
    world.holder("older", pages=3, used_at=4.0)
    world.ask("new", 6)
    world.settle(20.0)
    assert world.spilled == ["older", "old"]
    assert world.granted == ["new"]


def test_idle_sessions_of_a_client_beyond_its_share_are_spilled_first(world: World):
    world.holder("modest", "modest", pages=2, used_at=1.0)
    world.holder("greedy", "greedy", pages=8, used_at=5.0)
    world.ask("new", 2, client="new")
    world.settle(20.0)
    assert world.spilled == ["greedy"]


def test_sessions_that_were_just_answered_or_run_keep_their_pages(world: World):
    world.holder("thinking", pages=5, used_at=10.0)
    world.holder("running", pages=5, used_at=0.0, is_running=True)
    world.ask("new", 1)
    world.settle(10.0 + IDLE_S / 2)
    assert world.spilled == []
    assert world.line.wake_at(10.0 + IDLE_S / 2) == 10.0 + IDLE_S
    world.settle(10.0 + IDLE_S)
    assert world.spilled == ["thinking"]


def test_nobody_is_spilled_when_that_would_not_be_enough(world: World):
    world.holder("idle", pages=2)
    world.holder("running", pages=8, is_running=True)
    world.ask("new", 5)
    world.settle(20.0)
    assert world.spilled == []


def test_sessions_that_all_wait_to_grow_do_not_wait_for_each_other(world: World):
    for name in ("a", "b"):
        world.holder(name, pages=5)
        world.ask(name, 1)
    world.settle(0.0)
    assert world.spilled == ["b"]
    assert world.granted == ["a"]
    world.end("a")
    world.settle(0.0)
    assert world.granted == ["a", "b"]
    assert world.named["b"].pages == 6


def test_who_leaves_the_line_is_forgotten(world: World):
    world.holder("holder", pages=10, is_running=True)
    world.ask("a", 5)
    world.line.withdraw(world.named["a"])
    world.end("holder")
    world.settle()
    assert (world.granted, world.refused, world.line.num_waiting) == ([], [], 0)
    assert world.line.wake_at(0.0) is None


@pytest.fixture
def reserved() -> PageAdmission:
    """Five of ten pages are reserved for Anna."""
    line = PageAdmission(10)
    assert line.reservations.reserve(ANNA, pages=5, rows=1, free=10, now=0.0) == 5
    return line


def test_what_is_reserved_is_not_free_for_others_until_it_expires(reserved: PageAdmission) -> None:
    reserved.enqueue(PageRequest(Holder(BOB), 6, deadline=100.0))
    assert reserved.next(0.0, free=10) is None
    assert reserved.wake_at(0.0) == HELD_S
    assert isinstance(reserved.next(HELD_S, free=10), Grant)


@pytest.mark.parametrize(("held", "asked", "left"), [(0, 8, 0), (1, 1, 5)], ids=["a new session", "a later step"])
def test_a_reservation_is_used_up_by_a_new_session(reserved: PageAdmission, held: int, asked: int, left: int) -> None:
    reserved.enqueue(PageRequest(Holder(ANNA, pages=held), asked, deadline=100.0))
    assert isinstance(reserved.next(0.0, free=10 - held), Grant)
    assert reserved.reservations.pages(0.0) == left


def test_a_spare_session_gives_way_at_once_and_before_those_that_rest(world: World) -> None:
    world.holder("rests", "anna", pages=5)
    world.holder("spare", "bob", pages=5, used_at=99.9, is_spare=True)
    world.ask("new", 4, client="carl")
    world.settle(now=100.0)
    assert (world.spilled, world.granted) == (["spare"], ["new"])


def test_a_spare_session_takes_nothing_from_others_and_waits_behind_them(world: World) -> None:
    world.holder("rests", "anna", pages=8)
    world.holder("spare", "bob", is_spare=True)
    world.ask("spare", 4, deadline=100.0)
    world.settle(now=99.0)
    assert (world.spilled, world.granted) == ([], [])
    world.ask("new", 2, client="carl")
    world.settle(now=99.0)
    assert world.granted == ["new"]
    world.settle(now=100.0)
    assert world.refused == ["spare"]


def test_spare_sessions_count_towards_nobodys_share(world: World) -> None:
    world.holder("spare", "anna", pages=4, is_running=True, is_spare=True)
    world.holder("other", "bob", pages=1, is_running=True)
    world.ask("a", 5, client="anna")
    world.settle()
    assert world.granted == ["a"], "with its spare one, anna would hold more than half"


def test_one_client_holds_half_and_all_hold_three_quarters_of_what_is_free_however_often_they_ask() -> None:
    held = Reservations()
    granted = [held.reserve(ANNA, pages=40, rows=1, free=100, now=0.0) for _ in range(20)]
    assert granted[:3] == [40, 10, 0]
    assert held.pages(0.0) <= 50
    assert held.reserve(BOB, pages=80, rows=1, free=100, now=0.0) == 25
    assert held.pages(0.0) <= 75


def test_rows_that_were_quoted_are_expected_until_they_come_or_do_not() -> None:
    held = Reservations()
    held.reserve(ANNA, pages=0, rows=3, free=0, now=0.0)
    held.reserve(BOB, pages=0, rows=2, free=0, now=1.0)
    assert held.rows(1.0) == 5
    held.consume(BOB)
    assert held.rows(1.0) == 3
    assert held.rows(HELD_S) == 0
