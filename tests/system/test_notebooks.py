"""Each notebook of the documentation runs, cell by cell, over real engines on loopback, and learns its task."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from potluck_control.resources import DEMO_MODEL, resource

from benchmarks.setup.local_swarm import LocalSwarm
from potluck.protocol.blocks import Span

NOTEBOOKS = sorted((Path(__file__).parents[2] / "docs" / "notebooks").glob("*.ipynb"))


@pytest.fixture(scope="module")
def swarm() -> Iterator[LocalSwarm]:
    with LocalSwarm(resource(DEMO_MODEL), (Span(0, 6), Span(6, 12))) as made:
        yield made


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_learns(
    notebook: Path, swarm: LocalSwarm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, value in swarm.environment().items():
        monkeypatch.setenv(name, value)
    names: dict[str, Any] = {"__name__": "__main__"}
    for number, cell in enumerate(json.loads(notebook.read_text())["cells"]):
        if cell["cell_type"] == "code":
            assert not cell["outputs"], "keep results of your own machine out of it"
            code = "".join(cell["source"]).replace("MODEL", str(resource(DEMO_MODEL))).replace("INVITE", swarm.invite)
            exec(compile(code, f"{notebook.name}, cell {number}", "exec"), names)
    assert names["before"] < 0.8
    assert names["after"] > 0.9
