"""Moves this computer from the swarm that it serves to another one, if its user says so."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterable

from potluck_control.client import ControlClient
from potluck_control.methods import settings, swarms
from potluck_control.methods.settings import Change, SetParams

from potluck_cli.connect import daemon, hello_or_none
from potluck_cli.terminal import agrees


def add_move(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--move",
        action="store_true",
        help="serve it from now on, even if this computer serves another swarm (default: ask)",
    )


def served_swarm(client: ControlClient) -> str | None:
    """Return the name of the swarm that this computer serves, or would; None: there is none."""
    return _served(client.call(swarms.LIST).swarms)


def move_or_stay(args: argparse.Namespace, name: str, folder: str = "") -> list[str]:
    """Move this computer to the swarm `name` if its user wants that. Return what to tell a user who stays.

    Args:
        folder: where the user has the swarm's model; empty: not known.
    """
    if hello_or_none() is None:  # nothing is served
        return []
    client = daemon()
    known = client.call(swarms.LIST).swarms
    served = _served(known)
    if name not in (swarm.name for swarm in known):
        return []
    copy = (Change("serve.checkpoint", folder),) if folder else ()
    if served in (None, name):
        if copy:
            client.call(settings.SET, SetParams(copy))
        return []
    if args.move or agrees(f"This computer serves {served}. Serve {name} instead?"):
        client.call(settings.SET, SetParams((Change("serve.swarm", name), *copy)))
        return []
    changes = [f"potluck config set serve.swarm {name}"]
    if folder:
        changes.append(f"potluck config set serve.checkpoint {shlex.quote(folder)}")
    return [f"This computer goes on serving {served}. To serve {name}: {' and '.join(changes)}"]


def _served(known: Iterable[swarms.JoinedSwarm]) -> str | None:
    return next((swarm.name for swarm in known if swarm.is_served), None)
