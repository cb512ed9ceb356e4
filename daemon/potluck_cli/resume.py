"""`potluck resume`: ends a pause."""

from __future__ import annotations

import argparse

from potluck_control import schema

from potluck_cli.connect import daemon
from potluck_cli.options import answer

DESCRIPTION = """\
End a pause or a drain, or the wait after a game or a failure. Potluck still steps aside for a game that is running."""
EXAMPLES = """\
  potluck resume"""
RESULT = schema.Status


def run(args: argparse.Namespace) -> int:
    status = daemon().call(schema.RESUME)
    return answer(args, status, [f"{status.text}."])
