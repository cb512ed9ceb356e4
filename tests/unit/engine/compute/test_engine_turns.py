"""Whose turn it is: by shares in the long run, at once after an absence, and with something left for everybody."""

from collections import Counter

import pytest
from potluck_engine.compute.turns import LEFTOVER, Turns, shares_by_worth

from potluck.protocol.blocks import PeerId

A, B, C = PeerId("a"), PeerId("b"), PeerId("c")


def test_a_budget_is_divided_by_shares_and_nothing_of_it_is_lost() -> None:
    turns = Turns(lambda clients: {client: {A: 3.0, B: 1.0}[client] for client in clients})
    total = Counter[PeerId]()
    for _ in range(50):
        given = turns.divide({A: 500, B: 500}, 100, 8)
        turns.charge(given, (A, B))
        assert sum(given.values()) == 100
        total.update(given)
    assert total[A] / total[B] == pytest.approx(3, rel=0.05)


def test_who_wants_little_leaves_the_rest_to_others() -> None:
    assert Turns().divide({A: 10, B: 500}, 100, 8) == {A: 10, B: 90}


def test_who_was_away_has_saved_nothing_up() -> None:
    turns = Turns()
    for _ in range(100):
        turns.charge({turns.first([A]): 10}, [A])
    got = Counter[PeerId]()
    for _ in range(20):
        chosen = turns.first([A, B])
        turns.charge({chosen: 10}, [A, B])
        got[chosen] += 10
    assert got == {A: 100, B: 100}


def test_what_is_charged_up_to_a_limit_puts_a_client_off_no_longer() -> None:
    turns = Turns()
    for _ in range(100):
        turns.charge({A: 10}, [B], most=30)
    got = []
    for _ in range(6):
        got.append(turns.first([A, B]))
        turns.charge({got[-1]: 10}, [A, B])
    assert got == [B, B, B, A, B, A]


def test_credit_orders_and_never_shuts_out() -> None:
    found = shares_by_worth({A: 300, B: 100}, [A, B, C])
    assert found[C] == pytest.approx(LEFTOVER / 3)
    assert (found[A] - found[C]) / (found[B] - found[C]) == pytest.approx(3)
    assert sum(found.values()) == pytest.approx(1)


def test_without_credit_all_are_equal() -> None:
    assert len(set(shares_by_worth({}, [A, B, C]).values())) == 1


def test_splitting_credit_over_names_gains_nothing_but_heads_of_the_leftover() -> None:
    names = [PeerId(f"name-{index}") for index in range(100)]
    one = shares_by_worth({A: 100, B: 100}, [A, B])[B]
    many = shares_by_worth({A: 100, **dict.fromkeys(names, 1)}, [A, *names])
    assert sum(many[name] for name in names) <= 1.05 * one


def test_a_client_that_was_charged_outside_its_turn_comes_later() -> None:
    turns = Turns(lambda clients: {client: {A: 2.0, B: 1.0}[client] for client in clients})
    assert turns.order([B, A]) == [B, A]
    turns.charge({A: 30, B: 10}, (A, B))
    assert turns.order([A, B]) == [B, A]
    turns.charge({B: 10}, (A, B))
    assert turns.order([B, A]) == [A, B]
