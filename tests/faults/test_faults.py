"""Some faults in a real swarm; each kind once in a long run."""

import pytest

from tests.faults.injector import inject
from tests.faults.plan import KINDS, draw
from tests.helpers.golden import CHECKPOINT


def test_a_seed_draws_the_same_again_and_every_kind_in_a_round() -> None:
    plan = draw(7, 2 * len(KINDS), 4)
    assert plan == draw(7, 2 * len(KINDS), 4)
    assert plan != draw(8, 2 * len(KINDS), 4)
    assert {each.kind for each in plan[: len(KINDS)]} == set(KINDS)


@pytest.mark.namespaces
@pytest.mark.timeout(900)  # of a busy machine
@pytest.mark.parametrize("count", [8, pytest.param(len(KINDS), marks=pytest.mark.soak)])
def test_no_fault_loses_a_session_changes_a_result_or_leaves_a_process(count: int) -> None:
    plan = draw(1, count, 4)
    outcome = inject(CHECKPOINT, plan)
    assert (outcome.lost, outcome.differing, outcome.orphans) == ([], [], [])
    assert {each.kind for each in plan} - set(outcome.kinds) <= {"disk full"}  # which needs root
