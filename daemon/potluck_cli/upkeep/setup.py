"""Sets this machine up: the engine's environment (`potluck setup`), and what starts by itself (`potluck autostart`)."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

from potluck_control.methods.health import Severity
from potluck_control.methods.installation import BeginParams, SetupState
from potluck_control.methods.machine import LoginStart
from potluck_control.places import Places, find_places, system_places
from potluck_control.processes.python_command import child_environment, python_command
from potluck_daemon.environment.hardware import read_hardware
from potluck_daemon.environment.plan import EnvironmentPlan, make_plan, read_state
from potluck_daemon.environment.setup import roll_back, set_up
from potluck_daemon.environment.store import Store, engine_python, has_torch
from potluck_daemon.environment.variants import TORCH, VARIANTS
from potluck_daemon.host import login
from potluck_daemon.host.owner import files_as_owner, owner_of
from potluck_daemon.settings.store import load_settings

from potluck.errors import UsageError
from potluck.formatting import size
from potluck.sentences import Sentence
from potluck_cli.options import print_result
from potluck_cli.parser import Subcommand, argument
from potluck_cli.terminal import Steps, Terminal
from potluck_cli.upkeep.diagnosis import finding_lines


def setup(args: argparse.Namespace) -> int:
    """Make the engine's environment for this machine's hardware.

    Make the environment that the engine runs in: the build of torch that fits this machine's GPU and driver, and
    its other packages. It says what it will fetch, continues where it was interrupted, and tests the result on
    every device before use. The previous environment is kept for --rollback. Nothing is upgraded until you run this
    again.

      potluck setup --check
      potluck setup
      potluck setup --variant cpu --folder /mnt/big/potluck
      potluck setup --rollback
    """
    places = find_places()
    if args.wheels is not None and not args.wheels.is_dir():
        raise UsageError(f"{args.wheels} is not a folder", hint="--wheels names a folder with .whl files")
    if args.check:
        return _print_check(args, places)
    if args.rollback:
        roll_back(Store(places.engines.resolve()), Steps(shows=not args.json))
    else:
        _make(places, args, quiet=args.json)
    state = _state(places, BeginParams())
    return print_result(args, state, [f"ready: the engine computes on {', '.join(state.devices)}"])


def lacks_engine(places: Places) -> bool:
    """Return whether nothing on this machine can run an engine: no environment, and no torch here."""
    named = load_settings(places.settings_file).settings.serve.python
    with files_as_owner(places):
        return not has_torch(engine_python(places, named))


def make_engine(*, quiet: bool) -> None:
    """Make the environment as `potluck setup` does without options. Raises PotluckError."""
    places = find_places()
    if owner_of(places) is None:
        _make(places, quiet=quiet)
        return
    # Another process becomes the owner, so that this one can go on as root.
    command = python_command(sys.executable, "-m", "potluck_cli.main", "setup")
    done = subprocess.run(command, env=child_environment(), stdout=subprocess.DEVNULL if quiet else None, check=False)
    if done.returncode != 0:
        raise SystemExit(done.returncode)  # it printed the reason


def _make(places: Places, args: argparse.Namespace | None = None, *, quiet: bool) -> None:
    """Make the environment that the options ask for; without any, the best one."""
    if args is None:
        plan = make_plan(places.engines, read_hardware(), "", None)
    else:
        plan = make_plan(places.engines, read_hardware(), args.variant, args.folder, wheels=args.wheels)
    if not quiet:
        _announce(plan)
    set_up(plan, Steps(shows=not quiet))


def _print_check(args: argparse.Namespace, places: Places) -> int:
    state, terminal = _state(places, BeginParams(args.variant, str(args.folder or ""))), Terminal()
    print_result(args, state, (line for finding in state.findings for line in finding_lines(finding, terminal)))
    return 0 if all(finding.severity is not Severity.ERROR for finding in state.findings) else 1


def _state(places: Places, asked: BeginParams) -> SetupState:
    return read_state(places, load_settings(places.settings_file).settings.serve.python, read_hardware(), asked)


def _announce(plan: EnvironmentPlan) -> None:
    terminal, variant = Terminal(), plan.choice.variant
    needs = f"fetches at most {size(variant.download_bytes)}, takes {size(variant.disk_bytes)} of disk"
    terminal.line(f"{plan.choice.why}: torch {TORCH}, variant {variant.name} ({needs})")
    if plan.choice.advice:
        terminal.line(f"  {plan.choice.advice}")
    if not variant.is_verified:
        terminal.line("  nobody has tested this variant with Potluck yet; it is used only if it passes its test here")


def autostart(args: argparse.Namespace) -> int:
    """Choose what starts at log-in, or with the machine.

    Choose whether the desktop starts the tray app, and systemd (launchd on a Mac) the daemon, when you log in. Both
    are off until you choose. Without options, show what the system will do, whoever arranged it. Nothing starts or
    ends now: `potluck start` and `potluck stop` do that, through systemd if it has the daemon. `loginctl
    enable-linger` keeps your daemon running after you log out.

    With --system, systemd starts a daemon with the machine. That is for machines that nobody plays on: the daemon
    runs as its own user and sees no games. Repeat the command after an update. "off" keeps settings, swarms and
    identity.

      potluck autostart
      potluck autostart --daemon on
      potluck autostart --daemon on --app on
      sudo potluck autostart --system --daemon on
    """
    places = system_places() if args.system else find_places()
    if args.app is not None:
        login.set_app(os.environ, args.app == "on")
    if args.daemon is not None:  # last: not every machine has a systemd that starts it
        login.set_daemon(places, args.daemon == "on")
    now = login.read_login(os.environ, places)
    lines = [
        _line("The tray app", now.app, "at log-in", now.app_problem),
        _line("The daemon", now.daemon, "with the machine" if places.is_system else "at log-in", now.daemon_problem),
    ]
    return print_result(args, now, lines)


def _line(what: str, is_on: bool, when: str, problem: Sentence) -> str:
    return f"{what} {'starts' if is_on else 'does not start'} {when}{f' ({problem})' if problem else ''}"


COMMANDS = {
    "setup": Subcommand(
        setup,
        SetupState,
        argument("--check", action="store_true", help="only show what fits this machine and what is in the way"),
        argument("--variant", choices=VARIANTS, default="", help="use this build of torch instead of the best one"),
        argument(
            "--folder",
            type=Path,
            metavar="DIR",
            help="folder for the environment, which takes gigabytes (first time only)",
        ),
        argument("--wheels", type=Path, metavar="DIR", help="read all packages from this folder, without a network"),
        argument("--rollback", action="store_true", help="return to the previous environment"),
    ),
    "autostart": Subcommand(
        autostart,
        LoginStart,
        argument("--app", choices=("on", "off"), help="whether the tray app starts"),
        argument("--daemon", choices=("on", "off"), help="whether the daemon starts"),
        argument("--system", action="store_true", help="the daemon of the whole machine; needs root"),
    ),
}
