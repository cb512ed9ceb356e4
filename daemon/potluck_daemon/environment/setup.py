"""Makes the engine's environment, step by step: look, resolve, fetch, install, try, switch.

A signal or a power cut may interrupt any step. The environment in use stays in use until the new one has passed its
trial, and the next attempt uses what was already fetched. Nothing is upgraded unasked.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import distribution
from pathlib import Path

from potluck_control.engine_messages import SelfTest
from potluck_control.methods.setup import SetupProgress, Step
from potluck_control.own_python import child_environment, python_command

import potluck
from potluck.errors import NetworkError, PotluckError, UsageError
from potluck.processes import tied_to_parent
from potluck.protocol.codec import CodecError, decode
from potluck.sentences import Sentence, sentence
from potluck_daemon.doctor.finding import Finding, Severity
from potluck_daemon.environment.failures import UvError, files_of
from potluck_daemon.environment.freezing import freeze
from potluck_daemon.environment.plan import EnvironmentPlan, digest, requirements_of, settle_root
from potluck_daemon.environment.store import Manifest, Store, interpreter, read_manifest
from potluck_daemon.environment.uv import WheelSources, find_uv, run_uv
from potluck_daemon.environment.variants import CPU, TORCH
from potluck_daemon.environment.wheels import Wheel, fetch, resolve, sizes

_TRIAL_TIMEOUT_S = 600.0
_IMPORTED_LAST = "import sympy, scipy.optimize"  # by torch and Transformers: a third of what Python compiles in a trial
OnProgress = Callable[[SetupProgress], None]
Trial = Callable[[Path], tuple[str, ...]]
"""See `try_environment`."""


class PreflightError(PotluckError):
    """The environment cannot work on this machine; `findings` says why."""

    def __init__(self, findings: list[Finding]) -> None:
        worst = next(finding for finding in findings if finding.severity is Severity.ERROR)
        super().__init__(worst.text, hint=worst.advice)
        self.findings = findings


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
    except subprocess.TimeoutExpired:
        raise PotluckError(
            sentence("the engine does not answer"), hint=sentence("try again when the computer is less busy")
        ) from None
    except OSError as error:
        raise PotluckError(
            sentence("the engine's Python cannot be run: {why}", why=str(error.strerror)), hint=sentence("try again")
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


class PackagesMissingError(PotluckError):
    """No index has the packages of a variant that comes without a list."""


def set_up(plan: EnvironmentPlan, on_progress: OnProgress, trial: Trial = try_environment) -> Manifest:
    """Make the environment of `plan` and switch to it; one that exists already is tried, and kept if it works.

    Where the packages of the plan are not to be had, the next best variant is made that is, which `on_progress` says.

    Raises:
        PotluckError: it failed; the hint says what to do. The earlier environment is still in use.
    """
    try:
        return _set_up(plan, on_progress, trial)
    except PackagesMissingError as error:
        for other in plan.fallbacks:
            on_progress(SetupProgress(Step.LOOK, sentence("{what} ({why})", what=other.choice.why, why=error.sentence)))
            try:
                return _set_up(other, on_progress, trial)
            except (PackagesMissingError, PreflightError):
                continue
        raise


def _set_up(plan: EnvironmentPlan, on_progress: OnProgress, trial: Trial) -> Manifest:
    on_progress(SetupProgress(Step.LOOK, sentence("checking this machine")))
    if _there(plan) is None:
        _refuse_hopeless(plan)
    with files_of(plan.store.root):
        if plan.usual is not None:
            settle_root(plan.usual, plan.store.root)
        with plan.store.lock(plan.by):
            folder = _there(plan)
            made = _proven(folder, on_progress, trial) if folder is not None else None
            if folder is None or made is None:
                _refuse_hopeless(plan)
                _look_up(plan, on_progress)
                folder = plan.store.free(plan.store.folder(_name(plan)))
                made = _make(plan, folder, on_progress, trial)
            on_progress(SetupProgress(Step.SWITCH, sentence("switching to the new environment")))
            plan.store.switch(folder)
            return made


def _refuse_hopeless(plan: EnvironmentPlan) -> None:
    findings = plan.findings()
    if any(finding.severity is Severity.ERROR for finding in findings):
        raise PreflightError(findings)


def _there(plan: EnvironmentPlan) -> Path | None:
    """Return the folder of an environment that fits the plan already; None if there is none."""
    if not plan.requirements.exists():
        return None
    for folder in (plan.store.current(), plan.store.previous(), plan.store.folder(_name(plan))):
        made = read_manifest(folder) if folder is not None else None
        if made is not None and _fits(made, plan):
            return folder
    return None


def _fits(made: Manifest, plan: EnvironmentPlan) -> bool:
    wanted = (plan.choice.variant.name, digest(plan.requirements), _version(plan))
    return (made.variant, made.requirements, made.python) == wanted


def _version(plan: EnvironmentPlan) -> str:
    return ".".join(map(str, plan.machine.python))


def _proven(folder: Path, on_progress: OnProgress, trial: Trial) -> Manifest | None:
    """Return the manifest if the environment still works: files may be missing, or the driver another one."""
    made = read_manifest(folder)
    if made is None:
        return None
    on_progress(SetupProgress(Step.TRY, sentence("testing the existing environment")))
    try:
        trial(folder)
    except PotluckError:
        return None
    return made


def roll_back(store: Store, by: str, on_progress: OnProgress, trial: Trial = try_environment) -> None:
    """Use the environment before the current one again, if it still works.

    Raises:
        PotluckError: it does not work, or there is none. The current environment is still in use.
    """
    with files_of(store.root), store.lock(by):
        previous = store.previous()
        if previous is None:
            raise UsageError(sentence("there is no earlier environment to go back to"))
        on_progress(SetupProgress(Step.TRY, sentence("testing the earlier environment")))
        trial(previous)
        on_progress(SetupProgress(Step.SWITCH, sentence("switching to the earlier environment")))
        store.roll_back()


def _make(plan: EnvironmentPlan, folder: Path, on_progress: OnProgress, trial: Trial) -> Manifest:
    uv, requirements = find_uv(), plan.requirements
    sources = WheelSources(plan.wheels, plan.index, plan.own_build)
    on_progress(SetupProgress(Step.RESOLVE, sentence("looking up the packages")))
    wheels = resolve(uv, requirements, Path(sys.executable), sources, cache=plan.store.cache)
    fetched = plan.store.wheels
    fetched.mkdir(exist_ok=True)
    _fetch_all(wheels, fetched, on_progress)
    on_progress(SetupProgress(Step.INSTALL, sentence("installing {number} packages", number=len(wheels))))
    base = Path(sys.base_prefix) / "bin" / f"python{sysconfig.get_python_version()}"
    python = base if base.exists() else Path(sys.executable)
    run_uv(uv, ["venv", "--quiet", "--clear", "--python", python, folder], cache=plan.store.cache)
    options = ["--quiet", "--no-index", "--no-deps", "--no-build-isolation", f"--python={interpreter(folder)}"]
    for is_built in (True, False):  # sources are built with packages from the wheels
        files = [fetched / wheel.name for wheel in wheels if wheel.is_built is is_built]
        if files:
            run_uv(uv, ["pip", "install", *options, *files], cache=plan.store.cache)
    _add_potluck(folder)
    on_progress(SetupProgress(Step.TRY, sentence("testing the new environment")))
    with _prepared_beside(folder):
        devices = trial(folder)
    variant, now = plan.choice.variant.name, round(time.time())
    manifest = Manifest(variant, TORCH, digest(requirements), _version(plan), devices, made_at=now)
    plan.store.finish(folder, manifest)
    return manifest


@contextmanager
def _prepared_beside(folder: Path) -> Iterator[None]:
    """While the body imports, have another process compile part of it to bytecode, and write the files to the disk."""
    command = tied_to_parent(python_command(interpreter(folder), "-c", _IMPORTED_LAST))
    threading.Thread(target=os.sync, name="sync", daemon=True).start()  # `Store.finish` then has little left to write
    nowhere = subprocess.DEVNULL
    environment = child_environment(python=interpreter(folder))
    with subprocess.Popen(command, env=environment, stdout=nowhere, stderr=nowhere) as compiling:
        try:
            yield
        finally:
            compiling.kill()  # Python replaces its files in one step


def _look_up(plan: EnvironmentPlan, on_progress: OnProgress) -> None:
    """Make the list of a variant that comes without one, and say what was chosen. Raises PackagesMissingError."""
    if plan.is_listed or plan.requirements.exists():
        return
    name = plan.choice.variant.name
    on_progress(SetupProgress(Step.RESOLVE, sentence("looking up the packages of variant {what}", what=name)))
    sources = WheelSources(plan.wheels, plan.index, plan.own_build)
    base, python = requirements_of(CPU), Path(sys.executable)
    try:
        chosen = freeze(find_uv(), base, plan.requirements, python, sources, cache=plan.store.cache)
    except (UvError, NetworkError) as error:
        raise PackagesMissingError(error.sentence, hint=error.advice) from error
    text = sentence("chose {what}; kept with hashes in {path}", what=", ".join(chosen), path=str(plan.requirements))
    on_progress(SetupProgress(Step.RESOLVE, text))


def _fetch_all(wheels: tuple[Wheel, ...], folder: Path, on_progress: OnProgress) -> None:
    """Fetch wheels one by one: the largest has most of the bytes, and the home's connection is the bottleneck."""
    total = sum(sizes(wheels))
    before = 0
    for number, wheel in enumerate(wheels, 1):
        text = sentence("{what} ({number} of {all})", what=wheel.name.split("-")[0], number=number, all=len(wheels))

        def tell(done: int, before: int = before, text: Sentence = text) -> None:
            on_progress(SetupProgress(Step.FETCH, text, before + done, max(total, before + done)))

        before += fetch(wheel, folder, tell).stat().st_size


def _add_potluck(folder: Path) -> None:
    """Have the engine import Potluck from the daemon's own files, so that an update changes both."""
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


def _name(plan: EnvironmentPlan) -> str:
    python = "".join(map(str, plan.machine.python))
    return f"{plan.choice.variant.name}-py{python}-{digest(plan.requirements)}"
