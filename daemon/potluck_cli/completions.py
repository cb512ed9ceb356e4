"""`potluck completions`: a script that lets a shell complete commands, options and the names of settings.

`installer.manual` generates the scripts.
"""

from __future__ import annotations

import argparse
import sys

from potluck_control.resources import resource

DESCRIPTION = "Print a script that lets your shell complete commands and options. Save it where the shell looks for it."
EXAMPLES = """\
  potluck completions bash > ~/.local/share/bash-completion/completions/potluck
  potluck completions zsh > ~/.zfunc/_potluck         (with fpath+=~/.zfunc before compinit in ~/.zshrc)
  potluck completions fish > ~/.config/fish/completions/potluck.fish"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh", "fish"), help="your shell")


def run(args: argparse.Namespace) -> int:
    sys.stdout.write(resource(f"completions/potluck.{args.shell}").read_text())
    return 0
