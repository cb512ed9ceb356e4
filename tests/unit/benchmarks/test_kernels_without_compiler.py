"""The figure about kernels on machines without a C compiler counts what does not reach the driver as it should."""

from typing import Any

import pytest

from benchmarks.kernels import without_compiler

LAUNCHED = {"launches": [{"name": "merge", "parameters": "00"}]}
RATIO = {"ratio": 1.1}
REFUSED = {"error": "no C compiler"}


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> dict[Any, Any]:
    """What processes return, by the call, or by the version of Python and the call; all is well at first."""
    found: dict[Any, Any] = {
        "launch(True, False)": LAUNCHED,
        "launch(False, True)": LAUNCHED,
        "launch(False, False)": REFUSED,
        "compare()": RATIO,
    }

    def run(folder: object, version: str, triton: str, call: str, **_: Any) -> dict[str, Any]:
        answer: dict[str, Any] = found.get((version, triton, call), found[call])
        return answer

    monkeypatch.setattr(without_compiler, "_run", run)
    monkeypatch.setattr(without_compiler, "_interpreter", lambda version: found.get(version, "python"))
    monkeypatch.setattr(without_compiler, "build_driver", lambda folder: None)
    return found


def test_all_is_well_where_each_environment_launches_the_same(made: dict[Any, Any]) -> None:
    measured = without_compiler.environments(soak=False)
    assert (measured.value, measured.holds) == (0, True)


@pytest.mark.parametrize("answer", [REFUSED, {"launches": [{"name": "merge", "parameters": "01"}]}])
def test_an_environment_that_launches_something_else_counts(answer: dict[str, Any], made: dict[Any, Any]) -> None:
    made["3.13", "3.7.1", "launch(False, True)"] = answer
    assert without_compiler.environments(soak=False).value == 1


def test_a_python_that_is_not_here_counts_and_is_named(made: dict[Any, Any]) -> None:
    made["3.12"] = None
    measured = without_compiler.environments(soak=False)
    assert (measured.value, measured.holds) == (1, False)
    assert measured.detail["python 3.12"] == "not on this machine"


@pytest.mark.parametrize(
    ("key", "answer"),
    [
        ("launch(False, False)", LAUNCHED),  # a compiler was there
        ("compare()", {"ratio": 1.6}),
        ((without_compiler.PYTHON, "3.6.0", "launch(False, True)"), REFUSED),
    ],
)
def test_conditions_beside_the_number_must_hold(key: Any, answer: dict[str, Any], made: dict[Any, Any]) -> None:
    made[key] = answer
    measured = without_compiler.environments(soak=False)
    assert (measured.value, measured.holds) == (0, False)
