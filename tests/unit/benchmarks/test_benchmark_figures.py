"""The registry of figures, and the object that each one prints last."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from benchmarks.figures import FIGURES, Figure, Measured
from benchmarks.loops import overhead

ROOT = Path(__file__).parents[3]
LOWER = Figure("x", "s", "lower", 2.0, "none:none", "")
HIGHER = Figure("x", "s", "higher", 2.0, "none:none", "")


@pytest.mark.parametrize("figure", FIGURES.values(), ids=list(FIGURES))
def test_every_figure_has_a_function_that_measures_it(figure: Figure) -> None:
    module, _, function = figure.function.partition(":")
    assert callable(getattr(import_module(f"benchmarks.{module}"), function))


def test_the_list_of_figures_names_every_one_with_its_goal() -> None:
    rows = [
        line.split("|")
        for line in (ROOT / "benchmarks" / "README.md").read_text().splitlines()
        if line.startswith("| `")
    ]
    goals = {row[1].strip().strip("`"): row[3].strip() for row in rows if len(row) > 4}
    assert {name: f"{figure.reach:g} {figure.unit}" for name, figure in FIGURES.items()} == {
        name: goals.get(name) for name in FIGURES
    }


def test_lower_and_higher_mean_what_they_say() -> None:
    assert LOWER.is_reached(Measured(2.0))
    assert not LOWER.is_reached(Measured(2.1))
    assert HIGHER.is_reached(Measured(2.0))
    assert not HIGHER.is_reached(Measured(1.9))


def test_a_broken_condition_is_never_ok_whatever_the_number() -> None:
    assert not LOWER.is_reached(Measured(0.1, holds=False))


def test_the_last_line_is_one_object_with_the_promised_fields() -> None:
    fields = json.loads(LOWER.to_json(Measured(1.23456, {"rounds": 3})))
    assert fields == {
        "figure": "x",
        "value": 1.2346,
        "unit": "s",
        "better": "lower",
        "reach": 2.0,
        "ok": True,
        "detail": {"rounds": 3},
    }


def test_an_unknown_figure_is_a_usage_error() -> None:
    done = subprocess.run([sys.executable, "-m", "benchmarks", "nonsense"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 2
    assert "nonsense" in done.stderr


def test_the_list_loads_no_torch() -> None:
    code = "import sys; sys.argv = ['x', '--list']; from benchmarks.__main__ import main; main(); "
    code += "print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    assert done.stdout.splitlines()[-1] == "False"


def test_overhead_is_the_median_difference_for_each_hop() -> None:
    measured = overhead([5.0, 9.0, 8.0], [2.0, 3.0, 2.0], 3, {"rounds": 3})
    assert measured.value == 2.0
    assert measured.holds
    assert measured.detail["rounds"] == 3


def test_an_overhead_below_nothing_is_noise_and_never_reached() -> None:
    assert not LOWER.is_reached(overhead([1.0], [2.0], 1, {}))
