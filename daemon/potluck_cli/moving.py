"""Moves this computer from the swarm that it serves to another one, if its user says so."""

from __future__ import annotations

import argparse
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


def move_or_stay(args: argparse.Namespace, name: str) -> list[str]:
    """Move this computer to the swarm `name` if its user wants that. Return what to tell a user who stays."""
    if hello_or_none() is None:  # nothing is served
        return []
    client = daemon()
    known = client.call(swarms.LIST).swarms
    served = _served(known)
    if served in (None, name) or name not in (swarm.name for swarm in known):
        return []
    if not args.move and not agrees(f"This computer serves {served}. Serve {name} instead?"):
        return [f"This computer goes on serving {served}. To serve {name}: potluck config set serve.swarm {name}"]
    client.call(settings.SET, SetParams((Change("serve.swarm", name),)))
    return []


def _served(known: Iterable[swarms.JoinedSwarm]) -> str | None:
    return next((swarm.name for swarm in known if swarm.is_served), None)
