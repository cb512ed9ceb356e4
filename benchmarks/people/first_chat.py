"""`first_chat`: from the installed icon to the first token of a chat, by somebody without an invite.

The installer for every Linux puts Potluck into a home of its own, where no torch is. What its menu entry names is then
started on a virtual screen, and `first_chat_driver` presses two buttons in it: the one that tries Potluck out, which
sets up the compute engine from wheels on the disk, and a suggested question.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from benchmarks.figures import Measured, figure
from tests.helpers.desktop import desktop, ended
from tests.helpers.installing import build, engine_wheels

_DRIVER = Path(__file__).with_name("first_chat_driver.py")
_WAIT_S = 280.0
_POLL_S = 0.05


@figure("first_chat", unit="s", reach=60, shown=True)
def first_chat(soak: bool) -> Measured:
    """Seconds from the installed icon to the first token of a chat without an invite, in two clicks, with local wheels.

    From starting the menu entry's command; building and installing the package isn't counted.
    """
    wheels = engine_wheels()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder, desktop(window_manager=True) as screen:
        home = Path(folder)
        with _installed(home, screen.environment | {"UV_FIND_LINKS": str(wheels), "UV_OFFLINE": "1"}) as environment:
            report = home / "report.json"
            entry = (home / ".local/share/applications/potluck.desktop").read_text().splitlines()
            command = shlex.split(next(line.removeprefix("Exec=") for line in entry if line.startswith("Exec=")))
            command.remove("%u")  # a desktop puts a link there, or nothing
            python = (
                home / ".local/lib/potluck/current/bin/python3"
            )  # the first line of the command has -E: no PYTHONPATH
            driven = environment | {"PYTHONPATH": str(_driver(home)), "FIRST_CHAT_REPORT": str(report)}
            began, began_unix = time.monotonic(), time.time()
            with ended(subprocess.Popen([python, *command], env=driven)):
                while not report.exists():
                    assert time.monotonic() < began + _WAIT_S, "no answer came"
                    time.sleep(_POLL_S)
            found = json.loads(report.read_text())
    steps = {step: round(at - began_unix, 2) for step, at in found["steps"].items()}
    detail = {"clicks": found["clicks"], "at_s": steps, "answer": found["answer"]}
    return Measured(steps["token"], detail | {"load": round(os.getloadavg()[0], 1)}, holds=found["clicks"] == 2)


@contextmanager
def _installed(home: Path, environment: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """Yield the environment of a user whose home has Potluck, installed by the `.run` file; its daemon ends with it."""
    kept = {name: value for name, value in environment.items() if not name.startswith(("XDG_", "PYTHON", "VIRTUAL_"))}
    runtime = home / "run"
    runtime.mkdir(mode=0o700)
    own = {"HOME": str(home), "XDG_RUNTIME_DIR": str(runtime), "LANG": "C.UTF-8", "LANGUAGE": "en"}
    path = {"PATH": f"{home}/.local/bin:/usr/local/bin:/usr/bin:/bin", "HF_ENDPOINT": "http://127.0.0.1:9"}
    made = kept | own | path | {"POTLUCK_AS_ROOT": "1"}
    with tempfile.TemporaryDirectory() as out:
        subprocess.run(["sh", build("run", Path(out))], env=made, check=True, stdout=subprocess.DEVNULL)
    try:
        yield made
    finally:
        subprocess.run(["potluck", "stop"], env=made, check=False, stdout=subprocess.DEVNULL)


def _driver(home: Path) -> Path:
    """Return a folder whose `sitecustomize` every Python process imports as it starts."""
    folder = home / "driver"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(_DRIVER.read_text())
    return folder
