"""The figure `foreign_suites`: what it counts of other projects' tests."""

import pytest

from benchmarks.programs import foreign_suites


def test_failed_tests_count_unless_they_are_about_something_else(monkeypatch: pytest.MonkeyPatch) -> None:
    outcomes = {"unit/test_lora.py::test_a": "failed", "unit/test_new.py::test_b": "failed", "unit/test_c": "passed"}
    monkeypatch.setattr(foreign_suites, "_run", lambda verdicts: outcomes)
    measured = foreign_suites.real_differences(True)
    assert (measured.value, measured.detail["new"], measured.holds) == (1, ["unit/test_new.py::test_b"], True)
