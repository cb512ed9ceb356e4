import pytest
from potluck_engine.compute import duty_cycle
from potluck_engine.compute.duty_cycle import DutyCycle


@pytest.mark.parametrize(
    ("duty", "worked_s", "rest_s"), [(1.0, 5.0, 0.0), (0.5, 0.1, 0.1), (0.25, 0.1, 0.3), (0.1, 60.0, 1.0)]
)
def test_rest_keeps_the_share_of_work_and_is_never_long(
    monkeypatch: pytest.MonkeyPatch, duty: float, worked_s: float, rest_s: float
) -> None:
    slept: list[float] = []
    monkeypatch.setattr(duty_cycle.time, "sleep", slept.append)
    resting = DutyCycle()
    resting.duty = duty
    resting.rest(worked_s)
    assert sum(slept) == pytest.approx(rest_s)
