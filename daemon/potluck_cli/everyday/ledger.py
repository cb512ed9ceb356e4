"""`potluck ledger`: checks, backs up and moves the ledger of points.

The ledger records where each point came from; every entry follows from a receipt that the person who was served
signed. A backup contains this machine's identity. Keep it like a password: whoever has it can pass for this machine.
After a restore, the old machine must not serve any more.

  potluck ledger check
  potluck ledger backup potluck-backup.tar
  potluck ledger restore potluck-backup.tar
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

from potluck_control.methods import earnings
from potluck_control.methods.earnings import LedgerCheck
from potluck_control.places import find_places
from potluck_daemon.accounting.backup import back_up, restore

from potluck_cli.daemon_access import daemon
from potluck_cli.options import print_result
from potluck_cli.parser import CommandGroup, Subcommand, argument


@dataclass(frozen=True, slots=True)
class Moved:
    """A backup that was written or restored."""

    file: str


def _check(args: argparse.Namespace) -> int:
    """Derive everything again from the receipts."""
    found = daemon().call(earnings.CHECK)
    lines = [f"{found.entries} entries of {found.people} people, {found.receipts} receipts"]
    lines += [f"! {problem}" for problem in found.problems]
    if not found.problems:
        lines.append("Every entry follows from its receipt.")
    print_result(args, found, lines)
    return 1 if found.problems else 0


def _back_up(args: argparse.Namespace) -> int:
    """Write ledger and identity to a file; the daemon may be running."""
    back_up(find_places(), Path(args.file))
    return print_result(args, Moved(args.file), [f"Wrote {args.file}. Keep it like a password."])


def _restore(args: argparse.Namespace) -> int:
    """Read ledger and identity from a backup; the daemon must be stopped."""
    restore(find_places(), Path(args.file), replace=args.replace)
    return print_result(args, Moved(args.file), ["Restored. Never start the old machine's daemon again."])


_BACKUP = argument("file", metavar="FILE", help="the backup")
_ACTIONS = {
    "check": Subcommand(_check, LedgerCheck),
    "backup": Subcommand(_back_up, Moved, _BACKUP),
    "restore": Subcommand(
        _restore, Moved, _BACKUP, argument("--replace", action="store_true", help="set aside the ledger that is here")
    ),
}
COMMANDS = {"ledger": CommandGroup(__doc__, _ACTIONS)}
