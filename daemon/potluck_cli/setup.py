"""`potluck setup`: make the engine's environment for the hardware of this machine."""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from potluck_control.formatting import part_size, size
from potluck_control.methods.setup import BeginParams, SetupProgress, SetupState, Step
from potluck_control.places import Places, find_places
from potluck_daemon.doctor.finding import Severity
from potluck_daemon.environment.interpreter import engine_python, has_torch
from potluck_daemon.environment.machine import look
from potluck_daemon.environment.plan import EnvironmentPlan, make_plan
from potluck_daemon.environment.setup import roll_back, set_up
from potluck_daemon.environment.state import read_state
from potluck_daemon.environment.store import Store
from potluck_daemon.environment.variants import TORCH, VARIANTS
from potluck_daemon.settings.owner import drop_root, files_as_owner, owner_of
from potluck_daemon.settings.store import load

from potluck.errors import UsageError
from potluck_cli.doctor import lines
from potluck_cli.options import add_json, print_json
from potluck_cli.terminal import Terminal

DESCRIPTION = """\
Make the environment that the engine runs in: torch in the build that fits this machine's GPU and driver, and what else
it needs. Looks first, says what it will fetch, goes on where it was interrupted, and tries the result on every device
before it is used. What was in use before is kept, for `--rollback`. Nothing is upgraded unless you run this again."""
EXAMPLES = """\
  potluck setup --check
  potluck setup
  potluck setup --variant cpu --folder /mnt/big/potluck
  potluck setup --rollback"""

_BY = "`potluck setup`"
_TELL_EVERY_S = 1.0  # where nothing can be drawn over
RESULT = SetupState


@dataclass(frozen=True, slots=True)
class _Asked:
    """The options that say what is made; without them: as it fits."""

    variant: str = ""
    folder: Path | None = None
    wheels: Path | None = None
    index: str = ""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--check", action="store_true", help="look only: what fits this machine, and what is in the way"
    )
    parser.add_argument(
        "--variant", choices=VARIANTS, default="", help="this build of torch instead of the one that fits best"
    )
    parser.add_argument(
        "--folder", type=Path, metavar="DIR", help="where the environment shall lie, gigabytes of it (only at first)"
    )
    parser.add_argument(
        "--wheels", type=Path, metavar="DIR", help="take all packages from this folder, without a network"
    )
    parser.add_argument(
        "--index", metavar="URL", default="", help="where torch's builds are offered; also the setting setup.index"
    )
    parser.add_argument("--rollback", action="store_true", help="use the environment before the current one again")
    add_json(parser, "what is in use")


def run(args: argparse.Namespace) -> int:
    places, terminal = find_places(), Terminal(sys.stdout)
    if args.wheels is not None and not args.wheels.is_dir():
        raise UsageError(f"{args.wheels} is no folder", hint="--wheels names a folder with .whl files")
    drop_root(places)
    if args.check:
        return _check(args, places, terminal)
    on_progress = _silent if args.json else Bar(terminal)
    if args.rollback:
        roll_back(Store(places.engines.resolve()), _BY, on_progress)
    else:
        asked = _Asked(args.variant, args.folder, args.wheels, args.index)
        _make(places, asked, terminal, quiet=args.json)
    return _report(args, places, terminal)


def lacks_engine(places: Places) -> bool:
    """Whether nothing on this machine could run an engine: no environment, none named, and no torch here."""
    named = load(places.settings_file).settings.serve.python
    with files_as_owner(places):
        return not has_torch(engine_python(places, named))


def make_engine(*, quiet: bool) -> None:
    """What `potluck setup` does without options. Raises PotluckError."""
    places = find_places()
    if owner_of(places) is not None:  # another process becomes the owner, so that this one can go on as root
        command = [sys.executable, "-m", "potluck_cli.main", "setup"]
        done = subprocess.run(command, stdout=subprocess.DEVNULL if quiet else None, check=False)
        if done.returncode != 0:
            raise SystemExit(done.returncode)  # it said why
        return
    _make(places, _Asked(), Terminal(sys.stdout), quiet=quiet)


def _make(places: Places, asked: _Asked, terminal: Terminal, *, quiet: bool) -> None:
    index = asked.index or load(places.settings_file).settings.setup.index
    plan = make_plan(places.engines, look(), asked.variant, asked.folder, wheels=asked.wheels, index=index, by=_BY)
    if not quiet:
        _announce(plan, terminal)
    set_up(plan, _silent if quiet else Bar(terminal))


def _check(args: argparse.Namespace, places: Places, terminal: Terminal) -> int:
    state = _state(places, BeginParams(args.variant, str(args.folder or "")))
    if args.json:
        print_json(state)
    else:
        for finding in state.findings:
            for line in lines(finding, terminal):
                terminal.line(line)
    return 0 if all(finding.severity is not Severity.ERROR for finding in state.findings) else 1


def _state(places: Places, asked: BeginParams) -> SetupState:
    return read_state(places, load(places.settings_file).settings.serve.python, look(), asked)


def _announce(plan: EnvironmentPlan, terminal: Terminal) -> None:
    variant = plan.choice.variant
    needs = f"fetches at most {size(variant.download_bytes)}, takes {size(variant.disk_bytes)} of disk"
    terminal.line(f"{plan.choice.why}: torch {TORCH}, variant {variant.name} ({needs})")
    if plan.choice.advice:
        terminal.line(f"  {plan.choice.advice}")
    if not variant.is_verified:
        terminal.line("  nobody of Potluck's has tried this variant yet; it is used only if it passes its trial here")


class Bar:
    """Shows progress: one line drawn over in a terminal, a line a step and second elsewhere."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal
        self._step: Step | None = None
        self._told_s = 0.0

    def __call__(self, progress: SetupProgress) -> None:
        now = time.monotonic()
        is_new = progress.step is not self._step
        if not is_new and now - self._told_s < _TELL_EVERY_S:
            return
        self._told_s, self._step = now, progress.step
        bytes_done = f"  {part_size(progress.done, progress.total)}" if progress.total else ""
        text = f"{progress.step:8} {progress.text}{bytes_done}"
        if self._terminal.can_move:
            self._terminal.write(f"{chr(10) if is_new else chr(13) + chr(27) + '[K'}{text}")
            if progress.step is Step.SWITCH:
                self._terminal.line()
        else:
            self._terminal.line(text)


def _silent(progress: SetupProgress) -> None:
    pass


def _report(args: argparse.Namespace, places: Places, terminal: Terminal) -> int:
    state = _state(places, BeginParams())
    if args.json:
        print_json(state)
    else:
        terminal.line(f"ready: the engine computes on {', '.join(state.devices)}")
    return 0
