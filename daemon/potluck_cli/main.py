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
from typing import NoReturn, Protocol, cast

from potluck.errors import NetworkError, PotluckError, SwarmError, UsageError, explained
from potluck.protocol.codes import RemoteError
from potluck_cli.parser import Parser, Subcommand, actions_of
from potluck_cli.terminal import EXIT_INTERRUPTED, end_at_once, end_in_order, say

_EVERY_DAY = {
    "start": "start the daemon, which serves when nobody needs the machine",
    "stop": "end the daemon",
    "status": "show what this machine does for the swarm, and why",
    "pause": "stop serving for an hour, or as long as you say",
    "resume": "end a pause",
    "chat": "talk to a swarm's model",
    "earnings": "report what this machine gave, what that cost, and the points for it",
}
_SWARM = {
    "join": "join a swarm by its invite and serve it",
    "leave": "leave a swarm for good",
    "swarm": "create, join and look at swarms",
    "members": "show who belongs to a swarm, and remove people",
}
_MODEL = {
    "models": "list what is served, what the swarm lacks and what is on the disk",
    "generate": "let a swarm complete a prompt",
    "estimate": "tell whether this machine alone or the swarm is faster",
}
_PROGRAMS = {
    "agent": "set up Claude Code, Codex, aider and others to use the swarm",
    "gateway": "let other programs here use the swarm through OpenAI's API",
    "programs": "choose the programs that Potluck steps aside for",
}
_UPKEEP = {
    "config": "show and change the settings",
    "history": "list what the daemon did, when and why",
    "doctor": "find what stands in the way, and what to do about it",
    "logs": "print the daemon's log",
    "update": "look for a newer version, and switch to it",
}
GROUPS = {"every day": _EVERY_DAY, "swarm": _SWARM, "model": _MODEL, "programs": _PROGRAMS, "upkeep": _UPKEEP}
_MORE = {
    "top": "show what this machine does, live",
    "drain": "finish open sessions, then end the daemon",
    "serve": "serve layers of a model to a swarm, in the foreground",
    "bootstrap": "run a meeting point where members find a swarm",
    "setup": "make the engine's environment for this machine's hardware",
    "autostart": "choose what starts when you log in, or with the machine",
    "ledger": "export, check, back up and move the ledger of points",
    "diag": "write a file that helps others to help you, without private data",
    "control": "connect input and output to the daemon, for an app in another system",
    "completions": "let your shell complete commands and options",
}
COMMANDS = {name: summary for group in (*GROUPS.values(), _MORE) for name, summary in group.items()}

_GOES_ON = "POTLUCK_GOES_ON"  # set when a command was started again with another interpreter

EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_NETWORK = 3
EXIT_INTERNAL = 70

ABOUT = "Everyone brings a few layers; together they serve a model that fits on nobody's machine."
EXIT_CODES_HELP = """\
exit codes: 0 done; 1 failed; 2 wrong usage; 3 not possible now because of the network or the swarm; 70 internal error;
130 interrupted. POTLUCK_DEBUG=1 shows the traceback of an error."""


class CommandModule(Protocol):
    """The module of a subcommand. `add_arguments` may be absent; with `RESULT`, it also takes --json.

    Its docstring is the help: after a line for developers what people read, and last the examples, which are indented.
    A command with actions has `ACTIONS` instead: an `Subcommand` by its name.
    """

    ACTIONS: dict[str, Subcommand]

    def add_arguments(self, parser: argparse.ArgumentParser) -> None: ...

    def run(self, args: argparse.Namespace) -> int:
        """Run the command and return the exit code. Raises PotluckError."""


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
        _forget_output()
        return EXIT_FAILED
    except Exception as error:
        if was_interrupted(error):
            say(file=sys.stderr)
            return EXIT_INTERRUPTED
        if isinstance(error, ModuleNotFoundError) and argv is None:
            _go_on_in_the_engines_environment(arguments)
        if os.environ.get("POTLUCK_DEBUG"):
            raise
        if explained(error) is not None:
            _forget_output()
        say(describe(error), file=sys.stderr)
        return exit_code(error)


def _leave_deleted_folder() -> None:
    """Go elsewhere if the working directory was deleted or unmounted, because libraries such as MKL abort there."""
    try:
        os.getcwd()
    except OSError:
        os.chdir("/")
        say("potluck: the folder that you are in is gone; names of files begin at / now", file=sys.stderr)


def _forget_output() -> None:
    """Send what is still to be written nowhere, or the interpreter fails with it once more when it ends."""
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
    match error:
        case UsageError() | UnicodeEncodeError():
            return EXIT_USAGE
        case NetworkError() | SwarmError() | RemoteError():
            return EXIT_NETWORK
        case PotluckError() | ModuleNotFoundError():
            return EXIT_FAILED
        case _:
            return EXIT_INTERNAL if explained(error) is None else EXIT_FAILED


def _go_on_in_the_engines_environment(arguments: list[str]) -> None:
    """Restart the command where torch is installed; returns if this is already that place or there is none."""
    from potluck_control.places import find_places
    from potluck_control.processes.python_command import child_environment, python_command
    from potluck_daemon.environment.store import engine_python
    from potluck_daemon.host.owner import drop_root, files_as_owner

    from potluck_cli.swarm_choice import passed_on

    places = find_places()
    with files_as_owner(places):
        python = engine_python(places, "")
    if python != sys.executable and _GOES_ON not in os.environ:
        drop_root(places)  # the environment belongs to the service
        command = python_command(python, "-m", "potluck_cli.entry", *passed_on(arguments))
        kept = {"TORCHINDUCTOR_CACHE_DIR": str(places.cache / "torchinductor")}  # else torch leaves it in /tmp
        os.execve(python, command, {**kept, **child_environment(python=python), _GOES_ON: "1"})


def _run(name: str, arguments: list[str]) -> int:
    from potluck_cli.root_user import become_user_of  # takes a while, in which Ctrl-C must work too

    command = load(name)
    parser = parser_of(name, command)
    if arguments in ([], ["--json"]):  # `potluck models` lists them
        arguments = [*(action for action in ("list", "status") if action in actions_of(parser)), *arguments]
    args = parser.parse_args(arguments)
    become_user_of(name, args)
    end_in_order()
    return command.ACTIONS[args.action].run(args) if hasattr(command, "ACTIONS") else command.run(args)


def load(name: str) -> CommandModule:
    return cast(CommandModule, importlib.import_module(f"potluck_cli.{name}"))


def help_of(command: CommandModule) -> tuple[str, str]:
    """Return what a command does, and examples of it."""
    _, _, text = (command.__doc__ or "").rstrip().partition("\n\n")
    description, _, examples = text.rpartition("\n\n")
    return description, examples


def parser_of(name: str, command: CommandModule, make: Callable[..., Parser] = Parser) -> Parser:
    """Return the parser of one command, of which `make` makes the empty one."""
    description, examples = help_of(command)
    parser = make(prog=f"potluck {name}", description=description, epilog=f"examples:\n{examples}")
    if hasattr(command, "ACTIONS"):
        parser.add_actions(command.ACTIONS)
    elif hasattr(command, "add_arguments"):
        command.add_arguments(parser)
    if hasattr(command, "ACTIONS") or hasattr(command, "RESULT"):
        for each in actions_of(parser).values() or (parser,):
            each.add_argument("--json", action="store_true", help="print JSON, for scripts")
    return parser


def top_parser() -> Parser:
    from importlib.metadata import version

    width = max(map(len, COMMANDS))
    tables = (
        "\n".join((f"{title}:", *(f"  {name:{width}}  {summary}" for name, summary in group.items())))
        for title, group in GROUPS.items()
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
