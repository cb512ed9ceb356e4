"""Runs the command `potluck`: finds the subcommand, runs it, and turns errors into one line.

Each subcommand is a module with the parts of `CommandModule`. It is imported only when it is called, and imports heavy
packages only when it runs, so that help and `--version` answer at once.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import os
import sys
import threading
from collections.abc import Callable, Sequence
from typing import NoReturn

from potluck.errors import NetworkError, PotluckError, SwarmError, UsageError, explained
from potluck.protocol.codes import RemoteError
from potluck_cli.parser import CommandGroup, Parser, Subcommand, actions_of, help_of
from potluck_cli.terminal import EXIT_INTERRUPTED, end_at_once, end_in_order, say

_EVERY_DAY = {
    "start": ("everyday.start_stop", "start the daemon, which serves when nobody needs the machine"),
    "stop": ("everyday.start_stop", "end the daemon"),
    "status": ("everyday.status", "show what this machine does for the swarm, and why"),
    "pause": ("everyday.pause", "stop serving for an hour, or as long as you say"),
    "resume": ("everyday.pause", "end a pause"),
    "chat": ("everyday.chat", "talk to a swarm's model"),
    "earnings": ("everyday.earnings", "report what this machine gave, what that cost, and the points for it"),
}
_SWARM = {
    "join": ("swarm.join", "join a swarm by its invite and serve it"),
    "leave": ("swarm.join", "leave a swarm for good"),
    "swarm": ("swarm.swarm", "create, join and look at swarms"),
    "members": ("swarm.members", "show who belongs to a swarm, and remove people"),
}
_MODEL = {
    "models": ("model.models", "list what is served, what the swarm lacks and what is on the disk"),
    "generate": ("model.generate", "let a swarm complete a prompt"),
    "estimate": ("model.estimate", "tell whether this machine alone or the swarm is faster"),
}
_PROGRAMS = {
    "agent": ("programs.agent", "set up Claude Code, Codex, aider and others to use the swarm"),
    "gateway": ("programs.gateway", "let other programs here use the swarm through OpenAI's API"),
    "programs": ("programs.programs", "choose the programs that Potluck steps aside for"),
}
_UPKEEP = {
    "config": ("upkeep.config", "show and change the settings"),
    "history": ("upkeep.history", "list what the daemon did, when and why"),
    "doctor": ("upkeep.diagnosis", "find what stands in the way, and what to do about it"),
    "logs": ("upkeep.history", "print the daemon's log"),
    "update": ("upkeep.update", "look for a newer version, and switch to it"),
}
_GROUPS = {"every day": _EVERY_DAY, "swarm": _SWARM, "model": _MODEL, "programs": _PROGRAMS, "upkeep": _UPKEEP}
_MORE = {
    "top": ("everyday.status", "show what this machine does, live"),
    "drain": ("everyday.start_stop", "finish open sessions, then end the daemon"),
    "serve": ("swarm.nodes", "serve layers of a model to a swarm, in the foreground"),
    "bootstrap": ("swarm.nodes", "run a meeting point where members find a swarm"),
    "setup": ("upkeep.setup", "make the engine's environment for this machine's hardware"),
    "autostart": ("upkeep.setup", "choose what starts when you log in, or with the machine"),
    "ledger": ("everyday.ledger", "check, back up and move the ledger of points"),
    "diag": ("upkeep.diagnosis", "write a file that helps others to help you, without private data"),
    "control": ("programs.interfaces", "connect input and output to the daemon, for an app in another system"),
    "completions": ("programs.interfaces", "let your shell complete commands and options"),
}
_MODULES = {name: module for group in (*_GROUPS.values(), _MORE) for name, (module, _) in group.items()}
COMMANDS = {name: summary for group in (*_GROUPS.values(), _MORE) for name, (_, summary) in group.items()}

_RESTARTED = "POTLUCK_GOES_ON"  # set when a command was restarted with another interpreter

EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_NETWORK = 3
EXIT_INTERNAL = 70

ABOUT = "Everyone brings a few layers; together they serve a model that fits on nobody's machine."
EXIT_CODES_HELP = """\
exit codes: 0 done; 1 failed; 2 wrong usage; 3 not possible now because of the network or the swarm; 70 internal error;
130 interrupted. POTLUCK_DEBUG=1 shows the traceback of an error."""


def program() -> NoReturn:
    """Run the installed command and end the process.

    If a thread still reads a checkpoint with torch, the interpreter's own exit would abort, and with torch it takes a
    second or more. Everything that must be closed is closed by then.
    """
    _replace_closed_streams()
    code = main()
    end_at_once()
    if threading.active_count() > 1 or "torch" in sys.modules:
        with contextlib.suppress(OSError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


def _replace_closed_streams() -> None:
    """Replace closed streams (`>&-`), so that output does not go to the next file or socket that is opened."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115, open as long as the process


def main(argv: Sequence[str] | None = None) -> int:
    """Run `potluck ARGV` and return the exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        _leave_deleted_folder()
        name = top_parser().parse_args(arguments[:1] or ["--help"]).command
        return _run(name, arguments[1:])
    except KeyboardInterrupt:
        say(file=sys.stderr)
        return EXIT_INTERRUPTED
    except BrokenPipeError:  # the reader of our output left, as `| head` does
        _discard_output()
        return EXIT_FAILED
    except Exception as error:
        if was_interrupted(error):
            say(file=sys.stderr)
            return EXIT_INTERRUPTED
        if isinstance(error, ModuleNotFoundError) and argv is None:
            _restart_in_engine_environment(arguments)
        if os.environ.get("POTLUCK_DEBUG"):
            raise
        if explained(error) is not None:
            _discard_output()
        say(describe(error), file=sys.stderr)
        return exit_code(error)


def _leave_deleted_folder() -> None:
    """Change to / if the working directory was deleted or unmounted, because libraries such as MKL abort there."""
    try:
        os.getcwd()
    except OSError:
        os.chdir("/")
        say("potluck: the folder that you are in is gone; names of files begin at / now", file=sys.stderr)


def _discard_output() -> None:
    """Discard buffered output that cannot be written, or the interpreter fails with it once more when it ends."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def was_interrupted(error: BaseException | None) -> bool:
    """Return whether Ctrl-C led to the error, for example in a library that was about to clean up."""
    while error is not None:
        if isinstance(error, KeyboardInterrupt):
            return True
        error = error.__cause__ or error.__context__
    return False


def describe(error: BaseException) -> str:
    """Return one line that says what went wrong and what to do about it."""
    error = explained(error) or error
    if isinstance(error, PotluckError):
        hint = f" ({error.hint})" if error.hint else ""
        return " ".join(f"potluck: {error}{hint}".split())
    if isinstance(error, ModuleNotFoundError):
        return f"potluck: this needs {error.name}, which is not installed (potluck setup fetches it)"
    if isinstance(error, UnicodeEncodeError):
        return "potluck: a name or text is not in UTF-8 (write it in UTF-8)"
    kind = type(error).__name__
    return " ".join(f"potluck: internal error, {kind}: {error} (POTLUCK_DEBUG=1 shows where)".split())


def exit_code(error: BaseException) -> int:
    """Return the exit code that stands for an error."""
    match error:
        case UsageError() | UnicodeEncodeError():
            return EXIT_USAGE
        case NetworkError() | SwarmError() | RemoteError():
            return EXIT_NETWORK
        case PotluckError() | ModuleNotFoundError():
            return EXIT_FAILED
        case _:
            return EXIT_INTERNAL if explained(error) is None else EXIT_FAILED


def _restart_in_engine_environment(arguments: list[str]) -> None:
    """Restart the command with the engine's interpreter, which has torch. Return if this is it, or if there is none."""
    from potluck_control.places import find_places
    from potluck_control.processes.python_command import child_environment, python_command
    from potluck_daemon.environment.store import engine_python
    from potluck_daemon.host.owner import drop_root, files_as_owner

    from potluck_cli.swarm_choice import passed_on

    places = find_places()
    with files_as_owner(places):
        python = engine_python(places, "")
    if python != sys.executable and _RESTARTED not in os.environ:
        drop_root(places)  # the environment belongs to the service
        command = python_command(python, "-m", "potluck_cli.entry", *passed_on(arguments))
        kept = {"TORCHINDUCTOR_CACHE_DIR": str(places.cache / "torchinductor")}  # else torch leaves it in /tmp
        os.execve(python, command, {**kept, **child_environment(python=python), _RESTARTED: "1"})


def _run(name: str, arguments: list[str]) -> int:
    from potluck_cli.root_user import become_user_of  # takes a while, in which Ctrl-C must work too

    command = load(name)
    parser = parser_of(name, command)
    if arguments in ([], ["--json"]):  # `potluck models` is `potluck models list`
        arguments = [*(action for action in ("list", "status") if action in actions_of(parser)), *arguments]
    args = parser.parse_args(arguments)
    become_user_of(name, args)
    end_in_order()
    chosen = command.actions[args.action] if isinstance(command, CommandGroup) else command
    return chosen.run(args)


def load(name: str) -> Subcommand | CommandGroup:
    """Import the module of a command and return the command."""
    found: Subcommand | CommandGroup = importlib.import_module(f"potluck_cli.{_MODULES[name]}").COMMANDS[name]
    return found


def parser_of(name: str, command: Subcommand | CommandGroup, make: Callable[..., Parser] = Parser) -> Parser:
    """Return the parser of one command. `make` creates the empty parser."""
    description, examples = help_of(command)
    parser = make(prog=f"potluck {name}", description=description, epilog=f"examples:\n{examples}")
    command.add_to(parser)
    return parser


def top_parser() -> Parser:
    """Return the parser of the first word, whose help lists all commands."""
    from importlib.metadata import version

    width = max(map(len, COMMANDS))
    tables = (
        "\n".join((f"{title}:", *(f"  {name:{width}}  {summary}" for name, (_, summary) in group.items())))
        for title, group in _GROUPS.items()
    )
    parser = Parser(
        prog="potluck",
        usage="potluck COMMAND [OPTIONS]",
        description="\n\n".join((ABOUT, *tables)),
        epilog=f"more: {', '.join(_MORE)}. `potluck COMMAND --help` explains one, with examples.\n\n{EXIT_CODES_HELP}",
    )
    parser.add_argument("command", choices=COMMANDS, metavar="COMMAND", help=argparse.SUPPRESS)
    parser.add_argument("--version", action="version", version=f"potluck {version('potluck')}")
    return parser


if __name__ == "__main__":
    program()
