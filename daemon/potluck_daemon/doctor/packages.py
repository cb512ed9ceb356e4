"""Checks that the engine's packages are installed where the engine runs."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass

from potluck_control.own_python import child_environment, python_command

from potluck.sentences import sentence, verbatim
from potluck_daemon.doctor.finding import Finding, Scene, Severity
from potluck_daemon.environment.interpreter import engine_python

NAME = sentence("packages")
NEEDED = ("torch", "transformers", "hivemind")
_TIMEOUT_S = 30.0
_QUESTION = (
    "from importlib.util import find_spec; import sys; print(*(n for n in sys.argv[1:] if find_spec(n) is None))"
)


@dataclass(frozen=True, slots=True)
class PackageFacts:
    python: str
    missing: tuple[str, ...] = ()
    problem: str = ""  # why that interpreter could not be asked


def gather(scene: Scene) -> PackageFacts:
    """Look for the packages without importing them, which would take seconds and hundreds of megabytes."""
    python = engine_python(scene.places, scene.loaded.settings.serve.python)
    command, environment = python_command(python, "-c", _QUESTION, *NEEDED), child_environment(python=python)
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT_S, env=environment, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        return PackageFacts(python, problem=type(error).__name__)
    return PackageFacts(python, tuple(done.stdout.split()))


def judge(facts: PackageFacts) -> list[Finding]:
    if facts.problem:
        text = sentence("the engine's interpreter {path} cannot be run ({why})", path=facts.python, why=facts.problem)
        return [Finding(NAME, Severity.ERROR, text, verbatim("potluck config unset serve.python"))]
    if facts.missing:
        text = sentence("the engine needs {names}, which is not installed", names=", ".join(facts.missing))
        return [Finding(NAME, Severity.ERROR, text, verbatim("potluck setup"))]
    return [Finding(NAME, Severity.OK, sentence("the engine's packages are installed"))]
