import pytest
from potluck_engine.compute.threads import rest_s


@pytest.mark.parametrize(
    ("duty", "worked_s", "rests_s"), [(1.0, 5.0, 0.0), (0.5, 0.1, 0.1), (0.25, 0.1, 0.3), (0.1, 60.0, 1.0)]
)
def test_rest_keeps_the_share_of_work_and_is_never_long(duty: float, worked_s: float, rests_s: float) -> None:
    assert rest_s(duty, worked_s) == pytest.approx(rests_s)
