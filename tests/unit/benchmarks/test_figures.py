"""The registry of figures, and the object that each one prints last."""

import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from benchmarks import pages
from benchmarks.__main__ import main
from benchmarks.figures import Better, Figure, Measured, figures
from benchmarks.measuring import latest_results, measure_here
from benchmarks.setup.generation import overhead

ROOT = Path(__file__).parents[3]


def a_figure(better: Better) -> Figure:
    return Figure("x", "s", 2.0, "benchmarks.network.none", "none", "What x is.", better)


LOWER, HIGHER = a_figure("lower"), a_figure("higher")


@pytest.mark.parametrize("figure", figures().values(), ids=lambda figure: figure.name)
def test_every_figure_has_a_function_that_measures_it_and_a_description(figure: Figure) -> None:
    assert callable(getattr(import_module(figure.module), figure.function))
    assert figure.description.endswith(".")
    assert figure.theme in pages.THEMES


def test_the_pages_show_the_figures_and_their_latest_results() -> None:
    assert pages.README.read_text() == pages.readme_page(), "run `python -m benchmarks --pages`"
    assert pages.TESTED.read_text() == pages.tested_page(), "run `python -m benchmarks --pages`"


def test_results_are_those_of_figures_that_exist() -> None:
    assert latest_results().keys() <= figures().keys()


@pytest.mark.parametrize(
    ("figure", "measured", "is_reached"),
    [
        (LOWER, Measured(2.0), True),
        (LOWER, Measured(2.1), False),
        (HIGHER, Measured(2.0), True),
        (HIGHER, Measured(1.9), False),
        (LOWER, Measured(0.1, holds=False), False),  # a broken condition is never ok
        (LOWER, overhead([5.0, 9.0, 8.0], [2.0, 3.0, 2.0], 3, {}), True),  # 2 s for each of three hops
        (LOWER, overhead([1.0], [2.0], 1, {}), False),  # less than nothing is noise
    ],
)
def test_a_figure_is_reached_by_what_is_good_enough(figure: Figure, measured: Measured, is_reached: bool) -> None:
    assert json.loads(figure.to_json(measured))["ok"] is is_reached


def test_an_unknown_figure_is_a_usage_error_without_loading_torch() -> None:
    code = "import sys; sys.argv = ['x', 'nonsense']; from benchmarks.__main__ import main\n"
    code += "print(main(), 'torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout.split() == ["2", "False"]
    assert "nonsense" in done.stderr


@pytest.mark.parametrize("has_gpu", [True, False])
def test_the_list_names_gpu_figures_where_there_is_a_gpu(
    has_gpu: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("benchmarks.__main__.has_gpu", lambda: has_gpu)
    monkeypatch.setattr(sys, "argv", ["benchmarks", "--list"])
    assert main() == 0
    assert ("gpu_decode_1 " in capsys.readouterr().out) is has_gpu


@pytest.mark.parametrize("soak", [True, False])
def test_a_result_is_kept_where_the_caller_says_and_with_full_counts_among_all(
    soak: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("benchmarks.measuring.ONE_THREAD", {})
    monkeypatch.setattr("benchmarks.measuring.RESULTS", tmp_path / "results")
    monkeypatch.setattr(Figure, "measure", lambda figure, *, soak: Measured(1.5))
    assert measure_here(LOWER, soak=soak, out=tmp_path / "new" / "out", program="some.module") == 0
    (kept,) = (tmp_path / "new" / "out").iterdir()
    record = json.loads(kept.read_text())
    assert (record["figure"], record["value"]) == ("x", 1.5)
    assert record["command"] == f"python -m some.module x{' --soak' if soak else ''}"
    assert [path.name for path in (tmp_path / "results").glob("*")] == ([kept.name] if soak else [])
