"""Makes the engine's environment, step by step: check, resolve, fetch, install, try, switch.

A signal or a power cut may interrupt any step. The environment in use stays in use until the new one has passed its
trial, and the next attempt uses what was already fetched. Nothing is upgraded unasked.
"""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable
from importlib.metadata import distribution
from pathlib import Path

from potluck_control.methods.health import Severity
from potluck_control.methods.installation import WorkProgress
from potluck_control.processes.engine_messages import SelfTest
from potluck_control.processes.python_command import child_environment, python_command

import potluck
from potluck.errors import PotluckError, UsageError
from potluck.processes import tied_to_parent
from potluck.protocol.codec import CodecError, decode
from potluck.sentences import Sentence, sentence
from potluck_daemon.child_process import OnProgress
from potluck_daemon.downloads import fetch, remote_size
from potluck_daemon.environment.packages import Package, find_packages
from potluck_daemon.environment.plan import EnvironmentPlan, digest, settle_root
from potluck_daemon.environment.store import EnvironmentManifest, Store, interpreter, read_manifest
from potluck_daemon.environment.uv import PackagesMissingError, run_uv
from potluck_daemon.environment.variants import TORCH

_TRIAL_TIMEOUT_S = 600.0
_IMPORTED_LAST = "import sympy, scipy.optimize"  # a third of what a trial compiles: another process does it meanwhile
Trial = Callable[[Path], tuple[str, ...]]
"""See `try_environment`."""


def try_environment(folder: Path) -> tuple[str, ...]:
    """Run the environment's self-test and return the devices that it computes on.

    Raises:
        PotluckError: it does not work; the message quotes it.
    """
    command = tied_to_parent(python_command(interpreter(folder), "-m", "potluck_engine.self_test"))
    try:
        with tempfile.TemporaryDirectory(dir=folder) as scratch:  # torch leaves a folder among temporary files
            done = subprocess.run(
                command,
                capture_output=True,
                text=True,
                timeout=_TRIAL_TIMEOUT_S,
                env=child_environment(python=interpreter(folder)) | {"TMPDIR": scratch},
                check=False,
            )
    except (OSError, subprocess.TimeoutExpired) as error:
        why = str(getattr(error, "strerror", None) or error)
        raise PotluckError(
            sentence("the engine's Python cannot be run: {why}", why=why), hint=sentence("try again")
        ) from error
    try:
        tested = decode(SelfTest, done.stdout.strip().rpartition("\n")[2])
    except CodecError:
        words = done.stdout.strip() or done.stderr.strip() or f"it ended with {done.returncode}"
        tested = SelfTest((), " ".join(words.split())[-300:])
    if tested.problem:
        raise PotluckError(
            sentence("the engine does not work here: {why}", why=tested.problem), hint=sentence("see `potluck doctor`")
        )
    return tested.devices


def set_up(plan: EnvironmentPlan, on_progress: OnProgress, trial: Trial = try_environment) -> None:
    """Make the environment of `plan` and switch to it. One that exists already is tried, and kept if it works.

    Where torch's own index lacks the packages, make the build of the default index, and report that.

    Raises:
        PotluckError: it failed; the hint says what to do. The earlier environment is still in use.
    """
    try:
        _set_up(plan, on_progress, trial)
    except PackagesMissingError as error:
        other = plan.fallback
        if other is None:
            raise
        *_, room, build = other.findings()
        on_progress(WorkProgress(sentence("{what} ({why})", what=build.text, why=error.sentence)))
        on_progress(WorkProgress(room.text))
        _set_up(other, on_progress, trial)


def _set_up(plan: EnvironmentPlan, on_progress: OnProgress, trial: Trial) -> None:
    on_progress(WorkProgress(sentence("checking this machine")))
    if _existing(plan) is None:
        _refuse_hopeless(plan)
    if plan.usual is not None:
        settle_root(plan.usual, plan.store.root)
    with plan.store.lock():
        folder = _existing(plan)
        if folder is None or not _still_works(folder, on_progress, trial):
            _refuse_hopeless(plan)
            folder = _make(plan, on_progress, trial)
        on_progress(WorkProgress(sentence("switching to the new environment")))
        plan.store.switch(folder)


def _refuse_hopeless(plan: EnvironmentPlan) -> None:
    for finding in plan.findings():
        if finding.severity is Severity.ERROR:
            raise PotluckError(finding.text, hint=finding.advice)


def _existing(plan: EnvironmentPlan) -> Path | None:
    """Return the folder of an environment that fits the plan already; None if there is none."""
    wanted = (plan.choice.variant.name, digest(plan.requirements), plan.python)
    for folder in (plan.store.current(), plan.store.previous(), plan.store.root / plan.name):
        made = read_manifest(folder) if folder is not None else None
        if made is not None and (made.variant, made.requirements, made.python) == wanted:
            return folder
    return None


def _still_works(folder: Path, on_progress: OnProgress, trial: Trial) -> bool:
    """Return whether an existing environment passes its trial. Files may be missing, or the driver may be new."""
    on_progress(WorkProgress(sentence("testing the existing environment")))
    try:
        trial(folder)
    except PotluckError:
        return False
    return True


def roll_back(store: Store, on_progress: OnProgress, trial: Trial = try_environment) -> None:
    """Use the environment before the current one again, if it still works.

    Raises:
        PotluckError: it does not work, or there is none. The current environment is still in use.
    """
    with store.lock():
        previous = store.previous()
        if previous is None:
            raise UsageError(sentence("there is no earlier environment to go back to"))
        on_progress(WorkProgress(sentence("testing the earlier environment")))
        trial(previous)
        on_progress(WorkProgress(sentence("switching to the earlier environment")))
        store.switch(previous)


def _make(plan: EnvironmentPlan, on_progress: OnProgress, trial: Trial) -> Path:
    """Make the environment in a new folder, and return that."""
    store, folder = plan.store, plan.store.free(plan.name)
    on_progress(WorkProgress(sentence("looking up the packages")))
    packages = find_packages(plan)
    _fetch_all(packages, store.wheels, on_progress)
    on_progress(WorkProgress(sentence("installing {number} packages", number=len(packages))))
    base = Path(sys.base_prefix) / "bin" / f"python{sysconfig.get_python_version()}"
    python = base if base.exists() else Path(sys.executable)
    run_uv(["venv", "--quiet", "--clear", "--python", python, folder], cache=store.cache)
    options = ["--quiet", "--no-index", "--no-deps", "--no-build-isolation", f"--python={interpreter(folder)}"]
    for is_built in (True, False):  # sources are built with packages from the wheels
        files = [store.wheels / package.file for package in packages if package.is_built is is_built]
        if files:
            run_uv(["pip", "install", *options, *files], cache=store.cache)
    _add_potluck(folder)
    on_progress(WorkProgress(sentence("testing the new environment")))
    beside = tied_to_parent(python_command(interpreter(folder), "-c", _IMPORTED_LAST))
    with subprocess.Popen(beside, env=child_environment(python=interpreter(folder)), stderr=subprocess.DEVNULL):
        devices = trial(folder)
    variant, now = plan.choice.variant.name, round(time.time())
    store.finish(
        folder, EnvironmentManifest(variant, TORCH, digest(plan.requirements), plan.python, devices, made_at=now)
    )
    return folder


def _fetch_all(packages: tuple[Package, ...], folder: Path, on_progress: OnProgress) -> None:
    """Fetch files one by one: the largest has most of the bytes, and the home's connection is the bottleneck."""
    folder.mkdir(exist_ok=True)
    total = sum(package.num_bytes or remote_size(package.url) for package in packages)
    before = 0
    for number, package in enumerate(packages, 1):
        text = sentence("downloading {what} ({number} of {all})", what=package.name, number=number, all=len(packages))

        def on_bytes(done: int, before: int = before, text: Sentence = text) -> None:
            on_progress(WorkProgress(text, before + done, max(total, before + done)))

        path = folder / package.file
        fetch(package.url, path, package.sha256, on_bytes, num_bytes=package.num_bytes)
        before += path.stat().st_size


def _add_potluck(folder: Path) -> None:
    """Make the engine import Potluck from the daemon's own files, so that an update changes both."""
    (packages,) = (folder / "lib").glob("python*/site-packages")
    # Paths stay unresolved: in an installation with several versions a link in them leads to the one in use.
    places = dict.fromkeys(
        str(place)
        for place in (
            Path(potluck.__file__).parents[1],
            Path(__file__).parents[2],
            distribution("potluck").locate_file(""),
        )
    )
    (packages / "potluck.pth").write_text("".join(f"{place}\n" for place in places))
