"""`potluck completions`: a script that lets a shell complete commands, options and names, and the names it asks for.

Print a script that lets your shell complete commands, options and the names of settings, swarms, models and people.
Save it where the shell looks for it. It calls `potluck completions swarms`, `models` and `people` for their names.

  potluck completions bash > ~/.local/share/bash-completion/completions/potluck
  potluck completions zsh > ~/.zfunc/_potluck         (with fpath+=~/.zfunc before compinit in ~/.zshrc)
  potluck completions fish > ~/.config/fish/completions/potluck.fish
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable

from potluck_control.methods import members, models
from potluck_control.resources import resource

from potluck.errors import PotluckError
from potluck_cli.daemon_access import daemon
from potluck_cli.swarm_choice import known_swarms

_SIGNS = frozenset("-_.+@/")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh", "fish", *_NAMES), help="your shell, or the names to list")


def run(args: argparse.Namespace) -> int:
    if args.shell in _NAMES:
        sys.stdout.writelines(f"{name}\n" for name in names(args.shell))
    else:
        sys.stdout.write(resource(f"completions/potluck.{args.shell}").read_text())
    return 0


def names(kind: str) -> list[str]:
    """Return the names of a kind that a shell may offer; none if the daemon that knows them is away.

    A shell may expand them, and people choose their own, so none is more than letters, digits and a few signs.
    """
    try:
        return sorted({name for name in _NAMES[kind]() if is_plain(name)})
    except PotluckError:
        return []


def is_plain(name: str) -> bool:
    """Return whether a shell takes a name as one word and expands nothing in it."""
    return bool(name) and not name.startswith("-") and all(sign.isalnum() or sign in _SIGNS for sign in name)


def _swarms() -> Iterable[str]:
    return known_swarms().load()


def _models() -> Iterable[str]:
    return (model.name for model in daemon().call(models.LIST).stored)


def _people() -> Iterable[str]:
    found = daemon().call(members.LIST, members.SwarmParams("")).members
    return (member.name if is_plain(member.name) else member.id for member in found)


_NAMES: dict[str, Callable[[], Iterable[str]]] = {"swarms": _swarms, "models": _models, "people": _people}
