"""Python processes of ours run our code, whatever folder and environment they are started in."""

import ast
import os
import subprocess
import sys
from pathlib import Path

from potluck_control.processes.python_command import child_environment, python_command

ROOT = Path(__file__).parents[3]


def test_every_module_is_started_by_the_one_helper() -> None:
    started = 0
    for path in (each for part in ("potluck", "daemon", "app") for each in (ROOT / part).rglob("*.py")):
        nodes = list(ast.walk(ast.parse(path.read_text())))
        calls = [node for node in nodes if isinstance(node, ast.Call) and "python_command" in ast.unparse(node.func)]
        helped = {word for call in calls for word in call.args}
        options = [node for node in nodes if isinstance(node, ast.Constant) and node.value == "-m"]
        assert helped.issuperset(options), path
        started += len(options)
    assert started > 10


def test_neither_the_folder_nor_the_variables_of_a_shell_choose_what_a_child_runs(tmp_path: Path) -> None:
    (tmp_path / "queue.py").write_text("print('not ours')")
    shell = {**os.environ, "PYTHONPATH": ":.:relative:/absolute", "PYTHONINSPECT": "1", "NOTIFY_SOCKET": "/x"}
    environment = child_environment(shell)
    command = python_command(sys.executable, "-c", "import queue; print('ours')")
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == "ours\n"
    assert environment.keys().isdisjoint({"PYTHONINSPECT", "NOTIFY_SOCKET"})
    assert (environment["PYTHONPATH"], environment["PATH"]) == ("/absolute", os.environ["PATH"])
    assert "PYTHONPATH" not in child_environment(shell, "/another/python")
