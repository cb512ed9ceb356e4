"""Which windows are audited, and by whom."""

from collections import Counter

import numpy as np
import pytest

from potluck.audit.choices import CLEAN_AUDITS, audit_chance, choose_auditor, choose_window
from potluck.protocol.blocks import PeerId, PersonId

ANNE, BEN, CARL = PersonId("anne"), PersonId("ben"), PersonId("carl")
SERVERS = [(PeerId("a"), ANNE), (PeerId("b"), BEN), (PeerId("c"), CARL)]


def seeds(count: int) -> list[bytes]:
    return [number.to_bytes(16, "big") for number in range(count)]


def test_new_people_are_audited_more_often() -> None:
    first, late = range(32), range(3200, 3232)
    assert audit_chance(0, first) == audit_chance(CLEAN_AUDITS - 1, late) == 0.2
    assert audit_chance(CLEAN_AUDITS, first) == audit_chance(10**9, first) == pytest.approx(0.003)


@pytest.mark.parametrize("window", [range(32), range(64, 96), range(8000, 8032), range(5), range(300, 301)])
def test_audits_of_people_with_a_record_cost_three_thousandths_of_the_steps(window: range) -> None:
    chance = audit_chance(CLEAN_AUDITS, window)
    sent, returned = window.stop, len(window)
    assert chance * (sent + returned) == pytest.approx(0.003 * 2 * len(window))


def test_each_finished_window_counts() -> None:
    rng = np.random.default_rng(0)
    windows = [range(4), range(4, 8), range(8, 12)]
    chosen = [choose_window(windows, [0.2] * 3, rng) for _ in range(6000)]
    assert abs(chosen.count(None) / 6000 - 0.8**3) < 0.02
    assert all(abs(chosen.count(window) / 6000 - (1 - 0.8**3) / 3) < 0.02 for window in windows)
    assert choose_window([], [], rng) is None
    assert {choose_window(windows, [0.0, 1.0, 0.0], rng) for _ in range(50)} == {windows[1]}


def test_the_auditor_is_another_person_and_depends_on_the_seed() -> None:
    chosen = Counter(choose_auditor(SERVERS, {ANNE}, seed) for seed in seeds(1000))
    assert set(chosen) == {PeerId("b"), PeerId("c")}
    assert abs(chosen[PeerId("b")] - 500) < 80


def test_many_servers_of_one_person_are_chosen_no_more_often() -> None:
    many = [*SERVERS, *((PeerId(f"c{number}"), CARL) for number in range(100))]
    chosen = [choose_auditor(many, {ANNE}, seed) for seed in seeds(1000)]
    assert abs(chosen.count(PeerId("b")) - 500) < 80
    assert len(set(chosen)) > 50


def test_nobody_audits_where_there_is_nobody_else() -> None:
    assert choose_auditor(SERVERS, {ANNE, BEN, CARL}, b"") is None
    assert choose_auditor([], (), b"") is None
